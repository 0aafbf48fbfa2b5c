package model

import (
	"math"
	"testing"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
)

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
	holdsRow(t, solveText(t, text, 0), 1e-13, map[string]float64{"J": math.Sinh(3.9), "dJ_a": math.Cosh(3.9)})
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
	out := solveText(t, text, 0)
	holdsRow(t, out, 1e-13, map[string]float64{"J": math.Sinh(3.9), "dJ_a": math.Cosh(3.9)})
	for _, row := range out.Record.Rows(results.Iterates) {
		if v := bounds.Verdict(row.Fields.Get("verdict").String()); v != bounds.Holds && v != bounds.HoldsAtFloor {
			t.Errorf("K = %v: %s: %s", row.Fields.Get("K"), v, row.Reason)
		}
	}
}

// Beyond a fixed point that the iteration does not pass, there may be another: it is not the limit.
func TestTheLimitIsNotBeyondAnother(t *testing.T) {
	const text = `kind = "fixed-point"
[parameters]
c = 1.2
[constants]
lr = 0.001
[state]
z = { start = "1000" }
[fixed-point]
z = "z - lr * ((z + 1) - c * exp(-((z + 0.25) / 0.3)^2))"
[objective]
J = "z"
[domain]
ball = { center = "solution", radius = 0.1, norm = "2" }
[iterate]
steps = [0, 10000, 50000]
`
	out := solveText(t, text, 0)
	row := implicitRow(t, out.Record, "")
	// The fixed point next to the start, by bisection.
	f := func(z float64) float64 { return z + 1 - 1.2*math.Exp(-math.Pow((z+0.25)/0.3, 2)) }
	low, high := -0.12, 0.0
	for range 60 {
		if mid := (low + high) / 2; f(mid) > 0 {
			high = mid
		} else {
			low = mid
		}
	}
	e := (high + 1) / 1.2
	slope := e / (1 + 1.2*e*2*(high+0.25)/0.09)
	if row.Status != string(graph.OK) || math.Abs(number(t, row, "J")-high) > 1e-12 || math.Abs(number(t, row, "dJ_c")-slope) > 1e-10 {
		t.Errorf("%s %s: J = %v, dJ = %v, want %v and %v", row.Status, row.Reason, row.Fields.Get("J"), row.Fields.Get("dJ_c"), high, slope)
	}
}

// The error of an objective that cancels stands beside it.
func TestErrorOfAnObjectiveIsShown(t *testing.T) {
	const text = `kind = "root"
[parameters]
a = 1e-12
[state]
z = { start = "0" }
[root]
r = "z - a"
[objective]
J = "(exp(z) - 1) - a * (1 - 1e-12)"
`
	row := implicitRow(t, solveText(t, text, 0).Record, "")
	// The true value is a·1e-12 + a²/2 = 1.5e-24.
	estimate := number(t, row, "value_error_estimate")
	if off := math.Abs(number(t, row, "J") - 1.5e-24); row.Status != string(graph.OK) || off > estimate || estimate > 1e-14 {
		t.Errorf("%s %s: off by %v, the estimate is %v", row.Status, row.Reason, off, estimate)
	}
}

// Adjoint and tangent agree where parameters and unknowns have units far apart.
func TestGapInUnitsFarApart(t *testing.T) {
	const text = `kind = "root"
[parameters]
k = 1e12
s = 1e-9
[state]
x = { start = "1.1 * s" }
y = { start = "1.9 * k" }
[root]
r1 = "x * y - k * s * 2"
r2 = "y / k - 1 - x / s"
[objective]
J = "y"
`
	holdsRow(t, solveText(t, text, 0), 1e-14, map[string]float64{"J": 2e12, "dJ_k": 2})
}
