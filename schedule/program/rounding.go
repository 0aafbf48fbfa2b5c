package program

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
)

// Perturbed returns p with every rounded result times a factor, entry by entry: an input for each, after those of p. Where all
// factors are 1 it computes what p does; where they are 1 ± 2^level·2⁻⁵² at random, the spread of its outputs measures how far rounding moves
// them. The levels are those of the factors in order.
//
// An operation that rounds within, such as a sum or a product of matrices, has factors on an operand too, unless that is a
// rounded result itself: terms that cancel inside show. One of n terms has a level of its own, on operand and result: its partial
// sums are rounded n times.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
func Perturbed(p *graph.Program) (_ *graph.Program, levels []int) {
	p = graph.Expand(p)
	type factored struct {
		node, level int
		of          graph.Value
	}
	var places []factored // in the order of the factors: a node's result, or an operand of the node
	isRounded := make([]bool, p.NumValues())
	for i := range p.Nodes {
		n, v := &p.Nodes[i], graph.Value(len(p.Inputs)+i)
		if !rounds(n) {
			continue
		}
		level := graph.RoundingLevel(p, n)
		if level > 0 || within(n) && !slices.ContainsFunc(n.Args, func(a graph.Value) bool { return isRounded[a] }) {
			if k := graph.LeastOperand(p, n); k >= 0 {
				places = append(places, factored{i, level, n.Args[k]})
			}
		}
		isRounded[v] = true
		places = append(places, factored{i, level, v})
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
		levels = append(levels, f.level)
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
	return b.BuildNamed(p.OutputNames, mapped(at, p.Outputs)...), levels
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
// step that is evaluated again is the same; each place has its own bias, up or down.
type noise struct {
	key   uint64
	step  int
	tasks uint64
	pools [][2][]float64 // by level, one with more factors above 1 and one with more below
}

// poolSpan is the number of places from which a list of factors may be taken.
const poolSpan = 1 << 12

// reserve makes the pools of a level long enough for lists of n factors.
func (m *noise) reserve(level, n int) {
	for len(m.pools) <= level {
		m.pools = append(m.pools, [2][]float64{})
	}
	for side, pool := range m.pools[level] {
		if want := poolSpan + n; len(pool) < want {
			rng := rand.New(rand.NewPCG(0x726f756e64+uint64(level), uint64(len(pool)+side)))
			for range want - len(pool) {
				pool = append(pool, factor(rng, level, 1+bias*float64(1-2*side)))
			}
			m.pools[level][side] = pool
		}
	}
}

// bias is the mean of a place's factors over the steps, above 1 or below: rounding may drift, as that of a sum of equal terms does.
const bias = 1. / 8

// factor draws 1 ± 2^level·2⁻⁵², with odds for +.
func factor(rng *rand.Rand, level int, odds float64) float64 {
	size := math.Ldexp(0x1p-52, level)
	if 2*rng.Float64() < odds {
		return 1 + size
	}
	return 1 - size
}

// draw points at the factors of a task.
func (m *noise) draw(t *task) {
	if t.pools == nil || t.key != m.key { // the side of each place is that of the key
		t.pools, t.key = make([][]float64, len(t.levels)), m.key
		for i, level := range t.levels {
			t.pools[i] = m.pools[level][mix(m.key^mix(t.id^uint64(i)<<32))>>63]
		}
	}
	state := mix(m.key ^ mix(uint64(m.step)^mix(t.id)))
	for i, n := range t.lengths {
		state = state*6364136223846793005 + 1442695040888963407
		at := int(state >> 52)
		t.factors[i].F = t.pools[i][at : at+n : at+n]
	}
}

// move moves every entry by a unit of its last place.
func (m *noise) move(x []float64, id uint64) {
	m.reserve(0, len(x))
	place := mix(m.key ^ mix(^id))
	at := int(mix(place^uint64(m.step)) >> 52)
	for i, f := range m.pools[0][place>>63][at : at+len(x)] {
		x[i] *= f
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

// Factors draws values of the last inputs of a perturbed program, as tensors.
func Factors(perturbed *graph.Program, levels []int, key uint64) []*graph.Tensor {
	rng := rand.New(rand.NewPCG(key, 0x666163746f72))
	var list []*graph.Tensor
	for k, in := range perturbed.Inputs[len(perturbed.Inputs)-len(levels):] {
		x := graph.NewTensor(in.Type)
		for i := range x.F {
			x.F[i] = factor(rng, levels[k], 1)
		}
		list = append(list, x)
	}
	return list
}
