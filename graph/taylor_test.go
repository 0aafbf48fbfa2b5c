package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"pgregory.net/rapid"
)

func ExampleTaylor() {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	p := b.Build(b.Emit(op.Exp, nil, x))
	y, _ := graph.Taylor(p, 3, []*graph.Tensor{graph.Number(0), graph.Number(1)})
	fmt.Printf("%.4f %.4f %.4f %.4f", y[0][0].F, y[0][1].F, y[0][2].F, y[0][3].F)
	// Output: [1.0000] [1.0000] [0.5000] [0.1667]
}

// taylorAt returns the coefficients of a scalar program along x₀ + t.
func taylorAt(t *testing.T, n int, x0 float64, build func(b *graph.Builder, x graph.Value) graph.Value) []float64 {
	t.Helper()
	b := graph.NewBuilder("f")
	p := b.Build(build(b, b.Input("x", graph.Scalar)))
	y, err := graph.Taylor(p, n, []*graph.Tensor{graph.Number(x0), graph.Number(1)})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, n+1)
	for k := range out {
		out[k] = y[0][k].F[0]
	}
	return out
}

func seriesClose(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	for k := range want {
		if d := math.Abs(got[k] - want[k]); !(d <= tol*(1+math.Abs(want[k]))) {
			t.Errorf("%s: coefficient %d is %v, want %v (off by %.1e)", what, k, got[k], want[k], d)
		}
	}
}

// Known coefficients to order 20.
func TestTaylorClosedForms(t *testing.T) {
	const n = 20
	unary := func(o *graph.Op) func(*graph.Builder, graph.Value) graph.Value {
		return func(b *graph.Builder, x graph.Value) graph.Value { return b.Emit(o, nil, x) }
	}
	closed := func(f func(k int) float64) []float64 {
		out := make([]float64, n+1)
		for k := range out {
			out[k] = f(k)
		}
		return out
	}
	factorial := func(k int) float64 { return math.Gamma(float64(k) + 1) }
	const x0 = 0.7
	for _, c := range []struct {
		name  string
		x0    float64
		build func(*graph.Builder, graph.Value) graph.Value
		want  func(k int) float64
	}{
		{"exp", x0, unary(op.Exp), func(k int) float64 { return math.Exp(x0) / factorial(k) }},
		{"log", x0, unary(op.Log), func(k int) float64 {
			if k == 0 {
				return math.Log(x0)
			}
			return math.Pow(-1, float64(k+1)) / (float64(k) * math.Pow(x0, float64(k)))
		}},
		{"sin", x0, unary(op.Sin), func(k int) float64 { return math.Sin(x0+float64(k)*math.Pi/2) / factorial(k) }},
		{"cos", x0, unary(op.Cos), func(k int) float64 { return math.Cos(x0+float64(k)*math.Pi/2) / factorial(k) }},
		{"sinh", x0, unary(op.Sinh), func(k int) float64 {
			return (math.Exp(x0) - math.Pow(-1, float64(k))*math.Exp(-x0)) / 2 / factorial(k)
		}},
		{"cosh", x0, unary(op.Cosh), func(k int) float64 {
			return (math.Exp(x0) + math.Pow(-1, float64(k))*math.Exp(-x0)) / 2 / factorial(k)
		}},
		{"sqrt", x0, unary(op.Sqrt), binomialSeries(x0, 0.5)},
		{"pow", x0, func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Emit(op.Pow, nil, x, b.Full(graph.Scalar, -1.5))
		}, binomialSeries(x0, -1.5)},
		{"pow of a negative base", -2, func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Emit(op.Pow, nil, x, b.Full(graph.Scalar, 3))
		}, func(k int) float64 { return []float64{-8, 12, -6, 1, 0}[min(k, 4)] }},
		{"pow at 0", 0, func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Emit(op.Pow, nil, x, b.Full(graph.Scalar, 3))
		}, func(k int) float64 { return []float64{0, 0, 0, 1, 0}[min(k, 4)] }},
		{"powi", -2, func(b *graph.Builder, x graph.Value) graph.Value { return op.PowN(b, x, 3) },
			func(k int) float64 { return []float64{-8, 12, -6, 1, 0}[min(k, 4)] }},
		{"powi of −2", x0, func(b *graph.Builder, x graph.Value) graph.Value { return op.PowN(b, x, -2) }, binomialSeries(x0, -2)},
		{"2/x", x0, func(b *graph.Builder, x graph.Value) graph.Value {
			return b.Emit(op.Div, nil, b.Full(graph.Scalar, 2), x)
		}, func(k int) float64 { return 2 * binomialSeries(x0, -1)(k) }},
	} {
		seriesClose(t, c.name, taylorAt(t, n, c.x0, c.build), closed(c.want), 2e-13)
	}
	// Two sides of an identity go different ways through the rules.
	emit := func(b *graph.Builder, o *graph.Op, x ...graph.Value) graph.Value { return b.Emit(o, nil, x...) }
	one := func(b *graph.Builder) graph.Value { return b.Full(graph.Scalar, 1) }
	for name, sides := range map[string][2]func(*graph.Builder, graph.Value) graph.Value{
		"tanh = sinh/cosh": {unary(op.Tanh), func(b *graph.Builder, x graph.Value) graph.Value {
			return emit(b, op.Div, emit(b, op.Sinh, x), emit(b, op.Cosh, x))
		}},
		"sech² = 1/cosh²": {unary(op.Sech2), func(b *graph.Builder, x graph.Value) graph.Value {
			c := emit(b, op.Cosh, x)
			return emit(b, op.Div, one(b), emit(b, op.Mul, c, c))
		}},
		"logistic = 1/(1+e⁻ˣ)": {unary(op.Logistic), func(b *graph.Builder, x graph.Value) graph.Value {
			return emit(b, op.Div, one(b), emit(b, op.Add, one(b), emit(b, op.Exp, emit(b, op.Neg, x))))
		}},
		"xˣ = e^(x·log x)": {func(b *graph.Builder, x graph.Value) graph.Value { return emit(b, op.Pow, x, x) },
			func(b *graph.Builder, x graph.Value) graph.Value {
				return emit(b, op.Exp, emit(b, op.Mul, x, emit(b, op.Log, x)))
			}},
	} {
		seriesClose(t, name, taylorAt(t, n, x0, sides[0]), taylorAt(t, n, x0, sides[1]), 1e-11)
	}
}

// binomialSeries gives the coefficients of x^c at x₀.
func binomialSeries(x0, c float64) func(k int) float64 {
	return func(k int) float64 {
		y := math.Pow(x0, c-float64(k))
		for j := range k {
			y *= (c - float64(j)) / float64(j+1)
		}
		return y
	}
}

// Along x + t·v, k!·y_k is the nested derivative in the directions v, …, v; the program mixes matrix
// products, reductions, a curved path through every rule.
func TestTaylorAgainstNestedDerivatives(t *testing.T) {
	b := graph.NewBuilder("f")
	a, w := b.Input("A", graph.F64(2, 3)), b.Input("W", graph.F64(3, 3))
	h := b.Emit(op.Tanh, nil, op.Product(b, a, w, false, false))
	g := b.Emit(op.Logistic, nil, op.Product(b, h, h, true, false))
	r := b.Emit(op.Div, nil, b.Emit(op.Exp, nil, b.Emit(op.Sin, nil, g)), b.Emit(op.Sqrt, nil, b.Emit(op.Add, nil, b.Emit(op.Mul, nil, w, w), b.Full(graph.F64(3, 3), 1))))
	less := b.Emit(op.Less, nil, w, b.Full(graph.F64(3, 3), 0))
	p := b.Build(op.SumOver(b, b.Emit(op.Select, nil, less, r, b.Emit(op.Cos, nil, g)), 0), h)
	rapid.Check(t, func(t *rapid.T) {
		entries := func(shape graph.Shape, label string) *graph.Tensor {
			return graph.Floats(shape, rapid.SliceOfN(rapid.Map(rapid.IntRange(-999, 999), func(i int) float64 { return (float64(i) + 0.5) / 1000 }), shape.Len(), shape.Len()).Draw(t, label))
		}
		x := []*graph.Tensor{entries(graph.Shape{2, 3}, "A"), entries(graph.Shape{3, 3}, "W")}
		v := []*graph.Tensor{entries(graph.Shape{2, 3}, "dA"), entries(graph.Shape{3, 3}, "dW")}
		y, err := graph.Taylor(p, 4, []*graph.Tensor{x[0], v[0]}, []*graph.Tensor{x[1], v[1]})
		if err != nil {
			t.Fatal(err)
		}
		for k, factorial := 0, 1.0; k <= 4; k, factorial = k+1, factorial*float64(k+1) {
			in := slices.Clone(x)
			for range k {
				in = append(in, v...)
			}
			want, err := graph.Eval(graph.Mixed(p, []int{0, 1}, k), in...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				for e := range want[i].F {
					if d := math.Abs(factorial*y[i][k].F[e] - want[i].F[e]); d > 1e-11*(1+math.Abs(want[i].F[e])) {
						t.Fatalf("order %d, output %d, entry %d: %v against %v", k, i, e, factorial*y[i][k].F[e], want[i].F[e])
					}
				}
			}
		}
	})
}

// Nested derivatives of order 200 would take 2²⁰⁰ operations: only a polynomial method ends.
func TestTaylorOfHighOrder(t *testing.T) {
	got := taylorAt(t, 200, 0, func(b *graph.Builder, x graph.Value) graph.Value {
		return b.Emit(op.Div, nil, b.Full(graph.Scalar, 1), b.Emit(op.Sub, nil, b.Full(graph.Scalar, 1), x))
	})
	for k, y := range got {
		if y != 1 {
			t.Fatalf("coefficient %d of 1/(1−t) is %v", k, y)
		}
	}
}

func TestTaylorRefuses(t *testing.T) {
	run := func(o *graph.Op, x0 float64) error {
		b := graph.NewBuilder("f")
		p := b.Build(b.Emit(o, nil, b.Input("x", graph.Scalar)))
		_, err := graph.Taylor(p, 3, []*graph.Tensor{graph.Number(x0), graph.Number(1)})
		return err
	}
	for _, c := range []struct {
		o    *graph.Op
		x0   float64
		want string
	}{
		{op.Erf, 0.5, "erf has no Taylor rule"},
		{op.Log, -1, "DOMAIN_ERROR"},
		{op.Sqrt, 0, "NONDIFFERENTIABLE"},
		{op.Exp, 1000, "NON_FINITE"},
	} {
		if err := run(c.o, c.x0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %v: want %q, have %v", c.o.Name, c.x0, c.want, err)
		}
	}
	// A constant operand asks no derivative: its value is enough.
	b := graph.NewBuilder("f")
	x, y := b.Input("x", graph.Scalar), b.Input("y", graph.Scalar)
	p := b.Build(b.Emit(op.Mul, nil, x, b.Emit(op.Erf, nil, b.Emit(op.Sqrt, nil, y))))
	if out, err := graph.Taylor(p, 2, []*graph.Tensor{graph.Number(2), graph.Number(3)}, []*graph.Tensor{graph.Number(0)}); err != nil || out[0][1].F[0] != 0 {
		t.Errorf("constant operand: %v, %v", out, err)
	}
	f32 := graph.NewTensor(graph.Type{DType: graph.Float32})
	if _, err := graph.Taylor(p, 2, []*graph.Tensor{graph.Number(2), f32}, []*graph.Tensor{graph.Number(0)}); err == nil || !strings.Contains(err.Error(), "expected type") {
		t.Errorf("a coefficient of another type: %v", err)
	}
}

// A whole power near x = 0 is a polynomial, however small x is: no coefficient is divided by x.
func TestTaylorOfAWholePowerNearZero(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	p := b.Build(b.Emit(op.Pow, nil, x, b.Full(graph.Scalar, 2)))
	y, err := graph.Taylor(p, 8, []*graph.Tensor{graph.Number(1e-9), graph.Number(1), graph.Number(0.3)})
	if err != nil {
		t.Fatal(err)
	}
	var have []float64
	for _, c := range y[0] {
		have = append(have, c.F[0])
	}
	seriesClose(t, "(1e-9 + t + 0.3t²)²", have, []float64{1e-18, 2e-9, 1 + 0.6e-9, 0.6, 0.09, 0, 0, 0, 0}, 1e-15)
}

// A choice takes the coefficients of the arm that holds in each entry, also where the other arm stands still.
func TestTaylorOfAChoice(t *testing.T) {
	for _, moving := range []int{1, 2} {
		b := graph.NewBuilder("f")
		x := b.Input("x", graph.F64(2))
		args := []graph.Value{b.Emit(op.Less, nil, b.Full(graph.F64(2), 0), x), b.Full(graph.F64(2), 7), b.Full(graph.F64(2), 7)}
		args[moving] = b.Emit(op.Mul, nil, x, x)
		p := b.Build(b.Emit(op.Select, nil, args...))
		y, err := graph.Taylor(p, 2, []*graph.Tensor{graph.Floats(graph.Shape{2}, []float64{3, -2}), graph.Floats(graph.Shape{2}, []float64{1, 1})})
		if err != nil {
			t.Fatal(err)
		}
		square := [][]float64{{9, 6, 1}, {4, -4, 1}}
		for e, chosen := range []int{1, 2} { // x > 0 in entry 0
			want := []float64{7, 0, 0}
			if chosen == moving {
				want = square[e]
			}
			for k := range want {
				if have := y[0][k].F[e]; have != want[k] {
					t.Errorf("operand %d moving, entry %d, coefficient %d: have %v, want %v", moving, e, k, have, want[k])
				}
			}
		}
	}
}
