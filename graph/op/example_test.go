package op_test

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// The linear part of sin(x)·x reads three residuals, in the order in which it uses them.
func Example() {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(3))
	p := b.Build(b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, x), x))
	fmt.Print(p)
	fmt.Print(graph.Linearize(p, []int{0}).Linear)
	// Output:
	// program f(x: f64[3]) -> f64[3] {
	//   a: f64[3] = sin x
	//   b: f64[3] = mul a x
	//   return b
	// }
	// linear f.linear(cos_x: f64[3], x: f64[3], sin_x: f64[3]; dx: f64[3]) -> f64[3] {
	//   a: f64[3] = mul dx cos_x
	//   b: f64[3] = mul a x
	//   c: f64[3] = mul sin_x dx
	//   d: f64[3] = add b c
	//   return dout0=d
	// }
}
