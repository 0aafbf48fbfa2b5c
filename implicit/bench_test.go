package implicit

import (
	"testing"

	"gonum.org/v1/gonum/mat"

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

// BenchmarkImplicitGradient is the gradient of z·z at the root of a layer with m = 200, p = 50, from
// the root on, beside what it cannot do without: the assembly of R_z, and its LU factorisation and
// one transposed solve with gonum. The evidence of the matrix, the certificate of the root and the
// error estimate of the gradient stand apart.
func BenchmarkImplicitGradient(b *testing.B) {
	const m, p = 200, 50
	r, j, theta := layer(b, m, p)
	root, err := FindRoot(r, make([]float64, m), theta, Settings{})
	if err != nil {
		b.Fatal(err)
	}
	a := make([]float64, m*m)
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
	b.Run("gradient", func(b *testing.B) {
		row := make([]float64, m+p)
		for b.Loop() {
			factor(b)
			objective, err := j.Joint(nil, root.Z, theta)
			if err == nil {
				err = objective.Pull(row, []float64{1}, 1)
			}
			if err != nil {
				b.Fatal(err)
			}
			equations, err := r.Joint(nil, root.Z, theta)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := root.gradient(equations, row, tangent{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gradient with its error estimate and gap", func(b *testing.B) {
		for b.Loop() {
			factor(b)
			if _, err := Gradients(r, j, root, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("assembly and gonum LU", func(b *testing.B) {
		var lu mat.LU
		x, rhs := mat.NewVecDense(m, nil), mat.NewVecDense(m, root.Z)
		for b.Loop() {
			assemble(b)
			lu.Factorize(mat.NewDense(m, m, a))
			if err := lu.SolveVecTo(x, true, rhs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("assembly", func(b *testing.B) {
		for b.Loop() {
			assemble(b)
		}
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
