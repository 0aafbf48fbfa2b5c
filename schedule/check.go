package schedule

import "fmt"

// ActionError is an action that its machine cannot execute, or a stream that ends too early or too late.
type ActionError struct {
	Index  int // the action's place in the stream, from 0
	Action Action
	Reason string
}

func (e *ActionError) Error() string {
	if e.Action == (Action{}) { // there is none
		return fmt.Sprintf("schedule: after %d actions: %s", e.Index, e.Reason)
	}
	return fmt.Sprintf("schedule: action %d (%v): %s", e.Index, e.Action, e.Reason)
}

// Verify walks a schedule, from its reset, on an abstract machine that holds step numbers instead of states, and returns the counts
// of the walk. It proves that
//
//   - every action finds what it needs: the right live state, a full slot, an empty slot, the tape on top;
//   - the steps are reversed in the order T…1, each recorded and reversed once;
//   - the limits on slots hold at every moment;
//   - at the end nothing is left in a slot and no tape is left, and the stream stays exhausted.
//
// An [Online] schedule is stopped when it arrives at step steps; any other schedule must have as many. Verify takes O(T) memory and
// does not compare the counts with [Schedule.Predict].
func Verify(s Schedule, steps int) (Counts, error) {
	s.Reset()
	online, _ := s.(*Online)
	if online == nil && s.Steps() != steps || online != nil && steps > s.Steps() {
		return Counts{}, fmt.Errorf("%w: a schedule of %d steps for %d", ErrInput, s.Steps(), steps)
	}
	m := machine{
		limits:  s.Limits(),
		before:  none,
		steps:   steps,
		end:     steps,
		replays: make([]int, steps+1),
	}
	if online != nil && steps == 0 && !online.Stopped() {
		online.Stop()
	}
	for index := 0; ; index++ {
		a, ok := s.Next()
		if !ok {
			if err := m.finish(); err != "" {
				return m.counts, &ActionError{index, a, err}
			}
			if again, ok := s.Next(); ok {
				return m.counts, &ActionError{index, again, "follows the end of the stream"}
			}
			return m.counts, nil
		}
		if err := m.do(a); err != "" {
			return m.counts, &ActionError{index, a, err}
		}
		if online != nil && a.Kind == Advance && a.To == steps && !online.Stopped() {
			online.Stop()
		}
	}
}

const none = -1

// machine is the abstract machine. Where it holds nothing it holds none.
type machine struct {
	limits  Limits
	steps   int
	live    int      // state
	before  int      // the state in the work buffer
	slots   [2][]int // state in each slot, in memory and on disk
	tapes   []int    // steps
	end     int      // the cotangent's state
	replays []int    // by step
	held    [2]int   // snapshots in memory and on disk
	later   bool     // the first pass is over
	counts  Counts
}

func (m *machine) do(a Action) (problem string) {
	c := &m.counts
	work := none // what the work buffer holds after this action
	switch a.Kind {
	case Advance, Record, RecordReverse, Reverse:
		if a.From < 0 || a.From >= a.To || a.To > m.steps {
			return "is no range of steps"
		}
		if a.Kind == RecordReverse && a.From != a.To-1 {
			return "goes over several steps"
		}
	case Save, Restore, Move, Free:
		if a.From != a.To {
			return "handles two states"
		}
		if a.Slot < 0 || int(a.Slot) >= m.limits.Slots+m.limits.Disk {
			return fmt.Sprintf("slot outside the %d in memory and %d on disk", m.limits.Slots, m.limits.Disk)
		}
	}
	tier, slot := 0, int(a.Slot)
	if slot >= m.limits.Slots {
		tier, slot = 1, slot-m.limits.Slots
	}
	switch a.Kind {
	case Advance, Save, Record, RecordReverse:
		if m.live != a.From {
			return fmt.Sprintf("live state is x_%d, want x_%d", m.live, a.From)
		}
	}
	switch a.Kind {
	case Save:
		for len(m.slots[tier]) <= slot {
			m.slots[tier] = append(m.slots[tier], none)
		}
		if held := m.slots[tier][slot]; held != none {
			return fmt.Sprintf("slot still holds x_%d", held)
		}
	case Restore, Move, Free:
		if slot >= len(m.slots[tier]) || m.slots[tier][slot] != a.From {
			return "slot does not hold this state"
		}
	}
	switch a.Kind {
	case Record, RecordReverse, Restore, Move:
		m.later = true
	}

	switch a.Kind {
	case Advance:
		if a.To > m.end {
			return fmt.Sprintf("advances beyond x_%d, which is reversed", m.end)
		}
		for j := a.From + 1; j <= a.To; j++ {
			m.replays[j]++
			c.MaxStepReplays = max(c.MaxStepReplays, m.replays[j])
		}
		if m.later {
			c.LaterReplays += int64(a.To - a.From)
		} else {
			c.FirstPass += int64(a.To - a.From)
		}
		m.live, work = a.To, a.To-1
	case Back:
		if m.before != a.From {
			return fmt.Sprintf("work buffer holds x_%d, want x_%d", m.before, a.From)
		}
		m.live = a.From
	case Save:
		m.slots[tier][slot] = a.From
		m.held[tier]++
		c.PeakSlots, c.PeakDisk = max(c.PeakSlots, m.held[0]), max(c.PeakDisk, m.held[1])
		c.Writes += int64(1 - tier)
		c.DiskWrites += int64(tier)
	case Restore, Move:
		m.live = a.From
		c.Reads += int64(1 - tier)
		c.DiskReads += int64(tier)
	}
	switch a.Kind {
	case Move, Free:
		m.slots[tier][slot] = none
		m.held[tier]--
	case RecordReverse, Record:
		for j := a.From + 1; j <= a.To; j++ {
			m.tapes = append(m.tapes, j)
		}
		c.Records += int64(a.To - a.From)
		c.PeakTapes = max(c.PeakTapes, len(m.tapes))
		m.live = a.To
	}
	switch a.Kind {
	case RecordReverse, Reverse:
		for j := a.To; j > a.From; j-- {
			if m.end != j {
				return fmt.Sprintf("cotangent is at x_%d, want x_%d", m.end, j)
			}
			top := len(m.tapes) - 1
			if top < 0 || m.tapes[top] != j {
				return fmt.Sprintf("tape of step %d is not on top", j)
			}
			m.tapes = m.tapes[:top]
			m.end--
			c.Reverses++
		}
		m.live = none
	}
	m.before = work
	return ""
}

func (m *machine) finish() (problem string) {
	switch {
	case m.end != 0:
		return fmt.Sprintf("the stream ends with the cotangent at x_%d", m.end)
	case m.held != [2]int{}:
		return fmt.Sprintf("the stream ends with %d snapshots in memory and %d on disk", m.held[0], m.held[1])
	case len(m.tapes) > 0:
		return fmt.Sprintf("the stream ends with the tape of step %d", m.tapes[0])
	}
	return ""
}
