package schedule

import "unsafe"

// Revolve is the schedule of Griewank and Walther (Algorithm 799, 2000): no schedule with d slots replays less, and among
// those that replay as little none saves fewer snapshots. It replays [Optimal](T, d) times, no step more than the least t with
// T ≤ C(d, t), and saves [FewestWrites](T, d) snapshots.
type Revolve struct {
	steps, slots int
	reverser
}

// NewRevolve returns the optimal schedule for d = slots, d ≥ 1 unless T ≤ 1.
func NewRevolve(steps, slots int) (*Revolve, error) {
	if err := checkSlots(steps, slots); err != nil {
		return nil, err
	}
	s := &Revolve{steps: steps, slots: slots}
	s.reverser.slots = revolveSlots(steps, slots)
	s.Reset()
	return s, nil
}

func (s *Revolve) Name() string { return "revolve" }
func (s *Revolve) Steps() int   { return s.steps }
func (s *Revolve) Limits() Limits {
	return Limits{Slots: s.slots, Budget: LeastBudget(s.steps, s.slots)}
}

func (s *Revolve) Reset() {
	s.empty()
	s.start(0, s.steps)
}

func (s *Revolve) RecordBytes() int64 { return reverserBytes(revolveSlots(s.steps, s.slots)) }

// revolveSlots returns the peak of snapshots in memory.
func revolveSlots(steps, slots int) int { return min(slots, max(steps-1, 0)) }

// Predict returns the counts. The peak is min(d, T−1), because the optimum with one slot less is larger below that.
func (s *Revolve) Predict() Counts { return revolveCounts(s.steps, s.slots) }

func revolveCounts(steps, slots int) Counts {
	if steps == 0 {
		return Counts{}
	}
	return Counts{
		FirstPass:      int64(steps - 1),
		LaterReplays:   Optimal(steps, slots) - int64(steps-1),
		Records:        int64(steps),
		Reverses:       int64(steps),
		Writes:         FewestWrites(steps, slots),
		Reads:          int64(steps - 1),
		MaxStepReplays: LeastBudget(steps, slots),
		PeakSlots:      revolveSlots(steps, slots),
		PeakTapes:      1,
	}
}

// split returns Algorithm 799's number of steps to advance from a snapshot from which n ≥ 2 steps are to be reversed with d ≥ 1
// slots, that of the snapshot included.
func split(n, d int) int {
	switch {
	case d == 1 || n == 2:
		return n - 1
	case d >= n-1:
		return 1
	}
	t, c1 := leastBudget(n, d)       // c1 = C(d, t−1), t ≥ 2
	c2 := c1 * (t - 1) / (d + t - 1) // C(d, t−2)
	r1 := c1 - c2                    // C(d−1, t−1)
	r2 := r1 * (d - 1) / (d + t - 2) // C(d−2, t−1)
	switch {
	case n <= c1+r2:
		return c2
	case n < c1+r1+r2:
		return n - r1 - r2
	default:
		return c1
	}
}

// reverser makes the actions that reverse the steps up to end from the snapshots in frames. It has no other memory: the
// snapshot on top serves the steps between it and end, with its own slot and the free ones. So it can start from any set of
// snapshots, such as those that [Online] has placed. Its lists grow to the number of slots and keep their room.
type reverser struct {
	frames []snapshot // by position, ascending
	free   []int32    // empty slots that were used before, the next one last
	fresh  int        // slots from this one on were never used
	slots  int
	end    int // the step to reverse next
	live   int // the live state
	phase  int
}

type snapshot struct {
	at   int // x_at
	slot int32
}

const (
	reverserArrive = iota // x_live is live and in no slot
	reverserSplit         // the snapshot on top is live
	reverserReturn        // nothing is live
)

// empty empties all slots.
func (r *reverser) empty() { r.frames, r.free, r.fresh = r.frames[:0], r.free[:0], 0 }

// available returns the number of empty slots.
func (r *reverser) available() int { return r.slots - r.fresh + len(r.free) }

// take returns an empty slot. There must be one.
func (r *reverser) take() int32 {
	top := len(r.free) - 1
	if top < 0 {
		r.fresh++
		return int32(r.fresh - 1)
	}
	slot := r.free[top]
	r.free = r.free[:top]
	return slot
}

// reverserBytes returns the size of the lists of a reverser with n slots.
func reverserBytes(n int) int64 {
	return int64(n) * int64(unsafe.Sizeof(snapshot{})+unsafe.Sizeof(int32(0)))
}

// start reverses steps from+1 to end, where x_from is live and all slots are empty.
func (r *reverser) start(from, end int) {
	r.live, r.end, r.phase = from, end, reverserArrive
	if from == end {
		r.phase = reverserReturn
	}
}

// Next returns the next action.
func (r *reverser) Next() (Action, bool) {
	top := len(r.frames) - 1
	switch r.phase {
	case reverserArrive:
		if r.end-r.live == 1 {
			r.phase = reverserReturn
			r.end = r.live
			return Action{RecordReverse, 0, r.live, r.live + 1}, true
		}
		slot := r.take()
		r.frames = append(r.frames, snapshot{r.live, slot})
		r.phase = reverserSplit
		return Action{Save, slot, r.live, r.live}, true
	case reverserSplit:
		from := r.frames[top].at
		r.live = from + split(r.end-from, r.available()+1)
		r.phase = reverserArrive
		return Action{Advance, 0, from, r.live}, true
	}
	if top < 0 {
		return Action{}, false
	}
	s := r.frames[top]
	if r.end-s.at >= 2 {
		r.phase = reverserSplit
		return Action{Restore, s.slot, s.at, s.at}, true
	}
	r.frames = r.frames[:top]
	r.free = append(r.free, s.slot)
	if r.end == s.at {
		return Action{Free, s.slot, s.at, s.at}, true
	}
	r.live, r.phase = s.at, reverserArrive
	return Action{Move, s.slot, s.at, s.at}, true
}
