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

const iteratesFigure = "iterates"

type errorPanel struct{ noun, limit, err, bound, floor, label string }

// errorPanels are the two claims about an iterate: the measured error, and what bounds it.
var errorPanels = []errorPanel{
	{"state error", "state bound", "state_error", "state_bound", "state_floor", "state error  ‖" + italic("z") + sub(italic("K")) + " − " + italic("z") + "*‖"},
	{"sensitivity error", "sensitivity bound", "sensitivity_error", "sensitivity_bound", "floor",
		"sensitivity error  ‖d" + italic("z") + sub(italic("K")) + "/d" + italic("θ") + " − d" + italic("z") + "*/d" + italic("θ") + "‖"},
}

// iteratesPlots draws errors and bounds against K on logarithmic axes: a colour for each swept value, the measured
// errors as markers on a line, the bounds dashed, and below a shade up to the rounding floor.
// What a logarithmic axis cannot show is left out, and counted in a note.
func (r source) iteratesPlots() ([]*Figure, error) {
	places, note := r.spread(mostLines)
	t, err := r.Select(results.Iterates, places, func(column string) bool {
		return slices.Contains([]string{"method", "K", "verdict"}, column) || slices.ContainsFunc(errorPanels, func(p errorPanel) bool {
			return column == p.err || column == p.bound || column == p.floor
		})
	})
	if err != nil || len(t.Rows) == 0 {
		return nil, err
	}
	all, colors, kinds := split(t, -1, "branch", "method")
	f := &Figure{Name: iteratesFigure, title: r.Manifest.Study.Title}
	if note != "" {
		f.notes = append(f.notes, note)
	}
	k := t.Column("K")
	anyBand := false
	var missing []string // from the logarithmic axes
	for _, claim := range errorPanels {
		p := panel{xLabel: "iterations  " + italic("K"), yLabel: claim.label, yLog: true, xWhole: true}
		var dropped dropCount
		var errs, bounds, floors interval
		var lines, dashed, bands []curve
		for _, s := range all {
			slices.SortStableFunc(s.rows, func(a, b []results.Value) int { return results.Compare(a[k], b[k]) })
			c := ordered(s.color, len(colors))
			lines = append(lines, curve{
				pieces: pieces(s.rows, k, t.Column(claim.err), &errs, &p.x, dropped.counter(claim.noun)),
				line:   draw.LineStyle{Color: c, Width: 0.9},
				marker: draw.GlyphStyle{Color: c, Radius: 2.2, Shape: shapes[s.shape%len(shapes)]}})
			dashed = append(dashed, curve{
				pieces: pieces(s.rows, k, t.Column(claim.bound), &bounds, &p.x, dropped.counter(claim.limit)),
				line:   draw.LineStyle{Color: mix(c, 0.5), Width: 2, Dashes: dashes[1]}})
			bands = append(bands, curve{
				pieces: pieces(s.rows, k, t.Column(claim.floor), &floors, &p.x, nil),
				line:   draw.LineStyle{Color: c, Width: 0.3}})
		}
		var floorShown bool
		p.y, floorShown = errorRange(errs, bounds, floors)
		switch {
		case !errs.some && !bounds.some:
			p.empty = dropped.all(claim.noun)
		default:
			// The highest floor comes first, so that each shade shows above the next one.
			slices.SortStableFunc(bands, func(a, b curve) int { return cmp.Compare(highest(b), highest(a)) })
			for _, b := range bands {
				if !floorShown {
					break
				}
				p.layers = append(p.layers, band{b.pieces, mix(b.line.Color.(color.NRGBA), 0.82)}, b)
				anyBand = anyBand || len(b.pieces) > 0
			}
			if floors.some && !floorShown {
				f.notes = append(f.notes, fmt.Sprintf("The rounding floor of the %s, about %s, lies below the axis.", claim.noun, scientific(floors.max)))
			}
			for i := range dashed {
				p.layers = append(p.layers, dashed[i])
			}
			for i := range lines {
				p.layers = append(p.layers, lines[i])
			}
			if note := dropped.note(); note != "" {
				missing = append(missing, note)
			}
		}
		f.panels = append(f.panels, p)
	}

	f.notes = append(f.notes, unbounded(t, all)...)
	if len(missing) > 0 {
		f.notes = append(f.notes, "Not drawn on the logarithmic axis: "+strings.Join(missing, ", ")+".")
	}

	if len(colors) > 1 {
		f.addSwept(colors)
	}
	grey := draw.LineStyle{Color: darkGrey, Width: 0.9}
	for i, kind := range kinds {
		text := "measured"
		if len(kinds) > 1 {
			text += ": " + kind
		}
		f.legend = append(f.legend, legendEntry{text, curve{line: grey, marker: draw.GlyphStyle{Color: darkGrey, Radius: 2.2, Shape: shapes[i%len(shapes)]}}})
	}
	f.legend = append(f.legend, legendEntry{"bound", curve{line: draw.LineStyle{Color: color.Gray{168}, Width: 2, Dashes: dashes[1]}}})
	if anyBand {
		f.legend = append(f.legend, legendEntry{"rounding floor", band{fill: color.Gray{220}}})
	}
	return []*Figure{f}, nil
}

// unbounded says for which series there are errors and no bound, by verdict.
func unbounded(t *results.Table, all []*series) []string {
	verdict, bound := t.Column("verdict"), t.Column("sensitivity_bound")
	var order []string
	labels := make(map[string][]string)
	for _, s := range all {
		if slices.ContainsFunc(s.rows, func(row []results.Value) bool { return !row[bound].Absent() }) {
			continue
		}
		why := s.rows[0][verdict].String()
		if labels[why] == nil {
			order = append(order, why)
		}
		labels[why] = append(labels[why], s.label)
	}
	var notes []string
	for _, why := range order {
		const most = 3
		text := strings.Join(labels[why][:min(most, len(labels[why]))], "; ")
		if n := len(labels[why]) - most; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		if text != "" {
			text = " for " + text
		}
		if why != "" {
			text += ": " + why
		}
		notes = append(notes, "No bound"+text+".")
	}
	return notes
}

// mix is a colour made lighter by a share of white. It is opaque: SVG and PDF canvases get translucent colours wrong.
func mix(c color.NRGBA, white float64) color.NRGBA {
	light := func(x uint8) uint8 { return x + uint8(white*float64(255-x)) }
	return color.NRGBA{light(c.R), light(c.G), light(c.B), 255}
}

// highest is the greatest value of a curve, or 0.
func highest(k curve) (y float64) {
	for _, piece := range k.pieces {
		for _, at := range piece {
			y = max(y, at.y)
		}
	}
	return y
}

// errorRange is what the logarithmic axis shows. Errors are always inside. A bound falls far below the floor, or grows without
// limit where it does not contract: it may leave the panel. A floor far below all errors is not shown.
func errorRange(errs, bounds, floors interval) (r interval, floorShown bool) {
	r = errs
	if !r.some {
		r = bounds
	}
	if floors.some && r.some && floors.max >= r.min*1e-3 {
		floorShown = true
	}
	lowest, highest := r.min*1e-3, r.max*1e4
	if floorShown {
		r.add(floors.max)
		lowest = r.min / 10
		r.add(max(floors.min, lowest))
	}
	if errs.some && bounds.some {
		r.add(min(max(bounds.min, lowest), highest))
		r.add(min(max(bounds.max, lowest), highest))
	}
	r.min, r.max = max(r.min, math.SmallestNonzeroFloat64), min(r.max, math.MaxFloat64)
	if !r.some {
		return interval{}, false
	}
	return r, floorShown
}

// pieces joins neighbouring rows into lines, broken at each row whose value has no place on a logarithmic axis.
func pieces(rows [][]results.Value, x, y int, yRange, xRange *interval, drop func(float64)) [][]xy {
	var out [][]xy
	open := false
	for _, row := range rows {
		at, xOK := row[x].Number()
		if !xOK || math.IsNaN(at) || math.IsInf(at, 0) || y < 0 || row[y].Absent() {
			open = false
			continue
		}
		xRange.add(at)
		v, ok := row[y].Number()
		if !ok || !(v > 0) || math.IsInf(v, 0) {
			if drop != nil {
				drop(v)
			}
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

// dropCount counts the values that are not drawn, by noun and by reason.
type dropCount struct {
	order []dropKey
	count map[dropKey]int
}

type dropKey struct{ noun, why string }

func (d *dropCount) counter(noun string) func(float64) {
	return func(v float64) {
		key := dropKey{noun, "non-finite"}
		switch {
		case v == 0:
			key.why = "zero"
		case v < 0 && !math.IsInf(v, 0):
			key.why = "negative"
		}
		if d.count == nil {
			d.count = make(map[dropKey]int)
		}
		if d.count[key] == 0 {
			d.order = append(d.order, key)
		}
		d.count[key]++
	}
}

// note lists the counts, as "3 zero errors, 1 non-finite bound".
func (d *dropCount) note() string {
	var parts []string
	for _, key := range d.order {
		parts = append(parts, plural(d.count[key], key.why+" "+key.noun))
	}
	return strings.Join(parts, ", ")
}

// all says why a panel is empty.
func (d *dropCount) all(noun string) string {
	zero, total := d.count[dropKey{noun, "zero"}], 0
	for key, n := range d.count {
		if key.noun == noun {
			total += n
		}
	}
	switch {
	case total == 0:
		return noun + ": not measured"
	case zero == 1 && total == 1:
		return noun + ": exactly zero at the only point"
	case zero == total:
		return fmt.Sprintf("%s: exactly zero at all %s", noun, plural(total, "point"))
	}
	return noun + ": nothing to draw on a logarithmic axis: " + d.note()
}
