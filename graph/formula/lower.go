package formula

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr/ast"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// lowerer appends the operations of one formula.
type lowerer struct {
	*source
	b     *graph.Builder
	scope Scope
	swept []graph.Value // arrays of which every step has its entry
}

// result turns an operand into the value of a formula: a float64, or a boolean.
func (l *lowerer) result(x operand) graph.Value {
	if l.isBool(x) {
		return l.bools(x, l.shape(x))
	}
	return l.floats(x, l.shape(x))
}

// errorAt points at the token where a node of the syntax tree stands.
func (l *lowerer) errorAt(n ast.Node, hint, format string, args ...any) *Error {
	t := l.tokenAt(l.offset(n.Location()))
	return &Error{t.offset, t.length, fmt.Sprintf(format, args...), hint}
}

// step is an operation that waits for its left operand.
type step struct {
	node  ast.Node
	guard guard
}

// lower appends the operations of a subtree. Chains that lean to the left, such as long sums, are
// followed in a loop; the depth of everything else is bounded by MaxNesting.
func (l *lowerer) lower(n ast.Node, g guard) (operand, *Error) {
	var steps []step
	for {
		left, g2 := ast.Node(nil), g
		switch n := n.(type) {
		case *ast.BinaryNode:
			if fault := l.refuseChain(n); fault != nil {
				return operand{}, fault
			}
			left = n.Left
		case *ast.MemberNode:
			left, g2 = n.Node, g.structural()
		case *ast.SliceNode:
			left, g2 = n.Node, g.structural()
		}
		if left == nil {
			break
		}
		steps = append(steps, step{n, g})
		n, g = left, g2
	}
	x, fault := l.leaf(n, g)
	for i := len(steps) - 1; i >= 0 && fault == nil; i-- {
		s := steps[i]
		switch n := s.node.(type) {
		case *ast.BinaryNode:
			x, fault = l.binary(n, x, s.guard)
		case *ast.MemberNode:
			x, fault = l.index(n, x, s.guard)
		case *ast.SliceNode:
			x, fault = l.slice(n, x)
		}
	}
	return x, fault
}

// refuseChain finds a < b < c, which the parser reads as a < b && b < c with the place of a comparison.
func (l *lowerer) refuseChain(n *ast.BinaryNode) *Error {
	if n.Operator != "&&" || l.text[l.offset(n.Location())] == '&' {
		return nil
	}
	return l.chained(n)
}

func (l *lowerer) chained(n ast.Node) *Error {
	return l.errorAt(n, "write 0 < x && x < 1", "comparisons do not chain")
}

func (l *lowerer) leaf(n ast.Node, g guard) (operand, *Error) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return number(l.numbers[l.offset(n.Location())]), nil
	case *ast.IdentifierNode:
		return l.name(n)
	case *ast.UnaryNode:
		return l.unary(n, g)
	case *ast.ConditionalNode:
		return l.conditional(n, g)
	case *ast.CallNode:
		return l.call(n, g)
	case *ast.ArrayNode:
		return l.array(n, g)
	}
	return operand{}, l.errorAt(n, "", "this is not part of the language of formulas")
}

func (l *lowerer) name(n *ast.IdentifierNode) (operand, *Error) {
	if v, ok := l.scope[n.Value]; ok {
		return operand{value: v}, nil
	}
	if n.Value == "pi" {
		return number(math.Pi), nil
	}
	if f := functionNamed(n.Value); f != nil {
		return operand{}, l.errorAt(n, "write "+f.Signature, "%s is a function", n.Value)
	}
	return operand{}, l.errorAt(n, suggest(n.Value, append(l.scope.names(), "pi"), otherNames), "unknown name %s", n.Value)
}

func (l *lowerer) unary(n *ast.UnaryNode, g guard) (operand, *Error) {
	x, fault := l.lower(n.Node, g)
	if fault != nil {
		return x, fault
	}
	if n.Operator == "!" {
		if !l.isBool(x) {
			return x, l.errorAt(n, "", "! wants a condition, has %s", l.describe(x))
		}
		return l.not(x), nil
	}
	if l.isBool(x) {
		return x, l.errorAt(n, "", "%s wants a number, has %s", n.Operator, l.describe(x))
	}
	if n.Operator == "+" {
		return x, nil
	}
	return l.elementwise(n, "-", op.Neg, nil, g, x)
}

func (l *lowerer) binary(n *ast.BinaryNode, x operand, g guard) (operand, *Error) {
	if n.Operator == "&&" || n.Operator == "||" {
		return l.logical(n, x, g)
	}
	y, fault := l.lower(n.Right, g)
	if fault != nil {
		return y, fault
	}
	switch n.Operator {
	case "+":
		return l.elementwise(n, "+", op.Add, nil, g, x, y)
	case "-":
		return l.elementwise(n, "-", op.Sub, nil, g, x, y)
	case "*":
		return l.elementwise(n, "*", op.Mul, nil, g, x, y)
	case "/":
		return l.elementwise(n, "/", op.Div, nil, g, x, y)
	case "^":
		return l.power(n, "^", g, x, y)
	}
	return l.comparison(n, x, y, g)
}

// maxWholePower bounds the exponents that are taken by repeated multiplication.
const maxWholePower = 1 << 30

// power is xⁿ by repeated multiplication for a number n that is whole, and x^y otherwise.
func (l *lowerer) power(n ast.Node, what string, g guard, x, y operand) (operand, *Error) {
	if y.isNumber() && y.number == math.Trunc(y.number) && math.Abs(y.number) <= maxWholePower {
		return l.elementwise(n, what, op.PowInt, graph.Attrs{{Name: "n", Ints: []int{int(y.number)}}}, g, x)
	}
	return l.elementwise(n, what, op.Pow, nil, g, x, y)
}

func (l *lowerer) comparison(n *ast.BinaryNode, x, y operand, g guard) (operand, *Error) {
	if l.isBool(x) || l.isBool(y) {
		if isComparison(n.Left) {
			return x, l.chained(n)
		}
		return x, l.errorAt(n, "join conditions by && and ||", "%s compares numbers, has %s and %s", n.Operator, l.describe(x), l.describe(y))
	}
	if _, fault := l.unify(n, n.Operator, x, y); fault != nil {
		return x, fault
	}
	switch n.Operator {
	case "<":
		return l.elementwise(n, "<", op.Less, nil, g, x, y)
	case "<=":
		return l.elementwise(n, "<=", op.LessEqual, nil, g, x, y)
	case ">":
		return l.elementwise(n, ">", op.Less, nil, g, y, x)
	case ">=":
		return l.elementwise(n, ">=", op.LessEqual, nil, g, y, x)
	case "==":
		return l.elementwise(n, "==", op.Equal, nil, g, x, y)
	case "!=":
		z, fault := l.elementwise(n, "!=", op.Equal, nil, g, x, y)
		if fault != nil {
			return z, fault
		}
		return l.not(z), nil
	}
	return x, l.errorAt(n, "", "there is no operator %s", n.Operator)
}

func isComparison(n ast.Node) bool {
	b, ok := n.(*ast.BinaryNode)
	if !ok {
		return false
	}
	switch b.Operator {
	case "<", "<=", ">", ">=", "==", "!=":
		return true
	}
	return false
}

// logical joins conditions. The right one has no domain where the left one decides.
func (l *lowerer) logical(n *ast.BinaryNode, x operand, g guard) (operand, *Error) {
	if !l.isBool(x) {
		return x, l.errorAt(n, "write a comparison", "%s wants conditions, has %s", n.Operator, l.describe(x))
	}
	isAnd := n.Operator == "&&"
	if x.kind == isTruth {
		if x.truth != isAnd {
			return x, nil
		}
		return l.condition(n, n.Right, g)
	}
	open := x.value
	if !isAnd {
		open = l.b.Emit(op.Not, nil, x.value)
	}
	y, fault := l.condition(n, n.Right, l.within(g, open))
	if fault != nil {
		return y, fault
	}
	shape, fault := l.unify(n, n.Operator, x, y)
	if fault != nil {
		return x, fault
	}
	o := op.Or
	if isAnd {
		o = op.And
	}
	return operand{value: l.b.Emit(o, nil, l.bools(x, shape), l.bools(y, shape))}, nil
}

// condition lowers an operand of a logical operator.
func (l *lowerer) condition(parent *ast.BinaryNode, n ast.Node, g guard) (operand, *Error) {
	x, fault := l.lower(n, g)
	if fault == nil && !l.isBool(x) {
		fault = l.errorAt(parent, "write a comparison", "%s wants conditions, has %s", parent.Operator, l.describe(x))
	}
	return x, fault
}

func (l *lowerer) not(x operand) operand {
	if x.kind == isTruth {
		return operand{kind: isTruth, truth: !x.truth}
	}
	return operand{value: l.b.Emit(op.Not, nil, x.value)}
}

// conditional lowers c ? a : b. Each arm is guarded by what chooses it.
func (l *lowerer) conditional(n *ast.ConditionalNode, g guard) (operand, *Error) {
	c, fault := l.lower(n.Cond, g)
	if fault != nil {
		return c, fault
	}
	if !l.isBool(c) {
		return c, l.errorAt(n.Cond, "write a comparison", "c ? a : b wants a condition, has %s", l.describe(c))
	}
	if c.kind == isTruth {
		if c.truth {
			return l.lower(n.Exp1, g)
		}
		return l.lower(n.Exp2, g)
	}
	a, fault := l.lower(n.Exp1, l.within(g, c.value))
	if fault != nil {
		return a, fault
	}
	b, fault := l.lower(n.Exp2, l.within(g, l.not(c).value))
	if fault != nil {
		return b, fault
	}
	shape, fault := l.unify(n.Cond, "c ? a : b", c, a, b)
	if fault != nil {
		return a, fault
	}
	form := l.floats
	switch {
	case l.isBool(a) && l.isBool(b):
		form = l.bools
	case l.isBool(a) || l.isBool(b):
		return a, l.errorAt(n.Cond, "", "c ? a : b wants arms of one kind, has %s and %s", l.describe(a), l.describe(b))
	case l.joinInts(a, b):
		form = l.ints
	}
	return operand{value: l.b.Emit(op.Select, nil, c.value, form(a, shape), form(b, shape))}, nil
}
