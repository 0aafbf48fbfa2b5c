package response_test

import (
	"fmt"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/response"
)

// A map with a stopped gradient and an exact one have equal values and different responses.
func Example() {
	t := graph.F64(2)
	square := graph.NewBuilder("square")
	x := square.Input("x", t)
	exact := response.Exact(square.Build(square.Emit(op.Mul, nil, x, x)))
	stop := graph.NewBuilder("stop")
	stopped := response.Exact(stop.Build(stop.Emit(op.StopGradient(t), nil, stop.Input("x", t))))
	both, _ := response.Compose(exact, stopped)
	in := graph.Floats(graph.Shape{2}, []float64{3, 5})
	one := graph.Floats(graph.Shape{2}, []float64{1, 1})
	for _, m := range []response.Map{exact, both} {
		y, _ := graph.Eval(m.Forward, in)
		ct, _ := graph.Eval(m.Backward, in, one)
		fmt.Println(y[0].F, ct[0].F)
	}
	// Output:
	// [9 25] [6 10]
	// [9 25] [0 0]
}

func TestMapsThatDoNotMeetAreRefused(t *testing.T) {
	a, b := response.Identity(graph.F64(2)), response.Identity(graph.F64(3))
	if _, err := response.Compose(b, a); err == nil {
		t.Error("composed f64[2] with f64[3]")
	}
	x := graph.NewBuilder("b")
	x.Input("x0", graph.F64(2))
	ct := x.LinearInput("ct0", graph.F64(2))
	bad := response.Map{Forward: a.Forward, Backward: x.Build(x.Emit(op.Mul, nil, ct, ct))}
	if bad.Check() == nil {
		t.Error("a quadratic backward map passed")
	}
}
