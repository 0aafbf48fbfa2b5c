package module

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// Valuation gives every dimension name of a module its size.
type Valuation map[string]int

// Program lowers the module for one valuation, real numbers being float64. Every node of the document is a node of
// the program, in its order and under its name.
func (m *Module) Program(v Valuation) (*graph.Program, error) { return m.ProgramOf(v, graph.Float64) }

// ProgramOf is Program with real numbers of the given float type.
func (m *Module) ProgramOf(v Valuation, float graph.DType) (*graph.Program, error) {
	types, err := m.check()
	if err != nil {
		return nil, err
	}
	names := m.Dimensions()
	for name, size := range v {
		if size < 1 || size > graph.MaxEntries {
			return nil, m.refuse(place("dimension", name), "size %d is not between 1 and %d", size, graph.MaxEntries)
		}
		if !slices.Contains(names, name) {
			return nil, m.refuse(place("dimension", name), "the module has no such dimension")
		}
	}
	for _, name := range names {
		if v[name] == 0 {
			return nil, m.refuse(place("dimension", name), "the valuation gives no size")
		}
	}
	l := &lowering{module: m, valuation: v, float: float}
	p := &graph.Program{Name: m.Name, OutputNames: slices.Clone(m.Outputs)}
	scope := map[string]graph.Value{}
	for _, in := range m.Inputs {
		t, err := l.concrete(types[in.Name])
		if err != nil {
			return nil, m.refuse(place("input", in.Name), "%v", err)
		}
		scope[in.Name] = graph.Value(len(p.Inputs))
		p.Inputs = append(p.Inputs, graph.Input{Name: in.Name, Type: t})
	}
	if err := l.nodes("", p, m.Nodes, types, scope); err != nil {
		return nil, err
	}
	for _, name := range m.Outputs {
		p.Outputs = append(p.Outputs, scope[name])
	}
	if err := graph.Verify(p); err != nil {
		return nil, m.refuse("", "%v", err)
	}
	return p, nil
}

type lowering struct {
	module    *Module
	valuation Valuation
	float     graph.DType
}

// concrete is a type for the valuation.
func (l *lowering) concrete(t symbolic) (graph.Type, error) {
	out := graph.Type{DType: map[string]graph.DType{"": l.float, "i64": graph.Int64, "bool": graph.Bool}[t.dtype]}
	entries := big.NewInt(1)
	for i, d := range t.shape {
		size := d.at(l.valuation)
		if size.Sign() < 1 {
			return out, fmt.Errorf("dimension %d of shape %s is %v, not positive", i, shapeText(t.shape), size)
		}
		if entries.Mul(entries, size); entries.Cmp(big.NewInt(graph.MaxEntries)) > 0 {
			return out, fmt.Errorf("shape %s overflows: it has more than %d entries", shapeText(t.shape), graph.MaxEntries)
		}
		out.Shape = append(out.Shape, int(size.Int64()))
	}
	return out, nil
}

// nodes appends the lowered nodes to a program; scope says where every name is.
func (l *lowering) nodes(within string, p *graph.Program, nodes []Node, types map[string]symbolic, scope map[string]graph.Value) error {
	for i := range nodes {
		n := &nodes[i]
		at := within + place("node", n.Name)
		c := &call{node: n}
		node := graph.Node{Name: n.Name}
		for _, name := range n.Operands {
			c.in = append(c.in, types[name])
			node.Args = append(node.Args, scope[name])
		}
		result, err := primitives[n.Primitive].infer(c)
		if err != nil {
			return l.module.refuse(at, "%v", err)
		}
		types[n.Name] = result
		if node.Type, err = l.concrete(result); err != nil {
			return l.module.refuse(at, "%v", err)
		}
		node.Op, node.Attrs = c.lower(l.valuation, node.Type)
		if node.Op == graph.Literal {
			if node.Value, err = c.literal(node.Type); err != nil {
				return l.module.refuse(at, "%v", err)
			}
		}
		if n.Response != nil {
			if node.Op, err = l.declared(at, p, n, c, node, result); err != nil {
				return err
			}
			node.Attrs = nil
		}
		scope[n.Name] = graph.Value(p.NumValues())
		p.Nodes = append(p.Nodes, node)
	}
	return nil
}

// lower gives the operation of a node.
func (c *call) lower(v Valuation, result graph.Type) (*graph.Op, graph.Attrs) {
	if lower := primitives[c.node.Primitive].lower; lower != nil {
		return lower(c, v, result)
	}
	return op.Lookup(c.node.Primitive), c.lowered(v)
}

// lowered are the attributes with dimensions at a valuation, in the primitive's order; a flag that is off is absent.
func (c *call) lowered(v Valuation) graph.Attrs {
	var out graph.Attrs
	for _, a := range c.node.ordered() {
		attr := graph.Attr{Name: a.Name}
		for _, e := range a.Values {
			size := e.Int
			if e.Kind == Name {
				size = v[e.Name]
			}
			attr.Ints = append(attr.Ints, size)
		}
		if a.Values != nil && a.Values[0].Kind == Flag && attr.Ints[0] == 0 {
			continue
		}
		out = append(out, attr)
	}
	return out
}

// literal is the value of a literal node, rounded to the float type.
func (c *call) literal(t graph.Type) (*graph.Tensor, error) {
	x := &graph.Tensor{Type: t}
	for _, v := range c.attribute("value").Values {
		entry := v.Real
		if v.Kind == Integer {
			entry = float64(v.Int)
		}
		x.F = append(x.F, entry)
	}
	if t.DType == graph.Float32 {
		x.Round32()
	}
	return x, nil
}

// declared gives the operation of a node with a declared response, named for the node.
func (l *lowering) declared(at string, p *graph.Program, n *Node, c *call, node graph.Node, result symbolic) (*graph.Op, error) {
	forward, response := &graph.Program{Name: n.Name}, &graph.Program{Name: n.Name + "_response"}
	types, scope := map[string]symbolic{}, map[string]graph.Value{}
	inner := node
	inner.Args, inner.Name = nil, ""
	for k, a := range node.Args {
		name := n.Response.Operands[k]
		in := graph.Input{Name: name, Type: p.Type(a)}
		forward.Inputs, response.Inputs = append(forward.Inputs, in), append(response.Inputs, in)
		types[name], scope[name] = c.in[k], graph.Value(k)
		inner.Args = append(inner.Args, graph.Value(k))
	}
	forward.Nodes = []graph.Node{inner}
	forward.Outputs = []graph.Value{graph.Value(len(forward.Inputs))}
	seed := n.Response.Seed
	response.Inputs = append(response.Inputs, graph.Input{Name: seed, Type: node.Type, Linear: true})
	types[seed], scope[seed] = result, graph.Value(len(node.Args))
	if err := l.nodes(at+": response: ", response, n.Response.Nodes, types, scope); err != nil {
		return nil, err
	}
	for _, name := range n.Response.Outputs {
		response.Outputs = append(response.Outputs, scope[name])
	}
	o, err := graph.Declare(n.Name, forward, response)
	if err != nil {
		return nil, l.module.refuse(at, "%v", err)
	}
	return o, nil
}

// Objective lowers the module followed by the pairing ⟨G, Y⟩ of its real outputs with seeds that are further inputs
// (seed0_Y for output 0, named Y): a scalar, whose gradient is the module's pullback of G.
func (m *Module) Objective(v Valuation) (*graph.Program, error) {
	p, err := m.Program(v)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(p.Name + "_objective")
	args := make([]graph.Value, len(p.Inputs))
	for i, in := range p.Inputs {
		args[i] = b.Input(in.Name, in.Type)
	}
	seeds := make([]graph.Value, len(p.Outputs))
	for i, y := range p.Outputs {
		if p.Type(y).DType.IsFloat() {
			name := fmt.Sprintf("seed%d_%s", i, p.OutputName(i))
			for slices.ContainsFunc(p.Inputs, func(in graph.Input) bool { return in.Name == name }) {
				name += "_"
			}
			seeds[i] = b.Input(name, p.Type(y))
		}
	}
	total := graph.None
	for i, y := range b.Inline(p, args...) {
		if t := p.Type(p.Outputs[i]); t.DType.IsFloat() {
			axes := make([]int, len(t.Shape))
			for a := range axes {
				axes[a] = a
			}
			total = b.Accumulate(total, op.SumOver(b, b.Emit(op.Mul, nil, y, seeds[i]), axes...))
		}
	}
	if total == graph.None {
		return nil, m.refuse("", "there is no real output")
	}
	return b.BuildNamed([]string{"objective"}, total), nil
}

// At returns the module of a family at one valuation: names of dimensions give way to sizes.
func (m *Module) At(v Valuation) *Module {
	out := &Module{Name: m.Name, Outputs: m.Outputs, Nodes: at(m.Nodes, v)}
	for _, in := range m.Inputs {
		in.Shape = slices.Clone(in.Shape)
		for i, d := range in.Shape {
			if size, ok := v[d.Name]; ok {
				in.Shape[i] = Size(size)
			}
		}
		out.Inputs = append(out.Inputs, in)
	}
	return out
}

func at(nodes []Node, v Valuation) []Node {
	out := slices.Clone(nodes)
	for i := range out {
		n := &out[i]
		n.Attributes = slices.Clone(n.Attributes)
		for k := range n.Attributes {
			a := &n.Attributes[k]
			a.Values = slices.Clone(a.Values)
			for j, e := range a.Values {
				if size, ok := v[e.Name]; ok && e.Kind == Name {
					a.Values[j] = Value{Kind: Integer, Int: size}
				}
			}
		}
		if n.Response != nil {
			r := *n.Response
			r.Nodes = at(r.Nodes, v)
			n.Response = &r
		}
	}
	return out
}
