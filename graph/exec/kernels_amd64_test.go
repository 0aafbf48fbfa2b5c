package exec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// levels runs a test at every level of kernels that the machine has.
func levels(t *testing.T, test func(t *testing.T)) {
	best := level
	defer func() { level = best }()
	for level = best; level >= 0; level-- {
		t.Run([]string{"Go", "AVX2", "AVX-512"}[level], test)
	}
}

func randomFloats(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64() * math.Exp2(float64(r.IntN(40)-20))
		if r.IntN(10) == 0 {
			x[i] = math.Copysign(0, x[i])
		}
	}
	return x
}

func equalBits(x, y []float64) bool {
	for i := range x {
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
			return false
		}
	}
	return len(x) == len(y)
}

// A product equals the plain triple loop in every bit, in all layouts, sizes and blockings.
func TestProductBits(t *testing.T) {
	levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		size := func() int {
			if r.IntN(12) == 0 {
				return 1 + r.IntN(300)
			}
			return 1 + r.IntN(40)
		}
		for range 400 {
			m, n, k := size(), size(), size()
			switch r.IntN(6) {
			case 0:
				m = 1
			case 1:
				n = 1
			}
			q := product{m: m, n: n, k: k}
			a, b := randomFloats(r, m*k), randomFloats(r, k*n)
			ai, ak, bk, bj := k, 1, n, 1
			if r.IntN(2) == 0 {
				ai, ak = 1, m
			}
			if r.IntN(2) == 0 {
				bk, bj = 1, k
			}
			want := make([]float64, m*n)
			for i := range m {
				for l := range k {
					for j := range n {
						want[i*n+j] += float64(a[i*ai+l*ak] * b[l*bk+j*bj])
					}
				}
			}
			have := randomFloats(r, m*n)
			gemm(make([]float64, q.packSize(1)), m, n, k, a, ai, ak, b, bk, bj, have, n)
			if !equalBits(have, want) {
				t.Fatalf("%d×%d×%d, strides %d %d, %d %d: the product differs from the plain loop", m, k, n, ai, ak, bk, bj)
			}
		}
	})
}

// Entrywise kernels and sums equal their plain loops in every bit, at every length.
func TestVectorBits(t *testing.T) {
	levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for n := range 100 {
			a, b := randomFloats(r, n), randomFloats(r, n)
			for i, kernel := range []func(d, a, b []float64){add, sub, mul, div} {
				want, have := make([]float64, n), make([]float64, n+1)
				[]func(d, a, b []float64){addGo, subGo, mulGo, divGo}[i](want, a, b)
				kernel(have[:n], a, b)
				for k := range want {
					if math.Float64bits(have[k]) != math.Float64bits(want[k]) && !math.IsNaN(want[k]) {
						t.Fatalf("kernel %d, entry %d of %d: want %v, have %v", i, k, n, want[k], have[k])
					}
				}
				if have[n] != 0 {
					t.Fatalf("kernel %d writes past the end", i)
				}
			}
			for code := range 12 {
				c := randomFloats(r, n)
				want, have := make([]float64, n), make([]float64, n+1)
				pairGo(code, want, a, b, c)
				if pair(code, have[:n], a, b, c); !equalBits(have[:n], want) || have[n] != 0 {
					t.Fatalf("pair %d of %d entries: want %v, have %v", code, n, want, have)
				}
			}
			var part [8]float64
			for k, x := range a {
				part[k%8] += x
			}
			if want := ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7])); sumRow(a) != want {
				t.Fatalf("sum of %d: want %v, have %v", n, want, sumRow(a))
			}
			if anyInfinite(a) != 0 {
				t.Fatalf("%d finite entries raise the flag", n)
			}
			for k := range a {
				for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
					old := a[k]
					if a[k] = x; anyInfinite(a) != signBit {
						t.Fatalf("%v at entry %d of %d does not raise the flag", x, k, n)
					}
					a[k] = old
				}
				for _, x := range []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64} {
					old := a[k]
					if a[k] = x; anyInfinite(a) != 0 {
						t.Fatalf("%v at entry %d of %d raises the flag", x, k, n)
					}
					a[k] = old
				}
			}
		}
	})
}

// The vector kernels of elementary functions equal the functions of package op in every bit, in every region of
// their formulas.
func TestElementaryBits(t *testing.T) {
	levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 9))
		x := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.625, -0.625, math.Nextafter(0.625, 0),
			709.782712893384, 709.7827128933841, 710, 711, -708.4, -745.13, -745.14, -746, -747, 1e-310, 5e-324, math.MaxFloat64, -math.MaxFloat64}
		for range 20_000 {
			x = append(x, 1600*r.Float64()-800, 2*r.NormFloat64(), math.Exp2(60*r.Float64()-50), -math.Exp2(60*r.Float64()-50),
				float64(r.IntN(100_000))*(math.Pi/2))
			if r.IntN(20) == 0 { // a lane that a kernel leaves to Go
				x = append(x, math.Exp2(30+990*r.Float64()), math.Float64frombits(r.Uint64()))
			}
		}
		have := make([]float64, len(x))
		for code, o := range map[opcode]*graph.Op{kExp: op.Exp, kTanh: op.Tanh, kSech2: op.Sech2, kLogistic: op.Logistic, kSin: op.Sin, kCos: op.Cos} {
			for first := range 9 { // tails of every length
				elementary(code, o.Unary, have[first:], x[first:])
				for i := first; i < len(x); i++ {
					if want := o.Unary(x[i]); math.Float64bits(have[i]) != math.Float64bits(want) && !(math.IsNaN(want) && math.IsNaN(have[i])) {
						t.Fatalf("%s of %v: want %v, have %v", o.Name, x[i], want, have[i])
					}
				}
			}
		}
	})
}
