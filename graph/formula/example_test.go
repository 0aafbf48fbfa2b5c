package formula_test

import (
	"errors"
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
)

// A formula becomes operations over the values that its scope names; the scalar θ is spread over the vector x.
func Example() {
	b := graph.NewBuilder("f")
	scope := formula.Scope{"x": b.Input("x", graph.F64(3)), "θ": b.Input("θ", graph.Scalar)}
	y, err := formula.Lower(b, scope, "sum(x^2) - θ*x[-1]")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(b.Build(y))
	// Output:
	// program f(x: f64[3], θ: f64) -> f64 {
	//   a: f64[3] = powi x n=[2]
	//   b: f64 = sum a axes=[0]
	//   c: f64[1] = slice x start=[2] limit=[3] step=[1]
	//   d: f64 = reshape c shape=[]
	//   e: f64 = mul θ d
	//   f: f64 = sub b e
	//   return f
	// }
}

// An error points into the formula, and says what to write instead.
func ExampleError() {
	_, err := formula.Parse("0 < x and x < 1")
	var e *formula.Error
	if errors.As(err, &e) {
		fmt.Println(e.Offset, e.Length, e.Message)
		fmt.Println(e.Hint)
	}
	// Output:
	// 6 3 there is no "and"
	// write &&
}
