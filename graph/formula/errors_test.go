package formula

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds got against a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := "testdata/" + file
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run the test with -update and read the difference. Now it is:\n%s", path, got)
	}
}

// The message, place and hint of every kind of error.
func TestErrors(t *testing.T) {
	var s strings.Builder
	for _, text := range []string{
		// what other languages allow
		"a // b", "a /* b */", "a ** 2", "x²", "x³ + 1", "a − b", "a · b", "a × b", "a ÷ b", "a ≤ b ? 1 : 2", "a ≥ b", "a ≠ b",
		"a < b and b < c", "a < b or b < c", "not a", "a in x", "if a < b { 1 } else { 2 }", "let q = 1; q", "true ? a : b",
		`"text"`, "'text'", "`text`", "x | sum", "x |> sum", "a ?? b", "1..5", "{a: 1}", "sum(x, {# > 1})", "a % b", "x.y", "x?.y", "a.b()",
		"A @ B", "A'", "(A)'", "a = b", "a == b == c", "a & b", "~a", "a!", "x[::2]", "x[1:2:3]", "a <> b", "a => b", "a; b", "√a", "π", "2π", "ϕ", "größe", "a\xff",
		// operators and brackets
		"", "  ", "3x", "2(a + b)", "(a)(b)", "a b", "x 3", "1.2.3", "0x10", "1_000", "a +", "* a", "a + * b", "a + )", "(a", "sin(a", "a)", "(a]", "[a)",
		"(a, b)", "a, b", "f()", "sin()", "x[]", "[]", "a ? b", "a ?: b", "a < b ? 1", "a < b ? : 1", "a : b", "x[1", "sin(a,,b)", "sin a",
		// numbers
		"1e999", "1e-999", "0.000e-999 + 1e-400", "1" + strings.Repeat("0", 400),
		// names
		"alpha + 1", "Theta", "θθ", "X + 1", "sine(a)", "Sin(a)", "ln(a)", "sigmoid(a)", "frobnicate(a)", "a(2)", "x(1)", "pi(2)", "sin", "sum + 1",
		// arguments
		"sin(a, b)", "atan2(a)", "min(a)", "clamp(a, b)", "sum(A, 2)", "sum(A, 0.5)", "sum(A, a)", "sum(x, 0, 1)", "cumsum(a)",
		// shapes
		"x + u", "A + x", "x * col(A, 0)", "S + [1, 2]", "A * B", "max(x, u)", "x < u", "x > 0 ? u : 0", "a > 0 ? x : u", "x > 0 && u > 0", "x ^ u", "clamp(x, u, 1)",
		"matmul(A, A)", "matmul(x, y)", "matmul(a, A)", "matmul(A, u)", "dot(x, u)", "dot(A, A)", "outer(A, x)", "transpose(x)", "row(x, 0)", "rows(A, 2)", "rows(x, -1)",
		"rows(x, a)", "cols(a, 3)", "concat(x, A)", "concat(A, B)", "reshape(A, 4)", "reshape(x, -1)", "zeros(1000000, 1000000, 1000000)", "zeros(0.5)", "mean(x[0:0])", "len(a)",
		"[x, u]", "[a, x]", "[[1, 2], [3]]", "[a < b, 1]",
		// indices
		"x[3]", "x[-4]", "a[0]", "x[0][0]", "x[0.5]", "x[a]", "x[y]", "A[0, 1]", "A[2]", "col(A, 3)", "u[1:6]", "u[-6:]", "u[3:1]", "u[0.5:]", "u[j:]", "u[a < b]", "zeros(0)[j]",
		// conditions
		"0 < a < 1", "a < b == c", "0 < a <= b < 1 ? 1 : 2", "(a < b) < c", "(a < b) == (b < c)", "a + (b < c)", "-(a < b)", "!a", "a && b", "a < b && c", "a ? b : c", "a < b ? b < c : 1", "sin(a < b)", "sum(x > 0)",
		// places after text of several bytes
		"θ + θ * (θ ≤ 1)", "θ*θ + θθ", "x +\n u",
	} {
		_, err := testEnv().lower(text)
		s.WriteString(fmtError(text, err))
	}
	golden(t, "errors.txt", s.String())
}
