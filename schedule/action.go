package schedule

import (
	"errors"
	"fmt"
	"math"
)

// MaxSteps is the largest number of steps of a schedule. With it, no count can overflow an int64.
const MaxSteps = math.MaxInt32

// Kind says what an action does.
type Kind uint8

// The machine on which actions work has one live state, numbered slots for snapshots, a stack of tapes and one
// cotangent. It starts with x_0 live and the cotangent at T, and ends with the cotangent at 0 and all slots empty.
const (
	// Advance evaluates steps From+1…To without recording: live x_From becomes x_To.
	Advance Kind = iota
	// Save copies the live state x_From into an empty slot.
	Save
	// Restore copies x_From from its slot, which keeps it, into the live state.
	Restore
	// Move restores x_From and empties its slot.
	Move
	// Free empties the slot that holds x_From.
	Free
	// Back makes x_From live again directly after an advance that ended with step From+1: the state before the
	// last step is still in the work buffer.
	Back
	// RecordReverse records step To, applies its reverse rule at once and drops its tape and the live state: the
	// cotangent goes from To to From = To−1.
	RecordReverse
	// Record records steps From+1…To and keeps their tapes: live x_From becomes x_To.
	Record
	// Reverse applies the reverse rules of steps To…From+1, whose tapes are the last ones kept, and drops these tapes.
	Reverse
)

var kindNames = [...]string{"advance", "save", "restore", "move", "free", "back", "record-and-reverse", "record", "reverse"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Action is one instruction of a schedule. Those that evaluate steps go from state x_From to x_To; those that handle
// one state have From = To. Slots are numbered from 0, those in memory first, then those on disk.
type Action struct {
	Kind     Kind
	Slot     int32 // for Save, Restore, Move, Free
	From, To int
}

func (a Action) String() string {
	switch a.Kind {
	case Save, Restore, Move, Free:
		return fmt.Sprintf("%v x_%d, slot %d", a.Kind, a.From, a.Slot)
	case Back:
		return fmt.Sprintf("%v to x_%d", a.Kind, a.From)
	default:
		return fmt.Sprintf("%v %d→%d", a.Kind, a.From, a.To)
	}
}

// Schedule is a stream of actions that reverses a chain, and what is known of it in advance. The stream is made lazily and
// without allocation; it knows nothing of the chain that it will reverse.
type Schedule interface {
	// Name is the method's name, such as "binomial".
	Name() string
	// Steps returns T. An [Online] schedule returns its limit until it has been stopped.
	Steps() int
	// Limits returns what the schedule promises not to exceed.
	Limits() Limits
	// Predict returns the counts of the whole stream by formula, without making it. An [Online] schedule
	// can do so only after it has been stopped.
	Predict() Counts
	// Next returns the next action, or false at the end.
	Next() (Action, bool)
	// Reset starts the stream again.
	Reset()
	// RecordBytes returns the size of the schedule's own records: frames, lists and tables.
	RecordBytes() int64
}

// Limits are the budgets of a schedule.
type Limits struct {
	Slots  int // d: most snapshots in memory
	Disk   int // most snapshots on disk
	Budget int // t: most replays of any one step; −1 where the method has no such budget
}

// ErrInput is wrapped by every error about an impossible number of steps, slots or replays.
var ErrInput = errors.New("schedule: invalid input")

// InfeasibleError reports budgets d and t with T > C(d, t).
type InfeasibleError struct {
	Steps, Slots, Budget int
	LeastSlots           int // the least d for this t; −1 if none
	LeastBudget          int // the least t for this d; −1 if none
}

func (e *InfeasibleError) Error() string {
	text := fmt.Sprintf("schedule: %d steps exceed C(%d, %d) = %d", e.Steps, e.Slots, e.Budget, Capacity(e.Slots, e.Budget, MaxSteps))
	if e.LeastBudget >= 0 {
		text += fmt.Sprintf("; with %d slots the least budget is t = %d", e.Slots, e.LeastBudget)
	}
	if e.LeastSlots >= 0 {
		text += fmt.Sprintf("; with t = %d the least number of slots is d = %d", e.Budget, e.LeastSlots)
	}
	if e.LeastBudget < 0 && e.LeastSlots < 0 {
		text += "; two or more steps need d ≥ 1 and t ≥ 1"
	}
	return text
}

// Unwrap returns [ErrInput].
func (e *InfeasibleError) Unwrap() error { return ErrInput }

func checkSteps(steps int) error {
	if steps < 0 || steps > MaxSteps {
		return fmt.Errorf("%w: %d steps, want 0 to %d", ErrInput, steps, MaxSteps)
	}
	return nil
}

// checkSlots refuses numbers of slots with which more than one step cannot be reversed.
func checkSlots(steps, slots int) error {
	if err := checkSteps(steps); err != nil {
		return err
	}
	if slots < 0 || slots == 0 && steps > 1 {
		return fmt.Errorf("%w: %d slots for %d steps, want at least 1", ErrInput, slots, steps)
	}
	if slots > MaxSteps {
		return fmt.Errorf("%w: %d slots, want at most %d", ErrInput, slots, MaxSteps)
	}
	return nil
}
