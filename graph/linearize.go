package graph

import "slices"

// Linearization is a program split at a point of use: Primal runs once and hands over residuals,
// Linear maps tangents to tangents.
type Linearization struct {
	// Primal maps p's inputs to p's outputs, then the residuals.
	Primal *Program
	// Linear maps the residuals, then the tangents of the inputs in wrt, to the tangents of p's outputs.
	Linear *Program
	// Residuals is the number of residuals.
	Residuals int
}

// Linearize splits the JVP of p into what does not depend on the tangents and what is linear in
// them. The residuals are every primal value that the linear part reads: each once, in order of
// first use, never recomputed, and nothing else. Tangents that no output depends on are not in the linear part: they
// have no check of their own, and would hold residuals that no reverse pass reads.
//
// Source: linearize as jvp followed by partial evaluation.
func Linearize(p *Program, wrt []int) Linearization {
	d := JVP(p, wrt)
	n := len(p.Inputs)
	for i := n; i < len(d.Inputs); i++ {
		d.Inputs[i].Linear = true
	}
	primal, linear, residuals := d.withoutDeadTangents(n).partition(
		func(i int) bool { return i >= n },
		func(i int) bool { return i >= len(p.Outputs) })
	primal.Name, linear.Name = p.Name+".primal", p.Name+".linear"
	return Linearization{primal, linear, residuals}
}

// withoutDeadTangents returns p without the nodes that depend on an input from first on and that no output depends on.
func (p *Program) withoutDeadTangents(first int) *Program {
	late, keep := make([]bool, p.NumValues()), make([]bool, p.NumValues())
	for v := range late {
		late[v] = v >= first && v < len(p.Inputs)
	}
	for i := range p.Nodes {
		late[len(p.Inputs)+i] = slices.ContainsFunc(p.Nodes[i].Args, func(a Value) bool { return late[a] })
	}
	for _, v := range p.Outputs {
		keep[v] = true
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		v := len(p.Inputs) + i
		if keep[v] = keep[v] || !late[v]; keep[v] {
			for _, a := range p.Nodes[i].Args {
				keep[a] = true
			}
		}
	}
	return p.rebuild(keep)
}

// Split separates what does not depend on the inputs in vary, so that an iteration computes it
// once: early maps all inputs of p but those in vary to the shared values, and late maps the
// shared values, then the inputs in vary, to the outputs of p.
func Split(p *Program, vary []int) (early, late *Program) {
	early, late, _ = p.partition(
		func(i int) bool { return slices.Contains(vary, i) },
		func(int) bool { return true })
	early.Name, late.Name = p.Name+".once", p.Name+".each"
	return early, late
}

// partition splits p into a program of all values that do not depend on a late input, and a
// program of the rest, which reads the former as inputs. Outputs that are not late belong to the first.
func (p *Program) partition(lateInput, lateOutput func(int) bool) (early, late *Program, residuals int) {
	isLate := make([]bool, p.NumValues())
	for i := range p.Inputs {
		isLate[i] = lateInput(i)
	}
	for i := range p.Nodes {
		isLate[len(p.Inputs)+i] = slices.ContainsFunc(p.Nodes[i].Args, func(a Value) bool { return isLate[a] })
	}
	read := p.readByLate(isLate, lateOutput)

	eb, lb := NewBuilder(""), NewBuilder("")
	args := make([]Value, len(p.Inputs))
	for i, in := range p.Inputs {
		if args[i] = None; !isLate[i] {
			args[i] = eb.addInput(in)
		}
	}
	keep := make([]bool, len(isLate))
	for v := range keep {
		keep[v] = !isLate[v]
	}
	inEarly := eb.copyNodes(p, args, keep)

	names := nameSet{}
	for i, in := range p.Inputs {
		if isLate[i] {
			names.fresh(in.Name)
		}
	}
	inLate := make([]Value, p.NumValues())
	for _, v := range read {
		name := names.fresh(p.describe(v))
		inLate[v] = lb.Input(name, p.Type(v))
		eb.Name(inEarly[v], name)
	}
	for i, in := range p.Inputs {
		if isLate[i] {
			inLate[i] = lb.addInput(in)
		}
	}
	var earlyOut, lateOut []Value
	var earlyNames, lateNames []string
	place := func(v Value) Value {
		if n := p.Node(v); !isLate[v] && n != nil && n.Op == Literal {
			return lb.copyNode(n, nil)
		}
		return inLate[v]
	}
	for i := range p.Nodes {
		if v := len(p.Inputs) + i; isLate[v] {
			for _, a := range p.Nodes[i].Args {
				inLate[a] = place(a)
			}
			inLate[v] = lb.copyNode(&p.Nodes[i], inLate)
		}
	}
	for i, v := range p.Outputs {
		if lateOutput(i) {
			lateOut, lateNames = append(lateOut, place(v)), append(lateNames, p.OutputName(i))
		} else {
			earlyOut, earlyNames = append(earlyOut, inEarly[v]), append(earlyNames, p.OutputName(i))
		}
	}
	for _, v := range read {
		earlyOut = append(earlyOut, inEarly[v])
	}
	return eb.BuildNamed(earlyNames, earlyOut...), lb.BuildNamed(lateNames, lateOut...), len(read)
}

// readByLate lists the early values that the late part reads, in order of first use. Literals are
// not read but copied.
func (p *Program) readByLate(isLate []bool, lateOutput func(int) bool) []Value {
	var read []Value
	seen := make([]bool, len(isLate))
	note := func(v Value) {
		if n := p.Node(v); isLate[v] || seen[v] || n != nil && n.Op == Literal {
			return
		}
		seen[v] = true
		read = append(read, v)
	}
	for i := range p.Nodes {
		if isLate[len(p.Inputs)+i] {
			for _, a := range p.Nodes[i].Args {
				note(a)
			}
		}
	}
	for i, v := range p.Outputs {
		if lateOutput(i) {
			note(v)
		}
	}
	return read
}

// describe names a value for a person: its own name, else its operation and the names of its operands.
func (p *Program) describe(v Value) string {
	n := p.Node(v)
	switch {
	case n == nil:
		return p.Inputs[v].Name
	case n.Name != "":
		return n.Name
	}
	name := n.Op.Name
	for _, a := range n.Args {
		if m := p.Node(a); m == nil {
			name += "_" + p.Inputs[a].Name
		} else if m.Name != "" {
			name += "_" + m.Name
		}
	}
	return name
}
