package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// chainSolver computes points of a chain, one at a time.
type chainSolver struct {
	model      *Model
	seed       uint64
	executable string // that measures sweeps in processes of their own; may be empty
	chain      *program.Chain
	tangent    *program.Chain // of (x, ẋ), forward only
	second     *program.Chain // of (x, ẋ)
}

// sweepMemory bounds the buffers of one sweep, unless the study does.
const sweepMemory = 4 << 30

// referenceMemory bounds those of the sweeps to which all others are compared, where less will do.
const referenceMemory = 512 << 20

// maxHashes bounds the states that a sweep compares at each visit.
const maxHashes = 1 << 20

// chainPoint is a point of a chain under way.
type chainPoint struct {
	*chainSolver
	Point
	steps     int
	open      bool
	params    [][]float64
	constants [][]float64
	controls  [][]float64
	start     []float64
	of        string // "gradient", or "hessian" for the chain of (x, ẋ)
}

// swept is what one schedule returned: J and its gradient with respect to the start, the parameters and the controls.
type swept struct {
	value    float64
	gradient []float64
	result   schedule.Result
	schedule schedule.Schedule
}

// at prepares a point: values, T and x_0.
func (s *chainSolver) at(p Point) (*chainPoint, error) {
	var err error
	if s.chain == nil {
		if s.chain, err = program.New(s.model.spec()); err != nil {
			return nil, err
		}
	}
	c := &chainPoint{chainSolver: s, Point: p, open: s.model.Until != nil, of: "gradient"}
	if c.steps, err = s.model.steps(p); err != nil {
		return nil, err
	}
	if c.controls, err = s.model.controlValues(s.chain, p, c.steps); err != nil {
		return nil, err
	}
	for _, q := range p.Parameters {
		c.params = append(c.params, q.Value.Data)
	}
	for _, list := range [][]Quantity{p.Constants, p.Study.Data} {
		for _, q := range list {
			c.constants = append(c.constants, q.Value.Data)
		}
	}
	if err := s.chain.Set(c.steps, c.open, c.params, c.constants, c.controls); err != nil {
		return c, prefix("before the first step", err)
	}
	c.start = make([]float64, s.chain.StateLenAtStart())
	return c, prefix("the start", s.chain.Start(c.start))
}

// solve computes one point.
func (s *chainSolver) solve(ctx context.Context, out *Outcome, p Point) error {
	row := results.Row{}
	c, err := s.at(p)
	value := math.NaN()
	if err == nil {
		value, err = c.forward(ctx)
	}
	var first, second *swept
	if err == nil {
		first, second, err = c.references(ctx)
	}
	ending, failure := endingOf(err)
	if failure != nil {
		return failure
	}
	row.Ending = ending
	if c != nil && !math.IsNaN(value) {
		row.Fields.Set("T", results.Int(c.steps))
		row.Fields.Set(p.Study.Objective[0].Name, results.Float(value))
	}
	if err == nil {
		c.putGradient(out.Record, &row.Fields, first)
		gap, err := c.gap(ctx, first)
		if err != nil {
			return err
		}
		row.Fields.Set("adjoint_tangent_gap", results.Float(gap))
		putDeclared(&row.Fields, s.declared())
	}
	if err != nil {
		out.count(p.Study, row.Ending, "")
		out.Record.Add(results.Chain, row)
		return nil
	}
	for _, t := range p.Study.Chain.Schedule.trials() {
		if err := c.trial(ctx, out, t, value, first, second); err != nil {
			return err
		}
	}
	if len(p.Study.Chain.Hessian) > 0 {
		if err := c.hessian(ctx, out, &row, first); err != nil {
			return err
		}
	}
	out.count(p.Study, row.Ending, "")
	out.Record.Add(results.Chain, row)
	c.putTheory(out.Record)
	return c.measure(ctx, out, value, first)
}

// declared names the declared responses that the derivatives depend on.
func (s *chainSolver) declared() string {
	return declaredBy(append(slices.Clone(s.model.Starts), s.model.Equations, s.model.Objectives)...)
}

// forward evaluates the chain without derivatives: its status is that of the chain. Of a chain whose end is a condition, it finds T.
func (c *chainPoint) forward(ctx context.Context) (float64, error) {
	steps, value, err := walk(ctx, c.chain, c.start, c.steps, c.model.Until != nil && c.of == "gradient")
	if err != nil {
		return math.NaN(), err
	}
	if steps != c.steps { // the condition held before the limit
		c.steps = steps
		if c.controls, err = c.model.controlValues(c.chain, c.Point, steps); err != nil {
			return math.NaN(), err
		}
		if err := c.chain.Set(steps, true, c.params, c.constants, c.controls); err != nil {
			return math.NaN(), err
		}
	}
	return value, nil
}

// walk runs a chain forward, up to its condition if it has one, and returns the number of steps and J.
func walk(ctx context.Context, chain *program.Chain, start []float64, steps int, until bool) (int, float64, error) {
	x, next := slices.Clone(start), make([]float64, len(start))
	for j := 0; ; j++ {
		if until {
			ended, err := chain.Until(j, x)
			if err != nil {
				return 0, 0, stepError(&schedule.StepError{Step: j, Call: "until", Err: err})
			}
			if ended {
				steps = j
			}
		}
		if j == steps {
			break
		}
		if j&0x3ff == 0 && ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		if err := chain.Advance(j+1, x, next[:chain.StateLen(j+1)]); err != nil {
			return 0, 0, stepError(&schedule.StepError{Step: j + 1, Call: "advance", Err: err})
		}
		x, next = next, x
	}
	if !chain.Open() {
		return steps, x[0], nil
	}
	value, err := chain.Value(x)
	return steps, value, prefix("the objective", err)
}

// stepError names the step in a refusal: by j of its formulas.
func stepError(err error) error {
	var step *schedule.StepError
	if !errors.As(err, &step) {
		return err
	}
	where := fmt.Sprintf("step j = %d", step.Step-1)
	switch step.Call {
	case "until":
		where = fmt.Sprintf("the condition at j = %d", step.Step)
	case "seed":
		where = "the objective"
	}
	return prefix(where, step.Err)
}

// references computes the gradient twice, by two schedules: the second answers for the first, and the first for all others.
func (c *chainPoint) references(ctx context.Context) (first, second *swept, err error) {
	all, err := schedule.NewStoreAll(c.steps)
	if err != nil {
		return nil, nil, err
	}
	tape, err := schedule.NewUniformTape(c.steps, max(1, int(math.Sqrt(float64(c.steps)))))
	if err != nil {
		return nil, nil, err
	}
	list := []schedule.Schedule{all, tape}
	for slots := 20; slots > 0; slots -= 3 { // the last of 2 slots
		optimal, err := schedule.NewRevolve(c.steps, slots)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, optimal)
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

// need returns the bytes of snapshots and tapes of a schedule, whose length an online one does not know.
func (c *chainPoint) need(s schedule.Schedule) int64 {
	counts := s.Predict()
	if s.Limits().Slots > 0 {
		counts.PeakSlots = max(counts.PeakSlots, min(s.Limits().Slots, s.Steps()))
	}
	if s.Steps() == 0 {
		return 0
	}
	return 8 * (int64(counts.PeakSlots)*int64(len(c.start)) + int64(counts.PeakTapes)*int64(c.chain.TapeLen(1)))
}

// sweep reverses the chain by a schedule.
func (c *chainPoint) sweep(ctx context.Context, s schedule.Schedule) (*swept, error) {
	store, err := c.store(s)
	if err != nil {
		return nil, err
	}
	if store != nil {
		defer store.Close()
	}
	r, err := schedule.NewRunner(c.chain, s, schedule.Settings{Store: store, Fidelity: 1 + c.steps/maxHashes})
	if err != nil {
		return nil, err
	}
	c.chain.Clear()
	value, bar := make([]float64, c.chain.StateLen(c.steps)), make([]float64, len(c.start))
	sweep := c.chain.Sweep(c.start, value, bar)
	if _, ok := s.(*schedule.Online); ok {
		sweep.Until = c.chain.Until
	}
	out := &swept{schedule: s}
	if out.result, err = r.Run(ctx, sweep); err != nil {
		return out, c.refusal(ctx, err)
	}
	if err := c.chain.Finish(bar); err != nil {
		return out, prefix("before the first step", err)
	}
	if !c.chain.Open() {
		out.value = value[0]
	} else if out.value, err = c.chain.Value(value); err != nil {
		return out, prefix("the objective", err)
	}
	out.gradient = slices.Clone(bar)
	for i := range c.params {
		out.gradient = append(out.gradient, c.chain.ParamBar(i)...)
	}
	for i := range c.controls {
		out.gradient = append(out.gradient, c.chain.ControlBar(i)...)
	}
	return out, nil
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
	if t.method == online {
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
	if err == nil && t.method == online {
		err = c.relimit(limit)
	}
	var got *swept
	if err == nil {
		got, err = c.try(ctx, s)
	}
	if t.method == online {
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
	out.judgeSchedule(c.Study, row)
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
)

// judgeSchedule counts a row of the schedules table.
func (o *Outcome) judgeSchedule(s *Study, row results.Row) {
	o.count(s, row.Ending, "")
	if row.Fields.Get("certificate") == results.Text(certificateViolated) {
		o.Violated++
		o.Warnings = append(o.Warnings, fmt.Sprintf("%v with %v slots: %s", row.Fields.Get("method"), row.Fields.Get("slots"), row.Reason))
	}
}

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

// putGradient adds dJ with respect to the start, each parameter and each control: entries of short ones as columns, all as
// arrays.
func (c *chainPoint) putGradient(r *results.Record, f *results.Fields, g *swept) {
	c.putDerivative(r, f, "d"+c.Study.Objective[0].Name, g.gradient)
}

// putDerivative is putGradient of any vector of that form, under another name.
func (c *chainPoint) putDerivative(r *results.Record, f *results.Fields, what string, rest []float64) {
	put := func(name string, shape graph.Shape) {
		n := shape.Len()
		if n <= maxColumns {
			for k := range n {
				f.Set(what+"_"+name+entry(shape, k), results.Float(rest[k]))
			}
		}
		r.Arrays = append(r.Arrays, results.Array{Name: what + "_" + name, Shape: append([]int{}, shape...), Data: slices.Clone(rest[:n])})
		rest = rest[n:]
	}
	for i, b := range c.Study.State {
		put(b.Name, c.model.State[i].Shape)
	}
	if c.Study.Chain.Running.Text != "" {
		rest = rest[1:]
	}
	for _, q := range c.Study.Parameters {
		put(q.Name, q.Value.Shape)
	}
	for i, u := range c.Study.Chain.Controls {
		n := graph.Shape(u.Shape).Len()
		put(u.Name, slices.Concat(graph.Shape{len(c.controls[i]) / max(n, 1)}, u.Shape))
	}
}

// gap compares one directional derivative with the tangent that the whole chain carries forward, in a seeded direction of
// start, parameters and controls: |∇J·v − J̇| over |∇J|·|v|.
func (c *chainPoint) gap(ctx context.Context, g *swept) (float64, error) {
	rng := rand.New(rand.NewPCG(c.seed, 0x746167))
	direction := c.direction(rng)
	forward, err := c.along(ctx, direction)
	if ending, failure := endingOf(err); failure != nil || ending.Status != string(graph.OK) {
		return math.NaN(), failure
	}
	size := 0.0
	for _, x := range g.gradient {
		size = math.Hypot(size, x)
	}
	scale := 0.0
	for _, x := range direction {
		scale = math.Hypot(scale, x)
	}
	if size == 0 {
		return math.Abs(forward), nil
	}
	return math.Abs(dot(g.gradient, direction)-forward) / (size * scale), nil
}

// direction draws a direction of start, parameters and controls; the running sum starts at 0 and does not move.
func (c *chainPoint) direction(rng *rand.Rand) []float64 {
	n := len(c.start)
	for _, list := range [][][]float64{c.params, c.controls} {
		for _, x := range list {
			n += len(x)
		}
	}
	v := random(rng, n)
	if c.Study.Chain.Running.Text != "" {
		v[len(c.start)-1] = 0
	}
	return v
}

// parts divides a direction into those of the start, of each parameter and of each control.
func (c *chainPoint) parts(v []float64) (start []float64, params, controls [][]float64) {
	start, v = v[:len(c.start)], v[len(c.start):]
	for _, x := range c.params {
		params, v = append(params, v[:len(x)]), v[len(x):]
	}
	for _, x := range c.controls {
		controls, v = append(controls, v[:len(x)]), v[len(x):]
	}
	return start, params, controls
}

// along returns the tangent of J in a direction, by the chain of (x, ẋ). The start moves by its own part of the direction and with
// the parameters.
func (c *chainPoint) along(ctx context.Context, direction []float64) (float64, error) {
	var err error
	if c.tangent == nil {
		if c.tangent, err = program.NewForward(program.Tangent(c.model.spec())); err != nil {
			return 0, err
		}
		c.chainSolver.tangent = c.tangent
	}
	move, params, controls := c.parts(direction)
	if err := c.tangent.Set(c.steps, c.open, append(slices.Clone(c.params), params...), c.constants, append(slices.Clone(c.controls), controls...)); err != nil {
		return 0, err
	}
	x := make([]float64, c.tangent.StateLenAtStart())
	if err := c.tangent.Start(x); err != nil {
		return 0, err
	}
	n := len(c.start)
	if c.Study.Chain.Running.Text != "" {
		n--
	}
	for i := range n {
		x[n+i] += move[i]
	}
	_, value, err := walk(ctx, c.tangent, x, c.steps, false)
	return value, err
}
