package linsolve

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// exactSolve solves A x = b by Gaussian elimination in rational arithmetic. It returns nil for a
// singular matrix.
func exactSolve(a Dense, b []float64, form Form) (x []*big.Rat, det *big.Rat) {
	n := a.N
	m := make([][]*big.Rat, n)
	for i := range m {
		m[i] = make([]*big.Rat, n+1)
		for j := range n {
			v := a.Data[i*n+j]
			if form == Transposed {
				v = a.Data[j*n+i]
			}
			m[i][j] = new(big.Rat).SetFloat64(v)
		}
		m[i][n] = new(big.Rat).SetFloat64(b[i])
	}
	det = big.NewRat(1, 1)
	for k := range n {
		p := k
		for p < n && m[p][k].Sign() == 0 {
			p++
		}
		if p == n {
			return nil, new(big.Rat)
		}
		if p != k {
			m[p], m[k] = m[k], m[p]
			det.Neg(det)
		}
		det.Mul(det, m[k][k])
		for i := k + 1; i < n; i++ {
			f := new(big.Rat).Quo(m[i][k], m[k][k])
			for j := k; j <= n; j++ {
				m[i][j] = new(big.Rat).Sub(m[i][j], new(big.Rat).Mul(f, m[k][j]))
			}
		}
	}
	x = make([]*big.Rat, n)
	for i := n - 1; i >= 0; i-- {
		s := new(big.Rat).Set(m[i][n])
		for j := i + 1; j < n; j++ {
			s.Sub(s, new(big.Rat).Mul(m[i][j], x[j]))
		}
		x[i] = s.Quo(s, m[i][i])
	}
	return x, det
}

// exactCondition returns ‖A⁻¹‖₁·‖A‖₁ in rational arithmetic.
func exactCondition(a Dense) float64 {
	n := a.N
	inverse, norm := new(big.Rat), new(big.Rat)
	for j := range n {
		e := make([]float64, n)
		e[j] = 1
		x, _ := exactSolve(a, e, Plain)
		sum, column := new(big.Rat), new(big.Rat)
		for i := range n {
			sum.Add(sum, new(big.Rat).Abs(x[i]))
			column.Add(column, new(big.Rat).SetFloat64(math.Abs(a.Data[i*n+j])))
		}
		if sum.Cmp(inverse) > 0 {
			inverse = sum
		}
		if column.Cmp(norm) > 0 {
			norm = column
		}
	}
	c, _ := inverse.Mul(inverse, norm).Float64()
	return c
}

// relativeError returns ‖got − want‖∞/‖want‖∞.
func relativeError(got []float64, want []*big.Rat) float64 {
	var worst, size float64
	for i, w := range want {
		diff, _ := new(big.Rat).Sub(new(big.Rat).SetFloat64(got[i]), w).Float64()
		v, _ := w.Float64()
		worst, size = max(worst, math.Abs(diff)), max(size, math.Abs(v))
	}
	if worst == 0 {
		return 0
	}
	return worst / size
}

func hilbert(n int) Dense {
	a := Dense{n, make([]float64, n*n)}
	for i := range n {
		for j := range n {
			a.Data[i*n+j] = 1 / float64(i+j+1)
		}
	}
	return a
}

// wilkinson has 1 on the diagonal and in the last column and −1 below: partial pivoting lets its
// last column grow to 2^(n−1). A small change of the entries keeps the growth and makes it inexact.
func wilkinson(n int, rng *rand.Rand) Dense {
	a := Dense{n, make([]float64, n*n)}
	for i := range n {
		for j := range n {
			v := 0.0
			switch {
			case i == j || j == n-1:
				v = 1
			case j < i:
				v = -1 + 1e-3*rng.Float64()
			}
			a.Data[i*n+j] = v
		}
	}
	return a
}

func random(n int, rng *rand.Rand) Dense {
	a := Dense{n, make([]float64, n*n)}
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

func vectorOf(n int, rng *rand.Rand) []float64 {
	return random(n, rng).Data[:n]
}

func factor(t testing.TB, a Dense) *LU {
	t.Helper()
	var f LU
	if err := f.Factor(a); err != nil {
		t.Fatal(err)
	}
	return &f
}

func nans(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.NaN()
	}
	return x
}

func checkSolution(t *testing.T, name string, a Dense, b []float64, form Form, errorTolerance float64) Solution {
	t.Helper()
	x := nans(a.N)
	s, err := factor(t, a).Solve(x, b, 1, form)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want, _ := exactSolve(a, b, form)
	if e := relativeError(x, want); !(e <= errorTolerance) {
		t.Errorf("%s: relative error %g > %g", name, e, errorTolerance)
	}
	if !(s.Normwise <= Epsilon) {
		t.Errorf("%s: normwise backward error %g", name, s.Normwise)
	}
	residual, _ := exactResidual(a, x, b, form).Float64()
	if math.Abs(s.ResidualNorm-residual) > 1e-10*residual {
		t.Errorf("%s: residual norm %g, exact %g", name, s.ResidualNorm, residual)
	}
	return s
}

// exactResidual returns ‖b − A x‖∞.
func exactResidual(a Dense, x, b []float64, form Form) *big.Rat {
	norm := new(big.Rat)
	for i := range a.N {
		s := new(big.Rat).SetFloat64(b[i])
		for j := range a.N {
			v := a.Data[i*a.N+j]
			if form == Transposed {
				v = a.Data[j*a.N+i]
			}
			s.Sub(s, new(big.Rat).Mul(new(big.Rat).SetFloat64(v), new(big.Rat).SetFloat64(x[j])))
		}
		if s.Abs(s).Cmp(norm) > 0 {
			norm = s
		}
	}
	return norm
}

// Refinement in twice the working precision gives full accuracy for every condition below the
// limit, not only a small residual: the Hilbert matrices lose half a digit per order otherwise.
func TestRefinedSolutionsAreAccurate(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for n := 1; n <= 11; n++ {
		for _, form := range []Form{Plain, Transposed} {
			a := hilbert(n)
			if exactCondition(a) > 1e14 {
				continue
			}
			s := checkSolution(t, fmt.Sprint("hilbert ", n), a, vectorOf(n, rng), form, Epsilon)
			if n == 10 && s.Refinements < 1 {
				t.Error("hilbert 10 was not refined")
			}
		}
	}
	for _, n := range []int{2, 5, 20} {
		checkSolution(t, fmt.Sprint("random ", n), random(n, rng), vectorOf(n, rng), Plain, Epsilon)
		checkSolution(t, fmt.Sprint("random ", n), random(n, rng), vectorOf(n, rng), Transposed, Epsilon)
	}
}

func TestGrowthOfPivots(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	a, b := wilkinson(30, rng), vectorOf(30, rng)
	want, _ := exactSolve(a, b, Plain)
	unrefined := slices.Clone(b)
	f := factor(t, a)
	if !slices.Equal(f.scaled.Data, a.Data) {
		t.Fatal("the growth matrix was rescaled")
	}
	f.solveFactors(unrefined, Plain)
	if e := relativeError(unrefined, want); e < 1e-9 {
		t.Errorf("elimination alone has relative error %g: no growth to undo", e)
	}
	checkSolution(t, "growth 2^29", a, b, Plain, Epsilon)

	// A growth of 2⁷⁹ leaves no digit to refine: refused, by whichever check sees it.
	x := make([]float64, 80)
	err := f.Factor(wilkinson(80, rng))
	if err == nil {
		_, err = f.Solve(x, vectorOf(80, rng), 1, Plain)
		if !math.IsNaN(x[0]) {
			t.Error("a refused solution was returned")
		}
	}
	var inaccurate *InaccurateError
	if !errors.As(err, &inaccurate) {
		t.Fatalf("got %v, want an InaccurateError", err)
	}
	if !(inaccurate.Backward > inaccurate.Tolerance) {
		t.Errorf("backward error %g within %g", inaccurate.Backward, inaccurate.Tolerance)
	}
}

func TestIllConditionedIsRefused(t *testing.T) {
	for name, a := range map[string]Dense{
		"hilbert 12": hilbert(12),
		"one ulp":    {2, []float64{1, 1, 1, 1 + Epsilon}},
	} {
		var f LU
		err := f.Factor(a)
		var ill *IllConditionedError
		if !errors.As(err, &ill) {
			t.Errorf("%s: got %v, want an IllConditionedError", name, err)
			continue
		}
		x := make([]float64, a.N)
		if _, again := f.Solve(x, make([]float64, a.N), 1, Plain); again != err || !math.IsNaN(x[0]) {
			t.Errorf("%s: Solve after a refusal: %v, %v", name, again, x)
		}
		// Near 1/ε the factors hardly have a digit: the condition keeps its magnitude.
		want := exactCondition(a)
		if got := f.Evidence().ConditionOne; !(got > want/10 && got < want*10) {
			t.Errorf("%s: condition %g, exact %g", name, got, want)
		}
	}
}

func TestOneUlpFromSingular(t *testing.T) {
	var f LU
	f.Factor(Dense{2, []float64{1, 1, 1, 1 + Epsilon}})
	e := f.Evidence()
	// det = ε and σ_max = 2 + ε/2 + O(ε²), so σ_min = ε/2 to working precision.
	if math.Abs(e.SigmaMin-Epsilon/2) > 1e-10*Epsilon {
		t.Errorf("σ_min = %g, want %g", e.SigmaMin, Epsilon/2)
	}
	if e.DetSign != 1 || math.Abs(e.LogAbsDet+52*math.Ln2) > 1e-12 {
		t.Errorf("det: sign %d, log %g", e.DetSign, e.LogAbsDet)
	}
}

func TestSingularNamesItsEquations(t *testing.T) {
	// Equation 3 = equation 0 + equation 1; unknown 2 appears as the double of unknown 4.
	rng := rand.New(rand.NewPCG(5, 1))
	n := 6
	a := random(n, rng)
	for j := range n {
		a.Data[j] = float64(rng.IntN(9) - 4)
		a.Data[n+j] = float64(rng.IntN(9) - 4)
	}
	for i := range n {
		a.Data[i*n+2] = 2 * a.Data[i*n+4]
	}
	for j := range n {
		a.Data[3*n+j] = a.Data[j] + a.Data[n+j]
	}
	// Units of very different size do not hide who depends on whom.
	for _, unit := range []float64{1, 0x1p-60} {
		b := Dense{n, append([]float64(nil), a.Data...)}
		for j := range n {
			b.Data[5*n+j] *= unit
		}
		var f LU
		err := f.Factor(b)
		var equations, unknowns []int
		var singular *SingularError
		var ill *IllConditionedError
		switch {
		case errors.As(err, &singular):
			equations, unknowns = singular.Equations, singular.Unknowns
		case errors.As(err, &ill):
			equations, unknowns = ill.Equations, ill.Unknowns
		default:
			t.Fatalf("unit %g: got %v", unit, err)
		}
		// The rank is n−1: one dependence, seen from both sides.
		slices.Sort(equations)
		slices.Sort(unknowns)
		if !slices.Equal(equations, []int{0, 1, 3}) || !slices.Equal(unknowns, []int{2, 4}) {
			t.Errorf("unit %g: equations %v, unknowns %v in %v", unit, equations, unknowns, err)
		}
	}

	// The null vectors themselves.
	one := Dense{3, []float64{1, 2, 3, 4, 5, 6, 5, 7, 9}}
	var f LU
	err := f.Factor(one)
	e := f.Evidence()
	if err == nil {
		t.Fatal("a singular matrix was accepted")
	}
	if !(e.SigmaMin < 1e-15) {
		t.Errorf("σ_min = %g", e.SigmaMin)
	}
	// Left null vector (1, 1, −1)/√3, right null vector (1, −2, 1)/√6.
	for i, want := range []float64{1, 1, -1} {
		if got := e.Left[i] * math.Copysign(1, e.Left[0]); math.Abs(got-want/math.Sqrt(3)) > 1e-14 {
			t.Errorf("left[%d] = %g", i, got)
		}
	}
	for i, want := range []float64{1, -2, 1} {
		if got := e.Right[i] * math.Copysign(1, e.Right[0]); math.Abs(got-want/math.Sqrt(6)) > 1e-14 {
			t.Errorf("right[%d] = %g", i, got)
		}
	}
}

func TestZeroMatrix(t *testing.T) {
	var f LU
	err := f.Factor(Dense{2, make([]float64, 4)})
	var singular *SingularError
	if !errors.As(err, &singular) || singular.Pivot != 0 || singular.Value != 0 {
		t.Fatalf("got %v", err)
	}
	e := f.Evidence()
	if e.DetSign != 0 || !math.IsInf(e.LogAbsDet, -1) || !math.IsInf(e.ConditionOne, 1) || e.SigmaMin != 0 || e.SigmaMax != 0 {
		t.Errorf("evidence %+v", e)
	}
}

func TestNonFiniteIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for k := range 9 {
			a := random(3, rng)
			a.Data[k] = bad
			var f LU
			err := f.Factor(a)
			var e *NonFiniteError
			if !errors.As(err, &e) || e.Where != "A" || e.Row != k/3 || e.Col != k%3 {
				t.Fatalf("entry %d = %v: got %v", k, bad, err)
			}
			x := make([]float64, 3)
			if _, err := f.Solve(x, []float64{1, 2, 3}, 1, Plain); err == nil || !math.IsNaN(x[0]) {
				t.Fatal("a matrix with a non-finite entry was used")
			}
			if ev := f.Evidence(); !math.IsNaN(ev.SigmaMin) || !math.IsNaN(ev.ConditionOne) {
				t.Fatal("evidence for a non-finite matrix")
			}
		}
		f := factor(t, random(3, rng))
		b := []float64{1, 2, 3, bad, 5, 6}
		x := make([]float64, 6)
		_, err := f.Solve(x, b, 2, Plain)
		var e *NonFiniteError
		if !errors.As(err, &e) || e.Where != "b" || e.Row != 1 || e.Col != 1 || !math.IsNaN(x[0]) {
			t.Fatalf("b: got %v, x = %v", err, x)
		}
	}
	// After a refusal the same LU serves a good matrix.
	var f LU
	f.Factor(Dense{1, []float64{math.NaN()}})
	if err := f.Factor(Dense{1, []float64{2}}); err != nil {
		t.Fatal(err)
	}
	// The solution, not the data, overflows.
	f.Factor(Dense{1, []float64{1e-300}})
	x := []float64{0}
	_, err := f.Solve(x, []float64{1e300}, 1, Plain)
	var e *NonFiniteError
	if !errors.As(err, &e) || e.Where != "x" || !math.IsNaN(x[0]) {
		t.Fatalf("overflow: %v, %v", err, x)
	}
}

func TestEmptySystem(t *testing.T) {
	f := factor(t, Dense{0, nil})
	for _, form := range []Form{Plain, Transposed} {
		if s, err := f.Solve(nil, nil, 3, form); err != nil || s != (Solution{}) {
			t.Errorf("got %+v, %v", s, err)
		}
	}
	if e := f.Evidence(); e.ConditionOne != 1 || e.ConditionTwo != 1 || e.DetSign != 1 || e.LogAbsDet != 0 {
		t.Errorf("evidence %+v", e)
	}
	f = factor(t, Dense{2, []float64{1, 2, 3, 4}})
	if _, err := f.Solve(nil, nil, 0, Plain); err != nil {
		t.Error(err)
	}
}

// Bad units alone are not a reason to refuse: rows and columns scaled by powers of two over 400
// orders of magnitude give the bits of the unscaled solution.
func TestUnitsDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	n := 6
	a, b := random(n, rng), vectorOf(n, rng)
	x := nans(n)
	plain, err := factor(t, a).Solve(x, b, 1, Plain)
	if err != nil {
		t.Fatal(err)
	}
	scaled, sb := Dense{n, make([]float64, n*n)}, make([]float64, n)
	row, col := make([]int, n), make([]int, n)
	for i := range n {
		row[i], col[i] = rng.IntN(600)-300, rng.IntN(600)-300
	}
	for i := range n {
		sb[i] = math.Ldexp(b[i], row[i])
		for j := range n {
			scaled.Data[i*n+j] = math.Ldexp(a.Data[i*n+j], row[i]+col[j])
		}
	}
	f := factor(t, scaled)
	y := nans(n)
	s, err := f.Solve(y, sb, 1, Plain)
	if err != nil {
		t.Fatal(err)
	}
	for j := range n {
		if got := math.Ldexp(y[j], col[j]); math.Abs(got-x[j]) > Epsilon*math.Abs(x[j]) {
			t.Errorf("x[%d] = %g, want %g", j, got, x[j])
		}
	}
	if s.Componentwise > 2*plain.Componentwise+Epsilon {
		t.Errorf("componentwise backward error %g, unscaled %g", s.Componentwise, plain.Componentwise)
	}
	if e := f.Evidence(); !(e.ConditionScaled < 1e4) || !(e.ConditionOne > 1e50) {
		t.Errorf("scaled condition %g, condition %g", e.ConditionScaled, e.ConditionOne)
	}
}

func TestExtremeEntries(t *testing.T) {
	for name, a := range map[string]Dense{
		"graded":            {3, []float64{1e200, 1e100, 1, 1e100, 3, 1e-100, 1, 1e-100, 5e-200}},
		"diagonal":          {3, []float64{1e-300, 0, 0, 0, 1e300, 0, 0, 0, 1}},
		"scaling underflow": {2, []float64{1e300, 1e-300, 1e-300, 1e300}},
		"subnormal entry":   {2, []float64{1, 5e-324, 5e-324, 1}},
		"powell":            {2, []float64{1e4 * 9.106146739867, 1e4 * 1.098159329699e-5, -0.99998901846, -1.1098e-4}},
		"permuted scaling":  {2, []float64{0, 1e-150, 1e150, 0}},
	} {
		for _, form := range []Form{Plain, Transposed} {
			b := []float64{1, 1, 1}[:a.N]
			x := nans(a.N)
			f := factor(t, a)
			if _, err := f.Solve(x, b, 1, form); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want, _ := exactSolve(a, b, form)
			for i := range x {
				w, _ := want[i].Float64()
				if math.Abs(x[i]-w) > 2*Epsilon*math.Abs(w) {
					t.Errorf("%s: x[%d] = %g, want %g", name, i, x[i], w)
				}
			}
		}
	}
	// κ₂ overflows; σ_min does not.
	e := factor(t, Dense{2, []float64{1e200, 0, 0, 1e-200}}).Evidence()
	if e.SigmaMax != 1e200 || math.Abs(e.SigmaMin/1e-200-1) > 1e-14 || !math.IsInf(e.ConditionTwo, 1) {
		t.Errorf("%+v", e)
	}
}

func TestSeveralRightHandSides(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	n, k := 7, 4
	a := random(n, rng)
	b := random(n*k, rng).Data[:n*k]
	f := factor(t, a)
	for _, form := range []Form{Plain, Transposed} {
		x := nans(n * k)
		all, err := f.Solve(x, b, k, form)
		if err != nil {
			t.Fatal(err)
		}
		var worst float64
		for c := range k {
			bc, xc := make([]float64, n), nans(n)
			for i := range n {
				bc[i] = b[i*k+c]
			}
			s, err := f.Solve(xc, bc, 1, form)
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, s.ResidualNorm)
			for i := range n {
				if x[i*k+c] != xc[i] {
					t.Fatalf("column %d differs from its own solve", c)
				}
			}
		}
		if all.ResidualNorm != worst {
			t.Errorf("residual norm %g, worst %g", all.ResidualNorm, worst)
		}
		// In place.
		y := append([]float64(nil), b...)
		if _, err := f.Solve(y, y, k, form); err != nil {
			t.Fatal(err)
		}
		for i := range y {
			if y[i] != x[i] {
				t.Fatal("solving in place differs")
			}
		}
	}
}

func TestTransposedSolveIsTheSolveOfTheTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSystem(t)
		n := a.N
		transpose := Dense{n, make([]float64, n*n)}
		for i := range n {
			for j := range n {
				transpose.Data[j*n+i] = a.Data[i*n+j]
			}
		}
		var f, g LU
		if f.Factor(a) != nil || g.Factor(transpose) != nil || f.cond > 1e13 {
			t.Skip("refused")
		}
		x, y := nans(n), nans(n)
		_, err := f.Solve(x, b, 1, Transposed)
		_, err2 := g.Solve(y, b, 1, Plain)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		size := largest(y)
		for i := range x {
			if math.Abs(x[i]-y[i]) > 4*Epsilon*size*1e1 {
				t.Fatalf("x[%d] = %g and %g", i, x[i], y[i])
			}
		}
	})
}

// drawSystem draws a matrix of small integers, tenths or wide powers of two, often singular.
func drawSystem(t *rapid.T) (Dense, []float64) {
	n := rapid.IntRange(1, 7).Draw(t, "n")
	entry := rapid.OneOf(
		rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) }),
		rapid.Map(rapid.IntRange(-50, 50), func(i int) float64 { return float64(i) / 10 }),
		rapid.Map(rapid.IntRange(-40, 40), func(i int) float64 { return math.Ldexp(1, i) }),
	)
	return Dense{n, rapid.SliceOfN(entry, n*n, n*n).Draw(t, "A")}, rapid.SliceOfN(entry, n, n).Draw(t, "b")
}

// Whatever the matrix, either the answer is right or there is a refusal, and a singular matrix is
// never accepted.
func TestNeverSilentlyWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSystem(t)
		form := Form(rapid.Bool().Draw(t, "transposed"))
		want, det := exactSolve(a, b, form)
		var f LU
		err := f.Factor(a)
		if want == nil {
			if err == nil {
				t.Fatal("a singular matrix was accepted")
			}
			return
		}
		if err != nil {
			var ill *IllConditionedError
			var singular *SingularError
			if !errors.As(err, &ill) && !errors.As(err, &singular) {
				t.Fatal(err)
			}
			if c := exactCondition(f.scaled); c < 1e14 {
				t.Fatalf("condition %g refused: %v", c, err)
			}
			return
		}
		x := nans(a.N)
		s, err := f.Solve(x, b, 1, form)
		if err != nil {
			t.Fatal(err)
		}
		if s.Normwise > Epsilon {
			t.Fatalf("backward error %g", s.Normwise)
		}
		scaledWant, scaledX := make([]*big.Rat, a.N), make([]float64, a.N)
		right := f.col
		if form == Transposed {
			right = f.row
		}
		for j := range want {
			unit := math.Ldexp(1, -right[j])
			scaledWant[j] = new(big.Rat).Mul(want[j], new(big.Rat).SetFloat64(unit))
			scaledX[j] = x[j] * unit
		}
		if e := relativeError(scaledX, scaledWant); f.cond < 1e13 && e > Epsilon {
			t.Fatalf("condition %g, relative error %g, %+v", f.cond, e, s)
		}
		sign, log := f.determinant()
		d, _ := det.Float64()
		if sign != det.Sign() || f.cond < 1e10 && math.Abs(log-math.Log(math.Abs(d))) > 1e-4+1e-13*math.Abs(log) {
			t.Fatalf("det: sign %d, log %g; exact %g", sign, log, d)
		}
		if c := exactCondition(f.scaled); f.cond > c*(1+1e-3) || f.cond < c/(3*float64(a.N)) {
			t.Fatalf("condition estimate %g, exact %g", f.cond, c)
		}
	})
}

func TestSingularValuesAgainstSVD(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	for _, n := range []int{1, 2, 3, 10, 60, 120} {
		for _, a := range []Dense{random(n, rng), orthogonalTimes(n, 1e-6, rng)} {
			var svd mat.SVD
			if !svd.Factorize(mat.NewDense(n, n, append([]float64(nil), a.Data...)), mat.SVDNone) {
				t.Fatal("svd")
			}
			values := svd.Values(nil)
			e := factor(t, a).Evidence()
			top, bottom := values[0], values[n-1]
			if math.Abs(e.SigmaMax-top) > 1e-12*top {
				t.Errorf("n = %d: σ_max %v, svd %v", n, e.SigmaMax, top)
			}
			if math.Abs(e.SigmaMin-bottom) > 1e-14*top*float64(n) {
				t.Errorf("n = %d: σ_min %v, svd %v", n, e.SigmaMin, bottom)
			}
			if e.SigmaMinError > 1e-8*top || e.SigmaMaxError > 1e-8*top {
				t.Errorf("n = %d: errors %g, %g", n, e.SigmaMinError, e.SigmaMaxError)
			}
			// A·Right = SigmaMin·Left, with unit vectors.
			p := make([]float64, n)
			a.Mul(p, e.Right, Plain)
			for i := range p {
				p[i] -= e.SigmaMin * e.Left[i]
			}
			if nrm2(p) > e.SigmaMinError+1e-13*top || math.Abs(nrm2(e.Left)-1) > 1e-13 || math.Abs(nrm2(e.Right)-1) > 1e-13 {
				t.Errorf("n = %d: not a singular triplet: %g", n, nrm2(p))
			}
		}
	}
}

// orthogonalTimes returns Q·diag(1, …, 1, least)·Qᵀ-like: all singular values 1 but the last.
func orthogonalTimes(n int, least float64, rng *rand.Rand) Dense {
	var q mat.QR
	q.Factorize(mat.NewDense(n, n, random(n, rng).Data))
	var o mat.Dense
	q.QTo(&o)
	d := mat.NewDiagDense(n, nil)
	for i := range n {
		d.SetDiag(i, 1)
	}
	d.SetDiag(n-1, least)
	var p mat.Dense
	p.Mul(&o, d)
	return Dense{n, mat.DenseCopyOf(&p).RawMatrix().Data}
}

// The correction that is not applied any more is the rounding error of x itself.
func TestErrorEstimate(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	largest := 0.0
	for range 20 {
		a, b := random(8, rng), vectorOf(8, rng)
		x := nans(8)
		f := factor(t, a)
		s, err := f.Solve(x, b, 1, Plain)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := exactSolve(a, b, Plain)
		e := relativeError(x, want)
		if math.Abs(e-s.ErrorEstimate) > 0.01*Epsilon {
			t.Errorf("relative error %g, estimate %g, condition %g", e, s.ErrorEstimate, f.cond)
		}
		largest = max(largest, e)
	}
	if largest < 0.1*Epsilon {
		t.Error("no error to estimate")
	}
}

func TestInputsAreNotChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 1))
	var f LU
	for _, n := range []int{4, 9, 2, 0, 3, 3} { // one LU for all sizes
		a, b := random(n, rng), random(n, rng).Data
		a0, b0 := slices.Clone(a.Data), slices.Clone(b)
		x := nans(n * n)
		if err := f.Factor(a); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Solve(x, b, n, Transposed); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(f.factors.Data)
		f.Evidence()
		if !slices.Equal(a.Data, a0) || !slices.Equal(b, b0) || !slices.Equal(f.factors.Data, before) {
			t.Errorf("n = %d: an input or the factors changed", n)
		}
		for c := range n {
			bc, xc := make([]float64, n), make([]float64, n)
			for i := range n {
				bc[i], xc[i] = b[i*n+c], x[i*n+c]
			}
			want, _ := exactSolve(a, bc, Transposed)
			if e := relativeError(xc, want); e > Epsilon {
				t.Errorf("n = %d: relative error %g", n, e)
			}
		}
	}
}

func TestSolveDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 1))
	for _, n := range []int{3, 150} {
		f := factor(t, random(n, rng))
		b := random(n, rng).Data[:3*n]
		x := nans(3 * n)
		for _, form := range []Form{Plain, Transposed} {
			if allocs := testing.AllocsPerRun(10, func() {
				if _, err := f.Solve(x, b, 3, form); err != nil {
					t.Fatal(err)
				}
			}); allocs != 0 {
				t.Errorf("n = %d: %v allocations per solve", n, allocs)
			}
		}
	}
}

func TestMulIsTheMatrix(t *testing.T) {
	a := Dense{2, []float64{1, 2, 3, 4}}
	y := nans(2)
	if a.Mul(y, []float64{1, 10}, Plain); y[0] != 21 || y[1] != 43 {
		t.Error(y)
	}
	if a.Mul(y, []float64{1, 10}, Transposed); y[0] != 31 || y[1] != 42 {
		t.Error(y)
	}
}

var _ Solver = (*LU)(nil)
var _ Operator = Dense{}

func Example() {
	a := Dense{N: 2, Data: []float64{4, 1, 2, 3}}
	var f LU
	if err := f.Factor(a); err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, 2)
	s, err := f.Solve(x, []float64{6, 8}, 1, Plain)
	fmt.Println(x, s.ResidualNorm, err)

	_, err = f.Solve(x, []float64{6, 8}, 1, Transposed)
	fmt.Println(x, err)
	fmt.Println(f.Factor(Dense{N: 2, Data: []float64{1, 2, 2, 4}}))
	// Output:
	// [1 2] 0 <nil>
	// [0.2 2.6] <nil>
	// linsolve: the matrix is singular: pivot 1 is 0; equations [0 1] depend on each other in unknowns [0 1]: remove or change one of them
}

// An estimate has the error that the condition allows, in any units, and none comes of a refused matrix.
func TestEstimate(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	for n := 1; n <= 8; n++ {
		for _, form := range []Form{Plain, Transposed} {
			a, b := hilbert(n), vectorOf(n, rng)
			a.Data[0] *= -1
			for i := range n {
				for j := range n {
					a.Data[i*n+j] = math.Ldexp(a.Data[i*n+j], 40*(i%3)-60*(j%2))
				}
			}
			f := factor(t, a)
			want, _ := exactSolve(a, b, form)
			x := slices.Clone(b)
			f.Estimate(x, form)
			for i := range x { // in the scaled unknowns, in which the condition is that of the estimate
				scaling := f.Scaled().Cols
				if form == Transposed {
					scaling = f.Scaled().Rows
				}
				x[i] /= scaling[i]
				want[i].Quo(want[i], new(big.Rat).SetFloat64(scaling[i]))
			}
			if e := relativeError(x, want); !(e <= 4*Epsilon*f.cond) {
				t.Errorf("n = %d, form %v: relative error %.3g at condition %.3g", n, form, e, f.cond)
			}
		}
	}
	var f LU
	if err := f.Factor(Dense{2, []float64{1, 2, 2, 4}}); err == nil {
		t.Fatal("a singular matrix was factored")
	}
	x := []float64{1, 2}
	if f.Estimate(x, Plain); !math.IsNaN(x[0]) || !math.IsNaN(x[1]) {
		t.Errorf("of a singular matrix: %v", x)
	}
}
