package figures

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// xy is a place in data coordinates.
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
	pieces := make([][]vg.Point, len(k.pieces))
	for n, piece := range k.pieces {
		pieces[n] = make([]vg.Point, len(piece))
		for i, at := range piece {
			pieces[n][i] = vg.Point{X: x(at.x), Y: y(at.y)}
		}
	}
	if total > fine {
		k.plotFine(c, pieces, every)
		return
	}
	for _, points := range pieces {
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

// A curve of more than fine points has more of them than a figure can show: it is drawn to a resolution of half a point of the page.
const (
	fine       = 2000
	resolution = vg.Length(0.5)
)

// thin leaves out of a long line what does not show: of neighbours in one column of the resolution, all but the first, the lowest,
// the highest and the last.
func thin(points []vg.Point) []vg.Point {
	if len(points) <= fine {
		return points
	}
	var out []vg.Point
	for start, end := 0, 0; start < len(points); start = end {
		low, high := start, start
		for end = start; end < len(points) && column(points[end].X) == column(points[start].X); end++ {
			if points[end].Y < points[low].Y {
				low = end
			}
			if points[end].Y > points[high].Y {
				high = end
			}
		}
		last := -1
		for _, i := range []int{start, min(low, high), max(low, high), end - 1} {
			if i > last {
				out = append(out, points[i])
				last = i
			}
		}
	}
	return out
}

func column(x vg.Length) int { return int(math.Floor(float64(x / resolution))) }

// plotFine draws the pieces of a fine curve, many in one path, without those that go where there is something already. A place alone
// becomes a short line.
func (k curve) plotFine(c draw.Canvas, pieces [][]vg.Point, every int) {
	line := k.line
	line.Width = max(line.Width, 0.5) // also where markers stand without a line
	if line.Color == nil {
		line.Color = k.marker.Color
	}
	c.SetLineStyle(line)
	var path vg.Path
	stroke := func() {
		if len(path) > 0 {
			c.Stroke(path)
			path = nil
		}
	}
	const most = 200 // of a path: PNG takes long for the crossings of a longer one
	drawn := make(cells)
	for _, points := range pieces {
		if !drawn.add(points) {
			continue
		}
		if len(points) == 1 {
			points = []vg.Point{points[0].Sub(vg.Point{X: 1}), points[0].Add(vg.Point{X: 1})}
		}
		for _, line := range c.ClipLinesXY(thin(points)) {
			path.Move(line[0])
			for _, at := range line[1:] {
				path.Line(at)
				if len(path) >= most {
					stroke()
					path.Move(at)
				}
			}
		}
	}
	stroke()
	if k.marker.Shape == nil {
		return
	}
	for i, at := range slices.Concat(pieces...) {
		if i%every == 0 && c.Contains(at) {
			c.DrawGlyphNoClip(k.marker, at)
		}
	}
}

// cells are the places of a page, to two units of the resolution, where a mark is.
type cells map[[2]int]bool

// add adds the places of a mark, and reports whether one is new.
func (k cells) add(points []vg.Point) (some bool) {
	for _, at := range points {
		cell := [2]int{column(at.X / 2), column(at.Y / 2)}
		some = some || !k[cell]
		k[cell] = true
	}
	return some
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
	drawn := make(cells)
	for _, at := range k {
		px := x(at)
		if len(k) > mostMarkers && !drawn.add([]vg.Point{{X: px}}) {
			continue
		}
		if c.ContainsX(px) {
			c.DrawGlyphNoClip(crossStyle, vg.Point{X: px, Y: c.Min.Y - axisPadding})
		}
	}
}

func (crosses) Thumbnail(c *draw.Canvas) { c.DrawGlyphNoClip(crossStyle, c.Center()) }
