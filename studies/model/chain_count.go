package model

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// countChain holds the rows of a chain against what the study expects, which is the status of its chain or of one of its schedules, and
// says what its certificates say.
func (o *Outcome) countChain(s *studies.Study, r *results.Record) {
	met, refused := s.Expect == "" || s.Expect == graph.OK, 0
	count := func(row results.Row) {
		switch graph.Status(row.Status) {
		case s.Expect:
			met = true
		case graph.OK:
		default:
			refused++
		}
		switch row.Fields.Get("certificate") {
		case results.Text(certificateViolated):
			o.Violated++
			o.Warnings = append(o.Warnings, fmt.Sprintf("%v with %v slots: %s", row.Fields.Get("method"), row.Fields.Get("slots"), row.Reason))
		case results.Text(certificateUnknown):
			o.Warnings = append(o.Warnings, row.Reason)
		}
	}
	for _, table := range []string{results.Chain, results.Schedules} {
		for _, row := range r.Rows(table) {
			count(row)
		}
	}
	for _, row := range r.Rows(results.Measurements) { // the others' rows are those of the point
		kind := row.Fields.Get("kind")
		bad := row.Status != string(graph.OK) || row.Fields.Get("certificate") == results.Text(certificateViolated)
		if kind == results.Text(measuredChoice) || kind == results.Text(measuredRun) && bad {
			count(row)
		}
	}
	o.Refused += refused
	if !met && refused == 0 {
		o.Unexpected++
		o.Warnings = append(o.Warnings, fmt.Sprintf("expected %s, but the status is OK", s.Expect))
	}
}
