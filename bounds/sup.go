package bounds

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// MatrixFunc evaluates a matrix at a state z, in row-major order; its rows belong to the state. The
// result is read before the next call.
type MatrixFunc func(z []float64) ([]float64, error)

// EstimateSup returns a lower estimate of sup f over the ball, with its maximiser, found by seeded
// sampling of interior and surface and local maximisation without derivatives. An error of f or a
// value that is not finite is an [EvaluationError].
func EstimateSup(f func(z []float64) (float64, error), ball Ball, settings Settings) (Estimate, error) {
	count := 0
	s := search{
		scale:   ball.unit(),
		project: ball.project,
		draw: func(z []float64, rng *rand.Rand) {
			if rng.IntN(2) == 0 {
				ball.Surface(z, rng)
			} else {
				ball.Interior(z, rng)
			}
		},
		value: func(z []float64) (float64, error) {
			count++
			v, err := f(z)
			if err != nil || v-v != 0 {
				return v, &EvaluationError{At: slices.Clone(z), Value: v, Err: err}
			}
			return v, nil
		},
	}
	// The centre is often the solution itself.
	centre, err := s.value(ball.Centre)
	if err != nil {
		return Estimate{}, err
	}
	best, err := s.run(settings)
	if err != nil {
		return Estimate{}, err
	}
	if centre >= best.value {
		best = candidate{slices.Clone(ball.Centre), centre}
	}
	return Estimate{Value: best.value, At: best.x, Evaluations: count}, nil
}

// EstimateContraction returns a lower estimate of q = sup ‖G_z‖ over the ball, in its norm.
func EstimateContraction(gz MatrixFunc, ball Ball, settings Settings) (Estimate, error) {
	return EstimateSup(func(z []float64) (float64, error) {
		return matrixNorm(gz, z, ball.Norm, ball.Norm)
	}, ball, settings)
}

func matrixNorm(a MatrixFunc, z []float64, to, from Norm) (float64, error) {
	m, err := evaluate(a, z)
	if err != nil {
		return 0, err
	}
	return to.Matrix(m, len(z), columns(m, len(z)), from), nil
}

// evaluate checks the size of what a returns.
func evaluate(a MatrixFunc, z []float64) ([]float64, error) {
	m, err := a(z)
	if err == nil && len(z) > 0 && len(m)%len(z) != 0 {
		err = fmt.Errorf("a matrix of %d entries for a state of %d", len(m), len(z))
	}
	return m, err
}

func columns(m []float64, rows int) int {
	if rows == 0 {
		return 0
	}
	return len(m) / rows
}

// EstimateLipschitz returns a lower estimate of the Lipschitz constant of the matrix a over the ball,
// sup ‖a(z) − a(z')‖/‖z − z'‖, with the pair that attains it. The matrix norm is the one induced by
// from (the norm of the state for G_z, that of θ for G_θ) and the norm of the ball. Over a convex
// set the supremum is that of the directional derivatives of a; so the search runs over nearby pairs
// in every place and direction, beside distant random pairs.
//
// A difference below 4·2⁻⁵³ of the matrices is rounding and counts as 0.
func EstimateLipschitz(a MatrixFunc, from Norm, ball Ball, settings Settings) (Estimate, error) {
	m := len(ball.Centre)
	// Half the distance of a nearby pair: small beside the ball, large beside the spacing of floats.
	h := min(ball.Radius/2, max(1e-6*ball.Radius, 1e-9*ball.Norm.Of(ball.Centre)))
	core := ball
	core.Radius = ball.Radius - h
	sphere := Ball{Centre: make([]float64, m), Radius: 1, Norm: ball.Norm}

	var best Estimate
	count := 0
	first, zp, zm := []float64(nil), make([]float64, m), make([]float64, m)
	quotient := func(z, zz []float64) (float64, error) {
		count += 2
		distance := ball.Norm.Distance(z, zz)
		left, err := evaluate(a, z)
		if err != nil {
			return 0, &EvaluationError{At: slices.Clone(z), Err: err}
		}
		first = append(first[:0], left...)
		right, err := evaluate(a, zz)
		if err != nil {
			return 0, &EvaluationError{At: slices.Clone(zz), Err: err}
		}
		cols := columns(first, m)
		size := ball.Norm.Matrix(first, m, cols, from) + ball.Norm.Matrix(right, m, cols, from)
		for i := range first {
			first[i] -= right[i]
		}
		difference := ball.Norm.Matrix(first, m, cols, from)
		if v := difference + size; v-v != 0 {
			return 0, &EvaluationError{At: slices.Clone(z), Value: v}
		}
		if distance == 0 {
			return 0, nil
		}
		value := max(0, difference-float64(4*0x1p-53*size)) / distance
		if value > best.Value || best.At == nil {
			best.Value, best.At, best.And = value, slices.Clone(z), slices.Clone(zz)
		}
		return value, nil
	}

	// A point of the search is a midpoint and a direction.
	s := search{
		scale: append(ball.unit(), sphere.unit()...),
		draw: func(x []float64, rng *rand.Rand) {
			core.Interior(x[:m], rng)
			sphere.Surface(x[m:], rng)
		},
		project: func(x []float64) {
			core.project(x[:m])
			direction := x[m:]
			sphere.project(direction) // entry by entry in the ∞-norm, whose best directions are corners
			norm := ball.Norm.Of(direction)
			if norm == 0 && m > 0 {
				direction[0], norm = ball.Norm.weight(0), 1
			}
			for i := range direction {
				direction[i] /= norm
			}
		},
		value: func(x []float64) (float64, error) {
			for i := range m {
				zp[i], zm[i] = x[i]+float64(h*x[m+i]), x[i]-float64(h*x[m+i])
			}
			ball.project(zp)
			ball.project(zm)
			return quotient(zp, zm)
		},
	}
	rng := rand.New(rand.NewPCG(settings.Seed, 1))
	for range settings.filled().Samples {
		ball.Interior(zp, rng)
		ball.Interior(zm, rng)
		if _, err := quotient(zp, zm); err != nil {
			return Estimate{}, err
		}
	}
	if _, err := s.run(settings); err != nil {
		return Estimate{}, err
	}
	best.Evaluations = count
	return best, nil
}

// CheckInvariance searches the ball for a point whose image G(z) lies outside: a witness that
// G(D) ⊄ D. It returns the point found whose image is farthest from the centre, with Value
// ‖G(z) − centre‖, and whether that is outside by more than rounding. Not outside is evidence, no proof;
// but around a fixed point ‖G_z‖ ≤ q < 1 on the ball implies G(D) ⊂ D.
func CheckInvariance(g func(z []float64) ([]float64, error), ball Ball, settings Settings) (farthest Estimate, outside bool, err error) {
	farthest, err = EstimateSup(func(z []float64) (float64, error) {
		image, err := g(z)
		if err == nil && len(image) != len(z) {
			err = fmt.Errorf("an image of %d entries for a state of %d", len(image), len(z))
		}
		if err != nil {
			return 0, err
		}
		return ball.Norm.Distance(image, ball.Centre), nil
	}, ball, settings)
	if err != nil {
		return farthest, false, err
	}
	rounding := 4 * 0x1p-53 * (ball.Radius + 2*ball.Norm.Of(ball.Centre))
	return farthest, farthest.Value > ball.Radius+rounding, nil
}

// unit returns the weights of the coordinates times the radius: the length of a unit step.
func (b Ball) unit() []float64 {
	scale := make([]float64, len(b.Centre))
	for i := range scale {
		scale[i] = b.Radius * b.Norm.weight(i)
	}
	return scale
}
