package graph_test

import (
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

func TestOperations(t *testing.T) {
	b := graph.NewBuilder("f")
	x, w := b.Input("x", graph.F64(2, 3)), b.Input("w", graph.F64(3, 4))
	two := b.Emit(op.Mul, nil, x, b.Full(graph.F64(2, 3), 2))                                                    // 6; the literal costs nothing
	y := op.Product(b, two, w, false, false)                                                                     // 2·3·8
	s := b.Emit(op.StopGradient(graph.F64(2, 4)), nil, op.PowN(b, y, 3))                                         // 8 for the power
	p := b.Build(op.SumOver(b, op.ReshapeTo(b, s, graph.Shape{8}), 0), b.Emit(op.Sin, nil, op.SumOver(b, x, 0))) // 8, 0 for the reshape; 3 and 6
	if got, want := p.Operations(), 6+48+8+8+3+6; got != want {
		t.Errorf("%d operations, want %d:\n%v", got, want, p)
	}
	if got := graph.Scalars(graph.F64(2, 3), graph.Scalar, graph.Type{DType: graph.Float0, Shape: graph.Shape{7}}); got != 7 {
		t.Errorf("%d scalars, want 7", got)
	}
}
