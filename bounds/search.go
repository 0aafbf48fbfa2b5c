package bounds

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Settings bounds the effort of a search. The zero value is a good one.
type Settings struct {
	Seed        uint64 // the same seed gives the same result
	Samples     int    // random points to begin with; 0 means 256
	Evaluations int    // budget of evaluations for all local searches; 0 means 4096
}

func (s Settings) filled() Settings {
	if s.Samples == 0 {
		s.Samples = 256
	}
	if s.Evaluations == 0 {
		s.Evaluations = 4096
	}
	return s
}

// Estimate is the largest value of a function that a search found in a ball: a lower estimate of
// the supremum. It can refute a claimed bound of the supremum, with At as the witness; it never proves one.
type Estimate struct {
	Value       float64
	At          []float64 // where Value was found
	And         []float64 // the other point, for a quotient of a pair
	Evaluations int
}

// EvaluationError says that a function could not be evaluated at a point of the ball. The theorems
// need it everywhere in the ball: a smaller radius or another centre may avoid the point.
type EvaluationError struct {
	At    []float64
	Value float64 // when Err is nil: the non-finite value
	Err   error
}

func (e *EvaluationError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("bounds: evaluation at %v, inside the ball: %v", e.At, e.Err)
	}
	return fmt.Sprintf("bounds: the value at %v, inside the ball, is %v", e.At, e.Value)
}

func (e *EvaluationError) Unwrap() error { return e.Err }

// candidate is a point of a search with its value.
type candidate struct {
	x     []float64
	value float64
}

// search maximises value over a set, given by random points of it and a projection into it. The
// best random points are refined by a pattern search: polls along coordinates and random
// directions, a step that doubles after a success and halves after a poll without one.
type search struct {
	scale   []float64                          // length of a unit step in each coordinate
	draw    func(x []float64, rng *rand.Rand)  // a random point of the set
	project func(x []float64)                  // moves x into the set
	value   func(x []float64) (float64, error) // to be maximised
}

func (s *search) run(set Settings) (best candidate, err error) {
	const starts = 4
	set = set.filled()
	rng := rand.New(rand.NewPCG(set.Seed, 0))
	n := len(s.scale)
	var pool []candidate
	for range max(1, set.Samples) {
		c := candidate{x: make([]float64, n)}
		s.draw(c.x, rng)
		if c.value, err = s.value(c.x); err != nil {
			return c, err
		}
		pool = append(pool, c)
	}
	slices.SortStableFunc(pool, func(a, b candidate) int { return cmp.Compare(b.value, a.value) })
	best = pool[0]
	for _, c := range pool[:min(starts, len(pool))] {
		if c, err = s.climb(c, set.Evaluations/starts, rng); err != nil {
			return c, err
		}
		if c.value > best.value {
			best = c
		}
	}
	return best, nil
}

// climb refines one candidate.
func (s *search) climb(c candidate, budget int, rng *rand.Rand) (candidate, error) {
	const coordinates = 32 // polled one by one up to this dimension
	n := len(s.scale)
	direction, trial := make([]float64, n), make([]float64, n)
	used := 0
	// try moves along direction and keeps a strictly better point.
	try := func(step float64) (bool, error) {
		for i := range n {
			trial[i] = c.x[i] + float64(step*s.scale[i]*direction[i])
		}
		s.project(trial)
		used++
		v, err := s.value(trial)
		if err != nil || !(v > c.value) {
			return false, err
		}
		c = candidate{slices.Clone(trial), v}
		return true, nil
	}
	const smallest = 1e-9
	for step := 0.25; step > smallest && used < budget && n > 0; {
		improved := false
		for poll := range min(n, coordinates) + 4 {
			clear(direction)
			if n <= coordinates && poll < n {
				direction[poll] = 1
			} else {
				for i := range direction {
					direction[i] = rng.NormFloat64() / math.Sqrt(float64(n))
				}
			}
			for _, sign := range []float64{1, -1} {
				better, err := try(sign * step)
				if err != nil {
					return c, err
				}
				if better {
					improved = true
					break
				}
			}
		}
		if improved {
			step = min(2*step, 1)
		} else {
			step /= 2
		}
	}
	return c, nil
}
