package implicit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
)

// momentum is gradient descent with momentum on c·x²/2 − b·x.
func momentum(t *testing.T, c, b, rate, mom float64) (*Root, error) {
	t.Helper()
	w := fmt.Sprintf("(%v * v - %v * (c * x - b))", mom, rate)
	g, r := scalars(t, "x v", "c b", "x + "+w, w), scalars(t, "x v", "c b", "x - (x + "+w+")", "v - "+w)
	return FindLimit(g, r, []float64{0, 0}, []float64{c, b}, Settings{})
}

// Momentum has a limit, with real eigenvalues and with complex ones; its velocity tends to 0.
func TestMomentumHasALimit(t *testing.T) {
	refused := 0
	check := func(c, b, rate, mom float64) {
		root, err := momentum(t, c, b, rate, mom)
		if err != nil {
			refused++
			t.Errorf("c = %v, b = %v, rate %v, momentum %v: %v", c, b, rate, mom, err)
		} else if math.Abs(root.Z[0]-b/c) > 1e-12*math.Abs(b/c) {
			t.Errorf("c = %v, b = %v, rate %v, momentum %v: %v, want %v", c, b, rate, mom, root.Z, b/c)
		}
	}
	for i := range 50 {
		check(2, 0.1+0.07*float64(i), 0.1, 0.9)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range rounds(50) {
		unit := math.Pow(10, math.Round(24*rng.Float64()-12))
		check(1+rng.Float64(), unit*(0.5+rng.Float64()), 0.01+0.3*rng.Float64(), []float64{0, 0.3, 0.5, 0.9, 0.99, 0.995}[rng.IntN(6)])
	}
	t.Logf("%d refused", refused)
}

// A slow spiral is no cycle, and a slow one that moves outwards has no limit.
func TestSpirals(t *testing.T) {
	for _, turn := range []float64{0.01, 0.3, 1, 2, 3} {
		for _, size := range []float64{0.5, 0.9, 0.99, 0.999, 1.001, 1.01} {
			c, s := size*math.Cos(turn), size*math.Sin(turn)
			g := fmt.Sprintf("[%v * (z[0] - t[0]) - %v * (z[1] - 1) / 1000 + t[0], 1000 * %v * (z[0] - t[0]) + %v * (z[1] - 1) + 1]", c, s, s, c)
			root, err := limitOf(t, g, []float64{1, 0}, []float64{2})
			if size > 1 {
				if err == nil {
					t.Errorf("size %v, turn %v: %v", size, turn, root.Z)
				}
			} else if err != nil || math.Abs(root.Z[0]-2) > 1e-11 || math.Abs(root.Z[1]-1) > 1e-8 {
				t.Errorf("size %v, turn %v: %v, %v", size, turn, root.Z, err)
			}
		}
	}
}

// plainLimit iterates for long and returns where it rests, if it does.
func plainLimit(g *Map, z0, theta []float64, steps int) (z []float64, rests bool) {
	z = append(z, z0...)
	next := make([]float64, len(z))
	mark := make([]float64, len(z))
	for k := range steps {
		if g.Eval(next, z, theta) != nil {
			return z, false
		}
		z, next = next, z
		if k == steps/2 {
			copy(mark, z)
		}
	}
	for i := range z {
		if !(math.Abs(z[i]-mark[i]) <= 1e-9*(1+math.Abs(z[i]))) {
			return z, false
		}
	}
	return z, true
}

// Of maps with several fixed points, the one is returned that a long plain iteration reaches.
func TestTheLimitIsTheOneThatIsReached(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	wrong, refused, rest, total := 0, 0, 0, rounds(150)
	for i := range total {
		var g string
		var z0 []float64
		rate := math.Pow(10, -1-2.5*rng.Float64())
		height, centre, width := 2*rng.NormFloat64(), rng.NormFloat64(), 0.05+0.5*rng.Float64()
		switch i % 3 {
		case 0: // a bump on a straight slope
			g = fmt.Sprintf("z - %v * ((z + 1) - %v * exp(-((z - %v) / %v)^2)) + 0 * t", rate, height, centre, width)
			z0 = []float64{math.Copysign(math.Pow(10, 3*rng.Float64()), rng.NormFloat64())}
		case 1: // descent in a wavy valley
			g = fmt.Sprintf("z - %v * (z / 5 + %v * sin(2 * z + %v)) + 0 * t", rate, height, centre)
			z0 = []float64{30 * rng.NormFloat64()}
		case 2: // two unknowns, one turned by the other
			g = fmt.Sprintf("z - %[1]v * [z[0] + z[1] / 2 - %[2]v * exp(-((z[0] - %[3]v) / %[4]v)^2 - z[1]^2), z[1] - z[0] / 2 + %[2]v * sin(z[1])] + 0 * t[0]", rate, height, centre, width)
			z0 = []float64{20 * rng.NormFloat64(), 20 * rng.NormFloat64()}
		}
		m := vectorMap(t, len(z0), 1, g)
		z, rests := plainLimit(m, z0, []float64{0}, 150_000)
		root, err := limitOf(t, g, z0, []float64{0})
		if err != nil {
			if rests {
				refused++
			}
			if s := statusOf(err); s != graph.NotConverged && s != graph.SingularStateJacobian && s != graph.NonFinite {
				t.Errorf("%s: %v", g, err)
			}
			continue
		}
		if rests {
			rest++
		}
		for k := range z {
			if math.Abs(root.Z[k]-z[k]) > 1e-2*(1+math.Abs(z[k])) { // a slow one is still on its way
				wrong++
				t.Errorf("%s from %v: %v, but the plain iteration is at %v (at rest: %v)", g, z0, root.Z, z, rests)
				break
			}
		}
	}
	t.Logf("%d maps, %d with a limit found, %d wrong, %d refused", total, rest, wrong, refused)
	if 20*refused > total {
		t.Errorf("%d limits of %d are refused", refused, total)
	}
}
