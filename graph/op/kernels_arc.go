package op

import "math"

// asinRest is asin s − s = s·asinRest(s²) for |s| ≤ ½, with z = s².
func asinRest(z float64) float64 {
	z2 := float64(z * z)
	z4 := float64(z2 * z2)
	a := float64(z2*(asinP2+float64(z*asinP3))) + (asinP0 + float64(z*asinP1))
	b := float64(z2*(asinP6+float64(z*asinP7))) + (asinP4 + float64(z*asinP5))
	c := float64(z2*(asinP10+float64(z*asinP11))) + (asinP8 + float64(z*asinP9))
	return float64(z * (float64(z4*(float64(z4*(float64(z4*asinP12)+c))+b)) + a))
}

// halfAngle is asin √z = h + l for z = (1 − |x|)/2, half the angle whose cosine is |x| ≥ ½.
func halfAngle(x float64) (h, l float64) {
	z := float64(0.5 * (1 - math.Abs(x))) // exact
	s := math.Sqrt(z)
	if s == 0 {
		return 0, 0
	}
	e := math.FMA(-s, s, z) / (s + s)
	return fastSum(s, float64(s*asinRest(z))+e)
}

// asin is π/2 − 2·asin √((1 − x)/2) for x ≥ ½.
func asin(x float64) float64 {
	if !(math.Abs(x) >= 0.5) {
		return x + float64(x*asinRest(float64(x*x)))
	}
	h, l := halfAngle(x)
	s, e := fastSum(piHalf1, float64(-2*h))
	return math.Copysign(s+(e+(piHalf2-float64(2*l))), x)
}

// acos is π/2 − asin x for |x| < ½, and twice the angle of half its size beyond.
func acos(x float64) float64 {
	switch {
	case !(math.Abs(x) >= 0.5):
		s, e := fastSum(piHalf1, -x)
		return s + (e + (piHalf2 - float64(x*asinRest(float64(x*x)))))
	case x > 0:
		h, l := halfAngle(x)
		return 2 * (h + l)
	}
	h, l := halfAngle(x)
	s, e := fastSum(piHalf1, -h)
	return 2 * (s + (e + (piHalf2 - l)))
}

// atanRest is atan t − t for |t| ≤ 1/32.
func atanRest(t float64) float64 {
	z := float64(t * t)
	z2 := float64(z * z)
	p := float64(z2*(float64(z2*atanP4)+(atanP2+float64(z*atanP3)))) + (atanP0 + float64(z*atanP1))
	return float64(t * float64(z*p))
}

// centre is the interval of atanTable that a lies in, 1/32 ≤ a < 32.
func centre(a float64) int { return int(math.Float64bits(a)>>49) - (1023-5)<<3 }

// angle is atan(y/x) = h + l for 0 < y ≤ x, both far from overflow and underflow. With c near the ratio y/x it is
// atan c + atan((y − c·x)/(x + c·y)).
func angle(y, x, ratio float64) (h, l float64) {
	if ratio < 0x1p-5 {
		return fastSum(ratio, math.FMA(-ratio, x, y)/x+atanRest(ratio))
	}
	c := &atanTable[centre(ratio)]
	p, e := product(c.centre, x)
	d := math.FMA(c.centre, y, x)
	t, g := quotient(y-p, -e, d, math.FMA(c.centre, y, x-d)) // both differences are exact
	h, l = fastSum(c.high, t)
	return h, l + (c.low + (g + atanRest(t)))
}

// atan is atan c + atan((x − c)/(1 + c·x)) with c near x > 0, and π/2 − atan(1/x) for large x.
func atan(x float64) float64 {
	a := math.Abs(x)
	if a < 0x1p-5 {
		return math.Copysign(a+atanRest(a), x)
	}
	if a < 0x1p5 {
		c := &atanTable[centre(a)]
		d := math.FMA(c.centre, a, 1)
		t, g := quotient(a-c.centre, 0, d, math.FMA(c.centre, a, 1-d))
		h, l := fastSum(c.high, t)
		return math.Copysign(h+(l+(c.low+(g+atanRest(t)))), x)
	}
	if a < 0x1p60 {
		t, g := quotient(-1, 0, a, 0)
		h, l := fastSum(piHalf1, t)
		return math.Copysign(h+(l+(piHalf2+(g+atanRest(t)))), x)
	}
	return math.Atan(x)
}

// turned adds an angle to a larger one.
func turned(a, b, h, l float64) (float64, float64) {
	s, e := fastSum(a, h)
	return s, e + (b + l)
}

func atan2(y, x float64) float64 {
	a, b := math.Abs(y), math.Abs(x)
	small, large := a, b
	if a > b {
		small, large = b, a
	}
	if !(small > 0 && large <= math.MaxFloat64) {
		return math.Atan2(y, x)
	}
	h, l := small/large, 0.0
	if h >= 0x1p-28 {
		if large > 0x1p500 || large < 0x1p-500 {
			unit := powerOfTwo(expRound - float64(math.Float64bits(large)>>52) + 1023)
			small, large = small*unit, large*unit
		}
		h, l = angle(small, large, h)
	}
	switch {
	case a > b && x > 0:
		h, l = turned(piHalf1, piHalf2, -h, -l)
	case a > b:
		h, l = turned(piHalf1, piHalf2, h, l)
	case x < 0:
		h, l = turned(2*piHalf1, 2*piHalf2, -h, -l)
	}
	return math.Copysign(h+l, y)
}
