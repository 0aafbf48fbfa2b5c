package graph

import (
	"fmt"
	"slices"
)

// Taylor runs p along a curve by truncated Taylor arithmetic: x(t) = Σ x_k t^k gives y(t) = Σ y_k t^k,
// for every output the coefficients y_0 … y_n in O(n²) operations. y_k is the k-th derivative over k!.
//
// curve[i] holds the coefficients of input i: the value alone, or the value, the velocity, and so on;
// missing ones are zero. Operations that are linear in what varies act on each coefficient;
// others use their Taylor rule, and one without such a rule is an error that names it ([Jet] needs none). A failing check is a
// *Failure, as in Eval with a derivative of each operand that varies.
func Taylor(p *Program, n int, curve ...[]*Tensor) ([][]*Tensor, error) {
	if len(curve) != len(p.Inputs) {
		return nil, fmt.Errorf("%s wants %d inputs, has %d", p.Name, len(p.Inputs), len(curve))
	}
	values := make([]*Tensor, len(curve))
	series := make([][]*Tensor, p.NumValues()) // nil beyond the value: constant along the curve
	for i, c := range curve {
		if len(c) == 0 {
			return nil, fmt.Errorf("%s wants %v for input %s, has nothing", p.Name, p.Inputs[i].Type, p.Inputs[i].Name)
		}
		values[i] = c[0]
		for k, x := range c[1:] {
			if want := p.Inputs[i].Type.Tangent(); !x.Type.Equal(want) {
				return nil, fmt.Errorf("coefficient %d of %s has type %v, its value %v: the expected type is %v",
					k+1, p.Inputs[i].Name, x.Type, p.Inputs[i].Type, want)
			}
			if k := x.nonFinite(); k >= 0 {
				return nil, &Failure{Status: NonFinite, Name: p.Inputs[i].Name, Entry: x.Shape.Index(k),
					Reason: fmt.Sprintf("a coefficient of the input is %v", x.F[k])}
			}
		}
		series[i] = c[:1]
		if n > 0 && len(c) > 1 && p.Inputs[i].Type.DType.IsFloat() {
			series[i] = padSeries(c, p.Inputs[i].Type, n)
		}
	}
	if err := checkInputs(p, values); err != nil {
		return nil, err
	}
	for i := range p.Nodes {
		v := Value(len(p.Inputs) + i)
		y, fault, err := p.Nodes[i].taylor(series, n)
		if err != nil {
			return nil, err
		}
		if fault != nil {
			return nil, p.failure(v, fault)
		}
		series[v] = y
	}
	outputs := make([][]*Tensor, len(p.Outputs))
	for i, v := range p.Outputs {
		outputs[i] = padSeries(series[v], p.Type(v).Tangent(), n)
	}
	return outputs, nil
}

// padSeries completes a series with zeros to order n.
func padSeries(c []*Tensor, t Type, n int) []*Tensor {
	out := slices.Clone(c[:min(len(c), n+1)])
	for len(out) <= n {
		out = append(out, NewTensor(t))
	}
	return out
}

func (n *Node) taylor(series [][]*Tensor, order int) ([]*Tensor, *Fault, error) {
	x := make([][]*Tensor, len(n.Args))
	value := make([]*Tensor, len(n.Args))
	varies := make([]bool, len(n.Args))
	tangents := make([]Value, len(n.Args))
	for k, a := range n.Args {
		x[k], value[k], varies[k], tangents[k] = series[a], series[a][0], len(series[a]) > 1, None
		if varies[k] {
			tangents[k] = a
		}
	}
	moving := slices.Contains(varies, true)
	node := n
	if moving && n.Op.Kinks {
		node = n.raiseOrder(tangents)
	}
	y0, fault := node.Run(value)
	if fault != nil || !moving || !n.Type.DType.IsFloat() {
		return []*Tensor{y0}, fault, nil
	}
	y := []*Tensor{y0}
	linear := n.Op.linearFor(varies)
	for i := range x {
		x[i] = padSeries(x[i], value[i].Type, order)
	}
	switch {
	case linear != nil:
		for k := 1; k <= order; k++ {
			in := slices.Clone(value)
			for i := range in {
				if linear[i] {
					in[i] = x[i][k]
				}
			}
			yk, fault := node.Run(in)
			if fault != nil {
				return nil, fault, nil
			}
			y = append(y, yk)
		}
		return y, nil, nil
	case n.Op.Taylor == nil:
		return nil, nil, fmt.Errorf("%s has no Taylor rule", n.Op.Name)
	}
	y = padSeries(y, n.Type, order)
	n.Op.Taylor(n.Attrs, y, x)
	for k := 1; k <= order; k++ {
		if n.Type.DType == Float32 {
			y[k].Round32()
		}
		if e := y[k].nonFinite(); e >= 0 {
			return nil, &Fault{Status: NonFinite, Offset: e,
				Reason: fmt.Sprintf("Taylor coefficient %d of %s is %v: beyond the floating-point range", k, n.Op.Name, y[k].F[e])}, nil
		}
	}
	return y, nil, nil
}

// linearFor returns operands in which the operation is linear together and which hold all that vary: then
// it acts on each coefficient by itself, those of constant operands being zero. nil: there are none.
func (op *Op) linearFor(varies []bool) []bool {
	if op.LinearIn == nil {
		return nil
	}
	if all := slices.Repeat([]bool{true}, len(varies)); op.LinearIn(all) {
		return all
	}
	if op.LinearIn(varies) {
		return varies
	}
	return nil
}
