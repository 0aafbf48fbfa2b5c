package formula

import (
	"math"
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
		"logistic(x)", "softplus(x)", "erf(x)", "hypot(x, y)", "min(x, y, 0.75 * a)", "max(x, y, c)", "clamp(x, -a/3, c + 2)",
	}
	used := map[string]bool{}
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

func markUsed(text string, used map[string]bool) {
	s, _ := scan(text)
	for _, t := range s.tokens {
		used[s.at(t)] = true
	}
}
