// Package program makes chains of programs: x_{j+1} = F(x_j, θ, u[j], j) with an objective J at the end,
// ready for any schedule of package schedule.
//
//	c, err := program.New(spec)                    // transforms and compiles, once for all T, θ and u
//	err = c.Set(steps, params, constants, controls) // evaluates what depends on θ alone
//	err = c.Start(x0)
//	result, err := runner.Run(ctx, c.Sweep(x0, gradient))
//	err = c.Finish(gradient)                       // then c.ParamBar and c.ControlBar hold the derivatives
//
// # What is computed once
//
// A step is split by partial evaluation. Its shared values depend on θ and the constants alone; they are computed by Set, and the step
// reads them. The step is then linearized with respect to the shared values that depend on θ, the state
// and the controls, and its primal part is split again: residuals that depend on shared values alone are computed
// by Set too, and the tape of a step holds the others only (integers and conditions as their bits).
//
// Reverse adds the cotangents of the shared values over the steps T, …, 1, in this order under every schedule; Finish pulls
// the sums back to θ. So the bits of a derivative do not depend on the schedule.
//
// # The end of a chain
//
// If T is known and positive, the last transition is J∘F_T: its output is one number, its cotangent 1. A running term
// Σ L(x_j, θ, u[j], j), j = 0, …, T−1, is one more scalar of the state. If T is 0, or is the first j at which a
// condition on x_j holds, the terminal cotangent is ∇J(x_T). A condition that compares equals is refused: T jumps there.
//
// # Rounding
//
// [NewPerturbed] makes the same chain with every rounded operation moved at random by a unit of its last place, along the trajectory and in its
// reverse. The spread of its values and gradients over some keys is what rounding does to those of the chain, in chaos too.
package program
