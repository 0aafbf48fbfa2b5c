package graph

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// newComposite returns the operation that stands for a program of one output. It evaluates,
// differentiates and transposes through that program; its derivatives are composites again, which carry the name
// of the declared response that they come from.
//
// pullbacks, where they are given, are the cotangents of the last operands: programs of the other operands, then the
// seed. The printed text of a program names composites only: Parse wants a lookup that knows them.
func newComposite(name, declared string, body *Program, pullbacks []*Program) *Op {
	if len(body.Outputs) != 1 {
		panic(fmt.Sprintf("graph: composite %s wants a program of one output, has %d", name, len(body.Outputs)))
	}
	op := &Op{Name: name, Arity: len(body.Inputs), Body: body, Declared: declared, bodyKey: body.key()}
	op.Domain = "that of its program"
	op.Total = !slices.ContainsFunc(body.Nodes, func(n Node) bool { return !n.Op.Total })
	op.Infer = func(_ Attrs, in []Type) (Type, error) {
		for i, t := range in {
			if want := body.Inputs[i]; !t.Equal(want.Type) {
				return Type{}, fmt.Errorf("wants %v for %s, has %v", want.Type, want.Name, t)
			}
		}
		return body.Type(body.Outputs[0]), nil
	}
	op.Eval = func(_ Attrs, out *Tensor, in []*Tensor) *Fault { return runBody(body, out, in) }
	op.LinearIn = func(marked []bool) bool {
		if pullbacks != nil && slices.Contains(marked[:op.Arity-len(pullbacks)], true) {
			return false
		}
		return verifyLinear(body.marking(marked)) == nil
	}
	op.JVP = func(s *Site, dx []Value) Value {
		wrt := active(dx)
		d := JVP(body, wrt)
		tangent := d.Outputs[1]
		if n := d.Node(tangent); declared == "" && n != nil && n.isZero() {
			return None
		}
		args := slices.Clone(s.X)
		for _, i := range wrt {
			args = append(args, dx[i])
		}
		return s.emitComposite(name+"_tangent", declared, d.WithOutputs(tangent), nil, args, len(s.X))
	}
	op.Transpose = func(s *Site, linear []bool, ct Value) []Value {
		return s.pullBackComposite(op, pullbacks, linear, ct)
	}
	op.Cost = func(Attrs, []Type, Type) int { return body.Operations() }
	return op
}

// active lists the operands that have a tangent.
func active(dx []Value) []int {
	var out []int
	for i, v := range dx {
		if v != None {
			out = append(out, i)
		}
	}
	return out
}

// pullBackComposite emits the cotangents of a composite's linear operands.
func (s *Site) pullBackComposite(op *Op, pullbacks []*Program, linear []bool, ct Value) []Value {
	residuals := op.Arity - len(pullbacks)
	out := make([]Value, len(linear))
	if pullbacks != nil {
		args := append(slices.Clone(s.X[:residuals]), ct)
		for k := range out {
			if out[k] = None; linear[k] {
				out[k] = s.emitComposite(op.Name+"_pullback", op.Declared, pullbacks[k-residuals], nil, args, residuals)
			}
		}
		return out
	}
	marked := slices.Clone(linear)
	if !op.LinearIn(marked) { // then literal zeros count as linear, as in the proof of linearity
		for k, v := range s.X {
			if n := s.literal(v); n != nil && n.isZero() {
				marked[k] = true
			}
		}
	}
	var args []Value
	for k, v := range s.X {
		if !marked[k] {
			args = append(args, v)
		}
	}
	residuals = len(args)
	args = append(args, ct)
	adjoint := Transpose(op.Body.marking(marked))
	next := 0
	for k := range out {
		if out[k] = None; !marked[k] {
			continue
		}
		if linear[k] {
			body := adjoint.WithOutputs(adjoint.Outputs[next])
			out[k] = s.emitComposite(op.Name+"_pullback", op.Declared, body, nil, args, residuals)
		}
		next++
	}
	return out
}

// literal returns the node of a value that is a literal, or nil.
func (b *Builder) literal(v Value) *Node {
	if v == None {
		return nil
	}
	if n := b.Node(v); n != nil && n.Op == Literal {
		return n
	}
	return nil
}

// emitComposite adds a composite of body, without those of the first operands, the residuals, that
// neither body nor a pullback reads.
func (b *Builder) emitComposite(name, declared string, body *Program, pullbacks []*Program, args []Value, residuals int) Value {
	read := make([]bool, len(args))
	for i := residuals; i < len(args); i++ {
		read[i] = true
	}
	body = DropDead(body)
	body.markRead(read[:residuals])
	for i := range pullbacks {
		pullbacks[i] = DropDead(pullbacks[i])
		pullbacks[i].markRead(read[:residuals])
	}
	var kept []Value
	for i, v := range args {
		if read[i] {
			kept = append(kept, v)
		}
	}
	for i := range pullbacks {
		pullbacks[i] = pullbacks[i].withoutInputs(read[:residuals])
	}
	return b.Emit(newComposite(name, declared, body.withoutInputs(read[:residuals]), pullbacks), nil, kept...)
}

// markRead marks those of the first inputs that p reads.
func (p *Program) markRead(read []bool) {
	mark := func(v Value) {
		if int(v) < len(read) {
			read[v] = true
		}
	}
	for _, n := range p.Nodes {
		for _, a := range n.Args {
			mark(a)
		}
	}
	for _, v := range p.Outputs {
		mark(v)
	}
}

// withoutInputs returns p, no input linear, without those of its first inputs that are not kept and not read.
func (p *Program) withoutInputs(keep []bool) *Program {
	b := NewBuilder(p.Name)
	args := make([]Value, len(p.Inputs))
	for i, in := range p.Inputs {
		if args[i] = None; i >= len(keep) || keep[i] {
			in.Linear = false
			args[i] = b.addInput(in)
		}
	}
	return b.BuildNamed(p.OutputNames, b.Inline(p, args...)...)
}

// marking returns p with exactly the marked inputs linear.
func (p *Program) marking(marked []bool) *Program {
	q := *p
	q.Inputs = slices.Clone(p.Inputs)
	for i := range q.Inputs {
		q.Inputs[i].Linear = marked[i]
	}
	return &q
}

// runBody evaluates the program of a composite; a failure inside it keeps its status and names the place.
func runBody(body *Program, out *Tensor, in []*Tensor) *Fault {
	y, err := Eval(body, in...)
	if err != nil {
		fault := &Fault{Status: NonFinite, Reason: err.Error()}
		if f := (*Failure)(nil); errors.As(err, &f) {
			fault.Status = f.Status
			fault.Reason = fmt.Sprintf("in its program, %s: %s", cmp.Or(f.place(), f.Op), f.Reason)
		}
		return fault
	}
	copy(out.F, y[0].F)
	copy(out.I, y[0].I)
	return nil
}

// key is equal for programs of one text whose composites have one body.
func (p *Program) key() string {
	h := sha256.New()
	fmt.Fprint(h, p)
	for i := range p.Nodes {
		fmt.Fprint(h, p.Nodes[i].Op.bodyKey)
	}
	return string(h.Sum(nil))
}

// Expand writes every composite out, down to primitives. It is taken after derivatives: the
// response that a composite declares is not seen in its program. A program of primitives is
// returned as it is.
func Expand(p *Program) *Program {
	if !slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.Op.Body != nil }) {
		return p
	}
	b := NewBuilder(p.Name)
	at := make([]Value, p.NumValues())
	for i, in := range p.Inputs {
		at[i] = b.addInput(in)
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := len(p.Inputs) + i
		if n.Op.Body == nil {
			at[v] = b.copyNode(n, at)
			continue
		}
		args := make([]Value, len(n.Args))
		for k, a := range n.Args {
			args[k] = at[a]
		}
		at[v] = b.Inline(Expand(n.Op.Body), args...)[0]
		b.Name(at[v], n.Name)
	}
	return b.BuildNamed(p.OutputNames, outputsAt(p, at)...)
}
