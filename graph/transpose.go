package graph

import "slices"

// Transpose turns a linear program around: where p maps tangents to tangents by a matrix A that
// depends on the residuals, the result maps cotangents of p's outputs to cotangents of p's linear
// inputs by Aᵀ. Its inputs are p's residuals, then one cotangent for each output, in which it is
// linear. Cotangents of repeated uses, operands and outputs add, in the reverse of the order of use.
//
// Source: reverse mode as the transpose of the linear part; the sharing rule of the typed tensor fragment.
func Transpose(p *Program) *Program {
	b := NewBuilder(p.Name + ".transpose")
	at := make([]Value, p.NumValues())
	depends := make([]bool, p.NumValues())
	taken := nameSet{}
	for i, in := range p.Inputs {
		at[i], depends[i] = None, in.Linear
		if !in.Linear {
			at[i] = b.addInput(in)
			taken.fresh(in.Name)
		}
	}
	ct := make([]Value, p.NumValues())
	for i := range ct {
		ct[i] = None
	}
	seeds := make([]Value, len(p.Outputs))
	for i, v := range p.Outputs {
		seeds[i] = b.LinearInput(taken.fresh("ct_"+p.OutputName(i)), p.Type(v).Tangent())
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := len(p.Inputs) + i
		for _, a := range n.Args {
			depends[v] = depends[v] || depends[a]
		}
		if at[v] = None; !depends[v] {
			at[v] = b.copyNode(n, at)
		}
	}
	for i, v := range p.Outputs {
		if depends[v] && p.Type(v).DType.IsFloat() {
			ct[v] = b.Accumulate(ct[v], seeds[i])
		}
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		v := len(p.Inputs) + i
		if depends[v] && ct[v] != None {
			b.pullBack(p, &p.Nodes[i], ct[v], at, ct, depends)
		}
	}
	var outputs []Value
	var outputNames []string
	for i, in := range p.Inputs {
		if !in.Linear {
			continue
		}
		if ct[i] == None {
			ct[i] = b.Zeros(in.Type.Tangent())
		}
		outputs, outputNames = append(outputs, ct[i]), append(outputNames, "ct_"+in.Name)
	}
	return DropDead(b.BuildNamed(outputNames, outputs...))
}

// pullBack adds the contributions of one node to the cotangents of its linear operands.
func (b *Builder) pullBack(p *Program, n *Node, seed Value, at, ct []Value, depends []bool) {
	s := &Site{Builder: b, Node: n, X: make([]Value, len(n.Args)), XTypes: make([]Type, len(n.Args)), Y: None}
	linear := make([]bool, len(n.Args))
	for k, a := range n.Args {
		s.X[k], s.XTypes[k], linear[k] = at[a], p.Type(a), depends[a]
	}
	b.origin = n.Origin
	for k, c := range n.Op.Transpose(s, linear, seed) {
		if a := n.Args[k]; linear[k] && c != None {
			ct[a] = b.Accumulate(ct[a], c)
		}
	}
}

// VJP returns the program (x, ȳ) ↦ (f(x), Df(x)ᵀ·ȳ): inputs are those of p, then one cotangent for
// each output; outputs are those of p, then the cotangent of each input in wrt. It is an ordinary
// program, so that its JVP is a Hessian-vector product.
//
// Source: reverse mode on a finite computational graph; reverse transformation of the typed tensor fragment.
func VJP(p *Program, wrt []int) *Program {
	return vjp(p, wrt, p.Name+".vjp", true)
}

// Gradient returns the program x ↦ (f(x), ∇f(x)) of a program with one scalar output: its outputs
// are the value, then the gradient with respect to each input in wrt.
func Gradient(p *Program, wrt []int) *Program {
	if len(p.Outputs) != 1 || !p.Type(p.Outputs[0]).Equal(Scalar) {
		panic("graph: the gradient is of a program with one scalar float64 output")
	}
	return vjp(p, wrt, p.Name+".gradient", false)
}

// vjp inlines the primal part and the transposed linear part into one program. The cotangents of
// the outputs are its inputs, or the literal 1.
func vjp(p *Program, wrt []int, name string, seedInputs bool) *Program {
	l := Linearize(p, wrt)
	adjoint := Transpose(l.Linear)
	b := NewBuilder(name)
	taken := nameSet{}
	x := make([]Value, len(p.Inputs))
	for i, in := range p.Inputs {
		x[i] = b.Input(in.Name, in.Type)
		taken.fresh(in.Name)
	}
	seeds := make([]Value, len(p.Outputs))
	for i, t := range p.OutputTypes() {
		if !seedInputs {
			seeds[i] = b.Full(t, 1)
			continue
		}
		seeds[i] = b.Input(taken.fresh("ct_"+p.OutputName(i)), t.Tangent())
	}
	y := b.Inline(l.Primal, x...)
	n := len(p.Outputs)
	ct := b.Inline(adjoint, append(slices.Clone(y[n:]), seeds...)...)
	var outputNames []string
	for i := range p.Outputs {
		outputNames = append(outputNames, p.OutputName(i))
	}
	for _, i := range wrt {
		outputNames = append(outputNames, "ct_"+p.Inputs[i].Name)
	}
	return DropDead(b.BuildNamed(outputNames, append(y[:n:n], ct...)...))
}
