package model

import (
	"errors"
	"math"
	"testing"
)

// TestLadder holds the comparison to accepting right derivatives, also where differences are poor, and to refusing
// wrong ones.
func TestLadder(t *testing.T) {
	rough := func(x []float64) float64 { // noise of the size that a solve leaves, from the bits of x
		return 1e-13 * math.Sin(1e9*x[0])
	}
	for _, c := range []struct {
		name       string
		x          float64
		f          func(x []float64) (float64, error)
		derivative float64
	}{
		{"cubic", 2, func(x []float64) (float64, error) { return x[0] * x[0] * x[0], nil }, 12},
		{"exponential", 1, func(x []float64) (float64, error) { return math.Exp(x[0]), nil }, math.E},
		{"large and flat", 1, func(x []float64) (float64, error) { return 1e6 + x[0], nil }, 1},
		{"near a fold", 1 - 1e-8, func(x []float64) (float64, error) {
			if x[0] > 1 {
				return 0, errors.New("no root")
			}
			return math.Sqrt(1-x[0]) + rough(x), nil
		}, -0.5 / math.Sqrt(1e-8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, v := []float64{c.x}, []float64{1}
			if d := ladder("f", c.derivative, x, v, c.f); !d.Agrees || !d.Compared() {
				t.Errorf("the right derivative is refused: %+v", d)
			}
			for _, wrong := range []float64{0, -c.derivative, 2 * c.derivative, 1.1 * c.derivative} {
				if d := ladder("f", wrong, x, v, c.f); d.Agrees {
					t.Errorf("the wrong derivative %v is accepted: %+v", wrong, d)
				}
			}
		})
	}
	cubic := func(x []float64) (float64, error) { return x[0] * x[0] * x[0], nil }
	if d := ladder("f", 12.0001, []float64{2}, []float64{1}, cubic); d.Agrees {
		t.Errorf("an error of 1e-5 is accepted: %+v", d)
	}
	nowhere := func([]float64) (float64, error) { return 0, errors.New("nowhere defined") }
	if d := ladder("f", 1, []float64{2}, []float64{1}, nowhere); d.Agrees || d.Compared() || d.Reason == "" {
		t.Errorf("a comparison with nothing: %+v", d)
	}
}
