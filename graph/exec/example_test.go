package exec_test

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
)

// The value of tanh(a·b + c)·d, then two directional derivatives at once, which read the residuals where the
// first run left them.
func Example() {
	l := graph.Linearize(fusedTanh(3), []int{0, 2})
	primal, err := exec.Compile(l.Primal, exec.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	linear, err := exec.Compile(l.Linear, exec.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := []exec.Buffer{exec.Floats(1, 2, 3), exec.Floats(1, 1, 1), exec.Floats(-1, -1, -1), exec.Floats(1, 2, 4)}
	out := exec.NewBuffers(l.Primal.OutputTypes(), 1) // the value, then the residuals
	if err := primal.Run(primal.NewWorkspace(), in, out); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", out[0].F)

	da := exec.Floats(1, 0, 1, 0, 1, 0) // entry-major: lane 0 is the direction of a, lane 1 that of c
	dc := exec.Floats(0, 1, 0, 1, 0, 1)
	dy := exec.NewBuffers(l.Linear.OutputTypes(), 2)
	if err := linear.RunLanes(linear.NewLanes(2), append(out[1:], da, dc), dy); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", dy[0].F)

	// A failing check is the failure of the reference evaluator.
	b := graph.NewBuilder("log")
	e, _ := exec.Compile(b.Build(b.Emit(op.Log, nil, b.Input("x", graph.F64(3)))), exec.Options{})
	fmt.Println(e.Run(e.NewWorkspace(), []exec.Buffer{exec.Floats(1, -2, -3)}, []exec.Buffer{exec.Floats(0, 0, 0)}))
	// Output:
	// [0.0000 1.5232 3.8561]
	// [1.0000 1.0000 0.8399 0.8399 0.2826 0.2826]
	// DOMAIN_ERROR: a[1]: log of -2: the operand must be positive
}
