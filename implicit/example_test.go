package implicit_test

import (
	"errors"
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/implicit"
)

// The cube root z of θ solves R(z, θ) = z³ − θ = 0, and its derivative is 1/(3z²).
func Example() {
	b := graph.NewBuilder("R")
	z, theta := b.Input("z", graph.Scalar), b.Input("theta", graph.Scalar)
	cube := b.Emit(op.Mul, nil, z, b.Emit(op.Mul, nil, z, z))
	r, err := implicit.NewMap(b.Build(b.Emit(op.Sub, nil, cube, theta)), []int{0}, []int{1}, make([]*graph.Tensor, 2))
	if err != nil {
		fmt.Println(err)
		return
	}

	root, err := implicit.FindRoot(r, []float64{1}, []float64{8}, implicit.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := implicit.Differentiate(r, root)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("z = %.6f, dz/dθ = %.6f\n", root.Z[0], s.S[0])

	// At θ = 0 the curve is vertical: there is a root, but no derivative.
	root, err = implicit.FindRoot(r, []float64{0}, []float64{0}, implicit.Settings{})
	if err == nil {
		_, err = implicit.Differentiate(r, root)
	}
	var refusal *graph.Failure
	fmt.Println(errors.As(err, &refusal), refusal.Status)
	// Output:
	// z = 2.000000, dz/dθ = 0.083333
	// true SINGULAR_STATE_JACOBIAN
}
