package formula

import (
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// guard is the condition under which a subtree counts: the arms of c ? a : b, and the right
// operands of && and ||, that it stands in.
//
// Inside, every operation that could fail, or whose derivatives could, reads its operands through
// select(condition, operand, safe). So the arm not taken has no domain: neither a check nor 0·∞
// arises there, at any order. A scalar condition guards everything inside. A condition with
// entries guards the entrywise operations of its shape that lead to the arm; what lies behind a
// sum, a product or an index is computed in full, since guarding some entries would change it.
type guard struct {
	scalar, entries graph.Value
}

var unguarded = guard{graph.None, graph.None}

// structural is the guard behind an operation that does not act entry by entry.
func (g guard) structural() guard { return guard{g.scalar, graph.None} }

// within adds a condition to a guard.
func (l *lowerer) within(g guard, condition graph.Value) guard {
	both := func(outer graph.Value) graph.Value {
		if outer == graph.None || !l.b.Type(outer).Equal(l.b.Type(condition)) {
			return condition
		}
		return l.b.Emit(op.And, nil, outer, condition)
	}
	if len(l.b.Type(condition).Shape) == 0 {
		g.scalar = both(g.scalar)
	} else {
		g.entries = both(g.entries)
	}
	return g
}

// over is the condition for an operation on operands of the given shape, or None.
func (l *lowerer) over(g guard, shape graph.Shape) graph.Value {
	if g.entries == graph.None || !l.b.Type(g.entries).Shape.Equal(shape) {
		return g.scalar
	}
	if g.scalar == graph.None {
		return g.entries
	}
	return l.b.Emit(op.And, nil, l.spread(g.scalar, shape), g.entries)
}

// protect puts a guard before the operands of an operation.
func (l *lowerer) protect(g guard, o *graph.Op, args []graph.Value) []graph.Value {
	if g == unguarded || !needsGuard(o) {
		return args
	}
	condition := l.over(g, l.b.Type(args[0]).Shape)
	if condition == graph.None {
		return args
	}
	guarded := slices.Clone(args)
	for i, v := range args {
		if l.staysSafe(o, args, i) {
			continue
		}
		safe := 0.0
		if o.Safe != nil {
			safe = o.Safe[i]
		}
		t := l.b.Type(v)
		var instead graph.Value
		if t.DType.IsFloat() {
			instead = l.b.Full(t, safe)
		} else {
			instead = l.fill(t.DType, t.Shape, int64(safe))
		}
		if instead != v {
			guarded[i] = l.b.Emit(op.Select, nil, condition, v, instead)
		}
	}
	return guarded
}

// needsGuard holds for operations that can fail, and for those whose derivatives can: only what
// is total and moves, negates or chooses entries needs no guard.
func needsGuard(o *graph.Op) bool { return !o.Total || o.Safe != nil && o.LinearIn == nil }

// staysSafe reports an operand that no guard has to replace: the rows that an index selects from,
// and a literal with which the operation stays inside its domain once its other operand is safe.
func (l *lowerer) staysSafe(o *graph.Op, args []graph.Value, i int) bool {
	if o == op.Gather {
		return i == 0
	}
	n := l.literal(args[i])
	if n == nil {
		return false
	}
	switch o {
	case op.Add, op.Sub, op.Mul:
		return l.literal(args[1-i]) == nil
	case op.Pow:
		return i == 1
	case op.Div:
		return i == 1 && !slices.Contains(n.Value.F, 0)
	}
	return false
}

// literal returns the node of a value that is a literal, or nil.
func (l *lowerer) literal(v graph.Value) *graph.Node {
	if n := l.b.Node(v); n != nil && n.Op == graph.Literal {
		return n
	}
	return nil
}
