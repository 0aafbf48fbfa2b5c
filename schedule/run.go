package schedule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// Settings are the options of a [Runner]. The zero value is right for timed runs in memory.
type Settings struct {
	// Store holds disk snapshots; a schedule with disk slots needs one. The runner does not close it.
	Store Store
	// Fidelity n > 0 hashes every n-th state at its first visit and compares it whenever that state is reached again; 1 compares
	// all. It takes 8 bytes a state compared, outside the meters.
	Fidelity int
	// Poison fills every buffer with NaN before its content becomes undefined, so that a schedule or a chain that reads what it must
	// not is found out.
	Poison bool
}

// Sweep is one reversal: its start, its end, and where its results go. All slices belong to the caller.
type Sweep struct {
	Start     []float64 // x_0
	Cotangent []float64 // x̄_T, unless Seed is given
	// Seed sets the terminal cotangent from x_T, such as cotangent = ∇J(x_T). It is called once, when x_T is known.
	Seed func(x, cotangent []float64) error
	// Until reports whether x_j is the last state. It is asked for x_0, x_1, … of an [Online] schedule, and only then.
	Until func(j int, x []float64) (bool, error)

	Value    []float64 // receives x_T; nil if it is not wanted
	Gradient []float64 // receives x̄_0
}

// Result is what a sweep counted.
type Result struct {
	Steps  int  // T
	Ended  bool // an online chain met its condition, at or below the limit
	Counts Counts
	Bytes  Bytes // at the moment of the largest total
	Need   Bytes // by prediction, from the peaks of the schedule and the largest state and tape
}

// Runner executes one schedule on one chain, again and again, in buffers that it makes once. It is not safe for
// concurrent use.
type Runner struct {
	chain    Chain
	schedule Schedule
	online   *Online // the schedule, if it is one
	settings Settings
	limits   Limits
	sizes    sizes
	need     Bytes // what the buffers can hold

	pool    pool
	disk    []int // the state in each disk slot, or none
	replays profile
	fidelity
	stop atomic.Bool // the context is done

	// The state of a run.
	sweep      *Sweep
	at         int       // the live state, or none
	before     int       // the state in next, or none
	end        int       // the cotangent's state
	x, next    []float64 // the live state and the buffer for the one after it; of full capacity
	after, bar []float64 // the cotangents, likewise
	tapes      []float64
	tapeUsed   int
	tapeCount  int
	diskUsed   int
	later      bool
	result     Result
}

// NewRunner makes the buffers. It asks the chain for its lengths up to the schedule's number of steps.
func NewRunner(chain Chain, s Schedule, settings Settings) (*Runner, error) {
	r := &Runner{chain: chain, schedule: s, settings: settings, limits: s.Limits()}
	r.online, _ = s.(*Online)
	if r.limits.Disk > 0 && settings.Store == nil {
		return nil, fmt.Errorf("%w: %s has disk slots and needs a store", ErrInput, s.Name())
	}
	steps := s.Steps()
	r.sizes = measure(chain, steps)
	predicted := s.Predict()
	if r.online != nil {
		predicted = Counts{PeakSlots: min(r.limits.Slots, steps), PeakTapes: min(1, steps)}
	}
	slots := predicted.PeakSlots
	r.pool = newPool(slots, r.sizes.state, settings.Poison)
	r.disk = make([]int, predicted.PeakDisk)
	r.fidelity = newFidelity(settings.Fidelity, steps)
	r.replays.spans = make([]span, 0, slots+predicted.PeakDisk+4)
	states := make([]float64, 4*r.sizes.state)
	n := r.sizes.state
	r.x, r.next, r.after, r.bar = states[:n:n], states[n:2*n:2*n], states[2*n:3*n:3*n], states[3*n:]
	r.need = r.sizes.need(slots, predicted.PeakDisk, predicted.PeakTapes, s.RecordBytes())
	r.tapes = make([]float64, r.need.Tape/8)
	return r, nil
}

// Run reverses the chain. Values and gradients are valid only if the error is nil; the counts of the result always tell
// how far the run came. An error of the chain is a [*StepError], a replay that differs a [*FidelityError], an action
// that cannot be executed an [*ActionError]; a run that the context ended wraps its cause. A run allocates nothing for its actions.
func (r *Runner) Run(ctx context.Context, sweep Sweep) (Result, error) {
	r.reset(&sweep)
	if err := r.checkSweep(); err != nil {
		return r.result, err
	}
	r.stop.Store(false)
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	if ctx.Err() != nil {
		r.stop.Store(true)
	}
	err := r.run()
	if errors.Is(err, errStopped) {
		err = fmt.Errorf("schedule: stopped with live state x_%d and the cotangent at x_%d: %w", r.at, r.end, context.Cause(ctx))
	}
	r.finish()
	return r.result, err
}

var errStopped = errors.New("stopped")

func (r *Runner) reset(sweep *Sweep) {
	r.schedule.Reset()
	r.sweep = sweep
	r.result = Result{Steps: r.schedule.Steps(), Bytes: r.need, Need: r.need}
	r.result.Bytes.Snapshots, r.result.Bytes.Tape = 0, 0
	r.pool.reset()
	for i := range r.disk {
		r.disk[i] = none
	}
	r.replays.reset()
	r.hashes = r.hashes[:0]
	r.at, r.before, r.end = 0, none, r.schedule.Steps()
	r.tapeUsed, r.tapeCount, r.diskUsed, r.later = 0, 0, 0, false
	for _, buffer := range [...][]float64{r.x, r.next, r.after, r.bar, r.tapes} {
		r.pool.spoil(buffer)
	}
}

func (r *Runner) checkSweep() error {
	s := r.sweep
	if got, want := len(s.Start), r.stateLen(0); got != want {
		return fmt.Errorf("%w: start has %d entries, want %d", ErrInput, got, want)
	}
	if got, want := len(s.Gradient), r.stateLen(0); got != want {
		return fmt.Errorf("%w: gradient has %d entries, want %d", ErrInput, got, want)
	}
	if s.Seed != nil && s.Cotangent != nil || s.Seed == nil && s.Cotangent == nil && r.sizes.output > 0 {
		return fmt.Errorf("%w: a sweep needs either a terminal cotangent or a seed", ErrInput)
	}
	if (r.online != nil) != (s.Until != nil) {
		return fmt.Errorf("%w: an online schedule needs a condition for its end, and no other schedule takes one", ErrInput)
	}
	return nil
}

// stateLen returns the length of x_j.
func (r *Runner) stateLen(j int) int {
	if j < r.sizes.regular {
		return r.sizes.inner
	}
	return r.chain.StateLen(j)
}

func (r *Runner) tapeLen(j int) int {
	if j < r.sizes.regular {
		return r.sizes.innerTape
	}
	return r.chain.TapeLen(j)
}

func (r *Runner) run() error {
	copy(r.x, r.sweep.Start)
	if err := r.visit(0, "start"); err != nil {
		return err
	}
	if r.online != nil {
		if err := r.askUntil(); err != nil {
			return err
		}
	}
	if r.end == 0 {
		if err := r.terminal(r.x[:r.stateLen(0)]); err != nil {
			return err
		}
	}
	for index := 0; ; index++ {
		a, ok := r.schedule.Next()
		if !ok {
			if r.end != 0 {
				return &ActionError{index, a, fmt.Sprintf("the stream ends with the cotangent at x_%d", r.end)}
			}
			copy(r.sweep.Gradient, r.after)
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
	switch a.Kind {
	case Advance, Record, RecordReverse, Save:
		if a.From != r.at {
			return badAction(fmt.Sprintf("live state is x_%d", r.at))
		}
	}
	switch a.Kind {
	case Advance:
		return r.advance(a)
	case Save:
		return r.save(a)
	case Restore, Move, Free:
		return r.restore(a)
	case RecordReverse:
		if err := r.record(a.To); err != nil {
			return err
		}
		r.pool.spoil(r.x)
		return r.reverse(a.To)
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
	case Back:
		if r.before != a.From {
			return badAction(fmt.Sprintf("work buffer holds x_%d", r.before))
		}
		r.later = true
		r.x, r.next = r.next, r.x
		r.at, r.before = a.From, none
		return r.visit(r.at, "back")
	}
	return badAction("is unknown")
}

func (r *Runner) advance(a Action) error {
	if a.To < r.sizes.regular && !r.settings.Poison && r.every == 0 {
		if err := r.advanceFast(a); err != nil {
			return err
		}
	} else {
		for j := a.From + 1; j <= a.To; j++ {
			if r.stop.Load() {
				return errStopped
			}
			r.pool.spoil(r.next)
			if err := r.chain.Advance(j, r.x[:r.stateLen(j-1)], r.next[:r.stateLen(j)]); err != nil {
				return &StepError{j, "advance", err}
			}
			r.x, r.next = r.next, r.x
			r.at = j
			if err := r.visit(j, "advance"); err != nil {
				return err
			}
		}
	}
	r.before = a.To - 1
	r.replays.add(a.From, a.To)
	if r.later {
		r.result.Counts.LaterReplays += int64(a.To - a.From)
	} else {
		r.result.Counts.FirstPass += int64(a.To - a.From)
	}
	if r.online != nil && !r.later {
		return r.askUntil()
	}
	return nil
}

// advanceFast is the loop of advance where all states have one length and no instrument is on.
func (r *Runner) advanceFast(a Action) error {
	chain, x, next := r.chain, r.x[:r.sizes.inner], r.next[:r.sizes.inner]
	var err error
	j := a.From + 1
	for ; j <= a.To && !r.stop.Load(); j++ {
		if err = chain.Advance(j, x, next); err != nil {
			break
		}
		x, next = next, x
	}
	r.x, r.next, r.at = x[:cap(x)], next[:cap(next)], j-1
	switch {
	case err != nil:
		return &StepError{j, "advance", err}
	case r.at < a.To:
		return errStopped
	}
	return nil
}

// askUntil asks whether the live state is the last one.
func (r *Runner) askUntil() error {
	ended, err := r.sweep.Until(r.at, r.x[:r.stateLen(r.at)])
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
	length := r.stateLen(a.From)
	if disk := int(a.Slot) - r.limits.Slots; disk >= 0 {
		if disk >= len(r.disk) || r.disk[disk] != none {
			return badAction("disk slot is full or missing")
		}
		if err := r.settings.Store.Write(disk, r.x[:length]); err != nil {
			return err
		}
		r.disk[disk] = a.From
		c.DiskWrites++
		r.diskUsed++
		c.PeakDisk = max(c.PeakDisk, r.diskUsed)
		return nil
	}
	if a.Slot < 0 || int(a.Slot) >= len(r.pool.held) || r.pool.held[a.Slot] != none {
		return badAction("slot is full or missing")
	}
	copy(r.pool.buffers[a.Slot], r.x[:length])
	r.pool.put(a.Slot, a.From, length)
	c.Writes++
	r.weigh()
	return nil
}

// restore executes Restore, Move and Free.
func (r *Runner) restore(a Action) error {
	c := &r.result.Counts
	length := r.stateLen(a.From)
	if disk := int(a.Slot) - r.limits.Slots; disk >= 0 {
		if disk >= len(r.disk) || r.disk[disk] != a.From {
			return badAction("disk slot does not hold this state")
		}
		if a.Kind != Free {
			if err := r.settings.Store.Read(disk, r.x[:length]); err != nil {
				return err
			}
			c.DiskReads++
		}
		if a.Kind != Restore {
			r.disk[disk] = none
			r.diskUsed--
		}
	} else {
		if a.Slot < 0 || int(a.Slot) >= len(r.pool.held) || r.pool.held[a.Slot] != a.From {
			return badAction("slot does not hold this state")
		}
		switch a.Kind {
		case Restore:
			copy(r.x, r.pool.buffers[a.Slot][:length])
			c.Reads++
		case Move:
			r.x, r.pool.buffers[a.Slot] = r.pool.buffers[a.Slot], r.x
			c.Reads++
		}
		if a.Kind != Restore {
			r.pool.drop(a.Slot, length)
		}
	}
	if a.Kind == Free {
		return nil
	}
	r.at, r.before, r.later = a.From, none, true
	return r.visit(r.at, "restore")
}

// record records step j and makes x_j live.
func (r *Runner) record(j int) error {
	n := r.tapeLen(j)
	if r.tapeUsed+n > len(r.tapes) {
		return badAction("tapes exceed the number predicted")
	}
	tape := r.tapes[r.tapeUsed : r.tapeUsed+n]
	if r.settings.Poison {
		fill(tape, math.NaN())
		fill(r.next, math.NaN())
	}
	if err := r.chain.Record(j, r.x[:r.stateLen(j-1)], r.next[:r.stateLen(j)], tape); err != nil {
		return &StepError{j, "record", err}
	}
	r.x, r.next = r.next, r.x
	r.at, r.before, r.later = j, none, true
	r.tapeUsed += n
	r.tapeCount++
	c := &r.result.Counts
	c.Records++
	c.PeakTapes = max(c.PeakTapes, r.tapeCount)
	r.weigh()
	if err := r.visit(j, "record"); err != nil {
		return err
	}
	if j == r.result.Steps {
		return r.terminal(r.x[:r.stateLen(j)])
	}
	return nil
}

// reverse applies the reverse rule of step j, whose tape is the last one.
func (r *Runner) reverse(j int) error {
	n := r.tapeLen(j)
	if j != r.end || r.tapeCount == 0 || r.tapeUsed < n {
		return badAction(fmt.Sprintf("cotangent is at x_%d, with %d tapes", r.end, r.tapeCount))
	}
	tape := r.tapes[r.tapeUsed-n : r.tapeUsed]
	r.pool.spoil(r.bar)
	if err := r.chain.Reverse(j, tape, r.after[:r.stateLen(j)], r.bar[:r.stateLen(j-1)]); err != nil {
		return &StepError{j, "reverse", err}
	}
	r.after, r.bar = r.bar, r.after
	r.pool.spoil(tape)
	r.tapeUsed -= n
	r.tapeCount--
	r.end, r.at, r.before = j-1, none, none
	r.result.Counts.Reverses++
	r.replays.truncate(r.end)
	return nil
}

// terminal takes x_T: it returns the value and sets the terminal cotangent.
func (r *Runner) terminal(x []float64) error {
	cotangent := r.after[:len(x)]
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
		return &StepError{r.result.Steps, "seed", err}
	}
	return nil
}

// visit enters or compares the hash of the live state.
func (r *Runner) visit(j int, call string) error {
	if r.every == 0 {
		return nil
	}
	return r.compare(j, call)
}

func (r *Runner) compare(j int, call string) error {
	return r.fidelity.visit(j, r.x[:r.stateLen(j)], call)
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
