package implicit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// contracting is how many steps in a row must shrink before Newton's iteration takes over.
const contracting = 5

// FindLimit finds the limit of the plain iteration z ← G(z, θ) from z0: it iterates until
// contraction shows, then polishes with Newton's iteration on r = z − G, and accepts the root only
// if it lies where the iteration is heading, and does not repel it: an iteration that passes a saddle
// seems to contract for a while. Newton's iteration from z0 could find another one.
func FindLimit(g, r *Map, z0, theta []float64, s Settings) (*Root, error) {
	s = s.withDefaults()
	z := append([]float64{}, z0...)
	next := make([]float64, len(z))
	last, shrinking := math.Inf(1), 0
	patience := contracting
	var reached error
	for k := range s.MaxPlainIterations {
		if err := g.Eval(next, z, theta); err != nil {
			return unreached(z, k), place(err, fmt.Sprintf("plain step %d", k))
		}
		step := distance(next, z)
		ratio := step / last
		if shrinking++; step > 0 && !(ratio < 1) {
			shrinking = 0
		}
		last = step
		z, next = next, z
		if step != 0 && shrinking < patience {
			continue
		}
		// The remaining steps sum to at most step·ratio/(1−ratio) if the ratio does not grow; three
		// times that, plus what rounding blurs, is still where the iteration is heading.
		heading := 3*step*ratio/(1-ratio) + 1e-8*max(1, norm2(z))
		if step == 0 {
			heading = 1e-8 * max(1, norm2(z))
		}
		root, err := FindRoot(r, z, theta, s)
		if root != nil {
			root.PlainSteps = k + 1
		}
		switch {
		case step == 0:
			return root, err
		case root == nil || distance(root.Z, z) > heading:
			reached = err
		case err == nil && root.repels(s.Seed):
			reached = errors.New("the fixed point nearby repels the iteration")
		default:
			return root, err
		}
		patience = 2 * (k + 1) // look again when twice as far
	}
	reason := fmt.Sprintf("the plain iteration does not approach a fixed point in %d steps (last step %.3g)", s.MaxPlainIterations, last)
	if reached != nil {
		reason += "; where it seemed to: " + reached.Error()
	}
	return unreached(z, s.MaxPlainIterations), &graph.Failure{Status: graph.NotConverged, Reason: reason + ": the map may not be a contraction here; try another start, or state the equation as a root"}
}

// repels reports whether the plain iteration leaves the neighbourhood of a root of z − G: whether
// G_z = I − R_z makes a random vector grow, over the second half of a hundred applications.
func (root *Root) repels(seed uint64) bool {
	const applications = 100
	v := randomUnit(rand.New(rand.NewPCG(seed, 0x726570656c)), len(root.Z))
	w := make([]float64, len(v))
	growth := 0.0
	for k := range applications {
		linsolve.Dense{N: len(v), Data: root.jacobian}.Mul(w, v, linsolve.Plain)
		for i := range v {
			v[i] -= w[i]
		}
		size := norm2(v)
		if size == 0 {
			return false
		}
		for i := range v {
			v[i] /= size
		}
		if k >= applications/2 {
			growth += math.Log(size)
		}
	}
	return growth > 0
}

// unreached is the root of a plain iteration that led nowhere.
func unreached(z []float64, steps int) *Root {
	root := &Root{Z: z, PlainSteps: steps, ResidualNorm: math.NaN()}
	root.unknown()
	return root
}
