package model

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/studies"
)

// The kinds of rows of the measurements table of a chain.
const (
	measuredCosts     = "costs"     // of one step and one snapshot
	measuredRun       = "run"       // a schedule of the matrix
	measuredCandidate = "candidate" // what a memory budget chose from: no other of them is both faster and smaller
	measuredChoice    = "choice"
)

// measure times what the study asks to be timed. Nothing else in a record differs from run to run.
func (c *chainPoint) measure(ctx context.Context, out *Outcome, value float64, first, second *swept) error {
	settings := &c.Study.Chain.Schedule
	if settings.Repetitions == 0 && settings.Memory == 0 {
		return nil
	}
	costs, err := c.costs(ctx)
	if err != nil {
		return err
	}
	row := measurement(measuredCosts)
	row.Fields.Set("T", results.Int(c.steps))
	for _, q := range []struct {
		column string
		value  float64
	}{{"advance_s", costs.Advance}, {"record_s", costs.Record}, {"reverse_s", costs.Reverse}, {"write_s", costs.Write}, {"read_s", costs.Read}} {
		row.Fields.Set(q.column, results.Float(q.value))
	}
	row.Fields.Set("state_bytes", results.Int(costs.StateBytes))
	row.Fields.Set("tape_bytes", results.Int(costs.TapeBytes))
	out.Record.Add(results.Measurements, row)
	if settings.Memory > 0 {
		return c.plan(ctx, out, costs, value, first, second)
	}
	for _, t := range trials(*settings) {
		s, err := t.schedule(c.steps)
		var infeasible *schedule.InfeasibleError
		if t.method == studies.Online || errors.As(err, &infeasible) || err == nil && c.need(s) > c.memory() {
			continue // an online schedule is timed by no other means than its chain; the others have a refusal
		}
		if err != nil {
			return err
		}
		row := measurement(measuredRun)
		putTrial(&row.Fields, t.method, c.steps, t.slots, s.Limits())
		times, heap, err := c.times(ctx, s, settings.Repetitions, first)
		var differs *differsError
		if errors.As(err, &differs) {
			row.Reason = differs.Error()
			row.Fields.Set("certificate", results.Text(certificateViolated))
			out.Record.Add(results.Measurements, row)
			continue
		}
		if err != nil { // such as of the scratch file: the rows that are there stay
			var failure error
			if row.Ending, failure = endingOf(c.refusal(ctx, err)); failure != nil {
				return failure
			}
			out.Record.Add(results.Measurements, row)
			continue
		}
		row.Fields.Set("predicted_s", results.Float(s.Predict().Time(costs)))
		putTimes(&row.Fields, times, heap)
		if c.executable != "" {
			use, err := c.job(t).measureIn(ctx, c.executable)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil: // a machine that does not tell its memory is no reason to lose the run
				row.Reason = err.Error()
			default:
				row.Fields.Set("resident_bytes", results.Int(use.Resident))
				row.Fields.Set("logical_bytes", results.Int(use.Logical))
			}
		}
		out.Record.Add(results.Measurements, row)
	}
	return nil
}

func measurement(kind string) results.Row {
	row := results.Row{Ending: results.Ending{Status: string(graph.OK)}}
	row.Fields.Set("kind", results.Text(kind))
	return row
}

func putTrial(f *results.Fields, method string, steps, slots int, limits schedule.Limits) {
	f.Set("method", results.Text(method))
	f.Set("T", results.Int(steps))
	if slots > 0 {
		f.Set("slots", results.Int(slots))
	}
	if limits.Budget >= 0 {
		f.Set("budget", results.Int(limits.Budget))
	}
}

func putTimes(f *results.Fields, times []float64, heap int64) {
	slices.Sort(times)
	f.Set("repetitions", results.Int(len(times)))
	f.Set("wall_s", results.Float(times[len(times)/2]))
	f.Set("wall_min_s", results.Float(times[0]))
	f.Set("heap_bytes", results.Int(heap))
}

// differsError is a timed run whose gradient is not that of the reference: its time is of no use.
type differsError struct{ entry int }

func (e *differsError) Error() string {
	return fmt.Sprintf("the gradient of a timed run differs from the reference at entry %d", e.entry)
}

// times runs a schedule again, without instruments, and samples the objects on the heap that it adds. The runner goes other ways without
// instruments than with them, so that its gradient is compared once more.
func (c *chainPoint) times(ctx context.Context, s schedule.Schedule, repetitions int, reference *swept) (seconds []float64, heap int64, err error) {
	runtime.GC()
	before := heapBytes()
	store, err := c.store(s)
	if err != nil {
		return nil, 0, err
	}
	if store != nil {
		defer store.Close()
	}
	r, err := schedule.NewRunner(c.chain, s, schedule.Settings{Store: store})
	if err != nil {
		return nil, 0, err
	}
	value, bar := make([]float64, c.chain.StateLen(c.steps)), make([]float64, len(c.start))
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		highest := heapBytes()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				highest = max(highest, heapBytes())
			case <-done:
				peak <- max(highest, heapBytes())
				return
			}
		}
	}()
	for range repetitions {
		c.chain.Clear()
		began := time.Now()
		if _, err = r.Run(ctx, c.chain.Sweep(c.start, value, bar)); err == nil {
			err = c.chain.Finish(bar)
		}
		seconds = append(seconds, time.Since(began).Seconds())
		if err != nil {
			break
		}
	}
	close(done)
	heap = max(0, <-peak-before)
	if err == nil {
		if at, equal := schedule.SameBits(c.gradient(bar), reference.gradient); !equal {
			err = &differsError{at}
		}
	}
	return seconds, heap, err
}

func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// costs measures the operations of the chain along its trajectory: of each the fastest of three passes over some steps, in seconds.
func (c *chainPoint) costs(ctx context.Context) (schedule.Costs, error) {
	n := len(c.start)
	k := schedule.Costs{StateBytes: 8 * int64(n)}
	if c.steps == 0 {
		return k, nil
	}
	tape := make([]float64, max(c.chain.TapeLen(1), c.chain.TapeLen(c.steps)))
	k.TapeBytes = 8 * int64(len(tape))
	const long = 5 * time.Millisecond
	var states [2][]float64
	for i := range states {
		states[i] = make([]float64, n)
	}
	bar, before := make([]float64, n), make([]float64, n)
	for i := range bar {
		bar[i] = 1
	}
	// pass walks some steps, the last one aside unless it is the only one, and returns the time of each.
	steps := max(1, c.steps-1)
	pass := func(step func(j int, x, next []float64) error) (float64, error) {
		fastest := 0.0
		for i := range 3 {
			copy(states[0], c.start)
			began, count := time.Now(), 0
			for j := 1; j <= steps && (j&0xf != 0 || time.Since(began) < long); j++ {
				next := states[j&1][:c.chain.StateLen(j)]
				if err := step(j, states[1-j&1], next); err != nil {
					return 0, stepError(&schedule.StepError{Step: j, Call: "advance", Err: err})
				}
				count++
			}
			if t := time.Since(began).Seconds() / float64(count); i == 0 || t < fastest {
				fastest = t
			}
		}
		return fastest, context.Cause(ctx)
	}
	var err, e error
	k.Advance, err = pass(c.chain.Advance)
	k.Record, e = pass(func(j int, x, next []float64) error { return c.chain.Record(j, x, next, tape[:c.chain.TapeLen(j)]) })
	err = errors.Join(err, e)
	both, e := pass(func(j int, x, next []float64) error {
		if err := c.chain.Record(j, x, next, tape[:c.chain.TapeLen(j)]); err != nil {
			return err
		}
		return c.chain.Reverse(j, tape[:c.chain.TapeLen(j)], bar[:len(next)], before)
	})
	err = errors.Join(err, e)
	k.Reverse = max(0, both-k.Record)
	began := time.Now()
	const copies = 64
	for i := range copies {
		copy(states[i&1], c.start)
	}
	k.Write = time.Since(began).Seconds() / copies
	k.Read = k.Write
	c.chain.Clear()
	return k, err
}

// plan chooses the schedule of the least predicted time that fits the memory, runs it, and records what it was chosen from.
func (c *chainPoint) plan(ctx context.Context, out *Outcome, costs schedule.Costs, value float64, first, second *swept) error {
	settings := &c.Study.Chain.Schedule
	table, best, err := schedule.Plan(c.steps, costs, settings.Memory, 0)
	if best < 0 {
		row := measurement(measuredChoice)
		row.Ending = results.Ending{Status: string(graph.OutOfBudget), Reason: err.Error()}
		out.Record.Add(results.Measurements, row)
		out.Notes = append(out.Notes, fmt.Sprintf("%s for T = %d: %s", row.Status, c.steps, row.Reason))
		return nil
	}
	for i, candidate := range table {
		dominated := slices.ContainsFunc(table, func(other schedule.Candidate) bool {
			return other.Time <= candidate.Time && other.Bytes.Total() <= candidate.Bytes.Total() &&
				(other.Time < candidate.Time || other.Bytes.Total() < candidate.Bytes.Total())
		})
		if dominated && i != best {
			continue
		}
		row := measurement(measuredCandidate)
		putTrial(&row.Fields, candidate.Method, c.steps, candidate.Slots, schedule.Limits{Budget: -1})
		row.Fields.Set("replays", results.Int(candidate.Counts.Replays()))
		row.Fields.Set("predicted_s", results.Float(candidate.Time))
		row.Fields.Set("predicted_bytes", results.Int(candidate.Bytes.Total()))
		row.Fields.Set("fits", results.Bool(candidate.Fits))
		out.Record.Add(results.Measurements, row)
	}
	choice := table[best]
	s, err := choice.New(c.steps, costs)
	if err != nil {
		return err
	}
	got, err := c.sweep(ctx, s)
	row := measurement(measuredChoice)
	reference := first
	if choice.Method == first.schedule.Name() && s.Limits() == first.schedule.Limits() {
		reference = second // no run answers for itself
	}
	verdict, failure := c.judged(&row, got, reference, value, err)
	if failure != nil {
		return failure
	}
	f := &row.Fields
	putTrial(f, choice.Method, c.steps, choice.Slots, s.Limits())
	f.Set("predicted_s", results.Float(choice.Time))
	f.Set("predicted_bytes", results.Int(choice.Bytes.Total()))
	if verdict == "" && row.Status == string(graph.OK) {
		f.Set("replays", results.Int(got.result.Counts.Replays()))
		f.Set("peak_bytes", results.Int(got.result.Bytes.Total()))
		times, heap, err := c.times(ctx, s, max(1, settings.Repetitions), first)
		var differs *differsError
		if errors.As(err, &differs) {
			row.Reason = differs.Error()
			f.Set("certificate", results.Text(certificateViolated))
		} else if err != nil {
			return err
		}
		putTimes(f, times, heap)
		out.Notes = append(out.Notes, fmt.Sprintf("chose %s with %d slots for T = %d: predicted %.3g s and %d bytes, measured %.3g s and %d bytes",
			choice.Method, choice.Slots, c.steps, choice.Time, choice.Bytes.Total(), times[len(times)/2], got.result.Bytes.Total()))
	}
	out.Record.Add(results.Measurements, row)
	return nil
}
