// Package op is the table of primitive operations, one file a family.
//
// A row states the shape rule, the kernel, the open domain with the boundary value and the
// smoothness there, the JVP rule, and, where the operation is linear, its transpose. The set is
// closed: every rule emits operations of this table, so that programs can be differentiated and
// transposed again and again.
package op

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
)

var table = map[string]*graph.Op{graph.Literal.Name: graph.Literal, graph.Add.Name: graph.Add}

// define fills the row of an operation and enters it into the table. Rows are filled by init
// functions because rules refer to each other.
func define(o *graph.Op, row graph.Op) {
	*o = row
	table[o.Name] = o
}

// Lookup returns the operation of a name, or nil.
func Lookup(name string) *graph.Op { return table[name] }

// All returns every operation, by name.
func All() []*graph.Op {
	var ops []*graph.Op
	for _, o := range table {
		ops = append(ops, o)
	}
	slices.SortFunc(ops, func(a, b *graph.Op) int { return strings.Compare(a.Name, b.Name) })
	return ops
}

// Parse reads the canonical text of a program over this table.
func Parse(text string) (*graph.Program, error) { return graph.Parse(text, Lookup) }

// The short forms in which rules are written. s is the site of the rule.

type (
	site  = graph.Site
	value = graph.Value
)

const none = graph.None

func add(s *site, x, y value) value { return s.Emit(graph.Add, nil, x, y) }
func sub(s *site, x, y value) value { return s.Emit(Sub, nil, x, y) }
func mul(s *site, x, y value) value { return s.Emit(Mul, nil, x, y) }
func div(s *site, x, y value) value { return s.Emit(Div, nil, x, y) }
func neg(s *site, x value) value    { return s.Emit(Neg, nil, x) }

// call emits an operation without attributes.
func call(s *site, o *graph.Op, args ...value) value { return s.Emit(o, nil, args...) }

// full emits a constant of the type of the node's result.
func full(s *site, x float64) value { return s.Full(s.Node.Type, x) }

// scaled is the JVP of a unary elementwise operation with the given derivative: dx·f′(x).
func scaled(derivative func(s *site) value) func(*site, []value) value {
	return func(s *site, dx []value) value { return mul(s, dx[0], derivative(s)) }
}

// again is the JVP of an operation that is linear in its first operand: the same operation on the tangent.
func again(s *site, dx []value) value {
	args := slices.Clone(s.X)
	args[0] = dx[0]
	return s.Emit(s.Node.Op, s.Node.Attrs, args...)
}

// bilinear is the JVP of an operation that is linear in each of two operands: f(dx, y) + f(x, dy).
func bilinear(s *site, dx []value) value {
	left, right := none, none
	if dx[0] != none {
		left = s.Emit(s.Node.Op, s.Node.Attrs, dx[0], s.X[1])
	}
	if dx[1] != none {
		right = s.Emit(s.Node.Op, s.Node.Attrs, s.X[0], dx[1])
	}
	return s.Accumulate(left, right)
}

// constant is the JVP of an operation whose result does not vary where it is differentiable.
func constant(*site, []value) value { return none }

// orZero gives a symbolic zero a place among the operands of an operation: a literal, which is one number.
func orZero(s *site, t graph.Type, v value) value {
	if v == none {
		return s.Zeros(t.Tangent())
	}
	return v
}

// linearInFirst is the LinearIn of operations that are linear in operand 0, the others being fixed.
func linearInFirst(marked []bool) bool {
	return marked[0] && !slices.Contains(marked[1:], true)
}

// linearInOne is the LinearIn of bilinear operations.
func linearInOne(marked []bool) bool { return marked[0] != marked[1] }

// attrError reports an attribute that does not fit.
func attrError(name string, have any, want string) error {
	return fmt.Errorf("attribute %s is %v, want %s", name, have, want)
}
