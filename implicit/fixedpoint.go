package implicit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// Newton's iteration takes over when so many steps in a row have shrunk, and at powers of two from
// trial on: the steps of a spiral do not shrink in a row, nor do those of one unknown beside the rounding of another.
const (
	contracting = 5
	trial       = 64
)

// arrived is the distance to the root at which the plain iteration has shown where it goes; approach
// is the fraction of a distance that is left after twice as many steps, from convincing steps on, that
// shows it too. Distances are relative, entry by entry, since units may differ between them. An
// iteration that settles on a cycle keeps its distance, and one that approaches a multiple root
// shortens it by no more than a power of the steps.
const (
	arrived    = 1e-8
	rest       = 64 // times the error of the root: what rounding leaves between an iteration and its limit
	convincing = 1000
	approach   = 0.25
	beside     = 1e-5 // no other fixed point is looked for so near, relative to the distance from afar
)

// FindLimit finds the limit of the plain iteration z ← G(z, θ) from z0: it iterates until
// contraction shows, polishes a copy with Newton's iteration on r = z − G, and accepts that root only
// if it does not repel the plain iteration and this goes on to approach it. Newton's iteration from
// z0 could find another one, and so it could where the plain iteration enters a cycle around a fixed
// point that repels.
func FindLimit(g, r *Map, z0, theta []float64, s Settings) (*Root, error) {
	s = s.withDefaults()
	z := append([]float64{}, z0...)
	next := make([]float64, len(z))
	last, shrinking := math.Inf(1), 0
	patience := contracting
	var reached error
	var candidate *approached
	for k := range s.MaxPlainIterations {
		if err := g.Eval(next, z, theta); err != nil {
			return unreached(z, k), graph.Within(fmt.Sprintf("plain step %d", k), err)
		}
		step := distance(next, z)
		if shrinking++; step > 0 && !(step < last) {
			shrinking = 0
		}
		last = step
		z, next = next, z
		if candidate != nil {
			switch candidate.judge(g, k+1, z, step == 0) {
			case going:
				continue
			case there:
				candidate.root.PlainSteps = k + 1
				return candidate.root, candidate.err
			}
			candidate, patience = nil, 2*(k+1) // look again when twice as far
		}
		if tried := k+1 >= trial && k&(k+1) == 0; step != 0 && shrinking < patience && !tried {
			continue
		}
		root, err := FindRoot(r, z, theta, s)
		if root != nil {
			root.PlainSteps = k + 1
		}
		if step == 0 || root == nil {
			return root, err
		}
		if reached = err; err == nil && root.repels(s.Seed) {
			reached = errors.New("the fixed point nearby repels the iteration")
		}
		if reached != nil && !statusIs(reached, graph.SingularStateJacobian) {
			patience = 2 * (k + 1)
			continue
		}
		if candidate = approaching(root, err, k+1, z); candidate.near(z) {
			return root, err
		}
	}
	reason := fmt.Sprintf("the plain iteration does not approach a fixed point in %d steps (last step %.3g)", s.MaxPlainIterations, last)
	if candidate != nil {
		reason = fmt.Sprintf("the plain iteration is still at a distance of %.3g from the fixed point that Newton's iteration finds beside it after %d steps, too far to say that it goes there", distance(candidate.root.Z, z), s.MaxPlainIterations)
	}
	if reached != nil {
		reason += "; where it seemed to: " + reached.Error()
	}
	return unreached(z, s.MaxPlainIterations), &graph.Failure{Status: graph.NotConverged, Reason: reason + ": the map may not be a contraction here; try another start, or state the equation as a root"}
}

// approached is a root that a plain iteration may be heading for.
type approached struct {
	root  *Root
	err   error     // why the root was refused, if it was
	scale []float64 // sizes of the entries of the root, or of their first distances where these are larger
	mark  int       // the step at which the distance was taken
	last  float64   // that distance
}

func approaching(root *Root, err error, k int, z []float64) *approached {
	a := &approached{root: root, err: err, scale: make([]float64, len(z)), mark: k}
	for i, x := range root.Z {
		a.scale[i] = max(math.Abs(x), math.Abs(z[i]-x))
	}
	a.last = a.distance(z)
	return a
}

// distance is the largest distance of an entry of z from the root's, relative to its scale.
func (a *approached) distance(z []float64) float64 {
	d := 0.0
	for i, x := range a.root.Z {
		if gap := math.Abs(z[i] - x); gap > 0 {
			d = max(d, gap/a.scale[i])
		}
	}
	return d
}

// near reports whether every entry of z is as far from the root as rounding or the last steps explain.
func (a *approached) near(z []float64) bool {
	for i, x := range a.root.Z {
		gap := math.Abs(z[i] - x)
		if !(gap <= arrived*a.scale[i]) && !(a.root.Errors != nil && gap <= rest*a.root.Errors[i]) {
			return false
		}
	}
	return true
}

type judgement int

const (
	going judgement = iota // not decided
	there
	elsewhere
)

// judge says where the plain iteration goes, of which z is iterate k; it stands still if it does not
// move any more.
func (a *approached) judge(g *Map, k int, z []float64, still bool) judgement {
	if a.near(z) {
		return there
	}
	if still {
		return elsewhere
	}
	if k < 2*a.mark {
		return going
	}
	d := a.distance(z)
	switch {
	case !(d < a.last):
		return elsewhere
	case k >= convincing && (a.err != nil || d <= approach*a.last && a.drawn(g, z, k)):
		return there
	}
	a.mark, a.last = k, d
	return going
}

// drawn reports whether the plain iteration leads nearer to the root from every point that is tried on the way there from z, in
// no more than so many steps together. A distance that shrinks from afar says nothing about another fixed point
// in between. The way is that of the iteration linearised at the root.
func (a *approached) drawn(g *Map, z []float64, steps int) bool {
	v := vectors(4, len(z))
	e, moved, w, next := v[0], v[1], v[2], v[3]
	for i, x := range a.root.Z {
		e[i] = z[i] - x
	}
	at := func() float64 {
		for i, x := range a.root.Z {
			w[i] = x + e[i]
		}
		return a.distance(w)
	}
	linear := 16 * steps // what a distance that falls to approach in so many steps takes to fall to 1e-9
	for first, d := a.last, at(); !(d <= beside*first); {
		for near := d; !(near < d); near = a.distance(w) { // that of a spiral may grow before it shrinks
			if steps == 0 || g.Eval(next, w, a.root.theta) != nil {
				return false
			}
			steps--
			w, next = next, w
		}
		for before := d; d > 0.95*before; d = at() {
			if linear == 0 {
				return false
			}
			linear--
			linsolve.Dense{N: len(e), Data: a.root.jacobian}.Mul(moved, e, linsolve.Plain)
			for i, x := range moved {
				e[i] -= x
			}
		}
	}
	return true
}

// repels reports whether the plain iteration leaves the neighbourhood of a root of z − G: whether
// G_z = I − R_z makes a random vector grow. An iteration that passes a saddle approaches it for a while; and a
// vector that turns grows and shrinks for a while, so that it is applied until growth or decay is evident.
func (root *Root) repels(seed uint64) bool {
	const settling, most, evident = 50, 20_000, 12
	v := randomUnit(rand.New(rand.NewPCG(seed, 0x726570656c)), len(root.Z))
	w := make([]float64, len(v))
	growth := 0.0 // ln‖v‖ since it settled
	for k := 0; k < most && math.Abs(growth) < evident; k++ {
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
		if k >= settling {
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
