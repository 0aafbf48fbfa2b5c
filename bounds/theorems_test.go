package bounds

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const ulp = 0x1p-52

func close(got, want, rel float64) bool {
	return got == want || math.Abs(got-want) <= rel*math.Abs(want)
}

// reference evaluates q^K·Π f with 600 bits.
func reference(q float64, k int, factors ...float64) float64 {
	r := big.NewFloat(1).SetPrec(600)
	for range k {
		r.Mul(r, big.NewFloat(q))
	}
	for _, f := range factors {
		r.Mul(r, big.NewFloat(f))
	}
	v, _ := r.Float64()
	return v
}

func TestBoundsAgainstHighPrecision(t *testing.T) {
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1 - 0x1p-53, 1e-300} {
		for _, K := range []int{0, 1, 2, 3, 10, 97, 200} {
			for _, f := range []struct{ c, delta0, d0 float64 }{{2, 3, 0.7}, {0, 1, 1}, {1e300, 1e-300, 1}, {3, 0, 0}} {
				state, err := StateBound(q, f.delta0, K)
				if err != nil || !close(state, reference(q, K, f.delta0), ulp) {
					t.Errorf("q %g K %d δ₀ %g: state bound %g, want %g, %v", q, K, f.delta0, state, reference(q, K, f.delta0), err)
				}
				want := f.d0
				if K > 0 {
					want = reference(q, K, f.d0) + reference(q, K-1, float64(K), f.c, f.delta0)
				}
				got, err := SensitivityBound(q, f.c, f.delta0, f.d0, K)
				if err != nil || !close(got, want, 4*ulp) {
					t.Errorf("q %g K %d %+v: sensitivity bound %g, want %g, %v", q, K, f, got, want, err)
				}
			}
		}
	}
}

func TestBoundsAtTheEdges(t *testing.T) {
	for _, c := range []struct {
		q, C, delta0, d0 float64
		K                int
		want             float64
	}{
		{0, 5, 3, 7, 0, 7},                       // K = 0: d₀, no 0·q⁻¹
		{0, 5, 3, 7, 1, 15},                      // q⁰ = 1
		{0, 5, 3, 7, 2, 0},                       //
		{0.5, 2, 3, 7, 1, 3.5 + 6},               //
		{0.5, 2, 3, 7, 3, 7.0/8 + 2*3*0.25*3},    //
		{0.5, 1e300, 0, 0, 2000, 0},              // 0·underflow
		{0.5, 0x1p1000, 0x1p1000, 0, 2001, 2001}, // 2¹⁰⁰⁰·2¹⁰⁰⁰ alone overflows, 2⁻²⁰⁰⁰ underflows
		{0.5, 0, 0, 0x1p1000, 1500, 0x1p-500},
		{0.5, 0, 0, 1, math.MaxInt, 0},
		{0.25, 0x1p1023, 0x1p1023, 0, 1, math.Inf(1)}, // the bound itself overflows
	} {
		got, err := SensitivityBound(c.q, c.C, c.delta0, c.d0, c.K)
		if err != nil || got != c.want {
			t.Errorf("%+v: got %g, %v", c, got, err)
		}
	}
	if got, _ := StateBound(0, 3, 0); got != 3 {
		t.Errorf("K = 0: %g", got)
	}
	if got, _ := StateBound(0, 3, 1); got != 0 {
		t.Errorf("q = 0, K = 1: %g", got)
	}
	if got, _ := ResidualBound(0.75, 2); got != 8 {
		t.Errorf("residual bound %g", got)
	}
	if got, _ := SensitivityConstant(2, 3, 4); got != 10 {
		t.Errorf("C = %g", got)
	}
	if got, _ := InexactStateBound(2, 3, 5, 7, 11, 13); got != 2*(9*5*7+3*11)*13 {
		t.Errorf("inexact-state bound %g", got)
	}
	if got, _ := InexactStateBound(1, 1e200, 1e-300, 1, 0, 1e-100); !close(got, 1, 4*ulp) {
		t.Errorf("inexact-state bound overflows on the way: %g", got)
	}
}

// R = z² − θ at θ₀ = 1: A = 2z, B = −1, S = 1/(2z), Ψ(y) = √(1 + y). For z̃ ≥ 1: κ = M = ½, L_A = 2,
// B₀ = 1, L_B = 0, and the bound r/4 is attained to first order.
func TestInexactStateBoundOfASquareRoot(t *testing.T) {
	for _, step := range []float64{0.5, 0.05, 1e-4} {
		z := 1 + step
		bound, err := InexactStateBound(0.5, 0.5, 2, 1, 0, z*z-1)
		measured := math.Abs(1/(2*z) - 0.5)
		if err != nil || measured > bound || measured < bound*(1-2*step) {
			t.Errorf("z̃ = %g: error %g, bound %g, %v", z, measured, bound, err)
		}
	}
}

func TestHypothesesAreChecked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	fails := func(name string, v float64, err error) {
		t.Helper()
		var h *HypothesisError
		if !errors.As(err, &h) || h.Name != name || !math.IsNaN(v) {
			t.Errorf("%s: got %v, %v", name, v, err)
		}
	}
	for _, q := range []float64{1, 1.5, -0.1, nan, inf} {
		v, err := StateBound(q, 1, 1)
		fails("q", v, err)
		v, err = SensitivityBound(q, 1, 1, 1, 1)
		fails("q", v, err)
		v, err = ResidualBound(q, 1)
		fails("q", v, err)
		v, err = Hump(q)
		fails("q", v, err)
		_, err = NewFloor(q, 0, 0, 0)
		fails("q", nan, err)
	}
	for _, bad := range []float64{-1, nan, inf} {
		v, err := StateBound(0.5, bad, 1)
		fails("δ₀", v, err)
		v, err = SensitivityBound(0.5, bad, 1, 1, 1)
		fails("C", v, err)
		v, err = SensitivityBound(0.5, 1, 1, bad, 1)
		fails("d₀", v, err)
		v, err = SensitivityConstant(1, bad, 1)
		fails("‖s*‖", v, err)
		v, err = ResidualBound(0.5, bad)
		fails("‖r_K‖", v, err)
		v, err = InexactStateBound(1, 1, bad, 1, 1, 1)
		fails("L_A", v, err)
		_, err = SequentialError([]Stage{{1, bad}})
		fails("ε", nan, err)
		_, err = ReverseError([]ReverseStage{{1, bad, 0, 0}}, 1, 0)
		fails("H", nan, err)
	}
	v, err := StateBound(0.5, 1, -1)
	fails("K", v, err)
}

// contractionExample is G = qz + (1−q)θ, run in plain floating point.
type contractionExample struct{ q, theta, z, e float64 }

// step advances it and returns bounds of the rounding errors of the step: of the map with the real
// factor 1 − q, in the state and in the derivative.
func (c *contractionExample) step() (eta, etaS float64) {
	const u = 0x1p-53
	p := 1 - c.q
	z, e := float64(c.q*c.z)+float64(p*c.theta), float64(c.q*c.e)+p
	eta = u * (math.Abs(c.q*c.z) + 2*math.Abs(p*c.theta) + math.Abs(z)) * (1 + 4*u)
	etaS = u * (math.Abs(c.q*c.e) + p + math.Abs(e)) * (1 + 4*u)
	c.z, c.e = z, e
	return eta, etaS
}

// The counterexample attains both bounds with equality: the measured errors equal the bound to
// within the floor at every K, from both sides. Without the floor the claims fail.
func TestCounterexampleAttainsTheBound(t *testing.T) {
	bare := 0
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		for _, z0 := range []float64{0, 1} {
			c := contractionExample{q: q, z: z0}
			floor, err := NewFloor(q, 0, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for K := 0; K <= 200; K++ {
				state, _ := StateBound(q, z0, K)
				sensitivity, _ := SensitivityBound(q, 0, z0, 1, K)
				for _, claim := range []Claim{
					{Measured: math.Abs(c.z), Bound: state, Floor: floor.State(), Constants: Declared},
					{Measured: math.Abs(c.e - 1), Bound: sensitivity, Floor: floor.Sensitivity(), Constants: Declared},
				} {
					verdict, reason := Judge(claim)
					if verdict != Holds && verdict != HoldsAtFloor {
						t.Errorf("q %g z₀ %g K %d: %s: %s", q, z0, K, verdict, reason)
					}
					if claim.Bound-claim.Measured > claim.Floor+8*0x1p-53*claim.Bound {
						t.Errorf("q %g z₀ %g K %d: not attained: measured %g, bound %g, floor %g", q, z0, K, claim.Measured, claim.Bound, claim.Floor)
					}
					claim.Floor = 0
					if v, _ := Judge(claim); v == DeclarationRefuted {
						bare++
					}
				}
				if floor.Sensitivity() > 400*ulp/(1-q) {
					t.Fatalf("q %g: floor %g is no rounding error", q, floor.Sensitivity())
				}
				if err := floor.Step(c.step()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if bare < 20 {
		t.Errorf("only %d claims need the floor: the test shows little", bare)
	}
}

// Residual zero at every K, and the derivative is wrong by q^K.
func TestResidualDoesNotBoundTheDerivative(t *testing.T) {
	c := contractionExample{q: 0.9}
	for range 5 {
		c.step()
	}
	residual := c.z - (c.q*c.z + (1-c.q)*c.theta)
	bound, _ := ResidualBound(c.q, math.Abs(residual))
	if bound != 0 || math.Abs(c.e-1) < 0.5 {
		t.Errorf("residual bound %g, derivative error %g", bound, math.Abs(c.e-1))
	}
}

func TestHump(t *testing.T) {
	for _, c := range []struct{ q, peak float64 }{{0.9, 9.4912}, {0.99, 99.499}, {0.999, 999.5}, {0.5, 1.4427}} {
		got, err := Hump(c.q)
		if err != nil || math.Abs(got-c.peak) > 1e-4*c.peak {
			t.Errorf("q %g: %g, want %g", c.q, got, c.peak)
		}
		best, at := 0.0, 0
		for K := range 3000 {
			if v, _ := SensitivityBound(c.q, 1, 1, 0, K); v > best {
				best, at = v, K
			}
		}
		if at != int(math.Floor(got)) && at != int(math.Ceil(got)) {
			t.Errorf("q %g: the bound peaks at %d, hump %g", c.q, at, got)
		}
	}
	if got, _ := Hump(0); got != 0 {
		t.Errorf("q = 0: %g", got)
	}
}

func TestBoundsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.Float64Range(0, 1-ulp).Draw(t, "q")
		q2 := rapid.Float64Range(q, 1-ulp).Draw(t, "q2")
		C, delta0, d0 := nonNegative(t, "C"), nonNegative(t, "δ₀"), nonNegative(t, "d₀")
		K := rapid.IntRange(0, 300).Draw(t, "K")
		get := func(q float64, K int) (float64, float64) {
			a, err1 := StateBound(q, delta0, K)
			b, err2 := SensitivityBound(q, C, delta0, d0, K)
			if err1 != nil || err2 != nil || a != a || b != b {
				t.Fatal(a, b, err1, err2)
			}
			return a, b
		}
		a, b := get(q, K)
		a2, b2 := get(q2, K)
		if a2 < a*(1-4*ulp) || b2 < b*(1-4*ulp) {
			t.Fatalf("larger q, smaller bound: %g %g, %g %g", a, a2, b, b2)
		}
		a2, b2 = get(q, K+1)
		if a2 > a {
			t.Fatalf("the state bound grows in K: %g, %g", a, a2)
		}
		if hump, _ := Hump(q); float64(K) > hump+1 && b2 > b*(1+8*ulp) {
			t.Fatalf("the sensitivity bound grows beyond its hump: %g, %g", b, b2)
		}
	})
}

func nonNegative(t *rapid.T, name string) float64 {
	return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 10), rapid.Float64Range(0, 1e100)).Draw(t, name)
}

// The recursion of the theorem's proof, run in closed form and step by step.
func TestFloorRecursionEqualsClosedSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.Float64Range(0, 0.999).Draw(t, "q")
		C, omega, omegaS := rapid.Float64Range(0, 10).Draw(t, "C"), rapid.Float64Range(0, 1).Draw(t, "ω"), rapid.Float64Range(0, 1).Draw(t, "ω'")
		eta := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 40).Draw(t, "η")
		etaS := rapid.SliceOfN(rapid.Float64Range(0, 1), len(eta), len(eta)).Draw(t, "η'")
		floor, err := NewFloor(q, C, omega, omegaS)
		if err != nil {
			t.Fatal(err)
		}
		for k := range eta {
			if err := floor.Step(eta[k], etaS[k]); err != nil {
				t.Fatal(err)
			}
		}
		// f_K = Σ_k q^(K−1−k) η_k.
		K := len(eta)
		closed := omega * (1 + math.Pow(q, float64(K)))
		for k, e := range eta {
			closed += math.Pow(q, float64(K-1-k)) * e
		}
		if !close(floor.State(), closed, 1e-13) {
			t.Fatalf("state: %g, closed %g", floor.State(), closed)
		}
		// g_K = Σ_k q^(K−1−k) η'_k + C Σ_{k<K−1} (K−1−k) q^(K−2−k) η_k.
		want := omegaS * (1 + math.Pow(q, float64(K)))
		if K > 0 {
			want += C * float64(K) * math.Pow(q, float64(K-1)) * omega
		}
		for k := range eta {
			want += math.Pow(q, float64(K-1-k)) * etaS[k]
			if k < K-1 {
				want += C * float64(K-1-k) * math.Pow(q, float64(K-2-k)) * eta[k]
			}
		}
		if !close(floor.Sensitivity(), want, 1e-12) {
			t.Fatalf("sensitivity: %g, closed %g", floor.Sensitivity(), want)
		}
	})
	floor, _ := NewFloor(0.5, 0, 0, 0)
	if err := floor.Step(math.NaN(), 0); err == nil {
		t.Error("a NaN was accepted")
	}
}

// The worst case of the floor's recursion, in which every term pushes in the same direction,
// attains bound + floor.
func TestFloorIsAttained(t *testing.T) {
	const q, Lz, eta, etaS = 0.75, 0.5, 1e-3, 2e-3
	const s = 4.0 // s*; the state error enters the derivative with C = L_z s*
	z, e := -2.0, 0.0
	f, err := NewFloor(q, Lz*s, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	delta0, d0 := 2.0, s
	for K := range 60 {
		state, _ := StateBound(q, delta0, K)
		if got := math.Abs(z); !close(got, state+f.State(), 1e-12) {
			t.Fatalf("K %d: state error %g, bound + floor %g", K, got, state+f.State())
		}
		sensitivity, _ := SensitivityBound(q, Lz*s, delta0, d0, K)
		if got := math.Abs(e - s); !close(got, sensitivity+f.Sensitivity(), 1e-12) {
			t.Fatalf("K %d: sensitivity error %g, bound + floor %g", K, got, sensitivity+f.Sensitivity())
		}
		e = s + q*(e-s) + Lz*z*s - etaS
		z = q*z - eta
		if err := f.Step(eta, etaS); err != nil {
			t.Fatal(err)
		}
	}
}

// A reference that is off by ω shows as ω + q^K ω at most, for every place of the true solution.
func TestFloorOfADisplacedReference(t *testing.T) {
	const q, C, omega, omegaS, s = 0.5, 3.0, 1e-3, 1e-2, 2.0
	for _, zSign := range []float64{-1, 1} {
		for _, sSign := range []float64{-1, 1} {
			zRef, sRef := zSign*omega, s+sSign*omegaS
			z, e := 1.0, 0.0
			delta0, d0 := math.Abs(z-zRef), math.Abs(e-sRef)
			f, _ := NewFloor(q, C, omega, omegaS)
			slack := math.Inf(1)
			for K := range 40 {
				state, _ := StateBound(q, delta0, K)
				sensitivity, _ := SensitivityBound(q, C, delta0, d0, K)
				slack = min(slack, sensitivity+f.Sensitivity()-math.Abs(e-sRef))
				if math.Abs(z-zRef) > state+f.State()+1e-15 || slack < -1e-15 {
					t.Errorf("K %d: state error %g > %g, or slack %g", K, math.Abs(z-zRef), state+f.State(), slack)
				}
				e = s + q*(e-s) - C*z
				z *= q
				f.Step(0, 0)
			}
			if slack > 1e-9 {
				t.Errorf("the sensitivity floor is never attained: slack %g", slack)
			}
		}
	}
}

func TestSequentialError(t *testing.T) {
	e, err := SequentialError([]Stage{{L: 9, Epsilon: 1}, {L: 2, Epsilon: 3}, {L: 0.5, Epsilon: 0.25}})
	if err != nil || len(e) != 3 || e[0] != 1 || e[1] != 5 || e[2] != 2.75 {
		t.Errorf("got %v, %v", e, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		stages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Stage {
			return Stage{L: rapid.Float64Range(0, 3).Draw(t, "L"), Epsilon: rapid.Float64Range(0, 1).Draw(t, "ε")}
		}), 0, 30).Draw(t, "stages")
		e, err := SequentialError(stages)
		if err != nil {
			t.Fatal(err)
		}
		// e_n = Σ_i ε_i Π_{j>i} L_j.
		expanded, product := 0.0, 1.0
		for _, s := range slices.Backward(stages) {
			expanded += product * s.Epsilon
			product *= s.L
		}
		last := 0.0
		if len(e) > 0 {
			last = e[len(e)-1]
		}
		if !close(expanded, last, 1e-13) {
			t.Fatalf("expanded %g, recursion %g", expanded, last)
		}
	})
	// A constant stage forgets an error that overflowed.
	e, _ = SequentialError([]Stage{{1, 1e300}, {1e300, 0}, {0, 0.5}})
	if !math.IsInf(e[1], 1) || e[2] != 0.5 {
		t.Errorf("after an overflow: %v", e)
	}
}

func TestReverseError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ReverseStage {
			u := rapid.Float64Range(0, 2)
			return ReverseStage{L: u.Draw(t, "L"), H: u.Draw(t, "H"), Epsilon: u.Draw(t, "ε"), Primal: u.Draw(t, "e")}
		}), 0, 20).Draw(t, "stages")
		norm, seed := rapid.Float64Range(0, 5).Draw(t, "norm"), rapid.Float64Range(0, 1).Draw(t, "seed error")
		a, err := ReverseError(stages, norm, seed)
		if err != nil || len(a) != len(stages)+1 || a[len(stages)] != seed {
			t.Fatal(a, err)
		}
		// a_0 = a_n Π_j L_j + Σ_k (ε_k + H_k e_{k−1} Λ_k) Π_{j<k} L_j, Λ_k = ‖λ_n‖ Π_{j>k} L_j.
		expanded, before := 0.0, 1.0
		for k, s := range stages {
			cotangent := norm
			for _, later := range stages[k+1:] {
				cotangent *= later.L
			}
			expanded += (s.Epsilon + s.H*s.Primal*cotangent) * before
			before *= s.L
		}
		expanded += before * seed
		if !close(a[0], expanded, 1e-13) {
			t.Fatalf("recursion %g, expanded %g", a[0], expanded)
		}
	})
}

// x_k = sin x_{k−1}, approximated with a local error: the bounds hold for values and cotangents, and
// the cotangent bound needs its term in the primal error, although every pullback is exact.
func TestReverseErrorOfASineChain(t *testing.T) {
	const n, eps = 12, 1e-4
	x, xh := make([]float64, n+1), make([]float64, n+1)
	x[0], xh[0] = 0.9, 0.9
	forward, reverse := make([]Stage, n), make([]ReverseStage, n)
	for k := 1; k <= n; k++ {
		x[k], xh[k] = math.Sin(x[k-1]), math.Sin(xh[k-1])+eps
		forward[k-1] = Stage{L: 1, Epsilon: eps}
	}
	e, err := SequentialError(forward)
	if err != nil {
		t.Fatal(err)
	}
	lambda, lambdaH := 1.0, 1.0
	for k := n; k >= 1; k-- {
		if math.Abs(xh[k]-x[k]) > e[k-1] {
			t.Errorf("value %d: error %g, bound %g", k, math.Abs(xh[k]-x[k]), e[k-1])
		}
		primal := 0.0
		if k > 1 {
			primal = e[k-2]
		}
		// |d/dx cos x| ≤ 1.
		reverse[k-1] = ReverseStage{L: 1, H: 1, Primal: primal}
		lambda, lambdaH = lambda*math.Cos(x[k-1]), lambdaH*math.Cos(xh[k-1])
	}
	a, err := ReverseError(reverse, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	measured := math.Abs(lambdaH - lambda)
	if measured > a[0] || measured == 0 {
		t.Errorf("cotangent error %g, bound %g", measured, a[0])
	}
	for k := range reverse {
		reverse[k].H = 0
	}
	if without, _ := ReverseError(reverse, 1, 0); measured <= without[0] {
		t.Error("the primal error does not matter here: the test shows nothing")
	}
}

func TestJudge(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		claim Claim
		want  Verdict
	}{
		{Claim{Measured: 1, Bound: 2, Constants: Estimated}, Holds},
		{Claim{Measured: 2, Bound: 2, Constants: Declared}, Holds},
		{Claim{Measured: 0, Bound: 0, Constants: Certified}, Holds},
		{Claim{Measured: 2, Bound: 2 - ulp, Constants: Declared}, Holds},
		{Claim{Measured: 2, Bound: 2 - 16*ulp, Constants: Declared}, DeclarationRefuted},
		{Claim{Measured: 2.5, Bound: 2, Floor: 0.5, Constants: Declared}, Holds},
		{Claim{Measured: 1e-16, Bound: 1e-17, Floor: 2e-16, Constants: Declared}, HoldsAtFloor},
		{Claim{Measured: 1e-16, Bound: 1e-17, Floor: 2e-17, Constants: Declared}, DeclarationRefuted},
		{Claim{Measured: 3, Bound: 2, Floor: 0.5, Constants: Estimated}, EstimateRefuted},
		{Claim{Measured: 3, Bound: 2, Constants: Declared}, DeclarationRefuted},
		{Claim{Measured: 3, Bound: 2, Constants: Certified}, Violated},
		{Claim{Measured: 3, Bound: 2, Constants: "guess"}, Unknown},
		{Claim{Measured: 1, Bound: 2, Constants: Declared, Failed: "q ≥ 1"}, HypothesisFailed},
		{Claim{Measured: 3, Bound: nan, Constants: Declared, Failed: "q ≥ 1"}, HypothesisFailed},
		{Claim{Measured: nan, Bound: 2, Constants: Declared}, Unknown},
		{Claim{Measured: inf, Bound: inf, Constants: Declared}, Unknown},
		{Claim{Measured: 1, Bound: inf, Constants: Declared}, Unknown},
		{Claim{Measured: 1, Bound: nan, Constants: Declared}, Unknown},
		{Claim{Measured: 1, Bound: 2, Floor: nan, Constants: Declared}, Unknown},
		{Claim{Measured: -1, Bound: 2, Constants: Declared}, Unknown},
	} {
		got, reason := Judge(c.claim)
		if got != c.want || reason == "" {
			t.Errorf("%+v: %s (%s), want %s", c.claim, got, reason, c.want)
		}
	}
}

func ExampleSensitivityBound() {
	// The bound grows before it falls: K q^(K−1) peaks near −1/ln q ≈ 9.5.
	for _, K := range []int{0, 1, 10, 100} {
		bound, _ := SensitivityBound(0.9, 2, 1, 0.5, K)
		fmt.Printf("%3d %.4g\n", K, bound)
	}
	_, err := SensitivityBound(1.2, 2, 1, 0.5, 1)
	fmt.Println(err)
	// Output:
	//   0 0.5
	//   1 2.45
	//  10 7.923
	// 100 0.005916
	// bounds: q = 1.2, want 0 ≤ q < 1: the bound does not apply; try another norm or a smaller domain
}

func ExampleJudge() {
	verdict, reason := Judge(Claim{Measured: 3e-3, Bound: 2e-3, Floor: 1e-16, Constants: Estimated})
	fmt.Println(verdict)
	fmt.Println(reason)
	// Output:
	// ESTIMATE_REFUTED
	// measured 0.003 exceeds bound 0.002 + floor 1e-16 by 0.001: an estimated constant is too small; raise the search effort or declare it
}
