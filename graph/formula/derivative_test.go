package formula

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// The derivative of a formula along a direction is the limit of its central differences, once
// extrapolated: every function, operator and form of index, in every real input at once.
func TestDerivatives(t *testing.T) {
	formulas := []string{
		"a + x - b*y/c", "-x^2", "x^-3 + y^0.5 + y^c", "c^x", "pow(y, 1.5)", "2^x - 10^-2 * x", "[a, b*c, 2] * x", "[x, y, x*y][1]", "x[-1]*x[0]", "u[1:4] * u[:3]", "A[1][2] * A[0]",
		"u[j]^2 * u[j + 1]", "x * j", "A[j - 1]", "x > 0 ? x^2 : exp(x)", "a > 5 ? log(b) : a*b", "y > 2 && x < 0 ? x*y : x/y",
		"sum(x * y)", "sum(A^2, 0)", "sum(A^2, 1) * S[0]", "mean(u * u)", "mean(A * A, 0)", "norm2(x)", "dot(x, y)", "cumsum(x * y)", "cumsum(A^2, 1)", "matmul(A, B)", "matmul(A, x)", "matmul(y, B)",
		"outer(x, y) * outer(y, x)", "transpose(A) * B", "row(A, 0) * row(A, 1)", "col(A, 2) * col(B, 0)[:2]", "rows(x, 2) * A", "cols(x, 2) * B", "concat(a, x, b*c) * u", "shift(u, 2) * u", "roll(u, -1) * u",
		"reverse(u) * u", "reshape(A * A, 3, 2) * B", "zeros(3) + ones(3) * x", "len(u) * a^2",
		"abs(x)", "sign(x) * x", "sqrt(y)", "exp(x)", "expm1(x)", "log(y)", "log1p(y)", "sin(x)", "cos(x)", "tan(x)", "asin(x / 4)", "acos(x / 4)", "atan(x)", "atan2(x, y)", "sinh(x)", "cosh(x)", "tanh(x)",
		"logistic(x)", "softplus(x)", "erf(x)", "hypot(x, y)", "min(x, y, 0.75 * a)", "max(x, y, c)", "clamp(x, -a/3, c + 2)", "round(a * y) * x",
	}
	used := map[string]bool{"stop_gradient": true, "round_straight_through": true} // see TestDeclaredResponses
	for _, text := range formulas {
		e := testEnv()
		p := e.must(t, text)
		markUsed(text, used)
		var wrt []int
		var direction []*graph.Tensor
		for i, x := range e.values {
			if x.DType != graph.Float64 {
				continue
			}
			d := graph.NewTensor(x.Type)
			for k := range d.F {
				d.F[k] = math.Sin(float64(3*i + 2*k + 1))
			}
			wrt, direction = append(wrt, i), append(direction, d)
		}
		at := func(h float64) []float64 {
			in := make([]*graph.Tensor, len(e.values))
			for i, x := range e.values {
				in[i] = x.Clone()
			}
			for k, i := range wrt {
				for m := range in[i].F {
					in[i].F[m] += h * direction[k].F[m]
				}
			}
			out, err := graph.Eval(p, in...)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return out[0].F
		}
		out, err := graph.Eval(graph.JVP(p, wrt), append(append([]*graph.Tensor{}, e.values...), direction...)...)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		const h = 1e-3
		p1, m1, p2, m2 := at(h), at(-h), at(2*h), at(-2*h)
		for i, got := range out[1].F {
			want := (8*(p1[i]-m1[i]) - (p2[i] - m2[i])) / (12 * h)
			if math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
				t.Errorf("%s: entry %d has derivative %v, differences give %v", text, i, got, want)
			}
		}
	}
	for _, f := range Functions() {
		if !used[f.Name] {
			t.Errorf("%s is not differentiated here", f.Name)
		}
	}
}

// The two functions with a declared response have the values of what they stand for and the derivatives that they
// declare, also inside of conditional arms, and leave their mark.
func TestDeclaredResponses(t *testing.T) {
	for _, c := range []struct {
		text        string
		value, dual []float64 // of x = (0.5, −1.25, 2) in the direction (1, 1, 1)
		mark        string
	}{
		{"stop_gradient(x) * x", []float64{0.25, 1.5625, 4}, []float64{0.5, -1.25, 2}, "stop_gradient"},
		{"round_straight_through(3 * x)", []float64{2, -4, 6}, []float64{3, 3, 3}, "straight_through_round"},
		{"x > 0 ? stop_gradient(log(x)) + x : -x", []float64{0.5 + math.Log(0.5), 1.25, 2 + math.Log(2)}, []float64{1, -1, 1}, "stop_gradient"},
		{"x > 0 ? round_straight_through(sqrt(x)) : x", []float64{1, -1.25, 1}, []float64{0.5 / math.Sqrt(0.5), 1, 0.5 / math.Sqrt(2)}, "straight_through_round"},
		{"x[0] > 1 ? stop_gradient(1 / (x - 0.5)) : 2 * x", []float64{1, -2.5, 4}, []float64{2, 2, 2}, "stop_gradient"},
		{"x * stop_gradient(2) * round_straight_through(2.6)", []float64{3, -7.5, 12}, []float64{6, 6, 6}, ""}, // numbers are constants
	} {
		e := testEnv()
		p := e.must(t, c.text)
		out, err := graph.Eval(graph.JVP(p, []int{3}), append(slices.Clone(e.values), graph.Floats(graph.Shape{3}, []float64{1, 1, 1}))...)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for i := range c.value {
			if math.Abs(out[0].F[i]-c.value[i]) > 1e-15 || math.Abs(out[1].F[i]-c.dual[i]) > 1e-15 {
				t.Errorf("%s is %v and %v, want %v and %v", c.text, out[0].F, out[1].F, c.value, c.dual)
				break
			}
		}
		if have := strings.Join(graph.Declared(p, 0), " "); have != c.mark {
			t.Errorf("%s declares %q, want %q", c.text, have, c.mark)
		}
	}
	if _, err := testEnv().lower("stop_gradient(x > 0)"); err == nil || err.Error() != "stop_gradient wants numbers, has conditions [3]" {
		t.Errorf("the gradient of a condition: %v", err)
	}
}

func markUsed(text string, used map[string]bool) {
	s, _ := scan(text)
	for _, t := range s.tokens {
		used[s.at(t)] = true
	}
}
