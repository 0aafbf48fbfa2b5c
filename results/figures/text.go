package figures

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Marks in the text of a figure, from the private use area, so that a study's own names and titles need no escape.
const (
	superMark  = '\ue000'
	subMark    = '\ue001'
	italicMark = '\ue002'
	endMark    = '\ue003'
)

func super(s string) string  { return string(superMark) + s + string(endMark) }
func sub(s string) string    { return string(subMark) + s + string(endMark) }
func italic(s string) string { return string(italicMark) + s + string(endMark) }

// symbol writes a name as a mathematical symbol: in italics, with Greek letters for their names, and what follows the
// underscore of a single letter as its subscript.
func symbol(name string) string {
	if base, index, ok := strings.Cut(name, "_"); ok && index != "" {
		if letter := greek(base); utf8.RuneCountInString(letter) == 1 {
			return italic(letter) + sub(greek(index))
		}
	}
	return italic(greek(name))
}

func greek(name string) string {
	letters := strings.Fields("alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ " +
		"pi π rho ρ sigma σ tau τ phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω")
	for i := 0; i < len(letters); i += 2 {
		if letters[i] == name {
			return letters[i+1]
		}
	}
	return name
}

var fontCache = font.NewCache(liberation.Collection())

// labels draws text with superscripts, subscripts and italics. It implements text.Handler.
type labels struct {
	outlines bool // fill the outlines of the glyphs, for PDF, whose fonts here have no Greek
}

// run is a piece of text in one font, raised above the base line.
type run struct {
	text string
	font font.Font
	rise vg.Length
}

// runs splits a line at its marks.
func runs(line string, fnt font.Font) []run {
	var out []run
	stack := []run{{font: fnt}}
	var piece strings.Builder
	flush := func() {
		if piece.Len() > 0 {
			r := stack[len(stack)-1]
			r.text = piece.String()
			out = append(out, r)
			piece.Reset()
		}
	}
	for _, c := range line {
		next := stack[len(stack)-1]
		switch c {
		case superMark:
			next.rise += next.font.Size * 0.38
			next.font.Size *= 0.72
		case subMark:
			next.rise -= next.font.Size * 0.18
			next.font.Size *= 0.72
		case italicMark:
			next.font.Style = xfont.StyleItalic
		case endMark:
			flush()
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			continue
		default:
			if unicode.IsControl(c) || c == '\ufffe' || c == '\uffff' { // which XML cannot hold
				c = ' '
			}
			piece.WriteRune(c)
			continue
		}
		flush()
		stack = append(stack, next)
	}
	flush()
	return out
}

func (labels) Cache() *font.Cache { return fontCache }

func (labels) Extents(fnt font.Font) font.Extents {
	face := fontCache.Lookup(fnt, fnt.Size)
	return face.Extents()
}

func (labels) Lines(txt string) []string { return strings.Split(strings.TrimRight(txt, "\n"), "\n") }

func (h labels) Box(txt string, fnt font.Font) (width, height, depth vg.Length) {
	e := h.Extents(fnt)
	for _, r := range runs(txt, fnt) {
		face := fontCache.Lookup(r.font, r.font.Size)
		width += face.Width(r.text)
	}
	return width, e.Ascent, e.Descent
}

// Draw places the text as text.Plain does.
func (h labels) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	c.SetColor(sty.Color)
	c.Push()
	defer c.Pop()
	c.Rotate(sty.Rotation)
	sin64, cos64 := math.Sincos(sty.Rotation)
	sin, cos := vg.Length(sin64), vg.Length(cos64)
	pt.X, pt.Y = pt.Y*sin+pt.X*cos, pt.Y*cos-pt.X*sin
	lines := h.Lines(txt)
	pt.Y += sty.Height(txt)*vg.Length(sty.YAlign) - h.Extents(sty.Font).Ascent
	for i, line := range lines {
		width, _, _ := h.Box(line, sty.Font)
		at := pt.Add(vg.Point{X: vg.Length(sty.XAlign) * width, Y: vg.Length(len(lines)-i) * sty.Font.Size})
		for _, r := range runs(line, sty.Font) {
			face := fontCache.Lookup(r.font, r.font.Size)
			place := at.Add(vg.Point{Y: r.rise})
			if h.outlines {
				fillOutlines(c, face, place, r.text)
			} else {
				c.FillString(face, place, keepSpaces(r.text))
			}
			at.X += face.Width(r.text)
		}
	}
}

// keepSpaces protects the spaces that SVG drops: those at the ends, and all but one of several.
func keepSpaces(s string) string {
	const hard = "\u00a0"
	inner := strings.Trim(s, " ")
	if inner == "" {
		return strings.Repeat(hard, len(s))
	}
	before, after, _ := strings.Cut(s, inner)
	return strings.Repeat(hard, len(before)) + strings.ReplaceAll(inner, "  ", hard+hard) + strings.Repeat(hard, len(after))
}

// fillOutlines draws a string as filled paths.
func fillOutlines(c vg.Canvas, face font.Face, pt vg.Point, s string) {
	var buf sfnt.Buffer
	units := face.Face.UnitsPerEm()
	scale := face.Font.Size / vg.Length(units)
	for i, char := range s {
		glyph, err := face.Face.GlyphIndex(&buf, char)
		if err != nil {
			continue
		}
		segments, err := face.Face.LoadGlyph(&buf, glyph, fixed.I(int(units)), nil)
		if err != nil {
			continue
		}
		x0 := pt.X + face.Width(s[:i])
		point := func(p fixed.Point26_6) vg.Point { // the font's y points down
			return vg.Point{X: x0 + scale*vg.Length(p.X)/64, Y: pt.Y - scale*vg.Length(p.Y)/64}
		}
		var path vg.Path
		for k, seg := range segments {
			switch seg.Op {
			case sfnt.SegmentOpMoveTo:
				if k > 0 {
					path.Close()
				}
				path.Move(point(seg.Args[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(point(seg.Args[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(point(seg.Args[0]), point(seg.Args[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(point(seg.Args[0]), point(seg.Args[1]), point(seg.Args[2]))
			}
		}
		if len(path) > 0 {
			path.Close()
			c.Fill(path)
		}
	}
}
