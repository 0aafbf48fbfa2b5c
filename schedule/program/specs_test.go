package program_test

import (
	"context"
	"math"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	_ "github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// input is a named input of a chain with its value.
type input struct {
	name  string
	shape graph.Shape
	value []float64
}

// text is a chain in formulas.
type text struct {
	state, params, constants, controls []input // of a control the shape of one entry, and all entries; of a block no value
	start, define, next                []string
	running, terminal, until           string
	defined                            []string // names of define
	steps                              int
}

func lower(tb testing.TB, b *graph.Builder, scope formula.Scope, s string) graph.Value {
	tb.Helper()
	v, err := formula.Lower(b, scope, s)
	if err != nil {
		tb.Fatalf("%s: %v", s, err)
	}
	return v
}

// build writes one program of the chain.
func (c *text) build(tb testing.TB, name string, state, controls, index, define bool, formulas ...string) *graph.Program {
	tb.Helper()
	b := graph.NewBuilder(name)
	scope := formula.Scope{}
	var lists [][]input
	if state {
		lists = append(lists, c.state)
	}
	for _, list := range append(lists, c.params, c.constants) {
		for _, in := range list {
			scope[in.name] = b.Input(in.name, graph.F64(in.shape...))
		}
	}
	if controls {
		for _, in := range c.controls {
			rows := len(in.value) / in.shape.Len()
			scope[in.name] = b.Input(in.name, graph.F64(append(graph.Shape{max(rows, 1)}, in.shape...)...))
		}
	}
	if index {
		scope["j"] = b.Input("j", graph.Type{DType: graph.Int64})
	}
	if define {
		for i, f := range c.define {
			scope[c.defined[i]] = lower(tb, b, scope, f)
		}
	}
	var out []graph.Value
	for _, f := range formulas {
		v := lower(tb, b, scope, f)
		if b.Type(v).DType == graph.Int64 {
			tb.Fatalf("%s is an integer", f)
		}
		out = append(out, v)
	}
	return b.Build(out...)
}

func (c *text) spec(tb testing.TB) program.Spec {
	tb.Helper()
	formulas := c.next
	if c.running != "" {
		formulas = append(formulas[:len(formulas):len(formulas)], c.running)
	}
	s := program.Spec{
		Dims:      program.Dims{States: len(c.state), Params: len(c.params), Constants: len(c.constants), Controls: len(c.controls)},
		Running:   c.running != "",
		Step:      c.build(tb, "step", true, true, true, true, formulas...),
		Objective: c.build(tb, "objective", true, false, false, false, c.terminal),
		Start:     c.build(tb, "start", false, false, false, false, c.start...),
	}
	if c.until != "" {
		s.Until = c.build(tb, "until", true, false, true, false, c.until)
	}
	return s
}

func values(list []input) [][]float64 {
	var out [][]float64
	for _, in := range list {
		out = append(out, in.value)
	}
	return out
}

func (c *text) chain(tb testing.TB, open bool) *program.Chain {
	tb.Helper()
	chain, err := program.New(c.spec(tb))
	if err != nil {
		tb.Fatal(err)
	}
	if err := chain.Set(c.steps, open, values(c.params), values(c.constants), values(c.controls)); err != nil {
		tb.Fatal(err)
	}
	return chain
}

// unroll writes J as one straight-line program of the parameters, constants, controls and the start's perturbation.
func unroll(s program.Spec, steps int) *graph.Program {
	b := graph.NewBuilder("unrolled")
	inputs := func(from, n int, suffix string) []graph.Value {
		var list []graph.Value
		for _, in := range s.Step.Inputs[from : from+n] {
			list = append(list, b.Input(in.Name+suffix, in.Type))
		}
		return list
	}
	given := inputs(s.States, s.Params+s.Constants, "")
	controls := inputs(s.States+s.Params+s.Constants, s.Controls, "")
	moves := inputs(0, s.States, "_0")
	var x []graph.Value
	for i, v := range b.Inline(s.Start, given...) {
		x = append(x, b.Emit(graph.Add, nil, v, moves[i]))
	}
	running := graph.None
	for j := range steps {
		args := append(append(append([]graph.Value{}, x...), given...), controls...)
		args = append(args, b.Literal(&graph.Tensor{Type: graph.Type{DType: graph.Int64}, I: []int64{int64(j)}}))
		out := b.Inline(s.Step, args...)
		if x = out[:len(x):len(x)]; s.Running {
			running = b.Accumulate(running, out[len(x)])
		}
	}
	j := b.Inline(s.Objective, append(append([]graph.Value{}, x...), given...)...)[0]
	if running != graph.None {
		j = b.Emit(graph.Add, nil, running, j)
	}
	return b.Build(j)
}

// tensors are the values of the inputs of the unrolled program.
func (c *text) tensors() []*graph.Tensor {
	var out []*graph.Tensor
	for _, list := range [][]input{c.params, c.constants} {
		for _, in := range list {
			out = append(out, graph.Floats(in.shape, in.value))
		}
	}
	for _, in := range c.controls {
		out = append(out, graph.Floats(append(graph.Shape{len(in.value) / in.shape.Len()}, in.shape...), in.value))
	}
	for _, in := range c.state {
		out = append(out, graph.NewTensor(graph.F64(in.shape...)))
	}
	return out
}

// answer is what a sweep came to.
type answer struct {
	value    float64
	gradient []float64 // start, parameters, controls
	result   schedule.Result
}

// sweep reverses a chain with all instruments on and holds it to its certificate.
func sweep(tb testing.TB, c *program.Chain, s schedule.Schedule, nparams, ncontrols int) answer {
	tb.Helper()
	a, err := attempt(tb, c, s, nparams, ncontrols)
	if err != nil {
		tb.Fatalf("%s: %v", s.Name(), err)
	}
	return a
}

// attempt is sweep where the chain may refuse.
func attempt(tb testing.TB, c *program.Chain, s schedule.Schedule, nparams, ncontrols int) (answer, error) {
	tb.Helper()
	return attemptFrom(tb, 1, c, s, nparams, ncontrols)
}

// attemptFrom is attempt with a seed.
func attemptFrom(tb testing.TB, seed float64, c *program.Chain, s schedule.Schedule, nparams, ncontrols int) (answer, error) {
	tb.Helper()
	return attemptWith(tb, schedule.Settings{Fidelity: 1, Poison: true}, seed, c, s, nparams, ncontrols)
}

// attemptWith is attemptFrom with other settings.
func attemptWith(tb testing.TB, settings schedule.Settings, seed float64, c *program.Chain, s schedule.Schedule, nparams, ncontrols int) (answer, error) {
	tb.Helper()
	if s.Limits().Disk > 0 {
		store, err := schedule.NewFileStore(tb.TempDir(), c.StateLen(0))
		if err != nil {
			tb.Fatal(err)
		}
		defer store.Close()
		settings.Store = store
	}
	r, err := schedule.NewRunner(c, s, settings)
	if err != nil {
		tb.Fatal(err)
	}
	x0, bar := make([]float64, c.StateLen(0)), make([]float64, c.StateLen(0))
	if err := c.Start(x0); err != nil {
		return answer{}, err
	}
	c.Clear()
	value := make([]float64, c.StateLen(c.Steps()))
	run := c.SweepFrom(seed, x0, value, bar)
	if _, ok := s.(*schedule.Online); ok {
		run.Until = c.Until
	}
	a := answer{}
	if a.result, err = r.Run(context.Background(), run); err != nil {
		return a, err
	}
	if err := schedule.Certify(s, a.result).Check(); err != nil {
		tb.Fatal(err)
	}
	if err := c.Finish(bar); err != nil {
		return a, err
	}
	if !c.Open() {
		a.value = value[0]
	} else if a.value, err = c.Value(value); err != nil {
		return a, err
	}
	a.gradient = append(a.gradient, bar...)
	for i := range nparams {
		a.gradient = append(a.gradient, c.ParamBar(i)...)
	}
	for i := range ncontrols {
		a.gradient = append(a.gradient, c.ControlBar(i)...)
	}
	return a, nil
}

// methods returns every schedule for T steps that knows T.
func methods(tb testing.TB, steps int) []schedule.Schedule {
	tb.Helper()
	var list []schedule.Schedule
	add := func(s schedule.Schedule, err error) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, s)
	}
	add(schedule.NewStoreAll(steps))
	for _, d := range []int{1, 2, 3, 5} {
		add(schedule.NewUniform(steps, d))
		add(schedule.NewUniformTape(steps, d))
		add(schedule.NewBinomial(steps, d, -1))
		add(schedule.NewRevolve(steps, d))
	}
	add(schedule.NewTwoTier(steps, 2, 3, schedule.Costs{Advance: 1, DiskWrite: 2, DiskRead: 1}))
	return list
}

func near(tb testing.TB, what string, got, want []float64, rtol float64) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%s has %d entries, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= rtol*(1e-3+math.Abs(want[i]))) {
			tb.Fatalf("%s, entry %d: %.17g, want %.17g", what, i, got[i], want[i])
		}
	}
}
