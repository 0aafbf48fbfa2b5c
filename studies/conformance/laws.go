package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Draw returns a random integer 0 ≤ k < n; the label says what it decides.
type Draw func(label string, n int) int

// Law is a law of the documents as a property of random programs.
type Law struct {
	Name string
	// Tolerance is 0 for a law that holds bit for bit, and 1 for one whose errors have a tolerance in each case.
	Tolerance float64
	// Check draws a case and says how it fails. It returns the largest error, in units of its tolerance if it has one.
	Check func(draw Draw) (float64, error)
}

// exact is a law that holds bit for bit.
func exact(name string, law func(Draw) error) Law {
	return Law{name, 0, func(draw Draw) (float64, error) { return 0, law(draw) }}
}

// measured is a law that holds up to rounding.
func measured(name string, law func(Draw, *meter) error) Law {
	return Law{name, 1, func(draw Draw) (float64, error) {
		var m meter
		err := law(draw, &m)
		return m.worst, err
	}}
}

// meter keeps the largest error of a case, in units of its tolerance.
type meter struct{ worst float64 }

func (m *meter) near(what string, have, want, tolerance float64) error {
	m.worst = max(m.worst, ratio(math.Abs(have-want), tolerance))
	if !(math.Abs(have-want) <= tolerance) {
		return fmt.Errorf("%s: %v and %v differ by %.2e, more than %.2e", what, have, want, math.Abs(have-want), tolerance)
	}
	return nil
}

// Laws lists all laws.
func Laws() []Law {
	return []Law{
		measured("reverse is the transpose of forward", transposeLaw),
		measured("repeated uses add their cotangents", sharingLaw),
		exact("response maps: associativity", associativityLaw),
		exact("response maps: identity", identityLaw),
		exact("response maps: products", productLaw),
		exact("response maps: copy and discard", copyLaw),
		measured("response maps: exact pullbacks preserve composition", chainLaw),
		exact("residual implementations: composition and product", residualLaw),
		exact("jets: zero buffers and single", jetSingleLaw),
		exact("jets: addition", jetAdditionLaw),
		exact("jets: unsnoc", jetUnsnocLaw),
		exact("jets: products left and right", jetProductLaw),
		exact("jets: saved activations", jetActivationLaw),
		exact("jets: reverse accumulation over the graph", jetReverseLaw),
		exact("jets: declared responses", jetDeclaredLaw),
		measured("Taylor arithmetic against nested derivatives", taylorLaw),
		measured("Hessians are symmetric", hessianLaw),
	}
}

// transposeLaw: ⟨γ, Jv⟩ = ⟨Jᵀγ, v⟩ for random programs, and every transformation verifies.
func transposeLaw(draw Draw, m *meter) error {
	x, y := drawSpace(draw, "X"), drawSpace(draw, "Y")
	p := drawProgram(draw, "f", x, y, false)
	wrt := inputsOf(p)
	l := graph.Linearize(p, wrt)
	for _, q := range []*graph.Program{p, graph.JVP(p, wrt), l.Primal, l.Linear, graph.Transpose(l.Linear),
		graph.Transpose(graph.Transpose(l.Linear)), graph.VJP(p, wrt), graph.JVP(graph.VJP(p, wrt), wrt)} {
		if err := graph.Verify(q); err != nil {
			return err
		}
	}
	at, v, ct := drawPoint(draw, "at", x), drawPoint(draw, "v", x), drawPoint(draw, "seed", y)
	_, dy, err := graph.Directional(p, wrt, at, v)
	if err != nil {
		return err
	}
	out, err := graph.Eval(graph.VJP(p, wrt), slices.Concat(at, ct)...)
	if err != nil {
		return err
	}
	left, leftScale := pairing(ct, dy)
	right, rightScale := pairing(out[len(y):], v)
	return m.near("the pairing", left, right, 1e-14*(1+leftScale+rightScale))
}

// sharingLaw: f(θ, θ, θ) has the sum of the cotangents of f(θ₁, θ₂, θ₃).
func sharingLaw(draw Draw, m *meter) error {
	space, y := []graph.Type{graph.F64(2, 2), graph.F64(2, 2), graph.F64(2, 2)}, drawSpace(draw, "Y")
	f := drawProgram(draw, "f", space, y, true)
	b := graph.NewBuilder("shared")
	theta := b.Input("theta", graph.F64(2, 2))
	shared := b.Build(b.Inline(f, theta, theta, theta)...)
	at, ct := drawPoint(draw, "at", space[:1]), drawPoint(draw, "seed", y)
	apart, err := graph.Eval(graph.VJP(f, []int{0, 1, 2}), slices.Concat(at, at, at, ct)...)
	if err != nil {
		return err
	}
	together, err := graph.Eval(graph.VJP(shared, []int{0}), slices.Concat(at, ct)...)
	if err != nil {
		return err
	}
	apart, together = apart[len(y):], together[len(y):]
	for e, have := range together[0].F {
		sum, scale := 0.0, 1.0
		for _, c := range apart {
			sum += c.F[e]
			scale += math.Abs(c.F[e])
		}
		if err := m.near(fmt.Sprintf("entry %d", e), have, sum, 1e-14*scale*(1+largest(apart))); err != nil {
			return err
		}
	}
	return nil
}

// hessianLaw: the Hessian-vector products of unit directions form a symmetric matrix, which the second jet gives too.
func hessianLaw(draw Draw, m *meter) error {
	x := drawSpace(draw, "X")
	f := drawProgram(draw, "f", x, []graph.Type{graph.Scalar}, false)
	wrt := inputsOf(f)
	at := drawPoint(draw, "at", x)
	hvp, second := graph.HVP(f, wrt), graph.Mixed(f, wrt, 2)
	v, w := drawPoint(draw, "v", x), drawPoint(draw, "w", x)
	product := func(v []*graph.Tensor) ([]*graph.Tensor, error) {
		out, err := graph.Eval(hvp, slices.Concat(at, v)...)
		if err != nil {
			return nil, err
		}
		return out[1+len(x):], nil
	}
	hv, err := product(v)
	if err != nil {
		return err
	}
	hw, err := product(w)
	if err != nil {
		return err
	}
	mixed, err := graph.Eval(second, slices.Concat(at, v, w)...)
	if err != nil {
		return err
	}
	wHv, scale := pairing(w, hv)
	vHw, _ := pairing(v, hw)
	tolerance := 1e-14 * (1 + scale + largest(hv) + largest(hw))
	if err := m.near("wᵀHv and vᵀHw", wHv, vHw, tolerance); err != nil {
		return err
	}
	return m.near("wᵀHv and the jet", wHv, mixed[0].F[0], tolerance)
}

// taylorLaw: along x + t·v, k!·y_k is the k-th nested derivative.
func taylorLaw(draw Draw, m *meter) error {
	x, y := drawSpace(draw, "X"), drawSpace(draw, "Y")
	p := drawProgram(draw, "f", x, y, false)
	at, v := drawPoint(draw, "at", x), drawPoint(draw, "v", x)
	curve := make([][]*graph.Tensor, len(x))
	for i := range curve {
		curve[i] = []*graph.Tensor{at[i], v[i]}
	}
	const order = 3
	series, err := graph.Taylor(p, order, curve...)
	if err != nil {
		return err
	}
	factorial, in := 1.0, slices.Clone(at)
	for k := 0; k <= order; k++ {
		if k > 0 {
			factorial *= float64(k)
			in = append(in, v...)
		}
		want, err := graph.Eval(graph.Mixed(p, inputsOf(p), k), in...)
		if err != nil {
			return err
		}
		for i := range want {
			for e := range want[i].F {
				what := fmt.Sprintf("order %d, output %d, entry %d", k, i, e)
				if err := m.near(what, factorial*series[i][k].F[e], want[i].F[e], 1e-13*(1+largest(want))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func inputsOf(p *graph.Program) []int {
	wrt := make([]int, len(p.Inputs))
	for i := range wrt {
		wrt[i] = i
	}
	return wrt
}

// pairing is Σ x·y over all entries, and the sum of the absolute values of its terms.
func pairing(x, y []*graph.Tensor) (sum, scale float64) {
	for i := range x {
		for e := range x[i].F {
			sum += x[i].F[e] * y[i].F[e]
			scale += math.Abs(x[i].F[e] * y[i].F[e])
		}
	}
	return sum, scale
}

// largest is the largest entry in absolute value.
func largest(x []*graph.Tensor) float64 {
	m := 0.0
	for _, t := range x {
		for _, f := range t.F {
			m = max(m, math.Abs(f))
		}
	}
	return m
}
