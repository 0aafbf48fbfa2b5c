package figures

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/results"
)

// chainRun is a run of two lengths of a chain, with two methods, three numbers of slots and a refusal.
func chainRun() *results.Run {
	r := &results.Run{Manifest: results.Manifest{Study: results.Study{Name: "chain", Title: "A chain", Kind: "chain", Main: results.Chain, Objectives: []string{"J"}},
		Sweep: results.Sweep{Names: []string{"T"}}}}
	for i, steps := range []int{100, 1000} {
		point := "00000000000" + string(rune('0'+i))
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, results.Point{ID: point, Values: []results.Value{results.Int(steps)}})
		record := &results.Record{Study: "chain", Point: point}
		chain := results.Row{Ending: results.Ending{Status: "OK"}}
		chain.Fields.Set("T", results.Int(steps))
		chain.Fields.Set("J", results.Float(1))
		record.Add(results.Chain, chain)
		for k, method := range []string{"uniform", "revolve"} {
			for _, d := range []int{2, 5, 10} {
				replays := steps * (10 - 5*k) / d
				row := results.Row{Ending: results.Ending{Status: "OK"}}
				f := &row.Fields
				f.Set("method", results.Text(method))
				f.Set("T", results.Int(steps))
				f.Set("slots", results.Int(d))
				f.Set("replays", results.Int(replays))
				f.Set("peak_bytes", results.Int(d*24+100*k))
				record.Add(results.Schedules, row)
				timed := results.Row{Ending: results.Ending{Status: "OK"}}
				timed.Fields.Set("kind", results.Text("run"))
				timed.Fields.Set("method", results.Text(method))
				timed.Fields.Set("slots", results.Int(d))
				timed.Fields.Set("wall_s", results.Float(float64(replays)*1e-6))
				record.Add(results.Measurements, timed)
				theory := results.Row{Ending: results.Ending{Status: "OK"}}
				theory.Fields.Set("method", results.Text(method))
				theory.Fields.Set("T", results.Int(steps))
				theory.Fields.Set("slots", results.Int(d))
				theory.Fields.Set("replays", results.Int(replays))
				record.Add(results.Theory, theory)
			}
		}
		second := results.Row{Ending: results.Ending{Status: "OK"}}
		second.Fields.Set("of", results.Text("hessian"))
		second.Fields.Set("method", results.Text("revolve"))
		second.Fields.Set("T", results.Int(steps))
		second.Fields.Set("slots", results.Int(2))
		second.Fields.Set("replays", results.Int(123456))
		second.Fields.Set("peak_bytes", results.Int(123456))
		record.Add(results.Schedules, second)
		refusal := results.Row{Ending: results.Ending{Status: "OUT_OF_BUDGET", Reason: "too large"}}
		refusal.Fields.Set("method", results.Text("store-all"))
		refusal.Fields.Set("T", results.Int(steps))
		record.Add(results.Schedules, refusal)
		record.Arrays = append(record.Arrays, results.Array{Name: results.SchedulePicture + "two-tier-1", Shape: []int{8, 4}, Data: results.Floats{
			results.PictureSave, 0, 0, 0, results.PictureAdvance, 0, 0, 1, results.PictureRecord, 0, 1, 2, results.PictureReverse, 0, 1, 2,
			results.PictureFree, 0, 0, 0, results.PictureRecord, 0, 0, 1, results.PictureReverse, 0, 0, 1, results.PictureAdvance, 0, 0, 1}})
		r.Records = append(r.Records, record)
	}
	return r
}

func TestFiguresOfAChain(t *testing.T) {
	r := chainRun()
	figures := figuresOf(r)
	if got := figureNames(figures); !slices.Equal(got, []string{"replays", "memory-T", "time-memory", "schedule-two-tier-1", "sensitivity-J-T"}) {
		t.Fatalf("figures %v", got)
	}
	for _, f := range figures[:4] {
		svg := drawn(t, f, SVG)
		golden(t, f.Name+".svg", svg)
		for _, again := range figuresOf(r) {
			if again.Name == f.Name && !bytes.Equal(svg, drawn(t, again, SVG)) {
				t.Errorf("two drawings of %s differ", f.Name)
			}
		}
	}
	// Every marker of the replays lies on a point of its line, and there are as many as runs.
	markers := 0
	for _, p := range figures[0].panels {
		for i := 0; i+1 < len(p.layers); i += 2 {
			line, marks := p.layers[i].(curve), p.layers[i+1].(curve)
			for _, piece := range marks.pieces {
				if markers++; len(piece) != 1 || !slices.Contains(line.pieces[0], piece[0]) {
					t.Errorf("the marker %v is not on its line %v", piece, line.pieces)
				}
			}
		}
	}
	if markers != 12 {
		t.Errorf("%d markers for 12 runs", markers)
	}
	// The picture: one bar from the save to the free, over the three steps that were evaluated in between.
	bars := figures[3].panels[0].layers[0].(curve).pieces
	if len(bars) != 1 || bars[0][0] != (xy{0, 0}) || bars[0][1] != (xy{2, 0}) {
		t.Errorf("bars %v", bars)
	}
	if !strings.Contains(figures[3].notes[0], "1 snapshot written, at most 1 at once") {
		t.Errorf("the note is %q", figures[3].notes)
	}
}

// A chain of which nothing is known has no figure, and none of them panics.
func TestNoFiguresOfAChain(t *testing.T) {
	r := chainRun()
	for _, record := range r.Records {
		record.Tables = slices.DeleteFunc(record.Tables, func(rows results.Rows) bool { return rows.Table != results.Chain })
		record.Arrays = nil
	}
	for _, name := range figureNames(figuresOf(r)) {
		if !strings.HasPrefix(name, sensitivityFigure) {
			t.Errorf("figure %s of nothing", name)
		}
	}
	r.Records[0], r.Records[1] = nil, nil
	if got := figuresOf(r); len(got) > 0 {
		t.Errorf("figures %v of no record", figureNames(got))
	}
}
