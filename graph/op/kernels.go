package op

import "math"

// Leaf kernels that replace those of package math. exp and what is built on it are fixed sequences of operations, every one
// rounded once and none fused, so that the vector kernels of compiled programs can repeat them bit for
// bit on every machine.

// log scales subnormal numbers first, which the assembly of math.Log on amd64 takes for 2^−1023.
func log(x float64) float64 {
	if x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// asin and acos through atan2 keep their relative accuracy near ±1, where math.Acos cancels.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt(float64((1-x)*(1+x)))) }

func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// Constants of exp and tanh, in the order in which the vector kernels read them.
const (
	expLow, expHigh = -746, 710 // beyond them the result is 0 or infinite
	expLog2e        = 1.44269504088896338700e+00
	expLn2Hi        = 6.93147180369123816490e-01
	expLn2Lo        = 1.90821492927058770002e-10
	expP1           = 1.66666666666666657415e-01
	expP2           = -2.77777777770155933842e-03
	expP3           = 6.61375632143793436117e-05
	expP4           = -1.65339022054652515390e-06
	expP5           = 4.13813679705723846039e-08
	expRound        = 0x1.8p52 // adding it rounds to an integer, which then stands in the lowest bits
)

// exp is eˣ within one unit of the last place. With x = k·log 2 + r, |r| ≤ ½ log 2, it is 2ᵏ·eʳ, and
// eʳ comes from a polynomial approximation to r(eʳ + 1)/(eʳ − 1).
//
// Source: FreeBSD e_exp.c (fdlibm).
func exp(x float64) float64 {
	x = min(max(x, expLow), expHigh)
	k := float64(x*expLog2e) + expRound - expRound
	hi, lo := x-float64(k*expLn2Hi), float64(k*expLn2Lo)
	r := hi - lo
	t := float64(r * r)
	p := expP4 + float64(t*expP5)
	p = expP3 + float64(t*p)
	p = expP2 + float64(t*p)
	p = expP1 + float64(t*p)
	c := r - float64(t*p)
	y := 1 - ((lo - float64(r*c)/(2-c)) - hi)
	// 2ᵏ in two factors, so that neither overflows nor rounds before the last product.
	half := float64(k*0.5) + expRound
	rest := (k - (half - expRound)) + expRound
	return float64(y*powerOfTwo(half)) * powerOfTwo(rest)
}

// powerOfTwo is 2ᵏ for the whole number k in the lowest bits of k + expRound.
func powerOfTwo(shifted float64) float64 {
	return math.Float64frombits((math.Float64bits(shifted) + 1023) << 52)
}

// tanh is 1 − 2/(e^(2x) + 1) for x ≥ 0.625, and a rational function below.
//
// Source: Cephes tanh.c.
func tanh(x float64) float64 {
	z := math.Abs(x)
	var y float64
	if z >= 0.625 {
		y = 1 - 2/(exp(z+z)+1)
	} else {
		s := float64(x * x)
		p := float64(s*-9.64399179425052238628e-1) + -9.92877231001918586564e1
		p = float64(s*p) + -1.61468768441708447952e3
		q := s + 1.12811678491632931402e2
		q = float64(s*q) + 2.23548839060100448583e3
		q = float64(s*q) + 4.84406305325125486048e3
		y = x + float64(float64(x*s)*p)/q
	}
	return math.Copysign(y, x)
}

// sech2 is 4e/(1 + e)² with e = e^(−2|x|).
func sech2(x float64) float64 {
	z := math.Abs(x)
	e := exp(-(z + z))
	d := 1 + e
	return float64(4*e) / float64(d*d)
}

// logistic is 1/(1 + e) for x ≥ 0 and e/(1 + e) below, with e = e^(−|x|).
func logistic(x float64) float64 {
	e := exp(-math.Abs(x))
	if x >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}

func softplus(x float64) float64 {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// gaussian carries the rounding error of x² along, which e^(−x²) would magnify by x².
func gaussian(x float64) float64 {
	square := x * x
	if math.IsInf(square, 1) {
		return 0
	}
	g := math.Exp(-square)
	return g - float64(g*math.FMA(x, x, -square))
}
