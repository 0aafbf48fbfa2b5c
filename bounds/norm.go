package bounds

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Norm is a norm on vectors, with the matrix norm it induces: 1, 2, ∞, or the weighted ∞-norm
// max_i |x_i|/w_i, whose weights are typical sizes of the entries. The zero value is no norm; use
// [ParseNorm].
type Norm struct {
	kind    string    // "1", "2", "inf"
	weights []float64 // of "inf"; nil means all 1
}

// ParseNorm reads "1", "2" or "inf". Positive weights, one for each entry of the state, make "inf" the
// weighted ∞-norm; nil means none.
func ParseNorm(text string, weights []float64) (Norm, error) {
	switch text {
	case "1", "2", "inf":
	default:
		return Norm{}, fmt.Errorf("bounds: norm %q is not known: use \"1\", \"2\" or \"inf\"", text)
	}
	if weights == nil {
		return Norm{kind: text}, nil
	}
	if text != "inf" {
		return Norm{}, fmt.Errorf("bounds: norm %q takes no weights: use \"inf\"", text)
	}
	for i, w := range weights {
		if !(w > 0 && w <= math.MaxFloat64) {
			return Norm{}, fmt.Errorf("bounds: weight %d of the norm is %v: weights are finite and positive", i, w)
		}
	}
	return Norm{kind: text, weights: append([]float64(nil), weights...)}, nil
}

// String returns "1", "2", "inf" or "inf weighted".
func (n Norm) String() string {
	if n.weights != nil {
		return n.kind + " weighted"
	}
	return n.kind
}

// Unweighted returns the norm of the same kind without weights, for a space of another dimension:
// the norm on θ that belongs to a norm of the state.
func (n Norm) Unweighted() Norm { return Norm{kind: n.kind} }

// weight returns the weight of entry i.
func (n Norm) weight(i int) float64 {
	if n.weights == nil {
		return 1
	}
	return n.weights[i]
}

// Of returns ‖x‖; 0 for an empty vector, NaN if an entry is NaN.
func (n Norm) Of(x []float64) float64 {
	n.check(len(x))
	return n.of(x, nil)
}

// Distance returns ‖x − y‖.
func (n Norm) Distance(x, y []float64) float64 {
	n.check(len(x))
	return n.of(x, y)
}

// of is the norm of x − y, or of x where y is nil. The 2-norm is scaled by the largest entry, so that
// no square overflows or vanishes.
func (n Norm) of(x, y []float64) float64 {
	var sum, largest float64
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		v = math.Abs(v)
		sum += v
		if n.weights != nil {
			v /= n.weights[i]
		}
		largest = max(largest, v)
	}
	switch {
	case n.kind == "1":
		return sum
	case n.kind != "2" || len(x) == 1 || largest == 0 || !(largest <= math.MaxFloat64):
		return largest
	}
	sum = 0
	for i, v := range x {
		if y != nil {
			v -= y[i]
		}
		v /= largest
		sum += float64(v * v)
	}
	return largest * math.Sqrt(sum)
}

// Matrix returns the induced norm sup ‖A x‖/‖x‖ of a rows×cols matrix in row-major order, where
// ‖A x‖ is measured in n and ‖x‖ in from, a norm of the same kind:
//
//	"1"    largest column sum of |a_ij|
//	"2"    largest singular value
//	"inf"  largest row sum of |a_ij| w'_j/w_i, w' the weights of from
//
// An empty matrix has norm 0, a NaN gives NaN, and otherwise an infinity gives +Inf.
func (n Norm) Matrix(a []float64, rows, cols int, from Norm) float64 {
	if len(a) != rows*cols || n.kind != from.kind {
		panic("bounds: matrix of the wrong size, or norms of different kinds")
	}
	n.check(rows)
	from.check(cols)
	var s float64
	switch n.kind {
	case "1":
		for j := range cols {
			var sum float64
			for i := range rows {
				sum += math.Abs(a[i*cols+j])
			}
			s = math.Max(s, sum)
		}
	case "2":
		s = spectral(a, rows, cols)
	default:
		for i := range rows {
			var sum float64
			for j := range cols {
				sum += float64(math.Abs(a[i*cols+j]) / n.weight(i) * from.weight(j))
			}
			s = math.Max(s, sum)
		}
	}
	if math.IsInf(s, 1) {
		for _, v := range a {
			if math.IsNaN(v) {
				return v
			}
		}
	}
	return s
}

// spectral returns the largest singular value.
func spectral(a []float64, rows, cols int) float64 {
	if rows == 0 || cols == 0 {
		return 0
	}
	infinite := false
	for _, v := range a {
		if math.IsNaN(v) {
			return v
		}
		infinite = infinite || math.IsInf(v, 0)
	}
	if infinite {
		return math.Inf(1)
	}
	if len(a) == 1 {
		return math.Abs(a[0])
	}
	if rows == 1 || cols == 1 {
		return blas64.Nrm2(blas64.Vector{N: len(a), Data: a, Inc: 1})
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(rows, cols, a), mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}

// check panics for a norm that was not parsed, or vectors that do not fit its weights.
func (n Norm) check(length int) {
	if n.kind == "" {
		panic("bounds: the zero Norm is no norm")
	}
	if n.weights != nil && len(n.weights) != length {
		panic(fmt.Sprintf("bounds: %d weights for %d entries", len(n.weights), length))
	}
}
