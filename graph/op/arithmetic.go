package op

import (
	"fmt"
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
	// Pow is x^y for real exponents: x > 0; x < 0 for whole y; 0^y for y ≥ 0.
	Pow = new(graph.Op)
	// PowSlope is the k-th derivative of x^y with respect to x, y(y−1)…(y−k+1)·x^(y−k), the attribute k.
	PowSlope = new(graph.Op)
	// PowInt is xⁿ for a whole number n, the attribute n, |n| ≤ MaxPower; for n < 0 it wants x ≠ 0.
	PowInt = new(graph.Op)
	// Abs is |x|, with no derivative at 0.
	Abs = new(graph.Op)
	// Sign is −1, 0 or 1, with no derivative at 0.
	Sign = new(graph.Op)
	// Min is the smaller operand, with no derivative where they are equal.
	Min = new(graph.Op)
	// Max is the larger operand, with no derivative where they are equal.
	Max = new(graph.Op)
	// Clamp is x held between lo and hi, lo ≤ hi, with no derivative where x equals one of them.
	Clamp = new(graph.Op)
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
	definePowers()
	defineKinked()
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

func definePowers() {
	define(Pow, graph.Op{Name: "pow", Arity: 2, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{1, 1},
		Domain: "x > 0; x < 0 for whole y; 0^y for y ≥ 0. In x smooth except at x = 0 for y that is not whole; in y smooth for x > 0 only",
		Binary: math.Pow,
		Check:  checkPow,
		JVP: func(s *site, dx []value) value {
			left, right := none, none
			if dx[0] != none {
				left = mul(s, dx[0], powSlope(s, 1))
			}
			if dx[1] != none {
				right = mul(s, dx[1], mul(s, s.Y, call(s, Log, s.X[0])))
			}
			return s.Accumulate(left, right)
		},
	})
	define(PowSlope, graph.Op{Name: "pow_slope", Arity: 2, Kinks: true, Safe: []float64{1, 1},
		Domain: "that of pow, at one order more in x for each k",
		Attrs:  numbers("k"),
		Infer: func(at graph.Attrs, in []graph.Type) (graph.Type, error) {
			if k := at.Int("k"); k < 1 || k > maxSlope {
				return graph.Type{}, attrError("k", k, fmt.Sprintf("1 to %d", maxSlope))
			}
			return graph.ElementwiseInfer(at, in)
		},
		Check: func(at graph.Attrs, order []int, x []float64) *graph.Fault {
			return checkPow(nil, []int{order[0] + at.Int("k"), order[1]}, x)
		},
		Eval: func(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			for i, x := range in[0].F {
				out.F[i] = powerSlope(x, in[1].F[i], at.Int("k"))
			}
			return nil
		},
		JVP: func(s *site, dx []value) value {
			k := s.Node.Attrs.Int("k")
			left, right := none, none
			if dx[0] != none {
				left = mul(s, dx[0], powSlope(s, k+1))
			}
			if dx[1] != none {
				right = mul(s, dx[1], powSlopeInExponent(s, k))
			}
			return s.Accumulate(left, right)
		},
	})
	define(PowInt, graph.Op{Name: "powi", Arity: 1, Safe: []float64{1},
		Domain: "everywhere for n ≥ 0; x ≠ 0 for n < 0",
		Attrs:  numbers("n"),
		Infer: func(at graph.Attrs, in []graph.Type) (graph.Type, error) {
			if n := at.Int("n"); n < -MaxPower || n > MaxPower {
				return graph.Type{}, attrError("n", n, fmt.Sprintf("a power within ±%d", MaxPower))
			}
			return graph.ElementwiseInfer(at, in)
		},
		Eval: func(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			n := at.Int("n")
			for i, x := range in[0].F {
				out.F[i] = PowInteger(x, n)
			}
			return nil
		},
		Check: func(at graph.Attrs, _ []int, x []float64) *graph.Fault {
			if n := at.Int("n"); n < 0 && x[0] == 0 {
				return graph.Outside("0 to the power %d", n)
			}
			return nil
		},
		JVP: func(s *site, dx []value) value {
			switch n := s.Node.Attrs.Int("n"); n {
			case 0:
				return none
			case 1:
				return dx[0]
			case 2:
				return mul(s, dx[0], mul(s, full(s, 2), s.X[0]))
			case -MaxPower: // n−1 is out of range; x ≠ 0
				return mul(s, dx[0], mul(s, full(s, -MaxPower), div(s, s.Y, s.X[0])))
			default:
				return mul(s, dx[0], mul(s, full(s, float64(n)), PowN(s.Builder, s.X[0], n-1)))
			}
		},
	})
}

// PowN emits xⁿ.
func PowN(b *graph.Builder, x graph.Value, n int) graph.Value {
	return b.Emit(PowInt, graph.Attrs{{Name: "n", Ints: []int{n}}}, x)
}

// checkPow states the domain of x^y by the cases of its exponent.
func checkPow(_ graph.Attrs, order []int, x []float64) *graph.Fault {
	base, y := x[0], x[1]
	whole := y == math.Trunc(y)
	switch {
	case base > 0:
		return nil
	case base < 0 && !whole:
		return graph.Outside("%v to the power %v: a negative base wants a whole exponent", base, y)
	case base == 0 && y < 0:
		return graph.Outside("0 to the power %v", y)
	case order[1] > 0:
		return graph.Kink("%v^%v has no derivative with respect to its exponent: that wants a positive base", base, y)
	case base == 0 && order[0] > 0 && !whole:
		return graph.Kink("0^%v lies on the boundary of the domain and has no derivative there", y)
	}
	return nil
}

// MaxPower bounds the whole exponents of PowInt, so that their products with floats are exact.
const MaxPower = 1 << 53

// maxSlope bounds the order of PowSlope, whose work grows with it.
const maxSlope = 1 << 10

func powSlope(s *site, k int) value {
	return s.Emit(PowSlope, graph.Attrs{{Name: "k", Ints: []int{k}}}, s.X[0], s.X[1])
}

// powerSlope is the k-th derivative of x^y with respect to x. Where the factor y(y−1)…(y−k+1) vanishes,
// so does the derivative, whatever the power is: 0^−1 does not arise from 0^0.
func powerSlope(x, y float64, k int) float64 {
	factor := 1.0
	for i := range k {
		factor = float64(factor * (y - float64(i)))
	}
	if factor == 0 {
		return 0
	}
	return float64(factor * math.Pow(x, y-float64(k)))
}

// powSlopeInExponent is the derivative of c(y)·x^(y−k), c(y) = y(y−1)…(y−k+1), with respect to y, for
// x > 0: c(y)·x^(y−k)·log x + c′(y)·x^(y−k).
func powSlopeInExponent(s *site, k int) value {
	x, y := s.X[0], s.X[1]
	factor, slope := y, full(s, 1)
	for i := 1; i < k; i++ {
		next := sub(s, y, full(s, float64(i)))
		factor, slope = mul(s, factor, next), add(s, mul(s, slope, next), factor)
	}
	power := call(s, Pow, x, sub(s, y, full(s, float64(k))))
	return add(s, mul(s, s.Y, call(s, Log, x)), mul(s, slope, power))
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

func defineKinked() {
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
		Domain: "lo ≤ hi; no derivative where x equals lo or hi, nor with respect to these where they are equal",
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
			if (x[0] == x[1] || x[0] == x[2]) && max(order[0], order[1], order[2]) > 0 {
				return graph.Kink("clamp has no derivative at its limit %v", x[0])
			}
			if x[1] == x[2] && max(order[1], order[2]) > 0 {
				return graph.Kink("clamp has no derivative with respect to limits that are equal (%v)", x[1])
			}
			return nil
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
}

// choose emits the tangent of a branch: a where the condition holds, b elsewhere.
func choose(s *site, condition, a, b value) value {
	if a == none && b == none {
		return none
	}
	t := s.Node.Type
	return call(s, Select, condition, orZero(s, t, a), orZero(s, t, b))
}

// PowInteger is xⁿ by repeated squaring, |n| ≤ MaxPower; x^−n is 1/xⁿ.
func PowInteger(x float64, n int) float64 {
	if n < 0 {
		return 1 / PowInteger(x, -n)
	}
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y = float64(y * x)
		}
		if n > 1 {
			x = float64(x * x)
		}
	}
	return y
}

// attrError reports an attribute that does not fit.
func attrError(name string, have any, want string) error {
	return fmt.Errorf("attribute %s is %v, want %s", name, have, want)
}
