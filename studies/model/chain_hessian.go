package model

import (
	"context"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule/program"
	"github.com/lensir/lensir-study/studies"
)

// hessianChain makes the point of the chain of (x, ẋ), whose reverse is the Hessian times the direction.
func (c *chainPoint) hessianChain() (*chainPoint, error) {
	var err error
	if c.second == nil {
		if c.chainSolver.second, err = program.New(program.Tangent(c.model.spec())); err != nil {
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
	h := &chainPoint{chainSolver: &chainSolver{model: c.model, seed: c.seed, chain: c.second}, Point: c.Point, steps: c.steps, open: c.open, constants: c.constants, of: "hessian"}
	h.params, h.controls = slices.Clone(c.params), slices.Clone(c.controls)
	for i, q := range c.Study.Parameters {
		h.params = append(h.params, part(q.Name, len(c.params[i])))
	}
	for i, u := range c.Study.Chain.Controls {
		h.controls = append(h.controls, part(u.Name, len(c.controls[i])))
	}
	if err := h.chain.Set(h.steps, h.open, h.params, h.constants, h.controls); err != nil {
		return nil, graph.Within("before the first step", err)
	}
	h.start = make([]float64, h.chain.StateLenAtStart())
	if err := h.chain.Start(h.start); err != nil {
		return nil, graph.Within("the start", err)
	}
	at := c.blocks()
	for i, b := range c.Study.State {
		n := c.model.State[i].Len()
		for k, x := range part(b.Name, n) {
			h.start[at+k] += x
		}
		at += n
	}
	return h, nil
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
	h, err := c.hessianChain()
	var first, second *swept
	value := math.NaN()
	if err == nil {
		value, err = h.forward(ctx)
	}
	if err == nil {
		first, second, err = h.references(ctx)
	}
	ending, failure := endingOf(graph.Within("the second derivative", err))
	if failure != nil {
		return failure
	}
	if err != nil { // the gradient stays; what is missing has its reason
		row.Ending = ending
		return nil
	}
	// The gradient of J̇ is, by the parts of h: Hv by x_0, ∇J by ẋ_0, Hv by θ, ∇J by θ̇, Hv by u, ∇J by u̇.
	n := c.blocks()
	rest := first.gradient
	take := func(n int) []float64 {
		x := rest[:n]
		rest = rest[n:]
		return x
	}
	product, again := slices.Clone(take(n)), slices.Clone(take(n))
	if len(c.start) > n {
		product, again = append(product, 0), append(again, take(1)...)
	}
	for _, list := range [][][]float64{c.params, c.controls} {
		for _, x := range list {
			product = append(product, take(len(x))...)
		}
		for _, x := range list {
			again = append(again, take(len(x))...)
		}
	}
	c.putDerivative(out.Record, &row.Fields, "H"+c.Study.Objective[0].Name, product)
	difference, size := 0.0, 0.0
	for i, g := range gradient.gradient {
		difference, size = math.Hypot(difference, again[i]-g), math.Hypot(size, g)
	}
	if size > 0 {
		difference /= size
	}
	row.Fields.Set("hessian_gradient_gap", results.Float(difference))
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
	out.judgeSchedule(c.Study, r)
	return nil
}

// setOf says whose derivative a schedule computed, where there are two.
func (c *chainPoint) setOf(f *results.Fields) {
	if len(c.Study.Chain.Hessian) > 0 {
		f.Set("of", results.Text(c.of))
	}
}
