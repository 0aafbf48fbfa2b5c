package implicit

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
)

// scalars makes the map of formulas over named scalars: state and params are the names, apart by spaces.
func scalars(t testing.TB, state, params string, formulas ...string) *Map {
	t.Helper()
	b := graph.NewBuilder("f")
	scope := formula.Scope{}
	var inputs [2][]int
	for k, names := range []string{state, params} {
		for _, name := range strings.Fields(names) {
			inputs[k] = append(inputs[k], len(scope))
			scope[name] = b.Input(name, graph.Scalar)
		}
	}
	var out []graph.Value
	for _, text := range formulas {
		v, err := formula.Lower(b, scope, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, v)
	}
	f, err := NewMap(b.Build(out...), inputs[0], inputs[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rounds is how many problems a test draws: n, or n times the factor in LENSIR_FUZZ.
func rounds(n int) int {
	if factor, err := strconv.Atoi(os.Getenv("LENSIR_FUZZ")); err == nil {
		return n * factor
	}
	return n
}

// family is an equation in w with a known root w(a) and slope dw/da.
type family struct {
	r           string
	a           func(rng *rand.Rand) float64
	root, slope func(a float64) float64
	starts      []float64
}

// w − 1/w = a has the root e^asinh(a/2), and another, −e^−asinh(a/2).
var families = []family{
	{"log(w + sqrt(1 + w^2)) - a", func(rng *rand.Rand) float64 { return 0.1 + 10*rng.Float64() }, math.Sinh, math.Cosh, []float64{0, 0.5, 3}},
	{"atan(w) - a", func(rng *rand.Rand) float64 { return 1.55 * (2*rng.Float64() - 1) }, math.Tan, func(a float64) float64 { return 1 / (math.Cos(a) * math.Cos(a)) }, []float64{0, 0.5, -1}},
	{"w / sqrt(1 + w^2) - a", func(rng *rand.Rand) float64 { return 0.99 * (2*rng.Float64() - 1) },
		func(a float64) float64 { return a / math.Sqrt(1-a*a) }, func(a float64) float64 { return math.Pow(1-a*a, -1.5) }, []float64{0, 0.3, -0.5}},
	{"w - 1 / w - a", func(rng *rand.Rand) float64 { return 3 * rng.NormFloat64() },
		func(a float64) float64 { return math.Exp(math.Asinh(a / 2)) },
		func(a float64) float64 { return math.Exp(math.Asinh(a/2)) / math.Sqrt(a*a+4) }, []float64{1, 0.2, 9}},
	{"exp(w) - 1 - a", func(rng *rand.Rand) float64 { return 2 * rng.Float64() },
		math.Log1p, func(a float64) float64 { return 1 / (1 + a) }, []float64{0, 1, 3}},
}

// A root is one in units of any size, and beside an unknown of any size: what is accepted is the root, with its
// derivative, and next to nothing is refused.
func TestFamiliesInAllUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	wrong, refused, total := 0, map[graph.Status]int{}, rounds(400)
	for i := range total {
		f := families[i%len(families)]
		a := f.a(rng)
		s := math.Pow(10, math.Round(32*rng.Float64()-16))
		factor := math.Pow(10, math.Round(32*rng.Float64()-16))
		other := math.Pow(10, math.Round(32*rng.Float64()-16))
		start := f.starts[rng.IntN(len(f.starts))]
		r := fmt.Sprintf("%g * (%s)", factor, strings.ReplaceAll(f.r, "w", fmt.Sprintf("(z/%g)", s)))
		r = strings.ReplaceAll(r, "(z/1)", "z")
		var m *Map
		z0 := []float64{start * s}
		var text string
		switch kind := rng.IntN(4); kind {
		case 0:
			m, text = scalars(t, "z", "a", r), r
		case 1:
			text = r + fmt.Sprintf(" ; p / %g - 1", other)
			m, z0 = scalars(t, "z p", "a", r, fmt.Sprintf("p / %g - 1", other)), append(z0, other)
		case 2:
			text = r + fmt.Sprintf(" ; p * %g - a", other)
			m, z0 = scalars(t, "z p", "a", r, fmt.Sprintf("p * %g - a", other)), append(z0, 0)
		case 3: // the other unknown takes part, and both are one block
			in := func(text string) string {
				return strings.NewReplacer("a)", "t[0] * z[1] / "+fmt.Sprint(other)+")", "z/", "z[0]/", "z ", "z[0] ", "z)", "z[0])", "z^", "z[0]^").Replace(text)
			}
			text = in(r) + fmt.Sprintf(" ; z[1] / %g - 1", other)
			m, z0 = vectorMap(t, 2, 1, in(r), fmt.Sprintf("z[1] / %g - 1", other)), append(z0, other*1.5)
		}
		root, err := FindRoot(m, z0, []float64{a}, Settings{})
		if err != nil {
			refused[statusOf(err)]++
			continue
		}
		sens, err := Differentiate(m, root)
		if err != nil {
			refused[statusOf(err)]++
			continue
		}
		want, slope := f.root(a)*s, f.slope(a)*s
		if strings.Contains(f.r, "1 / w") && root.Z[0] < 0 { // the other root
			want, slope = -s/f.root(a), s*f.slope(a)/(f.root(a)*f.root(a))
		}
		if e := math.Abs(root.Z[0]/want - 1); e > 1e-9 {
			wrong++
			t.Errorf("%s at a = %v from %v: %v, want %v", text, a, z0, root.Z[0], want)
		} else if e := math.Abs(sens.S[0]/slope - 1); e > 1e-8 {
			wrong++
			t.Errorf("%s at a = %v from %v: dz/da = %v, want %v", text, a, z0, sens.S[0], slope)
		}
		off := sens.S[0] - slope
		if len(sens.S) == 2 && strings.HasSuffix(text, "- a") {
			off = math.Hypot(off, sens.S[1]-1/other)
		}
		reference := 64 * 0x1p-53 * norm2(sens.S) // of the root and slope in float64
		if off = math.Abs(off); off > sens.ErrorEstimate+reference || sens.ErrorEstimate > 1e-6*norm2(sens.S) {
			wrong++
			t.Errorf("%s at a = %v from %v: an error of %.3g, estimated as %.3g, in %v", text, a, z0, off, sens.ErrorEstimate, sens.S)
		}
	}
	t.Logf("%d problems: %d wrong, refused %v", total, wrong, refused)
	if n := refused[graph.NotConverged] + refused[graph.SingularStateJacobian]; 50*n > total {
		t.Errorf("%v of %d regular roots are refused", refused, total)
	}
}

// An unknown that vanishes is known, in units up to 1 and from any start.
func TestOneUnknownThatVanishes(t *testing.T) {
	for _, unit := range []float64{1e-200, 1e-12, 1e-6, 1, 1e3} {
		for _, f := range []string{"exp(x / %[1]g) - 1 - p", "sin(x / %[1]g) + x / %[1]g - p", "(x / %[1]g + 1)^3 - 1 - p", "x / %[1]g + 0.3 - 0.3 - p", "cos(x / %[1]g + 1) - cos(1) + p"} {
			for _, p := range []float64{0, 1e-17, 1e-15, -1e-12} {
				for _, start := range []float64{0, 0.3, -0.1} {
					text := fmt.Sprintf(f, unit)
					root, err := FindRoot(scalars(t, "x", "p", text), []float64{start * unit}, []float64{p}, Settings{})
					if err != nil || math.Abs(root.Z[0]/unit) > 2e-12 {
						t.Errorf("%s at p = %g from %g: %v, %v", text, p, start, root.Z, err)
					}
				}
			}
		}
	}
}

// An unknown that vanishes beside others is known as well as rounding lets it be, and not refused for that; nor is one that
// depends on it.
func TestUnknownsThatVanish(t *testing.T) {
	for _, p := range []float64{0, 1e-18, 5.5e-17, 3e-16, 1e-14, 1e-11, 1e-9, 1e-6, 1e-3} {
		for _, unit := range []float64{1e-12, 1, 1e12} {
			r := scalars(t, "x y z", "p", fmt.Sprintf("exp(x / %g) - 1 - p", unit), "y - 2 * x", fmt.Sprintf("z / %g - 1 - 3 * y / %g", unit*1e9, unit))
			root, err := FindRoot(r, []float64{0.1 * unit, unit, unit}, []float64{p}, Settings{})
			if err != nil {
				t.Errorf("p = %g in units of %g: %v", p, unit, err)
				continue
			}
			if want := math.Log1p(p); math.Abs(root.Z[0]/unit-want) > 4e-16+1e-15*want || math.Abs(root.Z[1]-2*root.Z[0]) > 1e-15*unit {
				t.Errorf("p = %g in units of %g: %v", p, unit, root.Z)
			}
		}
	}
}

// solveExact solves A x = b in rational arithmetic.
func solveExact(a [][]float64, b []float64) []float64 {
	n := len(b)
	m := make([][]*big.Rat, n)
	for i := range m {
		for j := range n {
			m[i] = append(m[i], new(big.Rat).SetFloat64(a[i][j]))
		}
		m[i] = append(m[i], new(big.Rat).SetFloat64(b[i]))
	}
	for k := range n {
		p := k
		for p < n && m[p][k].Sign() == 0 {
			p++
		}
		if p == n {
			return nil
		}
		m[p], m[k] = m[k], m[p]
		for i := range n {
			if i != k {
				f := new(big.Rat).Quo(m[i][k], m[k][k])
				for j := k; j <= n; j++ {
					m[i][j].Sub(m[i][j], new(big.Rat).Mul(f, m[k][j]))
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i], _ = new(big.Rat).Quo(m[i][n], m[i][i]).Float64()
	}
	return x
}

// The error estimate of every unknown covers its error, in systems of any condition and of any units, with unknowns that are small
// or vanish; where nothing is near singular, and no unit is above 1, none is refused.
func TestErrorsOfEveryEntry(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	m := scalars(t, "x y z", "a b c d e f g h i p q r", "a*x + b*y + c*z - p", "d*x + e*y + f*z - q", "g*x + h*y + i*z - r")
	power := func() float64 { return math.Pow(10, math.Round(24*rng.Float64()-12)) }
	refused := 0
	for range rounds(300) {
		a, b := vectors(3, 3), make([]float64, 3)
		for i := range 9 {
			a[i/3][i%3] = rng.NormFloat64()
		}
		singular := math.Pow(10, -10*rng.Float64())
		for j := range 3 {
			a[2][j] = a[0][j] + a[1][j] + singular*a[2][j]
		}
		rows := []float64{power(), power(), power()}
		small := rng.IntN(2) == 0
		for j := range 3 {
			unit := power()
			if small {
				unit = min(unit, 1/unit)
			}
			z := []float64{0, 1, 1e-4, 1e-9, 1e-15}[rng.IntN(5)] * rng.NormFloat64() * unit
			for i := range 3 {
				a[i][j] *= rows[i] / unit
				b[i] += a[i][j] * z
			}
		}
		want := solveExact(a, b)
		root, err := FindRoot(m, []float64{1, 1, 1}, slices.Concat(a[0], a[1], a[2], b), Settings{})
		if err != nil {
			if root.ConditionScaled < 1e4 && small {
				refused++
				t.Logf("condition %.2g: %v", root.ConditionScaled, err)
			}
			continue
		}
		for i, w := range want {
			if e := math.Abs(root.Z[i] - w); e > 2*root.Errors[i]+1e-300 {
				t.Errorf("%v is off by %g, the estimate is %g (condition %.2g)", root.Z[i], e, root.Errors[i], root.ConditionScaled)
			}
		}
	}
	if refused > rounds(300)/50 {
		t.Errorf("%d well-conditioned systems are refused", refused)
	}
}

// An unknown that drowns in its equation is refused; and so is a small one, where it is more than rounding that leaves it unknown.
func TestUnknownsThatDrown(t *testing.T) {
	for _, f := range []string{"(1e8 + x) - 1e8 - p", "(1e15 + x) - 1e15 - p", "(1e16 + x) - 1e16 - p"} {
		if root, err := FindRoot(scalars(t, "x", "p", f), []float64{0}, []float64{1}, Settings{}); statusOf(err) != graph.NotConverged {
			t.Errorf("%s: %v, %v", f, root.Z, err)
		}
	}
	// The condition is 1e9, and the unknowns, of 1e-6, are known to a tenth of that and less.
	r := scalars(t, "x y", "p q", "exp(x + y) - p", "exp(x + (1 + 1e-9) * y) - q")
	if root, err := FindRoot(r, []float64{0, 0}, []float64{math.Exp(2e-6), math.Exp(2e-6 + 1e-15)}, Settings{}); err == nil {
		t.Errorf("%v is known to %v", root.Z, root.Errors)
	}
}

// Equations in different units do not slow the iteration down: where y·x is of another size than x, a full step makes ‖R‖ larger, and is
// right all the same.
func TestStepsInMixedUnits(t *testing.T) {
	for _, unit := range []float64{1e-12, 1e-6, 1e-3, 1, 1e3, 1e6, 1e9, 1e12} {
		r := vectorMap(t, 2, 1, fmt.Sprintf("[z[0] - 1.5 * t[0], z[0] * z[1] - %g * t[0]]", unit))
		root, err := FindRoot(r, []float64{1, unit}, []float64{1}, Settings{})
		if err != nil {
			t.Errorf("unit %g: %v", unit, err)
			continue
		}
		if root.Iterations > 6 || math.Abs(root.Z[0]-1.5) > 1e-15 || math.Abs(root.Z[1]*1.5/unit-1) > 1e-15 {
			t.Errorf("unit %g: %v after %d steps", unit, root.Z, root.Iterations)
		}
	}
}

// Where rounding alone keeps Newton's steps above the tolerance, the reason says how far the root is known, and not to take more steps.
func TestStepsThatAreRounding(t *testing.T) {
	for _, n := range []int{6, 7, 8} {
		var equations []string
		for i := range n { // a Vandermonde system with nodes close together
			x := 1 + float64(i)*0.0313
			text := fmt.Sprintf("-sin(%v) * t[0]", x)
			for j := range n {
				text += fmt.Sprintf(" + z[%d] * %v^%d", j, x, j)
			}
			equations = append(equations, text)
		}
		root, err := FindRoot(vectorMap(t, n, 1, equations...), make([]float64, n), []float64{1}, Settings{Tolerance: 1e-2})
		if err != nil && !strings.Contains(err.Error(), "known only to") && statusOf(err) != graph.SingularStateJacobian {
			t.Errorf("%d nodes: %v", n, err)
		}
		if root.Iterations > 20 {
			t.Errorf("%d nodes: %d steps", n, root.Iterations)
		}
	}
}
