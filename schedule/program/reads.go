package program

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// read is an input of a step that stands for entry j + offset of a control.
type read struct {
	control, offset int
	n               int // entries
}

// ControlError is a use of a control other than u[j] and u[j+c].
type ControlError struct {
	Control string
	Origin  string // of the formula that uses it
	Reason  string
}

func (e *ControlError) Error() string {
	text := fmt.Sprintf("control %s: %s", e.Control, e.Reason)
	if e.Origin != "" {
		text = e.Origin + ": " + text
	}
	return text
}

// replaceReads replaces gather(u, j) and gather(u, j + c) by an input of its own for each control u and offset c: a
// step that read the whole array would have a cotangent of the whole array at every step. The inputs of p are dims.States,
// dims.Params, dims.Constants, dims.Controls and the index; those of the result have the reads in place of the controls.
func replaceReads(p *graph.Program, dims Dims) (*graph.Program, []read, error) {
	first := dims.States + dims.Params + dims.Constants
	index := graph.Value(first + dims.Controls)
	isControl := func(v graph.Value) bool { return int(v) >= first && v < index }

	// uses counts the readers that stay; the index computations of the reads may go.
	uses := make([]int, p.NumValues())
	for _, v := range p.Outputs {
		if isControl(v) {
			return nil, nil, &ControlError{p.Inputs[v].Name, "", "a step cannot return the whole array"}
		}
		uses[v]++
	}
	var reads []read
	readAt := make([]int, len(p.Nodes)) // 1 + the read that replaces a node
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		if !slices.ContainsFunc(n.Args, isControl) {
			continue
		}
		u := n.Args[slices.IndexFunc(n.Args, isControl)]
		fail := func(reason string) error { return &ControlError{p.Inputs[u].Name, n.Origin, reason} }
		if n.Op != op.Gather || !isControl(n.Args[0]) {
			return nil, nil, fail(fmt.Sprintf("it has an entry for each step: read it as %s[j]", p.Inputs[u].Name))
		}
		offset, ok := offsetOf(p, n.Args[1], index)
		switch {
		case !ok:
			return nil, nil, fail(fmt.Sprintf("its index is j, or j and a number: read it as %s[j]",
				p.Inputs[u].Name))
		case offset < 0:
			return nil, nil, fail(fmt.Sprintf("%s[j%d] is before the first entry at j = 0, also in an arm that is not taken there", p.Inputs[u].Name, offset))
		}
		r := read{int(u) - first, offset, n.Type.Len()}
		k := slices.Index(reads, r)
		if k < 0 {
			k = len(reads)
			reads = append(reads, r)
		}
		readAt[i] = k + 1
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		if readAt[i] > 0 || uses[len(p.Inputs)+i] == 0 && isIndex(p, &p.Nodes[i]) {
			continue
		}
		for _, a := range p.Nodes[i].Args {
			uses[a]++
		}
	}

	b := graph.NewBuilder(p.Name)
	at := make([]graph.Value, p.NumValues())
	for i, in := range p.Inputs[:first] {
		at[i] = b.Input(in.Name, in.Type)
	}
	inputs := make([]graph.Value, len(reads))
	for k, r := range reads {
		u := p.Inputs[first+r.control]
		name := u.Name + "_j"
		if r.offset > 0 {
			name = fmt.Sprintf("%s_j%d", u.Name, r.offset)
		}
		inputs[k] = b.Input(freeName(p, name), graph.F64(u.Type.Shape[1:]...))
	}
	at[index] = b.Input(p.Inputs[index].Name, p.Inputs[index].Type)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := len(p.Inputs) + i
		switch {
		case readAt[i] > 0:
			at[v] = inputs[readAt[i]-1]
		case uses[v] == 0 && isIndex(p, n):
		case n.Op == graph.Literal:
			at[v] = b.Literal(n.Value)
			b.Name(at[v], n.Name)
		default:
			b.SetOrigin(n.Origin)
			at[v] = b.Emit(n.Op, n.Attrs, mapped(at, n.Args)...)
			b.Name(at[v], n.Name)
		}
	}
	return b.BuildNamed(p.OutputNames, mapped(at, p.Outputs)...), reads, nil
}

func mapped(at, values []graph.Value) []graph.Value {
	out := make([]graph.Value, len(values))
	for i, v := range values {
		out[i] = at[v]
	}
	return out
}

// isIndex reports a sum of whole numbers: it may go when no one reads it.
func isIndex(p *graph.Program, n *graph.Node) bool {
	return n.Type.DType == graph.Int64 && (n.Op == op.Add || n.Op == op.Sub || n.Op == graph.Literal)
}

// offsetOf reports c of a value j + c.
func offsetOf(p *graph.Program, v, index graph.Value) (int, bool) {
	if v == index {
		return 0, true
	}
	n := p.Node(v)
	if n == nil || n.Op != op.Add && n.Op != op.Sub {
		return 0, false
	}
	number := func(v graph.Value) (int, bool) {
		if n := p.Node(v); n != nil && n.Op == graph.Literal && len(n.Value.I) == 1 && len(n.Type.Shape) == 0 {
			return int(n.Value.I[0]), true
		}
		return 0, false
	}
	x, y := n.Args[0], n.Args[1]
	if c, ok := number(x); ok && n.Op == op.Add {
		base, ok := offsetOf(p, y, index)
		return base + c, ok
	}
	c, ok := number(y)
	if !ok {
		return 0, false
	}
	if n.Op == op.Sub {
		c = -c
	}
	base, ok := offsetOf(p, x, index)
	return base + c, ok
}

// freeName makes a name that no input of p has.
func freeName(p *graph.Program, name string) string {
	for slices.ContainsFunc(p.Inputs, func(in graph.Input) bool { return in.Name == name }) {
		name += "_"
	}
	return name
}
