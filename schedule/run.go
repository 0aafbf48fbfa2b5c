package schedule

import (
	"context"
	"errors"
	"fmt"
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
	// instruments: states are hashed or buffers poisoned, so that no shortcut may be taken.
	instruments bool

	pool    pool
	disk    []int // the state in each disk slot, or none
	replays profile
	fidelity
	shortcuts Shortcuts    // the chain, if it has them
	stride    int          // of the shortcuts, or 0
	stop      *atomic.Bool // this run's context is done

	// The state of a run. State x_j and its cotangent x̄_j live in the buffers j mod 2, so that a step never moves a buffer and the
	// state before the last step is still there.
	sweep     *Sweep
	at        int // the live state, or none
	before    int // the state in the work buffer, or none
	end       int // the cotangent's state
	states    [2][]float64
	bars      [2][]float64
	tapes     []float64
	tapeUsed  int // entries
	tapeCount int
	diskUsed  int
	later     bool
	result    Result
}

// NewRunner resets the schedule and makes the buffers. It asks the chain for its lengths up to the schedule's number of steps.
func NewRunner(chain Chain, s Schedule, settings Settings) (*Runner, error) {
	r := &Runner{chain: chain, schedule: s, settings: settings, limits: s.Limits()}
	r.online, _ = s.(*Online)
	if r.limits.Disk > 0 && settings.Store == nil {
		return nil, fmt.Errorf("%w: %s has disk slots and needs a store", ErrInput, s.Name())
	}
	s.Reset() // an online schedule forgets where it ended
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
	r.instruments = settings.Poison || r.every > 0
	if !r.instruments {
		if r.shortcuts, _ = chain.(Shortcuts); r.shortcuts != nil {
			r.stride = r.shortcuts.Stride()
		}
	}
	r.replays.spans = make([]span, 0, slots+predicted.PeakDisk+4)
	for i := range 2 {
		r.states[i] = make([]float64, r.sizes.state)
		r.bars[i] = make([]float64, r.sizes.state)
	}
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
	stop := new(atomic.Bool)
	stop.Store(ctx.Err() != nil)
	r.stop = stop
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
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
	for _, buffer := range [...][]float64{r.states[0], r.states[1], r.bars[0], r.bars[1], r.tapes} {
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

// state returns the buffer of x_j.
func (r *Runner) state(j int) []float64 { return r.states[j&1][:r.stateLen(j)] }

// around returns the parts of two buffers that belong to states j−1 and j.
func (r *Runner) around(buffers *[2][]float64, j int) (before, at []float64) {
	if j < r.sizes.regular {
		n := r.sizes.inner
		return buffers[1-j&1][:n], buffers[j&1][:n]
	}
	return buffers[1-j&1][:r.stateLen(j-1)], buffers[j&1][:r.stateLen(j)]
}
