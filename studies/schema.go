package studies

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
)

// Kind says what a study states.
type Kind string

const (
	Root       Kind = "root"        // a residual map R(z, θ) = 0
	FixedPoint Kind = "fixed-point" // a contraction z = G(z, θ)
)

// want is the type of value that a key takes.
type want int

const (
	wantTable    want = iota // a section, or an inline table
	wantText                 // a string
	wantChoice               // one of the row's choices
	wantFormula              // a formula in quotes, or a bare number
	wantPositive             // a finite number above 0
	wantNumber               // a finite number
	wantCount                // a whole number from 0
	wantShape                // a whole number, or a list of them
	wantRange                // [first, last, how many]
	wantRows                 // [first, end]
	wantArray                // a number, a vector, a matrix, or a made array
	wantList                 // a list of numbers, or a made list
	wantColumns              // a name, or a list of names
	wantScale                // "standard", or a table
)

// wants names each type as messages and the reference page do.
var wants = map[want]string{
	wantTable:    "a table",
	wantText:     "a string",
	wantChoice:   "one of the words",
	wantFormula:  "a formula in quotes",
	wantPositive: "a positive number",
	wantNumber:   "a number",
	wantCount:    "a whole number from 0",
	wantShape:    "a whole number or a list of whole numbers",
	wantRange:    "[first, last, how many]",
	wantRows:     "[first, end]",
	wantArray:    "a number, a vector, a matrix or a made array",
	wantList:     "a list of numbers or a made list",
	wantColumns:  "a column name or a list of them",
	wantScale:    `"standard" or { standard = [first, end] }`,
}

// forms names the rows that describe the table which a type also takes.
var forms = map[want]string{wantArray: "(array)", wantList: "(list)"}

// row is one line of the schema.
type row struct {
	path      string   // dotted; <name> stands for any name; (form) is a table that several keys take
	want      want     //
	kinds     []Kind   // the kinds of study that take the key; empty means all
	choices   []string // of wantChoice
	required  bool     // in its table
	byDefault string   // the value of an absent key, as it would be written
	example   string
	meaning   string
}

var (
	fixedPoint = []Kind{FixedPoint}
	root       = []Kind{Root}
)

// schema is every key of a study file, in the order of the reference page.
var schema = []row{
	{path: "title", want: wantText, example: `"Kepler's equation"`,
		meaning: "What the study shows, in one line."},
	{path: "kind", want: wantChoice, choices: []string{string(Root), string(FixedPoint)}, required: true, example: `"root"`,
		meaning: "What the study states: `root`, a residual map R(z, θ) = 0; `fixed-point`, a contraction z = G(z, θ)."},

	{path: "constants", want: wantTable,
		meaning: "Numbers and arrays that are not differentiated."},
	{path: "constants.<name>", want: wantArray, example: "0.5",
		meaning: "A constant."},
	{path: "parameters", want: wantTable,
		meaning: "θ, the numbers and arrays that derivatives are taken with respect to."},
	{path: "parameters.<name>", want: wantArray, example: "[0.1, -0.2]",
		meaning: "A parameter."},
	{path: "data", want: wantTable,
		meaning: "Constants that are read from files. Rows are counted from 0; a header line is not a row."},
	{path: "data.<name>", want: wantTable, example: `{ file = "data/longley.csv", columns = ["GNP", "Unemployed"] }`,
		meaning: "A vector or a matrix from a file."},
	{path: "data.<name>.file", want: wantText, required: true, example: `"data/longley.csv"`,
		meaning: "A `.csv` file whose first line names the columns, or a `.npy` file; found from the folder of the study."},
	{path: "data.<name>.columns", want: wantColumns, example: `["GNP", "Unemployed"]`,
		meaning: "The columns of a CSV file: one name makes a vector, a list of names a matrix with these columns in this order."},
	{path: "data.<name>.rows", want: wantRows, example: "[0, 12]",
		meaning: "Only the rows from the first up to, and without, the end. All rows when absent."},
	{path: "data.<name>.scale", want: wantScale, example: `"standard"`,
		meaning: "`standard` subtracts from each column its mean and divides by its standard deviation (the root of the mean square), both over the rows that are read."},
	{path: "data.<name>.scale.standard", want: wantRows, required: true, example: "[0, 12]",
		meaning: "Takes mean and standard deviation over these rows of the file instead, so that held-out rows are scaled like the training rows."},

	{path: "define", want: wantTable,
		meaning: "Named formulas that the formulas after them may use, in order."},
	{path: "define.<name>", want: wantFormula, example: `"matmul(W, z) + b"`,
		meaning: "An intermediate value."},
	{path: "state", want: wantTable, required: true,
		meaning: "The blocks of z, in order."},
	{path: "state.<block>", want: wantTable, example: `{ start = "0 * b" }`,
		meaning: "A block of the state."},
	{path: "state.<block>.start", want: wantFormula, required: true, example: `"0"`,
		meaning: "z₀(θ), a formula of constants, data and parameters; its shape is the block's."},
	{path: "branches", want: wantTable,
		meaning: "Further starts, each solved by itself."},
	{path: "branches.<branch>", want: wantTable, example: `{ z = "-1" }`,
		meaning: "A start by another name."},
	{path: "branches.<branch>.<block>", want: wantFormula, example: `"-1"`,
		meaning: "The block's start on this branch. A block that is not given starts as in `[state]`."},
	{path: "root", want: wantTable, kinds: root, required: true,
		meaning: "R: the equations whose values shall be 0, in order. Their total size is the state's."},
	{path: "root.<equation>", want: wantFormula, kinds: root, example: `"E - e * sin(E) - M"`,
		meaning: "An equation. It may have the name of a block."},
	{path: "fixed-point", want: wantTable, kinds: fixedPoint, required: true,
		meaning: "G: one formula for each block of the state."},
	{path: "fixed-point.<block>", want: wantFormula, kinds: fixedPoint, example: `"tanh(gain * a)"`,
		meaning: "The next value of the block."},
	{path: "objective", want: wantTable, required: true,
		meaning: "The scalars whose gradients are wanted, in order."},
	{path: "objective.<name>", want: wantFormula, example: `"sum(z^2)"`,
		meaning: "A scalar."},

	{path: "domain", want: wantTable,
		meaning: "D, the convex set on which the theorems' constants hold."},
	{path: "domain.ball", want: wantTable, required: true, example: `{ center = "solution", radius = 1.5, norm = "2" }`,
		meaning: "A ball."},
	{path: "domain.ball.center", want: wantChoice, choices: []string{"solution"}, byDefault: `"solution"`,
		meaning: "Its centre: the computed solution."},
	{path: "domain.ball.radius", want: wantPositive, required: true, example: "1.5",
		meaning: "Its radius."},
	{path: "domain.ball.norm", want: wantChoice, choices: []string{"1", "2", "inf", "weighted-inf"}, byDefault: `"2"`,
		meaning: "The norm of the ball, of the state, and of every constant and bound."},
	{path: "domain.ball.weights", want: wantArray, example: "[1, 0.5]",
		meaning: "w of the weighted norm maxᵢ |zᵢ|/wᵢ: one positive weight for each entry of the state; with `weighted-inf` only."},
	{path: "bounds", want: wantTable, kinds: fixedPoint,
		meaning: "The constants of the contraction bounds."},
	{path: "bounds.constants", want: wantChoice, kinds: fixedPoint, choices: []string{"estimate", "declare"}, required: true, example: `"declare"`,
		meaning: "`estimate` samples them over D; `declare` takes the three formulas below."},
	{path: "bounds.q", want: wantFormula, kinds: fixedPoint, example: `"0.5"`,
		meaning: "The contraction factor over D, a formula of constants and parameters."},
	{path: "bounds.L_z", want: wantFormula, kinds: fixedPoint, example: `"0"`,
		meaning: "The Lipschitz constant of G_z in z over D."},
	{path: "bounds.L_theta", want: wantFormula, kinds: fixedPoint, example: `"0"`,
		meaning: "The Lipschitz constant of G_θ in z over D."},
	{path: "iterate", want: wantTable, kinds: fixedPoint,
		meaning: "The derivative of the K-step iterate."},
	{path: "iterate.steps", want: wantList, kinds: fixedPoint, required: true, example: "[0, 1, 2, 5, 10]",
		meaning: "The values of K, ascending whole numbers."},
	{path: "implicit", want: wantTable,
		meaning: "Settings of the solve for the exact branch."},
	{path: "implicit.tolerance", want: wantPositive, byDefault: "1e-10",
		meaning: "The solve has converged when its error estimate is at most this."},
	{path: "implicit.max_iterations", want: wantCount, byDefault: "100",
		meaning: "The most Newton iterations."},
	{path: "implicit.solver", want: wantChoice, choices: []string{"dense"}, byDefault: `"dense"`,
		meaning: "The linear solver."},

	{path: "sweep", want: wantTable,
		meaning: "Values that constants and parameters take in turn: one of `[sweep.grid]` and `[sweep.zip]`."},
	{path: "sweep.grid", want: wantTable,
		meaning: "All combinations; the last name varies fastest."},
	{path: "sweep.grid.<name>", want: wantList, example: "[0.5, 1.0, 1.5]",
		meaning: "The values of a scalar constant or parameter."},
	{path: "sweep.zip", want: wantTable,
		meaning: "The first values together, then the second ones, and so on: lists of one length."},
	{path: "sweep.zip.<name>", want: wantList, example: "{ linspace = [0, 1, 11] }",
		meaning: "The values of a scalar constant or parameter."},
	{path: "expect", want: wantTable,
		meaning: "Makes a refusal the success of the study."},
	{path: "expect.status", want: wantChoice, choices: statuses, required: true, example: `"SINGULAR_STATE_JACOBIAN"`,
		meaning: "The status that every point shall end with."},

	{path: "(array).random", want: wantChoice, choices: []string{"normal", "uniform"}, example: `"normal"`,
		meaning: "Seeded random entries: `normal` with mean 0 and variance 1, `uniform` on (−1, 1)."},
	{path: "(array).shape", want: wantShape, example: "[8, 8]",
		meaning: "With `random`: the shape; a number makes a vector."},
	{path: "(array).seed", want: wantCount, example: "1",
		meaning: "With `random`: the seed."},
	{path: "(array).norm2", want: wantPositive, example: "0.5",
		meaning: "With `random`: the entries are scaled to this 2-norm (of a matrix: spectral)."},
	{path: "(array).scale", want: wantNumber, example: "0.1",
		meaning: "With `random`: the entries are multiplied by this."},
	{path: "(array).linspace", want: wantRange, example: "[0, 1, 11]",
		meaning: "Equally spaced numbers, both ends included."},
	{path: "(array).zeros", want: wantShape, example: "[3, 3]",
		meaning: "Zeros of this shape."},
	{path: "(array).identity", want: wantCount, example: "3",
		meaning: "The identity matrix of this size."},
	{path: "(list).linspace", want: wantRange, example: "[0, 1, 11]",
		meaning: "Equally spaced numbers, both ends included."},
	{path: "(list).logspace", want: wantRange, example: "[1e-3, 1, 4]",
		meaning: "Numbers in equal ratios, both ends included; the ends are the values themselves, not exponents."},
}

// statuses are what a point can end with.
var statuses = []string{
	string(graph.OK), string(graph.IteratesDifferentiated), string(graph.DomainError), string(graph.Nondifferentiable),
	string(graph.NonFinite), string(graph.NotConverged), string(graph.SingularStateJacobian), string(graph.AdjointNotConverged),
	string(graph.ScheduleFailure), string(graph.OutOfBudget), string(graph.Cancelled),
}

// rule is a row in its place in the tree of keys.
type rule struct {
	*row
	names []string // literal keys, in schema order
	keys  map[string]*rule
	any   *rule // the rule of <name>
}

var rules = buildRules()

func buildRules() *rule {
	top := &rule{row: &row{want: wantTable}}
	for i := range schema {
		r := top
		for part := range strings.SplitSeq(schema[i].path, ".") {
			next := r.keys[part]
			if strings.HasPrefix(part, "<") {
				next = r.any
			}
			if next == nil {
				next = &rule{row: &row{want: wantTable}}
				switch {
				case strings.HasPrefix(part, "<"):
					r.any = next
				case r.keys == nil:
					r.keys = map[string]*rule{part: next}
				default:
					r.keys[part] = next
				}
				if part[0] != '<' && part[0] != '(' {
					r.names = append(r.names, part)
				}
			}
			r = next
		}
		r.row = &schema[i]
	}
	return top
}

// at returns the rule that governs a path.
func (r *rule) at(path ...string) *rule {
	for _, part := range path {
		next := r.keys[part]
		if next == nil {
			next = r.any
		}
		r = next
	}
	return r
}

func (r *rule) takes(kind Kind) bool { return len(r.kinds) == 0 || slices.Contains(r.kinds, kind) }

// checker holds a tree against the schema.
type checker struct {
	src  *source
	kind Kind
	errorList
}

func (c *checker) errorf(n *node, at span, format string, args ...any) *Error {
	e := Place{c.src, at}.errorf(strings.Join(n.path(), "."), format, args...)
	c.add(e)
	return e
}

// check walks a table and its rule together: afterwards every value has its type and every table
// its required keys, so that decoding need not look again.
func (c *checker) check(n *node, r *rule) {
	for _, k := range n.items {
		if c.full() {
			return
		}
		known, ok := r.keys[k.name]
		if !ok || strings.HasPrefix(k.name, "(") {
			known = r.any
		}
		switch {
		case known == nil:
			c.unknown(n, k, r)
		case !known.takes(c.kind):
			c.errorf(k, k.keyAt, "%s is not for kind = %q", label(k), c.kind).
				hint("it belongs to kind = %q; this kind takes %s", known.kinds[0], strings.Join(c.known(r), ", "))
		default:
			c.value(k, known)
		}
	}
	for _, name := range r.names {
		if known := r.keys[name]; known.required && known.takes(c.kind) && n.child(name) == nil {
			c.missing(n, name, known)
		}
	}
}

// missing reports a required key that is not there: at its table, or at the file.
func (c *checker) missing(n *node, name string, r *rule) {
	example := fmt.Sprintf("for example %s = %s", name, r.example)
	switch {
	case n.parent == nil && r.want == wantTable:
		e := &Error{File: c.src.name, Key: name, Message: fmt.Sprintf("the section [%s] is missing", name)}
		if r.any != nil {
			example = fmt.Sprintf("for example\n[%s]\n%s = %s", name, exampleName(r.any.path), r.any.example)
		}
		c.add(e.hint("%s", example))
	case n.parent == nil:
		c.add((&Error{File: c.src.name, Key: name, Message: fmt.Sprintf("%q is missing", name)}).hint("%s", example))
	default:
		c.errorf(n, n.keyAt, "%s has no %q", label(n), name).hint("%s", example)
	}
}

// exampleName makes a name to show from the last part of a path: z for <block>, and so on.
func exampleName(path string) string {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "<block>":
		return "z"
	case "<equation>":
		return "r"
	}
	return "J"
}

func (c *checker) unknown(n, k *node, r *rule) {
	what := "key"
	if n.parent == nil && k.kind == tableNode {
		what = "section"
	}
	message := fmt.Sprintf("unknown %s %q", what, k.name)
	if n.parent != nil {
		message += " in " + label(n)
	}
	e := c.errorf(k, k.keyAt, "%s", message)
	names := c.known(r)
	switch near := nearest(k.name, names); {
	case strings.EqualFold(near, k.name):
		e.hint("write it as %q: upper and lower case differ", near)
	case near != "":
		e.hint("did you mean %q?", near)
	case c.home(k.name) != "":
		e.hint("%q belongs in [%s]", k.name, c.home(k.name))
	default:
		e.hint("known here: %s", strings.Join(names, ", "))
	}
}

// known lists the keys that a table takes in this kind of study.
func (c *checker) known(r *rule) []string {
	var names []string
	for _, name := range r.names {
		if r.keys[name].takes(c.kind) {
			names = append(names, name)
		}
	}
	return names
}

// home returns the section that has a key of this name.
func (c *checker) home(name string) string {
	for _, r := range schema {
		if section, key, ok := strings.Cut(r.path, "."); ok && key == name && section[0] != '(' {
			return section
		}
	}
	return ""
}

// label names a node as a reader finds it: "[implicit] tolerance", "[implicit]", "title".
func label(n *node) string {
	path := n.path()
	section := 1
	if path[0] == "sweep" && len(path) > 1 {
		section = 2
	}
	if n.kind != tableNode && len(path) <= section {
		return strings.Join(path, ".")
	}
	text := "[" + strings.Join(path[:section], ".") + "]"
	if rest := strings.Join(path[section:], "."); rest != "" {
		text += " " + rest
	}
	return text
}

func (c *checker) value(n *node, r *rule) {
	if n.kind == tableNode {
		if form, ok := forms[r.want]; ok {
			c.check(n, rules.keys[form])
			return
		}
		if r.want == wantTable || r.want == wantScale {
			c.check(n, r)
			return
		}
	}
	if f, ok := n.value.(float64); ok {
		if text := numberText(c.src, n); math.IsNaN(f) || math.IsInf(f, 0) {
			c.errorf(n, n.at, "%s is %s, which is not a finite number", label(n), text)
			return
		} else if _, err := parseDecimal(text); err != nil {
			c.errorf(n, n.at, "%s", err)
			return
		}
	}
	if bad, why := c.misfit(n, r); bad != nil {
		e := c.errorf(n, bad.at, "%s wants %s, found %s", label(n), describeWant(r), why)
		c.misfitHint(e, bad, r)
	}
}

func describeWant(r *rule) string {
	if r.want != wantChoice {
		return wants[r.want]
	}
	quoted := make([]string, len(r.choices))
	for i, choice := range r.choices {
		quoted[i] = fmt.Sprintf("%q", choice)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}

// misfit returns the part of a value that does not have the type of its rule, and what it is.
func (c *checker) misfit(n *node, r *rule) (bad *node, why string) {
	all := func(n *node, ok func(*node) bool) (*node, string) {
		for _, item := range n.items {
			if !ok(item) {
				return item, "an entry that is " + found(item)
			}
		}
		return nil, ""
	}
	list := n.kind == arrayNode
	ok := false
	switch r.want {
	case wantText:
		_, ok = n.value.(string)
	case wantChoice:
		if s, isText := n.value.(string); isText {
			if !slices.Contains(r.choices, s) {
				return n, fmt.Sprintf("%q", s)
			}
			ok = true
		}
	case wantFormula:
		s, isText := n.value.(string)
		if isText && strings.TrimSpace(s) == "" {
			return n, "nothing between the quotes"
		}
		ok = isText || isNumber(n)
	case wantNumber:
		ok = isNumber(n)
	case wantPositive:
		ok = isNumber(n) && n.number() > 0
	case wantCount:
		ok = isCount(n)
		if list {
			return all(n, isCount)
		}
	case wantShape:
		if list {
			return all(n, isCount)
		}
		ok = isCount(n)
	case wantRange:
		if list && len(n.items) == 3 && isNumber(n.items[0]) && isNumber(n.items[1]) {
			return all(&node{items: n.items[2:]}, isCount)
		}
	case wantRows:
		if list && len(n.items) == 2 {
			if bad, why := all(n, isCount); bad != nil {
				return bad, why
			}
			if n.items[0].count() >= n.items[1].count() {
				return n, "a first that is not below the end"
			}
			ok = true
		}
	case wantArray:
		ok = list || isNumber(n) // entries are looked at one by one when the array is read
	case wantList:
		ok = list
	case wantColumns:
		isText := func(n *node) bool { _, ok := n.value.(string); return ok }
		if list && len(n.items) > 0 {
			return all(n, isText)
		}
		ok = isText(n)
	case wantScale:
		ok = n.value == "standard"
	}
	if ok {
		return nil, ""
	}
	return n, found(n)
}

// found describes a value for "wants …, found …".
func found(n *node) string {
	switch v := n.value.(type) {
	case int64:
		return fmt.Sprint(v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		if len(v) <= 40 {
			return fmt.Sprintf("the string %q", v)
		}
	}
	if n.kind == arrayNode {
		return fmt.Sprintf("a list of %d", len(n.items))
	}
	return n.describe()
}

func (c *checker) misfitHint(e *Error, bad *node, r *rule) {
	switch s, isText := bad.value.(string); {
	case r.want == wantChoice && isText:
		if near := nearest(s, r.choices); near != "" {
			e.hint("did you mean %q?", near)
		}
	case r.want == wantChoice && isNumber(bad):
		e.hint("put it in quotes")
	case r.want == wantFormula && bad.kind == arrayNode:
		e.hint("put the list in quotes: it is part of a formula")
	case r.want == wantFormula && bad.kind == tableNode && r.example != "":
		e.hint("for example %s", r.example)
	case r.want == wantArray && isText:
		e.hint("formulas belong in [define]; data from a file in [data]")
	case r.want == wantTable && r.example != "":
		e.hint("for example %s", r.example)
	}
}

func isNumber(n *node) bool {
	switch n.value.(type) {
	case int64, float64:
		return true
	}
	return false
}

func isCount(n *node) bool {
	switch v := n.value.(type) {
	case int64:
		return v >= 0
	case float64:
		return v >= 0 && v <= 1<<53 && v == math.Trunc(v)
	}
	return false
}

// number and count read a value whose type has been checked.
func (n *node) number() float64 {
	if v, ok := n.value.(int64); ok {
		return float64(v)
	}
	return n.value.(float64)
}

func (n *node) count() int64 {
	if v, ok := n.value.(int64); ok {
		return v
	}
	return int64(n.value.(float64))
}

// numberText is a number as it was written.
func numberText(src *source, n *node) string { return src.text[n.at.start:n.at.end] }
