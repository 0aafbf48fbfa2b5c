package module

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// Check checks a module for all valuations of its dimension names at once. The first mistake is an *Error.
func (m *Module) Check() error {
	_, err := m.check()
	if err != nil {
		return err
	}
	// What is left, that responses are linear and that fixed sizes do not overflow, does not depend on the
	// sizes of named dimensions.
	ones := Valuation{}
	for _, name := range m.Dimensions() {
		ones[name] = 1
	}
	_, err = m.Program(ones)
	return err
}

// check returns the types of all names.
func (m *Module) check() (map[string]symbolic, error) {
	if !identifier.MatchString(m.Name) {
		return nil, m.refuse("", "%q is no name for a module", m.Name)
	}
	types := map[string]symbolic{}
	for _, in := range m.Inputs {
		at := place("input", in.Name)
		if !identifier.MatchString(in.Name) {
			return nil, m.refuse(at, "this is no name")
		}
		if _, ok := types[in.Name]; ok {
			return nil, m.refuse(at, "the input appears twice")
		}
		if !slices.Contains([]string{"", "i64", "bool"}, in.DType) {
			return nil, m.refuse(at, "unknown dtype %q, want \"i64\", \"bool\", or none for real numbers", in.DType)
		}
		t := symbolic{dtype: in.DType}
		for _, d := range in.Shape {
			if err := d.check(); err != nil {
				return nil, m.refuse(at, "%v", err)
			}
			t.shape = append(t.shape, d.poly())
		}
		types[in.Name] = t
	}
	if err := m.checkNodes("", m.Nodes, types); err != nil {
		return nil, err
	}
	if len(m.Outputs) == 0 {
		return nil, m.refuse("", "there are no outputs")
	}
	for _, name := range m.Outputs {
		if _, ok := types[name]; !ok {
			return nil, m.refuse(place("output", name), "there is no such node or input")
		}
	}
	return types, nil
}

func (d Dim) check() error {
	switch {
	case d.Name != "" && !identifier.MatchString(d.Name):
		return fmt.Errorf("%q is no name for a dimension", d.Name)
	case d.Name == "" && d.Size < 1:
		return fmt.Errorf("dimension %d is not positive", d.Size)
	}
	return nil
}

// checkNodes types a list of nodes and enters their names.
func (m *Module) checkNodes(within string, nodes []Node, types map[string]symbolic) error {
	isInput := map[string]bool{}
	for name := range types {
		isInput[name] = true
	}
	for i := range nodes {
		n := &nodes[i]
		at := within + place("node", n.Name)
		t, err := m.checkNode(at, n, nodes[i:], types)
		if err != nil {
			var refusal *Error
			if errors.As(err, &refusal) {
				return refusal
			}
			refusal = m.refuse(at, "%v", err)
			if e := (*mismatch)(nil); errors.As(err, &e) {
				refusal.Reason, refusal.Needs = e.reason, e.needs
			}
			refusal.Reason = n.Primitive + ": " + refusal.Reason
			return refusal
		}
		switch _, ok := types[n.Name]; {
		case !identifier.MatchString(n.Name):
			return m.refuse(at, "this is no name")
		case isInput[n.Name]:
			return m.refuse(at, "an input has this name")
		case ok:
			return m.refuse(at, "a node before it has this name")
		}
		types[n.Name] = t
	}
	return nil
}

func (m *Module) checkNode(at string, n *Node, rest []Node, types map[string]symbolic) (symbolic, error) {
	p := primitives[n.Primitive]
	if p == nil {
		return symbolic{}, m.refuse(at, "unknown primitive %q", n.Primitive)
	}
	c := &call{node: n}
	for _, name := range n.Operands {
		t, ok := types[name]
		switch {
		case ok:
			c.in = append(c.in, t)
		case slices.ContainsFunc(rest, func(r Node) bool { return r.Name == name }):
			return symbolic{}, m.refuse(at, "operand %q is used before it is defined", name)
		default:
			return symbolic{}, m.refuse(at, "operand %q is not defined", name)
		}
	}
	switch {
	case p.arity >= 0 && len(c.in) != p.arity:
		return symbolic{}, fmt.Errorf("wants %d operands, has %d", p.arity, len(c.in))
	case p.arity < 0 && len(c.in) == 0:
		return symbolic{}, fmt.Errorf("wants at least one operand")
	}
	if err := p.checkAttributes(n); err != nil {
		return symbolic{}, err
	}
	t, err := p.infer(c)
	if err != nil {
		return t, err
	}
	if n.Response != nil {
		err = m.checkResponse(at, n, c.in, t)
	}
	return t, err
}

func (p *primitive) checkAttributes(n *Node) error {
	seen := map[string]bool{}
	for _, a := range n.Attributes {
		i := slices.IndexFunc(p.attrs, func(s attrSpec) bool { return s.name == a.Name })
		if i < 0 {
			return fmt.Errorf("unknown attribute %q", a.Name)
		}
		if seen[a.Name] {
			return fmt.Errorf("attribute %q appears twice", a.Name)
		}
		seen[a.Name] = true
		if err := p.attrs[i].check(a); err != nil {
			return err
		}
	}
	for _, s := range p.attrs {
		if !s.optional && !seen[s.name] {
			return fmt.Errorf("missing attribute %q", s.name)
		}
	}
	return nil
}

func (s attrSpec) check(a Attribute) error {
	wrong := fmt.Errorf("attribute %q is %s, want %s", a.Name, a.text(), kindWords[s.kind])
	if s.kind != numbers && a.List != (s.kind == integers || s.kind == dims) || !a.List && len(a.Values) != 1 {
		return wrong
	}
	for _, v := range a.Values {
		isDim := s.kind == dim || s.kind == dims
		switch {
		case s.kind == flag && v.Kind != Flag,
			s.kind != flag && v.Kind == Flag,
			v.Kind == Name && !isDim,
			v.Kind == Real && s.kind != numbers:
			return wrong
		case isDim:
			if err := (Dim{Name: v.Name, Size: v.Int}).check(); err != nil {
				return fmt.Errorf("attribute %q: %w", a.Name, err)
			}
		}
	}
	return nil
}

// checkResponse types a declared response: from the operands' types and a seed to the operands' types.
func (m *Module) checkResponse(at string, n *Node, operands []symbolic, result symbolic) error {
	r := n.Response
	at += ": response"
	if len(r.Operands) != len(operands) || len(r.Outputs) != len(operands) {
		return m.refuse(at, "wants %d operands and as many outputs, has %d and %d", len(operands), len(r.Operands), len(r.Outputs))
	}
	types := map[string]symbolic{}
	for i, name := range append(slices.Clone(r.Operands), r.Seed) {
		t := result
		if i < len(operands) {
			t = operands[i]
		}
		if t.dtype != "" {
			return m.refuse(at, "wants real operands and a real result, has %v", t)
		}
		if !identifier.MatchString(name) {
			return m.refuse(at, "%q is no name", name)
		}
		if _, ok := types[name]; ok {
			return m.refuse(at, "name %q appears twice", name)
		}
		types[name] = t
	}
	if err := m.checkNodes(at+": ", r.Nodes, types); err != nil {
		return err
	}
	for i, name := range r.Outputs {
		t, ok := types[name]
		if !ok {
			return m.refuse(at, "there is no node, operand or seed %q", name)
		}
		if t.dtype != "" {
			return m.refuse(at, "output %q is %v, want real numbers", name, t)
		}
		if err := equalShapes(t.shape, operands[i].shape, "output %q is %v, operand %d is %v", name, t, i, operands[i]); err != nil {
			e := err.(*mismatch)
			return &Error{Module: m.Name, Place: at, Reason: e.reason, Needs: e.needs}
		}
	}
	return nil
}
