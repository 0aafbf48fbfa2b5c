package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/conformance"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/graph/op"
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
	first, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := json.Marshal(conformance.Run(conformance.DefaultSeed))
	if !bytes.Equal(first, second) {
		t.Error("two runs of one seed differ")
	}
	if os.Getenv("LENSIR_VERIFY_SEEDS") != "" { // more random programs, by hand
		for seed := range uint64(40) {
			if r := conformance.Run(seed); !r.Pass {
				for _, c := range r.Checks {
					t.Errorf("seed %d, %s: %v", seed, c.Name, c.Failures)
				}
			}
		}
	}
}

// The module in the gallery is the family's at B = 2, d = 3.
func TestTiedResidualOfTheGallery(t *testing.T) {
	text, err := os.ReadFile("../../studies/modules/tied_residual.json")
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
