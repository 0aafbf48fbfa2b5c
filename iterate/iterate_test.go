package iterate

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/implicit"
)

// mapOf lowers formulas over vectors z and t (m and p entries) to a map.
func mapOf(t testing.TB, m, p int, withState bool, formulas ...string) *implicit.Map {
	t.Helper()
	b := graph.NewBuilder("f")
	scope := formula.Scope{}
	var state, params []int
	if withState {
		state = []int{0}
		scope["z"] = b.Input("z", graph.F64(m))
	}
	params = []int{len(state)}
	scope["t"] = b.Input("t", graph.F64(p))
	var out []graph.Value
	for _, text := range formulas {
		v, err := formula.Lower(b, scope, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, v)
	}
	f, err := implicit.NewMap(b.Build(out...), state, params, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// problem is a fixed point with its start, as formulas of z and t.
type problem struct {
	g, r, start *implicit.Map
	theta       []float64
}

func newProblem(t testing.TB, m int, theta []float64, g, start string) problem {
	p := len(theta)
	return problem{mapOf(t, m, p, true, g), mapOf(t, m, p, true, "z - ("+g+")"), mapOf(t, m, p, false, start), theta}
}

func (p problem) compare(t testing.TB, steps []int, c Claim) *Ledger {
	t.Helper()
	m, _, _ := p.g.Dims()
	z0 := make([]float64, m)
	if err := p.start.Eval(z0, nil, p.theta); err != nil {
		t.Fatal(err)
	}
	root, err := implicit.FindLimit(p.g, p.r, z0, p.theta, implicit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := implicit.Differentiate(p.r, root)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Compare(p.g, p.start, p.theta, steps, root, s, c, "")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func norm(t testing.TB, kind string) bounds.Norm {
	t.Helper()
	n, err := bounds.ParseNorm(kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func claim(t testing.TB) Claim {
	return Claim{Norm: norm(t, "2"), NormTheta: norm(t, "2"), Euclid: 1, Radius: 1, Source: bounds.Estimated, Seed: 1}
}

func upTo(k int) []int {
	steps := make([]int, k+1)
	for i := range steps {
		steps[i] = i
	}
	return steps
}

// The counterexample: every iterate is 0, the residual vanishes, and the derivative is 1 − q^K; the
// bound on its error is attained at every K.
func TestCounterexample(t *testing.T) {
	for _, q := range []string{"0.1", "0.5", "0.9", "0.99"} {
		p := newProblem(t, 1, []float64{0}, q+" * z + (1 - "+q+") * t", "0 * t")
		c := claim(t)
		c.Source, c.Q = bounds.Declared, p.slope(t)
		l := p.compare(t, upTo(200), c)
		for _, r := range l.Rows {
			want := math.Pow(c.Q, float64(r.K))
			if r.ResidualNorm != 0 || r.Z[0] != 0 || r.StateError != 0 {
				t.Fatalf("q = %s, K = %d: the residual is not 0: %+v", q, r.K, r)
			}
			if math.Abs(r.E[0]-(1-want)) > r.SensitivityFloor || math.Abs(r.SensitivityBound-want) > 1e-13*want /* math.Pow's own error */ {
				t.Errorf("q = %s, K = %d: derivative %v, bound %v, want 1 − %v", q, r.K, r.E[0], r.SensitivityBound, want)
			}
			if !holds(r.Verdict) {
				t.Errorf("q = %s, K = %d: %s: %s", q, r.K, r.Verdict, r.Reason)
			}
			if r.SensitivityFloor > 1e-12 {
				t.Errorf("q = %s, K = %d: a floor of %v would hide an error", q, r.K, r.SensitivityFloor)
			}
		}
	}
}

// slope is G_z at 0.
func (p problem) slope(t testing.TB) float64 {
	a := make([]float64, 1)
	if err := p.g.StateJacobian(a, nil, []float64{0}, p.theta); err != nil {
		t.Fatal(err)
	}
	return a[0]
}

// A declaration that is too small is refuted by the iterates, or by a point of D.
func TestWrongDeclarations(t *testing.T) {
	p := newProblem(t, 1, []float64{1}, "0.5 * z + 0.5 * t", "0 * t")
	c := claim(t)
	c.Radius = 2
	c.Source, c.Q = bounds.Declared, 0.4
	for _, r := range p.compare(t, []int{0, 1, 5}, c).Rows {
		if r.Verdict != bounds.DeclarationRefuted {
			t.Errorf("q = 0.4 at K = %d: %s %s", r.K, r.Verdict, r.Reason)
		}
	}
	tanh := newProblem(t, 1, []float64{0.5}, "tanh(0.5 * z + t)", "0 * t")
	c.Q, c.LZ, c.LTheta = 0.5, 0, 1
	if r := tanh.compare(t, []int{3}, c).Rows[0]; r.Verdict != bounds.DeclarationRefuted || !strings.Contains(r.Reason, "L_z") {
		t.Errorf("L_z = 0 for tanh: %s %s", r.Verdict, r.Reason)
	}
}

// Estimated constants of a scalar tanh layer are those of calculus, and the bound holds.
func TestTanhLayer(t *testing.T) {
	p := newProblem(t, 1, []float64{0.5}, "tanh(0.5 * z + t)", "0 * t")
	c := claim(t)
	c.Radius = 0.69
	l := p.compare(t, upTo(60), c)
	// q = ½ sech²(½z + ½) is largest at the lower end of D.
	low := 0.68789399882847 - 0.69
	want := 0.5 / math.Pow(math.Cosh(0.5*low+0.5), 2)
	if math.Abs(l.Q-want) > 1e-6 {
		t.Errorf("q = %v, want %v", l.Q, want)
	}
	for _, r := range l.Rows {
		if !holds(r.Verdict) {
			t.Errorf("K = %d: %s %s", r.K, r.Verdict, r.Reason)
		}
	}
	last := l.Rows[60]
	if math.Abs(last.Z[0]-0.68789399882847) > 1e-13 || math.Abs(last.E[0]-0.71518124711164) > 1e-13 {
		t.Errorf("z_60 = %v, E_60 = %v", last.Z[0], last.E[0])
	}
}

func TestHypotheses(t *testing.T) {
	cases := []struct {
		name, g, start string
		theta, radius  float64
		want           string
	}{
		{"not a contraction on D", "t * cos(z)", "0 * t", 1, 2, "not below 1"},
		{"an iterate outside D", "0.5 * z + 0.5 * t", "3 + 0 * t", 1, 1, "outside D"},
		{"a kink in D", "0.5 * abs(z - 0.5) + t", "1 + 0 * t", 1, 1.2, "not C²"},
		{"a declared response", "0.3 * stop_gradient(z) + 0.5 * z + t", "0 * t", 0.7, 8, "is declared (stop_gradient)"},
		{"undefined in D", "0.5 * log(z) + 1 + 0 * t", "1 + 0 * t", 0.5, 2, "D"},
	}
	for _, c := range cases {
		p := newProblem(t, 1, []float64{c.theta}, c.g, c.start)
		claim := claim(t)
		claim.Radius = c.radius
		l := p.compare(t, []int{1, 2}, claim)
		if l.Q == 0 {
			t.Errorf("%s: q = 0 was not estimated", c.name)
		}
		for _, r := range l.Rows {
			if r.Verdict != bounds.HypothesisFailed || !strings.Contains(r.Reason, c.want) {
				t.Errorf("%s: K = %d: %s %s", c.name, r.K, r.Verdict, r.Reason)
			}
			if math.IsNaN(r.SensitivityError) {
				t.Errorf("%s: the measured error is missing", c.name)
			}
		}
	}
}

// K = 0 is the start alone; a start that depends on θ has its own derivative.
func TestStartDependsOnTheta(t *testing.T) {
	p := newProblem(t, 2, []float64{2, 3}, "[0.5 * z[0] + t[0], 0.25 * z[1] * t[1]]", "[t[0] * t[1], t[1]^2]")
	var got [][]float64
	err := Steps(p.g, p.start, p.theta, 1, func(at Iterate) error {
		z, e := at.Z, at.E
		got = append(got, append(append([]float64{}, z...), e...))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float64{
		{6, 9, 3, 2, 0, 6},
		{0.5*6 + 2, 0.25 * 9 * 3, 0.5*3 + 1, 0.5 * 2, 0, 0.25*6*3 + 0.25*9},
	}
	for k := range want {
		for i := range want[k] {
			if math.Abs(got[k][i]-want[k][i]) > 1e-15*10 {
				t.Errorf("K = %d entry %d: %v, want %v", k, i, got[k][i], want[k][i])
			}
		}
	}
}

func TestEmptyStateAndParameters(t *testing.T) {
	for _, c := range []struct{ m, p int }{{0, 2}, {2, 0}, {0, 0}} {
		g := "0.5 * z"
		if c.p > 0 && c.m > 0 {
			g = "0.5 * z + t"
		}
		start := map[int]string{0: "zeros(0)", 2: "[1, 2]"}[c.m]
		visits := 0
		err := Steps(mapOf(t, c.m, c.p, true, g), mapOf(t, c.m, c.p, false, start), make([]float64, c.p), 3, func(at Iterate) error {
			z, e := at.Z, at.E
			visits++
			if len(z) != c.m || len(e) != c.m*c.p {
				t.Errorf("m = %d, p = %d: shapes %d and %d", c.m, c.p, len(z), len(e))
			}
			return nil
		})
		if err != nil || visits != 4 {
			t.Errorf("m = %d, p = %d: %d visits, %v", c.m, c.p, visits, err)
		}
	}
}

// The status comes from the primal recursion and names the step, also where every tangent is zero.
func TestRefusals(t *testing.T) {
	cases := []struct {
		g, start string
		theta    float64
		status   graph.Status
		step     string
	}{
		{"log(z) + 0 * t", "2 + 0 * t", 1, graph.DomainError, "step 3"}, // log 2 = 0.69, log 0.69 < 0
		{"abs(z) - 1 + 0 * t", "1 + 0 * t", 1, graph.Nondifferentiable, "step 2"},
		{"z - 1", "t * 0 + 1", 1, graph.OK, ""},
		{"exp(z) + 0 * t", "6 + 0 * t", 1, graph.NonFinite, "step 3"},
		{"z + t", "sqrt(t)", 0, graph.Nondifferentiable, "start"},
	}
	for _, c := range cases {
		p := newProblem(t, 1, []float64{c.theta}, c.g, c.start)
		err := Steps(p.g, p.start, p.theta, 5, func(Iterate) error { return nil })
		var f *graph.Failure
		if status := graph.OK; errors.As(err, &f) {
			status = f.Status
			if status != c.status || !strings.Contains(err.Error(), c.step) {
				t.Errorf("%s: %v, want %s at %s", c.g, err, c.status, c.step)
			}
		} else if c.status != status {
			t.Errorf("%s: %v, want %s", c.g, err, c.status)
		}
	}
}

// An affine map needs no search: its constants are exact, and a declaration below them is refuted.
func TestAffine(t *testing.T) {
	p := newProblem(t, 2, []float64{1, 2}, "[0.5 * z[0] + 0.25 * z[1], 0.125 * z[1]] + exp(t)", "0 * t")
	c := claim(t)
	c.Norm, c.NormTheta, c.Euclid, c.Radius = norm(t, "inf"), norm(t, "inf"), 1, 0
	l := p.compare(t, upTo(30), c)
	if l.Q != 0.75 || l.LZ != 0 || l.LTheta != 0 {
		t.Errorf("q = %v, L_z = %v, L_theta = %v; want 0.75, 0, 0", l.Q, l.LZ, l.LTheta)
	}
	for _, r := range l.Rows {
		if !holds(r.Verdict) {
			t.Errorf("K = %d: %s %s", r.K, r.Verdict, r.Reason)
		}
	}
	c.Source, c.Q = bounds.Declared, 0.74
	if r := p.compare(t, []int{1}, c).Rows[0]; r.Verdict != bounds.DeclarationRefuted {
		t.Errorf("q = 0.74: %s %s", r.Verdict, r.Reason)
	}
	for g, want := range map[string]bool{
		"0.5 * z + t": true, "z + exp(t)": true, "t * z": false, "0.5 * z^2 + t": false, "0.5 * tanh(z)": false,
		"sign(z) + t": false, "0.5 * abs(z)": false, "sign(t) + z": true,
		"z[0] > 0 ? 0.5 * z : 0.25 * z": false, "t[0] > 0 ? 0.5 * z : 0.25 * z": true,
	} {
		affine, err := mapOf(t, 1, 1, true, g).Affine()
		if err != nil || affine != want {
			t.Errorf("%s: affine %v, want %v (%v)", g, affine, want, err)
		}
	}
}

// A recursion that is refused keeps the rows that it reached.
func TestRowsBeforeARefusal(t *testing.T) {
	p := newProblem(t, 1, []float64{1}, "log(z) + 0 * t", "2 + 0 * t") // 2, 0.69, −0.37
	l, err := Compare(p.g, p.start, p.theta, []int{0, 1, 2, 3, 4}, nil, nil, claim(t), "no fixed point")
	var f *graph.Failure
	if !errors.As(err, &f) || f.Status != graph.DomainError || !strings.Contains(err.Error(), "step 3") {
		t.Errorf("have %v", err)
	}
	if len(l.Rows) != 3 || math.Abs(l.Rows[1].Z[0]-math.Ln2) > 1e-15 || !math.IsNaN(l.Rows[2].ResidualNorm) {
		t.Errorf("rows %+v", l.Rows)
	}
}

// A declared constant is not refuted by rounding: these maps have G_z = ½, G_θ = ½ and derivatives that
// cancel. With the same rounding, a constant that is too small is.
func TestRoundingRefutesNoDeclaration(t *testing.T) {
	for _, g := range []string{
		"0.5 * z + 0.5 * t + 1e3 * z * t - t * z * 1e3",
		"0.5 * z + 0.5 * t + 1e3 * (z * z - 1) / (z + 1) - 1e3 * (z - 1)",
		"0.5 * z + 0.5 * t + 1e3 * (z + 1)^2 - 1e3 * (z^2 + 2 * z + 1)",
	} {
		p := newProblem(t, 1, []float64{1}, g, "t + 0.5")
		c := claim(t)
		c.Radius, c.Source, c.Q = 0.9, bounds.Declared, 0.5
		if l := p.compare(t, []int{0, 1, 2}, c); l.Refuted != "" {
			t.Errorf("%s: %s", g, l.Refuted)
		}
		c.Q = 0.499
		if l := p.compare(t, []int{0, 1, 2}, c); !strings.Contains(l.Refuted, "declared q") {
			t.Errorf("%s: q = 0.499 was not refuted: %q", g, l.Refuted)
		}
	}
}

// Where a step returns its input bit for bit, the rest is not computed; it is what it would be.
func TestStandstill(t *testing.T) {
	for _, c := range []struct{ g, start string }{
		{"0.5 * z + 0.5 * t", "0 * t"},   // stands still after some fifty steps
		{"0.75 * z + 0.25 * t", "7 * t"}, // somewhat later
		{"-z", "0 * t"},                  // 0, −0, 0, …: equal, but not the same
		{"-z + t", "0 * t"},              // a cycle
		{"0.5 * z^2 + 0.1 * t", "t"},
		{"z + 0 * t", "t"},                               // at once
		{"(z - 1) * (z - 1) * (z - 1) + 1", "1 + 0 * t"}, // with a Jacobian of 0
	} {
		p := newProblem(t, 2, []float64{0.3, -0.2}, c.g, c.start)
		const k = 300
		z, e := make([]float64, 2), make([]float64, 4)
		initial, err := p.start.Joint(z, nil, p.theta)
		if err == nil {
			err = initial.Push(e, identity(2), 2)
		}
		visits := 0
		if err == nil {
			err = Steps(p.g, p.start, p.theta, k, func(at Iterate) error {
				step, zk, ek := at.K, at.Z, at.E
				visits++
				if !sameBits(z, zk) || !sameBits(e, ek) {
					t.Fatalf("%s at K = %d: %v, %v; want %v, %v", c.g, step, zk, ek, z, e)
				}
				next, tangents := make([]float64, 2), append(append([]float64{}, e...), identity(2)...)
				d, err := p.g.Joint(next, z, p.theta)
				z = next
				return errors.Join(err, d.Push(e, tangents, 2))
			})
		}
		if err != nil || visits != k+1 {
			t.Errorf("%s: %d visits, %v", c.g, visits, err)
		}
	}
}
