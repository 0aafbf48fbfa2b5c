package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/studies"
)

// minimalChain is a chain that runs; tests change a line of it.
const minimalChain = `kind = "chain"
[constants]
T = 9
w = [1, 2, 3]
[parameters]
a = 0.5
[state]
x = { start = "a" }
[controls]
u = { start = "0.25" }
[chain]
steps = "T"
[next]
x = "x + 0.1 * a * (u[j] - x)"
[objective]
J = { terminal = "x^2 + sum(w)", running = "u[j]^2" }
[schedule]
methods = ["store-all", "revolve"]
slots = [2, 3]
`

func subChain(pairs ...string) string {
	text := minimalChain
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("not in the chain: " + pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

var badChains = []struct{ name, text string }{
	{"no section chain", subChain("[chain]\nsteps = \"T\"\n", "")},
	{"no steps", subChain("steps = \"T\"", "")},
	{"no next", subChain("[next]\nx = \"x + 0.1 * a * (u[j] - x)\"\n", "")},
	{"no formula for a block", subChain(`x = { start = "a" }`, "x = { start = \"a\" }\ny = { start = \"1\" }")},
	{"a formula for no block", subChain("[next]", "[next]\nz = \"1\"")},
	{"a section of another kind", minimalChain + "[implicit]\ntolerance = 1e-9\n"},
	{"a section of this kind in another", strings.Replace(minimalRoot, "[objective]", "[schedule]\nslots = 3\n[objective]", 1)},
	{"a running term in another kind", strings.Replace(minimalRoot, `J = "E"`, `J = { running = "E" }`, 1)},
	{"two objectives", subChain("[schedule]", "Q = \"x\"\n[schedule]")},
	{"an objective of no term", subChain(`{ terminal = "x^2 + sum(w)", running = "u[j]^2" }`, "{}")},
	{"an unknown term", subChain("running =", "runing =")},
	{"an objective that is no scalar", subChain("x^2 + sum(w)", "x * w")},
	{"a running term that is no scalar", subChain("u[j]^2", "u[j] * w")},
	{"half a step", subChain("T = 9", "T = 9.5")},
	{"steps below zero", subChain(`steps = "T"`, `steps = -1`)},
	{"steps of a parameter", subChain(`steps = "T"`, `steps = "10 * a"`)},
	{"steps of a vector", subChain(`steps = "T"`, `steps = "w"`)},
	{"steps of a sweep", minimalChain + "[sweep.grid]\nT = [1, 2, 2.5]\n"},
	{"another shape after a step", subChain("x + 0.1 * a", "w * x + 0.1 * a")},
	{"the terminal term reads a control", subChain("x^2", "x^2 + u[j]")},
	{"the terminal term reads j", subChain("x^2", "x^2 + j")},
	{"the start reads the state", subChain(`start = "a"`, `start = "x"`)},
	{"a control reads a parameter", subChain(`start = "0.25"`, `start = "a"`)},
	{"a control as a whole", subChain("(u[j] - x)", "(sum(u) - x)")},
	{"a control before the first", subChain("(u[j] - x)", "(u[j - 1] - x)")},
	{"a control before the first, in an arm", subChain("(u[j] - x)", "((j > 0 ? u[j - 1] : 0) - x)")},
	{"a control at an index of arms", subChain("(u[j] - x)", "(u[j < 3 ? j : 0] - x)")},
	{"a control one too short for a later entry in an arm", subChain(`start = "0.25"`, `start = "zeros(9)"`, "u[j] - x", "(j < 8 ? u[j + 1] : 0) - x")},
	{"a control that nothing reads", subChain("(u[j] - x)", "x", "u[j]^2", "x")},
	{"a control of the wrong length", subChain(`start = "0.25"`, `start = "[1, 2, 3]"`)},
	{"a control one too short for its last read", subChain(`start = "0.25"`, `start = "zeros(9)"`, "u[j] - x", "u[j + 1] - x")},
	{"a control of another shape", subChain(`start = "0.25"`, `shape = 2, start = "w"`, "u[j]^2", "sum(u[j])", "(u[j] - x)", "(sum(u[j]) - x)")},
	{"an unknown method", subChain(`"revolve"`, `"revolver"`)},
	{"a method twice", subChain(`"revolve"`, `"store-all"`)},
	{"no method", subChain(`["store-all", "revolve"]`, "[]")},
	{"no slot", subChain("[2, 3]", "[2, 0]")},
	{"slots twice", subChain("[2, 3]", "[2, 2]")},
	{"budgets without binomial", minimalChain + "budgets = 3\n"},
	{"a budget that can never work", subChain(`"revolve"]`, `"binomial"]`) + "budgets = [1]\n"},
	{"a memory that can never work", subChain("methods = [\"store-all\", \"revolve\"]\nslots = [2, 3]", "memory = \"20B\"")},
	{"a budget that works at no point of a sweep", subChain(`"revolve"]`, `"binomial"]`) + "budgets = [1]\n[sweep.grid]\nT = [5, 9]\n"},
	{"online with a known end", subChain(`"revolve"`, `"online"`)},
	{"until is a number", subChain(`steps = "T"`, "steps = \"T\"\nuntil = \"x\"")},
	{"until has entries", subChain(`steps = "T"`, "steps = \"T\"\nuntil = \"w > x\"")},
	{"an objective named as a column", subChain("T = 9", "N = 9", `steps = "T"`, `steps = "N"`, "J =", "T =")},
	{"a direction of an unknown name", minimalChain + "[hessian]\nb = 1\n"},
	{"a direction of another shape", minimalChain + "[hessian]\na = [1, 2]\n"},
	{"an empty direction", minimalChain + "[hessian]\n"},
	{"two-tier without a disk", subChain(`"revolve"`, `"two-tier"`)},
	{"a disk without two-tier", minimalChain + "disk = { slots = 2, write = 2, read = 1 }\n"},
	{"a disk without a cost", subChain(`"revolve"`, `"two-tier"`) + "disk = { slots = 2, write = 2 }\n"},
	{"memory and slots", minimalChain + "memory = \"2GiB\"\n"},
	{"memory without a unit", subChain("methods = [\"store-all\", \"revolve\"]\nslots = [2, 3]", "memory = \"2\"")},
	{"a name of a control twice", subChain("[controls]", "[controls]\na = {}")},
}

func TestBadChains(t *testing.T) {
	var out strings.Builder
	for _, bad := range badChains {
		s, err := tryText(bad.text)
		if err == nil {
			_, err = Compile(s)
		}
		if err == nil {
			t.Errorf("%s: compiles without an error", bad.name)
			continue
		}
		var one *studies.Error
		if !errors.As(err, &one) || one.Line == 0 && !strings.Contains(one.Message, "missing") {
			t.Errorf("%s: no place in %v", bad.name, err)
		}
		fmt.Fprintf(&out, "-- %s --\n%s\n", bad.name, err)
	}
	golden(t, "bad_chains.txt", out.String())
}

// TestMain lets the test binary measure sweeps in processes of their own.
func TestMain(m *testing.M) {
	if asked, code := ServeSweep(os.Stdin, os.Stdout, os.Stderr); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A sweep in a fresh process takes the memory that its logical bytes say: a state of 200,000 entries, ten slots.
func TestResidentMemory(t *testing.T) {
	if _, err := resident("VmHWM:"); err != nil {
		t.Skip(err)
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own")
	}
	s := readText(t, `kind = "chain"
[parameters]
a = 0.01
[state]
x = { start = "a * ones(200000)" }
[chain]
steps = 60
[next]
x = "x - a * (roll(x, 1) - 2 * x + roll(x, -1)) - a * x^2"
[objective]
J = "sum(x)"
[schedule]
slots = 10
repetitions = 1
`)
	solver := newSolver(t, s)
	var err error
	if solver.chain.executable, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	out, err := solver.Solve(t.Context(), s.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range out.Record.Rows(results.Measurements) {
		if row.Fields.Get("kind") != results.Text(measuredRun) {
			continue
		}
		rise, logical := number(t, row, "resident_bytes"), number(t, row, "logical_bytes")
		t.Logf("logical %.1f MB, resident set +%.1f MB", logical/1e6, rise/1e6)
		if counted := number(t, out.Record.Rows(results.Schedules)[0], "peak_bytes"); counted != logical {
			t.Errorf("%v logical bytes in the process, %v in the run", logical, counted)
		}
		if rise > 1.05*logical+1e6 || rise < logical/2 { // tighter than 10 MB, which a whole state would not exceed
			t.Errorf("the resident set rises by %v bytes, the logical bytes are %v", rise, logical)
		}
		return
	}
	t.Error("no run was measured")
}

// solveText computes a point of a chain given as text.
func solveText(t *testing.T, text string, point int) *Outcome {
	t.Helper()
	s := readText(t, text)
	out, err := newSolver(t, s).Solve(t.Context(), s.Point(point))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A refusal names the step; the sweep's other points run.
func TestChainStatuses(t *testing.T) {
	for _, c := range []struct{ name, text, status, reason string }{
		{"domain", subChain("x + 0.1 * a", "sqrt(x - 0.2) * 0 + x - 0.1 + 0 * a"), "DOMAIN_ERROR", "step j = 4: "},
		{"domain in the last step", subChain("x + 0.1 * a", "sqrt(x - 0.2) * 0 + x - 0.1 + 0 * a", "T = 9", "T = 5"), "DOMAIN_ERROR", "step j = 4: "},
		{"overflow", subChain("x + 0.1 * a", "exp(x * 4) + 0 * a", "T = 9", "T = 6"), "NON_FINITE", "step j = "},
		{"before the first step", subChain("x + 0.1 * a", "x + 0.1 * sqrt(a - 1)"), "DOMAIN_ERROR", "before the first step: "},
		{"start", subChain(`start = "a"`, `start = "log(a - 1)"`), "DOMAIN_ERROR", "the start: "},
		{"objective", subChain("x^2 + sum(w)", "log(0 - x)"), "DOMAIN_ERROR", "step j = 8: "},
		{"kink", subChain("x + 0.1 * a", "abs(x - 0.5) + 0.5 + 0 * a"), "NONDIFFERENTIABLE", "step j = "},
		{"controls", subChain(`start = "0.25"`, `start = "log(0 - T)"`), "DOMAIN_ERROR", "before the first step: "},
		{"data outside", subChain("(u[j] - x)", "(w[j] - x) * u[j]"), "DOMAIN_ERROR", "step j = 3: "},
	} {
		out := solveText(t, c.text, 0)
		row := out.Record.Rows(results.Chain)[0]
		if row.Status != c.status || !strings.Contains(row.Reason, c.reason) || out.Refused != 1 || out.Violated != 0 {
			t.Errorf("%s: %s: %s, %d refused", c.name, row.Status, row.Reason, out.Refused)
		}
		if len(out.Record.Rows(results.Schedules)) != 0 || len(out.Record.Arrays) != 0 {
			t.Errorf("%s: a refusal comes with schedules or derivatives", c.name)
		}
		for _, f := range row.Fields {
			if strings.HasPrefix(f.Column, "dJ") {
				t.Errorf("%s: %s comes with a refusal", c.name, f.Column)
			}
		}
	}
}

// The gradient of a chain is held against a tangent. Of p ← a p, 400 times from 1 with a = 0.1, the states underflow to 0 while the
// adjoints do not: dJ/da would be 19 % too small. Where only the tangent is beyond the range, it is computed in another unit.
func TestChainGap(t *testing.T) {
	const text = "kind = \"chain\"\n[parameters]\na = 0.1\n[state]\np = { start = \"1\" }\n[chain]\nsteps = 400\n[next]\np = \"a * p\"\n[objective]\nJ = \"p * 1e300\"\n"
	out := solveText(t, text, 0)
	row := out.Record.Rows(results.Chain)[0]
	if row.Status != "ADJOINT_NOT_CONVERGED" || !strings.Contains(row.Reason, "adjoint and tangent disagree") || out.Refused != 1 || len(out.Record.Arrays) != 0 {
		t.Errorf("%+v, %d refused", row, out.Refused)
	}
	if gap := number(t, row, "adjoint_tangent_gap"); !(gap > 0.1) {
		t.Errorf("the gap is %g", gap)
	}
	tiny := strings.NewReplacer("a = 0.1", "a = 10", "\"1\"", "\"1e-200\"", "p * 1e300", "p * 1e-300").Replace(text)
	row = chainRow(t, solveText(t, tiny, 0).Record)
	if d, gap := number(t, row, "dJ_p"), number(t, row, "adjoint_tangent_gap"); math.Abs(d/1e100-1) > 1e-12 || !(gap < 1e-12) {
		t.Errorf("dJ_p is %g, the gap %g", d, gap)
	}
}

// Beside a parameter of 1e12, one of 1e-9 must not move by 1 in the tangent that a gradient is held against: dJ/ds is 0, as a
// difference of terms of 1e21, whose rounding would be all that there is to compare.
func TestChainGapInAnyUnits(t *testing.T) {
	row := chainRow(t, solveText(t, "kind = \"chain\"\n[parameters]\nk = 1e12\ns = 1e-9\n[state]\ny = { start = \"k\" }\n[chain]\nsteps = 7\n[next]\ny = \"k * sqrt(3 * s) / sqrt(s)\"\n[objective]\nJ = \"y\"\n", 0).Record)
	if d, gap := number(t, row, "dJ_k"), number(t, row, "adjoint_tangent_gap"); math.Abs(d-math.Sqrt(3)) > 1e-12 || !(gap < 1e-12) {
		t.Errorf("dJ_k is %v, the gap %g", d, gap)
	}
}

func TestChainOfNoSteps(t *testing.T) {
	out := solveText(t, subChain("T = 9", "T = 0"), 0)
	row := chainRow(t, out.Record)
	// J(x_0) = a² + 6
	for column, want := range map[string]float64{"J": 6.25, "dJ_x": 1, "dJ_a": 1, "T": 0} {
		if got := number(t, row, column); got != want {
			t.Errorf("%s is %v, want %v", column, got, want)
		}
	}
	for _, s := range out.Record.Rows(results.Schedules) {
		if s.Fields.Get("gradient_equal") != results.Bool(true) || number(t, s, "records") != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// With a control at its later entries, of rows, and with data by step.
func TestChainControls(t *testing.T) {
	out := solveText(t, subChain(`u = { start = "0.25" }`, `u = { shape = 2, start = "[0.25, 0.5]" }`,
		"(u[j] - x)", "(sum(u[j + 1]) - x)", "u[j]^2", "sum(u[j] * u[j + 1])", "T = 9", "T = 2"), 0)
	row := chainRow(t, out.Record)
	// x' = (1 − 0.05) x + 0.05 (u0 + u1); running u[0]·u[1] + u[1]·u[2].
	x1 := 0.5 + 0.05*(0.75-0.5)
	x2 := x1 + 0.05*(0.75-x1)
	digits(t, "J", 14, number(t, row, "J"), x2*x2+6+2*(0.25*0.25+0.5*0.5))
	want := []float64{0.25, 0.5, 2*x2*0.95*0.05 + 0.5, 2*x2*0.95*0.05 + 1, 2*x2*0.05 + 0.25, 2*x2*0.05 + 0.5}
	for i, g := range array(t, out.Record, "dJ_u") {
		digits(t, fmt.Sprintf("dJ_u, entry %d", i), 14, g, want[i])
	}
	for _, a := range out.Record.Arrays {
		if a.Name == "dJ_u" && !cmp.Equal(a.Shape, []int{3, 2}) {
			t.Errorf("dJ_u has the shape %v", a.Shape)
		}
	}
}

// Everything that a result depends on is in the identity of a point.
func TestChainIdentity(t *testing.T) {
	id := func(text string) string { return readText(t, text).Point(0).ID(1, 1) }
	seen := map[string]string{}
	for _, text := range []string{
		minimalChain,
		subChain(`steps = "T"`, `steps = "T + 1"`),
		subChain(`steps = "T"`, "steps = \"T\"\nuntil = \"x < 0\""),
		subChain("u[j]^2", "2 * u[j]^2"),
		subChain(`start = "0.25"`, `start = "0.5"`),
		subChain(`start = "0.25"`, `shape = 1, start = "0.25"`),
		subChain("0.1 * a", "0.2 * a"),
		subChain(`"revolve"`, `"uniform"`),
		subChain("[2, 3]", "[2, 4]"),
		subChain(`"revolve"]`, `"binomial"]`),
		subChain(`"revolve"]`, `"binomial"]`) + "budgets = [5]\n",
		minimalChain + "[hessian]\na = 1\n",
		minimalChain + "[hessian]\na = 2\n",
	} {
		if other, twice := seen[id(text)]; twice {
			t.Errorf("one identity for\n%s\nand\n%s", text, other)
		}
		seen[id(text)] = text
	}
	if id(minimalChain) != id("title = \"x\"\n"+minimalChain) {
		t.Error("the title changes the identity")
	}
}

// A point is the same whatever ran before it, and two runs agree.
func TestChainPointsAreIndependent(t *testing.T) {
	s := readText(t, minimalChain+"[sweep.grid]\nT = [9, 0, 1, 40]\na = [0.5, 0.75]\n")
	solver := newSolver(t, s)
	for i := range s.Sweep.Len() {
		got, err := solver.Solve(t.Context(), s.Point(i))
		if err != nil {
			t.Fatal(err)
		}
		want, err := solver.Clone().Solve(t.Context(), s.Point(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{results.Chain, results.Schedules} {
			if diff := cmp.Diff(got.Record.Rows(table), want.Record.Rows(table), cmp.AllowUnexported(results.Value{})); diff != "" {
				t.Errorf("point %d, %s: %s", i, table, diff)
			}
		}
	}
}

// liar is a schedule that predicts one replay too few.
type liar struct{ schedule.Schedule }

func (l liar) Predict() schedule.Counts {
	c := l.Schedule.Predict()
	c.LaterReplays--
	return c
}

// A broken count, a changed bit and a lost replay are violations, in the run that finds them and whenever the record is read again.
func TestChainViolations(t *testing.T) {
	s := readText(t, minimalChain)
	c, err := newSolver(t, s).chain.at(s.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	value, err := c.forward(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := c.references(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	revolve, err := schedule.NewRevolve(9, 3)
	if err != nil {
		t.Fatal(err)
	}
	honest, err := c.try(t.Context(), revolve)
	if err != nil {
		t.Fatal(err)
	}
	if violated := c.putCounts(&results.Fields{}, honest, first, value); violated != "" {
		t.Fatal(violated)
	}
	lying := *honest
	lying.schedule = liar{revolve}
	if violated := c.putCounts(&results.Fields{}, &lying, first, value); !strings.Contains(violated, "later replays") {
		t.Errorf("a wrong count: %q", violated)
	}
	wrong := *honest
	wrong.gradient = append([]float64{}, honest.gradient...)
	wrong.gradient[1] = math.Nextafter(wrong.gradient[1], 2)
	fields := &results.Fields{}
	if violated := c.putCounts(fields, &wrong, first, value); !strings.Contains(violated, "entry 1") || fields.Get("gradient_equal") != results.Bool(false) {
		t.Errorf("a changed bit: %q", violated)
	}

	record := &results.Record{}
	row := results.Row{Ending: results.Ending{Status: "OK", Reason: "a count"}}
	row.Fields.Set("certificate", results.Text(certificateViolated))
	record.Add(results.Schedules, row)
	if out := recount(s, record); out.Violated != 1 || len(out.Warnings) != 1 {
		t.Errorf("a violation in a record is counted as %+v", out)
	}
}

// An interrupted run keeps what is done and is no refusal.
func TestChainInterrupted(t *testing.T) {
	s := readText(t, subChain("T = 9", "T = 1000000"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newSolver(t, s).Solve(ctx, s.Point(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}

// The online schedule returns the bits of schedules that know T, with controls up to its limit.
func TestChainUntil(t *testing.T) {
	text := subChain(`steps = "T"`, "steps = 30\nuntil = \"x < 0.48 || j >= 25\"", `"revolve"`, `"online", "binomial"`, "u[j] - x", "u[j + 1] - x")
	out := solveText(t, text, 0)
	row := chainRow(t, out.Record)
	if got := number(t, row, "T"); got != 2 || row.Fields.Get("ended") != results.Bool(true) {
		t.Errorf("T is %v, ended %v", got, row.Fields.Get("ended"))
	}
	if g := array(t, out.Record, "dJ_u"); len(g) != 3 {
		t.Errorf("%d derivatives for 2 steps that read u[j+1]", len(g))
	}
	rows := out.Record.Rows(results.Schedules)
	if len(rows) != 5 || out.Violated != 0 {
		t.Fatalf("%d rows, %v", len(rows), out.Warnings)
	}
	for _, r := range rows {
		if r.Fields.Get("gradient_equal") != results.Bool(true) {
			t.Errorf("%+v", r)
		}
	}
	// At the limit, the chain ends without its condition.
	out = solveText(t, subChain(`steps = "T"`, "steps = 30\nuntil = \"x < 0\"", `"revolve"`, `"online"`), 0)
	row = chainRow(t, out.Record)
	if got := number(t, row, "T"); got != 30 || row.Fields.Get("ended") != results.Bool(false) {
		t.Errorf("T is %v at the limit, ended %v", got, row.Fields.Get("ended"))
	}
}

// Snapshots on disk change no bit; where they cannot be written, the row says so, the others stay, and the exit is that of a refusal.
func TestChainOnDisk(t *testing.T) {
	text := subChain(`"revolve"`, `"two-tier"`, "T = 9", "T = 60", "[2, 3]", "2") + "disk = { slots = 3, write = 2, read = 1 }\n"
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	out := solveText(t, text, 0)
	row := out.Record.Rows(results.Schedules)[1]
	if out.Violated+out.Refused != 0 || row.Fields.Get("gradient_equal") != results.Bool(true) || number(t, row, "disk_writes") == 0 {
		t.Errorf("%+v", row)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the scratch folder: %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	out = solveText(t, text, 0)
	rows := out.Record.Rows(results.Schedules)
	if rows[0].Status != "OK" || rows[1].Status != "SCHEDULE_FAILURE" || !strings.Contains(rows[1].Reason, "choose a writable folder") || out.Refused != 1 {
		t.Errorf("%+v, %d refused", rows, out.Refused)
	}
	// So it is where the schedule is timed.
	out = solveText(t, text+"repetitions = 1\n", 0)
	rows = out.Record.Rows(results.Schedules)
	if rows[0].Status != "OK" || rows[1].Status != "SCHEDULE_FAILURE" || out.Refused != 2 {
		t.Errorf("%+v, %d refused", rows, out.Refused)
	}
	timed := map[string]int{}
	for _, row := range out.Record.Rows(results.Measurements) {
		if row.Fields.Get("kind") == results.Text(measuredRun) {
			timed[row.Status]++
		}
	}
	if timed["OK"] != 1 || timed["SCHEDULE_FAILURE"] != 1 {
		t.Errorf("timed runs by status: %v", timed)
	}
}

// A timed run must compute the gradient that was certified; a reference that is one rounding away tells that it is compared.
func TestTimedRunIsCompared(t *testing.T) {
	solver := newSolver(t, readText(t, subChain("T = 9", "T = 60")))
	c, err := solver.chain.at(solver.chain.model.Study.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := c.references(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.NewRevolve(c.steps, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.times(t.Context(), s, 2, first); err != nil {
		t.Error(err)
	}
	last := len(first.gradient) - 1
	first.gradient[last] = math.Nextafter(first.gradient[last], 2)
	var differs *differsError
	if _, _, err := c.times(t.Context(), s, 2, first); !errors.As(err, &differs) || differs.entry != last {
		t.Errorf("%v, want a difference at entry %d", err, last)
	}
}

// What the disk refused is tried again by the next run of the same folder; the rest is not.
func TestChainDiskTriedAgain(t *testing.T) {
	text := subChain(`"revolve"`, `"two-tier"`, "T = 9", "T = 60", "[2, 3]", "2") + "disk = { slots = 3, write = 2, read = 1 }\n"
	m, err := Compile(readText(t, text))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Jobs: 1}
	for _, want := range []struct {
		scratch           string
		refused, computed int
	}{{filepath.Join(t.TempDir(), "none"), 1, 1}, {t.TempDir(), 0, 1}, {t.TempDir(), 0, 0}} {
		t.Setenv("TMPDIR", want.scratch)
		s, err := Run(t.Context(), m, "x", o)
		if err != nil || s.Refused != want.refused || s.Computed != want.computed {
			t.Fatalf("%+v, want %+v: %v", s, want, err)
		}
	}
}

// A budget of bytes chooses a schedule that fits, whose gradient is held like any other; what cannot fit is out of budget.
func TestChainMemory(t *testing.T) {
	text := subChain("methods = [\"store-all\", \"revolve\"]\nslots = [2, 3]", "memory = \"2kB\"", "T = 9", "T = 500")
	out := solveText(t, text, 0)
	var choice *results.Row
	candidates := 0
	for _, row := range out.Record.Rows(results.Measurements) {
		switch row.Fields.Get("kind") {
		case results.Text(measuredCandidate):
			candidates++
		case results.Text(measuredChoice):
			choice = &row
		}
	}
	if choice == nil || candidates < 3 || len(out.Notes) != 1 || out.Violated+out.Refused != 0 {
		t.Fatalf("%d candidates, choice %+v, notes %v", candidates, choice, out.Notes)
	}
	if bytes := number(t, *choice, "peak_bytes"); bytes > 2000 || bytes > number(t, *choice, "predicted_bytes") {
		t.Errorf("%v bytes", bytes)
	}
	if choice.Fields.Get("gradient_equal") != results.Bool(true) || choice.Fields.Get("certificate") != results.Text(certificateHolds) {
		t.Errorf("%+v", choice)
	}
}

// The least memory that a refusal names works, and a byte less is refused before anything runs. A memory that is enough for
// some points of a sweep leaves a row at the others.
func TestLeastMemory(t *testing.T) {
	text := func(memory string, more string) string {
		return subChain("methods = [\"store-all\", \"revolve\"]\nslots = [2, 3]", "memory = \""+memory+"\"", "T = 9", "T = 500") + more
	}
	compile := func(text string) error {
		_, err := Compile(readText(t, text))
		return err
	}
	for _, sweep := range []string{"", "[sweep.grid]\nT = [2, 9, 500]\n", "[sweep.grid]\nT = [1]\n", "[sweep.grid]\nT = [2]\n"} {
		err := compile(text("20B", sweep))
		var place *studies.Error
		if !errors.As(err, &place) || place.Line == 0 {
			t.Fatalf("20 bytes: %v", err)
		}
		var least int
		if _, err := fmt.Sscanf(place.Hint, "the least that works is %d bytes", &least); err != nil {
			t.Fatal(place.Hint)
		}
		if err := compile(text(fmt.Sprint(least-1, "B"), sweep)); err == nil {
			t.Errorf("one byte less than %d compiles", least)
		}
		enough := text(fmt.Sprint(least, "B"), sweep)
		if err := compile(enough); err != nil {
			t.Errorf("%d bytes: %v", least, err)
		}
		s := readText(t, enough)
		for i := range s.Sweep.Len() {
			out := solveText(t, enough, i)
			row := out.Record.Rows(results.Chain)[0]
			if i == 0 && (row.Status != "OK" || len(out.Notes) != 1 || out.Refused != 0) {
				t.Errorf("%d bytes: %+v, notes %v", least, row, out.Notes)
			}
			if i == 2 && out.Refused != 1 { // of 500 steps: no reference, or no schedule to choose
				t.Errorf("%d bytes are enough for 500 steps: %+v", least, row)
			}
		}
	}
}

// A budget that is enough for some lengths of a sweep leaves a row at the others.
func TestBudgetOfSomePoints(t *testing.T) {
	text := subChain(`"revolve"]`, `"binomial"]`) + "budgets = [2]\n[sweep.grid]\nT = [4, 50]\n"
	for i, want := range []string{"OK", "SCHEDULE_FAILURE"} {
		out := solveText(t, text, i)
		rows := out.Record.Rows(results.Schedules)
		if row := rows[len(rows)-1]; row.Status != want || out.Violated != 0 {
			t.Errorf("point %d: %+v, want %s", i, row, want)
		}
	}
}

// Measured numbers are in the measurements table alone: the other tables of a timed run are those of an untimed one.
func TestChainRepetitions(t *testing.T) {
	plain, timed := solveText(t, minimalChain, 0), solveText(t, minimalChain+"repetitions = 3\n", 0)
	for _, table := range []string{results.Chain, results.Schedules} {
		if diff := cmp.Diff(plain.Record.Rows(table), timed.Record.Rows(table), cmp.AllowUnexported(results.Value{})); diff != "" {
			t.Errorf("%s: %s", table, diff)
		}
	}
	runs := 0
	for _, row := range timed.Record.Rows(results.Measurements) {
		switch row.Fields.Get("kind") {
		case results.Text(measuredRun):
			runs++
			if number(t, row, "wall_s") <= 0 || number(t, row, "wall_s") < number(t, row, "wall_min_s") || number(t, row, "repetitions") != 3 {
				t.Errorf("%+v", row)
			}
		case results.Text(measuredCosts):
			if number(t, row, "advance_s") <= 0 || number(t, row, "record_s") <= 0 {
				t.Errorf("%+v", row)
			}
		}
	}
	if runs != 3 {
		t.Errorf("%d runs are measured, want 3", runs)
	}
}

// The Hessian of a power: x_T = aᵀ·x_0 with x_0 = 1 + a, J = x_T², in the direction of a and of the start, whatever ends the chain.
func TestChainHessian(t *testing.T) {
	for _, until := range []string{"", "until = \"j == 3\"\n"} {
		steps := "steps = 3\n"
		if until != "" {
			steps = "steps = 9\n"
		}
		out := solveText(t, "kind = \"chain\"\n[parameters]\na = 0.5\n[state]\nx = { start = \"1 + a\" }\n[chain]\n"+steps+until+
			"[next]\nx = \"a * x\"\n[objective]\nJ = { terminal = \"x^2\", running = \"a * x\" }\n[hessian]\na = 1\nx = 2\n[schedule]\nmethods = [\"store-all\", \"binomial\"]\nslots = 2\n", 0)
		row := chainRow(t, out.Record)
		// J(a, s) = a⁶(1+a+s)² + (a + a² + a³)(1+a+s), s the move of the start; v = (1, 2).
		const a, x = 0.5, 1.5
		p, p1, p2 := a+a*a+a*a*a, 1+2*a+3*a*a, 2+6*a
		a4, a5, a6 := a*a*a*a, a*a*a*a*a, a*a*a*a*a*a
		aa := 30*a4*x*x + 24*a5*x + 2*a6 + p2*x + 2*p1
		as := 12*a5*x + 2*a6 + p1
		digits(t, "J", 14, number(t, row, "J"), a6*x*x+p*x)
		digits(t, "HJ_a", 13, number(t, row, "HJ_a"), aa+2*as)
		digits(t, "HJ_x", 13, number(t, row, "HJ_x"), as+2*2*a6)
		if gap := number(t, row, "hessian_gradient_gap"); gap > 1e-15 {
			t.Errorf("the two gradients differ by %g", gap)
		}
		rows := out.Record.Rows(results.Schedules)
		if len(rows) != 4 || rows[3].Fields.Get("of") != results.Text("hessian") || out.Violated != 0 {
			t.Errorf("%d rows: %+v", len(rows), rows)
		}
	}
}

// A declared response goes through the chain, and marks its results.
func TestChainDeclared(t *testing.T) {
	out := solveText(t, "kind = \"chain\"\n[parameters]\na = 1.4\n[define]\nr = { value = \"round(x)\", response = { x = \"seed\" } }\n[state]\nx = { start = \"a\" }\n"+
		"[chain]\nsteps = 2\n[next]\nx = \"3 * r + 0.2\"\n[objective]\nJ = \"x\"\n", 0)
	row := chainRow(t, out.Record)
	// 1.4 → 3.2 → 9.2; the response says that round has the derivative 1.
	digits(t, "J", 15, number(t, row, "J"), 9.2)
	if got := number(t, row, "dJ_a"); got != 9 {
		t.Errorf("dJ_a is %v, want 9", got)
	}
	for _, r := range append(out.Record.Rows(results.Schedules), row) {
		if r.Fields.Get("declared") != results.Text("r") {
			t.Errorf("no mark in %+v", r)
		}
	}
}

// FuzzChain wants no panic from any formulas.
func FuzzChain(f *testing.F) {
	f.Add("x + 0.1 * a * (u[j] - x)", "u[j]^2", "x^2", "0.25")
	f.Add("j > 3 ? x : u[j + 1]", "x", "a", "[1, 2, 3, 4, 5, 6, 7, 8, 9]")
	f.Fuzz(func(t *testing.T, next, running, terminal, start string) {
		text := fmt.Sprintf("kind = \"chain\"\n[parameters]\na = 0.5\n[state]\nx = { start = \"a\" }\n[controls]\nu = { start = %q }\n[chain]\nsteps = 9\n[next]\nx = %q\n[objective]\nJ = { terminal = %q, running = %q }\n", start, next, terminal, running)
		s, err := tryText(text)
		if err != nil {
			return
		}
		m, err := Compile(s)
		if err != nil {
			return
		}
		solver, err := NewSolver(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := solver.Solve(t.Context(), s.Point(0)); err != nil || out.Violated > 0 {
			t.Fatalf("%v: %+v", err, out)
		}
	})
}

// The Taylor test finds a derivative that is wrong by a part in 10⁴, and one that is wrong in sign; it takes a right one, also of a
// cubic, and says where there is nothing to see.
func TestTaylor(t *testing.T) {
	f := func(x []float64) (float64, error) { return math.Exp(x[0]) + x[1]*x[1]*x[1], nil }
	x, v := []float64{0.3, 0.5}, []float64{1, -0.7}
	value, _ := f(x)
	right := math.Exp(0.3) - 0.7*3*0.25
	for _, c := range []struct {
		derivative float64
		agrees     bool
	}{{right, true}, {right * (1 + 1e-4), false}, {right * (1 - 1e-2), false}, {-right, false}} {
		if d := taylor(value, c.derivative, x, v, f); d.Agrees != c.agrees {
			t.Errorf("derivative %v of %v: %+v", c.derivative, right, d)
		}
	}
	linear := func(x []float64) (float64, error) { return 3 * x[0], nil }
	if d := taylor(0.9, 3, x, v, linear); !d.Agrees || !strings.Contains(d.Reason, "linear") {
		t.Errorf("%+v", d)
	}
	cubic := func(x []float64) (float64, error) { return x[0] * x[0] * x[0], nil }
	if d := taylor(0, 0, []float64{0, 1}, v, cubic); !d.Agrees {
		t.Errorf("%+v", d)
	}
}

// A Hessian has its certificate also where no schedule is named.
func TestHessianOfChosenSchedule(t *testing.T) {
	text := subChain("methods = [\"store-all\", \"revolve\"]\nslots = [2, 3]", "memory = \"20kB\"", "T = 9", "T = 50") + "[hessian]\nx = 1\n"
	out := solveText(t, text, 0)
	rows := out.Record.Rows(results.Schedules)
	if len(rows) != 1 || out.Violated+out.Refused != 0 {
		t.Fatalf("%d rows, %v", len(rows), out.Warnings)
	}
	f := rows[0].Fields
	if f.Get("of") != results.Text("hessian") || f.Get("certificate") != results.Text(certificateHolds) || f.Get("gradient_equal") != results.Bool(true) {
		t.Errorf("%+v", f)
	}
}

// A transpose rule that is wrong by a part in a million is wrong under every schedule, whose gradients all agree: the tangent finds it,
// and the gradient is refused, in the run and whenever the record is read again.
func TestWrongTransposeOfAChain(t *testing.T) {
	right := op.Mul.Transpose
	defer func() { op.Mul.Transpose = right }()
	op.Mul.Transpose = func(s *graph.Site, linear []bool, ct graph.Value) []graph.Value {
		out := right(s, linear, ct)
		for i, v := range out {
			if v != graph.None {
				out[i] = s.Emit(op.Mul, nil, v, s.Full(s.Type(v), 1+1e-6))
			}
		}
		return out
	}
	text := subChain("0.1 * a", "0.1 * x")
	out := solveText(t, text, 0)
	row := out.Record.Rows(results.Chain)[0]
	if row.Status != "ADJOINT_NOT_CONVERGED" || !row.Fields.Get("dJ_a").Absent() || out.Refused != 1 || len(out.Record.Arrays) != 0 {
		t.Errorf("%+v: %d refused", row, out.Refused)
	}
	if gap, tolerance := number(t, row, "adjoint_tangent_gap"), number(t, row, "gap_tolerance"); !(gap > tolerance) || gap > 1e-4 {
		t.Errorf("a gap of %g beside %g", gap, tolerance)
	}
	if again := recount(readText(t, text), out.Record); again.Refused != 1 {
		t.Errorf("a record is counted as %+v", again)
	}
	op.Mul.Transpose = right
	if out := solveText(t, text, 0); out.Refused != 0 || out.Record.Rows(results.Chain)[0].Fields.Get("certificate") != results.Text(certificateHolds) {
		t.Errorf("the right rule: %+v", out.Record.Rows(results.Chain)[0])
	}
}

// Where rounding leaves less than six digits of a derivative, its certificate is open, and the reason says so.
func TestChainOfNoDigits(t *testing.T) {
	out := solveText(t, subChain("x + 0.1 * a", "(1e13 * a) * (x / 3) - 1e13 * (a * x / 3) + 0.3 * x + a"), 0)
	row := out.Record.Rows(results.Chain)[0]
	if row.Status != "OK" || row.Fields.Get("certificate") != results.Text(certificateUnknown) || !strings.Contains(row.Reason, "rounding alone may put") || out.Violated+out.Refused != 0 {
		t.Errorf("%+v", row)
	}
}

// A state of no entries has a gradient by its parameters.
func TestChainOfNoState(t *testing.T) {
	out := solveText(t, `kind = "chain"
[parameters]
a = 3
[state]
x = { start = "zeros(0)" }
[chain]
steps = 4
[next]
x = "a * x"
[objective]
J = "a^2 + sum(x)"
`, 0)
	if row := chainRow(t, out.Record); number(t, row, "dJ_a") != 6 {
		t.Errorf("%+v", row)
	}
}
