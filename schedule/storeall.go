package schedule

// StoreAll records every step, keeps all tapes and reverses them: the uncheckpointed sweep that every
// other schedule must equal. It replays nothing and saves nothing.
type StoreAll struct {
	steps int
	next  int // 0 record, 1 reverse, 2 end
}

// NewStoreAll returns the uncheckpointed sweep over the given number of steps.
func NewStoreAll(steps int) (*StoreAll, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	return &StoreAll{steps: steps}, nil
}

func (s *StoreAll) Name() string       { return "store-all" }
func (s *StoreAll) Steps() int         { return s.steps }
func (s *StoreAll) Limits() Limits     { return Limits{} }
func (s *StoreAll) Reset()             { s.next = 0 }
func (s *StoreAll) RecordBytes() int64 { return 0 }

// Predict returns T records, T reverses and T tapes at once.
func (s *StoreAll) Predict() Counts {
	return Counts{Records: int64(s.steps), Reverses: int64(s.steps), PeakTapes: s.steps}
}

func (s *StoreAll) Next() (Action, bool) {
	if s.steps == 0 || s.next == 2 {
		return Action{}, false
	}
	s.next++
	if s.next == 1 {
		return Action{Kind: Record, To: s.steps}, true
	}
	return Action{Kind: Reverse, To: s.steps}, true
}
