package graph

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Builder writes a program, node by node. Equal operations on equal operands are written once.
type Builder struct {
	p      *Program
	seen   map[string]Value
	key    []byte
	origin string
}

// NewBuilder starts an empty program.
func NewBuilder(name string) *Builder {
	return &Builder{p: &Program{Name: name}, seen: map[string]Value{}}
}

// Input adds an input. All inputs are added before the first node.
func (b *Builder) Input(name string, t Type) Value {
	return b.addInput(Input{Name: name, Type: t})
}

// LinearInput adds an input in which the program is linear.
func (b *Builder) LinearInput(name string, t Type) Value {
	return b.addInput(Input{Name: name, Type: t, Linear: true})
}

func (b *Builder) addInput(in Input) Value {
	if len(b.p.Nodes) > 0 {
		panic("graph: input after the first node")
	}
	b.p.Inputs = append(b.p.Inputs, in)
	return Value(len(b.p.Inputs) - 1)
}

// SetOrigin states the formula that the nodes added from now on come from.
func (b *Builder) SetOrigin(origin string) { b.origin = origin }

// Type returns the type of a value already in the program.
func (b *Builder) Type(v Value) Type { return b.p.Type(v) }

// Node returns the node of a value, or nil for an input.
func (b *Builder) Node(v Value) *Node { return b.p.Node(v) }

// Name names a node, unless it has a name.
func (b *Builder) Name(v Value, name string) {
	if n := b.p.Node(v); n != nil && n.Name == "" {
		n.Name = name
	}
}

// Try adds a node, or says why its operands do not fit.
func (b *Builder) Try(op *Op, at Attrs, args ...Value) (Value, error) {
	types := make([]Type, len(args))
	for i, v := range args {
		types[i] = b.Type(v)
	}
	t, err := op.infer(at, types)
	if err != nil {
		return None, err
	}
	return b.add(Node{Op: op, Args: args, Attrs: at, Type: t, Origin: b.origin}), nil
}

// Emit adds a node whose operands are known to fit; if they do not, that is a mistake of the rule that calls it.
func (b *Builder) Emit(op *Op, at Attrs, args ...Value) Value {
	v, err := b.Try(op, at, args...)
	if err != nil {
		panic("graph: " + err.Error())
	}
	return v
}

// Literal adds a constant.
func (b *Builder) Literal(x *Tensor) Value {
	return b.add(Node{Op: Literal, Type: x.Type, Value: x, Origin: b.origin})
}

// Full adds a float constant all of whose entries are x, rounded to the element type.
func (b *Builder) Full(t Type, x float64) Value {
	value := &Tensor{Type: t}
	if t.DType != Float0 && t.Len() > 0 {
		value.F = []float64{x}
	}
	if t.DType == Float32 {
		value.Round32()
	}
	return b.Literal(value)
}

// Zeros adds the zero of a tangent type, for the places that need an array.
func (b *Builder) Zeros(t Type) Value { return b.Full(t, 0) }

// Accumulate adds two tangents or cotangents, either of which may be None.
func (b *Builder) Accumulate(x, y Value) Value {
	switch {
	case x == None:
		return y
	case y == None:
		return x
	}
	return b.Emit(Add, nil, x, y)
}

// Inline adds the nodes of p with args for its inputs, and returns the values of its outputs.
func (b *Builder) Inline(p *Program, args ...Value) []Value {
	at := b.copyNodes(p, args, nil)
	return outputsAt(p, at)
}

// copyNodes copies the nodes of p that keep selects (all where it is nil) and returns where every value went.
func (b *Builder) copyNodes(p *Program, args []Value, keep []bool) []Value {
	if len(args) != len(p.Inputs) {
		panic(fmt.Sprintf("graph: %s has %d inputs, given %d", p.Name, len(p.Inputs), len(args)))
	}
	at := make([]Value, p.NumValues())
	for i := range at {
		at[i] = None
	}
	for i, v := range args {
		if v != None && !b.Type(v).Equal(p.Inputs[i].Type) {
			panic(fmt.Sprintf("graph: %s wants %v for %s, has %v", p.Name, p.Inputs[i].Type, p.Inputs[i].Name, b.Type(v)))
		}
		at[i] = v
	}
	for i := range p.Nodes {
		v := len(p.Inputs) + i
		if keep == nil || keep[v] {
			at[v] = b.copyNode(&p.Nodes[i], at)
		}
	}
	return at
}

// copyNode adds a node of another program, its operands taken from at.
func (b *Builder) copyNode(n *Node, at []Value) Value {
	c := *n
	c.Args = make([]Value, len(n.Args))
	for i, a := range n.Args {
		c.Args[i] = at[a]
	}
	return b.add(c)
}

// add appends a node, or returns the equal one that is there.
func (b *Builder) add(n Node) Value {
	key := b.nodeKey(&n)
	if v, ok := b.seen[key]; ok {
		b.Name(v, n.Name)
		return v
	}
	b.p.Nodes = append(b.p.Nodes, n)
	v := Value(b.p.NumValues() - 1)
	b.seen[key] = v
	return v
}

// nodeKey is equal for nodes that compute the same value with the same checks.
func (b *Builder) nodeKey(n *Node) string {
	k := append(append(b.key[:0], n.Op.Name...), n.Op.bodyKey...)
	word := func(x uint64) { k = binary.LittleEndian.AppendUint64(k, x) }
	word(uint64(len(n.Args)))
	for _, a := range n.Args {
		word(uint64(a))
	}
	for _, a := range n.Attrs {
		k = append(append(k, a.Name...), 0)
		word(uint64(len(a.Ints)))
		for _, i := range a.Ints {
			word(uint64(i))
		}
	}
	if n.Value != nil {
		k = append(k, byte(n.Type.DType))
		word(uint64(len(n.Type.Shape)))
		for _, d := range n.Type.Shape {
			word(uint64(d))
		}
		for _, f := range n.Value.F {
			word(math.Float64bits(f))
		}
		for _, i := range n.Value.I {
			word(uint64(i))
		}
	}
	b.key = k
	return string(k)
}

// Build returns the program with the given outputs. The builder is not used again.
func (b *Builder) Build(outputs ...Value) *Program {
	b.p.Outputs = outputs
	return b.p
}

// BuildNamed is Build with names for the outputs.
func (b *Builder) BuildNamed(names []string, outputs ...Value) *Program {
	b.p.OutputNames = names
	return b.Build(outputs...)
}
