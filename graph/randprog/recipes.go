package randprog

import (
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// recipe draws operands for one operation, brings them into its domain and adds it. kinked marks
// those with a branch boundary.
type recipe struct {
	kinked bool
	emit   func(g *gen) graph.Value
}

var recipes = slices.Concat(elementary, arithmetic, kinked, logic, moves, reductions)

// monotone is the recipe of an elementary function that rises on [−limit, limit].
func monotone(o *graph.Op, limit float64, f func(float64) float64) recipe {
	return recipe{emit: func(g *gen) graph.Value {
		x := g.bounded(g.float(), limit)
		i := g.bounds[x]
		return g.emit(o, nil, interval{f(i.lo) - 1e-6, f(i.hi) + 1e-6}, x)
	}}
}

// within is the recipe of an elementary function with values in the interval for operands in [−limit, limit].
func within(o *graph.Op, limit, lo, hi float64) recipe {
	return recipe{emit: func(g *gen) graph.Value { return g.emit(o, nil, interval{lo, hi}, g.bounded(g.float(), limit)) }}
}

// above is the recipe of an elementary function that rises on x > 0.3.
func above(o *graph.Op, f func(float64) float64) recipe {
	return recipe{emit: func(g *gen) graph.Value {
		x := g.positive(g.float())
		i := g.bounds[x]
		return g.emit(o, nil, interval{f(i.lo) - 1e-6, f(i.hi) + 1e-6}, x)
	}}
}

var elementary = []recipe{
	monotone(op.Exp, 3, math.Exp),
	monotone(op.Expm1, 3, math.Expm1),
	above(op.Log, math.Log),
	monotone(op.Log1p, 0.9, math.Log1p),
	above(op.Sqrt, math.Sqrt),
	within(op.Sin, 20, -1, 1),
	within(op.Cos, 20, -1, 1),
	monotone(op.Tan, 1.2, math.Tan),
	monotone(op.Asin, 0.9, math.Asin),
	within(op.Acos, 0.9, 0.4, 2.8),
	monotone(op.Atan, 20, math.Atan),
	monotone(op.Sinh, 3, math.Sinh),
	within(op.Cosh, 3, 1, 10.1),
	monotone(op.Tanh, 20, math.Tanh),
	within(op.Sech2, 20, 0, 1),
	within(op.Logistic, 20, 0, 1),
	within(op.Softplus, 9, 0, 10),
	monotone(op.Erf, 20, math.Erf),
	within(op.Gaussian, 20, 0, 1),
	{emit: func(g *gen) graph.Value {
		y := g.positive(g.float())
		return g.emit(op.Atan2, nil, interval{-3.2, 3.2}, y, g.bounded(g.like(g.b.Type(y)), 5))
	}},
	{emit: func(g *gen) graph.Value {
		x := g.positive(g.float())
		y := g.bounded(g.like(g.b.Type(x)), 5)
		return g.emit(op.Hypot, nil, interval{g.bounds[x].lo, 2 * max(g.bounds[x].size(), g.bounds[y].size())}, x, y)
	}},
}

// pair draws two operands of one type, within ±limit.
func (g *gen) pair(limit float64) (x, y graph.Value) {
	x = g.bounded(g.float(), limit)
	return x, g.bounded(g.like(g.b.Type(x)), limit)
}

// entrywise is the recipe of +, − or × on floats, and once in six on small integers.
func entrywise(o *graph.Op, f func(x, y float64) float64) func(g *gen) graph.Value {
	return func(g *gen) graph.Value {
		x, y := graph.None, graph.None
		if g.chance(6) {
			if x = g.integer(); x == graph.None {
				return x
			}
			y = g.like(g.b.Type(x))
			if max(g.bounds[x].size(), g.bounds[y].size()) > 100 {
				return graph.None
			}
		} else {
			x, y = g.pair(8)
		}
		return g.emit(o, nil, corners(f, g.bounds[x], g.bounds[y]), x, y)
	}
}

// integer draws an int64 value, or None.
func (g *gen) integer() graph.Value {
	return g.pick(func(t graph.Type) bool { return t.DType == graph.Int64 })
}

// power draws a base and an exponent of a real power: a positive base, or a whole literal exponent.
func (g *gen) power() (x, y graph.Value) {
	if g.chance(3) {
		x = g.bounded(g.float(), 3)
		return x, g.full(x, float64(g.IntN(4)))
	}
	x = g.positive(g.float())
	return x, g.bounded(g.like(g.b.Type(x)), 2)
}

// powerBound bounds |x^y|·(|y|+k)^k for exponents down to y − k.
func (g *gen) powerBound(x, y graph.Value, k int) interval {
	base, exponent := g.bounds[x].size(), g.bounds[y].size()+float64(k)
	size := math.Pow(max(base, 1/0.3), exponent) * math.Pow(exponent, float64(k))
	return interval{-size, size}
}

var arithmetic = []recipe{
	{emit: entrywise(op.Add, func(x, y float64) float64 { return x + y })},
	{emit: entrywise(op.Sub, func(x, y float64) float64 { return x - y })},
	{emit: entrywise(op.Mul, product)},
	{emit: func(g *gen) graph.Value {
		x := g.float()
		if i := g.integer(); i != graph.None && g.chance(6) {
			x = i
		}
		return g.emit(op.Neg, nil, interval{-g.bounds[x].hi, -g.bounds[x].lo}, x)
	}},
	{emit: func(g *gen) graph.Value {
		y := g.positive(g.float())
		x := g.bounded(g.like(g.b.Type(y)), 8)
		if g.chance(4) {
			y = g.emit(op.Neg, nil, interval{-g.bounds[y].hi, -g.bounds[y].lo}, y)
		}
		return g.emit(op.Div, nil, corners(func(x, y float64) float64 { return x / y }, g.bounds[x], g.bounds[y]), x, y)
	}},
	{emit: func(g *gen) graph.Value {
		x, y := g.power()
		return g.emit(op.Pow, nil, g.powerBound(x, y, 0), x, y)
	}},
	{emit: func(g *gen) graph.Value {
		x, y := g.power()
		k := 1 + g.IntN(2)
		return g.emit(op.PowSlope, ints("k", k), g.powerBound(x, y, k), x, y)
	}},
	{emit: func(g *gen) graph.Value {
		x, n := g.bounded(g.float(), 2), g.IntN(8)-3
		if n < 0 {
			x = g.positive(x)
		}
		size := math.Pow(max(g.bounds[x].size(), 1/0.3), math.Abs(float64(n)))
		return g.emit(op.PowInt, ints("n", n), interval{-size, size}, x)
	}},
	{emit: func(g *gen) graph.Value {
		return g.literal(graph.Type{DType: []graph.DType{g.DType, graph.Int64, graph.Bool}[g.IntN(3)], Shape: g.shape()})
	}},
	{emit: func(g *gen) graph.Value {
		x := g.pick(func(graph.Type) bool { return true })
		if x == graph.None {
			return x
		}
		return g.emit(op.Convert, ints("dtype", int(g.DType)), g.bounds[x], x)
	}},
}

func ints(name string, values ...int) graph.Attrs { return graph.Attrs{{Name: name, Ints: values}} }

var kinked = []recipe{
	{kinked: true, emit: func(g *gen) graph.Value {
		x := g.float()
		return g.emit(op.Abs, nil, interval{0, g.bounds[x].size()}, x)
	}},
	{kinked: true, emit: func(g *gen) graph.Value { return g.emit(op.Sign, nil, interval{-1, 1}, g.float()) }},
	{kinked: true, emit: func(g *gen) graph.Value {
		x := g.float()
		b := g.bounds[x]
		return g.emit(op.Round, nil, interval{math.RoundToEven(b.lo), math.RoundToEven(b.hi)}, x)
	}},
	{kinked: true, emit: func(g *gen) graph.Value {
		x, y := g.pair(8)
		return g.emit(op.Min, nil, corners(math.Min, g.bounds[x], g.bounds[y]), x, y)
	}},
	{kinked: true, emit: func(g *gen) graph.Value {
		x, y := g.pair(8)
		return g.emit(op.Max, nil, corners(math.Max, g.bounds[x], g.bounds[y]), x, y)
	}},
	{kinked: true, emit: func(g *gen) graph.Value {
		x, lo := g.pair(4)
		width := g.positive(g.like(g.b.Type(x)))
		hi := g.emit(op.Add, nil, corners(func(x, y float64) float64 { return x + y }, g.bounds[lo], g.bounds[width]), lo, width)
		return g.emit(op.Clamp, nil, union(g.bounds[lo], g.bounds[hi]), x, lo, hi)
	}},
}

// compare is the recipe of a comparison, of integers once in three; smooth programs compare integers only.
func compare(o *graph.Op) recipe {
	return recipe{emit: func(g *gen) graph.Value {
		x := g.integer()
		if !g.Smooth && (x == graph.None || !g.chance(3)) {
			x = g.float()
		}
		if x == graph.None {
			return x
		}
		return g.emit(o, nil, interval{0, 1}, x, g.like(g.b.Type(x)))
	}}
}

// boolean draws a bool value, or None.
func (g *gen) boolean() graph.Value {
	return g.pick(func(t graph.Type) bool { return t.DType == graph.Bool })
}

func connect(o *graph.Op) recipe {
	return recipe{emit: func(g *gen) graph.Value {
		x := g.boolean()
		switch {
		case x == graph.None:
			return x
		case o.Arity == 1:
			return g.emit(o, nil, interval{0, 1}, x)
		}
		return g.emit(o, nil, interval{0, 1}, x, g.like(g.b.Type(x)))
	}}
}

var logic = []recipe{
	compare(op.Less),
	compare(op.LessEqual),
	compare(op.Equal),
	connect(op.And),
	connect(op.Or),
	connect(op.Not),
	{emit: func(g *gen) graph.Value {
		x, y := g.pair(20)
		if i := g.integer(); i != graph.None && g.chance(8) {
			x, y = i, g.like(g.b.Type(i))
		}
		shape := g.b.Type(x).Shape
		c := g.pick(graph.Type{DType: graph.Bool, Shape: shape}.Equal)
		if scalar := g.pick(graph.Type{DType: graph.Bool}.Equal); scalar != graph.None && (c == graph.None || g.chance(2)) {
			c = scalar
		}
		if c == graph.None {
			c = g.literal(graph.Type{DType: graph.Bool, Shape: shape})
		}
		return g.emit(op.Select, nil, union(g.bounds[x], g.bounds[y]), c, x, y)
	}},
}

// moved draws an operand that is moved: any type but booleans now and then, with an axis if wanted.
func (g *gen) moved(axes int) graph.Value {
	fits := func(t graph.Type) bool { return len(t.Shape) >= axes && (t.DType == g.DType || g.Uint64()%8 == 0) }
	v := g.pick(fits)
	if v == graph.None {
		shape := g.shape()
		for len(shape) < axes {
			shape = append(shape, 1+g.IntN(3))
		}
		v = g.literal(graph.Type{DType: g.DType, Shape: shape})
	}
	return v
}

var moves = []recipe{
	{emit: func(g *gen) graph.Value {
		x := g.moved(0)
		shape := g.factors(g.b.Type(x).Shape)
		return g.keep(op.ReshapeTo(g.b, x, shape), g.bounds[x])
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(g.IntN(3))
		return g.emit(op.Transpose, ints("perm", g.Perm(len(g.b.Type(x).Shape))...), g.bounds[x], x)
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(0)
		t := g.b.Type(x)
		if t.Len() > maxLen/4 || len(t.Shape) > 2 {
			return graph.None
		}
		shape, dims := slices.Clone(t.Shape), []int{}
		at := g.IntN(len(shape) + 1)
		shape = slices.Insert(shape, at, g.IntN(4))
		for a := range shape {
			if a != at {
				dims = append(dims, a)
			}
		}
		return g.keep(op.BroadcastTo(g.b, x, shape, dims...), g.bounds[x])
	}},
	{emit: func(g *gen) graph.Value {
		x := g.pick(func(t graph.Type) bool { return len(t.Shape) == 1 && t.Len() <= maxLen/4 })
		if x == graph.None {
			return x
		}
		return g.emit(op.BroadcastRows, ints("rows", g.IntN(4)), g.bounds[x], x)
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(g.IntN(2))
		var start, limit, step []int
		for _, d := range g.b.Type(x).Shape {
			s := g.IntN(d + 1)
			l := s + g.IntN(d-s+1)
			start, limit, step = append(start, s), append(limit, l), append(step, 1+g.IntN(3))
		}
		return g.keep(op.SliceOf(g.b, x, start, limit, step), g.bounds[x])
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(g.IntN(2))
		t := g.b.Type(x)
		if t.Len() > maxLen/8 {
			return graph.None
		}
		low, high, interior := make([]int, len(t.Shape)), make([]int, len(t.Shape)), make([]int, len(t.Shape))
		for a := range t.Shape {
			if g.chance(2) {
				low[a], high[a], interior[a] = g.IntN(2), g.IntN(2), g.IntN(2)
			}
		}
		return g.keep(op.PadWith(g.b, x, low, high, interior), union(g.bounds[x], interval{}))
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(1)
		t := g.b.Type(x)
		axis := g.IntN(len(t.Shape))
		fits := func(u graph.Type) bool {
			if u.DType != t.DType || len(u.Shape) != len(t.Shape) {
				return false
			}
			u.Shape = slices.Clone(u.Shape)
			u.Shape[axis] = t.Shape[axis]
			return u.Shape.Equal(t.Shape)
		}
		args, bounds, total := []graph.Value{x}, g.bounds[x], t.Len()
		for range g.IntN(3) {
			y := g.pick(fits)
			if total += g.b.Type(y).Len(); total > maxLen {
				break
			}
			args, bounds = append(args, y), union(bounds, g.bounds[y])
		}
		return g.emit(op.Concat, ints("axis", axis), bounds, args...)
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(1)
		at := append(ints("axis", g.IntN(len(g.b.Type(x).Shape))), graph.Attr{Name: "shift", Ints: []int{g.IntN(11) - 5}})
		return g.emit(op.Roll, at, g.bounds[x], x)
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(1)
		return g.emit(op.Reverse, ints("axes", g.axes(x)...), g.bounds[x], x)
	}},
	{emit: func(g *gen) graph.Value {
		x := g.moved(1)
		t := g.b.Type(x)
		index := g.index(t.Shape[0])
		if t.Len()*g.b.Type(index).Len() > 4*maxLen || len(t.Shape)+len(g.b.Type(index).Shape) > 4 {
			return graph.None
		}
		return g.emit(op.Gather, nil, g.bounds[x], x, index)
	}},
	{emit: func(g *gen) graph.Value {
		size := g.IntN(4)
		index := g.index(size)
		shape := g.b.Type(index).Shape
		x := g.pick(func(t graph.Type) bool {
			return t.DType == g.DType && len(t.Shape) >= len(shape) && graph.Shape(t.Shape[:len(shape)]).Equal(shape)
		})
		if x == graph.None {
			x = g.literal(graph.Type{DType: g.DType, Shape: shape})
		}
		n := g.bounds[x].size() * float64(max(1, shape.Len()))
		at := append(ints("size", size), graph.Attr{Name: "rank", Ints: []int{len(shape)}})
		return g.emit(op.ScatterAdd, at, interval{-n, n}, x, index)
	}},
}

// factors draws a shape with as many entries.
func (g *gen) factors(shape graph.Shape) graph.Shape {
	n := shape.Len()
	if n == 0 {
		return append(slices.Clone(shape), 1)
	}
	var out graph.Shape
	for n > 1 && len(out) < 2 {
		d := 1 + g.IntN(n)
		for n%d != 0 {
			d = 1 + g.IntN(n)
		}
		out, n = append(out, d), n/d
	}
	if n > 1 || g.chance(4) {
		out = append(out, n)
	}
	return out
}

// axes draws increasing axes of a value.
func (g *gen) axes(x graph.Value) []int {
	axes := []int{}
	for a := range g.b.Type(x).Shape {
		if g.chance(2) {
			axes = append(axes, a)
		}
	}
	return axes
}

// index draws indices below rows: an int64 value that is there, or a literal.
func (g *gen) index(rows int) graph.Value {
	var candidates []graph.Value
	for _, v := range g.pool {
		i := g.bounds[v]
		if t := g.b.Type(v); t.DType == graph.Int64 && len(t.Shape) < 3 && (i.lo >= 0 && int(i.hi) < rows || g.Wild) {
			candidates = append(candidates, v)
		}
	}
	if len(candidates) > 0 && !g.chance(3) {
		return candidates[g.recent(len(candidates))]
	}
	x := graph.NewTensor(graph.Type{DType: graph.Int64, Shape: []graph.Shape{{}, {1}, {3}, {2, 2}}[g.IntN(4)]})
	if rows == 0 {
		x = graph.NewTensor(graph.Type{DType: graph.Int64, Shape: graph.Shape{0}})
	}
	for k := range x.I {
		x.I[k] = g.Int64N(int64(rows))
	}
	return g.keep(g.b.Literal(x), interval{0, float64(max(0, rows-1))})
}

// numeric draws a value with at least so many axes that can be added, a float mostly.
func (g *gen) numeric(axes int) graph.Value {
	v := g.moved(axes)
	if g.b.Type(v).DType == graph.Bool {
		return graph.None
	}
	return v
}

var reductions = []recipe{
	{emit: func(g *gen) graph.Value {
		x := g.numeric(0)
		if x == graph.None {
			return x
		}
		n := g.bounds[x].size() * float64(g.b.Type(x).Len())
		return g.keep(op.SumOver(g.b, x, g.axes(x)...), interval{-n, n})
	}},
	{emit: func(g *gen) graph.Value {
		x := g.numeric(1)
		if x == graph.None {
			return x
		}
		t := g.b.Type(x)
		at := ints("axis", g.IntN(len(t.Shape)))
		if g.chance(2) {
			at = append(at, graph.Attr{Name: "reverse", Ints: []int{g.IntN(2)}})
		}
		n := g.bounds[x].size() * float64(t.Shape[at.Int("axis")])
		return g.emit(op.CumSum, at, interval{-n, n}, x)
	}},
	{emit: func(g *gen) graph.Value {
		a := g.pick(func(t graph.Type) bool { return t.DType == g.DType && len(t.Shape) == 2 })
		if a == graph.None {
			a = g.literal(graph.Type{DType: g.DType, Shape: graph.Shape{1 + g.IntN(3), 1 + g.IntN(3)}})
		}
		ta, tb := g.chance(2), g.chance(2)
		inner := g.b.Type(a).Shape[1]
		if ta {
			inner = g.b.Type(a).Shape[0]
		}
		axis := 0
		if tb {
			axis = 1
		}
		c := g.pick(func(t graph.Type) bool { return t.DType == g.DType && len(t.Shape) == 2 && t.Shape[axis] == inner })
		if c == graph.None {
			shape := graph.Shape{1 + g.IntN(3), 1 + g.IntN(3)}
			shape[axis] = inner
			c = g.literal(graph.Type{DType: g.DType, Shape: shape})
		}
		a, c = g.bounded(a, 4), g.bounded(c, 4)
		n := g.bounds[a].size() * g.bounds[c].size() * float64(inner)
		return g.emit(op.MatMul, op.ProductAttrs(ta, tb), interval{-n, n}, a, c)
	}},
}
