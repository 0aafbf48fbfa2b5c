package model

import (
	"testing"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
)

// An objective that is refused takes no comparison away: the branch is there, and so are the bounds.
func TestRefusedObjectiveLeavesTheLedger(t *testing.T) {
	out := solveText(t, `
kind = "fixed-point"
[parameters]
theta = 0.5
[state]
z = { start = "0" }
[fixed-point]
z = "0.5 * z + theta"
[objective]
J = "log(z - 5)"
[iterate]
steps = [0, 3]
`, 0)
	row := out.Record.Rows(results.Implicit)[0]
	if row.Status != string(graph.DomainError) || !row.Fields.Get("dJ_theta").Absent() || out.Refused != 1 {
		t.Errorf("the objective: %+v, %d refused", row, out.Refused)
	}
	rows := out.Record.Rows(results.Iterates)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if v := bounds.Verdict(r.Fields.Get("verdict").String()); v != bounds.Holds {
			t.Errorf("K = %v: %s %s", r.Fields.Get("K"), v, r.Reason)
		}
	}
}
