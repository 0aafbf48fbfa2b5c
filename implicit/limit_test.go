package implicit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// limitOf finds the limit of z ← G(z, t) for a formula G over the vectors z and t.
func limitOf(t *testing.T, g string, z0, theta []float64) (*Root, error) {
	t.Helper()
	m, p := len(z0), len(theta)
	return FindLimit(vectorMap(t, m, p, g), vectorMap(t, m, p, "z - ("+g+")"), z0, theta, Settings{})
}

// The logistic map z ← r z (1 − z) goes to the fixed point 1 − 1/r up to r = 3, and to a cycle beyond
// it, whatever the start. Newton's iteration finds the fixed point in either case, and the first steps
// shrink in either case.
func TestCyclesAreNoLimits(t *testing.T) {
	for _, r := range []float64{1.5, 2.5, 2.9, 2.99, 2.999, 3.0001, 3.01, 3.05, 3.2, 3.4, 3.5, 3.83} {
		for i := range 9 {
			z0 := float64(i+1)/10 + 0.0123
			root, err := limitOf(t, "t[0] * z * (1 - z)", []float64{z0}, []float64{r})
			switch {
			case r > 3 && statusOf(err) != graph.NotConverged:
				t.Errorf("r = %g, start %g: a cycle was taken for a fixed point: %v, %v", r, z0, root.Z, err)
			case r < 3 && (err != nil || math.Abs(root.Z[0]-(1-1/r)) > 1e-14):
				t.Errorf("r = %g, start %g: %v, %v", r, z0, root.Z, err)
			}
		}
	}
}

// A cycle in one entry is seen beside another entry of any size, and one of any size itself.
func TestCyclesInOtherUnits(t *testing.T) {
	for _, unit := range []float64{1e-12, 1, 1e12} {
		for _, other := range []float64{1e-3 * unit, unit, 1e6 * unit} {
			for _, r := range []float64{2.5, 3.2} {
				g := fmt.Sprintf("[t[0] * z[0] * (1 - z[0] / %g), z[1] / 2 + %g]", unit, other)
				root, err := limitOf(t, g, []float64{0.2 * unit, 0}, []float64{r})
				if r > 3 && statusOf(err) != graph.NotConverged {
					t.Errorf("units %g and %g: a cycle was taken for a fixed point: %v, %v", unit, other, root.Z, err)
				}
				if r < 3 && (err != nil || math.Abs(root.Z[0]/unit-0.6) > 1e-14) {
					t.Errorf("units %g and %g: %v, %v", unit, other, root.Z, err)
				}
			}
		}
	}
}

// A slow contraction is no cycle; where it is too slow to tell, that is said.
func TestSlowContractions(t *testing.T) {
	for _, q := range []float64{0.9, -0.9, 0.999, -0.999, 0.9999, -0.9999} {
		root, err := limitOf(t, "t[0] * z + (1 - t[0]) * 3", []float64{0}, []float64{q})
		if err != nil || math.Abs(root.Z[0]-3) > 1e-12 {
			t.Errorf("q = %g: %v, %v", q, root.Z, err)
		}
	}
	_, err := limitOf(t, "t[0] * z + (1 - t[0]) * 3", []float64{0}, []float64{-0.9999999})
	if statusOf(err) != graph.NotConverged || !strings.Contains(err.Error(), "still at a distance") {
		t.Errorf("q = −0.9999999: %v", err)
	}
}

// The judgement of a root does not depend on the units of its unknown, of its equation, and of
// both together.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		formula      string
		root, slope  float64
		status       graph.Status
		startFactors []float64
	}{
		{"exp(z / %[1]g) - t", math.Log(2), 0.5, graph.OK, []float64{0.3, 3, 20}},
		{"(z / %[1]g)^3 + z / %[1]g - t", 1, 0.25, graph.OK, []float64{0.3, 3, 20}},
		{"(z / %[1]g - 1)^2 - (t - 2)", 1, 0, graph.SingularStateJacobian, []float64{3}},
	} {
		for _, unit := range []float64{1e-12, 1e-9, 1e-6, 1e-3, 1, 1e6, 1e12} {
			for _, size := range []float64{1e-12, 1, 1e12} {
				for _, start := range c.startFactors {
					r := vectorMap(t, 1, 1, fmt.Sprintf("%[2]g * ("+c.formula+")", unit, size))
					root, err := FindRoot(r, []float64{start * unit}, []float64{2}, Settings{})
					if statusOf(err) != c.status {
						t.Errorf("%s in units %g and %g: %v", c.formula, unit, size, err)
						continue
					}
					if err != nil {
						continue
					}
					s, err := Differentiate(r, root)
					if err != nil || math.Abs(root.Z[0]/unit-c.root) > 1e-14 || math.Abs(s.S[0]/unit-c.slope) > 1e-14 {
						t.Errorf("%s in units %g and %g: %v, %v, %v", c.formula, unit, size, root.Z, s, err)
					}
				}
			}
		}
	}
}

// A system whose unknowns differ by many orders is judged in units of one size: it is accepted where it
// is regular, with the right derivatives, and refused at a fold of either unknown.
func TestUnitsOfASystem(t *testing.T) {
	for _, big := range []float64{1, 1e3, 1e6} {
		for _, small := range []float64{1, 1e-3, 1e-6} {
			for _, equation := range []float64{1, 1e-9, 1e9} {
				regular := vectorMap(t, 2, 1, fmt.Sprintf("[(z[0] / %[1]g)^3 + z[0] / %[1]g - 2 * t[0], %[3]g * (exp(z[1] / %[2]g) - 2 * t[0])]", big, small, equation))
				root, err := FindRoot(regular, []float64{0.9 * big, 0.5 * small}, []float64{1}, Settings{})
				if err != nil {
					t.Errorf("units %g, %g, %g: %v", big, small, equation, err)
					continue
				}
				s, err := Differentiate(regular, root)
				if err != nil || math.Abs(s.S[0]/big-0.5) > 1e-13 || math.Abs(s.S[1]/small-1) > 1e-13 {
					t.Errorf("units %g, %g, %g: S = %v, %v", big, small, equation, s, err)
				}
				for _, fold := range []string{
					"[(z[0] / %[1]g - 1)^2 - (t[0] - 1), %[3]g * (exp(z[1] / %[2]g) - 2 * t[0])]",
					"[(z[0] / %[1]g)^3 + z[0] / %[1]g - 2 * t[0], %[3]g * ((z[1] / %[2]g - 1)^2 - (t[0] - 1))]",
				} {
					r := vectorMap(t, 2, 1, fmt.Sprintf(fold, big, small, equation))
					root, err := FindRoot(r, []float64{1.3 * big, 1.3 * small}, []float64{1}, Settings{})
					if statusOf(err) != graph.SingularStateJacobian {
						t.Errorf("%s in units %g, %g, %g: %v (%v)", fold, big, small, equation, err, root.Z)
					}
				}
			}
		}
	}
}
