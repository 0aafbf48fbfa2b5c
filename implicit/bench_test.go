package implicit

import (
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// layer is the fixed point z = tanh(Wz + Ut + b) with W of 2-norm about ½, as R and J = z·z.
func layer(b *testing.B, m, p int) (r, j *Map, theta []float64) {
	b.Helper()
	state := uint64(4)
	fill := func(n int, scale float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			state = state*6364136223846793005 + 1442695040888963407
			x[i] = (2*float64(state>>11)*0x1p-53 - 1) * scale
		}
		return x
	}
	fixed := []*graph.Tensor{nil, nil,
		graph.Floats(graph.Shape{m, m}, fill(m*m, 0.5/15.7241977347611)),
		graph.Floats(graph.Shape{m, p}, fill(m*p, 1)),
		graph.Floats(graph.Shape{m}, fill(m, 1))}
	makeMap := func(text string) *Map {
		builder := graph.NewBuilder("f")
		scope := formula.Scope{"z": builder.Input("z", graph.F64(m)), "t": builder.Input("t", graph.F64(p)),
			"W": builder.Input("W", graph.F64(m, m)), "U": builder.Input("U", graph.F64(m, p)), "b": builder.Input("b", graph.F64(m))}
		v, err := formula.Lower(builder, scope, text)
		if err != nil {
			b.Fatal(err)
		}
		f, err := NewMap(builder.Build(v), []int{0}, []int{1}, fixed)
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	return makeMap("z - tanh(matmul(W, z) + matmul(U, t) + b)"), makeMap("dot(z, z)"), fill(p, 1)
}

// BenchmarkImplicitGradient is the gradient of z·z at the root of a layer with m = 200, p = 50, from the root on, in turns with what
// it cannot do without: the assembly of R_z, and its LU factorisation and one transposed solve with gonum. The error estimate of the
// gradient and its adjoint–tangent gap are in the other ratio; the evidence of the matrix and the root stand apart.
func BenchmarkImplicitGradient(b *testing.B) {
	const m, p = 200, 50
	r, j, theta := layer(b, m, p)
	root, err := FindRoot(r, make([]float64, m), theta, Settings{})
	if err != nil {
		b.Fatal(err)
	}
	a, row := make([]float64, m*m), make([]float64, m+p)
	assemble := func(b *testing.B) {
		if err := r.StateJacobian(a, nil, root.Z, theta); err != nil {
			b.Fatal(err)
		}
	}
	factor := func(b *testing.B) {
		assemble(b)
		if err := root.lu.Factor(linsolve.Dense{N: m, Data: a}); err != nil {
			b.Fatal(err)
		}
	}
	gradient := func(b *testing.B) {
		factor(b)
		objective, err := j.Joint(nil, root.Z, theta)
		if err == nil {
			err = objective.Pull(row, []float64{1}, 1)
		}
		if err != nil {
			b.Fatal(err)
		}
		equations, err := r.Joint(nil, root.Z, theta)
		if err == nil {
			_, _, err = root.gradient(equations, row, tangent{})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	whole := func(b *testing.B) {
		factor(b)
		if _, err := Gradients(r, j, root, 1); err != nil {
			b.Fatal(err)
		}
	}
	factors := blas64.General{Rows: m, Cols: m, Stride: m, Data: a}
	pivots, x := make([]int, m), blas64.General{Rows: m, Cols: 1, Stride: 1, Data: make([]float64, m)}
	reference := func(b *testing.B) {
		assemble(b)
		copy(x.Data, root.Z)
		if !lapack64.Getrf(factors, pivots) {
			b.Fatal("singular")
		}
		lapack64.Getrs(blas.Trans, factors, x, pivots)
	}
	b.Run("gradient", func(b *testing.B) {
		var ours, all, theirs []float64
		for b.Loop() {
			for f, times := range map[*[]float64]func(*testing.B){&ours: gradient, &all: whole, &theirs: reference} {
				began := time.Now()
				times(b)
				*f = append(*f, time.Since(began).Seconds())
			}
		}
		b.ReportMetric(median(ours)*1e6, "µs")
		b.ReportMetric(median(theirs)*1e6, "µs-theirs")
		b.ReportMetric(median(ours)/median(theirs), "ratio")
		b.ReportMetric(median(all)/median(theirs), "ratio-with-evidence")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("evidence", func(b *testing.B) {
		for b.Loop() {
			if err := root.lu.Factor(linsolve.Dense{N: m, Data: a}); err != nil {
				b.Fatal(err)
			}
			root.lu.Evidence()
		}
	})
	b.Run("root", func(b *testing.B) {
		for b.Loop() {
			if _, err := FindRoot(r, make([]float64, m), theta, Settings{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
