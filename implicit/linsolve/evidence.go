package linsolve

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Evidence is what is known about a factored matrix A, also when it was refused as singular or
// ill-conditioned. For n = 0 the norms are 0 and the condition numbers 1.
type Evidence struct {
	// ConditionOne estimates κ₁(A) = ‖A‖₁‖A⁻¹‖₁ from below, rarely by more than a factor of 3.
	ConditionOne float64
	// ConditionTwo is κ₂(A) = σ_max/σ_min.
	ConditionTwo float64
	// ConditionScaled estimates κ₁(R A C) for rows and columns scaled to the same size. A small value
	// beside a large ConditionOne says that the units are bad, not the problem.
	ConditionScaled float64

	// SigmaMax and SigmaMin are the extreme singular values of A. Within each error there is a
	// singular value of A: max(‖A v − σu‖₂, ‖Aᵀu − σv‖₂), up to rounding.
	SigmaMax, SigmaMin           float64
	SigmaMaxError, SigmaMinError float64
	// Left and Right are the unit singular vectors of SigmaMin: A·Right = SigmaMin·Left. Near a
	// singular matrix, the large entries of Left name equations and those of Right name unknowns;
	// see Weakest.
	Left, Right []float64

	// DetSign is the sign of det A (0 for a zero pivot) and LogAbsDet its ln|det A| (−Inf).
	DetSign   int
	LogAbsDet float64
}

// Evidence returns the evidence of the factored matrix. It panics before Factor, and for a matrix
// with non-finite entries all its numbers are NaN.
func (f *LU) Evidence() Evidence {
	n := f.a.N
	if f.factors.Data == nil {
		panic("linsolve: Evidence before Factor")
	}
	if _, ok := f.err.(*NonFiniteError); ok {
		nan := math.NaN()
		return Evidence{nan, nan, nan, nan, nan, nan, nan, nil, nil, 0, nan}
	}
	if n == 0 {
		return Evidence{ConditionOne: 1, ConditionTwo: 1, ConditionScaled: 1, DetSign: 1}
	}
	e := Evidence{ConditionScaled: f.cond, ConditionOne: f.conditionOne()}
	e.DetSign, e.LogAbsDet = f.determinant()

	largest := singular(n, f.a.Mul)
	e.SigmaMax, e.SigmaMaxError = largest.value, largest.error

	least := f.least(f.a, f.row, f.col)
	e.SigmaMin, e.SigmaMinError, e.Left, e.Right = least.value, least.error, least.left, least.right
	e.ConditionTwo = e.SigmaMax / e.SigmaMin
	return e
}

// Weakest returns the indices of the dominant entries of a singular vector, the largest first:
// those within a factor of ten of it, at most five.
func Weakest(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(v[b]), math.Abs(v[a])) })
	for i, k := range order {
		if i == 5 || math.Abs(v[k]) < math.Abs(v[order[0]])/10 {
			return order[:i]
		}
	}
	return order
}

// weakest names the equations and unknowns of the least singular value of the equilibrated matrix,
// in which all of them count alike.
func (f *LU) weakest() (equations, unknowns []int) {
	least := f.least(f.scaled, nil, nil)
	return Weakest(least.left), Weakest(least.right)
}

// least returns the least singular triplet of a, the matrix whose equilibration by 2^row and 2^col
// was factored, by iterating with A⁻¹ = C A'⁻¹ R. A zero pivot is replaced by a tiny one, as in
// inverse iteration for an exact eigenvalue. The value is then lᵀA r, with A r accumulated in twice
// the working precision: its error is of second order in that of the vectors.
func (f *LU) least(a Dense, row, col []int) triplet {
	n := a.N
	var top float64
	for k := range n {
		top = max(top, largest(f.factors.Data[k*n+k:(k+1)*n]))
	}
	if top == 0 {
		top = 1
	}
	var zeros []int
	for k := range n {
		if f.factors.Data[k*n+k] == 0 {
			zeros = append(zeros, k)
			f.factors.Data[k*n+k] = Epsilon * Epsilon * top
		}
	}
	inverse := singular(n, func(dst, x []float64, form Form) {
		copy(dst, x)
		f.substitute(dst, row, col, form)
	})
	for _, k := range zeros {
		f.factors.Data[k*n+k] = 0
	}

	// A⁻¹ l = r/σ, so that r is the right vector of A.
	t := triplet{left: inverse.right, right: inverse.left}
	zero, ar, atl := make([]float64, n), make([]float64, n), make([]float64, n)
	a.residual(ar, f.weight, f.low, t.right, zero, Plain)
	a.residual(atl, f.weight, f.low, t.left, zero, Transposed)
	t.value = math.Abs(blas64.Dot(vector(t.left), vector(ar)))
	if norm, _ := a.norms(f.work); len(zeros) == 0 && !(1/inverse.value > float64(n)*Epsilon*Epsilon*norm) {
		t.value = 1 / inverse.value // below what lᵀA r resolves
	}
	for i := range n {
		ar[i] += float64(t.value * t.left[i])
		atl[i] += float64(t.value * t.right[i])
	}
	t.error = max(nrm2(ar), nrm2(atl))
	return t
}

// conditionOne estimates κ₁(A).
func (f *LU) conditionOne() float64 {
	if _, singular := f.err.(*SingularError); singular {
		return math.Inf(1)
	}
	return max(1, f.transposedNorm*f.inverseNorm(f.row, f.col))
}

// inverseNorm estimates ‖A⁻¹‖₁ from below, by Higham's method, where row and col lead from A to the factored matrix; see substitute.
func (f *LU) inverseNorm(row, col []int) float64 {
	n := f.a.N
	if n == 0 {
		return 0
	}
	v, x, sign := make([]float64, n), make([]float64, n), make([]int, n)
	var state [3]int
	var inverse float64
	for kase := 0; ; {
		inverse, kase = lapackgonum.Implementation{}.Dlacn2(n, v, x, sign, inverse, kase, &state)
		if kase == 0 {
			return inverse
		}
		f.substitute(x, row, col, Form(kase == 2))
		if v := largest(x); v-v != 0 {
			return math.Inf(1)
		}
	}
}

// determinant returns the sign of det A and ln|det A|.
func (f *LU) determinant() (sign int, log float64) {
	n := f.a.N
	sign = 1
	exponent := 0
	for k, p := range f.pivots {
		if p != k {
			sign = -sign
		}
		u := f.factors.Data[k*n+k]
		switch {
		case u == 0:
			return 0, math.Inf(-1)
		case u-u != 0:
			return 0, math.NaN()
		case u < 0:
			sign = -sign
		}
		fraction, e := math.Frexp(u)
		log += math.Log(math.Abs(fraction))
		exponent += e - f.row[k] - f.col[k]
	}
	return sign, log + float64(float64(exponent)*math.Ln2)
}

// triplet is a singular value with its unit vectors, M·right = value·left, and a bound on its error.
type triplet struct {
	value, error float64
	left, right  []float64
}

// number is the singular triplet of a 1×1 operator.
func number(mul func(dst, x []float64, form Form)) triplet {
	t := triplet{left: []float64{0}, right: []float64{1}}
	mul(t.left, t.right, Plain)
	t.value = math.Abs(t.left[0])
	if t.left[0] = math.Copysign(1, t.left[0]); t.value-t.value != 0 {
		return triplet{value: math.NaN(), error: math.NaN(), left: []float64{0}, right: []float64{0}}
	}
	return t
}

// singular returns the largest singular triplet of the n×n operator mul, by Golub–Kahan
// bidiagonalisation with full reorthogonalisation from a fixed random start, restarted from the
// best vector. If the operator overflows, the value is NaN and the vectors are 0.
func singular(n int, mul func(dst, x []float64, form Form)) triplet {
	if n == 1 {
		return number(mul)
	}
	const restarts, width, accuracy = 10, 40, 1e-10
	rng := rand.New(rand.NewPCG(1, 2))
	start := make([]float64, n)
	for i := range start {
		start[i] = rng.NormFloat64()
	}
	var t triplet
	for range restarts {
		t = bidiagonal(n, min(n, width), start, mul)
		if !(t.error > accuracy*t.value) {
			break
		}
		copy(start, t.right)
	}
	return t
}

// bidiagonal takes at most steps steps of M V = U B, Mᵀ U = V Bᵀ + βv eᵀ, with B upper bidiagonal
// and V, U orthonormal, and returns the largest singular triplet of U B Vᵀ, an estimate for M.
func bidiagonal(n, steps int, start []float64, mul func(dst, x []float64, form Form)) triplet {
	failed := triplet{math.NaN(), math.NaN(), make([]float64, n), make([]float64, n)}
	var us, vs [][]float64
	var beta, top float64
	b := mat.NewDense(steps, steps, nil)
	v := slices.Clone(start)
	normalise(v)
	for k := range steps {
		u, next := make([]float64, n), make([]float64, n)
		vs = append(vs, v)
		mul(u, v, Plain)
		orthogonalise(u, us)
		alpha := normalise(u)
		us = append(us, u)
		mul(next, u, Transposed)
		orthogonalise(next, vs)
		beta = normalise(next)
		if alpha-alpha != 0 || beta-beta != 0 {
			return failed
		}
		b.Set(k, k, alpha)
		top = max(top, alpha, beta)
		// What is left after orthogonalisation may be rounding error: then the space is invariant.
		if negligible := float64(n) * Epsilon * top; alpha <= negligible || beta <= negligible {
			beta, steps = 0, k+1
			break
		}
		if k+1 < steps {
			b.Set(k, k+1, beta)
			v = next
		}
	}
	var svd mat.SVD
	if !svd.Factorize(b.Slice(0, steps, 0, steps), mat.SVDThin) {
		return failed
	}
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	t := triplet{value: svd.Values(nil)[0], left: make([]float64, n), right: make([]float64, n)}
	for k := range steps {
		blas64.Axpy(left.At(k, 0), vector(us[k]), vector(t.left))
		blas64.Axpy(right.At(k, 0), vector(vs[k]), vector(t.right))
	}
	t.error = beta * math.Abs(left.At(steps-1, 0))
	return t
}

// orthogonalise removes from x its components along an orthonormal basis, twice for accuracy.
func orthogonalise(x []float64, basis [][]float64) {
	for range 2 {
		for _, q := range basis {
			s := blas64.Dot(vector(x), vector(q))
			blas64.Axpy(-s, vector(q), vector(x))
		}
	}
}

// normalise scales x to unit 2-norm and returns its norm before.
func normalise(x []float64) float64 {
	norm := nrm2(x)
	if norm > 0 {
		for i := range x {
			x[i] /= norm
		}
	}
	return norm
}

func nrm2(x []float64) float64 { return blas64.Nrm2(vector(x)) }

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }
