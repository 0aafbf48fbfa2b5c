package graph_test

import (
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// chain is a program of n operations on 4 entries, a mixture of elementary functions and arithmetic.
func chain(n int) *graph.Program {
	b := graph.NewBuilder("chain")
	x, y := b.Input("x", graph.F64(4)), b.Input("y", graph.F64(4))
	for i := range n - 1 {
		switch i % 4 {
		case 0:
			x, y = b.Emit(op.Sin, nil, x), x
		case 1:
			x, y = b.Emit(op.Mul, nil, x, y), x
		case 2:
			x, y = b.Emit(op.Tanh, nil, x), x
		case 3:
			x, y = b.Emit(graph.Add, nil, x, y), x
		}
	}
	return b.Build(op.SumOver(b, x, 0))
}

// What building and transforming a program of 10⁴ operations costs.
func BenchmarkTransformations(b *testing.B) {
	p := chain(10_000)
	l := graph.Linearize(p, []int{0, 1})
	text := p.String()
	in := []*graph.Tensor{vec(0.1, 0.2, 0.3, 0.4), vec(0.5, 0.6, 0.7, 0.8)}
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"build", func() { chain(10_000) }},
		{"verify", func() { _ = graph.Verify(p) }},
		{"share", func() { graph.Share(p) }},
		{"jvp", func() { graph.JVP(p, []int{0, 1}) }},
		{"linearize", func() { graph.Linearize(p, []int{0, 1}) }},
		{"transpose", func() { graph.Transpose(l.Linear) }},
		{"vjp", func() { graph.VJP(p, []int{0, 1}) }},
		{"print", func() { _ = p.String() }},
		{"print-linear", func() { _ = l.Linear.String() }},
		{"parse", func() { _, _ = op.Parse(text) }},
		{"eval", func() { _, _ = graph.Eval(p, in...) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.run()
			}
		})
	}
}
