package linsolve

import "math"

// equilibrate sets scaled = diag(2^row) A diag(2^col), with exponents chosen so that the largest
// entry of every non-zero row and column is near 1. Powers of two make the scaling exact, but for
// entries below 2⁻¹⁰²² of the largest ones, which lose digits or become 0.
//
// The rule is Ruiz's: each pass divides rows and columns by the square root of their largest entry.
func equilibrate(scaled []float64, row, col []int, a Dense) {
	n := a.N
	clear(row)
	clear(col)
	rowTop, colTop := make([]int, n), make([]int, n)
	for pass := range 10 {
		if pass == 0 {
			exponents(rowTop, colTop, a)
		} else {
			scaledExponents(rowTop, colTop, row, col, a)
		}
		changed := false
		for k := range n {
			r, c := halved(rowTop[k]), halved(colTop[k])
			row[k] -= r
			col[k] -= c
			changed = changed || r != 0 || c != 0
		}
		if !changed {
			break
		}
	}
	for i := range n {
		for j, v := range a.Data[i*n : (i+1)*n] {
			scaled[i*n+j] = scale(v, row[i]+col[j])
		}
	}
}

// exponents sets the exponents of the largest entry of each row and column, MinInt where all are 0.
func exponents(rowTop, colTop []int, a Dense) {
	n := a.N
	top := make([]float64, n) // of the columns
	of := func(largest float64) int {
		if largest == 0 {
			return math.MinInt
		}
		return exponent(largest)
	}
	for i := range n {
		largest := 0.0
		for j, v := range a.Data[i*n : (i+1)*n] {
			v = math.Abs(v)
			if v > largest {
				largest = v
			}
			if v > top[j] {
				top[j] = v
			}
		}
		rowTop[i] = of(largest)
	}
	for j, v := range top {
		colTop[j] = of(v)
	}
}

// scaledExponents is exponents of the matrix with rows and columns scaled by powers of two, which need not be in the range of
// float64.
func scaledExponents(rowTop, colTop, row, col []int, a Dense) {
	n := a.N
	for k := range n {
		rowTop[k], colTop[k] = math.MinInt, math.MinInt
	}
	for i := range n {
		for j, v := range a.Data[i*n : (i+1)*n] {
			if v == 0 {
				continue
			}
			e := exponent(v) + row[i] + col[j]
			rowTop[i], colTop[j] = max(rowTop[i], e), max(colTop[j], e)
		}
	}
}

// exponent returns the e of v = f·2^e, ½ ≤ |f| < 1, v ≠ 0, as math.Frexp does.
func exponent(v float64) int {
	if biased := int(math.Float64bits(v) >> 52 & 0x7ff); biased != 0 {
		return biased - 1022
	}
	_, e := math.Frexp(v)
	return e
}

// scale returns v·2^e, as math.Ldexp does.
func scale(v float64, e int) float64 {
	if e >= -1022 && e <= 1023 {
		return v * math.Float64frombits(uint64(e+1023)<<52) // rounds at most once
	}
	return math.Ldexp(v, e)
}

// halved returns half of a binary exponent outside 0…1, rounded so that it always moves downwards
// or upwards by at least one; an empty row or column is not moved.
func halved(e int) int {
	switch {
	case e == math.MinInt:
		return 0
	case e > 1:
		return e / 2
	case e < 0:
		return (e - 1) / 2
	}
	return 0
}
