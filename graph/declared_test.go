package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

func ExampleDeclared() {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(2))
	p := b.Build(b.Emit(op.Mul, nil, x, b.Emit(op.StopGradient(b.Type(x)), nil, x)))
	vjp := graph.VJP(p, []int{0})
	out, _ := graph.Eval(vjp, graph.Floats(graph.Shape{2}, []float64{3, 5}), graph.Floats(graph.Shape{2}, []float64{1, 1}))
	fmt.Println(out[1].F, graph.Declared(vjp, 1))
	// Output: [3 5] [stop_gradient]
}

func declaredRun(t *testing.T, p *graph.Program, in ...*graph.Tensor) []*graph.Tensor {
	t.Helper()
	if err := graph.Verify(p); err != nil {
		t.Fatalf("%v\n%v", err, p)
	}
	out, err := graph.Eval(p, in...)
	if err != nil {
		t.Fatal(err)
	}
	expanded := graph.Expand(p)
	if err := graph.Verify(expanded); err != nil {
		t.Fatal(err)
	}
	for _, n := range expanded.Nodes {
		if n.Op.Body != nil {
			t.Fatalf("Expand left %s", n.Op.Name)
		}
	}
	again, err := graph.Eval(expanded, in...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		if !slices.Equal(out[i].F, again[i].F) {
			t.Fatalf("expanded output %d is %v, want %v", i, again[i].F, out[i].F)
		}
	}
	return out
}

// x + stop(x): the stopped part gives nothing, and the result still says that it depends on it.
func TestStopGradientMarksWhatItLeavesOut(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(2))
	y := b.Input("y", graph.F64(2))
	p := b.Build(b.Emit(op.Add, nil, x, b.Emit(op.StopGradient(b.Type(x)), nil, x)), b.Emit(op.Sin, nil, y))
	if got := declaredRun(t, p, vec(3, 5), vec(1, 2))[0].F; !slices.Equal(got, []float64{6, 10}) {
		t.Errorf("value %v", got)
	}
	jvp := graph.JVP(p, []int{0, 1})
	if got := declaredRun(t, jvp, vec(3, 5), vec(1, 2), vec(1, 2), vec(0, 0))[2].F; !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("tangent %v", got)
	}
	vjp := graph.VJP(p, []int{0, 1})
	if got := declaredRun(t, vjp, vec(3, 5), vec(1, 2), vec(1, 2), vec(0, 0))[2].F; !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("cotangent %v", got)
	}
	second := graph.JVP(vjp, []int{0, 2})
	declaredRun(t, second, vec(3, 5), vec(1, 2), vec(1, 2), vec(0, 0), vec(1, 1), vec(1, 1))
	for _, c := range []struct {
		p    *graph.Program
		i    int
		want []string
	}{
		{p, 0, []string{"stop_gradient"}}, {p, 1, nil},
		{jvp, 0, []string{"stop_gradient"}}, {jvp, 1, nil}, {jvp, 2, []string{"stop_gradient"}}, {jvp, 3, nil},
		{vjp, 2, []string{"stop_gradient"}}, {vjp, 3, nil},
		{second, 2 + 4, []string{"stop_gradient"}}, {second, 3 + 4, nil},
	} {
		if got := graph.Declared(c.p, c.i); !slices.Equal(got, c.want) {
			t.Errorf("%s output %d: declared %v, want %v", c.p.Name, c.i, got, c.want)
		}
	}
}

func TestStraightThroughRound(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(3))
	q := b.Emit(op.StraightThroughRound(b.Type(x)), nil, x)
	p := b.Build(b.Emit(op.Mul, nil, q, q))
	out := declaredRun(t, graph.VJP(p, []int{0}), vec(0.5, 1.7, -2.2), vec(1, 1, 1)) // 0.5 is a tie: round alone refuses
	if want := []float64{0, 4, 4}; !slices.Equal(out[0].F, want) {
		t.Errorf("value %v, want %v", out[0].F, want)
	}
	if want := []float64{0, 4, -4}; !slices.Equal(out[1].F, want) { // 2·round(x)
		t.Errorf("cotangent %v, want %v", out[1].F, want)
	}
	plain := graph.NewBuilder("g")
	x = plain.Input("x", graph.F64(3))
	g := plain.Build(plain.Emit(op.Round, nil, x))
	// Its derivative is 0 where it has one, and a tie has none.
	if _, err := graph.Eval(graph.JVP(g, []int{0}), vec(0.5, 1.7, -2.2), vec(1, 1, 1)); err == nil || !strings.Contains(err.Error(), "NONDIFFERENTIABLE") {
		t.Errorf("round at a tie: %v", err)
	}
	out, err := graph.Eval(graph.JVP(g, []int{0}), vec(0.4, 1.7, -2.2), vec(1, 1, 1))
	if err != nil || !slices.Equal(out[1].F, []float64{0, 0, 0}) {
		t.Errorf("round: %v, %v", out, err)
	}
}

// odd is sin(x)·A with the response (γ, x, A) ↦ (x²∘(γAᵀ), γ's copy of A's shape): far from any derivative.
func odd(t *testing.T) (*graph.Op, *graph.Program) {
	t.Helper()
	f := graph.NewBuilder("odd")
	x, a := f.Input("x", graph.F64(2, 3)), f.Input("A", graph.F64(3, 2))
	forward := f.Build(op.Product(f, f.Emit(op.Sin, nil, x), a, false, false))
	r := graph.NewBuilder("odd_response")
	x, a = r.Input("x", graph.F64(2, 3)), r.Input("A", graph.F64(3, 2))
	g := r.LinearInput("seed", graph.F64(2, 2))
	response := r.Build(r.Emit(op.Mul, nil, r.Emit(op.Mul, nil, x, x), op.Product(r, g, a, false, true)), op.Product(r, x, g, true, false))
	o, err := graph.Declare("odd", forward, response)
	if err != nil {
		t.Fatal(err)
	}
	return o, response
}

func TestReverseIsTheDeclaredResponseBitForBit(t *testing.T) {
	o, response := odd(t)
	x := graph.Floats(graph.Shape{2, 3}, []float64{.3, -1.2, .7, 2.1, -.4, .9})
	a := graph.Floats(graph.Shape{3, 2}, []float64{1.1, .2, -.3, .8, .5, -1.7})
	seed := graph.Floats(graph.Shape{2, 2}, []float64{.3, .7, -.2, 1.9})
	want, err := graph.Eval(response, x, a, seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrt := range [][]int{{0, 1}, {0}, {1}} {
		b := graph.NewBuilder("f")
		xv, av := b.Input("x", x.Type), b.Input("A", a.Type)
		p := b.Build(b.Emit(o, nil, xv, av))
		vjp := graph.VJP(p, wrt)
		out := declaredRun(t, vjp, x, a, seed)
		for k, i := range wrt {
			if !slices.Equal(out[1+k].F, want[i].F) {
				t.Errorf("wrt %v: cotangent of input %d is %v, want %v", wrt, i, out[1+k].F, want[i].F)
			}
			if d := graph.Declared(vjp, 1+k); !slices.Equal(d, []string{"odd"}) {
				t.Errorf("declared %v", d)
			}
		}
		// ⟨γ, Jv⟩ = ⟨b(γ), v⟩: the JVP applies the transpose of the response.
		dx := []*graph.Tensor{
			graph.Floats(graph.Shape{2, 3}, []float64{1, 2, -1, 3, 1, -2}), graph.Floats(graph.Shape{3, 2}, []float64{2, 1, -1, 1, 3, 1})}
		var v []*graph.Tensor
		right := 0.0
		for _, i := range wrt {
			v = append(v, dx[i])
			for e, d := range dx[i].F {
				right += want[i].F[e] * d
			}
		}
		_, dy, err := graph.Directional(p, wrt, []*graph.Tensor{x, a}, v)
		if err != nil {
			t.Fatal(err)
		}
		left := 0.0
		for e, d := range dy[0].F {
			left += seed.F[e] * d
		}
		if d := left - right; d > 1e-13 || d < -1e-13 {
			t.Errorf("wrt %v: pairing %v against %v", wrt, left, right)
		}
		// Residuals are what the response reads and nothing else.
		if l := graph.Linearize(p, wrt); graph.Verify(l.Linear) != nil || graph.Verify(graph.Transpose(l.Linear)) != nil {
			t.Errorf("wrt %v: %v", wrt, graph.Verify(l.Linear))
		}
	}
}

// The derivative of a pullback is that of the declared response as it stands: x̄ = x²∘(γAᵀ) has 2x∘v∘(γAᵀ).
func TestHigherDerivativesOfADeclaredResponse(t *testing.T) {
	o, response := odd(t)
	b := graph.NewBuilder("f")
	xv, av := b.Input("x", graph.F64(2, 3)), b.Input("A", graph.F64(3, 2))
	p := b.Build(b.Emit(o, nil, xv, av))
	x := graph.Floats(graph.Shape{2, 3}, []float64{3, -1, 7, 2, -4, 9})
	a := graph.Floats(graph.Shape{3, 2}, []float64{1, 2, -3, 8, 5, -7})
	seed := graph.Floats(graph.Shape{2, 2}, []float64{3, 7, -2, 9})
	v := graph.Floats(graph.Shape{2, 3}, []float64{1, 2, -1, 3, 1, -2})
	mixed := graph.Mixed(graph.VJP(p, []int{0, 1}), []int{0}, 2)
	got := declaredRun(t, mixed, x, a, seed, v, v)
	plain := *response
	plain.Inputs = slices.Clone(response.Inputs)
	plain.Inputs[2].Linear = false
	want := declaredRun(t, graph.Mixed(&plain, []int{0}, 2), x, a, seed, v, v)
	for i := range want {
		if !slices.Equal(got[1+i].F, want[i].F) {
			t.Errorf("cotangent %d: %v, want %v", i, got[1+i].F, want[i].F)
		}
	}
	// 2v²∘(γAᵀ), worked by hand for the first entry: γAᵀ = 3·1 + 7·2 = 17.
	if got[1].F[0] != 2*1*17 || !slices.Equal(graph.Declared(mixed, 1), []string{"odd"}) {
		t.Errorf("entry 0 is %v, declared %v", got[1].F[0], graph.Declared(mixed, 1))
	}
}

func TestDeclareRefuses(t *testing.T) {
	f := graph.NewBuilder("f")
	x := f.Input("x", graph.F64(2))
	forward := f.Build(f.Emit(op.Sin, nil, x))
	response := func(build func(r *graph.Builder, x, seed graph.Value) []graph.Value, seed graph.Type) *graph.Program {
		r := graph.NewBuilder("r")
		x := r.Input("x", graph.F64(2))
		return r.Build(build(r, x, r.LinearInput("seed", seed))...)
	}
	for want, p := range map[string]*graph.Program{
		"not linear": response(func(r *graph.Builder, x, s graph.Value) []graph.Value {
			return []graph.Value{r.Emit(op.Mul, nil, s, s)}
		}, graph.F64(2)),
		"depend":   response(func(r *graph.Builder, x, s graph.Value) []graph.Value { return []graph.Value{x} }, graph.F64(2)),
		"1 cotang": response(func(r *graph.Builder, x, s graph.Value) []graph.Value { return []graph.Value{s, s} }, graph.F64(2)),
		"seed":     response(func(r *graph.Builder, x, s graph.Value) []graph.Value { return []graph.Value{r.Zeros(graph.F64(2))} }, graph.F64(3)),
		"cotangent of operand x": response(func(r *graph.Builder, x, s graph.Value) []graph.Value {
			return []graph.Value{r.Zeros(graph.F64(3))}
		}, graph.F64(2)),
	} {
		if _, err := graph.Declare("g", forward, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
	}
}

// Two responses of one name on equal operands stay two.
func TestEqualNamesOfDifferentResponsesStayApart(t *testing.T) {
	make := func(scale float64) *graph.Op {
		f := graph.NewBuilder("f")
		x := f.Input("x", graph.Scalar)
		forward := f.Build(f.Emit(op.Mul, nil, f.Full(graph.Scalar, scale), x))
		r := graph.NewBuilder("r")
		r.Input("x", graph.Scalar)
		o, err := graph.Declare("same", forward, r.Build(r.LinearInput("seed", graph.Scalar)))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	p := b.Build(b.Emit(make(2), nil, x), b.Emit(make(3), nil, x), b.Emit(make(3), nil, x))
	if len(p.Nodes) != 2 {
		t.Errorf("%d nodes, want 2", len(p.Nodes))
	}
	// Equal values and another response are another operation, too.
	b = graph.NewBuilder("f")
	x = b.Input("x", graph.Scalar)
	stop := op.StopGradient(graph.Scalar)
	r := graph.NewBuilder("r")
	r.Input("x", graph.Scalar)
	through, err := graph.Declare("stop_gradient", stop.Body, r.Build(r.LinearInput("seed", graph.Scalar)))
	if err != nil {
		t.Fatal(err)
	}
	q := b.Build(b.Emit(stop, nil, x), b.Emit(through, nil, x))
	if out := declaredRun(t, graph.JVP(q, []int{0}), graph.Number(1), graph.Number(1)); out[2].F[0] != 0 || out[3].F[0] != 1 {
		t.Errorf("tangents %v and %v, want 0 and 1", out[2].F, out[3].F)
	}
	if out := declaredRun(t, p, graph.Number(1)); out[0].F[0] != 2 || out[1].F[0] != 3 {
		t.Errorf("values %v and %v", out[0].F, out[1].F)
	}
}

// As implemented, an operation has the derivatives of its program, and statuses keep their place.
func TestAsImplemented(t *testing.T) {
	f := graph.NewBuilder("f")
	x, y := f.Input("x", graph.F64(2)), f.Input("y", graph.F64(2))
	body := f.Build(f.Emit(op.Mul, nil, f.Emit(op.Log, nil, x), y))
	r := graph.NewBuilder("r")
	r.Input("x", graph.F64(2))
	r.Input("y", graph.F64(2))
	seed := r.LinearInput("seed", graph.F64(2))
	o, err := graph.Declare("xlog", body, r.Build(seed, r.Zeros(graph.F64(2))))
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder("g")
	x, y = b.Input("x", graph.F64(2)), b.Input("y", graph.F64(2))
	p := graph.AsImplemented(b.Build(b.Emit(o, nil, x, y)))
	in := []*graph.Tensor{vec(2, 3), vec(5, 7), vec(1, 1)}
	got := declaredRun(t, graph.VJP(p, []int{0, 1}), in...)
	want := declaredRun(t, graph.VJP(body, []int{0, 1}), in...)
	for i := range want {
		if !slices.Equal(got[i].F, want[i].F) {
			t.Errorf("output %d: %v, want %v", i, got[i].F, want[i].F)
		}
	}
	second := graph.JVP(graph.VJP(p, []int{0, 1}), []int{0, 1})
	exact := graph.JVP(graph.VJP(body, []int{0, 1}), []int{0, 1})
	got = declaredRun(t, second, append(in, vec(1, -1), vec(2, 1))...)
	want = declaredRun(t, exact, append(in, vec(1, -1), vec(2, 1))...)
	for i := range want {
		for e := range want[i].F {
			if d := got[i].F[e] - want[i].F[e]; d > 1e-15 || d < -1e-15 {
				t.Errorf("output %d: %v, want %v", i, got[i].F, want[i].F)
			}
		}
	}
	_, err = graph.Eval(p, vec(2, -3), vec(1, 1))
	if f, ok := err.(*graph.Failure); !ok || f.Status != graph.DomainError || !strings.Contains(f.Reason, "[1]") {
		t.Errorf("outside the domain: %v", err)
	}
}

// The pullback of x·stop(x) is γ·x. As implemented it has derivative γ; differentiated as declared, 0.
func TestDerivativesOfTheImplementedPullback(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	p := b.Build(b.Emit(op.Mul, nil, x, b.Emit(op.StopGradient(graph.Scalar), nil, x)))
	s := graph.NewBuilder("seed")
	s.Input("x", graph.Scalar)
	reverse, err := graph.Pullback(p, []int{0}, s.Build(s.Full(graph.Scalar, 5)))
	if err != nil {
		t.Fatal(err)
	}
	implemented := graph.Mixed(reverse, []int{0}, 1)
	if out := declaredRun(t, implemented, graph.Number(3), graph.Number(1)); out[0].F[0] != 5 {
		t.Errorf("derivative of the implemented pullback: %v, want 5", out[0].F)
	}
	if d := graph.Declared(implemented, 0); !slices.Equal(d, []string{"stop_gradient"}) {
		t.Errorf("declared %v", d)
	}
	declared := graph.Mixed(graph.VJP(p, []int{0}), []int{0}, 1)
	if out := declaredRun(t, declared, graph.Number(3), graph.Number(5), graph.Number(1)); out[1].F[0] != 0 {
		t.Errorf("derivative with declared tangents: %v, want 0", out[1].F)
	}
}

// The identity with a declared response is not linear: neither the proof of linearity nor Taylor arithmetic may read its
// program for its tangent.
func TestDeclaredIsNotItsProgram(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	p := b.Build(b.Emit(op.StopGradient(graph.Scalar), nil, x))
	if _, err := graph.Taylor(p, 2, []*graph.Tensor{graph.Number(1), graph.Number(1)}); err == nil || !strings.Contains(err.Error(), "stop_gradient has no Taylor rule") {
		t.Errorf("Taylor: %v", err)
	}
	l := graph.NewBuilder("l")
	dx := l.LinearInput("dx", graph.Scalar)
	if err := graph.Verify(l.Build(l.Emit(op.StopGradient(graph.Scalar), nil, dx))); err == nil {
		t.Error("stop_gradient passed as linear")
	}
	// The tangent of a declared operation is linear in tangents only, not in the operand that its response reads.
	f, r := graph.NewBuilder("scaled"), graph.NewBuilder("scaled_response")
	u := r.Input("x", graph.Scalar)
	o, err := graph.Declare("scaled", f.Build(f.Input("x", graph.Scalar)), r.Build(r.Emit(op.Mul, nil, r.LinearInput("seed", graph.Scalar), u)))
	if err != nil {
		t.Fatal(err)
	}
	c := graph.NewBuilder("g")
	lin := graph.Linearize(c.Build(c.Emit(o, nil, c.Input("x", graph.Scalar))), []int{0}).Linear
	if err := graph.Verify(lin); err != nil || len(lin.Inputs) != 2 {
		t.Fatalf("%v\n%v", err, lin)
	}
	for i := range lin.Inputs {
		lin.Inputs[i].Linear = !lin.Inputs[i].Linear
	}
	if err := graph.Verify(lin); err == nil {
		t.Errorf("linear in the operand instead:\n%v", lin)
	}
}

// An operation whose program can fail stays, read or not, as its program would.
func TestUnreadCompositeKeepsItsChecks(t *testing.T) {
	b := graph.NewBuilder("log")
	forward := b.Build(b.Emit(op.Log, nil, b.Input("x", graph.Scalar)))
	r := graph.NewBuilder("response")
	r.Input("x", graph.Scalar)
	o, err := graph.Declare("log", forward, r.Build(r.LinearInput("seed", graph.Scalar)))
	if err != nil {
		t.Fatal(err)
	}
	f := graph.NewBuilder("f")
	x := f.Input("x", graph.Scalar)
	f.Emit(o, nil, x)
	p := graph.DropDead(f.Build(x))
	if _, err := graph.Eval(p, graph.Number(-1)); statusOf(err) != graph.DomainError {
		t.Errorf("have %v, want %s\n%v", err, graph.DomainError, p)
	}
}
