package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"github.com/lensir/lensir-study/results"
)

// series is the rows that one line of a figure joins.
type series struct {
	label string // its values of the swept names that vary, or ""
	color int    // rank of that label among all, in the order of the values
	kind  string // branch and method, or ""
	shape int    // rank of the kind, in the order of the rows
	rows  [][]results.Value
}

// split groups a table's rows into series: by the swept columns but except (an index, or -1), and by the columns named
// kinds. It returns the series ordered by swept values and then by kind, with all labels and kinds in order.
func split(t *results.Table, except int, kinds ...string) (out []*series, labels, kindNames []string) {
	var vary []int
	for i := 3; i < 3+t.Swept; i++ {
		if i != except && slices.ContainsFunc(t.Rows, func(row []results.Value) bool { return row[i] != t.Rows[0][i] }) {
			vary = append(vary, i)
		}
	}
	values := make(map[*series][]results.Value)
	byKey := make(map[string]*series)
	for _, row := range t.Rows {
		var label, kind []string
		var tuple []results.Value
		for _, i := range vary {
			label = append(label, symbol(strings.TrimPrefix(t.Columns[i], "sweep."))+" = "+typeset(results.Rounded(row[i])))
			tuple = append(tuple, row[i])
		}
		for _, name := range kinds {
			if i := t.Column(name); i >= 0 && !row[i].Absent() {
				kind = append(kind, row[i].String())
			}
		}
		key := fmt.Sprint(tuple, kind)
		s := byKey[key]
		if s == nil {
			s = &series{label: strings.Join(label, ", "), kind: strings.Join(kind, ", ")}
			byKey[key], values[s] = s, tuple
			out = append(out, s)
			if !slices.Contains(kindNames, s.kind) {
				kindNames = append(kindNames, s.kind)
			}
			s.shape = slices.Index(kindNames, s.kind)
		}
		s.rows = append(s.rows, row)
	}
	slices.SortStableFunc(out, func(a, b *series) int {
		return cmp.Or(slices.CompareFunc(values[a], values[b], results.Compare), cmp.Compare(a.shape, b.shape))
	})
	for _, s := range out {
		if n := len(labels); n == 0 || labels[n-1] != s.label {
			labels = append(labels, s.label)
		}
		s.color = len(labels) - 1
	}
	return out, labels, kindNames
}

// A figure has no more than mostLines lines, or mostMarkers places without a line: more are not told apart.
const mostLines, mostMarkers = 50, 500

// spread lists the points of the sweep, or most of them that are evenly spread in the order of the swept values, with a note.
func (r source) spread(most int) (places []int, note string) {
	points := r.Manifest.Sweep.Points
	for i := range points {
		if r.Has(i) {
			places = append(places, i)
		}
	}
	count := len(places)
	if count <= most {
		return places, ""
	}
	slices.SortStableFunc(places, func(a, b int) int { return slices.CompareFunc(points[a].Values, points[b].Values, results.Compare) })
	rank := 0
	places = slices.DeleteFunc(places, func(int) bool {
		rank++
		return !chosen(rank-1, count, most)
	})
	slices.Sort(places)
	return places, drawnOf(most, count, "points")
}

// chosen reports whether the i-th of count things is one of most that are evenly spread, the first and the last among them.
func chosen(i, count, most int) bool {
	k := (i*(most-1) + count - 2) / (count - 1) // the first one whose place may be i
	return k*(count-1)/(most-1) == i
}

func drawnOf(most, count int, of string) string {
	return fmt.Sprintf("Drawn are %d of %d %s, evenly spread in their order.", most, count, of)
}

// addSwept puts the swept values into the legend by their colours: at most twelve of them, the first and the last among them.
func (f *Figure) addSwept(labels []string) {
	const most = 12
	count := len(labels)
	for k := range min(count, most) {
		if count > most {
			k = k * (count - 1) / (most - 1)
		}
		f.legend = append(f.legend, legendEntry{labels[k], curve{line: draw.LineStyle{Color: ordered(k, count), Width: 2.4}}})
	}
	if count > most {
		f.notes = append(f.notes, fmt.Sprintf("The legend names %d of %d swept values, in order.", most, count))
	}
}

// refused reports whether a status comes without a derivative.
func refused(status results.Value) bool {
	return status != results.Text("OK") && status != results.Text("ITERATES_DIFFERENTIATED")
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
