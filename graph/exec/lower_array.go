package exec

import (
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// emitNode writes the instruction of an operation that is neither scalar nor elementwise.
func (lo *lowering) emitNode(v graph.Value) {
	c, n, f := lo.c, lo.p.Node(v), lo.at(v)
	add := func(kind stepKind, at int) { c.steps = append(c.steps, step{kind: kind, at: int32(at)}) }
	d := lo.viewOf(v)
	in := make([]int32, len(n.Args))
	for k, a := range n.Args {
		in[k] = lo.viewOf(a)
	}
	types := lo.types(n)
	switch {
	case lo.kindOf(v) == stepEval:
		if code, ok := check(n, types); ok {
			t := tileOp{code: code, node: n}
			for k, o := range []*operand{&t.a, &t.b, &t.c}[:min(3, len(in))] {
				o.view = in[k]
			}
			add(stepGroup, len(c.groups))
			c.groups = append(c.groups, group{n: f.n, ops: []tileOp{t}})
		}
		add(stepEval, len(c.evals))
		c.evals = append(c.evals, eval{d: d, in: in, node: n})
	case n.Op == op.Sum:
		add(stepSum, len(c.sums))
		c.sums = append(c.sums, sumOf(n, types[0].Shape, sum{d: d, x: in[0], isInt: f.isInt, laned: f.laned}))
	case n.Op == op.CumSum:
		axis, shape := n.Attrs.Int("axis"), types[0].Shape
		add(stepScan, len(c.scans))
		c.scans = append(c.scans, scan{d: d, x: in[0], isInt: f.isInt, laned: f.laned, reverse: n.Attrs.Flag("reverse"),
			outer: shape[:axis].Len(), length: shape[axis], inner: shape[axis+1:].Len()})
	case n.Op == op.MatMul:
		ta, tb := n.Attrs.Flag("ta"), n.Attrs.Flag("tb")
		inner := types[0].Shape[1]
		if ta {
			inner = types[0].Shape[0]
		}
		add(stepProduct, len(c.products))
		c.products = append(c.products, product{d: d, a: in[0], b: in[1], m: n.Type.Shape[0], k: inner, n: n.Type.Shape[1],
			ta: ta, tb: tb, lanesA: lo.at(n.Args[0]).laned, lanesB: lo.at(n.Args[1]).laned})
	case n.Op == op.Gather:
		add(stepGather, len(c.indexed))
		c.indexed = append(c.indexed, indexed{d: d, x: in[0], index: in[1], rows: types[0].Shape[0], width: types[0].Shape[1:].Len(),
			isInt: f.isInt, laned: f.laned})
	case n.Op == op.ScatterAdd:
		add(stepScatter, len(c.indexed))
		c.indexed = append(c.indexed, indexed{d: d, x: in[0], index: in[1], rows: n.Type.Shape[0], width: n.Type.Shape[1:].Len(), laned: f.laned})
	default:
		add(stepMove, len(c.moves))
		m := move{d: d, isInt: f.isInt, laned: f.laned, zero: n.Op == op.Pad}
		for _, b := range blocksOf(n, types) {
			part := 0
			if n.Op == op.Concat {
				part = int(b.src)
			}
			b.src = in[part]
			b.shared = f.laned && !lo.at(n.Args[part]).laned
			if !slices.Contains(b.dims, 0) {
				m.blocks = append(m.blocks, b.merged())
			}
		}
		c.moves = append(c.moves, m)
	}
}

func (lo *lowering) kindOf(v graph.Value) stepKind { return lo.steps[lo.at(v).step].kind }

// blocksOf writes a move as strided copies; src is the number of the operand.
func blocksOf(n *graph.Node, in []graph.Type) []block {
	x, shape := in[0].Shape, n.Type.Shape
	from, to := x.Strides(), shape.Strides()
	b := block{dims: slices.Clone(shape), step: to, fromStep: make([]int, len(shape))}
	at := n.Attrs
	switch n.Op {
	case op.Transpose:
		for i, a := range at.Ints("perm") {
			b.fromStep[i] = from[a]
		}
	case op.Broadcast:
		for i, a := range at.Ints("dims") {
			b.fromStep[a] = from[i]
		}
	case op.Slice:
		for a := range shape {
			b.from += at.Ints("start")[a] * from[a]
			b.fromStep[a] = at.Ints("step")[a] * from[a]
		}
	case op.Pad:
		b.dims, b.fromStep = slices.Clone(x), from
		for a := range shape {
			b.to += at.Ints("low")[a] * to[a]
			to[a] *= at.Ints("interior")[a] + 1
		}
	case op.Reverse:
		b.fromStep = from
		for _, a := range at.Ints("axes") {
			b.from += (x[a] - 1) * from[a]
			from[a] = -from[a]
		}
	case op.Roll:
		axis := at.Int("axis")
		if x[axis] == 0 {
			return nil
		}
		shift := (at.Int("shift")%x[axis] + x[axis]) % x[axis]
		head, tail := b, b
		head.fromStep, tail.fromStep = from, from
		tail.dims = slices.Clone(shape)
		head.dims[axis], head.from = shift, (x[axis]-shift)*from[axis]
		tail.dims[axis], tail.to = x[axis]-shift, shift*to[axis]
		return []block{head, tail}
	case op.Concat:
		axis, offset := at.Int("axis"), 0
		var parts []block
		for k, t := range in {
			parts = append(parts, block{src: int32(k), dims: slices.Clone(t.Shape), fromStep: t.Shape.Strides(), step: to, to: offset * to[axis]})
			offset += t.Shape[axis]
		}
		return parts
	}
	return []block{b}
}

// merged drops axes of one entry and joins neighbouring axes that are walked as one.
func (b block) merged() block {
	var dims, fromStep, step []int
	for a, d := range b.dims {
		if d == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && fromStep[k] == b.fromStep[a]*d && step[k] == b.step[a]*d {
			dims[k] *= d
			fromStep[k], step[k] = b.fromStep[a], b.step[a]
			continue
		}
		dims, fromStep, step = append(dims, d), append(fromStep, b.fromStep[a]), append(step, b.step[a])
	}
	b.dims, b.fromStep, b.step = dims, fromStep, step
	if len(dims) == 0 {
		b.run = 1
	} else if len(dims) == 1 && fromStep[0] == 1 && step[0] == 1 {
		b.run = dims[0]
	}
	return b
}

// sumOf brings the axes of a sum to the form outer, length, inner where they are neighbours.
func sumOf(n *graph.Node, shape graph.Shape, s sum) sum {
	axes := n.Attrs.Ints("axes")
	var dims, strides [2][]int // of kept and of summed axes
	part := 0
	sizes := [3]int{1, 1, 1} // kept, summed, kept
	together := true
	for a, stride := range shape.Strides() {
		summed := 0
		if slices.Contains(axes, a) {
			summed = 1
		}
		dims[summed], strides[summed] = append(dims[summed], shape[a]), append(strides[summed], stride)
		if shape[a] == 1 {
			continue
		}
		if part%2 != summed {
			part++
		}
		if part > 2 {
			together = false
		} else {
			sizes[part] *= shape[a]
		}
	}
	s.outer, s.length, s.inner = sizes[0], sizes[1], sizes[2]
	if !together {
		s.kept, s.summed = offsets(dims[0], strides[0]), offsets(dims[1], strides[1])
	}
	return s
}

// offsets lists the offsets of a strided block in row-major order.
func offsets(dims, strides []int) []int {
	list := []int{0}
	for a, d := range dims {
		next := make([]int, 0, len(list)*d)
		for _, at := range list {
			for i := range d {
				next = append(next, at+i*strides[a])
			}
		}
		list = next
	}
	return list
}
