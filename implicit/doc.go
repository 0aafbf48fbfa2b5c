// Package implicit differentiates through equations: the exact solution branch z = φ(θ) of
// R(z, θ) = 0, its sensitivity
//
//	S = dφ/dθ = −R_z⁻¹ R_θ,
//
// and the gradient of an objective J(z, θ) along the branch by one adjoint solve,
//
//	R_zᵀ λ = J_zᵀ,   dJ/dθ = J_θ − λᵀ R_θ.
//
// These are derivatives of the exact branch. The derivative of a stopped iteration is another
// object; package iterate has it.
//
// Every answer comes with evidence, and where the evidence does not carry it the answer is a
// refusal (*graph.Failure) with a status, a reason and no derivative: a solve that did not
// converge, a state Jacobian that is singular or could be within the root's own uncertainty, a
// branch boundary, a domain violation.
//
// Source: "Automatic differentiation and computational graphs", implicit sensitivity.
package implicit
