package implicit

import (
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
)

// logistic is the map x ↦ a·x·(1 − x).
func logistic(t testing.TB) *Map {
	t.Helper()
	builder := graph.NewBuilder("logistic")
	scope := formula.Scope{"x": builder.Input("x", graph.Scalar), "a": builder.Input("a", graph.Scalar)}
	v, err := formula.Lower(builder, scope, "a*x*(1 - x)")
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewMap(builder.Build(v), []int{0}, []int{1}, make([]*graph.Tensor, 2))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What an iteration asks of a map allocates nothing after the first time, and a clone has memory of its own.
func TestMapCalls(t *testing.T) {
	f := logistic(t)
	g := f.Clone()
	y, jacobian, direction, tangent := []float64{0}, []float64{0}, []float64{3, 2}, []float64{0}
	call := func() {
		if err := f.Eval(y, []float64{0.25}, []float64{2}); err != nil || y[0] != 0.375 {
			t.Fatal(y, err)
		}
		if err := f.StateJacobian(jacobian, y, []float64{0.25}, []float64{2}); err != nil || jacobian[0] != 1 || y[0] != 0.375 {
			t.Fatal(jacobian, y, err)
		}
		d, err := f.Joint(nil, []float64{0.25}, []float64{2})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Eval(y, []float64{0.5}, []float64{4}); err != nil || y[0] != 1 {
			t.Fatal(y, err)
		}
		if err := d.Push(tangent, direction, 1); err != nil || tangent[0] != 3.375 {
			t.Fatal(tangent, err)
		}
	}
	call()
	if n := testing.AllocsPerRun(5, call); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// BenchmarkTinyMap is what an iteration asks of a map of three operations: its value, and its value
// with the derivative along one direction.
func BenchmarkTinyMap(b *testing.B) {
	f := logistic(b)
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
