package response_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/response"
	"pgregory.net/rapid"
)

// A map with a stopped gradient and an exact one have equal values and different responses.
func Example() {
	t := graph.F64(2)
	square := graph.NewBuilder("square")
	x := square.Input("x", t)
	exact := response.Exact(square.Build(square.Emit(op.Mul, nil, x, x)))
	stop := graph.NewBuilder("stop")
	stopped := response.Exact(stop.Build(stop.Emit(op.StopGradient(t), nil, stop.Input("x", t))))
	both, _ := response.Compose(exact, stopped)
	in := graph.Floats(graph.Shape{2}, []float64{3, 5})
	one := graph.Floats(graph.Shape{2}, []float64{1, 1})
	for _, m := range []response.Map{exact, both} {
		y, _ := graph.Eval(m.Forward, in)
		ct, _ := graph.Eval(m.Backward, in, one)
		fmt.Println(y[0].F, ct[0].F)
	}
	// Output:
	// [9 25] [6 10]
	// [9 25] [0 0]
}

var spaces = [][]graph.Type{{graph.F64(2)}, {graph.Scalar, graph.F64(2)}, {graph.F64(2, 2)}, {graph.F64(2), graph.F64(2, 2), graph.Scalar}}

// drawMap draws a map between two spaces: a random program, with its exact response or with a declared one inside.
func drawMap(t *rapid.T, label string, x, y []graph.Type) *graph.Program {
	b := graph.NewBuilder(label)
	var values []graph.Value
	for i, s := range x {
		values = append(values, b.Input(fmt.Sprintf("x%d", i), s))
	}
	sum := graph.None
	for _, v := range values {
		axes := make([]int, len(b.Type(v).Shape))
		for a := range axes {
			axes[a] = a
		}
		sum = b.Accumulate(sum, op.SumOver(b, v, axes...))
	}
	var out []graph.Value
	for i, s := range y {
		v := values[rapid.IntRange(0, len(values)-1).Draw(t, label+" operand")]
		if !b.Type(v).Equal(s) {
			v = op.BroadcastTo(b, sum, s.Shape)
		}
		for k := range rapid.IntRange(1, 3).Draw(t, label+" length") {
			switch rapid.IntRange(0, 6).Draw(t, fmt.Sprintf("%s output %d operation %d", label, i, k)) {
			case 0:
				v = b.Emit(op.Tanh, nil, v)
			case 1:
				v = b.Emit(op.Mul, nil, v, v)
			case 2:
				v = b.Emit(op.Add, nil, v, op.BroadcastTo(b, sum, s.Shape))
			case 3:
				v = b.Emit(op.Sin, nil, v)
			case 4:
				v = b.Emit(op.StopGradient(s), nil, v)
			case 5:
				v = b.Emit(op.StraightThroughRound(s), nil, v)
			case 6:
				if len(s.Shape) == 2 {
					v = op.Product(b, v, v, false, true)
				}
			}
		}
		out = append(out, v)
	}
	return b.Build(out...)
}

func drawSpace(t *rapid.T, label string) []graph.Type {
	return spaces[rapid.IntRange(0, len(spaces)-1).Draw(t, label)]
}

func drawPoint(t *rapid.T, label string, types []graph.Type) []*graph.Tensor {
	var out []*graph.Tensor
	for _, s := range types {
		x := graph.NewTensor(s)
		for i := range x.F {
			x.F[i] = float64(rapid.IntRange(-99, 99).Draw(t, label)) / 64
		}
		out = append(out, x)
	}
	return out
}

// sameObservations checks both halves of two maps at one point, bit for bit.
func sameObservations(t *rapid.T, law string, a, b response.Map, x, ct []*graph.Tensor) {
	t.Helper()
	for _, m := range []response.Map{a, b} {
		if err := m.Check(); err != nil {
			t.Fatalf("%s: %v", law, err)
		}
	}
	equalRuns(t, law+", forward", a.Forward, b.Forward, x)
	equalRuns(t, law+", backward", a.Backward, b.Backward, slices.Concat(x, ct))
}

func equalRuns(t *rapid.T, law string, p, q *graph.Program, in []*graph.Tensor) {
	t.Helper()
	y, err := graph.Eval(p, in...)
	if err != nil {
		t.Fatalf("%s: %v", law, err)
	}
	z, err := graph.Eval(q, in...)
	if err != nil {
		t.Fatalf("%s: %v", law, err)
	}
	for i := range y {
		if !slices.Equal(y[i].F, z[i].F) {
			t.Fatalf("%s: component %d is %v and %v", law, i, y[i].F, z[i].F)
		}
	}
}

func compose(t *rapid.T, m, l response.Map) response.Map {
	t.Helper()
	c, err := response.Compose(m, l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCategoryLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, x, y, z := drawSpace(t, "W"), drawSpace(t, "X"), drawSpace(t, "Y"), drawSpace(t, "Z")
		pl, pm, pn := drawMap(t, "l", w, x), drawMap(t, "m", x, y), drawMap(t, "n", y, z)
		l, m, n := response.Exact(pl), response.Exact(pm), response.Exact(pn)
		at, ctx, ctz := drawPoint(t, "at", w), drawPoint(t, "seed", x), drawPoint(t, "seed", z)
		sameObservations(t, "associativity", compose(t, n, compose(t, m, l)), compose(t, compose(t, n, m), l), at, ctz)
		sameObservations(t, "left identity", compose(t, response.Identity(x...), l), l, at, ctx)
		sameObservations(t, "right identity", compose(t, l, response.Identity(w...)), l, at, ctx)

		// Products: (m × n)∘(l × k) = (m∘l) × (n∘k), and id × id = id.
		k := response.Exact(drawMap(t, "k", z, y))
		left := compose(t, response.Product(m, n), response.Product(l, k))
		right := response.Product(compose(t, m, l), compose(t, n, k))
		sameObservations(t, "interchange", left, right, slices.Concat(at, drawPoint(t, "at", z)), slices.Concat(drawPoint(t, "seed", y), ctz))
		sameObservations(t, "product of identities", response.Product(response.Identity(w...), response.Identity(x...)), response.Identity(slices.Concat(w, x)...), slices.Concat(at, ctx), slices.Concat(at, ctx))

		// Copy is coassociative and discarding one copy is the identity.
		copies := compose(t, response.Product(response.Copy(w...), response.Identity(w...)), response.Copy(w...))
		other := compose(t, response.Product(response.Identity(w...), response.Copy(w...)), response.Copy(w...))
		three := slices.Concat(at, at, at) // sums of three equal cotangents round alike in both orders
		sameObservations(t, "coassociativity", copies, other, at, three)
		counit := compose(t, response.Product(response.Identity(w...), response.Discard(w...)), response.Copy(w...))
		sameObservations(t, "counit", counit, response.Identity(w...), at, drawPoint(t, "seed", w))
	})
}

// Sending a program to itself with its exact pullback preserves composition: the chain rule, to rounding.
func TestExactPreservesComposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, x, y := drawSpace(t, "W"), drawSpace(t, "X"), drawSpace(t, "Y")
		pl, pm := drawMap(t, "l", w, x), drawMap(t, "m", x, y)
		b := graph.NewBuilder("composite")
		var in []graph.Value
		for i, s := range w {
			in = append(in, b.Input(fmt.Sprintf("x%d", i), s))
		}
		whole := response.Exact(b.Build(b.Inline(pm, b.Inline(pl, in...)...)...))
		parts := compose(t, response.Exact(pm), response.Exact(pl))
		args := slices.Concat(drawPoint(t, "at", w), drawPoint(t, "seed", y))
		p, err := graph.Eval(whole.Backward, args...)
		if err != nil {
			t.Skip(err)
		}
		q, err := graph.Eval(parts.Backward, args...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			scale := 1.0
			for _, v := range p[i].F {
				scale = max(scale, math.Abs(v))
			}
			for e := range p[i].F {
				if d := math.Abs(p[i].F[e] - q[i].F[e]); d > 1e-9*scale {
					t.Fatalf("component %d, entry %d: %v and %v", i, e, p[i].F[e], q[i].F[e])
				}
			}
		}
	})
}

func TestResidualComposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, x, y := drawSpace(t, "W"), drawSpace(t, "X"), drawSpace(t, "Y")
		pl, pm := drawMap(t, "l", w, x), drawMap(t, "m", x, y)
		at := drawPoint(t, "at", w)
		ct := drawPoint(t, "seed", y)
		l, m := response.Implement(pl), response.Implement(pm)
		c, err := response.ComposeImplementations(m, l)
		if err != nil {
			t.Fatal(err)
		}
		if c.Residuals != l.Residuals+m.Residuals {
			t.Fatalf("%d residuals, want %d + %d", c.Residuals, l.Residuals, m.Residuals)
		}
		want := compose(t, m.Response(), l.Response())
		sameObservations(t, "composition", c.Response(), want, at, ct)
		checkImplements(t, c, want, at, ct)
		checkImplements(t, response.Tautological(want), want, at, ct)

		p := response.ProductImplementations(l, m)
		both := response.Product(l.Response(), m.Response())
		checkImplements(t, p, both, slices.Concat(at, drawPoint(t, "at", x)), slices.Concat(drawPoint(t, "seed", x), ct))
	})
}

// checkImplements: fwd(x) = (f(x), r) and rev(r, γ) = b(x, γ).
func checkImplements(t *rapid.T, i response.Implementation, m response.Map, x, ct []*graph.Tensor) {
	t.Helper()
	if err := graph.Verify(i.Reverse); err != nil {
		t.Fatal(err)
	}
	out, err := graph.Eval(i.Forward, x...)
	if err != nil {
		t.Fatal(err)
	}
	y, err := graph.Eval(m.Forward, x...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := graph.Eval(i.Reverse, slices.Concat(out[len(y):], ct)...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := graph.Eval(m.Backward, slices.Concat(x, ct)...)
	if err != nil {
		t.Fatal(err)
	}
	for k := range y {
		if !slices.Equal(out[k].F, y[k].F) {
			t.Fatalf("forward component %d: %v, want %v", k, out[k].F, y[k].F)
		}
	}
	for k := range want {
		if !slices.Equal(got[k].F, want[k].F) {
			t.Fatalf("reverse component %d: %v, want %v", k, got[k].F, want[k].F)
		}
	}
}

func TestMapsThatDoNotMeetAreRefused(t *testing.T) {
	a, b := response.Identity(graph.F64(2)), response.Identity(graph.F64(3))
	if _, err := response.Compose(b, a); err == nil {
		t.Error("composed f64[2] with f64[3]")
	}
	x := graph.NewBuilder("b")
	in, ct := x.Input("x0", graph.F64(2)), x.LinearInput("ct0", graph.F64(2))
	bad := response.Map{Forward: a.Forward, Backward: x.Build(x.Emit(op.Mul, nil, ct, ct))}
	if bad.Check() == nil {
		t.Error("a quadratic backward map passed")
	}
	_ = in
}
