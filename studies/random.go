package studies

import (
	"math"
	"math/rand/v2"
)

// pcgStream is the second word of every generator's seed: the bytes of "lensir".
const pcgStream = 0x6c656e736972

// newGenerator is the generator of a made array.
func newGenerator(seed uint64) *rand.PCG { return rand.NewPCG(seed, pcgStream) }

// fillRandom fills dst from a generator, in row-major order. The numbers are part of every study that
// uses them and never change; the same seed gives the same bits on every machine.
//
// The generator is PCG-DXSM as in math/rand/v2, of made arrays rand.NewPCG(seed, 0x6c656e736972). From each 64-bit
// word w it takes u = (2⌊w/2¹²⌋ + 1 − 2⁵²)/2⁵², which is uniform on (−1, 1), exact and never 0.
//
//   - "uniform": the u in turn.
//   - "normal": Marsaglia's polar method. Pairs (u, v) are drawn until s = u² + v² < 1, and give
//     u·f and v·f with f = √(−2 ln s / s).
func fillRandom(dst []float64, law string, pcg *rand.PCG) {
	uniform := func() float64 {
		return float64(2*int64(pcg.Uint64()>>12)+1-1<<52) / (1 << 52)
	}
	if law == "uniform" {
		for i := range dst {
			dst[i] = uniform()
		}
		return
	}
	for i := 0; i < len(dst); i += 2 {
		u, v := uniform(), uniform()
		s := float64(u*u) + float64(v*v)
		for s >= 1 {
			u, v = uniform(), uniform()
			s = float64(u*u) + float64(v*v)
		}
		f := math.Sqrt(float64(-2*portableLog(s)) / s)
		dst[i] = u * f
		if i+1 < len(dst) {
			dst[i+1] = v * f
		}
	}
}

// portableLog returns ln x for x > 0 to a few ulp, from operations that every machine rounds alike
// (math.Log is assembly on some, and wrong below 2.2e-308 on amd64): x = m·2^k with √½ ≤ m < √2, and
// ln m = 2 artanh((m − 1)/(m + 1)) by its power series.
func portableLog(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	t := (m - 1) / (m + 1)
	tt := float64(t * t)
	sum := 0.0
	for j := 25; j >= 1; j -= 2 { // |t| ≤ 0.1716, so the first term left out is below 1e-21
		sum = float64(sum*tt) + 1/float64(j)
	}
	return float64(float64(k)*math.Ln2) + float64(2*t*sum)
}
