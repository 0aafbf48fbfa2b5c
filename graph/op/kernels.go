package op

import "math"

// Leaf kernels that are more accurate than those of package math.

// asin is the angle of the point (√((1−x)(1+x)), x), in which 1−x is exact where it is small: a few
// units of the last place, where math.Asin loses half the digits near ±1.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

// acos is twice the angle of the point (√(1+x), √(1−x)): a few units of the last place, also near 1,
// where acos vanishes.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }
