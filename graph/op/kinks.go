package op

import (
	"math"

	"github.com/lensir/lensir-study/graph"
)

// Operations with kinks: piecewise smooth, with no derivative on the boundaries between the pieces.
var (
	// Abs is |x|, with no derivative at 0.
	Abs = new(graph.Op)
	// Sign is −1, 0 or 1, with no derivative at 0.
	Sign = new(graph.Op)
	// Min is the smaller operand, with no derivative where they are equal.
	Min = new(graph.Op)
	// Max is the larger operand, with no derivative where they are equal.
	Max = new(graph.Op)
	// Clamp is x held between lo and hi, lo ≤ hi, with no derivative with respect to x and the limit that it equals.
	Clamp = new(graph.Op)
	// Round is the nearest whole number, ties to even, with no derivative at a tie and derivative 0 elsewhere.
	Round = new(graph.Op)
)

func init() {
	define(Abs, graph.Op{Name: "abs", Arity: 1, Infer: graph.ElementwiseInfer, Kinks: true, Exact: true, Safe: []float64{1},
		Domain: "everywhere; value 0 and no derivative at 0",
		Unary:  math.Abs,
		Check:  checkAt(atZero, "abs has no derivative at %v"),
		Branch: branchAtZero,
		JVP:    scaled(func(s *site) value { return call(s, Sign, s.X[0]) }),
	})
	define(Sign, graph.Op{Name: "sign", Arity: 1, Infer: graph.ElementwiseInfer, Kinks: true, Exact: true, Safe: []float64{1},
		Domain: "everywhere; value 0 and no derivative at 0",
		Unary: func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return 0
		},
		Check:  checkAt(atZero, "sign has no derivative at %v"),
		Branch: branchAtZero,
		JVP:    constant,
	})
	define(Min, graph.Op{Name: "min", Arity: 2, Infer: graph.ElementwiseInfer, Kinks: true, Exact: true, Safe: []float64{0, 1},
		Domain: "everywhere; no derivative where the operands are equal",
		Binary: math.Min,
		Check:  checkAt(atEqual, "min has no derivative where its operands are equal (%v and %v)"),
		Branch: branchAtEqual,
		JVP: func(s *site, dx []value) value {
			return choose(s, call(s, Less, s.X[1], s.X[0]), dx[1], dx[0])
		},
	})
	define(Max, graph.Op{Name: "max", Arity: 2, Infer: graph.ElementwiseInfer, Kinks: true, Exact: true, Safe: []float64{0, 1},
		Domain: "everywhere; no derivative where the operands are equal",
		Binary: math.Max,
		Check:  checkAt(atEqual, "max has no derivative where its operands are equal (%v and %v)"),
		Branch: branchAtEqual,
		JVP: func(s *site, dx []value) value {
			return choose(s, call(s, Less, s.X[0], s.X[1]), dx[1], dx[0])
		},
	})
	define(Clamp, graph.Op{Name: "clamp", Arity: 3, Infer: graph.ElementwiseInfer, Kinks: true, Exact: true, Safe: []float64{0, -1, 1},
		Domain: "lo ≤ hi; no derivative with respect to x and a limit where they are equal, nor with respect to limits that are equal",
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			for i, x := range in[0].F {
				out.F[i] = min(max(x, in[1].F[i]), in[2].F[i])
			}
			return nil
		},
		Check: func(_ graph.Attrs, order []int, x []float64) *graph.Fault {
			if x[1] > x[2] {
				return graph.Outside("clamp wants lo ≤ hi, has %v and %v", x[1], x[2])
			}
			if x[0] == x[1] && max(order[0], order[1]) > 0 || x[0] == x[2] && max(order[0], order[2]) > 0 {
				return graph.Kink("clamp has no derivative at its limit %v", x[0])
			}
			if x[1] == x[2] && max(order[1], order[2]) > 0 {
				return graph.Kink("clamp has no derivative with respect to limits that are equal (%v)", x[1])
			}
			return nil // the limit that x does not equal does not matter near the other one
		},
		Branch: func(x []float64) int {
			switch {
			case x[0] < x[1]:
				return 1
			case x[1] < x[0] && x[0] < x[2]:
				return 2
			case x[2] < x[0]:
				return 3
			}
			return 0
		},
		JVP: func(s *site, dx []value) value {
			below, above := call(s, Less, s.X[0], s.X[1]), call(s, Less, s.X[2], s.X[0])
			return choose(s, below, dx[1], choose(s, above, dx[2], dx[0]))
		},
	})
	define(Round, graph.Op{Name: "round", Arity: 1, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{0},
		Domain: "everywhere; no derivative halfway between two whole numbers",
		Unary:  math.RoundToEven,
		Check: checkAt(func(x []float64) bool { return math.Abs(x[0]-math.Trunc(x[0])) == 0.5 },
			"round has no derivative at the tie %v"),
		Branch: branchOfRound,
		JVP:    constant,
	})
}

// checkAt returns the check of an operation that is defined everywhere and has no derivative where at holds.
func checkAt(at func(x []float64) bool, format string) func(graph.Attrs, []int, []float64) *graph.Fault {
	return func(_ graph.Attrs, order []int, x []float64) *graph.Fault {
		if !at(x) {
			return nil
		}
		for _, k := range order {
			if k > 0 {
				args := make([]any, len(x))
				for i := range x {
					args[i] = x[i]
				}
				return graph.Kink(format, args...)
			}
		}
		return nil
	}
}

func atZero(x []float64) bool  { return x[0] == 0 }
func atEqual(x []float64) bool { return x[0] == x[1] }

// branchAtEqual numbers the regions x < y and x > y of two operands, branchAtZero x < 0 and x > 0 of one.
func branchAtEqual(x []float64) int {
	switch {
	case x[0] < x[1]:
		return 1
	case x[0] > x[1]:
		return 2
	}
	return 0
}

func branchAtZero(x []float64) int { return branchAtEqual([]float64{x[0], 0}) }

// branchOfRound numbers the intervals between two ties: 1 for (−½, ½), 2 for the next above, −1 for the next below.
func branchOfRound(x []float64) int {
	n := max(min(math.RoundToEven(x[0]), 1<<53), -1<<53) // above, every float64 is whole
	switch {
	case math.Abs(x[0]-math.Trunc(x[0])) == 0.5:
		return 0
	case n >= 0:
		return int(n) + 1
	}
	return int(n)
}

// choose emits the tangent of a branch: a where the condition holds, b elsewhere.
func choose(s *site, condition, a, b value) value {
	if a == none && b == none {
		return none
	}
	t := s.Node.Type
	return call(s, Select, condition, orZero(s, t, a), orZero(s, t, b))
}
