package schedule

// UniformTape is the two-level method of most codes: the blocks of [Uniform], each replayed once with all its
// tapes kept, so that the replay of a block is its record and nothing is replayed after the first pass. It
// trades q tapes for the replays. The last block starts from the live state and needs no snapshot.
type UniformTape struct {
	blocks
	block int
	phase int
}

const (
	tapeSave = iota
	tapeForward
	tapeRecord
	tapeReverse
	tapeMove
	tapeEnd
)

// NewUniformTape returns the two-level schedule for m = slots: blocks of q = ⌈T/m⌉ steps. With m = 1 it is [StoreAll].
func NewUniformTape(steps, slots int) (*UniformTape, error) {
	b, err := newBlocks(steps, slots)
	if err != nil {
		return nil, err
	}
	s := &UniformTape{blocks: b}
	s.Reset()
	return s, nil
}

func (s *UniformTape) Name() string       { return "uniform-tape" }
func (s *UniformTape) Steps() int         { return s.steps }
func (s *UniformTape) Limits() Limits     { return Limits{Slots: s.slots, Budget: -1} }
func (s *UniformTape) RecordBytes() int64 { return 0 }

func (s *UniformTape) Reset() {
	s.block, s.phase = 0, tapeSave
	if s.n == 0 {
		s.phase = tapeEnd
	} else if s.n == 1 {
		s.phase = tapeRecord
	}
}

// Predict returns the counts: (n−1)q replays, all in the first pass, n−1 snapshots and q tapes at once.
func (s *UniformTape) Predict() Counts {
	if s.steps == 0 {
		return Counts{}
	}
	saved := s.n - 1
	return Counts{
		FirstPass:      int64(saved) * int64(s.q),
		Records:        int64(s.steps),
		Reverses:       int64(s.steps),
		Writes:         int64(saved),
		Reads:          int64(saved),
		MaxStepReplays: min(saved, 1),
		PeakSlots:      saved,
		PeakTapes:      s.q,
	}
}

func (s *UniformTape) Next() (Action, bool) {
	if s.phase == tapeEnd {
		return Action{}, false
	}
	from, to := s.bounds(s.block)
	slot := int32(s.block)
	switch s.phase {
	case tapeSave:
		s.phase = tapeForward
		return Action{Save, slot, from, from}, true
	case tapeForward:
		s.block++
		s.phase = tapeSave
		if s.block == s.n-1 {
			s.phase = tapeRecord
		}
		return Action{Advance, 0, from, to}, true
	case tapeMove:
		s.phase = tapeRecord
		return Action{Move, slot, from, from}, true
	case tapeRecord:
		s.phase = tapeReverse
		return Action{Record, 0, from, to}, true
	default:
		s.block--
		s.phase = tapeMove
		if s.block < 0 {
			s.phase = tapeEnd
		}
		return Action{Reverse, 0, from, to}, true
	}
}
