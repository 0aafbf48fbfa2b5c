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
	// ErrorEstimate estimates ‖S − S*‖₂: the error of the solve, and the change of S at points that may be the root too.
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
	spread := 0.0
	if r.m > 0 {
		if spread, err = root.spread(r, d.S); err != nil {
			return nil, graph.Within("near the root", err)
		}
	}
	d.ErrorEstimate = (d.Solution.ErrorEstimate+linsolve.Epsilon)*norm2(d.S) + spread
	return d, nil
}

// Gradient is the derivative of one objective along the exact branch.
type Gradient struct {
	// Value is J(z*, θ). ValueError estimates its error: twice the largest deviation over runs with
	// perturbed operations, at points that may be the root too.
	Value, ValueError float64
	// Gradient is dJ/dθ = J_θ − λᵀ R_θ.
	Gradient []float64
	// Lambda solves R_zᵀ λ = J_zᵀ.
	Lambda []float64
	// AdjointResidual is ‖J_zᵀ − R_zᵀ λ‖∞, of the returned λ.
	AdjointResidual float64
	// Gap is |J_θ v + J_z ṡ − (dJ/dθ)v| for one seeded direction v and R_z ṡ = −R_θ v: the
	// tangent and the adjoint road to the same number. Each parameter moves in its own unit, the largest by 1 at most.
	Gap float64
	// ErrorEstimate estimates the error of Gradient in the 2-norm: twice the largest deviation over runs
	// with perturbed operations, those of the derivatives included, at points that may be the root too, and not less
	// than a unit in the last place of the terms |J_θ| + |λᵀR_θ|: in a few runs the moves may cancel.
	ErrorEstimate float64
}

// gapLimit is the adjoint–tangent gap, relative to the terms that cancel in it, beyond which one of
// the two is wrong, unless rounding explains it.
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
	t, err := root.tangent(r, equations, rand.New(rand.NewPCG(seed, 0x676170)))
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
		terms := 0.0
		if out[i], terms, err = root.gradient(equations, row, t); err != nil {
			return nil, err
		}
		out[i].Value = values[i]
		b := &blurred{root: root, r: r, j: j, equations: equations, g: &out[i], objective: i, pick: pick, rng: rng}
		if err := b.measure(t, terms); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// blurredRuns is how many perturbed runs measure the error of a gradient.
const blurredRuns = 4

// blurred measures the rounding of one objective and of its gradient.
type blurred struct {
	root      *Root
	r, j      *Map
	equations *Derivative
	g         *Gradient
	objective int       // its number
	pick      []float64 // the unit vector of that number
	rng       *rand.Rand

	pulled, there, equation, c []float64
	values                     []float64
}

// measure sets the error estimates, and refuses a gradient of which no digit is known. It does not refuse one that vanishes:
// where rounding is within the tolerance of the terms that it is the sum of, or of what it is further along the
// branch. Sizes are those along the tangent's direction, in the unit of the objective.
func (b *blurred) measure(t tangent, terms float64) error {
	v := vectors(4, b.j.m+b.j.n)
	b.pulled, b.there, b.equation, b.c = v[0], v[1], v[2], v[3]
	b.values = make([]float64, b.j.out)
	root, g := b.root, b.g
	noise := 0.0
	g.ValueError = linsolve.Epsilon / 2 * math.Abs(g.Value)
	for run := range blurredRuns {
		z := root.Z
		if len(root.blur) > 0 {
			z = axpy(root.Z, 0.25, root.blur[run%len(root.blur)])
		}
		change, err := b.change(z, root.theta)
		if err != nil {
			return err
		}
		g.ValueError = max(g.ValueError, 2*math.Abs(b.values[b.objective]-g.Value))
		g.ErrorEstimate = max(g.ErrorEstimate, 2*norm2(change))
		noise = max(noise, 2*sumAbs(change, t.v))
	}
	if !(g.Gap <= max(gapLimit*terms, noise)) {
		return &graph.Failure{Status: graph.AdjointNotConverged, Reason: fmt.Sprintf(
			"adjoint and tangent disagree by %.3g in a random direction, where the terms of both are %.3g and rounding explains %.3g", g.Gap, terms, noise)}
	}
	if noise <= sumAbs(g.Gradient, t.v)/2 || noise <= root.tolerance*terms {
		return nil
	}
	const apart = 0x1p-10
	z, theta := axpy(root.Z, apart*t.size, t.s), axpy(root.theta, apart*t.size, t.v)
	if change, err := b.change(z, theta); err == nil && noise <= root.tolerance*sumAbs(change, t.v)/apart {
		return nil
	}
	return &graph.Failure{Status: graph.NotConverged, Reason: fmt.Sprintf(
		"the gradient is %.3g, and rounding moves it by %.3g: a formula cancels almost all of its digits, or the equations magnify rounding (condition after scaling %.2g); write the objective or the equations without the cancellation (expm1, log1p, and the like)",
		norm2(g.Gradient), g.ErrorEstimate, root.ConditionScaled)}
}

// change is that of the gradient g in a run with perturbed operations at a point nearby, whose objectives it leaves in values.
// Where λ and g leave the residuals c in the equations that determine them there, the gradient changes by
//
//	c_θ − R_θᵀ μ,   R_zᵀ μ = c_z,   c = (J_z, J_θ − g) − λᵀ(R_z, R_θ)
//
// to first order. The residuals have the error of λ too: that of the solve, and of rounding R_z when it was factored. The slice is valid
// until the next call.
func (b *blurred) change(z, theta []float64) ([]float64, error) {
	if err := b.j.perturbedPull(b.there, b.values, z, theta, b.pick, b.rng); err != nil {
		return nil, graph.Within("the objectives near the root", err)
	}
	if err := b.r.perturbedPull(b.equation, nil, z, theta, b.g.Lambda, b.rng); err != nil {
		return nil, graph.Within("near the root", err)
	}
	for i := range b.c {
		b.c[i] = b.there[i] - b.equation[i]
	}
	for i, g := range b.g.Gradient {
		b.c[b.j.m+i] -= g
	}
	m := len(b.root.Z)
	b.root.lu.Estimate(b.c[:m], linsolve.Transposed)
	if err := b.equations.Pull(b.pulled, b.c[:m], 1); err != nil {
		return nil, graph.Within("at the root", err)
	}
	for i, x := range b.pulled[m:] {
		b.c[m+i] -= x
	}
	return b.c[m:], nil
}

// tangent is one direction along the branch: v, and s with R_z s = −R_θ v. It is empty without parameters.
type tangent struct {
	s, v  []float64
	moved []float64 // R_θ v
	size  float64   // what v is multiplied by to be of the size of θ
}

// tangent solves for the direction of a random v, which moves every parameter in its own unit: in proportion to its largest
// entry. A parameter of zeros moves by 1 at most.
func (root *Root) tangent(r *Map, equations *Derivative, rng *rand.Rand) (t tangent, err error) {
	if r.n == 0 {
		return t, nil
	}
	if t.size = largest(root.theta); t.size == 0 {
		t.size = 1
	}
	d := make([]float64, r.m+r.n)
	t.s, t.v = d[:r.m], d[r.m:]
	at := 0
	for _, input := range r.params {
		n := r.p.Inputs[input].Type.Len()
		unit := largest(root.theta[at : at+n])
		if unit == 0 {
			unit = min(1, t.size)
		}
		for i := range n {
			t.v[at+i] = math.Copysign(0.5+rng.Float64()/2, rng.Float64()-0.5) * (unit / t.size)
		}
		at += n
	}
	t.moved = make([]float64, r.out)
	if err := equations.Push(t.moved, d, 1); err != nil {
		return t, graph.Within("at the root", err)
	}
	for i, x := range t.moved {
		t.s[i] = -x
	}
	if _, err := root.lu.Solve(t.s, t.s, 1, linsolve.Plain); err != nil {
		return t, &graph.Failure{Status: graph.NotConverged, Reason: "solving R_z ṡ = −R_θ v: " + err.Error()}
	}
	return t, nil
}

// gradient makes the adjoint solve for one objective, whose derivatives J_z and J_θ are row. Its terms are those that are summed up on the two
// roads to its product with the tangent's v, Σ|J_θ v| + Σ|J_z ṡ| + Σ|λ R_θ v|.
func (root *Root) gradient(equations *Derivative, row []float64, t tangent) (g Gradient, terms float64, err error) {
	m := len(root.Z)
	jz, jTheta := row[:m], row[m:]
	g = Gradient{Gradient: append([]float64{}, jTheta...), Lambda: append([]float64{}, jz...)}
	solution, err := root.lu.Solve(g.Lambda, g.Lambda, 1, linsolve.Transposed)
	if err != nil {
		return g, 0, &graph.Failure{Status: graph.AdjointNotConverged, Reason: "solving R_zᵀ λ = J_zᵀ: " + err.Error()}
	}
	g.AdjointResidual = solution.ResidualNorm
	pulled := make([]float64, len(row)) // λᵀ R_z, λᵀ R_θ
	if err := equations.Pull(pulled, g.Lambda, 1); err != nil {
		return g, 0, graph.Within("at the root", err)
	}
	for k, x := range pulled[m:] {
		g.ErrorEstimate = math.Hypot(g.ErrorEstimate, linsolve.Epsilon*(math.Abs(jTheta[k])+math.Abs(x)))
		if g.Gradient[k] -= x; math.IsNaN(g.Gradient[k]) || math.IsInf(g.Gradient[k], 0) {
			return g, 0, &graph.Failure{Status: graph.NonFinite, Reason: fmt.Sprintf("the gradient's entry %d is %v", k, g.Gradient[k])}
		}
	}
	if len(t.v) == 0 {
		return g, 0, nil
	}
	g.Gap = math.Abs(dot(jz, t.s) + dot(jTheta, t.v) - dot(g.Gradient, t.v))
	terms = sumAbs(jTheta, t.v) + sumAbs(jz, t.s) + sumAbs(g.Lambda, t.moved)
	return g, terms, nil
}
