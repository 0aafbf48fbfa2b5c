package graph_test

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// A closed form that is no polynomial: the pullback of sin(x)·y with seed e^z.
func TestJetsOfAClosedForm(t *testing.T) {
	b := graph.NewBuilder("f")
	x, y, _ := b.Input("x", graph.Scalar), b.Input("y", graph.Scalar), b.Input("z", graph.Scalar)
	p := b.Build(b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, x), y))
	sb := graph.NewBuilder("seed")
	sb.Input("x", graph.Scalar)
	sb.Input("y", graph.Scalar)
	seed := sb.Build(sb.Emit(op.Exp, nil, sb.Input("z", graph.Scalar)))
	reverse, err := graph.Pullback(p, []int{0, 1, 2}, seed)
	if err != nil {
		t.Fatal(err)
	}
	at := []float64{0.4, 1.3, -0.2}
	// x̄ = e^z·cos(x)·y. D^n in directions e_x (a times), e_y (at most once), e_z (any): e^z·cos(x + aπ/2)·(y or 1).
	for order := 0; order <= 4; order++ {
		jet := graph.Jet(reverse, []int{0, 1, 2}, order)
		for code := range pow3(order) {
			in := []*graph.Tensor{graph.Number(at[0]), graph.Number(at[1]), graph.Number(at[2])}
			axes := make([]int, order)
			for k := range axes {
				axes[k] = code % 3
				code /= 3
				for i := range 3 {
					in = append(in, graph.Number(map[bool]float64{true: 1}[i == axes[k]]))
				}
			}
			out, err := graph.Eval(jet, in...)
			if err != nil {
				t.Fatal(err)
			}
			for s := range 1 << order {
				var count [3]int
				for k, a := range axes {
					count[a] += s >> k & 1
				}
				want := math.Exp(at[2]) * math.Cos(at[0]+float64(count[0])*math.Pi/2)
				switch count[1] {
				case 0:
					want *= at[1]
				case 1:
				default:
					want = 0
				}
				if got := out[3*s].F[0]; math.Abs(got-want) > 1e-14 {
					t.Errorf("order %d, axes %v, set %b (%d): %v, want %v", order, axes, s, bits.OnesCount(uint(s)), got, want)
				}
				if z := out[3*s+2].F[0]; z != 0 {
					t.Errorf("the cotangent of z, which f does not read, is %v", z)
				}
			}
		}
	}
}

func pow3(n int) int {
	p := 1
	for range n {
		p *= 3
	}
	return p
}

func TestPullbackRefusesSeedsOfAnotherType(t *testing.T) {
	program := func(dims ...int) *graph.Program {
		b := graph.NewBuilder("p")
		b.Input("x", graph.F64(2))
		return b.Build(b.Zeros(graph.F64(dims...)))
	}
	if _, err := graph.Pullback(program(2), []int{0}, program(3)); err == nil || !strings.Contains(err.Error(), "wants type f64[2], has f64[3]") {
		t.Errorf("%v", err)
	}
}
