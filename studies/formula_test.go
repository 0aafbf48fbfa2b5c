package studies

import (
	"strings"
	"testing"

	"github.com/lensir/lensir-study/studies/source"
)

// TestFormulaPlaces holds the bytes of a formula's text against their places in every kind of string.
func TestFormulaPlaces(t *testing.T) {
	const want = "a\u00e9 + \"b\" \\ c" // the text that each string below holds
	for name, written := range map[string]string{
		"basic":        `"a\u00e9 + \"b\" \\ c"`,
		"literal":      `'aé + "b" \ c'`,
		"long basic":   "\"\"\"\naé + \"b\" \\\\ \\\n   c\"\"\"",
		"long literal": "'''\r\naé + \"b\" \\ c'''",
	} {
		src := &source.File{Name: "x.toml", Text: "# first\nf = " + written + "\n"}
		root, err := source.Parse(src)
		if err != nil {
			t.Fatal(name, err)
		}
		n := root.Child("f")
		f := Formula{Text: n.Value.(string), Key: "f", Place: src.At(n.At)}
		if f.Text != want {
			t.Fatalf("%s holds %q", name, f.Text)
		}
		for _, c := range []struct{ piece, raw string }{{"a", "a"}, {"+", "+"}, {"b", "b"}, {"c", "c"}} {
			at := strings.Index(want, c.piece)
			if got := f.At(at, at+1).Raw(); got != c.raw {
				t.Errorf("%s: the place of %q holds %q", name, c.piece, got)
			}
		}
		if got := f.At(strings.Index(want, `\`), strings.Index(want, `\`)+1).Raw(); got != `\` && got != `\\` {
			t.Errorf("%s: the place of the backslash holds %q", name, got)
		}
		for i := -2; i < len(want)+3; i++ { // no offset is out of range
			f.At(i, i+2).Errorf("", "x")
		}
	}
}

// TestFormulaErrors shows where errors in formulas point.
func TestFormulaErrors(t *testing.T) {
	s, err := Read(testFS(t), "layer.toml")
	if err != nil {
		t.Fatal(err)
	}
	a := s.Define[1].Formula
	z := strings.Index(a.Text, "b")
	out := a.Errorf(z, z+1, "its shape is f64[8]", "no %s here", "b").Error() + "\n" +
		a.Errorf(len(a.Text), len(a.Text)+1, "", "unexpected end").Error() + "\n" +
		s.Branches[0].Starts[0].Errorf(4, 5, "", "here").Error() + "\n"
	c, err := Read(testFS(t), "contraction.toml")
	if err != nil {
		t.Fatal(err)
	}
	out += c.Bounds.LTheta.Errorf(0, 4, "", "too small").Error() + "\n"
	golden(t, "formula_errors.txt", out)
}
