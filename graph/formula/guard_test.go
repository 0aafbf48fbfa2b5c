package formula

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// derivatives returns f, f′ and f″ of a formula in the scalar x at a point, the derivatives by JVP
// and by JVP of JVP, and the status with which each ends.
func derivatives(t *testing.T, text string, at float64) (value [3]float64, status [3]graph.Status) {
	t.Helper()
	b := graph.NewBuilder("f")
	v, err := Lower(b, Scope{"x": b.Input("x", graph.Scalar)}, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	p := b.Build(v)
	x, one := graph.Number(at), graph.Number(1)
	first := graph.JVP(p, []int{0})
	second := graph.JVP(first, []int{0})
	for i, run := range []struct {
		p  *graph.Program
		in []*graph.Tensor
	}{{p, []*graph.Tensor{x}}, {first, []*graph.Tensor{x, one}}, {second, []*graph.Tensor{x, one, one}}} {
		if err := graph.Verify(run.p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out, err := graph.Eval(run.p, run.in...)
		status[i] = graph.OK
		var failure *graph.Failure
		switch {
		case errors.As(err, &failure):
			status[i], value[i] = failure.Status, math.NaN()
		case err != nil:
			t.Fatalf("%s: %v", text, err)
		default:
			value[i] = out[len(out)-1].F[0]
		}
	}
	return value, status
}

// The arm not taken has no domain: value, first and second derivative are those of the other arm,
// whatever the arm holds.
func TestArmNotTaken(t *testing.T) {
	never := []string{ // at x = 0: outside a domain, on a boundary, beyond the range, or 0·∞ in a derivative
		"sqrt(x - 1)", "sqrt(x)", "log(x)", "log(x - 1)", "log1p(x - 1)", "1/x", "x/x", "x^-1", "x^-2", "x^0.5", "x^1.5", "(x - 1)^0.5", "x^x", "(-2)^x", "pow(x, -3)",
		"abs(x)", "sign(x)", "abs(abs(x))", "min(x, 0)", "max(x, x)", "max(x, 0, 1)", "clamp(x, 0, 1)", "clamp(x, 1, 0)", "asin(x + 1)", "acos(x + 2)", "atan2(x, x)", "atan2(x, x - 1)",
		"hypot(x, x)", "exp(x + 800)", "expm1(800 - x)", "sinh(x + 800)", "cosh(x - 800)", "1e300 * (x + 1e300)", "(x + 1e300)^2", "1e308 + x + 1e308", "-1e308 - x - 1e308",
		"1e300 * 1e300 + x", "1e308 + 1e308", "-1e308 - 1e308", "0^-1 * x", "1/0", "sqrt(-1)", "log(0) * x", "0/0", "exp(1000)", "sqrt(sqrt(x))", "log(abs(x))", "1/sqrt(x)", "x * log(x)", "sqrt(x)^2", "x^0.5 * x^-0.5", "sin(1/x)", "tanh(log(x))",
		"erf(1e308 * (x + 1) * 10)", "softplus(1/x)", "logistic(x/0)", "tan(1/x)", "atan(1/x)",
		"(x == 0 ? 1 : 2)", "(x > 0 ? x : -x)", "(x >= 0 && log(x) < 1 ? sqrt(x) : 1/x)", "(log(x) < 1 || sqrt(x - 1) < 2 ? 1/x : x^-2)", "(!(x == 0) ? log(x) : 1/x)",
		"(x < 0 ? 1/x : (x > 0 ? log(x) : sqrt(x)))",
		"sum([sqrt(x), log(x)])", "norm2([x, x])", "dot([1/x, x], [x, log(x)])", "mean([x, abs(x)])", "cumsum([exp(x + 800), 1e308 + x])[1]",
		"matmul([[x, 1e300], [1e300, x]], [1e300, 1e300])[0]", "outer([x + 1e300], [1e300])[0][0]", "concat(log(x), x)[0]", "([x, x] > [0, 0] ? [x, log(x)] : [1/x, x])[0]",
	}
	for _, arm := range never {
		for _, c := range []struct {
			text string
			want [3]float64
		}{
			{"x > 1 ? %s : 3*x + x^2", [3]float64{0, 3, 2}},
			{"x < 1 ? 3*x + x^2 : %s", [3]float64{0, 3, 2}},
			{"!(x < 1) && x < 5 ? %s : sin(x)", [3]float64{0, 1, 0}},
			{"x < 1 ? (x > -1 ? exp(x) : %s) : log(x)", [3]float64{1, 1, 1}},
			{"x > 1 ? (x < 5 ? %s : x) : exp(x)", [3]float64{1, 1, 1}},
			{"x > 1 && %s > 3 ? 1/x : exp(x)", [3]float64{1, 1, 1}},
			{"x < 1 || %s == 0 ? exp(x) : 1/x", [3]float64{1, 1, 1}},
		} {
			text := fmt.Sprintf(c.text, arm)
			got, status := derivatives(t, text, 0)
			if got != c.want {
				t.Errorf("%s at 0: %v %v, want %v", text, got, status, c.want)
			}
		}
	}
}

// The arm that is taken keeps its domain, and the condition its boundary.
func TestArmTaken(t *testing.T) {
	ok, edge, outside, infinite := graph.OK, graph.Nondifferentiable, graph.DomainError, graph.NonFinite
	for _, c := range []struct {
		text   string
		at     float64
		want   [3]float64
		status [3]graph.Status
	}{
		{"x > 0 ? log(x) : 0", 2, [3]float64{math.Ln2, 0.5, -0.25}, [3]graph.Status{ok, ok, ok}},
		{"x > 0 ? log(x) : 0", -2, [3]float64{0, 0, 0}, [3]graph.Status{ok, ok, ok}},
		{"x > 0 ? log(x) : 0", 0, [3]float64{0, math.NaN(), math.NaN()}, [3]graph.Status{ok, edge, edge}},
		{"x >= 0 ? log(x) : 0", 0, [3]float64{math.NaN(), math.NaN(), math.NaN()}, [3]graph.Status{outside, edge, edge}},
		{"x > 700 ? x : exp(x)", 1000, [3]float64{1000, 1, 0}, [3]graph.Status{ok, ok, ok}},
		{"x > 700 ? exp(x) : x", 1000, [3]float64{math.NaN(), math.NaN(), math.NaN()}, [3]graph.Status{infinite, infinite, infinite}},
		{"x > -1 ? sqrt(x) : 5", 0, [3]float64{0, math.NaN(), math.NaN()}, [3]graph.Status{ok, edge, edge}},
		{"x > -1 ? sqrt(x) : 5", 4, [3]float64{2, 0.25, -1.0 / 32}, [3]graph.Status{ok, ok, ok}},
		{"x > -1 ? x^-2 : 5", 2, [3]float64{0.25, -0.25, 0.375}, [3]graph.Status{ok, ok, ok}},
		{"x > -1 ? 1/x : 5", 0, [3]float64{math.NaN(), math.NaN(), math.NaN()}, [3]graph.Status{outside, outside, outside}},
		{"x > -1 && log(x) < 1 ? 1 : 0", 0, [3]float64{math.NaN(), math.NaN(), math.NaN()}, [3]graph.Status{outside, outside, outside}},
		{"x == 1 ? 2 : 3*x", 1, [3]float64{2, math.NaN(), math.NaN()}, [3]graph.Status{ok, edge, edge}},
		{"x == 1 ? 2 : 3*x", 2, [3]float64{6, 3, 0}, [3]graph.Status{ok, ok, ok}},
		{"x < 1 ? erf(x) + tanh(x) : 3", 1.7e308, [3]float64{3, 0, 0}, [3]graph.Status{ok, ok, ok}},
		{"2 > 1 ? x^3 : 1/0", 0, [3]float64{0, 0, 0}, [3]graph.Status{ok, ok, ok}},
		{"sqrt(2) > 1 ? x : 1/0", 3, [3]float64{3, 1, 0}, [3]graph.Status{ok, ok, ok}},
		{"1/0 > 1 ? x : 1", 3, [3]float64{math.NaN(), math.NaN(), math.NaN()}, [3]graph.Status{outside, outside, outside}},
	} {
		got, status := derivatives(t, c.text, c.at)
		same := status == c.status
		for i := range got {
			same = same && (got[i] == c.want[i] || math.IsNaN(got[i]) && math.IsNaN(c.want[i]))
		}
		if !same {
			t.Errorf("%s at %v: %v %v, want %v %v", c.text, c.at, got, status, c.want, c.status)
		}
	}
}

// A choice entry by entry guards each entry by its own condition, in the value, forward and in reverse.
func TestEntrywiseChoice(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(4))
	v, err := Lower(b, Scope{"x": x}, "x > 0 ? sqrt(x) * log(x) + (x < 2 ? 1/(2 - x)^0.5 : x) : (x < -5 ? exp(-1000*x) : abs(x)^1.5)")
	if err != nil {
		t.Fatal(err)
	}
	p := b.Build(v)
	in := graph.Floats(graph.Shape{4}, []float64{1, 4, -1, -4})
	f := func(x float64) float64 {
		switch {
		case x >= 2:
			return math.Sqrt(x)*math.Log(x) + x
		case x > 0:
			return math.Sqrt(x)*math.Log(x) + 1/math.Sqrt(2-x)
		}
		return math.Pow(-x, 1.5)
	}
	slope := func(x float64) float64 {
		left := math.Log(x)/(2*math.Sqrt(x)) + 1/math.Sqrt(x)
		switch {
		case x >= 2:
			return left + 1
		case x > 0:
			return left + 0.5*math.Pow(2-x, -1.5)
		}
		return -1.5 * math.Sqrt(-x)
	}
	ones := graph.Floats(graph.Shape{4}, []float64{1, 1, 1, 1})
	forward, err := graph.Eval(graph.JVP(p, []int{0}), in, ones)
	if err != nil {
		t.Fatal(err)
	}
	backward, err := graph.Eval(graph.VJP(p, []int{0}), in, ones)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range in.F {
		close := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-14*math.Abs(want) {
				t.Errorf("%s at %v is %v, want %v", what, x, got, want)
			}
		}
		close("value", forward[0].F[i], f(x))
		close("tangent", forward[1].F[i], slope(x))
		close("cotangent", backward[len(backward)-1].F[i], slope(x))
	}
}

// What lies behind a sum, a product or an index is computed in full under a choice entry by entry,
// and so are scalars: guarding some of their entries would change what they mean.
func TestStructuralUnguarded(t *testing.T) {
	for text, want := range map[string]graph.Status{
		"x > 0 ? log(x) : 0":                      graph.OK,
		"x > 0 ? x * sum(log(y)) : 0":             graph.OK,
		"x > 0 ? x * sum(log(x)) : 0":             graph.DomainError, // one entry of x is negative
		"x > 0 ? reverse(log(x)) : 0":             graph.DomainError,
		"x > 0 ? log(reverse(y) - 0.2) : 0":       graph.OK,
		"x > 0 ? log(u[1:4] - 4) : 0":             graph.DomainError, // at the first entry, where x > 0
		"x < 0 ? log(u[1:4] - 3) : 0":             graph.OK,
		"x > 0 ? log(b) : 0":                      graph.DomainError,
		"b > 0 ? x * sum(log(x)) : 0":             graph.OK, // a scalar condition guards all
		"b > 0 ? reverse(log(x)) : x":             graph.OK,
		"b > 0 ? (x > 0 ? log(b) * x : x) : x":    graph.OK,
		"x > 0 ? (b > 0 ? log(b) : sqrt(x)) : 0":  graph.OK,
		"b > 0 ? (x > 0 ? log(x) : 1/b) : log(y)": graph.OK,
		"j > 2 ? u[j + 5] : u[j]":                 graph.OK,
		"j < 3 ? u[j + 5] : u[j]":                 graph.DomainError,
		"j == 2 && u[j - 2] > 0 ? 1 : u[j + 5]":   graph.OK,
	} {
		e := testEnv()
		_, err := graph.Eval(e.must(t, text), e.values...)
		got := graph.OK
		var failure *graph.Failure
		if errors.As(err, &failure) {
			got = failure.Status
		}
		if got != want {
			t.Errorf("%s ends with %v (%v), want %v", text, got, err, want)
		}
	}
}

// A comparison of the step index decides; it is no boundary of what is differentiated.
func TestStepIndexIsNoBoundary(t *testing.T) {
	b := graph.NewBuilder("f")
	scope := Scope{"u": b.Input("u", graph.F64(3)), "j": b.Input("j", graph.Type{DType: graph.Int64})}
	v, err := Lower(b, scope, "j == 0 ? 5 * u[j] : log(u[j - 1]) / j")
	if err != nil {
		t.Fatal(err)
	}
	gradient := graph.VJP(b.Build(v), []int{0})
	u := graph.Floats(graph.Shape{3}, []float64{2, 0.5, -1})
	for j, want := range [][]float64{{5, 0, 0}, {0.5, 0, 0}, {0, 1, 0}} {
		out, err := graph.Eval(gradient, u, graph.Ints(nil, []int64{int64(j)}), graph.Number(1))
		if err != nil {
			t.Fatalf("j = %d: %v", j, err)
		}
		if got := out[len(out)-1].F; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("j = %d: gradient %v, want %v", j, got, want)
		}
	}
}
