package implicit

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// expr builds programs of scalars by hand, so that these tests need no parser.
type expr struct {
	b *graph.Builder
	v graph.Value
}

func (x expr) bin(o *graph.Op, y expr) expr { return expr{x.b, x.b.Emit(o, nil, x.v, y.v)} }
func (x expr) add(y expr) expr              { return x.bin(op.Add, y) }
func (x expr) sub(y expr) expr              { return x.bin(op.Sub, y) }
func (x expr) mul(y expr) expr              { return x.bin(op.Mul, y) }
func (x expr) un(o *graph.Op) expr          { return expr{x.b, x.b.Emit(o, nil, x.v)} }
func (x expr) num(c float64) expr           { return expr{x.b, x.b.Full(graph.Scalar, c)} }

// scalarMap makes the map of a function of m scalar states and p scalar parameters.
func scalarMap(t *testing.T, m, p int, f func(z, theta []expr) []expr) *Map {
	t.Helper()
	b := graph.NewBuilder("f")
	var z, theta []expr
	var state, params []int
	for i := range m {
		state = append(state, i)
		z = append(z, expr{b, b.Input("z"+string(rune('0'+i)), graph.Scalar)})
	}
	for i := range p {
		params = append(params, m+i)
		theta = append(theta, expr{b, b.Input("t"+string(rune('0'+i)), graph.Scalar)})
	}
	var out []graph.Value
	for _, e := range f(z, theta) {
		out = append(out, e.v)
	}
	program := b.Build(out...)
	if err := graph.Verify(program); err != nil {
		t.Fatal(err)
	}
	f2, err := NewMap(program, state, params, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f2
}

func statusOf(err error) graph.Status {
	var f *graph.Failure
	if errors.As(err, &f) {
		return f.Status
	}
	if err == nil {
		return graph.OK
	}
	return graph.Status("error: " + err.Error())
}

func near(t *testing.T, what string, have, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(have-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: have %.17g, want %.17g", what, have, want)
	}
}

func kepler(z, th []expr) []expr {
	return []expr{z[0].sub(th[0].mul(z[0].un(op.Sin))).sub(th[1])}
}

func TestKepler(t *testing.T) {
	r := scalarMap(t, 1, 2, kepler)
	theta := []float64{0.1, 5 * math.Pi / 180}
	root, err := FindRoot(r, []float64{0}, theta, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "E", root.Z[0], 0.096945871075967, 1e-14)
	s, err := Differentiate(r, root)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "dE/de", s.S[0], 0.10749290077899, 1e-13)
	near(t, "dE/dM", s.S[1], 1.1105317132006, 1e-13)
	j := scalarMap(t, 1, 2, func(z, th []expr) []expr { return []expr{z[0].mul(z[0]).add(th[0])} })
	g, err := Gradients(r, j, root, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "dJ/de", g[0].Gradient[0], 2*root.Z[0]*s.S[0]+1, 1e-15)
	near(t, "dJ/dM", g[0].Gradient[1], 2*root.Z[0]*s.S[1], 1e-15)
	if root.ErrorEstimate > 1e-15 || g[0].Gap > 1e-15 || root.DetSign != 1 {
		t.Errorf("evidence: %+v, gap %v", root, g[0].Gap)
	}
}

// A fixed point must be the limit of the plain iteration.
func TestLimits(t *testing.T) {
	dottie := func(z, th []expr) []expr { return []expr{th[0].mul(z[0].un(op.Cos))} }
	lose := func(g func(z, th []expr) []expr) func(z, th []expr) []expr {
		return func(z, th []expr) []expr { return []expr{z[0].sub(g(z, th)[0])} }
	}
	root, err := FindLimit(scalarMap(t, 1, 1, dottie), scalarMap(t, 1, 1, lose(dottie)), []float64{0}, []float64{1}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "dottie", root.Z[0], 0.73908513321516, 1e-13)

	// z² has the fixed points 0 and 1; from 0.9 the iteration goes to 0, Newton's to 1.
	square := func(z, th []expr) []expr { return []expr{z[0].mul(z[0])} }
	root, err = FindLimit(scalarMap(t, 1, 1, square), scalarMap(t, 1, 1, lose(square)), []float64{0.9}, []float64{1}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "limit", root.Z[0], 0, 1e-30)

	away := func(z, th []expr) []expr { return []expr{z[0].add(z[0]).sub(th[0])} }
	_, err = FindLimit(scalarMap(t, 1, 1, away), scalarMap(t, 1, 1, lose(away)), []float64{0.9}, []float64{1}, Settings{})
	if s := statusOf(err); s != graph.NonFinite && s != graph.NotConverged {
		t.Errorf("a diverging iteration: %v", err)
	}
}

// An iteration that passes a saddle of the map ends elsewhere. In the second unknown 0 repels by the
// factor 1.5 and the iteration ends at ½; in the first it contracts quickly to 0.
func TestSaddleIsNoLimit(t *testing.T) {
	g := vectorMap(t, 2, 1, "[0.1 * z[0], 1.5 * z[1] - z[1]^2 + 0 * t[0]]")
	r := vectorMap(t, 2, 1, "z - [0.1 * z[0], 1.5 * z[1] - z[1]^2 + 0 * t[0]]")
	root, err := FindLimit(g, r, []float64{1, 1e-9}, []float64{0}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "z[1]", root.Z[1], 0.5, 1e-14)
	// On the saddle itself the iteration rests.
	root, err = FindLimit(g, r, []float64{0, 0}, []float64{0}, Settings{})
	if err != nil || root.Z[1] != 0 {
		t.Errorf("at rest: %v, %v", root.Z, err)
	}
}

func TestRefusals(t *testing.T) {
	cases := []struct {
		name   string
		m      int
		z0     []float64
		theta  float64
		f      func(z, th []expr) []expr
		status graph.Status
		reason string
	}{
		{"double root", 1, []float64{6}, 0, func(z, th []expr) []expr {
			d := z[0].sub(z[0].num(5))
			return []expr{z[0].mul(d).mul(d).add(th[0])}
		}, graph.SingularStateJacobian, "fold"},
		{"fold of z exp z", 1, []float64{-0.5}, -1 / math.E, func(z, th []expr) []expr {
			return []expr{z[0].mul(z[0].un(op.Exp)).sub(th[0])}
		}, graph.SingularStateJacobian, "fold"},
		{"no root", 1, []float64{1}, 1, func(z, th []expr) []expr {
			return []expr{z[0].mul(z[0]).add(th[0])}
		}, graph.NotConverged, "is no root"},
		{"least-squares stall", 2, []float64{1.1, 0.3}, 1, func(z, th []expr) []expr {
			return []expr{z[0].sub(z[1]), z[0].mul(z[1]).add(th[0])}
		}, graph.NotConverged, "local minimum of ‖R‖"},
		{"singular root of rank 2", 4, []float64{3, -1, 0, 1}, 0, powellSingular, graph.SingularStateJacobian, "σ_min"},
		{"start outside the domain", 1, []float64{-1}, 0, func(z, th []expr) []expr {
			return []expr{z[0].un(op.Log).sub(th[0])}
		}, graph.DomainError, "log of -1"},
		{"root at a kink", 1, []float64{1}, 0, func(z, th []expr) []expr {
			return []expr{z[0].un(op.Abs).add(z[0].add(z[0])).sub(th[0])}
		}, graph.Nondifferentiable, "abs has no derivative"},
		{"small slope that is no fold", 1, []float64{1}, 1e-8, func(z, th []expr) []expr {
			return []expr{z[0].mul(z[0]).sub(th[0])}
		}, graph.OK, ""},
		{"a start beside another least-squares minimum", 2, []float64{0.5, -2}, 13, freudensteinRoth, graph.OK, ""},
		{"the other start", 2, []float64{6, 5}, 13, freudensteinRoth, graph.OK, ""},
	}
	for _, c := range cases {
		root, err := FindRoot(scalarMap(t, c.m, 1, c.f), c.z0, []float64{c.theta}, Settings{})
		if s := statusOf(err); s != c.status {
			t.Errorf("%s: have %s, want %s: %v (%+v)", c.name, s, c.status, err, root)
		}
		if err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: the reason should say %q: %v", c.name, c.reason, err)
		}
	}
}

func freudensteinRoth(z, th []expr) []expr {
	x, y := z[0], z[1]
	y2 := y.mul(y)
	y3 := y2.mul(y)
	return []expr{
		x.sub(y3).add(y.num(5).mul(y2)).sub(y.num(2).mul(y)).sub(th[0]),
		x.add(y3).add(y2).sub(y.num(14).mul(y)).sub(y.num(29)),
	}
}

func powellSingular(z, th []expr) []expr {
	c := z[0].num
	a, b := z[1].sub(c(2).mul(z[2])), z[0].sub(z[3])
	return []expr{
		z[0].add(c(10).mul(z[1])), c(math.Sqrt(5)).mul(z[2].sub(z[3])), a.mul(a).add(th[0]), c(math.Sqrt(10)).mul(b.mul(b)),
	}
}

// A singular system names what depends on what.
func TestSingularNames(t *testing.T) {
	r := vectorMap(t, 3, 1, "[z[0] + z[2] - t[0], z[1] - 1, 2 * z[0] + 2 * z[2] - 2 * t[0]]")
	_, err := FindRoot(r, []float64{1, 1, 0}, []float64{1}, Settings{})
	if statusOf(err) != graph.SingularStateJacobian {
		t.Fatal(err)
	}
	for _, want := range []string{"z[0]", "z[2]", "out0[0]", "out0[2]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "z[1]") {
		t.Errorf("z[1] is not to blame: %v", err)
	}
}
