package formula

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// FunctionDoc documents a function: its name, how it is called, and what it means in one line.
type FunctionDoc struct {
	Name, Signature, Meaning string
}

// function is a row of the table of functions.
type function struct {
	FunctionDoc
	least, most int // arguments; most < 0: any number
	lower       func(c *callSite) (operand, *Error)
}

// functions is the closed set, in the order of the reference page.
var functions []function

// Functions documents every function.
func Functions() []FunctionDoc {
	docs := make([]FunctionDoc, len(functions))
	for i, f := range functions {
		docs[i] = f.FunctionDoc
	}
	return docs
}

func functionNamed(name string) *function {
	for i := range functions {
		if functions[i].Name == name {
			return &functions[i]
		}
	}
	return nil
}

func init() {
	define := func(signature, meaning string, least, most int, lower func(c *callSite) (operand, *Error)) {
		name, _, _ := strings.Cut(signature, "(")
		functions = append(functions, function{FunctionDoc{name, signature, meaning}, least, most, lower})
	}
	entrywise := func(signature, meaning string, o *graph.Op) {
		define(signature, meaning, o.Arity, o.Arity, func(c *callSite) (operand, *Error) { return c.entrywise(o) })
	}
	entrywise("abs(x)", "|x|; no derivative at 0", op.Abs)
	entrywise("sign(x)", "-1, 0 or 1; no derivative at 0", op.Sign)
	entrywise("sqrt(x)", "square root of x ≥ 0; no derivative at 0", op.Sqrt)
	define("pow(x, y)", "x^y", 2, 2, lowerPow)
	entrywise("exp(x)", "eˣ", op.Exp)
	entrywise("expm1(x)", "eˣ − 1, accurate near 0", op.Expm1)
	entrywise("log(x)", "natural logarithm of x > 0", op.Log)
	entrywise("log1p(x)", "log(1 + x) for x > −1, accurate near 0", op.Log1p)
	entrywise("sin(x)", "sine", op.Sin)
	entrywise("cos(x)", "cosine", op.Cos)
	entrywise("tan(x)", "tangent", op.Tan)
	entrywise("asin(x)", "arcsine of |x| ≤ 1; no derivative at ±1", op.Asin)
	entrywise("acos(x)", "arccosine of |x| ≤ 1; no derivative at ±1", op.Acos)
	entrywise("atan(x)", "arctangent", op.Atan)
	entrywise("atan2(y, x)", "angle of the point (x, y) ≠ (0, 0), in (−π, π]", op.Atan2)
	entrywise("sinh(x)", "hyperbolic sine", op.Sinh)
	entrywise("cosh(x)", "hyperbolic cosine", op.Cosh)
	entrywise("tanh(x)", "hyperbolic tangent", op.Tanh)
	entrywise("logistic(x)", "1/(1 + e⁻ˣ)", op.Logistic)
	entrywise("softplus(x)", "log(1 + eˣ)", op.Softplus)
	entrywise("erf(x)", "error function", op.Erf)
	entrywise("hypot(x, y)", "√(x² + y²) without overflow; no derivative at (0, 0)", op.Hypot)
	define("min(x, y, …)", "smallest, entry by entry; no derivative where the two smallest are equal", 2, -1, folding(op.Min))
	define("max(x, y, …)", "largest, entry by entry; no derivative where the two largest are equal", 2, -1, folding(op.Max))
	entrywise("clamp(x, lo, hi)", "x held between lo ≤ hi; where x meets one of them, no derivative by x and by that one", op.Clamp)
	entrywise("round(x)", "nearest whole number, ties to even; no derivative at a tie, and 0 elsewhere", op.Round)
	define("stop_gradient(x)", "x, with the declared response 0: no derivative passes through", 1, 1, declared(op.StopGradient))
	define("round_straight_through(x)", "round(x), with the declared response of x: derivatives pass through as if it were not rounded", 1, 1, declared(op.StraightThroughRound))

	define("sum(x[, axis])", "sum of all entries, or along one axis", 1, 2, lowerSum)
	define("mean(x[, axis])", "mean of all entries, or along one axis", 1, 2, lowerMean)
	define("norm2(x)", "√(Σ x²) over all entries; no derivative at 0", 1, 1, lowerNorm2)
	define("dot(x, y)", "Σ x·y of two vectors", 2, 2, lowerDot)
	define("cumsum(x[, axis])", "running sums along an axis, the first if none is named", 1, 2, lowerCumSum)
	define("matmul(A, B)", "product of matrices, or of a matrix and a vector", 2, 2, lowerMatMul)
	define("outer(x, y)", "matrix of all products x[i]·y[j]", 2, 2, lowerOuter)

	define("transpose(A)", "the matrix with rows and columns exchanged", 1, 1, lowerTranspose)
	define("row(A, i)", "row i of a matrix, which is A[i]", 2, 2, func(c *callSite) (operand, *Error) { return c.line(0) })
	define("col(A, j)", "column j of a matrix", 2, 2, func(c *callSite) (operand, *Error) { return c.line(1) })
	define("rows(x, n)", "matrix whose n rows are the vector x", 2, 2, lowerRows)
	define("cols(x, n)", "matrix whose n columns are the vector x", 2, 2, lowerCols)
	define("concat(x, y, …)", "arrays joined along the first axis; a scalar joins vectors as one entry", 1, -1, lowerConcat)
	define("shift(x, k[, axis])", "entry i is x[i−k], and 0 where there is none", 2, 3, lowerShift)
	define("roll(x, k[, axis])", "entry i is x[i−k], cyclically", 2, 3, lowerRoll)
	define("reverse(x[, axis])", "entries in the opposite order", 1, 2, lowerReverse)
	define("reshape(x, n, …)", "the same entries, row by row, in shape [n …]", 2, -1, lowerReshape)
	define("zeros(n, …)", "array of zeros of shape [n …]", 1, -1, filled(0))
	define("ones(n, …)", "array of ones of shape [n …]", 1, -1, filled(1))
	define("len(x)", "number of entries of a vector, of rows of a matrix", 1, 1, lowerLen)
}

// callSite is a call that is being lowered.
type callSite struct {
	*lowerer
	function *function
	node     *ast.CallNode
	guard    guard
}

func (l *lowerer) call(n *ast.CallNode, g guard) (operand, *Error) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return operand{}, l.errorAt(n, "", "only functions are called")
	}
	name := callee.Value
	f := functionNamed(name)
	if f == nil {
		if _, ok := l.scope[name]; ok || name == "pi" {
			return operand{}, l.errorAt(n, fmt.Sprintf("write %s * (…) for a product, %s[i] for an entry", name, name), "%s is not a function", name)
		}
		known := make([]string, len(functions))
		for i := range functions {
			known[i] = functions[i].Name
		}
		return operand{}, l.errorAt(n, suggest(name, known, otherFunctions), "unknown function %s", name)
	}
	if k := len(n.Arguments); k < f.least || f.most >= 0 && k > f.most {
		return operand{}, l.errorAt(n, f.Signature, "%s wants %s, has %d", name, argumentCount(f), k)
	}
	return f.lower(&callSite{l, f, n, g})
}

func argumentCount(f *function) string {
	s := "arguments"
	if max(f.least, f.most) == 1 {
		s = "argument"
	}
	switch {
	case f.most < 0:
		return fmt.Sprintf("at least %d %s", f.least, s)
	case f.most > f.least:
		return fmt.Sprintf("%d or %d %s", f.least, f.most, s)
	}
	return fmt.Sprintf("%d %s", f.least, s)
}

func (c *callSite) fault(i int, hint, format string, args ...any) *Error {
	return c.errorAt(c.node.Arguments[i], hint, format, args...)
}

// arguments lowers all arguments under a guard.
func (c *callSite) arguments(g guard) ([]operand, *Error) {
	xs := make([]operand, len(c.node.Arguments))
	for i, n := range c.node.Arguments {
		var fault *Error
		if xs[i], fault = c.lower(n, g); fault != nil {
			return nil, fault
		}
	}
	return xs, nil
}

// entrywise applies an operation to the arguments entry by entry.
func (c *callSite) entrywise(o *graph.Op) (operand, *Error) {
	xs, fault := c.arguments(c.guard)
	if fault != nil {
		return operand{}, fault
	}
	return c.elementwise(c.node, c.function.Name, o, nil, c.guard, xs...)
}

func lowerPow(c *callSite) (operand, *Error) {
	xs, fault := c.arguments(c.guard)
	if fault != nil {
		return operand{}, fault
	}
	return c.power(c.node, "pow", c.guard, xs[0], xs[1])
}

// folding applies an operation of two operands from the left.
func folding(o *graph.Op) func(c *callSite) (operand, *Error) {
	return func(c *callSite) (operand, *Error) {
		xs, fault := c.arguments(c.guard)
		if fault != nil {
			return operand{}, fault
		}
		x := xs[0]
		for _, y := range xs[1:] {
			if x, fault = c.elementwise(c.node, c.function.Name, o, nil, c.guard, x, y); fault != nil {
				return operand{}, fault
			}
		}
		return x, nil
	}
}

// declared applies an operation with a declared response, of the argument's type, entry by entry.
func declared(of func(graph.Type) *graph.Op) func(c *callSite) (operand, *Error) {
	return func(c *callSite) (operand, *Error) {
		x, fault := c.lower(c.node.Arguments[0], c.guard)
		switch {
		case fault != nil:
			return x, fault
		case c.isBool(x):
			return x, c.fault(0, "", "%s wants numbers, has %s", c.function.Name, c.describe(x))
		}
		if y, ok := fold(of(graph.Scalar), nil, []operand{x}); ok {
			return y, nil
		}
		v := c.floats(x, c.shape(x))
		return c.emit(c.node, of(c.b.Type(v)), nil, c.guard, v)
	}
}

// floatsOf lowers argument i to floats of the given rank, or of any if rank < 0.
func (c *callSite) floatsOf(i, rank int) (graph.Value, *Error) {
	x, fault := c.lower(c.node.Arguments[i], c.guard.structural())
	if fault != nil {
		return graph.None, fault
	}
	if c.isBool(x) {
		return graph.None, c.fault(i, "", "%s wants numbers, has %s", c.function.Name, c.describe(x))
	}
	if have := len(c.shape(x)); rank >= 0 && have != rank {
		return graph.None, c.fault(i, "", "%s wants %s, has %s", c.function.Name, [...]string{"a scalar", "a vector", "a matrix"}[rank], shapeText(c.shape(x)))
	}
	return c.floats(x, c.shape(x)), nil
}

// whole lowers argument i to a whole number from lo on.
func (c *callSite) whole(i, lo int, what string) (int, *Error) {
	x, fault := c.lower(c.node.Arguments[i], c.guard.structural())
	if fault != nil {
		return 0, fault
	}
	n, ok := x.whole()
	if !ok {
		return 0, c.fault(i, "", "%s: %s is a whole number known from the text", c.function.Name, what)
	}
	if n < lo || n > graph.MaxEntries {
		return 0, c.fault(i, "", "%s: %s is out of range: %d", c.function.Name, what, n)
	}
	return n, nil
}

// axis lowers argument i, if it is there, to an axis of x; negative ones count from the last.
func (c *callSite) axis(i int, x graph.Value, otherwise int) (int, *Error) {
	rank := len(c.b.Type(x).Shape)
	if i >= len(c.node.Arguments) {
		if otherwise >= rank {
			return 0, c.fault(0, "", "%s wants an array, has a scalar", c.function.Name)
		}
		return otherwise, nil
	}
	k, fault := c.whole(i, -graph.MaxEntries, "the axis")
	if fault != nil {
		return 0, fault
	}
	at := k
	if at < 0 {
		at += rank
	}
	if at < 0 || at >= rank {
		return 0, c.fault(i, "", "%d is no axis of %s", k, shapeText(c.b.Type(x).Shape))
	}
	return at, nil
}

func (c *callSite) do(o *graph.Op, at graph.Attrs, args ...graph.Value) (operand, *Error) {
	return c.emit(c.node, o, at, c.guard.structural(), args...)
}

func ints(name string, values ...int) graph.Attr { return graph.Attr{Name: name, Ints: values} }

func lowerSum(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, -1)
	if fault != nil {
		return operand{}, fault
	}
	axes, fault := c.axes(x)
	if fault != nil {
		return operand{}, fault
	}
	return c.do(op.Sum, graph.Attrs{ints("axes", axes...)}, x)
}

// axes are those of the optional second argument: that one, or all.
func (c *callSite) axes(x graph.Value) ([]int, *Error) {
	if len(c.node.Arguments) > 1 {
		k, fault := c.axis(1, x, 0)
		return []int{k}, fault
	}
	return c.allAxes(x), nil
}

func (c *callSite) allAxes(x graph.Value) []int {
	axes := make([]int, len(c.b.Type(x).Shape))
	for i := range axes {
		axes[i] = i
	}
	return axes
}

func lowerMean(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, -1)
	if fault != nil {
		return operand{}, fault
	}
	axes, fault := c.axes(x)
	if fault != nil {
		return operand{}, fault
	}
	n := 1
	for _, a := range axes {
		n *= c.b.Type(x).Shape[a]
	}
	if n == 0 {
		return operand{}, c.fault(0, "", "mean of no entries: the shape is %v", c.b.Type(x).Shape)
	}
	sum, fault := c.do(op.Sum, graph.Attrs{ints("axes", axes...)}, x)
	if fault != nil {
		return operand{}, fault
	}
	return c.elementwise(c.node, "mean", op.Div, nil, c.guard.structural(), sum, number(float64(n)))
}

// sumOfProducts is Σ x·y over all entries.
func (c *callSite) sumOfProducts(x, y graph.Value) (operand, *Error) {
	product, fault := c.do(op.Mul, nil, x, y)
	if fault != nil {
		return product, fault
	}
	return c.do(op.Sum, graph.Attrs{ints("axes", c.allAxes(product.value)...)}, product.value)
}

func lowerNorm2(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, -1)
	if fault != nil {
		return operand{}, fault
	}
	square, fault := c.sumOfProducts(x, x)
	if fault != nil {
		return square, fault
	}
	return c.do(op.Sqrt, nil, square.value)
}

// pair lowers two arguments of the given rank.
func (c *callSite) pair(rank int) (x, y graph.Value, fault *Error) {
	if x, fault = c.floatsOf(0, rank); fault == nil {
		y, fault = c.floatsOf(1, rank)
	}
	return x, y, fault
}

func lowerDot(c *callSite) (operand, *Error) {
	x, y, fault := c.pair(1)
	if fault != nil {
		return operand{}, fault
	}
	if a, b := c.b.Type(x).Shape, c.b.Type(y).Shape; !a.Equal(b) {
		return operand{}, c.errorAt(c.node, "", "dot wants two vectors of one length, has %v and %v", a, b)
	}
	return c.sumOfProducts(x, y)
}

func lowerCumSum(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, -1)
	if fault != nil {
		return operand{}, fault
	}
	axis, fault := c.axis(1, x, 0)
	if fault != nil {
		return operand{}, fault
	}
	return c.do(op.CumSum, graph.Attrs{ints("axis", axis)}, x)
}

// lowerMatMul takes a vector on the left as a row, and one on the right as a column.
func lowerMatMul(c *callSite) (operand, *Error) {
	x, y, fault := c.pair(-1)
	if fault != nil {
		return operand{}, fault
	}
	a, b := c.b.Type(x).Shape, c.b.Type(y).Shape
	switch {
	case len(a) == 1 && len(b) == 1:
		return operand{}, c.errorAt(c.node, "write dot(x, y) or outer(x, y)", "matmul wants a matrix, has the vectors %v and %v", a, b)
	case len(a) == 0 || len(b) == 0:
		return operand{}, c.errorAt(c.node, "write * to scale", "matmul wants matrices or vectors, has %s and %s", shapeText(a), shapeText(b))
	case len(a) > 2 || len(b) > 2 || a[len(a)-1] != b[0]:
		return operand{}, c.errorAt(c.node, "the last axis of the left and the first of the right are of one length", "matmul cannot multiply %v and %v", a, b)
	}
	out := slices.Concat(a[:len(a)-1], b[1:])
	if len(a) == 1 {
		x = op.ReshapeTo(c.b, x, graph.Shape{1, a[0]})
	}
	if len(b) == 1 {
		y = op.ReshapeTo(c.b, y, graph.Shape{b[0], 1})
	}
	product, fault := c.do(op.MatMul, nil, x, y)
	if fault != nil || len(out) == 2 {
		return product, fault
	}
	return operand{value: op.ReshapeTo(c.b, product.value, out)}, nil
}

func lowerOuter(c *callSite) (operand, *Error) {
	x, y, fault := c.pair(1)
	if fault != nil {
		return operand{}, fault
	}
	column := op.ReshapeTo(c.b, x, graph.Shape{c.b.Type(x).Len(), 1})
	row := op.ReshapeTo(c.b, y, graph.Shape{1, c.b.Type(y).Len()})
	return c.do(op.MatMul, nil, column, row)
}

func lowerTranspose(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, 2)
	if fault != nil {
		return operand{}, fault
	}
	return operand{value: c.swapAxes(x)}, nil
}

// line takes a row (axis 0) or a column (axis 1) of a matrix.
func (c *callSite) line(axis int) (operand, *Error) {
	x, fault := c.floatsOf(0, 2)
	if fault != nil {
		return operand{}, fault
	}
	i, fault := c.lower(c.node.Arguments[1], c.guard.structural())
	if fault != nil {
		return i, fault
	}
	return c.entry(c.node.Arguments[1], x, axis, i, c.guard)
}

func lowerRows(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, 1)
	if fault != nil {
		return operand{}, fault
	}
	n, fault := c.whole(1, 0, "the number of rows")
	if fault != nil {
		return operand{}, fault
	}
	return c.do(op.BroadcastRows, graph.Attrs{ints("rows", n)}, x)
}

func lowerCols(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, 1)
	if fault != nil {
		return operand{}, fault
	}
	n, fault := c.whole(1, 0, "the number of columns")
	if fault != nil {
		return operand{}, fault
	}
	return c.do(op.Broadcast, graph.Attrs{ints("shape", c.b.Type(x).Len(), n), ints("dims", 0)}, x)
}

func lowerConcat(c *callSite) (operand, *Error) {
	parts := make([]graph.Value, len(c.node.Arguments))
	for i := range parts {
		x, fault := c.floatsOf(i, -1)
		if fault != nil {
			return operand{}, fault
		}
		if len(c.b.Type(x).Shape) == 0 {
			x = op.ReshapeTo(c.b, x, graph.Shape{1})
		}
		first, here := c.b.Type(parts[0]).Shape, c.b.Type(x).Shape
		if i > 0 && (len(first) != len(here) || !first[1:].Equal(here[1:])) {
			return operand{}, c.fault(i, "", "concat wants shapes that differ in the first axis only, has %v and %v", first, here)
		}
		parts[i] = x
	}
	return c.join(c.node, parts)
}

// moved lowers the arguments x, k and the optional axis of shift and roll.
func (c *callSite) moved() (x graph.Value, k, axis int, fault *Error) {
	if x, fault = c.floatsOf(0, -1); fault != nil {
		return
	}
	if k, fault = c.whole(1, -graph.MaxEntries, "the distance"); fault != nil {
		return
	}
	axis, fault = c.axis(2, x, 0)
	return
}

func lowerShift(c *callSite) (operand, *Error) {
	x, k, axis, fault := c.moved()
	if fault != nil {
		return operand{}, fault
	}
	shape := c.b.Type(x).Shape
	n := shape[axis]
	k = min(max(k, -n), n)
	low, high := make([]int, len(shape)), make([]int, len(shape))
	low[axis], high[axis] = max(k, 0), max(-k, 0)
	kept := c.cut(x, axis, high[axis], n-low[axis])
	return operand{value: op.PadWith(c.b, kept, low, high, make([]int, len(shape)))}, nil
}

func lowerRoll(c *callSite) (operand, *Error) {
	x, k, axis, fault := c.moved()
	if fault != nil {
		return operand{}, fault
	}
	return c.do(op.Roll, graph.Attrs{ints("axis", axis), ints("shift", k)}, x)
}

func lowerReverse(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, -1)
	if fault != nil {
		return operand{}, fault
	}
	axis, fault := c.axis(1, x, 0)
	if fault != nil {
		return operand{}, fault
	}
	return c.do(op.Reverse, graph.Attrs{ints("axes", axis)}, x)
}

// shapeFrom lowers the arguments from i on to a shape.
func (c *callSite) shapeFrom(i int) (graph.Shape, *Error) {
	var shape graph.Shape
	for ; i < len(c.node.Arguments); i++ {
		n, fault := c.whole(i, 0, "a dimension")
		if fault != nil {
			return nil, fault
		}
		shape = append(shape, n)
	}
	if err := shape.Check(); err != nil {
		return nil, c.errorAt(c.node, "", "%v", err)
	}
	return shape, nil
}

func lowerReshape(c *callSite) (operand, *Error) {
	x, fault := c.floatsOf(0, -1)
	if fault != nil {
		return operand{}, fault
	}
	shape, fault := c.shapeFrom(1)
	if fault != nil {
		return operand{}, fault
	}
	if have := c.b.Type(x); have.Len() != shape.Len() {
		return operand{}, c.errorAt(c.node, "", "reshape to %v wants %d entries, has %d of %s", shape, shape.Len(), have.Len(), shapeText(have.Shape))
	}
	return operand{value: op.ReshapeTo(c.b, x, shape)}, nil
}

func filled(x float64) func(c *callSite) (operand, *Error) {
	return func(c *callSite) (operand, *Error) {
		shape, fault := c.shapeFrom(0)
		if fault != nil {
			return operand{}, fault
		}
		return operand{value: c.b.Full(graph.F64(shape...), x)}, nil
	}
}

func lowerLen(c *callSite) (operand, *Error) {
	x, fault := c.lower(c.node.Arguments[0], c.guard.structural())
	if fault != nil {
		return x, fault
	}
	if len(c.shape(x)) == 0 {
		return x, c.fault(0, "", "len wants an array, has a scalar")
	}
	return number(float64(c.shape(x)[0])), nil
}
