package graph

import (
	"math"
	"math/rand/v2"
)

// RoundingLevel is log₂ of √n/8 of an operation that adds n terms, or, where it adds them in turn, of n/32 if that is more: equal
// terms are rounded alike. It is 0 of other operations and of few terms: these round by a unit of the last place.
func RoundingLevel(p *Program, n *Node) int {
	if n.Op.Terms == nil || n.Type.Len() == 0 {
		return 0
	}
	in := make([]Type, len(n.Args))
	for k, a := range n.Args {
		in[k] = p.Type(a)
	}
	terms, inTurn := n.Op.Terms(n.Attrs, in, n.Type)
	size := math.Sqrt(terms) / 8
	if inTurn {
		size = max(size, terms/32)
	}
	return max(0, int(math.Round(math.Log2(size))))
}

// LeastOperand is the float operand of a node with the fewest entries, or −1.
func LeastOperand(p *Program, n *Node) int {
	least := -1
	for k, a := range n.Args {
		if t := p.Type(a); t.DType == Float64 && t.Len() > 0 && (least < 0 || t.Len() < p.Type(n.Args[least]).Len()) {
			least = k
		}
	}
	return least
}

// Perturber runs a program on the reference evaluator with the result of every rounded operation
// multiplied entry by entry by 1 + ξ·2⁻⁵², ξ drawn from {−1, 0, 1}, and by more where many terms are added (RoundingLevel). So is an
// operand of a sum or a product of matrices, whose terms may cancel. The spread of such runs measures
// how far rounding moves the outputs, where an analysis of the formula would only bound it.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
type Perturber struct {
	p       *Program
	values  []*Tensor
	args    [][]*Tensor // of each node
	moved   []*Tensor   // the operand of a sum that is moved, of each node
	outputs []*Tensor
}

// NewPerturber returns the memory for perturbed runs of a program, one at a time.
func NewPerturber(p *Program) *Perturber {
	q := &Perturber{p: p, values: make([]*Tensor, p.NumValues()), args: make([][]*Tensor, len(p.Nodes)), moved: make([]*Tensor, len(p.Nodes)), outputs: make([]*Tensor, len(p.Outputs))}
	for i := range p.Nodes {
		q.values[len(p.Inputs)+i] = NewTensor(p.Nodes[i].Type)
		q.args[i] = make([]*Tensor, len(p.Nodes[i].Args))
		if n := &p.Nodes[i]; n.Op.Terms != nil {
			if k := LeastOperand(p, n); k >= 0 {
				q.moved[i] = NewTensor(p.Type(n.Args[k]))
			}
		}
	}
	return q
}

// Run returns the outputs of one perturbed run, which are valid until the next. Its errors are those
// of Eval.
func (q *Perturber) Run(rng *rand.Rand, inputs ...*Tensor) ([]*Tensor, error) {
	if err := checkInputs(q.p, inputs); err != nil {
		return nil, err
	}
	copy(q.values, inputs)
	for i := range q.p.Nodes {
		n, v := &q.p.Nodes[i], len(q.p.Inputs)+i
		for k, a := range n.Args {
			q.args[i][k] = q.values[a]
		}
		level := RoundingLevel(q.p, n)
		if x := q.moved[i]; x != nil {
			k := LeastOperand(q.p, n)
			copy(x.F, q.args[i][k].F)
			x.perturb(rng, level)
			q.args[i][k] = x
		}
		out := q.values[v]
		clear(out.F)
		clear(out.I)
		if fault := n.runInto(out, q.args[i]); fault != nil {
			return nil, q.p.failure(Value(v), fault)
		}
		if !n.Op.Exact && n.Op != Literal {
			out.perturb(rng, level)
		}
	}
	for i, v := range q.p.Outputs {
		q.outputs[i] = q.values[v]
	}
	return q.outputs, nil
}

// perturb moves every entry by at most 2^level units of its last place.
func (x *Tensor) perturb(rng *rand.Rand, level int) {
	unit := math.Ldexp(0x1p-52, level)
	for i, v := range x.F {
		x.F[i] = v + float64(v*(float64(rng.IntN(3)-1)*unit))
	}
}
