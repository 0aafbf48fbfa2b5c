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
	s, e := fastSum(piHalf1, -2*h)
	return math.Copysign(s+(e+(piHalf2-2*l)), x)
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

// angle is atan(y/x) = h + l for 0 ≤ y ≤ x, both far from overflow and underflow. With c = i/16 near y/x it is
// atan c + atan((y − c·x)/(x + c·y)).
func angle(y, x float64) (h, l float64) {
	i := int(float64(16*(y/x)) + 0.5)
	c := float64(i) * 0.0625
	p, e := product(c, x)
	n := y - p // exact
	d := math.FMA(c, y, x)
	f := math.FMA(c, y, x-d)
	t, g := quotient(n, -e, d, f)
	z := float64(t * t)
	z2 := float64(z * z)
	q := float64(z2*(float64(z2*atanP4)+(atanP2+float64(z*atanP3)))) + (atanP0 + float64(z*atanP1))
	h, l = fastSum(atanTable[i].high, t)
	return fastSum(h, l+(atanTable[i].low+(g+float64(t*float64(z*q)))))
}

func atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0x1p-28:
		return x
	case a <= 1:
		h, _ := angle(a, 1)
		return math.Copysign(h, x)
	case a < 0x1p60:
		h, l := angle(1, a)
		s, e := fastSum(piHalf1, -h)
		return math.Copysign(s+(e+(piHalf2-l)), x)
	}
	return math.Copysign(piHalf1, x) + (x - x) // NaN, not of infinite x
}

// turned adds an angle to a larger one.
func turned(a, b, h, l float64) (float64, float64) {
	s, e := fastSum(a, h)
	return s, e + (b + l)
}

func atan2(y, x float64) float64 {
	a, b := math.Abs(y), math.Abs(x)
	small, large := min(a, b), max(a, b)
	if !(small > 0 && large <= math.MaxFloat64) {
		return math.Atan2(y, x)
	}
	h, l := small/large, 0.0
	if h >= 0x1p-28 {
		if large > 0x1p500 || large < 0x1p-500 {
			unit := powerOfTwo(expRound - float64(math.Float64bits(large)>>52) + 1023)
			small, large = small*unit, large*unit
		}
		h, l = angle(small, large)
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
