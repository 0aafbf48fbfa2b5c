package implicit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit/linsolve"
)

// perturbedRuns is how many runs with perturbed operations measure the rounding of a map.
const perturbedRuns = 8

// measureRounding sets Rounding, Uncertainty, ErrorEstimate, Errors, noise and blur: for each perturbed run, four times
// the Newton step from it, and rounding of z itself. Unlike a ball, blur respects the units of the entries.
func (root *Root) measureRounding(r *Map, rng *rand.Rand) error {
	base := make([]float64, r.out)
	if err := r.Eval(base, root.Z, root.theta); err != nil {
		return graph.Within("near the root", err)
	}
	noise, moved := 0.0, 0.0
	root.blur = vectors(perturbedRuns, r.out)
	v := vectors(3, r.m)
	root.Errors, root.noise = v[0], v[1]
	step := v[2] // R_z⁻¹R, the same in all runs
	copy(step, base)
	root.lu.Estimate(step, linsolve.Plain)
	for _, value := range root.blur {
		if err := r.Perturbed(value, root.Z, root.theta, rng); err != nil {
			return graph.Within("near the root", err)
		}
		noise = max(noise, distance(value, base))
		root.lu.Estimate(value, linsolve.Plain)
		moved = max(moved, norm2(value))
		for i, z := range root.Z {
			root.Errors[i] = max(root.Errors[i], 2*math.Abs(value[i]), linsolve.Epsilon/2*math.Abs(z))
			root.noise[i] = max(root.noise[i], math.Abs(value[i]-step[i]))
			value[i] = float64(4*value[i]) + float64(float64(rng.IntN(3)-1)*linsolve.Epsilon*z)
		}
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

// scaledFold is ‖A'⁻¹‖L'δ' of the equilibrated equations A' = R A C, R and C diagonal, in the 1-norm and
// in the unknowns C⁻¹z: independent of the units of every equation and unknown.
func (root *Root) scaledFold(r *Map, rng *rand.Rand) (float64, error) {
	scaled := root.lu.Scaled()
	base, moved := make([]float64, r.out), make([]float64, r.out)
	if err := r.Eval(base, root.Z, root.theta); err != nil {
		return 0, err
	}
	noise := make([]float64, r.out)
	for range perturbedRuns {
		if err := r.Perturbed(moved, root.Z, root.theta, rng); err != nil {
			return 0, err
		}
		for i, v := range moved {
			noise[i] = max(noise[i], 2*math.Abs(v-base[i]))
		}
	}
	delta := 0.0
	for i, v := range base {
		floor := absMatVec(linsolve.Epsilon/2, root.jacobian[i*r.m:(i+1)*r.m], root.Z, 1)
		delta += scaled.InverseNorm * scaled.Rows[i] * (math.Abs(v) + max(noise[i], floor))
	}
	directions := append([][]float64{root.Right, randomUnit(rng, r.m), randomUnit(rng, r.m)}, root.blur[:2]...)
	lipschitz := 0.0
	a := make([]float64, len(root.jacobian))
	for k, d := range directions {
		d = slices.Clone(d)
		size := 0.0
		for j := range d {
			if k == 1 || k == 2 {
				d[j] *= scaled.Cols[j] // random in the scaled unknowns
			}
			size += math.Abs(d[j]) / scaled.Cols[j]
		}
		if size == 0 {
			continue
		}
		z, err := root.nearby(d, 4*delta/size, func(z []float64) error { return r.StateJacobian(a, nil, z, root.theta) })
		if err != nil {
			return 0, err
		}
		step, change := 0.0, 0.0
		for j := range z {
			step += math.Abs(z[j]-root.Z[j]) / scaled.Cols[j]
			column := 0.0
			for i := range r.out {
				column += scaled.Rows[i] * math.Abs(a[i*r.m+j]-root.jacobian[i*r.m+j]) * scaled.Cols[j]
			}
			change = max(change, column)
		}
		if step > 0 {
			lipschitz = max(lipschitz, change/step)
		}
	}
	return sampled * scaled.InverseNorm * lipschitz * delta, nil
}

// localLipschitz estimates how fast R_z changes near the root, in the Frobenius norm, which is not below the 2-norm: along the
// direction in which R_z is weakest and two random ones.
func (root *Root) localLipschitz(r *Map, rng *rand.Rand) (la float64, err error) {
	directions := [][]float64{root.Right, randomUnit(rng, r.m), randomUnit(rng, r.m)}
	h := 4 * root.Uncertainty
	if h == 0 { // R is exact at the root, and nothing is multiplied by the estimate but 0
		h = 1e-8
	}
	a := make([]float64, len(root.jacobian))
	for _, d := range directions {
		z, err := root.nearby(d, h, func(z []float64) error { return r.StateJacobian(a, nil, z, root.theta) })
		if err != nil {
			return 0, err
		}
		la = max(la, distance(a, root.jacobian)/distance(z, root.Z))
	}
	return la, nil
}

// probes is how many random combinations of the parameters stand for all columns of S in an estimate.
const probes = 4

// spread estimates how far S, in the Frobenius norm, is off where the root may lie and the derivatives are rounded: the largest
//
//	‖R_z⁻¹ (R_z S + R_θ)‖
//
// over half the displacements of root.blur, which are four times a Newton step, with a random rounding of every operation that
// computes the sum. Of more than four parameters, the columns are probed by random combinations V with E‖MV‖² = ‖M‖²,
// of signs: a column alone is measured as it is.
func (root *Root) spread(r *Map, s []float64) (float64, error) {
	lanes := min(r.n, probes)
	rng := rand.New(rand.NewPCG(uint64(r.n), 0x737072656164))
	v := identity(r.n)
	if r.n > probes {
		v = make([]float64, r.n*lanes)
		for i := range v {
			v[i] = math.Copysign(1/math.Sqrt(probes), rng.Float64()-0.5)
		}
	}
	sv := make([]float64, r.m*lanes)
	multiply(sv, s, v, r.m, r.n, lanes)
	most, tangent, column := 0.0, make([]float64, r.m+r.n), make([]float64, r.out)
	for _, b := range root.blur[:blurredRuns] {
		z, size := axpy(root.Z, 0.5, b), 0.0
		for l := range lanes {
			for i := range r.m {
				tangent[i] = sv[i*lanes+l]
			}
			for i := range r.n {
				tangent[r.m+i] = v[i*lanes+l]
			}
			if err := r.perturbedPush(column, z, root.theta, tangent, rng); err != nil {
				return 0, err
			}
			root.lu.Estimate(column, linsolve.Plain)
			size = math.Hypot(size, norm2(column))
		}
		most = max(most, size)
	}
	return most, nil
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
