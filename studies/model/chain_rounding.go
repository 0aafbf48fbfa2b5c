package model

import (
	"context"
	"fmt"
	"math"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule/program"
)

const (
	// roundingFactor is for chance: an estimate is so many times the largest deviation of a few perturbed runs.
	roundingFactor = 10
	leastRuns      = 3
	mostRuns       = 8
	// fullEffort is the entries of states and tapes of a sweep up to which there are the most runs.
	fullEffort = 1 << 17
)

// accuracy is how far rounding moves the value and the gradient of a chain.
type accuracy struct {
	value, gradient float64 // estimates of |ΔJ| and ‖Δ∇J‖₂; NaN where there are none
	unknown         string  // why no digit is known; empty where some are
}

// accuracy runs the chain again with every rounded operation moved at random, its trajectory forward and its cotangents backward: J
// and ∇J are known as far as such runs agree with them.
//
// A perturbed run that is refused, or that ends at another step, is no refusal: the chain itself keeps to its branches, and the
// derivative is that of its evaluation. But nothing says that the chain without rounding keeps to them too.
func (c *chainPoint) accuracy(ctx context.Context, value float64, g, second *swept) (*accuracy, error) {
	if c.perturbed == nil {
		var err error
		if c.chainSolver.perturbed, err = program.NewPerturbed(c.model.spec()); err != nil {
			return nil, err
		}
	}
	of := newSpread("d"+c.Study.Objective[0].Name, g.gradient, c.units())
	moved := 0.0
	unknown, err := c.with(c.perturbed).runPerturbed(ctx, second, func(run *swept) {
		of.add(run.gradient)
		moved = max(moved, math.Abs(run.value-value))
	})
	if err != nil || unknown != "" {
		return &accuracy{math.NaN(), math.NaN(), unknown}, err
	}
	r := &accuracy{max(roundingFactor*moved, least*math.Abs(value)), of.estimate(), of.lost(c.steps)}
	if relative := over(r.value, math.Abs(value)); r.unknown == "" && relative > 0.5 {
		r.unknown = lost(c.Study.Objective[0].Name, r.value, relative, c.steps)
	}
	return r, nil
}

const (
	unit = 0x1p-53 // half a unit of the last place of 1
	// least of an error is a few units: a step that contracts has forgotten all roundings but the last few, which may cancel in a run.
	least = 8 * unit
)

// spread is how far perturbed runs move a vector, in the 2-norm, and in the units of its entries.
type spread struct {
	what             string
	base, units      []float64
	norm, size       float64 // of base
	distance, scaled float64 // largest deviations
}

func newSpread(what string, base, units []float64) *spread {
	s := &spread{what: what, base: base, units: units}
	for i, x := range base {
		s.norm, s.size = math.Hypot(s.norm, x), math.Hypot(s.size, units[i]*x)
	}
	return s
}

func (s *spread) add(x []float64) {
	distance, scaled := 0.0, 0.0
	for i, b := range s.base {
		distance, scaled = math.Hypot(distance, x[i]-b), math.Hypot(scaled, s.units[i]*(x[i]-b))
	}
	s.distance, s.scaled = max(s.distance, distance), max(s.scaled, scaled)
}

// estimate is that of the 2-norm of the error.
func (s *spread) estimate() float64 { return max(roundingFactor*s.distance, least*s.norm) }

// lost says that rounding may be more than half of the vector, or nothing.
func (s *spread) lost(steps int) string {
	if relative := over(roundingFactor*s.scaled, s.size); relative > 0.5 {
		return lost(s.what, s.estimate(), relative, steps)
	}
	return ""
}

// lost names what may be the cause: a number that vanishes, as a gradient does at an optimum, has no digits either.
func lost(what string, by, relative float64, steps int) string {
	beside := fmt.Sprintf("%.2g times its size", relative)
	if math.IsInf(relative, 1) {
		beside = "and it is 0"
	}
	return fmt.Sprintf("no digit of %s is known: rounding moves it by up to %.2g, %s: either it vanishes, as at an optimum, or the chain is chaotic over T = %d steps, or a formula cancels; "+
		"against the last two, a shorter chain or another form of the formula keeps digits", what, by, beside, steps)
}

// over is x/y, and 0 where x is 0.
func over(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x / y
}

// with is the same point of a perturbed chain.
func (c *chainPoint) with(chain *program.Chain) *chainPoint {
	p := *c
	p.chainSolver = &chainSolver{model: c.model, seed: c.seed, chain: chain}
	return &p
}

// runPerturbed visits a few runs, as many as a sweep can afford, by the schedule of the second reference, which takes less memory. Where one
// has no gradient, it says why.
func (c *chainPoint) runPerturbed(ctx context.Context, second *swept, visit func(*swept)) (unknown string, err error) {
	effort := (c.steps + 1) * (len(c.start) + c.chain.TapeLen(1) + 1)
	for key := range min(max(fullEffort/effort, leastRuns), mostRuns) {
		run, err := c.runOnce(ctx, c.seed+uint64(key), second)
		ending, failure := endingOf(err)
		switch {
		case failure != nil:
			return "", failure
		case err != nil:
			return fmt.Sprintf("within rounding there is no derivative: %s: %s", ending.Status, ending.Reason), nil
		case run == nil:
			return fmt.Sprintf("within rounding the condition ends the chain at another step than T = %d: the derivatives are those of %d steps", c.steps, c.steps), nil
		}
		visit(run)
	}
	return "", nil
}

// runOnce reverses a perturbed chain, or returns nil where its condition does not hold at T as it should.
func (c *chainPoint) runOnce(ctx context.Context, key uint64, second *swept) (*swept, error) {
	c.chain.Perturb(key)
	if err := c.begin(); err != nil {
		return nil, err
	}
	if c.model.Until != nil && c.of == "gradient" {
		steps, ended, _, err := walk(ctx, c.chain, c.start, c.steps, true)
		if err != nil || steps != c.steps || ended != c.ended {
			return nil, err
		}
	}
	return c.sweepFrom(ctx, 1, second.schedule, 0)
}

// units is the unit of every entry of the gradient, as it is for a direction.
func (c *chainPoint) units() []float64 {
	ones := make([]float64, len(c.here()))
	for i := range ones {
		ones[i] = 1
	}
	return inUnits(ones, c.here(), c.blockLengths())
}

// put adds the estimates.
func (r *accuracy) put(f *results.Fields) {
	if !math.IsNaN(r.value) {
		f.Set("value_error_estimate", results.Float(r.value))
		f.Set("gradient_error_estimate", results.Float(r.gradient))
	}
}

// doubt opens the certificate of a row that is not refused, for a reason if there is one.
func doubt(row *results.Row, reason string) {
	if reason != "" && row.Status == string(graph.OK) {
		row.Reason = reason
		row.Fields.Set("certificate", results.Text(certificateUnknown))
	}
}
