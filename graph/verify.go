package graph

import (
	"fmt"
	"math"
	"regexp"
)

var (
	identifier  = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)
	programName = regexp.MustCompile(`^[^\s()]+$`)
)

// Verify checks every invariant of a program: names, types, dependency order, attributes,
// literals, and, of a linear program, that its outputs are linear in the marked inputs.
func Verify(p *Program) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("program %s: %w", p.Name, fmt.Errorf(format, args...))
	}
	if !programName.MatchString(p.Name) {
		return fail("%q is not a name", p.Name)
	}
	names := map[string]bool{}
	for i, in := range p.Inputs {
		if !identifier.MatchString(in.Name) {
			return fail("input %d: %q is not a name", i, in.Name)
		}
		if names[in.Name] {
			return fail("input %q appears twice", in.Name)
		}
		names[in.Name] = true
		if err := in.Type.Shape.Check(); err != nil {
			return fail("input %q: %w", in.Name, err)
		}
		if in.Linear && in.Type.DType != Float0 && !in.Type.DType.IsFloat() {
			return fail("linear input %q is of type %v, want floats", in.Name, in.Type)
		}
		if i > 0 && !in.Linear && p.Inputs[i-1].Linear {
			return fail("residual %q stands after a linear input", in.Name)
		}
	}
	for i := range p.Nodes {
		if err := verifyNode(p, i); err != nil {
			return fail("%w", err)
		}
	}
	for i, v := range p.Outputs {
		if v < 0 || int(v) >= p.NumValues() {
			return fail("output %d is value %d of %d", i, v, p.NumValues())
		}
	}
	if len(p.OutputNames) > len(p.Outputs) {
		return fail("%d names for %d outputs", len(p.OutputNames), len(p.Outputs))
	}
	for i, name := range p.OutputNames {
		if name != "" && !identifier.MatchString(name) {
			return fail("output %d: %q is not a name", i, name)
		}
	}
	if p.IsLinear() {
		if err := verifyLinear(p); err != nil {
			return fail("%w", err)
		}
	}
	return nil
}

func verifyNode(p *Program, i int) error {
	n := &p.Nodes[i]
	if n.Op == nil {
		return fmt.Errorf("node %d has no operation", i)
	}
	if n.Name != "" && !identifier.MatchString(n.Name) {
		return fmt.Errorf("%s node %d: %q is not a name", n.Op.Name, i, n.Name)
	}
	self := Value(len(p.Inputs) + i)
	types := make([]Type, len(n.Args))
	for k, a := range n.Args {
		if a < 0 || a >= self {
			return fmt.Errorf("%s node %d: operand %d is value %d, which is not before it", n.Op.Name, i, k, a)
		}
		types[k] = p.Type(a)
	}
	if n.Op == Literal {
		if len(n.Args)+len(n.Attrs) > 0 {
			return fmt.Errorf("literal node %d: has operands or attributes", i)
		}
		return verifyLiteral(n)
	}
	if n.Value != nil {
		return fmt.Errorf("%s node %d: has a literal value", n.Op.Name, i)
	}
	t, err := n.Op.infer(n.Attrs, types)
	if err != nil {
		return fmt.Errorf("node %d: %w", i, err)
	}
	if !t.Equal(n.Type) {
		return fmt.Errorf("%s node %d: want type %v, have %v", n.Op.Name, i, t, n.Type)
	}
	return nil
}

func verifyLiteral(n *Node) error {
	if n.Value == nil || !n.Value.Type.Equal(n.Type) {
		return fmt.Errorf("literal: no value of type %v", n.Type)
	}
	if err := n.Type.Shape.Check(); err != nil {
		return fmt.Errorf("literal: %w", err)
	}
	have, want := len(n.Value.F)+len(n.Value.I), n.Type.Len()
	switch {
	case n.Type.DType == Float0 && have != 0:
		return fmt.Errorf("literal of type %v has %d entries", n.Type, have)
	case n.Type.DType != Float0 && have != want && (have != 1 || want == 0):
		return fmt.Errorf("literal of type %v: want %d entries, or one for all, have %d", n.Type, want, have)
	case n.Type.DType.IsFloat() && len(n.Value.I) > 0, !n.Type.DType.IsFloat() && len(n.Value.F) > 0:
		return fmt.Errorf("literal of type %v has entries of another type", n.Type)
	}
	for _, x := range n.Value.I {
		if n.Type.DType == Bool && x != 0 && x != 1 {
			return fmt.Errorf("literal entry %d is no boolean", x)
		}
	}
	for _, x := range n.Value.F {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("literal entry %v is not finite", x)
		}
		if n.Type.DType == Float32 && float64(float32(x)) != x {
			return fmt.Errorf("literal entry %v is no float32", x)
		}
	}
	return nil
}

// dependence classifies values of a linear program.
type dependence uint8

const (
	fixed  dependence = iota // does not depend on a linear input
	zero                     // a literal zero, or linear in nothing but zeros: fixed and linear at once
	linear                   // linear in the linear inputs
)

// verifyLinear proves by induction over the nodes that every output is a linear function of the linear inputs.
func verifyLinear(p *Program) error {
	kind := make([]dependence, p.NumValues())
	for i, in := range p.Inputs {
		if in.Linear {
			kind[i] = linear
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		self := len(p.Inputs) + i
		if n.isZero() {
			kind[self] = zero
			continue
		}
		marked := make([]bool, len(n.Args))
		mark := func(least, most dependence) bool {
			any := false
			for k, a := range n.Args {
				marked[k] = least <= kind[a] && kind[a] <= most
				any = any || marked[k]
			}
			return any
		}
		if !mark(linear, linear) {
			if mark(zero, zero) && n.Op.LinearIn != nil && n.Op.LinearIn(marked) {
				kind[self] = zero
			}
			continue
		}
		kind[self] = linear
		if n.Op.LinearIn != nil && n.Op.LinearIn(marked) {
			continue
		}
		mark(zero, linear)
		if n.Op.LinearIn == nil || !n.Op.LinearIn(marked) {
			return fmt.Errorf("%s node %d is not linear in its linear operands", n.Op.Name, i)
		}
	}
	for i, v := range p.Outputs {
		if kind[v] == fixed && p.Type(v).DType != Float0 {
			return fmt.Errorf("output %d of a linear program does not depend on its linear inputs, and is no literal zero", i)
		}
	}
	return nil
}

// isZero reports whether the node is a literal zero.
func (n *Node) isZero() bool {
	if n.Op != Literal {
		return false
	}
	for _, x := range n.Value.F {
		if x != 0 {
			return false
		}
	}
	return n.Type.DType.IsFloat() || n.Type.DType == Float0
}
