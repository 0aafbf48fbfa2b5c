package schedule

import "fmt"

// Chain is a sequence of deterministic transitions x_j = F_j(x_{j−1}), j = 1…T, each with its reverse
// rule. It need not come from a formula: any simulation with an adjoint can be one.
//
// Every slice belongs to the caller and is valid during the call only. Input slices must not be written,
// output slices must be written in full (their content on entry is undefined), and the two never overlap. Record must compute
// the same bits as Advance, and both must compute the same bits whenever they are called with the same j and x: a
// state holds everything that the next step reads except j and what never changes during a sweep.
//
// Cotangents of parameters, and of controls that belong to one step, are the chain's own business: Reverse is called exactly
// once for each step, in the order T, T−1, …, 1 under every schedule, and adds to buffers that the chain's owner
// provides and clears. Their bits therefore do not depend on the schedule.
//
// To differentiate a scalar objective J(x_T), either make J∘F_T the last transition, so that StateLen(T) is 1
// and the terminal cotangent is [1], or supply ∇J(x_T) as the terminal cotangent (see [Sweep]).
type Chain interface {
	// StateLen returns the number of entries of x_j, 0 ≤ j ≤ T.
	StateLen(j int) int
	// TapeLen returns the number of entries of the tape of step j, 1 ≤ j ≤ T.
	TapeLen(j int) int
	// Advance sets next = F_j(x).
	Advance(j int, x, next []float64) error
	// Record sets next = F_j(x) and fills the tape with what Reverse reads.
	Record(j int, x, next, tape []float64) error
	// Reverse sets before = DF_j(x_{j−1})ᵀ after, where after is the cotangent of x_j, and adds the step's share to the
	// chain's own parameter cotangents.
	Reverse(j int, tape, after, before []float64) error
}

// Shortcuts is a [Chain] that can do at once what a sweep does step by step, with the same bits. A runner without instruments takes
// them where all states have one length, but not for the last step. After an error of one it does the same step by step.
type Shortcuts interface {
	Chain
	// Stride returns the number of steps of AdvanceStride: an odd number, so that a stride leads from one of two buffers to the other as a
	// step does; or 0 if there are no strides.
	Stride() int
	// AdvanceStride sets next to x_{j+Stride−1}, given x = x_{j−1}.
	AdvanceStride(j int, x, next []float64) error
	// RecordReverse is Record and Reverse of a step whose result nobody wants, without the tape between them. It may always be an error.
	RecordReverse(j int, x, after, before []float64) error
}

// StepError is an error of one step of a chain, or of the disk snapshot of its result.
type StepError struct {
	Step int    // j in x_j = F_j(x_{j−1})
	Call string // "advance", "record", "reverse", "save to disk", …
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("schedule: step %d: %s: %v", e.Step, e.Call, e.Err)
}

// Unwrap returns the chain's own error.
func (e *StepError) Unwrap() error { return e.Err }
