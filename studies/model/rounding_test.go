package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
)

// The logistic map at a = 3.9 doubles its errors at about every other step. The references are those of the float64 nearest to 3.9 and 0.3,
// computed with 400 digits, of which 17 are kept.
func TestRoundingOfTheLogisticMap(t *testing.T) {
	const text = `kind = "chain"
[constants]
T = 100
[parameters]
a = 3.9
[state]
x = { start = "0.3" }
[chain]
steps = "T"
[next]
x = "a * x * (1 - x)"
[objective]
J = "x"
[sweep.grid]
T = [20, 50, 100, 1000]
`
	for i, c := range []struct{ value, dx, da float64 }{
		{8.0027485158545918e-1, 1.0705819832032664e+5, 2.2207565391419339e+4},
		{8.7141684105121524e-1, -1.7724463470107930e+11, -3.6766648088608163e+10},
	} {
		row := chainRow(t, solveText(t, text, i).Record)
		bounded(t, row, "value_error_estimate", number(t, row, "J")-c.value)
		bounded(t, row, "gradient_error_estimate", number(t, row, "dJ_x")-c.dx, number(t, row, "dJ_a")-c.da)
		if row.Fields.Get("certificate") != results.Text(certificateHolds) {
			t.Errorf("%+v", row)
		}
	}
	// J is 0.565…, and dJ_x 6.065e21, where float64 has another number of another size.
	s := readText(t, text)
	for i := 2; i < 4; i++ {
		out := solveText(t, text, i)
		row := chainRow(t, out.Record)
		if row.Fields.Get("certificate") != results.Text(certificateUnknown) || !strings.HasPrefix(row.Reason, "no digit of dJ is known: ") {
			t.Errorf("%+v", row)
		}
		for _, o := range []*Outcome{out, recount(s, out.Record)} {
			if len(o.Warnings) != 1 || o.Warnings[0] != row.Reason || o.Refused+o.Unexpected+o.Violated != 0 {
				t.Errorf("%+v", o)
			}
		}
		if i == 2 && !(number(t, row, "value_error_estimate") > 0.32 && number(t, row, "gradient_error_estimate") > 6e21) {
			t.Errorf("%+v", row)
		}
	}
}

// bounded holds the 2-norm of an error to its estimate, and the estimate to a size that is of use.
func bounded(t *testing.T, row results.Row, column string, errors ...float64) {
	t.Helper()
	size := 0.0
	for _, e := range errors {
		size = math.Hypot(size, e)
	}
	if estimate := number(t, row, column); !(size <= estimate) || !(estimate <= 1e4*size) {
		t.Errorf("an error of %.3g, estimated as %.3g: %+v", size, estimate, row)
	}
}

// Descent with momentum in a wave: it settles where the wave is wide, and bounces about where it is narrow. The references have 120 digits, of
// which 17 are kept.
func TestRoundingOfMomentum(t *testing.T) {
	const text = `kind = "chain"
[constants]
k = 1
[parameters]
lr = 1
beta = 0.9
[state]
x = { start = "1.5" }
v = { start = "0" }
[chain]
steps = 200
[next]
x = "x + beta * v - lr * sin(k * x)"
v = "beta * v - lr * sin(k * x)"
[objective]
J = "x^2"
[sweep.grid]
k = [1, 3, 3.5]
`
	for i, want := range [][]float64{
		{1.4728604399385469e-9, 3.9043311409092910e-9, -7.6931126868386271e-10, -1.2555054829827141e-7, 4.1040609872984456e-7},
		{4.3865787121374596, -0.19084006137369483, -0.053905769393890331, -0.49908330627625278, 0.0081669001572562483},
		{63139.196384719771, math.NaN(), math.NaN(), 1.1290508106628558e+37, 1.1365424576228610e+37},
	} {
		row := chainRow(t, solveText(t, text, i).Record)
		if i == 2 { // rounding decides everything: the gradient is 1.5e33 instead
			if row.Fields.Get("certificate") != results.Text(certificateUnknown) || !(number(t, row, "gradient_error_estimate") > number(t, row, "dJ_lr")) {
				t.Errorf("%+v", row)
			}
			continue
		}
		var errors []float64
		for k, column := range []string{"dJ_x", "dJ_v", "dJ_lr", "dJ_beta"} {
			errors = append(errors, number(t, row, column)-want[k+1])
		}
		bounded(t, row, "value_error_estimate", number(t, row, "J")-want[0])
		bounded(t, row, "gradient_error_estimate", errors...)
	}
}

const cosine = `kind = "program"
[parameters]
x = 0.001
[program]
results = ["value", "jvp", "vjp", "gradient", "jacobian", "hvp", "jet", "taylor", "residuals", "cost"]
jet = ["v"]
order = 2
[program.outputs]
y = "(1 - cos(x)) / x^2"
[program.directions]
v = { x = 1 }
`

// (1 − cos x)/x² is near ½; its derivative near −x/12. The references have 60 digits, of which 17 are kept.
func TestRoundingOfACosine(t *testing.T) {
	const value, slope, curvature = 0.49999995833333472, -8.3333327777777928e-5, -0.083333316666667411
	_, out := programOf(t, cosine)
	seen := map[string]int{}
	for _, row := range out.Record.Rows(results.Program) {
		what, order := row.Fields.Get("transformation").String(), row.Fields.Get("order").String()
		seen[what]++
		want := map[string]float64{"value": value, "jvp": slope, "vjp": slope, "gradient": slope, "jacobian": slope, "hvp": curvature,
			"jet0": slope, "jet1": curvature, "taylor0": value, "taylor1": slope, "taylor2": curvature / 2}
		if w, ok := want[what+order]; ok {
			bounded(t, row, "error_estimate", number(t, row, "value")-w)
		}
		if what == "cost" && !row.Fields.Get("error_estimate").Absent() {
			t.Errorf("a count is estimated: %+v", row)
		}
	}
	if len(seen) != 10 || len(out.Warnings) != 0 {
		t.Errorf("%v, %q", seen, out.Warnings)
	}

	// At 1e-9 the cosine is 1.
	m, out := programOf(t, strings.Replace(cosine, "0.001", "1e-9", 1))
	rows := out.Record.Rows(results.Program)
	for _, row := range rows[:5] {
		if row.Status != "OK" || !strings.HasPrefix(row.Reason, "no digit is known: ") || !(number(t, row, "error_estimate") > 0.5) {
			t.Errorf("%+v", row)
		}
	}
	if len(out.Warnings) != 9 || !strings.HasPrefix(out.Warnings[0], "value y: no digit is known") || out.Refused != 0 || out.Unexpected != 0 {
		t.Errorf("%+v", out)
	}
	if again := recount(m.Study, out.Record); !slices.Equal(again.Warnings, out.Warnings) {
		t.Errorf("a record is counted as %+v", again)
	}
}

// What cancels inside one operation shows too, in products of matrices and in sums, of inputs that no operation rounded.
func TestRoundingWithinAnOperation(t *testing.T) {
	_, out := programOf(t, `kind = "program"
[parameters]
x = [1e16, 1, -1e16]
A = [[1, 1, 1], [1, 0, 0]]
[program]
results = ["value"]
[program.outputs]
s = "sum(x)"
p = "matmul(A, x)"
c = "x[0]"
n = "x[2]"
`)
	for i, row := range out.Record.Rows(results.Program) {
		e := number(t, row, "error_estimate")
		switch i {
		case 0, 1: // 1 each
			if err := math.Abs(number(t, row, "value") - 1); !(err <= e) || !(e >= 1) {
				t.Errorf("%+v", row)
			}
		case 2: // 1e16, of which 16 digits are known
			if !(e <= 100) {
				t.Errorf("%+v", row)
			}
		default:
			if e != 0 {
				t.Errorf("what is exact has an error: %+v", row)
			}
		}
	}
}

// The columns of a large Jacobian are sampled; its array has one estimate.
func TestRoundingOfALargeJacobian(t *testing.T) {
	_, out := programOf(t, `kind = "program"
[constants]
w = { linspace = [1, 2, 60] }
[parameters]
x = { linspace = [0, 1, 60] }
[program]
results = ["jacobian"]
[program.outputs]
y = "w * sin(x) * sum(x * w)"
`)
	rows := out.Record.Rows(results.Program)
	if e := number(t, rows[0], "error_estimate"); len(rows) != 1 || !(e > 1e-15 && e < 1e-11) {
		t.Errorf("%+v", rows)
	}
}

// A domain that only a perturbed run leaves is a finding.
func TestRoundingLeavesTheDomain(t *testing.T) {
	const formula = "sqrt((x + 1) - x - 1 + 1e-20)"
	_, out := programOf(t, "kind = \"program\"\n[parameters]\nx = 0.25\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \""+formula+"\"\n")
	row := out.Record.Rows(results.Program)[0]
	if row.Status != "OK" || !strings.Contains(row.Reason, "within rounding there is no such number: DOMAIN_ERROR") || len(out.Warnings) != 1 || !row.Fields.Get("error_estimate").Absent() {
		t.Errorf("%+v, %q", row, out.Warnings)
	}
	out = solveText(t, subChain("x + 0.1 * a * (u[j] - x)", formula+" + a + u[j]"), 0)
	row = chainRow(t, out.Record)
	if row.Fields.Get("certificate") != results.Text(certificateUnknown) || !strings.HasPrefix(row.Reason, "within rounding there is no derivative: DOMAIN_ERROR: ") ||
		!strings.Contains(row.Reason, "step j = ") || len(out.Warnings) != 1 {
		t.Errorf("%+v, %q", row, out.Warnings)
	}
}

// Where T jumps, there is no derivative; where it could within rounding, it is not known.
func TestUntilAtItsBoundary(t *testing.T) {
	const text = `kind = "chain"
[parameters]
a = 0.9
[state]
x = { start = "1" }
n = { start = "0" }
[chain]
steps = 30
until = "CONDITION"
[next]
x = "a * x"
n = "n + 0.1"
[objective]
J = "x"
[schedule]
methods = ["online", "revolve"]
`
	for _, c := range []struct{ condition, status, reason, certificate string }{
		{"x <= 0.9 * 0.9 * 0.9", "NONDIFFERENTIABLE", "the condition at j = 3, where T jumps: less_equal is on its branch boundary", ""},
		{"x < 0.9 * 0.9 * 0.9", "NONDIFFERENTIABLE", "the condition at j = 3, where T jumps: less is on its branch boundary", ""},
		{"x < a * a * a", "NONDIFFERENTIABLE", "at j = 3", ""},
		{"x == a * a * a", "NONDIFFERENTIABLE", "compare with a margin", ""},
		{"x <= 0.7", "OK", "", certificateHolds},
		{"j >= 3", "OK", "", certificateHolds},
		{"abs(x - 0.9) > 0.05 && j > 1", "OK", "", certificateHolds}, // abs at 0 is no jump
		{"round(10 * n) >= 3", "OK", "", certificateHolds},
		{"n >= 1", "OK", "within rounding the condition ends the chain at another step than T = 11", certificateUnknown}, // 0.1 ten times is 1 − 2⁻⁵³
	} {
		out := solveText(t, strings.Replace(text, "CONDITION", c.condition, 1), 0)
		row := out.Record.Rows(results.Chain)[0]
		certificate := ""
		if v := row.Fields.Get("certificate"); !v.Absent() {
			certificate = v.String()
		}
		if row.Status != c.status || !strings.Contains(row.Reason, c.reason) || certificate != c.certificate || c.reason == "" && row.Reason != "" {
			t.Errorf("%s: %+v", c.condition, row)
		}
	}
}

// An expectation that is not met is said once, also of a chain with several schedules; one of a schedule is met by it.
func TestExpectedOfAChain(t *testing.T) {
	text := subChain(`"revolve"`, `"binomial", "revolve"`) + "budgets = [1]\n[sweep.grid]\nT = [2, 9]\n" // which is enough for T = 2
	for expect, refused := range map[string]int{"": 2, "NONDIFFERENTIABLE": 2, "SCHEDULE_FAILURE": 0} {
		more := ""
		if expect != "" {
			more = "[expect]\nstatus = \"" + expect + "\"\n"
		}
		if out := solveText(t, text+more, 1); out.Unexpected != 0 || out.Refused != refused || len(out.Warnings) != 0 {
			t.Errorf("%s: %+v", expect, out)
		}
	}
	out := solveText(t, minimalChain+"[expect]\nstatus = \"NONDIFFERENTIABLE\"\n", 0)
	if out.Unexpected != 1 || !slices.Equal(out.Warnings, []string{"expected NONDIFFERENTIABLE, but the status is OK"}) {
		t.Errorf("%+v", out)
	}
}

// What overflows in the reverse of a step is no fault of the step.
func TestOverflowOfADerivative(t *testing.T) {
	row := solveText(t, `kind = "chain"
[parameters]
a = 1e-160
[state]
x = { start = "1" }
[chain]
steps = 4
[next]
x = "x^(-0.5) / a"
[objective]
J = "x"
`, 0).Record.Rows(results.Chain)[0]
	if row.Status != "NON_FINITE" || !strings.Contains(row.Reason, "the derivative of") || row.Fields.Get("J").Absent() {
		t.Errorf("%+v", row)
	}
}

// The Hessian has its estimate, and is held to the gradient of its own sweep.
func TestRoundingOfAHessian(t *testing.T) {
	text := strings.Replace(minimalChain, "x + 0.1 * a * (u[j] - x)", "a * x^2 + u[j]", 1) + "[hessian]\na = 1\n"
	out := solveText(t, text, 0)
	row := chainRow(t, out.Record)
	if e := number(t, row, "hessian_error_estimate"); !(e > 0 && e < 1e-10) || row.Fields.Get("HJ_a").Absent() {
		t.Errorf("%+v", row)
	}
	s := readText(t, text)
	solver := newSolver(t, s).chain
	c, err := solver.at(s.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := c.references(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.gradient {
		first.gradient[i] *= 1 + 1e-8
	}
	wrong := results.Row{Ending: results.Ending{Status: "OK"}}
	if err := c.hessian(t.Context(), &Outcome{Record: new(results.Record)}, &wrong, first); err != nil {
		t.Fatal(err)
	}
	if wrong.Status != string(graph.AdjointNotConverged) || !wrong.Fields.Get("HJ_a").Absent() || !(number(t, wrong, "hessian_gradient_gap") > 1e-10) {
		t.Errorf("%+v", wrong)
	}
}

// A tangent that cancels in the objective is no witness against a gradient that does not.
func TestTangentThatCancels(t *testing.T) {
	row := chainRow(t, solveText(t, `kind = "chain"
[parameters]
a = 0.7
[state]
y = { start = "0.3" }
[chain]
steps = 25
[next]
y = "0.1 * y"
[objective]
J = "(a + y) - (a + 1)"
`, 0).Record)
	digits(t, "dJ_y", 14, number(t, row, "dJ_y"), 1e-25)
	if row.Fields.Get("certificate") != results.Text(certificateUnknown) || !strings.Contains(row.Reason, "between adjoint and tangent") {
		t.Errorf("%+v", row)
	}
}

// A gradient that vanishes, as that of a fit does, has no digit either: the reason names that first, and says no "+Inf times".
func TestReasonOfAGradientThatVanishes(t *testing.T) {
	for _, steps := range []string{"100", "60"} {
		out := solveText(t, strings.Replace(`
kind = "chain"
[parameters]
k = 0.1
[state]
x = { start = "0" }
[chain]
steps = STEPS
[next]
x = "0.5 * x + k"
[objective]
J = "(x - 0.2)^2"
`, "STEPS", steps, 1), 0)
		row := out.Record.Rows(results.Chain)[0]
		if row.Status != "OK" || !strings.HasPrefix(row.Reason, "no digit of dJ is known: ") || !strings.Contains(row.Reason, "either it vanishes, as at an optimum") || strings.Contains(row.Reason, "Inf") {
			t.Errorf("%+v", row)
		}
	}
}
