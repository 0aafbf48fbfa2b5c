package implicit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// Root is a root of R(·, θ) with its evidence. The numbers are set as far as the solve came, also
// when it was refused.
type Root struct {
	Z []float64
	// Iterations counts Newton steps, PlainSteps the plain steps of a fixed point before them.
	Iterations, PlainSteps int
	// ResidualNorm is ‖R(z, θ)‖₂.
	ResidualNorm float64
	// Rounding estimates the error in evaluating R at z, in the 2-norm: twice the largest deviation
	// over runs with perturbed operations (graph.Perturber), and not less than what rounding z itself
	// does, u‖|R_z||z|‖.
	Rounding float64
	// Uncertainty is δ = (‖R‖ + rounding)/σ_min: how far the root can be away if all of it points in
	// the weakest direction of R_z. The test for a fold uses it.
	Uncertainty float64
	// ErrorEstimate estimates ‖z − z*‖₂: twice the largest ‖R_z⁻¹R‖ over the perturbed runs, and not
	// less than what rounding z itself does, u‖z‖.
	ErrorEstimate float64
	// LipschitzA and LipschitzB estimate the local Lipschitz constants of R_z and R_θ in z.
	LipschitzA, LipschitzB float64
	// Evidence is that of the state Jacobian R_z at z.
	linsolve.Evidence

	blur      [][]float64 // displacements that rounding and the residual leave open; see measureRounding
	theta     []float64
	tolerance float64
	jacobian  []float64
	lu        *linsolve.LU
}

// FindRoot follows Newton's iteration, damped by a line search, from z0 to a root of R(·, θ), and
// polishes it until the step no longer improves. It refuses with a *graph.Failure, beside the Root
// as far as it came.
func FindRoot(r *Map, z0, theta []float64, s Settings) (*Root, error) {
	s = s.withDefaults()
	if r.out != r.m {
		return nil, fmt.Errorf("implicit: %d equations for %d unknowns", r.out, r.m)
	}
	it := &newton{f: r, theta: theta, z: append([]float64{}, z0...)}
	err := it.run(s)
	root := &Root{Z: it.z, Iterations: it.count, ResidualNorm: norm2(it.r), theta: theta, tolerance: s.Tolerance, jacobian: it.jacobian, lu: &it.lu}
	if err != nil {
		root.unknown()
		if it.slow(s) {
			// Linear convergence is what Newton's iteration shows at a singular root.
			if singular := root.certify(r, s); statusIs(singular, graph.SingularStateJacobian) {
				return root, singular
			}
			return root, err
		}
		// A singular Jacobian met on the way is a statement about the root only if R vanishes there.
		var f *graph.Failure
		if errors.As(err, &f) && f.Status == graph.SingularStateJacobian && root.ResidualNorm > s.Tolerance*max(1, norm2(root.Z)) {
			moved := *f
			moved.Status = graph.NotConverged
			moved.Reason += "; this is no root"
			return root, &moved
		}
		return root, err
	}
	return root, root.certify(r, s)
}

func statusIs(err error, status graph.Status) bool {
	var f *graph.Failure
	return errors.As(err, &f) && f.Status == status
}

// unknown marks the evidence that a refused solve does not have.
func (root *Root) unknown() {
	nan := math.NaN()
	root.Rounding, root.Uncertainty, root.ErrorEstimate, root.LipschitzA, root.LipschitzB = nan, nan, nan, nan, nan
	root.Evidence = linsolve.Evidence{ConditionOne: nan, ConditionTwo: nan, ConditionScaled: nan, SigmaMin: nan, SigmaMax: nan}
}

// sampled is the safety factor on a Lipschitz constant that was estimated from a few directions.
const sampled = 1.25

// badUnits is how much a condition must shrink by scaling before the units are blamed for it.
const badUnits = 1e3

// certify judges a root: R_z must be regular, and must be so in the whole region in which the true
// root may lie. A condition number cannot see that: at a fold in one unknown it is 1.
//
// With δ the uncertainty of the root and L_A a local Lipschitz constant of R_z, the smallest singular
// value at the true root is at least σ_min − L_A δ; L_A δ/σ_min ≤ ½ keeps half of it (and is
// Kantorovich's condition for the existence of the root).
func (root *Root) certify(r *Map, s Settings) error {
	root.unknown()
	if r.m == 0 {
		root.Evidence = root.lu.Evidence()
		root.Rounding, root.Uncertainty, root.ErrorEstimate, root.LipschitzA, root.LipschitzB = 0, 0, 0, 0, 0
		return nil
	}
	root.Evidence = root.lu.Evidence()
	rng := rand.New(rand.NewPCG(s.Seed, 0x726f6f74))
	if err := root.measureRounding(r, rng); err != nil {
		return err
	}
	if err := root.oneBranch(r); err != nil {
		return err
	}
	var err error
	if root.LipschitzA, root.LipschitzB, err = root.localLipschitz(r, rng); err != nil {
		return graph.Within("near the root", err)
	}
	fold := sampled * root.LipschitzA * root.Uncertainty / root.SigmaMin
	if !(fold <= 0.5) {
		reason := fmt.Sprintf("R_z could be singular within the uncertainty of the root: σ_min = %.3g, the root is known to %.3g, and R_z changes by %.3g per unit: ",
			root.SigmaMin, root.Uncertainty, root.LipschitzA)
		if root.ConditionTwo > badUnits*root.ConditionScaled {
			reason += fmt.Sprintf("the condition is %.2g, but %.2g in better units: choose units in which unknowns and equations are of one size; if it persists, the solution branch may fold here", root.ConditionTwo, root.ConditionScaled)
		} else {
			reason += "the solution branch may fold here; move the parameters away from the fold"
		}
		return &graph.Failure{Status: graph.SingularStateJacobian, Reason: reason}
	}
	if limit := s.Tolerance * max(1, norm2(root.Z)); !(root.ErrorEstimate <= limit) {
		return &graph.Failure{Status: graph.NotConverged, Reason: fmt.Sprintf(
			"the root is known only to %.3g, not to the tolerance %.3g (σ_min = %.3g): rescale the equations, or raise the tolerance if that is enough",
			root.ErrorEstimate, limit, root.SigmaMin)}
	}
	return nil
}

// perturbedRuns is how many runs with perturbed operations measure the rounding of a map.
const perturbedRuns = 8

// measureRounding sets Rounding, Uncertainty, ErrorEstimate and blur: for each perturbed run, four times
// the Newton step from it, and rounding of z itself. Unlike a ball, blur respects the units of the entries.
func (root *Root) measureRounding(r *Map, rng *rand.Rand) error {
	base := make([]float64, r.out)
	if err := r.Eval(base, root.Z, root.theta); err != nil {
		return graph.Within("near the root", err)
	}
	noise, moved := 0.0, 0.0
	for range perturbedRuns {
		value := make([]float64, r.out)
		if err := r.Perturbed(value, root.Z, root.theta, rng); err != nil {
			return graph.Within("near the root", err)
		}
		noise = max(noise, distance(value, base))
		if _, err := root.lu.Solve(value, value, 1, linsolve.Plain); err != nil {
			return r.refusal(err, "R_z at the root", graph.NotConverged)
		}
		moved = max(moved, norm2(value))
		for i, z := range root.Z {
			value[i] = float64(4*value[i]) + float64(float64(rng.IntN(3)-1)*linsolve.Epsilon*z)
		}
		root.blur = append(root.blur, value)
	}
	root.Rounding = max(2*noise, absMatVec(linsolve.Epsilon/2, root.jacobian, root.Z, r.out))
	root.Uncertainty = (root.ResidualNorm + root.Rounding) / root.SigmaMin
	root.ErrorEstimate = max(2*moved, linsolve.Epsilon/2*norm2(root.Z))
	return nil
}

// oneBranch refuses a root at which a piecewise operation of f is on its branch boundary as far as the
// root is known: another point that may be the root lies on another branch.
func (root *Root) oneBranch(f *Map) error {
	here, err := f.Branches(root.Z, root.theta)
	if err != nil || len(here) == 0 {
		return err
	}
	for _, b := range root.blur {
		for _, side := range []float64{1, -1} {
			there, err := f.Branches(axpy(root.Z, side, b), root.theta)
			if err != nil {
				return graph.Within("near the root", err)
			}
			if !slices.Equal(here, there) {
				return &graph.Failure{Status: graph.Nondifferentiable, Reason: fmt.Sprintf(
					"the root lies on a branch boundary of %s, as far as it is known (to %.3g): the derivative is another one on the other side; move the parameters away from the boundary", f.p.Name, root.ErrorEstimate)}
			}
		}
	}
	return nil
}

// probes is how many random combinations of the parameters stand for all of R_θ in an estimate.
const probes = 4

// localLipschitz estimates how fast R_z and R_θ change near the root, in the Frobenius norm, which
// is not below the 2-norm: along the direction in which R_z is weakest and two random ones. Of more
// than four parameters, R_θ is probed by random combinations V with E‖MV‖² = ‖M‖².
func (root *Root) localLipschitz(r *Map, rng *rand.Rand) (la, lb float64, err error) {
	directions := [][]float64{root.Right, randomUnit(rng, r.m), randomUnit(rng, r.m)}
	h := 4 * root.Uncertainty
	if h == 0 { // R is exact at the root, and nothing is multiplied by the estimates but 0
		h = 1e-8
	}
	lanes := min(r.n, probes)
	v := identity(r.n)
	if r.n > probes {
		v = make([]float64, r.n*lanes)
		for i := range v {
			v[i] = rng.NormFloat64() / math.Sqrt(probes)
		}
	}
	here := make([]float64, r.out*lanes)
	if err := r.paramProduct(here, v, lanes, root.Z, root.theta); err != nil {
		return 0, 0, err
	}
	a, b := make([]float64, len(root.jacobian)), make([]float64, len(here))
	for _, d := range directions {
		z, err := root.nearby(d, h, func(z []float64) error {
			if err := r.StateJacobian(a, nil, z, root.theta); err != nil {
				return err
			}
			return r.paramProduct(b, v, lanes, z, root.theta)
		})
		if err != nil {
			return 0, 0, err
		}
		step := distance(z, root.Z)
		la = max(la, distance(a, root.jacobian)/step)
		lb = max(lb, distance(b, here)/step)
	}
	return la, lb, nil
}

// nearby returns a point a small step from the root at which evaluate works: on one side or the
// other, at h or a few smaller sizes.
func (root *Root) nearby(d []float64, h float64, evaluate func(z []float64) error) (z []float64, err error) {
	for range 4 {
		for _, signed := range []float64{h, -h} {
			z = axpy(root.Z, signed, d)
			if err = evaluate(z); err == nil {
				return z, nil
			}
		}
		h /= 100
	}
	return nil, err
}

func distance(x, y []float64) float64 {
	var h float64
	for i := range x {
		h = math.Hypot(h, x[i]-y[i])
	}
	return h
}

func randomUnit(rng *rand.Rand, n int) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	size := norm2(d)
	for i := range d {
		d[i] /= size
	}
	return d
}
