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

// gapLimit is the adjoint–tangent gap beyond which the gradient is refused. Rounding alone stays far below, also over many steps.
const gapLimit = 1e-6

// gap compares one directional derivative with the tangent that the whole chain carries forward, in a seeded direction v of
// start, parameters and controls: |∇J·v − J̇| over Σ|∂J/∂xᵢ vᵢ|. A gap beyond gapLimit, and a tangent that cannot be computed, are refusals.
func (c *chainPoint) gap(ctx context.Context, g *swept) (float64, error) {
	direction := c.direction(rand.New(rand.NewPCG(c.seed, 0x746167)))
	forward, err := c.along(ctx, direction)
	if statusOf(err) == graph.NonFinite { // of a start and parameters much smaller than 1 the tangent may overflow where nothing else does
		for i := range direction {
			direction[i] *= 0x1p-500
		}
		forward, err = c.along(ctx, direction)
	}
	if err != nil {
		return math.NaN(), graph.Within("the tangent that the gradient is held against", err)
	}
	adjoint, size := 0.0, 0.0
	for i, v := range direction {
		term := float64(g.gradient[i] * v)
		adjoint, size = adjoint+term, size+math.Abs(term)
	}
	gap := math.Abs(adjoint - forward)
	if size > 0 {
		gap /= size
	}
	if !(gap <= gapLimit) {
		return gap, &graph.Failure{Status: graph.AdjointNotConverged, Reason: fmt.Sprintf(
			"adjoint and tangent disagree in a random direction: %.6g and %.6g: values on the way are so small or so large that digits are lost; scale the state or the objective", adjoint, forward)}
	}
	return gap, nil
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
	x, blocks := c.here(), []int{}
	for _, t := range c.model.State {
		blocks = append(blocks, t.Len())
	}
	running := c.Study.Chain.Running.Text != ""
	if running {
		blocks = append(blocks, 1)
	}
	for _, list := range [][][]float64{c.params, c.controls} {
		for _, x := range list {
			blocks = append(blocks, len(x))
		}
	}
	v := inUnits(random(rng, len(x)), x, blocks)
	if running {
		v[len(c.start)-1] = 0
	}
	return v
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

// along returns the tangent of J in a direction, by the chain of (x, ẋ). The start moves by its own part of the direction and with
// the parameters.
func (c *chainPoint) along(ctx context.Context, direction []float64) (float64, error) {
	var err error
	if c.tangent == nil {
		if c.tangent, err = program.NewForward(program.Tangent(c.model.spec())); err != nil {
			return 0, err
		}
		c.chainSolver.tangent = c.tangent
	}
	move, params, controls := c.parts(direction)
	if err := c.tangent.Set(c.steps, c.open, append(slices.Clone(c.params), params...), c.constants, append(slices.Clone(c.controls), controls...)); err != nil {
		return 0, err
	}
	x := make([]float64, c.tangent.StateLenAtStart())
	if err := c.tangent.Start(x); err != nil {
		return 0, err
	}
	n := len(c.start)
	if c.Study.Chain.Running.Text != "" {
		n--
	}
	for i := range n {
		x[n+i] += move[i]
	}
	_, _, value, err := walk(ctx, c.tangent, x, c.steps, false)
	return value, err
}
