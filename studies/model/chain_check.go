package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/studies"
)

// checkChain compares the derivative of J over the whole chain, in a random direction of start, parameters and controls, with
// central differences, and the order of its Taylor remainder with 2.
func (s *chainSolver) checkChain(ctx context.Context, p studies.Point) ([]Difference, error) {
	const what = "dJ over the whole chain"
	refuse := func(err error) ([]Difference, error) {
		return []Difference{{What: what, Reason: err.Error()}}, refusalOnly(err)
	}
	c, err := s.at(p)
	if err != nil {
		return refuse(err)
	}
	value, err := c.forward(ctx)
	if err != nil {
		return refuse(err)
	}
	optimal, err := schedule.NewRevolve(c.steps, 20)
	if err != nil {
		return nil, err
	}
	g, err := c.sweep(ctx, optimal)
	if err != nil {
		return refuse(err)
	}
	rng := rand.New(rand.NewPCG(s.seed, 0x636865636b))
	v, x := c.direction(rng), c.here()
	// The start is moved, not computed again: its own derivative is part of the parameters' only.
	f := func(x []float64) (float64, error) { return c.evaluate(ctx, x) }
	partial := dot(g.gradient, v)
	list := []Difference{ladder(what, partial, x, v, f)}
	if list[0].Compared() { // where no difference settles, no order does
		list = append(list, taylor(value, partial, x, v, f))
	}
	return list, c.chain.Set(c.steps, c.open, c.params, c.constants, c.controls)
}

// evaluate returns J at other values of start, parameters and controls, with the number of steps kept; the start moves with
// the parameters and by its own part.
func (c *chainPoint) evaluate(ctx context.Context, x []float64) (float64, error) {
	start, params, controls := c.parts(x)
	if err := c.chain.Set(c.steps, c.open, params, c.constants, controls); err != nil {
		return 0, err
	}
	moved := make([]float64, len(c.start))
	if err := c.chain.Start(moved); err != nil {
		return 0, err
	}
	for i := range moved {
		moved[i] += start[i] - c.start[i]
	}
	_, _, value, err := walk(ctx, c.chain, moved, c.steps, false)
	return value, err
}

// taylorFloor is the part of J below which a remainder may be rounding, as long chains have it.
const taylorFloor = 1e-10

// taylor measures the order at which |f(x + hv) − f(x) − h·f′(x)v| vanishes with h. A right derivative makes it 2, or more where the
// second derivative vanishes; a wrong one 1.
func taylor(value, derivative float64, x, v []float64, f func([]float64) (float64, error)) Difference {
	d := Difference{What: "order of the Taylor remainder", Derivative: 2, Quotient: math.NaN(), Step: math.NaN(), Error: math.NaN()}
	size := largest(x)
	if size == 0 {
		size = 1
	}
	var before float64
	for h := 0.25 * size; h > 1e-9*size; h /= 2 {
		up, err := f(step(x, v, h))
		if err != nil {
			before = 0
			continue
		}
		// The order is that of the smallest steps that rounding leaves alone: at larger ones the second derivative hides a
		// first one that is slightly wrong.
		remainder := math.Abs(up - value - float64(h*derivative))
		if remainder < taylorFloor*(math.Abs(up)+math.Abs(value)) {
			break
		}
		if before > 0 {
			d.Quotient, d.Step = math.Log2(before/remainder), h
			d.Error = math.Abs(d.Quotient - 2)
		}
		before = remainder
	}
	switch {
	case math.IsNaN(d.Quotient):
		d.Agrees, d.Reason = true, "the remainder is at rounding for every step: J is linear in this direction"
	case d.Error <= 0.1 || d.Quotient > 2.9 && d.Quotient < 5:
		d.Agrees = true
	default:
		d.Reason = fmt.Sprintf("the remainder vanishes with the order %.2f", d.Quotient)
	}
	return d
}
