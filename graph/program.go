package graph

import (
	"fmt"
	"slices"
)

// Value names a value of a program: its inputs are numbered first, then its nodes.
type Value int32

// None is the symbolic zero: a tangent or cotangent that is zero by structure. It never becomes an array.
const None Value = -1

// Input is an input of a program. In a linear program the linear inputs are marked; the others are residuals.
type Input struct {
	Name   string
	Type   Type
	Linear bool
}

// Node is one operation of a program.
type Node struct {
	Op    *Op
	Args  []Value
	Attrs Attrs
	Type  Type
	Value *Tensor // of a literal: all entries, or one that stands for all
	Name  string  // "" for a value that the printer may name
	// Origin is the formula that the node was lowered from; errors show it.
	Origin string
}

// Program is a finite straight-line program: typed inputs, nodes in dependency order, and an
// ordered list of outputs. An output may be an input, and outputs may repeat. A program with a
// linear input is a linear program. Programs are not modified after they are built.
type Program struct {
	Name    string
	Inputs  []Input
	Nodes   []Node
	Outputs []Value
	// OutputNames are the names of the outputs, used to name cotangents; it may be empty.
	OutputNames []string
}

// NumValues is the number of inputs and nodes.
func (p *Program) NumValues() int { return len(p.Inputs) + len(p.Nodes) }

// Node returns the node of a value, or nil for an input.
func (p *Program) Node(v Value) *Node {
	if int(v) < len(p.Inputs) {
		return nil
	}
	return &p.Nodes[int(v)-len(p.Inputs)]
}

// Type returns the type of a value.
func (p *Program) Type(v Value) Type {
	if int(v) < len(p.Inputs) {
		return p.Inputs[v].Type
	}
	return p.Nodes[int(v)-len(p.Inputs)].Type
}

// IsLinear reports whether p is a linear program.
func (p *Program) IsLinear() bool {
	return slices.ContainsFunc(p.Inputs, func(in Input) bool { return in.Linear })
}

// OutputTypes returns the types of the outputs.
func (p *Program) OutputTypes() []Type {
	types := make([]Type, len(p.Outputs))
	for i, v := range p.Outputs {
		types[i] = p.Type(v)
	}
	return types
}

// OutputName returns the name of output i: the given one, else that of its value.
func (p *Program) OutputName(i int) string {
	if i < len(p.OutputNames) && p.OutputNames[i] != "" {
		return p.OutputNames[i]
	}
	if v := p.Outputs[i]; int(v) < len(p.Inputs) {
		return p.Inputs[v].Name
	} else if n := p.Node(v); n.Name != "" {
		return n.Name
	}
	return fmt.Sprintf("out%d", i)
}

// outputsAt picks the outputs of p from what there is for each of its values.
func outputsAt[T any](p *Program, at []T) []T {
	outputs := make([]T, len(p.Outputs))
	for i, v := range p.Outputs {
		outputs[i] = at[v]
	}
	return outputs
}

// WithOutputs returns the program that computes the given values of p instead, every check included.
func (p *Program) WithOutputs(outputs ...Value) *Program {
	q := *p
	q.Outputs, q.OutputNames = outputs, nil
	return &q
}
