package implicit

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// Settings of a solve. The zero value means the defaults.
type Settings struct {
	// Tolerance is the root error estimate that is accepted, relative to max(1, ‖z‖₂). Default 1e-10.
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

// polishing begins once a full Newton step is this small relative to max(1, ‖z‖): from there the
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
	count    int
}

// run iterates from z until a step no longer improves, so that z is as near to the root as rounding
// lets it be. Steps are damped until ‖R‖₂ decreases; a trial point outside a domain counts as one
// where it does not.
func (it *newton) run(s Settings) error {
	it.r = make([]float64, it.f.out)
	it.jacobian = make([]float64, it.f.out*it.f.m)
	it.step = make([]float64, it.f.m)
	last := math.Inf(1)
	for it.count = 0; it.count <= s.MaxIterations; it.count++ {
		if err := it.linearize(); err != nil {
			return err
		}
		size := norm2(it.step)
		small := size <= polishing*max(1, norm2(it.z))
		if size == 0 || small && last < math.Inf(1) && size >= last {
			return nil
		}
		if it.count == s.MaxIterations {
			continue // R and R_z stay those at z
		}
		next, ok := it.search()
		switch {
		case !ok && small: // the residual is rounding already
			return nil
		case !ok:
			return it.stalled()
		}
		if last = math.Inf(1); small {
			last = size
		}
		it.z = next
	}
	return &graph.Failure{Status: graph.NotConverged, Reason: fmt.Sprintf(
		"Newton's iteration used %d steps and ‖R‖ is still %.3g with a step of %.3g: start nearer to the root, or raise max_iterations", s.MaxIterations, norm2(it.r), norm2(it.step))}
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

// search tries z + α·step for α = 1, ½, ¼, …
func (it *newton) search() ([]float64, bool) {
	before := norm2(it.r)
	r := make([]float64, len(it.r))
	for alpha := 1.0; alpha >= leastDamping; alpha /= 2 {
		z := axpy(it.z, alpha, it.step)
		if it.f.Eval(r, z, it.theta) == nil && norm2(r) <= (1-float64(1e-4*alpha))*before {
			return z, true
		}
	}
	return nil, false
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
	name := func(types []graph.Type, names func(int) string, entries []int) string {
		var list []string
		for _, e := range entries {
			for i, t := range types {
				if e < t.Len() {
					text := names(i)
					for _, k := range t.Shape.Index(e) {
						text += fmt.Sprintf("[%d]", k)
					}
					list = append(list, text)
					break
				}
				e -= t.Len()
			}
		}
		return strings.Join(list, ", ")
	}
	var state []graph.Type
	for _, i := range f.state {
		state = append(state, f.p.Inputs[i].Type)
	}
	return fmt.Sprintf(": the equations %s depend on each other in the unknowns %s; change one of them, or move the start or the parameters",
		name(f.p.OutputTypes(), f.p.OutputName, equations), name(state, func(i int) string { return f.p.Inputs[f.state[i]].Name }, unknowns))
}

// slow reports whether the iteration ran out of steps while polishing.
func (it *newton) slow(s Settings) bool {
	return it.count > s.MaxIterations && norm2(it.step) <= polishing*max(1, norm2(it.z))
}
