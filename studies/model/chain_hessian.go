package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule/program"
	"github.com/lensir/lensir-study/studies"
)

// hessianPoint is the point of the chain of (x, ẋ), whose reverse is the Hessian times the direction.
func (c *chainPoint) hessianPoint() (*chainPoint, error) {
	if c.second == nil {
		var err error
		if c.chainSolver.second, err = program.New(program.Tangent(c.model.spec())); err != nil {
			return nil, err
		}
		if c.chainSolver.perturbedSecond, err = program.NewPerturbed(program.Tangent(c.model.spec())); err != nil {
			return nil, err
		}
	}
	part := func(name string, n int) []float64 {
		x := make([]float64, n)
		for _, v := range c.Study.Chain.Hessian {
			for i := range x {
				if v.Name == name {
					x[i] = v.Value.Data[i%len(v.Value.Data)]
				}
			}
		}
		return x
	}
	h := c.with(c.second)
	h.of = "hessian"
	h.params, h.controls = slices.Clone(c.params), slices.Clone(c.controls)
	for i, q := range c.Study.Parameters {
		h.params = append(h.params, part(q.Name, len(c.params[i])))
	}
	for i, u := range c.Study.Chain.Controls {
		h.controls = append(h.controls, part(u.Name, len(c.controls[i])))
	}
	for i, b := range c.Study.State {
		h.moves = append(h.moves, part(b.Name, c.model.State[i].Len())...)
	}
	return h, h.begin()
}

// blocks returns the entries of all blocks of the state.
func (c *chainPoint) blocks() int {
	n := len(c.start)
	if c.Study.Chain.Running.Text != "" {
		n--
	}
	return n
}

// hessian adds the Hessian times the direction to the chain's row and arrays, and the runs of its schedules.
func (c *chainPoint) hessian(ctx context.Context, out *Outcome, row *results.Row, gradient *swept) error {
	h, err := c.hessianPoint()
	var first, second *swept
	value := math.NaN()
	if err == nil {
		value, err = h.forward(ctx)
	}
	if err == nil {
		first, second, err = h.references(ctx)
	}
	if err == nil {
		err = c.putHessian(ctx, out, row, h, gradient, first, second)
	}
	ending, failure := endingOf(graph.Within("the second derivative", err))
	if failure != nil {
		return failure
	}
	if err != nil { // the gradient stays; what is missing has its reason
		row.Ending = ending
		return nil
	}
	held := false
	for _, t := range trials(c.Study.Chain.Schedule) {
		if t.method == studies.Online { // T is known by now
			continue
		}
		held = true
		if err := h.trial(ctx, out, t, value, first, second); err != nil {
			return err
		}
	}
	if held {
		return nil
	}
	// Without a matrix of schedules, the two references hold each other.
	r := results.Row{}
	h.setOf(&r.Fields)
	limits := second.schedule.Limits()
	putTrial(&r.Fields, second.schedule.Name(), h.steps, limits.Slots, limits)
	if _, failure := h.judged(&r, second, first, value, nil); failure != nil {
		return failure
	}
	out.Record.Add(results.Schedules, r)
	return nil
}

// putHessian adds the product, its estimate, and how far the gradient of its own sweep is from that of the first. A gradient that is
// further away than perturbed runs of its sweep are refuses the product.
func (c *chainPoint) putHessian(ctx context.Context, out *Outcome, row *results.Row, h *chainPoint, gradient, first, second *swept) error {
	product, again := c.parted(first.gradient)
	units := c.units()
	of, beside := newSpread("H"+c.Study.Objective[0].Name, product, units), newSpread("", again, units)
	unknown, err := h.with(c.perturbedSecond).runPerturbed(ctx, second, func(run *swept) {
		x, y := c.parted(run.gradient)
		of.add(x)
		beside.add(y)
	})
	if err != nil {
		return err
	}
	apart := newSpread("", gradient.gradient, units)
	apart.add(again)
	gap := results.Float(relative(apart.distance, apart.norm))
	allowed := roundingFactor*beside.scaled + float64(roundingFactor+c.steps)*unit*apart.size
	if unknown == "" && apart.scaled > allowed {
		row.Fields.Set("hessian_gradient_gap", gap)
		return &graph.Failure{Status: graph.AdjointNotConverged, Reason: fmt.Sprintf(
			"the gradient of its sweep is not that of the chain: they differ by %.3g of its size, where rounding explains %.3g", over(apart.scaled, apart.size), over(allowed, apart.size))}
	}
	c.putDerivative(out.Record, &row.Fields, of.what, product)
	if unknown == "" {
		row.Fields.Set("hessian_error_estimate", results.Float(of.estimate()))
		unknown = of.lost(c.steps)
	}
	row.Fields.Set("hessian_gradient_gap", gap)
	if row.Reason == "" {
		doubt(row, unknown)
	}
	return nil
}

// relative is x/y, or x where y is 0.
func relative(x, y float64) float64 {
	if y == 0 {
		return x
	}
	return x / y
}

// parted divides the gradient of J̇ into Hv and ∇J. Its parts are Hv by x_0, ∇J by ẋ_0, Hv by θ, ∇J by θ̇, Hv by u, ∇J by u̇.
func (c *chainPoint) parted(g []float64) (product, gradient []float64) {
	take := func(n int) []float64 {
		x := g[:n]
		g = g[n:]
		return x
	}
	n := c.blocks()
	product, gradient = slices.Clone(take(n)), slices.Clone(take(n))
	if len(c.start) > n {
		product, gradient = append(product, 0), append(gradient, take(1)...)
	}
	for _, list := range [][][]float64{c.params, c.controls} {
		for _, x := range list {
			product = append(product, take(len(x))...)
		}
		for _, x := range list {
			gradient = append(gradient, take(len(x))...)
		}
	}
	return product, gradient
}

// setOf says whose derivative a schedule computed, where there are two.
func (c *chainPoint) setOf(f *results.Fields) {
	if len(c.Study.Chain.Hessian) > 0 {
		f.Set("of", results.Text(c.of))
	}
}
