package program

import (
	"errors"
	"fmt"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/rounding"
	"github.com/lensir/lensir-study/schedule"
)

// Dims are the numbers of inputs of each role, in the order in which a program has them.
type Dims struct{ States, Params, Constants, Controls int }

// Spec states a chain as programs. All inputs but j are float64; every program has those that it takes even where it does
// not read them.
type Spec struct {
	Dims
	// Step maps the state blocks, parameters, constants, controls (an entry along the first axis for each step, read as
	// u[j] or u[j+c], c ≥ 0: formulas are lowered with the controls as swept arrays) and j, an int64, to the next blocks and, if Running is set, the term L(x_j, θ, u[j], j).
	Step    *graph.Program
	Running bool
	// Objective maps the state blocks, parameters and constants to J.
	Objective *graph.Program
	// Start maps the parameters and constants to the blocks of x_0.
	Start *graph.Program
	// Until, if not nil, maps the state blocks, parameters, constants and j to a condition: x_j is the last state if it holds. Where a state
	// or a parameter is compared with its equal, T jumps, and the condition is refused.
	Until *graph.Program
}

// Chain is a chain of programs. It implements [schedule.Chain] for the T of the last Set; its states are the blocks one after
// the other, then the running sum. It is not safe for concurrent use.
type Chain struct {
	spec  Spec
	state int // entries of x_j, j < T
	steps int
	open  bool // the last transition is a step, and ∇J is the terminal cotangent

	step  *transition // F
	last  *transition // J∘F
	end   *transition // J
	until *transition
	used  []*transition // those that a sweep reads
	start *task         // θ and constants ↦ blocks
	pull  *task         // θ and constants, cotangents of the blocks ↦ those of θ

	reads     []read
	paramBars [][]float64
	bars      [][]float64 // of the controls
	endTape   []float64
	noise     *rounding.Noise // of a perturbed chain
	scratch   []float64       // a tape that is not kept
	seed      []float64       // the cotangent of J
}

// New transforms and compiles the programs of a chain.
func New(spec Spec) (*Chain, error) { return newChain(spec, true, nil) }

// NewForward makes a chain that can advance and do no more.
func NewForward(spec Spec) (*Chain, error) { return newChain(spec, false, nil) }

// NewPerturbed makes a chain in which every rounded operation is moved at random by a unit of its last place, forward and backward; see
// [Perturbed]. A step that is evaluated again moves as before, so that any schedule reverses one and the same trajectory. Its
// spread, over some keys, measures how far rounding moves value and gradient.
func NewPerturbed(spec Spec) (*Chain, error) { return newChain(spec, true, &rounding.Noise{}) }

// NewPerturbedForward is NewPerturbed of a chain that can advance and do no more.
func NewPerturbedForward(spec Spec) (*Chain, error) { return newChain(spec, false, &rounding.Noise{}) }

// Perturb chooses the random numbers of a perturbed chain. It comes before Set.
func (c *Chain) Perturb(key uint64) { c.noise.Key = key }

func newChain(spec Spec, derivative bool, m *rounding.Noise) (*Chain, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	c := &Chain{spec: spec, seed: []float64{1}, noise: m}
	step, reads, err := replaceReads(spec.Step, spec.Dims)
	if err != nil {
		return nil, err
	}
	c.reads = reads
	dims, objective := spec.Dims, spec.Objective
	if spec.Running {
		step, objective = accumulate(step, dims), withSum(objective, dims)
		dims.States++
	}
	c.state = sum(lengths(inputTypes(step, 0, dims.States)))
	build := func(dst **transition, p *graph.Program, reads []read, withIndex, derivative bool) {
		if err == nil {
			*dst, err = newTransition(p, dims, reads, withIndex, derivative, m)
		}
	}
	build(&c.step, step, reads, true, derivative)
	if err == nil && derivative {
		err = c.step.shorten()
	}
	build(&c.last, compose(step, objective, dims), reads, true, derivative)
	build(&c.end, objective, nil, false, derivative)
	if spec.Until != nil {
		until := strict(spec.Until, spec.States+spec.Params)
		if spec.Running {
			until = withSumInput(until, dims)
		}
		build(&c.until, until, nil, true, false)
	}
	if err != nil {
		return nil, err
	}
	c.endTape = make([]float64, c.end.tapeLen)
	if m != nil && derivative {
		c.scratch = make([]float64, max(c.step.tapeLen, c.last.tapeLen))
	}
	if c.start, err = newTask(spec.Start, m); err != nil {
		return nil, err
	}
	for _, t := range inputTypes(spec.Step, spec.States, spec.States+spec.Params) {
		c.paramBars = append(c.paramBars, make([]float64, t.Len()))
	}
	if spec.Params > 0 && derivative {
		if c.pull, err = newTask(graph.VJP(spec.Start, span(0, spec.Params)), m); err != nil {
			return nil, err
		}
		c.pull.ownOutputs()
	}
	return c, nil
}

// check holds the programs against their roles.
func (s *Spec) check() error {
	given := s.States + s.Params + s.Constants
	for _, f := range []struct {
		what            string
		p               *graph.Program
		inputs, outputs int
	}{
		{"step", s.Step, given + s.Controls + 1, -1},
		{"objective", s.Objective, given, 1},
		{"start", s.Start, given - s.States, s.States},
		{"until", s.Until, given + 1, 1},
	} {
		if f.p == nil {
			if f.what == "until" {
				continue
			}
			return fmt.Errorf("chain: no %s", f.what)
		}
		if len(f.p.Inputs) != f.inputs || f.outputs >= 0 && len(f.p.Outputs) != f.outputs {
			return fmt.Errorf("chain: the %s has %d inputs and %d outputs, want %d and %d", f.what, len(f.p.Inputs), len(f.p.Outputs), f.inputs, f.outputs)
		}
	}
	next := s.Step.OutputTypes()
	if want := s.States; s.Running && len(next) != want+1 || !s.Running && len(next) != want {
		return fmt.Errorf("chain: the step returns %d values for %d state blocks", len(next), want)
	}
	for i, t := range s.Start.OutputTypes() {
		want := s.Step.Inputs[i].Type
		if !next[i].Equal(want) || !t.Equal(want) {
			return fmt.Errorf("chain: block %s is %v at the start, %v in a step and %v after it", s.Step.Inputs[i].Name, t, want, next[i])
		}
	}
	for i := range s.Controls {
		if len(s.Step.Inputs[given+i].Type.Shape) == 0 {
			return fmt.Errorf("chain: control %s is a scalar, want an entry for each step", s.Step.Inputs[given+i].Name)
		}
	}
	if s.Running && !next[s.States].Equal(graph.Scalar) || !s.Objective.OutputTypes()[0].Equal(graph.Scalar) {
		return errors.New("chain: the objective and its running term are scalars")
	}
	return nil
}

// accumulate adds the running sum to the state: r ↦ r + L.
func accumulate(step *graph.Program, dims Dims) *graph.Program {
	b := graph.NewBuilder(step.Name)
	args := make([]graph.Value, len(step.Inputs))
	for i, in := range step.Inputs[:dims.States] {
		args[i] = b.Input(in.Name, in.Type)
	}
	r := b.Input(freeName(step, "running"), graph.Scalar)
	for i := dims.States; i < len(step.Inputs); i++ {
		args[i] = b.Input(step.Inputs[i].Name, step.Inputs[i].Type)
	}
	out := b.Inline(step, args...)
	out[dims.States] = b.Emit(graph.Add, nil, r, out[dims.States])
	return b.BuildNamed(step.OutputNames, out...)
}

// withSumInput adds the running sum to the inputs of p, which does not read it.
func withSumInput(p *graph.Program, dims Dims) *graph.Program {
	q, _ := addSum(p, dims.States-1)
	return q
}

// withSum adds the running sum to the objective.
func withSum(objective *graph.Program, dims Dims) *graph.Program {
	q, r := addSum(objective, dims.States)
	b := graph.NewBuilder(q.Name)
	args := make([]graph.Value, len(q.Inputs))
	for i, in := range q.Inputs {
		args[i] = b.Input(in.Name, in.Type)
	}
	out := b.Inline(q, args...)
	return b.BuildNamed(q.OutputNames, b.Emit(graph.Add, nil, args[r], out[0]))
}

// addSum adds an input for the running sum after the first n, and returns its place.
func addSum(p *graph.Program, n int) (*graph.Program, int) {
	b := graph.NewBuilder(p.Name)
	args := make([]graph.Value, len(p.Inputs))
	for i, in := range p.Inputs {
		if i == n {
			b.Input(freeName(p, "running"), graph.Scalar)
		}
		args[i] = b.Input(in.Name, in.Type)
	}
	if n == len(p.Inputs) {
		b.Input(freeName(p, "running"), graph.Scalar)
	}
	return b.BuildNamed(p.OutputNames, b.Inline(p, args...)...), n
}

// compose writes J(F(x, θ, u, j), θ).
func compose(step, objective *graph.Program, dims Dims) *graph.Program {
	b := graph.NewBuilder("last")
	args := make([]graph.Value, len(step.Inputs))
	for i, in := range step.Inputs {
		args[i] = b.Input(in.Name, in.Type)
	}
	next := b.Inline(step, args...)
	given := append(next, args[dims.States:dims.States+dims.Params+dims.Constants]...)
	return b.BuildNamed(objective.OutputNames, b.Inline(objective, given...)...)
}

// Reach returns the largest offset c with which control i is read as u[j+c]: it has T + c entries.
func (c *Chain) Reach(i int) int {
	reach := 0
	for _, r := range c.reads {
		if r.control == i {
			reach = max(reach, r.offset)
		}
	}
	return reach
}

// Reads returns the number of entries of control i that a step reads.
func (c *Chain) Reads(i int) int {
	n := 0
	for _, r := range c.reads {
		if r.control == i {
			n++
		}
	}
	return n
}

// Set chooses T, the parameters, constants and controls, each flat, and evaluates what depends on θ and constants alone. The slices are
// kept and must not change before the next Set. open says that T is a limit; then, and if T = 0, ∇J is the terminal cotangent.
// An error of the mathematics is a [*graph.Failure].
func (c *Chain) Set(steps int, open bool, params, constants, controls [][]float64) error {
	s := &c.spec
	if steps < 0 || steps > schedule.MaxSteps {
		return fmt.Errorf("chain: %d steps, want 0 to %d", steps, schedule.MaxSteps)
	}
	if len(params) != s.Params || len(constants) != s.Constants || len(controls) != s.Controls {
		return fmt.Errorf("chain: %d parameters, %d constants and %d controls, want %d, %d and %d",
			len(params), len(constants), len(controls), s.Params, s.Constants, s.Controls)
	}
	given := make([]exec.Buffer, 0, s.Params+s.Constants)
	for i, x := range append(append([][]float64{}, params...), constants...) {
		if in := s.Step.Inputs[s.States+i]; len(x) != in.Type.Len() {
			return fmt.Errorf("chain: %s has %d entries, want %d", in.Name, len(x), in.Type.Len())
		}
		given = append(given, exec.Buffer{F: x})
	}
	bars := make([][]float64, s.Controls)
	for i, u := range controls {
		in := s.Step.Inputs[s.States+s.Params+s.Constants+i]
		if want := c.ControlLen(i, steps); len(u) != want {
			return fmt.Errorf("chain: control %s has %d entries, want %d", in.Name, len(u), want)
		}
		bars[i] = make([]float64, len(u))
	}
	c.steps, c.open, c.bars = steps, open || steps == 0, bars
	copy(c.start.in, given)
	if c.pull != nil {
		copy(c.pull.in, given)
	}
	c.used = c.used[:0] // without those of no use, whose checks would not be of this chain
	if c.open && c.steps > 0 || c.steps > 1 {
		c.used = append(c.used, c.step)
	}
	if c.open {
		c.used = append(c.used, c.end)
	} else {
		c.used = append(c.used, c.last)
	}
	for _, t := range append(c.used, c.until) {
		if t != nil {
			if err := t.set(given, controls, bars); err != nil {
				return err
			}
		}
	}
	c.Clear()
	return nil
}

// ControlLen returns the number of entries of control i for a number of steps: a row for each, and for each further one that
// the last step reads.
func (c *Chain) ControlLen(i, steps int) int {
	in := c.spec.Step.Inputs[c.spec.States+c.spec.Params+c.spec.Constants+i]
	if steps == 0 {
		return 0
	}
	return (steps + c.Reach(i)) * in.Type.Shape[1:].Len()
}

// Start sets x to x_0(θ), with a running sum of 0.
func (c *Chain) Start(x []float64) error {
	types := c.spec.Start.OutputTypes()
	rest := floats(c.start.out, lengths(types), x)
	clear(rest)
	c.shared()
	return c.start.run()
}

// shared tells the noise that what comes next belongs to no step.
func (c *Chain) shared() {
	if c.noise != nil {
		c.noise.Step = -1
	}
}

// Clear sets the cotangents of parameters and controls to zero, for another sweep.
func (c *Chain) Clear() {
	for _, t := range c.used {
		t.clear()
	}
	for _, x := range append(append([][]float64{}, c.paramBars...), c.bars...) {
		clear(x)
	}
}

// StateLenAtStart returns the number of entries of x_0.
func (c *Chain) StateLenAtStart() int { return c.state }

// StateLen implements [schedule.Chain].
func (c *Chain) StateLen(j int) int {
	if j == c.steps && !c.open {
		return 1
	}
	return c.state
}

// TapeLen implements [schedule.Chain].
func (c *Chain) TapeLen(j int) int { return c.transition(j).tapeLen }

// Sizes returns the entries of x_0 and of the tapes of the first and the last of T steps, closed by J; they need no Set.
func (c *Chain) Sizes(steps int) (state, first, last int) {
	first, last = c.step.tapeLen, c.last.tapeLen
	if steps <= 1 {
		first = last
	}
	return c.state, first, last
}

// transition returns that of step j, counted from 1.
func (c *Chain) transition(j int) *transition {
	if j == c.steps && !c.open {
		return c.last
	}
	return c.step
}

// Advance implements [schedule.Chain].
func (c *Chain) Advance(j int, x, next []float64) error {
	if c.noise != nil && c.step.record != nil { // a step has the operations of its record, so that the two agree
		return c.Record(j, x, next, c.scratch[:c.TapeLen(j)])
	}
	return c.transition(j).advance(j-1, x, next)
}

// Record implements [schedule.Chain].
func (c *Chain) Record(j int, x, next, tape []float64) error {
	return c.transition(j).tape(j-1, x, next, tape)
}

// Reverse implements [schedule.Chain].
func (c *Chain) Reverse(j int, tape, after, before []float64) error {
	return c.transition(j).reverse(j-1, tape, after, before)
}

// Value returns J of the last state of an open chain, or of x_0 if T = 0.
func (c *Chain) Value(x []float64) (float64, error) {
	var y [1]float64
	err := c.end.advance(0, x, y[:])
	return y[0], err
}

// Seed sets the cotangent of the last state of an open chain to ∇J(x).
func (c *Chain) Seed(x, cotangent []float64) error {
	var y [1]float64
	if err := c.end.tape(0, x, y[:], c.endTape); err != nil {
		return err
	}
	return c.end.reverse(0, c.endTape, c.seed, cotangent)
}

// Until reports whether x_j is the last state of an open chain.
func (c *Chain) Until(j int, x []float64) (bool, error) { return c.until.holds(j, x) }

// Sweep returns the reversal from x_0. value has StateLen(T) entries: J, or the last state of an open chain.
func (c *Chain) Sweep(x0, value, gradient []float64) schedule.Sweep {
	return c.SweepFrom(1, x0, value, gradient)
}

// SweepFrom is Sweep of seed·J, until the next: all that is returned but the value is times the seed.
func (c *Chain) SweepFrom(seed float64, x0, value, gradient []float64) schedule.Sweep {
	c.seed[0] = seed
	s := schedule.Sweep{Start: x0, Value: value, Gradient: gradient}
	if c.open {
		s.Seed = c.Seed
	} else {
		s.Cotangent = c.seed
	}
	return s
}

// Finish completes the cotangents of the parameters after a sweep, given that of x_0: those of the transitions, and that
// through x_0(θ).
func (c *Chain) Finish(startBar []float64) error {
	for _, x := range c.paramBars {
		clear(x)
	}
	for _, t := range c.used {
		if err := t.finish(c.paramBars); err != nil {
			return err
		}
	}
	if c.pull == nil {
		return nil
	}
	blocks := lengths(c.spec.Start.OutputTypes())
	floats(c.pull.in[c.spec.Params+c.spec.Constants:], blocks, startBar)
	c.pull.passThrough()
	c.shared()
	if err := c.pull.run(); err != nil {
		return err
	}
	for i, x := range c.pull.out[len(blocks):] {
		add(c.paramBars[i], x.F)
	}
	return nil
}

// ParamBar returns dJ/dθ of parameter i: the total derivative, that through x_0(θ) included. It belongs to the chain.
func (c *Chain) ParamBar(i int) []float64 { return c.paramBars[i] }

// ControlBar returns dJ/du of control i. It belongs to the chain.
func (c *Chain) ControlBar(i int) []float64 { return c.bars[i] }

// Steps returns T.
func (c *Chain) Steps() int { return c.steps }

// Open reports whether ∇J is the terminal cotangent.
func (c *Chain) Open() bool { return c.open }
