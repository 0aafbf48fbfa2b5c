package rounding_test

import (
	"math"
	"slices"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
	"github.com/lensir/lensir-study/graph/rounding"
)

// With all factors 1 a perturbed program has the bits of the program.
func TestPerturbedByNothing(t *testing.T) {
	compared := 0
	for seed := range uint64(200) {
		r := randprog.Rand(seed)
		p := randprog.Program(r, randprog.Settings{})
		x := randprog.Inputs(r, p)
		q, levels := rounding.Perturbed(p)
		if err := graph.Verify(q); err != nil || len(levels) != len(q.Inputs)-len(p.Inputs) {
			t.Fatalf("seed %d: %v\n%s", seed, err, q)
		}
		want, err := graph.Eval(p, x...)
		if err != nil {
			continue
		}
		in := slices.Clone(x)
		for _, f := range q.Inputs[len(p.Inputs):] {
			one := graph.NewTensor(f.Type)
			for i := range one.F {
				one.F[i] = 1
			}
			in = append(in, one)
		}
		got, err := graph.Eval(q, in...)
		if err != nil || !randprog.Same(got, want) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, p, q)
		}
		compared++
	}
	if compared < 100 {
		t.Errorf("only %d programs were compared", compared)
	}
}

// What is rounded has factors: results, and an operand of what rounds within; exact operations, whole numbers and literals have none.
func TestPlacesOfFactors(t *testing.T) {
	build := func(f func(b *graph.Builder, x, y graph.Value) graph.Value) *graph.Program {
		b := graph.NewBuilder("f")
		x, y := b.Input("factor", graph.F64(3)), b.Input("y", graph.F64(3))
		return b.Build(f(b, x, y))
	}
	for _, c := range []struct {
		name string
		want int
		f    func(b *graph.Builder, x, y graph.Value) graph.Value
	}{
		{"add", 1, func(b *graph.Builder, x, y graph.Value) graph.Value { return b.Emit(op.Add, nil, x, y) }},
		{"neg", 0, func(b *graph.Builder, x, _ graph.Value) graph.Value { return b.Emit(op.Neg, nil, x) }},
		{"literal", 0, func(b *graph.Builder, x, _ graph.Value) graph.Value { return b.Full(graph.F64(3), 0.1) }},
		{"round", 0, func(b *graph.Builder, x, _ graph.Value) graph.Value { return b.Emit(op.Round, nil, x) }},
		{"less", 0, func(b *graph.Builder, x, y graph.Value) graph.Value { return b.Emit(op.Less, nil, x, y) }},
		{"sum", 2, func(b *graph.Builder, x, _ graph.Value) graph.Value { return op.SumOver(b, x, 0) }},
		{"sum of a product", 2, func(b *graph.Builder, x, y graph.Value) graph.Value {
			return op.SumOver(b, b.Emit(op.Mul, nil, x, y), 0)
		}},
	} {
		p := build(c.f)
		if q, _ := rounding.Perturbed(p); len(q.Inputs)-len(p.Inputs) != c.want {
			t.Errorf("%s: %d factors, want %d\n%s", c.name, len(q.Inputs)-len(p.Inputs), c.want, q)
		}
	}
}

// Runs of one key are equal, and every rounded result moves in every run: by a unit of its last place, or two.
func TestRoundingOfOneOperation(t *testing.T) {
	b := graph.NewBuilder("f")
	p := b.Build(b.Emit(op.Mul, nil, b.Input("x", graph.F64(5000)), b.Input("y", graph.F64(5000))))
	r, err := rounding.NewRunner(p)
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float64, 5000), make([]float64, 5000)
	for i := range x {
		x[i], y[i] = math.Sin(float64(i)+0.1), math.Cos(float64(3*i)+0.7)
	}
	up := 0
	var before []float64
	for key := range uint64(20) {
		out := []exec.Buffer{{F: make([]float64, 5000)}}
		for range 2 {
			if err := r.Run(key, []exec.Buffer{{F: x}, {F: y}}, out); err != nil {
				t.Fatal(err)
			}
			if before != nil && !slices.Equal(out[0].F, before) {
				t.Fatal("runs of one key differ")
			}
			before = slices.Clone(out[0].F)
		}
		before = nil
		for i, z := range out[0].F {
			want := x[i] * y[i]
			if want == 0 {
				continue
			}
			if d := math.Abs(z - want); d < 0x1p-53*math.Abs(want) || d > 0x1p-51*math.Abs(want) {
				t.Fatalf("key %d: %v is moved to %v", key, want, z)
			}
			if z > want {
				up++
			}
		}
	}
	if up < 45_000 || up > 55_000 {
		t.Errorf("%d of 100,000 are moved upwards", up)
	}
}
