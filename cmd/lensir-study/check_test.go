package main

import (
	"bytes"
	"math"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/studies"
	"github.com/lensir/lensir-study/studies/model"
)

// TestDisagreement holds a derivative that differences refute to being shown, and to the exit code 5; also beside a
// refusal, which alone has the exit code 4, unless it is expected.
func TestDisagreement(t *testing.T) {
	right := model.Difference{What: "G", Derivative: 2, Quotient: 2.0000001, Step: 1e-5, Error: 1e-7, Agrees: true}
	wrong := model.Difference{What: "dJ along the exact branch", Derivative: 1, Quotient: 0.5, Step: 1e-4, Error: 0.5}
	refused := model.Difference{What: "exact branch", Reason: "NOT_CONVERGED: try another start", Status: graph.NotConverged}
	apart := model.Difference{What: "start", Quotient: math.NaN(), Step: math.NaN(), Error: math.NaN(), Reason: "no difference"}
	for _, c := range []struct {
		list     []model.Difference
		expected graph.Status
		code     int
		prints   string
	}{
		{[]model.Difference{right, wrong}, "", exitViolated, `  of                         derivative  difference    error   step
  G                                   2   2.0000001  1.0e-07  1e-05  agrees
  dJ along the exact branch           1         0.5  5.0e-01  1e-04  DISAGREES
derivatives: 1 agree, 1 DISAGREE
`},
		{[]model.Difference{apart, wrong, refused}, "", exitViolated, `  of                         derivative  difference    error   step
  dJ along the exact branch           1         0.5  5.0e-01  1e-04  DISAGREES
  not compared: start: no difference
  not compared: exact branch: NOT_CONVERGED: try another start
derivatives: 1 DISAGREE, 2 not compared
`},
		{[]model.Difference{refused}, "", exitRefused, `  not compared: exact branch: NOT_CONVERGED: try another start
derivatives: 1 not compared
`},
		{[]model.Difference{right, refused}, graph.NotConverged, exitFine, `  of  derivative  difference    error   step
  G            2   2.0000001  1.0e-07  1e-05  agrees
  not compared: exact branch: NOT_CONVERGED: try another start
derivatives: 1 agree, 1 not compared
`},
	} {
		var out bytes.Buffer
		if code := printDifferences(&out, c.list, c.expected); code != c.code || out.String() != c.prints {
			t.Errorf("exit code %d, want %d; have\n%swant\n%s", code, c.code, &out, c.prints)
		}
	}
}

// TestGalleryChecks holds every built-in study to reading, to its derivatives, and to being shown without a flood.
func TestGalleryChecks(t *testing.T) {
	for _, name := range studies.Gallery() {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"check", name}, {"show", name}, {"run", name, "--dry-run"}} {
				var stdout, stderr bytes.Buffer
				if code := run(t.Context(), &stdout, &stderr, args); code != exitFine || stdout.Len() == 0 {
					t.Errorf("%v: exit code %d\n%s%s", args, code, &stdout, &stderr)
				}
				if most := 100_000; stdout.Len() > most {
					t.Errorf("%v prints %d bytes, want at most %d", args, stdout.Len(), most)
				}
			}
		})
	}
}
