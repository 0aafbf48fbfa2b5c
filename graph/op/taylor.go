package op

import (
	"math"

	"github.com/lensir/lensir-study/graph"
)

// Rules of truncated Taylor arithmetic: recurrences in O(n²) from y₀ and the operands' coefficients.
//
// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 13; each recurrence follows from
// the differential equation beside it.
func init() {
	series(Exp, func(y []float64, x ...[]float64) { // y′ = y·x′
		for k := 1; k < len(y); k++ {
			step(y, x[0], k, 1, y)
		}
	})
	series(Log, func(y []float64, x ...[]float64) { logarithm(y, x[0]) })
	series(Sqrt, func(y []float64, x ...[]float64) { // y² = x
		for k := 1; k < len(y); k++ {
			sum := x[0][k]
			for j := 1; j < k; j++ {
				sum -= float64(y[j] * y[k-j])
			}
			y[k] = sum / (2 * y[0])
		}
	})
	pair(Sin, cos, 1, -1)                             // s′ = c·x′, c′ = −s·x′
	pair(Cos, sin, -1, 1)                             // c′ = −s·x′, s′ = c·x′
	pair(Sinh, cosh, 1, 1)                            // s′ = c·x′, c′ = s·x′
	pair(Cosh, sinh, 1, 1)                            // c′ = s·x′, s′ = c·x′
	series(Sech2, func(y []float64, x ...[]float64) { // q′ = −2·t·q·x′, t′ = q·x′
		t := make([]float64, len(y))
		t[0] = tanh(x[0][0])
		product := make([]float64, len(y)) // t·q
		for k := 1; k < len(y); k++ {
			product[k-1] = convolve(t, y, k-1)
			step(t, x[0], k, 1, y)
			step(y, x[0], k, -2, product)
		}
	})
	series(Tanh, func(y []float64, x ...[]float64) { // y′ = (1 − y²)·x′, with 1 − y² = sech² at first
		slope := make([]float64, len(y))
		slope[0] = sech2(x[0][0])
		for k := 1; k < len(y); k++ {
			step(y, x[0], k, 1, slope)
			slope[k] = -convolve(y, y, k)
		}
	})
	series(Logistic, func(y []float64, x ...[]float64) { // y′ = y·(1 − y)·x′
		slope := make([]float64, len(y))
		slope[0] = y[0] * logistic(-x[0][0])
		for k := 1; k < len(y); k++ {
			step(y, x[0], k, 1, slope)
			slope[k] = y[k] - convolve(y, y, k)
		}
	})
	series(Mul, func(y []float64, x ...[]float64) {
		for k := 1; k < len(y); k++ {
			y[k] = convolve(x[0], x[1], k)
		}
	})
	series(Div, func(y []float64, x ...[]float64) { divide(y, x[0], x[1]) })
	series(Pow, powSeries)
	PowInt.Taylor = func(at graph.Attrs, y []*graph.Tensor, x [][]*graph.Tensor) {
		elementwise(func(y []float64, x ...[]float64) { copy(y[1:], integerPower(x[0], at.Int("n"))[1:]) })(at, y, x)
	}
	Select.Taylor = func(at graph.Attrs, y []*graph.Tensor, x [][]*graph.Tensor) {
		for k := 1; k < len(y); k++ {
			evalSelect(at, y[k], []*graph.Tensor{x[0][0], x[1][k], x[2][k]})
		}
	}
	MatMul.Taylor = func(at graph.Attrs, y []*graph.Tensor, x [][]*graph.Tensor) {
		for k := 1; k < len(y); k++ {
			term := graph.NewTensor(y[k].Type)
			for j := 0; j <= k; j++ {
				clear(term.F)
				evalMatMul(at, term, []*graph.Tensor{x[0][j], x[1][k-j]})
				for i, t := range term.F {
					y[k].F[i] += t
				}
			}
		}
	}
}

// series gives an elementwise operation the rule of one entry: y[0] is known, y[1:] is written.
func series(o *graph.Op, rule func(y []float64, x ...[]float64)) { o.Taylor = elementwise(rule) }

func elementwise(rule func(y []float64, x ...[]float64)) func(graph.Attrs, []*graph.Tensor, [][]*graph.Tensor) {
	return func(_ graph.Attrs, y []*graph.Tensor, x [][]*graph.Tensor) {
		entry := make([]float64, len(y))
		operands := make([][]float64, len(x))
		for i := range operands {
			operands[i] = make([]float64, len(y))
		}
		for e := range y[0].F {
			entry[0] = y[0].F[e]
			for i := range x {
				for k := range operands[i] {
					operands[i][k] = x[i][k].F[e]
				}
			}
			rule(entry, operands...)
			for k := 1; k < len(y); k++ {
				y[k].F[e] = entry[k]
			}
		}
	}
}

// convolve is coefficient k of a·b.
func convolve(a, b []float64, k int) float64 {
	sum := 0.0
	for j := 0; j <= k; j++ {
		sum += float64(a[j] * b[k-j])
	}
	return sum
}

// step writes coefficient k of y where y′ = scale·slope·x′.
func step(y, x []float64, k int, scale float64, slope []float64) {
	sum := 0.0
	for j := 1; j <= k; j++ {
		sum += float64(float64(j) * x[j] * slope[k-j])
	}
	y[k] = scale * sum / float64(k)
}

// pair gives an operation y with y′ = ys·c·x′ its rule, where c, the companion, has c′ = cs·y·x′.
func pair(o *graph.Op, companion func(float64) float64, ys, cs float64) {
	series(o, func(y []float64, x ...[]float64) {
		c := make([]float64, len(y))
		c[0] = companion(x[0][0])
		for k := 1; k < len(y); k++ {
			step(y, x[0], k, ys, c)
			step(c, x[0], k, cs, y)
		}
	})
}

func logarithm(y, x []float64) { // x·y′ = x′
	for k := 1; k < len(y); k++ {
		sum := float64(k) * x[k]
		for j := 1; j < k; j++ {
			sum -= float64(float64(j) * y[j] * x[k-j])
		}
		y[k] = sum / (float64(k) * x[0])
	}
}

func divide(y, x, d []float64) { // y·d = x
	for k := 1; k < len(y); k++ {
		sum := x[k]
		for j := 1; j <= k; j++ {
			sum -= float64(d[j] * y[k-j])
		}
		y[k] = sum / d[0]
	}
}

// integerPower is xⁿ by repeated squaring of series; x^−n is 1/xⁿ.
func integerPower(x []float64, n int) []float64 {
	y := make([]float64, len(x))
	y[0] = 1
	if n < 0 {
		d := integerPower(x, -n)
		y[0] = 1 / d[0]
		divide(y, append([]float64{1}, make([]float64, len(x)-1)...), d)
		return y
	}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y = multiply(y, x)
		}
		if n > 1 {
			x = multiply(x, x)
		}
	}
	return y
}

func multiply(a, b []float64) []float64 {
	y := make([]float64, len(a))
	for k := range y {
		y[k] = convolve(a, b, k)
	}
	return y
}

// powSeries is x^c. For an exponent that stays constant x·y′ = c·y·x′, but x^c is a polynomial for a whole c below the
// number of coefficients: beyond t^c its terms cancel in the recurrence, which near x = 0 divides what is left by x again and again.
// Such a power is a product of series, as is every power of x = 0. An exponent that varies wants x > 0, and then x^c = e^(c·log x).
func powSeries(y []float64, x ...[]float64) {
	base, c := x[0], x[1][0]
	constant := true
	for _, v := range x[1][1:] {
		constant = constant && v == 0
	}
	switch {
	case constant && c == math.Trunc(c) && c >= 0 && (base[0] == 0 || c < float64(len(y))):
		// At x = 0, x^c starts with t^c: from order + 1 on, all powers are 0 to this order.
		copy(y[1:], integerPower(base, int(min(c, float64(len(y)))))[1:])
	case constant:
		for k := 1; k < len(y); k++ {
			sum := 0.0
			for j := 1; j <= k; j++ {
				sum += float64((float64(c*float64(j)) - float64(k-j)) * base[j] * y[k-j])
			}
			y[k] = sum / (float64(k) * base[0])
		}
	default:
		logs := make([]float64, len(y))
		logs[0] = log(base[0])
		logarithm(logs, base)
		exponent := multiply(x[1], logs)
		for k := 1; k < len(y); k++ {
			step(y, exponent, k, 1, y)
		}
	}
}
