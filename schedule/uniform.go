package schedule

import "fmt"

// blocks are the uniform blocks of T steps for m slots: q = ⌈T/m⌉ steps in each of n = ⌈T/q⌉ blocks,
// the last of which may be shorter.
type blocks struct{ steps, slots, q, n int }

func newBlocks(steps, slots int) (blocks, error) {
	if err := checkSlots(steps, slots); err != nil {
		return blocks{}, err
	}
	b := blocks{steps: steps, slots: slots}
	if steps > 0 {
		b.q = 1 + (steps-1)/max(slots, 1)
		b.n = 1 + (steps-1)/b.q
	}
	return b, nil
}

// last returns the length of the last block.
func (b blocks) last() int { return b.steps - (b.n-1)*b.q }

// bounds returns block j = (from, to].
func (b blocks) bounds(j int) (from, to int) { return j * b.q, min((j+1)*b.q, b.steps) }

// Uniform is the uniform-block mode: one forward pass saves x_{jq} at the start of every block and ends at the last
// of these; the blocks are then reversed from last to first, and within a block every step ℓ is reached by a
// replay from the block's start. It is not optimal in any sense.
//
// The later replays are exactly Σ r(r−1)/2 over the block lengths r; the first pass has (n−1)q more.
type Uniform struct {
	blocks
	block int
	step  int // the step to reverse next
	phase int
}

const (
	uniformSave = iota
	uniformForward
	uniformRestore
	uniformReplay
	uniformReverse
)

// NewUniform returns the uniform-block schedule with at most m = slots ≥ 1 snapshots. Any m is enough; m > T acts as m = T.
func NewUniform(steps, slots int) (*Uniform, error) {
	b, err := newBlocks(steps, slots)
	if err != nil {
		return nil, err
	}
	if steps > 0 && slots == 0 {
		return nil, fmt.Errorf("%w: uniform blocks save x_0 and need at least 1 slot", ErrInput)
	}
	s := &Uniform{blocks: b}
	s.Reset()
	return s, nil
}

func (s *Uniform) Name() string       { return "uniform" }
func (s *Uniform) Steps() int         { return s.steps }
func (s *Uniform) Limits() Limits     { return Limits{Slots: s.slots, Budget: -1} }
func (s *Uniform) RecordBytes() int64 { return 0 }
func (s *Uniform) Reset()             { s.block, s.step, s.phase = 0, s.steps, uniformSave }

// Predict returns the counts: n writes, T reads, and a first step of a full block that is replayed q times.
func (s *Uniform) Predict() Counts {
	if s.steps == 0 {
		return Counts{}
	}
	q, r, full := int64(s.q), int64(s.last()), int64(s.n-1)
	c := Counts{
		FirstPass:      full * q,
		LaterReplays:   full*(q*(q-1)/2) + r*(r-1)/2,
		Records:        int64(s.steps),
		Reverses:       int64(s.steps),
		Writes:         int64(s.n),
		Reads:          int64(s.steps),
		MaxStepReplays: s.last() - 1,
		PeakSlots:      s.n,
		PeakTapes:      1,
	}
	if s.n > 1 {
		c.MaxStepReplays = s.q
	}
	return c
}

func (s *Uniform) Next() (Action, bool) {
	if s.step == 0 {
		return Action{}, false
	}
	from, to := s.bounds(s.block)
	slot := int32(s.block)
	switch s.phase {
	case uniformSave:
		s.phase = uniformForward
		if s.block == s.n-1 {
			s.phase = uniformRestore
		}
		return Action{Save, slot, from, from}, true
	case uniformForward:
		s.block++
		s.phase = uniformSave
		return Action{Advance, 0, from, to}, true
	case uniformRestore:
		if s.step == from+1 {
			s.phase = uniformReverse
			return Action{Move, slot, from, from}, true
		}
		s.phase = uniformReplay
		return Action{Restore, slot, from, from}, true
	case uniformReplay:
		s.phase = uniformReverse
		return Action{Advance, 0, from, s.step - 1}, true
	default:
		a := Action{RecordReverse, 0, s.step - 1, s.step}
		s.step--
		if s.step == from {
			s.block--
		}
		s.phase = uniformRestore
		return a, true
	}
}
