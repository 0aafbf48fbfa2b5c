package exec_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
)

// compare times ours and theirs in turns, each turn long enough to time, and reports the medians
// and the median of their ratios: machines change speed, ratios much less.
func compare(b *testing.B, ours, theirs func()) {
	repeats := func(f func()) int {
		for n := 1; ; n *= 2 {
			start := time.Now()
			for range n {
				f()
			}
			if d := time.Since(start); d > time.Millisecond {
				return n
			}
		}
	}
	n, m := repeats(ours), repeats(theirs)
	run := func(f func(), n int) float64 {
		start := time.Now()
		for range n {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	var a, c, ratio []float64
	for b.Loop() {
		a, c = append(a, run(ours, n)), append(c, run(theirs, m))
		ratio = append(ratio, a[len(a)-1]/c[len(c)-1])
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)/2]
	}
	b.ReportMetric(median(ratio), "ratio")
	b.ReportMetric(median(a), "ns-ours")
	b.ReportMetric(median(c), "ns-theirs")
	b.ReportMetric(0, "ns/op")
}

func mustCompile(tb testing.TB, p *graph.Program) *exec.Exec {
	tb.Helper()
	e, err := exec.Compile(p, exec.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// runner returns a run of a program on prepared buffers.
func runner(tb testing.TB, e *exec.Exec, in, out []exec.Buffer) func() {
	ws := e.NewWorkspace()
	return func() {
		if err := e.Run(ws, in, out); err != nil {
			tb.Fatal(err)
		}
	}
}

// scalars returns buffers of one entry each, over an array.
func scalars(x []float64) []exec.Buffer {
	b := make([]exec.Buffer, len(x))
	for i := range b {
		b[i].F = x[i : i+1]
	}
	return b
}

func types(p *graph.Program) (in []graph.Type) {
	for _, i := range p.Inputs {
		in = append(in, i.Type)
	}
	return in
}

// chain compares steps that start where the last one ended: the first n values are the state.
func chain(b *testing.B, e *exec.Exec, x, y []float64, n int, straight func(x, y []float64)) {
	const steps = 100
	copy(y[n:], x[n:])
	start := slices.Clone(x)
	ws := e.NewWorkspace()
	buffers := [2][]exec.Buffer{scalars(x), scalars(y)}
	compare(b, func() {
		copy(x, start)
		for k := range steps {
			if err := e.Run(ws, buffers[k%2], buffers[1-k%2][:n]); err != nil {
				b.Fatal(err)
			}
		}
	}, func() {
		copy(x, start)
		for range steps / 2 {
			straight(x, y)
			straight(y, x)
		}
	})
	have := slices.Clone(x)
	copy(x, start)
	for range steps / 2 {
		straight(x, y)
		straight(y, x)
	}
	if !slices.Equal(have, x) {
		b.Fatal("the results differ")
	}
}

// tiny is a step of the logistic map x ↦ a·x·(1 − x): three operations.
func tiny() *graph.Program {
	w := writer{graph.NewBuilder("tiny")}
	a, x := w.Input("a", graph.Scalar), w.Input("x", graph.Scalar)
	return w.Build(w.mul(w.mul(a, x), w.sub(w.Full(graph.Scalar, 1), x)))
}

// straightTiny is a variable, so that it is called, as in a program that chooses its model when it runs.
var straightTiny = func(in, out []float64) { out[0] = float64(float64(in[0]*in[1]) * (1 - in[1])) }

// straightTinyPush is the linear part of tiny: its inputs are four residuals and two tangents.
var straightTinyPush = func(in, out []float64) {
	out[0] = float64(float64(float64(in[4]*in[0])+float64(in[1]*in[5]))*in[2]) + float64(in[3]*-in[5])
}

// BenchmarkTinyRun calls a program of three operations.
func BenchmarkTinyRun(b *testing.B) {
	e := mustCompile(b, tiny())
	in, out, want := []float64{3.7, 0.3}, []float64{0}, []float64{0}
	compare(b, runner(b, e, scalars(in), scalars(out)), func() { straightTiny(in, want) })
	if !slices.Equal(out, want) {
		b.Fatal(out, want)
	}
}

// BenchmarkTinyLanes pushes one tangent through the linear part of a program of three operations.
func BenchmarkTinyLanes(b *testing.B) {
	l := graph.Linearize(tiny(), upTo(2))
	e := mustCompile(b, l.Linear)
	in, out, want := make([]float64, len(l.Linear.Inputs)), []float64{0}, []float64{0}
	for i := range in {
		in[i] = 0.25 + float64(i)
	}
	ws, x, y := e.NewLanes(1), scalars(in), scalars(out)
	compare(b, func() {
		if err := e.RunLanes(ws, x, y); err != nil {
			b.Fatal(err)
		}
	}, func() { straightTinyPush(in, want) })
	if !slices.Equal(out, want) {
		b.Fatal(out, want)
	}
}

func BenchmarkLorenz63(b *testing.B) {
	var in, out [6]float64
	copy(in[:], []float64{1, 1, 1, 10, 28, 8.0 / 3})
	e := mustCompile(b, lorenz63())
	chain(b, e, in[:], out[:], 3, func(x, y []float64) { straightLorenz63((*[6]float64)(x), (*[6]float64)(y)) })
}

func BenchmarkLorenz63Adjoint(b *testing.B) {
	p := graph.VJP(lorenz63(), upTo(6))
	var in, out, want [9]float64
	copy(in[:], []float64{1, 1, 1, 10, 28, 8.0 / 3, 1, 1, 1})
	compare(b, runner(b, mustCompile(b, p), scalars(in[:]), scalars(out[:])), func() { straightLorenz63Adjoint(&in, &want) })
	if out != want {
		b.Fatal(out, want)
	}
}

func BenchmarkLorenz96(b *testing.B) {
	var in, out [41]float64
	s := random(1)
	s.fill(in[:], 1)
	in[40] = 8
	chain(b, mustCompile(b, lorenz96(40)), in[:], out[:], 40, func(x, y []float64) { straightLorenz96((*[41]float64)(x), (*[41]float64)(y)) })
}

func BenchmarkLorenz96Vector(b *testing.B) {
	var in, out, want [41]float64
	s := random(1)
	s.fill(in[:], 1)
	in[40] = 8
	ours := runner(b, mustCompile(b, lorenz96Vector(40)), []exec.Buffer{{F: in[:40]}, {F: in[40:]}}, []exec.Buffer{{F: out[:40]}})
	compare(b, ours, func() { straightLorenz96(&in, &want) })
	if out != want {
		b.Fatal(out, want)
	}
}

func BenchmarkLorenz96Adjoint(b *testing.B) {
	p := graph.VJP(lorenz96(40), upTo(41))
	var in, out, want [81]float64
	s := random(1)
	s.fill(in[:], 1)
	in[40] = 8
	compare(b, runner(b, mustCompile(b, p), scalars(in[:]), scalars(out[:])), func() { straightLorenz96Adjoint(&in, &want) })
	if out != want {
		b.Fatal(out, want)
	}
}

func BenchmarkFusedTanh(b *testing.B) {
	const n = 1_000_000
	p := fusedTanh(n)
	in, out, want := exec.NewBuffers(types(p), 1), exec.NewBuffers(p.OutputTypes(), 1), make([]float64, n)
	s := random(1)
	for i := range in {
		s.fill(in[i].F, 1)
	}
	x, y, z, w := in[0].F, in[1].F, in[2].F, in[3].F
	tanh := op.Tanh.Unary
	compare(b, runner(b, mustCompile(b, p), in, out), func() {
		for i := range want {
			want[i] = tanh(float64(x[i]*y[i])+z[i]) * w[i]
		}
	})
	if !slices.Equal(out[0].F, want) {
		b.Fatal("the results differ")
	}
}

// The value and gradient of the residual block beside its six products with gonum.
func BenchmarkResidualBlock(b *testing.B) {
	const rows, d = 64, 256
	p := graph.Gradient(residualBlock(rows, d), []int{0, 1, 2})
	in, out := exec.NewBuffers(types(p), 1), exec.NewBuffers(p.OutputTypes(), 1)
	s := random(2)
	s.fill(in[0].F, 1)
	s.fill(in[1].F, 1.0/16)
	s.fill(in[2].F, 0.1)
	x, w := mat.NewDense(rows, d, in[0].F), mat.NewDense(d, d, in[1].F)
	small, large := mat.NewDense(rows, d, nil), mat.NewDense(d, d, nil)
	compare(b, runner(b, mustCompile(b, p), in, out), func() {
		small.Mul(x, w)
		small.Mul(x, w)
		small.Mul(x, w.T())
		small.Mul(x, w.T())
		large.Mul(x.T(), x)
		large.Mul(x.T(), x)
	})
	if math.Abs(out[0].F[0]-5974.68733092614997) > 1e-8 || math.Abs(out[2].F[0]+6.65335239844460856) > 1e-10 {
		b.Fatal(out[0].F[0], out[2].F[0])
	}
}

// contraction is z = tanh(Wz + Uθ + b) with 200 states and 50 parameters.
type contraction struct {
	w, u, c []float64
}

func newContraction() contraction {
	const m, p = 200, 50
	s := random(4)
	k := contraction{make([]float64, m*m), make([]float64, m*p), make([]float64, m)}
	theta := make([]float64, p)
	s.fill(k.w, 0.5/15.7241977347611)
	s.fill(k.u, 1)
	s.fill(k.c, 1)
	s.fill(theta, 1)
	for i := range k.c {
		for j, t := range theta {
			k.c[i] += k.u[i*p+j] * t
		}
	}
	return k
}

// The Jacobian of 50 steps in 50 directions beside its matrix products with gonum: U is added as the tangent of c.
func BenchmarkStepsJacobian(b *testing.B) {
	const m, p, steps = 200, 50, 50
	k := newContraction()
	l := graph.Linearize(layer(m), []int{1, 2})
	primal, linear := mustCompile(b, l.Primal), mustCompile(b, l.Linear)
	y := exec.NewBuffers(l.Primal.OutputTypes(), 1)
	ws, lanes := primal.NewWorkspace(), linear.NewLanes(p)
	z := make([]float64, m)
	dz, next := make([]float64, m*p), make([]float64, m*p)
	in := []exec.Buffer{{F: k.w}, {F: k.c}, {F: z}}
	tangents := make([]exec.Buffer, 0, 8)
	out := make([]exec.Buffer, 1)
	w, dense, product := mat.NewDense(m, m, k.w), mat.NewDense(m, p, slices.Clone(k.u)), mat.NewDense(m, p, nil)
	compare(b, func() {
		clear(z)
		clear(dz)
		from, to := dz, next
		for range steps {
			if err := primal.Run(ws, in, y); err != nil {
				b.Fatal(err)
			}
			tangents = append(append(tangents[:0], y[1:]...), exec.Buffer{F: k.u}, exec.Buffer{F: from})
			out[0].F = to
			if err := linear.RunLanes(lanes, tangents, out); err != nil {
				b.Fatal(err)
			}
			copy(z, y[0].F)
			from, to = to, from
		}
		dz, next = from, to
	}, func() {
		for range steps {
			product.Mul(w, dense)
		}
	})
	sum := 0.0
	for _, x := range dz {
		sum += x
	}
	if math.Abs(dz[0]-0.646858934226076529) > 1e-13 || math.Abs(sum+61.2106775671442101) > 1e-10 {
		b.Fatal(dz[0], sum)
	}
}

// BenchmarkCompile translates 10⁴ scalar operations.
func BenchmarkCompile(b *testing.B) {
	p := lorenz96(357)
	if n := operations(p); n < 9_900 || n > 10_100 {
		b.Fatal(n)
	}
	b.Run(fmt.Sprint(operations(p)), func(b *testing.B) {
		for b.Loop() {
			mustCompile(b, p)
		}
	})
}

// BenchmarkProduct is a matrix product beside gonum's.
func BenchmarkProduct(b *testing.B) {
	for _, n := range []int{4, 16, 64, 256, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := writer{graph.NewBuilder("product")}
			x, y := w.Input("x", graph.F64(n, n)), w.Input("y", graph.F64(n, n))
			p := w.Build(op.Product(w.Builder, x, y, false, false))
			in, out := exec.NewBuffers(types(p), 1), exec.NewBuffers(p.OutputTypes(), 1)
			s := random(1)
			s.fill(in[0].F, 1)
			s.fill(in[1].F, 1)
			a, c, d := mat.NewDense(n, n, in[0].F), mat.NewDense(n, n, in[1].F), mat.NewDense(n, n, nil)
			compare(b, runner(b, mustCompile(b, p), in, out), func() { d.Mul(a, c) })
		})
	}
}

// BenchmarkMatrixVector is a product with a column beside gonum's.
func BenchmarkMatrixVector(b *testing.B) {
	for _, n := range []int{20, 200, 1000} {
		for _, transposed := range []bool{false, true} {
			b.Run(fmt.Sprint(n, " transposed=", transposed), func(b *testing.B) {
				w := writer{graph.NewBuilder("product")}
				x, y := w.Input("x", graph.F64(n, n)), w.Input("y", graph.F64(n, 1))
				p := w.Build(op.Product(w.Builder, x, y, transposed, false))
				in, out := exec.NewBuffers(types(p), 1), exec.NewBuffers(p.OutputTypes(), 1)
				s := random(1)
				s.fill(in[0].F, 1)
				s.fill(in[1].F, 1)
				a, c, d := mat.Matrix(mat.NewDense(n, n, in[0].F)), mat.NewVecDense(n, in[1].F), mat.NewVecDense(n, nil)
				if transposed {
					a = a.T()
				}
				compare(b, runner(b, mustCompile(b, p), in, out), func() { d.MulVec(a, c) })
			})
		}
	}
}

// BenchmarkLanes runs the linear part of a Lorenz-63 step on many lanes.
func BenchmarkLanes(b *testing.B) {
	p := graph.Linearize(lorenz63(), upTo(6)).Linear
	for _, lanes := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			e := mustCompile(b, p)
			ws, in, out := e.NewLanes(lanes), exec.NewBuffers(types(p), 1), exec.NewBuffers(p.OutputTypes(), lanes)
			for i := range in {
				if p.Inputs[i].Linear {
					in[i].F = make([]float64, lanes)
				}
			}
			for b.Loop() {
				if err := e.RunLanes(ws, in, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lanes*operations(p)), "ns/operation")
		})
	}
}
