package implicit

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// gradientOf solves r for z and differentiates j along the branch.
func gradientOf(t *testing.T, r, j string, z0, theta []float64) (*Gradient, error) {
	t.Helper()
	m, p := len(z0), len(theta)
	equations := vectorMap(t, m, p, r)
	root, err := FindRoot(equations, z0, theta, Settings{})
	if err != nil {
		return nil, err
	}
	g, err := Gradients(equations, vectorMap(t, m, p, j), root, 1)
	if err != nil {
		return nil, err
	}
	return &g[0], nil
}

// A root that is on a kink in exact arithmetic is refused on whichever side of it rounding puts the
// computed one, and one beside the kink is not.
func TestKinksWithinTheUncertainty(t *testing.T) {
	for i := range 40 {
		kink := float64(i+1) / 10 * 0.7
		for _, c := range []struct{ r, j string }{
			{"abs(z - %[1]v) + 2 * z - 2 * t", "sum(z)"},
			{"exp(z) - exp(%[1]v) + 3 * (t - %[1]v)", "max(z[0], %[1]v)"},
			{"exp(z) - exp(t)", "sum(abs(z - %[1]v))"},
			{"sinh(z) - sinh(t)", "z[0] < %[1]v ? z[0] : 2 * z[0] - %[1]v"},
			{"z^3 - %[1]v^3 + (t - %[1]v)", "clamp(z[0], -1, %[1]v)"},
		} {
			at := func(text string) string {
				if strings.Contains(text, "%") {
					return fmt.Sprintf(text, kink)
				}
				return text
			}
			start := []float64{kink + 1}
			if g, err := gradientOf(t, at(c.r), at(c.j), start, []float64{kink}); statusOf(err) != graph.Nondifferentiable {
				t.Errorf("%s, %s at t = %v: %v, %v", c.r, c.j, kink, g, err)
			}
			for _, beside := range []float64{kink - 1e-9, kink + 1e-9} {
				if _, err := gradientOf(t, at(c.r), at(c.j), start, []float64{beside}); err != nil {
					t.Errorf("%s, %s at t = %v + %g: %v", c.r, c.j, kink, beside-kink, err)
				}
			}
		}
	}
}

// An objective, or an equation, that cancels has no gradient, whatever the linear algebra says of it;
// and the same one written without the cancellation has. In between, the estimate covers the error.
func TestCancellationInGradients(t *testing.T) {
	for e := 0; e <= 12; e++ {
		x := math.Pow(10, -float64(e))
		for _, c := range []struct {
			r, j, stable string
			want         float64
		}{
			{"z - t", "sum((exp(z) - 1) / z)", "sum(expm1(z) / z)", phi(x)},
			{"z - t", "sum((1 - cos(z)) / z^2)", "sum(sin(z / 2)^2 / z^2 * 2)", psi(x)},
			{"z - t - 1e-6 * (exp(t) - 1 - t) / t", "sum(z)", "", 1 + 1e-6*chi(x)},
		} {
			for _, j := range []string{c.j, c.stable} {
				if j == "" {
					continue
				}
				g, err := gradientOf(t, c.r, j, []float64{x}, []float64{x})
				if err != nil {
					if statusOf(err) != graph.NotConverged || e < 3 {
						t.Errorf("%s, %s at %g: %v", c.r, j, x, err)
					}
					continue
				}
				if d := math.Abs(g.Gradient[0] - c.want); d > max(g.ErrorEstimate*4, 1e-15) {
					t.Errorf("%s, %s at %g: have %.17g, want %.17g, off by %g, estimate %g", c.r, j, x, g.Gradient[0], c.want, d, g.ErrorEstimate)
				}
			}
		}
	}
	if _, err := gradientOf(t, "z - t", "sum((exp(z) - 1) / z)", []float64{1e-10}, []float64{1e-10}); statusOf(err) != graph.NotConverged {
		t.Errorf("a gradient of noise was accepted: %v", err)
	}
	if _, err := gradientOf(t, "z - t", "sum(expm1(z) / z) + z[0]", []float64{1e-6}, []float64{1e-6}); err != nil {
		t.Error(err)
	}
}

// series sums Σ c(n) x^n until the terms vanish.
func series(x float64, c func(n int) float64) (s float64) {
	for n := range 40 {
		s += c(n) * math.Pow(x, float64(n))
	}
	return s
}

func factorial(n int) float64 { return math.Gamma(float64(n + 1)) }

// phi is the derivative of (eˣ − 1)/x = Σ xⁿ/(n+1)!.
func phi(x float64) float64 {
	return series(x, func(n int) float64 { return float64(n+1) / factorial(n+2) })
}

// chi is that of (eˣ − 1 − x)/x.
func chi(x float64) float64 { return phi(x) }

// psi is that of (1 − cos x)/x² = Σ (−1)ⁿ x²ⁿ/(2n+2)!.
func psi(x float64) float64 {
	return series(x, func(n int) float64 {
		if n%2 == 0 {
			return 0
		}
		return float64(n+1) / factorial(n+3) * math.Pow(-1, float64((n+1)/2))
	})
}

// ‖|R_z||z|‖ may overflow where its product with the unit roundoff does not.
func TestHugeRoots(t *testing.T) {
	g, err := gradientOf(t, "z^2 - t", "z[0]", []float64{1e154}, []float64{1e308})
	if err != nil || math.Abs(g.Gradient[0]/0.5e-154-1) > 1e-14 {
		t.Errorf("%v, %v", g, err)
	}
}

// Unknowns of very different sizes are judged in units of one size, and have the right gradient.
func TestMixedUnits(t *testing.T) {
	r := "[(z[0] / 1e9)^3 + z[0] / 1e9 - 2 * t[0], exp(z[1] / 1e-9) - 2 * t[0]]"
	g, err := gradientOf(t, r, "z[1] / 1e-9", []float64{2e9, 3e-9}, []float64{1})
	if err != nil || math.Abs(g.Gradient[0]-1) > 1e-13 {
		t.Errorf("%v, %v", g, err)
	}
}

// Multiple roots to which Newton's iteration only crawls are singular, from every start and in all units.
func TestMultipleRootsAreSingular(t *testing.T) {
	for _, r := range []string{"(z - t)^2", "(z - t)^3", "(z - t)^4", "(z - t)^2 * (z + 7)", "1 - cos(z - t)", "exp(z - t) - 1 - (z - t)"} {
		for _, shift := range []float64{0, 0.1, 3} {
			for _, start := range []float64{0.3, 1, 2.5} {
				if _, err := gradientOf(t, r, "z[0]", []float64{shift + start}, []float64{shift}); statusOf(err) != graph.SingularStateJacobian && statusOf(err) != graph.NotConverged {
					t.Errorf("%s at %g from %g: %v", r, shift, shift+start, err)
				}
			}
		}
	}
	for _, r := range []string{"z^2 - t", "z^3 - t"} {
		if _, err := gradientOf(t, r, "z[0]", []float64{1}, []float64{0}); statusOf(err) != graph.SingularStateJacobian {
			t.Errorf("%s: %v", r, err)
		}
	}
}

// Where the equations' derivatives cancel, the estimate covers the sensitivity's error too: near the pericentre of an eccentric
// orbit, dE/dM = 1/(1 − e cos E).
func TestCancellationInDerivativesOfEquations(t *testing.T) {
	for _, e := range []float64{0.9, 0.99, 0.999, 0.9999} {
		const anomaly = 1e-9
		r := vectorMap(t, 1, 2, "z[0] - t[0] * sin(z[0]) - t[1]")
		root, err := FindRoot(r, []float64{1}, []float64{e, anomaly}, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Differentiate(r, root)
		if err != nil {
			t.Fatal(err)
		}
		want := keplerSlope(e, anomaly)
		if off := math.Abs(s.S[1] - want); off > s.ErrorEstimate || s.ErrorEstimate > 0x1p-40/(1-e)*want {
			t.Errorf("e = %v: an error of %.3g of %.3g, estimated as %.3g", e, off, want, s.ErrorEstimate)
		}
	}
}

// keplerSlope is 1/(1 − e cos E) where E is small, without cancellation.
func keplerSlope(e, anomaly float64) float64 {
	x := anomaly / (1 - e)
	for range 100 {
		x = (anomaly - e*(x*x*x/6-math.Pow(x, 5)/120)) / (1 - e)
	}
	return 1 / ((1 - e) + 2*e*math.Pow(math.Sin(x/2), 2))
}

// Normal equations that are written as Xᵀ(Xw − y) are evaluated better than the matrix XᵀX is that solves them. The estimates have the error of
// that: here the derivative of ridge weights by λ, with columns of X that are all but equal.
func TestGradientsOfNormalEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		beside := math.Pow(10, -1-5*rng.Float64()) // how far the columns are apart
		lambda := math.Pow(10, -12*rng.Float64())
		exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
		add := func(sum *big.Rat, x, y *big.Rat) { sum.Add(sum, new(big.Rat).Mul(x, y)) }
		a := [2][2]*big.Rat{{exact(lambda), new(big.Rat)}, {new(big.Rat), exact(lambda)}}
		b := [2]*big.Rat{new(big.Rat), new(big.Rat)}
		equations := [2]string{"t[0] * z[0]", "t[0] * z[1]"}
		for range 5 {
			x0 := rng.NormFloat64()
			x, y := [2]float64{x0, x0 + beside*rng.NormFloat64()}, rng.NormFloat64()
			for i := range 2 {
				equations[i] += fmt.Sprintf(" + (%v) * ((%v) * z[0] + (%v) * z[1] - (%v))", x[i], x[0], x[1], y)
				add(b[i], exact(x[i]), exact(y))
				for j := range 2 {
					add(a[i][j], exact(x[i]), exact(x[j]))
				}
			}
		}
		solve := func(b [2]*big.Rat) (w [2]*big.Rat) {
			det := new(big.Rat).Sub(new(big.Rat).Mul(a[0][0], a[1][1]), new(big.Rat).Mul(a[0][1], a[1][0]))
			for i := range 2 {
				w[i] = new(big.Rat).Sub(new(big.Rat).Mul(a[1-i][1-i], b[i]), new(big.Rat).Mul(a[i][1-i], b[1-i]))
				w[i].Quo(w[i], det)
			}
			return w
		}
		slope := solve(solve(b))[0]
		want, _ := slope.Neg(slope).Float64()

		r := vectorMap(t, 2, 1, equations[:]...)
		root, err := FindRoot(r, []float64{0, 0}, []float64{lambda}, Settings{Tolerance: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Differentiate(r, root)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Gradients(r, vectorMap(t, 2, 1, "z[0]"), root, 1)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(g[0].Gradient[0] - want); off > 2*g[0].ErrorEstimate+0x1p-50*math.Abs(want) {
			t.Errorf("λ = %.2g, columns apart by %.2g: the gradient's error is %.3g of %.3g, estimated as %.3g", lambda, beside, off, want, g[0].ErrorEstimate)
		}
		if off := math.Abs(s.S[0] - want); off > 2*s.ErrorEstimate+0x1p-50*math.Abs(want) {
			t.Errorf("λ = %.2g, columns apart by %.2g: the sensitivity's error is %.3g of %.3g, estimated as %.3g", lambda, beside, off, want, s.ErrorEstimate)
		}
	}
}

// The rounding within a sum counts: that of its many terms, and that of terms which cancel.
func TestSumsInEquations(t *testing.T) {
	for _, c := range []struct {
		r    string
		want float64
	}{
		{"z - sum(ones(100000) * t[0])", 1e5 * 0.1},
		{"z - cumsum(ones(100000) * t[0])[-1]", 1e5 * 0.1},
		{"z - matmul(ones(1, 100000), ones(100000) * t[0])", 1e5 * 0.1},
		{"z - sum([1e8, t[0], -1e8])", 0.1},
		{"z - dot([1e8, 1, -1e8], [t[0], t[0], t[0]])", 0.1},
	} {
		root, err := FindRoot(vectorMap(t, 1, 1, c.r), []float64{1}, []float64{0.1}, Settings{Tolerance: 1e-6})
		if err != nil {
			t.Errorf("%s: %v", c.r, err)
			continue
		}
		if off := math.Abs(root.Z[0] - c.want); off > 3*root.ErrorEstimate || root.ErrorEstimate > 1e-6*c.want {
			t.Errorf("%s: an error of %.3g, estimated as %.3g", c.r, off, root.ErrorEstimate)
		}
	}
}
