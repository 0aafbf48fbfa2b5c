package op_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lensir/lensir-study/graph/op"
)

// BenchmarkKernels measures each kernel, and its time as a multiple of that of package math in the same run: the two take
// turns, and the least of the times counts.
func BenchmarkKernels(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1000
	x, y := make([]float64, n), make([]float64, n)
	var sum float64
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, c := range []struct {
		name      string
		low, high float64
		ours      any
		theirs    any
	}{
		{"exp", -10, 10, op.Exp.Unary, math.Exp}, {"expm1", -3, 3, op.Expm1.Unary, math.Expm1},
		{"log", 0.01, 10, op.Log.Unary, math.Log}, {"log1p", -0.9, 3, op.Log1p.Unary, math.Log1p},
		{"sin", -10, 10, op.Sin.Unary, math.Sin}, {"cos", -10, 10, op.Cos.Unary, math.Cos}, {"tan", -10, 10, op.Tan.Unary, math.Tan},
		{"sin-large", 1e12, 1e15, op.Sin.Unary, math.Sin},
		{"asin", -1, 1, op.Asin.Unary, math.Asin}, {"acos", -1, 1, op.Acos.Unary, math.Acos}, {"atan", -5, 5, op.Atan.Unary, math.Atan},
		{"atan2", -5, 5, op.Atan2.Binary, math.Atan2}, {"hypot", -5, 5, op.Hypot.Binary, math.Hypot},
		{"sinh", -5, 5, op.Sinh.Unary, math.Sinh}, {"cosh", -5, 5, op.Cosh.Unary, math.Cosh}, {"tanh", -3, 3, op.Tanh.Unary, math.Tanh},
		{"logistic", -10, 10, op.Logistic.Unary, logistic},
		{"softplus", -10, 10, op.Softplus.Unary, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }},
		{"erf", -3, 3, op.Erf.Unary, math.Erf}, {"gaussian", -3, 3, op.Gaussian.Unary, func(x float64) float64 { return math.Exp(-x * x) }},
		{"pow", 0.1, 10, op.Pow.Binary, math.Pow},
		{"powi-2", 0.1, 10, func(x float64) float64 { return op.PowInteger(x, 2) }, func(x float64) float64 { return math.Pow(x, 2) }},
		{"powi-7", 0.1, 10, func(x float64) float64 { return op.PowInteger(x, 7) }, func(x float64) float64 { return math.Pow(x, 7) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := range x {
				x[i], y[i] = c.low+(c.high-c.low)*r.Float64(), c.low+(c.high-c.low)*r.Float64()
			}
			pass := func(f any) time.Duration {
				start := time.Now()
				switch f := f.(type) {
				case func(float64) float64:
					for _, v := range x {
						sum += f(v)
					}
				case func(float64, float64) float64:
					for i, v := range x {
						sum += f(v, y[i])
					}
				}
				return time.Since(start)
			}
			ours, theirs := time.Hour, time.Hour
			for b.Loop() {
				ours, theirs = min(ours, pass(c.ours)), min(theirs, pass(c.theirs))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(ours)/n, "ns/entry")
			b.ReportMetric(float64(ours)/float64(theirs), "×math")
		})
	}
}
