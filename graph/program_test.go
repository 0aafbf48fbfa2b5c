package graph_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

// parse reads a program that a test states as text.
func parse(t testing.TB, text string) *graph.Program {
	t.Helper()
	p, err := op.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func vec(x ...float64) *graph.Tensor { return graph.Floats(graph.Shape{len(x)}, x) }

// A program without inputs has derivatives without directions.
func TestNoInputs(t *testing.T) {
	p := parse(t, "program f() -> f64 {\n  a: f64 = literal 2\n  b: f64 = exp a\n  return b\n}")
	if y := eval(t, graph.JVP(p, nil)); len(y) != 2 || y[0].F[0] != math.Exp(2) || y[1].F[0] != 0 {
		t.Errorf("jvp: %v", y)
	}
	if y := eval(t, graph.VJP(p, nil), graph.Number(3)); len(y) != 1 || y[0].F[0] != math.Exp(2) {
		t.Errorf("vjp: %v", y)
	}
	l := graph.Linearize(p, nil)
	if len(l.Linear.Inputs) != 0 || l.Residuals != 0 {
		t.Errorf("linear part:\n%v", l.Linear)
	}
	if y := eval(t, graph.Transpose(l.Linear), graph.Number(1)); len(y) != 0 {
		t.Errorf("transposed: %v", y)
	}
}

// An output that is an input, twice, an unused input, and an operand used twice: cotangents add.
func TestSharing(t *testing.T) {
	p := parse(t, "program f(x: f64[2], u: f64[2]) -> (f64[2], f64[2], f64[2]) {\n  a: f64[2] = mul x x\n  return x, x, a\n}")
	y := eval(t, graph.VJP(p, []int{0, 1}), vec(2, 3), vec(7, 7), vec(1, 10), vec(2, 20), vec(3, 30))
	if want := []*graph.Tensor{vec(2, 3), vec(2, 3), vec(4, 9), vec(15, 210), vec(0, 0)}; !randprog.Same(y, want) {
		t.Errorf("have %v, want %v", y, want)
	}
	y = eval(t, graph.JVP(p, []int{1, 0}), vec(2, 3), vec(7, 7), vec(5, 5), vec(1, 1))
	if want := []*graph.Tensor{vec(2, 3), vec(2, 3), vec(4, 9), vec(1, 1), vec(1, 1), vec(4, 6)}; !randprog.Same(y, want) {
		t.Errorf("have %v, want %v", y, want)
	}
}

// Outputs share nothing with the inputs: a caller may step in place.
func TestOutputsAreCopies(t *testing.T) {
	p := parse(t, "program f(x: f64) -> f64 {\n  return x\n}")
	x := graph.Number(1)
	y, err := graph.Eval(p, x)
	x.F[0] = 2
	if err != nil || y[0].F[0] != 1 {
		t.Errorf("%v, %v", y, err)
	}
}

// Derivatives can be taken of derivatives, in every order of modes: names stay distinct and values agree.
func TestHigherModes(t *testing.T) {
	p := parse(t, "program f(x: f64) -> (f64, f64) {\n  y: f64 = exp x\n  return y, y\n}")
	x, one := graph.Number(0.5), graph.Number(1)
	e := math.Exp(0.5)
	vv := graph.VJP(graph.VJP(p, []int{0}), []int{0}) // of (y, y, x̄), with x̄ = (ȳ₁ + ȳ₂)·eˣ
	y := eval(t, vv, x, one, one, graph.Number(0), graph.Number(0), one)
	if have := y[len(y)-1].F[0]; have != 2*e {
		t.Errorf("vjp of vjp: %v, want %v", have, 2*e)
	}
	jj := graph.JVP(graph.JVP(graph.JVP(p, []int{0}), []int{0}), []int{0})
	y = eval(t, jj, x, one, one, one)
	if have := y[len(y)-1].F[0]; have != e {
		t.Errorf("jvp of jvp of jvp: %v, want %v", have, e)
	}
	vj := graph.VJP(graph.JVP(p, []int{0}), []int{0})
	y = eval(t, vj, x, one, graph.Number(0), graph.Number(0), one, graph.Number(0))
	if have := y[len(y)-1].F[0]; have != e {
		t.Errorf("vjp of jvp: %v, want %v", have, e)
	}
}

// The JVP of a linear program with respect to everything is an ordinary program.
func TestDerivativeOfLinearProgram(t *testing.T) {
	p := parse(t, "linear f(r: f64; dx: f64) -> f64 {\n  a: f64 = mul dx r\n  return a\n}")
	d := graph.JVP(p, []int{0, 1})
	if d.IsLinear() {
		t.Error("the derivative is marked linear")
	}
	y := eval(t, d, graph.Number(3), graph.Number(5), graph.Number(1), graph.Number(10))
	if y[1].F[0] != 35 {
		t.Errorf("have %v, want 35", y[1].F[0])
	}
	if y := eval(t, graph.VJP(p, []int{0, 1}), graph.Number(3), graph.Number(5), graph.Number(2)); y[1].F[0] != 10 || y[2].F[0] != 6 {
		t.Errorf("vjp %v", y)
	}
}

// An operation with kinks knows how often it is differentiated, with respect to which operand.
func TestOrders(t *testing.T) {
	p := parse(t, "program f(x: f64, y: f64) -> f64 {\n  m: f64 = min x y\n  return m\n}")
	q := graph.JVP(graph.JVP(graph.JVP(p, []int{0}), []int{0, 1}), []int{0})
	if want := "min x y order=[3 1]"; !strings.Contains(q.String(), want) {
		t.Errorf("want %s:\n%v", want, q)
	}
}

// A comparison is a branch boundary only if it depends on what is differentiated.
func TestDecidedComparisons(t *testing.T) {
	p := parse(t, "program f(x: f64, k: f64) -> f64 {\n  c: bool = less k k\n  a: f64 = mul x x\n  b: f64 = select c x a\n  return b\n}")
	three := graph.Number(3)
	if y := eval(t, graph.Gradient(p, []int{0}), three, three); y[1].F[0] != 6 {
		t.Errorf("gradient %v, want 6", y[1].F[0])
	}
	_, err := graph.Eval(graph.Gradient(p, []int{0, 1}), three, three)
	if statusOf(err) != graph.Nondifferentiable || !strings.Contains(err.Error(), "c: less is on its branch boundary") {
		t.Errorf("have %v", err)
	}
}

// A check that could fail outlives every pass, whether anything reads its value or not.
func TestEffectsStay(t *testing.T) {
	for text, in := range map[string][]*graph.Tensor{
		"x: f64) -> f64 {\n  a: f64 = log x":                    {graph.Number(-1)},
		"x: f64) -> f64 {\n  a: f64 = exp x":                    {graph.Number(1000)},
		"x: i64) -> i64 {\n  a: i64 = neg x":                    {graph.Ints(nil, []int64{math.MinInt64})},
		"x: i64) -> i64 {\n  a: i64 = mul x x":                  {graph.Ints(nil, []int64{math.MinInt64})},
		"x: f64) -> f64 {\n  a: f32 = convert x dtype=[1]":      {graph.Number(1e300)},
		"x: f64) -> f64 {\n  a: f64 = abs x order=[1]":          {graph.Number(0)},
		"x: f64) -> f64 {\n  c: bool = less x x order=[0 1]":    {graph.Number(0)},
		"x: i64[1]) -> i64[1] {\n  a: i64[1] = gather x x":      {graph.Ints(graph.Shape{1}, []int64{1})},
		"x: f64) -> f64 {\n  a: f64 = sqrt x\n  b: f64 = neg a": {graph.Number(-1)},
	} {
		p := parse(t, "program f("+text+"\n  return x\n}")
		_, want := graph.Eval(p, in...)
		if want == nil {
			t.Fatalf("%s: does not fail", text)
		}
		early, _ := graph.Split(p, nil)
		for name, q := range map[string]*graph.Program{"drop dead": graph.DropDead(p), "share": graph.Share(p), "no outputs": graph.DropDead(p.WithOutputs()),
			"jvp": graph.JVP(p, nil), "linearize": graph.Linearize(p, nil).Primal, "vjp": graph.VJP(p, nil), "split": early} {
			args := in
			if name == "vjp" {
				args = append(slices.Clone(in), graph.NewTensor(in[0].Tangent()))
			}
			if _, err := graph.Eval(q, args...); err == nil || err.Error() != want.Error() {
				t.Errorf("%s: %s has %v, want %v", text, name, err, want)
			}
		}
	}
	p := parse(t, "program f(x: f64) -> f64 {\n  a: f64 = sin x\n  b: f64 = neg a\n  c: f64 = literal 3\n  return x\n}")
	if q := graph.DropDead(p); len(q.Nodes) != 0 {
		t.Errorf("operations that cannot fail stay:\n%v", q)
	}
}

// Equal operations are shared; those that differ in one flag, one attribute, one bit or one order are not.
func TestShare(t *testing.T) {
	p := parse(t, `program f(a: f64[2 2], x: f64) -> (f64[2 2], f64[2 2], f64[2 2], f64[2 2], f64, f64, f64, f64, f64, f64) {
  b: f64[2 2] = matmul a a
  c: f64[2 2] = matmul a a ta=[1]
  d: f64[2 2] = matmul a a tb=[1]
  e: f64[2 2] = matmul a a ta=[1]
  g: f64 = literal 0
  h: f64 = literal -0
  i: f64 = literal 0
  j: f64 = abs x
  k: f64 = abs x order=[1]
  l: f64 = powi x n=[2]
  m: f64 = powi x n=[3]
  return b, c, d, e, g, h, i, j, k, l
}`)
	if q := graph.Share(p); len(q.Nodes) != len(p.Nodes)-2 {
		t.Errorf("want two operations fewer:\n%v", q)
	}
}

// Zero-size dimensions pass through every derivative.
func TestZeroSize(t *testing.T) {
	p := parse(t, `program f(x: f64[0 3], w: f64[3 2]) -> f64 {
  a: f64[0 2] = matmul x w
  b: f64[0 2] = exp a
  c: f64[2] = sum b axes=[0]
  d: f64[0 2] = cumsum b axis=[0]
  e: f64[0 2] = concat d b axis=[0]
  g: f64 = sum e axes=[0 1]
  h: f64 = sum c axes=[0]
  i: f64 = add g h
  return i
}`)
	y := eval(t, graph.Gradient(p, []int{0, 1}), graph.NewTensor(graph.F64(0, 3)), graph.NewTensor(graph.F64(3, 2)))
	if y[0].F[0] != 0 || len(y[1].F) != 0 || !slices.Equal(y[2].F, make([]float64, 6)) {
		t.Errorf("have %v", y)
	}
	if s := (graph.Shape{2, 0}); s.Index(0) != nil || graph.Shape(nil).Index(0) == nil {
		t.Error("an offset outside a shape has an index, or the scalar none")
	}
}

// A failure states its status, operation, value, lowest entry, formula and reason; inputs of the wrong kind are errors.
func TestFailures(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(2, 2))
	b.SetOrigin("log(x) + 1")
	y := b.Emit(op.Log, nil, x)
	b.Name(y, "y")
	p := b.Build(y)
	_, err := graph.Eval(p, graph.Floats(graph.Shape{2, 2}, []float64{1, 2, -3, -4}))
	var f *graph.Failure
	if !errors.As(err, &f) || f.Status != graph.DomainError || f.Op != "log" || f.Name != "y" || !slices.Equal(f.Entry, []int{1, 0}) {
		t.Errorf("have %#v", err)
	}
	if want := "DOMAIN_ERROR: log(x) + 1: y[1 0]: log of -3: the operand must be positive"; err.Error() != want {
		t.Errorf("have %q, want %q", err, want)
	}
	// A value that the formula does not name goes without a name, and not by the printer's letter.
	b = graph.NewBuilder("f")
	x = b.Input("x", graph.F64(2, 2))
	b.SetOrigin("log(x) + 1")
	_, err = graph.Eval(b.Build(b.Emit(op.Log, nil, x)), graph.Floats(graph.Shape{2, 2}, []float64{1, 2, -3, -4}))
	if want := "DOMAIN_ERROR: log(x) + 1: entry [1 0]: log of -3: the operand must be positive"; err.Error() != want {
		t.Errorf("have %v, want %s", err, want)
	}
	_, err = graph.Eval(p, graph.Floats(graph.Shape{2, 2}, []float64{1, math.NaN(), 1, 1}))
	if err == nil || err.Error() != "NON_FINITE: x[0 1]: the input is NaN" {
		t.Errorf("have %v", err)
	}
	q := parse(t, "program g(a: f32, c: bool, n: i64) -> f32 {\n  return a\n}")
	single, yes, n := graph.NewTensor(f32()), graph.NewTensor(graph.Type{DType: graph.Bool}), graph.NewTensor(graph.Type{DType: graph.Int64})
	for want, in := range map[string][]*graph.Tensor{
		"g wants 3 inputs, has 1":                                    {single},
		"g wants f32 for input a, has f64":                           {graph.Number(1), yes, n},
		"g wants bool for input c, has nothing":                      {single, nil, n},
		"g: input a: 0.1 is no float32":                              {&graph.Tensor{Type: f32(), F: []float64{0.1}}, yes, n},
		"g: input c: 2 is no boolean":                                {single, &graph.Tensor{Type: yes.Type, I: []int64{2}}, n},
		"g: input n: i64 wants 0 floats and 1 integers, has 0 and 0": {single, yes, &graph.Tensor{Type: n.Type}},
	} {
		if _, err := graph.Eval(q, in...); err == nil || err.Error() != want {
			t.Errorf("have %v, want %q", err, want)
		}
	}
}

// Split: what does not depend on the varying inputs is computed once; literals are copied.
func TestSplit(t *testing.T) {
	p := parse(t, `program f(z: f64, theta: f64) -> (f64, f64) {
  a: f64 = exp theta
  two: f64 = literal 2
  b: f64 = mul a two
  c: f64 = mul z b
  d: f64 = add c two
  return d, a
}`)
	early, late := graph.Split(p, []int{0})
	if want := `program f.once(theta: f64) -> (f64, f64) {
  a: f64 = exp theta
  two: f64 = literal 2
  b: f64 = mul a two
  return b, a
}
`; early.String() != want {
		t.Errorf("have\n%v", early)
	}
	if want := `program f.each(b: f64, a: f64, z: f64) -> (f64, f64) {
  c: f64 = mul z b
  two: f64 = literal 2
  d: f64 = add c two
  return d, a
}
`; late.String() != want {
		t.Errorf("have\n%v", late)
	}
}

// Gradient is of a scalar.
func TestGradientOfVector(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a vector has a gradient")
		}
	}()
	graph.Gradient(sample(), []int{0})
}

// Branch labels are constant between boundaries and change across them; a boundary is 0.
func TestBranches(t *testing.T) {
	p := parse(t, `program f(x: f64, n: i64) -> f64 {
  zero: f64 = literal 0
  one: f64 = literal 1
  a: f64 = abs x
  b: f64 = sign x
  c: f64 = min x one
  d: f64 = max x one
  e: f64 = clamp x zero one
  g: bool = less x one
  h: bool = less_equal one x
  i: bool = equal x zero
  j: bool = less n n
  k: f64 = sin x
  return k
}`)
	for x, want := range map[float64][]int{
		-1:  {1, 1, 1, 1, 1, 1, 2, 1, 0},
		0:   {0, 0, 1, 1, 0, 1, 2, 0, 0},
		0.5: {2, 2, 1, 1, 2, 1, 2, 2, 0},
		1:   {2, 2, 0, 0, 0, 0, 0, 2, 0},
		2:   {2, 2, 2, 2, 3, 2, 1, 2, 0},
	} {
		values, err := graph.Trace(p, graph.Number(x), graph.Ints(nil, []int64{3}))
		if err != nil {
			t.Fatal(err)
		}
		var have []int
		for _, b := range graph.Branches(p, values) {
			have = append(have, b.Labels...)
		}
		if !slices.Equal(have, want) {
			t.Errorf("x = %v: have %v, want %v", x, have, want)
		}
		_, err = graph.Eval(graph.JVP(p, []int{0}), graph.Number(x), graph.Ints(nil, []int64{3}), graph.Number(1))
		if boundary := slices.Contains(want[:8], 0); boundary != (statusOf(err) == graph.Nondifferentiable) {
			t.Errorf("x = %v: boundary %v, derivative %v", x, boundary, err)
		}
	}
}

// An input is differentiated once: twice in wrt is a mistake.
func TestInputTwiceInWrt(t *testing.T) {
	defer func() {
		if r := recover(); r != "graph: input x is differentiated twice" {
			t.Errorf("have %v", r)
		}
	}()
	graph.JVP(sample(), []int{0, 0})
}

// Tangents and cotangents keep the element type of their primals through a conversion.
func TestConversionOfTangents(t *testing.T) {
	p := parse(t, `program f(x: f64[2]) -> f64[2] {
  a: f32[2] = convert x dtype=[1]
  b: f32[2] = mul a a
  c: f64[2] = convert b dtype=[0]
  return c
}`)
	y := eval(t, graph.VJP(p, []int{0}), vec(0.1, 2), vec(1, 1))
	twice := float64(2 * float32(0.1))
	if !y[1].Type.Equal(graph.F64(2)) || y[1].F[0] != twice || y[1].F[1] != 4 {
		t.Errorf("have %v, want [%v 4]", y[1], twice)
	}
}

func Example() {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	y := b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, x), x)
	b.Name(y, "y")
	p := b.Build(y)

	out, err := graph.Eval(graph.Gradient(p, []int{0}), graph.Number(1))
	fmt.Println(out[1].F[0], err)

	hessian := graph.JVP(graph.Gradient(p, []int{0}), []int{0}) // outputs: f, ∇f, then their tangents
	out, err = graph.Eval(hessian, graph.Number(1), graph.Number(1))
	fmt.Println(out[3].F[0], err)

	b = graph.NewBuilder("g")
	x = b.Input("x", graph.F64(2))
	_, err = graph.Eval(graph.JVP(b.Build(b.Emit(op.Abs, nil, x)), []int{0}), vec(1, 0), vec(1, 1))
	fmt.Println(err)
	// Output:
	// 1.3817732906760363 <nil>
	// 0.23913362692838303 <nil>
	// NONDIFFERENTIABLE: a[1]: abs has no derivative at 0
}
