package schedule

import "fmt"

func (r *Runner) run() error {
	copy(r.state(0), r.sweep.Start)
	if err := r.visit(0, "start"); err != nil {
		return err
	}
	if r.online != nil {
		if err := r.askUntil(); err != nil {
			return err
		}
	}
	if r.end == 0 {
		if err := r.terminal(); err != nil {
			return err
		}
	}
	for index := 0; ; index++ {
		a, ok := r.schedule.Next()
		if !ok {
			if r.end != 0 {
				return &ActionError{index, a, fmt.Sprintf("the stream ends with the cotangent at x_%d", r.end)}
			}
			copy(r.sweep.Gradient, r.bars[0])
			return nil
		}
		if r.stop.Load() {
			return errStopped
		}
		if err := r.do(a); err != nil {
			if problem, ok := err.(badAction); ok {
				return &ActionError{index, a, string(problem)}
			}
			return err
		}
	}
}

// badAction is what is wrong with an action.
type badAction string

func (b badAction) Error() string { return string(b) }

func (r *Runner) do(a Action) error {
	if a.Kind <= Save || a.Kind >= RecordReverse && a.Kind <= Record {
		if a.From != r.at {
			return badAction(fmt.Sprintf("live state is x_%d", r.at))
		}
		if a.Kind != Save && (a.To <= a.From || a.To > r.end) {
			return badAction(fmt.Sprintf("is no range of steps up to x_%d", r.end))
		}
	}
	switch a.Kind {
	case Advance:
		return r.advance(a.From, a.To)
	case RecordReverse:
		return r.recordReverse(a.From, a.To)
	case Save:
		return r.save(a)
	case Restore, Move, Free:
		return r.restore(a)
	case Back:
		if r.before != a.From {
			return badAction(fmt.Sprintf("work buffer holds x_%d", r.before))
		}
		r.at, r.before = a.From, none
		return r.visit(r.at, "back")
	case Record:
		for j := a.From + 1; j <= a.To; j++ {
			if r.stop.Load() {
				return errStopped
			}
			if err := r.record(j); err != nil {
				return err
			}
		}
		return nil
	case Reverse:
		for j := a.To; j > a.From; j-- {
			if r.stop.Load() {
				return errStopped
			}
			if err := r.reverse(j); err != nil {
				return err
			}
		}
		return nil
	}
	return badAction("is unknown")
}

// advance makes x_to live.
func (r *Runner) advance(from, to int) error {
	var err error
	if to < r.sizes.regular && !r.instruments {
		err = r.advanceFast(from, to)
	} else {
		err = r.advanceChecked(from, to)
	}
	if err != nil {
		return err
	}
	r.at, r.before = to, to-1
	r.replays.add(from, to)
	if r.later {
		r.result.Counts.LaterReplays += int64(to - from)
		return nil
	}
	r.result.Counts.FirstPass += int64(to - from)
	if r.online != nil {
		return r.askUntil()
	}
	return nil
}

// advanceFast is for states of one length, without instruments.
func (r *Runner) advanceFast(from, to int) error {
	n := r.sizes.inner
	chain, stop, states := r.chain, r.stop, [2][]float64{r.states[0][:n], r.states[1][:n]}
	stride := r.stride
	for j := from + 1; j <= to; j++ {
		if stop.Load() {
			r.at = j - 1
			return errStopped
		}
		for stride > 0 && j+stride <= to && !stop.Load() { // the last step by itself leaves x_{to−1} in the work buffer
			if r.shortcuts.AdvanceStride(j, states[1-j&1], states[j&1]) != nil {
				stride = 0 // step by step, to name the step
				break
			}
			j += stride
		}
		if err := chain.Advance(j, states[1-j&1], states[j&1]); err != nil {
			return &StepError{j, "advance", err}
		}
	}
	return nil
}

func (r *Runner) advanceChecked(from, to int) error {
	for j := from + 1; j <= to; j++ {
		if r.stop.Load() {
			r.at = j - 1
			return errStopped
		}
		r.pool.spoil(r.states[j&1])
		x, next := r.around(&r.states, j)
		if err := r.chain.Advance(j, x, next); err != nil {
			return &StepError{j, "advance", err}
		}
		if err := r.visit(j, "advance"); err != nil {
			return err
		}
	}
	return nil
}

// askUntil asks whether the live state is the last one.
func (r *Runner) askUntil() error {
	ended, err := r.sweep.Until(r.at, r.state(r.at))
	if err != nil {
		return &StepError{r.at, "until", err}
	}
	if ended && !r.online.Stopped() {
		r.online.Stop()
	}
	r.result.Ended = ended
	if r.online.Stopped() {
		r.end = r.at
		r.result.Steps = r.at
	}
	return nil
}

func (r *Runner) save(a Action) error {
	c := &r.result.Counts
	x := r.state(a.From)
	if disk := int(a.Slot) - r.limits.Slots; disk >= 0 {
		if disk >= len(r.disk) || r.disk[disk] != none {
			return badAction("disk slot is full or missing")
		}
		if err := r.settings.Store.Write(disk, x); err != nil {
			return &StepError{a.From, "save to disk", err}
		}
		r.disk[disk] = a.From
		c.DiskWrites++
		r.diskUsed++
		c.PeakDisk = max(c.PeakDisk, r.diskUsed)
		return nil
	}
	if a.Slot < 0 || int(a.Slot) >= len(r.pool.slots) || r.pool.slots[a.Slot].state != none {
		return badAction("slot is full or missing")
	}
	copy(r.pool.slots[a.Slot].buffer, x)
	r.pool.put(a.Slot, a.From, len(x))
	c.Writes++
	r.weigh()
	return nil
}

// restore executes Restore, Move and Free.
func (r *Runner) restore(a Action) error {
	c := &r.result.Counts
	x := r.state(a.From)
	if disk := int(a.Slot) - r.limits.Slots; disk >= 0 {
		if disk >= len(r.disk) || r.disk[disk] != a.From {
			return badAction("disk slot does not hold this state")
		}
		if a.Kind != Free {
			if err := r.settings.Store.Read(disk, x); err != nil {
				return &StepError{a.From, "restore from disk", err}
			}
			c.DiskReads++
		}
		if a.Kind != Restore {
			r.disk[disk] = none
			r.diskUsed--
		}
	} else {
		if a.Slot < 0 || int(a.Slot) >= len(r.pool.slots) || r.pool.slots[a.Slot].state != a.From {
			return badAction("slot does not hold this state")
		}
		s := &r.pool.slots[a.Slot]
		switch a.Kind {
		case Restore:
			copy(x, s.buffer)
			c.Reads++
		case Move:
			r.states[a.From&1], s.buffer = s.buffer, r.states[a.From&1]
			c.Reads++
		}
		if a.Kind != Restore {
			r.pool.drop(a.Slot, len(x))
		}
	}
	if a.Kind == Free {
		return nil
	}
	r.at, r.before, r.later = a.From, none, true
	return r.visit(r.at, "restore")
}

// recordReverse records step j, reverses it and leaves nothing live.
func (r *Runner) recordReverse(before, j int) error {
	if j != r.end || before != j-1 {
		return badAction(fmt.Sprintf("is not the step before the cotangent's x_%d", r.end))
	}
	if j < r.sizes.regular && j != r.result.Steps && !r.instruments && r.tapeUsed+r.sizes.innerTape <= len(r.tapes) {
		return r.recordReverseFast(j)
	}
	if err := r.record(j); err != nil {
		return err
	}
	return r.reverse(j)
}

// recordReverseFast does the work of record and reverse for a step below T, with states of one length and without instruments.
func (r *Runner) recordReverseFast(j int) error {
	n, used := r.sizes.inner, r.tapeUsed
	tape := r.tapes[used : used+r.sizes.innerTape]
	x, after, before := r.states[1-j&1][:n], r.bars[j&1][:n], r.bars[1-j&1][:n]
	if r.shortcuts == nil || r.shortcuts.RecordReverse(j, x, after, before) != nil {
		if err := r.chain.Record(j, x, r.states[j&1][:n], tape); err != nil {
			return &StepError{j, "record", err}
		}
		if err := r.chain.Reverse(j, tape, after, before); err != nil {
			return &StepError{j, "reverse", err}
		}
	}
	c := &r.result.Counts
	c.Records++
	c.PeakTapes = max(c.PeakTapes, r.tapeCount+1)
	r.tapeUsed = used + len(tape)
	r.weigh()
	r.tapeUsed = used
	c.Reverses++
	r.end, r.at, r.before, r.later = j-1, none, none, true
	r.replays.truncate(j - 1)
	return nil
}

// record records step j and makes x_j live.
func (r *Runner) record(j int) error {
	n := r.tapeUsed + r.tapeLen(j)
	if n > len(r.tapes) {
		return badAction("tapes exceed the number predicted")
	}
	tape := r.tapes[r.tapeUsed:n]
	if r.settings.Poison {
		r.pool.spoil(tape)
		r.pool.spoil(r.states[j&1])
	}
	x, next := r.around(&r.states, j)
	if err := r.chain.Record(j, x, next, tape); err != nil {
		return &StepError{j, "record", err}
	}
	r.at, r.before, r.later = j, none, true
	r.tapeUsed = n
	r.tapeCount++
	c := &r.result.Counts
	c.Records++
	c.PeakTapes = max(c.PeakTapes, r.tapeCount)
	r.weigh()
	if err := r.visit(j, "record"); err != nil {
		return err
	}
	if j == r.result.Steps {
		return r.terminal()
	}
	return nil
}

// reverse applies the reverse rule of step j, whose tape is the last one, and leaves nothing live.
func (r *Runner) reverse(j int) error {
	n := r.tapeUsed - r.tapeLen(j)
	if j != r.end || r.tapeCount == 0 || n < 0 {
		return badAction(fmt.Sprintf("cotangent is at x_%d, with %d tapes", r.end, r.tapeCount))
	}
	tape := r.tapes[n:r.tapeUsed]
	if r.settings.Poison {
		r.pool.spoil(r.states[0])
		r.pool.spoil(r.states[1])
		r.pool.spoil(r.bars[1-j&1])
	}
	before, after := r.around(&r.bars, j)
	if err := r.chain.Reverse(j, tape, after, before); err != nil {
		return &StepError{j, "reverse", err}
	}
	r.pool.spoil(tape)
	r.tapeUsed = n
	r.tapeCount--
	r.end, r.at, r.before = j-1, none, none
	r.result.Counts.Reverses++
	r.replays.truncate(r.end)
	return nil
}

// terminal takes the live x_T: it returns the value and sets the terminal cotangent.
func (r *Runner) terminal() error {
	x := r.state(r.at)
	cotangent := r.bars[r.at&1][:len(x)]
	switch {
	case r.sweep.Value != nil && len(r.sweep.Value) != len(x):
		return fmt.Errorf("%w: value has %d entries, want %d", ErrInput, len(r.sweep.Value), len(x))
	case r.sweep.Seed == nil && len(r.sweep.Cotangent) != len(x):
		return fmt.Errorf("%w: terminal cotangent has %d entries, want %d", ErrInput, len(r.sweep.Cotangent), len(x))
	}
	copy(r.sweep.Value, x)
	if r.sweep.Seed == nil {
		copy(cotangent, r.sweep.Cotangent)
		return nil
	}
	if err := r.sweep.Seed(x, cotangent); err != nil {
		return &StepError{r.at, "seed", err}
	}
	return nil
}

// visit enters or compares the hash of x_j.
func (r *Runner) visit(j int, call string) error {
	if r.every == 0 {
		return nil
	}
	return r.compare(j, call)
}

func (r *Runner) compare(j int, call string) error {
	return r.fidelity.visit(j, r.state(j), call)
}

// weigh keeps the bytes of the largest total.
func (r *Runner) weigh() {
	b := &r.result.Bytes
	if tape := 8 * int64(r.tapeUsed); r.pool.bytes+tape > b.Snapshots+b.Tape {
		b.Snapshots, b.Tape = r.pool.bytes, tape
	}
}

// finish completes the counts.
func (r *Runner) finish() {
	c := &r.result.Counts
	c.MaxStepReplays = r.replays.max
	c.PeakSlots = r.pool.peak
	r.sweep = nil
}
