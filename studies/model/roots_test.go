package model

import (
	"context"
	"math"
	"testing"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
)

// solved computes the first point of a study that is given as text.
func solved(t *testing.T, text string) *Outcome {
	t.Helper()
	m, err := Compile(readText(t, text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSolver(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Solve(context.Background(), m.Study.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// holdsRow wants numbers of the only row of the exact branch.
func holdsRow(t *testing.T, out *Outcome, within float64, want map[string]float64) {
	t.Helper()
	row := implicitRow(t, out.Record, "")
	if row.Status != string(graph.OK) {
		t.Errorf("%s: %s", row.Status, row.Reason)
		return
	}
	for column, w := range want {
		if got := number(t, row, column); !(math.Abs(got-w) <= within*math.Abs(w)) {
			t.Errorf("%s = %.17g, want %.17g", column, got, w)
		}
	}
}

// An unknown of size 1 is solved for beside one of 2e11.
func TestUnitsBesideEachOther(t *testing.T) {
	const text = `kind = "root"
[parameters]
a = 3.9
[constants]
Y = 2e11
[state]
x = { start = "0" }
p = { start = "Y" }
[root]
r1 = "log(x + sqrt(1 + x^2)) - a"
r2 = "p / Y - 1"
[objective]
J = "x"
`
	holdsRow(t, solved(t, text), 1e-13, map[string]float64{"J": math.Sinh(3.9), "dJ_a": math.Cosh(3.9)})
}

// The same as a fixed point: a declaration that is true is not refuted.
func TestUnitsBesideEachOtherInAFixedPoint(t *testing.T) {
	const text = `kind = "fixed-point"
[parameters]
a = 3.9
[constants]
Y = 2e11
[state]
x = { start = "0" }
p = { start = "Y" }
[fixed-point]
x = "x - 0.02 * (log(x + sqrt(1 + x^2)) - a)"
p = "Y + 1e-3 * (p - Y)"
[objective]
J = "x"
[domain]
ball = { center = "solution", radius = 60.0, norm = "inf" }
[bounds]
constants = "declare"
q = "1 - 0.02 / sqrt(1 + 90^2)"
L_z = "0.02"
L_theta = "0.02"
[iterate]
steps = [0, 100, 10000]
`
	out := solved(t, text)
	holdsRow(t, out, 1e-13, map[string]float64{"J": math.Sinh(3.9), "dJ_a": math.Cosh(3.9)})
	for _, row := range out.Record.Rows(results.Iterates) {
		if v := bounds.Verdict(row.Fields.Get("verdict").String()); v != bounds.Holds && v != bounds.HoldsAtFloor {
			t.Errorf("K = %v: %s: %s", row.Fields.Get("K"), v, row.Reason)
		}
	}
}

