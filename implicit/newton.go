package implicit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// Settings of a solve. The zero value means the defaults.
type Settings struct {
	// Tolerance is the error estimate of a root that is accepted, block of the state by block, relative to the
	// largest entry of the block. An unknown that vanishes is held to max(1, ‖z‖) instead, where its error is rounding
	// alone. Default 1e-10.
	Tolerance float64
	// MaxIterations bounds the Newton steps. Default 100.
	MaxIterations int
	// MaxPlainIterations bounds the plain steps of a fixed-point iteration. Default 100,000.
	MaxPlainIterations int
	// Seed draws the directions of the checks.
	Seed uint64
}

func (s Settings) withDefaults() Settings {
	if s.Tolerance == 0 {
		s.Tolerance = 1e-10
	}
	if s.MaxIterations == 0 {
		s.MaxIterations = 100
	}
	if s.MaxPlainIterations == 0 {
		s.MaxPlainIterations = 100_000
	}
	return s
}

// polishing begins once a full Newton step is this small relative to z, or within the tolerance, entry by entry: from there the
// residual may be rounding, and only the step tells whether a further one improves.
const polishing = 1e-6

// leastDamping is the smallest step factor that the line search tries.
const leastDamping = 0x1p-30

// newton is the state of a damped Newton iteration on R(z, θ) = 0.
type newton struct {
	f        *Map
	theta    []float64
	z, r     []float64
	jacobian []float64
	lu       linsolve.LU
	step     []float64 // −R_z⁻¹ R at z
	rounding []float64 // the part of R at z that rounding explains, entry by entry; of the search
	count    int
	polish   float64 // the size of steps from which on they are polishing
	small    bool    // the step at z is one of polishing
}

// run iterates from z until a step no longer improves, so that z is as near to the root as rounding
// lets it be. Steps are damped until R decreases; a trial point outside a domain counts as one
// where it does not.
func (it *newton) run(s Settings) error {
	it.r = make([]float64, it.f.out)
	it.jacobian = make([]float64, it.f.out*it.f.m)
	it.step = make([]float64, it.f.m)
	it.polish = max(polishing, s.Tolerance)
	last := math.Inf(1)
	for it.count = 0; it.count <= s.MaxIterations; it.count++ {
		if err := it.linearize(); err != nil {
			return err
		}
		size := it.size()
		if it.small = size <= it.polish; size == 0 || it.small && size >= last {
			return nil
		}
		if it.count == s.MaxIterations {
			continue // R and R_z stay those at z
		}
		last = math.Inf(1)
		if it.small {
			if next := axpy(it.z, 1, it.step); it.f.Eval(make([]float64, len(it.r)), next, it.theta) == nil {
				it.z, last = next, size
				continue
			}
		}
		next, ok := it.search()
		switch {
		case !ok && (it.small || it.sizeInUnits() <= it.polish): // the residual is rounding, or the end of a domain is near
			return nil
		case !ok:
			return it.stalled()
		}
		it.z = next
	}
	return &graph.Failure{Status: graph.NotConverged, Reason: fmt.Sprintf(
		"Newton's iteration used %d steps and ‖R‖ is still %.3g with a step of %.3g: start nearer to the root, or raise max_iterations", s.MaxIterations, norm2(it.r), norm2(it.step))}
}

// size is that of the step: of its entries relative to those of z, the largest. Where an entry of z may be about 0, so that
// nothing is small beside it, it is measured in units.
func (it *newton) size() float64 {
	size := relative(it.step, it.z)
	if size > it.polish && it.nearby() {
		return it.sizeInUnits()
	}
	return size
}

// sizeInUnits is the size of the step where an entry of z counts for no less than what rounding moves it by, over ε: its
// unit in the equations.
func (it *newton) sizeInUnits() float64 {
	units, err := it.noise()
	if err != nil {
		return math.Inf(1) // the certificate meets the error again
	}
	for i, z := range it.z {
		units[i] = max(math.Abs(z), units[i]/linsolve.Epsilon)
	}
	return relative(it.step, units)
}

// nearby reports whether the step is small beside z, or beside 1: a necessary sign only, since units differ.
func (it *newton) nearby() bool { return norm2(it.step) <= it.polish*max(1, norm2(it.z)) }

// leastNormal is the smallest number with all its digits: what is below counts as 0.
const leastNormal = 0x1p-1022

// relative is the largest |xᵢ|/|scaleᵢ|, with 0/0 = 0.
func relative(x, scale []float64) float64 {
	size := 0.0
	for i, v := range x {
		if !(math.Abs(v) < leastNormal) {
			size = max(size, math.Abs(v/scale[i]))
		}
	}
	return size
}

// noise is how far rounding in R moves the root, entry by entry: the largest |R_z⁻¹ δR| over perturbed runs.
func (it *newton) noise() ([]float64, error) {
	rng := rand.New(rand.NewPCG(1, 0x6e6f697365))
	noise, value := make([]float64, it.f.m), make([]float64, it.f.out)
	for range perturbedRuns {
		if err := it.f.Perturbed(value, it.z, it.theta, rng); err != nil {
			return nil, err
		}
		for i, r := range it.r {
			value[i] -= r
		}
		it.lu.Estimate(value, linsolve.Plain)
		for i, v := range value {
			noise[i] = max(noise[i], math.Abs(v))
		}
	}
	return noise, nil
}

// linearize evaluates R and R_z at z and solves for the Newton step.
func (it *newton) linearize() error {
	if err := it.f.StateJacobian(it.jacobian, it.r, it.z, it.theta); err != nil {
		return graph.Within(fmt.Sprintf("at Newton iterate %d", it.count), err)
	}
	err := it.lu.Factor(linsolve.Dense{N: it.f.m, Data: it.jacobian})
	if err == nil {
		_, err = it.lu.Solve(it.step, it.r, 1, linsolve.Plain)
	}
	if err != nil {
		return it.f.refusal(err, fmt.Sprintf("R_z at Newton iterate %d, where ‖R‖ = %.3g,", it.count, norm2(it.r)), graph.NotConverged)
	}
	for i := range it.step {
		it.step[i] = -it.step[i]
	}
	return nil
}

// crawling is the part of the step that is allowed by the residual, of that allowed by the next step, below which the latter counts.
const crawling = 0x1p-4

// search tries z + α·step for α = 1, ½, ¼, …, until ‖R‖₂ decreases. The part of an equation that rounding explains does not
// count: beside a large one that is satisfied, the decrease of another one would not be seen.
//
// ‖R‖₂ compares equations in different units. Where it allows but a small part of what the natural monotonicity test does, which
// knows no units of equations, this test decides: the step from z + α·step, with the same R_z, has to be shorter.
//
// Source: P. Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3.
func (it *newton) search() ([]float64, bool) {
	it.rounding = it.rounding[:0]
	for i := range it.r {
		it.rounding = append(it.rounding, 16*absMatVec(linsolve.Epsilon, it.jacobian[i*it.f.m:(i+1)*it.f.m], it.z, 1))
	}
	before, length := it.excess(it.r), it.length(it.step)
	r := make([]float64, len(it.r))
	var natural []float64
	limit := leastDamping
	for alpha := 1.0; alpha >= limit; alpha /= 2 {
		z := axpy(it.z, alpha, it.step)
		if it.f.Eval(r, z, it.theta) != nil {
			continue
		}
		if it.excess(r) <= (1-float64(1e-4*alpha))*before {
			return z, true
		}
		if natural == nil {
			it.lu.Estimate(r, linsolve.Plain)
			if it.length(r) <= (1-alpha/4)*length {
				natural, limit = z, max(limit, alpha*crawling)
			}
		}
	}
	return natural, natural != nil
}

// length is the 2-norm of a step whose entries are measured by those of z, or of the Newton step where these are larger.
func (it *newton) length(step []float64) float64 {
	h := 0.0
	for i, s := range step {
		if unit := max(math.Abs(it.z[i]), math.Abs(it.step[i])); unit > 0 {
			h = math.Hypot(h, s/unit)
		}
	}
	return h
}

// excess is ‖R‖₂ beyond rounding.
func (it *newton) excess(r []float64) float64 {
	h := 0.0
	for i, v := range r {
		h = math.Hypot(h, max(0, math.Abs(v)-it.rounding[i]))
	}
	return h
}

// stalled explains a search direction along which ‖R‖ does not decrease.
func (it *newton) stalled() error {
	gradient := make([]float64, it.f.m)
	linsolve.Dense{N: it.f.m, Data: it.jacobian}.Mul(gradient, it.r, linsolve.Transposed)
	slope := norm2(gradient) / (norm2(it.jacobian) * norm2(it.r))
	reason := fmt.Sprintf("Newton's iteration stalled after %d steps with ‖R‖ = %.6g", it.count, norm2(it.r))
	if e := it.lu.Evidence(); slope < 1e-3 || e.SigmaMin < 1e-5*e.SigmaMax {
		reason += fmt.Sprintf(": it is drawn to a local minimum of ‖R‖ that is no root, where R_z is nearly singular (condition %.2g; ‖R_zᵀR‖ is %.2g of ‖R_z‖‖R‖)", e.ConditionTwo, slope)
	}
	return &graph.Failure{Status: graph.NotConverged, Reason: reason + ": try another start"}
}

// refusal turns an error of a linear solve with R_z into a failure that names equations and
// unknowns; inaccurate is the status of a solution that refinement could not bring down.
func (f *Map) refusal(err error, what string, inaccurate graph.Status) error {
	var nonFinite *linsolve.NonFiniteError
	var singular *linsolve.SingularError
	var ill *linsolve.IllConditionedError
	switch {
	case errors.As(err, &nonFinite):
		return &graph.Failure{Status: graph.NonFinite, Reason: what + ": " + err.Error()}
	case errors.As(err, &singular):
		return &graph.Failure{Status: graph.SingularStateJacobian, Reason: what + " is singular" + f.dependence(singular.Equations, singular.Unknowns)}
	case errors.As(err, &ill):
		return &graph.Failure{Status: graph.SingularStateJacobian, Reason: fmt.Sprintf("%s is singular to working precision (condition %.2g after scaling)%s",
			what, ill.Condition, f.dependence(ill.Equations, ill.Unknowns))}
	}
	return &graph.Failure{Status: inaccurate, Reason: what + ": " + err.Error()}
}

// dependence names the equations and unknowns in which a matrix is singular.
func (f *Map) dependence(equations, unknowns []int) string {
	if f.m < 2 || len(equations) == 0 || len(unknowns) == 0 {
		return ": move the start or the parameters away from it"
	}
	list := func(entries []int, name func(int) string) string {
		var names []string
		for _, e := range entries {
			names = append(names, name(e))
		}
		return strings.Join(names, ", ")
	}
	equation := func(e int) string { return entry(f.p.OutputTypes(), f.p.OutputName, e) }
	return fmt.Sprintf(": the equations %s depend on each other in the unknowns %s; change one of them, or move the start or the parameters",
		list(equations, equation), list(unknowns, f.unknown))
}

// unknown names an entry of the state.
func (f *Map) unknown(e int) string {
	var state []graph.Type
	for _, i := range f.state {
		state = append(state, f.p.Inputs[i].Type)
	}
	return entry(state, func(i int) string { return f.p.Inputs[f.state[i]].Name }, e)
}

// entry names entry e of some tensors, one after the other.
func entry(types []graph.Type, name func(int) string, e int) string {
	for i, t := range types {
		if e < t.Len() {
			text := name(i)
			for _, k := range t.Shape.Index(e) {
				text += fmt.Sprintf("[%d]", k)
			}
			return text
		}
		e -= t.Len()
	}
	panic("implicit: no such entry")
}
