package formula

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr/ast"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// operand is the value of a subtree: a value of the program, or a number or truth that is known
// now and becomes a literal of the shape that its use wants.
type operand struct {
	kind   operandKind
	value  graph.Value
	number float64
	truth  bool
}

type operandKind uint8

const (
	isValue operandKind = iota
	isNumber
	isTruth
)

func number(x float64) operand { return operand{kind: isNumber, number: x} }

func (x operand) isNumber() bool { return x.kind == isNumber }

// whole reports the number as an integer, if it is one that float64 counts exactly.
func (x operand) whole() (int, bool) {
	const exact = 1 << 53
	if x.kind != isNumber || x.number != math.Trunc(x.number) || math.Abs(x.number) > exact {
		return 0, false
	}
	return int(x.number), true
}

func (l *lowerer) shape(x operand) graph.Shape {
	if x.kind != isValue {
		return nil
	}
	return l.b.Type(x.value).Shape
}

func (l *lowerer) isBool(x operand) bool {
	return x.kind == isTruth || x.kind == isValue && l.b.Type(x.value).DType == graph.Bool
}

func (l *lowerer) isInt(x operand) bool {
	return x.kind == isValue && l.b.Type(x.value).DType == graph.Int64
}

// joinInts reports whether operands are computed as integers: some are, and the others are whole numbers.
func (l *lowerer) joinInts(xs ...operand) bool {
	some := false
	for _, x := range xs {
		_, whole := x.whole()
		if !whole && !l.isInt(x) {
			return false
		}
		some = some || l.isInt(x)
	}
	return some
}

// describe says what an operand is, for messages.
func (l *lowerer) describe(x operand) string {
	what := shapeText(l.shape(x))
	switch {
	case l.isBool(x) && len(l.shape(x)) == 0:
		return "a condition"
	case l.isBool(x):
		return "conditions " + what
	case l.isInt(x):
		return what + " of whole numbers"
	}
	return what
}

func shapeText(s graph.Shape) string {
	if len(s) == 0 {
		return "a scalar"
	}
	return s.String()
}

// unify is the one shape of operands of which scalars adapt.
func (l *lowerer) unify(n ast.Node, what string, xs ...operand) (graph.Shape, *Error) {
	var shape graph.Shape
	for _, x := range xs {
		s := l.shape(x)
		switch {
		case len(s) == 0 || s.Equal(shape):
		case len(shape) == 0:
			shape = s
		default:
			return nil, l.errorAt(n, mismatchHint(shape, s), "%s wants one shape, or scalars beside it, has %v and %v", what, shape, s)
		}
	}
	return shape, nil
}

// mismatchHint names the function that makes two shapes one, where there is one.
func mismatchHint(a, b graph.Shape) string {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) != 1 || len(b) != 2 {
		return ""
	}
	switch {
	case a[0] == b[1]:
		return fmt.Sprintf("rows(x, %d) repeats a vector as %d rows; matmul multiplies", b[0], b[0])
	case a[0] == b[0]:
		return fmt.Sprintf("cols(x, %d) repeats a vector as %d columns; matmul multiplies", b[1], b[1])
	}
	return ""
}

// floats makes a float64 value of the shape.
func (l *lowerer) floats(x operand, shape graph.Shape) graph.Value {
	if x.kind == isNumber {
		return l.b.Full(graph.F64(shape...), x.number)
	}
	v := x.value
	if l.b.Type(v).DType != graph.Float64 {
		v = op.ConvertTo(l.b, v, graph.Float64)
	}
	return l.spread(v, shape)
}

// ints makes an int64 value of the shape.
func (l *lowerer) ints(x operand, shape graph.Shape) graph.Value {
	if n, ok := x.whole(); ok {
		return l.fill(graph.Int64, shape, int64(n))
	}
	return l.spread(x.value, shape)
}

// bools makes a boolean value of the shape.
func (l *lowerer) bools(x operand, shape graph.Shape) graph.Value {
	if x.kind == isTruth {
		var bit int64
		if x.truth {
			bit = 1
		}
		return l.fill(graph.Bool, shape, bit)
	}
	return l.spread(x.value, shape)
}

// fill adds a literal all of whose entries are n.
func (l *lowerer) fill(d graph.DType, shape graph.Shape, n int64) graph.Value {
	x := &graph.Tensor{Type: graph.Type{DType: d, Shape: shape}}
	if shape.Len() > 0 {
		x.I = []int64{n}
	}
	return l.b.Literal(x)
}

// spread broadcasts a scalar; a tensor has the shape already.
func (l *lowerer) spread(v graph.Value, shape graph.Shape) graph.Value {
	if l.b.Type(v).Shape.Equal(shape) {
		return v
	}
	return op.BroadcastTo(l.b, v, shape)
}

// elementwise applies an operation entry by entry: to numbers now, to integers as integers where
// the operation has them, and to floats otherwise.
func (l *lowerer) elementwise(n ast.Node, what string, o *graph.Op, at graph.Attrs, g guard, xs ...operand) (operand, *Error) {
	for _, x := range xs {
		if l.isBool(x) {
			return x, l.errorAt(n, "", "%s wants numbers, has %s", what, l.describe(x))
		}
	}
	if x, ok := fold(o, at, xs); ok {
		return x, nil
	}
	shape, fault := l.unify(n, what, xs...)
	if fault != nil {
		return operand{}, fault
	}
	form := l.floats
	if hasInts(o) && l.joinInts(xs...) {
		form = l.ints
	}
	args := make([]graph.Value, len(xs))
	for i, x := range xs {
		args[i] = form(x, shape)
	}
	return l.emit(n, o, at, g, args...)
}

// hasInts reports whether an elementwise operation computes with integers.
func hasInts(o *graph.Op) bool {
	switch o {
	case op.Add, op.Sub, op.Mul, op.Neg, op.Less, op.LessEqual, op.Equal:
		return true
	}
	return false
}

// fold computes an operation on numbers as the program would. One that fails is left to the
// program, whose failure has a place.
func fold(o *graph.Op, at graph.Attrs, xs []operand) (operand, bool) {
	in := make([]*graph.Tensor, len(xs))
	types := make([]graph.Type, len(xs))
	for i, x := range xs {
		if !x.isNumber() {
			return operand{}, false
		}
		in[i], types[i] = graph.Number(x.number), graph.Scalar
	}
	t, err := o.Infer(at, types)
	if err != nil {
		return operand{}, false
	}
	out, fault := (&graph.Node{Op: o, Attrs: at, Type: t}).Run(in)
	if fault != nil {
		return operand{}, false
	}
	if t.DType == graph.Bool {
		return operand{kind: isTruth, truth: out.I[0] != 0}, true
	}
	return number(out.F[0]), true
}

// emit adds an operation under a guard. The callers have checked the operands; what they missed is still an error with a place.
func (l *lowerer) emit(n ast.Node, o *graph.Op, at graph.Attrs, g guard, args ...graph.Value) (operand, *Error) {
	v, err := l.b.Try(o, at, l.protect(g, o, args)...)
	if err != nil {
		return operand{}, l.errorAt(n, "", "%v", err)
	}
	return operand{value: v}, nil
}
