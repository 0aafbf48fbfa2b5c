package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

// Random programs are compared with finite differences until there are operationPrograms of them and every smooth operation
// was differentiated in operationUses.
const operationPrograms, operationUses, operationDraws = 100, 20, 20000

// operations compares the reverse mode of random smooth programs with central differences at many steps, and those operations that
// are smooth in pieces with their slopes in every piece; on boundaries they refuse. The rule of each operation of the table is met.
func operations(c *Check, r *rand.Rand) {
	uses := map[*graph.Op]int{}
	programs := 0
	for range operationDraws {
		seed := r.Uint64()
		random := randprog.Rand(seed)
		p := smoothProgram(random)
		active := activeOperations(p)
		if programs >= operationPrograms && !slices.ContainsFunc(active, func(o *graph.Op) bool { return uses[o] < operationUses }) {
			continue
		}
		for _, o := range active {
			uses[o]++
		}
		err := differenceLadder(random, p)
		c.expect(err == nil, "program %d, of seed %d: %v\n%v", programs, seed, err, p)
		programs++
	}
	for _, s := range slopes() {
		uses[s.op] = operationUses
		c.slope(s)
	}
	for _, b := range boundaries() {
		c.boundary(b)
	}
	for _, o := range op.All() {
		if uses[o] < operationUses && !slices.Contains([]*graph.Op{graph.Literal, op.And, op.Or, op.Not}, o) {
			c.fail("%s was differentiated in %d programs only", o.Name, uses[o])
		}
	}
	c.Notes = append(c.Notes, fmt.Sprintf("%d operations, %d random programs", len(uses), programs))
}

// smoothProgram draws a program all of whose real values are outputs.
func smoothProgram(r *rand.Rand) *graph.Program {
	p := randprog.Program(r, randprog.Settings{Ops: 4, Smooth: true})
	var outputs []graph.Value
	for v := range graph.Value(p.NumValues()) {
		if p.Type(v).DType.IsFloat() {
			outputs = append(outputs, v)
		}
	}
	return p.WithOutputs(outputs...)
}

// activeOperations lists the operations of p whose results have entries and depend on a real input.
func activeOperations(p *graph.Program) []*graph.Op {
	var out []*graph.Op
	active := make([]bool, p.NumValues())
	for i, in := range p.Inputs {
		active[i] = in.Type.DType.IsFloat() && in.Type.Len() > 0
	}
	for i, n := range p.Nodes {
		v := len(p.Inputs) + i
		active[v] = n.Type.DType.IsFloat() && n.Type.Len() > 0 && slices.ContainsFunc(n.Args, func(a graph.Value) bool { return active[a] })
		if active[v] && !slices.Contains(out, n.Op) {
			out = append(out, n.Op)
		}
	}
	return out
}

// differenceLadder compares ⟨Jᵀu, v⟩ with the differences of ⟨u, p⟩ along v.
func differenceLadder(r *rand.Rand, p *graph.Program) error {
	wrt := inputsOf(p)
	var types []graph.Type
	for _, in := range p.Inputs {
		types = append(types, in.Type)
	}
	at, v, u := randprog.Inputs(r, p), randprog.Tangents(r, types), randprog.Tangents(r, p.OutputTypes())
	for i := range at { // steps go up to 1/8, and the program is made for [−1, 1]
		for k := range at[i].F {
			at[i].F[k] *= 0.8
		}
	}
	reverse, err := graph.Eval(graph.VJP(p, wrt), slices.Concat(at, u)...)
	if err != nil {
		return err
	}
	derivative, size := randprog.Dot(reverse[len(p.Outputs):], v)
	_, values := randprog.Dot(u, reverse[:len(p.Outputs)])
	return randprog.Ladder(func(h float64) (float64, error) {
		x := make([]*graph.Tensor, len(at))
		for i := range at {
			x[i] = at[i].Clone()
			for k := range x[i].F {
				x[i].F[k] += h * v[i].F[k]
			}
		}
		y, err := graph.Eval(p, x...)
		if err != nil {
			return 0, err
		}
		dot, _ := randprog.Dot(u, y)
		return dot, nil
	}, derivative, size+values+1)
}

// slope is an operation that is smooth in pieces, inside one of them, with the slopes by its operands.
type slope struct {
	op      *graph.Op
	x, want []float64
}

func slopes() []slope {
	return []slope{
		{op.Abs, []float64{-2}, []float64{-1}}, {op.Abs, []float64{3}, []float64{1}},
		{op.Sign, []float64{-2}, []float64{0}}, {op.Sign, []float64{3}, []float64{0}},
		{op.Round, []float64{0.25}, []float64{0}}, {op.Round, []float64{-1.75}, []float64{0}},
		{op.Min, []float64{1, 2}, []float64{1, 0}}, {op.Min, []float64{2, 1}, []float64{0, 1}},
		{op.Max, []float64{1, 2}, []float64{0, 1}}, {op.Max, []float64{2, 1}, []float64{1, 0}},
		{op.Clamp, []float64{-3, -1, 1}, []float64{0, 1, 0}},
		{op.Clamp, []float64{0.5, -1, 1}, []float64{1, 0, 0}},
		{op.Clamp, []float64{3, -1, 1}, []float64{0, 0, 1}},
		{op.Less, []float64{2, 3}, []float64{4, 0}}, {op.Less, []float64{3, 2}, []float64{0, 4}},
		{op.LessEqual, []float64{2, 3}, []float64{4, 0}}, {op.LessEqual, []float64{3, 2}, []float64{0, 4}},
		{op.Equal, []float64{2, 3}, []float64{0, 6}},
	}
}

// boundary is a point at which an operation has a value and no derivative, or neither.
type boundary struct {
	op                *graph.Op
	x                 []float64
	value, derivative graph.Status
}

func boundaries() []boundary {
	const ok, kink, domain = graph.OK, graph.Nondifferentiable, graph.DomainError
	return []boundary{
		{op.Sqrt, []float64{0}, ok, kink}, {op.Sqrt, []float64{-1}, domain, domain},
		{op.Asin, []float64{1}, ok, kink}, {op.Asin, []float64{2}, domain, domain},
		{op.Acos, []float64{-1}, ok, kink}, {op.Acos, []float64{-2}, domain, domain},
		{op.Log, []float64{0}, domain, domain}, {op.Log1p, []float64{-1}, domain, domain}, {op.Div, []float64{1, 0}, domain, domain},
		{op.Atan2, []float64{0, -1}, ok, kink}, {op.Atan2, []float64{0, 0}, domain, domain}, {op.Hypot, []float64{0, 0}, ok, kink},
		{op.Pow, []float64{0, 0.5}, ok, kink}, {op.Pow, []float64{-2, 3}, ok, kink},
		{op.Pow, []float64{-2, 0.5}, domain, domain}, {op.Pow, []float64{0, -1}, domain, domain},
		{op.Abs, []float64{0}, ok, kink}, {op.Sign, []float64{0}, ok, kink}, {op.Round, []float64{1.5}, ok, kink},
		{op.Min, []float64{2, 2}, ok, kink}, {op.Max, []float64{2, 2}, ok, kink},
		{op.Clamp, []float64{-1, -1, 1}, ok, kink}, {op.Clamp, []float64{1, -1, 1}, ok, kink}, {op.Clamp, []float64{3, 1, 1}, ok, kink},
		{op.Clamp, []float64{0, 1, -1}, domain, domain},
		{op.Less, []float64{2, 2}, ok, kink}, {op.LessEqual, []float64{2, 2}, ok, kink}, {op.Equal, []float64{2, 2}, ok, kink},
	}
}

// applied is the program of one operation on scalars. A comparison chooses between the squares of its operands.
func applied(o *graph.Op, x []float64) (*graph.Program, []*graph.Tensor) {
	b := graph.NewBuilder("f")
	var args []graph.Value
	var at []*graph.Tensor
	for i, v := range x {
		args, at = append(args, b.Input(fmt.Sprintf("x%d", i), graph.Scalar)), append(at, graph.Number(v))
	}
	y := b.Emit(o, nil, args...)
	if b.Type(y).DType == graph.Bool {
		y = b.Emit(op.Select, nil, y, op.PowN(b, args[0], 2), op.PowN(b, args[1], 2))
	}
	return b.Build(y), at
}

func (c *Check) boundary(b boundary) {
	p, at := applied(b.op, b.x)
	_, err := graph.Eval(p, at...)
	c.expect(statusOf(err) == b.value, "%s at %v: want status %s, have %v", b.op.Name, b.x, b.value, err)
	_, err = graph.Eval(graph.VJP(p, inputsOf(p)), append(at, graph.Number(1))...)
	c.expect(statusOf(err) == b.derivative, "the derivative of %s at %v: want status %s, have %v", b.op.Name, b.x, b.derivative, err)
}

func statusOf(err error) graph.Status {
	var f *graph.Failure
	switch {
	case err == nil:
		return graph.OK
	case errors.As(err, &f):
		return f.Status
	}
	return ""
}

func (c *Check) slope(s slope) {
	p, at := applied(s.op, s.x)
	out, err := graph.Eval(graph.VJP(p, inputsOf(p)), append(at, graph.Number(1))...)
	var have []float64
	if err == nil {
		for _, x := range out[1:] {
			have = append(have, x.F[0])
		}
	}
	c.expect(slices.Equal(have, s.want), "%s at %v: the slopes are %v, want %v (%v)", s.op.Name, s.x, have, s.want, err)
}
