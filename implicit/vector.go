package implicit

import "math"

// vectors returns k vectors of length n in one piece of memory.
func vectors(k, n int) [][]float64 {
	v, memory := make([][]float64, k), make([]float64, k*n)
	for i := range v {
		v[i], memory = memory[:n:n], memory[n:]
	}
	return v
}

// norm2 is ‖x‖₂.
func norm2(x []float64) float64 {
	var h float64
	for _, v := range x {
		h = math.Hypot(h, v)
	}
	return h
}

func dot(x, y []float64) float64 {
	var s float64
	for i, v := range x {
		s += float64(v * y[i])
	}
	return s
}

// sumAbs is Σ|xᵢyᵢ|.
func sumAbs(x, y []float64) float64 {
	var s float64
	for i, v := range x {
		s += math.Abs(v * y[i])
	}
	return s
}

// absMatVec returns α‖|A||x|‖₂, which may be finite where ‖|A||x|‖₂ is not.
func absMatVec(alpha float64, a, x []float64, rows int) float64 {
	var h float64
	for i := range rows {
		var s float64
		for j, v := range x {
			s += math.Abs(float64(a[i*len(x)+j]*alpha) * v)
		}
		h = math.Hypot(h, s)
	}
	return h
}

// multiply sets dst = A B for an m×k matrix A and a k×n matrix B, row-major.
func multiply(dst, a, b []float64, m, k, n int) {
	clear(dst)
	for i := range m {
		for j := range k {
			x := a[i*k+j]
			for l := range n {
				dst[i*n+l] += float64(x * b[j*n+l])
			}
		}
	}
}

// axpy returns x + α d.
func axpy(x []float64, alpha float64, d []float64) []float64 {
	y := make([]float64, len(x))
	for i := range y {
		y[i] = x[i] + float64(alpha*d[i])
	}
	return y
}

// largest is max |xᵢ|, and 0 of nothing.
func largest(x []float64) float64 {
	h := 0.0
	for _, v := range x {
		h = max(h, math.Abs(v))
	}
	return h
}
