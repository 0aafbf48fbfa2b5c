package op

import "math"

// logParts is log(2ᵏz(1 + …)) = h + l to about 68 bits, for the number u + low with |low| ≤ ulp(u)/2, u normal; k is added to the
// exponent. With 1/c from a table, u = 2ᵏz and r = z/c − 1, |r| ≤ 2⁻⁷, it is k·log 2 + log c + log(1 + r).
func logParts(u, low float64, k int) (h, l float64) {
	const first = 0x3fe6a00000000000 // 181/256, which begins the first interval
	bits := math.Float64bits(u) - first
	shift := int64(bits) >> 52
	t := &logTable[bits>>45&127]
	z := math.Float64frombits(bits&(1<<52-1) + first)
	if low != 0 {
		low *= math.Float64frombits(uint64(1023-shift) << 52)
	}
	p, e := product(z, t.inverse)
	r, e := fastSum(p-1, e+float64(low*t.inverse))
	n := float64(k + int(shift))
	a, f := fastSum(float64(n*logLn2High)+t.high, r)
	f += float64(n*logLn2Low) + t.low
	half := -0.5 * r
	square, g := product(half, r)
	h, i := fastSum(a, square)
	r2 := float64(r * r)
	q := float64(r2*(float64(r2*(logP4+float64(r*logP5)+float64(r2*logP6)))+(logP2+float64(r*logP3)))) + (logP0 + float64(r*logP1))
	return fastSum(h, i+(f+(g+(e-float64(e*r)+float64(float64(r*r2)*q)))))
}

func log(x float64) float64 {
	k := 0
	switch {
	case !(x > 0):
		return math.Log(x)
	case x > math.MaxFloat64:
		return x
	case x < 0x1p-1022:
		x, k = x*0x1p54, -54
	}
	h, _ := logParts(x, 0, k)
	return h
}

// log1p carries the rounding error of 1 + x along.
func log1p(x float64) float64 {
	switch {
	case math.Abs(x) < 0x1p-54:
		return x
	case !(x > -1) || x > math.MaxFloat64:
		return math.Log1p(x)
	}
	u := 1 + x
	low := 0.0
	if x < 1 {
		low = x - (u - 1)
	} else if x < 0x1p60 {
		low = 1 - (u - x)
	}
	h, _ := logParts(u, low, 0)
	return h
}

// softplus is max(x, 0) + log(1 + e) with e = e^(−|x|).
func softplus(x float64) float64 {
	if x > 40 {
		return x
	}
	k, h, l := expParts(max(-math.Abs(x), expLow), 0)
	p := powerOfTwo(max(k, -1000) + expRound)
	if x < -36 { // e − e²/2
		return scale(h+(l-float64(0.5*float64(h*float64(h*p)))), k)
	}
	u, low := fastSum(1, float64(h*p))
	u, low = fastSum(u, low+float64(l*p))
	h, l = logParts(u, low, 0)
	s, e := twoSum(max(x, 0), h)
	return s + (e + l)
}

// pow is x^y. The cases of zeros, infinities and NaN are those of math.Pow.
func pow(x, y float64) float64 { return powSum(x, y, 0) }

// powSum is x^(y + low) = e^((y + low)·log x), the exponent to about 67 bits; low is 0 if x < 0.
func powSum(x, y, low float64) float64 {
	a, k, negative := math.Abs(x), 0, false
	switch {
	case !(a > 0 && a <= math.MaxFloat64 && y != 0 && math.Abs(y) <= math.MaxFloat64):
		return math.Pow(x, y)
	case x < 0:
		if y != math.Trunc(y) {
			return math.NaN()
		}
		negative = math.Abs(y) < 0x1p53 && int64(y)&1 == 1
	}
	if a < 0x1p-1022 {
		a, k = a*0x1p54, -54
	}
	h, l := logParts(a, 0, k)
	exponent := float64(y * h)
	result := 0.0
	switch {
	case exponent > expHigh:
		result = math.Inf(1)
	case exponent >= expLow:
		e := math.FMA(y, h, -exponent) + (float64(y*l) + float64(low*h))
		var p float64
		p, result, _ = expParts(exponent, e)
		result = scale(result, p)
	}
	if negative {
		return -result
	}
	return result
}
