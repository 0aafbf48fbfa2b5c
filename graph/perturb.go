package graph

import "math/rand/v2"

// Perturbed runs a program on the reference evaluator with the result of every rounded operation
// multiplied entry by entry by 1 + ξ·2⁻⁵², ξ drawn from {−1, 0, 1}. The spread of such runs measures
// how far rounding moves the outputs, where an analysis of the formula would only bound it.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
func Perturbed(p *Program, rng *rand.Rand, inputs ...*Tensor) ([]*Tensor, error) {
	const ulp = 0x1p-52
	values, err := run(p, inputs, func(n *Node, out *Tensor) {
		if n.Op.Exact || n.Op == Literal {
			return
		}
		for i, x := range out.F {
			out.F[i] = x + float64(x*(float64(rng.IntN(3)-1)*ulp))
		}
	})
	if err != nil {
		return nil, err
	}
	return p.outputsOf(values), nil
}
