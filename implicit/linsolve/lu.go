package linsolve

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

const (
	maxCondition   = 1 / Epsilon // beyond it no digit of a solution is certain
	maxRefinements = 20          // each one at least halves the correction or the backward error
	tolerance      = 4 * Epsilon // backward error of a refined solution; rounding x alone costs ε/2
)

// LU solves systems with a dense matrix by LU factorisation with partial pivoting and iterative
// refinement. The zero value is ready for Factor. Factor and Solve reuse their workspaces: Solve
// does not allocate. An LU serves one goroutine at a time.
type LU struct {
	a      Dense // the matrix, not copied
	scaled Dense // R A C
	row    []int // exponents of R
	col    []int // exponents of C

	factors blas64.General // L and U of scaled, with P·scaled = L·U
	pivots  []int
	cond    float64 // 1-norm condition estimate of scaled
	err     error   // why the matrix was refused

	plainNorm, transposedNorm   float64 // ‖A‖∞, ‖Aᵀ‖∞
	scaledNorm, scaledTransNorm float64 // the same of scaled

	// vectors of length n
	x, d, r, weight, low, b, work []float64
}

// Dim returns n.
func (f *LU) Dim() int { return f.a.N }

// Factor judges and factors the matrix a, which must not change while f is used. It refuses, with
// a [NonFiniteError], [SingularError] or [IllConditionedError], a matrix that Solve would not be
// able to use; Solve then returns the same error. The condition that decides is that of the
// equilibrated matrix: bad units alone are no reason to refuse.
func (f *LU) Factor(a Dense) error {
	n := a.N
	if n < 0 || len(a.Data) != n*n {
		panic("linsolve: data of the wrong length for the dimension")
	}
	f.resize(n)
	f.a, f.err = a, nil
	for i, v := range a.Data {
		if v-v != 0 {
			f.err = &NonFiniteError{Where: "A", Row: i / n, Col: i % n, Value: v}
			return f.err
		}
	}
	f.plainNorm, f.transposedNorm = a.norms(f.work)

	equilibrate(f.scaled.Data, f.row, f.col, a)
	f.scaledNorm, f.scaledTransNorm = f.scaled.norms(f.work)
	copy(f.factors.Data, f.scaled.Data)
	lapack64.Getrf(f.factors, f.pivots)
	if k, bad := f.badPivot(); bad {
		f.cond = math.Inf(1)
		equations, unknowns := f.weakest()
		f.err = &SingularError{Pivot: k, Value: f.factors.Data[k*n+k], Equations: equations, Unknowns: unknowns}
		return f.err
	}
	f.cond = max(1, f.scaledTransNorm*f.inverseNorm(nil, nil))
	if !(f.cond <= maxCondition) {
		equations, unknowns := f.weakest()
		f.err = &IllConditionedError{Condition: f.cond, Equations: equations, Unknowns: unknowns}
	}
	return f.err
}

// badPivot finds the first pivot that is zero, or that stands in a row of U that is not finite.
func (f *LU) badPivot() (k int, bad bool) {
	n := f.a.N
	for k := range n {
		row := f.factors.Data[k*n : (k+1)*n]
		if row[k] == 0 {
			return k, true
		}
		for _, v := range row {
			if v-v != 0 {
				return k, true
			}
		}
	}
	return 0, false
}

// Solve sets x to the refined solutions of A x = b, or of Aᵀ x = b; see [Solver]. Besides the
// errors of Factor it returns a [NonFiniteError] for a bad entry of b or a solution beyond the range
// of float64, and an [InaccurateError] for a solution whose backward error stayed too large.
func (f *LU) Solve(x, b []float64, k int, form Form) (Solution, error) {
	n := f.a.N
	if f.factors.Data == nil {
		panic("linsolve: Solve before Factor")
	}
	if k < 0 || len(b) != n*k || len(x) != n*k {
		panic("linsolve: right-hand sides or solutions of the wrong length")
	}
	worst, err := Solution{}, f.err
	for c := 0; c < k && err == nil; c++ {
		var s Solution
		s, err = f.solveColumn(x, b, k, c, form)
		worst.ResidualNorm = max(worst.ResidualNorm, s.ResidualNorm)
		worst.Componentwise = max(worst.Componentwise, s.Componentwise)
		worst.Normwise = max(worst.Normwise, s.Normwise)
		worst.ErrorEstimate = max(worst.ErrorEstimate, s.ErrorEstimate)
		worst.Refinements = max(worst.Refinements, s.Refinements)
	}
	if err != nil {
		for i := range x {
			x[i] = math.NaN()
		}
		return Solution{}, err
	}
	return worst, nil
}

// solveColumn solves for column c of b. It works on the equilibrated system A' y = b', where
// A' = R A C, b' = 2^−s R b and x = 2^s C y; all these scalings are exact unless they underflow, and A' has
// entries near 1, so that the products of the residual split without underflow. For the transposed
// system R and C change places.
func (f *LU) solveColumn(x, b []float64, k, c int, form Form) (Solution, error) {
	n := f.a.N
	left, right, norm := f.row, f.col, f.plainNorm
	if form == Transposed {
		left, right, norm = f.col, f.row, f.transposedNorm
	}
	var bNorm float64
	shift := math.MinInt
	for i := range n {
		v := b[i*k+c]
		if v-v != 0 {
			return Solution{}, &NonFiniteError{Where: "b", Row: i, Col: c, Value: v}
		}
		bNorm = max(bNorm, math.Abs(v))
		if v != 0 {
			_, e := math.Frexp(v)
			shift = max(shift, e+left[i])
		}
	}
	if bNorm == 0 {
		for i := range n {
			x[i*k+c] = 0
		}
		return Solution{}, nil
	}
	for i := range n {
		f.b[i] = math.Ldexp(b[i*k+c], left[i]-shift)
	}

	s, backward := f.refine(form)
	if !(backward <= tolerance) {
		return Solution{}, &InaccurateError{Column: c, Backward: backward, Tolerance: tolerance, Solution: s}
	}

	var xNorm, dNorm float64
	for j := range n {
		v := math.Ldexp(f.x[j], right[j]+shift)
		if v-v != 0 {
			return Solution{}, &NonFiniteError{Where: "x", Row: j, Col: c, Value: v}
		}
		x[j*k+c] = v
		xNorm = max(xNorm, math.Abs(v))
		dNorm = max(dNorm, math.Abs(math.Ldexp(f.d[j], right[j]+shift)))
		s.ResidualNorm = max(s.ResidualNorm, math.Abs(math.Ldexp(f.r[j], shift-left[j])))
	}
	s.Normwise = normwise(s.ResidualNorm, norm, xNorm, bNorm)
	if xNorm > 0 {
		s.ErrorEstimate = dNorm / xNorm
	}
	return s, nil
}

// refine solves the equilibrated system for f.b, leaving the solution in f.x, its residual in f.r
// and the correction that was not applied in f.d. It returns the normwise backward error too.
func (f *LU) refine(form Form) (s Solution, backward float64) {
	copy(f.x, f.b)
	f.solveFactors(f.x, form)
	norm := f.scaledNorm
	if form == Transposed {
		norm = f.scaledTransNorm
	}
	bNorm := largest(f.b)
	correction, componentwise := math.Inf(1), math.Inf(1)
	for {
		f.scaled.residual(f.r, f.weight, f.low, f.x, f.b, form)
		before := componentwise
		componentwise = 0
		for i, r := range f.r {
			if r != 0 {
				componentwise = math.Max(componentwise, math.Abs(r)/f.weight[i])
			}
		}
		backward = normwise(largest(f.r), norm, largest(f.x), bNorm)
		copy(f.d, f.r)
		f.solveFactors(f.d, form)
		size := largest(f.d)
		s.Componentwise = componentwise
		if s.Refinements == maxRefinements || !(size <= correction/2 || componentwise <= before/2) || !f.moves() {
			return s, backward
		}
		correction = size
		for i, d := range f.d {
			f.x[i] += d
		}
		s.Refinements++
	}
}

// moves reports whether adding the correction would change the solution.
func (f *LU) moves() bool {
	for i, d := range f.d {
		if f.x[i]+d != f.x[i] {
			return true
		}
	}
	return false
}

// Estimate overwrites v with the solution of A x = v, or of Aᵀ x = v, without refinement and without
// checks: its relative error is about ε·κ of the equilibrated matrix, which is enough to tell the size of x.
// After a refusal by Factor it is NaN.
func (f *LU) Estimate(v []float64, form Form) {
	if f.err != nil {
		for i := range v {
			v[i] = math.NaN()
		}
		return
	}
	f.substitute(v, f.row, f.col, form)
}

// substitute overwrites v with the solution of A x = v, or of Aᵀ x = v, for the row and column scaling
// (exponents of two; nil: none) that leads from A to the factored matrix.
func (f *LU) substitute(v []float64, row, col []int, form Form) {
	if form == Transposed {
		row, col = col, row
	}
	for i, e := range row {
		v[i] = math.Ldexp(v[i], e)
	}
	f.solveFactors(v, form)
	for j, e := range col {
		v[j] = math.Ldexp(v[j], e)
	}
}

// solveFactors solves A' v = v, or A'ᵀ v = v, in place with the factors.
func (f *LU) solveFactors(v []float64, form Form) {
	n := f.a.N
	l := blas64.Triangular{Uplo: blas.Lower, Diag: blas.Unit, N: n, Data: f.factors.Data, Stride: max(1, n)}
	u := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Data: f.factors.Data, Stride: max(1, n)}
	vector := blas64.Vector{N: n, Data: v, Inc: 1}
	if form == Transposed {
		blas64.Trsv(blas.Trans, u, vector)
		blas64.Trsv(blas.Trans, l, vector)
		for k := n - 1; k >= 0; k-- {
			v[k], v[f.pivots[k]] = v[f.pivots[k]], v[k]
		}
		return
	}
	for k, p := range f.pivots {
		v[k], v[p] = v[p], v[k]
	}
	blas64.Trsv(blas.NoTrans, l, vector)
	blas64.Trsv(blas.NoTrans, u, vector)
}

// resize gives every workspace its length, reusing memory.
func (f *LU) resize(n int) {
	if f.factors.Data != nil && f.a.N == n {
		return
	}
	f.scaled = Dense{N: n, Data: make([]float64, n*n)}
	f.factors = blas64.General{Rows: n, Cols: n, Stride: max(1, n), Data: make([]float64, n*n)}
	f.row, f.col, f.pivots = make([]int, n), make([]int, n), make([]int, n)
	vectors := make([]float64, 7*n)
	for i, v := range []*[]float64{&f.x, &f.d, &f.r, &f.weight, &f.low, &f.b, &f.work} {
		*v = vectors[i*n : (i+1)*n : (i+1)*n]
	}
}

// Scaled is what is known of the equilibrated matrix A' = diag(Rows) A diag(Cols), in which equations
// and unknowns are of one size.
type Scaled struct {
	Rows, Cols  []float64 // powers of two
	InverseNorm float64   // an estimate of ‖A'⁻¹‖₁
}

// Scaled returns the scaling of the factored matrix. The slices are new.
func (f *LU) Scaled() Scaled {
	s := Scaled{Rows: make([]float64, len(f.row)), Cols: make([]float64, len(f.col)), InverseNorm: f.cond / f.scaledTransNorm}
	for i := range f.row {
		s.Rows[i], s.Cols[i] = math.Ldexp(1, f.row[i]), math.Ldexp(1, f.col[i])
	}
	return s
}
