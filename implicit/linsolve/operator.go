package linsolve

import "math"

// Form chooses between a matrix and its transpose.
type Form bool

const (
	Plain      Form = false // A
	Transposed Form = true  // Aᵀ
)

// Operator is a square matrix seen through its products.
type Operator interface {
	// Dim returns n for an n×n matrix.
	Dim() int
	// Mul sets dst = A x, or dst = Aᵀ x. dst and x have length n and do not overlap.
	Mul(dst, x []float64, form Form)
}

// Dense is an n×n matrix in row-major order: entry (i, j) is Data[i*N+j].
type Dense struct {
	N    int
	Data []float64
}

// Dim returns n.
func (a Dense) Dim() int { return a.N }

// Mul sets dst = A x, or dst = Aᵀ x.
func (a Dense) Mul(dst, x []float64, form Form) {
	n := a.N
	clear(dst[:n])
	for i := range n {
		row := a.Data[i*n : (i+1)*n]
		if form == Transposed {
			for j, v := range row {
				dst[j] += float64(v * x[i])
			}
			continue
		}
		var s float64
		for j, v := range row {
			s += float64(v * x[j])
		}
		dst[i] = s
	}
}

// residual sets r = b − A x (or b − Aᵀ x) as if computed in twice the working precision and rounded
// once, and weight = |A||x| + |b|, the scale of the componentwise backward error. low is workspace.
// The sums are those of Dot2: products split by a fused multiply-add, sums by TwoSum.
func (a Dense) residual(r, weight, low, x, b []float64, form Form) {
	n := a.N
	for i, v := range b {
		r[i], low[i], weight[i] = v, 0, math.Abs(v)
	}
	for i := range n {
		row := a.Data[i*n : (i+1)*n]
		if form == Transposed {
			for j, v := range row {
				r[j], low[j], weight[j] = subtract(r[j], low[j], weight[j], v, x[i])
			}
			continue
		}
		hi, lo, w := r[i], low[i], weight[i]
		for j, v := range row {
			hi, lo, w = subtract(hi, lo, w, v, x[j])
		}
		r[i], low[i], weight[i] = hi, lo, w
	}
	for i := range r {
		r[i] += low[i]
	}
}

// subtract takes a·x from the unevaluated sum hi + lo and adds |a·x| to weight.
func subtract(hi, lo, weight, a, x float64) (newHi, newLo, newWeight float64) {
	p := float64(-a * x)
	e := math.FMA(-a, x, -p) // p + e = −a·x
	s := hi + p
	t := s - hi
	return s, lo + (e + ((hi - (s - t)) + (p - t))), weight + math.Abs(p)
}

// norms returns ‖A‖∞, the largest row sum, and ‖Aᵀ‖∞ = ‖A‖₁, the largest column sum; sums is workspace.
func (a Dense) norms(sums []float64) (plain, transposed float64) {
	sums = sums[:a.N]
	clear(sums)
	for i := range a.N {
		var s float64
		for j, v := range a.Data[i*a.N : (i+1)*a.N] {
			v = math.Abs(v)
			s += v
			sums[j] += v
		}
		plain = math.Max(plain, s)
	}
	return plain, largest(sums)
}

// largest returns max |x_i|, 0 for an empty vector, NaN if an entry is NaN.
func largest(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = math.Max(m, math.Abs(v))
	}
	return m
}
