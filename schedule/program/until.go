package program

import (
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// strict returns a condition that is refused on its branch boundaries: where a value that depends on one of the first n inputs is
// compared with its equal, the number of steps jumps. Kinks that are continuous, such as abs, refuse nothing: a condition has no derivative.
func strict(p *graph.Program, n int) *graph.Program {
	p = graph.Expand(p)
	depends := make([]bool, p.NumValues())
	for i := range n {
		depends[i] = true
	}
	q := *p
	q.Nodes = slices.Clone(p.Nodes)
	for i := range q.Nodes {
		node := &q.Nodes[i]
		order := make([]int, len(node.Args))
		for k, a := range node.Args {
			if depends[a] {
				order[k] = 1
			}
		}
		jumps := node.Op.Kinks && node.Type.DType == graph.Bool || node.Op == op.Sign || node.Op == op.Round
		if moves := slices.Contains(order, 1); moves && jumps {
			node.Attrs = node.Attrs.With(graph.Order, order...)
		} else {
			depends[len(p.Inputs)+i] = moves && node.Type.DType.IsFloat()
		}
	}
	return &q
}
