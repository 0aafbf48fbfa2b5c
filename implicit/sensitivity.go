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

	rTheta []float64
}

// Differentiate solves R_z S = −R_θ at a root.
func Differentiate(r *Map, root *Root) (*Sensitivity, error) {
	d := &Sensitivity{S: make([]float64, r.m*r.n), rTheta: make([]float64, r.m*r.n)}
	if err := r.ParamJacobian(d.rTheta, root.Z, root.theta); err != nil {
		return nil, place(err, "at the root")
	}
	for i, v := range d.rTheta {
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
	// Gap is |(J_θ + J_z S)v − (dJ/dθ)v| for one seeded unit direction v: the tangent and the adjoint
	// road to the same number.
	Gap float64
}

// gapLimit is the adjoint–tangent gap, relative to the terms that cancel in it, beyond which one of
// the two is wrong.
const gapLimit = 1e-6

// Gradients differentiates every output of the objectives J(z, θ) along the branch: one adjoint
// solve each, on the factors that the root came with.
func Gradients(j *Map, root *Root, d *Sensitivity, seed uint64) ([]Gradient, error) {
	values := make([]float64, j.out)
	joint, err := j.Joint(values, root.Z, root.theta)
	if err != nil {
		return nil, place(err, "the objectives at the root")
	}
	rng := rand.New(rand.NewPCG(seed, 0x676170))
	out := make([]Gradient, j.out)
	row := make([]float64, j.m+j.n)
	for i := range out {
		pick := make([]float64, j.out)
		pick[i] = 1
		if err := joint.Pull(row, pick, 1); err != nil {
			return nil, place(err, "the objectives at the root")
		}
		if out[i], err = root.gradient(values[i], row[:j.m], row[j.m:], d, rng); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// gradient makes the adjoint solve for one objective with the derivatives jz and jTheta.
func (root *Root) gradient(value float64, jz, jTheta []float64, d *Sensitivity, rng *rand.Rand) (Gradient, error) {
	m, n := len(jz), len(jTheta)
	g := Gradient{Value: value, Gradient: make([]float64, n), Lambda: append([]float64{}, jz...)}
	solution, err := root.lu.Solve(g.Lambda, g.Lambda, 1, linsolve.Transposed)
	if err != nil {
		return g, &graph.Failure{Status: graph.AdjointNotConverged, Reason: "solving R_zᵀ λ = J_zᵀ: " + err.Error()}
	}
	g.AdjointResidual = solution.ResidualNorm
	for k := range n {
		s := jTheta[k]
		for i := range m {
			s -= float64(g.Lambda[i] * d.rTheta[i*n+k])
		}
		if g.Gradient[k] = s; math.IsNaN(s) || math.IsInf(s, 0) {
			return g, &graph.Failure{Status: graph.NonFinite, Reason: fmt.Sprintf("the gradient's entry %d is %v", k, s)}
		}
	}
	if n == 0 {
		return g, nil
	}
	v := randomUnit(rng, n)
	sv := make([]float64, m)
	matVec(sv, d.S, v)
	tangent, adjoint := dot(jTheta, v)+dot(jz, sv), dot(g.Gradient, v)
	g.Gap = math.Abs(tangent - adjoint)
	scale := norm2(jTheta) + norm2(jz)*norm2(sv) + norm2(g.Lambda)*norm2(d.rTheta)
	if !(g.Gap <= gapLimit*scale) {
		return g, &graph.Failure{Status: graph.AdjointNotConverged, Reason: fmt.Sprintf(
			"adjoint and tangent disagree in a random direction: %.6g and %.6g", adjoint, tangent)}
	}
	return g, nil
}
