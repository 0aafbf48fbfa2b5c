package schedule

import "unsafe"

// Binomial is the document's recursive procedure REVERSE(a, N, d, t): save x_a, replay
// L = min(N−1, C(d, t−1)) steps, reverse the right N−L steps with budgets (d−1, t), move x_a back, and reverse
// the left L steps with budgets (d, t−1) by a tail call. It uses at most d snapshots and replays no step more than t
// times, so its work is at most Ŵ + W̄ + tW.
//
// Its frames hold integers only, one for each right call, and there are at most d of them. It is not replay-optimal at lengths
// that are no capacity: [Revolve] is.
type Binomial struct {
	steps, slots, budget int

	frames []binomialFrame
	now    binomialFrame // the call that is running
	phase  int
}

type binomialFrame struct{ a, n, d, t int }

const (
	binomialCall = iota
	binomialAdvance
	binomialReturn
)

// NewBinomial returns the schedule for d = slots and t = budget, with the least feasible t if budget is negative. A t above
// the least one is feasible too but degrades the schedule towards T(T−1)/2 replays. It returns an
// [*InfeasibleError] if T > C(d, t).
func NewBinomial(steps, slots, budget int) (*Binomial, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	least := LeastBudget(steps, slots)
	if budget < 0 {
		budget = max(least, 0)
	}
	if slots < 0 || least < 0 || budget < least {
		return nil, &InfeasibleError{
			Steps: steps, Slots: slots, Budget: budget,
			LeastSlots: LeastSlots(steps, budget), LeastBudget: least,
		}
	}
	s := &Binomial{steps: steps, slots: slots, budget: budget}
	s.Reset()
	return s, nil
}

func (s *Binomial) Name() string   { return "binomial" }
func (s *Binomial) Steps() int     { return s.steps }
func (s *Binomial) Limits() Limits { return Limits{Slots: s.slots, Budget: s.budget} }

func (s *Binomial) RecordBytes() int64 {
	return int64(s.Predict().PeakSlots) * int64(unsafe.Sizeof(binomialFrame{}))
}

func (s *Binomial) Reset() {
	s.frames = s.frames[:0]
	s.now = binomialFrame{0, s.steps, s.slots, s.budget}
	s.phase = binomialCall
}

func (s *Binomial) Next() (Action, bool) {
	c := &s.now
	switch s.phase {
	case binomialCall:
		if c.n == 0 {
			return Action{}, false
		}
		if c.n == 1 {
			s.phase = binomialReturn
			return Action{RecordReverse, 0, c.a, c.a + 1}, true
		}
		s.phase = binomialAdvance
		return Action{Save, int32(len(s.frames)), c.a, c.a}, true
	case binomialAdvance:
		left := Capacity(c.d, c.t-1, c.n-1)
		act := Action{Advance, 0, c.a, c.a + left}
		s.frames = append(s.frames, binomialFrame{c.a, left, c.d, c.t - 1})
		*c = binomialFrame{c.a + left, c.n - left, c.d - 1, c.t}
		s.phase = binomialCall
		return act, true
	default:
		top := len(s.frames) - 1
		if top < 0 {
			return Action{}, false
		}
		*c, s.frames = s.frames[top], s.frames[:top]
		s.phase = binomialCall
		return Action{Move, int32(top), c.a, c.a}, true
	}
}

// Predict returns the counts of this split: T−1 snapshots written and moved back, min(t, T−1) replays of the first step.
//
// A left child that is cut at a capacity is full, and a full call of C(d, t) steps replays d·t·C(d, t)/(d+1) times
// and fills all its slots if d, t ≥ 1. So the replays are a sum along one path of at most d + t calls.
func (s *Binomial) Predict() Counts {
	if s.steps == 0 {
		return Counts{}
	}
	c := Counts{
		FirstPass:      int64(s.steps - 1),
		Records:        int64(s.steps),
		Reverses:       int64(s.steps),
		Writes:         int64(s.steps - 1),
		Reads:          int64(s.steps - 1),
		MaxStepReplays: min(s.budget, s.steps-1),
		PeakTapes:      1,
	}
	var replays int64
	n, d, t := s.steps, s.slots, s.budget
	for n > 1 {
		used := s.slots - d // slots that the callers hold
		c.PeakSlots = max(c.PeakSlots, used+1)
		if d == 1 || t >= n-1 {
			// Every left child is all but one step, which is reversed with one snapshot.
			replays += int64(n) * int64(n-1) / 2
			break
		}
		if t == 1 {
			// Every left child is one step.
			replays += int64(n - 1)
			c.PeakSlots = max(c.PeakSlots, used+n-1)
			break
		}
		left := Capacity(d, t-1, n-1)
		replays += int64(left)
		if left == n-1 {
			n, t = left, t-1
			continue
		}
		replays += int64(d) * int64(t-1) * int64(left) / int64(d+1)
		c.PeakSlots = s.slots
		n, d = n-left, d-1
	}
	c.LaterReplays = replays - c.FirstPass
	return c
}
