package iterate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit"
)

// Claim is what a ledger holds the iterates against: the theorem's domain and constants.
type Claim struct {
	// Norm measures the state, NormTheta the parameters; they are of one kind.
	Norm, NormTheta bounds.Norm
	// Euclid bounds Norm by the 2-norm: ‖x‖ ≤ Euclid·‖x‖₂.
	Euclid float64
	// Radius is that of D, the ball about the computed fixed point; 0 means just large enough to hold the start.
	Radius float64
	// Source says whether the constants below were declared or are to be estimated over D.
	Source        bounds.Source
	Q, LZ, LTheta float64
	// Seed makes the estimates and the checks by sampling reproducible.
	Seed uint64
}

// Ledger is the table of K-step derivatives, measured beside what the theorem allows.
type Ledger struct {
	Claim
	Delta0, D0 float64 // ‖z₀ − z*‖ and ‖E₀ − s*‖
	// Failed names a hypothesis that fails for every K; empty when none is known to fail.
	Failed string
	// Refuted is a witness against a declared constant; empty when none was found.
	Refuted string
	Rows    []Row
}

// Row is the K-step map at one K.
type Row struct {
	K                                  int
	Z, E                               []float64 // z_K and its m×p Jacobian, row-major
	ResidualNorm                       float64   // ‖z_K − G(z_K, θ)‖
	StateError, StateBound, StateFloor float64
	SensitivityError, SensitivityBound float64
	SensitivityFloor                   float64
	StateVerdict, Verdict              bounds.Verdict // of the state alone; of both inequalities
	Reason                             string
}

// Compare runs the K-step map for every K in steps (ascending) and compares z_K and its Jacobian
// with the exact fixed point and its sensitivity. Where the exact branch was refused, root and s are
// nil: the rows then have the iterates alone, and cause says why there is nothing to compare with.
// Where the recursion is refused, the ledger has the rows that it reached.
func Compare(g, start *implicit.Map, theta []float64, steps []int, root *implicit.Root, s *implicit.Sensitivity, claim Claim, cause string) (*Ledger, error) {
	l := &Ledger{Claim: claim, Delta0: math.NaN(), D0: math.NaN(), Failed: cause}
	m, p, _ := g.Dims()
	if claim.Source == bounds.Estimated && m > 0 { // until they are estimated
		l.Q, l.LZ, l.LTheta = math.NaN(), math.NaN(), math.NaN()
	}
	c := &comparison{Ledger: l, g: g, theta: theta, root: root, s: s, steps: steps,
		rng: rand.New(rand.NewPCG(claim.Seed, 0x666c6f6f72)), image: make([]float64, m), perturbed: make([]float64, m)}
	if len(steps) == 0 {
		return l, nil
	}
	if root != nil {
		c.gz, c.gTheta, c.scratch = make([]float64, m*m), make([]float64, m*p), make([]float64, m*p)
		if err := errors.Join(g.StateJacobian(c.gz, nil, root.Z, theta), g.ParamJacobian(c.gTheta, root.Z, theta)); err != nil {
			return nil, err
		}
	}
	l.Rows = make([]Row, 0, len(steps))
	return l, Steps(g, start, theta, steps[len(steps)-1], c.visit)
}

// comparison is the state of one pass over the iterates.
type comparison struct {
	*Ledger
	g          *implicit.Map
	theta      []float64
	root       *implicit.Root
	s          *implicit.Sensitivity
	steps      []int
	rng        *rand.Rand
	gz, gTheta []float64 // G_z and G_θ at z*
	c          float64   // C = L_z‖s*‖ + L_θ
	floor      *bounds.Floor
	outside    string // the first iterate outside D
	ball       bounds.Ball
	image      []float64 // G(z_k)
	perturbed  []float64 // the same, perturbed
	moved      bool      // since eta was measured
	eta        float64   // rounding of a step where it was measured last
	etaE       float64   // that of the step of the Jacobian
	etaRoot    float64   // and of R at z*
	scratch    []float64 // m×p
	kept       []float64 // memory of the rows' Z and E
}

func (c *comparison) visit(at Iterate) error {
	k, z, e := at.K, at.Z, at.E
	if k == 0 && c.root != nil {
		if err := c.begin(z, e); err != nil {
			return err
		}
	}
	c.moved = c.moved || at.NewZ
	if at.NewZ && c.outside == "" && c.root != nil && !c.ball.Contains(z) {
		c.outside = fmt.Sprintf("iterate %d lies outside D: ‖z_%d − z*‖ = %.3g, radius %.3g", k, k, c.Norm.Distance(z, c.root.Z), c.ball.Radius)
	}
	asked := len(c.steps) > 0 && k == c.steps[0]
	measured := c.floor != nil && c.moved && k&(k-1) == 0
	residual := math.NaN() // where G is not defined; that refuses the next step, and not this one
	if (asked || measured) && c.g.Eval(c.image, z, c.theta) == nil {
		residual = c.Norm.Distance(z, c.image)
		if measured {
			if err := c.measure(z); err != nil {
				return graph.Within(fmt.Sprintf("step %d", k+1), err)
			}
		}
	}
	if asked {
		if err := c.record(k, z, e, residual); err != nil {
			return err
		}
		c.steps = c.steps[1:]
	}
	if c.floor == nil {
		return nil
	}
	if at.NewE {
		c.etaE = c.rounding(e)
	}
	return c.floor.Step(max(c.eta, c.etaRoot), c.etaE)
}

// begin measures the start, settles the constants and checks the hypotheses that concern all of D.
func (c *comparison) begin(z, e []float64) error {
	c.Delta0 = c.Norm.Distance(z, c.root.Z)
	c.D0 = c.sensitivityError(e)
	if c.Radius == 0 {
		c.Radius = 1.01 * c.Delta0
		if c.Radius == 0 {
			c.Radius = 1e-6 * max(1, c.Norm.Distance(c.root.Z, make([]float64, len(z))))
		}
	}
	c.etaRoot = 2 * c.Euclid * c.root.Rounding
	var err error
	if c.ball, err = bounds.NewBall(c.root.Z, c.Radius, c.Norm); err != nil {
		return err
	}
	if err := c.constants(); err != nil {
		return err
	}
	if c.Failed != "" {
		return nil
	}
	if c.c, err = bounds.SensitivityConstant(c.LZ, c.matrix(c.s.S)+c.omegaS(), c.LTheta); err == nil {
		c.floor, err = bounds.NewFloor(c.Q, c.c, c.omega(), c.omegaS())
	}
	var hypothesis *bounds.HypothesisError
	if errors.As(err, &hypothesis) {
		c.Failed, err = err.Error(), nil
	}
	return err
}

// omega and omegaS bound the errors of the computed z* and s* in the ledger's norm.
func (c *comparison) omega() float64 { return c.Euclid * c.root.ErrorEstimate }

func (c *comparison) omegaS() float64 {
	_, p, _ := c.g.Dims()
	return c.Euclid * math.Sqrt(float64(max(1, p))) * c.s.ErrorEstimate
}

// matrix is the induced norm of an m×p matrix.
func (c *comparison) matrix(a []float64) float64 {
	m, p, _ := c.g.Dims()
	return c.Norm.Matrix(a, m, p, c.NormTheta)
}

// sensitivityError is ‖E − s*‖.
func (c *comparison) sensitivityError(e []float64) float64 {
	for i, x := range e {
		c.scratch[i] = x - c.s.S[i]
	}
	return c.matrix(c.scratch)
}

// square is the induced norm of an m×m matrix.
func (c *comparison) square(a []float64) float64 {
	m, _, _ := c.g.Dims()
	return c.Norm.Matrix(a, m, m, c.Norm)
}

// constants estimates q, L_z and L_θ over D, or searches D for a witness against declared ones. Of a
// map that is affine in z there is nothing to search: q = ‖G_z‖ anywhere, and L_z = L_θ = 0.
func (c *comparison) constants() error {
	m, p, _ := c.g.Dims()
	if m == 0 {
		return nil
	}
	if names := c.g.DeclaredInState(); len(names) > 0 {
		c.Failed = fmt.Sprintf("the derivative of G with respect to the state is declared (%s): it does not bound how G contracts", strings.Join(names, ", "))
		return nil
	}
	if affine, err := c.g.Affine(); err != nil || affine {
		if err != nil {
			return err
		}
		return c.settle(found{Estimate: bounds.Estimate{Value: c.square(c.gz)}}, found{}, found{})
	}
	if err := c.oneBranch(); err != nil || c.Failed != "" {
		return err
	}
	gz := func(z []float64) ([]float64, error) {
		a := make([]float64, m*m)
		return a, c.g.StateJacobian(a, nil, z, c.theta)
	}
	gTheta := func(z []float64) ([]float64, error) {
		a := make([]float64, m*p)
		return a, c.g.ParamJacobian(a, z, c.theta)
	}
	effort := bounds.Settings{Seed: c.Seed, Samples: max(16, 256/m), Evaluations: max(64, min(4096, 1<<20/(m*m*m)))}
	q, err := bounds.EstimateContraction(gz, c.ball, effort)
	lz, lTheta := bounds.Estimate{}, bounds.Estimate{}
	if err == nil {
		lz, err = bounds.EstimateLipschitz(gz, c.Norm, c.ball, effort)
	}
	if err == nil && p > 0 {
		lTheta, err = bounds.EstimateLipschitz(gTheta, c.NormTheta, c.ball, effort)
	}
	var bad *bounds.EvaluationError
	if errors.As(err, &bad) {
		c.Failed = "G is not twice continuously differentiable on all of D: " + err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	err = c.settle(found{q, gz, c.square}, found{lz, gz, c.square}, found{lTheta, gTheta, c.matrix})
	if err != nil || c.Failed != "" {
		return err
	}
	image := func(z []float64) ([]float64, error) {
		y := make([]float64, m)
		return y, c.g.Eval(y, z, c.theta)
	}
	farthest, outside, err := bounds.CheckInvariance(image, c.ball, effort)
	if errors.As(err, &bad) {
		c.Failed, err = "G is not defined on all of D: "+err.Error(), nil
	} else if outside {
		c.Failed = fmt.Sprintf("G(D) is not within D: a point of D is mapped to distance %.6g, beyond the radius %.6g", farthest.Value, c.Radius)
	}
	return err
}

// settle takes the constants that were found, or holds the declared ones against them.
func (c *comparison) settle(q, lz, lTheta found) error {
	if c.Source == bounds.Estimated {
		c.Q, c.LZ, c.LTheta = q.Value, lz.Value, lTheta.Value
	} else {
		if err := errors.Join(c.refute("q", c.Q, q), c.refute("L_z", c.LZ, lz), c.refute("L_theta", c.LTheta, lTheta)); err != nil {
			return err
		}
	}
	if !(c.Q < 1) {
		c.Failed = fmt.Sprintf("q = %.6g is not below 1 on D", c.Q)
	}
	return nil
}

// branchSamples is how many points of D are asked for the branches that G takes there.
const branchSamples = 64

// oneBranch looks for a point of D at which a piecewise operation of G takes another branch than at
// z*: between the two G is not C², whatever its pieces are.
func (c *comparison) oneBranch() error {
	here, err := c.g.Branches(c.root.Z, c.theta)
	if err != nil || len(here) == 0 {
		return err
	}
	z := make([]float64, len(c.root.Z))
	for range branchSamples {
		c.ball.Interior(z, c.rng)
		there, err := c.g.Branches(z, c.theta)
		var f *graph.Failure
		if errors.As(err, &f) {
			continue // a domain violation is the business of the estimates
		}
		if err != nil {
			return err
		}
		if !slices.Equal(here, there) {
			c.Failed = "G is not C² on D: it takes one branch at z* and another elsewhere in D; a smaller radius may avoid the boundary"
			return nil
		}
	}
	return nil
}

// found is an estimate with the matrix that it is about and the norm of that.
type found struct {
	bounds.Estimate
	matrix bounds.MatrixFunc
	norm   func(a []float64) float64
}

// refute notes a point of D at which a declared constant is exceeded by more than rounding.
func (c *comparison) refute(name string, declared float64, f found) error {
	if c.Refuted != "" || !(f.Value > declared*(1+1e-9)+1e-12) {
		return nil
	}
	noise, err := c.noise(f)
	if err == nil && f.Value-noise > declared {
		c.Refuted = fmt.Sprintf("declared %s = %.6g, but %.6g was found in D, larger by %.2g", name, declared, f.Value, f.Value-declared)
	}
	return err
}

// neighbours is how many points within a rounding of a witness measure the rounding of a matrix there.
const neighbours = 16

// noise is what rounding may add to an estimate: twice the largest change of the matrix over points
// within a unit in the last place of each witness, for a quotient divided by the distance of the two.
func (c *comparison) noise(f found) (float64, error) {
	total := 0.0
	for _, z := range [][]float64{f.At, f.And} {
		if z == nil {
			continue
		}
		a, err := f.matrix(z)
		if err != nil {
			return 0, err
		}
		a = slices.Clone(a)
		most, near := 0.0, make([]float64, len(z))
		for range neighbours {
			for i, x := range z {
				near[i] = x + float64(x*float64(c.rng.IntN(5)-2)*0x1p-53)
			}
			b, err := f.matrix(near)
			if err != nil {
				return 0, err
			}
			most = max(most, f.norm(difference(a, b)))
		}
		total += 2 * most
	}
	if f.And != nil {
		total /= c.Norm.Distance(f.At, f.And)
	}
	return total, nil
}

// measure sets the rounding error of a step from z, by perturbed runs of G, doubled twice. It is
// measured at powers of two and kept in between and where z stands still, and never counts for less than twice that of R at z*.
func (c *comparison) measure(z []float64) error {
	c.eta, c.moved = 0, false
	for range 2 {
		if err := c.g.Perturbed(c.perturbed, z, c.theta, c.rng); err != nil {
			return err
		}
		c.eta = max(c.eta, 4*c.Norm.Distance(c.perturbed, c.image))
	}
	return nil
}

// rounding bounds the rounding error of one step of the Jacobian recursion by that of two matrix
// products, (m + 16)·u·(|G_z||E| + |G_θ|), with G_z and G_θ taken at z*.
func (c *comparison) rounding(e []float64) float64 {
	m, p, _ := c.g.Dims()
	for i := range m {
		for l := range p {
			t := math.Abs(c.gTheta[i*p+l])
			for j := range m {
				t += math.Abs(c.gz[i*m+j] * e[j*p+l])
			}
			c.scratch[i*p+l] = t
		}
	}
	return float64(m+16) * 0x1p-53 * c.matrix(c.scratch)
}

// record appends the row of an asked K with its verdict.
func (c *comparison) record(k int, z, e []float64, residual float64) error {
	nan := math.NaN()
	row := Row{K: k, Z: c.keep(z), E: c.keep(e), ResidualNorm: residual,
		StateError: nan, StateBound: nan, StateFloor: nan, SensitivityError: nan, SensitivityBound: nan, SensitivityFloor: nan}
	if c.root != nil {
		row.StateError = c.Norm.Distance(z, c.root.Z)
		row.SensitivityError = c.sensitivityError(e)
	}
	failed := c.Failed
	if failed == "" {
		failed = c.outside
	}
	if c.floor != nil && failed == "" {
		var err error
		if row.StateBound, err = bounds.StateBound(c.Q, c.Delta0, k); err != nil {
			return err
		}
		if row.SensitivityBound, err = bounds.SensitivityBound(c.Q, c.c, c.Delta0, c.D0, k); err != nil {
			return err
		}
		row.StateFloor, row.SensitivityFloor = c.floor.State(), c.floor.Sensitivity()
	}
	state, stateReason := bounds.Judge(bounds.Claim{Measured: row.StateError, Bound: row.StateBound, Floor: row.StateFloor, Constants: c.Source, Failed: failed})
	sensitivity, reason := bounds.Judge(bounds.Claim{Measured: row.SensitivityError, Bound: row.SensitivityBound, Floor: row.SensitivityFloor, Constants: c.Source, Failed: failed})
	row.StateVerdict, row.Verdict, row.Reason = state, sensitivity, reason
	if holds(sensitivity) && !holds(state) {
		row.Verdict, row.Reason = state, "state: "+stateReason
	}
	if holds(row.Verdict) && c.Refuted != "" {
		row.Verdict, row.Reason = bounds.DeclarationRefuted, c.Refuted
	}
	c.Rows = append(c.Rows, row)
	return nil
}

// keep returns a copy of x. Small ones share an allocation.
func (c *comparison) keep(x []float64) []float64 {
	if cap(c.kept)-len(c.kept) < len(x) {
		c.kept = make([]float64, 0, max(len(x), 64))
	}
	from := len(c.kept)
	c.kept = append(c.kept, x...)
	return c.kept[from:len(c.kept):len(c.kept)]
}

func holds(v bounds.Verdict) bool { return v == bounds.Holds || v == bounds.HoldsAtFloor }

func difference(x, y []float64) []float64 {
	d := make([]float64, len(x))
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return d
}

// Status is the status of every row: the derivative of a K-step map, whatever it is compared with.
const Status = graph.IteratesDifferentiated
