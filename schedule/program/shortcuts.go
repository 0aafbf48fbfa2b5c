package program

import (
	"errors"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// strideSteps is the number of steps of a stride. More would save little of a call and take longer to compile.
const strideSteps = 5

// maxStride bounds the operations of a stride, which has scalars only: the call is a good part of such a step, and little of others.
const maxStride = 2000

// maxJoint bounds the tape, in entries, that a joined record and reverse keeps in its work space, beside that of the two.
const maxJoint = 1 << 16

var errNoShortcut = errors.New("chain: no shortcut")

// shorten makes the shortcuts of a step. A perturbed one has none: each step of it has a noise of its own.
func (t *transition) shorten() error {
	if t.noise != nil {
		return nil
	}
	var err error
	if p := t.value.e.Program(); isScalar(p) && strideSteps*len(p.Nodes) <= maxStride {
		if t.stride, err = newTask(repeated(p, len(t.once.out), len(t.before)), nil); err != nil {
			return err
		}
	}
	if t.record == nil || t.tapeLen > maxJoint {
		return nil
	}
	if t.joint, err = newTask(t.joined(), nil); err != nil {
		return err
	}
	copy(t.joint.out, t.back.out)
	return nil
}

func isScalar(p *graph.Program) bool {
	for v := range p.NumValues() {
		if len(p.Type(graph.Value(v)).Shape) > 0 {
			return false
		}
	}
	return true
}

// repeated composes a step of shared values, states and what differs from step to step with itself.
func repeated(p *graph.Program, shared, states int) *graph.Program {
	b := graph.NewBuilder(p.Name)
	args := make([]graph.Value, len(p.Inputs))
	for i, in := range p.Inputs[:shared+states] {
		args[i] = b.Input(in.Name, in.Type)
	}
	rest := make([][]graph.Value, strideSteps)
	for k := range rest {
		for _, in := range p.Inputs[shared+states:] {
			rest[k] = append(rest[k], b.Input(in.Name, in.Type))
		}
	}
	for _, own := range rest {
		copy(args[shared+states:], own)
		copy(args[shared:], b.Inline(p, args...))
	}
	return b.Build(args[shared : shared+states]...)
}

// joined composes record with back. Its inputs are those of record, then the cotangents of y.
func (t *transition) joined() *graph.Program {
	record, back := t.record.e.Program(), t.back.e.Program()
	b := graph.NewBuilder(record.Name)
	input := func(in graph.Input) graph.Value { return b.Input(in.Name, in.Type) }
	var args, cotangents []graph.Value
	for _, in := range record.Inputs {
		args = append(args, input(in))
	}
	for _, in := range back.Inputs[len(t.pieces):] {
		cotangents = append(cotangents, input(in))
	}
	out := b.Inline(record, args...)[len(t.after):]
	var residuals []graph.Value
	for _, q := range t.pieces {
		switch q.kind {
		case onTape:
			residuals, out = append(residuals, out[0]), out[1:]
		case isStatic:
			residuals = append(residuals, args[q.at])
		case isRead:
			residuals = append(residuals, args[t.nstatic+len(t.before)+q.at])
		default:
			residuals = append(residuals, args[len(args)-1])
		}
	}
	return b.Build(b.Inline(back, slices.Concat(residuals, cotangents)...)...)
}

// Stride implements [schedule.Shortcuts].
func (c *Chain) Stride() int {
	if c.step.stride == nil {
		return 0
	}
	return strideSteps
}

// AdvanceStride implements [schedule.Shortcuts].
func (c *Chain) AdvanceStride(j int, x, next []float64) error {
	t := c.step
	in := t.stride.in[len(t.once.out):]
	floats(in, t.before, x)
	in = in[len(t.before):]
	for k := range strideSteps {
		for i := range t.reads {
			in[i].F = t.entry(t.controls, i, j-1+k)
		}
		in = in[len(t.reads):]
		t.strideIndex[k] = int64(j - 1 + k)
		in[0].I = t.strideIndex[k : k+1]
		in = in[1:]
	}
	floats(t.stride.out, t.after, next)
	return t.stride.run()
}

// RecordReverse implements [schedule.Shortcuts].
func (c *Chain) RecordReverse(j int, x, after, before []float64) error {
	t := c.step
	if t.joint == nil {
		return errNoShortcut
	}
	in, out := t.joint.in[t.nstatic:], t.joint.out
	t.bind(in, j-1, x)
	floats(in[len(in)-len(t.after):], t.after, after)
	floats(out[t.active:], t.before, before)
	if err := t.joint.run(); err != nil {
		return err
	}
	t.accumulate(j-1, out)
	return nil
}
