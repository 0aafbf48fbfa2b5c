// Package linsolve solves square linear systems A x = b and Aᵀ x = b and hands back each solution
// with the evidence that it is one: the true residual, the backward errors, the refinement steps.
//
// Three things are kept apart: the operator (what A is: [Dense]), the solver (how systems with A are
// solved: [LU]) and the [Solution] (what is known about the answer). Further operators and solvers
// stand beside these two and keep the same contract, [Solver].
//
// A matrix is judged before it is used. [LU.Factor] refuses a non-finite entry, a singular matrix
// and a condition number beyond 1/ε, each as a typed error that names the place; [LU.Evidence]
// reports the condition numbers, the extreme singular values with the singular vectors of the least
// one, and the determinant, also for a matrix that was refused.
//
// # The dense solver
//
// A is equilibrated by powers of two, A' = R A C, which is exact, and A' = P L U by partial
// pivoting. A solution is refined: the residual r = b − A x is accumulated in twice the working
// precision, A d = r is solved with the factors, x ← x + d, until the correction stops improving.
// For a condition number below 1/ε the refined solution is accurate to about the working precision.
//
// Sources: Higham, Accuracy and Stability of Numerical Algorithms (2002), chapters 7, 9, 12 and 15
// (backward errors, LU, refinement, condition estimation); Ogita, Rump and Oishi, Accurate Sum and Dot
// Product (2005), for the residual; Golub and Kahan (1965) for the singular values.
package linsolve
