package implicit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// A gradient of which no digit is known is refused in every unit of the objective.
func TestCancellationInAllUnits(t *testing.T) {
	for _, unit := range []float64{1e-200, 1e-20, 1e-11, 1, 1e20, 1e200} {
		for _, j := range []string{"(exp(z[0]) - 1) / z[0]", "(1 - cos(z[0])) / z[0]^2"} {
			g, err := gradientOf(t, "z - t", fmt.Sprintf("%g * (%s)", unit, j), []float64{1e-10}, []float64{1e-10})
			if statusOf(err) != graph.NotConverged {
				t.Errorf("%s in units of %g: %v, %v", j, unit, g, err)
			}
		}
	}
}

// A gradient that vanishes is no cancellation: that of a quantity that is conserved, of a fit that is perfect, of an optimum. It
// is 0 as far as the estimate says.
func TestGradientsThatVanish(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range rounds(100) {
		a, unit := 0.5+3*rng.Float64(), math.Pow(10, math.Round(40*rng.Float64()-20))
		for _, c := range []struct {
			r, j string
			m    int
		}{
			{"z^2 - t", "z[0]^2 - t[0]", 1},
			{"[z[0] + z[1] - 1, z[0] - t[0] * z[1]]", "z[0] + z[1]", 2},
			{"[z[0]^3 - t[0], z[1]^3 - t[0]]", "z[0] - z[1]", 2},
			{fmt.Sprintf("z^3 - t - %v", a*a*a-a), fmt.Sprintf("(z[0] - %v)^2", a), 1},
			{fmt.Sprintf("z^3 - t - %v", a*a*a-a), fmt.Sprintf("exp((z[0] - %[1]v) * (z[0] - %[1]v)) - (z[0] - %[1]v) * (t[0] - %[1]v)", a), 1},
			{"exp(z) - 1 + 0 * t", "z[0]^2", 1},
		} {
			g, err := gradientOf(t, c.r, fmt.Sprintf("%g * (%s)", unit, c.j), []float64{1, 1}[:c.m], []float64{a})
			if err != nil || math.Abs(g.Gradient[0]) > g.ErrorEstimate {
				t.Errorf("%s, %g * (%s) at %v: %v, %v", c.r, unit, c.j, a, g, err)
			}
		}
	}
}

// Adjoint and tangent agree in parameters and unknowns of any units.
func TestGapInMixedUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range rounds(200) {
		k, s := math.Pow(10, math.Round(32*rng.Float64()-16)), math.Pow(10, math.Round(32*rng.Float64()-16))
		r := scalars(t, "x y", "k s", "x * y - k * s * 2", "y / k - 1 - x / s")
		root, err := FindRoot(r, []float64{1.1 * s, 1.9 * k}, []float64{k, s}, Settings{})
		if err != nil {
			t.Errorf("k = %g, s = %g: %v", k, s, err)
			continue
		}
		for _, c := range []struct {
			j    string
			want []float64
		}{{"y", []float64{2, 0}}, {"x", []float64{0, 1}}, {"x * y", []float64{2 * s, 2 * k}}, {"y / k + x / s", []float64{0, 0}}} {
			g, err := Gradients(r, scalars(t, "x y", "k s", c.j), root, rng.Uint64())
			if err != nil {
				t.Errorf("k = %g, s = %g, J = %s: %v", k, s, c.j, err)
				continue
			}
			size := max(math.Abs(g[0].Value), 1e-300)
			for i, u := range []float64{k, s} { // in units of J
				if e := math.Abs(g[0].Gradient[i]-c.want[i]) * u / size; e > 1e-13 {
					t.Errorf("k = %g, s = %g, J = %s: gradient %v, want %v", k, s, c.j, g[0].Gradient, c.want)
				}
			}
		}
	}
}

// The error of an objective is estimated as that of its gradient is: cancellation is seen, and the estimate covers it.
func TestErrorOfAnObjective(t *testing.T) {
	for e := 0; e <= 14; e++ {
		x := math.Pow(10, -float64(e))
		for _, c := range []struct {
			j    string
			want float64
		}{
			{"exp(z[0]) - 1 - t[0]", math.Expm1(x) - x},
			{"expm1(z[0])", math.Expm1(x)},
			{"exp(z[0]) - 1", math.Expm1(x)},
			{"log(1 + z[0]) * 1e9", math.Log1p(x) * 1e9},
		} {
			if e > 4 && c.want == math.Expm1(x)-x {
				c.want = x*x/2 + x*x*x/6
			}
			m := vectorMap(t, 1, 1, "z - t")
			root, err := FindRoot(m, []float64{x}, []float64{x}, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			g, err := Gradients(m, vectorMap(t, 1, 1, c.j), root, 1)
			if err != nil {
				continue // the gradient may be lost before the value is
			}
			off := math.Abs(g[0].Value - c.want)
			if off > 2*g[0].ValueError {
				t.Errorf("%s at %g: off by %g, estimate %g", c.j, x, off, g[0].ValueError)
			}
			if g[0].ValueError > 4e-15*max(1, math.Abs(c.want), c.want/x) {
				t.Errorf("%s at %g: the estimate %g is too large", c.j, x, g[0].ValueError)
			}
		}
	}
	g, err := gradientOf(t, "z - t", "(exp(z[0]) - 1) - t[0] * (1 - 1e-12)", []float64{1e-12}, []float64{1e-12})
	if err != nil || !(math.Abs(g.Value-1e-24) <= g.ValueError) || g.ValueError > 1e-14 {
		t.Errorf("%+v, %v", g, err)
	}
}
