package conformance

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/response"
)

var spaces = [][]graph.Type{{graph.F64(2)}, {graph.Scalar, graph.F64(2)}, {graph.F64(2, 2)}, {graph.F64(2), graph.F64(2, 2), graph.Scalar}}

func drawSpace(draw Draw, label string) []graph.Type { return spaces[draw(label, len(spaces))] }

// drawPoint draws entries between −1.6 and 1.6.
func drawPoint(draw Draw, label string, types []graph.Type) []*graph.Tensor {
	var out []*graph.Tensor
	for _, s := range types {
		x := graph.NewTensor(s)
		for i := range x.F {
			x.F[i] = float64(draw(label, 199)-99) / 62
		}
		out = append(out, x)
	}
	return out
}

// drawProgram draws a program between two spaces, with declared responses inside if asked.
func drawProgram(draw Draw, label string, x, y []graph.Type, declared bool) *graph.Program {
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
	operations := 6
	if declared {
		operations = 8
	}
	var out []graph.Value
	for _, s := range y {
		v := values[draw(label+" operand", len(values))]
		if !b.Type(v).Equal(s) {
			v = op.BroadcastTo(b, sum, s.Shape)
		}
		for range 1 + draw(label+" length", 3) {
			switch draw(label+" operation", operations) {
			case 0:
				v = b.Emit(op.Tanh, nil, v)
			case 1:
				v = b.Emit(op.Mul, nil, v, v)
			case 2:
				v = b.Emit(op.Add, nil, v, op.BroadcastTo(b, sum, s.Shape))
			case 3:
				v = b.Emit(op.Sin, nil, v)
			case 4:
				if len(s.Shape) == 2 {
					v = op.Product(b, v, v, false, true)
				}
			case 5:
				v = b.Emit(op.Mul, nil, b.Emit(op.Logistic, nil, v), v)
			case 6:
				v = b.Emit(op.StopGradient(s), nil, v)
			case 7:
				v = b.Emit(op.StraightThroughRound(s), nil, v)
			}
		}
		out = append(out, v)
	}
	return b.Build(out...)
}

func drawMap(draw Draw, label string, x, y []graph.Type) response.Map {
	return response.Exact(drawProgram(draw, label, x, y, true))
}

// composed composes maps from the last to the first; the spaces are known to meet.
func composed(maps ...response.Map) response.Map {
	out := maps[len(maps)-1]
	for i := len(maps) - 2; i >= 0; i-- {
		next, err := response.Compose(maps[i], out)
		if err != nil {
			panic(err)
		}
		out = next
	}
	return out
}

// sameObservations compares both halves of two maps at one point, bit for bit.
func sameObservations(law string, a, b response.Map, x, ct []*graph.Tensor) error {
	for _, m := range []response.Map{a, b} {
		if err := m.Check(); err != nil {
			return fmt.Errorf("%s: %w", law, err)
		}
	}
	if err := equalRuns(law+", forward", a.Forward, b.Forward, x); err != nil {
		return err
	}
	return equalRuns(law+", backward", a.Backward, b.Backward, slices.Concat(x, ct))
}

func equalRuns(law string, p, q *graph.Program, in []*graph.Tensor) error {
	y, err := graph.Eval(p, in...)
	if err != nil {
		return fmt.Errorf("%s: %w", law, err)
	}
	z, err := graph.Eval(q, in...)
	if err != nil {
		return fmt.Errorf("%s: %w", law, err)
	}
	return equalBits(law, y, z)
}

func equalBits(law string, y, z []*graph.Tensor) error {
	if len(y) != len(z) {
		return fmt.Errorf("%s: %d and %d components", law, len(y), len(z))
	}
	for i := range y {
		if !slices.Equal(y[i].F, z[i].F) || !slices.Equal(y[i].I, z[i].I) {
			return fmt.Errorf("%s: component %d is %v and %v", law, i, y[i].F, z[i].F)
		}
	}
	return nil
}

func associativityLaw(draw Draw) error {
	w, x, y, z := drawSpace(draw, "W"), drawSpace(draw, "X"), drawSpace(draw, "Y"), drawSpace(draw, "Z")
	l, m, n := drawMap(draw, "l", w, x), drawMap(draw, "m", x, y), drawMap(draw, "n", y, z)
	return sameObservations("n∘(m∘l) and (n∘m)∘l", composed(n, composed(m, l)), composed(composed(n, m), l),
		drawPoint(draw, "at", w), drawPoint(draw, "seed", z))
}

func identityLaw(draw Draw) error {
	x, y := drawSpace(draw, "X"), drawSpace(draw, "Y")
	l := drawMap(draw, "l", x, y)
	at, ct := drawPoint(draw, "at", x), drawPoint(draw, "seed", y)
	if err := sameObservations("id∘l and l", composed(response.Identity(y...), l), l, at, ct); err != nil {
		return err
	}
	return sameObservations("l∘id and l", composed(l, response.Identity(x...)), l, at, ct)
}

func productLaw(draw Draw) error {
	w, x, y, z := drawSpace(draw, "W"), drawSpace(draw, "X"), drawSpace(draw, "Y"), drawSpace(draw, "Z")
	l, m := drawMap(draw, "l", w, x), drawMap(draw, "m", x, y)
	k, n := drawMap(draw, "k", z, y), drawMap(draw, "n", y, z)
	at, ct := drawPoint(draw, "at", slices.Concat(w, z)), drawPoint(draw, "seed", slices.Concat(y, z))
	if err := sameObservations("(m×n)∘(l×k) and (m∘l)×(n∘k)", composed(response.Product(m, n), response.Product(l, k)),
		response.Product(composed(m, l), composed(n, k)), at, ct); err != nil {
		return err
	}
	both := slices.Concat(w, x)
	return sameObservations("id×id and id", response.Product(response.Identity(w...), response.Identity(x...)), response.Identity(both...),
		drawPoint(draw, "at", both), drawPoint(draw, "seed", both))
}

func copyLaw(draw Draw) error {
	w := drawSpace(draw, "W")
	id, copies, discard := response.Identity(w...), response.Copy(w...), response.Discard(w...)
	at, a, b := drawPoint(draw, "at", w), drawPoint(draw, "seed", w), drawPoint(draw, "seed", w)
	ct, err := graph.Eval(copies.Backward, slices.Concat(at, a, b)...)
	if err != nil {
		return err
	}
	for i := range ct {
		for e := range ct[i].F {
			if ct[i].F[e] != a[i].F[e]+b[i].F[e] {
				return fmt.Errorf("copy: component %d is %v, want the sum of %v and %v", i, ct[i].F, a[i].F, b[i].F)
			}
		}
	}
	if ct, err = graph.Eval(discard.Backward, at...); err != nil || largest(ct) != 0 {
		return fmt.Errorf("discard: %v, %v", ct, err)
	}
	if err := sameObservations("discarding either copy", composed(response.Product(id, discard), copies), id, at, a); err != nil {
		return err
	}
	if err := sameObservations("discarding the first copy", composed(response.Product(discard, id), copies), id, at, a); err != nil {
		return err
	}
	// Sums of three equal cotangents round alike in both orders.
	return sameObservations("copying either copy", composed(response.Product(copies, id), copies), composed(response.Product(id, copies), copies),
		at, slices.Concat(a, a, a))
}

func chainLaw(draw Draw, rounding *meter) error {
	w, x, y := drawSpace(draw, "W"), drawSpace(draw, "X"), drawSpace(draw, "Y")
	l, m := drawProgram(draw, "l", w, x, true), drawProgram(draw, "m", x, y, true)
	b := graph.NewBuilder("composite")
	var in []graph.Value
	for i, s := range w {
		in = append(in, b.Input(fmt.Sprintf("x%d", i), s))
	}
	whole := response.Exact(b.Build(b.Inline(m, b.Inline(l, in...)...)...))
	parts := composed(response.Exact(m), response.Exact(l))
	args := slices.Concat(drawPoint(draw, "at", w), drawPoint(draw, "seed", y))
	p, err := graph.Eval(whole.Backward, args...)
	if err != nil {
		return err
	}
	q, err := graph.Eval(parts.Backward, args...)
	if err != nil {
		return err
	}
	for i := range p {
		for e := range p[i].F {
			if err := rounding.near(fmt.Sprintf("component %d, entry %d", i, e), p[i].F[e], q[i].F[e], 1e-14*(1+largest(p))); err != nil {
				return err
			}
		}
	}
	return nil
}

func residualLaw(draw Draw) error {
	w, x, y := drawSpace(draw, "W"), drawSpace(draw, "X"), drawSpace(draw, "Y")
	l, m := response.Implement(drawProgram(draw, "l", w, x, true)), response.Implement(drawProgram(draw, "m", x, y, true))
	c, err := response.ComposeImplementations(m, l)
	if err != nil {
		return err
	}
	if c.Residuals != l.Residuals+m.Residuals {
		return fmt.Errorf("%d residuals, want %d + %d", c.Residuals, l.Residuals, m.Residuals)
	}
	at, ct := drawPoint(draw, "at", w), drawPoint(draw, "seed", y)
	both := composed(m.Response(), l.Response())
	if err := implements(c, both, at, ct); err != nil {
		return err
	}
	if err := implements(response.Tautological(both), both, at, ct); err != nil {
		return err
	}
	return implements(response.ProductImplementations(l, m), response.Product(l.Response(), m.Response()),
		slices.Concat(at, drawPoint(draw, "at", x)), slices.Concat(drawPoint(draw, "seed", x), ct))
}

// implements: fwd(x) = (f(x), r) and rev(r, γ) = b(x, γ), bit for bit.
func implements(i response.Implementation, m response.Map, x, ct []*graph.Tensor) error {
	if err := graph.Verify(i.Reverse); err != nil {
		return err
	}
	out, err := graph.Eval(i.Forward, x...)
	if err != nil {
		return err
	}
	n := len(out) - i.Residuals
	y, err := graph.Eval(m.Forward, x...)
	if err != nil {
		return err
	}
	if err := equalBits("forward", out[:n], y); err != nil {
		return err
	}
	got, err := graph.Eval(i.Reverse, slices.Concat(out[n:], ct)...)
	if err != nil {
		return err
	}
	want, err := graph.Eval(m.Backward, slices.Concat(x, ct)...)
	if err != nil {
		return err
	}
	return equalBits("reverse", got, want)
}
