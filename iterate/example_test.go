package iterate_test

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/implicit"
	"github.com/lensir/lensir-study/iterate"
)

// The fixed point of G(z, θ) = (z + θ)/2 is θ, with derivative 1. At θ = 0, started at 0, every iterate is exact; the
// derivative of the K-step map is 1 − 2⁻ᴷ all the same.
func ExampleSteps() {
	b := graph.NewBuilder("G")
	z, theta := b.Input("z", graph.Scalar), b.Input("theta", graph.Scalar)
	half := b.Full(graph.Scalar, 0.5)
	g, err := implicit.NewMap(b.Build(b.Emit(op.Mul, nil, half, b.Emit(op.Add, nil, z, theta))),
		[]int{0}, []int{1}, make([]*graph.Tensor, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	b = graph.NewBuilder("start")
	b.Input("theta", graph.Scalar)
	start, err := implicit.NewMap(b.Build(b.Full(graph.Scalar, 0)), nil, []int{0}, make([]*graph.Tensor, 1))
	if err != nil {
		fmt.Println(err)
		return
	}

	err = iterate.Steps(g, start, []float64{0}, 4, func(at iterate.Iterate) error {
		fmt.Printf("K = %d: z = %g, dz/dθ = %g\n", at.K, at.Z[0], at.E[0])
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// K = 0: z = 0, dz/dθ = 0
	// K = 1: z = 0, dz/dθ = 0.5
	// K = 2: z = 0, dz/dθ = 0.75
	// K = 3: z = 0, dz/dθ = 0.875
	// K = 4: z = 0, dz/dθ = 0.9375
}
