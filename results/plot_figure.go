package results

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Format is a file format of figures. The bytes of SVG and PNG depend on the records alone; PDF holds its date.
type Format string

// The formats of figures.
const (
	SVG Format = "svg"
	PNG Format = "png"
	PDF Format = "pdf"
)

// PlotsName is the folder of figures in an output folder.
const PlotsName = "plots"

// Figure is a named plot of a run. Its data are complete: drawing reads nothing else.
type Figure struct {
	Name   string // the file's name without its suffix
	title  string
	panels []panel
	legend []legendEntry
	notes  []string
}

// panel is one set of axes. Panels are stacked and share the width.
type panel struct {
	xLabel, yLabel string
	xLog, yLog     bool
	xWhole         bool // the horizontal axis counts
	x, y           interval
	layers         []plot.Plotter
	empty          string // what to say where there is nothing to draw
}

type legendEntry struct {
	text  string
	thumb plot.Thumbnailer
}

// WritePlots draws the run's figures into the folder of figures, as SVG if no format is given, and removes those of
// an earlier run that this one does not have.
func (r *Run) WritePlots(dir string, formats ...Format) error {
	if len(formats) == 0 {
		formats = []Format{SVG}
	}
	dir = filepath.Join(dir, PlotsName)
	var names []string
	for _, f := range r.Figures() {
		names = append(names, f.Name)
		for _, format := range formats {
			path := filepath.Join(dir, f.Name+"."+string(format))
			if err := WriteFile(path, func(w io.Writer) error { return f.Draw(w, format) }); err != nil {
				return err
			}
		}
	}
	for _, prefix := range []string{iteratesFigure, sensitivityFigure, replaysFigure, memoryFigure, timeFigure, streamFigure} {
		old, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
		if err != nil {
			return err
		}
		for _, path := range old {
			name, suffix := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Format(strings.TrimPrefix(filepath.Ext(path), "."))
			if !slices.Contains(names, name) && (suffix == SVG || suffix == PNG || suffix == PDF) {
				if err := remove(path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Figures plots what the run has: the errors of the iterates against K, and each objective with its derivative
// against each swept number; of a chain also what its schedules did.
func (r *Run) Figures() []*Figure {
	var figures []*Figure
	if f := r.iteratesPlot(); f != nil {
		figures = append(figures, f)
	}
	return append(append(figures, r.schedulePlots()...), r.sensitivityPlots()...)
}

const (
	figureWidth = 16 * vg.Centimeter
	panelHeight = 6.2 * vg.Centimeter
	emptyHeight = 0.9 * vg.Centimeter // of a panel with nothing to draw
	pngDPI      = 200
)

// Draw writes the figure in the format.
func (f *Figure) Draw(w io.Writer, format Format) (err error) {
	defer func() { // a figure is not worth a lost run
		if p := recover(); p != nil {
			err = fmt.Errorf("figure %s: %v", f.Name, p)
		}
	}()
	h := labels{outlines: format == PDF}
	width, height := figureWidth, f.height(h)
	switch format {
	case SVG:
		c := vgsvg.New(width, height)
		f.draw(draw.New(c), h)
		var buf bytes.Buffer
		if _, err := c.WriteTo(&buf); err != nil {
			return err
		}
		// Where the font is missing, fonts of the same widths stand in.
		_, err := w.Write(bytes.ReplaceAll(buf.Bytes(), []byte("font-family:Liberation Sans;"),
			[]byte("font-family:'Liberation Sans',Arimo,Helvetica,Arial,sans-serif;")))
		return err
	case PNG:
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
		f.draw(draw.New(c), h)
		_, err := c.WriteTo(w)
		return err
	case PDF:
		c := vgpdf.New(width, height)
		f.draw(draw.New(c), h)
		_, err := c.WriteTo(w)
		return err
	}
	return fmt.Errorf("unknown format %q of a figure: use svg, png or pdf", format)
}

func (h labels) style(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: h,
		XAlign: text.XLeft, YAlign: text.YTop}
}

func (h labels) titleStyle() text.Style {
	s := h.style(10, color.Black)
	s.Font.Weight = xfont.WeightBold
	return s
}

func (h labels) noteStyle() text.Style { return h.style(7.5, darkGrey) }

const (
	margin     = vg.Length(6)
	titleSpace = vg.Length(8)
	noteLine   = vg.Length(10)
	panelGap   = vg.Length(10)

	axisPadding = vg.Length(4) // between an axis and the data
)

func (p *panel) height() vg.Length {
	if p.empty != "" {
		return emptyHeight
	}
	return panelHeight
}

func (f *Figure) height(h labels) vg.Length {
	height := 2*margin + vg.Length(len(f.titleLines(h)))*12 + titleSpace + noteLine*vg.Length(len(f.noteLines(h)))
	for i := range f.panels {
		height += f.panels[i].height() + panelGap
	}
	if len(f.notes) == 0 {
		height -= panelGap
	}
	return height
}

func (f *Figure) titleLines(h labels) []string {
	return wrap(f.title, h.titleStyle(), figureWidth-2*margin)
}

func (f *Figure) noteLines(h labels) []string {
	var lines []string
	for _, note := range f.notes {
		lines = append(lines, wrap(note, h.noteStyle(), figureWidth-2*margin)...)
	}
	return lines
}

// wrap breaks a text into lines of a width, at spaces.
func wrap(s string, style text.Style, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && style.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func (f *Figure) draw(c draw.Canvas, h labels) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)

	for _, line := range f.titleLines(h) {
		c.FillText(h.titleStyle(), vg.Point{X: c.Min.X, Y: c.Max.Y}, line)
		c.Max.Y -= 12
	}
	c.Max.Y -= titleSpace
	notes := f.noteLines(h)
	for i, line := range notes {
		c.FillText(h.noteStyle(), vg.Point{X: c.Min.X, Y: c.Min.Y + noteLine*vg.Length(len(notes)-i)}, line)
	}
	c.Min.Y += noteLine * vg.Length(len(notes))

	legend := plot.NewLegend()
	legend.TextStyle = h.style(8.5, color.Black)
	legend.TextStyle.YAlign = text.YBottom
	legend.Top, legend.Left, legend.Padding, legend.ThumbnailWidth = true, true, 3, 26
	for _, e := range f.legend {
		legend.Add(" "+e.text, e.thumb)
	}
	if len(f.legend) > 0 {
		box := legend.Rectangle(c)
		side := c
		side.Min.X = c.Max.X - (box.Max.X - box.Min.X)
		legend.Draw(side)
		c.Max.X = side.Min.X - 8
	}

	// Each panel has its own height; the edges of the data are aligned. The vertical labels are drawn here, because gonum
	// makes room for them at the wrong place of a logarithmic axis.
	label := h.style(9, color.Black)
	canvases := make([]draw.Canvas, len(f.panels))
	plots := make([]*plot.Plot, len(f.panels))
	var left, right vg.Length
	for i := range f.panels {
		canvases[i] = c
		canvases[i].Min.Y = c.Max.Y - f.panels[i].height()
		c.Max.Y = canvases[i].Min.Y - panelGap
		canvases[i].Min.X += 1.6 * label.Font.Size
		if f.panels[i].empty == "" {
			plots[i] = f.panels[i].plot(h, i == len(f.panels)-1)
			data := plots[i].DataCanvas(canvases[i])
			left, right = max(left, data.Min.X-canvases[i].Min.X), max(right, canvases[i].Max.X-data.Max.X)
		}
	}
	for i, p := range plots {
		if p == nil {
			box := draw.Crop(canvases[i], left, -right, 0, 0)
			box.SetColor(color.Gray{244})
			box.Fill(box.Rectangle.Path())
			say := h.style(9, darkGrey)
			say.XAlign, say.YAlign = text.XCenter, text.YCenter
			box.FillText(say, box.Center().Add(vg.Point{Y: say.FontExtents().Descent}), f.panels[i].empty)
			continue
		}
		data := p.DataCanvas(canvases[i])
		cropped := draw.Crop(canvases[i], left-(data.Min.X-canvases[i].Min.X), (canvases[i].Max.X-data.Max.X)-right, 0, 0)
		p.Draw(cropped)
		label.Rotation, label.XAlign, label.YAlign = math.Pi/2, text.XCenter, text.YTop
		data = p.DataCanvas(cropped)
		c.FillText(label, vg.Point{X: c.Min.X, Y: data.Center().Y}, f.panels[i].yLabel)
	}
}

// plot makes the panel's axes and layers. The horizontal label belongs to the lowest panel.
func (p *panel) plot(h labels, lowest bool) *plot.Plot {
	out := plot.New()
	out.TextHandler = h
	out.Title.TextStyle.Handler = h
	out.BackgroundColor = nil
	out.Add(grid{})
	out.Add(p.layers...)
	if lowest {
		out.X.Label.Text = p.xLabel
	}
	for _, a := range []struct {
		axis       *plot.Axis
		log, whole bool
		data       interval
	}{{&out.X, p.xLog, p.xWhole, p.x}, {&out.Y, p.yLog, false, p.y}} {
		restyle := func(s *text.Style, size vg.Length) {
			x, y := s.XAlign, s.YAlign
			*s = h.style(size, color.Black)
			s.XAlign, s.YAlign = x, y
		}
		restyle(&a.axis.Label.TextStyle, 9)
		restyle(&a.axis.Tick.Label, 8.5)
		a.axis.Label.Padding = 3
		a.axis.Tick.Length = 4
		a.axis.Padding = axisPadding
		if a.log {
			logAxis(a.axis, a.data)
		} else {
			linearAxis(a.axis, a.data, a.whole, a.axis == &out.Y)
		}
	}
	return out
}

// grid draws faint lines at the labelled ticks.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: color.Gray{235}, Width: 0.5}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" && c.ContainsY(y(t.Value)) {
			c.StrokeLine2(style, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.Label != "" && c.ContainsX(x(t.Value)) {
			c.StrokeLine2(style, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
}

var (
	darkGrey = color.Gray{80}
	red      = color.NRGBA{0xb0, 0x20, 0x20, 0xff}
)

// viridis holds samples of Matplotlib's colour map of that name (CC0), dark to light. It is ordered also in grey and
// for readers who do not tell red from green; the lightest part is left out, being faint on white.
var viridis = []color.NRGBA{{68, 1, 84, 255}, {71, 44, 122, 255}, {59, 81, 139, 255}, {44, 113, 142, 255}, {33, 144, 141, 255},
	{39, 173, 129, 255}, {92, 200, 99, 255}, {143, 211, 63, 255}}

// ordered returns the colour of the i-th of n values in order.
func ordered(i, n int) color.NRGBA {
	if n < 2 {
		return viridis[2]
	}
	at := float64(i) / float64(n-1) * float64(len(viridis)-1)
	k := min(int(at), len(viridis)-2)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (at-float64(k))*(float64(b)-float64(a)))) }
	a, b := viridis[k], viridis[k+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// okabeIto are colours for things without an order (Okabe and Ito, 2008), told apart with any colour vision.
var okabeIto = []color.NRGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255},
	{230, 159, 0, 255}, {0, 0, 0, 255}}

// shapes are markers for things without an order.
var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{},
	draw.PyramidGlyph{}, draw.PlusGlyph{}}

// dashes are line patterns, the first one solid.
var dashes = [][]vg.Length{nil, {4, 2.5}, {1, 2}, {6, 2, 1, 2}, {8, 3}, {3, 1}}

// point is a place in data coordinates.
type xy struct{ x, y float64 }

// curve is a line in pieces, with markers or without.
type curve struct {
	pieces [][]xy
	line   draw.LineStyle
	marker draw.GlyphStyle // none if its Shape is nil
}

func (k curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	total := 0
	for _, piece := range k.pieces {
		total += len(piece)
	}
	every := (total + 29) / 30 // no more markers than can be told apart
	for _, piece := range k.pieces {
		points := make([]vg.Point, len(piece))
		for i, at := range piece {
			points[i] = vg.Point{X: x(at.x), Y: y(at.y)}
		}
		if k.marker.Shape == nil {
			points = widen(points)
		}
		if len(points) > 1 && k.line.Width > 0 {
			c.StrokeLines(k.line, c.ClipLinesXY(points)...)
		}
		if k.marker.Shape == nil {
			continue
		}
		for i, at := range points {
			if (i%every == 0 || i == len(points)-1) && c.Contains(at) {
				c.DrawGlyphNoClip(k.marker, at)
			}
		}
	}
}

// widen makes a short line of a single point, which would not show.
func widen(points []vg.Point) []vg.Point {
	if len(points) != 1 {
		return points
	}
	const half = 8
	return []vg.Point{points[0].Sub(vg.Point{X: half}), points[0].Add(vg.Point{X: half})}
}

// Thumbnail draws the curve's style in a legend.
func (k curve) Thumbnail(c *draw.Canvas) {
	y := c.Center().Y
	if k.line.Width > 0 {
		c.StrokeLine2(k.line, c.Min.X, y, c.Max.X, y)
	}
	if k.marker.Shape != nil {
		c.DrawGlyphNoClip(k.marker, c.Center())
	}
}

// band fills from the bottom of the panel up to a curve.
type band struct {
	pieces [][]xy
	fill   color.Color
}

func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, piece := range b.pieces {
		var points []vg.Point
		for _, at := range piece {
			points = append(points, vg.Point{X: x(at.x), Y: max(y(at.y), c.Min.Y)})
		}
		points = widen(points)
		points = append(points, vg.Point{X: points[len(points)-1].X, Y: c.Min.Y}, vg.Point{X: points[0].X, Y: c.Min.Y})
		c.FillPolygon(b.fill, c.ClipPolygonXY(points))
	}
}

func (b band) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.fill, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// crosses marks refused points on the horizontal axis.
type crosses []float64

var crossStyle = draw.GlyphStyle{Color: red, Radius: 3, Shape: draw.CrossGlyph{}}

func (k crosses) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, at := range k {
		if px := x(at); c.ContainsX(px) {
			c.DrawGlyphNoClip(crossStyle, vg.Point{X: px, Y: c.Min.Y - axisPadding})
		}
	}
}

func (crosses) Thumbnail(c *draw.Canvas) { c.DrawGlyphNoClip(crossStyle, c.Center()) }
