package bounds

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func norm(t testing.TB, text string, weights ...float64) Norm {
	t.Helper()
	n, err := ParseNorm(text, weights)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ball(t testing.TB, centre []float64, radius float64, n Norm) Ball {
	t.Helper()
	b, err := NewBall(centre, radius, n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// norms returns the four kinds for a state of dimension m.
func norms(t testing.TB, m int) []Norm {
	w := make([]float64, m)
	for i := range w {
		w[i] = math.Exp(float64(i%3) - 1)
	}
	return []Norm{norm(t, "1"), norm(t, "2"), norm(t, "inf"), norm(t, "inf", w...)}
}

func TestNormsByHand(t *testing.T) {
	x := []float64{3, -4, 0}
	a := []float64{1, -2, 3, -4, 5, -6} // 2×3
	for _, c := range []struct {
		n, from        Norm
		vector, matrix float64
	}{
		{norm(t, "1"), norm(t, "1"), 7, 9},
		{norm(t, "2"), norm(t, "2"), 5, 9.508032000695725}, // √((91 + √8065)/2)
		{norm(t, "inf"), norm(t, "inf"), 4, 15},
	} {
		if got := c.n.Of(x); got != c.vector {
			t.Errorf("%s: vector norm %g, want %g", c.n, got, c.vector)
		}
		if got := c.n.Matrix(a, 2, 3, c.from); !close(got, c.matrix, 1e-15) {
			t.Errorf("%s: matrix norm %v, want %v", c.n, got, c.matrix)
		}
		if c.n.Of(nil) != 0 || c.n.Matrix(nil, 0, 5, c.from) != 0 || c.n.Matrix(nil, 5, 0, c.from) != 0 {
			t.Errorf("%s: an empty norm is not 0", c.n)
		}
		nan, inf := math.NaN(), math.Inf(-1)
		if !math.IsNaN(c.n.Of([]float64{1, nan, 2})) || !math.IsNaN(c.n.Matrix([]float64{1, nan, 2, inf}, 2, 2, c.from)) || !math.IsNaN(c.n.Matrix([]float64{inf, 1, 2, nan}, 2, 2, c.from)) {
			t.Errorf("%s: a NaN was lost", c.n)
		}
		if !math.IsInf(c.n.Matrix([]float64{1, inf, 2, 4}, 2, 2, c.from), 1) {
			t.Errorf("%s: an infinity was lost", c.n)
		}
		if got := c.n.Matrix([]float64{1e300, 1e300, 1e-300, 0}, 2, 2, c.from); math.IsInf(got, 0) || got < 1e300 {
			t.Errorf("%s: %g", c.n, got)
		}
	}
	w := norm(t, "inf", 2, 4)
	if got := w.Of([]float64{3, -4}); got != 1.5 {
		t.Errorf("weighted: %g", got)
	}
	// rows: (|1|·1 + |−2|·2)/2 and (|3|·1 + |4|·2)/4.
	if got := w.Matrix([]float64{1, -2, 3, 4}, 2, 2, norm(t, "inf", 1, 2)); got != 2.75 {
		t.Errorf("weighted matrix: %g", got)
	}
	if got := w.Matrix([]float64{1, -2, 3, 4}, 2, 2, w.Unweighted()); got != 1.75 {
		t.Errorf("weighted matrix on θ: %g", got)
	}
}

func TestParseNormRefuses(t *testing.T) {
	for _, c := range []struct {
		text    string
		weights []float64
	}{
		{"", nil}, {"3", nil}, {"Inf", nil}, {"frobenius", nil}, {"2", []float64{1}}, {"1", []float64{1}},
		{"inf", []float64{1, 0}}, {"inf", []float64{-1}}, {"inf", []float64{math.NaN()}}, {"inf", []float64{math.Inf(1)}},
	} {
		if _, err := ParseNorm(c.text, c.weights); err == nil {
			t.Errorf("norm %q with weights %v was accepted", c.text, c.weights)
		}
	}
	n := norm(t, "inf", 1, 2)
	if _, err := NewBall([]float64{0}, 1, n); err == nil {
		t.Error("two weights for one entry were accepted")
	}
	for _, r := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := NewBall([]float64{0}, r, norm(t, "2")); err == nil {
			t.Errorf("radius %g was accepted", r)
		}
	}
	if _, err := NewBall([]float64{0, math.NaN()}, 1, norm(t, "2")); err == nil {
		t.Error("a NaN centre was accepted")
	}
}

// ‖A x‖ ≤ ‖A‖‖x‖ for every x, with equality somewhere: the definition of an induced norm.
func TestInducedNorms(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows, cols := rapid.IntRange(1, 4).Draw(r, "rows"), rapid.IntRange(1, 4).Draw(r, "cols")
		entry := rapid.Map(rapid.IntRange(-1000, 1000), func(i int) float64 { return float64(i) / 100 })
		a := rapid.SliceOfN(entry, rows*cols, rows*cols).Draw(r, "a")
		x := rapid.SliceOfN(entry, cols, cols).Draw(r, "x")
		for k := range norms(t, 1) {
			to, from := norms(t, rows)[k], norms(t, cols)[k]
			n := to.Matrix(a, rows, cols, from)
			attained := 0.0
			for _, v := range append(maximisers(to, from, a, rows, cols), x) {
				ratio := to.Of(product(a, v, rows)) / from.Of(v)
				if from.Of(v) == 0 {
					continue
				}
				if ratio > n*(1+1e-13) {
					r.Fatalf("%s: ‖A x‖/‖x‖ = %g > %g", to, ratio, n)
				}
				attained = max(attained, ratio)
			}
			if attained < n*(1-1e-12) {
				r.Fatalf("%s: norm %g, attained %g", to, n, attained)
			}
		}
	})
}

func product(a, x []float64, rows int) []float64 {
	y := make([]float64, rows)
	for i := range y {
		for j, v := range x {
			y[i] += a[i*len(x)+j] * v
		}
	}
	return y
}

// maximisers returns vectors among which one attains the induced norm.
func maximisers(to, from Norm, a []float64, rows, cols int) (xs [][]float64) {
	switch to.kind {
	case "1":
		for j := range cols {
			e := make([]float64, cols)
			e[j] = 1
			xs = append(xs, e)
		}
	case "2":
		var svd mat.SVD
		svd.Factorize(mat.NewDense(rows, cols, slices.Clone(a)), mat.SVDThin)
		var v mat.Dense
		svd.VTo(&v)
		xs = append(xs, mat.Col(nil, 0, &v))
	default:
		for i := range rows {
			x := make([]float64, cols)
			for j := range x {
				x[j] = math.Copysign(from.weight(j), a[i*cols+j])
			}
			xs = append(xs, x)
		}
	}
	return xs
}

func TestSamplesLieInTheBall(t *testing.T) {
	for _, m := range []int{0, 1, 2, 5, 40} {
		for _, n := range norms(t, m) {
			for _, c := range []struct{ centre, radius float64 }{{0, 1}, {1e6, 1e-3}, {-3, 0}, {1, 1.5e-16}, {1e-300, 1e-301}} {
				centre := make([]float64, m)
				for i := range centre {
					centre[i] = c.centre
				}
				b := ball(t, centre, c.radius, n)
				rng := rand.New(rand.NewPCG(1, 1))
				z := make([]float64, m)
				for range 100 {
					if b.Interior(z, rng); !b.Contains(z) {
						t.Fatalf("%s, m %d, %+v: interior point %v outside", n, m, c, z)
					}
					if b.Surface(z, rng); !b.Contains(z) {
						t.Fatalf("%s, m %d, %+v: surface point %v outside", n, m, c, z)
					}
					if m > 0 && c.centre == 0 && n.Distance(z, centre) < c.radius*(1-1e-14) {
						t.Fatalf("%s, m %d: surface point at distance %g", n, m, n.Distance(z, centre))
					}
				}
			}
		}
	}
	b := ball(t, []float64{0}, 1, norm(t, "2"))
	if b.Contains([]float64{math.NaN()}) || !b.Contains([]float64{1}) || b.Contains([]float64{1 + ulp}) {
		t.Error("Contains at the edge")
	}
}

// A uniform point of a ball in dimension m lies within half the radius with probability 2^−m, and
// in each orthant with the same one.
func TestInteriorIsUniform(t *testing.T) {
	const draws = 20000
	for _, n := range norms(t, 3) {
		b := ball(t, []float64{1, 2, 3}, 2, n)
		rng := rand.New(rand.NewPCG(4, 4))
		z := make([]float64, 3)
		inner, orthant := 0, [8]int{}
		for range draws {
			b.Interior(z, rng)
			if n.Distance(z, b.Centre) <= 1 {
				inner++
			}
			k := 0
			for i, v := range z {
				if v > b.Centre[i] {
					k |= 1 << i
				}
			}
			orthant[k]++
		}
		// Five standard deviations.
		within := func(count int) bool {
			return math.Abs(float64(count)-draws/8.0) < 5*math.Sqrt(draws/8.0*7/8)
		}
		if !within(inner) {
			t.Errorf("%s: %d of %d within half the radius", n, inner, draws)
		}
		for k, count := range orthant {
			if !within(count) {
				t.Errorf("%s: orthant %d holds %d", n, k, count)
			}
		}
	}
}

// The one-dimensional tanh layer G = tanh(z/2 + b), b = ½. With t = tanh and D reaching from 0 to 2z*:
// G_z = (1 − t²)/2 falls along D, so q = G_z(0); |∂G_z/∂z| = t(1 − t²)/2 and |∂G_b/∂z| = t(1 − t²)
// are largest at t = 1/√3.
func TestScalarTanhLayer(t *testing.T) {
	const z = 0.68789399882847
	gz := func(z []float64) ([]float64, error) {
		th := math.Tanh(z[0]/2 + 0.5)
		return []float64{(1 - th*th) / 2}, nil
	}
	gb := func(z []float64) ([]float64, error) {
		th := math.Tanh(z[0]/2 + 0.5)
		return []float64{1 - th*th}, nil
	}
	for _, n := range norms(t, 1) {
		b := ball(t, []float64{z}, z/n.weight(0), n)
		q, err := EstimateContraction(gz, b, Settings{})
		// q = ½ sech² ½
		if err != nil || !close(q.Value, 0.39322386648296371, 1e-12) || math.Abs(q.At[0]) > 1e-12 {
			t.Errorf("%s: q = %v at %v, %v", n, q.Value, q.At, err)
		}
		lz, err := EstimateLipschitz(gz, n, b, Settings{})
		// ‖ΔG_z‖ = |ΔG_z| and ‖Δz‖ = |Δz|/w.
		want := n.weight(0) / (3 * math.Sqrt(3))
		if err != nil || !close(lz.Value, want, 1e-8) || lz.Value > want*(1+1e-9) {
			t.Errorf("%s: L_z = %v, want %v, %v", n, lz.Value, want, err)
		}
		lb, err := EstimateLipschitz(gb, n.Unweighted(), b, Settings{})
		// ‖ΔG_b‖ = |ΔG_b|/w and ‖Δz‖ = |Δz|/w.
		want = 2 / (3 * math.Sqrt(3))
		if err != nil || !close(lb.Value, want, 1e-8) {
			t.Errorf("%s: L_θ = %v, want %v, %v", n, lb.Value, want, err)
		}
		if !b.Contains(lz.At) || !b.Contains(lz.And) {
			t.Errorf("%s: the witness %v, %v lies outside", n, lz.At, lz.And)
		}
		// The local value at z* is no bound: it is below q.
		if local, _ := gz([]float64{z}); local[0] > 0.264 {
			t.Errorf("local value %g", local[0])
		}
	}
}

func TestLinearMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, m := range []int{1, 3, 6} {
		w := make([]float64, m*m)
		for i := range w {
			w[i] = rng.NormFloat64()
		}
		constant := func([]float64) ([]float64, error) { return w, nil }
		for _, n := range norms(t, m) {
			b := ball(t, make([]float64, m), 2, n)
			q, err := EstimateContraction(constant, b, Settings{Samples: 10, Evaluations: 100})
			if want := n.Matrix(w, m, m, n); err != nil || q.Value != want {
				t.Errorf("%s: q = %g, want %g, %v", n, q.Value, want, err)
			}
			l, err := EstimateLipschitz(constant, n, b, Settings{Samples: 10, Evaluations: 100})
			if err != nil || l.Value != 0 {
				t.Errorf("%s: L = %g for a linear map, %v", n, l.Value, err)
			}
		}
	}
}

// diag(z) has Lipschitz constant 1 in each unweighted norm, in the 1- and 2-norms only along a
// coordinate; its norm over the unit ball is 1, again only at a coordinate vector or on a face.
func TestDirectionOfTheDerivativeIsFound(t *testing.T) {
	for _, m := range []int{1, 2, 5, 12} {
		diag := func(z []float64) ([]float64, error) {
			a := make([]float64, len(z)*len(z))
			for i, v := range z {
				a[i*len(z)+i] = v
			}
			return a, nil
		}
		for _, n := range norms(t, m)[:3] {
			b := ball(t, make([]float64, m), 1, n)
			l, err := EstimateLipschitz(diag, n, b, Settings{Evaluations: 8000})
			if err != nil || l.Value > 1+1e-9 || l.Value < 1-1e-3 {
				t.Errorf("%s, m %d: L = %v, %v", n, m, l.Value, err)
			}
			q, err := EstimateContraction(diag, b, Settings{})
			if err != nil || q.Value > 1 || q.Value < 1-1e-4 {
				t.Errorf("%s, m %d: q = %v, %v", n, m, q.Value, err)
			}
		}
	}
}

// A supremum on the surface, with a linear f: sup c·z = radius·‖c‖ in the dual norm.
func TestSupOfALinearFunction(t *testing.T) {
	c := []float64{1, -2, 0.5}
	dual := map[string]float64{"1": 2, "2": math.Sqrt(5.25), "inf": 3.5}
	for text, want := range dual {
		b := ball(t, []float64{0, 0, 0}, 3, norm(t, text))
		e, err := EstimateSup(func(z []float64) (float64, error) {
			return c[0]*z[0] + c[1]*z[1] + c[2]*z[2], nil
		}, b, Settings{Evaluations: 8000})
		if err != nil || !close(e.Value, 3*want, 1e-6) || e.Value > 3*want*(1+1e-14) || !b.Contains(e.At) {
			t.Errorf("%s: %v at %v, want %v, %v", text, e.Value, e.At, 3*want, err)
		}
	}
}

func TestSearchIsDeterministicAndNeedsItsRefinement(t *testing.T) {
	f := func(z []float64) (float64, error) {
		s := 0.0
		for i, v := range z {
			s += (v - 0.3*float64(i)) * (v - 0.3*float64(i))
		}
		return math.Exp(-10 * s), nil
	}
	b := ball(t, make([]float64, 4), 2, norm(t, "2"))
	first, err := EstimateSup(f, b, Settings{Seed: 3})
	again, _ := EstimateSup(f, b, Settings{Seed: 3})
	other, _ := EstimateSup(f, b, Settings{Seed: 4})
	if err != nil || first.Value != again.Value || !slices.Equal(first.At, again.At) || first.Evaluations != again.Evaluations {
		t.Errorf("the same seed gives %v and %v", first, again)
	}
	if slices.Equal(first.At, other.At) {
		t.Error("another seed gives the same bits")
	}
	if !close(first.Value, 1, 1e-9) || !close(other.Value, 1, 1e-9) {
		t.Errorf("values %v and %v, want 1", first.Value, other.Value)
	}
	sampled, _ := EstimateSup(f, b, Settings{Seed: 3, Evaluations: 4})
	if sampled.Value > 0.9 {
		t.Error("samples alone find the maximum: the test shows nothing of the refinement")
	}
}

// Rounding noise is neither a Lipschitz constant nor an escape from the ball.
func TestRoundingIsNoWitness(t *testing.T) {
	b := ball(t, []float64{0.1, -0.7}, 0.3, norm(t, "2"))
	noisy := func(z []float64) ([]float64, error) {
		return []float64{(0.6 + z[0]) - z[0], 0, 0, 0.6}, nil
	}
	distinct := map[float64]bool{}
	l, err := EstimateLipschitz(func(z []float64) ([]float64, error) {
		a, err := noisy(z)
		distinct[a[0]] = true
		return a, err
	}, b.Norm, b, Settings{})
	if err != nil || l.Value != 0 {
		t.Errorf("L = %g for a constant, %v", l.Value, err)
	}
	c, s := math.Cos(0.7), math.Sin(0.7)
	turn := func(z []float64) ([]float64, error) {
		x, y := z[0]-0.1, z[1]+0.7
		return []float64{0.1 + (c*x - s*y), -0.7 + (s*x + c*y)}, nil
	}
	e, outside, err := CheckInvariance(turn, b, Settings{})
	if err != nil || outside {
		t.Errorf("a rotation leaves the ball: %v, %v", e, err)
	}
	if len(distinct) < 2 || !(e.Value > b.Radius) {
		t.Errorf("there is no rounding noise here: %d values, distance %v", len(distinct), e.Value)
	}
}

func TestFailuresInTheBall(t *testing.T) {
	cause := errors.New("log of a negative number")
	b := ball(t, []float64{0.5, 0}, 1, norm(t, "inf"))
	bad := func(z []float64) (float64, error) {
		if z[0] < 0 {
			return 0, cause
		}
		return 1, nil
	}
	var e *EvaluationError
	if _, err := EstimateSup(bad, b, Settings{}); !errors.As(err, &e) || !errors.Is(err, cause) || !(e.At[0] < 0) || !b.Contains(e.At) {
		t.Errorf("got %v", err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		matrix := func(z []float64) ([]float64, error) {
			if z[0] < 0 {
				return []float64{1, v, 0, 1}, nil
			}
			return []float64{1, 0, 0, 1}, nil
		}
		if _, err := EstimateContraction(matrix, b, Settings{}); !errors.As(err, &e) || !(e.At[0] < 0) {
			t.Errorf("a matrix with %v: got %v", v, err)
		}
		if _, err := EstimateLipschitz(matrix, b.Norm, b, Settings{}); !errors.As(err, &e) {
			t.Errorf("a matrix with %v: got %v", v, err)
		}
	}
	if _, err := EstimateContraction(func([]float64) ([]float64, error) { return make([]float64, 3), nil }, b, Settings{}); err == nil {
		t.Error("a matrix of the wrong size was accepted")
	}
}

func TestEmptyState(t *testing.T) {
	empty := func([]float64) ([]float64, error) { return nil, nil }
	for _, n := range norms(t, 0) {
		b := ball(t, nil, 1, n)
		q, err := EstimateContraction(empty, b, Settings{})
		l, err2 := EstimateLipschitz(empty, n, b, Settings{})
		_, outside, err3 := CheckInvariance(empty, b, Settings{})
		if err != nil || err2 != nil || err3 != nil || q.Value != 0 || l.Value != 0 || outside {
			t.Errorf("%s: %v %v %v, %v %v %v", n, q, l, outside, err, err2, err3)
		}
	}
	// No parameters: G_θ is m×0.
	b := ball(t, []float64{1, 2}, 1, norm(t, "2"))
	if l, err := EstimateLipschitz(empty, b.Norm, b, Settings{}); err != nil || l.Value != 0 {
		t.Errorf("m×0: %v, %v", l, err)
	}
	// A ball of radius 0 holds its centre only.
	point := ball(t, []float64{3}, 0, norm(t, "2"))
	q, err := EstimateSup(func(z []float64) (float64, error) { return z[0], nil }, point, Settings{})
	l, err2 := EstimateLipschitz(func(z []float64) ([]float64, error) { return []float64{z[0] * z[0]}, nil }, point.Norm, point, Settings{})
	if err != nil || err2 != nil || q.Value != 3 || l.Value != 0 {
		t.Errorf("a point: %v %v, %v %v", q, l, err, err2)
	}
}

func TestInvariance(t *testing.T) {
	for _, n := range norms(t, 2) {
		b := ball(t, []float64{1, -1}, 2, n)
		// A contraction around the centre, and one that leaves in one corner of the ball only.
		inside := func(z []float64) ([]float64, error) { return []float64{1 + 0.99*(z[0]-1), -1 - 0.99*(z[1]+1)}, nil }
		if e, outside, err := CheckInvariance(inside, b, Settings{}); err != nil || outside || !close(e.Value, 1.98, 1e-6) {
			t.Errorf("%s: %v %v %v", n, e, outside, err)
		}
		escaping := func(z []float64) ([]float64, error) {
			d := z[0] - 1 - 1.9*n.weight(0)
			return []float64{1 + 3*n.weight(0)*math.Exp(-100*d*d), -1}, nil
		}
		e, outside, err := CheckInvariance(escaping, b, Settings{})
		if err != nil || !outside || !b.Contains(e.At) {
			t.Errorf("%s: %v %v %v", n, e, outside, err)
			continue
		}
		if image, _ := escaping(e.At); b.Contains(image) {
			t.Errorf("%s: the witness %v stays inside", n, e.At)
		}
		// The identity maps the ball onto itself.
		if _, outside, err := CheckInvariance(func(z []float64) ([]float64, error) { return slices.Clone(z), nil }, b, Settings{}); err != nil || outside {
			t.Errorf("%s: the identity leaves the ball, %v", n, err)
		}
	}
	wrong := func(z []float64) ([]float64, error) { return z[:1], nil }
	if _, _, err := CheckInvariance(wrong, ball(t, []float64{0, 0}, 1, norm(t, "2")), Settings{}); err == nil {
		t.Error("an image of the wrong size was accepted")
	}
}

// A tanh network in eight unknowns, as in an equilibrium layer: the estimates stay below the a-priori
// bounds ‖W‖ and 4/(3√3)·‖W‖², and the bounds built on them hold for the iterates.
func TestTanhNetwork(t *testing.T) {
	const m, gain = 8, 0.5
	rng := rand.New(rand.NewPCG(21, 1))
	w, bias := make([]float64, m*m), make([]float64, m)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	two := norm(t, "2")
	scale := gain / two.Matrix(w, m, m, two)
	for i := range w {
		w[i] *= scale
	}
	for i := range bias {
		bias[i] = 0.3 * rng.NormFloat64()
	}
	g := func(z []float64) []float64 {
		y := product(w, z, m)
		for i := range y {
			y[i] = math.Tanh(y[i] + bias[i])
		}
		return y
	}
	gb := func(z []float64) []float64 {
		d := make([]float64, m*m)
		for i, v := range g(z) {
			d[i*m+i] = 1 - v*v
		}
		return d
	}
	gz := func(z []float64) []float64 {
		d := gb(z)
		out := make([]float64, m*m)
		for i := range m {
			for j := range m {
				out[i*m+j] = d[i*m+i] * w[i*m+j]
			}
		}
		return out
	}
	callback := func(f func([]float64) []float64) MatrixFunc {
		return func(z []float64) ([]float64, error) { return f(z), nil }
	}
	z := make([]float64, m)
	for range 200 {
		z = g(z)
	}
	for _, n := range []Norm{norm(t, "2"), norm(t, "inf"), norm(t, "1")} {
		b := ball(t, z, 1.05*n.Of(z), n)
		q, err1 := EstimateContraction(callback(gz), b, Settings{})
		lz, err2 := EstimateLipschitz(callback(gz), n, b, Settings{})
		lb, err3 := EstimateLipschitz(callback(gb), n, b, Settings{})
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		wNorm := n.Matrix(w, m, m, n)
		if q.Value > wNorm || q.Value < n.Matrix(gz(z), m, m, n) {
			t.Errorf("%s: q = %g, ‖W‖ = %g", n, q.Value, wNorm)
		}
		if slope := 4 / (3 * math.Sqrt(3)); lz.Value > slope*wNorm*wNorm || lb.Value > slope*wNorm || lz.Value == 0 || lb.Value == 0 {
			t.Errorf("%s: L_z = %g, L_θ = %g", n, lz.Value, lb.Value)
		}
		if q.Value >= 1 {
			continue // no contraction in this norm
		}
		// s* by the iteration itself, far beyond the last K.
		advance := func(e, z []float64) []float64 {
			a, out := gz(z), gb(z)
			for i := range m {
				for j := range m {
					for k := range m {
						out[i*m+j] += a[i*m+k] * e[k*m+j]
					}
				}
			}
			return out
		}
		s := make([]float64, m*m)
		for range 200 {
			s = advance(s, z)
		}
		C, _ := SensitivityConstant(lz.Value, n.Matrix(s, m, m, n), lb.Value)
		x, e := make([]float64, m), make([]float64, m*m)
		delta0, d0 := n.Distance(x, z), n.Matrix(s, m, m, n)
		floor, _ := NewFloor(q.Value, C, 1e-15, 1e-15)
		for K := range 60 {
			diff := make([]float64, m*m)
			for i := range diff {
				diff[i] = e[i] - s[i]
			}
			state, _ := StateBound(q.Value, delta0, K)
			sensitivity, _ := SensitivityBound(q.Value, C, delta0, d0, K)
			for _, claim := range []Claim{
				{Measured: n.Distance(x, z), Bound: state, Floor: floor.State(), Constants: Estimated},
				{Measured: n.Matrix(diff, m, m, n), Bound: sensitivity, Floor: floor.Sensitivity(), Constants: Estimated},
			} {
				if v, reason := Judge(claim); v != Holds && v != HoldsAtFloor {
					t.Errorf("%s, K %d: %s: %s", n, K, v, reason)
				}
			}
			e = advance(e, x)
			x = g(x)
			floor.Step(1e-15, 2e-15)
		}
	}
}

func ExampleEstimateContraction() {
	// G = tanh(z/2 + ½) around its fixed point: the local factor 0.263 is not the supremum.
	gz := func(z []float64) ([]float64, error) {
		t := math.Tanh(z[0]/2 + 0.5)
		return []float64{(1 - t*t) / 2}, nil
	}
	two, _ := ParseNorm("2", nil)
	ball, _ := NewBall([]float64{0.68789399882847}, 0.68789399882847, two)
	q, err := EstimateContraction(gz, ball, Settings{})
	fmt.Printf("q ≥ %.6f at z = %.3f, %v\n", q.Value, q.At[0], err)
	// Output:
	// q ≥ 0.393224 at z = 0.000, <nil>
}

// The change of a matrix along a direction is convex in the direction, so that it is largest at a corner of
// the unit ball: here at one corner of the cube and its opposite, Σ s_i c_i with s = sign c.
func TestCornersAreFound(t *testing.T) {
	for _, m := range []int{2, 3, 5, 8} {
		rng := rand.New(rand.NewPCG(3, uint64(m)))
		for range 5 {
			c, w, want := make([]float64, m), make([]float64, m), 0.0
			for i := range c {
				c[i], w[i] = rng.NormFloat64(), math.Exp(4*rng.NormFloat64())
				c[i] /= w[i]
				want += math.Abs(c[i]) * w[i]
			}
			a := func(z []float64) ([]float64, error) { // one column: (c·z, 0, …)
				out := make([]float64, m)
				for i, v := range z {
					out[0] += c[i] * v * w[0]
				}
				return out, nil
			}
			n := norm(t, "inf", w...)
			l, err := EstimateLipschitz(a, n.Unweighted(), ball(t, make([]float64, m), 1, n), Settings{Samples: max(16, 256/m), Evaluations: 2048})
			if err != nil || !(l.Value > want*(1-1e-6)) || l.Value > want*(1+1e-6) {
				t.Errorf("m = %d: L = %v, want %v, %v", m, l.Value, want, err)
			}
		}
	}
}
