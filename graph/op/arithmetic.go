package op

import (
	"math"
	"math/bits"

	"github.com/lensir/lensir-study/graph"
)

// Arithmetic on entries of one type.
var (
	// Add is graph.Add: x + y.
	Add = graph.Add
	// Sub is x − y.
	Sub = new(graph.Op)
	// Mul is x·y.
	Mul = new(graph.Op)
	// Neg is −x.
	Neg = new(graph.Op)
	// Div is x/y, for y ≠ 0.
	Div = new(graph.Op)
)

func init() {
	define(Sub, graph.Op{Name: "sub", Arity: 2, Infer: graph.Add.Infer, Domain: "everywhere", Safe: []float64{0, 0},
		Binary: func(x, y float64) float64 { return x - y },
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			return integers(out, in, func(x, y int64) (int64, bool) {
				d := x - y
				return d, (d < x) == (y > 0) || y == 0
			})
		},
		LinearIn: graph.JointlyLinear,
		JVP: func(s *site, dx []value) value {
			switch {
			case dx[1] == none:
				return dx[0]
			case dx[0] == none:
				return neg(s, dx[1])
			}
			return sub(s, dx[0], dx[1])
		},
		Transpose: func(s *site, linear []bool, ct value) []value {
			if !linear[1] {
				return []value{ct, none}
			}
			return []value{ct, neg(s, ct)}
		},
	})
	define(Mul, graph.Op{Name: "mul", Arity: 2, Infer: graph.Add.Infer, Domain: "everywhere", Safe: []float64{0, 0},
		Binary: func(x, y float64) float64 { return x * y },
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			return integers(out, in, func(x, y int64) (int64, bool) {
				hi, lo := bits.Mul64(uint64(x), uint64(y))
				if x < 0 {
					hi -= uint64(y)
				}
				if y < 0 {
					hi -= uint64(x)
				}
				return int64(lo), hi == uint64(int64(lo)>>63)
			})
		},
		LinearIn: linearInOne,
		JVP:      bilinear,
		Transpose: func(s *site, linear []bool, ct value) []value {
			if linear[0] {
				return []value{mul(s, ct, s.X[1]), none}
			}
			return []value{none, mul(s, ct, s.X[0])}
		},
	})
	define(Neg, graph.Op{Name: "neg", Arity: 1, Infer: graph.Add.Infer, Domain: "everywhere", Safe: []float64{0}, Total: true, Exact: true,
		Unary: func(x float64) float64 { return -x },
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			return integers(out, []*graph.Tensor{in[0], in[0]}, func(x, _ int64) (int64, bool) { return -x, x != math.MinInt64 })
		},
		LinearIn:  graph.JointlyLinear,
		JVP:       again,
		Transpose: func(s *site, _ []bool, ct value) []value { return []value{neg(s, ct)} },
	})
	define(Div, graph.Op{Name: "div", Arity: 2, Infer: graph.ElementwiseInfer, Domain: "y ≠ 0", Safe: []float64{0, 1},
		Binary: func(x, y float64) float64 { return x / y },
		Check: func(_ graph.Attrs, _ []int, x []float64) *graph.Fault {
			if x[1] == 0 {
				return graph.Outside("division of %v by zero", x[0])
			}
			return nil
		},
		LinearIn: linearInFirst,
		JVP: func(s *site, dx []value) value {
			left, right := none, none
			if dx[0] != none {
				left = div(s, dx[0], s.X[1])
			}
			if dx[1] != none {
				right = mul(s, dx[1], neg(s, div(s, s.Y, s.X[1])))
			}
			return s.Accumulate(left, right)
		},
		Transpose: func(s *site, _ []bool, ct value) []value { return []value{div(s, ct, s.X[1]), none} },
	})
}

// integers applies an exact int64 operation entry by entry; a result beyond int64 is a fault.
func integers(out *graph.Tensor, in []*graph.Tensor, f func(x, y int64) (int64, bool)) *graph.Fault {
	for i := range out.I {
		z, ok := f(in[0].I[i], in[1].I[i])
		if !ok {
			return &graph.Fault{Status: graph.NonFinite, Offset: i, Reason: "the result is beyond int64"}
		}
		out.I[i] = z
	}
	return nil
}
