package exec

import (
	"unsafe"

	"github.com/lensir/lensir-study/graph/op"
)

//go:generate go run gen/kernels.go
//go:generate go run gen/elementary.go

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() uint32

// level is the instruction set in use: 0 none, 1 AVX2 and FMA, 2 AVX-512 (F, DQ) too. Every level gives the same bits.
var level = detect()

func detect() int {
	const (
		osxsave, avx = 1 << 27, 1 << 28
		fma          = 1 << 12
		avx2         = 1 << 5
		avx512       = 1<<16 | 1<<17 // F and DQ
		saved256     = 0x06          // by the system on a switch
		saved512     = 0xe6
	)
	most, _, _, _ := cpuid(0, 0)
	_, _, c, _ := cpuid(1, 0)
	if most < 7 || c&osxsave == 0 || c&avx == 0 || c&fma == 0 {
		return 0
	}
	_, b, _, _ := cpuid(7, 0)
	switch saved := xgetbv(); {
	case b&avx512 == avx512 && b&avx2 != 0 && saved&saved512 == saved512:
		return 2
	case b&avx2 != 0 && saved&saved256 == saved256:
		return 1
	}
	return 0
}

//go:noescape
func addAVX2(d, a, b *float64, n int)

//go:noescape
func subAVX2(d, a, b *float64, n int)

//go:noescape
func mulAVX2(d, a, b *float64, n int)

//go:noescape
func divAVX2(d, a, b *float64, n int)

//go:noescape
func anyInfiniteAVX2(a *float64, n int) uint64

//go:noescape
func sumRowAVX2(part *[8]float64, x *float64, blocks int)

//go:noescape
func addAVX512(d, a, b *float64, n int)

//go:noescape
func subAVX512(d, a, b *float64, n int)

//go:noescape
func mulAVX512(d, a, b *float64, n int)

//go:noescape
func divAVX512(d, a, b *float64, n int)

//go:noescape
func anyInfiniteAVX512(a *float64, n int) uint64

//go:noescape
func sumRowAVX512(part *[8]float64, x *float64, blocks int)

// entrywise checks the lengths that the kernels trust, and says whether there is anything to do.
func entrywise(d, a, b []float64) bool {
	if len(a) != len(d) || len(b) != len(d) {
		panic("exec: operands of different lengths")
	}
	return len(d) > 0
}

func add(d, a, b []float64) {
	switch {
	case !entrywise(d, a, b):
	case level == 2:
		addAVX512(&d[0], &a[0], &b[0], len(d))
	case level == 1:
		addAVX2(&d[0], &a[0], &b[0], len(d))
	default:
		addGo(d, a, b)
	}
}

func sub(d, a, b []float64) {
	switch {
	case !entrywise(d, a, b):
	case level == 2:
		subAVX512(&d[0], &a[0], &b[0], len(d))
	case level == 1:
		subAVX2(&d[0], &a[0], &b[0], len(d))
	default:
		subGo(d, a, b)
	}
}

func mul(d, a, b []float64) {
	switch {
	case !entrywise(d, a, b):
	case level == 2:
		mulAVX512(&d[0], &a[0], &b[0], len(d))
	case level == 1:
		mulAVX2(&d[0], &a[0], &b[0], len(d))
	default:
		mulGo(d, a, b)
	}
}

func div(d, a, b []float64) {
	switch {
	case !entrywise(d, a, b):
	case level == 2:
		divAVX512(&d[0], &a[0], &b[0], len(d))
	case level == 1:
		divAVX2(&d[0], &a[0], &b[0], len(d))
	default:
		divGo(d, a, b)
	}
}

//go:noescape
func pairAVX2(code int, d, a, b, c *float64, n int)

//go:noescape
func pairAVX512(code int, d, a, b, c *float64, n int)

// pair computes (a o1 b) o2 c, numbered as in scalarPair.
func pair(code int, d, a, b, c []float64) {
	switch {
	case !entrywise(d, a, b) || !entrywise(d, c, c):
	case level == 2:
		pairAVX512(code, &d[0], &a[0], &b[0], &c[0], len(d))
	case level == 1:
		pairAVX2(code, &d[0], &a[0], &b[0], &c[0], len(d))
	default:
		pairGo(code, d, a, b, c)
	}
}

// anyInfinite has its sign bit set if an entry is infinite or NaN.
func anyInfinite(a []float64) uint64 {
	mask := uint64(0)
	switch {
	case len(a) == 0:
	case level == 2:
		mask = anyInfiniteAVX512(&a[0], len(a))
	case level == 1:
		mask = anyInfiniteAVX2(&a[0], len(a))
	default:
		mask = anyInfiniteGo(a)
	}
	if mask != 0 {
		return signBit
	}
	return 0
}

func sumRow(x []float64) float64 {
	blocks := len(x) / op.SumLanes
	if level == 0 || blocks == 0 {
		return sumRowGo(x)
	}
	var part [op.SumLanes]float64
	if level == 2 {
		sumRowAVX512(&part, &x[0], blocks)
	} else {
		sumRowAVX2(&part, &x[0], blocks)
	}
	for k, v := range x[blocks*op.SumLanes:] {
		part[k] += v
	}
	return combine(&part)
}

//go:noescape
func tile1x1AVX2(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile1x2AVX2(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile2x1AVX2(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile2x2AVX2(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile4x1AVX2(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile4x2AVX2(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile1x1AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile1x2AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile2x1AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile2x2AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile4x1AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile4x2AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile8x1AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

//go:noescape
func tile8x2AVX512(k int, a *float64, ai, ak uintptr, b *float64, bk uintptr, c *float64, ldc uintptr, load bool)

// panelWidth is the number of columns of a tile of a matrix product; 0: there are no tiles.
func panelWidth() int { return [...]int{0, 8, 16}[level] }

// tileHeight is the most rows of a tile.
func tileHeight() int { return [...]int{1, 4, 8}[level] }

// tile computes up to rows rows of a panel, or of the first half of its columns, and returns how many.
func tile(rows, k int, half bool, a []float64, ai, ak int, b []float64, bk int, c []float64, ldc int, accumulate bool) int {
	x, y, z := &a[0], &b[0], &c[0]
	si, sk, tk, sc := uintptr(8*ai), uintptr(8*ak), uintptr(8*bk), uintptr(8*ldc)
	kind := 0
	for kind < level+1 && rows >= 2<<kind { // 1, 2, 4 rows, and 8 of AVX-512
		kind++
	}
	code := 8*(level-1) + 2*kind
	if half {
		code++
	}
	switch code {
	case 0:
		tile1x2AVX2(k, x, si, sk, y, tk, z, sc, accumulate)
	case 1:
		tile1x1AVX2(k, x, si, sk, y, tk, z, sc, accumulate)
	case 2:
		tile2x2AVX2(k, x, si, sk, y, tk, z, sc, accumulate)
	case 3:
		tile2x1AVX2(k, x, si, sk, y, tk, z, sc, accumulate)
	case 4:
		tile4x2AVX2(k, x, si, sk, y, tk, z, sc, accumulate)
	case 5:
		tile4x1AVX2(k, x, si, sk, y, tk, z, sc, accumulate)
	case 8:
		tile1x2AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 9:
		tile1x1AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 10:
		tile2x2AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 11:
		tile2x1AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 12:
		tile4x2AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 13:
		tile4x1AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 14:
		tile8x2AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	case 15:
		tile8x1AVX512(k, x, si, sk, y, tk, z, sc, accumulate)
	}
	return 1 << kind
}

//go:noescape
func expAVX2(d, a *float64, n int) int

//go:noescape
func tanhAVX2(d, a *float64, n int) int

//go:noescape
func sech2AVX2(d, a *float64, n int) int

//go:noescape
func logisticAVX2(d, a *float64, n int) int

//go:noescape
func sinAVX2(d, a *float64, n int) int

//go:noescape
func cosAVX2(d, a *float64, n int) int

//go:noescape
func expAVX512(d, a *float64, n int) int

//go:noescape
func tanhAVX512(d, a *float64, n int) int

//go:noescape
func sech2AVX512(d, a *float64, n int) int

//go:noescape
func logisticAVX512(d, a *float64, n int) int

//go:noescape
func sinAVX512(d, a *float64, n int) int

//go:noescape
func cosAVX512(d, a *float64, n int) int

// elementaryKernels holds the vector kernels of elementary functions by their instruction set. A kernel works through
// whole vectors, up to one with an entry that it leaves to Go, and returns the number of entries done.
var elementaryKernels = [kBinary][2]func(d, a *float64, n int) int{
	kExp:      {expAVX2, expAVX512},
	kTanh:     {tanhAVX2, tanhAVX512},
	kSech2:    {sech2AVX2, sech2AVX512},
	kLogistic: {logisticAVX2, logisticAVX512},
	kSin:      {sinAVX2, sinAVX512},
	kCos:      {cosAVX2, cosAVX512},
}

// elementary computes op.Unary of each entry.
func elementary(code opcode, f func(float64) float64, d, a []float64) {
	d = d[:len(a)]
	for set := level; set > 0; set-- { // what is left of AVX-512 may still fill a vector of AVX2
		for lanes := 4 * set; len(a) >= lanes; {
			done := elementaryKernels[code][set-1](&d[0], &a[0], len(a))
			if len(a)-done >= lanes {
				elementaryGo(f, d[done:done+lanes], a[done:done+lanes])
				done += lanes
			}
			d, a = d[done:], a[done:]
		}
	}
	elementaryGo(f, d, a)
}

//go:noescape
func rowDots4AVX2(blocks int, a *float64, ai uintptr, x, sums *float64)

//go:noescape
func rowDots16AVX2(blocks int, a *float64, ai uintptr, x, sums *float64)

// dotRows starts the sums of 16 or 4 rows with the first columns, of which it returns the number; it returns no rows
// where there are too few.
func dotRows(sums *[16]float64, rows int, a []float64, ai int, x []float64) (done, columns int) {
	blocks := len(x) / 4
	switch {
	case level == 0 || rows < 4 || blocks == 0:
		return 0, 0
	case rows < 16:
		rowDots4AVX2(blocks, &a[0], uintptr(8*ai), &x[0], &sums[0])
		return 4, 4 * blocks
	}
	rowDots16AVX2(blocks, &a[0], uintptr(8*ai), &x[0], &sums[0])
	return 16, 4 * blocks
}

// scalarLoop executes scalar instructions up to one that Go executes, which it returns.
//
//go:noescape
func scalarLoop(base unsafe.Pointer, views *[]float64, pc *scalar, flag *uint64) *scalar

// scalarHandlers is the code that scalarLoop jumps into.
//
//go:noescape
func scalarHandlers(base unsafe.Pointer, views *[]float64, pc *scalar, flag *uint64) *scalar

var _ = scalarHandlers

// runScalars executes scalar instructions in order.
func (ws *Workspace) runScalars(c *code, list []scalar) {
	if level == 0 {
		ws.runScalarsGo(c, list)
		return
	}
	pc, views := &list[0], unsafe.SliceData(ws.f)
	for {
		pc = scalarLoop(ws.base, views, pc, &ws.flag)
		if pc.code == scalarReturn {
			return
		}
		ws.runSpecial(c, pc)
		pc = (*scalar)(unsafe.Add(unsafe.Pointer(pc), unsafe.Sizeof(*pc)))
	}
}
