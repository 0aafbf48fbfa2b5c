package implicit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// Sensitivity is the derivative of the exact branch at a root.
type Sensitivity struct {
	// S = −R_z⁻¹ R_θ, row-major, m×p.
	S []float64
	// ErrorEstimate estimates ‖S − S*‖₂: the error of the solve, and M(L_A‖S‖ + L_B)δ with
	// M = 1/σ_min for the error δ of the root.
	ErrorEstimate float64
	// Solution is the evidence of the solve.
	linsolve.Solution
}

// Differentiate solves R_z S = −R_θ at a root.
func Differentiate(r *Map, root *Root) (*Sensitivity, error) {
	d := &Sensitivity{S: make([]float64, r.m*r.n)}
	if err := r.ParamJacobian(d.S, root.Z, root.theta); err != nil {
		return nil, graph.Within("at the root", err)
	}
	for i, v := range d.S {
		d.S[i] = -v
	}
	var err error
	if d.Solution, err = root.lu.Solve(d.S, d.S, r.n, linsolve.Plain); err != nil {
		return nil, r.refusal(err, "R_z in R_z S = −R_θ", graph.NotConverged)
	}
	size := norm2(d.S)
	if r.m > 0 {
		d.ErrorEstimate = (d.Solution.ErrorEstimate+linsolve.Epsilon)*size + (root.LipschitzA*size+root.LipschitzB)*root.ErrorEstimate/root.SigmaMin
	}
	return d, nil
}

// Gradient is the derivative of one objective along the exact branch.
type Gradient struct {
	// Value is J(z*, θ).
	Value float64
	// Gradient is dJ/dθ = J_θ − λᵀ R_θ.
	Gradient []float64
	// Lambda solves R_zᵀ λ = J_zᵀ.
	Lambda []float64
	// AdjointResidual is ‖J_zᵀ − R_zᵀ λ‖∞, of the returned λ.
	AdjointResidual float64
	// Gap is |J_θ v + J_z ṡ − (dJ/dθ)v| for one seeded unit direction v and R_z ṡ = −R_θ v: the
	// tangent and the adjoint road to the same number.
	Gap float64
	// ErrorEstimate estimates the error of Gradient in the 2-norm: twice the largest deviation over runs
	// with perturbed operations, those of the derivatives included, at points that may be the root too.
	ErrorEstimate float64
}

// gapLimit is the adjoint–tangent gap, relative to the terms that cancel in it, beyond which one of
// the two is wrong.
const gapLimit = 1e-6

// Gradients differentiates every output of the objectives J(z, θ) along the branch of R: one adjoint
// solve each, on the factors that the root came with. It needs no sensitivity matrix.
func Gradients(r, j *Map, root *Root, seed uint64) ([]Gradient, error) {
	values := make([]float64, j.out)
	objectives, err := j.Joint(values, root.Z, root.theta)
	if err != nil {
		return nil, graph.Within("the objectives at the root", err)
	}
	equations, err := r.Joint(nil, root.Z, root.theta)
	if err != nil {
		return nil, graph.Within("at the root", err)
	}
	tangent, err := root.tangent(equations, r.n, rand.New(rand.NewPCG(seed, 0x676170)))
	if err != nil {
		return nil, err
	}
	if err := root.oneBranch(j); err != nil {
		return nil, graph.Within("the objectives", err)
	}
	rng := rand.New(rand.NewPCG(seed, 0x626c7572))
	out := make([]Gradient, j.out)
	row := make([]float64, j.m+j.n)
	for i := range out {
		pick := make([]float64, j.out)
		pick[i] = 1
		if err := objectives.Pull(row, pick, 1); err != nil {
			return nil, graph.Within("the objectives at the root", err)
		}
		if out[i], err = root.gradient(equations, row, tangent); err != nil {
			return nil, err
		}
		out[i].Value = values[i]
		if err := root.measureGradient(&out[i], r, j, equations, pick, row, rng); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// blurredRuns is how many perturbed runs measure the error of a gradient.
const blurredRuns = 4

// measureGradient sets the error estimate of a gradient, and refuses one of which no digit is known.
// Where the derivatives of objective and equations change by δJ_z, δJ_θ, δR_z and δR_θ, the gradient
// changes by
//
//	c_θ − R_θᵀ μ,   R_zᵀ μ = c_z,   c = (δJ_z, δJ_θ) − λᵀ(δR_z, δR_θ)
//
// to first order: λ stays as it is.
func (root *Root) measureGradient(g *Gradient, r, j *Map, equations *Derivative, pick, row []float64, rng *rand.Rand) error {
	m := len(root.Z)
	if len(g.Gradient) == 0 {
		return nil
	}
	v := vectors(5, len(row))
	here, pulled, objective, equation, c := v[0], v[1], v[2], v[3], v[4]
	if err := equations.Pull(here, g.Lambda, 1); err != nil {
		return graph.Within("at the root", err)
	}
	for run := range blurredRuns {
		z := root.Z
		if len(root.blur) > 0 {
			z = axpy(root.Z, 0.25, root.blur[run%len(root.blur)])
		}
		if err := j.perturbedPull(objective, z, root.theta, pick, rng); err != nil {
			return graph.Within("the objectives near the root", err)
		}
		if err := r.perturbedPull(equation, z, root.theta, g.Lambda, rng); err != nil {
			return graph.Within("near the root", err)
		}
		for i := range c {
			c[i] = (objective[i] - row[i]) - (equation[i] - here[i])
		}
		root.lu.Estimate(c[:m], linsolve.Transposed)
		if err := equations.Pull(pulled, c[:m], 1); err != nil {
			return graph.Within("at the root", err)
		}
		g.ErrorEstimate = max(g.ErrorEstimate, 2*distance(c[m:], pulled[m:]))
	}
	if size := norm2(g.Gradient); !(g.ErrorEstimate <= max(size/2, root.tolerance*max(1, size))) {
		return &graph.Failure{Status: graph.NotConverged, Reason: fmt.Sprintf(
			"the gradient is %.3g, and rounding moves it by %.3g: a formula cancels almost all of its digits; write the objective or the equations without the cancellation (expm1, log1p, and the like)", size, g.ErrorEstimate)}
	}
	return nil
}

// tangent is one direction along the branch: v, and Sv from R_z (Sv) = −R_θ v, concatenated as (Sv, v).
// It is empty without parameters.
func (root *Root) tangent(equations *Derivative, n int, rng *rand.Rand) ([]float64, error) {
	if n == 0 {
		return nil, nil
	}
	m := len(root.Z)
	d := append(make([]float64, m), randomUnit(rng, n)...)
	sv := make([]float64, m)
	if err := equations.Push(sv, d, 1); err != nil {
		return nil, graph.Within("at the root", err)
	}
	for i := range sv {
		sv[i] = -sv[i]
	}
	if _, err := root.lu.Solve(d[:m], sv, 1, linsolve.Plain); err != nil {
		return nil, &graph.Failure{Status: graph.NotConverged, Reason: "solving R_z ṡ = −R_θ v: " + err.Error()}
	}
	return d, nil
}

// gradient makes the adjoint solve for one objective, whose derivatives J_z and J_θ are row.
func (root *Root) gradient(equations *Derivative, row, tangent []float64) (Gradient, error) {
	m := len(root.Z)
	jz, jTheta := row[:m], row[m:]
	g := Gradient{Gradient: append([]float64{}, jTheta...), Lambda: append([]float64{}, jz...)}
	solution, err := root.lu.Solve(g.Lambda, g.Lambda, 1, linsolve.Transposed)
	if err != nil {
		return g, &graph.Failure{Status: graph.AdjointNotConverged, Reason: "solving R_zᵀ λ = J_zᵀ: " + err.Error()}
	}
	g.AdjointResidual = solution.ResidualNorm
	pulled := make([]float64, len(row)) // λᵀ R_z, λᵀ R_θ
	if err := equations.Pull(pulled, g.Lambda, 1); err != nil {
		return g, graph.Within("at the root", err)
	}
	for k, x := range pulled[m:] {
		if g.Gradient[k] -= x; math.IsNaN(g.Gradient[k]) || math.IsInf(g.Gradient[k], 0) {
			return g, &graph.Failure{Status: graph.NonFinite, Reason: fmt.Sprintf("the gradient's entry %d is %v", k, g.Gradient[k])}
		}
	}
	if len(tangent) == 0 {
		return g, nil
	}
	forward, adjoint := dot(row, tangent), dot(g.Gradient, tangent[m:])
	g.Gap = math.Abs(forward - adjoint)
	scale := norm2(jTheta) + norm2(jz)*norm2(tangent[:m]) + norm2(pulled[m:])
	if !(g.Gap <= gapLimit*scale) {
		return g, &graph.Failure{Status: graph.AdjointNotConverged, Reason: fmt.Sprintf(
			"adjoint and tangent disagree in a random direction: %.6g and %.6g", adjoint, forward)}
	}
	return g, nil
}
