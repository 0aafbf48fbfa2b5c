package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
	"github.com/lensir/lensir-study/studies"
)

// chainSolver computes points of a chain, one at a time.
type chainSolver struct {
	model      *Model
	seed       uint64
	executable string // that measures sweeps in processes of their own; may be empty
	chain      *program.Chain
	tangent    *program.Chain // of (x, ẋ), forward only
	second     *program.Chain // of (x, ẋ)

	perturbed, perturbedSecond *program.Chain // the chain and that of (x, ẋ), with their rounding perturbed
}

// chainPoint is a point of a chain under way.
type chainPoint struct {
	*chainSolver
	studies.Point
	steps     int
	open      bool
	params    [][]float64
	constants [][]float64
	controls  [][]float64
	start     []float64
	moves     []float64 // of the chain of (x, ẋ): ẋ_0 beside what moves with the parameters
	ended     bool      // its condition held, at or below the limit
	of        string    // "gradient", or "hessian" for the chain of (x, ẋ)
}

// at prepares a point: values, T and x_0.
func (s *chainSolver) at(p studies.Point) (*chainPoint, error) {
	var err error
	if s.chain == nil {
		if s.chain, err = program.New(s.model.spec()); err != nil {
			return nil, err
		}
	}
	c := &chainPoint{chainSolver: s, Point: p, open: s.model.Until != nil, of: "gradient"}
	if c.steps, err = s.model.steps(p); err != nil {
		return nil, err
	}
	if c.controls, err = s.model.controlValues(s.chain, p, c.steps); err != nil {
		return nil, err
	}
	for _, q := range p.Parameters {
		c.params = append(c.params, q.Value.Data)
	}
	for _, list := range [][]studies.Quantity{p.Constants, p.Study.Data} {
		for _, q := range list {
			c.constants = append(c.constants, q.Value.Data)
		}
	}
	return c, c.begin()
}

// begin gives the chain the values of the point, and computes x_0.
func (c *chainPoint) begin() error {
	if err := c.chain.Set(c.steps, c.open, c.params, c.constants, c.controls); err != nil {
		return graph.Within("before the first step", err)
	}
	c.start = make([]float64, c.chain.StateLenAtStart())
	if err := c.chain.Start(c.start); err != nil {
		return graph.Within("the start", err)
	}
	for i, x := range c.moves {
		c.start[len(c.moves)+i] += x
	}
	return nil
}

// solve computes one point.
func (s *chainSolver) solve(ctx context.Context, out *Outcome, p studies.Point) error {
	row := results.Row{}
	c, err := s.at(p)
	value := math.NaN()
	if err == nil {
		value, err = c.forward(ctx)
	}
	var first, second *swept
	if err == nil {
		first, second, err = c.references(ctx)
	}
	var held *tangency
	if err == nil {
		held, err = c.hold(ctx, first, second)
	}
	var moved *accuracy
	if err == nil {
		moved, err = c.accuracy(ctx, value, first, second)
	}
	ending, failure := endingOf(err)
	if failure != nil {
		return failure
	}
	row.Ending = ending
	if c != nil && !math.IsNaN(value) {
		row.Fields.Set("T", results.Int(c.steps))
		if s.model.Until != nil {
			row.Fields.Set("ended", results.Bool(c.ended))
		}
		row.Fields.Set(p.Study.Objective[0].Name, results.Float(value))
	}
	if err == nil {
		c.putGradient(out.Record, &row.Fields, first)
	}
	if moved != nil {
		moved.put(&row.Fields)
	}
	if held != nil {
		held.put(&row)
	}
	if moved != nil {
		doubt(&row, moved.unknown)
	}
	if err == nil {
		putDeclared(&row.Fields, s.declared())
	}
	if err != nil {
		out.Record.Add(results.Chain, row)
		out.countChain(p.Study, out.Record)
		return nil
	}
	for _, t := range trials(p.Study.Chain.Schedule) {
		if err := c.trial(ctx, out, t, value, first, second); err != nil {
			return err
		}
	}
	if len(p.Study.Chain.Hessian) > 0 {
		if err := c.hessian(ctx, out, &row, first); err != nil {
			return err
		}
	}
	out.Record.Add(results.Chain, row)
	c.putTheory(out.Record)
	if err := c.measure(ctx, out, value, first, second); err != nil {
		return err
	}
	out.countChain(p.Study, out.Record)
	return nil
}

// declared names the declared responses that the derivatives depend on.
func (s *chainSolver) declared() string {
	return declaredBy(append(slices.Clone(s.model.Starts), s.model.Equations, s.model.Objectives)...)
}

// forward evaluates the chain without derivatives: its status is that of the chain. Of a chain whose end is a condition, it finds T.
func (c *chainPoint) forward(ctx context.Context) (float64, error) {
	steps, ended, value, err := walk(ctx, c.chain, c.start, c.steps, c.model.Until != nil && c.of == "gradient")
	if err != nil {
		return math.NaN(), err
	}
	c.ended = ended
	if steps != c.steps { // the condition held before the limit
		c.steps = steps
		if c.controls, err = c.model.controlValues(c.chain, c.Point, steps); err != nil {
			return math.NaN(), err
		}
		if err := c.chain.Set(steps, true, c.params, c.constants, c.controls); err != nil {
			return math.NaN(), err
		}
	}
	return value, nil
}

// walk runs a chain forward, up to its condition if it has one, and returns the number of steps, whether the condition held, and J.
func walk(ctx context.Context, chain *program.Chain, start []float64, steps int, until bool) (_ int, ended bool, _ float64, _ error) {
	x, next := append(make([]float64, 0, len(start)+1), start...), make([]float64, len(start)+1) // J is one number, of no state too
	for j := 0; ; j++ {
		if until {
			var err error
			if ended, err = chain.Until(j, x); err != nil {
				return 0, false, 0, stepError(&schedule.StepError{Step: j, Call: "until", Err: err})
			}
			if ended {
				steps = j
			}
		}
		if j == steps {
			break
		}
		if j&0x3ff == 0 && ctx.Err() != nil {
			return 0, false, 0, context.Cause(ctx)
		}
		next = next[:chain.StateLen(j+1)]
		if err := chain.Advance(j+1, x, next); err != nil {
			return 0, false, 0, stepError(&schedule.StepError{Step: j + 1, Call: "advance", Err: err})
		}
		x, next = next, x
	}
	if !chain.Open() {
		return steps, ended, x[0], nil
	}
	value, err := chain.Value(x)
	return steps, ended, value, graph.Within("the objective", err)
}

// stepError names the step in a refusal: by j of its formulas.
func stepError(err error) error {
	var step *schedule.StepError
	if !errors.As(err, &step) {
		return err
	}
	where := fmt.Sprintf("step j = %d", step.Step-1)
	switch step.Call {
	case "until":
		where = fmt.Sprintf("the condition at j = %d", step.Step)
		var boundary *graph.Failure
		if statusOf(step.Err) == graph.Nondifferentiable && errors.As(graph.Within(where+", where T jumps", step.Err), &boundary) {
			boundary.Reason += "; compare with a margin, such as n < 0.5 instead of n == 0"
			return boundary
		}
	case "seed":
		where = "the objective"
	case "record", "reverse": // the steps themselves ran before
		where = "the derivative of " + where
	}
	return graph.Within(where, step.Err)
}
