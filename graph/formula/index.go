package formula

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// index lowers x[i].
func (l *lowerer) index(n *ast.MemberNode, x operand, g guard) (operand, *Error) {
	if x.kind == isValue && slices.Contains(l.swept, x.value) {
		g = unguarded
	}
	i, fault := l.lower(n.Property, g.structural())
	if fault != nil {
		return i, fault
	}
	if len(l.shape(x)) == 0 {
		return x, l.errorAt(n, "", "a scalar has no entries")
	}
	return l.entry(n, x.value, 0, i, g)
}

// entry takes entry i along an axis, which goes away. A whole number counts from the end if it is
// negative; an int64 value is checked by the program, and its axes take the place of the axis.
func (l *lowerer) entry(n ast.Node, x graph.Value, axis int, i operand, g guard) (operand, *Error) {
	shape := l.b.Type(x).Shape
	size := shape[axis]
	if l.isInt(i) {
		if size == 0 {
			return i, l.errorAt(n, "", "there is no entry to select in shape %v", shape)
		}
		if axis != 0 {
			x = l.swapAxes(x)
		}
		return l.emit(n, op.Gather, nil, g.structural(), x, i.value)
	}
	k, ok := i.whole()
	if !ok {
		have := l.describe(i)
		if i.isNumber() {
			have = fmt.Sprint(i.number)
		}
		return i, l.errorAt(n, "", "an index is a whole number or a step index, has %s", have)
	}
	at := k
	if at < 0 {
		at += size
	}
	if at < 0 || at >= size {
		return i, l.errorAt(n, indexHint(size), "index %d is outside axis %d of shape %v", k, axis, shape)
	}
	rest := slices.Delete(slices.Clone(shape), axis, axis+1)
	return operand{value: op.ReshapeTo(l.b, l.cut(x, axis, at, at+1), rest)}, nil
}

func indexHint(size int) string {
	if size == 0 {
		return "it has no entries"
	}
	return fmt.Sprintf("indices go from 0 to %d, and from -%d to -1", size-1, size)
}

// slice lowers x[i:j].
func (l *lowerer) slice(n *ast.SliceNode, x operand) (operand, *Error) {
	if len(l.shape(x)) == 0 {
		return x, l.errorAt(n, "", "a scalar has no entries")
	}
	size := l.shape(x)[0]
	bound := func(n ast.Node, otherwise int) (int, *Error) {
		if n == nil {
			return otherwise, nil
		}
		i, fault := l.lower(n, unguarded)
		if fault != nil {
			return 0, fault
		}
		k, ok := i.whole()
		if !ok {
			return 0, l.errorAt(n, "", "the ends of a slice are whole numbers")
		}
		if k < -size || k > size {
			return 0, l.errorAt(n, fmt.Sprintf("from 0 to %d, or from -%d", size, size), "%d is outside the %d entries of the first axis", k, size)
		}
		if k < 0 {
			k += size
		}
		return k, nil
	}
	from, fault := bound(n.From, 0)
	if fault != nil {
		return x, fault
	}
	to, fault := bound(n.To, size)
	if fault != nil {
		return x, fault
	}
	if from > to {
		return x, l.errorAt(n, "", "the slice starts at %d and ends before it, at %d", from, to)
	}
	return operand{value: l.cut(x.value, 0, from, to)}, nil
}

// cut takes entries from, …, to−1 along an axis.
func (l *lowerer) cut(x graph.Value, axis, from, to int) graph.Value {
	shape := l.b.Type(x).Shape
	if from == 0 && to == shape[axis] {
		return x
	}
	start, limit, step := make([]int, len(shape)), slices.Clone(shape), slices.Repeat([]int{1}, len(shape))
	start[axis], limit[axis] = from, to
	return op.SliceOf(l.b, x, start, limit, step)
}

// swapAxes transposes a matrix.
func (l *lowerer) swapAxes(x graph.Value) graph.Value {
	return l.b.Emit(op.Transpose, graph.Attrs{{Name: "perm", Ints: []int{1, 0}}}, x)
}

// array lowers [a, b, …]: entries or rows of one shape, stacked along a new first axis.
func (l *lowerer) array(n *ast.ArrayNode, g guard) (operand, *Error) {
	if len(n.Nodes) == 0 {
		return operand{}, l.errorAt(n, "write zeros(0)", "an array has entries")
	}
	parts := make([]operand, len(n.Nodes))
	for i, entry := range n.Nodes {
		x, fault := l.lower(entry, g.structural())
		if fault != nil {
			return x, fault
		}
		if l.isBool(x) {
			return x, l.errorAt(entry, "", "an array holds numbers, has %s", l.describe(x))
		}
		if i > 0 && !l.shape(x).Equal(l.shape(parts[0])) {
			return x, l.errorAt(entry, "", "the entries of an array are of one shape, has %s and %s", shapeText(l.shape(parts[0])), shapeText(l.shape(x)))
		}
		parts[i] = x
	}
	shape := slices.Concat(graph.Shape{len(parts)}, l.shape(parts[0]))
	if x, ok := l.literalArray(parts, shape); ok {
		return x, nil
	}
	rows := make([]graph.Value, len(parts))
	for i, x := range parts {
		v := l.floats(x, l.shape(x))
		rows[i] = op.ReshapeTo(l.b, v, slices.Concat(graph.Shape{1}, l.shape(x)))
	}
	return l.join(n, rows)
}

// literalArray makes one literal of parts that are numbers, or literals themselves.
func (l *lowerer) literalArray(parts []operand, shape graph.Shape) (operand, bool) {
	entries := make([]float64, 0, len(parts))
	for _, x := range parts {
		if x.isNumber() {
			entries = append(entries, x.number)
			continue
		}
		node := l.b.Node(x.value)
		if node == nil || node.Op != graph.Literal || len(node.Value.F) != node.Type.Len() {
			return operand{}, false
		}
		entries = append(entries, node.Value.F...)
	}
	if len(entries) != shape.Len() {
		return operand{}, false
	}
	return operand{value: l.b.Literal(graph.Floats(shape, entries))}, true
}

// join concatenates along the first axis.
func (l *lowerer) join(n ast.Node, parts []graph.Value) (operand, *Error) {
	if len(parts) == 1 {
		return operand{value: parts[0]}, nil
	}
	return l.emit(n, op.Concat, graph.Attrs{{Name: "axis", Ints: []int{0}}}, unguarded, parts...)
}
