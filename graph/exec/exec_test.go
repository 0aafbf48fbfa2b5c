package exec_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

// programs is the number of random programs of a test: short, or the environment variable EXEC_PROGRAMS. 10⁵ take
// a few minutes.
func programs(t *testing.T, short int) int {
	if n, err := strconv.Atoi(os.Getenv("EXEC_PROGRAMS")); err == nil {
		return n
	}
	return short
}

func buffersOf(x []*graph.Tensor) []exec.Buffer {
	b := make([]exec.Buffer, len(x))
	for i := range x {
		b[i] = exec.Buffer{F: x[i].F, I: x[i].I}
	}
	return b
}

// poisoned returns outputs filled with NaN, so that an entry that is never written shows.
func poisoned(types []graph.Type, lanes int) []exec.Buffer {
	out := exec.NewBuffers(types, lanes)
	for _, b := range out {
		for i := range b.F {
			b.F[i] = math.NaN()
		}
		for i := range b.I {
			b.I[i] = -99
		}
	}
	return out
}

func sameBuffer(t *testing.T, what string, have, want exec.Buffer) {
	t.Helper()
	if d := difference(have, want); d != "" {
		t.Fatalf("%s, %s", what, d)
	}
}

// difference says where two buffers differ, in any bit; it is empty where they do not.
func difference(have, want exec.Buffer) string {
	if len(have.F) != len(want.F) || len(have.I) != len(want.I) {
		return fmt.Sprintf("want %d floats and %d integers, have %d and %d", len(want.F), len(want.I), len(have.F), len(have.I))
	}
	for i := range want.F {
		if math.Float64bits(have.F[i]) != math.Float64bits(want.F[i]) {
			return fmt.Sprintf("entry %d: want %v (%x), have %v (%x)", i, want.F[i], math.Float64bits(want.F[i]), have.F[i], math.Float64bits(have.F[i]))
		}
	}
	for i := range want.I {
		if have.I[i] != want.I[i] {
			return fmt.Sprintf("entry %d: want %d, have %d", i, want.I[i], have.I[i])
		}
	}
	return ""
}

// sameRun compares a run with the reference evaluator: outputs bit for bit, or the whole failure.
func sameRun(t *testing.T, e *exec.Exec, ws *exec.Workspace, inputs []*graph.Tensor) {
	t.Helper()
	p := e.Program()
	want, wantErr := graph.Eval(p, inputs...)
	before := make([]*graph.Tensor, len(inputs))
	for i, x := range inputs {
		before[i] = x.Clone()
	}
	out := poisoned(p.OutputTypes(), 1)
	err := e.Run(ws, buffersOf(inputs), out)
	for i := range inputs {
		sameBuffer(t, "input", exec.Buffer{F: inputs[i].F, I: inputs[i].I}, exec.Buffer{F: before[i].F, I: before[i].I})
	}
	sameOutcome(t, p, out, err, want, wantErr)
}

func sameOutcome(t *testing.T, p *graph.Program, out []exec.Buffer, err error, want []*graph.Tensor, wantErr error) {
	t.Helper()
	if wantErr != nil {
		var failure, wantFailure *graph.Failure
		if !errors.As(wantErr, &wantFailure) || !errors.As(err, &failure) || !reflect.DeepEqual(failure, wantFailure) {
			t.Fatalf("%v\nwant %v, have %v", p, wantErr, err)
		}
		for _, b := range out {
			for _, x := range b.F {
				if !math.IsNaN(x) {
					t.Fatalf("%v\nthe outputs of a refused run hold %v", p, x)
				}
			}
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\nhave error %v", p, err)
	}
	for j := range want {
		func() {
			defer func() {
				if t.Failed() {
					t.Log(p)
				}
			}()
			sameBuffer(t, "output "+strconv.Itoa(j), out[j], exec.Buffer{F: want[j].F, I: want[j].I})
		}()
	}
}

func randomOptions(r *rand.Rand) exec.Options {
	return exec.Options{Tile: []int{0, 1, 2, 3, 8, 64}[r.IntN(6)], Block: []int{0, 1, 2, 3, 8}[r.IntN(5)]}
}

// Random programs, their derivatives, and random subsets of their outputs, on good inputs and bad:
// the compiled program equals the reference evaluator in every bit and in every failure.
func TestEqualsReference(t *testing.T) {
	exec.AtLevels(func(name string) {
		t.Run(name, equalsReference)
	})
}

func equalsReference(t *testing.T) {
	failures, total := 0, programs(t, 1000)
	for seed := range total {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		wild := seed%2 == 1
		p := draw(r, 1+r.IntN(25), wild)
		if r.IntN(2) == 0 {
			p = derive(r, p)
		}
		p = subset(r, p)
		e, err := exec.Compile(p, randomOptions(r))
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		ws := e.NewWorkspace()
		for range 3 {
			inputs := randprog.Inputs(r, p)
			if wild {
				inputs = randprog.WildInputs(r, p)
			}
			if wild && r.IntN(4) == 0 {
				spoilInputs(r, inputs)
			}
			if _, err := graph.Eval(p, inputs...); err != nil {
				failures++
			}
			t.Run("", func(t *testing.T) { sameRun(t, e, ws, inputs) })
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
	if failures < total/4 {
		t.Errorf("only %d of %d runs were refused", failures, 3*total)
	}
	t.Logf("%d programs, %d of %d runs refused", total, failures, 3*total)
}

// draw returns a program of package randprog, whose shapes are small, or of this one, whose are not.
func draw(r *rand.Rand, ops int, wild bool) *graph.Program {
	if r.IntN(2) == 0 {
		return randprog.Program(r, randprog.Settings{Ops: ops, Wild: wild})
	}
	return randomProgram(r, ops, wild)
}

// spoilInputs puts one infinity or NaN into the inputs.
func spoilInputs(r *rand.Rand, inputs []*graph.Tensor) {
	for _, x := range inputs {
		if len(x.F) > 0 && r.IntN(2) == 0 {
			x.F[r.IntN(len(x.F))] = []float64{math.Inf(1), math.Inf(-1), math.NaN()}[r.IntN(3)]
			return
		}
	}
}

// derive returns a derivative of a program, once or twice.
func derive(r *rand.Rand, p *graph.Program) *graph.Program {
	var wrt []int
	for i := range p.Inputs {
		if r.IntN(3) > 0 {
			wrt = append(wrt, i)
		}
	}
	q := graph.JVP(p, wrt)
	if r.IntN(2) == 0 {
		q = graph.VJP(p, wrt)
	}
	if r.IntN(4) == 0 && len(q.Nodes) < 200 {
		q = graph.JVP(q, wrt)
	}
	return q
}

// subset asks for a random list of values of a program.
func subset(r *rand.Rand, p *graph.Program) *graph.Program {
	if r.IntN(2) == 0 || p.NumValues() == 0 {
		return p
	}
	var outputs []graph.Value
	for range r.IntN(5) {
		outputs = append(outputs, graph.Value(r.IntN(p.NumValues())))
	}
	return p.WithOutputs(outputs...)
}

// Lanes of linear programs: every lane equals the reference evaluator on that lane alone, for every
// number of lanes and block size.
func TestLanesEqualReference(t *testing.T) {
	exec.AtLevels(func(name string) {
		t.Run(name, lanesEqualReference)
	})
}

func lanesEqualReference(t *testing.T) {
	refused, total := 0, programs(t, 500)
	for seed := range total {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		p := draw(r, 1+r.IntN(20), seed%4 == 3)
		var wrt []int
		for i := range p.Inputs {
			wrt = append(wrt, i)
		}
		if len(wrt) == 0 {
			continue
		}
		l := graph.Linearize(p, wrt)
		x := randprog.Inputs(r, p)
		y, err := graph.Eval(l.Primal, x...)
		if err != nil {
			continue
		}
		linear := l.Linear
		if r.IntN(2) == 0 {
			linear = graph.Transpose(linear)
		}
		if !linear.IsLinear() {
			continue
		}
		residuals := y[len(y)-l.Residuals:]
		if checkLanes(t, r, linear, residuals) {
			refused++
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%v", seed, linear)
		}
	}
	if refused == 0 {
		t.Error("no run was refused")
	}
	t.Logf("%d refused", refused)
}

func checkLanes(t *testing.T, r *rand.Rand, p *graph.Program, residuals []*graph.Tensor) (refused bool) {
	e, err := exec.Compile(p, randomOptions(r))
	if err != nil {
		t.Fatalf("%v\n%v", err, p)
	}
	lanes := 1 + r.IntN(20)
	ws := e.NewLanes(lanes)
	for range 2 {
		in := make([]exec.Buffer, len(p.Inputs))
		each := make([][]*graph.Tensor, lanes)
		k := 0
		for i, input := range p.Inputs {
			if !input.Linear {
				in[i] = exec.Buffer{F: residuals[k].F, I: residuals[k].I}
				for l := range lanes {
					each[l] = append(each[l], residuals[k])
				}
				k++
				continue
			}
			in[i].F = make([]float64, len(graph.NewTensor(input.Type).F)*lanes)
			for l := range lanes {
				x := graph.NewTensor(input.Type)
				for e := range x.F {
					x.F[e] = 2*r.Float64() - 1
					if r.IntN(8) == 0 {
						x.F[e] = 0
					}
					if r.IntN(4000) == 0 {
						x.F[e] = []float64{math.MaxFloat64, math.Inf(1)}[r.IntN(2)]
					}
					in[i].F[e*lanes+l] = x.F[e]
				}
				each[l] = append(each[l], x)
			}
		}
		out := poisoned(p.OutputTypes(), lanes)
		err := e.RunLanes(ws, in, out)
		var wantErr error
		want := make([][]*graph.Tensor, lanes)
		for l := range lanes {
			if want[l], wantErr = graph.Eval(p, each[l]...); wantErr != nil {
				break
			}
		}
		if wantErr != nil {
			sameOutcome(t, p, out, err, nil, wantErr)
			refused = true
			continue
		}
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		for j := range out {
			for l := range lanes {
				for i := range want[l][j].F {
					have, want := out[j].F[i*lanes+l], want[l][j].F[i]
					if math.Float64bits(have) != math.Float64bits(want) {
						t.Errorf("output %d, entry %d, lane %d of %d: want %v, have %v", j, i, l, lanes, want, have)
						return
					}
				}
			}
		}
	}
	return refused
}

// One executable serves 1, 2 or 8 goroutines, each with its own workspace: every one has the bits, or the failure, of the
// reference evaluator.
func TestGoroutines(t *testing.T) {
	for seed := range programs(t, 300) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		wild := r.IntN(2) == 0
		p := subset(r, draw(r, 1+r.IntN(25), wild))
		inputs := randprog.Inputs(r, p)
		if wild {
			inputs = randprog.WildInputs(r, p)
		}
		want, refusal := graph.Eval(p, inputs...)
		e, err := exec.Compile(p, randomOptions(r))
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		var group sync.WaitGroup
		for range []int{1, 2, 8}[seed%3] {
			group.Go(func() {
				ws := e.NewWorkspace()
				for range 3 {
					out := poisoned(p.OutputTypes(), 1)
					err := e.Run(ws, buffersOf(inputs), out)
					if fmt.Sprint(err) != fmt.Sprint(refusal) {
						t.Errorf("seed %d: have %v, want %v", seed, err, refusal)
					}
					for j := range want {
						if d := difference(out[j], exec.Buffer{F: want[j].F, I: want[j].I}); d != "" {
							t.Errorf("seed %d, output %d, %s", seed, j, d)
						}
					}
				}
			})
		}
		if group.Wait(); t.Failed() {
			t.Fatalf("seed %d\n%v", seed, p)
		}
	}
}

// A run allocates nothing, whatever it computes.
func TestNoAllocation(t *testing.T) {
	check := func(name string, run func() error) {
		t.Helper()
		if err := run(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(5, func() {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a run", name, n)
		}
	}
	plain := func(name string, p *graph.Program, in []exec.Buffer) {
		t.Helper()
		e := mustCompile(t, p)
		ws, out := e.NewWorkspace(), exec.NewBuffers(p.OutputTypes(), 1)
		check(name, func() error { return e.Run(ws, in, out) })
	}
	fresh := func(p *graph.Program, lanes int) []exec.Buffer {
		s := random(9)
		in := exec.NewBuffers(types(p), 1)
		for i := range in {
			if p.Inputs[i].Linear {
				in[i].F = make([]float64, len(in[i].F)*lanes)
			}
			s.fill(in[i].F, 1)
		}
		return in
	}
	for _, p := range []*graph.Program{
		graph.VJP(lorenz63(), upTo(6)), lorenz96Vector(40), fusedTanh(5000),
		graph.Gradient(residualBlock(17, 33), upTo(3)), layer(50),
	} {
		plain(p.Name, p, fresh(p, 1))
	}
	linear := graph.Linearize(layer(30), upTo(3)).Linear
	for _, p := range []*graph.Program{linear, graph.Transpose(linear), graph.Linearize(lorenz63(), upTo(6)).Linear} {
		for _, o := range []exec.Options{{}, {Block: 8}} {
			e, err := exec.Compile(p, o)
			if err != nil {
				t.Fatal(err)
			}
			ws, in, out := e.NewLanes(20), fresh(p, 20), exec.NewBuffers(p.OutputTypes(), 20)
			check(p.Name, func() error { return e.RunLanes(ws, in, out) })
		}
	}
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		p := randomProgram(r, 20, false)
		inputs := randprog.Inputs(r, p)
		if _, err := graph.Eval(p, inputs...); err == nil {
			plain(fmt.Sprint("seed ", seed), p, buffersOf(inputs))
		}
	}
}

// What does not fit is refused with its place, and nothing is read or written out of bounds.
func TestRefuses(t *testing.T) {
	single := graph.NewBuilder("single")
	x := single.Input("x", graph.Type{DType: graph.Float32, Shape: graph.Shape{2}})
	_, err := exec.Compile(single.Build(x), exec.Options{})
	wantError(t, err, "compile single: value x is of type f32[2]: compiled programs hold f64, i64 and bool; run f32 on the reference evaluator, graph.Eval")
	_, err = exec.Compile(lorenz63(), exec.Options{Tile: -1})
	wantError(t, err, "compile lorenz63: tile -1 and block 0 must not be negative")

	e := mustCompile(t, layer(2))
	ws := e.NewWorkspace()
	in, out := exec.NewBuffers(types(e.Program()), 1), exec.NewBuffers(e.Program().OutputTypes(), 1)
	wantError(t, e.Run(ws, in[:2], out), "exec: layer wants 3 inputs and 1 outputs, has 2 and 1")
	wantError(t, e.Run(mustCompile(t, layer(2)).NewWorkspace(), in, out), "exec: the workspace is of another executable, or of RunLanes")
	wantError(t, e.Run(ws, in, []exec.Buffer{exec.Floats(1, 2, 3)}), "exec: layer wants 2 floats and 0 integers for output out0, has 3 and 0")
	in[2] = exec.Floats(1)
	wantError(t, e.Run(ws, in, out), "exec: layer wants 2 floats and 0 integers for input z, has 1 and 0")

	scalar := mustCompile(t, lorenz63())
	ws = scalar.NewWorkspace()
	in, out = exec.NewBuffers(types(scalar.Program()), 1), exec.NewBuffers(scalar.Program().OutputTypes(), 1)
	out[1] = exec.Ints(1)
	wantError(t, scalar.Run(ws, in, out), "exec: lorenz63 wants 1 floats and 0 integers for output out1, has 0 and 1")
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("want error %q, have %v", want, err)
	}
}

// An output that is an input unchanged may be the input's own buffer.
func TestOutputIsInput(t *testing.T) {
	b := graph.NewBuilder("keep")
	x := b.Input("x", graph.F64(3))
	e := mustCompile(t, b.Build(x, b.Emit(op.Neg, nil, x)))
	buffer, negative := exec.Floats(1, 2, 3), exec.Floats(0, 0, 0)
	if err := e.Run(e.NewWorkspace(), []exec.Buffer{buffer}, []exec.Buffer{buffer, negative}); err != nil {
		t.Fatal(err)
	}
	if buffer.F[2] != 3 || negative.F[2] != -3 {
		t.Error(buffer, negative)
	}
}

// A composite operation runs as its program, and fails as a composite.
func TestComposite(t *testing.T) {
	b := graph.NewBuilder("rounded")
	x := b.Input("x", graph.F64(4))
	y := b.Emit(op.StraightThroughRound(graph.F64(4)), nil, b.Emit(op.Mul, nil, x, x))
	p := b.Build(b.Emit(op.Exp, nil, y))
	for _, q := range []*graph.Program{p, graph.JVP(p, []int{0}), graph.VJP(p, []int{0})} {
		e := mustCompile(t, q)
		ws := e.NewWorkspace()
		for _, scale := range []float64{1, 3, 40, 1e200} {
			inputs := randprog.Inputs(randprog.Rand(1), q)
			for i := range inputs[0].F {
				inputs[0].F[i] *= scale
			}
			sameRun(t, e, ws, inputs)
		}
	}
}

// A boolean input other than 0 and 1 is an error, as in graph.Eval.
func TestBooleanInputs(t *testing.T) {
	b := graph.NewBuilder("not")
	e := mustCompile(t, b.Build(b.Emit(op.Not, nil, b.Input("x", graph.Type{DType: graph.Bool, Shape: graph.Shape{2}}))))
	err := e.Run(e.NewWorkspace(), []exec.Buffer{exec.Ints(1, 2)}, []exec.Buffer{exec.Ints(0, 0)})
	wantError(t, err, "not: input x: 2 is no boolean")
}
