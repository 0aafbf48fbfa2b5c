package formula

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lensir/lensir-study/graph"
)

// Whatever the text, lowering ends with a valid program or with an error that points into it.
func FuzzLower(f *testing.F) {
	for _, text := range []string{
		"a + b*x^2 - sum(A, 0)[1:]", "x > 0 && log(x) < 1 ? [a, 1e-9, .5] : -x", "u[j + 1] ? 1 : c", "A'", "3x²", "((((a", "a ?: b", "x[:-1]", "[[1,2],[3,4]][0]", "!(a<b)||a==b?1:2",
		"min(a,b,c)^-2^a", "reshape(ones(2, 3), len(x) * 2)", "shift(roll(reverse(A, 1), 3, -1), -2)", "concat(0, x, zeros(2))", "clamp(outer(x, y), cols(x, 3), rows(y, 3))", "θ≤1", "1e400", "0 < a < b",
		"a..b", "a?.b", "b'x'", "/*", "#", "x[1:2:3]", "::a", "let a = 1; a", "{a:1}", "`", "\"", "norm2(x[0:0])", "zeros(9999999, 9999999)", "A[j][j]", "matmul(A, B)[a < b ? 0 : 1]", "a\n\t+b", "\u00a0a",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if complaint := endsWell(text); complaint != "" {
			t.Fatalf("%q: %s", text, complaint)
		}
	})
}

// endsWell lowers a text and says what is wrong with how that ends, if anything.
func endsWell(text string) string {
	e := testEnv()
	b := graph.NewBuilder("f")
	scope := Scope{}
	for i, name := range e.names {
		scope[name] = b.Input(name, e.values[i].Type)
	}
	v, err := Lower(b, scope, text)
	if err == nil {
		if err := graph.Verify(b.Build(v)); err != nil {
			return err.Error()
		}
		return ""
	}
	var fault *Error
	if !errors.As(err, &fault) {
		return fmt.Sprintf("%T", err)
	}
	if fault.Message == "" || fault.Offset < 0 || fault.Length < 0 || fault.Offset+fault.Length > len(text) || !utf8.ValidString(fault.Message) {
		return fmt.Sprintf("%+v", fault)
	}
	return ""
}

// Sequences of tokens reach further into the grammar than sequences of bytes.
func TestTokenSoup(t *testing.T) {
	tokens := strings.Fields("a b x y u A S j 0 1 2 .5 1e-3 + - * / ^ < <= == != && || ! ? : ( ) ( ) [ ] [ ] , ,")
	for _, f := range Functions() {
		tokens = append(tokens, f.Name+"(")
	}
	for _, template := range []string{"(? < ? ? ? : ?)", "[?, ?]", "(?)", "?[?]", "?[?:?]", "? + ?", "? ^ ?", "A[?]"} {
		tokens = append(tokens, strings.ReplaceAll(template, "?", "a"), template)
	}
	fine := 0
	rapid.Check(t, func(r *rapid.T) {
		for range 30 {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 1, 12).Draw(r, "tokens"), " ")
			if open := strings.Count(text, "(") - strings.Count(text, ")"); open > 0 {
				text += strings.Repeat(")", open)
			}
			if complaint := endsWell(text); complaint != "" {
				r.Fatalf("%q: %s", text, complaint)
			}
			if _, err := testEnv().lower(text); err == nil {
				fine++
			}
		}
	})
	t.Logf("%d of the texts are formulas", fine)
}
