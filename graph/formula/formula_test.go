package formula

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lensir/lensir-study/graph"
)

// env is the scope of the tests: inputs of several shapes with values.
type env struct {
	names  []string
	values []*graph.Tensor
}

func testEnv() env {
	var e env
	add := func(name string, x *graph.Tensor) {
		e.names, e.values = append(e.names, name), append(e.values, x)
	}
	add("a", graph.Number(3))
	add("b", graph.Number(-2))
	add("c", graph.Number(0.75))
	add("x", graph.Floats(graph.Shape{3}, []float64{0.5, -1.25, 2}))
	add("y", graph.Floats(graph.Shape{3}, []float64{1, 4, 0.25}))
	add("u", graph.Floats(graph.Shape{5}, []float64{1, 2, 4, 8, 16}))
	add("A", graph.Floats(graph.Shape{2, 3}, []float64{1, 2, 3, 4, 5, 6}))
	add("B", graph.Floats(graph.Shape{3, 2}, []float64{1, -1, 0, 2, 3, -3}))
	add("S", graph.Floats(graph.Shape{2, 2}, []float64{1, 2, 3, 4}))
	add("j", graph.Ints(nil, []int64{2}))
	add("θ", graph.Number(0.25))
	return e
}

// lower lowers a formula over the environment.
func (e env) lower(text string) (*graph.Program, error) {
	b := graph.NewBuilder("f")
	scope := Scope{}
	for i, name := range e.names {
		scope[name] = b.Input(name, e.values[i].Type)
	}
	v, err := Lower(b, scope, text)
	if err != nil {
		return nil, err
	}
	p := b.Build(v)
	return p, graph.Verify(p)
}

func (e env) must(t *testing.T, text string) *graph.Program {
	t.Helper()
	p, err := e.lower(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func (e env) eval(t *testing.T, text string) *graph.Tensor {
	t.Helper()
	out, err := graph.Eval(e.must(t, text), e.values...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out[0]
}

// Formulas that mean the same lower to the same program.
func TestPrecedence(t *testing.T) {
	for _, pair := range [][2]string{
		{"-a^2", "-(a^2)"},
		{"2^-a", "2^(-a)"},
		{"a^b^c", "a^(b^c)"},
		{"-a^-b^2", "-(a^(-(b^2)))"},
		{"2^-a*b", "(2^(-a))*b"},
		{"a-b-c", "(a-b)-c"},
		{"a/b/c", "(a/b)/c"},
		{"a*b/c*a", "((a*b)/c)*a"},
		{"a+b*c^a", "a+(b*(c^a))"},
		{"-a*b", "(-a)*b"},
		{"-a+b", "(-a)+b"},
		{"a*-b", "a*(-b)"},
		{"a - -b", "a-(-b)"},
		{"--a", "-(-a)"},
		{"+a", "a"},
		{"-x[0]", "-(x[0])"},
		{"x[0]^2", "(x[0])^2"},
		{"A[1][2]", "(A[1])[2]"},
		{"a<b && b<c || c<a ? a : b", "(((a<b) && (b<c)) || (c<a)) ? a : b"},
		{"a+b < c*a ? 1 : a", "((a+b) < (c*a)) ? 1 : a"},
		{"!(a<b) && b<c ? a : b", "((!(a<b)) && (b<c)) ? a : b"},
		{"a<b ? a : b<c ? b : c", "a<b ? a : (b<c ? b : c)"},
		{"a<b ? b<c ? a : b : c", "a<b ? (b<c ? a : b) : c"},
		{"a<b ? a+1 : b+1", "a<b ? (a+1) : (b+1)"},
		{"a<b || a<c && b<c ? 1 : a", "(a<b || (a<c && b<c)) ? 1 : a"},
		{"a == b ?.5:a", "(a==b) ? 0.5 : a"},
		{"sum(x)*2", "(sum(x))*2"},
		{"pow(x, 2)", "x^2"},
		{"x^(4/2)", "x^2"},
		{"x[len(x)-1]", "x[2]"},
		{"row(A, 1)", "A[1]"},
		{"a >= b ? a : b", "b <= a ? a : b"},
		{" a\n + b ", "a+b"},
		{"x[-1]", "x[2]"},
		{"u[:-1]", "u[0:4]"},
		{"u[-4:]", "u[1:5]"},
		{"u[:]", "u"},
		{"[a, b,]", "[a, b]"},
	} {
		e := testEnv()
		if got, want := e.must(t, pair[0]).String(), e.must(t, pair[1]).String(); got != want {
			t.Errorf("%s is not %s:\n%s\n%s", pair[0], pair[1], got, want)
		}
	}
}

// Known values, by hand.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		text  string
		shape graph.Shape
		want  []float64
	}{
		{"-a^2", nil, []float64{-9}},
		{"2^-1", nil, []float64{0.5}},
		{"2^3^2", nil, []float64{512}},
		{"(-8)^3", nil, []float64{-512}},
		{"b^3", nil, []float64{-8}},
		{"b^-2", nil, []float64{0.25}},
		{"4^0.5", nil, []float64{2}},
		{"1 - 2 - 3", nil, []float64{-4}},
		{"8 / 4 / 2", nil, []float64{1}},
		{"1e-9", nil, []float64{1e-9}},
		{".5", nil, []float64{0.5}},
		{"2.", nil, []float64{2}},
		{"9223372036854775809", nil, []float64{9223372036854775808}},
		{"123456789012345678901234567890", nil, []float64{123456789012345678901234567890}},
		{"0.1 + 0.2", nil, []float64{math.Nextafter(0.3, 1)}},
		{"5e-324", nil, []float64{math.SmallestNonzeroFloat64}},
		{"0e-999", nil, []float64{0}},
		{"pi", nil, []float64{math.Pi}},
		{"2 * θ", nil, []float64{0.5}},
		{"x + 1", graph.Shape{3}, []float64{1.5, -0.25, 3}},
		{"a - x", graph.Shape{3}, []float64{2.5, 4.25, 1}},
		{"x[-1] + x[1]", nil, []float64{0.75}},
		{"u[1:4]", graph.Shape{3}, []float64{2, 4, 8}},
		{"u[1:] - u[:-1]", graph.Shape{4}, []float64{1, 2, 4, 8}},
		{"u[2:2]", graph.Shape{0}, nil},
		{"A[1]", graph.Shape{3}, []float64{4, 5, 6}},
		{"A[-1][0]", nil, []float64{4}},
		{"A[0:1]", graph.Shape{1, 3}, []float64{1, 2, 3}},
		{"col(A, -1)", graph.Shape{2}, []float64{3, 6}},
		{"row(A, 0)", graph.Shape{3}, []float64{1, 2, 3}},
		{"[a, 2, x[0]]", graph.Shape{3}, []float64{3, 2, 0.5}},
		{"[1, 2, 3][1]", nil, []float64{2}},
		{"[[1, 2], [3, 4]]", graph.Shape{2, 2}, []float64{1, 2, 3, 4}},
		{"[[1, a], [b, 4]]", graph.Shape{2, 2}, []float64{1, 3, -2, 4}},
		{"[x, y]", graph.Shape{2, 3}, []float64{0.5, -1.25, 2, 1, 4, 0.25}},
		{"[a]", graph.Shape{1}, []float64{3}},
		{"sum(A)", nil, []float64{21}},
		{"sum(A, 0)", graph.Shape{3}, []float64{5, 7, 9}},
		{"sum(A, -1)", graph.Shape{2}, []float64{6, 15}},
		{"sum(a)", nil, []float64{3}},
		{"mean(u)", nil, []float64{6.2}},
		{"mean(A, 1)", graph.Shape{2}, []float64{2, 5}},
		{"norm2([3, 4])", nil, []float64{5}},
		{"norm2([[1, 1], [1, 1]])", nil, []float64{2}},
		{"dot(x, y)", nil, []float64{0.5 - 5 + 0.5}},
		{"cumsum(u)", graph.Shape{5}, []float64{1, 3, 7, 15, 31}},
		{"cumsum(A)", graph.Shape{2, 3}, []float64{1, 2, 3, 5, 7, 9}},
		{"cumsum(A, 1)", graph.Shape{2, 3}, []float64{1, 3, 6, 4, 9, 15}},
		{"matmul(A, B)", graph.Shape{2, 2}, []float64{10, -6, 22, -12}},
		{"matmul(A, [1, 0, -1])", graph.Shape{2}, []float64{-2, -2}},
		{"matmul([1, -1], A)", graph.Shape{3}, []float64{-3, -3, -3}},
		{"outer([1, 2], [3, 4, 5])", graph.Shape{2, 3}, []float64{3, 4, 5, 6, 8, 10}},
		{"transpose(A)", graph.Shape{3, 2}, []float64{1, 4, 2, 5, 3, 6}},
		{"rows([1, 2], 3)", graph.Shape{3, 2}, []float64{1, 2, 1, 2, 1, 2}},
		{"cols([1, 2], 3)", graph.Shape{2, 3}, []float64{1, 1, 1, 2, 2, 2}},
		{"concat(0, x, a)", graph.Shape{5}, []float64{0, 0.5, -1.25, 2, 3}},
		{"concat(A, [[7, 8, 9]])", graph.Shape{3, 3}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"concat(x)", graph.Shape{3}, []float64{0.5, -1.25, 2}},
		{"shift(u, 1)", graph.Shape{5}, []float64{0, 1, 2, 4, 8}},
		{"shift(u, -2)", graph.Shape{5}, []float64{4, 8, 16, 0, 0}},
		{"shift(u, 9)", graph.Shape{5}, []float64{0, 0, 0, 0, 0}},
		{"shift(u, 0)", graph.Shape{5}, []float64{1, 2, 4, 8, 16}},
		{"shift(A, 1, 1)", graph.Shape{2, 3}, []float64{0, 1, 2, 0, 4, 5}},
		{"roll(u, 1)", graph.Shape{5}, []float64{16, 1, 2, 4, 8}},
		{"roll(A, -1, 1)", graph.Shape{2, 3}, []float64{2, 3, 1, 5, 6, 4}},
		{"reverse(u)", graph.Shape{5}, []float64{16, 8, 4, 2, 1}},
		{"reverse(A, 1)", graph.Shape{2, 3}, []float64{3, 2, 1, 6, 5, 4}},
		{"reshape(A, 3, 2)", graph.Shape{3, 2}, []float64{1, 2, 3, 4, 5, 6}},
		{"reshape(A, 6)", graph.Shape{6}, []float64{1, 2, 3, 4, 5, 6}},
		{"reshape([a], 1, 1, 1)", graph.Shape{1, 1, 1}, []float64{3}},
		{"zeros(2) + ones(2)", graph.Shape{2}, []float64{1, 1}},
		{"zeros(1, 2)", graph.Shape{1, 2}, []float64{0, 0}},
		{"len(A) + len(u)", nil, []float64{7}},
		{"min(a, b, c)", nil, []float64{-2}},
		{"max(x, y, 1)", graph.Shape{3}, []float64{1, 4, 2}},
		{"clamp(x, -1, 1)", graph.Shape{3}, []float64{0.5, -1, 1}},
		{"clamp(5, 0, a)", nil, []float64{3}},
		{"hypot(3, 4*c/0.75)", nil, []float64{5}},
		{"atan2(0, -1)", nil, []float64{math.Pi}},
		{"abs(b) + sign(b)", nil, []float64{1}},
		{"x > 0 ? x : 0", graph.Shape{3}, []float64{0.5, 0, 2}},
		{"a > 0 ? x : 0", graph.Shape{3}, []float64{0.5, -1.25, 2}},
		{"x > 0 ? 1 : -1", graph.Shape{3}, []float64{1, -1, 1}},
		{"x > 0 && a < 2 || y > 3 ? 1 : 0", graph.Shape{3}, []float64{0, 1, 0}},
		{"x != 2 ? 1 : 0", graph.Shape{3}, []float64{1, 1, 0}},
		{"!(a >= 3) ? 1 : 2", nil, []float64{2}},
		{"1 < 2 ? a : unheard_of", nil, []float64{3}},
		{"1 > 2 && unheard_of ? 1 : a", nil, []float64{3}},
		{"1 < 2 || unheard_of ? 1 : a", nil, []float64{1}},
		{"1 < 2 && a < 2 ? 1 : a", nil, []float64{3}},
		{"a < 2 && 1 < 2 ? 1 : a", nil, []float64{3}},
		// The step index j = 2.
		{"j", nil, []float64{2}},
		{"u[j]", nil, []float64{4}},
		{"u[j + 1] - u[j - 1]", nil, []float64{6}},
		{"u[2*j]", nil, []float64{16}},
		{"A[j - 1]", graph.Shape{3}, []float64{4, 5, 6}},
		{"col(A, j)", graph.Shape{2}, []float64{3, 6}},
		{"j / 4", nil, []float64{0.5}},
		{"j * 0.75", nil, []float64{1.5}},
		{"j^2", nil, []float64{4}},
		{"-j", nil, []float64{-2}},
		{"x * j", graph.Shape{3}, []float64{1, -2.5, 4}},
		{"sin(0 * j)", nil, []float64{0}},
		{"j == 2 ? 7 : 8", nil, []float64{7}},
		{"j < 1.5 ? 7 : 8", nil, []float64{8}},
		{"u[j == 0 ? 0 : j - 1]", nil, []float64{2}},
	} {
		got := testEnv().eval(t, c.text)
		if got.DType != graph.Float64 || !got.Shape.Equal(c.shape) || !slices.Equal(got.F, c.want) {
			t.Errorf("%s = %v %v, want %v %v", c.text, got.Type, got.F, c.shape, c.want)
		}
	}
}

// A condition is a value too; its caller decides what to do with it.
func TestConditionAsResult(t *testing.T) {
	for text, want := range map[string][]int64{"x > 0": {1, 0, 1}, "a > 0 && b > 0": {0}, "1 < 2": {1}, "j == 2": {1}} {
		if got := testEnv().eval(t, text); got.DType != graph.Bool || !slices.Equal(got.I, want) {
			t.Errorf("%s = %v %v, want %v", text, got.Type, got.I, want)
		}
	}
}

// Every function is documented, can be called, and is no name of anything else.
func TestFunctions(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Functions() {
		if f.Meaning == "" || !strings.HasPrefix(f.Signature, f.Name+"(") || seen[f.Name] || !Reserved(f.Name) {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		call, err := Parse(f.Name + "(v, w)")
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		} else if names := call.FreeNames(); len(names) != 2 {
			t.Errorf("%s: free names %v", f.Name, names)
		}
	}
	for name, want := range map[string]bool{"pi": true, "and": true, "sum": true, "T": false, "e": false, "j": false, "x": false} {
		if Reserved(name) != want {
			t.Errorf("Reserved(%s) is %v", name, !want)
		}
	}
}

// The parser's own built-ins, closures among them, are plain names here.
func TestNoBuiltins(t *testing.T) {
	for _, name := range []string{"all", "none", "any", "one", "filter", "map", "count", "find", "reduce", "now", "int", "string", "get", "T", "e", "len2"} {
		e := testEnv()
		e.names[0] = name
		if got := e.eval(t, name+" + 1"); got.F[0] != 4 {
			t.Errorf("%s + 1 = %v", name, got.F)
		}
		_, err := e.lower(name + "(x, y)")
		var fault *Error
		if !errors.As(err, &fault) || fault.Message != name+" is not a function" {
			t.Errorf("%s(x, y): %v", name, err)
		}
	}
}

func TestFreeNames(t *testing.T) {
	f, err := Parse("sin(pi*θ) + x[k] - θ*max (x, yy)")
	if err != nil {
		t.Fatal(err)
	}
	if names, want := f.FreeNames(), []Name{{"θ", 7}, {"x", 13}, {"k", 15}, {"yy", 31}}; !slices.Equal(names, want) {
		t.Errorf("names are %v, want %v", names, want)
	}
}

// Sums of 10⁵ terms lower in a loop.
func TestLongChains(t *testing.T) {
	const terms = 100_000
	for _, text := range []string{
		strings.Repeat("a + ", terms) + "1",
		strings.Repeat("sin(a)^2*b - ", terms) + "1",
		"[" + strings.Repeat("1, ", terms) + "1]",
		strings.Repeat("a < b || ", terms/10) + "a < c",
		strings.Repeat("a < b && ", terms/10) + "a < c",
		"max(" + strings.Repeat("a, ", terms/10) + "1)",
	} {
		start := time.Now()
		p := testEnv().must(t, text)
		t.Logf("%.15s…: %v for %d operations", text, time.Since(start), len(p.Nodes))
	}
	e := testEnv()
	e.values[0] = graph.Number(1)
	if got := e.eval(t, strings.Repeat("a + ", terms)+"1"); got.F[0] != terms+1 {
		t.Errorf("the sum is %v", got.F)
	}
	if _, err := testEnv().lower("a" + strings.Repeat("[0]", terms)); err == nil {
		t.Error("a scalar has entries")
	}
}

// Nesting is refused before the parser, which would exhaust the stack.
func TestNesting(t *testing.T) {
	const deep = 500_000
	for _, open := range []string{"(", "[", "sin(", "-", "- -", "+", "!", "a^", "a^-", "1<2 ? a : ", "1<2 ? 1<2 ? ", "x[", "!a*", "-(", "(a)^(", "!a*!b/", "sin(-a^", "[a ? b : "} {
		_, err := Parse(strings.Repeat(open, deep) + "a")
		var fault *Error
		if !errors.As(err, &fault) || !strings.Contains(fault.Message, "nests deeper") {
			t.Errorf("%s…: %v", open, err)
		}
	}
	half := MaxNesting / 2
	for _, text := range []string{
		strings.Repeat("(", half) + "a" + strings.Repeat(")", half),
		strings.Repeat("sin(", half) + "a" + strings.Repeat(")", half),
		strings.Repeat("-", half) + "a",
		strings.Repeat("a^", half) + "1",
		strings.Repeat("a<b ? a : ", half) + "b",
		"max(" + strings.Repeat("a<b ? -a^2 : b, ", 10*MaxNesting) + "1)",
		strings.Repeat("-a^-2*-b^2 + ", 10*MaxNesting) + "1",
		strings.Repeat("!(a<b) && ", 10*MaxNesting) + "a<b ? 1 : 2",
	} {
		testEnv().must(t, text)
	}
}

func fmtError(text string, err error) string {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return fmt.Sprintf("%s\nNO ERROR: %v\n", text, err)
	}
	column := len([]rune(text[:e.Offset]))
	width := max(1, len([]rune(text[e.Offset:e.Offset+e.Length])))
	s := text + "\n" + strings.Repeat(" ", column) + strings.Repeat("^", width) + " " + e.Message + "\n"
	if e.Hint != "" {
		s += strings.Repeat(" ", column) + "hint: " + e.Hint + "\n"
	}
	return s
}
