package graph_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

// programs is how many random programs a test draws: the environment variable PROGRAMS, else a short run.
func programs(t *testing.T, short int) int {
	if n, err := strconv.Atoi(os.Getenv("PROGRAMS")); err == nil {
		return n
	}
	return short
}

// The laws of the transformations hold for random programs. PROGRAMS=100000 makes the long run.
func TestLawsOnRandomPrograms(t *testing.T) {
	start, n := time.Now(), programs(t, 1200)
	statuses := map[graph.Status]int{}
	for seed := range uint64(n) {
		status, err := laws(seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		statuses[status]++
	}
	t.Logf("%d programs in %v: %v", n, time.Since(start).Round(time.Millisecond), statuses)
}

func statusOf(err error) graph.Status {
	var f *graph.Failure
	switch {
	case err == nil:
		return graph.OK
	case errors.As(err, &f):
		return f.Status
	}
	return graph.Status("error: " + err.Error())
}

// outcome is what a run shows: the bits, or the whole failure.
func sameOutcome(x []*graph.Tensor, xerr error, y []*graph.Tensor, yerr error) bool {
	if xerr != nil || yerr != nil {
		return fmt.Sprint(xerr) == fmt.Sprint(yerr)
	}
	return randprog.Same(x, y)
}

func roundTrip(p *graph.Program) error {
	if err := graph.Verify(p); err != nil {
		return fmt.Errorf("%w\n%v", err, p)
	}
	q, err := op.Parse(p.String())
	if err != nil {
		return fmt.Errorf("%w\n%v", err, p)
	}
	if q.String() != p.String() {
		return fmt.Errorf("printed:\n%v\nparsed and printed:\n%v", p, q)
	}
	return nil
}

// laws checks every law on the program of one seed and returns the status of its derivative.
func laws(seed uint64) (graph.Status, error) {
	r := randprog.Rand(seed)
	settings := randprog.Settings{Ops: 1 + r.IntN(14), Wild: seed%8 == 7}
	if seed%5 == 4 {
		settings.DType = graph.Float32
	}
	p := randprog.Program(r, settings)
	inputs := randprog.Inputs(r, p)
	if settings.Wild {
		inputs = randprog.WildInputs(r, p)
	}
	var wrt []int
	for i := range p.Inputs {
		if r.IntN(5) > 0 {
			wrt = append(wrt, i)
		}
	}
	r.Shuffle(len(wrt), func(i, j int) { wrt[i], wrt[j] = wrt[j], wrt[i] })
	fail := func(law string, args ...any) (graph.Status, error) {
		return "", fmt.Errorf("%s: %v\nwrt %v of\n%v", law, fmt.Sprintln(args...), wrt, p)
	}

	y, err := graph.Eval(p, inputs...)
	if err != nil && !settings.Wild {
		return fail("a program of the generator is defined everywhere", err)
	}
	if e := roundTrip(p); e != nil {
		return fail("print and parse", e)
	}
	if q, e := op.Parse(p.String()); e == nil {
		if z, zerr := graph.Eval(q, inputs...); !sameOutcome(y, err, z, zerr) {
			return fail("a parsed program runs like the printed one", err, zerr)
		}
	}
	if e := passLaws(p, inputs, y, err, r.IntN); e != nil {
		return fail("passes", e)
	}
	status, err := derivativeLaws(p, wrt, inputs, y, r.Uint64(), fail)
	if err != nil || status != graph.OK || seed%4 > 0 {
		return status, err
	}
	// The laws hold for derivatives as for any program: once more over a VJP or a JVP.
	q, seeds := graph.VJP(p, wrt), randprog.Tangents(r, p.OutputTypes())
	if seed%8 > 0 {
		q, seeds = graph.JVP(p, wrt), randprog.Tangents(r, selectTypes(p, wrt))
	}
	inputs = append(slices.Clone(inputs), seeds...)
	if y, err = graph.Eval(q, inputs...); err != nil {
		return statusOf(err), nil
	}
	p = q
	return derivativeLaws(q, wrt, inputs, y, r.Uint64(), fail)
}

// passLaws: Share, DropDead, other outputs and Split change no bit and no status.
func passLaws(p *graph.Program, inputs, y []*graph.Tensor, err error, draw func(int) int) error {
	for name, q := range map[string]*graph.Program{"share": graph.Share(p), "drop dead": graph.DropDead(p)} {
		if e := graph.Verify(q); e != nil {
			return e
		}
		if z, zerr := graph.Eval(q, inputs...); !randprog.Same(y, z) || statusOf(err) != statusOf(zerr) {
			return fmt.Errorf("%s: status %v and %v\n%v", name, err, zerr, q)
		}
		if len(q.Nodes) > len(p.Nodes) {
			return fmt.Errorf("%s adds nodes", name)
		}
	}
	var subset []int
	var values []graph.Value
	for i, v := range p.Outputs {
		if draw(2) == 0 {
			subset, values = append(subset, i), append(values, v)
		}
	}
	z, zerr := graph.Eval(graph.DropDead(p.WithOutputs(values...)), inputs...)
	if statusOf(err) != statusOf(zerr) {
		return fmt.Errorf("outputs %v: status %v, want %v", subset, zerr, err)
	}
	for k, i := range subset {
		if err == nil && !randprog.Same(y[i:i+1], z[k:k+1]) {
			return fmt.Errorf("outputs %v: other bits", subset)
		}
	}
	var vary []int
	for i := range p.Inputs {
		if draw(2) == 0 {
			vary = append(vary, i)
		}
	}
	early, late := graph.Split(p, vary)
	if e := errors.Join(roundTrip(early), roundTrip(late)); e != nil {
		return fmt.Errorf("split: %w", e)
	}
	if len(early.Nodes)+len(late.Nodes) > 2*len(p.Nodes) {
		return fmt.Errorf("split adds nodes")
	}
	var earlyInputs, lateInputs []*graph.Tensor
	for i := range p.Inputs {
		if slices.Contains(vary, i) {
			lateInputs = append(lateInputs, inputs[i])
		} else {
			earlyInputs = append(earlyInputs, inputs[i])
		}
	}
	shared, serr := graph.Eval(early, earlyInputs...)
	if serr == nil {
		shared, serr = graph.Eval(late, append(shared, lateInputs...)...)
	}
	if (err == nil) != (serr == nil) || err == nil && !randprog.Same(y, shared) {
		return fmt.Errorf("split on %v: status %v, want %v\n%v%v", vary, serr, err, early, late)
	}
	return nil
}

func selectTypes(p *graph.Program, wrt []int) []graph.Type {
	types := make([]graph.Type, len(wrt))
	for k, i := range wrt {
		types[k] = p.Inputs[i].Type
	}
	return types
}

// derivativeLaws: JVP, Linearize, Transpose and VJP agree with each other, at the first and the second order.
func derivativeLaws(p *graph.Program, wrt []int, inputs, y []*graph.Tensor, seed uint64,
	fail func(string, ...any) (graph.Status, error)) (graph.Status, error) {
	r := randprog.Rand(seed)
	dx := randprog.Tangents(r, selectTypes(p, wrt))
	ct := randprog.Tangents(r, p.OutputTypes())
	jvp, vjp, l := graph.JVP(p, wrt), graph.VJP(p, wrt), graph.Linearize(p, wrt)
	for _, q := range []*graph.Program{jvp, vjp, l.Primal, l.Linear} {
		if e := roundTrip(q); e != nil {
			return fail("derived programs are well formed", e)
		}
	}
	back := graph.Transpose(l.Linear)
	again := graph.Transpose(back)
	for _, q := range []*graph.Program{back, again} {
		if e := roundTrip(q); e != nil {
			return fail("transposed programs are well formed", e)
		}
	}
	forward, ferr := graph.Eval(jvp, append(slices.Clone(inputs), dx...)...)
	reverse, rerr := graph.Eval(vjp, append(slices.Clone(inputs), ct...)...)
	primal, perr := graph.Eval(l.Primal, inputs...)
	if perr != nil {
		// A run may meet the overflow of a tangent before it meets the failing check of the primal.
		if statusOf(ferr) != statusOf(perr) && statusOf(ferr) != graph.NonFinite || statusOf(rerr) != statusOf(perr) {
			return fail("forward and reverse refuse alike", ferr, rerr, perr)
		}
		return statusOf(perr), nil
	}
	if ferr != nil || rerr != nil {
		if statusOf(errors.Join(ferr, rerr)) != graph.NonFinite {
			return fail("only an overflow stops the linear part", ferr, rerr)
		}
		return graph.NonFinite, nil
	}
	n := len(p.Outputs)
	if !randprog.Same(y, forward[:n]) || !randprog.Same(y, reverse[:n]) || !randprog.Same(y, primal[:n]) {
		return fail("the primal values of every derivative are those of the program")
	}
	if e := residualLaw(l); e != nil {
		return fail("residuals", e)
	}
	linear, err := graph.Eval(l.Linear, append(slices.Clone(primal[n:]), dx...)...)
	if err != nil || !randprog.Same(linear, forward[n:]) {
		return fail("linearize equals jvp bit for bit", err)
	}
	size := largest(l.Linear, append(slices.Clone(primal[n:]), dx...)) + largest(back, append(slices.Clone(primal[n:]), ct...))
	left, _ := randprog.Dot(ct, forward[n:])
	right, _ := randprog.Dot(reverse[n:], dx)
	if !near(left, right, size, p) {
		return fail("⟨ū, Jv⟩ = ⟨Jᵀū, v⟩", left, right, jvp, vjp)
	}
	if e := denseLaw(l.Linear, back, again, primal[n:], size, p); e != nil {
		return fail("transpose", e)
	}
	return graph.OK, nil
}

// residualLaw: the residuals are what the linear part reads, each once, in the order of first use, no literal among them;
// and the linear part holds nothing that no output depends on.
func residualLaw(l graph.Linearization) error {
	needed := make([]bool, l.Linear.NumValues())
	for _, v := range l.Linear.Outputs {
		needed[v] = true
	}
	for i := len(l.Linear.Nodes) - 1; i >= 0; i-- {
		if !needed[len(l.Linear.Inputs)+i] {
			return fmt.Errorf("no output depends on node %d of the linear part:\n%v", i, l.Linear)
		}
		for _, a := range l.Linear.Nodes[i].Args {
			needed[a] = true
		}
	}
	n := len(l.Primal.Outputs) - l.Residuals
	seen := map[graph.Value]bool{}
	for _, v := range l.Primal.Outputs[n:] {
		if node := l.Primal.Node(v); seen[v] || node != nil && node.Op == graph.Literal {
			return fmt.Errorf("a residual twice, or a literal:\n%v", l.Primal)
		}
		seen[v] = true
	}
	next := graph.Value(0)
	use := func(v graph.Value) error {
		if v > next && int(v) < l.Residuals {
			return fmt.Errorf("residual %d is read before residual %d:\n%v", v, next, l.Linear)
		}
		if v == next {
			next++
		}
		return nil
	}
	for _, node := range l.Linear.Nodes {
		for _, a := range node.Args {
			if err := use(a); err != nil {
				return err
			}
		}
	}
	for _, v := range l.Linear.Outputs {
		if err := use(v); err != nil {
			return err
		}
	}
	if int(next) < l.Residuals {
		return fmt.Errorf("residual %d is not read:\n%v", next, l.Linear)
	}
	return nil
}

// largest is the largest value that a run meets: sums can cancel down from there.
func largest(p *graph.Program, inputs []*graph.Tensor) float64 {
	values, _ := graph.Trace(p, inputs...)
	size := 0.0
	for _, x := range values {
		for _, v := range x.F {
			size = max(size, math.Abs(v))
		}
	}
	return size
}

// near compares two sums that differ by rounding alone.
func near(x, y, size float64, p *graph.Program) bool {
	unit := 0x1p-53
	for v := range p.NumValues() {
		if p.Type(graph.Value(v)).DType == graph.Float32 {
			unit = 0x1p-24
		}
	}
	return math.Abs(x-y) <= 1e4*unit*size+1e-300 || math.Abs(x-y) <= unit*math.SmallestNonzeroFloat32
}

// denseLaw: the transposed program is the transposed matrix, and twice transposed the matrix itself.
func denseLaw(linear, back, again *graph.Program, residuals []*graph.Tensor, size float64, p *graph.Program) error {
	a, err1 := randprog.Dense(linear, residuals)
	b, err2 := randprog.Dense(back, residuals)
	c, err3 := randprog.Dense(again, residuals)
	if err := errors.Join(err1, err2, err3); err != nil {
		if statusOf(err1) == graph.NonFinite || statusOf(err2) == graph.NonFinite || statusOf(err3) == graph.NonFinite {
			return nil
		}
		return err
	}
	for i := range a {
		for j := range a[i] {
			if !near(a[i][j], b[j][i], size, p) || !near(a[i][j], c[i][j], size, p) {
				return fmt.Errorf("entry %d, %d: %v, transposed %v, twice %v\n%v%v", i, j, a[i][j], b[j][i], c[i][j], linear, back)
			}
		}
	}
	return nil
}

// Reverse mode agrees with finite differences, and a Hessian-vector product, the JVP of a VJP, with those of the gradient.
func TestSmoothProgramsAgainstFiniteDifferences(t *testing.T) {
	start, n := time.Now(), programs(t, 300)
	for seed := range uint64(n) {
		r := randprog.Rand(seed)
		p := randprog.Program(r, randprog.Settings{Ops: 6, Smooth: true})
		drawn := randprog.Inputs(r, p)
		inputs := moved(drawn, drawn, -0.2) // the ladder steps by up to 1/8 within [−1, 1]
		wrt := make([]int, len(p.Inputs))
		for i := range wrt {
			wrt[i] = i
		}
		ct := randprog.Tangents(r, p.OutputTypes())
		vjp := graph.VJP(p, wrt)
		if err := ladder(vjp, len(p.Outputs), p, ct, inputs, randprog.Tangents(r, selectTypes(p, wrt))); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		if err := hessianLadder(vjp, p, wrt, ct, inputs, r.Uint64()); err != nil {
			t.Fatalf("seed %d: Hessian: %v\n%v", seed, err, p)
		}
	}
	t.Logf("%d programs in %v", n, time.Since(start).Round(time.Millisecond))
}

// moved returns x + h·v.
func moved(x, v []*graph.Tensor, h float64) []*graph.Tensor {
	out := make([]*graph.Tensor, len(x))
	for i := range x {
		out[i] = x[i].Clone()
		for k := range out[i].F {
			out[i].F[k] += h * v[i].F[k]
		}
	}
	return out
}

// ladder compares ⟨Jᵀū, v⟩ with the differences of ⟨ū, f⟩.
func ladder(vjp *graph.Program, n int, p *graph.Program, ct, inputs, v []*graph.Tensor) error {
	reverse, err := graph.Eval(vjp, append(slices.Clone(inputs), ct...)...)
	if err != nil {
		return err
	}
	derivative, size := randprog.Dot(reverse[n:], v)
	_, outputs := randprog.Dot(ct, reverse[:n])
	return randprog.Ladder(func(h float64) (float64, error) {
		y, err := graph.Eval(p, moved(inputs, v, h)...)
		if err != nil {
			return 0, err
		}
		dot, _ := randprog.Dot(ct, y)
		return dot, nil
	}, derivative, size+outputs+1)
}

// hessianLadder compares ⟨w, D(Jᵀū)·v⟩ with the differences of ⟨w, Jᵀū⟩.
func hessianLadder(vjp, p *graph.Program, wrt []int, ct, inputs []*graph.Tensor, seed uint64) error {
	r := randprog.Rand(seed)
	v, w := randprog.Tangents(r, selectTypes(p, wrt)), randprog.Tangents(r, selectTypes(p, wrt))
	hvp := graph.JVP(vjp, wrt)
	if err := roundTrip(hvp); err != nil {
		return err
	}
	second, err := graph.Eval(hvp, slices.Concat(inputs, ct, v)...)
	if err != nil {
		return err
	}
	n, m := len(p.Outputs), len(wrt)
	derivative, size := randprog.Dot(second[2*n+m:], w)
	_, gradient := randprog.Dot(second[n:n+m], w)
	return randprog.Ladder(func(h float64) (float64, error) {
		g, err := graph.Eval(vjp, append(moved(inputs, v, h), ct...)...)
		if err != nil {
			return 0, err
		}
		dot, _ := randprog.Dot(g[n:], w)
		return dot, nil
	}, derivative, size+gradient+1)
}
