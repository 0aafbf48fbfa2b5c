package program

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
)

// Perturbed returns p with every rounded result times a factor, entry by entry: an input for each, after those of p. Where all
// factors are 1 it computes what p does; where they are 1 ± 2⁻⁵² at random, the spread of its outputs measures how far rounding moves them.
//
// An operation that rounds within, such as a sum or a product of matrices, has factors on an operand too, unless that is a
// rounded result itself: terms that cancel inside show.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
func Perturbed(p *graph.Program) *graph.Program {
	p = graph.Expand(p)
	type factored struct {
		node int
		of   graph.Value
	}
	var places []factored // in the order of the factors: a node's result, or an operand of the node
	isRounded := make([]bool, p.NumValues())
	for i := range p.Nodes {
		n, v := &p.Nodes[i], graph.Value(len(p.Inputs)+i)
		if !rounds(n) {
			continue
		}
		if within(n) && !slices.ContainsFunc(n.Args, func(a graph.Value) bool { return isRounded[a] }) {
			least := graph.None
			for _, a := range n.Args {
				if t := p.Type(a); t.DType == graph.Float64 && t.Len() > 0 && (least == graph.None || t.Len() < p.Type(least).Len()) {
					least = a
				}
			}
			if least != graph.None {
				places = append(places, factored{i, least})
			}
		}
		isRounded[v] = true
		places = append(places, factored{i, v})
	}

	b := graph.NewBuilder(p.Name)
	at := make([]graph.Value, p.NumValues())
	for i, in := range p.Inputs {
		at[i] = b.Input(in.Name, in.Type)
	}
	factors := make([]graph.Value, len(places))
	prefix := "factor"
	for slices.ContainsFunc(p.Inputs, func(in graph.Input) bool { return len(in.Name) >= len(prefix) && in.Name[:len(prefix)] == prefix }) {
		prefix += "_"
	}
	for k, f := range places {
		factors[k] = b.Input(fmt.Sprintf("%s%d", prefix, k), p.Type(f.of))
	}
	for i := range p.Nodes {
		n, v := &p.Nodes[i], len(p.Inputs)+i
		if n.Op == graph.Literal {
			at[v] = b.Literal(n.Value)
			b.Name(at[v], n.Name)
			continue
		}
		args := mapped(at, n.Args)
		b.SetOrigin(n.Origin)
		for ; len(places) > 0 && places[0].node == i; places, factors = places[1:], factors[1:] {
			of := places[0].of
			if int(of) == v {
				break
			}
			moved := b.Emit(op.Mul, nil, at[of], factors[0])
			for k, a := range n.Args {
				if a == of {
					args[k] = moved
				}
			}
		}
		y := b.Emit(n.Op, n.Attrs, args...)
		b.Name(y, n.Name)
		if len(places) > 0 && places[0].node == i {
			y = b.Emit(op.Mul, nil, y, factors[0])
			places, factors = places[1:], factors[1:]
		}
		at[v] = y
	}
	return b.BuildNamed(p.OutputNames, mapped(at, p.Outputs)...)
}

// rounds reports whether the result of a node is rounded.
func rounds(n *graph.Node) bool {
	return n.Type.DType == graph.Float64 && n.Type.Len() > 0 && !n.Op.Exact && n.Op != graph.Literal && n.Op != op.Round && n.Op != op.Convert
}

// within reports whether an operation rounds more than its result.
func within(n *graph.Node) bool {
	return n.Op.Unary == nil && n.Op.Binary == nil && len(n.Args) > 0
}

// noise draws the factors of perturbed programs. They depend on its key, the program, the step and the place alone, so that a
// step that is evaluated again is the same.
type noise struct {
	key   uint64
	step  int
	tasks uint64
	pool  []float64
}

// poolSpan is the number of places from which a list of factors may be taken.
const poolSpan = 1 << 12

// reserve makes the pool long enough for lists of n factors.
func (m *noise) reserve(n int) {
	if want := poolSpan + n; len(m.pool) < want {
		rng := rand.New(rand.NewPCG(0x726f756e64, uint64(len(m.pool))))
		for range want - len(m.pool) {
			m.pool = append(m.pool, 1+float64(2*rng.IntN(2)-1)*0x1p-52)
		}
	}
}

// draw points at factors of program id.
func (m *noise) draw(factors []exec.Buffer, sizes []int, id uint64) {
	state := mix(m.key ^ mix(uint64(m.step)^mix(id)))
	for i, n := range sizes {
		state = state*6364136223846793005 + 1442695040888963407
		at := int(state >> 52)
		factors[i].F = m.pool[at : at+n : at+n]
	}
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Rounding runs a program with its rounding perturbed. It is not safe for concurrent use.
type Rounding struct {
	t     *task
	noise *noise
}

// NewRounding compiles the perturbed program; see [Perturbed].
func NewRounding(p *graph.Program) (*Rounding, error) {
	m := &noise{}
	t, err := newTask(p, m)
	return &Rounding{t, m}, err
}

// Run evaluates the program into out. Runs of one key are equal.
func (r *Rounding) Run(key uint64, in, out []exec.Buffer) error {
	r.noise.key = key
	copy(r.t.in, in)
	copy(r.t.out, out)
	return r.t.run()
}

// Factors returns values of the inputs that [Perturbed] adds, as tensors.
func Factors(p, perturbed *graph.Program, key uint64) []*graph.Tensor {
	rng := rand.New(rand.NewPCG(key, 0x666163746f72))
	var list []*graph.Tensor
	for _, in := range perturbed.Inputs[len(p.Inputs):] {
		x := graph.NewTensor(in.Type)
		for i := range x.F {
			x.F[i] = 1 + float64(2*rng.IntN(2)-1)*0x1p-52
		}
		list = append(list, x)
	}
	return list
}
