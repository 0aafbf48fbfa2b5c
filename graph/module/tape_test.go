package module_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
	"pgregory.net/rapid"
)

func tiedInputs(scale float64) map[string]*graph.Tensor {
	fill := func(dims ...int) *graph.Tensor {
		x := graph.NewTensor(graph.F64(dims...))
		for i := range x.F {
			x.F[i] = scale * math.Sin(float64(3*i+len(dims)))
		}
		return x
	}
	return map[string]*graph.Tensor{"X": fill(2, 3), "W": fill(3, 3), "b": fill(3)}
}

func TestTapeOfAnotherModuleOrEvaluationIsRefused(t *testing.T) {
	m, text := tied(t)
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := module.Read([]byte(strings.Replace(string(text), `"primitive": "tanh"`, `"primitive": "sin"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	otherIn, err := other.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	forward := func(in *module.Instance) *module.Evaluation {
		e, err := in.Forward(tiedInputs(0.7))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e, second, foreign := forward(in), forward(in), forward(otherIn)
	seed := e.Outputs[0]
	first, err := e.Reverse(e.Tape, seed)
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.Reverse(e.Tape, seed) // a tape may be read more than once
	if err != nil || !cmp.Equal(first, again) {
		t.Errorf("%v", err)
	}
	copied := *e.Tape
	if _, err := e.Reverse(&copied, seed); err != nil {
		t.Errorf("an unchanged copy: %v", err)
	}
	for want, tape := range map[string]*module.Tape{
		"no forward evaluation saved it":                  nil,
		"no forward":                                      {Names: e.Tape.Names, Values: e.Tape.Values},
		"another forward evaluation":                      second.Tape,
		"of module tied_residual or of another valuation": foreign.Tape,
	} {
		var refusal *module.TapeError
		if _, err := e.Reverse(tape, seed); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
	}
	// The saved values of one evaluation do not pass in the tape of another.
	mixed := *e.Tape
	mixed.Values = second.Tape.Values
	if _, err := e.Reverse(&mixed, seed); err != nil {
		t.Errorf("equal values are equal bits: %v", err)
	}
	third, err := in.Forward(tiedInputs(0.8))
	if err != nil {
		t.Fatal(err)
	}
	mixed.Values = third.Tape.Values
	if _, err := e.Reverse(&mixed, seed); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("values of another evaluation: %v", err)
	}
}

func TestTapeAlteredByABitIsRefused(t *testing.T) {
	m, _ := tied(t)
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		inputs := tiedInputs(0.5)
		e, err := in.Forward(inputs)
		if err != nil {
			t.Fatal(err)
		}
		inputs["W"].F[0]++ // the caller's arrays are its own
		seed := e.Outputs[0].Clone()
		before, err := e.Reverse(e.Tape, seed)
		if err != nil {
			t.Fatal(err)
		}
		x := e.Tape.Values[rapid.IntRange(0, len(e.Tape.Values)-1).Draw(t, "value")]
		entry, bit := rapid.IntRange(0, len(x.F)-1).Draw(t, "entry"), rapid.IntRange(0, 63).Draw(t, "bit")
		flip := func() { x.F[entry] = math.Float64frombits(math.Float64bits(x.F[entry]) ^ 1<<bit) }
		flip()
		if _, err := e.Reverse(e.Tape, seed); err == nil || !strings.Contains(err.Error(), "changed") {
			t.Fatalf("%v", err)
		}
		flip()
		after, err := e.Reverse(e.Tape, seed)
		if err != nil || !cmp.Equal(before, after) {
			t.Fatalf("restored: %v", err)
		}
	})
	e, _ := in.Forward(tiedInputs(1))
	e.Tape.Names[0] += "x"
	if _, err := e.Reverse(e.Tape, e.Outputs[0]); err == nil {
		t.Error("a renamed value passed")
	}
	e, _ = in.Forward(tiedInputs(1))
	e.Tape.Values = e.Tape.Values[:len(e.Tape.Values)-1]
	if _, err := e.Reverse(e.Tape, e.Outputs[0]); err == nil {
		t.Error("a shorter tape passed")
	}
}

// The tape holds what the reverse pass reads, each once: of the tied block W, sech²A, H and X.
func TestTapeOfTheTiedBlock(t *testing.T) {
	m, _ := tied(t)
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := in.Forward(tiedInputs(1))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(slices.Values(e.Tape.Names))
	if want := []string{"H", "W", "X", "sech2_A"}; !slices.Equal(names, want) {
		t.Errorf("the tape holds %v, want %v", names, want)
	}
	c := in.Cost()
	if c.ResidualTape != 6+9+6+6 || c.FullTape != 6+9+3+8*6 {
		t.Errorf("tape of %d scalars, full %d", c.ResidualTape, c.FullTape)
	}
}

func TestCostOfTheTiedBlock(t *testing.T) {
	m, _ := tied(t)
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := in.Cost()
	if other := module.CostBy(in.Program, []int{0, 1, 2}); other != c {
		t.Errorf("of the program %+v, of the instance %+v", other, c)
	}
	// Two 2×3·3×3 products of 36, three sums of 6, one tanh of 6.
	if c.Primal != 36+36+3*6+6 {
		t.Errorf("primal %d", c.Primal)
	}
	// Each product has two products in reverse, tanh its derivative and one multiplication, each bias a row sum of 6.
	if c.Reverse != 4*36+12+2*6 {
		t.Errorf("reverse %d", c.Reverse)
	}
	// Slots: X W, b, XW b_first, A, H W, b, X HW, X_HW b_second.
	if c.Accumulation != 6+9+3+6+6+6+6+9+3+6+6+6+6 {
		t.Errorf("accumulation %d", c.Accumulation)
	}
	if c.R != 2 || c.A != 9 || c.Work != 36+36+3*6+6+1+1 || c.C != 6 {
		t.Errorf("r %d, a %d, work %d, c %v", c.R, c.A, c.Work, c.C)
	}
	if float64(c.Total()) > c.Bound() || c.ProgramReverse > c.Reverse || c.ProgramAccumulation > c.Accumulation || c.ProgramPrimal != c.Primal {
		t.Errorf("%+v, bound %v", c, c.Bound())
	}
}

// The Hessian-vector product of ⟨G, Y⟩ costs at most four gradients.
func TestHVPOfTheTiedBlock(t *testing.T) {
	m, _ := tied(t)
	p, err := m.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := m.Objective(nil)
	if err != nil {
		t.Fatal(err)
	}
	wrt := []int{0, 1, 2}
	gradient, hvp := graph.Gradient(scalar, wrt), graph.HVP(scalar, wrt)
	if g, h := gradient.Operations(), hvp.Operations(); h > 4*g || h <= g {
		t.Errorf("HVP %d operations, gradient %d", h, g)
	} else {
		t.Logf("primal %d, gradient %d, HVP %d operations: %.2f gradients", p.Operations(), g, h, float64(h)/float64(g))
	}
}

func TestDeclaredResponsesInModules(t *testing.T) {
	m, err := module.Read([]byte(`{
		"name": "trained",
		"inputs": [{"name": "x", "shape": ["n"]}, {"name": "w", "shape": ["n"], "parameter": true}],
		"nodes": [
			{"name": "q", "primitive": "round", "operands": ["x"], "response": {"operands": ["u"], "seed": "g", "nodes": [], "outputs": ["g"]}},
			{"name": "p", "primitive": "mul", "operands": ["q", "w"], "response": {"operands": ["a", "b"], "seed": "g", "nodes": [
				{"name": "one", "primitive": "mul", "operands": ["g", "b"]},
				{"name": "two", "primitive": "mul", "operands": ["one", "a"]}], "outputs": ["one", "two"]}},
			{"name": "s", "primitive": "stop_gradient", "operands": ["w"]},
			{"name": "y", "primitive": "add", "operands": ["p", "s"]},
			{"name": "z", "primitive": "sin", "operands": ["w"]}
		],
		"outputs": ["y", "z"]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(module.Valuation{"n": 2})
	if err != nil {
		t.Fatal(err)
	}
	vec := func(x ...float64) *graph.Tensor { return graph.Floats(graph.Shape{len(x)}, x) }
	e, err := in.Forward(map[string]*graph.Tensor{"x": vec(1.5, -0.4), "w": vec(3, 5)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.Outputs[0].F, []float64{2*3 + 3, 5}) {
		t.Errorf("value %v", e.Outputs[0].F)
	}
	ct, err := e.Reverse(e.Tape, vec(1, 10), vec(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	// x̄ = γ·w through the identity; w̄ = γ·w·q, as declared, and nothing through s.
	if !slices.Equal(ct["x"].F, []float64{3, 50}) || !slices.Equal(ct["w"].F, []float64{6, 0}) {
		t.Errorf("cotangents %v and %v", ct["x"].F, ct["w"].F)
	}
	if d := graph.Declared(in.Program, 0); !slices.Equal(d, []string{"p", "q", "stop_gradient"}) {
		t.Errorf("output y depends on %v", d)
	}
	if d := graph.Declared(in.Program, 1); d != nil {
		t.Errorf("output z depends on %v", d)
	}
	if d := graph.Declared(in.Adjoint, 0); !slices.Equal(d, []string{"p", "q"}) {
		t.Errorf("the cotangent of x depends on %v", d)
	}
	if again, err := module.Read(m.Write()); err != nil || !cmp.Equal(m, again) {
		t.Errorf("%v", err)
	}
}
