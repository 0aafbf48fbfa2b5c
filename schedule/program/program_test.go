package program_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// waves returns n numbers without a pattern.
func waves(n int, phase float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Sin(1.7*float64(i)*float64(i)+phase) / 2
	}
	return x
}

// everything is a small chain that has all that a chain can have.
func everything(steps int) *text {
	return &text{
		state:     []input{{name: "x", shape: graph.Shape{3}}, {name: "s"}},
		params:    []input{{"W", graph.Shape{3, 3}, waves(9, 0.3)}, {"a", nil, []float64{0.4}}, {"table", graph.Shape{4}, waves(4, 2)}},
		constants: []input{{"X", graph.Shape{max(steps, 1), 3}, waves(3*max(steps, 1), 1)}, {"c", nil, []float64{0.9}}},
		controls:  []input{{"u", nil, waves(steps+sign(steps), 0.1)}, {"v", graph.Shape{3}, waves(3*steps, 0.7)}},
		start:     []string{"[a, 0.2, a * c]", "tanh(a)"},
		defined:   []string{"gain", "h", "later"},
		define:    []string{"exp(a) * c", "matmul(W * gain, x) + v[j] + X[j]", "u[j + 1]"},
		next: []string{
			"0.5 * x + 0.4 * tanh(h) * u[j]",
			"s > 0.1 ? s * cos(a) * later + sum(x) / 8 : 0.3 + s + sqrt(gain) * x[0] / 5",
		},
		running:  "c * u[j]^2 + sum(x * v[j]) + (j < 2 ? table[j] : 0)",
		terminal: "sum(x^2) + a * s + s^3",
		steps:    steps,
	}
}

func sign(n int) int {
	if n > 0 {
		return 1
	}
	return 0
}

// The gradient of the chain is that of the whole chain written as one program, and its bits are the same under every schedule.
func TestGradientIsThatOfTheUnrolledChain(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 3, 8} {
		c := everything(steps)
		if steps == 0 {
			c.controls = nil
			c.define[1], c.define[2], c.next[0] = "matmul(W * gain, x) + X[j]", "0", "0.5 * x + tanh(h)"
			c.next[1], c.running = "s", "c + (j < 2 ? table[j] : 0)"
		}
		p := unroll(c.spec(t), c.steps)
		in := c.tensors()
		wrt := make([]int, 0, len(p.Inputs)) // start, parameters, controls
		nc := len(c.params) + len(c.constants) + len(c.controls)
		for i := range c.state {
			wrt = append(wrt, nc+i)
		}
		for i := range c.params {
			wrt = append(wrt, i)
		}
		for i := range c.controls {
			wrt = append(wrt, len(c.params)+len(c.constants)+i)
		}
		out, err := graph.Eval(graph.Gradient(p, wrt), in...)
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for i, x := range out[1:] {
			if want = append(want, x.F...); i == len(c.state)-1 {
				want = append(want, 1) // the running sum
			}
		}
		for _, open := range []bool{false, true} {
			chain := c.chain(t, open)
			var first answer
			for i, s := range methods(t, steps) {
				a := sweep(t, chain, s, len(c.params), len(c.controls))
				if i == 0 {
					first = a
					near(t, "value", []float64{a.value}, out[0].F, 1e-14)
					near(t, fmt.Sprintf("gradient, T = %d, open %v", steps, open), a.gradient, want, 1e-12)
				}
				if k, ok := schedule.SameBits(a.gradient, first.gradient); !ok || a.value != first.value {
					t.Fatalf("T = %d: %s differs from store-all at entry %d", steps, s.Name(), k)
				}
			}
		}
	}
}

// What depends on θ alone, a control or j is not on the tape.
func TestTape(t *testing.T) {
	for _, c := range []struct {
		next, what string
		tape       int
	}{
		{"x * c + sin(c)", "linear, with constant coefficients", 0},
		{"x + exp(a)", "exp a is computed once", 0},
		{"x * exp(a)", "x, for the cotangent of exp a", 1},
		{"x * u[j]", "x, for the cotangent of u; u is in its array", 1},
		{"u[j]^2 + u[j + 1] * c", "2u", 1},
		{"sin(x) * c", "cos x", 1},
		{"x * table[j]", "x, and the entry, whose index is j", 2},
		{"x > 0 ? c : x", "the condition", 1},
		{"x * (j < 3 ? 1 : 2)", "the choice", 1},
		{"tanh(x) + exp(x) + x * x", "tanh′ x, exp x and x", 3},
	} {
		chain := (&text{
			state: []input{{name: "x"}}, params: []input{{"a", nil, []float64{0.1}}, {"table", graph.Shape{5}, waves(5, 0)}},
			constants: []input{{"c", nil, []float64{2}}}, controls: []input{{"u", nil, waves(6, 1)[:5+strings.Count(c.next, "j + 1")]}},
			start: []string{"1"}, next: []string{c.next}, terminal: "x^2", steps: 5,
		}).chain(t, false)
		if got := chain.TapeLen(1); got != c.tape {
			t.Errorf("%s has a tape of %d entries, want %d: %s", c.next, got, c.tape, c.what)
		}
	}
}

// lorenz63 is W1: classical Runge-Kutta steps in the order of operations of the reference.
func lorenz63(steps int) *text {
	c := &text{
		state:     []input{{name: "x"}, {name: "y"}, {name: "z"}},
		params:    []input{{"sigma", nil, []float64{10}}, {"rho", nil, []float64{28}}, {"beta", nil, []float64{8.0 / 3.0}}},
		constants: []input{{"dt", nil, []float64{0.001}}},
		start:     []string{"1", "1", "1"}, terminal: "x + y + z", steps: steps,
	}
	at := [3]string{"x", "y", "z"}
	var k [4][3]string
	for s := range 4 {
		name := func(v string) string { return fmt.Sprintf("k%d%s", s+1, v) }
		c.defined = append(c.defined, name("x"), name("y"), name("z"))
		c.define = append(c.define, fmt.Sprintf("sigma * (%s - %s)", at[1], at[0]),
			fmt.Sprintf("%s * (rho - %s) - %s", at[0], at[2], at[1]), fmt.Sprintf("%s * %s - beta * %s", at[0], at[1], at[2]))
		k[s] = [3]string{name("x"), name("y"), name("z")}
		for i, v := range []string{"x", "y", "z"} {
			h := "0.5 * dt"
			if s == 2 {
				h = "dt"
			}
			at[i] = fmt.Sprintf("(%s + %s * %s)", v, h, k[s][i])
		}
	}
	for i, v := range []string{"x", "y", "z"} {
		c.next = append(c.next, fmt.Sprintf("%s + dt / 6 * (%s + 2 * %s + 2 * %s + %s)", v, k[0][i], k[1][i], k[2][i], k[3][i]))
	}
	return c
}

func TestLorenz63(t *testing.T) {
	for _, c := range []struct {
		steps int
		value float64
		want  []float64
		rtol  float64
	}{
		{1000, 11.6267215298242370, []float64{1.55040843235375887, 1.22367243378050860, 0.233358901780815058,
			-1.01205286448920941, 1.06926844176638889, 7.93013957995466239}, 1e-12},
		{10000, 16.0442976242910789, []float64{-1.28492313222248913, -1.33443468865581407, 8.21017006852853923,
			-7.95090320707776961, -10.9482959130135986, -39.0863748596383397}, 1e-11},
	} {
		chain := lorenz63(c.steps).chain(t, false)
		list := methods(t, min(c.steps, 1000))
		if c.steps > 1000 {
			list = nil
			all, err := schedule.NewStoreAll(c.steps)
			if err != nil {
				t.Fatal(err)
			}
			revolve, err := schedule.NewRevolve(c.steps, 20)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, all, revolve)
		}
		for _, s := range list {
			if s.Limits().Slots == 1 && c.steps > 100 && s.Name() != "uniform-tape" {
				continue // quadratic
			}
			a := sweep(t, chain, s, 3, 0)
			near(t, s.Name()+" value", []float64{a.value}, []float64{c.value}, c.rtol)
			near(t, s.Name()+" gradient", a.gradient, c.want, c.rtol)
		}
	}
}

// A chain of unknown length ends where its condition holds; the online schedule returns the bits of a schedule that knew T.
func TestUntil(t *testing.T) {
	c := &text{
		state: []input{{name: "x"}}, params: []input{{"a", nil, []float64{0.93}}}, start: []string{"2 * a"},
		next: []string{"x * a - 0.001 * x^3"}, running: "x^2 / 100", terminal: "sin(x)", until: "x < 0.1 || j > 90", steps: 200,
	}
	chain := c.chain(t, true)
	online, err := schedule.NewOnline(c.steps, 4)
	if err != nil {
		t.Fatal(err)
	}
	got := sweep(t, chain, online, 1, 0)
	if !got.result.Ended || got.result.Steps < 20 || got.result.Steps > 60 {
		t.Fatalf("ended %v after %d steps", got.result.Ended, got.result.Steps)
	}
	c.steps = got.result.Steps
	chain = c.chain(t, true)
	for _, s := range methods(t, c.steps) {
		a := sweep(t, chain, s, 1, 0)
		if _, ok := schedule.SameBits(a.gradient, got.gradient); !ok || a.value != got.value {
			t.Fatalf("%s: %v and %v, want %v and %v", s.Name(), a.value, a.gradient, got.value, got.gradient)
		}
	}
	if closed := sweep(t, c.chain(t, false), methods(t, c.steps)[0], 1, 0); true {
		near(t, "closed chain", closed.gradient, got.gradient, 1e-13)
	}
}

// The gradient of the (x, ẋ) chain is the Hessian times the direction, and the gradient.
func TestHessianVectorProduct(t *testing.T) {
	c := everything(6)
	p := unroll(c.spec(t), c.steps)
	nc := len(c.params) + len(c.constants)
	wrt := []int{0, 1, 2, nc, nc + 1} // parameters and controls
	g := graph.Gradient(p, wrt)
	hvp := graph.JVP(g, wrt)
	in := c.tensors()
	var directions []*graph.Tensor
	for _, i := range wrt {
		directions = append(directions, graph.Floats(in[i].Shape, waves(in[i].Len(), float64(i))))
	}
	out, err := graph.Eval(hvp, append(in, directions...)...)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := program.New(program.Tangent(c.spec(t)))
	if err != nil {
		t.Fatal(err)
	}
	params, controls := values(c.params), values(c.controls)
	for i := range c.params {
		params = append(params, directions[i].F)
	}
	for i := range c.controls {
		controls = append(controls, directions[len(c.params)+i].F)
	}
	if err := chain.Set(c.steps, false, params, values(c.constants), controls); err != nil {
		t.Fatal(err)
	}
	var first answer
	for i, s := range methods(t, c.steps) {
		a := sweep(t, chain, s, len(params), len(controls))
		if i == 0 {
			first = a
			near(t, "J̇", []float64{a.value}, out[1+len(wrt)].F, 1e-13)
			np, nq := len(c.params), len(c.controls)
			bars := func(k int) []float64 {
				if k < np {
					return chain.ParamBar(k)
				}
				return chain.ControlBar(k - np)
			}
			dual := func(k int) []float64 {
				if k < np {
					return chain.ParamBar(np + k)
				}
				return chain.ControlBar(nq + k - np)
			}
			for k := range wrt {
				near(t, fmt.Sprintf("H v, input %d", k), bars(k), out[1+len(wrt)+1+k].F, 1e-11)
				near(t, fmt.Sprintf("gradient, input %d", k), dual(k), out[1+k].F, 1e-11)
			}
		}
		if k, ok := schedule.SameBits(a.gradient, first.gradient); !ok {
			t.Fatalf("%s differs from store-all at entry %d", s.Name(), k)
		}
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	c := everything(8)
	chain := c.chain(t, false)
	x, next := make([]float64, chain.StateLen(0)), make([]float64, chain.StateLen(1))
	before := make([]float64, len(x))
	tape := make([]float64, chain.TapeLen(3))
	if err := chain.Start(x); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() error{
		"advance": func() error { return chain.Advance(3, x, next) },
		"record":  func() error { return chain.Record(3, x, next, tape) },
		"reverse": func() error { return chain.Reverse(3, tape, next, before) },
	} {
		if what == "reverse" {
			if err := chain.Record(3, x, next, tape); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if n := testing.AllocsPerRun(20, func() { err = errors.Join(err, f()) }); n > 0 || err != nil {
			t.Errorf("%s allocates %v times, error %v", what, n, err)
		}
	}
}

// A second Set forgets the first.
func TestSetAgain(t *testing.T) {
	c := everything(5)
	chain := c.chain(t, false)
	want := sweep(t, chain, methods(t, 5)[0], len(c.params), len(c.controls))
	d := everything(3)
	d.params[1].value = []float64{-0.2}
	d.constants[0].value = c.constants[0].value
	if err := chain.Set(3, false, values(d.params), values(c.constants), values(d.controls)); err != nil {
		t.Fatal(err)
	}
	if a := sweep(t, chain, methods(t, 3)[0], len(c.params), len(c.controls)); a.value == want.value {
		t.Fatal("the second chain has the value of the first")
	}
	if err := chain.Set(5, false, values(c.params), values(c.constants), values(c.controls)); err != nil {
		t.Fatal(err)
	}
	got := sweep(t, chain, methods(t, 5)[0], len(c.params), len(c.controls))
	if _, ok := schedule.SameBits(got.gradient, want.gradient); !ok || got.value != want.value {
		t.Fatal("the third chain is not the first")
	}
}

// Advance computes the bits of the reference evaluator.
func TestAdvanceEqualsReference(t *testing.T) {
	c := everything(8)
	chain := c.chain(t, true)
	s := c.spec(t)
	x := make([]float64, chain.StateLen(0))
	if err := chain.Start(x); err != nil {
		t.Fatal(err)
	}
	next := make([]float64, len(x))
	for j := range 8 {
		in := []*graph.Tensor{graph.Floats(graph.Shape{3}, x[:3]), graph.Number(x[3])}
		in = append(in, c.tensors()[:7]...)
		in = append(in, graph.Ints(nil, []int64{int64(j)}))
		out, err := graph.Eval(s.Step, in...)
		if err != nil {
			t.Fatal(err)
		}
		if err := chain.Advance(j+1, x, next); err != nil {
			t.Fatal(err)
		}
		want := append(append([]float64{}, out[0].F...), out[1].F[0], x[4]+out[2].F[0])
		if i, ok := schedule.SameBits(next, want); !ok {
			t.Fatalf("step %d, entry %d: %v, want %v", j, i, next[i], want[i])
		}
		x, next = next, x
	}
}

func TestRefusals(t *testing.T) {
	base := func(next string) *text {
		return &text{state: []input{{name: "x"}}, params: []input{{"a", nil, []float64{1}}}, controls: []input{{"u", nil, waves(9, 0)}},
			start: []string{"1"}, next: []string{next}, terminal: "x", steps: 9}
	}
	for _, c := range []struct{ next, want string }{
		{"x + sum(u)", "read it as u[j]"},
		{"x + u[0]", "read it as u[j]"},
		{"x + u[j - 1]", "u[j-1] is before the first entry"},
		{"x + u[2 * j]", "its index is j, or j and a number"},
		{"j > 0 ? x : u[j < 5 ? j : 0]", "its index is j, or j and a number"},
	} {
		var e *program.ControlError
		if _, err := program.New(base(c.next).spec(t)); !errors.As(err, &e) || !strings.Contains(e.Error(), c.want) || e.Control != "u" {
			t.Errorf("%s: %v, want %q", c.next, err, c.want)
		}
	}
	chain, err := program.New(base("x * u[j] + u[1 + j]").spec(t))
	if err != nil {
		t.Fatal(err)
	}
	if chain.Reach(0) != 1 || chain.ControlLen(0, 9) != 10 || chain.ControlLen(0, 0) != 0 {
		t.Errorf("reach %d, %d entries", chain.Reach(0), chain.ControlLen(0, 9))
	}
	if err := chain.Set(9, false, [][]float64{{1}}, nil, [][]float64{waves(9, 0)}); err == nil || !strings.Contains(err.Error(), "control u has 9 entries, want 10") {
		t.Error(err)
	}

	// A step that leaves its domain is named.
	b := base("x - 0.3 * a + 0 * sqrt(x) * u[j]")
	chain = b.chain(t, false)
	s, err := schedule.NewRevolve(9, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := schedule.NewRunner(chain, s, schedule.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(t.Context(), chain.Sweep([]float64{1}, make([]float64, 1), make([]float64, 1)))
	var step *schedule.StepError
	var failure *graph.Failure
	if !errors.As(err, &step) || step.Step != 5 || !errors.As(err, &failure) || failure.Status != graph.DomainError {
		t.Errorf("%v, want a domain error of step 5", err)
	}
}

// The programs that the exec package cannot run are refused when the chain is made.
func TestFloat32(t *testing.T) {
	b := graph.NewBuilder("step")
	x := b.Input("x", graph.Type{DType: graph.Float32})
	b.Input("j", graph.Type{DType: graph.Int64})
	step := b.Build(b.Emit(op.Mul, nil, x, x))
	if _, err := exec.Compile(step, exec.Options{}); err == nil {
		t.Fatal("float32 programs compile now: chains of them want tests of their own")
	}
	start := graph.NewBuilder("start")
	s := start.Build(start.Full(graph.Type{DType: graph.Float32}, 1))
	o := graph.NewBuilder("objective")
	y := o.Input("x", graph.Type{DType: graph.Float32})
	if _, err := program.New(program.Spec{Dims: program.Dims{States: 1}, Step: step, Start: s, Objective: o.Build(y)}); err == nil {
		t.Error("a float32 chain is accepted")
	}
}

// burgers is W5.
func burgers(steps int) *text {
	return &text{
		state:     []input{{name: "u", shape: graph.Shape{1000}}},
		constants: []input{{"c1", nil, []float64{2e-5 / 1e-3}}, {"c2", nil, []float64{0.01 * 2e-5 / (1e-3 * 1e-3)}}, {"u0", graph.Shape{1000}, burgersStart()}},
		start:     []string{"u0"}, defined: []string{"left", "right"}, define: []string{"roll(u, 1)", "roll(u, -1)"},
		next:     []string{"u - c1 * (u * (u - left)) + c2 * (left - 2 * u + right)"},
		terminal: "sum(u^2)", steps: steps,
	}
}

func burgersStart() []float64 {
	u := make([]float64, 1000)
	for i := range u {
		u[i] = 1 + 0.5*math.Sin(2*math.Pi*float64(i)/1000)
	}
	return u
}

func TestBurgers(t *testing.T) {
	const steps = 10_000
	chain := burgers(steps).chain(t, false)
	var first answer
	for i, make := range []func() (schedule.Schedule, error){
		func() (schedule.Schedule, error) { return schedule.NewRevolve(steps, 20) },
		func() (schedule.Schedule, error) { return schedule.NewBinomial(steps, 20, -1) },
		func() (schedule.Schedule, error) { return schedule.NewUniformTape(steps, 100) },
		func() (schedule.Schedule, error) { return schedule.NewUniform(steps, 200) },
		func() (schedule.Schedule, error) { return schedule.NewStoreAll(steps) },
		func() (schedule.Schedule, error) {
			return schedule.NewTwoTier(steps, 20, 10, schedule.Costs{Advance: 1, DiskWrite: 20, DiskRead: 10})
		},
	} {
		s, err := make()
		if err != nil {
			t.Fatal(err)
		}
		a := sweep(t, chain, s, 0, 0)
		if i == 0 {
			first = a
			total, square := 0.0, 0.0
			for _, g := range a.gradient {
				total, square = total+g, square+g*g
			}
			near(t, "W5", []float64{a.value, a.gradient[0], a.gradient[500], total, square},
				[]float64{1103.41453679024120, 2.00182290336835422, 2.00263013054595583, 1998.18397372348560, 4325.28930509565346}, 1e-12)
		}
		if k, ok := schedule.SameBits(a.gradient, first.gradient); !ok {
			t.Fatalf("%s differs at entry %d", s.Name(), k)
		}
	}
}

// A start that is a parameter passes its cotangent on.
func TestStartIsAParameter(t *testing.T) {
	c := &text{state: []input{{name: "x"}, {name: "y"}}, params: []input{{"a", nil, []float64{3}}, {"b", nil, []float64{5}}},
		start: []string{"a", "a"}, next: []string{"2 * x", "y"}, terminal: "x * y + b", steps: 3}
	a := sweep(t, c.chain(t, false), methods(t, 3)[0], 2, 0)
	near(t, "gradient", a.gradient, []float64{24, 24, 48, 1}, 0)
}
