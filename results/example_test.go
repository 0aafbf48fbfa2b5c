package results_test

import (
	"fmt"
	"os"
	"time"

	"github.com/lensir/lensir-study/results"
)

// A study z² = a is run at two points: each finished point is one record, and everything else is made from the folder.
func Example() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	roots := map[float64]float64{4: 2, 9: 3}
	sweep := results.Sweep{Names: []string{"a"}}
	for _, a := range []float64{4, 9, -1} {
		id := results.Digest(fmt.Appendf(nil, "z^2 - %v", a))
		sweep.Points = append(sweep.Points, results.Point{ID: id, Values: []results.Value{results.Float(a)}})
	}
	study := results.Study{Name: "root", Title: "A square root", Kind: "root", Main: results.Implicit, Objectives: []string{"J"}}
	manifest := results.NewManifest(results.Tool{Name: "lensir-study", Version: "v0", Digest: "0123456789ab"}, study, sweep, time.Now())

	log, err := results.Begin(dir, &manifest, []byte("kind = \"root\"\n"))
	if err != nil {
		panic(err)
	}
	for _, p := range sweep.Points {
		if _, done := log.Find(p.ID); done {
			continue // by an earlier run
		}
		record := &results.Record{Point: p.ID}
		a, _ := p.Values[0].Number()
		if z, ok := roots[a]; ok {
			row := results.Row{Ending: results.Ending{Status: "OK"}}
			row.Fields.Set("J", results.Float(z))
			row.Fields.Set("dJ_a", results.Float(0.5/z))
			record.Add(results.Implicit, row)
		} else {
			record.Failure = &results.Ending{Status: "NOT_CONVERGED", Reason: "there is no real root: choose a > 0"}
		}
		if err := log.Append(record); err != nil {
			panic(err)
		}
	}
	if err := log.Close(); err != nil {
		panic(err)
	}

	run, err := results.Load(dir)
	if err != nil {
		panic(err)
	}
	if err := run.Write(dir); err != nil {
		panic(err)
	}
	if err := run.Print(os.Stdout, 0); err != nil {
		panic(err)
	}
	// Output:
	// A square root
	//
	// implicit
	//    a  J      dJ_a  status
	//    4  2      0.25  OK
	//    9  3  0.166667  OK
	//   -1               NOT_CONVERGED
	//   status: 2 OK, 1 NOT_CONVERGED
	//   NOT_CONVERGED: there is no real root: choose a > 0
}
