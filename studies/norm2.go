package studies

import (
	"fmt"
	"math"
)

// maxNorm2 bounds the smaller side of a matrix that norm2 is taken of: the work is cubic in it.
const maxNorm2 = 2000

// norm2 returns the Euclidean norm of a vector or the largest singular value of a matrix: the root
// of the largest eigenvalue of the smaller Gram matrix, by Householder tridiagonalisation and
// bisection on Sturm counts (Golub and Van Loan, Matrix Computations, §8.3 and §8.4). Only
// operations that every machine rounds alike are used, in one order: made arrays, and with them the
// identities of points, are the same everywhere.
func norm2(a Array) (float64, error) {
	if len(a.Shape) == 0 || len(a.Shape) > 2 {
		return 0, fmt.Errorf("norm2 wants a vector or a matrix, found shape %v", a.Shape)
	}
	rows, cols := 1, a.Shape[0]
	if len(a.Shape) == 2 {
		rows, cols = a.Shape[0], a.Shape[1]
	}
	if min(rows, cols) > maxNorm2 {
		return 0, fmt.Errorf("norm2 wants a matrix whose smaller side is at most %d, found shape %v", maxNorm2, a.Shape)
	}
	largest := 0.0
	for _, v := range a.Data {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return 0, fmt.Errorf("an array without a nonzero entry cannot be scaled to a norm")
	}
	d, e := tridiagonal(gram(a.Data, rows, cols, largest))
	return largest * math.Sqrt(largestEigenvalue(d, e)), nil
}

// gram returns AAᵀ/s² if A has fewer rows than columns, and AᵀA/s² otherwise.
func gram(a []float64, rows, cols int, s float64) [][]float64 {
	n, inner := rows, cols
	at := func(i, k int) float64 { return a[i*cols+k] / s }
	if cols < rows {
		n, inner = cols, rows
		at = func(i, k int) float64 { return a[k*cols+i] / s }
	}
	lines := make([][]float64, n)
	for i := range lines {
		lines[i] = make([]float64, inner)
		for k := range inner {
			lines[i][k] = at(i, k)
		}
	}
	g := make([][]float64, n)
	for i := range g {
		g[i] = make([]float64, n)
		for j := range i + 1 {
			g[i][j] = dot(lines[i], lines[j])
			g[j][i] = g[i][j]
		}
	}
	return g
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}

// tridiagonal reduces a symmetric matrix, which it overwrites, to its diagonal d and
// off-diagonal e, with Householder reflections.
func tridiagonal(g [][]float64) (d, e []float64) {
	n := len(g)
	d, e = make([]float64, n), make([]float64, max(0, n-1))
	v, w := make([]float64, n), make([]float64, n)
	for k := 0; k+1 < n; k++ {
		d[k] = g[k][k]
		x := g[k][k+1:]
		alpha := math.Sqrt(dot(x, x))
		if x[0] > 0 {
			alpha = -alpha
		}
		e[k] = alpha
		u := v[:len(x)]
		copy(u, x)
		u[0] -= alpha
		uu := dot(u, u)
		if uu == 0 {
			continue
		}
		p := w[:len(x)]
		for i := range p {
			p[i] = float64(2*dot(g[k+1+i][k+1:], u)) / uu
		}
		c := dot(u, p) / uu
		for i := range p {
			p[i] -= float64(c * u[i])
		}
		for i := range p {
			line := g[k+1+i][k+1:]
			for j := range p {
				line[j] -= float64(u[i]*p[j]) + float64(p[i]*u[j])
			}
		}
	}
	if n > 0 {
		d[n-1] = g[n-1][n-1]
	}
	return d, e
}

// largestEigenvalue bisects for the largest eigenvalue of a positive semidefinite tridiagonal matrix.
func largestEigenvalue(d, e []float64) float64 {
	low, high := 0.0, 0.0
	for i := range d {
		low = max(low, d[i]) // an eigenvalue lies at or above each diagonal entry
		reach := d[i]
		if i > 0 {
			reach += math.Abs(e[i-1])
		}
		if i < len(e) {
			reach += math.Abs(e[i])
		}
		high = max(high, reach) // Gershgorin
	}
	for {
		mid := low + float64((high-low)/2)
		if mid <= low || mid >= high {
			return mid
		}
		if allBelow(d, e, mid) {
			high = mid
		} else {
			low = mid
		}
	}
}

// allBelow reports whether every eigenvalue is below x: the pivots of T − xI are all negative.
func allBelow(d, e []float64, x float64) bool {
	pivot := 1.0
	for i := range d {
		below := 0.0
		if i > 0 {
			below = float64(e[i-1]*e[i-1]) / pivot
		}
		pivot = d[i] - x - below
		if pivot >= 0 {
			return false
		}
	}
	return true
}
