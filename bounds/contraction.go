package bounds

import (
	"fmt"
	"math"
)

// HypothesisError says that a number does not satisfy the hypothesis of a theorem.
type HypothesisError struct {
	Name  string  // as in the formula, such as "q"
	Value float64 //
	Want  string  // the hypothesis
}

func (e *HypothesisError) Error() string {
	text := fmt.Sprintf("bounds: %s = %v, want %s", e.Name, e.Value, e.Want)
	if e.Name == "q" {
		text += ": the bound does not apply; try another norm or a smaller domain"
	}
	return text
}

// size requires v to be a finite non-negative number.
func size(name string, v float64) error {
	if v >= 0 && v <= math.MaxFloat64 {
		return nil
	}
	return &HypothesisError{name, v, "a finite number ≥ 0"}
}

func contraction(q float64) error {
	if q >= 0 && q < 1 {
		return nil
	}
	return &HypothesisError{"q", q, "0 ≤ q < 1"}
}

func steps(k int) error {
	if k >= 0 {
		return nil
	}
	return &HypothesisError{"K", float64(k), "K ≥ 0"}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// StateBound returns q^K δ₀, a bound of ‖z_K − z*‖ under the hypotheses of the package comment. At
// K = 0 it is δ₀.
func StateBound(q, delta0 float64, K int) (float64, error) {
	if err := first(contraction(q), size("δ₀", delta0), steps(K)); err != nil {
		return math.NaN(), err
	}
	return geometric(q, K, delta0), nil
}

// SensitivityConstant returns C = L_z‖s*‖ + L_θ.
func SensitivityConstant(Lz, sNorm, Ltheta float64) (float64, error) {
	if err := first(size("L_z", Lz), size("‖s*‖", sNorm), size("L_θ", Ltheta)); err != nil {
		return math.NaN(), err
	}
	return float64(Lz*sNorm) + Ltheta, nil
}

// SensitivityBound returns q^K d₀ + C K q^(K−1) δ₀, a bound of ‖e_K − s*‖ under the hypotheses of
// the package comment. At K = 0 it is d₀; q⁰ = 1 also for q = 0. The second term grows until
// K = −1/ln q: early growth is no failure; see [Hump].
func SensitivityBound(q, C, delta0, d0 float64, K int) (float64, error) {
	if err := first(contraction(q), size("C", C), size("δ₀", delta0), size("d₀", d0), steps(K)); err != nil {
		return math.NaN(), err
	}
	if K == 0 {
		return d0, nil
	}
	return geometric(q, K, d0) + geometric(q, K-1, float64(K), C, delta0), nil
}

// Hump returns −1/ln q, the real K at which K q^(K−1) is largest. For q = 0 it is 0.
func Hump(q float64) (float64, error) {
	if err := contraction(q); err != nil {
		return math.NaN(), err
	}
	return -1 / math.Log(q), nil
}

// ResidualBound returns ‖r_K‖/(1 − q), a bound of ‖z_K − z*‖ for r_K = z_K − G(z_K, θ₀) under the
// hypotheses of the package comment. It says nothing about the derivative.
func ResidualBound(q, residual float64) (float64, error) {
	if err := first(contraction(q), size("‖r_K‖", residual)); err != nil {
		return math.NaN(), err
	}
	return residual / (1 - q), nil
}

// InexactStateBound returns κ(M² L_A B₀ + M L_B)‖r‖, a bound of ‖S(z̃) − S(z*)‖ for the implicit
// sensitivity S = −A⁻¹B, A = R_z, B = R_θ, at a state z̃ with residual r = R(z̃, θ₀).
//
// Hypotheses: R is twice continuously differentiable near the exact solution z*, A(z*) is
// invertible; the local inverse Ψ of z ↦ R(z, θ₀) is defined on a convex neighbourhood of 0 and r,
// with ‖DΨ‖ ≤ κ on their segment; the segment from z* to z̃ = Ψ(r) lies in a convex set in which
// ‖A⁻¹‖ ≤ M, ‖B‖ ≤ B₀ and A, B are Lipschitz with constants L_A, L_B.
//
// It does not bound the derivative of a stopped iteration.
func InexactStateBound(kappa, M, LA, B0, LB, residual float64) (float64, error) {
	if err := first(size("κ", kappa), size("M", M), size("L_A", LA), size("B₀", B0), size("L_B", LB), size("‖r‖", residual)); err != nil {
		return math.NaN(), err
	}
	return scaledOf(kappa).times(M, M, LA, B0, residual) + scaledOf(kappa).times(M, LB, residual), nil
}
