// Package bounds holds the theorems on the error of iterates and their derivatives as functions,
// the norms and balls in which they are stated, estimates of their constants, and the verdicts on
// a measured error.
//
// # Contraction
//
// Let z* = G(z*, θ₀), D a convex neighbourhood of z* with G(D, θ₀) ⊂ D, G twice continuously
// differentiable near D×{θ₀}, ‖G_z‖ ≤ q < 1 on D, and G_z, G_θ Lipschitz in z on D with constants
// L_z, L_θ. Let z_{k+1} = G(z_k, θ) with all iterates in D, e_k = dz_k/dθ, s* the derivative of the
// exact fixed point, δ₀ = ‖z₀ − z*‖, d₀ = ‖e₀ − s*‖ and C = L_z‖s*‖ + L_θ. Then
//
//	‖z_K − z*‖ ≤ q^K δ₀                           StateBound
//	‖e_K − s*‖ ≤ q^K d₀ + C K q^(K−1) δ₀          SensitivityBound
//	‖z_K − z*‖ ≤ ‖z_K − G(z_K, θ₀)‖/(1 − q)       ResidualBound
//
// The residual does not bound the derivative: for G = qz + (1−q)θ, θ₀ = 0, z₀ = 0 the residual is 0
// at every K and e_K = 1 − q^K, s* = 1.
//
// One norm of the state, the matrix norm it induces, and a norm of the same kind on θ serve all of
// q, L_z, L_θ, δ₀ and d₀: the norm is part of the claim; see [Norm].
//
// # Floating point
//
// Computed iterates carry rounding errors, and the bounds can hold with equality; a measured error
// is therefore compared with bound + floor; see [Floor] and [Judge]. The functions here evaluate
// their formula to within a few units in the last place, without overflow or underflow on the way.
//
// # Estimates
//
// q, L_z and L_θ are suprema. [EstimateSup], [EstimateContraction] and [EstimateLipschitz] search
// for them, and what a search finds is a lower estimate with a witness: it can refute a claim, never
// prove one.
//
// Sources: "Automatic differentiation and computational graphs" for the contraction and
// inexact-state bounds; "LensIR: Compositional Reverse Semantics for a Typed Tensor Fragment",
// Lemma 5.3, for sequential errors.
package bounds
