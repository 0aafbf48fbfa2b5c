package implicit

import (
	"math"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
)

// vectorMap lowers formulas over the vectors z (m entries) and t (p entries) to a map.
func vectorMap(t testing.TB, m, p int, formulas ...string) *Map {
	t.Helper()
	b := graph.NewBuilder("f")
	scope := formula.Scope{"z": b.Input("z", graph.F64(m)), "t": b.Input("t", graph.F64(p))}
	var out []graph.Value
	for _, text := range formulas {
		v, err := formula.Lower(b, scope, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, v)
	}
	f, err := NewMap(b.Build(out...), []int{0}, []int{1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// reference is a problem whose root and sensitivity are known to many digits (published values, or
// computed with 40 to 50 decimals).
type reference struct {
	name   string
	r      []string // R(z, t)
	theta  []float64
	start  []float64
	z      []float64
	s      []float64 // row-major
	digits float64   // relative, of the reference or of what the condition allows
}

var references = []reference{
	{"Newton's square root", []string{"z[0]^2 - t[0]"}, []float64{2}, []float64{1},
		[]float64{1.4142135623730950}, []float64{0.35355339059327376}, 1e-15},
	{"Kepler", []string{"z[0] - t[0] * sin(z[0]) - t[1]"}, []float64{0.1, 5 * math.Pi / 180}, []float64{0},
		[]float64{0.096945871075967}, []float64{0.10749290077899, 1.1105317132006}, 1e-13},
	{"Dottie", []string{"z[0] - t[0] * cos(z[0])"}, []float64{1}, []float64{1},
		[]float64{0.73908513321516}, []float64{0.44161079170533}, 1e-13},
	{"Lambert W, upper branch", []string{"z[0] * exp(z[0]) - t[0]"}, []float64{-0.1}, []float64{0},
		[]float64{-0.11183255915896}, []float64{1.2591382437197}, 1e-12},
	{"Lambert W, lower branch", []string{"z[0] * exp(z[0]) - t[0]"}, []float64{-0.1}, []float64{-3},
		[]float64{-3.5771520639573}, []float64{-13.880252213230}, 1e-13},
	{"Dennis and Schnabel, one root", []string{"z[0] + z[1] - t[0]", "z[0]^2 + z[1]^2 - 9"}, []float64{3}, []float64{1, 5},
		[]float64{0, 3}, []float64{1, 0}, 1e-14},
	{"Dennis and Schnabel, the other", []string{"z[0] + z[1] - t[0]", "z[0]^2 + z[1]^2 - 9"}, []float64{3}, []float64{5, 1},
		[]float64{3, 0}, []float64{0, 1}, 1e-14},
	{"Freudenstein and Roth", []string{"z[0] - z[1]^3 + 5*z[1]^2 - 2*z[1] - t[0]", "z[0] + z[1]^3 + z[1]^2 - 14*z[1] - 29"},
		[]float64{13}, []float64{6, 5}, []float64{5, 4}, []float64{21.0 / 26, -1.0 / 52}, 1e-14},
	{"Powell, badly scaled", []string{"t[0] * z[0] * z[1] - 1", "exp(-z[0]) + exp(-z[1]) - 1.0001"}, []float64{1e4}, []float64{0, 1},
		[]float64{1.098159330e-5, 9.106146740}, nil, 1e-8},
	{"tanh layer", []string{"z[0] - tanh(0.5 * z[0] + t[0])"}, []float64{0.5}, []float64{0},
		[]float64{0.68789399882847}, []float64{0.71518124711164}, 1e-13},
	{"Bellman", []string{"z[0] - 1 - t[0] * z[0]", "z[1] - t[0] * z[0]"}, []float64{0.9}, []float64{0, 0},
		[]float64{10, 9}, []float64{100, 100}, 1e-13},
	{"ridge", []string{"3*z[0] + 3*z[1] - 5 + t[0]*z[0]", "3*z[0] + 5*z[1] - 6 + t[0]*z[1]"}, []float64{1}, []float64{0, 0},
		[]float64{0.8, 0.6}, []float64{-0.2, 0}, 1e-14},
	{"two-bus power flow", []string{"10*z[0]*sin(z[1]) + t[0]", "10*z[0]^2 - 10*z[0]*cos(z[1]) + 0.3"}, []float64{1}, []float64{1, 0},
		[]float64{0.96346124441805}, []float64{-0.01132468438665}, 1e-12},
	{"two-bus power flow, low branch", []string{"10*z[0]*sin(z[1]) + t[0]", "10*z[0]^2 - 10*z[0]*cos(z[1]) + 0.3"}, []float64{1}, []float64{0.1, -1},
		[]float64{0.10836249583881}, []float64{0.10068884467214}, 1e-12},
	{"competing species", []string{"z[0] - 1 + t[0]*z[1]", "z[1] - 1 + t[1]*z[0]"}, []float64{0.5, 0.25}, []float64{1, 1},
		[]float64{4.0 / 7, 6.0 / 7}, []float64{-48.0 / 49, 16.0 / 49, 12.0 / 49, -32.0 / 49}, 1e-14},
}

func TestReferences(t *testing.T) {
	for _, c := range references {
		r := vectorMap(t, len(c.start), len(c.theta), c.r...)
		root, err := FindRoot(r, c.start, c.theta, Settings{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		s, err := Differentiate(r, root)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, want := range c.z {
			if math.Abs(root.Z[i]-want) > c.digits*max(1, math.Abs(want)) {
				t.Errorf("%s: z[%d] = %.16g, want %.16g", c.name, i, root.Z[i], want)
			}
			// The stated uncertainty must cover the true error, up to that of the reference.
			if e := math.Abs(root.Z[i] - want); e > root.ErrorEstimate+c.digits*max(1, math.Abs(want)) {
				t.Errorf("%s: z[%d] is off by %.3g, the estimate says %.3g", c.name, i, e, root.ErrorEstimate)
			}
		}
		for i, want := range c.s {
			if math.Abs(s.S[i]-want) > c.digits*max(1, math.Abs(want)) {
				t.Errorf("%s: S[%d] = %.16g, want %.16g", c.name, i, s.S[i], want)
			}
		}
		checkGradient(t, c, r, root, s)
	}
}

// checkGradient holds the adjoint gradient of a smooth objective to the chain rule over S.
func checkGradient(t *testing.T, c reference, r *Map, root *Root, s *Sensitivity) {
	t.Helper()
	m, p := len(c.start), len(c.theta)
	j := vectorMap(t, m, p, "sum(z^2) / 2 + sum(t^3) / 3", "z[0]")
	g, err := Gradients(r, j, root, 7)
	if err != nil {
		t.Errorf("%s: %v", c.name, err)
		return
	}
	for k := range p {
		want := c.theta[k] * c.theta[k]
		for i := range m {
			want += root.Z[i] * s.S[i*p+k]
		}
		scale := 1 + math.Abs(want) + root.ConditionTwo*1e-3
		near(t, c.name+": gradient", g[0].Gradient[k], want, 1e-13*scale)
		near(t, c.name+": gradient of z[0]", g[1].Gradient[k], s.S[k], 1e-13*scale)
	}
}

// At the badly scaled problem dy/dθ is known; dx/dθ follows from the first equation.
func TestPowellBadlyScaledSensitivity(t *testing.T) {
	c := references[8]
	r := vectorMap(t, 2, 1, c.r...)
	root, err := FindRoot(r, c.start, c.theta, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Differentiate(r, root)
	if err != nil {
		t.Fatal(err)
	}
	if e := math.Abs(s.S[1]/1.000356497e-5 - 1); e > 1e-9 {
		t.Errorf("dy/dθ = %.12g, off by %.2g", s.S[1], e)
	}
	if root.ConditionTwo < 1e8 || root.ConditionTwo > 1e10 {
		t.Errorf("condition %.3g, published 8.3e8", root.ConditionTwo)
	}
}

// The loop that found the wrong answers of others: a root reached with a small residual and a
// Jacobian evaluated elsewhere, and a gradient of zero in one unknown.
func TestOneUnknownHasAGradient(t *testing.T) {
	r := vectorMap(t, 1, 1, "z[0]^2 - 1e-8 * t[0]")
	root, err := FindRoot(r, []float64{2e-4}, []float64{1}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Differentiate(r, root)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "dz/dθ", s.S[0]*1e4, 0.5, 1e-12) // at z = 2e-4 the residual is 3e-8 and the slope half of this
}

func TestEmptyProblems(t *testing.T) {
	for _, c := range []struct{ m, p int }{{0, 2}, {2, 0}, {0, 0}} {
		r := vectorMap(t, c.m, c.p, "2 * z - ones("+string(rune('0'+c.m))+")")
		root, err := FindRoot(r, make([]float64, c.m), make([]float64, c.p), Settings{})
		if err != nil {
			t.Fatalf("m = %d, p = %d: %v", c.m, c.p, err)
		}
		s, err := Differentiate(r, root)
		if err != nil || len(s.S) != c.m*c.p {
			t.Errorf("m = %d, p = %d: S has %d entries, %v", c.m, c.p, len(s.S), err)
		}
		g, err := Gradients(r, vectorMap(t, c.m, c.p, "sum(z) + sum(t)"), root, 1)
		if err != nil || len(g[0].Gradient) != c.p || g[0].Value != float64(c.m)/2 {
			t.Errorf("m = %d, p = %d: %+v, %v", c.m, c.p, g, err)
		}
		for _, d := range g[0].Gradient {
			near(t, "gradient", d, 1, 0)
		}
	}
}
