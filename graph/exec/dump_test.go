package exec_test

import (
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
)

// The listings of small programs of every kind.
func TestListing(t *testing.T) {
	b := graph.NewBuilder("kinds")
	x, k := b.Input("x", graph.F64(4, 3)), b.Input("k", graph.Type{DType: graph.Int64, Shape: graph.Shape{2}})
	row := op.SumOver(b, x, 0)
	norm := b.Emit(op.Sqrt, nil, op.SumOver(b, b.Emit(op.Mul, nil, row, row), 0))
	scaled := b.Emit(op.Div, nil, row, op.BroadcastTo(b, norm, graph.Shape{3}))
	rows := b.Emit(op.Gather, nil, x, k)
	outer := op.Product(b, rows, x, false, true)
	turned := b.Emit(op.Transpose, graph.Attrs{{Name: "perm", Ints: []int{1, 0}}}, outer)
	sign := b.Emit(op.Less, nil, scaled, row)
	kinds := b.Build(b.Emit(op.Select, nil, sign, scaled, b.Zeros(graph.F64(3))), turned)

	var s strings.Builder
	for _, p := range []*graph.Program{lorenz63(), lorenz96(9), fusedTanh(1000), kinds, graph.Linearize(layer(5), []int{0, 2}).Linear, graph.Linearize(tiny(), upTo(2)).Linear} {
		s.WriteString(mustCompile(t, p).String() + "\n")
	}
	goldenFile(t, "testdata/listings.txt", []byte(s.String()))
}

// The arena reuses memory: a long chain of arrays needs a few of them.
func TestArenaIsReused(t *testing.T) {
	const n, length = 100, 50
	w := writer{graph.NewBuilder("chain")}
	x := w.Input("x", graph.F64(n))
	y := x
	for range length {
		y = w.Emit(op.CumSum, graph.Attrs{{Name: "axis", Ints: []int{0}}}, y)
	}
	e, err := exec.Compile(w.Build(y), exec.Options{Tile: 8})
	if err != nil {
		t.Fatal(err)
	}
	if m := e.Memory(); m.Sum != 8*n*length || m.Peak > 8*3*(n+8) {
		t.Errorf("%+v: want a sum of %d and a peak of about two arrays", m, 8*n*length)
	}
}

// A literal array of one number is written out in every workspace, and counts.
func TestMemoryHoldsLiterals(t *testing.T) {
	const n = 1000
	b := graph.NewBuilder("padded")
	x := b.Input("x", graph.F64(1))
	e := mustCompile(t, b.Build(b.Emit(op.Concat, graph.Attrs{{Name: "axis", Ints: []int{0}}}, x, b.Zeros(graph.F64(n)))))
	if m := e.Memory(); m.Peak < 8*n || m.Peak > m.Sum {
		t.Errorf("%+v: want a peak of at least %d", m, 8*n)
	}
}
