package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/graph/op"
)

func float32s(shape graph.Shape, x ...float64) *graph.Tensor {
	t := &graph.Tensor{Type: graph.Type{DType: graph.Float32, Shape: shape}, F: x}
	t.Round32()
	return t
}

// printed compares float32 results with the decimals that a document prints: each names its nearest float32.
func (c *Check) printed(what string, have *graph.Tensor, want ...float64) {
	ok := len(have.F) == len(want)
	for i := range want {
		ok = ok && have.F[i] == float64(float32(want[i]))
	}
	c.expect(ok, "%s: %v, printed %v", what, have.F, want)
	c.Notes = append(c.Notes, fmt.Sprintf("%s: %v", what, want))
}

// documentNumbers reproduces the listings of the document on jvp, linearize and transpose, in float32.
func documentNumbers(c *Check) {
	vector := graph.Type{DType: graph.Float32, Shape: graph.Shape{3}}
	sinx := func(sum bool) *graph.Program {
		b := graph.NewBuilder("f")
		x := b.Input("x", vector)
		y := b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, x), x)
		if sum {
			y = op.SumOver(b, y, 0)
		}
		return b.Build(y)
	}
	run := func(p *graph.Program, in ...*graph.Tensor) []*graph.Tensor {
		out, err := graph.Eval(p, in...)
		if err != nil {
			c.fail("%s: %v", p.Name, err)
			return make([]*graph.Tensor, len(p.Outputs))
		}
		return out
	}
	c.expect(len(sinx(false).Nodes) == 2, "sin(x)·x has %d equations, printed 2", len(sinx(false).Nodes))
	jvp := graph.JVP(sinx(false), []int{0})
	c.expect(len(jvp.Nodes) == 7, "its jvp has %d equations, printed 7", len(jvp.Nodes))

	l := graph.Linearize(sinx(true), []int{0})
	at := float32s(graph.Shape{3}, 0, 1, 2)
	primal := run(l.Primal, at)
	c.expect(l.Residuals == 3 && l.Linear.Inputs[0].Name == "cos_x" && l.Linear.Inputs[1].Name == "x" && l.Linear.Inputs[2].Name == "sin_x",
		"the residuals are %v, printed cos x, x, sin x", l.Linear.Inputs[:l.Residuals])
	if len(c.Failures) > 0 {
		return
	}
	c.printed("residual cos x", primal[1], 1, 0.5403022766113281, -0.416146844625473)
	c.printed("residual x", primal[2], 0, 1, 2)
	c.printed("residual sin x", primal[3], 0, 0.8414709568023682, 0.9092974066734314)
	adjoint := run(graph.Transpose(l.Linear), append(slices.Clone(primal[1:]), float32s(nil, 1))...)
	c.printed("sin(x)·x transposed at 1", adjoint[0], 0, 1.3817732, 0.07700372)
	c.printed("its gradient", run(graph.VJP(sinx(true), []int{0}), at, float32s(nil, 1))[1], 0, 1.3817732, 0.07700372)

	b := graph.NewBuilder("g")
	x := b.Input("x", graph.Type{DType: graph.Float32, Shape: graph.Shape{2}})
	entry := func(i int) graph.Value { return op.SliceOf(b, x, []int{i}, []int{i + 1}, []int{1}) }
	g := b.Build(b.Emit(op.Concat, graph.Attrs{{Name: "axis", Ints: []int{0}}},
		b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, entry(0)), entry(1)), b.Emit(op.Add, nil, op.PowN(b, entry(0), 2), entry(1))))
	point, v := float32s(graph.Shape{2}, 0.5, 2), float32s(graph.Shape{2}, 1, 0)
	y, dy, err := graph.Directional(g, []int{0}, []*graph.Tensor{point}, []*graph.Tensor{v})
	if err != nil {
		c.fail("the 2×2 example: %v", err)
		return
	}
	c.printed("the 2×2 example", y[0], 0.9588511, 2.25)
	c.printed("its directional derivative", dy[0], 1.7551651, 1)
	rows := graph.NewTensor(graph.Type{DType: graph.Float32, Shape: graph.Shape{2, 2}})
	for r := range 2 { // the Jacobian by reverse mode, row by row
		seed := float32s(graph.Shape{2}, 0, 0)
		seed.F[r] = 1
		copy(rows.F[2*r:], run(graph.VJP(g, []int{0}), point, seed)[1].F)
	}
	m := graph.NewBuilder("Jv")
	product := m.Build(op.Product(m, m.Input("J", rows.Type), m.Input("v", graph.Type{DType: graph.Float32, Shape: graph.Shape{2, 1}}), false, false))
	jv := run(product, rows, float32s(graph.Shape{2, 1}, v.F...))[0]
	c.expect(slices.Equal(jv.F, dy[0].F), "the assembled Jacobian times v is %v, the tangent %v", jv.F, dy[0].F)

	_, _, err = graph.Directional(sinx(false), []int{0}, []*graph.Tensor{at}, []*graph.Tensor{graph.NewTensor(graph.F64(3))})
	c.expect(err != nil && strings.Contains(err.Error(), "f64[3]") && strings.Contains(err.Error(), "f32[3]") && strings.Contains(err.Error(), "expected"),
		"a float64 tangent of a float32 primal: %v", err)
	n := graph.NewBuilder("n")
	k := n.Input("n", graph.Type{DType: graph.Int64, Shape: graph.Shape{3}})
	twice := n.Build(n.Emit(graph.Add, nil, k, k))
	absent := graph.NewTensor(graph.Type{DType: graph.Float0, Shape: graph.Shape{3}})
	_, dn, err := graph.Directional(twice, []int{0}, []*graph.Tensor{graph.Ints(graph.Shape{3}, []int64{0, 1, 2})}, []*graph.Tensor{absent})
	c.expect(err == nil && dn[0].DType == graph.Float0 && dn[0].DType.Size() == 0 && dn[0].Shape.Equal(graph.Shape{3}), "the tangent of an integer: %v, %v", dn, err)
	ct, err := graph.Eval(graph.VJP(twice, []int{0}), graph.Ints(graph.Shape{3}, []int64{0, 1, 2}), absent)
	c.expect(err == nil && ct[1].DType == graph.Float0 && len(ct[1].F)+len(ct[1].I) == 0, "the cotangent of an integer: %v, %v", ct, err)
}

// structures checks sharing on modules whose cotangents are known: integers, to the last bit.
func structures(c *Check) {
	x := map[string]*graph.Tensor{
		"x": graph.Floats(graph.Shape{2, 2}, []float64{1, 2, 3, 4}), "y": graph.Floats(graph.Shape{2, 2}, []float64{5, 6, 7, 8}),
		"v": graph.Floats(graph.Shape{2}, []float64{9, -1}), "unused": graph.Floats(nil, []float64{3})}
	ones := graph.Floats(graph.Shape{2, 2}, []float64{1, 1, 1, 1})
	for _, s := range []struct {
		what, nodes, outputs string
		seeds                []*graph.Tensor
		x, y, v              []float64
	}{
		{"repeated operands", `{"name": "z", "primitive": "mul", "operands": ["x", "x"]}`, `"z"`, []*graph.Tensor{ones},
			[]float64{2, 4, 6, 8}, []float64{0, 0, 0, 0}, []float64{0, 0}},
		{"repeated operands of a matrix product", `{"name": "z", "primitive": "matmul", "operands": ["x", "x"]}`, `"z"`, []*graph.Tensor{ones},
			[]float64{3 + 4, 7 + 4, 3 + 6, 7 + 6}, []float64{0, 0, 0, 0}, []float64{0, 0}},
		{"repeated outputs", `{"name": "z", "primitive": "mul", "operands": ["x", "y"]}`, `"z", "z", "x"`, []*graph.Tensor{ones, ones, ones},
			[]float64{11, 13, 15, 17}, []float64{2, 4, 6, 8}, []float64{0, 0}},
		{"an output that is an input", ``, `"x"`, []*graph.Tensor{ones}, []float64{1, 1, 1, 1}, []float64{0, 0, 0, 0}, []float64{0, 0}},
		{"products", `{"name": "a", "primitive": "mul", "operands": ["x", "y"]}, {"name": "z", "primitive": "mul", "operands": ["a", "x"]}`, `"z"`, []*graph.Tensor{ones},
			[]float64{10, 24, 42, 64}, []float64{1, 4, 9, 16}, []float64{0, 0}},
		{"equal nodes apart", `{"name": "a", "primitive": "broadcast_rows", "operands": ["v"], "attributes": {"rows": 2}}, {"name": "b", "primitive": "broadcast_rows", "operands": ["v"], "attributes": {"rows": 2}}, {"name": "z", "primitive": "mul", "operands": ["a", "b"]}`, `"z"`, []*graph.Tensor{ones},
			[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, []float64{36, -4}},
		{"reductions", `{"name": "a", "primitive": "mul", "operands": ["x", "y"]}, {"name": "s", "primitive": "sum", "operands": ["a"]}, {"name": "r", "primitive": "sum", "operands": ["x"], "attributes": {"axes": [0]}}, {"name": "z", "primitive": "mul", "operands": ["r", "v"]}`, `"s", "z"`, []*graph.Tensor{graph.Number(2), graph.Floats(graph.Shape{2}, []float64{1, 1})},
			[]float64{19, 11, 23, 15}, []float64{2, 4, 6, 8}, []float64{4, 6}},
	} {
		m, err := module.Read([]byte(`{"name": "m", "inputs": [{"name": "x", "shape": [2, 2]}, {"name": "y", "shape": [2, 2]}, {"name": "v", "shape": [2]}, {"name": "unused", "shape": []}], "nodes": [` +
			s.nodes + `], "outputs": [` + s.outputs + `]}`))
		if err != nil {
			c.fail("%s: %v", s.what, err)
			continue
		}
		in, err := m.Instantiate(nil)
		if err != nil {
			c.fail("%s: %v", s.what, err)
			continue
		}
		e, err := in.Forward(x)
		if err != nil {
			c.fail("%s: %v", s.what, err)
			continue
		}
		ct, err := e.Reverse(e.Tape, s.seeds...)
		if err != nil {
			c.fail("%s: %v", s.what, err)
			continue
		}
		c.expect(slices.Equal(ct["x"].F, s.x) && slices.Equal(ct["y"].F, s.y) && slices.Equal(ct["v"].F, s.v) && ct["unused"].F[0] == 0,
			"%s: %v, %v, %v, %v", s.what, ct["x"].F, ct["y"].F, ct["v"].F, ct["unused"].F)
	}
}

// declaredResponses compares three declared responses, and an exact one beside them, with finite differences.
func declaredResponses(c *Check) {
	for _, s := range []struct {
		what, node string
		reverse    float64 // the cotangent for seed 1 at x = 1.75
		verdict    Verdict
		names      []string
	}{
		{"stop_gradient", `{"name": "y", "primitive": "stop_gradient", "operands": ["x"]}`, 0, Declared, []string{"stop_gradient"}},
		{"straight-through rounding", `{"name": "y", "primitive": "straight_through_round", "operands": ["x"]}`, 1, Declared, []string{"straight_through_round"}},
		{"a linear formula of its own", `{"name": "y", "primitive": "sin", "operands": ["x"], "response": {"operands": ["u"], "seed": "g", "nodes": [{"name": "gu", "primitive": "mul", "operands": ["g", "u"]}], "outputs": ["gu"]}}`, 1.75, Declared, []string{"y"}},
		{"an exact primitive", `{"name": "y", "primitive": "sin", "operands": ["x"]}`, math.Cos(1.75), Agrees, nil},
	} {
		m, err := module.Read([]byte(`{"name": "m", "inputs": [{"name": "x", "shape": []}], "nodes": [` + s.node + `], "outputs": ["y"]}`))
		if err != nil {
			c.fail("%s: %v", s.what, err)
			continue
		}
		p, err := m.Program(nil)
		if err != nil {
			c.fail("%s: %v", s.what, err)
			continue
		}
		one := []*graph.Tensor{graph.Number(1)}
		d, err := FiniteDifference(p, []int{0}, []*graph.Tensor{graph.Number(1.75)}, one, one, 1e-6, 3e-7)
		c.expect(err == nil && d.Derivative == s.reverse && d.Verdict == s.verdict && slices.Equal(d.Declared, s.names),
			"%s: reverse %v, want %v; %s %v, want %s %v; %v", s.what, d.Derivative, s.reverse, d.Verdict, d.Declared, s.verdict, s.names, err)
		_, dy, err := graph.Directional(p, []int{0}, []*graph.Tensor{graph.Number(1.75)}, one)
		c.expect(err == nil && dy[0].F[0] == s.reverse, "%s: forward %v, want %v; %v", s.what, dy, s.reverse, err)
		vjp := graph.Declared(graph.VJP(p, []int{0}), 1)
		c.expect(slices.Equal(vjp, s.names), "%s: its cotangent is marked %v, want %v", s.what, vjp, s.names)
		c.Notes = append(c.Notes, fmt.Sprintf("%s: reverse %v, finite difference %.6f: %s %s", s.what, d.Derivative, d.Quotient, d.Verdict, strings.Join(d.Declared, ", ")))
	}
}

// taylorForms measures relative errors of coefficients 0 to 20 against closed forms at 0.7.
func taylorForms(c *Check) {
	const x0, order = 0.7, 20
	for _, f := range []struct {
		o    *graph.Op
		want func(k int) float64
	}{
		{op.Exp, func(k int) float64 { return math.Exp(x0) / math.Gamma(float64(k)+1) }},
		{op.Log, func(k int) float64 {
			if k == 0 {
				return math.Log(x0)
			}
			return -math.Pow(-1/x0, float64(k)) / float64(k)
		}},
		{op.Sin, func(k int) float64 { return math.Sin(x0+float64(k)*math.Pi/2) / math.Gamma(float64(k)+1) }},
		{op.Cos, func(k int) float64 { return math.Cos(x0+float64(k)*math.Pi/2) / math.Gamma(float64(k)+1) }},
		{op.Sqrt, func(k int) float64 {
			y := math.Sqrt(x0)
			for j := range k {
				y *= (0.5 - float64(j)) / float64(j+1) / x0
			}
			return y
		}},
	} {
		b := graph.NewBuilder(f.o.Name)
		y, err := graph.Taylor(b.Build(b.Emit(f.o, nil, b.Input("x", graph.Scalar))), order, []*graph.Tensor{graph.Number(x0), graph.Number(1)})
		if err != nil {
			c.fail("%s: %v", f.o.Name, err)
			continue
		}
		for k := 0; k <= order; k++ {
			c.measure(math.Abs(y[0][k].F[0]-f.want(k)) / (1e-300 + math.Abs(f.want(k))))
		}
	}
}
