package figures

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"github.com/lensir/lensir-study/results"
)

const sensitivityFigure = "sensitivity-"

// sensitivityPlots draws, for each objective and each swept number, the objective and its derivative against that
// number in two panels. A line joins the points of one branch, and of the same other swept values; it breaks
// at a refusal, which a cross at the axis marks. The derivative is the one with respect to the swept
// number if that is a parameter, otherwise those with respect to all scalar parameters.
func (r source) sensitivityPlots() ([]*Figure, error) {
	study := r.Manifest.Study
	if study.Main != results.Implicit && study.Main != results.Chain || len(r.Manifest.Sweep.Names) == 0 {
		return nil, nil
	}
	t, err := r.Select(study.Main, nil, func(column string) bool {
		return slices.ContainsFunc(study.Objectives, func(objective string) bool {
			return column == objective || strings.HasPrefix(column, "d"+objective+"_") && !strings.Contains(column, "[")
		})
	})
	if err != nil {
		return nil, err
	}
	var figures []*Figure
	for i, name := range r.Manifest.Sweep.Names {
		if !plotted(t, 3+i) {
			continue
		}
		for _, objective := range study.Objectives {
			if f := r.sensitivityPlot(t, objective, name, 3+i); f != nil {
				figures = append(figures, f)
			}
		}
	}
	return figures, nil
}

// plotted reports whether a swept column is an axis: two different finite numbers or more, and nothing else.
func plotted(t *results.Table, column int) bool {
	var r interval
	for _, row := range t.Rows {
		x, ok := row[column].Number()
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		r.add(x)
	}
	return r.some && r.max > r.min
}

// derivatives lists the columns of an objective's derivatives that a figure shows, and their parameters.
func (r source) derivatives(t *results.Table, objective, swept string) (columns []int, parameters []string) {
	for i := t.Column("reason") + 1; i < len(t.Columns); i++ {
		parameter, ok := strings.CutPrefix(t.Columns[i], "d"+objective+"_")
		if !ok || strings.Contains(parameter, "[") {
			continue
		}
		// dJ_a_b belongs to J_a if that is an objective too.
		if slices.ContainsFunc(r.Manifest.Study.Objectives, func(other string) bool {
			return len(other) > len(objective) && strings.HasPrefix(t.Columns[i], "d"+other+"_")
		}) {
			continue
		}
		if parameter == swept {
			return []int{i}, []string{parameter}
		}
		columns, parameters = append(columns, i), append(parameters, parameter)
	}
	n := min(len(columns), len(dashes))
	return columns[:n], parameters[:n]
}

func (r source) sensitivityPlot(t *results.Table, objective, swept string, x int) *Figure {
	value := t.Column(objective)
	if value < 0 {
		return nil
	}
	all, labels, branches := split(t, x, "branch")
	columns, parameters := r.derivatives(t, objective, swept)
	f := &Figure{Name: sensitivityFigure + objective + "-" + swept, title: r.Manifest.Study.Title}
	// Lines that have one point each are markers, of which more can be told apart.
	if most := max(mostLines, mostMarkers*len(labels)/max(len(t.Rows), 1)); len(labels) > most {
		all = slices.DeleteFunc(all, func(s *series) bool { return !chosen(s.color, len(labels), most) })
		f.notes = append(f.notes, drawnOf(most, len(labels), "combinations of the other swept values"))
	}

	var xs interval
	for _, row := range t.Rows {
		at, _ := row[x].Number()
		xs.add(at)
	}
	xLog := xs.over(2)
	byBranch := len(labels) < 2                  // colours tell branches apart unless they tell swept values apart,
	byParameter := byBranch && len(branches) < 2 // and parameters where there is nothing else to tell apart
	style := func(s *series, dash int) (draw.LineStyle, draw.GlyphStyle) {
		c := ordered(s.color, len(labels))
		if byBranch {
			c = okabeIto[s.shape%len(okabeIto)]
		}
		if byParameter {
			c = okabeIto[dash%len(okabeIto)]
		}
		return draw.LineStyle{Color: c, Width: 1.1, Dashes: dashes[dash]},
			draw.GlyphStyle{Color: c, Radius: 2.2, Shape: shapes[s.shape%len(shapes)]}
	}

	yLabel := "d" + symbol(objective) + "/d" + symbol(swept)
	if len(columns) != 1 || parameters[0] != swept {
		yLabel = "derivatives of " + symbol(objective)
		if len(columns) == 1 {
			yLabel = "d" + symbol(objective) + "/d" + symbol(parameters[0])
		}
	}
	panels := []panel{{yLabel: symbol(objective)}, {yLabel: yLabel}}
	var dropped int
	var refusals crosses
	var statuses results.Tally
	for _, row := range t.Rows {
		if status := row[t.Column("status")]; refused(status) {
			at, _ := row[x].Number()
			refusals = append(refusals, at)
			statuses.Add(status)
		}
	}
	status := t.Column("status")
	for i := range panels {
		p := &panels[i]
		p.xLabel, p.xLog, p.x = symbol(swept), xLog, xs
		ys := []int{value}
		if i == 1 {
			ys = columns
		}
		for _, s := range all {
			slices.SortStableFunc(s.rows, func(a, b []results.Value) int { return results.Compare(a[x], b[x]) })
			for j, column := range ys {
				line, marker := style(s, j)
				p.layers = append(p.layers, curve{linearPieces(s.rows, x, column, status, &p.y, &dropped), line, marker})
			}
		}
		p.yLog = p.y.over(3) // as near a fold, where one value would hide all others
		if !p.y.some {
			p.empty = "no value: every point was refused"
			if len(refusals) < len(t.Rows) {
				p.empty = "no derivative with respect to a scalar parameter"
			}
		}
		if len(refusals) > 0 {
			p.layers = append(p.layers, refusals)
		}
	}
	f.panels = panels

	if !byBranch {
		f.addSwept(labels)
	}
	if len(branches) > 1 {
		for i, branch := range branches {
			c := darkGrey
			line := draw.LineStyle{Color: c, Width: 1.1}
			marker := draw.GlyphStyle{Color: c, Radius: 2.2, Shape: shapes[i%len(shapes)]}
			if byBranch {
				line.Color, marker.Color = okabeIto[i%len(okabeIto)], okabeIto[i%len(okabeIto)]
			}
			if branch == "" {
				branch = "first start"
			}
			f.legend = append(f.legend, legendEntry{branch, curve{line: line, marker: marker}})
		}
	}
	if len(columns) > 1 {
		for i, parameter := range parameters {
			line := draw.LineStyle{Color: color.Gray{60}, Width: 1.1, Dashes: dashes[i]}
			if byParameter {
				line.Color = okabeIto[i%len(okabeIto)]
			}
			f.legend = append(f.legend, legendEntry{"d" + symbol(objective) + "/d" + symbol(parameter), curve{line: line}})
		}
	}
	if len(refusals) > 0 {
		f.legend = append(f.legend, legendEntry{"refused", refusals})
		f.notes = append(f.notes, "Refused: "+statuses.String()+".")
	}
	if dropped > 0 {
		f.notes = append(f.notes, plural(dropped, "value")+" not finite, or beyond 1e300, not drawn.")
	}
	return f
}

// linearPieces joins neighbouring rows into lines, broken at each row that was refused or has no finite value.
func linearPieces(rows [][]results.Value, x, y, status int, yRange *interval, dropped *int) [][]xy {
	var out [][]xy
	open := false
	for _, row := range rows {
		at, _ := row[x].Number()
		v, ok := row[y].Number()
		if ok && !(math.Abs(v) <= 1e300) {
			*dropped++
			ok = false
		}
		if !ok || refused(row[status]) {
			open = false
			continue
		}
		yRange.add(v)
		if !open {
			out = append(out, nil)
			open = true
		}
		out[len(out)-1] = append(out[len(out)-1], xy{at, v})
	}
	return out
}
