package op_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

func (r row) program(at graph.Attrs, in []*graph.Tensor) (*graph.Program, error) {
	b := graph.NewBuilder("f")
	args := make([]graph.Value, len(in))
	for i, x := range in {
		args[i] = b.Input(fmt.Sprintf("x%d", i), x.Type)
	}
	v, err := b.Try(r.op, at, args...)
	return b.Build(v), err
}

// Every primitive has a row, and every row its rules.
func TestEveryPrimitiveHasARow(t *testing.T) {
	for _, o := range op.All() {
		if o == graph.Literal { // has no operands; tested with the verifier
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			k := slices.IndexFunc(rows, func(r row) bool { return r.op == o })
			if k < 0 {
				t.Fatal("no test row")
			}
			want := func(holds bool, what string) {
				if !holds {
					t.Error(what)
				}
			}
			want(o.Infer != nil, "no shape rule")
			want(o.Unary != nil || o.Binary != nil || o.Eval != nil, "no kernel")
			want(o.JVP != nil, "no JVP rule")
			want((o.LinearIn != nil) == (o.Transpose != nil), "LinearIn without Transpose, or the reverse")
			want(o.Domain != "", "no domain")
			want(!o.Kinks || o.Check != nil, "kinks without a check")
			want(!o.Total || o.Check == nil, "total with a check")
			want(o.Branch == nil || o.Kinks, "branches without kinks")
			want(o.Check == nil || len(o.Safe) == o.Arity, "partial without a safe operand")
			want(o.Check == nil || len(rows[k].edges) > 0, "partial without a test of its boundary")
			if len(o.Safe) > 0 {
				checkSafe(t, rows[k])
			}
		})
	}
}

// checkSafe: the safe operand passes at every order.
func checkSafe(t *testing.T, r row) {
	x := make([]*graph.Tensor, len(r.op.Safe))
	for i, s := range r.op.Safe {
		x[i] = num(s)
	}
	for _, e := range r.examples {
		if slices.ContainsFunc(e.in, func(x *graph.Tensor) bool { return !x.DType.IsFloat() }) {
			continue
		}
		p, err := r.program(e.at, x)
		if err != nil {
			t.Fatal(err)
		}
		for order, status := range statusesByOrder(p, x, nil) {
			if status.err != nil {
				t.Errorf("safe operand %v, order %d: %v", r.op.Safe, order, status.err)
			}
		}
	}
}

// outcome is how a derivative of one order ended, by forward mode over forward mode and over reverse mode.
type outcome struct{ err, reverse error }

func statusesByOrder(p *graph.Program, x []*graph.Tensor, wrt []int) [3]outcome {
	if wrt == nil {
		wrt = floats(p)
	}
	tangents := make([]graph.Type, len(wrt))
	for k, i := range wrt {
		tangents[k] = p.Inputs[i].Type
	}
	r := randprog.Rand(1)
	d1, d2 := randprog.Tangents(r, tangents), randprog.Tangents(r, tangents)
	ct := randprog.Tangents(r, p.OutputTypes())
	var out [3]outcome
	_, out[0].err = graph.Eval(p, x...)
	out[0].reverse = out[0].err
	jvp, vjp := graph.JVP(p, wrt), graph.VJP(p, wrt)
	_, out[1].err = graph.Eval(jvp, slices.Concat(x, d1)...)
	_, out[1].reverse = graph.Eval(vjp, slices.Concat(x, ct)...)
	_, out[2].err = graph.Eval(graph.JVP(jvp, wrt), slices.Concat(x, d1, d2)...)
	_, out[2].reverse = graph.Eval(graph.JVP(vjp, wrt), slices.Concat(x, ct, d2)...)
	return out
}

// floats lists the inputs that are differentiated.
func floats(p *graph.Program) []int {
	wrt := []int{}
	for i, in := range p.Inputs {
		if in.Type.DType.IsFloat() {
			wrt = append(wrt, i)
		}
	}
	return wrt
}

// Values, domains and branches: status, failing entry and reason at every order.
func TestEdges(t *testing.T) {
	for _, r := range rows {
		for k, e := range r.edges {
			p, err := r.program(e.at, e.in)
			if err != nil {
				t.Fatal(err)
			}
			for order, have := range statusesByOrder(p, e.in, e.wrt) {
				for _, err := range []error{have.err, have.reverse} {
					if problem := e.compare(err, order, r.op.Name); problem != "" {
						t.Errorf("%s edge %d %v%v, wrt %v, order %d: %s", r.op.Name, k, e.at, values(e.in), e.wrt, order, problem)
					}
				}
			}
		}
	}
}

func values(x []*graph.Tensor) (out []any) {
	for _, t := range x {
		if t.DType.IsFloat() {
			out = append(out, t.F)
		} else {
			out = append(out, t.I)
		}
	}
	return out
}

func (e edge) compare(err error, order int, name string) string {
	status := e.status[order]
	if err == nil {
		if status == ok {
			return ""
		}
		return fmt.Sprintf("OK, want %s", status)
	}
	f, isFailure := err.(*graph.Failure)
	switch {
	case !isFailure || f.Status != status:
		return fmt.Sprintf("%v, want %s", err, status)
	case status == inf && e.status[0] == ok: // the overflow of a derivative is found by the operation that computes it
		return ""
	case f.Op != name || !slices.Equal(f.Entry, e.entry) || !strings.Contains(f.Reason, e.reason):
		return fmt.Sprintf("%s at %v: %q, want %s at %v: %q", f.Op, f.Entry, f.Reason, name, e.entry, e.reason)
	}
	return ""
}

// Known answers, and the laws of the derivative at the same points.
func TestExamples(t *testing.T) {
	for _, r := range rows {
		t.Run(r.op.Name, func(t *testing.T) {
			for _, e := range r.examples {
				p, err := r.program(e.at, e.in)
				if err != nil {
					t.Fatal(err)
				}
				have, err := graph.Eval(p, e.in...)
				if err != nil {
					t.Fatalf("%v%v: %v", e.at, values(e.in), err)
				}
				if !close(have[0], e.want) {
					t.Errorf("%v%v: have %v, want %v %v", e.at, values(e.in), values(have), e.want.Type, values(in(e.want)))
				}
				if err := derivativeLaws(p, e.in); err != nil {
					t.Errorf("%v%v: %v\n%v", e.at, values(e.in), err, p)
				}
				if err := float32Law(r, e); err != nil {
					t.Errorf("%v%v in float32: %v", e.at, values(e.in), err)
				}
			}
		})
	}
}

// close allows the rounding of the known answers and of one operation.
func close(x, y *graph.Tensor) bool {
	if !x.Type.Equal(y.Type) || !slices.Equal(x.I, y.I) {
		return false
	}
	for i := range x.F {
		if math.Abs(x.F[i]-y.F[i]) > 4e-16*math.Abs(y.F[i])+1e-16 {
			return false
		}
	}
	return true
}

// float32Law: the operation on float32 is the operation on float64, rounded.
func float32Law(r row, e example) error {
	if r.op == op.Convert {
		return nil
	}
	x := make([]*graph.Tensor, len(e.in))
	wide := make([]*graph.Tensor, len(e.in))
	for i := range e.in {
		x[i] = e.in[i].Clone()
		if x[i].DType == graph.Float64 {
			x[i].DType = graph.Float32
			x[i].Round32()
		}
		wide[i] = &graph.Tensor{Type: e.in[i].Type, F: x[i].F, I: x[i].I}
	}
	p, err := r.program(e.at, x)
	if err != nil {
		return err
	}
	q, err := r.program(e.at, wide)
	if err != nil {
		return err
	}
	have, err1 := graph.Eval(p, x...)
	want, err2 := graph.Eval(q, wide...)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%v, %v", err1, err2)
	}
	want[0].Round32()
	for i := range have[0].F {
		if have[0].F[i] != want[0].F[i] {
			return fmt.Errorf("have %v, want %v", have[0].F, want[0].F)
		}
	}
	return roundTrip(graph.JVP(graph.VJP(p, floats(p)), floats(p)))
}

func roundTrip(programs ...*graph.Program) error {
	for _, p := range programs {
		if err := graph.Verify(p); err != nil {
			return fmt.Errorf("%w\n%v", err, p)
		}
		q, err := op.Parse(p.String())
		if err != nil {
			return fmt.Errorf("%w\n%v", err, p)
		}
		if q.String() != p.String() {
			return fmt.Errorf("parsed text differs:\n%v%v", p, q)
		}
	}
	return nil
}

// derivativeLaws: forward against reverse, both against a ladder of differences, once and twice differentiated, and
// the transposes against the dense matrix; with respect to all float operands, and to each alone.
func derivativeLaws(p *graph.Program, x []*graph.Tensor) error {
	all := floats(p)
	subsets := [][]int{all}
	for _, i := range all {
		if len(all) > 1 {
			subsets = append(subsets, []int{i})
		}
	}
	for _, wrt := range subsets {
		first, second := graph.JVP(p, wrt), graph.VJP(p, wrt)
		for _, q := range []*graph.Program{p, first, second} {
			if err := lawsOf(q, wrt, x); err != nil {
				return fmt.Errorf("%s, wrt %v: %w", q.Name, wrt, err)
			}
		}
	}
	return nil
}

// lawsOf checks the laws of q, of which the inputs after x are drawn.
func lawsOf(q *graph.Program, wrt []int, x []*graph.Tensor) error {
	r := randprog.Rand(7)
	rest := &graph.Program{Inputs: q.Inputs[len(x):]}
	x = slices.Concat(x, randprog.Inputs(r, rest))
	types := make([]graph.Type, len(wrt))
	for k, i := range wrt {
		types[k] = q.Inputs[i].Type
	}
	v, ct := randprog.Tangents(r, types), randprog.Tangents(r, q.OutputTypes())
	jvp, vjp, l := graph.JVP(q, wrt), graph.VJP(q, wrt), graph.Linearize(q, wrt)
	back := graph.Transpose(l.Linear)
	again := graph.Transpose(back)
	if err := roundTrip(jvp, vjp, l.Primal, l.Linear, back, again); err != nil {
		return err
	}
	n := len(q.Outputs)
	forward, err := graph.Eval(jvp, slices.Concat(x, v)...)
	if err != nil {
		return err
	}
	reverse, err := graph.Eval(vjp, slices.Concat(x, ct)...)
	if err != nil {
		return err
	}
	left, size := randprog.Dot(ct, forward[n:])
	right, size2 := randprog.Dot(reverse[n:], v)
	if math.Abs(left-right) > 1e-14*(size+size2+1) {
		return fmt.Errorf("⟨ū, Jv⟩ = %v, ⟨Jᵀū, v⟩ = %v", left, right)
	}
	_, outputs := randprog.Dot(ct, forward[:n])
	if err := randprog.Ladder(func(h float64) (float64, error) {
		moved := slices.Clone(x)
		for k, i := range wrt {
			moved[i] = x[i].Clone()
			for e := range moved[i].F {
				moved[i].F[e] += h / 8 * v[k].F[e]
			}
		}
		y, err := graph.Eval(q, moved...)
		if err != nil {
			return 0, err
		}
		dot, _ := randprog.Dot(ct, y)
		return 8 * dot, nil
	}, left, 8*(size+outputs)); err != nil && !steep(q) {
		return err
	}
	primal, err := graph.Eval(l.Primal, x...)
	if err != nil {
		return err
	}
	return denseLaw(l.Linear, back, again, primal[n:])
}

// steep reports the powers that no difference can follow.
func steep(q *graph.Program) bool {
	return slices.ContainsFunc(q.Nodes, func(n graph.Node) bool { return n.Op == op.PowInt && max(n.Attrs.Int("n"), -n.Attrs.Int("n")) > 1<<50 })
}

// denseLaw: Transpose is the transposed matrix, and twice Transpose the matrix itself.
func denseLaw(linear, back, again *graph.Program, residuals []*graph.Tensor) error {
	a, err := randprog.Dense(linear, residuals)
	if err != nil {
		return err
	}
	b, err := randprog.Dense(back, residuals)
	if err != nil {
		return err
	}
	c, err := randprog.Dense(again, residuals)
	if err != nil {
		return err
	}
	for i := range a {
		for j, x := range a[i] {
			if tolerance := 1e-14 * (1 + math.Abs(x)); math.Abs(b[j][i]-x) > tolerance || math.Abs(c[i][j]-x) > tolerance {
				return fmt.Errorf("entry %d, %d is %v, transposed %v, twice transposed %v\n%v%v", i, j, x, b[j][i], c[i][j], linear, back)
			}
		}
	}
	return nil
}

// An operation is additive in the operands in which its row calls it linear.
func TestLinearIn(t *testing.T) {
	for _, r := range rows {
		for _, e := range r.examples {
			if r.op.LinearIn == nil || slices.ContainsFunc(e.in, func(x *graph.Tensor) bool { return x.DType == graph.Int64 && r.op.Arity != 2 }) {
				continue
			}
			p, _ := r.program(e.at, e.in)
			for subset := 1; subset < 1<<len(e.in); subset++ {
				marked, x, y, sum := make([]bool, len(e.in)), slices.Clone(e.in), slices.Clone(e.in), slices.Clone(e.in)
				fits := true
				for k := range e.in {
					if marked[k] = subset>>k&1 == 1; !marked[k] {
						continue
					}
					fits = fits && e.in[k].DType.IsFloat()
					drawn := randprog.Tangents(randprog.Rand(uint64(subset)), []graph.Type{e.in[k].Type})[0]
					y[k], sum[k] = drawn, drawn.Clone()
					for i := range sum[k].F {
						sum[k].F[i] += x[k].F[i]
					}
				}
				if !fits || !r.op.LinearIn(marked) {
					continue
				}
				fx, err1 := graph.Eval(p, x...)
				fy, err2 := graph.Eval(p, y...)
				fsum, err3 := graph.Eval(p, sum...)
				if err1 != nil || err2 != nil || err3 != nil {
					t.Errorf("%s: %v, %v, %v", r.op.Name, err1, err2, err3)
					continue
				}
				for i, z := range fsum[0].F {
					if math.Abs(z-fx[0].F[i]-fy[0].F[i]) > 1e-14*(1+math.Abs(z)) {
						t.Errorf("%s is not additive in %v", r.op.Name, marked)
					}
				}
			}
		}
	}
}

// Boundaries have the values that the rows state.
func TestBoundaryValues(t *testing.T) {
	for _, e := range []struct {
		op   *graph.Op
		at   graph.Attrs
		in   []*graph.Tensor
		want *graph.Tensor
	}{
		{op.Abs, nil, in(vec(0, zero)), vec(0, 0)},
		{op.Sign, nil, in(vec(0, zero)), vec(0, 0)},
		{op.Sqrt, nil, in(vec(0)), vec(0)},
		{op.Asin, nil, in(vec(1, -1)), vec(math.Pi/2, -math.Pi/2)},
		{op.Acos, nil, in(vec(1, -1)), vec(0, math.Pi)},
		{op.Atan2, nil, in(vec(0, zero, 0, zero), vec(-2, -2, 2, 2)), vec(math.Pi, math.Pi, 0, 0)},
		{op.Hypot, nil, in(vec(0), vec(0)), vec(0)},
		{op.Min, nil, in(vec(3), vec(3)), vec(3)},
		{op.Max, nil, in(vec(3), vec(3)), vec(3)},
		{op.Clamp, nil, in(vec(-1, 2, 5), vec(-1, -1, 3), vec(2, 2, 3)), vec(-1, 2, 3)},
		{op.Less, nil, in(vec(3), vec(3)), truth(0)},
		{op.LessEqual, nil, in(vec(3), vec(3)), truth(1)},
		{op.Equal, nil, in(vec(0), vec(zero)), truth(1)},
		{op.Pow, nil, in(vec(0, 0, 0, -2, -2), vec(0, 0.5, 3, 3, -1)), vec(1, 0, 0, -8, -0.5)},
		{op.PowSlope, at("k=1"), in(vec(0, 0, 0, 0, -2), vec(0, 1, 2, 3, 3)), vec(0, 1, 0, 0, 12)},
		{op.PowInt, at("n=0"), in(vec(0)), vec(1)},
	} {
		p, err := row{op: e.op}.program(e.at, e.in)
		if err != nil {
			t.Fatal(err)
		}
		have, err := graph.Eval(p, e.in...)
		if err != nil || !randprog.Same(have, in(e.want)) {
			t.Errorf("%s%v: have %v, %v, want %v", e.op.Name, values(e.in), values(have), err, values(in(e.want)))
		}
	}
}

// The derivative of x^y exists with respect to both, twice, also where y = 0; with respect to x also at x = 0.
func TestPowDerivatives(t *testing.T) {
	b := graph.NewBuilder("f")
	x, y := b.Input("x", graph.Scalar), b.Input("y", graph.Scalar)
	p := b.Build(b.Emit(op.Pow, nil, x, y))
	gradient := graph.Gradient(p, []int{0, 1})
	hessian := graph.JVP(gradient, []int{0, 1}) // outputs: value, g, then their tangents
	for _, c := range []struct{ x, y, dx, dy, dxdx, dxdy, dydy float64 }{
		{2, 0, 0, math.Ln2, 0, 0.5, math.Ln2 * math.Ln2},
		{2, 1, 1, 2 * math.Ln2, 0, 1 + math.Ln2, 2 * math.Ln2 * math.Ln2},
		{2, 3, 12, 8 * math.Ln2, 12, 4 * (1 + 3*math.Ln2), 8 * math.Ln2 * math.Ln2},
	} {
		for k, want := range [][2]float64{{c.dxdx, c.dxdy}, {c.dxdy, c.dydy}} {
			d := [2]float64{}
			d[k] = 1
			out, err := graph.Eval(hessian, num(c.x), num(c.y), num(d[0]), num(d[1]))
			if err != nil {
				t.Fatalf("at (%v, %v): %v", c.x, c.y, err)
			}
			have := []*graph.Tensor{out[1], out[2], out[4], out[5]}
			for i, w := range []float64{c.dx, c.dy, want[0], want[1]} {
				if !close(have[i], num(w)) {
					t.Errorf("at (%v, %v), direction %d, entry %d: have %v, want %v", c.x, c.y, k, i, have[i].F[0], w)
				}
			}
		}
	}
	inBase := graph.JVP(graph.Gradient(p, []int{0}), []int{0})
	for y, want := range map[float64][2]float64{0: {0, 0}, 1: {1, 0}, 2: {0, 2}, 3: {0, 0}} {
		out, err := graph.Eval(inBase, num(0), num(y), num(1))
		if err != nil || out[1].F[0] != want[0] || out[3].F[0] != want[1] {
			t.Errorf("0^%v: have %v, %v, want %v", y, values(out), err, want)
		}
	}
}

// A sum has one order: entry k joins partial sum k mod 8, and the partial sums are added pairwise, each addition rounded
// once in the element type. Products of matrices and running sums go in the order of their index.
func TestOrderOfSums(t *testing.T) {
	x := make([]float64, 19)
	r := randprog.Rand(3)
	for i := range x {
		x[i] = math.Ldexp(r.Float64()-0.5, r.IntN(40))
	}
	var part [8]float64
	for i, v := range x {
		part[i%8] += v
	}
	want := ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))
	plain := 0.0
	for _, v := range x {
		plain += v
	}
	if plain == want {
		t.Fatal("the example does not tell orders apart")
	}
	run := func(o *graph.Op, a graph.Attrs, in ...*graph.Tensor) []float64 {
		p, err := row{op: o}.program(a, in)
		if err != nil {
			t.Fatal(err)
		}
		y, err := graph.Eval(p, in...)
		if err != nil {
			t.Fatal(err)
		}
		return y[0].F
	}
	if have := run(op.Sum, at("axes=0"), vec(x...))[0]; have != want {
		t.Errorf("sum: have %v, want %v", have, want)
	}
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	if have := run(op.MatMul, nil, mat(1, 19, x...), mat(19, 1, ones...))[0]; have != plain {
		t.Errorf("matmul: have %v, want %v", have, plain)
	}
	if have := run(op.CumSum, at("axis=0"), vec(x...))[18]; have != plain {
		t.Errorf("cumsum: have %v, want %v", have, plain)
	}
	narrow := &graph.Tensor{Type: graph.Type{DType: graph.Float32, Shape: graph.Shape{3}}, F: []float64{1, 0x1p-24, 0x1p-24}}
	if have := run(op.CumSum, at("axis=0"), narrow)[2]; have != 1 {
		t.Errorf("float32 cumsum: have %v, want 1: every addition is rounded", have)
	}
	row1 := &graph.Tensor{Type: graph.Type{DType: graph.Float32, Shape: graph.Shape{1, 3}}, F: narrow.F}
	col1 := &graph.Tensor{Type: graph.Type{DType: graph.Float32, Shape: graph.Shape{3, 1}}, F: []float64{1, 1, 1}}
	if have := run(op.MatMul, nil, row1, col1)[0]; have != 1 {
		t.Errorf("float32 matmul: have %v, want 1", have)
	}
}

// Costs in floating-point operations.
func TestCosts(t *testing.T) {
	a, b := graph.F64(2, 3), graph.F64(3, 4)
	for _, c := range []struct {
		op   *graph.Op
		at   graph.Attrs
		in   []graph.Type
		out  graph.Type
		want int
	}{
		{op.MatMul, nil, []graph.Type{a, b}, graph.F64(2, 4), 48},
		{op.MatMul, at("ta=1"), []graph.Type{graph.F64(3, 2), b}, graph.F64(2, 4), 48},
		{op.Sum, at("axes=0"), []graph.Type{a}, graph.F64(3), 6},
		{op.Reshape, at("shape=6"), []graph.Type{a}, graph.F64(6), 0},
		{op.Gather, nil, []graph.Type{a, {DType: graph.Int64}}, graph.F64(3), 0},
		{op.ScatterAdd, nil, []graph.Type{a, {DType: graph.Int64}}, graph.F64(5, 2, 3), 6},
	} {
		if have := c.op.Cost(c.at, c.in, c.out); have != c.want {
			t.Errorf("%s: have %d, want %d", c.op.Name, have, c.want)
		}
	}
}

// On a boundary the derivative with respect to each operand alone is refused, and the value is not.
func TestKinksOfEachOperand(t *testing.T) {
	for _, c := range []struct {
		op *graph.Op
		x  []float64
	}{
		{op.Min, []float64{2, 2}}, {op.Max, []float64{2, 2}}, {op.Hypot, []float64{0, 0}}, {op.Atan2, []float64{0, -1}},
		{op.Clamp, []float64{1, 1, 1}},
		{op.Less, []float64{2, 2}}, {op.LessEqual, []float64{2, 2}}, {op.Equal, []float64{2, 2}},
	} {
		b := graph.NewBuilder("f")
		var args []graph.Value
		var in []*graph.Tensor
		for i, x := range c.x {
			args, in = append(args, b.Input(string(rune('a'+i)), graph.Scalar)), append(in, num(x))
		}
		y := b.Emit(c.op, nil, args...)
		if b.Type(y).DType == graph.Bool {
			y = b.Emit(op.Select, nil, y, args[0], args[1])
		}
		p := b.Build(y)
		if _, err := graph.Eval(p, in...); err != nil {
			t.Errorf("%s%v: %v", c.op.Name, c.x, err)
		}
		for i := range c.x {
			var f *graph.Failure
			if _, err := graph.Eval(graph.JVP(p, []int{i}), append(in[:len(in):len(in)], num(1))...); !errors.As(err, &f) || f.Status != graph.Nondifferentiable {
				t.Errorf("%s%v by operand %d: have %v, want %s", c.op.Name, c.x, i, err, graph.Nondifferentiable)
			}
		}
	}
}

// At one of its limits, clamp has a derivative with respect to the other one: zero, at every order.
func TestClampByTheOtherLimit(t *testing.T) {
	for _, c := range []struct {
		x     []float64
		other int
	}{{[]float64{-1, -1, 1}, 2}, {[]float64{1, -1, 1}, 1}} {
		b := graph.NewBuilder("f")
		var args []graph.Value
		var in []*graph.Tensor
		for i, x := range c.x {
			args, in = append(args, b.Input(string(rune('a'+i)), graph.Scalar)), append(in, num(x))
		}
		p := b.Build(b.Emit(op.Mul, nil, b.Emit(op.Clamp, nil, args...), b.Emit(op.Exp, nil, args[c.other])))
		want := math.Exp(c.x[c.other]) * c.x[0] // clamp·exp(other), where clamp does not move
		derivative := p
		for order := range 4 {
			out, err := graph.Eval(derivative, append(in[:3:3], slices.Repeat([]*graph.Tensor{num(1)}, order)...)...)
			if err != nil {
				t.Fatalf("clamp%v by operand %d, order %d: %v", c.x, c.other, order, err)
			}
			if have := out[len(out)-1].F[0]; have != want {
				t.Errorf("clamp%v by operand %d, order %d: have %v, want %v", c.x, c.other, order, have, want)
			}
			derivative = graph.JVP(derivative, []int{c.other})
		}
		vjp := graph.VJP(p, []int{c.other})
		if out, err := graph.Eval(vjp, append(in[:3:3], num(1))...); err != nil || out[len(out)-1].F[0] != want {
			t.Errorf("clamp%v by operand %d, reverse: %v, %v", c.x, c.other, out, err)
		}
		for i := range c.x {
			var f *graph.Failure
			wrt := slices.Compact(slices.Sorted(slices.Values([]int{i, c.other})))
			_, err := graph.Eval(graph.JVP(p, wrt), append(in[:3:3], slices.Repeat([]*graph.Tensor{num(1)}, len(wrt))...)...)
			if refused := errors.As(err, &f) && f.Status == graph.Nondifferentiable; refused != (i != c.other) {
				t.Errorf("clamp%v by operands %v: %v", c.x, wrt, err)
			}
		}
	}
}
