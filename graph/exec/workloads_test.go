package exec_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// The programs that speed is measured on.

// writer writes scalar formulas.
type writer struct{ *graph.Builder }

func (w writer) add(x, y graph.Value) graph.Value { return w.Emit(op.Add, nil, x, y) }
func (w writer) sub(x, y graph.Value) graph.Value { return w.Emit(op.Sub, nil, x, y) }
func (w writer) mul(x, y graph.Value) graph.Value { return w.Emit(op.Mul, nil, x, y) }

// rungeKutta writes one classical Runge–Kutta step of order 4 for x′ = f(x), entry by entry; steps are
// 0.5·dt, dt and dt/6.
func (w writer) rungeKutta(x []graph.Value, dt float64, f func(x []graph.Value) []graph.Value) []graph.Value {
	number := func(v float64) graph.Value {
		return w.Full(graph.Type{DType: graph.Float64, Shape: w.Type(x[0]).Shape}, v)
	}
	half, whole, sixth, two := number(0.5*dt), number(dt), number(dt/6), number(2)
	move := func(h graph.Value, k []graph.Value) []graph.Value {
		y := make([]graph.Value, len(x))
		for i := range x {
			y[i] = w.add(x[i], w.mul(h, k[i]))
		}
		return y
	}
	k1 := f(x)
	k2 := f(move(half, k1))
	k3 := f(move(half, k2))
	k4 := f(move(whole, k3))
	next := make([]graph.Value, len(x))
	for i := range x {
		sum := w.add(w.add(k1[i], w.mul(two, w.add(k2[i], k3[i]))), k4[i])
		next[i] = w.add(x[i], w.mul(sixth, sum))
	}
	return next
}

// lorenz63 is a step of x′ = σ(y−x), y′ = x(ρ−z)−y, z′ = xy−βz: 68 operations.
func lorenz63() *graph.Program {
	w := writer{graph.NewBuilder("lorenz63")}
	var x []graph.Value
	for _, name := range []string{"x", "y", "z", "sigma", "rho", "beta"} {
		x = append(x, w.Input(name, graph.Scalar))
	}
	next := w.rungeKutta(x[:3], 0.001, func(s []graph.Value) []graph.Value {
		return []graph.Value{
			w.mul(x[3], w.sub(s[1], s[0])),
			w.sub(w.mul(s[0], w.sub(x[4], s[2])), s[1]),
			w.sub(w.mul(s[0], s[1]), w.mul(x[5], s[2])),
		}
	})
	return w.Build(next...)
}

// lorenz96 is a step of xᵢ′ = (xᵢ₊₁ − xᵢ₋₂)xᵢ₋₁ − xᵢ + F with n scalars: 28 operations for each.
func lorenz96(n int) *graph.Program {
	w := writer{graph.NewBuilder("lorenz96")}
	var x []graph.Value
	for i := range n {
		x = append(x, w.Input(fmt.Sprintf("x%d", i), graph.Scalar))
	}
	force := w.Input("force", graph.Scalar)
	return w.Build(w.rungeKutta(x, 0.01, func(s []graph.Value) []graph.Value {
		rate := make([]graph.Value, n)
		for i := range s {
			rate[i] = w.add(w.sub(w.mul(w.sub(s[(i+1)%n], s[(i+n-2)%n]), s[(i+n-1)%n]), s[i]), force)
		}
		return rate
	})...)
}

// lorenz96Vector is lorenz96 with a vector for state.
func lorenz96Vector(n int) *graph.Program {
	w := writer{graph.NewBuilder("lorenz96")}
	x := w.Input("x", graph.F64(n))
	force := op.BroadcastTo(w.Builder, w.Input("force", graph.Scalar), graph.Shape{n})
	shift := func(v graph.Value, by int) graph.Value {
		return w.Emit(op.Roll, graph.Attrs{{Name: "axis", Ints: []int{0}}, {Name: "shift", Ints: []int{by}}}, v)
	}
	return w.Build(w.rungeKutta([]graph.Value{x}, 0.01, func(s []graph.Value) []graph.Value {
		v := s[0]
		return []graph.Value{w.add(w.sub(w.mul(w.sub(shift(v, -1), shift(v, 2)), shift(v, 1)), v), force)}
	})...)
}

// fusedTanh is tanh(a·b + c)·d.
func fusedTanh(n int) *graph.Program {
	w := writer{graph.NewBuilder("fused")}
	var x []graph.Value
	for _, name := range []string{"a", "b", "c", "d"} {
		x = append(x, w.Input(name, graph.F64(n)))
	}
	return w.Build(w.mul(w.Emit(op.Tanh, nil, w.add(w.mul(x[0], x[1]), x[2])), x[3]))
}

// residualBlock is J = ΣY², Y = X + tanh(XW + b)W + b.
func residualBlock(rows, d int) *graph.Program {
	w := writer{graph.NewBuilder("block")}
	x, weights, b := w.Input("X", graph.F64(rows, d)), w.Input("W", graph.F64(d, d)), w.Input("b", graph.F64(d))
	bias := w.Emit(op.BroadcastRows, graph.Attrs{{Name: "rows", Ints: []int{rows}}}, b)
	h := w.Emit(op.Tanh, nil, w.add(op.Product(w.Builder, x, weights, false, false), bias))
	y := w.add(w.add(x, op.Product(w.Builder, h, weights, false, false)), bias)
	return w.Build(op.SumOver(w.Builder, w.mul(y, y), 0, 1))
}

// layer is z ↦ tanh(Wz + c), with z and c columns.
func layer(m int) *graph.Program {
	w := writer{graph.NewBuilder("layer")}
	weights, c, z := w.Input("W", graph.F64(m, m)), w.Input("c", graph.F64(m, 1)), w.Input("z", graph.F64(m, 1))
	return w.Build(w.Emit(op.Tanh, nil, w.add(op.Product(w.Builder, weights, z, false, false), c)))
}

// random is the linear congruential generator of the workloads: uniform on [−1, 1).
type random uint64

func (s *random) next() float64 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return 2*(float64(*s>>11)*0x1p-53) - 1
}

func (s *random) fill(x []float64, factor float64) {
	for i := range x {
		x[i] = s.next() * factor
	}
}

var update = flag.Bool("update", false, "write the generated files anew")

// goldenFile compares a generated file, or writes it with -update.
func goldenFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not what the test generates (%v): run go test -run %s -update", name, err, t.Name())
	}
}

// The straight-line Go that scalar programs are compared with is written from the programs, one
// statement for each operation.
func TestStraightLine(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("// Code generated by TestStraightLine; DO NOT EDIT.\n\npackage exec_test\n")
	writeStraightLine(&b, "straightLorenz63", lorenz63())
	writeStraightLine(&b, "straightLorenz63Adjoint", graph.VJP(lorenz63(), []int{0, 1, 2, 3, 4, 5}))
	writeStraightLine(&b, "straightLorenz96", lorenz96(40))
	writeStraightLine(&b, "straightLorenz96Adjoint", graph.VJP(lorenz96(40), upTo(41)))
	source, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	goldenFile(t, "straightline_test.go", source)
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func writeStraightLine(b *bytes.Buffer, name string, p *graph.Program) {
	fmt.Fprintf(b, "\n// %s runs the %d operations of %s.\nfunc %s(in, out *[%d]float64) {\n", name, operations(p), p.Name, name, max(len(p.Inputs), len(p.Outputs)))
	for i := range p.Inputs {
		fmt.Fprintf(b, "v%d := in[%d]\n", i, i)
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		fmt.Fprintf(b, "v%d := ", len(p.Inputs)+i)
		switch n.Op {
		case graph.Literal:
			fmt.Fprintf(b, "float64(%v)\n", n.Value.F[0])
		case op.Neg:
			fmt.Fprintf(b, "-v%d\n", n.Args[0])
		case op.Mul:
			fmt.Fprintf(b, "float64(v%d * v%d)\n", n.Args[0], n.Args[1])
		default:
			fmt.Fprintf(b, "v%d %s v%d\n", n.Args[0], map[*graph.Op]string{op.Add: "+", op.Sub: "-"}[n.Op], n.Args[1])
		}
	}
	for j, v := range p.Outputs {
		fmt.Fprintf(b, "out[%d] = v%d\n", j, v)
	}
	b.WriteString("}\n")
}

func operations(p *graph.Program) (n int) {
	for i := range p.Nodes {
		if p.Nodes[i].Op != graph.Literal {
			n++
		}
	}
	return n
}
