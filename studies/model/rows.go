package model

import (
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
)

// putTime adds the time of a point.
func putTime(r *results.Record, began time.Time) {
	r.Add(results.Measurements, results.Row{Ending: results.Ending{Status: string(graph.OK)},
		Fields: results.Fields{{Column: "wall_s", Value: results.Float(time.Since(began).Seconds())}}})
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
