package program_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/randprog"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// sameWays holds a sweep with shortcuts to one without, under every schedule: bits, counts and refusals.
func sameWays(t *testing.T, what string, chain *program.Chain, list []schedule.Schedule, nparams, ncontrols int) (compared bool) {
	t.Helper()
	for _, s := range list {
		slow, err := attempt(t, chain, s, nparams, ncontrols)
		fast, fastErr := attemptWith(t, schedule.Settings{}, 1, chain, s, nparams, ncontrols)
		var step, fastStep *schedule.StepError
		if (err == nil) != (fastErr == nil) || errors.As(err, &step) && (!errors.As(fastErr, &fastStep) || *fastStep != *step && fastStep.Error() != step.Error()) {
			t.Fatalf("%s, %s: %v with shortcuts, %v without", what, s.Name(), fastErr, err)
		}
		if err != nil {
			continue
		}
		compared = true
		if k, ok := schedule.SameBits(fast.gradient, slow.gradient); !ok || fast.value != slow.value {
			t.Fatalf("%s, %s: the shortcuts change entry %d: %v, want %v", what, s.Name(), k, fast.gradient, slow.gradient)
		}
		if fast.result.Counts != slow.result.Counts || fast.result.Bytes != slow.result.Bytes {
			t.Fatalf("%s, %s: the shortcuts count %+v, want %+v", what, s.Name(), fast.result, slow.result)
		}
	}
	return compared
}

func TestShortcutsOfRandomChains(t *testing.T) {
	compared := 0
	for seed := range uint64(*chains / 4) {
		const steps = 12
		spec, values := randomChain(randprog.Rand(seed), steps)
		if spec == nil {
			continue
		}
		chain, err := program.New(*spec)
		if err != nil {
			t.Fatal(err)
		}
		if chain.Set(steps, seed%2 == 0, values[0], values[1], values[2]) == nil &&
			sameWays(t, "random", chain, methods(t, steps)[:6], spec.Params, spec.Controls) {
			compared++
		}
	}
	if compared < *chains/16 {
		t.Errorf("%d chains compared", compared)
	}
}

// Chains of scalars are gone along in strides, with controls and the step index of each step.
func TestStrides(t *testing.T) {
	strides := 0
	for seed := range uint64(*chains / 4) {
		c, name := hardChain(rand.New(rand.NewPCG(seed, 3)), int(seed%9))
		c.steps = []int{1, 5, 6, 7, 23, 60}[seed%6]
		if seed%2 == 0 {
			c.controls = []input{{"u", nil, waves(c.steps+1, 0.5)}}
			c.next[1] += " + 0.01 * u[j] * x - 0.02 * u[j + 1] / (j + 1)"
		}
		chain := c.chain(t, seed%3 == 0)
		if chain.Stride() > 0 {
			strides++
		}
		sameWays(t, name, chain, methods(t, c.steps), len(c.params), len(c.controls))
	}
	if strides != *chains/4 {
		t.Errorf("%d of %d chains have strides", strides, *chains/4)
	}
	entries := &text{state: []input{{name: "x"}}, params: []input{{"p", graph.Shape{12}, waves(12, 0.2)}}, start: []string{"1"},
		next: []string{"x * 0.9 + p[j] * sin(x)"}, terminal: "x", steps: 12} // the reverse of p[j] reads j
	sameWays(t, "entries of a parameter", entries.chain(t, false), methods(t, 12), 1, 0)
	long := &text{state: []input{{name: "x", shape: graph.Shape{1 << 17}}}, params: []input{{"a", nil, []float64{0.9}}}, start: []string{"a * ones(131072)"},
		next: []string{"sin(x) * a + x"}, terminal: "sum(x)", steps: 5} // a tape too long to be joined
	sameWays(t, "a long tape", long.chain(t, false), methods(t, 5)[:3], 1, 0)
	if chain := burgers(9).chain(t, false); chain.Stride() != 0 {
		t.Error("a chain of arrays has strides")
	}
}

// A step that fails within a stride, or within a joint record and reverse, is named as it is without.
func TestShortcutsNameTheStep(t *testing.T) {
	for k := range 24 {
		for _, next := range []string{"x - 1 + 0 * sqrt(x - a)", "x - 1 + (x > a + 0.5 ? 0 : log(x - a - 0.5))", "x - 1 + abs(x - a)", "j > 20 - a ? exp(x * 300) : x * 1.01"} {
			c := &text{state: []input{{name: "x"}}, params: []input{{"a", nil, []float64{float64(k)}}}, start: []string{"24"}, next: []string{next}, terminal: "x", steps: 25}
			sameWays(t, next, c.chain(t, k%2 == 0), methods(t, c.steps), 1, 0)
		}
	}
}

// An online sweep asks for the state before the last one, which a stride would pass over.
func TestShortcutsOnline(t *testing.T) {
	c := &text{state: []input{{name: "x"}}, start: []string{"2"}, params: []input{{"a", nil, []float64{0.97}}},
		next: []string{"x * a - 0.001 * x^3"}, running: "x^2 / 100", terminal: "sin(x)", until: "x < 0.3 || j > 90", steps: 200}
	online, err := schedule.NewOnline(c.steps, 3)
	if err != nil {
		t.Fatal(err)
	}
	chain := c.chain(t, true)
	var answers []answer
	for _, settings := range []schedule.Settings{{}, {Fidelity: 1, Poison: true}} {
		a, err := attemptWith(t, settings, 1, chain, online, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if k, ok := schedule.SameBits(answers[0].gradient, answers[1].gradient); !ok || answers[0].value != answers[1].value {
		t.Errorf("entry %d differs: %v", k, answers)
	}
}
