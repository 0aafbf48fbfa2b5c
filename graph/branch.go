package graph

// BranchLabels are the strict branches that one operation took in a run.
type BranchLabels struct {
	Value Value
	// Labels has one entry for each entry of the result: the number of the open branch region that
	// held its operands (1, 2, …), or 0 on a boundary, where a value may exist and no derivative does.
	Labels []int
}

// Branches returns the branch labels of a run, given its trace, for each comparison, abs, sign, min, max
// and clamp in program order. Two runs with equal labels and no 0 among them lie on one fixed strict
// branch: there the program is as smooth as its formulas, and the chain rule holds.
//
// The regions of abs and sign are 1: x < 0, 2: x > 0; of a comparison, min and max 1: x < y, 2: x > y;
// of clamp 1: x < lo, 2: lo < x < hi, 3: x > hi.
//
// Source: piecewise-C¹ primitives and their strict branches, in the definition of the computational graph.
func Branches(p *Program, values []*Tensor) []BranchLabels {
	var branches []BranchLabels
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op.Branch == nil {
			continue
		}
		in := make([]*Tensor, len(n.Args))
		for k, a := range n.Args {
			in[k] = values[a]
		}
		labels := make([]int, n.Type.Len())
		x := make([]float64, len(in))
		for e := range labels {
			entries(x, in, e)
			labels[e] = n.Op.Branch(x)
		}
		branches = append(branches, BranchLabels{Value(len(p.Inputs) + i), labels})
	}
	return branches
}

// entries copies entry e of each operand into x.
func entries(x []float64, in []*Tensor, e int) {
	for k := range in {
		if in[k].F != nil {
			x[k] = in[k].F[e]
		} else {
			x[k] = float64(in[k].I[e])
		}
	}
}
