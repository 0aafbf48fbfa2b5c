package figures_test

import (
	"fmt"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/results/figures"
)

// The figures of a root over a sweep: the objective and its derivative against the swept number.
func ExampleOf() {
	run := &results.Run{Manifest: results.Manifest{
		Study: results.Study{Name: "root", Title: "A square root", Kind: "root", Main: results.Implicit, Objectives: []string{"J"}},
		Sweep: results.Sweep{Names: []string{"a"}},
	}}
	for a, z := range map[float64]float64{4: 2, 9: 3} {
		row := results.Row{Ending: results.Ending{Status: "OK"}}
		row.Fields.Set("J", results.Float(z))
		row.Fields.Set("dJ_a", results.Float(0.5/z))
		record := &results.Record{Point: results.Digest(fmt.Append(nil, a))}
		record.Add(results.Implicit, row)
		run.Records = append(run.Records, record)
		run.Manifest.Sweep.Points = append(run.Manifest.Sweep.Points, results.Point{ID: record.Point, Values: []results.Value{results.Float(a)}})
	}
	drawn, err := figures.Of(run)
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range drawn {
		fmt.Println(f.Name)
	}
	// Output:
	// sensitivity-J-a
}
