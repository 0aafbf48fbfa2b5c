package exec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

// randomLattice writes one random formula of neighbours for every entry of a ring of scalars, a few times, with an
// odd entry here and there.
func randomLattice(r *rand.Rand) *graph.Program {
	w := writer{graph.NewBuilder("lattice")}
	n := 1 + r.IntN(14)
	state := make([]graph.Value, n)
	for i := range state {
		state[i] = w.Input(fmt.Sprint("x", i), graph.Scalar)
	}
	shared := []graph.Value{w.Input("a", graph.Scalar), w.Input("b", graph.Scalar), w.Full(graph.Scalar, 0.5), w.Full(graph.Scalar, -3)}
	all := state
	for range 1 + r.IntN(5) {
		// Operand k of the formula: an entry at a distance, or what all entries share.
		type leaf struct{ shift, shared int }
		leaves := make([]leaf, 2+r.IntN(5))
		operations := make([]*graph.Op, len(leaves))
		sides := make([]bool, len(leaves))
		draw := func() *graph.Op {
			return []*graph.Op{op.Add, op.Sub, op.Mul, op.Add, op.Sub, op.Mul, op.Neg, op.Div, op.Sin}[r.IntN(9-3*r.IntN(2))]
		}
		for k := range leaves {
			leaves[k] = leaf{max(0, r.IntN(7)-3), -1}
			if r.IntN(3) == 0 {
				leaves[k].shared = r.IntN(len(shared))
			}
			operations[k], sides[k] = draw(), r.IntN(2) == 0
		}
		next := make([]graph.Value, n)
		for i := range next {
			at := func(k int) graph.Value {
				if s := leaves[k].shared; s >= 0 {
					return shared[s]
				}
				return state[(i+leaves[k].shift)%n]
			}
			v := at(0)
			for k := 1; k < len(leaves); k++ {
				o := operations[k]
				if r.IntN(40) == 0 {
					o = draw()
				}
				switch {
				case o == op.Neg || o == op.Sin:
					v = w.Emit(o, nil, v)
				case sides[k]:
					v = w.Emit(o, nil, at(k), v)
				default:
					v = w.Emit(o, nil, v, at(k))
				}
			}
			next[i] = v
		}
		state = next
		all = append(all[:len(all):len(all)], next...)
	}
	outputs := state
	if r.IntN(2) == 0 {
		outputs = nil
		for range 1 + r.IntN(6) {
			outputs = append(outputs, all[r.IntN(len(all))])
		}
	}
	return w.Build(outputs...)
}

// randomScalars writes sums, differences and products, mostly of the last few values.
func randomScalars(r *rand.Rand) *graph.Program {
	w := writer{graph.NewBuilder("scalars")}
	var all []graph.Value
	for i := range 1 + r.IntN(3) {
		all = append(all, w.Input(fmt.Sprint("x", i), graph.Scalar))
	}
	all = append(all, w.Full(graph.Scalar, 0.5), w.Full(graph.Scalar, -3))
	pick := func() graph.Value {
		k := r.IntN(len(all))
		for range r.IntN(4) {
			k = max(k, r.IntN(len(all)))
		}
		return all[k]
	}
	for range 3 + r.IntN(50) {
		switch r.IntN(16) {
		case 0:
			all = append(all, w.Emit(op.Neg, nil, pick()))
		case 1:
			all = append(all, w.Emit(op.Div, nil, pick(), pick()))
		case 2:
			all = append(all, w.Emit(op.Tanh, nil, pick()))
		default:
			all = append(all, w.Emit([]*graph.Op{op.Add, op.Sub, op.Mul}[r.IntN(3)], nil, pick(), pick()))
		}
	}
	var outputs []graph.Value
	for range 1 + r.IntN(4) {
		outputs = append(outputs, pick())
	}
	return w.Build(outputs...)
}

// Every tree of sums, differences and products, in every variant, equals the reference evaluator.
func TestScalarsEqualReference(t *testing.T) {
	exec.AtLevels(func(name string) {
		t.Run(name, func(t *testing.T) {
			for seed := range programs(t, 2000) {
				r := rand.New(rand.NewPCG(uint64(seed), 7))
				p := randomScalars(r)
				e := mustCompile(t, p)
				sameRun(t, e, e.NewWorkspace(), randprog.Inputs(r, p))
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	})
}

// Lattices of scalars and their derivatives, where instructions join into wide ones, equal the reference evaluator.
func TestLatticesEqualReference(t *testing.T) {
	exec.AtLevels(func(name string) {
		t.Run(name, func(t *testing.T) {
			wide, packs, total := 0, 0, programs(t, 500)
			for seed := range total {
				r := rand.New(rand.NewPCG(uint64(seed), 5))
				p := randomLattice(r)
				if r.IntN(2) == 0 {
					p = derive(r, p)
				}
				e := mustCompile(t, p)
				if s := e.String(); strings.Contains(s, "..") {
					wide++
					if strings.Contains(s, " to r") {
						packs++
					}
				}
				ws := e.NewWorkspace()
				for k := range 3 {
					inputs := randprog.Inputs(r, p)
					if k == 2 {
						spoilInputs(r, inputs)
					}
					sameRun(t, e, ws, inputs)
					if t.Failed() {
						t.Fatalf("seed %d", seed)
					}
				}
			}
			if wide < total/2 || packs < total/4 {
				t.Errorf("of %d programs only %d have wide instructions, and %d move operands to them", total, wide, packs)
			}
		})
	})
}

// Few lanes of linear programs of scalars run four at a time: each equals the reference evaluator on it alone.
func TestFewLanesOfScalarsEqualReference(t *testing.T) {
	exec.AtLevels(func(name string) {
		t.Run(name, func(t *testing.T) {
			refused, ran, total := 0, 0, programs(t, 300)
			for seed := range total {
				r := rand.New(rand.NewPCG(uint64(seed), 6))
				p := randomLattice(r)
				l := graph.Linearize(p, upTo(len(p.Inputs)))
				y, err := graph.Eval(l.Primal, randprog.Inputs(r, p)...)
				if err != nil {
					continue
				}
				linear := l.Linear
				if r.IntN(2) == 0 {
					linear = graph.Transpose(linear)
				}
				ran++
				if checkLanes(t, r, linear, y[len(y)-l.Residuals:]) {
					refused++
				}
				if t.Failed() {
					t.Fatalf("seed %d\n%v", seed, linear)
				}
			}
			if ran < total/2 || refused == 0 {
				t.Errorf("of %d programs %d ran, of which %d were refused", total, ran, refused)
			}
		})
	})
}
