package implicit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

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
	// over runs with perturbed operations (package rounding), and not less than what rounding z itself
	// does, u‖|R_z||z|‖.
	Rounding float64
	// Uncertainty is δ = (‖R‖ + rounding)/σ_min: how far the root can be away if all of it points in
	// the weakest direction of R_z. The test for a fold uses it.
	Uncertainty float64
	// ErrorEstimate estimates ‖z − z*‖₂: twice the largest ‖R_z⁻¹R‖ over the perturbed runs, and not
	// less than what rounding z itself does, u‖z‖. Errors is the same of each entry.
	ErrorEstimate float64
	Errors        []float64
	// LipschitzA estimates the local Lipschitz constant of R_z in z.
	LipschitzA float64
	// Evidence is that of the state Jacobian R_z at z.
	linsolve.Evidence

	blur      [][]float64 // displacements that rounding and the residual leave open; see measureRounding
	noise     []float64   // how far rounding alone moves the entries of the root
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
		if it.count > s.MaxIterations && it.nearby() {
			// Out of steps near a root: linear convergence is what Newton's iteration shows at a singular one.
			if judged := root.certify(r, s); judged == nil && it.small || statusIs(judged, graph.SingularStateJacobian) {
				return root, judged
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
	root.Rounding, root.Uncertainty, root.ErrorEstimate, root.LipschitzA = nan, nan, nan, nan
	root.Errors = nil
	root.Evidence = linsolve.Evidence{ConditionOne: nan, ConditionTwo: nan, ConditionScaled: nan, SigmaMin: nan, SigmaMax: nan}
}

// sampled is the safety factor on a Lipschitz constant that was estimated from a few directions.
const sampled = 1.25

// badUnits is how much a condition must shrink by scaling before a refusal speaks of units.
const badUnits = 1e3

// certify judges a root: R_z must be regular, and must be so in the whole region in which the true
// root may lie. A condition number cannot see that: at a fold in one unknown it is 1.
//
// With δ the uncertainty of the root and L_A a local Lipschitz constant of R_z, the smallest singular
// value at the true root is at least σ_min − L_A δ; L_A δ/σ_min ≤ ½ keeps half of it (and is
// Kantorovich's condition for the existence of the root). Where unknowns or equations differ in
// size, the norms compare what cannot be compared: where it fails, the same condition is judged in units of one size.
func (root *Root) certify(r *Map, s Settings) error {
	root.unknown()
	if r.m == 0 {
		root.Evidence = root.lu.Evidence()
		root.Rounding, root.Uncertainty, root.ErrorEstimate, root.LipschitzA = 0, 0, 0, 0
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
	if root.LipschitzA, err = root.localLipschitz(r, rng); err != nil {
		return graph.Within("near the root", err)
	}
	fold := sampled * root.LipschitzA * root.Uncertainty / root.SigmaMin
	if !(fold <= 0.5) {
		reason := fmt.Sprintf("R_z could be singular within the uncertainty of the root: σ_min = %.3g, the root is known to %.3g, and R_z changes by %.3g per unit: ",
			root.SigmaMin, root.Uncertainty, root.LipschitzA)
		reason += "the solution branch may fold here; move the parameters away from the fold"
		if fold, err = root.scaledFold(r, rng); err != nil {
			return graph.Within("near the root", err)
		}
		if root.ConditionTwo > badUnits*root.ConditionScaled {
			reason += fmt.Sprintf(" (the condition is %.2g, but %.2g in units in which unknowns and equations are of one size; there too the test fails)", root.ConditionTwo, root.ConditionScaled)
		}
		if !(fold <= 0.5) {
			return &graph.Failure{Status: graph.SingularStateJacobian, Reason: reason}
		}
	}
	return root.accurate(r, s.Tolerance)
}

// explained is how many times what rounding moves an unknown by its error may be, where rounding explains it.
const explained = 8

// accurate holds the error estimates of the entries to the tolerance. That is relative to the largest entry of a block, whose
// entries have one unit. An unknown that vanishes has no size to compare with: it is accepted where its error is within the tolerance of
// max(1, ‖z‖), and rounding alone, in equations that do not magnify rounding by themselves: by a condition, after scaling,
// within the tolerance.
func (root *Root) accurate(r *Map, tolerance float64) error {
	vanishing := 0.0
	if linsolve.Epsilon*root.ConditionScaled <= tolerance {
		vanishing = tolerance * max(1, norm2(root.Z))
	}
	at := 0
	for _, input := range r.state {
		block := root.Z[at : at+r.p.Inputs[input].Type.Len()]
		limit := max(leastNormal, tolerance*largest(block))
		for i := range block {
			e := root.Errors[at+i]
			if e <= limit || e <= min(vanishing, explained*root.noise[at+i]) {
				continue
			}
			return &graph.Failure{Status: graph.NotConverged, Reason: fmt.Sprintf(
				"%s = %.6g is known only to %.3g, and the tolerance is %.3g (σ_min = %.3g, condition after scaling %.2g): rescale the equations, or raise the tolerance if that is enough",
				r.unknown(at+i), block[i], e, limit, root.SigmaMin, root.ConditionScaled)}
		}
		at += len(block)
	}
	return nil
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
