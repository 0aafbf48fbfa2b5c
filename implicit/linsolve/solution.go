package linsolve

import (
	"fmt"
	"math"
)

// Epsilon is the distance from 1 to the next float64, 2⁻⁵².
const Epsilon = 0x1p-52

// Solver solves systems with one matrix A.
type Solver interface {
	// Dim returns n.
	Dim() int
	// Solve sets x to the solutions of A x = b, or of Aᵀ x = b, for k right-hand sides. b and x are
	// n×k in row-major order (right-hand side c is column c) and may be the same slice. On an error x
	// is filled with NaN.
	Solve(x, b []float64, k int, form Form) (Solution, error)
}

// Solution is the evidence for a solution of A x = b: for each quantity the worst over the
// right-hand sides. Residuals are those of the returned x, accumulated in twice the working
// precision. For Aᵀ x = b read Aᵀ in place of A.
type Solution struct {
	// ResidualNorm is ‖b − A x‖∞.
	ResidualNorm float64
	// Componentwise is the least ω such that (A + E) x = b + f with |E| ≤ ω|A|, |f| ≤ ω|b|:
	// max_i |b − A x|_i / (|A||x| + |b|)_i (Oettli and Prager).
	Componentwise float64
	// Normwise is the least η such that (A + E) x = b + f with ‖E‖ ≤ η‖A‖, ‖f‖ ≤ η‖b‖:
	// ‖b − A x‖ / (‖A‖‖x‖ + ‖b‖) in the ∞-norm (Rigal and Gaches).
	Normwise float64
	// ErrorEstimate is ‖d‖∞/‖x‖∞ for the correction d that was not worth applying any more: an
	// estimate of the relative error of x.
	ErrorEstimate float64
	// Refinements is the number of corrections applied.
	Refinements int
}

// NonFiniteError refuses a NaN or an infinity.
type NonFiniteError struct {
	Where    string // "A", "b" or "x"
	Row, Col int
	Value    float64
}

func (e *NonFiniteError) Error() string {
	text := fmt.Sprintf("linsolve: %s[%d,%d] is %v", e.Where, e.Row, e.Col, e.Value)
	if e.Where == "x" {
		return text + ": the solution is too large for float64; rescale the unknowns or the right-hand side"
	}
	return text + ": find the operation that produced it"
}

// SingularError refuses a matrix in which elimination met a zero or non-finite pivot.
type SingularError struct {
	Pivot     int     // step of the elimination
	Value     float64 // the pivot
	Equations []int   // rows that are linearly dependent, the strongest first
	Unknowns  []int   // columns that are linearly dependent, the strongest first
}

func (e *SingularError) Error() string {
	return fmt.Sprintf("linsolve: the matrix is singular: pivot %d is %v; equations %v depend on each other in unknowns %v: remove or change one of them",
		e.Pivot, e.Value, e.Equations, e.Unknowns)
}

// IllConditionedError refuses a matrix that is singular to working precision.
type IllConditionedError struct {
	Condition float64 // 1-norm condition of the equilibrated matrix, beyond 1/ε
	Equations []int   // rows that nearly depend on each other, the strongest first
	Unknowns  []int   // columns that nearly depend on each other, the strongest first
}

func (e *IllConditionedError) Error() string {
	return fmt.Sprintf("linsolve: the matrix is singular to working precision: condition %.3g after scaling; equations %v nearly depend on each other in unknowns %v: reformulate them, or move away from the singular point",
		e.Condition, e.Equations, e.Unknowns)
}

// InaccurateError refuses a solution whose backward error refinement could not bring down.
type InaccurateError struct {
	Column    int      // the right-hand side
	Backward  float64  // normwise backward error of the equilibrated system
	Tolerance float64  // what it had to reach
	Solution  Solution // evidence for the refused solution
}

func (e *InaccurateError) Error() string {
	return fmt.Sprintf("linsolve: backward error %.3g of right-hand side %d stays above %.3g after %d refinements: elimination lost too much accuracy; reorder the equations or reduce the condition of the matrix",
		e.Backward, e.Column, e.Tolerance, e.Solution.Refinements)
}

// normwise returns r/(a·x + b) for non-negative norms without overflow or underflow on the way.
func normwise(r, a, x, b float64) float64 {
	if r == 0 {
		return 0
	}
	fa, ea := math.Frexp(a)
	fx, ex := math.Frexp(x)
	_, eb := math.Frexp(b)
	scale := eb
	if ax := fa * fx; ax != 0 && (b == 0 || ea+ex > eb) {
		scale = ea + ex
	}
	return math.Ldexp(r, -scale) / (math.Ldexp(fa*fx, ea+ex-scale) + math.Ldexp(b, -scale))
}
