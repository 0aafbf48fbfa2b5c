package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit"
	"github.com/lensir/lensir-study/iterate"
	"github.com/lensir/lensir-study/results"
)

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
