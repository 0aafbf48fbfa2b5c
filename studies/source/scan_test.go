package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

// agree holds the scanner against the TOML library on one text: what the library accepts the
// scanner places, with the same keys in the same order and the same strings; what the library
// refuses is refused.
func agree(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) {
	t.Helper()
	src, e := New("x.toml", text)
	if e != nil {
		return
	}
	s := &scanner{src: src}
	root, failed := s.document()
	if s.tooDeep || s.arrayTable != (Span{}) || s.emptyKey != (Span{}) || s.twice != nil {
		if _, err := Parse(src); err == nil { // refused, whatever the library thinks of it
			t.Fatalf("the scanner refuses and the reader accepts:\n%s", text)
		}
		return
	}
	values, libraryErr := decodeTOML(src, src.Text)
	if libraryErr != nil {
		if _, err := Parse(src); err == nil {
			t.Fatalf("the library refuses and the reader accepts: %v\n%s", libraryErr, text)
		}
		var broken *Error
		if errors.As(libraryErr, &broken) && failed && broken.Line > src.Place(s.failedAt, s.failedAt).Line() {
			t.Fatalf("the library reads on after byte %d, where the scanner stops: %v\n%s", s.failedAt, libraryErr, text)
		}
		return
	}
	if failed {
		t.Fatalf("the library accepts, the scanner stops at byte %d of\n%s", s.failedAt, text)
	}
	if bad := attach(root, values); bad != nil {
		t.Fatalf("the scanner and the library differ at key %q, bytes %v of\n%s", bad.Path(), bad.At, text)
	}
	var anything map[string]any
	md, err := toml.Decode(src.Text, &anything)
	if err != nil {
		t.Fatalf("decoded once and not twice: %v", err)
	}
	first := map[string]int{}
	for i, key := range md.Keys() {
		for n := range key {
			prefix := strings.Join(key[:n+1], "\x00")
			if _, seen := first[prefix]; !seen {
				first[prefix] = i
			}
		}
	}
	var walk func(n *Node, inArray bool)
	walk = func(n *Node, inArray bool) {
		last := -1
		for _, c := range n.Items {
			if n.Kind == Table {
				if got := keyName(src.Text[c.KeyAt.Start:c.KeyAt.End]); got != c.Name {
					t.Fatalf("the place of key %q holds %q in\n%s", c.Name, got, text)
				}
			}
			if n.Kind == Table && !inArray {
				at, known := first[strings.Join(c.Path(), "\x00")]
				if !known || at < last {
					t.Fatalf("key %q is out of order in\n%s", c.Path(), text)
				}
				last = at
			}
			if s, ok := c.Value.(string); ok {
				got, from := Unquote(src.Text[c.At.Start:c.At.End])
				if got != s || len(from) != len(s)+1 {
					t.Fatalf("the place of string %q holds %q in\n%s", s, got, text)
				}
			}
			walk(c, inArray || n.Kind == List || c.Kind == List)
		}
	}
	walk(root, false)
}

func keyName(raw string) string {
	if raw != "" && (raw[0] == '"' || raw[0] == '\'') {
		text, _ := Unquote(raw)
		return text
	}
	return raw
}

var oddTOML = []string{
	"a = 1", "a.b.c = 1\na.b.d = 2\n[x.y]\nz=1\n[x]\nw=2", "[a]\n[a.b]\n[c]\n[a.d]", "\"a.b\" = 1\n'c d' . e = 2",
	"a = [1, [2, 3], # x ]\n {b = 1, c.d = 2,},\n]\n", "a = {}\nb = []\n", "a = \"\"\nb = ''\nc=\"\"\"\"\"\"\nd=''''''",
	`a = """x""""` + "\nb = 1", `a = """"x"""""` + "\nb = '''y'''''\n", `a = """\` + "\n  x \\\\\n \\\t\n y\"\"\"", `a = "\u00e9\x41\U0001F600\e\"\\"`,
	"a = 1979-05-27 07:32:00Z # x", "a = [1979-05-27, 07:32:00 , 1979-05-27T07:32:00-07:00]", "a = 07:32", "a = inf\nb = -nan\nc=+1.5e-3\nd=0x1F\ne=1_000",
	"\ufeffa = 1\r\n[b]\r\nc = '''\r\nx\r\n'''\r\n", "a = { # x\n b = 1 # y\n , c = 2\n}", "a=1#b", "# only\n", "", "[a]#x\n[b] \t# y\n", "a = 1 \t\n",
	"[[a]]\nb=1\n[[a]]\n[a.c]\n", "a = \"\"\"\n\nx\"\"\"", "a = '''\n'''", "a = {b = {c = {d = 1}}}\n[e]\nf=1", "a = {b=1}\n[a.c]\n", "a = [{b=1},{b=2}]\n[a.c]\n",
	"a = true\nb=false", "a.b = 1\n[a]\nc = 2", "[a.b]\nc=1\n[a]\nb.d = 2", "\"\" = 1\n[\"\".\"\"]\na=1", "a = \"\"\"\\\"\"\"\"", "a = 1\n\na = 2", "a = [\n1,\n\n2\n]\nb = 3",
}

func TestScannerAgreesOnOddText(t *testing.T) {
	for _, text := range oddTOML {
		agree(t, text)
		for i := range text { // every beginning of it, too
			agree(t, text[:i])
		}
	}
}

// genTOML draws documents that are mostly valid.
func genTOML() *rapid.Generator[string] {
	bare := rapid.StringMatching(`[a-e][A-Z0-9_-]?`)
	content := rapid.StringOf(rapid.SampledFrom([]rune("ab\"'\\ \t#=[]{},.\n\réθ😀")))
	escape := func(s string) string {
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "é", `\u00e9`, "😀", `\U0001F600`).Replace(s)
	}
	str := rapid.Custom(func(t *rapid.T) string {
		s := content.Draw(t, "content")
		switch rapid.IntRange(0, 3).Draw(t, "quotes") {
		case 0:
			return "'" + strings.Map(dropRunes("'\n\r"), s) + "'"
		case 1:
			return "'''" + strings.Map(dropRunes("'\r"), s) + "'''"
		case 2:
			s = strings.Map(dropRunes("\r\"\\"), s)
			return `"""` + strings.ReplaceAll(s, " ", rapid.SampledFrom([]string{" ", "\\\n  ", `\\`, `\t`, `""`}).Draw(t, "escape")+"x") + `"""`
		}
		return `"` + escape(s) + `"`
	})
	key := rapid.Custom(func(t *rapid.T) string {
		part := rapid.OneOf(bare, bare, bare, rapid.Map(content, func(s string) string { return `"` + escape(s) + `"` }))
		parts := rapid.SliceOfN(part, 1, 3).Draw(t, "parts")
		return strings.Join(parts, rapid.SampledFrom([]string{".", " . ", "."}).Draw(t, "dot"))
	})
	space := rapid.SampledFrom([]string{"", " ", "\n", "\r\n", " # c\n", "\t"})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		scalar := rapid.OneOf(str, rapid.SampledFrom([]string{"1", "-2.5e-3", "1_0", "0x1f", "true", "inf", "1979-05-27 07:32:00", "07:32:00"}))
		if depth == 0 {
			return scalar
		}
		return rapid.Custom(func(t *rapid.T) string {
			switch rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				items := rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "items")
				return "[" + space.Draw(t, "s") + strings.Join(items, space.Draw(t, "s")+","+space.Draw(t, "s")) + space.Draw(t, "s") + "]"
			case 1:
				n := rapid.IntRange(0, 3).Draw(t, "n")
				pairs := make([]string, n)
				for i := range pairs {
					pairs[i] = fmt.Sprintf("%s%d = %s", bare.Draw(t, "key"), i, value(depth-1).Draw(t, "value"))
				}
				return "{ " + strings.Join(pairs, " ,"+space.Draw(t, "s")) + space.Draw(t, "s") + "}"
			}
			return scalar.Draw(t, "scalar")
		})
	}
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			switch rapid.IntRange(0, 5).Draw(t, "line") {
			case 0:
				fmt.Fprintf(&b, "[%s]\n", key.Draw(t, "header"))
			case 1:
				b.WriteString(rapid.SampledFrom([]string{"\n", "# a = 1\n", "  \r\n"}).Draw(t, "blank"))
			default:
				fmt.Fprintf(&b, "%s = %s%s\n", key.Draw(t, "key"), value(2).Draw(t, "value"), rapid.SampledFrom([]string{"", " # x", "\r"}).Draw(t, "end"))
			}
		}
		return b.String()
	})
}

func dropRunes(set string) func(rune) rune {
	return func(r rune) rune {
		if strings.ContainsRune(set, r) {
			return -1
		}
		return r
	}
}

func TestScannerAgreesWithTheLibrary(t *testing.T) {
	accepted, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := genTOML().Draw(t, "text")
		total++
		if _, err := decodeTOML(&File{Text: text}, text); err == nil {
			accepted++
		}
		agree(t, text)
	})
	if accepted < total/4 {
		t.Errorf("only %d of %d documents were valid: the generator tests too little", accepted, total)
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range oddTOML {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}

// TestDeepText wants nesting that would exhaust the stack of the library refused before it starts.
func TestDeepText(t *testing.T) {
	const n = 3_000_000
	for name, text := range map[string]string{
		"lists":              "a = " + strings.Repeat("[", n),
		"inline tables":      "a = " + strings.Repeat("{a=", n),
		"dotted key":         strings.Repeat("a.", n) + "a = 1",
		"dotted header":      "[" + strings.Repeat("a.", n) + "a]",
		"after a twin":       "a = []\na.a = " + strings.Repeat("[", n),
		"after a list":       "[[a]]\nb = " + strings.Repeat("[", n),
		"after an empty key": "\"\" = " + strings.Repeat("[", n),
		"after an error":     "a = ! " + strings.Repeat("[", n),
		"after a number":     "a = 1 " + strings.Repeat("[", n),
		"in a string":        "a = \"\\q\" " + strings.Repeat("[", n),
	} {
		if _, err := Parse(&File{Name: "x.toml", Text: text}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
