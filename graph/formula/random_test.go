package formula

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// tree is a random formula with its meaning: how it prints, how tightly its top operator binds, and
// what it evaluates to in plain Go.
type tree struct {
	text   string
	binds  int // bindsChoice … bindsAtom
	vector bool
	known  []float64 // the one entry of what numbers alone determine
	eval   func(at where) []float64
}

const (
	bindsChoice = iota
	bindsOr
	bindsAnd
	bindsComparison
	bindsSum
	bindsProduct
	bindsSign
	bindsPower
	bindsAtom
)

// where says which entries count: none where live is false, and of a vector those in mask. Only
// they can fail.
type where struct {
	live   bool
	mask   [3]bool
	failed *bool
}

func (w where) all() where { w.mask = [3]bool{true, true, true}; return w }

func (t tree) size() int {
	if t.vector {
		return 3
	}
	return 1
}

func (t tree) counts(w where, i int) bool { return w.live && (!t.vector || w.mask[i]) }

// entry of an operand that may be a scalar.
func entry(x []float64, i int) float64 { return x[min(i, len(x)-1)] }

// inside prints an operand with brackets where its operator binds too loosely, and sometimes where it does not.
func (t tree) inside(r *rapid.T, least int) string {
	if t.binds < least || rapid.IntRange(0, 9).Draw(r, "brackets") == 0 {
		return "(" + t.text + ")"
	}
	return t.text
}

// entrywise builds the tree of a function of entries; f reports whether it is defined.
func entrywise(text string, binds int, f func(x []float64) (float64, bool), args ...tree) tree {
	t := tree{text: text, binds: binds, vector: slices.ContainsFunc(args, func(a tree) bool { return a.vector })}
	t.eval = func(w where) []float64 {
		in := make([][]float64, len(args))
		for k, a := range args {
			in[k] = a.eval(w)
		}
		out := make([]float64, t.size())
		for i := range out {
			if !t.counts(w, i) {
				continue
			}
			x := make([]float64, len(args))
			for k := range x {
				x[k] = entry(in[k], i)
			}
			y, ok := f(x)
			if !ok || math.IsNaN(y) || math.IsInf(y, 0) {
				*w.failed = true
			}
			out[i] = y
		}
		return out
	}
	if !slices.ContainsFunc(args, func(a tree) bool { return a.known == nil }) {
		failed := false
		if x := t.eval(where{live: true, failed: &failed}); !failed {
			t.known = x
		}
	}
	return t
}

func always(f func(x float64) float64) func([]float64) (float64, bool) {
	return func(x []float64) (float64, bool) { return f(x[0]), true }
}

var unaries = map[string]func([]float64) (float64, bool){
	"sin": always(op.Sin.Unary), "exp": always(op.Exp.Unary), "tanh": always(op.Tanh.Unary), "abs": always(op.Abs.Unary), "atan": always(op.Atan.Unary), "erf": always(op.Erf.Unary),
	"sqrt": func(x []float64) (float64, bool) { return op.Sqrt.Unary(x[0]), x[0] >= 0 },
	"log":  func(x []float64) (float64, bool) { return op.Log.Unary(x[0]), x[0] > 0 },
	"asin": func(x []float64) (float64, bool) { return op.Asin.Unary(x[0]), math.Abs(x[0]) <= 1 },
}

var arithmetic = map[string]func([]float64) (float64, bool){
	"+": func(x []float64) (float64, bool) { return x[0] + x[1], true },
	"-": func(x []float64) (float64, bool) { return x[0] - x[1], true },
	"*": func(x []float64) (float64, bool) { return x[0] * x[1], true },
	"/": func(x []float64) (float64, bool) { return x[0] / x[1], x[1] != 0 },
}

var comparisons = map[string]func(x, y float64) bool{
	"<": func(x, y float64) bool { return x < y }, "<=": func(x, y float64) bool { return x <= y }, ">": func(x, y float64) bool { return x > y },
	">=": func(x, y float64) bool { return x >= y }, "==": func(x, y float64) bool { return x == y }, "!=": func(x, y float64) bool { return x != y },
}

func pick[V any](r *rapid.T, m map[string]V) (string, V) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	k := rapid.SampledFrom(keys).Draw(r, "choice")
	return k, m[k]
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func space(r *rapid.T) string { return rapid.SampledFrom([]string{"", " "}).Draw(r, "space") }

// leafTree draws a name or a number.
func leafTree(r *rapid.T, e env) tree {
	if rapid.Bool().Draw(r, "number") {
		x := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 2, 0.5, 3, 1e-3, 700, 1e300}), rapid.Float64Range(0, 10)).Draw(r, "value")
		return tree{text: strconv.FormatFloat(x, 'g', -1, 64), binds: bindsAtom, known: []float64{x}, eval: func(where) []float64 { return []float64{x} }}
	}
	i := rapid.SampledFrom([]int{0, 1, 2, 3, 4}).Draw(r, "name")
	return tree{text: e.names[i], binds: bindsAtom, vector: i >= 3, eval: func(where) []float64 { return e.values[i].F }}
}

// numberTree draws a formula of numbers.
func numberTree(r *rapid.T, e env, depth int) tree {
	if depth == 0 {
		return leafTree(r, e)
	}
	a := numberTree(r, e, depth-1)
	switch rapid.IntRange(0, 9).Draw(r, "kind") {
	case 0:
		name, f := pick(r, unaries)
		return entrywise(name+"("+a.text+")", bindsAtom, f, a)
	case 1:
		return entrywise("-"+space(r)+a.inside(r, bindsSign), bindsSign, func(x []float64) (float64, bool) { return -x[0], true }, a)
	case 2:
		n := rapid.IntRange(-3, 5).Draw(r, "n")
		return entrywise(a.inside(r, bindsAtom)+"^"+strconv.Itoa(n), bindsPower, func(x []float64) (float64, bool) {
			return op.PowInteger(x[0], n), n >= 0 || x[0] != 0
		}, a)
	case 3:
		return entrywise(a.inside(r, bindsAtom)+"^"+space(r)+"-b", bindsPower, func(x []float64) (float64, bool) {
			return op.Pow.Binary(x[0], -x[1]), x[0] >= 0 || x[1] == math.Trunc(x[1]) // −b > 0
		}, a, tree{eval: func(where) []float64 { return e.values[1].F }})
	case 4, 5:
		c, b := conditionTree(r, e, depth-1), numberTree(r, e, depth-1)
		return choiceTree(r, c, a, b)
	case 6:
		b := numberTree(r, e, depth-1)
		name := rapid.SampledFrom([]string{"min", "max"}).Draw(r, "function")
		return entrywise(fmt.Sprintf("%s(%s, %s)", name, a.text, b.text), bindsAtom, func(x []float64) (float64, bool) {
			if name == "min" {
				return math.Min(x[0], x[1]), true
			}
			return math.Max(x[0], x[1]), true
		}, a, b)
	case 7:
		return structuralTree(r, a)
	}
	b := numberTree(r, e, depth-1)
	symbol, f := pick(r, arithmetic)
	binds := bindsSum
	if symbol == "*" || symbol == "/" {
		binds = bindsProduct
	}
	return entrywise(a.inside(r, binds)+space(r)+symbol+space(r)+b.inside(r, binds+1), binds, f, a, b)
}

// structuralTree draws the sum of a, an entry of it, or its reverse.
func structuralTree(r *rapid.T, a tree) tree {
	if !a.vector {
		return a
	}
	form := rapid.IntRange(0, 2).Draw(r, "form")
	t := tree{binds: bindsAtom, vector: form == 2, text: [...]string{"sum(" + a.text + ")", a.inside(r, bindsAtom) + "[-1]", "reverse(" + a.text + ")"}[form]}
	t.eval = func(w where) []float64 {
		x := a.eval(w.all())
		switch {
		case form == 1:
			return x[2:]
		case form == 2:
			return []float64{x[2], x[1], x[0]}
		}
		sum := ((0 + x[0]) + (0 + x[2])) + (0 + x[1]) // the fixed order of a sum of three
		if w.live && math.IsInf(sum, 0) {
			*w.failed = true
		}
		return []float64{sum}
	}
	return t
}

// conditionTree draws a condition: 1 where it holds, 0 elsewhere.
func conditionTree(r *rapid.T, e env, depth int) tree {
	if depth == 0 || rapid.Bool().Draw(r, "comparison") {
		a, b := numberTree(r, e, depth), numberTree(r, e, depth)
		symbol, f := pick(r, comparisons)
		return entrywise(a.inside(r, bindsSum)+symbol+space(r)+b.inside(r, bindsSum), bindsComparison,
			func(x []float64) (float64, bool) { return truth(f(x[0], x[1])), true }, a, b)
	}
	a := conditionTree(r, e, depth-1)
	form := rapid.IntRange(0, 2).Draw(r, "form")
	if form == 0 {
		return entrywise("!("+a.text+")", bindsAtom, func(x []float64) (float64, bool) { return 1 - x[0], true }, a)
	}
	b := conditionTree(r, e, depth-1)
	symbol, binds, decides := "&&", bindsAnd, 0.0
	if form == 1 {
		symbol, binds, decides = "||", bindsOr, 1
	}
	t := tree{text: a.inside(r, binds) + " " + symbol + " " + b.inside(r, binds+1), binds: binds, vector: a.vector || b.vector}
	if a.known != nil && a.known[0] == decides {
		return t.as(a)
	} else if a.known != nil {
		return t.as(b)
	}
	t.eval = func(w where) []float64 {
		x := a.eval(w)
		y := b.eval(w.where(a, x, func(v float64) bool { return v != decides }))
		out := make([]float64, t.size())
		for i := range out {
			if out[i] = entry(x, i); out[i] != decides {
				out[i] = entry(y, i)
			}
		}
		return out
	}
	return t
}

// where narrows to the places where a condition of value c holds.
func (w where) where(c tree, value []float64, holds func(float64) bool) where {
	if !c.vector {
		w.live = w.live && holds(value[0])
		return w
	}
	for i := range w.mask {
		w.mask[i] = w.mask[i] && holds(value[i])
	}
	return w
}

// as is a tree that prints as t and means what a does.
func (t tree) as(a tree) tree { a.text, a.binds = t.text, t.binds; return a }

func choiceTree(r *rapid.T, c, a, b tree) tree {
	t := tree{text: c.inside(r, bindsOr) + " ? " + a.text + " : " + b.inside(r, bindsChoice), binds: bindsChoice, vector: c.vector || a.vector || b.vector}
	if c.known != nil && c.known[0] == 1 {
		return t.as(a)
	} else if c.known != nil {
		return t.as(b)
	}
	t.eval = func(w where) []float64 {
		v := c.eval(w)
		x := a.eval(w.where(c, v, func(v float64) bool { return v == 1 }))
		y := b.eval(w.where(c, v, func(v float64) bool { return v == 0 }))
		out := make([]float64, t.size())
		for i := range out {
			if out[i] = entry(y, i); entry(v, i) == 1 {
				out[i] = entry(x, i)
			}
		}
		return out
	}
	return t
}

// A random formula, printed and lowered, evaluates bit for bit to what plain Go makes of it, and
// fails where that fails.
func TestRandomFormulas(t *testing.T) {
	fine, failing := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		e := testEnv()
		for _, i := range []int{0, 1, 2} {
			e.values[i] = graph.Number(rapid.Float64Range(-3, 3).Draw(r, e.names[i]))
		}
		e.values[1].F[0] = rapid.SampledFrom([]float64{-2, -0.5, -1.25}).Draw(r, "b")
		for range 20 {
			formula := numberTree(r, e, rapid.IntRange(2, 5).Draw(r, "depth"))
			failed := false
			want := formula.eval(where{live: true, failed: &failed}.all())
			p, err := e.lower(formula.text)
			if err != nil {
				r.Fatalf("%s: %v", formula.text, err)
			}
			out, err := graph.Eval(p, e.values...)
			if (err != nil) != failed {
				r.Fatalf("%s: %v, want failure %v\n%v", formula.text, err, failed, p)
			}
			if failed {
				failing++
				continue
			}
			fine++
			for i := range want {
				if math.Float64bits(out[0].F[i]) != math.Float64bits(want[i]) {
					r.Fatalf("%s = %v, want %v\n%v", formula.text, out[0].F, want, p)
				}
			}
		}
	})
	t.Logf("%d formulas with a value, %d that fail", fine, failing)
}

// A random formula in the arm that is not taken changes neither the value nor the first or second
// derivative, forward or in reverse, and refuses nothing.
func TestRandomArmNotTaken(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		e := testEnv()
		a := rapid.SampledFrom([]float64{0, 1, -1, 0.5, -3}).Draw(r, "a")
		for i, x := range []float64{a, rapid.SampledFrom([]float64{0, -2, -0.5, 1}).Draw(r, "b"), 0} {
			e.values[i] = graph.Number(x)
		}
		e.values[3] = graph.Floats(graph.Shape{3}, []float64{0, a, 1e300})
		for range 5 {
			arm := numberTree(r, e, rapid.IntRange(1, 4).Draw(r, "depth"))
			text := fmt.Sprintf("a > 100 ? sum(%s) : a^2", arm.text)
			p, err := e.lower(text)
			if err != nil {
				r.Fatalf("%s: %v", text, err)
			}
			wrt := []int{0, 1, 2, 3, 4}
			first := graph.JVP(p, wrt)
			direction := []*graph.Tensor{graph.Number(1), graph.Number(1), graph.Number(1), graph.Floats(graph.Shape{3}, []float64{1, 1, 1}), graph.Floats(graph.Shape{3}, []float64{1, 1, 1})}
			in := slices.Concat(e.values, direction)
			out, err := graph.Eval(graph.JVP(first, wrt), slices.Concat(in, direction)...)
			if err != nil || out[0].F[0] != a*a || out[1].F[0] != 2*a || out[3].F[0] != 2 {
				r.Fatalf("%s: %v %v\n%v", text, out, err, p)
			}
			back, err := graph.Eval(graph.VJP(p, wrt), slices.Concat(e.values, []*graph.Tensor{graph.Number(1)})...)
			if err != nil || back[1].F[0] != 2*a || back[2].F[0] != 0 {
				r.Fatalf("%s: %v %v\n%v", text, back, err, p)
			}
		}
	})
}
