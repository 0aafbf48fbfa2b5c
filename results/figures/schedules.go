package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"github.com/lensir/lensir-study/results"
)

const (
	replaysFigure = "replays"
	memoryFigure  = "memory-T"
	timeFigure    = "time-memory"
	streamFigure  = results.SchedulePicture // then the method and the number of slots
)

// schedulePlots draws what the schedules of a chain did.
func (r source) schedulePlots() ([]*Figure, error) {
	if r.Manifest.Study.Main != results.Chain {
		return nil, nil
	}
	var queries [3]query
	for i, name := range []string{results.Schedules, results.Theory, results.Measurements} {
		q, err := r.query(name)
		if err != nil {
			return nil, err
		}
		queries[i] = q
	}
	counted, theory, measured := queries[0], queries[1], queries[2]
	var figures []*Figure
	for _, f := range []*Figure{r.replaysPlot(counted, theory), r.memoryPlot(counted), r.timePlot(counted, measured)} {
		if f != nil {
			figures = append(figures, f)
		}
	}
	streams, err := r.streamPlots()
	return append(figures, streams...), err
}

// query is the rows of a table, with access by name.
type query struct {
	t    *results.Table
	rows [][]results.Value
}

// query reads the columns of a table that figures show. It leaves out the runs of second derivatives, whose counts are
// those of the first.
func (r source) query(table string) (query, error) {
	shown := []string{"method", "T", "slots", "budget", "replays", "peak_bytes", "kind", "wall_s", "of"}
	t, err := r.Select(table, nil, func(column string) bool { return slices.Contains(shown, column) })
	q := query{t: t}
	for _, row := range t.Rows {
		if q.get(row, "of") != results.Text("hessian") {
			q.rows = append(q.rows, row)
		}
	}
	return q, err
}

func (q query) get(row []results.Value, column string) results.Value {
	if i := q.t.Column(column); i >= 0 {
		return row[i]
	}
	return results.Value{}
}

// number returns a positive number, which has a place on a logarithmic axis.
func (q query) number(row []results.Value, column string) (float64, bool) {
	x, ok := q.get(row, column).Number()
	return x, ok && x > 0 && !math.IsInf(x, 0)
}

// distinct lists the values of a column in order.
func (q query) distinct(column string) []results.Value {
	var t results.Tally
	for _, row := range q.rows {
		t.Add(q.get(row, column))
	}
	slices.SortStableFunc(t.Order, results.Compare)
	return t.Order
}

// methods lists the methods in the order of the rows.
func (q query) methods() []string {
	var list []string
	for _, row := range q.rows {
		if m := q.get(row, "method").String(); m != "" && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// points collects two columns of the rows that a filter takes, in the order of the first.
func (q query) points(x, y string, xRange, yRange *interval, take func(row []results.Value) bool) []xy {
	var list []xy
	seen := make(map[xy]bool)
	for _, row := range q.rows {
		at, xOK := q.number(row, x)
		v, yOK := q.number(row, y)
		if !take(row) || !xOK || !yOK {
			continue
		}
		xRange.add(at)
		yRange.add(v)
		if p := (xy{at, v}); !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b xy) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	return list
}

// methodStyle is the colour and the marker of a method.
func methodStyle(i int) (draw.LineStyle, draw.GlyphStyle) {
	c := okabeIto[i%len(okabeIto)]
	return draw.LineStyle{Color: c, Width: 0.9}, draw.GlyphStyle{Color: c, Radius: 2.4, Shape: shapes[i%len(shapes)]}
}

// single makes a piece of each point, so that markers stand without a line.
func single(points []xy) [][]xy {
	pieces := make([][]xy, len(points))
	for i := range points {
		pieces[i] = points[i : i+1]
	}
	return pieces
}

// most is how many panels a figure has for the lengths of a chain.
const mostPanels = 3

// replaysPlot draws replays against slots: what theory says as lines, what runs counted as markers, a panel for each T.
func (r source) replaysPlot(counted, theory query) *Figure {
	lengths := theory.distinct("T")
	if len(counted.distinct("slots")) < 2 || len(lengths) == 0 {
		return nil
	}
	f := &Figure{Name: replaysFigure, title: r.Manifest.Study.Title}
	methods := theory.methods()
	for i, steps := range lengths {
		if i == mostPanels {
			f.notes = append(f.notes, fmt.Sprintf("Of %d lengths of the chain, the first %d are drawn.", len(lengths), mostPanels))
			break
		}
		p := panel{xLabel: "slots  " + italic("d"), yLabel: "replays of " + italic("T") + " = " + steps.String() + " steps", xLog: true, yLog: true}
		for k, m := range methods {
			take := func(q query) func(row []results.Value) bool {
				return func(row []results.Value) bool {
					return q.get(row, "method") == results.Text(m) && q.get(row, "T") == steps
				}
			}
			line, marker := methodStyle(k)
			p.layers = append(p.layers, curve{pieces: [][]xy{theory.points("slots", "replays", &p.x, &p.y, take(theory))}, line: line},
				curve{pieces: single(counted.points("slots", "replays", &p.x, &p.y, take(counted))), marker: marker})
		}
		f.panels = append(f.panels, p)
	}
	for k, m := range methods {
		line, marker := methodStyle(k)
		f.legend = append(f.legend, legendEntry{m, curve{line: line, marker: marker}})
	}
	f.notes = append(f.notes, "Lines: the formulas of the theory. Markers: counted in runs.")
	return f
}

// memoryPlot draws the peak of the logical bytes against T, a line for each method and number of slots.
func (r source) memoryPlot(q query) *Figure {
	if len(q.distinct("T")) < 2 {
		return nil
	}
	f := &Figure{Name: memoryFigure, title: r.Manifest.Study.Title}
	p := panel{xLabel: "steps  " + italic("T"), yLabel: "peak of the logical bytes", xLog: true, yLog: true}
	for k, m := range q.methods() {
		line, marker := methodStyle(k)
		drawn := 0
		slots := q.distinct("slots")
		for _, d := range append(slots, results.Value{}) {
			points := q.points("T", "peak_bytes", &p.x, &p.y, func(row []results.Value) bool {
				return q.get(row, "method") == results.Text(m) && q.get(row, "slots") == d
			})
			if len(points) == 0 {
				continue
			}
			line.Dashes = dashes[drawn%len(dashes)]
			drawn++
			p.layers = append(p.layers, curve{[][]xy{points}, line, marker})
			label := m
			if !d.Absent() {
				label += ", " + italic("d") + " = " + d.String()
			}
			f.legend = append(f.legend, legendEntry{label, curve{line: line, marker: marker}})
		}
	}
	f.panels = []panel{p}
	return f
}

// timePlot draws the measured time against the peak of the logical bytes: a marker for each run, and the front of those that no
// other run beats in both.
func (r source) timePlot(counted, measured query) *Figure {
	type key struct{ point, method, slots, budget results.Value }
	keyOf := func(q query, row []results.Value) key {
		return key{q.get(row, "point"), q.get(row, "method"), q.get(row, "slots"), q.get(row, "budget")}
	}
	seconds := make(map[key]float64)
	for _, row := range measured.rows {
		if t, ok := measured.number(row, "wall_s"); ok && measured.get(row, "kind") == results.Text("run") {
			seconds[keyOf(measured, row)] = t
		}
	}
	lengths := counted.distinct("T")
	if len(seconds) < 2 || len(lengths) == 0 {
		return nil
	}
	f := &Figure{Name: timeFigure, title: r.Manifest.Study.Title}
	methods := counted.methods()
	for i, steps := range lengths {
		if i == mostPanels {
			break
		}
		p := panel{xLabel: "peak of the logical bytes", yLabel: "seconds, " + italic("T") + " = " + steps.String(), xLog: true, yLog: true}
		var all []xy
		var marks []curve
		for k, m := range methods {
			_, marker := methodStyle(k)
			var points []xy
			for _, row := range counted.rows {
				bytes, ok := counted.number(row, "peak_bytes")
				t, timed := seconds[keyOf(counted, row)]
				if ok && timed && counted.get(row, "T") == steps && counted.get(row, "method") == results.Text(m) {
					p.x.add(bytes)
					p.y.add(t)
					points = append(points, xy{bytes, t})
				}
			}
			all = append(all, points...)
			marks = append(marks, curve{pieces: single(points), marker: marker})
		}
		slices.SortFunc(all, func(a, b xy) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
		var front []xy
		for _, at := range all {
			if n := len(front); n == 0 || at.y < front[n-1].y {
				if n > 0 {
					front = append(front, xy{at.x, front[n-1].y})
				}
				front = append(front, at)
			}
		}
		p.layers = append(p.layers, curve{pieces: [][]xy{front}, line: draw.LineStyle{Color: color.Gray{190}, Width: 1}})
		for _, m := range marks {
			p.layers = append(p.layers, m)
		}
		f.panels = append(f.panels, p)
	}
	for k, m := range methods {
		_, marker := methodStyle(k)
		f.legend = append(f.legend, legendEntry{m, curve{marker: marker}})
	}
	f.legend = append(f.legend, legendEntry{"not beaten in both", curve{line: draw.LineStyle{Color: color.Gray{190}, Width: 1}}})
	return f
}

// streamPlots draws the actions of schedules: the state that is live against the steps evaluated so far, and the snapshots as bars for
// as long as they are alive. Of a sweep, the first point that has the schedule is drawn.
func (r source) streamPlots() ([]*Figure, error) {
	var figures []*Figure
	err := r.Each(nil, []string{results.ArraysName}, func(_ int, record *results.Record) error {
		for _, a := range record.Arrays {
			if !strings.HasPrefix(a.Name, results.SchedulePicture) || len(a.Shape) != 2 || a.Shape[1] != 4 ||
				slices.ContainsFunc(figures, func(f *Figure) bool { return f.Name == a.Name }) {
				continue
			}
			figures = append(figures, streamPlot(r.Manifest.Study.Title, a))
		}
		return nil
	})
	return figures, err
}

func streamPlot(title string, a results.Array) *Figure {
	f := &Figure{Name: a.Name, title: title}
	p := panel{xLabel: "steps evaluated", yLabel: "state  " + italic("j"), xWhole: true}
	type held struct{ since, state float64 }
	slots := make(map[float64]held)
	var advances, records, reverses, bars [][]xy
	now := 0.0
	p.x.add(0)
	p.y.add(0)
	line := func(dst *[][]xy, from, to xy) {
		if n := len(*dst); n > 0 && (*dst)[n-1][len((*dst)[n-1])-1] == from {
			(*dst)[n-1] = append((*dst)[n-1], to)
			return
		}
		*dst = append(*dst, []xy{from, to})
	}
	snapshots, most := 0, 0
	for k := 0; k+3 < len(a.Data); k += 4 {
		slot, from, to := a.Data[k+1], a.Data[k+2], a.Data[k+3]
		p.y.add(to)
		switch int(a.Data[k]) {
		case results.PictureAdvance:
			line(&advances, xy{now, from}, xy{now + to - from, to})
			now += to - from
		case results.PictureRecord:
			line(&records, xy{now, from}, xy{now + to - from, to})
			now += to - from
		case results.PictureReverse:
			line(&reverses, xy{now, to}, xy{now, from})
		case results.PictureSave:
			slots[slot] = held{now, from}
			snapshots++
			most = max(most, len(slots))
		case results.PictureFree:
			s := slots[slot]
			delete(slots, slot)
			bars = append(bars, []xy{{s.since, s.state}, {max(now, s.since), s.state}})
		}
	}
	p.x.add(now)
	width := draw.LineStyle{Color: color.NRGBA{150, 200, 230, 255}, Width: 2}
	forward := draw.LineStyle{Color: color.Gray{90}, Width: 0.8}
	taped := draw.LineStyle{Color: okabeIto[1], Width: 1.1}
	back := draw.LineStyle{Color: okabeIto[2], Width: 1.6}
	p.layers = append(p.layers, curve{pieces: bars, line: width}, curve{pieces: advances, line: forward},
		curve{pieces: records, line: taped}, curve{pieces: reverses, line: back})
	f.panels = []panel{p}
	f.legend = []legendEntry{{"snapshot", curve{line: width}}, {"replay", curve{line: forward}}, {"record", curve{line: taped}}, {"reverse", curve{line: back}}}
	of := strings.TrimPrefix(a.Name, results.SchedulePicture) // the method and the number of slots
	if i := strings.LastIndex(of, "-"); i >= 0 {
		of = of[:i] + ", " + italic("d") + " = " + of[i+1:]
	}
	f.notes = []string{fmt.Sprintf("%s: %s written, at most %d at once.", of, plural(snapshots, "snapshot"), most)}
	return f
}
