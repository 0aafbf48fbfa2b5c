package conformance

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLaws(t *testing.T) {
	for _, law := range Laws() {
		t.Run(law.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if err := law.Check(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Known answers: halving twice with local errors 1 and 2, and the pullback γ·2x of x² at a value that is off.
func TestSequentialErrors(t *testing.T) {
	if e := sequentialError([]float64{1, 2}, []float64{0.5, 0.5}); e[0] != 0 || e[1] != 1 || e[2] != 2.5 {
		t.Errorf("errors %v, want 0, 1, 2 + 1/2", e)
	}
	// Two squarings at x = 3 and 9, off by 1/8 and 1: the seed 1 comes back off by 2·1, then by 6·2 + 2·18·1/8.
	e := reverseSequentialError([]float64{0, 0}, []float64{6, 18}, []float64{2, 2}, []float64{18, 1}, []float64{0.125, 1})
	if e[2] != 0 || e[1] != 2 || e[0] != 6*2+2*18*0.125 {
		t.Errorf("cotangent errors %v", e)
	}
	if e := reverseSequentialError([]float64{0.25}, []float64{1}, []float64{0}, []float64{1}, []float64{1}); e[0] != 0.25 {
		t.Errorf("local error alone gives %v", e)
	}
}
