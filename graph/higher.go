package graph

import (
	"fmt"
	"slices"
)

// HVP returns the Hessian-vector product, the JVP of the gradient: forward over reverse.
//
// p has one scalar float64 output f. The inputs of the result are those of p, then a direction v for
// each input in wrt; its outputs are f, then ∇f and then ∇²f·v, one for each input in wrt. A run
// refuses with the status of forward mode: on a branch boundary, or outside a domain, no product comes back.
//
// Source: Hessian-vector products on a finite computational graph.
func HVP(p *Program, wrt []int) *Program {
	g := Gradient(p, wrt)
	d := JVP(g, wrt)
	n := len(g.Outputs)
	names := slices.Clone(g.OutputNames)
	for _, i := range wrt {
		names = append(names, "hv_"+p.Inputs[i].Name)
	}
	d.Name, d.OutputNames = p.Name+".hvp", names
	d.Outputs = slices.Concat(d.Outputs[:n], d.Outputs[n+1:])
	return DropDead(d)
}

// Pullback returns what a reverse pass of p returns for seeds that may depend on the inputs:
// x ↦ Df(x)ᵀ·s(x), one cotangent for each input in wrt. seed is a program over the inputs of p with
// one output for each output of p. A constant seed is a program of literals.
func Pullback(p *Program, wrt []int, seed *Program) (*Program, error) {
	if len(seed.Inputs) != len(p.Inputs) || len(seed.Outputs) != len(p.Outputs) {
		return nil, fmt.Errorf("seeds of %s want %d inputs and %d outputs, have %d and %d",
			p.Name, len(p.Inputs), len(p.Outputs), len(seed.Inputs), len(seed.Outputs))
	}
	for i, in := range p.Inputs {
		if !seed.Inputs[i].Type.Equal(in.Type) {
			return nil, fmt.Errorf("seeds of %s want %v for input %s, have %v", p.Name, in.Type, in.Name, seed.Inputs[i].Type)
		}
	}
	for i, v := range p.Outputs {
		if want, have := p.Type(v).Tangent(), seed.Type(seed.Outputs[i]); !have.Equal(want) {
			return nil, fmt.Errorf("the seed of output %s wants type %v, has %v", p.OutputName(i), want, have)
		}
	}
	reverse := VJP(p, wrt)
	b := NewBuilder(p.Name + ".pullback")
	x := make([]Value, len(p.Inputs))
	for i, in := range p.Inputs {
		x[i] = b.addInput(in)
	}
	y := b.Inline(reverse, append(slices.Clone(x), b.Inline(seed, x...)...)...)
	n := len(p.Outputs)
	return AsImplemented(DropDead(b.BuildNamed(slices.Clone(reverse.OutputNames[n:]), y[n:]...))), nil
}

// Jet returns the nested-dual execution of p to order n: with directions v₁ … v_n it computes, for
// every set S of them, the mixed derivative D^|S| f(x)[v_i : i ∈ S].
//
// The inputs are those of p, then for each direction one tangent for each input in wrt, named v1_x, v2_x,
// …. The outputs are 2ⁿ blocks of p's outputs; block S, read as a binary number whose bit i−1 stands for
// v_i, is that of the set S: block 0 holds the values and the last block the derivative in all directions.
//
// Source: jets through reverse accumulation, with p a reverse pass, made by Pullback.
func Jet(p *Program, wrt []int, n int) *Program {
	j := *p
	j.Inputs = slices.Clone(p.Inputs)
	j.OutputNames = nil
	for i := range p.Outputs {
		j.OutputNames = append(j.OutputNames, p.OutputName(i))
	}
	jet := &j
	for k := 1; k <= n; k++ {
		before := len(jet.Inputs)
		names := slices.Clone(jet.OutputNames)
		jet = JVP(jet, wrt)
		taken := nameSet{}
		for _, in := range jet.Inputs[:before] {
			taken.fresh(in.Name)
		}
		for i, w := range wrt {
			jet.Inputs[before+i].Name = taken.fresh(fmt.Sprintf("v%d_%s", k, p.Inputs[w].Name))
		}
		jet.OutputNames = slices.Clone(names)
		for _, name := range names {
			jet.OutputNames = append(jet.OutputNames, fmt.Sprintf("d%d_%s", k, name))
		}
	}
	jet.Name = fmt.Sprintf("%s.jet%d", p.Name, n)
	return jet
}

// Mixed returns the mixed directional derivative of order n alone: the last block of Jet.
func Mixed(p *Program, wrt []int, n int) *Program {
	jet := Jet(p, wrt, n)
	m := len(jet.Outputs) - len(p.Outputs)
	jet.Outputs, jet.OutputNames = jet.Outputs[m:], jet.OutputNames[m:]
	jet.Name = fmt.Sprintf("%s.d%d", p.Name, n)
	return DropDead(jet)
}

// Directional runs the JVP of p at x in a direction, one tangent for each input in wrt, and returns the outputs
// and their tangents. A tangent of another type than its primal's is refused; nothing is promoted.
func Directional(p *Program, wrt []int, x, dx []*Tensor) (y, dy []*Tensor, err error) {
	if len(dx) != len(wrt) {
		return nil, nil, fmt.Errorf("%s wants %d tangents, has %d", p.Name, len(wrt), len(dx))
	}
	for k, i := range wrt {
		in := p.Inputs[i]
		if want := in.Type.Tangent(); !dx[k].Type.Equal(want) {
			return nil, nil, fmt.Errorf("the tangent of %s has type %v, its primal %v: the expected tangent type is %v",
				in.Name, dx[k].Type, in.Type, want)
		}
	}
	out, err := Eval(JVP(p, wrt), append(slices.Clone(x), dx...)...)
	if err != nil {
		return nil, nil, err
	}
	n := len(p.Outputs)
	return out[:n], out[n:], nil
}

// Jacobian returns the derivative matrices of p at x, column by column from JVPs: entry [k][o] is the
// matrix of output o by input wrt[k], row-major with one row for each entry of the output.
func Jacobian(p *Program, wrt []int, x []*Tensor) ([][][]float64, error) {
	d := JVP(p, wrt)
	tangents := make([]*Tensor, len(wrt))
	for k, i := range wrt {
		tangents[k] = NewTensor(p.Inputs[i].Type.Tangent())
	}
	out := make([][][]float64, len(wrt))
	for k, i := range wrt {
		columns := len(tangents[k].F)
		out[k] = make([][]float64, len(p.Outputs))
		for o, v := range p.Outputs {
			out[k][o] = make([]float64, Scalars(p.Type(v).Tangent())*columns)
		}
		for c := range columns {
			tangents[k].F[c] = 1
			y, err := Eval(d, append(slices.Clone(x), tangents...)...)
			if err != nil {
				return nil, fmt.Errorf("column %d of input %s: %w", c, p.Inputs[i].Name, err)
			}
			for o := range p.Outputs {
				for r, e := range y[len(p.Outputs)+o].F {
					out[k][o][r*columns+c] = e
				}
			}
			tangents[k].F[c] = 0
		}
	}
	return out, nil
}
