package op

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
)

// Comparisons, logic and the choice between two arms.
var (
	// Less is x < y.
	Less = new(graph.Op)
	// LessEqual is x ≤ y.
	LessEqual = new(graph.Op)
	// Equal is x = y.
	Equal = new(graph.Op)
	// And is the conjunction of booleans.
	And = new(graph.Op)
	// Or is the disjunction of booleans.
	Or = new(graph.Op)
	// Not is the negation of a boolean.
	Not = new(graph.Op)
	// Select is its second operand where its first, a boolean of the same shape or a scalar, holds, and its third elsewhere.
	Select = new(graph.Op)
)

func init() {
	comparison(Less, "less", func(x, y float64) bool { return x < y }, func(x, y int64) bool { return x < y })
	comparison(LessEqual, "less_equal", func(x, y float64) bool { return x <= y }, func(x, y int64) bool { return x <= y })
	comparison(Equal, "equal", func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y })
	logical(And, "and", 2, func(x []bool) bool { return x[0] && x[1] })
	logical(Or, "or", 2, func(x []bool) bool { return x[0] || x[1] })
	logical(Not, "not", 1, func(x []bool) bool { return !x[0] })
	define(Select, graph.Op{Name: "select", Arity: 3, Infer: selectInfer, Total: true, Exact: true,
		Domain: "everywhere; the comparison that decides states the boundary",
		Eval:   evalSelect,
		LinearIn: func(marked []bool) bool {
			return !marked[0] && marked[1] && marked[2]
		},
		JVP: func(s *site, dx []value) value { return choose(s, s.X[0], dx[1], dx[2]) },
		Transpose: func(s *site, linear []bool, ct value) []value {
			zero := s.Zeros(s.Node.Type)
			out := []value{none, none, none}
			if linear[1] {
				out[1] = call(s, Select, s.X[0], ct, zero)
			}
			if linear[2] {
				out[2] = call(s, Select, s.X[0], zero, ct)
			}
			return out
		},
	})
}

func comparison(o *graph.Op, name string, floats func(x, y float64) bool, ints func(x, y int64) bool) {
	define(o, graph.Op{Name: name, Arity: 2, Kinks: true, Safe: []float64{0, 1},
		Domain: "everywhere; a branch boundary where the operands are equal and depend on what is differentiated",
		Infer: func(at graph.Attrs, in []graph.Type) (graph.Type, error) {
			t, err := graph.SameInfer(at, in)
			return graph.Type{DType: graph.Bool, Shape: t.Shape}, err
		},
		Branch: branchAtEqual,
		Check:  checkAt(atEqual, name+" is on its branch boundary: its operands are equal (%v and %v)"),
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			for i := range out.I {
				if in[0].DType.IsFloat() {
					out.I[i] = bit(floats(in[0].F[i], in[1].F[i]))
				} else {
					out.I[i] = bit(ints(in[0].I[i], in[1].I[i]))
				}
			}
			return nil
		},
		JVP: constant,
	})
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func logical(o *graph.Op, name string, arity int, f func(x []bool) bool) {
	define(o, graph.Op{Name: name, Arity: arity, Total: true, Domain: "everywhere",
		Infer: func(at graph.Attrs, in []graph.Type) (graph.Type, error) {
			for _, t := range in {
				if t.DType != graph.Bool {
					return graph.Type{}, fmt.Errorf("wants booleans, has %v", t)
				}
			}
			return graph.SameInfer(at, in)
		},
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			x := make([]bool, arity)
			for i := range out.I {
				for k := range x {
					x[k] = in[k].I[i] != 0
				}
				out.I[i] = bit(f(x))
			}
			return nil
		},
		JVP: constant,
	})
}

func selectInfer(_ graph.Attrs, in []graph.Type) (graph.Type, error) {
	c, a, b := in[0], in[1], in[2]
	if c.DType != graph.Bool || len(c.Shape) > 0 && !c.Shape.Equal(a.Shape) {
		return graph.Type{}, fmt.Errorf("wants a condition of type bool or bool%v, has %v", a.Shape, c)
	}
	if !a.Equal(b) {
		return graph.Type{}, fmt.Errorf("wants arms of one type, has %v and %v", a, b)
	}
	return a, nil
}

func evalSelect(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
	condition := in[0].I
	arm := func(i int) *graph.Tensor {
		if len(in[0].Shape) == 0 {
			i = 0
		}
		if condition[i] != 0 {
			return in[1]
		}
		return in[2]
	}
	for i := range out.F {
		out.F[i] = arm(i).F[i]
	}
	for i := range out.I {
		out.I[i] = arm(i).I[i]
	}
	return nil
}
