package graph

import "fmt"

// Eval runs a program on the reference evaluator and returns its outputs. An input of the wrong
// number or type is an ordinary error; a failing check is a *Failure. Outputs share nothing with the
// inputs; equal outputs share their entries.
func Eval(p *Program, inputs ...*Tensor) ([]*Tensor, error) {
	values, err := Trace(p, inputs...)
	if err != nil {
		return nil, err
	}
	return p.outputsOf(values), nil
}

func (p *Program) outputsOf(values []*Tensor) []*Tensor {
	outputs := make([]*Tensor, len(p.Outputs))
	for i, v := range p.Outputs {
		if outputs[i] = values[v]; int(v) < len(p.Inputs) {
			outputs[i] = values[v].Clone()
		}
	}
	return outputs
}

// Trace runs a program on the reference evaluator and returns every value: the primal tape. It is
// the oracle that every other evaluator must equal: plain loops, operation by operation, into
// fresh buffers, with every check in program order.
func Trace(p *Program, inputs ...*Tensor) ([]*Tensor, error) {
	if err := checkInputs(p, inputs); err != nil {
		return nil, err
	}
	values := make([]*Tensor, p.NumValues())
	copy(values, inputs)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := make([]*Tensor, len(n.Args))
		for k, a := range n.Args {
			in[k] = values[a]
		}
		out, fault := n.Run(in)
		v := Value(len(p.Inputs) + i)
		if fault != nil {
			return nil, p.failure(v, fault)
		}
		values[v] = out
	}
	return values, nil
}

func checkInputs(p *Program, inputs []*Tensor) error {
	if len(inputs) != len(p.Inputs) {
		return fmt.Errorf("%s wants %d inputs, has %d", p.Name, len(p.Inputs), len(inputs))
	}
	for i, x := range inputs {
		in := p.Inputs[i]
		if x == nil || !x.Type.Equal(in.Type) {
			have := "nothing"
			if x != nil {
				have = x.Type.String()
			}
			return fmt.Errorf("%s wants %v for input %s, has %s", p.Name, in.Type, in.Name, have)
		}
		if err := x.wellFormed(); err != nil {
			return fmt.Errorf("%s: input %s: %w", p.Name, in.Name, err)
		}
		if k := x.nonFinite(); k >= 0 {
			return &Failure{Status: NonFinite, Name: in.Name, Entry: in.Type.Shape.Index(k),
				Reason: fmt.Sprintf("the input is %v", x.F[k])}
		}
	}
	return nil
}

// failure adds the place to a fault. A value without a name of its own is known by its formula; only
// where there is none does the printer's letter say which it is.
func (p *Program) failure(v Value, fault *Fault) *Failure {
	n := p.Node(v)
	name := ""
	if n.Name != "" || n.Origin == "" {
		name = p.Names()[v]
	}
	return &Failure{Status: fault.Status, Op: n.Op.Name, Name: name, Entry: n.Type.Shape.Index(fault.Offset),
		Origin: n.Origin, Reason: fault.Reason}
}

// Run evaluates one node with every check, into a fresh tensor.
func (n *Node) Run(in []*Tensor) (*Tensor, *Fault) {
	out := NewTensor(n.Type)
	if fault := n.runInto(out, in); fault != nil {
		return nil, fault
	}
	return out, nil
}

// runInto evaluates one node with every check into a tensor of zeros.
func (n *Node) runInto(out *Tensor, in []*Tensor) *Fault {
	if n.Op == Literal {
		out.fill(n.Value)
		return nil
	}
	if n.Op.Check != nil {
		if fault := n.checkEntries(out.Len(), in); fault != nil {
			return fault
		}
	}
	switch {
	case n.Op.Unary != nil && n.Type.DType.IsFloat():
		for i, x := range in[0].F {
			out.F[i] = n.Op.Unary(x)
		}
	case n.Op.Binary != nil && n.Type.DType.IsFloat():
		for i, x := range in[0].F {
			out.F[i] = n.Op.Binary(x, in[1].F[i])
		}
	default:
		if fault := n.Op.Eval(n.Attrs, out, in); fault != nil {
			return fault
		}
	}
	if n.Type.DType == Float32 {
		out.Round32()
	}
	if k := out.nonFinite(); k >= 0 {
		return &Fault{Status: NonFinite, Offset: k,
			Reason: fmt.Sprintf("%s of finite operands is %v: the true value is beyond the floating-point range", n.Op.Name, out.F[k])}
	}
	return nil
}

// fill copies the entries of a literal, or spreads its one entry.
func (x *Tensor) fill(value *Tensor) {
	for i := range x.F {
		x.F[i] = value.F[min(i, len(value.F)-1)]
	}
	for i := range x.I {
		x.I[i] = value.I[min(i, len(value.I)-1)]
	}
}

// checkEntries classifies the entries of an elementwise operation in order and returns the first fault.
func (n *Node) checkEntries(count int, in []*Tensor) *Fault {
	order := n.Attrs.Ints(Order)
	if order == nil {
		order = make([]int, len(in))
	}
	x := make([]float64, len(in))
	for i := range count {
		entries(x, in, i)
		if fault := n.Op.Check(n.Attrs, order, x); fault != nil {
			fault.Offset = i
			return fault
		}
	}
	return nil
}
