package program_test

import (
	"slices"
	"testing"

	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// Every schedule reverses the same perturbed trajectory; another key is another one, as near as rounding is.
func TestPerturbedChain(t *testing.T) {
	const steps = 12
	for _, open := range []bool{false, true} {
		c := everything(steps)
		exact, err := schedule.NewStoreAll(steps)
		if err != nil {
			t.Fatal(err)
		}
		plain := sweep(t, c.chain(t, open), exact, len(c.params), len(c.controls))
		chain, err := program.NewPerturbed(c.spec(t))
		if err != nil {
			t.Fatal(err)
		}
		var seen [][]float64
		for key := range uint64(3) {
			chain.Perturb(key)
			if err := chain.Set(steps, open, values(c.params), values(c.constants), values(c.controls)); err != nil {
				t.Fatal(err)
			}
			var first answer
			for i, s := range methods(t, steps) {
				got := sweep(t, chain, s, len(c.params), len(c.controls))
				if i == 0 {
					first = got
				}
				if at, equal := schedule.SameBits(got.gradient, first.gradient); !equal {
					t.Fatalf("%s differs at entry %d", s.Name(), at)
				}
			}
			if slices.ContainsFunc(seen, func(g []float64) bool { return slices.Equal(g, first.gradient) }) || slices.Equal(first.gradient, plain.gradient) {
				t.Errorf("key %d moves nothing", key)
			}
			seen = append(seen, first.gradient)
			near(t, "the perturbed gradient", first.gradient, plain.gradient, 1e-11)
			near(t, "the perturbed value", []float64{first.value}, []float64{plain.value}, 1e-12)
		}
	}
}
