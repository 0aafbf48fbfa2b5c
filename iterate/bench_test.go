package iterate

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/implicit"
)

// BenchmarkJacobian is the 200×50 Jacobian of 50 steps of z ← tanh(Wz + Ut + b) in forward mode,
// beside the 50 matrix products that it cannot do without, with gonum.
func BenchmarkJacobian(b *testing.B) {
	const m, p, steps = 200, 50, 50
	state := uint64(4)
	fill := func(n int, scale float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			state = state*6364136223846793005 + 1442695040888963407
			x[i] = (2*float64(state>>11)*0x1p-53 - 1) * scale
		}
		return x
	}
	w := fill(m*m, 0.5/15.7241977347611)
	fixed := []*graph.Tensor{nil, nil, graph.Floats(graph.Shape{m, m}, w),
		graph.Floats(graph.Shape{m, p}, fill(m*p, 1)), graph.Floats(graph.Shape{m}, fill(m, 1))}
	theta := fill(p, 1)
	builder := graph.NewBuilder("G")
	scope := formula.Scope{"z": builder.Input("z", graph.F64(m)), "t": builder.Input("t", graph.F64(p)),
		"W": builder.Input("W", graph.F64(m, m)), "U": builder.Input("U", graph.F64(m, p)), "b": builder.Input("b", graph.F64(m))}
	v, err := formula.Lower(builder, scope, "tanh(matmul(W, z) + matmul(U, t) + b)")
	if err != nil {
		b.Fatal(err)
	}
	g, err := implicit.NewMap(builder.Build(v), []int{0}, []int{1}, fixed)
	if err != nil {
		b.Fatal(err)
	}
	start := mapOf(b, m, p, false, "zeros(200)")
	b.Run("steps", func(b *testing.B) {
		for b.Loop() {
			if err := Steps(g, start, theta, steps, func(Iterate) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("products with gonum", func(b *testing.B) {
		a, x, y := mat.NewDense(m, m, w), mat.NewDense(m, p, fill(m*p, 1)), mat.NewDense(m, p, nil)
		for b.Loop() {
			for range steps {
				y.Mul(a, x)
			}
		}
	})
}
