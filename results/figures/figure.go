package figures

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
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

	"github.com/lensir/lensir-study/results"
)

// Format is a file format of figures. The bytes of SVG and PNG depend on the records alone; PDF holds its date.
type Format string

// The formats of figures.
const (
	SVG Format = "svg"
	PNG Format = "png"
	PDF Format = "pdf"
)

// Folder is the folder of figures in an output folder.
const Folder = "plots"

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

// Write draws figures into the folder of figures of the output folder dir, as SVG if no format is given, and removes those
// of an earlier run that are not among them.
func Write(dir string, figures []*Figure, formats ...Format) error {
	if len(formats) == 0 {
		formats = []Format{SVG}
	}
	dir = filepath.Join(dir, Folder)
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
		for _, format := range formats {
			path := filepath.Join(dir, f.Name+"."+string(format))
			if err := results.WriteFile(path, func(w io.Writer) error { return f.Draw(w, format) }); err != nil {
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
				if err := os.Remove(path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// source is the run that figures are made of.
type source struct{ *results.Run }

// Of makes the figures of a run: the errors of the iterates against K, and each objective with its derivative
// against each swept number; of a chain also what its schedules did. Of a sweep of many points, the lines that a
// reader can tell apart are drawn, and a note says how many there are.
func Of(r *results.Run) (figures []*Figure, err error) {
	s := source{r}
	for _, make := range []func() ([]*Figure, error){s.iteratesPlots, s.schedulePlots, s.sensitivityPlots} {
		some, err := make()
		if err != nil {
			return nil, err
		}
		figures = append(figures, some...)
	}
	return figures, nil
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
