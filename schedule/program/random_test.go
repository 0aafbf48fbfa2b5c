package program_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

var chains = flag.Int("chains", 400, "random chains to draw")

// randomChain makes a chain of a random program q: a float input of q is a block of the state, a parameter, a constant, a
// control or an entry of data, as it falls; all blocks move by one number that q's outputs give, and stay within [−1, 1], for which
// q was made. It returns nil where q has nothing to differentiate.
func randomChain(r *rand.Rand, steps int) (spec *program.Spec, values [3][][]float64) {
	q := randprog.Program(r, randprog.Settings{})
	if _, err := exec.Compile(q, exec.Options{}); err != nil {
		return nil, values
	}
	const state, param, constant, control, data = 0, 1, 2, 3, 4
	roles := make([]int, len(q.Inputs))
	spec = &program.Spec{Running: r.IntN(2) == 0}
	for i, in := range q.Inputs {
		roles[i] = -1
		if in.Type.DType == graph.Float64 {
			roles[i] = r.IntN(5)
			if spec.States == 0 {
				roles[i] = state
			}
		}
		switch roles[i] {
		case state:
			spec.States++
		case param:
			spec.Params++
		case constant, data:
			spec.Constants++
		case control:
			spec.Controls++
		}
	}
	if spec.States == 0 {
		return nil, values
	}
	entries := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 2*r.Float64() - 1
		}
		return x
	}
	rows := func(t graph.Type) graph.Type { return graph.F64(append(graph.Shape{steps}, t.Shape...)...) }

	// All programs have their inputs by role.
	at := make([]graph.Value, len(q.Inputs))
	inputs := func(b *graph.Builder, want ...int) {
		for _, role := range want {
			for i, in := range q.Inputs {
				t := in.Type
				if role == control || roles[i] == data {
					t = rows(t)
				}
				if roles[i] == role || role == constant && roles[i] == data {
					at[i] = b.Input(in.Name+"_", t)
				}
			}
		}
	}
	for i, in := range q.Inputs {
		switch roles[i] {
		case param:
			values[0] = append(values[0], entries(in.Type.Len()))
		case constant:
			values[1] = append(values[1], entries(in.Type.Len()))
		case data:
			values[1] = append(values[1], entries(steps*in.Type.Len()))
		case control:
			values[2] = append(values[2], entries(steps*in.Type.Len()))
		}
	}

	b := graph.NewBuilder("step")
	inputs(b, state, param, constant, control)
	j := b.Input("j_", graph.Type{DType: graph.Int64})
	args := make([]graph.Value, len(q.Inputs))
	for i, in := range q.Inputs {
		switch roles[i] {
		case -1:
			x := graph.NewTensor(in.Type)
			for k := range x.I {
				x.I[k] = r.Int64N(2)
			}
			args[i] = b.Literal(x)
		case control, data:
			args[i] = b.Emit(op.Gather, nil, at[i], j)
		default:
			args[i] = at[i]
		}
	}
	s := b.Full(graph.Scalar, 0.1)
	for _, v := range b.Inline(q, args...) {
		if t := b.Type(v); t.DType == graph.Float64 && t.Len() > 0 {
			axes := make([]int, len(t.Shape))
			for i := range axes {
				axes[i] = i
			}
			s = b.Emit(op.Add, nil, s, op.SumOver(b, b.Emit(op.Tanh, nil, v), axes...))
		}
	}
	s = b.Emit(op.Tanh, nil, s)
	var next []graph.Value
	for i, in := range q.Inputs {
		if roles[i] == state {
			kept := b.Emit(op.Mul, nil, b.Full(in.Type, 0.5), at[i])
			moved := b.Emit(op.Mul, nil, b.Full(in.Type, 0.4), op.BroadcastTo(b, s, in.Type.Shape))
			next = append(next, b.Emit(op.Add, nil, kept, moved))
		}
	}
	if spec.Running {
		next = append(next, b.Emit(op.Mul, nil, s, s))
	}
	spec.Step = b.Build(next...)

	b = graph.NewBuilder("objective")
	inputs(b, state, param, constant)
	j = b.Full(graph.Scalar, 0)
	for i, in := range q.Inputs {
		if roles[i] == state || roles[i] == param {
			axes := make([]int, len(in.Type.Shape))
			for k := range axes {
				axes[k] = k
			}
			x := b.Emit(op.Sin, nil, at[i])
			j = b.Emit(op.Add, nil, j, op.SumOver(b, b.Emit(op.Mul, nil, x, x), axes...))
		}
	}
	spec.Objective = b.Build(j)

	b = graph.NewBuilder("start")
	inputs(b, param, constant)
	var start []graph.Value
	for i, in := range q.Inputs {
		if roles[i] == state {
			start = append(start, b.Literal(graph.Floats(in.Type.Shape, entries(in.Type.Len()))))
		}
	}
	spec.Start = b.Build(start...)
	return spec, values
}

// Random chains have the gradient of the unrolled program, with the same bits under every schedule, and refuse what it refuses.
func TestRandomChains(t *testing.T) {
	const steps = 5
	compared, refused := 0, 0
	for seed := range uint64(*chains) {
		r := randprog.Rand(seed)
		spec, values := randomChain(r, steps)
		if spec == nil {
			continue
		}
		p := unroll(*spec, steps)
		var in []*graph.Tensor
		for i, x := range append(append(append([][]float64{}, values[0]...), values[1]...), values[2]...) {
			in = append(in, graph.Floats(p.Inputs[i].Type.Shape, x))
		}
		for _, move := range p.Inputs[len(in):] {
			in = append(in, graph.NewTensor(move.Type))
		}
		nc := spec.Params + spec.Constants
		var wrt []int
		for i := range spec.States {
			wrt = append(wrt, nc+spec.Controls+i)
		}
		for i := range spec.Params {
			wrt = append(wrt, i)
		}
		for i := range spec.Controls {
			wrt = append(wrt, nc+i)
		}
		out, oracle := graph.Eval(graph.Gradient(p, wrt), in...)
		chain, err := program.New(*spec)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, q := range chain.Programs() {
			if err := graph.Verify(q); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		var first *answer
		for _, s := range methods(t, steps) {
			err := chain.Set(steps, seed%2 == 0, values[0], values[1], values[2])
			var got answer
			if err == nil {
				got, err = attempt(t, chain, s, spec.Params, spec.Controls)
			}
			if (err == nil) != (oracle == nil) {
				t.Fatalf("seed %d: %s: %v, the unrolled program: %v", seed, s.Name(), err, oracle)
			}
			if err != nil {
				refused++
				break
			}
			if first == nil {
				first = &got
				compared++
				compare(t, seed, got, out, spec)
			}
			if k, ok := schedule.SameBits(got.gradient, first.gradient); !ok || got.value != first.value {
				t.Fatalf("seed %d: %s differs from store-all at entry %d", seed, s.Name(), k)
			}
		}
	}
	t.Logf("%d chains compared, %d refused", compared, refused)
	if compared < *chains/4 {
		t.Errorf("only %d of %d chains had a derivative", compared, *chains)
	}
}

// compare holds a sweep to the outputs of the unrolled gradient.
func compare(t *testing.T, seed uint64, got answer, out []*graph.Tensor, spec *program.Spec) {
	t.Helper()
	var want []float64
	for i, x := range out[1:] {
		if want = append(want, x.F...); i == spec.States-1 && spec.Running {
			want = append(want, 1)
		}
	}
	size := 1.0
	for _, x := range want {
		size = math.Hypot(size, x)
	}
	if len(want) != len(got.gradient) || math.Abs(got.value-out[0].F[0]) > 1e-12*(1+math.Abs(got.value)) {
		t.Fatalf("seed %d: value %v, want %v; %d derivatives, want %d", seed, got.value, out[0].F[0], len(got.gradient), len(want))
	}
	for i := range want {
		if !(math.Abs(got.gradient[i]-want[i]) <= 1e-10*size) {
			t.Fatalf("seed %d, entry %d: %v, want %v", seed, i, got.gradient[i], want[i])
		}
	}
}
