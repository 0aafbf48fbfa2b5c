package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/studies"
)

// sweepMemory bounds the buffers of one sweep, unless the study does.
const sweepMemory = 4 << 30

// referenceMemory bounds those of the sweeps to which all others are compared, where less will do.
const referenceMemory = 512 << 20

// maxHashes bounds the states that a sweep compares at each visit.
const maxHashes = 1 << 20

// swept is what one schedule returned: J and its gradient with respect to the start, the parameters and the controls.
type swept struct {
	value    float64
	gradient []float64
	result   schedule.Result
	schedule schedule.Schedule
}

// references computes the gradient twice, by two schedules: the second answers for the first, and the first for all others.
func (c *chainPoint) references(ctx context.Context) (first, second *swept, err error) {
	list, err := referenceSchedules(c.steps)
	if err != nil {
		return nil, nil, err
	}
	within := func(bytes int64) []schedule.Schedule {
		return slices.DeleteFunc(slices.Clone(list), func(s schedule.Schedule) bool { return c.need(s) > bytes })
	}
	if list = within(c.memory()); len(within(referenceMemory)) >= 2 {
		list = within(referenceMemory)
	}
	if len(list) < 2 {
		return nil, nil, &graph.Failure{Status: graph.OutOfBudget,
			Reason: fmt.Sprintf("a state has %d bytes and a tape %d: no schedule of two slots fits the memory of %d bytes", 8*len(c.start), 8*c.chain.TapeLen(1), c.memory())}
	}
	if first, err = c.sweep(ctx, list[0]); err != nil {
		return nil, nil, err
	}
	second, err = c.sweep(ctx, list[1])
	return first, second, err
}

// memory is the most bytes of a sweep.
func (c *chainPoint) memory() int64 {
	if m := c.Study.Chain.Schedule.Memory; m > 0 {
		return m
	}
	return sweepMemory
}

// need returns the bytes of snapshots and tapes of a schedule.
func (c *chainPoint) need(s schedule.Schedule) int64 {
	return need(s, len(c.start), c.chain.TapeLen(1))
}

// sweep reverses the chain by a schedule, and compares the states that it visits again.
func (c *chainPoint) sweep(ctx context.Context, s schedule.Schedule) (*swept, error) {
	return c.sweepFrom(ctx, 1, s, 1+c.steps/maxHashes)
}

// sweepFrom reverses seed·J. fidelity is that of [schedule.Settings].
func (c *chainPoint) sweepFrom(ctx context.Context, seed float64, s schedule.Schedule, fidelity int) (*swept, error) {
	store, err := c.store(s)
	if err != nil {
		return nil, err
	}
	if store != nil {
		defer store.Close()
	}
	r, err := schedule.NewRunner(c.chain, s, schedule.Settings{Store: store, Fidelity: fidelity})
	if err != nil {
		return nil, err
	}
	c.chain.Clear()
	value, bar := make([]float64, c.chain.StateLen(c.steps)), make([]float64, len(c.start))
	sweep := c.chain.SweepFrom(seed, c.start, value, bar)
	if _, ok := s.(*schedule.Online); ok {
		sweep.Until = c.chain.Until
	}
	out := &swept{schedule: s}
	if out.result, err = r.Run(ctx, sweep); err != nil {
		return out, c.refusal(ctx, err)
	}
	if err := c.chain.Finish(bar); err != nil {
		return out, graph.Within("the derivative of what comes before the first step", err)
	}
	if !c.chain.Open() {
		out.value = value[0]
	} else if out.value, err = c.chain.Value(value); err != nil {
		return out, graph.Within("the objective", err)
	}
	out.gradient = c.gradient(bar)
	return out, nil
}

// gradient joins the cotangents of a sweep that is finished: of x_0, the parameters and the controls.
func (c *chainPoint) gradient(bar []float64) []float64 {
	g := slices.Clone(bar)
	for i := range c.params {
		g = append(g, c.chain.ParamBar(i)...)
	}
	for i := range c.controls {
		g = append(g, c.chain.ControlBar(i)...)
	}
	return g
}

// store makes the scratch file of a schedule with disk slots, or nil.
func (c *chainPoint) store(s schedule.Schedule) (schedule.Store, error) {
	if s.Limits().Disk == 0 {
		return nil, nil
	}
	store, err := schedule.NewFileStore("", len(c.start))
	if err != nil {
		return nil, &graph.Failure{Status: graph.ScheduleFailure, Reason: err.Error()}
	}
	return store, nil
}

// refusal names the step of an error, and makes a refusal of what the scratch file could not do.
func (c *chainPoint) refusal(ctx context.Context, err error) error {
	var differs *schedule.FidelityError
	var failure *graph.Failure
	var action *schedule.ActionError
	if ctx.Err() != nil || errors.As(err, &differs) || errors.As(err, &failure) || errors.As(err, &action) || errors.Is(err, schedule.ErrInput) {
		return stepError(err)
	}
	return &graph.Failure{Status: graph.ScheduleFailure, Reason: err.Error()}
}

// trial runs one schedule of the matrix and holds it to its certificate and to the reference.
func (c *chainPoint) trial(ctx context.Context, out *Outcome, t trial, value float64, first, second *swept) error {
	row := results.Row{}
	f := &row.Fields
	c.setOf(f)
	f.Set("method", results.Text(t.method))
	f.Set("T", results.Int(c.steps))
	if t.slots > 0 {
		f.Set("slots", results.Int(t.slots))
	}
	limit := c.steps
	if t.method == studies.Online {
		var err error
		if limit, err = c.model.steps(c.Point); err != nil {
			return err
		}
	}
	s, err := t.schedule(limit)
	var infeasible *schedule.InfeasibleError
	if errors.As(err, &infeasible) {
		err = &graph.Failure{Status: graph.ScheduleFailure, Reason: infeasible.Error()}
	}
	if err == nil && t.method == studies.Online {
		err = c.relimit(limit)
	}
	var got *swept
	if err == nil {
		got, err = c.try(ctx, s)
	}
	if t.method == studies.Online {
		if restoring := c.relimit(c.steps); err == nil {
			err = restoring
		}
	}
	reference := first
	if err == nil && t.method == first.schedule.Name() && s.Limits() == first.schedule.Limits() {
		reference = second
	}
	if _, failure := c.judged(&row, got, reference, value, err); failure != nil {
		return failure
	}
	out.Record.Add(results.Schedules, row)
	if row.Status == string(graph.OK) {
		c.putPicture(out.Record, t, s)
	}
	return nil
}

// judged completes the row of a run: its ending, its counts, and whether all holds that should; if not, it says what.
func (c *chainPoint) judged(row *results.Row, got, reference *swept, value float64, err error) (violated string, failure error) {
	var differs *schedule.FidelityError
	if errors.As(err, &differs) {
		violated, err = differs.Error(), nil
	}
	if row.Ending, failure = endingOf(err); failure != nil || err != nil {
		return "", failure
	}
	if violated == "" {
		violated = c.putCounts(&row.Fields, got, reference, value)
	}
	putDeclared(&row.Fields, c.declared())
	row.Fields.Set("certificate", results.Text(certificateHolds))
	if violated != "" {
		row.Fields.Set("certificate", results.Text(certificateViolated))
		row.Reason = violated
	}
	return violated, nil
}

const (
	certificateHolds    = "HOLDS"
	certificateViolated = "VIOLATED"
	certificateUnknown  = "UNKNOWN" // of a chain whose rounding leaves nothing to judge
)

// relimit gives the chain another T, or limit.
func (c *chainPoint) relimit(steps int) error {
	if steps == c.chain.Steps() {
		return nil
	}
	controls, err := c.model.controlValues(c.chain, c.Point, steps)
	if err != nil {
		return err
	}
	return c.chain.Set(steps, c.open, c.params, c.constants, controls)
}

// try is sweep, unless its buffers are out of bounds.
func (c *chainPoint) try(ctx context.Context, s schedule.Schedule) (*swept, error) {
	if need := c.need(s); need > c.memory() {
		return nil, &graph.Failure{Status: graph.OutOfBudget,
			Reason: fmt.Sprintf("%s needs %d bytes, and the most is %d: fewer slots or another method need less", s.Name(), need, c.memory())}
	}
	return c.sweep(ctx, s)
}

// putCounts adds what a run counted, beside what it should have, and says what does not hold.
func (c *chainPoint) putCounts(f *results.Fields, got, reference *swept, value float64) (violated string) {
	limits, counts, predicted := got.schedule.Limits(), got.result.Counts, got.schedule.Predict()
	if limits.Budget >= 0 {
		f.Set("budget", results.Int(limits.Budget))
	}
	bound := schedule.Bound(got.schedule, got.result)
	bytes := got.result.Bytes
	// An online gradient has the controls up to the limit; those that no step reads have none.
	gradient := got.gradient[:min(len(got.gradient), len(reference.gradient))]
	if c.chain.Open() && len(got.gradient) > len(reference.gradient) {
		gradient = c.cutControls(got)
	}
	at, equal := schedule.SameBits(gradient, reference.gradient)
	equal = equal && math.Float64bits(got.value) == math.Float64bits(reference.value) && math.Float64bits(got.value) == math.Float64bits(value)
	norm := 0.0
	for _, x := range gradient {
		norm = math.Hypot(norm, x)
	}
	for _, field := range []results.Field{
		{Column: "first_pass", Value: results.Int(counts.FirstPass)},
		{Column: "later_replays", Value: results.Int(counts.LaterReplays)},
		{Column: "replays", Value: results.Int(counts.Replays())},
		{Column: "replays_predicted", Value: results.Int(predicted.Replays())},
		{Column: "records", Value: results.Int(counts.Records)},
		{Column: "writes", Value: results.Int(counts.Writes)},
		{Column: "reads", Value: results.Int(counts.Reads)},
		{Column: "max_step_replays", Value: results.Int(counts.MaxStepReplays)},
		{Column: "peak_slots", Value: results.Int(counts.PeakSlots)},
		{Column: "peak_bytes", Value: results.Int(bytes.Total())},
		{Column: "bound_bytes", Value: results.Int(bound.Total())},
		{Column: "value", Value: results.Float(got.value)},
		{Column: "gradient_norm", Value: results.Float(norm)},
		{Column: "gradient_equal", Value: results.Bool(equal)},
		{Column: "compared_with", Value: results.Text(reference.schedule.Name())},
		{Column: "snapshot_bytes", Value: results.Int(bytes.Snapshots)},
		{Column: "state_bytes", Value: results.Int(bytes.State)},
		{Column: "tape_bytes", Value: results.Int(bytes.Tape)},
		{Column: "cotangent_bytes", Value: results.Int(bytes.Cotangent)},
		{Column: "work_bytes", Value: results.Int(bytes.Work)},
		{Column: "output_bytes", Value: results.Int(bytes.Output)},
		{Column: "record_bytes", Value: results.Int(bytes.Records)},
	} {
		f.Set(field.Column, field.Value)
	}
	if limits.Disk > 0 {
		f.Set("disk_writes", results.Int(counts.DiskWrites))
		f.Set("disk_reads", results.Int(counts.DiskReads))
		f.Set("peak_disk", results.Int(counts.PeakDisk))
	}
	if o, ok := got.schedule.(*schedule.Online); ok {
		_, optimal := o.Regret()
		f.Set("replays_optimal", results.Int(optimal))
	}
	if err := schedule.Certify(got.schedule, got.result).Check(); err != nil {
		return err.Error()
	}
	if !equal {
		return fmt.Sprintf("value or gradient differs from that of %s, at entry %d of the gradient", reference.schedule.Name(), at)
	}
	return ""
}

// cutControls drops the controls' entries beyond those that T steps read.
func (c *chainPoint) cutControls(got *swept) []float64 {
	n := len(c.start)
	for _, x := range c.params {
		n += len(x)
	}
	out, rest := got.gradient[:n:n], got.gradient[n:]
	total := 0
	for _, u := range c.controls {
		total += len(u)
	}
	// Every control has as many entries more, row by row, as there are steps more.
	limit, err := c.model.steps(c.Point)
	if err != nil {
		return got.gradient
	}
	for i, u := range c.controls {
		out = append(out, rest[:len(u)]...)
		rest = rest[c.chain.ControlLen(i, limit):]
	}
	return out
}
