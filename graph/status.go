package graph

import (
	"errors"
	"fmt"
)

// Status says how a computation ended. Only OK and IteratesDifferentiated come with a derivative;
// every other status is a refusal, and its row carries the reason.
type Status string

const (
	// OK marks a value, or a derivative of the exact branch, with its evidence.
	OK Status = "OK"
	// IteratesDifferentiated marks the derivative of a K-step map, which is not the derivative of its limit.
	IteratesDifferentiated Status = "ITERATES_DIFFERENTIATED"
	// DomainError marks an operand outside the real domain of a primitive.
	DomainError Status = "DOMAIN_ERROR"
	// Nondifferentiable marks a branch boundary, where no derivative is chosen.
	Nondifferentiable Status = "NONDIFFERENTIABLE"
	// NonFinite marks an operation inside its domain whose floating-point result is not finite.
	NonFinite Status = "NON_FINITE"
	// NotConverged marks a solve whose iteration did not reach its tolerance.
	NotConverged Status = "NOT_CONVERGED"
	// SingularStateJacobian marks a root at which R_z is singular, or singular within the root's own uncertainty.
	SingularStateJacobian Status = "SINGULAR_STATE_JACOBIAN"
	// AdjointNotConverged marks an adjoint solve whose true residual is too large.
	AdjointNotConverged Status = "ADJOINT_NOT_CONVERGED"
	// ScheduleFailure marks a checkpoint schedule that cannot reverse the chain.
	ScheduleFailure Status = "SCHEDULE_FAILURE"
	// OutOfBudget marks work that would exceed a stated budget.
	OutOfBudget Status = "OUT_OF_BUDGET"
	// Cancelled marks work that was interrupted.
	Cancelled Status = "CANCELLED"
)

// Failure is a refusal with its place: the operation that failed, its first failing entry, and
// the formula that the operation came from.
type Failure struct {
	Status Status
	Op     string // the operation, or "" when no operation is to blame
	Name   string // the value's name in the program, or "" for one that only its formula names
	Entry  []int  // index of the lowest failing entry; empty for a scalar
	Origin string // the formula that the operation was lowered from
	Reason string // what is wrong, and what to try
}

func (f *Failure) Error() string {
	text := string(f.Status) + ": "
	if f.Origin != "" {
		text += f.Origin + ": "
	}
	if place := f.place(); place != "" {
		text += place + ": "
	}
	return text + f.Reason
}

// place names the value and the entry, as far as they have names.
func (f *Failure) place() string {
	switch {
	case len(f.Entry) == 0:
		return f.Name
	case f.Name == "":
		return "entry " + fmt.Sprint(f.Entry)
	}
	return f.Name + fmt.Sprint(f.Entry)
}

// Within prefixes the reason of a failure with where it happened, such as "step 3". Other errors pass.
func Within(where string, err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	g.Reason = where + ": " + g.Reason
	return &g
}
