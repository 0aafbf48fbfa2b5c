package graph

import "math/rand/v2"

// Perturber runs a program on the reference evaluator with the result of every rounded operation
// multiplied entry by entry by 1 + ξ·2⁻⁵², ξ drawn from {−1, 0, 1}. The spread of such runs measures
// how far rounding moves the outputs, where an analysis of the formula would only bound it.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
type Perturber struct {
	p       *Program
	values  []*Tensor
	args    [][]*Tensor // of each node
	outputs []*Tensor
}

// NewPerturber returns the memory for perturbed runs of a program, one at a time.
func NewPerturber(p *Program) *Perturber {
	q := &Perturber{p: p, values: make([]*Tensor, p.NumValues()), args: make([][]*Tensor, len(p.Nodes)), outputs: make([]*Tensor, len(p.Outputs))}
	for i := range p.Nodes {
		q.values[len(p.Inputs)+i] = NewTensor(p.Nodes[i].Type)
		q.args[i] = make([]*Tensor, len(p.Nodes[i].Args))
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
		out := q.values[v]
		clear(out.F)
		clear(out.I)
		if fault := n.runInto(out, q.args[i]); fault != nil {
			return nil, q.p.failure(Value(v), fault)
		}
		if !n.Op.Exact && n.Op != Literal {
			out.perturb(rng)
		}
	}
	for i, v := range q.p.Outputs {
		q.outputs[i] = q.values[v]
	}
	return q.outputs, nil
}

// perturb moves every entry by at most a unit of its last place.
func (x *Tensor) perturb(rng *rand.Rand) {
	for i, v := range x.F {
		x.F[i] = v + float64(v*(float64(rng.IntN(3)-1)*0x1p-52))
	}
}
