package graph

// Operations is the number of floating-point operations of one run of p, counted from the program:
// one for each entry of an elementwise result, 2·inner for each entry of a matrix product, one for
// each entry that is summed, none for moving entries.
func (p *Program) Operations() int {
	total := 0
	for i := range p.Nodes {
		total += p.NodeOperations(i)
	}
	return total
}

// NodeOperations is the number of floating-point operations of node i.
func (p *Program) NodeOperations(i int) int {
	n := &p.Nodes[i]
	switch {
	case n.Op == Literal:
		return 0
	case n.Op.Cost == nil:
		return n.Type.Len()
	}
	in := make([]Type, len(n.Args))
	for k, a := range n.Args {
		in[k] = p.Type(a)
	}
	return n.Op.Cost(n.Attrs, in, n.Type)
}

// Scalars is the number of entries of the given types that have entries at all.
func Scalars(types ...Type) int {
	total := 0
	for _, t := range types {
		if t.DType != Float0 {
			total += t.Len()
		}
	}
	return total
}
