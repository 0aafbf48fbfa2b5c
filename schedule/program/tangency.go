package program

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/schedule"
)

// Tangency holds a gradient by a reverse sweep to the tangent that the chain of (x, ẋ) carries forward. Both are the same product
// v ↦ ∇J·v of the steps' Jacobians along one trajectory, with the same bits, so that rounding in the linear parts is all that may
// be between them: also where the trajectory is chaotic. A transpose rule that is wrong, or a record that is not what the step
// computes, is wrong under every schedule; here it shows.
type Tangency struct {
	Adjoint, Tangent float64 // ∇J·v and J̇
	Size             float64 // Σ|∂J/∂xᵢ vᵢ|
	// Tolerance is what rounding may put between the two.
	//
	// It is measured, as the largest deviation of some runs, times a factor for chance: forward in the direction s·v, where every
	// entry of every ẋ_j is moved at random by a unit of its last place, and backward from the cotangent s, s being a number of full
	// length, so that every operation rounds otherwise. The second sees terms that cancel backward and not forward, as those of
	// c·x − c·x do, and the first those that cancel forward only. The rounding of ∇J·v itself, of a part in 10¹³ of the size, and of
	// entries that underflow, is added.
	Tolerance float64
}

// MaxTolerance is the largest tolerance, relative to the size, at which a difference is judged.
const MaxTolerance = 1e-6

const (
	perturbedRuns  = 2 // each way
	roundingFactor = 1000
)

// Gap returns |∇J·v − J̇| relative to Σ|∂J/∂xᵢ vᵢ|, or itself where that is 0.
func (t Tangency) Gap() float64 { return t.relative(math.Abs(t.Adjoint - t.Tangent)) }

// Bound returns the tolerance, relative as the gap is.
func (t Tangency) Bound() float64 { return t.relative(t.Tolerance) }

func (t Tangency) relative(x float64) float64 {
	if t.Size == 0 {
		return x
	}
	return x / t.Size
}

// Judged reports whether rounding leaves the digits to tell a derivative that is right from one that is not.
func (t Tangency) Judged() bool {
	nothing := t.Size == 0 && t.Tangent == 0
	return nothing || t.Tolerance <= MaxTolerance*max(t.Size, math.Abs(t.Tangent))
}

// Holds reports whether the two agree to the tolerance.
func (t Tangency) Holds() bool { return math.Abs(t.Adjoint-t.Tangent) <= t.Tolerance }

// Direction is a direction of x_0, the parameters and the controls. x_0 also moves with the parameters, as the start says.
type Direction struct {
	Start            []float64 // of the blocks
	Params, Controls [][]float64
}

// scaled returns s times the direction.
func (v Direction) scaled(s float64) Direction {
	times := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = s * x[i]
		}
		return y
	}
	out := Direction{Start: times(v.Start)}
	for _, x := range v.Params {
		out.Params = append(out.Params, times(x))
	}
	for _, x := range v.Controls {
		out.Controls = append(out.Controls, times(x))
	}
	return out
}

// flat returns all entries, with a running sum, which does not move, after those of the blocks.
func (v Direction) flat(running bool) []float64 {
	x := slices.Clone(v.Start)
	if running {
		x = append(x, 0)
	}
	return slices.Concat(x, slices.Concat(v.Params...), slices.Concat(v.Controls...))
}

// Values are the arguments of [Chain.Set].
type Values struct {
	Steps                       int
	Open                        bool
	Params, Constants, Controls [][]float64
}

// Along returns J̇ in a direction. The chain is made by [NewForward] of a [Tangent]; the values are those of the chain that it belongs to.
// Its errors are those of the chain.
func (c *Chain) Along(ctx context.Context, at Values, v Direction) (float64, error) {
	value, _, err := c.along(ctx, at, v, nil)
	return value, err
}

// Hold compares ∇J, of the entries of x_0, the running sum, the parameters and the controls, with the tangent in a direction. reverse
// computes ∇J again from the terminal cotangent s, as s·∇J. The chain is that of Along.
func (c *Chain) Hold(ctx context.Context, at Values, v Direction, gradient []float64, reverse func(s float64) ([]float64, error), rng *rand.Rand) (Tangency, error) {
	tangent, _, err := c.along(ctx, at, v, nil)
	if err != nil {
		return Tangency{}, err
	}
	t := Tangency{Tangent: tangent}
	flat := v.flat(c.spec.Running)
	t.Adjoint, t.Size = dot(gradient, flat)
	spread, largest := 0.0, 0.0
	for range perturbedRuns {
		s := 1 + rng.Float64()
		moved, most, err := c.along(ctx, at, v.scaled(s), rng)
		if err != nil {
			return Tangency{}, err
		}
		g, err := reverse(s)
		if err != nil {
			return Tangency{}, err
		}
		again, _ := dot(g, flat)
		spread = max(spread, math.Abs(moved/s-tangent), math.Abs(again/s-t.Adjoint))
		largest = max(largest, most)
	}
	const unit, smallest = 0x1p-53, 0x1p-1022
	t.Tolerance = roundingFactor*spread + float64(roundingFactor+len(gradient)+at.Steps)*(unit*t.Size+smallest*(1+largest))
	return t, nil
}

// dot returns Σ xᵢyᵢ and Σ|xᵢyᵢ|.
func dot(x, y []float64) (sum, size float64) {
	for i, v := range x {
		term := float64(v * y[i])
		sum, size = sum+term, size+math.Abs(term)
	}
	return sum, size
}

// along runs the chain of (x, ẋ) and returns J̇. With rng, it moves the tangents at random, and returns their largest entry too.
func (c *Chain) along(ctx context.Context, at Values, v Direction, rng *rand.Rand) (value, largest float64, err error) {
	if err := c.Set(at.Steps, at.Open, slices.Concat(at.Params, v.Params), at.Constants, slices.Concat(at.Controls, v.Controls)); err != nil {
		return 0, 0, err
	}
	x, next := make([]float64, c.state, c.state+1), make([]float64, c.state, c.state+1) // J is one number, of no state too
	if err := c.Start(x); err != nil {
		return 0, 0, err
	}
	for i, move := range v.Start {
		x[len(v.Start)+i] += move
	}
	if rng != nil {
		for _, move := range v.flat(false) {
			largest = max(largest, math.Abs(move))
		}
	}
	for j := 1; j <= at.Steps; j++ {
		if j&0x3ff == 0 && ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		if rng != nil {
			largest = max(largest, perturb(x[len(v.Start):], rng))
		}
		next = next[:c.StateLen(j)]
		if err := c.Advance(j, x, next); err != nil {
			return 0, 0, &schedule.StepError{Step: j, Call: "advance", Err: err}
		}
		x, next = next, x
	}
	if !c.Open() {
		return x[0], largest, nil
	}
	if rng != nil {
		largest = max(largest, perturb(x[len(v.Start):], rng))
	}
	value, err = c.Value(x)
	return value, largest, err
}

// perturb moves every entry by −1, 0 or 1 unit of its last place, and returns the largest.
func perturb(x []float64, rng *rand.Rand) (largest float64) {
	var bits uint64
	for i, y := range x {
		if i&31 == 0 {
			bits = rng.Uint64()
		}
		size := math.Abs(y)
		largest = max(largest, size)
		x[i] = y + float64(float64(int(bits&1)-int(bits>>1&1))*float64(float64(size*0x1p-52)+0x1p-1074))
		bits >>= 2
	}
	return largest
}
