package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

func f32(dims ...int) graph.Type { return graph.Type{DType: graph.Float32, Shape: dims} }

// tensor32 rounds entries to float32.
func tensor32(shape graph.Shape, x ...float64) *graph.Tensor {
	t := &graph.Tensor{Type: f32(shape...), F: x}
	t.Round32()
	return t
}

// sinTimesX is sin(x)·x, summed where sum is set.
func sinTimesX(sum bool) *graph.Program {
	b := graph.NewBuilder("f")
	x := b.Input("x", f32(3))
	y := b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, x), x)
	if sum {
		y = op.SumOver(b, y, 0)
	}
	return b.Build(y)
}

func eval(t *testing.T, p *graph.Program, in ...*graph.Tensor) []*graph.Tensor {
	t.Helper()
	if err := roundTrip(p); err != nil {
		t.Fatal(err)
	}
	y, err := graph.Eval(p, in...)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// The traces of sin(x)·x: two equations, seven in its jvp, and a linear part of five that reads cos x, x and sin x.
func TestSinTimesX(t *testing.T) {
	p := sinTimesX(false)
	jvp := graph.JVP(p, []int{0})
	if len(p.Nodes) != 2 || len(jvp.Nodes) != 7 {
		t.Errorf("%d equations and %d in the jvp, want 2 and 7\n%v", len(p.Nodes), len(jvp.Nodes), jvp)
	}
	p = sinTimesX(true)
	x := tensor32(graph.Shape{3}, 0, 1, 2)
	l := graph.Linearize(p, []int{0})
	if len(l.Linear.Nodes) != 5 || l.Residuals != 3 {
		t.Errorf("want 5 linear equations and 3 residuals:\n%v", l.Linear)
	}
	residuals := eval(t, l.Primal, x)[1:]
	want := []*graph.Tensor{
		tensor32(graph.Shape{3}, 1, 0.5403022766113281, -0.416146844625473),
		tensor32(graph.Shape{3}, 0, 1, 2),
		tensor32(graph.Shape{3}, 0, 0.8414709568023682, 0.9092974066734314)}
	if !randprog.Same(residuals, want) {
		t.Errorf("residuals %v, want %v", residuals, want)
	}
	gradient := tensor32(graph.Shape{3}, 0, 1.3817732, 0.07700372)
	one := tensor32(nil, 1)
	if have := eval(t, graph.Transpose(l.Linear), append(slices.Clone(residuals), one)...); !randprog.Same(have, []*graph.Tensor{gradient}) {
		t.Errorf("transposed linear part: %v, want %v", have[0].F, gradient.F)
	}
	if have := eval(t, graph.VJP(p, []int{0}), x, one); !randprog.Same(have[1:], []*graph.Tensor{gradient}) {
		t.Errorf("vjp: %v, want %v", have[1].F, gradient.F)
	}
}

// The 2×2 example: jvp equals the assembled Jacobian times v bit for bit.
func TestTwoByTwo(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", f32(2))
	at := func(i int) graph.Value {
		return op.ReshapeTo(b, op.SliceOf(b, x, []int{i}, []int{i + 1}, []int{1}), nil)
	}
	y0 := b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, at(0)), at(1))
	y1 := b.Emit(op.Add, nil, op.PowN(b, at(0), 2), at(1))
	p := b.Build(b.Emit(op.Concat, graph.Attrs{{Name: "axis", Ints: []int{0}}},
		op.ReshapeTo(b, y0, graph.Shape{1}), op.ReshapeTo(b, y1, graph.Shape{1})))
	two := graph.Shape{2}
	in, v := tensor32(two, 0.5, 2), tensor32(two, 1, 0)
	have := eval(t, graph.JVP(p, []int{0}), in, v)
	if want := []*graph.Tensor{tensor32(two, 0.9588511, 2.25), tensor32(two, 1.7551651, 1)}; !randprog.Same(have, want) {
		t.Errorf("have %v %v, want %v %v", have[0].F, have[1].F, want[0].F, want[1].F)
	}
	vjp := graph.VJP(p, []int{0})
	product := graph.NewTensor(f32(2))
	for i := range 2 {
		seed := graph.NewTensor(f32(2))
		seed.F[i] = 1
		row := eval(t, vjp, in, seed)[1]
		product.F[i] = float64(float32(row.F[0]*v.F[0]) + float32(row.F[1]*v.F[1]))
	}
	if !randprog.Same(have[1:], []*graph.Tensor{product}) {
		t.Errorf("jvp %v, Jacobian times v %v", have[1].F, product.F)
	}
}

// Integers have float0 tangents: an absence of the right shape, zero bytes an entry, and no silent casts.
func TestTangentTypes(t *testing.T) {
	if graph.Float0.Size() != 0 {
		t.Error("float0 has a size")
	}
	b := graph.NewBuilder("f")
	n := b.Input("n", graph.Type{DType: graph.Int64, Shape: graph.Shape{3}})
	x := b.Emit(op.Convert, at("dtype", 0), n)
	p := b.Build(op.SumOver(b, b.Emit(op.Mul, nil, x, b.Full(graph.F64(3), 2)), 0), n)
	none := graph.Type{DType: graph.Float0, Shape: graph.Shape{3}}
	in := graph.Ints(graph.Shape{3}, []int64{0, 1, 2})
	forward := eval(t, graph.JVP(p, []int{0}), in, graph.NewTensor(none))
	if !forward[2].Equal(graph.Scalar) || forward[2].F[0] != 0 || !forward[3].Equal(none) {
		t.Errorf("tangents %v and %v", forward[2], forward[3])
	}
	reverse := eval(t, graph.VJP(p, []int{0}), in, graph.Number(1), graph.NewTensor(none))
	if !reverse[2].Equal(none) || len(reverse[2].F)+len(reverse[2].I) != 0 {
		t.Errorf("cotangent %v", reverse[2])
	}
	q := sinTimesX(false)
	_, err := graph.Eval(graph.JVP(q, []int{0}), graph.NewTensor(f32(3)), graph.NewTensor(graph.F64(3)))
	if err == nil || err.Error() != "f.jvp wants f32[3] for input dx, has f64[3]" {
		t.Errorf("a tangent of another type: %v", err)
	}
	_, err = graph.Eval(graph.JVP(p, []int{0}), in, graph.NewTensor(graph.F64(3)))
	if err == nil || !strings.Contains(err.Error(), "wants float0[3] for input dn, has f64[3]") {
		t.Errorf("a float tangent of integers: %v", err)
	}
}

// tiedBlock is Y = X + tanh(XW + b)·W + b: one W and one b, each used twice.
func tiedBlock(rows, d int) *graph.Program {
	b := graph.NewBuilder("tied_residual")
	x, w, bias := b.Input("X", graph.F64(rows, d)), b.Input("W", graph.F64(d, d)), b.Input("b", graph.F64(d))
	spread := b.Emit(op.BroadcastRows, at("rows", rows), bias)
	a := b.Emit(graph.Add, nil, op.Product(b, x, w, false, false), spread)
	h := b.Emit(op.Tanh, nil, a)
	y := b.Emit(graph.Add, nil, b.Emit(graph.Add, nil, x, op.Product(b, h, w, false, false)), spread)
	return b.Build(y)
}

// The pullback of the tied block agrees with its closed form; 32 cases with batch sizes 1–3 and widths 1–4.
func TestTiedResidualBlock(t *testing.T) {
	r := randprog.Rand(20261012)
	worst := 0.0
	for k := range 32 {
		rows, d := 1+k%3, 1+k%4
		p := tiedBlock(rows, d)
		in := randprog.Inputs(r, p)
		g := randprog.Tangents(r, p.OutputTypes())[0]
		have := eval(t, graph.VJP(p, []int{0, 1, 2}), append(slices.Clone(in), g)...)[1:]
		for i, want := range tiedPullback(rows, d, in, g) {
			for e, v := range want {
				worst = max(worst, math.Abs(have[i].F[e]-v))
			}
		}
	}
	if worst > 1e-15 {
		t.Errorf("the largest error is %v", worst)
	}
	t.Logf("largest error %v", worst)
}

// tiedPullback: H̄ = GWᵀ, Ā = H̄⊙(1 − H⊙H), X̄ = G + ĀWᵀ, W̄ = HᵀG + XᵀĀ, b̄ = ΣG + ΣĀ.
func tiedPullback(rows, d int, in []*graph.Tensor, g *graph.Tensor) [3][]float64 {
	x, w, b := in[0].F, in[1].F, in[2].F
	out := [3][]float64{make([]float64, rows*d), make([]float64, d*d), make([]float64, d)}
	for r := range rows {
		h, ha := make([]float64, d), make([]float64, d)
		for j := range d {
			a := b[j]
			for k := range d {
				a += x[r*d+k] * w[k*d+j]
			}
			h[j] = math.Tanh(a)
		}
		for j := range d {
			for k := range d {
				ha[j] += g.F[r*d+k] * w[j*d+k]
			}
			ha[j] *= 1 - h[j]*h[j]
		}
		for j := range d {
			out[0][r*d+j] = g.F[r*d+j]
			out[2][j] += g.F[r*d+j] + ha[j]
			for k := range d {
				out[0][r*d+j] += ha[k] * w[j*d+k]
				out[1][j*d+k] += h[j]*g.F[r*d+k] + x[r*d+j]*ha[k]
			}
		}
	}
	return out
}

// replaced is p with one more input, of the type of node v: where probe is set it is added to v, else it
// takes the place of v in all later operations and outputs.
func replaced(p *graph.Program, v graph.Value, probe bool) *graph.Program {
	b := graph.NewBuilder("cut")
	at := make([]graph.Value, p.NumValues())
	for i, in := range p.Inputs {
		at[i] = b.Input(in.Name, in.Type)
	}
	free := b.Input("free", p.Type(v))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		self := len(p.Inputs) + i
		if n.Op == graph.Literal {
			at[self] = b.Literal(n.Value)
		} else {
			args := make([]graph.Value, len(n.Args))
			for k, a := range n.Args {
				args[k] = at[a]
			}
			at[self] = b.Emit(n.Op, n.Attrs, args...)
		}
		if graph.Value(self) == v {
			if at[self] = free; probe {
				at[self] = b.Emit(graph.Add, nil, b.Emit(n.Op, n.Attrs, operands(n, at)...), free)
			}
		}
	}
	outputs := make([]graph.Value, len(p.Outputs))
	for i, o := range p.Outputs {
		outputs[i] = at[o]
	}
	return b.Build(outputs...)
}

func operands(n *graph.Node, at []graph.Value) []graph.Value {
	args := make([]graph.Value, len(n.Args))
	for k, a := range n.Args {
		args[k] = at[a]
	}
	return args
}

// The cotangent that reverse mode accumulates at an operation node is the derivative with respect to that node, its
// value treated as independent and all later operations recomputed from it: cut there, the derivative is the
// same, and finite differences of the later part confirm it. The accumulated cotangent is read at a zero
// that is added to the node.
func TestNodeCotangents(t *testing.T) {
	nodes := 0
	for seed := range uint64(400) {
		r := randprog.Rand(seed)
		p := randprog.Program(r, randprog.Settings{Ops: 8, Smooth: true})
		var candidates []graph.Value
		for i := range p.Nodes {
			if n := &p.Nodes[i]; n.Op != graph.Literal && n.Type.DType == graph.Float64 && n.Type.Len() > 0 {
				candidates = append(candidates, graph.Value(len(p.Inputs)+i))
			}
		}
		if len(candidates) == 0 {
			continue
		}
		nodes++
		v := candidates[r.IntN(len(candidates))]
		drawn := randprog.Inputs(r, p)
		in := moved(drawn, drawn, -0.2)
		values, err := graph.Trace(p, in...)
		if err != nil {
			t.Fatal(err)
		}
		ct := randprog.Tangents(r, p.OutputTypes())
		free := []int{len(p.Inputs)}
		zero := graph.NewTensor(p.Type(v))
		probe := replaced(p, v, true)
		accumulated := eval(t, graph.VJP(probe, free), slices.Concat(in, []*graph.Tensor{zero}, ct)...)[len(p.Outputs):]
		cut := replaced(p, v, false)
		at := append(slices.Clone(in), values[v])
		derivative := eval(t, graph.VJP(cut, free), slices.Concat(at, ct)...)[len(p.Outputs):]
		for i, x := range accumulated[0].F {
			if math.Abs(x-derivative[0].F[i]) > 1e-13*(1+math.Abs(x)) {
				t.Fatalf("seed %d, node %d: accumulated %v, derivative of the later part %v\n%v", seed, v, accumulated[0].F, derivative[0].F, p)
			}
		}
		direction := append(nothing(in), randprog.Tangents(r, []graph.Type{p.Type(v)})...)
		slope, size := randprog.Dot(accumulated, direction[len(in):])
		err = randprog.Ladder(func(h float64) (float64, error) {
			y, err := graph.Eval(cut, moved(at, direction, h/16)...)
			if err != nil {
				return 0, err
			}
			dot, _ := randprog.Dot(ct, y)
			return 16 * dot, nil
		}, slope, 16*(size+10))
		if err != nil && statusOf(err) != graph.DomainError { // the cut value may stand next to the end of a domain
			t.Fatalf("seed %d, node %d: %v\n%v", seed, v, err, p)
		}
	}
	if nodes < 300 {
		t.Errorf("only %d nodes", nodes)
	}
}

// nothing is a zero for each tensor.
func nothing(x []*graph.Tensor) []*graph.Tensor {
	out := make([]*graph.Tensor, len(x))
	for i := range x {
		out[i] = graph.NewTensor(x[i].Type)
	}
	return out
}

func ExampleBranches() {
	p, err := op.Parse(`program f(x: f64[3]) -> f64[3] {
  zero: f64[3] = literal 0
  one: f64[3] = literal 1
  c: bool[3] = less x zero
  a: f64[3] = abs x
  b: f64[3] = clamp x zero one
  y: f64[3] = select c a b
  return y
}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	values, err := graph.Trace(p, graph.Floats(graph.Shape{3}, []float64{-2, 0.5, 1}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, branch := range graph.Branches(p, values) {
		fmt.Println(p.Names()[branch.Value], branch.Labels)
	}
	// Output:
	// c [1 2 2]
	// a [1 2 2]
	// b [1 2 0]
}
