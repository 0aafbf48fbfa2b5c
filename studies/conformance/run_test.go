package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
	"github.com/lensir/lensir-study/studies/conformance"
	"pgregory.net/rapid"
)

func ExampleFiniteDifference() {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	exact := b.Emit(op.Sin, nil, x)
	p := b.Build(exact, b.Emit(op.StopGradient(graph.Scalar), nil, exact))
	one := []*graph.Tensor{graph.Number(1)}
	for o := range 2 {
		d, _ := conformance.FiniteDifference(p.WithOutputs(p.Outputs[o]), []int{0}, []*graph.Tensor{graph.Number(1)}, one, one, 1e-6, 3e-7)
		fmt.Printf("%.4f %.4f %s %v\n", d.Derivative, d.Quotient, d.Verdict, d.Declared)
	}
	// Output:
	// 0.5403 0.5403 AGREES []
	// 0.0000 0.5403 DECLARED [stop_gradient]
}

func TestRun(t *testing.T) {
	r := conformance.Run(conformance.DefaultSeed)
	for _, c := range r.Checks {
		t.Logf("%-70s %4d cases, largest %.2e of %.2e", c.Name, c.Cases, c.Largest, c.Tolerance)
		if !c.Pass {
			t.Errorf("%s: %s", c.Name, strings.Join(c.Failures, "\n\t"))
		}
	}
	if !r.Pass {
		t.Error("the run did not pass")
	}
	want := map[string]int{
		"tied blocks against the closed-form pullback": 32,
		"directional finite differences, step 1e-6":    96,
		"runtime refusals":                             3,
	}
	for _, c := range r.Checks {
		if n, ok := want[c.Name]; ok && c.Cases != n {
			t.Errorf("%s: %d cases, want %d", c.Name, c.Cases, n)
		}
		if c.Name == "invalid modules are refused" && c.Cases < 12 {
			t.Errorf("%d invalid modules, want 12", c.Cases)
		}
	}
	for _, row := range r.Costs {
		t.Logf("B %d, d %d: primal %d, reverse %d, accumulation %d, total %d, bound %.0f; tape %d, residuals %d; gradient %d, HVP %d (%.2f)",
			row.B, row.D, row.Primal, row.Reverse, row.Accumulation, row.Total, row.Bound, row.FullTape, row.ResidualTape, row.Gradient, row.HVP, float64(row.HVP)/float64(row.Gradient))
	}
	for _, n := range append(r.Forward, r.Reverse...) {
		t.Logf("%-16s %-12s local %.2e of %.2e, error %.2e of %.2e", n.Op, n.Name, n.Local, n.LocalBudget, n.Error, n.Budget)
	}
	var back conformance.Result
	if err := json.Unmarshal(r.JSON(), &back); err != nil || !bytes.Equal(back.JSON(), r.JSON()) {
		t.Errorf("the result does not read back: %v", err)
	}
	if !bytes.Equal(r.JSON(), conformance.Run(conformance.DefaultSeed).JSON()) {
		t.Error("two runs of one seed differ")
	}
	if os.Getenv("LENSIR_VERIFY_SEEDS") != "" { // more random programs, by hand
		for seed := range uint64(40) {
			for _, c := range conformance.Run(seed).Checks {
				if !c.Pass {
					t.Errorf("seed %d, %s: %v", seed, c.Name, c.Failures)
				}
			}
		}
	}
}

// The module in the gallery is the family's at B = 2, d = 3.
func TestTiedResidualOfTheGallery(t *testing.T) {
	text, err := os.ReadFile("../modules/tied_residual.json")
	if err != nil {
		t.Fatal(err)
	}
	family, err := module.Read(conformance.TiedResidual)
	if err != nil {
		t.Fatal(err)
	}
	if got := family.At(module.Valuation{"B": 2, "d": 3}).Write(); !bytes.Equal(got, text) {
		t.Errorf("the family at B = 2, d = 3 is\n%s", got)
	}
}

func tiedInstance(t *testing.T) (*module.Instance, []*graph.Tensor, []*graph.Tensor) {
	t.Helper()
	family, err := module.Read(conformance.TiedResidual)
	if err != nil {
		t.Fatal(err)
	}
	in, err := family.Instantiate(module.Valuation{"B": 2, "d": 2})
	if err != nil {
		t.Fatal(err)
	}
	matrix := func(x ...float64) *graph.Tensor { return graph.Floats(graph.Shape{2, 2}, x) }
	return in, []*graph.Tensor{matrix(.5, -.25, .75, 1), matrix(.5, .125, -1, .25), graph.Floats(graph.Shape{2}, []float64{.5, -.5})},
		[]*graph.Tensor{matrix(1, .5, -.5, .25)}
}

// The harness holds for the evaluator itself with no budget at all, and for float32 with its own; it does not hold
// for less, nor for an evaluator that errs at one node, forward or in reverse.
func TestSimulationCanFail(t *testing.T) {
	in, x, seeds := tiedInstance(t)
	simulate := func(run conformance.Evaluator, budget conformance.Budget) conformance.ModuleSimulation {
		t.Helper()
		s, err := conformance.SimulateModule(in, run, budget, x, seeds)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := simulate(graph.Eval, conformance.Budget{}); !s.Holds() {
		t.Error("the reference does not simulate itself")
	}
	if s := simulate(conformance.Single, conformance.SingleBudget); !s.Holds() {
		t.Error("float32 does not hold with its budget")
	}
	if s := simulate(conformance.Single, conformance.Budget{Relative: conformance.SingleBudget.Relative / 64}); s.Holds() {
		t.Error("float32 holds with a budget for 30 bits")
	}
	// Inputs that are not related, though every operation is exact.
	off := []*graph.Tensor{x[0].Clone(), x[1], x[2]}
	off[0].F[2] += 1e-9
	zero := []*graph.Tensor{graph.NewTensor(x[0].Type), graph.NewTensor(x[1].Type), graph.NewTensor(x[2].Type)}
	s, err := conformance.Simulate(in.Program, graph.Eval, conformance.Budget{}, x, off, zero)
	if err != nil || s.Holds() || s.Nodes[0].Holds || s.Nodes[0].Op != "input" {
		t.Errorf("inputs that differ: %v, %+v", err, s)
	}
	zero[0].F[2] = 1.001e-9 // now they are, and the propagation carries that through, rounding aside
	s, err = conformance.Simulate(in.Program, graph.Eval, conformance.Budget{Relative: 0x1p-53}, x, off, zero)
	if err != nil || !s.Holds() || s.Budgets[0].F[2] < 1e-9 {
		t.Errorf("inputs that differ by their budget: %v, %+v", err, s)
	}
	zero[0].F[2] = 1e-11
	if s, err = conformance.Simulate(in.Program, graph.Eval, conformance.Budget{Relative: 0x1p-53}, x, off, zero); err != nil || s.Nodes[len(s.Nodes)-1].Holds {
		t.Errorf("an error of 1e-9 passed a budget of 1e-11 at the output: %v", err)
	}
	// An error of three units in the last place of float32, at one node of one of the two programs.
	for _, wrong := range []struct{ program, op string }{{"tied_residual.primal", "tanh"}, {"tied_residual.linear.transpose", "mul"}} {
		found := false
		s := simulate(func(p *graph.Program, in ...*graph.Tensor) ([]*graph.Tensor, error) {
			out, err := conformance.Single(p, in...)
			for i := range p.Nodes {
				if v := len(p.Inputs) + i; err == nil && p.Name == wrong.program && p.Nodes[i].Op.Name == wrong.op {
					out[v].F[0] *= 1 + 3*0x1p-23
					found = true
				}
			}
			return out, err
		}, conformance.SingleBudget)
		if s.Holds() || !found {
			t.Errorf("an error in %s of %s passed (found: %t)", wrong.op, wrong.program, found)
		}
	}
}

// A composite with a declared response is simulated as the program that it is.
func TestSimulationOfDeclaredResponses(t *testing.T) {
	m, err := module.Read([]byte(`{"name": "m", "inputs": [{"name": "x", "shape": [3]}], "nodes": [
		{"name": "s", "primitive": "sin", "operands": ["x"], "response": {"operands": ["u"], "seed": "g", "nodes": [
			{"name": "e", "primitive": "exp", "operands": ["u"]}, {"name": "z", "primitive": "mul", "operands": ["g", "e"]}], "outputs": ["z"]}},
		{"name": "y", "primitive": "mul", "operands": ["s", "s"]}], "outputs": ["y"]}`))
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := graph.Floats(graph.Shape{3}, []float64{.5, -.25, 1})
	s, err := conformance.SimulateModule(in, conformance.Single, conformance.Budget{Relative: 3 * conformance.SingleBudget.Relative}, []*graph.Tensor{x}, []*graph.Tensor{x})
	if err != nil || !s.Holds() {
		t.Errorf("%v: %+v", err, s.Reverse)
	}
}

// The compiled executable equals the reference at every node of the tied block, forward and in reverse, and of random programs, with no
// budget; the harness sees one bit of difference.
func TestCompiledSimulatesTheReference(t *testing.T) {
	in, x, seeds := tiedInstance(t)
	s, err := conformance.SimulateModule(in, conformance.Compiled, conformance.Budget{}, x, seeds)
	if err != nil || !s.Holds() {
		t.Errorf("%v: %+v", err, s)
	}
	s, err = conformance.SimulateModule(in, func(p *graph.Program, in ...*graph.Tensor) ([]*graph.Tensor, error) {
		out, err := conformance.Compiled(p, in...)
		if last := out[len(out)-1]; err == nil {
			last.F[0] = math.Nextafter(last.F[0], 2)
		}
		return out, err
	}, conformance.Budget{}, x, seeds)
	if err != nil || s.Holds() {
		t.Errorf("one bit more passed: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := randprog.Rand(rapid.Uint64().Draw(t, "seed"))
		p := randprog.Program(r, randprog.Settings{Smooth: true})
		inputs := randprog.Inputs(r, p)
		exact := make([]*graph.Tensor, len(inputs))
		for i, in := range p.Inputs {
			exact[i] = graph.NewTensor(graph.Type{DType: graph.Float64, Shape: in.Type.Shape})
		}
		s, err := conformance.Simulate(p, conformance.Compiled, conformance.Budget{}, inputs, inputs, exact)
		if err != nil || !s.Holds() {
			t.Fatalf("%v: %+v\n%v", err, s, p)
		}
	})
}
