package bounds

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Ball is the closed ball ‖z − centre‖ ≤ radius: the convex set D of the theorems. Their proofs use
// convexity only, so that a bound on the closed ball serves its interior as well.
type Ball struct {
	Centre []float64
	Radius float64
	Norm   Norm
}

// NewBall returns a ball around a finite centre, with a finite radius ≥ 0.
func NewBall(centre []float64, radius float64, norm Norm) (Ball, error) {
	for i, v := range centre {
		if v-v != 0 {
			return Ball{}, fmt.Errorf("bounds: entry %d of the centre of the ball is %v", i, v)
		}
	}
	if err := size("radius", radius); err != nil {
		return Ball{}, err
	}
	if norm.weights != nil && len(norm.weights) != len(centre) {
		return Ball{}, fmt.Errorf("bounds: the norm has %d weights, the state %d entries", len(norm.weights), len(centre))
	}
	norm.check(len(centre))
	return Ball{Centre: append([]float64(nil), centre...), Radius: radius, Norm: norm}, nil
}

// Contains reports whether ‖z − centre‖ ≤ radius. A NaN is nowhere.
func (b Ball) Contains(z []float64) bool { return b.Norm.Distance(z, b.Centre) <= b.Radius }

// Interior sets z to a point drawn uniformly from the ball.
func (b Ball) Interior(z []float64, rng *rand.Rand) {
	n := float64(len(z))
	if b.Norm.kind == "inf" {
		for i := range z {
			z[i] = float64(2*rng.Float64()) - 1
		}
	} else {
		b.direction(z, rng)
		s := math.Pow(rng.Float64(), 1/n)
		for i := range z {
			z[i] *= s
		}
	}
	b.place(z)
}

// Surface sets z to a point drawn from the surface of the ball: uniformly in the faces of the 1- and
// ∞-norms and on the sphere of the 2-norm.
func (b Ball) Surface(z []float64, rng *rand.Rand) {
	b.direction(z, rng)
	b.place(z)
}

// direction sets x to a random point of the unit sphere, in the norm without weights.
func (b Ball) direction(x []float64, rng *rand.Rand) {
	if len(x) == 0 {
		return
	}
	unit := b.Norm.Unweighted()
	for s := 0.0; s == 0; s = unit.Of(x) {
		for i := range x {
			switch b.Norm.kind {
			case "1":
				x[i] = rng.ExpFloat64() * float64(1-2*rng.IntN(2))
			case "2":
				x[i] = rng.NormFloat64()
			default:
				x[i] = float64(2*rng.Float64()) - 1
			}
		}
	}
	if b.Norm.kind == "inf" {
		x[rng.IntN(len(x))] = float64(1 - 2*rng.IntN(2))
		return
	}
	s := unit.Of(x)
	for i := range x {
		x[i] /= s
	}
}

// place maps a point of the unit ball, in the norm without weights, into the ball.
func (b Ball) place(z []float64) {
	for i := range z {
		z[i] = b.Centre[i] + float64(b.Radius*b.Norm.weight(i)*z[i])
	}
	b.project(z)
}

// project moves z into the ball: entry by entry for the ∞-norm, along the ray to the centre
// otherwise. Rounding may leave the result outside; the target then shrinks, at last to the centre.
func (b Ball) project(z []float64) {
	for deficit := 0.0; !b.Contains(z); deficit = 2*deficit + 0x1p-52 {
		if !(deficit < 1) {
			copy(z, b.Centre)
			return
		}
		radius := b.Radius * (1 - deficit)
		if b.Norm.kind == "inf" {
			for i, c := range b.Centre {
				r := radius * b.Norm.weight(i)
				z[i] = min(max(z[i], c-r), c+r)
			}
			continue
		}
		s := radius / b.Norm.Distance(z, b.Centre)
		for i, c := range b.Centre {
			z[i] = c + float64((z[i]-c)*s)
		}
	}
}
