// Package exec compiles a program into an executable that runs without allocation and equals the
// reference evaluator, graph.Eval, bit for bit.
//
//	e, err := exec.Compile(p, exec.Options{})
//	ws := e.NewWorkspace()                  // one for each goroutine; it owns the arena
//	err = e.Run(ws, inputs, outputs)        // flat buffers owned by the caller
//
// # How a program runs
//
// Values of one entry are registers of a flat list of scalar instructions, in which short trees of
// sums, differences and products are single instructions, and four of the same kind on registers side
// by side are one too. A call of a program of scalars costs little more than the copies of its inputs
// and outputs. Elementwise operations on arrays of one length join into groups, which run tile by
// tile: what only the group reads lives in tiles that stay in the first cache. Everything else is one
// instruction: a move, a reduction, a product, a gather. Arrays live in one arena, in which space is
// reused as soon as its last reader has run; outputs are written where the caller wants them, and
// inputs are read where they are, so that the residuals of a primal program reach its linear part
// without a copy:
//
//	primal.Run(ws, x, buffers)                       // outputs, then residuals
//	linear.Run(wl, append(residuals, dx...), dy)     // reads the very same buffers
//
// # Lanes
//
// A linear program runs on p directions at once with RunLanes. Residuals are shared. The layout of
// everything linear is entry-major: entry i of lane l is element i·p + l, so that a matrix of p
// tangent columns is an ordinary row-major matrix, and a product whose right operand is linear is
// one matrix product over all lanes. A few lanes of a program of scalars run four at a time, side by
// side in registers. The bits of a lane are those of a run on that lane alone.
//
// # Checks
//
// A failing check raises a sticky flag, nothing more; a run that ends with a raised flag is repeated
// from its inputs by the reference evaluator, which names the first failing operation and its lowest
// entry. A flag is not spent where it would be raised anyway: a sum or product of something that is
// not finite is not finite, so that only the last of such a chain is looked at.
package exec
