package implicit

import (
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
)

// BenchmarkTinyMap is what an iteration asks of the logistic map x ↦ a·x·(1 − x): its value, and its value
// with the derivative along one direction.
func BenchmarkTinyMap(b *testing.B) {
	builder := graph.NewBuilder("logistic")
	scope := formula.Scope{"x": builder.Input("x", graph.Scalar), "a": builder.Input("a", graph.Scalar)}
	v, err := formula.Lower(builder, scope, "a*x*(1 - x)")
	if err != nil {
		b.Fatal(err)
	}
	f, err := NewMap(builder.Build(v), []int{0}, []int{1}, make([]*graph.Tensor, 2))
	if err != nil {
		b.Fatal(err)
	}
	x, a, y := []float64{0.3}, []float64{3.7}, []float64{0}
	b.Run("value", func(b *testing.B) {
		for b.Loop() {
			if err := f.Eval(y, x, a); err != nil {
				b.Fatal(err)
			}
		}
	})
	direction, tangent := []float64{0.5, 1}, []float64{0}
	b.Run("tangent", func(b *testing.B) {
		for b.Loop() {
			d, err := f.Joint(y, x, a)
			if err != nil {
				b.Fatal(err)
			}
			if err := d.Push(tangent, direction, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
