// Package schedule reverses long chains of transitions while keeping few states.
//
// A chain is x_j = F_j(x_{j−1}), j = 1…T. Given x_0 and a terminal cotangent x̄_T, a reverse sweep
// returns x_T and x̄_0 = DF_1ᵀ ⋯ DF_Tᵀ x̄_T. Reversing step j needs x_{j−1}, and keeping all states of
// a long simulation is often impossible: a checkpoint schedule keeps some and recomputes the others.
//
// The package has three parts that know nothing of one another:
//
//   - a [Chain] is a simulation: it advances, records and reverses single steps on buffers that belong
//     to the caller;
//   - a [Schedule] is data: a stream of [Action] values, made one at a time and independent of any chain
//     ([StoreAll], [Uniform], [UniformTape], [Binomial], [Revolve], [Online], [TwoTier]);
//   - a [Runner] executes any schedule on any chain from a fixed pool of buffers, counts its own work,
//     and returns a [Result] whose [Certificate] holds the counts against their formulas.
//
// [Verify] walks a schedule on an abstract machine, without a chain, and proves that it is sound.
// [Plan] picks a schedule for a byte budget.
//
// # Words
//
// To record a step is to evaluate it once and keep what its reverse rule reads (its tape); to replay it is to
// evaluate it without a tape. A snapshot is a saved state, a slot the place that holds one. The number d of
// slots includes the snapshot of x_0; it excludes the live state, the cotangent and the tape.
// The replays of a schedule are all its unrecorded evaluations: those before its first record or restore (the first
// pass) and those after it (the later replays). With T records and T reverses, they are its whole work.
//
// The uniform-block and binomial modes, and the theorem about their counts, follow the document
// "Automatic differentiation and computational graphs".
package schedule
