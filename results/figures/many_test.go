package figures

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"github.com/lensir/lensir-study/results"
)

// A figure of a long sweep shows lines that can be told apart, says of how many, and is small.
func TestFiguresOfALongSweep(t *testing.T) {
	const points, large = 5000, 400_000
	qs := make([]float64, points)
	for i := range qs {
		qs[i] = 0.01 + 0.98*float64(i)/(points-1)
	}
	r := contraction(qs, []int{0, 1, 2, 5, 10, 20, 50, 100, 200})
	for i, record := range r.Records {
		fields := record.Rows(results.Implicit)[0].Fields
		fields.Set("J", results.Float(math.Sin(float64(i))))
		if i%3 == 1 { // a refusal, so that the lines break everywhere
			record.Rows(results.Implicit)[0] = results.Row{Ending: results.Ending{Status: "NOT_CONVERGED"}}
		}
	}
	figures := figuresOf(r)
	if got := figureNames(figures); !slices.Equal(got, []string{"iterates", "sensitivity-J-q"}) {
		t.Fatalf("figures %v", got)
	}
	for _, f := range figures {
		if size := len(drawn(t, f, SVG)); size > large {
			t.Errorf("%s has %d bytes", f.Name, size)
		}
	}
	if !slices.Contains(figures[0].notes, "Drawn are 50 of 5000 points, evenly spread in their order.") {
		t.Errorf("notes %q", figures[0].notes)
	}
	first, last := figures[0].legend[0].text, figures[0].legend[11].text
	if first != symbol("q")+" = 0.01" || last != symbol("q")+" = 0.990000" {
		t.Errorf("the legend goes from %q to %q", first, last)
	}
	// Every refusal is counted, also those that have no cross of their own.
	if notes := strings.Join(figures[1].notes, " "); !strings.Contains(notes, "1667 NOT_CONVERGED") {
		t.Errorf("notes %q", notes)
	}
}

// A sweep of two names has a line for each value of the other one, and of many the figure shows some.
func TestFiguresOfASweepOfTwoNames(t *testing.T) {
	r := &results.Run{Manifest: results.Manifest{Study: results.Study{Main: results.Implicit, Objectives: []string{"J"}}, Sweep: results.Sweep{Names: []string{"a", "b"}}}}
	for a := range 30 {
		for b := range 60 {
			record := &results.Record{Point: pointAt(float64(100*a + b))}
			record.Add(results.Implicit, row("OK", field("J", results.Int(a*b))))
			r.Records = append(r.Records, record)
			r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, results.Point{ID: record.Point, Values: []results.Value{results.Int(a), results.Int(b)}})
		}
	}
	for _, f := range figuresOf(r) {
		lines, want := len(f.panels[0].layers), map[string]int{"sensitivity-J-a": mostLines, "sensitivity-J-b": 30}[f.Name]
		told := slices.Contains(f.notes, "Drawn are 50 of 60 combinations of the other swept values, evenly spread in their order.")
		if lines != want || told != (want == mostLines) {
			t.Errorf("%s has %d lines, notes %q", f.Name, lines, f.notes)
		}
	}
}

func TestChosen(t *testing.T) {
	for _, count := range []int{51, 52, 99, 100, 1000, 100_000} {
		var list []int
		for i := range count {
			if chosen(i, count, 50) {
				list = append(list, i)
			}
		}
		if len(list) != 50 || list[0] != 0 || list[49] != count-1 {
			t.Fatalf("of %d: %v", count, list)
		}
		for i := 1; i < len(list); i++ {
			if d := list[i] - list[i-1]; d < (count-1)/49 || d > (count-1)/49+1 {
				t.Fatalf("of %d: a step of %d in %v", count, d, list)
			}
		}
	}
}

// A thinned line begins and ends where the line does, goes in its order, and reaches as far in every column.
func TestThin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*fine).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		points := make([]vg.Point, n)
		for i := range points {
			seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's linear congruential generator
			points[i] = vg.Point{X: vg.Length(i) / 50, Y: vg.Length(seed >> 40)}
		}
		thinned := thin(points)
		if n <= fine && len(thinned) != n {
			t.Fatalf("%d of %d points", len(thinned), n)
		}
		if n == 0 {
			return
		}
		if columns := column(points[n-1].X) + 1; n > fine && len(thinned) > 4*columns {
			t.Fatalf("%d points in %d columns", len(thinned), columns)
		}
		if thinned[0] != points[0] || thinned[len(thinned)-1] != points[n-1] {
			t.Fatal("the ends are gone")
		}
		at := 0
		for _, p := range thinned {
			for at < n && points[at] != p {
				at++
			}
			if at == n {
				t.Fatalf("%v is not there, or not in this order", p)
			}
		}
		extremes := func(points []vg.Point) map[int][2]vg.Length {
			found := make(map[int][2]vg.Length)
			for _, p := range points {
				c := column(p.X)
				e, ok := found[c]
				if !ok {
					e = [2]vg.Length{p.Y, p.Y}
				}
				found[c] = [2]vg.Length{min(e[0], p.Y), max(e[1], p.Y)}
			}
			return found
		}
		want, got := extremes(points), extremes(thinned)
		for c, e := range want {
			if got[c] != e {
				t.Fatalf("column %d reaches from %v to %v, want %v", c, got[c][0], got[c][1], e)
			}
		}
	})
}
