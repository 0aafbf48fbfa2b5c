package bounds

import "math"

// Floor is the part of a measured error that rounding explains. It follows one iteration, step by
// step.
//
// Let the computed iterates satisfy ẑ_{k+1} = G(ẑ_k) + ρ_k with ‖ρ_k‖ ≤ η_k, and let the error be
// measured against a computed ẑ* with ‖ẑ* − z*‖ ≤ ω. In the contraction, with δ₀ measured as ‖ẑ₀ − ẑ*‖,
//
//	‖ẑ_K − ẑ*‖ ≤ q^K δ₀ + f_K + (1 + q^K) ω,   f_K = Σ_{k<K} q^(K−1−k) η_k,
//
// that is f₀ = 0, f_{k+1} = q f_k + η_k. The computed derivatives satisfy
// ê_{k+1} = G_z(ẑ_k) ê_k + G_θ(ẑ_k) + ρ'_k with ‖ρ'_k‖ ≤ η'_k. Subtract s* = G_z(z*) s* + G_θ(z*):
//
//	‖ê_{k+1} − s*‖ ≤ q ‖ê_k − s*‖ + C ‖ẑ_k − z*‖ + η'_k,
//
// and insert ‖ẑ_k − z*‖ ≤ q^k (δ₀ + ω) + f_k. With ŝ*, ‖ŝ* − s*‖ ≤ ω', and d₀ measured as ‖ê₀ − ŝ*‖,
//
//	‖ê_K − ŝ*‖ ≤ q^K d₀ + C K q^(K−1) δ₀ + g_K + (1 + q^K) ω' + C K q^(K−1) ω,
//
// where g₀ = 0, g_{k+1} = q g_k + C f_k + η'_k. C must hold for the exact s*: compute it with
// ‖ŝ*‖ + ω'. The iterates and ẑ* must lie in D.
type Floor struct {
	q, c, omega, omegaS float64
	steps               int
	f, g                float64
}

// NewFloor starts the recursion at K = 0 with the contraction factor, the constant C, and the errors
// ω of z* and ω' of s*.
func NewFloor(q, C, omega, omegaS float64) (*Floor, error) {
	if err := first(contraction(q), size("C", C), size("ω", omega), size("ω'", omegaS)); err != nil {
		return nil, err
	}
	return &Floor{q: q, c: C, omega: omega, omegaS: omegaS}, nil
}

// Step goes from K to K + 1: eta and etaS bound the rounding errors of that step in the state and
// in its derivative.
func (f *Floor) Step(eta, etaS float64) error {
	if !(eta >= 0 && eta <= math.MaxFloat64 && etaS >= 0 && etaS <= math.MaxFloat64) {
		return first(size("η", eta), size("η'", etaS))
	}
	f.g = float64(f.q*f.g) + float64(f.c*f.f) + etaS
	f.f = float64(f.q*f.f) + eta
	f.steps++
	return nil
}

// State returns f_K + (1 + q^K) ω.
func (f *Floor) State() float64 {
	return f.f + f.omega + geometric(f.q, f.steps, f.omega)
}

// Sensitivity returns g_K + (1 + q^K) ω' + C K q^(K−1) ω.
func (f *Floor) Sensitivity() float64 {
	s := f.g + f.omegaS + geometric(f.q, f.steps, f.omegaS)
	if f.steps > 0 {
		s += geometric(f.q, f.steps-1, float64(f.steps), f.c, f.omega)
	}
	return s
}
