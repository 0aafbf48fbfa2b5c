package op

import (
	"fmt"
	"math"

	"github.com/lensir/lensir-study/graph"
)

// Powers, by a real and by a whole exponent.
var (
	// Pow is x^y for real exponents: x > 0; x < 0 for whole y; 0^y for y ≥ 0.
	Pow = new(graph.Op)
	// PowSlope is the k-th derivative of x^y with respect to x, y(y−1)…(y−k+1)·x^(y−k), the attribute k.
	PowSlope = new(graph.Op)
	// PowInt is xⁿ for a whole number n, the attribute n, |n| ≤ MaxPower; for n < 0 it wants x ≠ 0.
	PowInt = new(graph.Op)
)

// MaxPower bounds the whole exponents of PowInt, so that their products with floats are exact.
const MaxPower = 1 << 53

// maxSlope bounds the order of PowSlope, whose work grows with it.
const maxSlope = 1 << 10

func init() {
	define(Pow, graph.Op{Name: "pow", Arity: 2, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{1, 1},
		Domain: "x > 0; x < 0 for whole y; 0^y for y ≥ 0. In x smooth except at x = 0 for y that is not whole; in y smooth for x > 0 only",
		Binary: pow,
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
	exponent, low := twoSum(y, -float64(k))
	return float64(factor * powSum(x, exponent, low))
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

// maxFactors bounds the exponents for which PowInteger multiplies.
const maxFactors = 64

// PowInteger is xⁿ, |n| ≤ MaxPower. For a small exponent it squares repeatedly and carries what each product rounds off; where that is
// out of its range, and for large exponents, it is pow.
func PowInteger(x float64, n int) float64 {
	switch n {
	case 0:
		return 1
	case 1:
		return x
	case 2:
		return float64(x * x)
	case -1:
		return 1 / x
	}
	if -maxFactors <= n && n <= maxFactors {
		h, l, s, t := 1.0, 0.0, x, 0.0
		for m := max(n, -n); ; m >>= 1 {
			if m&1 == 1 {
				h, l = multiplyParts(h, l, s, t)
			}
			if m == 1 {
				break
			}
			s, t = multiplyParts(s, t, s, t)
		}
		if a := math.Abs(h); 0x1p-900 < a && a < 0x1p900 {
			if n < 0 {
				h, l = quotient(1, 0, h, l)
			}
			return h + l
		}
	}
	return pow(x, float64(n))
}
