package op

import "math"

// Leaf kernels of the elementary functions. Each is a fixed sequence of operations that are rounded once, products
// kept apart from sums by float64() and fused by math.FMA only: so the bits are the same on every machine, and the vector
// kernels of compiled programs can repeat them. Where one rounding would show, a value is carried as a sum of
// two numbers, of which the second is small ("high" and "low").
//
// Sources: Dekker, A floating-point technique for extending the available precision (1971); Muller, Elementary
// Functions (2016).

// fastSum is a + b = s + e exactly, for |a| ≥ |b| or a = 0.
func fastSum(a, b float64) (s, e float64) {
	s = a + b
	return s, b - (s - a)
}

// twoSum is a + b = s + e exactly.
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}

// product is a·b = p + e exactly, unless e underflows.
func product(a, b float64) (p, e float64) {
	p = float64(a * b)
	return p, math.FMA(a, b, -p)
}

// multiplyParts is (a + al)(b + bl) = h + l, l being right to first order.
func multiplyParts(a, al, b, bl float64) (h, l float64) {
	h, l = product(a, b)
	return h, l + (float64(a*bl) + float64(al*b))
}

// quotient is (a + al)/(b + bl) as a number and the rest that its rounding left.
func quotient(a, al, b, bl float64) (q, e float64) {
	inverse := 1 / b
	q = float64(a * inverse)
	return q, float64((math.FMA(-q, b, a) + (al - float64(q*bl))) * inverse)
}

// expRound is added to round to an integer, which then stands in the lowest bits.
const expRound = 0x1.8p52

const (
	expLow, expHigh = -746, 710 // beyond them eˣ is 0 or infinite
	expNormal       = 708       // for |x| < expNormal, e^x is a normal number
)

// expReduce is x + low = k·log 2 + r + e, |r| ≤ ½ log 2.
func expReduce(x, low float64) (k, r, e float64) {
	k = float64(x*expLog2e) + expRound - expRound
	hi, lo := x-float64(k*expLn2High), low-float64(k*expLn2Low)
	r = hi + lo
	return k, r, (hi - r) + lo
}

// expTail is eʳ − 1 − r for |r| ≤ ½ log 2, with z = r².
func expTail(r, z float64) float64 {
	z2 := float64(z * z)
	a := expP8 + float64(r*expP9)
	a = float64(z2*a) + (float64(z*(expP6+float64(r*expP7))) + (expP4 + float64(r*expP5)))
	a = float64(z2*a) + (float64(z*(expP2+float64(r*expP3))) + (expP0 + float64(r*expP1)))
	return float64(0.5*z) + float64(float64(r*z)*a)
}

// expParts is e^(x + low) = 2ᵏ(h + l) to about 57 bits, for x in the range of exp.
func expParts(x, low float64) (k, h, l float64) {
	k, r, e := expReduce(x, low)
	one, f := fastSum(1, r)
	h, l = fastSum(one, f+(expTail(r, float64(r*r))+float64(e*one)))
	return k, h, l
}

// scale is 2ᵏy, in two factors so that neither overflows nor rounds before the last product.
func scale(y, k float64) float64 {
	half := float64(k*0.5) + expRound
	rest := (k - (half - expRound)) + expRound
	return float64(y*powerOfTwo(half)) * powerOfTwo(rest)
}

// powerOfTwo is 2ᵏ for the whole number k in the lowest bits of k + expRound.
func powerOfTwo(shifted float64) float64 {
	return math.Float64frombits((math.Float64bits(shifted) + 1023) << 52)
}

func exp(x float64) float64 {
	if !(math.Abs(x) < expNormal) {
		k, y, _ := expParts(min(max(x, expLow), expHigh), 0)
		return scale(y, k)
	}
	k, r, e := expReduce(x, 0)
	one, f := fastSum(1, r)
	return float64((one + (f + (expTail(r, float64(r*r)) + float64(e*one)))) * powerOfTwo(k+expRound))
}

// expm1Parts is eˣ − 1 = (h + l)/p to about 55 bits, p = 2⁻ᵏ, for |x| ≤ 40: (1 − 2⁻ᵏ) + r + …. Beyond 36, where 1 − 2⁻ᵏ is
// rounded, it is right to 53 bits.
func expm1Parts(x float64) (k, p, h, l float64) {
	k, r, e := expReduce(x, 0)
	p = powerOfTwo(expRound - k)
	one, f := fastSum(1-p, r)
	h, l = fastSum(one, f+(expTail(r, float64(r*r))+float64(e*(1+r))))
	return k, p, h, l
}

func expm1(x float64) float64 {
	switch {
	case math.Abs(x) < 36:
		if x == 0 {
			return x
		}
		k, _, h, _ := expm1Parts(x)
		return float64(h * powerOfTwo(k+expRound))
	case x < 0:
		return exp(x) - 1
	case x < 60:
		k, h, l := expParts(x, 0)
		return float64((h + (l - powerOfTwo(expRound-k))) * powerOfTwo(k+expRound))
	}
	return exp(x)
}

// tanh is m/(m + 2) with m = e^(2|x|) − 1.
func tanh(x float64) float64 {
	z := min(math.Abs(x), 20)
	_, p, h, l := expm1Parts(z + z)
	d, f := twoSum(h, p+p)
	y, e := quotient(h, l, d, f+l)
	return math.Copysign(y+e, x)
}

// sech2 is 4e/(1 + e)² with e = e^(−2|x|).
func sech2(x float64) float64 {
	z := math.Abs(x)
	k, h, l := expParts(-2*min(z, 374), 0)
	if z > 50 {
		return scale(h, k+2)
	}
	p := powerOfTwo(k + expRound)
	d, f := fastSum(1, float64(h*p))
	f += float64(l * p)
	s, t := product(d, d)
	y, e := quotient(h, l, s, t+float64(2*float64(d*f)))
	return float64(4 * float64((y+e)*p))
}

// logistic is 1/(1 + e) for x ≥ 0 and e/(1 + e) below, with e = e^(−|x|).
func logistic(x float64) float64 {
	if !(math.Abs(x) < expNormal) {
		if x > 0 {
			return 1
		}
		return exp(x)
	}
	k, h, l := expParts(-math.Abs(x), 0)
	p := powerOfTwo(k + expRound)
	d, f := fastSum(1, float64(h*p))
	f += float64(l * p)
	if x >= 0 {
		h, l, p = 1, 0, 1
	}
	y, e := quotient(h, l, d, f)
	return float64((y + e) * p)
}

// hyperbolic is e^|x|/4 = a + b and e^(−|x|)/4 = c + d, for |x| ≤ 710.5.
func hyperbolic(x float64) (a, b, c, d float64) {
	k, h, l := expParts(math.Abs(x), 0)
	p := powerOfTwo(k - 2 + expRound)
	a, b = float64(h*p), float64(l*p)
	if k < 60 {
		p = powerOfTwo(expRound - (k + 2))
		inverse := 1 / h
		c = float64(inverse * p)
		d = float64(c * (math.FMA(-h, inverse, 1) - float64(l*inverse)))
	}
	return a, b, c, d
}

// sinh is x + x³P(x²) for |x| < 1.
func sinh(x float64) float64 {
	switch z := float64(x * x); {
	case z < 1:
		z2 := float64(z * z)
		p := float64(z2*(float64(z2*(sinhP4+float64(z*sinhP5)+float64(z2*sinhP6)))+(sinhP2+float64(z*sinhP3)))) + (sinhP0 + float64(z*sinhP1))
		return x + float64(x*float64(z*p))
	case math.Abs(x) > 710.5:
		return math.Copysign(math.Inf(1), x)
	}
	a, b, c, d := hyperbolic(x)
	s, e := fastSum(a, -c)
	return math.Copysign(2*(s+(e+(b-d))), x)
}

func cosh(x float64) float64 {
	if math.Abs(x) > 710.5 {
		return math.Inf(1)
	}
	a, b, c, d := hyperbolic(x)
	s, e := fastSum(a, c)
	return 2 * (s + (e + (b + d)))
}

// gaussian is e^(−x²), its exponent in two parts.
func gaussian(x float64) float64 {
	square, e := product(x, x)
	if square > -expLow {
		return 0
	}
	k, y, _ := expParts(-square, -e)
	return scale(y, k)
}

// erf is a polynomial in x² for |x| < ½, and elsewhere its value at the centre of an interval and a polynomial in the distance.
func erf(x float64) float64 {
	a := math.Abs(x)
	if a < 0.5 {
		z := float64(a * a)
		z2 := float64(z * z)
		p := float64(z2*(float64(z2*(erfP7+float64(z*erfP8)))+(erfP5+float64(z*erfP6)))) + (erfP3 + float64(z*erfP4))
		p = float64(z2*p) + (erfP1 + float64(z*erfP2))
		h, l := product(a, erfSlope)
		return math.Copysign(h+(l+float64(a*(erfP0+float64(z*p)))), x)
	}
	if !(a < 6) {
		return math.Erf(x)
	}
	i := int(8*a) - 4
	c := &erfTable[i]
	t := a - (0.5625 + float64(0.125*float64(i)))
	t2 := float64(t * t)
	p := c[10]
	p = float64(t2*p) + (c[8] + float64(t*c[9]))
	p = float64(t2*p) + (c[6] + float64(t*c[7]))
	p = float64(t2*p) + (c[4] + float64(t*c[5]))
	p = float64(t2*p) + (c[2] + float64(t*c[3]))
	return math.Copysign(c[0]+(c[1]+float64(t*p)), x)
}

// hypot is √(x² + y²), the sum of squares in two parts and one step of Newton's iteration behind the root.
func hypot(x, y float64) float64 {
	a, b := math.Abs(x), math.Abs(y)
	if a < b {
		a, b = b, a
	}
	switch {
	case !(b > 0 && a <= math.MaxFloat64):
		return math.Hypot(x, y)
	case a > 0x1p500:
		return float64(hypot(a*0x1p-600, b*0x1p-600) * 0x1p600)
	case a < 0x1p-450:
		return float64(hypot(a*0x1p600, b*0x1p600) * 0x1p-600)
	}
	p, e := product(a, a)
	q, f := product(b, b)
	s, g := fastSum(p, q)
	h := math.Sqrt(s)
	return h + (math.FMA(-h, h, s)+(g+(e+f)))/(h+h)
}
