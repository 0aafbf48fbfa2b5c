package implicit

import (
	"github.com/lensir/lensir-study/graph"
)

// Derivative is the derivative of a program at a point, as a linear map between flat vectors: the
// inputs in wrt, concatenated, go in, and the outputs, concatenated, come out.
type Derivative struct {
	primal, forward, reverse *graph.Program
	outputs                  int // outputs of the program, before the residuals
	in, out                  []graph.Type
	residuals                []*graph.Tensor
}

// NewDerivative linearizes a program.
func NewDerivative(p *graph.Program, wrt []int) *Derivative {
	l := graph.Linearize(p, wrt)
	d := &Derivative{primal: l.Primal, forward: l.Linear, reverse: graph.Transpose(l.Linear), outputs: len(p.Outputs), out: p.OutputTypes()}
	for _, i := range wrt {
		d.in = append(d.in, p.Inputs[i].Type)
	}
	return d
}

// At evaluates the program at a point and keeps its residuals; value, if not nil, receives the outputs.
func (d *Derivative) At(value []float64, inputs []*graph.Tensor) error {
	out, err := graph.Eval(d.primal, inputs...)
	if err != nil {
		return err
	}
	if value != nil {
		flatten(value, out[:d.outputs])
	}
	d.residuals = out[d.outputs:]
	return nil
}

// Push applies the derivative to lanes tangents: dst and tangents are row-major, one row for each
// entry of the output or input and one column for each lane.
func (d *Derivative) Push(dst, tangents []float64, lanes int) error {
	return lanewise(d.forward, d.residuals, d.in, dst, tangents, lanes)
}

// Pull applies the transposed derivative to lanes cotangents, laid out as in Push.
func (d *Derivative) Pull(dst, cotangents []float64, lanes int) error {
	return lanewise(d.reverse, d.residuals, d.out, dst, cotangents, lanes)
}

func lanewise(p *graph.Program, residuals []*graph.Tensor, in []graph.Type, dst, src []float64, lanes int) error {
	n := 0
	for _, t := range in {
		n += t.Len()
	}
	column := make([]float64, n)
	var result []float64
	for l := range lanes {
		for i := range column {
			column[i] = src[i*lanes+l]
		}
		out, err := graph.Eval(p, append(residuals[:len(residuals):len(residuals)], unflatten(column, in)...)...)
		if err != nil {
			return err
		}
		result = append(result[:0], flatten(nil, out)...)
		for i, x := range result {
			dst[i*lanes+l] = x
		}
	}
	return nil
}

// flatten concatenates tensors into dst, or into a new slice where dst is nil.
func flatten(dst []float64, tensors []*graph.Tensor) []float64 {
	dst = dst[:0]
	for _, t := range tensors {
		dst = append(dst, t.F...)
	}
	return dst
}

// unflatten cuts a vector into tensors that share its entries.
func unflatten(x []float64, types []graph.Type) []*graph.Tensor {
	tensors := make([]*graph.Tensor, len(types))
	for i, t := range types {
		tensors[i] = graph.Floats(t.Shape, x[:t.Len():t.Len()])
		x = x[t.Len():]
	}
	return tensors
}
