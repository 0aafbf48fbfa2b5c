package program_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// reverser computes gradients of a chain by store-all, times a seed.
func reverser(t testing.TB, spec program.Spec, steps int, open bool, values [3][][]float64) func(seed float64) ([]float64, error) {
	t.Helper()
	chain, err := program.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return func(seed float64) ([]float64, error) {
		if err := chain.Set(steps, open, values[0], values[1], values[2]); err != nil {
			return nil, err
		}
		all, err := schedule.NewStoreAll(steps)
		if err != nil {
			t.Fatal(err)
		}
		got, err := attemptFrom(t, seed, chain, all, spec.Params, spec.Controls)
		return got.gradient, err
	}
}

// held is the tangency of a chain with its gradient, or false where it has no derivative.
func held(t testing.TB, seed uint64, spec program.Spec, steps int, open bool, values [3][][]float64) (program.Tangency, bool) {
	t.Helper()
	reverse := reverser(t, spec, steps, open, values)
	gradient, err := reverse(1)
	if err != nil {
		return program.Tangency{}, false
	}
	r := rand.New(rand.NewPCG(seed, 5))
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	blocks := 0
	for _, in := range spec.Step.Inputs[:spec.States] {
		blocks += in.Type.Len()
	}
	v := program.Direction{Start: draw(blocks)}
	for _, x := range values[0] {
		v.Params = append(v.Params, draw(len(x)))
	}
	for _, x := range values[2] {
		v.Controls = append(v.Controls, draw(len(x)))
	}
	forward, err := program.NewForward(program.Tangent(spec))
	if err != nil {
		t.Fatal(err)
	}
	at := program.Values{Steps: steps, Open: open, Params: values[0], Constants: values[1], Controls: values[2]}
	tangency, err := forward.Hold(t.Context(), at, v, gradient, reverse, r)
	return tangency, err == nil
}

// The gradient of a random chain agrees with its tangent, and is judged.
func TestRandomTangencies(t *testing.T) {
	compared, judged, nearest := 0, 0, 0.0
	for seed := range uint64(*chains) {
		r := randprog.Rand(seed)
		steps := []int{1, 5, 40}[seed%3]
		spec, values := randomChain(r, steps)
		if spec == nil {
			continue
		}
		tangency, ok := held(t, seed, *spec, steps, seed%2 == 0, values)
		if !ok {
			continue
		}
		compared++
		if tangency.Judged() {
			judged++
		}
		if tangency.Tolerance > 0 {
			nearest = max(nearest, math.Abs(tangency.Adjoint-tangency.Tangent)/tangency.Tolerance)
		}
		if !tangency.Holds() {
			t.Errorf("seed %d: %+v", seed, tangency)
		}
	}
	t.Logf("%d chains compared, %d judged, the largest difference is %.2g of its tolerance", compared, judged, nearest)
	if compared < *chains/4 || judged < compared*9/10 {
		t.Errorf("%d of %d chains compared, %d judged", compared, *chains, judged)
	}
}

// hardChain is a chain whose linear parts amplify rounding, in a way that the seed says: a chaotic map, a triangular
// matrix that is far from normal, factors that grow and then shrink, terms that cancel within a step, tangents that underflow.
func hardChain(r *rand.Rand, kind int) (*text, string) {
	number := func(lo, hi float64) []float64 { return []float64{lo + (hi-lo)*r.Float64()} }
	c := &text{state: []input{{name: "x"}, {name: "y"}}, start: []string{"b", "1 - b"}, terminal: "x + y * a",
		params: []input{{"a", nil, number(3.6, 4)}, {"b", nil, number(0.1, 0.9)}}, steps: []int{1, 7, 60, 400, 3000}[r.IntN(5)]}
	switch kind {
	case 0:
		c.next, c.running = []string{"a * x * (1 - x)", "3.9 * y * (1 - y) + 0.001 * (x - y) * b"}, "x * b"
		return c, "logistic maps"
	case 1:
		c.next = []string{"0.999 * x + 50 * y + 1e-3 * a", "0.998 * y - 1e-7 * b * x"}
		return c, "far from normal"
	case 2:
		c.next = []string{"(j < 200 ? 1 + b / 4 : 1 / (1 + b / 4)) * x + 1e-3 * y", "cos(y) * (j > 100 ? 0.9 : 1.1)"}
		return c, "growth, then decay"
	case 3:
		c.next = []string{"0.5 * x + (1e9 * x - 1e9 * (x - y * 1e-9)) * 0.3", "(y * a - y * (a - 0.5)) + 1e-8 * sin(1e4 * x)"}
		c.running = "(x + 1e7) - 1e7 * b"
		return c, "cancellation"
	case 4:
		c.next = []string{"(j < 300 ? 0.1 : 9) * x + 1e-300 * y", "0.02 * y + 1e-160 * x * x"}
		return c, "underflow"
	case 5:
		c.next = []string{"x + 0.05 * y", "y - 0.05 * a * sin(x + b)"}
		c.running = "y^2"
		return c, "pendulum"
	case 6:
		c.next = []string{"x + 0.01 * (a * (y - x))", "y + 0.01 * (x * (28 - x^2 / 3) - y)"}
		return c, "stiff and unstable"
	}
	if kind == 7 {
		c.next = []string{"1e9 * x - 1e9 * x + 0.3 * x + 1e5 * (y - y) + 0.1 * y", "sin(y) * a + 1e8 * (x * b - b * x)"}
		return c, "cancellation backward only"
	}
	c.params[0].value = number(-1, 1)
	c.next = []string{"x * (sin(3 * j) > 0 ? 1e3 : 1e-3) + a * (j - 20)", "y * b"}
	return c, "factors of either size"
}

// No right gradient is refused, however rounding is amplified; where nothing could be told, nothing is judged.
func TestHardTangencies(t *testing.T) {
	const kinds = 9
	counts, judged, nearest := map[string]int{}, map[string]int{}, map[string]float64{}
	for seed := range uint64(*chains) {
		r := rand.New(rand.NewPCG(seed, 11))
		c, name := hardChain(r, int(seed%kinds))
		spec := c.spec(t)
		values := [3][][]float64{}
		for _, in := range c.params {
			values[0] = append(values[0], in.value)
		}
		tangency, ok := held(t, seed, spec, c.steps, seed%3 == 0, values)
		if !ok {
			continue
		}
		counts[name]++
		if tangency.Judged() {
			judged[name]++
		}
		if tangency.Tolerance > 0 {
			nearest[name] = max(nearest[name], math.Abs(tangency.Adjoint-tangency.Tangent)/tangency.Tolerance)
		}
		if tangency.Judged() && !tangency.Holds() {
			t.Errorf("seed %d, %s, T = %d: %+v", seed, name, c.steps, tangency)
		}
	}
	for name, n := range counts {
		t.Logf("%s: %d compared, %d judged, at most %.2g of the tolerance", name, n, judged[name], nearest[name])
	}
	if len(counts) < kinds {
		t.Errorf("only %d kinds have derivatives", len(counts))
	}
}

// Where rounding leaves less than six digits, nothing is judged.
func TestTangencyOfNoDigits(t *testing.T) {
	c := &text{state: []input{{name: "x"}}, params: []input{{"b", nil, []float64{1.0 / 3}}}, start: []string{"0.7"},
		next: []string{"(1e13 * b) * x - 1e13 * (b * x) + 0.3 * x"}, terminal: "x", steps: 5}
	tangency, ok := held(t, 1, c.spec(t), c.steps, false, [3][][]float64{{{1.0 / 3}}})
	if !ok || tangency.Judged() || !tangency.Holds() {
		t.Errorf("%+v", tangency)
	}
	c.next[0] = "0.3 * x + b"
	if tangency, ok = held(t, 1, c.spec(t), c.steps, false, [3][][]float64{{{1.0 / 3}}}); !ok || !tangency.Judged() || !tangency.Holds() || tangency.Bound() > 1e-12 {
		t.Errorf("%+v", tangency)
	}
}

// A transpose rule that is wrong by a part in a million is found, whichever operation it is of: in every chain whose gradient it
// moves by a millionth of its size.
func TestWrongTransposesAreFound(t *testing.T) {
	type example struct {
		seed   uint64
		spec   program.Spec
		values [3][][]float64
		right  program.Tangency
	}
	const steps = 4
	var examples []example
	for seed := range uint64(*chains / 8) {
		spec, values := randomChain(randprog.Rand(seed), steps)
		if spec == nil {
			continue
		}
		if tangency, ok := held(t, seed, *spec, steps, false, values); ok && tangency.Judged() {
			examples = append(examples, example{seed, *spec, values, tangency})
		}
	}
	for _, o := range op.All() {
		right := o.Transpose
		if right == nil || o.JVP == nil {
			continue
		}
		moved, found := 0, 0
		func() {
			defer func() { o.Transpose = right }()
			for _, e := range examples {
				o.Transpose = func(s *graph.Site, linear []bool, ct graph.Value) []graph.Value {
					out := right(s, linear, ct)
					for i, v := range out {
						if v != graph.None {
							out[i] = s.Emit(op.Mul, nil, v, s.Full(s.Type(v), 1+1e-6))
						}
					}
					return out
				}
				wrong, ok := held(t, e.seed, e.spec, steps, false, e.values)
				if !ok || math.Abs(wrong.Adjoint-e.right.Adjoint) <= 1e-7*e.right.Size {
					continue
				}
				moved++
				if !wrong.Holds() && wrong.Judged() {
					found++
				} else {
					t.Errorf("%s, seed %d: %+v", o.Name, e.seed, wrong)
				}
			}
		}()
		t.Logf("%s: found in %d of %d chains", o.Name, found, moved)
		if (o == op.Mul || o == op.Add || o == op.Sum || o == op.Broadcast) && moved == 0 {
			t.Errorf("no chain uses the transpose of %s", o.Name)
		}
	}
}
