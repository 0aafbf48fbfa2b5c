package exec_test

import (
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// drawing is a random program under way. Operands of partial operations are mostly brought into their domain, and
// results are now and then brought back to [−1, 1], so that most runs succeed unless the program is wild.
type drawing struct {
	*rand.Rand
	b    *graph.Builder
	pool []graph.Value
	wild bool
}

// randomProgram draws a program of about so many operations. Beside those of package randprog its vectors and
// products are long enough for every kernel, with tails.
func randomProgram(r *rand.Rand, ops int, wild bool) *graph.Program {
	d := &drawing{Rand: r, b: graph.NewBuilder("random"), wild: wild}
	for i := range 1 + r.IntN(4) {
		t := graph.Type{Shape: d.shape()}
		if i > 0 && r.IntN(5) == 0 {
			t.DType = []graph.DType{graph.Int64, graph.Bool}[r.IntN(2)]
		}
		d.keep(d.b.Input(string(rune('p'+i)), t))
	}
	for range ops {
		d.step()
	}
	var outputs []graph.Value
	for range r.IntN(5) {
		outputs = append(outputs, d.pool[max(r.IntN(len(d.pool)), r.IntN(len(d.pool)))])
	}
	return d.b.Build(outputs...)
}

func (d *drawing) shape() graph.Shape {
	shape := make(graph.Shape, d.IntN(4)*d.IntN(4)/3)
	for i := range shape {
		if shape[i] = 1 + d.IntN(4); d.IntN(16) == 0 {
			shape[i] = 0
		}
	}
	if len(shape) == 1 && d.IntN(4) == 0 {
		shape[0] = 5 + d.IntN(60)
	}
	return shape
}

func (d *drawing) keep(v graph.Value) graph.Value {
	d.pool = append(d.pool, v)
	return v
}

// pick draws a value that fits, the later ones more often, or None.
func (d *drawing) pick(fits func(graph.Type) bool) graph.Value {
	var list []graph.Value
	for _, v := range d.pool {
		if fits(d.b.Type(v)) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return graph.None
	}
	return list[max(d.IntN(len(list)), d.IntN(len(list)))]
}

// like draws a value of a type, a literal where there is none.
func (d *drawing) like(t graph.Type) graph.Value {
	if v := d.pick(t.Equal); v != graph.None && d.IntN(6) > 0 {
		return v
	}
	x := graph.NewTensor(t)
	for k := range x.F {
		x.F[k] = []float64{-1, 0, 1, 2, d.Float64(), -d.Float64()}[d.IntN(6)]
	}
	for k := range x.I {
		x.I[k] = d.Int64N(2)
	}
	if d.IntN(2) == 0 && t.Len() > 0 {
		x.F, x.I = x.F[:min(1, len(x.F))], x.I[:min(1, len(x.I))]
	}
	return d.keep(d.b.Literal(x))
}

func (d *drawing) float() graph.Value {
	if v := d.pick(func(t graph.Type) bool { return t.DType == graph.Float64 }); v != graph.None {
		return v
	}
	return d.like(graph.Type{Shape: d.shape()})
}

// any draws a value of any type with so many axes.
func (d *drawing) any(axes int) graph.Value {
	v := d.pick(func(t graph.Type) bool {
		return len(t.Shape) >= axes && t.DType != graph.Float0 && (t.DType == graph.Float64 || d.IntN(4) == 0)
	})
	if v == graph.None {
		v = d.like(graph.F64(2, 3, 2))
	}
	return v
}

func (d *drawing) emit(o *graph.Op, at graph.Attrs, args ...graph.Value) graph.Value {
	return d.keep(d.b.Emit(o, at, args...))
}

// positive brings a value above 0.5, unless the program is wild.
func (d *drawing) positive(x graph.Value) graph.Value {
	if d.wild && d.IntN(2) == 0 {
		return x
	}
	return d.emit(op.Add, nil, d.emit(op.Mul, nil, x, x), d.b.Full(d.b.Type(x), 0.5))
}

// small brings a value to (−1, 1), unless the program is wild.
func (d *drawing) small(x graph.Value) graph.Value {
	if d.wild && d.IntN(2) == 0 {
		return x
	}
	return d.emit(op.Tanh, nil, x)
}

func attr(name string, ints ...int) graph.Attrs { return graph.Attrs{{Name: name, Ints: ints}} }

var (
	anywhere   = []*graph.Op{op.Neg, op.Sin, op.Cos, op.Tan, op.Atan, op.Tanh, op.Sech2, op.Logistic, op.Softplus, op.Erf, op.Gaussian, op.Abs, op.Sign}
	ofSmall    = []*graph.Op{op.Exp, op.Expm1, op.Sinh, op.Cosh, op.Asin, op.Acos, op.Log1p}
	ofPositive = []*graph.Op{op.Log, op.Sqrt}
	binary     = []*graph.Op{op.Add, op.Sub, op.Mul, op.Add, op.Sub, op.Mul, op.Min, op.Max, op.Hypot}
	compared   = []*graph.Op{op.Less, op.LessEqual, op.Equal}
)

func choice[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (d *drawing) step() {
	x := d.float()
	t := d.b.Type(x)
	switch d.IntN(16) {
	case 0, 1:
		d.emit(choice(d.Rand, anywhere), nil, x)
	case 2:
		d.emit(choice(d.Rand, ofSmall), nil, d.small(x))
	case 3:
		d.emit(choice(d.Rand, ofPositive), nil, d.positive(x))
	case 4, 5, 6, 7:
		v := d.emit(choice(d.Rand, binary), nil, x, d.like(t))
		if d.IntN(4) == 0 {
			d.small(v)
		}
	case 8:
		switch y := d.positive(d.like(t)); d.IntN(4) {
		case 0:
			d.emit(op.Div, nil, x, y)
		case 1:
			d.emit(op.Pow, nil, y, d.small(x))
		case 2:
			d.emit(op.Atan2, nil, y, x)
		default:
			d.emit(op.PowInt, attr("n", d.IntN(7)-3), y)
		}
	case 9:
		lo := d.like(t)
		d.emit(op.Clamp, nil, x, lo, d.emit(op.Add, nil, lo, d.positive(d.like(t))))
	case 10:
		d.logic(x)
	case 11:
		d.integers()
	case 12, 13:
		d.move()
	case 14:
		d.reduce(x)
	default:
		d.product()
	}
}

func (d *drawing) logic(x graph.Value) {
	t := d.b.Type(x)
	c := d.emit(choice(d.Rand, compared), nil, x, d.like(t))
	switch d.IntN(3) {
	case 0:
		c = d.emit(op.Not, nil, c)
	case 1:
		c = d.emit(choice(d.Rand, []*graph.Op{op.And, op.Or}), nil, c, d.like(d.b.Type(c)))
	}
	if scalar := d.pick(graph.Type{DType: graph.Bool}.Equal); scalar != graph.None && d.IntN(2) == 0 {
		c = scalar
	}
	d.emit(op.Select, nil, c, x, d.like(t))
}

func (d *drawing) integers() {
	x := d.pick(func(t graph.Type) bool { return t.DType == graph.Int64 })
	if x == graph.None {
		x = d.like(graph.Type{DType: graph.Int64, Shape: d.shape()})
	}
	t := d.b.Type(x)
	switch d.IntN(5) {
	case 0:
		d.emit(op.Neg, nil, x)
	case 1:
		d.emit(choice(d.Rand, compared), nil, x, d.like(t))
	case 2:
		d.emit(op.Convert, attr("dtype", int(graph.Float64)), x)
	case 3:
		d.emit(op.Select, nil, d.like(graph.Type{DType: graph.Bool, Shape: t.Shape}), x, d.like(t))
	default:
		d.emit(choice(d.Rand, []*graph.Op{op.Add, op.Sub, op.Mul}), nil, x, d.like(t))
	}
}

func (d *drawing) move() {
	x := d.any(1)
	t := d.b.Type(x)
	rank := len(t.Shape)
	if t.Len() > 200 {
		return
	}
	list := func(f func(axis int) int) []int {
		ints := make([]int, rank)
		for a := range ints {
			ints[a] = f(a)
		}
		return ints
	}
	switch d.IntN(10) {
	case 0:
		d.keep(op.ReshapeTo(d.b, x, graph.Shape{t.Len()}))
	case 1:
		d.emit(op.Transpose, attr("perm", d.Perm(rank)...), x)
	case 2:
		at := d.IntN(rank + 1)
		dims := list(func(a int) int {
			if a >= at {
				a++
			}
			return a
		})
		d.keep(op.BroadcastTo(d.b, x, slices.Insert(slices.Clone(t.Shape), at, d.IntN(4)), dims...))
	case 3:
		start := list(func(a int) int { return d.IntN(t.Shape[a] + 1) })
		limit := list(func(a int) int { return start[a] + d.IntN(t.Shape[a]-start[a]+1) })
		d.keep(op.SliceOf(d.b, x, start, limit, list(func(int) int { return 1 + d.IntN(3) })))
	case 4:
		few := func(int) int { return d.IntN(2) }
		d.keep(op.PadWith(d.b, x, list(few), list(few), list(few)))
	case 5:
		axis := d.IntN(rank)
		d.emit(op.Concat, attr("axis", axis), x, d.like(t), x)
	case 6:
		d.emit(op.Roll, append(attr("axis", d.IntN(rank)), graph.Attr{Name: "shift", Ints: []int{d.IntN(9) - 4}}), x)
	case 7:
		d.emit(op.Reverse, attr("axes", d.axes(rank)...), x)
	default:
		index := d.like(graph.Type{DType: graph.Int64, Shape: []graph.Shape{{}, {3}, {2, 2}}[d.IntN(3)]})
		if shape := d.b.Type(index).Shape; d.IntN(2) == 0 {
			row := append(slices.Clone(shape), t.Shape[1:]...)
			at := append(attr("size", 2+d.IntN(3)), graph.Attr{Name: "rank", Ints: []int{len(shape)}})
			d.emit(op.ScatterAdd, at, d.like(graph.F64(row...)), index)
		} else if t.Shape[0] > 1 || d.wild {
			d.emit(op.Gather, nil, x, index)
		}
	}
}

func (d *drawing) axes(rank int) []int {
	axes := []int{}
	for a := range rank {
		if d.IntN(2) == 0 {
			axes = append(axes, a)
		}
	}
	return axes
}

func (d *drawing) reduce(x graph.Value) {
	if y := d.any(0); d.b.Type(y).DType == graph.Int64 {
		x = y
	}
	rank := len(d.b.Type(x).Shape)
	if rank == 0 || d.IntN(3) > 0 {
		d.keep(op.SumOver(d.b, x, d.axes(rank)...))
		return
	}
	d.emit(op.CumSum, append(attr("axis", d.IntN(rank)), graph.Attr{Name: "reverse", Ints: []int{d.IntN(2)}}), x)
}

func (d *drawing) product() {
	a := d.pick(func(t graph.Type) bool { return t.DType == graph.Float64 && len(t.Shape) == 2 })
	if a == graph.None {
		a = d.like(graph.F64(1+d.IntN(5), 1+d.IntN(5)))
	}
	ta, tb := d.IntN(2) == 0, d.IntN(2) == 0
	inner := d.b.Type(a).Shape[1]
	if ta {
		inner = d.b.Type(a).Shape[0]
	}
	shape := graph.Shape{inner, 1 + d.IntN(20)}
	if tb {
		shape[0], shape[1] = shape[1], shape[0]
	}
	d.keep(op.Product(d.b, a, d.like(graph.F64(shape...)), ta, tb))
}
