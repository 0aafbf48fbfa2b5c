package bounds

import (
	"math"
	"slices"
)

// scaled is the non-negative number (hi + lo)·2^exp with hi in [½, 1) or 0 and |lo| far below hi:
// products and powers of it neither overflow nor underflow, nor lose accuracy.
type scaled struct {
	hi, lo float64
	exp    int
}

func scaledOf(v float64) scaled {
	hi, exp := math.Frexp(v)
	return scaled{hi: hi, exp: exp}
}

func (a scaled) mul(b scaled) scaled {
	p := float64(a.hi * b.hi)
	e := math.FMA(a.hi, b.hi, -p) + (float64(a.hi*b.lo) + float64(a.lo*b.hi))
	s := p + e
	lo := e - (s - p)
	exp := a.exp + b.exp
	switch { // s is 0, or from ¼ to 1
	case s >= 1:
		s, lo, exp = s/2, lo/2, exp+1
	case s < 0.5 && s != 0:
		s, lo, exp = 2*s, 2*lo, exp-1
	}
	const far = 1 << 40 // beyond every float64; keeps sums of exponents within int
	return scaled{hi: s, lo: lo, exp: min(max(exp, -far), far)}
}

// float returns the nearest float64, +Inf if it is too large.
func (a scaled) float() float64 { return math.Ldexp(a.hi+a.lo, a.exp) }

// power returns q^k for k ≥ 0, with 0^0 = 1.
func power(q float64, k int) scaled {
	result, base := scaledOf(1), scaledOf(q)
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			result = result.mul(base)
		}
		base = base.mul(base)
	}
	return result
}

// geometric returns q^k times the factors, which are finite and not negative.
func geometric(q float64, k int, factors ...float64) float64 {
	if slices.Contains(factors, 0) { // often there is no error at the start, or no curvature
		return 0
	}
	return power(q, k).times(factors...)
}

// times returns the product of a and the factors.
func (a scaled) times(factors ...float64) float64 {
	for _, f := range factors {
		a = a.mul(scaledOf(f))
	}
	return a.float()
}
