package op

import (
	"math"
	"math/bits"
)

// trigLimit bounds the arguments from which three parts of π/2 are subtracted.
const trigLimit = 0x1p30

// quarters is x = n·π/2 + r + e with |r| ≤ π/4 (a little more where x·2/π rounds to the other side), and the last bits of
// n. The sum r + e is right to about 70 bits, also where it nearly vanishes.
//
// Source: Cody and Waite, Software Manual for the Elementary Functions (1980).
func quarters(x float64) (n uint64, r, e float64) {
	if math.Abs(x) > trigLimit {
		return manyQuarters(x)
	}
	shifted := float64(x*twoOverPi) + expRound
	k := shifted - expRound
	r = math.FMA(-k, piHalf1, x) // exact
	w, low := product(k, piHalf2)
	s, f := twoSum(r, -w)
	return math.Float64bits(shifted), s, f - (low + float64(k*piHalf3))
}

// manyQuarters multiplies the mantissa of x by a window of 192 bits of 2/π, from the bit of weight 2: what stands to the left of the
// window gives multiples of 4, what stands to the right less than 2⁻¹³⁷.
//
// Source: Payne and Hanek, Radian reduction for trigonometric functions (1983).
func manyQuarters(x float64) (n uint64, r, e float64) {
	if x-x != 0 {
		return 0, math.NaN(), 0
	}
	b := math.Float64bits(x)
	mantissa := b&(1<<52-1) | 1<<52
	first := int(b>>52&0x7ff) - 1023 - 52 - 2 // bits to the left of the window, of those behind the point
	word, left := uint(0), uint(0)
	var before uint64
	if first >= 0 {
		word, left = uint(first)/64, uint(first)%64
	} else { // zeros before the point
		before = uint64(-first)
	}
	at := func(i uint) uint64 {
		if left == 0 {
			return twoOverPiBits[word+i]
		}
		return twoOverPiBits[word+i]<<left | twoOverPiBits[word+i+1]>>(64-left)
	}
	w0, w1, w2 := at(0), at(1), at(2)
	if before > 0 {
		w0, w1, w2 = w0>>before, w1>>before|w0<<(64-before), w2>>before|w1<<(64-before)
	}
	// The product modulo 2¹⁹², in units of 2⁻¹⁹⁰.
	p1, p2 := bits.Mul64(mantissa, w2)
	q0, q1 := bits.Mul64(mantissa, w1)
	p1, carry := bits.Add64(p1, q1, 0)
	p0 := mantissa*w0 + q0 + carry
	n = p0 >> 62
	p0, p1, p2 = p0<<2|p1>>62, p1<<2|p2>>62, p2<<2
	sign := b >> 63
	if p0>>63 == 1 { // beyond one half: the rest to the next quarter
		n++
		var borrow uint64
		p2, borrow = bits.Sub64(0, p2, 0)
		p1, borrow = bits.Sub64(0, p1, borrow)
		p0, _ = bits.Sub64(0, p0, borrow)
		sign ^= 1
	}
	shift := 0
	if p0 == 0 {
		p0, p1, p2, shift = p1, p2, 0, 64
	}
	zeros := bits.LeadingZeros64(p0)
	p0, p1 = p0<<zeros|p1>>(64-zeros), p1<<zeros|p2>>(64-zeros)
	unit := powerOfTwo(expRound - float64(shift+zeros+53))
	high := float64(p0>>11) * unit
	low := float64(p0<<53>>11|p1>>22) * float64(unit*0x1p-53)
	r, e = product(high, piHalf1)
	r, e = fastSum(r, e+(float64(high*piHalf2)+float64(low*piHalf1)))
	if sign == 1 {
		r, e = -r, -e
	}
	if b>>63 == 1 {
		n = -n
	}
	return n, r, e
}

// sinRest is sin(r + e) − r for |r| ≤ π/4, with z = r².
func sinRest(r, e, z float64) float64 {
	z2 := float64(z * z)
	p := float64(z2*(float64(z2*(sinP4+float64(z*sinP5)))+(sinP2+float64(z*sinP3)))) + (sinP0 + float64(z*sinP1))
	return float64(r*float64(z*p)) + float64(e*(1-float64(0.5*z)))
}

// cosRest is cos(r + e) − 1 + z/2 for |r| ≤ π/4, with z + g = r².
func cosRest(r, e, z, g float64) float64 {
	z2 := float64(z * z)
	p := float64(z2*(float64(z2*(cosP4+float64(z*cosP5)))+(cosP2+float64(z*cosP3)))) + (cosP0 + float64(z*cosP1))
	return float64(z2*p) - (float64(0.5*g) + float64(r*e))
}

// circular is the sine of n·π/2 + r + e.
func circular(n uint64, r, e float64) float64 {
	z := float64(r * r)
	if n&1 == 0 {
		return flip(math.Copysign(r+sinRest(r, e, z), r), n) // the sign for r = −0
	}
	one, f := fastSum(1, float64(-0.5*z))
	return flip(one+(f+cosRest(r, e, z, 0)), n)
}

func sin(x float64) float64 { return circular(quarters(x)) }

func cos(x float64) float64 {
	n, r, e := quarters(x)
	return circular(n+1, r, e)
}

// flip changes the sign of y if the second lowest bit of n is set.
func flip(y float64, n uint64) float64 {
	return math.Float64frombits(math.Float64bits(y) ^ n<<62&(1<<63))
}

// sinParts is sin(r + e) = s + t to about 57 bits for |r| ≤ π/4, with z + g = r²: the cubic term in two parts.
func sinParts(r, e, z, g float64) (s, t float64) {
	z2 := float64(z * z)
	p := float64(z2*(float64(z2*(sinP4+float64(z*sinP5)))+(sinP2+float64(z*sinP3)))) + float64(z*sinP1)
	cube, h := product(r, z)
	third, i := product(cube, sinP0)
	s, t = fastSum(r, third)
	return fastSum(s, t+(i+float64((h+float64(r*g))*sinP0)+(float64(cube*p)+float64(e*(1-float64(0.5*z))))))
}

// tan is the quotient of sine and cosine, to about 57 bits each.
func tan(x float64) float64 {
	n, r, e := quarters(x)
	z, g := product(r, r)
	s, t := sinParts(r, e, z, g)
	one, f := fastSum(1, float64(-0.5*z))
	c, d := fastSum(one, f+cosRest(r, e, z, g))
	if n&1 == 1 {
		s, t, c, d = -c, -d, s, t
	}
	y, rest := quotient(s, t, c, d)
	if y == 0 {
		return x
	}
	return y + rest
}
