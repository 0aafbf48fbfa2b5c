package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit"
	"github.com/lensir/lensir-study/iterate"
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

// putTime adds the time of a point.
func putTime(r *results.Record, began time.Time) {
	r.Add(results.Measurements, results.Row{Ending: results.Ending{Status: string(graph.OK)},
		Fields: results.Fields{{Column: "wall_s", Value: results.Float(time.Since(began).Seconds())}}})
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

// declaredResponses names the declared responses that the derivatives of the exact branch and of the
// K-step map depend on.
type declaredResponses struct{ exact, iterate string }

// of names those of a row: k < 0 stands for the exact branch.
func (d declaredResponses) of(k int) string {
	if k < 0 {
		return d.exact
	}
	return d.iterate
}

// declaredBy names the declared responses that the outputs of some programs depend on.
func declaredBy(programs ...*graph.Program) string {
	names := map[string]bool{}
	for _, p := range programs {
		for o := range p.Outputs {
			for _, name := range graph.Declared(p, o) {
				names[name] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

// putDeclared adds the mark of what is not a classical derivative; there is no such column where nothing is marked.
func putDeclared(f *results.Fields, declared string) {
	if declared != "" {
		f.Set("declared", results.Text(declared))
	}
}

// maxColumns is the longest parameter that the implicit table writes out entry by entry.
const maxColumns = 16

// putGradients adds the objectives and their derivatives.
func (s *Solver) putGradients(f *results.Fields, gradients []implicit.Gradient) {
	for i, g := range gradients {
		name := s.model.Study.Objective[i].Name
		f.Set(name, results.Float(g.Value))
		rest := g.Gradient
		for _, q := range s.model.Study.Parameters {
			n := len(q.Value.Data)
			if n <= maxColumns {
				for k := range n {
					f.Set("d"+name+"_"+q.Name+entry(q.Value.Shape, k), results.Float(rest[k]))
				}
			}
			rest = rest[n:]
		}
	}
}

// entry writes the index of an entry: [1][2], or nothing for a scalar.
func entry(shape graph.Shape, offset int) string {
	text := ""
	for _, i := range shape.Index(offset) {
		text += "[" + strconv.Itoa(i) + "]"
	}
	return text
}

func putEvidence(f *results.Fields, root *implicit.Root, d *implicit.Sensitivity, gradients []implicit.Gradient) {
	if root == nil {
		return
	}
	number := func(column string, x float64) {
		if !math.IsNaN(x) {
			f.Set(column, results.Float(x))
		}
	}
	number("residual_norm", root.ResidualNorm)
	number("root_error_estimate", root.ErrorEstimate)
	if d != nil {
		number("sensitivity_error_estimate", d.ErrorEstimate)
	}
	value, estimate, residual, gap := 0.0, 0.0, 0.0, 0.0 // the worst of the objectives
	for _, g := range gradients {
		value, estimate = max(value, g.ValueError), max(estimate, g.ErrorEstimate)
		residual, gap = max(residual, g.AdjointResidual), max(gap, g.Gap)
	}
	if len(gradients) > 0 {
		number("value_error_estimate", value)
		number("gradient_error_estimate", estimate)
	}
	number("condition", root.ConditionTwo)
	number("sigma_min", root.SigmaMin)
	if !math.IsNaN(root.SigmaMin) {
		f.Set("det_sign", results.Int(root.DetSign))
	}
	if len(gradients) > 0 {
		number("adjoint_residual", residual)
		number("adjoint_tangent_gap", gap)
	}
}

// arrayName tells the arrays of branches apart; no name of a study has a hyphen.
func arrayName(branch, array string) string {
	if branch == "" {
		return array
	}
	return branch + "-" + array
}

// putArrays adds the state, its Jacobian, the gradients and adjoints, and the strict branches that
// the equations take at the root.
func (s *Solver) putArrays(r *results.Record, branch string, root *implicit.Root, theta []float64, d *implicit.Sensitivity, gradients []implicit.Gradient) error {
	name := func(array string) string { return arrayName(branch, array) }
	m := len(root.Z)
	p := 0
	for _, q := range s.model.Study.Parameters {
		p += len(q.Value.Data)
	}
	r.Arrays = append(r.Arrays, results.Array{Name: name("z"), Shape: []int{m}, Data: root.Z})
	if d != nil {
		r.Arrays = append(r.Arrays, results.Array{Name: name("S"), Shape: []int{m, p}, Data: d.S})
	}
	for i, g := range gradients {
		objective := s.model.Study.Objective[i].Name
		r.Arrays = append(r.Arrays,
			results.Array{Name: name("d" + objective), Shape: []int{p}, Data: g.Gradient},
			results.Array{Name: name("lambda_" + objective), Shape: []int{m}, Data: g.Lambda})
	}
	labels, err := s.equations.Branches(root.Z, theta)
	if len(labels) > 0 {
		branches := make([]float64, len(labels))
		for i, l := range labels {
			branches[i] = float64(l)
		}
		r.Arrays = append(r.Arrays, results.Array{Name: name("branches"), Shape: []int{len(labels)}, Data: branches})
	}
	return err
}

// maxSensitivities is the largest Jacobian that the long table writes out; larger ones are arrays only.
const maxSensitivities = 1024

// putSensitivities adds a Jacobian of the state, entry by entry. k < 0 stands for the exact branch.
func (s *Solver) putSensitivities(r *results.Record, branch, kind string, k int, ending results.Ending, jacobian []float64) {
	if len(jacobian) > maxSensitivities {
		return
	}
	rest, declared := jacobian, s.model.declared.of(k)
	for b, block := range s.model.Study.State {
		for i := range s.model.State[b].Len() {
			for _, q := range s.model.Study.Parameters {
				for l := range q.Value.Data {
					f := append(s.take(8), results.Field{Column: "kind", Value: results.Text(kind)})
					if k >= 0 {
						f = append(f, results.Field{Column: "K", Value: results.Int(k)})
					}
					f = append(f,
						results.Field{Column: "block", Value: results.Text(block.Name)},
						results.Field{Column: "index", Value: results.Text(entry(s.model.State[b].Shape, i))},
						results.Field{Column: "parameter", Value: results.Text(q.Name)},
						results.Field{Column: "parameter_index", Value: results.Text(entry(q.Value.Shape, l))},
						results.Field{Column: "value", Value: results.Float(rest[0])})
					putDeclared(&f, declared)
					r.Add(results.Sensitivities, results.Row{Branch: branch, Ending: ending, Fields: f})
					rest = rest[1:]
				}
			}
		}
	}
}

// take returns an empty list with room for n fields. Rows share the memory of one allocation.
func (s *Solver) take(n int) results.Fields {
	if cap(s.fields)-len(s.fields) < n {
		s.fields = make(results.Fields, 0, max(n, 256, 2*cap(s.fields)))
	}
	from := len(s.fields)
	s.fields = s.fields[:from+n]
	return s.fields[from : from : from+n]
}

// iterates adds the ledger of the K-step map.
func (s *Solver) iterates(out *Outcome, branch string, start *implicit.Map, theta []float64, root *implicit.Root, d *implicit.Sensitivity, cause string) error {
	claim, err := s.claim(theta)
	var ledger *iterate.Ledger
	if m, p, _ := s.equations.Dims(); err == nil && m*p > maxJacobian {
		err = &graph.Failure{Status: graph.OutOfBudget, Reason: fmt.Sprintf(
			"the Jacobian of the K-step map has %d×%d entries, more than %d: use fewer parameters", m, p, maxJacobian)}
	}
	if err == nil {
		ledger, err = iterate.Compare(s.equations, start, theta, s.model.Study.Steps, root, d, claim, cause)
	}
	ending, failure := endingOf(err)
	if failure != nil {
		return failure
	}
	reached := 0
	if ledger != nil {
		for _, r := range ledger.Rows {
			s.putIterate(out, branch, ledger, r)
		}
		reached = len(ledger.Rows)
	}
	if err != nil { // of the first K that was not reached
		out.count(s.model.Study, ending, branch)
		row := results.Row{Branch: branch, Ending: ending}
		row.Fields.Set("method", results.Text("iterate"))
		row.Fields.Set("K", results.Int(s.model.Study.Steps[reached]))
		out.Record.Add(results.Iterates, row)
	}
	return nil
}

func (s *Solver) putIterate(out *Outcome, branch string, l *iterate.Ledger, r iterate.Row) {
	row := results.Row{Branch: branch, Ending: results.Ending{Status: string(iterate.Status)}}
	if r.Verdict != bounds.Holds && r.Verdict != bounds.HoldsAtFloor {
		row.Reason = r.Reason
	}
	f := s.take(18)
	put := func(column string, v results.Value) { f = append(f, results.Field{Column: column, Value: v}) }
	number := func(column string, x float64) {
		if !math.IsNaN(x) {
			put(column, results.Float(x))
		}
	}
	put("method", results.Text("iterate"))
	put("K", results.Int(r.K))
	number("residual_norm", r.ResidualNorm)
	number("state_error", r.StateError)
	number("state_bound", r.StateBound)
	number("state_floor", r.StateFloor)
	number("sensitivity_error", r.SensitivityError)
	number("sensitivity_bound", r.SensitivityBound)
	number("floor", r.SensitivityFloor)
	put("norm", results.Text(l.Norm.String()))
	if !math.IsNaN(l.Delta0) {
		number("q", l.Q)
		number("L_z", l.LZ)
		number("L_theta", l.LTheta)
		number("delta0", l.Delta0)
		number("d0", l.D0)
		put("constants", results.Text(string(l.Source)))
	}
	put("verdict", results.Text(string(r.Verdict)))
	putDeclared(&f, s.model.declared.iterate)
	row.Fields = f
	out.Record.Add(results.Iterates, row)
	out.judge(row)
	s.putSensitivities(out.Record, branch, "iterate", r.K, row.Ending, r.E)
	if m, p, _ := s.equations.Dims(); m*p > maxSensitivities {
		out.Record.Arrays = append(out.Record.Arrays,
			results.Array{Name: arrayName(branch, fmt.Sprintf("z_K%d", r.K)), Shape: []int{m}, Data: r.Z},
			results.Array{Name: arrayName(branch, fmt.Sprintf("E_K%d", r.K)), Shape: []int{m, p}, Data: r.E})
	}
}

// judge counts a verdict and warns of the first of each kind that is a finding.
func (o *Outcome) judge(row results.Row) {
	verdict := bounds.Verdict(row.Fields.Get("verdict").String())
	switch verdict {
	case bounds.DeclarationRefuted, bounds.Violated:
		o.Violated++
	case bounds.HypothesisFailed, bounds.EstimateRefuted, bounds.Unknown:
	default:
		return
	}
	kind := string(verdict) + " "
	if !slices.ContainsFunc(o.Warnings, func(w string) bool { return strings.HasPrefix(w, kind) }) {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%sat K = %v: %s", kind, row.Fields.Get("K"), row.Reason))
	}
}

// claim gathers what the study says about D, the norm and the constants.
func (s *Solver) claim(theta []float64) (iterate.Claim, error) {
	study := s.model.Study
	kind, weights, radius := "2", []float64(nil), 0.0
	if d := study.Domain; d != nil {
		kind, weights, radius = d.Norm, d.Weights, d.Radius
	}
	if kind == "weighted-inf" {
		kind = "inf"
	}
	norm, err := bounds.ParseNorm(kind, weights)
	if err != nil {
		return iterate.Claim{}, err
	}
	m, _, _ := s.equations.Dims()
	c := iterate.Claim{Norm: norm, NormTheta: norm.Unweighted(), Euclid: 1, Radius: radius, Source: bounds.Estimated, Seed: s.seed}
	if kind == "1" {
		c.Euclid = math.Sqrt(float64(m))
	}
	if len(weights) > 0 {
		c.Euclid = 1 / slices.Min(weights)
	}
	if s.constants == nil {
		return c, nil
	}
	values := make([]float64, 3)
	if err := s.constants.Eval(values, nil, theta); err != nil {
		return c, graph.Within("the declared constants", err)
	}
	c.Source, c.Q, c.LZ, c.LTheta = bounds.Declared, values[0], values[1], values[2]
	return c, nil
}
