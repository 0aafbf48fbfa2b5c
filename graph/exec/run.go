package exec

import (
	"math"
	"math/bits"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// run executes steps in order.
func (c *code) run(ws *Workspace, steps []step) {
	for k := range steps {
		s := &steps[k]
		switch s.kind {
		case stepScalars:
			ws.runScalars(c, c.scalars[s.at:s.end])
		case stepGroup:
			c.groups[s.at].run(ws)
		case stepMove:
			c.moves[s.at].run(ws)
		case stepSum:
			c.sums[s.at].run(ws)
		case stepScan:
			c.scans[s.at].run(ws)
		case stepProduct:
			c.products[s.at].run(ws)
		case stepGather:
			c.indexed[s.at].gather(ws)
		case stepScatter:
			c.indexed[s.at].scatter(ws)
		case stepEval:
			c.evals[s.at].run(ws, ws.evals[s.at])
		}
	}
}

// unit is the number of entries that lie together as one: the lanes of the block, or one.
func (ws *Workspace) unit(laned bool) int {
	if laned {
		return ws.width
	}
	return 1
}

// run executes a group tile by tile.
func (g *group) run(ws *Workspace) {
	n := g.n * ws.unit(g.laned)
	for lo := 0; lo < n; lo += ws.c.tile {
		hi := min(lo+ws.c.tile, n)
		for k := range g.ops {
			g.ops[k].run(ws, lo, hi)
		}
	}
}

// floats returns the entries lo to hi of an operand.
func (ws *Workspace) floats(o operand, lo, hi int) []float64 {
	if x := ws.f[o.view]; !o.tiled {
		return x[lo:hi]
	} else {
		return x[:hi-lo]
	}
}

func (ws *Workspace) integers(o operand, lo, hi int) []int64 {
	if x := ws.i[o.view]; !o.tiled {
		return x[lo:hi]
	} else {
		return x[:hi-lo]
	}
}

// raise sets the flag where a check failed.
func (ws *Workspace) raise(failed bool) {
	if failed {
		ws.flag |= signBit
	}
}

// run executes the kernel of one elementwise operation on entries lo to hi.
func (t *tileOp) run(ws *Workspace, lo, hi int) {
	switch t.code {
	case kAdd:
		add(ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi))
	case kSub:
		sub(ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi))
	case kMul:
		mul(ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi))
	case kDiv:
		div(ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi))
	case kNeg:
		neg(ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi))
	case kUnary:
		elementaryGo(t.node.Op.Unary, ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi))
	case kExp, kTanh, kSech2, kLogistic, kSin, kCos:
		elementary(t.code, t.node.Op.Unary, ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi))
	case kBinary:
		f, d, a, b := t.node.Op.Binary, ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi)
		for i, x := range a {
			d[i] = f(x, b[i])
		}
	case kPowInt:
		n, d, a := t.node.Attrs.Int("n"), ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi)
		if n == 2 {
			mul(d, a, a)
			return
		}
		for i, x := range a {
			d[i] = op.PowInteger(x, n)
		}
	case kClamp:
		d, a, b, c := ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi), ws.floats(t.c, lo, hi)
		for i, x := range a {
			d[i] = min(max(x, b[i]), c[i])
		}
	case kSelect:
		choose(ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi), ws.integers(t.c, lo, hi))
	case kConvert:
		d := ws.floats(t.d, lo, hi)
		for i, x := range ws.integers(t.a, lo, hi) {
			d[i] = float64(x)
		}
	case kSpread:
		spread(t, ws, ws.floats(t.d, lo, hi), ws.f[t.a.view], lo)
	case kSpreadInt:
		spread(t, ws, ws.integers(t.d, lo, hi), ws.i[t.a.view], lo)
	case kLess, kLessEqual, kEqual:
		compare(t.code, ws.integers(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi))
	case kFinite:
		ws.flag |= anyInfinite(ws.floats(t.a, lo, hi))
	case kCheckZero:
		for _, x := range ws.floats(t.a, lo, hi) {
			ws.raise(x == 0)
		}
	case kCheckUnit:
		for _, x := range ws.floats(t.a, lo, hi) {
			ws.raise(math.Abs(x) == 1)
		}
	case kCheckEqual:
		b := ws.floats(t.b, lo, hi)
		for i, x := range ws.floats(t.a, lo, hi) {
			ws.raise(x == b[i])
		}
	case kCheck:
		t.check(ws, lo, hi)
	default:
		if t.code >= kPair {
			pair(int(t.code-kPair), ws.floats(t.d, lo, hi), ws.floats(t.a, lo, hi), ws.floats(t.b, lo, hi), ws.floats(t.c, lo, hi))
			return
		}
		t.runInts(ws, lo, hi)
	}
}

// runInts executes the kernels on integers and booleans. A sum or product beyond int64 raises the flag.
func (t *tileOp) runInts(ws *Workspace, lo, hi int) {
	d, a := ws.integers(t.d, lo, hi), ws.integers(t.a, lo, hi)
	b := a
	if len(t.node.Args) > 1 {
		b = ws.integers(t.b, lo, hi)
	}
	switch t.code {
	case kLessInt:
		compare(kLess, d, a, b)
	case kLessEqualInt:
		compare(kLessEqual, d, a, b)
	case kEqualInt:
		compare(kEqual, d, a, b)
	case kSelectInt:
		choose(d, a, b, ws.integers(t.c, lo, hi))
	case kAnd:
		for i, x := range a {
			d[i] = bit(x != 0 && b[i] != 0)
		}
	case kOr:
		for i, x := range a {
			d[i] = bit(x != 0 || b[i] != 0)
		}
	case kNot:
		for i, x := range a {
			d[i] = bit(x == 0)
		}
	case kAddInt:
		for i, x := range a {
			d[i] = ws.addInt(x, b[i])
		}
	case kSubInt:
		for i, x := range a {
			z := x - b[i]
			ws.raise((x^b[i])&(x^z) < 0)
			d[i] = z
		}
	case kMulInt:
		for i, x := range a {
			hi, low := bits.Mul64(uint64(x), uint64(b[i]))
			if x < 0 {
				hi -= uint64(b[i])
			}
			if b[i] < 0 {
				hi -= uint64(x)
			}
			ws.raise(hi != uint64(int64(low)>>63))
			d[i] = int64(low)
		}
	case kNegInt:
		for i, x := range a {
			ws.raise(x == math.MinInt64)
			d[i] = -x
		}
	}
}

func (ws *Workspace) addInt(x, y int64) int64 {
	z := x + y
	ws.raise((x^z)&(y^z) < 0)
	return z
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func compare[T float64 | int64](code opcode, d []int64, a, b []T) {
	switch code {
	case kLess:
		for i, x := range a {
			d[i] = bit(x < b[i])
		}
	case kLessEqual:
		for i, x := range a {
			d[i] = bit(x <= b[i])
		}
	default:
		for i, x := range a {
			d[i] = bit(x == b[i])
		}
	}
}

func choose[T any](d, a, b []T, condition []int64) {
	for i, c := range condition {
		if c != 0 {
			d[i] = a[i]
		} else {
			d[i] = b[i]
		}
	}
}

// spread writes entries lo, lo+1, … of a broadcast.
func spread[T float64 | int64](t *tileOp, ws *Workspace, d, x []T, lo int) {
	size, inner, unit := t.size, t.inner, 1
	switch t.spread {
	case spreadShared:
		inner *= ws.width
	case spreadLanes:
		unit = ws.width
	}
	if inner == 1 { // whole operands, one after the other
		size, unit = size*unit, 1
	}
	if size == 1 && unit == 1 {
		fill(d, x[0])
		return
	}
	entry, part := lo/unit, lo%unit
	for len(d) > 0 {
		at, within := entry/inner%size, entry%inner
		switch {
		case inner == 1:
			k := copy(d, x[at:size])
			d, entry = d[k:], entry+k
		case unit == 1:
			k := min(inner-within, len(d))
			fill(d[:k], x[at])
			d, entry = d[k:], entry+k
		default:
			k := copy(d, x[at*unit+part:(at+1)*unit])
			d, entry, part = d[k:], entry+1, 0
		}
	}
}

// check asks the operation itself about each entry.
func (t *tileOp) check(ws *Workspace, lo, hi int) {
	operands := [3]operand{t.a, t.b, t.c}
	args, order := ws.args[:len(t.node.Args)], ws.order[:len(t.node.Args)]
	clear(order)
	copy(order, t.node.Attrs.Ints(graph.Order))
	for i := range hi - lo {
		for k := range args {
			at := i
			if o := operands[k]; !o.tiled {
				at += lo
			}
			if x := ws.f[operands[k].view]; x != nil {
				args[k] = x[at]
			} else {
				args[k] = float64(ws.i[operands[k].view][at])
			}
		}
		if t.node.Op.Check(t.node.Attrs, order, args) != nil {
			ws.raise(true)
			return
		}
	}
}

func (m *move) run(ws *Workspace) {
	unit := ws.unit(m.laned)
	if m.isInt {
		runMove(m, ws.i, unit)
	} else {
		runMove(m, ws.f, unit)
	}
}

func runMove[T float64 | int64](m *move, views [][]T, unit int) {
	d := views[m.d]
	if m.zero {
		clear(d)
	}
	for k := range m.blocks {
		b := &m.blocks[k]
		switch {
		case b.shared:
			fillBlock(d, views[b.src], b.dims, b.step, b.fromStep, b.to, b.from, unit)
		case b.run > 0:
			copy(d[b.to*unit:(b.to+b.run)*unit], views[b.src][b.from*unit:])
		default:
			copyBlock(d, views[b.src], b.dims, b.step, b.fromStep, b.to, b.from, unit)
		}
	}
}

// copyBlock copies units of entries from a strided block to another.
func copyBlock[T any](d, x []T, dims, step, fromStep []int, to, from, unit int) {
	switch {
	case len(dims) == 0:
		copy(d[to*unit:(to+1)*unit], x[from*unit:])
	case len(dims) == 1 && step[0] == 1 && fromStep[0] == 1:
		copy(d[to*unit:(to+dims[0])*unit], x[from*unit:])
	case len(dims) == 1 && unit == 1:
		for range dims[0] {
			d[to] = x[from]
			to, from = to+step[0], from+fromStep[0]
		}
	default:
		for range dims[0] {
			copyBlock(d, x, dims[1:], step[1:], fromStep[1:], to, from, unit)
			to, from = to+step[0], from+fromStep[0]
		}
	}
}

// fillBlock is copyBlock for a source without lanes: every lane receives the entry.
func fillBlock[T float64 | int64](d, x []T, dims, step, fromStep []int, to, from, unit int) {
	if len(dims) == 0 {
		fill(d[to*unit:(to+1)*unit], x[from])
		return
	}
	for range dims[0] {
		fillBlock(d, x, dims[1:], step[1:], fromStep[1:], to, from, unit)
		to, from = to+step[0], from+fromStep[0]
	}
}

// gather copies the rows that the index names. A row that does not exist raises the flag.
func (g *indexed) gather(ws *Workspace) {
	width := g.width * ws.unit(g.laned)
	if g.isInt {
		gatherRows(ws, g, ws.i[g.d], ws.i[g.x], width)
	} else {
		gatherRows(ws, g, ws.f[g.d], ws.f[g.x], width)
	}
}

func gatherRows[T any](ws *Workspace, g *indexed, d, x []T, width int) {
	for i, row := range ws.i[g.index] {
		if row < 0 || row >= int64(g.rows) {
			ws.raise(true)
			continue
		}
		if width == 1 {
			d[i] = x[row]
			continue
		}
		copy(d[i*width:(i+1)*width], x[int(row)*width:])
	}
}

// scatter adds the rows of x, in order, to the rows that the index names.
func (g *indexed) scatter(ws *Workspace) {
	width := g.width * ws.unit(g.laned)
	d, x := ws.f[g.d], ws.f[g.x]
	clear(d)
	for i, row := range ws.i[g.index] {
		if row < 0 || row >= int64(g.rows) {
			ws.raise(true)
			continue
		}
		if width == 1 {
			d[row] += x[i]
			continue
		}
		to := d[int(row)*width : (int(row)+1)*width]
		add(to, to, x[i*width:(i+1)*width])
	}
}

// run adds entries in the one order of a sum: entry k joins partial sum k mod 8, and the partial
// sums are added pairwise.
func (s *sum) run(ws *Workspace) {
	if s.isInt {
		s.runInts(ws)
		return
	}
	d, x, inner := ws.f[s.d], ws.f[s.x], s.inner*ws.unit(s.laned)
	switch {
	case len(x) == 0:
		clear(d)
	case s.kept != nil || s.summed != nil:
		unit := ws.unit(s.laned)
		for i, base := range s.kept {
			for u := range unit {
				d[i*unit+u] = sumOffsets(x[base*unit+u:], s.summed, unit)
			}
		}
	case inner == 1:
		for o := range s.outer {
			d[o] = sumRow(x[o*s.length : (o+1)*s.length])
		}
	default:
		for o := range s.outer {
			sumColumns(d[o*inner:(o+1)*inner], x[o*s.length*inner:(o+1)*s.length*inner], ws.scratch)
		}
	}
}

const (
	sumColumnsWidth = 64
	sumScratch      = op.SumLanes * sumColumnsWidth
)

func sumOffsets(x []float64, offsets []int, unit int) float64 {
	var part [op.SumLanes]float64
	for k, at := range offsets {
		part[k%op.SumLanes] += x[at*unit]
	}
	return combine(&part)
}

// combine adds the partial sums pairwise.
func combine(p *[op.SumLanes]float64) float64 {
	return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))
}

// sumColumns adds the rows of x, each as long as d.
func sumColumns(d, x, scratch []float64) {
	n := len(d)
	for at := 0; at < n; at += sumColumnsWidth {
		w := min(sumColumnsWidth, n-at)
		part := scratch[:op.SumLanes*w]
		clear(part)
		for k, r := at, 0; k < len(x); k, r = k+n, (r+1)%op.SumLanes {
			p := part[r*w : (r+1)*w]
			add(p, p, x[k:k+w])
		}
		for half := op.SumLanes / 2; half > 0; half /= 2 {
			add(part[:half*w], part[:half*w], part[half*w:2*half*w])
		}
		copy(d[at:at+w], part[:w])
	}
}

func (s *sum) runInts(ws *Workspace) {
	d, x := ws.i[s.d], ws.i[s.x]
	clear(d)
	if s.kept != nil || s.summed != nil {
		for i, base := range s.kept {
			for _, at := range s.summed {
				d[i] = ws.addInt(d[i], x[base+at])
			}
		}
		return
	}
	for o := range s.outer {
		for r := range s.length {
			for i := range s.inner {
				d[o*s.inner+i] = ws.addInt(d[o*s.inner+i], x[(o*s.length+r)*s.inner+i])
			}
		}
	}
}

func (s *scan) run(ws *Workspace) {
	width := s.inner * ws.unit(s.laned)
	for o := range s.outer {
		for r := range s.length {
			k, before := r, r-1
			if s.reverse {
				k, before = s.length-1-r, s.length-r
			}
			k, before = (o*s.length+k)*width, (o*s.length+before)*width
			switch {
			case s.isInt && r == 0:
				copy(ws.i[s.d][k:k+width], ws.i[s.x][k:])
			case s.isInt:
				d, x := ws.i[s.d], ws.i[s.x]
				for i := range width {
					d[k+i] = ws.addInt(d[before+i], x[k+i])
				}
			case r == 0:
				d := ws.f[s.d][k : k+width]
				for i, x := range ws.f[s.x][k : k+width] {
					d[i] = 0 + x // −0 becomes +0, as in a sum
				}
			default:
				d := ws.f[s.d]
				add(d[k:k+width], d[before:before+width], ws.f[s.x][k:k+width])
			}
		}
	}
}

// run calls op.Eval on tensors over the views.
func (q *eval) run(ws *Workspace, tensors []*graph.Tensor) {
	out, in := tensors[0], tensors[1:]
	out.F, out.I = ws.f[q.d], ws.i[q.d]
	clear(out.F)
	clear(out.I)
	for k, x := range in {
		x.F, x.I = ws.f[q.in[k]], ws.i[q.in[k]]
	}
	ws.raise(q.node.Op.Eval(q.node.Attrs, out, in) != nil)
}
