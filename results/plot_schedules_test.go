package results

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// chainRun is a run of two lengths of a chain, with two methods, three numbers of slots and a refusal.
func chainRun() *Run {
	r := &Run{Manifest: Manifest{Study: Study{Name: "chain", Title: "A chain", Kind: "chain", Main: Chain, Objectives: []string{"J"}},
		Sweep: Sweep{Names: []string{"T"}}}}
	for i, steps := range []int{100, 1000} {
		point := "00000000000" + string(rune('0'+i))
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, Point{ID: point, Values: []Value{Int(steps)}})
		record := &Record{Study: "chain", Point: point}
		chain := Row{Ending: Ending{Status: "OK"}}
		chain.Fields.Set("T", Int(steps))
		chain.Fields.Set("J", Float(1))
		record.Add(Chain, chain)
		for k, method := range []string{"uniform", "revolve"} {
			for _, d := range []int{2, 5, 10} {
				replays := steps * (10 - 5*k) / d
				row := Row{Ending: Ending{Status: "OK"}}
				f := &row.Fields
				f.Set("method", Text(method))
				f.Set("T", Int(steps))
				f.Set("slots", Int(d))
				f.Set("replays", Int(replays))
				f.Set("peak_bytes", Int(d*24+100*k))
				record.Add(Schedules, row)
				timed := Row{Ending: Ending{Status: "OK"}}
				timed.Fields.Set("kind", Text("run"))
				timed.Fields.Set("method", Text(method))
				timed.Fields.Set("slots", Int(d))
				timed.Fields.Set("wall_s", Float(float64(replays)*1e-6))
				record.Add(Measurements, timed)
				theory := Row{Ending: Ending{Status: "OK"}}
				theory.Fields.Set("method", Text(method))
				theory.Fields.Set("T", Int(steps))
				theory.Fields.Set("slots", Int(d))
				theory.Fields.Set("replays", Int(replays))
				record.Add(Theory, theory)
			}
		}
		second := Row{Ending: Ending{Status: "OK"}}
		second.Fields.Set("of", Text("hessian"))
		second.Fields.Set("method", Text("revolve"))
		second.Fields.Set("T", Int(steps))
		second.Fields.Set("slots", Int(2))
		second.Fields.Set("replays", Int(123456))
		second.Fields.Set("peak_bytes", Int(123456))
		record.Add(Schedules, second)
		refusal := Row{Ending: Ending{Status: "OUT_OF_BUDGET", Reason: "too large"}}
		refusal.Fields.Set("method", Text("store-all"))
		refusal.Fields.Set("T", Int(steps))
		record.Add(Schedules, refusal)
		record.Arrays = append(record.Arrays, Array{Name: SchedulePicture + "two-tier-1", Shape: []int{8, 4}, Data: Floats{
			PictureSave, 0, 0, 0, PictureAdvance, 0, 0, 1, PictureRecord, 0, 1, 2, PictureReverse, 0, 1, 2,
			PictureFree, 0, 0, 0, PictureRecord, 0, 0, 1, PictureReverse, 0, 0, 1, PictureAdvance, 0, 0, 1}})
		r.Records = append(r.Records, record)
	}
	return r
}

func TestFiguresOfAChain(t *testing.T) {
	r := chainRun()
	figures := r.Figures()
	if got := figureNames(figures); !slices.Equal(got, []string{"replays", "memory-T", "time-memory", "schedule-two-tier-1", "sensitivity-J-T"}) {
		t.Fatalf("figures %v", got)
	}
	for _, f := range figures[:4] {
		svg := drawn(t, f, SVG)
		golden(t, f.Name+".svg", svg)
		for _, again := range r.Figures() {
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
		record.Tables = slices.DeleteFunc(record.Tables, func(rows Rows) bool { return rows.Table != Chain })
		record.Arrays = nil
	}
	for _, name := range figureNames(r.Figures()) {
		if !strings.HasPrefix(name, sensitivityFigure) {
			t.Errorf("figure %s of nothing", name)
		}
	}
	r.Records[0], r.Records[1] = nil, nil
	if got := r.Figures(); len(got) > 0 {
		t.Errorf("figures %v of no record", figureNames(got))
	}
}
