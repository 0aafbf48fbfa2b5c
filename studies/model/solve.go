package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// Solver computes points of a model, one at a time. It keeps the linearized programs between
// points; each goroutine has its own.
type Solver struct {
	model                           *Model
	seed                            uint64
	starts                          []*implicit.Map
	equations, residual, objectives *implicit.Map
	constants                       *implicit.Map
	chain                           *chainSolver   // of a chain, which has nothing of the rest
	program                         *programSolver // of kind program, which has nothing of the rest
	record                          results.Record // of the point, its memory that of the one before
	fields                          results.Fields // memory for the fields of its rows
}

// NewSolver compiles a model. The seed draws the directions and samples of its checks.
func NewSolver(m *Model, seed uint64) (*Solver, error) {
	s := &Solver{model: m, seed: seed}
	if m.Study.Kind == studies.Chain {
		s.chain = &chainSolver{model: m, seed: seed}
		return s, nil
	}
	var err error
	if m.Study.Kind == studies.Program {
		s.program, err = newProgramSolver(m, seed)
		return s, err
	}
	compile := func(p *graph.Program, withState bool) (f *implicit.Map) {
		if p != nil && err == nil {
			f, err = s.mapOf(p, withState)
		}
		return f
	}
	for _, p := range m.Starts {
		s.starts = append(s.starts, compile(p, false))
	}
	s.equations, s.residual = compile(m.Equations, true), compile(m.Residual, true)
	s.objectives, s.constants = compile(m.Objectives, true), compile(m.Constants, false)
	return s, err
}

// Clone returns a solver of the same compiled model, for another goroutine.
func (s *Solver) Clone() *Solver {
	if s.chain != nil {
		return &Solver{model: s.model, seed: s.seed, chain: &chainSolver{model: s.model, seed: s.seed, executable: s.chain.executable}}
	}
	if s.program != nil {
		return &Solver{model: s.model, seed: s.seed, program: s.program.clone()}
	}
	c := &Solver{model: s.model, seed: s.seed, equations: s.equations.Clone(), residual: s.residual.Clone(), objectives: s.objectives.Clone()}
	for _, start := range s.starts {
		c.starts = append(c.starts, start.Clone())
	}
	if s.constants != nil {
		c.constants = s.constants.Clone()
	}
	return c
}

// mapOf makes the map of a program; constants are fixed at each point.
func (s *Solver) mapOf(p *graph.Program, withState bool) (*implicit.Map, error) {
	study := s.model.Study
	var state, params []int
	if withState {
		for i := range study.State {
			state = append(state, i)
		}
	}
	for i := range study.Parameters {
		params = append(params, len(state)+i)
	}
	fixed := make([]*graph.Tensor, len(p.Inputs))
	for i := len(state) + len(params); i < len(p.Inputs); i++ {
		fixed[i] = graph.NewTensor(p.Inputs[i].Type)
	}
	return implicit.NewMap(p, state, params, fixed)
}

// load puts the constants and data of a point into every map and returns θ.
func (s *Solver) load(p studies.Point) []float64 {
	var theta []float64
	for _, q := range p.Parameters {
		theta = append(theta, q.Value.Data...)
	}
	var values []*graph.Tensor
	for _, list := range [][]studies.Quantity{p.Constants, s.model.Study.Data} {
		for _, q := range list {
			values = append(values, graph.Floats(q.Value.Shape, q.Value.Data))
		}
	}
	fix := func(f *implicit.Map, from int) {
		if f == nil {
			return
		}
		for i, x := range values {
			f.Fix(from+i, x)
		}
	}
	params, blocks := len(s.model.Study.Parameters), len(s.model.Study.State)
	for _, start := range s.starts {
		fix(start, params)
	}
	fix(s.constants, params)
	fix(s.equations, blocks+params)
	fix(s.residual, blocks+params)
	fix(s.objectives, blocks+params)
	return theta
}

// Outcome is what a point came to.
type Outcome struct {
	// Record is valid until the solver's next point. It does not name its point yet.
	Record *results.Record
	// Refused counts rows whose status is a refusal that the study does not expect, Unexpected rows
	// that should have been refused, and Violated rows whose verdict is a defect or a wrong declaration.
	Refused, Unexpected, Violated int
	// Warnings are findings that the reader should see.
	Warnings []string
	// Notes say what was chosen for the reader.
	Notes []string
}

// Solve computes one point. What goes wrong with its mathematics is a row with a status; the error
// is for what should not happen.
func (s *Solver) Solve(ctx context.Context, p studies.Point) (*Outcome, error) {
	began := time.Now()
	s.record.Reset()
	s.fields = s.fields[:0]
	out := &Outcome{Record: &s.record}
	if s.chain != nil {
		if err := s.chain.solve(ctx, out, p); err != nil {
			return nil, err
		}
		putTime(out.Record, began)
		return out, nil
	}
	if s.program != nil {
		if err := s.program.solve(out, p); err != nil {
			return nil, err
		}
		putTime(out.Record, began)
		return out, nil
	}
	theta := s.load(p)
	for i, start := range s.starts {
		branch := ""
		if len(s.starts) > 1 {
			if branch = "start"; i > 0 {
				branch = s.model.Study.Branches[i-1].Name
			}
		}
		if err := s.branch(out, branch, start, theta); err != nil {
			return nil, err
		}
	}
	putTime(out.Record, began)
	return out, nil
}

// branch computes the exact branch from one start, and the iterates from it.
func (s *Solver) branch(out *Outcome, branch string, start *implicit.Map, theta []float64) error {
	study := s.model.Study
	settings := s.settings()
	_, _, m := start.Dims()
	z0 := make([]float64, m)
	err := start.Eval(z0, nil, theta)
	var root *implicit.Root
	var sensitivity *implicit.Sensitivity
	var gradients []implicit.Gradient
	if err == nil {
		root, sensitivity, gradients, err = s.exact(z0, theta, settings)
	}
	ending, failure := endingOf(err)
	if failure != nil {
		return failure
	}
	out.count(study, ending, branch)
	row := results.Row{Branch: branch, Ending: ending, Fields: s.take(16)}
	if err == nil {
		s.putGradients(&row.Fields, gradients)
		putDeclared(&row.Fields, s.model.declared.exact)
		if err := s.putArrays(out.Record, branch, root, theta, sensitivity, gradients); err != nil {
			return err
		}
		if sensitivity != nil {
			s.putSensitivities(out.Record, branch, "exact", -1, ending, sensitivity.S)
		} else {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the sensitivity of the state has more than %d entries and is not computed; the gradients are", maxJacobian))
		}
	}
	putEvidence(&row.Fields, root, sensitivity, gradients)
	out.Record.Add(results.Implicit, row)
	if study.Steps == nil {
		return nil
	}
	cause := ""
	if sensitivity == nil { // where only an objective was refused, the branch is there
		root, cause = nil, "there is no exact branch to compare with: "+ending.Reason
	}
	return s.iterates(out, branch, start, theta, root, sensitivity, cause)
}

func (s *Solver) settings() implicit.Settings {
	i := s.model.Study.Implicit
	return implicit.Settings{Tolerance: i.Tolerance, MaxIterations: i.MaxIterations, Seed: s.seed}
}

// maxJacobian is the largest m×p matrix that is computed: 256 MB.
const maxJacobian = 1 << 25

// exact finds the root from z0 and differentiates along its branch; on a refusal it returns what it
// has, which is the sensitivity of the state where only an objective is refused.
func (s *Solver) exact(z0, theta []float64, settings implicit.Settings) (root *implicit.Root, d *implicit.Sensitivity, g []implicit.Gradient, err error) {
	if s.model.Study.Kind == studies.FixedPoint {
		root, err = implicit.FindLimit(s.equations, s.residual, z0, theta, settings)
	} else {
		root, err = implicit.FindRoot(s.residual, z0, theta, settings)
	}
	if m, p, _ := s.residual.Dims(); err == nil && m*p <= maxJacobian {
		d, err = implicit.Differentiate(s.residual, root)
	}
	if err == nil {
		g, err = implicit.Gradients(s.residual, s.objectives, root, s.seed)
	}
	return root, d, g, err
}

// endingOf separates refusals from errors of the program.
func endingOf(err error) (results.Ending, error) {
	var f *graph.Failure
	switch {
	case err == nil:
		return results.Ending{Status: string(graph.OK)}, nil
	case errors.As(err, &f):
		g := *f
		g.Status = ""
		return results.Ending{Status: string(f.Status), Reason: g.Error()[len(": "):]}, nil
	}
	return results.Ending{}, err
}

// count holds a row against what the study expects.
func (o *Outcome) count(s *studies.Study, e results.Ending, branch string) {
	expected := string(s.Expect)
	refused := e.Status != string(graph.OK) && e.Status != string(graph.IteratesDifferentiated)
	switch {
	case refused && e.Status == expected:
	case refused:
		o.Refused++
	case expected != "" && e.Status == string(graph.OK):
		o.Unexpected++
		of := ""
		if branch != "" {
			of = " of branch " + branch
		}
		o.Warnings = append(o.Warnings, fmt.Sprintf("expected %s, but the status%s is %s", expected, of, e.Status))
	}
}
