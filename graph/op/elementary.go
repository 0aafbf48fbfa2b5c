package op

import (
	"math"

	"github.com/lensir/lensir-study/graph"
)

// Elementary functions of entries, each with a rule that is sound in both tails.
var (
	// Exp is eˣ.
	Exp = new(graph.Op)
	// Expm1 is eˣ − 1, accurate near 0.
	Expm1 = new(graph.Op)
	// Log is the natural logarithm of x > 0.
	Log = new(graph.Op)
	// Log1p is log(1 + x), accurate near 0, for x > −1.
	Log1p = new(graph.Op)
	// Sqrt is the square root of x ≥ 0, with no derivative at 0.
	Sqrt = new(graph.Op)
	// Sin is sin x.
	Sin = new(graph.Op)
	// Cos is cos x.
	Cos = new(graph.Op)
	// Tan is tan x; no float64 is a pole of it.
	Tan = new(graph.Op)
	// Asin is the arcsine of |x| ≤ 1, with no derivative at ±1.
	Asin = new(graph.Op)
	// Acos is the arccosine of |x| ≤ 1, with no derivative at ±1.
	Acos = new(graph.Op)
	// Atan is arctan x.
	Atan = new(graph.Op)
	// Atan2 is the angle of the point (x, y) ≠ 0, operands y and x, in (−π, π]; cut along y = 0, x < 0.
	Atan2 = new(graph.Op)
	// Sinh is sinh x.
	Sinh = new(graph.Op)
	// Cosh is cosh x.
	Cosh = new(graph.Op)
	// Tanh is tanh x.
	Tanh = new(graph.Op)
	// Sech2 is 1/cosh² x = 1 − tanh² x without cancellation: the derivative of tanh.
	Sech2 = new(graph.Op)
	// Logistic is 1/(1 + e⁻ˣ).
	Logistic = new(graph.Op)
	// Softplus is log(1 + eˣ).
	Softplus = new(graph.Op)
	// Erf is the error function.
	Erf = new(graph.Op)
	// Gaussian is e^(−x²): the derivative of erf, up to 2/√π.
	Gaussian = new(graph.Op)
	// Hypot is √(x² + y²) without overflow, with no derivative at (0, 0).
	Hypot = new(graph.Op)
)

func init() {
	everywhere := func(o *graph.Op, name string, total bool, f func(float64) float64, jvp func(*site, []value) value) {
		define(o, graph.Op{Name: name, Arity: 1, Infer: graph.ElementwiseInfer, Domain: "everywhere", Safe: []float64{0},
			Total: total, Unary: f, JVP: jvp})
	}
	everywhere(Exp, "exp", false, exp, scaled(func(s *site) value { return s.Y }))
	everywhere(Expm1, "expm1", false, expm1, scaled(func(s *site) value { return call(s, Exp, s.X[0]) }))
	everywhere(Sin, "sin", true, sin, scaled(func(s *site) value { return call(s, Cos, s.X[0]) }))
	everywhere(Cos, "cos", true, cos, scaled(func(s *site) value { return neg(s, call(s, Sin, s.X[0])) }))
	everywhere(Tan, "tan", true, tan, scaled(func(s *site) value {
		return add(s, full(s, 1), mul(s, s.Y, s.Y))
	}))
	everywhere(Atan, "atan", true, atan, func(s *site, dx []value) value {
		h := call(s, Hypot, full(s, 1), s.X[0]) // 1 + x² = h² without overflow
		return div(s, div(s, dx[0], h), h)
	})
	everywhere(Sinh, "sinh", false, sinh, scaled(func(s *site) value { return call(s, Cosh, s.X[0]) }))
	everywhere(Cosh, "cosh", false, cosh, scaled(func(s *site) value { return call(s, Sinh, s.X[0]) }))
	everywhere(Tanh, "tanh", true, tanh, scaled(func(s *site) value { return call(s, Sech2, s.X[0]) }))
	everywhere(Sech2, "sech2", true, sech2, scaled(func(s *site) value {
		return mul(s, full(s, -2), mul(s, call(s, Tanh, s.X[0]), s.Y))
	}))
	everywhere(Logistic, "logistic", true, logistic, scaled(func(s *site) value {
		return mul(s, s.Y, call(s, Logistic, neg(s, s.X[0])))
	}))
	everywhere(Softplus, "softplus", true, softplus, scaled(func(s *site) value { return call(s, Logistic, s.X[0]) }))
	everywhere(Erf, "erf", true, erf, scaled(func(s *site) value {
		return mul(s, full(s, 2/math.Sqrt(math.Pi)), call(s, Gaussian, s.X[0]))
	}))
	everywhere(Gaussian, "gaussian", true, gaussian, scaled(func(s *site) value {
		return mul(s, mul(s, full(s, -2), s.X[0]), s.Y)
	}))
	defineLogarithms()
	defineArcs()
}

func defineLogarithms() {
	define(Log, graph.Op{Name: "log", Arity: 1, Infer: graph.ElementwiseInfer, Domain: "x > 0", Safe: []float64{1},
		Unary: log,
		Check: func(_ graph.Attrs, _ []int, x []float64) *graph.Fault {
			if x[0] <= 0 {
				return graph.Outside("log of %v: the operand must be positive", x[0])
			}
			return nil
		},
		JVP: func(s *site, dx []value) value { return div(s, dx[0], s.X[0]) },
	})
	define(Log1p, graph.Op{Name: "log1p", Arity: 1, Infer: graph.ElementwiseInfer, Domain: "x > −1", Safe: []float64{0},
		Unary: log1p,
		Check: func(_ graph.Attrs, _ []int, x []float64) *graph.Fault {
			if x[0] <= -1 {
				return graph.Outside("log1p of %v: the operand must be above -1", x[0])
			}
			return nil
		},
		JVP: func(s *site, dx []value) value { return div(s, dx[0], add(s, full(s, 1), s.X[0])) },
	})
	define(Sqrt, graph.Op{Name: "sqrt", Arity: 1, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{1},
		Domain: "x ≥ 0; value 0 and no derivative at 0",
		Unary:  math.Sqrt,
		Check: func(_ graph.Attrs, order []int, x []float64) *graph.Fault {
			switch {
			case x[0] < 0:
				return graph.Outside("sqrt of %v: the operand must not be negative", x[0])
			case x[0] == 0 && order[0] > 0:
				return graph.Kink("sqrt has no derivative at 0")
			}
			return nil
		},
		JVP: scaled(func(s *site) value { return div(s, full(s, 0.5), s.Y) }),
	})
}

func defineArcs() {
	arc := func(o *graph.Op, name string, f func(float64) float64, jvp func(s *site, d value) value) {
		define(o, graph.Op{Name: name, Arity: 1, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{0},
			Domain: "|x| ≤ 1; no derivative at ±1",
			Unary:  f,
			Check: func(_ graph.Attrs, order []int, x []float64) *graph.Fault {
				switch a := math.Abs(x[0]); {
				case a > 1:
					return graph.Outside("%s of %v: the operand must lie in [-1, 1]", name, x[0])
				case a == 1 && order[0] > 0:
					return graph.Kink("%s has no derivative at %v", name, x[0])
				}
				return nil
			},
			JVP: func(s *site, dx []value) value {
				one := full(s, 1)
				cosine := call(s, Sqrt, mul(s, sub(s, one, s.X[0]), add(s, one, s.X[0])))
				return jvp(s, div(s, dx[0], cosine))
			},
		})
	}
	arc(Asin, "asin", asin, func(_ *site, d value) value { return d })
	arc(Acos, "acos", acos, func(s *site, d value) value { return neg(s, d) })
	define(Atan2, graph.Op{Name: "atan2", Arity: 2, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{0, 1},
		Domain: "(y, x) ≠ (0, 0); value π and no derivative on the cut y = 0, x < 0",
		Binary: func(y, x float64) float64 { return atan2(y+0, x) }, // −0 + 0 is +0: one value on the cut
		Check: func(_ graph.Attrs, order []int, v []float64) *graph.Fault {
			switch {
			case v[0] == 0 && v[1] == 0:
				return graph.Outside("atan2 of (0, 0): the origin has no angle")
			case v[0] == 0 && v[1] < 0 && order[0]+order[1] > 0:
				return graph.Kink("atan2 has no derivative on its cut (y = 0, x = %v)", v[1])
			}
			return nil
		},
		JVP: func(s *site, dx []value) value {
			y, x := s.X[0], s.X[1]
			h := call(s, Hypot, x, y)
			left, right := none, none
			if dx[0] != none {
				left = mul(s, dx[0], div(s, div(s, x, h), h))
			}
			if dx[1] != none {
				right = mul(s, dx[1], neg(s, div(s, div(s, y, h), h)))
			}
			return s.Accumulate(left, right)
		},
	})
	define(Hypot, graph.Op{Name: "hypot", Arity: 2, Infer: graph.ElementwiseInfer, Kinks: true, Safe: []float64{1, 0},
		Domain: "everywhere; value 0 and no derivative at (0, 0)",
		Binary: hypot,
		Check:  checkAt(func(x []float64) bool { return x[0] == 0 && x[1] == 0 }, "hypot has no derivative at (%v, %v)"),
		JVP: func(s *site, dx []value) value {
			left, right := none, none
			if dx[0] != none {
				left = mul(s, dx[0], div(s, s.X[0], s.Y))
			}
			if dx[1] != none {
				right = mul(s, dx[1], div(s, s.X[1], s.Y))
			}
			return s.Accumulate(left, right)
		},
	})
}
