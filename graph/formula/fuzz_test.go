package formula

import (
	"errors"
	"testing"
	"unicode/utf8"

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
		e := testEnv()
		b := graph.NewBuilder("f")
		scope := Scope{}
		for i, name := range e.names {
			scope[name] = b.Input(name, e.values[i].Type)
		}
		v, err := Lower(b, scope, text)
		if err == nil {
			if err := graph.Verify(b.Build(v)); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var fault *Error
		if !errors.As(err, &fault) {
			t.Fatalf("%q: %T", text, err)
		}
		if fault.Message == "" || fault.Offset < 0 || fault.Length < 0 || fault.Offset+fault.Length > len(text) || !utf8.ValidString(fault.Message) {
			t.Fatalf("%q: %+v", text, fault)
		}
	})
}
