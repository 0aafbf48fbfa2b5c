package graph

import (
	"fmt"
	"slices"
)

// Declare returns an operation with a declared response: its value is that of forward, and its
// reverse is response, whether or not response is the derivative's transpose.
//
// forward is a program x ↦ y of one float output. response is a program (x, γ) ↦ x̄, linear in its
// last input γ, of y's type, with one output for each x. The JVP of the operation applies the
// transpose of response, so that the transpose of the JVP is response. A JVP of a reverse pass
// differentiates response as it stands, and the values that it reads by their declared tangents;
// AsImplemented takes the latter by their classical ones.
//
// Source: declared responses of the typed tensor fragment (its proposition 4.3).
func Declare(name string, forward, response *Program) (*Op, error) {
	if err := checkDeclared(forward, response); err != nil {
		return nil, fmt.Errorf("declared response %s: %w", name, err)
	}
	op := newComposite(name, name, forward, nil)
	op.bodyKey += response.key()
	op.LinearIn = func([]bool) bool { return false } // its tangent is declared, not read off its program
	op.JVP = func(s *Site, dx []Value) Value {
		wrt := active(dx)
		args := slices.Clone(s.X)
		var outputs []Value
		for _, i := range wrt {
			args, outputs = append(args, dx[i]), append(outputs, response.Outputs[i])
		}
		var pullbacks []*Program
		for _, v := range outputs {
			pullbacks = append(pullbacks, response.WithOutputs(v))
		}
		tangent := Transpose(response.WithOutputs(outputs...))
		return s.emitComposite(name+"_tangent", name, tangent, pullbacks, args, len(s.X))
	}
	return op, nil
}

func checkDeclared(forward, response *Program) error {
	for _, p := range []*Program{forward, response} {
		if err := Verify(p); err != nil {
			return err
		}
	}
	n := len(forward.Inputs)
	if len(forward.Outputs) != 1 || !forward.Type(forward.Outputs[0]).DType.IsFloat() {
		return fmt.Errorf("wants a value of one float output")
	}
	if len(response.Inputs) != n+1 || len(response.Outputs) != n {
		return fmt.Errorf("wants a response from %d operands and a seed to %d cotangents, has %d inputs and %d outputs",
			n, n, len(response.Inputs), len(response.Outputs))
	}
	for i, in := range forward.Inputs {
		if have := response.Inputs[i]; !have.Type.Equal(in.Type) || have.Linear {
			return fmt.Errorf("wants %v for operand %s of the response, not linear, has %v", in.Type, in.Name, have.Type)
		}
		if have, want := response.Type(response.Outputs[i]), in.Type.Tangent(); !have.Equal(want) {
			return fmt.Errorf("wants %v for the cotangent of operand %s, has %v", want, in.Name, have)
		}
	}
	seed, y := response.Inputs[n], forward.Type(forward.Outputs[0])
	if !seed.Linear || !seed.Type.Equal(y) {
		return fmt.Errorf("wants a linear seed of type %v, has %v", y, seed.Type)
	}
	return nil
}

// AsImplemented returns p with every declared operation as the program that computes it. It is
// the same function with the same marks, and its derivatives are those of that function: taken of a reverse pass,
// the derivatives of the pullback that is implemented.
func AsImplemented(p *Program) *Program {
	q := *p
	q.Nodes = slices.Clone(p.Nodes)
	for i := range q.Nodes {
		if op := q.Nodes[i].Op; op.Body != nil {
			q.Nodes[i].Op = newComposite(op.Name, op.Declared, AsImplemented(op.Body), nil)
		}
	}
	return &q
}

// Declared returns the names, sorted, of the declared responses that an output of p depends on. Its
// derivatives carry them too: what depends on a declared response is not a classical derivative.
func Declared(p *Program, output int) []string {
	needed := make([]bool, p.NumValues())
	needed[p.Outputs[output]] = true
	var names []string
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		if !needed[len(p.Inputs)+i] {
			continue
		}
		n := &p.Nodes[i]
		names = append(names, n.Op.declaredNames()...)
		for _, a := range n.Args {
			needed[a] = true
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// declaredNames lists the declared responses of an operation and of the program that it stands for.
func (op *Op) declaredNames() []string {
	if op.Body == nil {
		return nil
	}
	var names []string
	if op.Declared != "" {
		names = append(names, op.Declared)
	}
	for i := range op.Body.Nodes {
		names = append(names, op.Body.Nodes[i].Op.declaredNames()...)
	}
	return names
}
