package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule/program"
)

// putGradient adds dJ with respect to the start, each parameter and each control: entries of short ones as columns, all as
// arrays.
func (c *chainPoint) putGradient(r *results.Record, f *results.Fields, g *swept) {
	c.putDerivative(r, f, "d"+c.Study.Objective[0].Name, g.gradient)
}

// putDerivative is putGradient of any vector of that form, under another name.
func (c *chainPoint) putDerivative(r *results.Record, f *results.Fields, what string, rest []float64) {
	put := func(name string, shape graph.Shape) {
		n := shape.Len()
		if n <= maxColumns {
			for k := range n {
				f.Set(what+"_"+name+entry(shape, k), results.Float(rest[k]))
			}
		}
		r.Arrays = append(r.Arrays, results.Array{Name: what + "_" + name, Shape: append([]int{}, shape...), Data: slices.Clone(rest[:n])})
		rest = rest[n:]
	}
	for i, b := range c.Study.State {
		put(b.Name, c.model.State[i].Shape)
	}
	if c.Study.Chain.Running.Text != "" {
		rest = rest[1:]
	}
	for _, q := range c.Study.Parameters {
		put(q.Name, q.Value.Shape)
	}
	for i, u := range c.Study.Chain.Controls {
		n := graph.Shape(u.Shape).Len()
		put(u.Name, slices.Concat(graph.Shape{len(c.controls[i]) / max(n, 1)}, u.Shape))
	}
}

// putTangency holds the gradient to the tangent that the whole chain carries forward, in a seeded direction of start, parameters and
// controls. It runs the schedule of the second reference, which takes less memory.
func (c *chainPoint) putTangency(ctx context.Context, row *results.Row, g, second *swept) error {
	rng := rand.New(rand.NewPCG(c.seed, 0x746167))
	direction := c.direction(rng)
	if c.tangent == nil {
		var err error
		if c.chainSolver.tangent, err = program.NewForward(program.Tangent(c.model.spec())); err != nil {
			return err
		}
	}
	move := program.Direction{}
	move.Start, move.Params, move.Controls = c.parts(direction)
	move.Start = move.Start[:c.blocks()]
	reverse := func(seed float64) ([]float64, error) {
		s, err := c.sweepFrom(ctx, seed, second.schedule, 0)
		if err != nil {
			return nil, err
		}
		return s.gradient, nil
	}
	at := program.Values{Steps: c.steps, Open: c.open, Params: c.params, Constants: c.constants, Controls: c.controls}
	t, err := c.tangent.Hold(ctx, at, move, g.gradient, reverse, rng)
	f := &row.Fields
	ending, failure := endingOf(stepError(err))
	switch {
	case failure != nil:
		return failure
	case err != nil:
		f.Set("certificate", results.Text(certificateUnknown))
		row.Reason = "the tangent beside the gradient: " + ending.Reason
		return nil
	}
	f.Set("adjoint_tangent_gap", results.Float(t.Gap()))
	f.Set("gap_tolerance", results.Float(t.Bound()))
	switch {
	case !t.Judged():
		f.Set("certificate", results.Text(certificateUnknown))
		row.Reason = fmt.Sprintf("rounding alone may put %.2g between adjoint and tangent: their difference tells nothing", t.Bound())
	case t.Holds():
		f.Set("certificate", results.Text(certificateHolds))
	default:
		f.Set("certificate", results.Text(certificateViolated))
		row.Reason = fmt.Sprintf("adjoint and tangent differ by %.2g, where rounding allows %.2g", t.Gap(), t.Bound())
	}
	return nil
}

// direction draws a direction of start, parameters and controls; the running sum starts at 0 and does not move.
func (c *chainPoint) direction(rng *rand.Rand) []float64 {
	n := len(c.start)
	for _, list := range [][][]float64{c.params, c.controls} {
		for _, x := range list {
			n += len(x)
		}
	}
	v := random(rng, n)
	if c.Study.Chain.Running.Text != "" {
		v[len(c.start)-1] = 0
	}
	return v
}

// parts divides a direction into those of the start, of each parameter and of each control.
func (c *chainPoint) parts(v []float64) (start []float64, params, controls [][]float64) {
	start, v = v[:len(c.start)], v[len(c.start):]
	for _, x := range c.params {
		params, v = append(params, v[:len(x)]), v[len(x):]
	}
	for _, x := range c.controls {
		controls, v = append(controls, v[:len(x)]), v[len(x):]
	}
	return start, params, controls
}
