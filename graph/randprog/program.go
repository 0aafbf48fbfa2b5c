package randprog

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// Settings say what programs to draw. The zero value is a good choice.
type Settings struct {
	// Ops is the number of operations drawn; 0 means 10. More are added to keep operands inside domains.
	Ops int
	// Smooth leaves out every operation with a branch boundary and keeps values near 1, so that finite
	// differences converge.
	Smooth bool
	// Wild leaves half of the operands as they are, so that runs meet every status.
	Wild bool
	// DType is the element type of all floats: Float64 (the zero value) or Float32, which Convert mixes.
	DType graph.DType
}

// Rand returns the random source of a seed.
func Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Program draws a program. Shapes have up to three axes, dimensions 0 to 4; programs may have no
// inputs, unused inputs, repeated operands and outputs, outputs that are inputs, and no outputs.
func Program(r *rand.Rand, s Settings) *graph.Program {
	if s.Ops == 0 {
		s.Ops = 10
	}
	g := &gen{Rand: r, Settings: s, b: graph.NewBuilder("random")}
	names := slices.Clone(inputNames)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range r.IntN(4) {
		t := graph.Type{DType: g.DType, Shape: g.shape()}
		switch {
		case i > 0 && g.chance(8):
			t.DType = graph.Int64
		case i > 0 && g.chance(8):
			t.DType = graph.Bool
		}
		g.keep(g.b.Input(names[i], t), inputRange(t.DType))
	}
	for range s.Ops {
		for !g.step() {
		}
	}
	var outputs []graph.Value
	var outputNames []string
	for range r.IntN(4) + r.IntN(2) {
		if len(g.pool) == 0 {
			break
		}
		outputs = append(outputs, g.pool[g.recent(len(g.pool))])
		outputNames = append(outputNames, nodeNames[r.IntN(len(nodeNames))])
		if g.chance(4) {
			outputs, outputNames = append(outputs, outputs[0]), append(outputNames, "")
		}
	}
	if g.chance(2) {
		outputNames = nil
	}
	return g.b.BuildNamed(outputNames, outputs...)
}

// Names that are easily confused: with letters that the printer gives, with names that the transformations make,
// with words of the printed text, and with each other.
var (
	inputNames = []string{"x", "a", "dx", "ct_y", "return", "sin_x"}
	nodeNames  = []string{"", "", "", "a", "b", "y", "ct_x", "dx", "a_2", "return", "program", "dy", "cos_x"}
)

// inputRange is the interval from which Inputs draws.
func inputRange(d graph.DType) interval {
	if d == graph.Int64 {
		return interval{0, 2}
	}
	if d == graph.Bool {
		return interval{0, 1}
	}
	return interval{-1, 1}
}

// Inputs draws inputs of a program inside the intervals for which it was made: floats from [−1, 1],
// integers from 0 to 2.
func Inputs(r *rand.Rand, p *graph.Program) []*graph.Tensor {
	return draw(r, p, func(d graph.DType) float64 { return 2*r.Float64() - 1 }, func() int64 { return r.Int64N(3) })
}

// WildInputs draws inputs that meet boundaries and overflow: zeros of both signs, ones, the smallest and the
// largest numbers, and integers outside every range.
func WildInputs(r *rand.Rand, p *graph.Program) []*graph.Tensor {
	return draw(r, p, func(d graph.DType) float64 {
		if r.IntN(2) == 0 {
			return 4*r.Float64() - 2
		}
		x := special[r.IntN(len(special))]
		if d == graph.Float32 && math.Abs(x) > math.MaxFloat32 {
			x = math.Copysign(math.MaxFloat32, x)
		}
		return x
	}, func() int64 {
		if r.IntN(4) == 0 {
			return []int64{math.MinInt64, math.MaxInt64, -1, 7}[r.IntN(4)]
		}
		return r.Int64N(3)
	})
}

var special = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, 3, -3, 700, -700, 710, 1e-300, -1e-300, 1e300, -1e300,
	math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, math.Pi}

// Tangents draws a tangent (or cotangent) for each of the types, entries from [−1, 1].
func Tangents(r *rand.Rand, types []graph.Type) []*graph.Tensor {
	p := &graph.Program{}
	for _, t := range types {
		p.Inputs = append(p.Inputs, graph.Input{Type: t.Tangent()})
	}
	return Inputs(r, p)
}

func draw(r *rand.Rand, p *graph.Program, float func(graph.DType) float64, integer func() int64) []*graph.Tensor {
	inputs := make([]*graph.Tensor, len(p.Inputs))
	for i, in := range p.Inputs {
		x := graph.NewTensor(in.Type)
		for k := range x.F {
			x.F[k] = float(in.Type.DType)
		}
		for k := range x.I {
			if x.I[k] = integer(); in.Type.DType == graph.Bool {
				x.I[k] &= 1
			}
		}
		if in.Type.DType == graph.Float32 {
			x.Round32()
		}
		inputs[i] = x
	}
	return inputs
}

// interval holds all entries of a value, for all inputs that Inputs draws.
type interval struct{ lo, hi float64 }

func (i interval) size() float64 { return max(math.Abs(i.lo), math.Abs(i.hi)) }

// corners is the interval of f over the corners of two intervals: exact where f is monotone in each operand.
func corners(f func(x, y float64) float64, x, y interval) interval {
	v := []float64{f(x.lo, y.lo), f(x.lo, y.hi), f(x.hi, y.lo), f(x.hi, y.hi)}
	return interval{slices.Min(v), slices.Max(v)}
}

func union(x, y interval) interval { return interval{min(x.lo, y.lo), max(x.hi, y.hi)} }

// gen is a program that is being drawn.
type gen struct {
	*rand.Rand
	Settings
	b      *graph.Builder
	pool   []graph.Value
	bounds []interval // by value
}

// chance is true once in n.
func (g *gen) chance(n int) bool { return g.IntN(n) == 0 }

// step draws one operation; false where the drawn one does not fit the values there are.
func (g *gen) step() bool {
	recipe := recipes[g.IntN(len(recipes))]
	if g.Smooth && recipe.kinked {
		return false
	}
	v := recipe.emit(g)
	if v == graph.None {
		return false
	}
	if name := nodeNames[g.IntN(len(nodeNames))]; name != "" && g.chance(2) {
		g.b.Name(v, name)
	}
	return true
}

// emit adds an operation whose entries lie in the interval.
func (g *gen) emit(o *graph.Op, at graph.Attrs, bounds interval, args ...graph.Value) graph.Value {
	return g.keep(g.b.Emit(o, at, args...), bounds)
}

// keep enters a value into the pool.
func (g *gen) keep(v graph.Value, bounds interval) graph.Value {
	for len(g.bounds) <= int(v) {
		g.bounds = append(g.bounds, interval{})
	}
	if !(bounds.size() < 1e6) { // only in wild programs
		bounds = interval{-10, 10}
	}
	g.bounds[v] = bounds
	if !slices.Contains(g.pool, v) {
		g.pool = append(g.pool, v)
	}
	return v
}

// recent draws an index below n, more often a late one.
func (g *gen) recent(n int) int { return max(g.IntN(n), g.IntN(n)) }

// pick draws a value that fits, or None.
func (g *gen) pick(fits func(graph.Type) bool) graph.Value {
	var candidates []graph.Value
	for _, v := range g.pool {
		if fits(g.b.Type(v)) {
			candidates = append(candidates, v)
		}
	}
	if len(candidates) == 0 {
		return graph.None
	}
	return candidates[g.recent(len(candidates))]
}

// float draws a float value, a literal where there is none.
func (g *gen) float() graph.Value {
	v := g.pick(func(t graph.Type) bool { return t.DType == g.DType })
	if v == graph.None || g.chance(12) {
		v = g.literal(graph.Type{DType: g.DType, Shape: g.shape()})
	}
	return v
}

// like draws a value of a type: mostly one that is there, else a literal or a scalar broadcast to it.
func (g *gen) like(t graph.Type) graph.Value {
	v := g.pick(t.Equal)
	if v != graph.None && !g.chance(8) {
		return v
	}
	scalar := g.pick(graph.Type{DType: t.DType}.Equal)
	if scalar != graph.None && g.chance(2) {
		return g.keep(op.BroadcastTo(g.b, scalar, t.Shape), g.bounds[scalar])
	}
	return g.literal(t)
}

// literal adds a literal, half of them one entry for all.
func (g *gen) literal(t graph.Type) graph.Value {
	x := graph.NewTensor(t)
	bounds := interval{}
	same := g.chance(2)
	for k := range x.F {
		if x.F[k] = 4*g.Float64() - 2; !g.Smooth && g.chance(4) {
			x.F[k] = float64(g.IntN(3) - 1)
		}
		if same {
			x.F[k] = x.F[0]
		}
	}
	for k := range x.I {
		if x.I[k] = g.Int64N(3); t.DType == graph.Bool {
			x.I[k] = g.Int64N(2)
		}
		if same {
			x.I[k] = x.I[0]
		}
		bounds = interval{0, 2}
	}
	if t.DType == graph.Float32 {
		x.Round32()
	}
	for _, f := range x.F {
		bounds = union(bounds, interval{f, f})
	}
	if same && t.Len() > 0 {
		if x.F != nil {
			x.F = x.F[:1]
		} else {
			x.I = x.I[:1]
		}
	}
	return g.keep(g.b.Literal(x), bounds)
}

// full adds a float literal like v.
func (g *gen) full(v graph.Value, x float64) graph.Value {
	if g.DType == graph.Float32 {
		x = float64(float32(x))
	}
	return g.keep(g.b.Full(g.b.Type(v), x), interval{x, x})
}

// shape draws a small shape.
func (g *gen) shape() graph.Shape {
	shape := make(graph.Shape, g.IntN(4)*g.IntN(4)/3)
	for i := range shape {
		if shape[i] = 1 + g.IntN(4); g.chance(16) {
			shape[i] = 0
		}
	}
	return shape
}

// maxLen bounds the entries of a value.
const maxLen = 96

// bounded brings a value into [−limit, limit].
func (g *gen) bounded(v graph.Value, limit float64) graph.Value {
	if g.Smooth {
		limit = min(limit, 1)
	}
	size := g.bounds[v].size()
	if size <= limit || g.Wild && g.chance(2) {
		return v
	}
	if limit >= 1 && g.chance(3) {
		return g.emit(op.Tanh, nil, interval{-1, 1}, v)
	}
	factor := g.full(v, 0.99*limit/size)
	return g.emit(op.Mul, nil, corners(product, g.bounds[v], g.bounds[factor]), v, factor)
}

func product(x, y float64) float64 { return x * y }

// positive brings a value above 0.3.
func (g *gen) positive(v graph.Value) graph.Value {
	if g.bounds[v].lo > 0.3 && g.bounds[v].hi < 10 || g.Wild && g.chance(2) {
		return v
	}
	switch g.IntN(3) {
	case 0:
		v = g.bounded(v, 1)
		return g.emit(op.Exp, nil, interval{0.35, 2.8}, v)
	case 1:
		v = g.bounded(v, 2)
		square := g.emit(op.Mul, nil, interval{0, 4.1}, v, v)
		return g.emit(op.Add, nil, interval{0.5, 4.7}, square, g.full(v, 0.5))
	}
	v = g.emit(op.Logistic, nil, interval{0, 1}, v)
	return g.emit(op.Add, nil, interval{0.5, 1.6}, v, g.full(v, 0.5))
}
