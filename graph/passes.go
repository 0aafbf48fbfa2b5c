package graph

// DropDead removes the operations that nothing reads. An operation whose check could fail is an
// effect and stays, read or not: what a run refuses never depends on which outputs are asked for.
func DropDead(p *Program) *Program {
	keep := make([]bool, p.NumValues())
	for _, v := range p.Outputs {
		keep[v] = true
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		v := len(p.Inputs) + i
		if keep[v] = keep[v] || !p.Nodes[i].total(); keep[v] {
			for _, a := range p.Nodes[i].Args {
				keep[a] = true
			}
		}
	}
	return p.rebuild(keep)
}

// total reports whether the node cannot fail. The only total operation that computes with integers
// by a kernel, neg, can leave int64.
func (n *Node) total() bool {
	return n.Op.Total && (n.Op.Unary == nil || n.Type.DType.IsFloat())
}

// Share computes equal operations on equal operands once (common-subexpression elimination).
func Share(p *Program) *Program { return p.rebuild(nil) }

// rebuild copies the kept nodes of p through a Builder.
func (p *Program) rebuild(keep []bool) *Program {
	b := NewBuilder(p.Name)
	args := make([]Value, len(p.Inputs))
	for i, in := range p.Inputs {
		args[i] = b.addInput(in)
	}
	at := b.copyNodes(p, args, keep)
	return b.BuildNamed(p.OutputNames, outputsAt(p, at)...)
}
