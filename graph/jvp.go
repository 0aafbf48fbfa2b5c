package graph

import "slices"

// JVP returns the program of the directional derivative, (x, dx) ↦ (f(x), Df(x)·dx).
//
// Its inputs are those of p, then one tangent for each input in wrt (named d and the input's name);
// its outputs are those of p, then the tangent of each. An input that wrt lists twice is a mistake.
// Tangents have the tangent type of their primals. An operation that is not smooth everywhere is
// told, by its attribute order, that one more derivative of it is taken: on a branch boundary the
// run then refuses. The result is an ordinary program, also where p is linear.
//
// Source: forward mode on a finite computational graph; jvp as a program transformation.
func JVP(p *Program, wrt []int) *Program {
	b := NewBuilder(p.Name + ".jvp")
	taken := nameSet{}
	x := make([]Value, len(p.Inputs))
	for i, in := range p.Inputs {
		x[i] = b.Input(in.Name, in.Type)
		taken.fresh(in.Name)
	}
	dx := make([]Value, len(p.Inputs))
	for i := range dx {
		dx[i] = None
	}
	for k, i := range wrt {
		if slices.Contains(wrt[:k], i) {
			panic("graph: input " + p.Inputs[i].Name + " is differentiated twice")
		}
		v := b.Input(taken.fresh("d"+p.Inputs[i].Name), p.Inputs[i].Type.Tangent())
		if p.Inputs[i].Type.DType.IsFloat() {
			dx[i] = v
		}
	}
	y, dy := b.pushForward(p, x, dx)
	outputs := append(slices.Clone(y), dy...)
	outputNames := make([]string, 0, len(outputs))
	for i := range y {
		outputNames = append(outputNames, p.OutputName(i))
	}
	for i := range dy {
		if dy[i] == None {
			outputs[len(y)+i] = b.Zeros(p.Type(p.Outputs[i]).Tangent())
		}
		outputNames = append(outputNames, "d"+p.OutputName(i))
	}
	return b.BuildNamed(outputNames, outputs...)
}

// pushForward adds the nodes of p and of their tangents, and returns both for each output.
func (b *Builder) pushForward(p *Program, x, dx []Value) (y, dy []Value) {
	at := append(slices.Clone(x), make([]Value, len(p.Nodes))...)
	tangent := append(slices.Clone(dx), make([]Value, len(p.Nodes))...)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := len(p.Inputs) + i
		s := &Site{Builder: b, Node: n, X: make([]Value, len(n.Args)), XTypes: make([]Type, len(n.Args))}
		d := make([]Value, len(n.Args))
		active := false
		for k, a := range n.Args {
			s.X[k], s.XTypes[k], d[k] = at[a], p.Type(a), tangent[a]
			active = active || d[k] != None
		}
		if active && n.Op.Kinks {
			s.Node = n.raiseOrder(d)
		}
		at[v], tangent[v] = b.copyNode(s.Node, at), None
		if active {
			s.Y = at[v]
			b.origin = n.Origin
			tangent[v] = n.Op.JVP(s, d)
		}
	}
	for _, v := range p.Outputs {
		y, dy = append(y, at[v]), append(dy, tangent[v])
	}
	return y, dy
}

// raiseOrder returns the node with one more derivative demanded of each operand that has a tangent.
func (n *Node) raiseOrder(dx []Value) *Node {
	order := make([]int, len(n.Args))
	copy(order, n.Attrs.Ints(Order))
	for k := range order {
		if dx[k] != None {
			order[k]++
		}
	}
	raised := *n
	raised.Attrs = n.Attrs.With(Order, order...)
	return &raised
}
