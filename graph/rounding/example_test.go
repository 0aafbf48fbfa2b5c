package rounding_test

import (
	"fmt"
	"math"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/graph/rounding"
)

// At x = 1e-7 the formula (1 − cos x)/x² has two digits of ½ left.
func ExampleRunner() {
	b := graph.NewBuilder("f")
	y, err := formula.Lower(b, formula.Scope{"x": b.Input("x", graph.Scalar)}, "(1 - cos(x)) / x^2")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := rounding.NewRunner(b.Build(y))
	if err != nil {
		fmt.Println(err)
		return
	}
	out := []exec.Buffer{exec.Floats(0)}
	low, high := math.Inf(1), math.Inf(-1)
	for key := range uint64(8) {
		if err := r.Run(key, []exec.Buffer{exec.Floats(1e-7)}, out); err != nil {
			fmt.Println(err)
			return
		}
		low, high = min(low, out[0].F[0]), max(high, out[0].F[0])
	}
	fmt.Printf("between %.2f and %.2f\n", low, high)
	// Output: between 0.48 and 0.52
}
