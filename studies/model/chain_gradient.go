package model

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// tangency is how a gradient stands beside the tangent that the whole chain carries forward.
type tangency struct {
	program.Tangency
	unknown string // why there is nothing to judge; empty where they agree
}

// hold holds the gradient to the tangent that the whole chain carries forward, in a seeded direction of start, parameters and
// controls, and refuses it where the two differ by more than rounding. It runs the schedule of the second reference, which takes less
// memory.
func (c *chainPoint) hold(ctx context.Context, g, second *swept) (*tangency, error) {
	rng := rand.New(rand.NewPCG(c.seed, 0x746167))
	direction := c.direction(rng)
	if c.tangent == nil {
		var err error
		if c.chainSolver.tangent, err = program.NewForward(program.Tangent(c.model.spec())); err != nil {
			return nil, err
		}
	}
	reverse := func(seed float64) ([]float64, error) {
		s, err := c.sweepFrom(ctx, seed, second.schedule, 0)
		if err != nil {
			return nil, err
		}
		return s.gradient, nil
	}
	at := program.Values{Steps: c.steps, Open: c.open, Params: c.params, Constants: c.constants, Controls: c.controls}
	beside := func() (program.Tangency, error) {
		move := program.Direction{}
		move.Start, move.Params, move.Controls = c.parts(direction)
		move.Start = move.Start[:c.blocks()]
		t, err := c.tangent.Hold(ctx, at, move, g.gradient, reverse, rng)
		return t, stepError(err)
	}
	t, err := beside()
	if statusOf(err) == graph.NonFinite { // where start and parameters are far below 1, a direction near 1 may be too large alone
		for i := range direction {
			direction[i] *= 0x1p-500
		}
		t, err = beside()
	}
	switch ending, failure := endingOf(err); {
	case failure != nil:
		return nil, failure
	case err != nil:
		return &tangency{unknown: "the tangent beside the gradient: " + ending.Reason}, nil
	case !t.Judged():
		return &tangency{t, fmt.Sprintf("rounding alone may put %.2g between adjoint and tangent: their difference tells nothing", t.Bound())}, nil
	case !t.Holds():
		if by, err := c.tangentRounding(ctx, at, direction, t); err != nil || by >= math.Abs(t.Adjoint-t.Tangent) {
			return &tangency{t, fmt.Sprintf("rounding alone may put %.2g between adjoint and tangent, which is not known better: their difference tells nothing", by)}, err
		}
		return &tangency{Tangency: t}, &graph.Failure{Status: graph.AdjointNotConverged, Reason: fmt.Sprintf(
			"adjoint and tangent disagree in a random direction: %.6g and %.6g, where rounding explains %.2g: values on the way are so small or so large that digits are lost; scale the state or the objective",
			t.Adjoint, t.Tangent, t.Tolerance)}
	}
	return &tangency{Tangency: t}, nil
}

// tangentRounding is how far perturbed runs move J̇, trajectory and tangent: further than the tangents of one trajectory, where those of the
// objective cancel. A run that is refused says nothing.
func (c *chainPoint) tangentRounding(ctx context.Context, at program.Values, direction []float64, t program.Tangency) (float64, error) {
	chain, err := program.NewPerturbedForward(program.Tangent(c.model.spec()))
	if err != nil {
		return 0, err
	}
	move := program.Direction{}
	move.Start, move.Params, move.Controls = c.parts(direction)
	move.Start = move.Start[:c.blocks()]
	moved := 0.0
	for key := range mostRuns {
		chain.Perturb(c.seed + uint64(key))
		tangent, err := chain.Along(ctx, at, move)
		switch {
		case statusOf(err) != "":
			return 0, nil
		case err != nil:
			return 0, err
		}
		moved = max(moved, math.Abs(tangent-t.Tangent))
	}
	return roundingFactor * moved, nil
}

// put adds the gap, and the certificate of a gradient that was not refused.
func (t *tangency) put(row *results.Row) {
	if t.Tolerance > 0 {
		row.Fields.Set("adjoint_tangent_gap", results.Float(t.Gap()))
		row.Fields.Set("gap_tolerance", results.Float(t.Bound()))
	}
	if row.Status == string(graph.OK) {
		row.Fields.Set("certificate", results.Text(certificateHolds))
	}
	doubt(row, t.unknown)
}

// statusOf is the status of a refusal, or "".
func statusOf(err error) graph.Status {
	var f *graph.Failure
	if errors.As(err, &f) {
		return f.Status
	}
	return ""
}

// direction draws a direction of start, parameters and controls, in the unit of each; the running sum starts at 0 and does not move.
func (c *chainPoint) direction(rng *rand.Rand) []float64 {
	x := c.here()
	v := inUnits(random(rng, len(x)), x, c.blockLengths())
	if c.blocks() < len(c.start) {
		v[len(c.start)-1] = 0
	}
	return v
}

// blockLengths are the entries of each block of the state, of a running sum, and of each parameter and control.
func (c *chainPoint) blockLengths() []int {
	var n []int
	for _, t := range c.model.State {
		n = append(n, t.Len())
	}
	if c.blocks() < len(c.start) {
		n = append(n, 1)
	}
	for _, list := range [][][]float64{c.params, c.controls} {
		for _, x := range list {
			n = append(n, len(x))
		}
	}
	return n
}

// here is the point itself: start, parameters and controls in one vector.
func (c *chainPoint) here() []float64 {
	return slices.Concat(append(append([][]float64{c.start}, c.params...), c.controls...)...)
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
