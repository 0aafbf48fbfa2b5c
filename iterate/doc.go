// Package iterate differentiates what an iteration really computes: the K-step map θ ↦ z_K(θ) with
// z₀ = z₀(θ) and z_{k+1} = G(z_k, θ), in forward mode, and holds the result against the derivative
// of the exact fixed point and the q^K bounds on the distance between the two.
//
// The K-step derivative is the exact derivative of a finite map. It is never replaced by that of
// the fixed point, however large K is: its status is ITERATES_DIFFERENTIATED.
//
// Source: "Automatic differentiation and computational graphs", K-step iterates and the contraction bounds.
package iterate
