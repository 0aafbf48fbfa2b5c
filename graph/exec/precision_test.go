package exec_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/op"
)

// Functions to 300 bits, from series that converge fast: the truth that leaf kernels are held against.

const bits = 300

func number(x float64) *big.Float          { return new(big.Float).SetPrec(bits).SetFloat64(x) }
func zero() *big.Float                     { return new(big.Float).SetPrec(bits) }
func plus(x, y *big.Float) *big.Float      { return zero().Add(x, y) }
func minus(x, y *big.Float) *big.Float     { return zero().Sub(x, y) }
func times(x, y *big.Float) *big.Float     { return zero().Mul(x, y) }
func over(x, y *big.Float) *big.Float      { return zero().Quo(x, y) }
func root(x *big.Float) *big.Float         { return zero().Sqrt(x) }
func scale(x *big.Float, k int) *big.Float { return zero().SetMantExp(x, k) }

// series adds terms, each of which next makes from the one before, until they no longer count.
func series(term *big.Float, next func(term *big.Float, n int64) *big.Float) *big.Float {
	sum := zero().Set(term)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-bits-8; n++ {
		term = next(term, n)
		sum.Add(sum, term)
	}
	return sum
}

func integer(n int64) *big.Float { return zero().SetInt64(n) }

// bigExpm1 is eˣ − 1: the series for x/2ᵏ, then (e²ʸ − 1) = (eʸ − 1)(eʸ + 1).
func bigExpm1(x *big.Float) *big.Float {
	k := max(0, x.MantExp(nil)+8)
	y := scale(x, -k)
	e := series(y, func(t *big.Float, n int64) *big.Float { return over(times(t, y), integer(n+1)) })
	for range k {
		e = times(e, plus(e, integer(2)))
	}
	return e
}

func bigExp(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return over(integer(1), bigExp(zero().Neg(x)))
	}
	return plus(bigExpm1(x), integer(1))
}

// bigLog solves eʸ = x by Halley's iteration from the float64 logarithm.
func bigLog(x *big.Float) *big.Float {
	mantissa, exponent := zero(), 0
	exponent = x.MantExp(mantissa)
	m, _ := mantissa.Float64()
	y := number(math.Log(m))
	for range 5 {
		e := bigExp(y)
		y = plus(y, over(scale(minus(mantissa, e), 1), plus(mantissa, e)))
	}
	if exponent == 0 {
		return y
	}
	return plus(y, times(integer(int64(exponent)), bigLn2))
}

// bigAtan halves the angle until the series converges fast.
func bigAtan(x *big.Float) *big.Float {
	const halvings = 8
	for range halvings {
		x = over(x, plus(integer(1), root(plus(integer(1), times(x, x)))))
	}
	square := times(x, x)
	power := zero().Set(x)
	sum := series(x, func(_ *big.Float, n int64) *big.Float {
		power = zero().Neg(times(power, square))
		return over(power, integer(2*n+1))
	})
	return scale(sum, halvings)
}

var (
	bigPi  = scale(bigAtan(integer(1)), 2)
	bigLn2 = func() *big.Float { // 2·artanh ⅓
		power := over(integer(1), integer(3))
		return scale(series(power, func(_ *big.Float, n int64) *big.Float {
			power = over(power, integer(9))
			return over(power, integer(2*n+1))
		}), 1)
	}()
)

// longQuarter is π/2 to 1500 bits, by Machin's formula π/4 = 4·atan ⅕ − atan 1/239.
var longQuarter = func() *big.Float {
	const precision = 1500
	inverse := func(n int64) *big.Float {
		power := new(big.Float).SetPrec(precision).Quo(big.NewFloat(1), new(big.Float).SetInt64(n))
		sum := new(big.Float).Set(power)
		for k := int64(1); power.MantExp(nil) > -precision; k++ {
			power.Quo(power, new(big.Float).SetInt64(-n*n))
			sum.Add(sum, new(big.Float).SetPrec(precision).Quo(power, new(big.Float).SetInt64(2*k+1)))
		}
		return sum
	}
	fifth := inverse(5)
	return fifth.SetMantExp(fifth.Sub(fifth.SetMantExp(fifth, 2), inverse(239)), 1)
}()

// bigQuarters is the whole number of quarters nearest to x, modulo 4, and the rest.
func bigQuarters(x *big.Float) (n uint, r *big.Float) {
	long := new(big.Float).SetPrec(longQuarter.Prec())
	ratio := long.Quo(x, longQuarter)
	half := big.NewFloat(0.5)
	if ratio.Sign() < 0 {
		half.Neg(half)
	}
	whole, _ := new(big.Float).SetPrec(longQuarter.Prec()).Add(ratio, half).Int(nil)
	product := new(big.Float).SetPrec(longQuarter.Prec()).SetInt(whole)
	product.Mul(product, longQuarter)
	return uint(new(big.Int).And(whole, big.NewInt(3)).Uint64()), zero().Sub(x, product)
}

// bigSinCos takes multiples of π/2 off.
func bigSinCos(x *big.Float) (sin, cos *big.Float) {
	n, r := bigQuarters(x)
	square := zero().Neg(times(r, r))
	next := func(first int64) func(*big.Float, int64) *big.Float {
		return func(t *big.Float, n int64) *big.Float {
			return over(times(t, square), integer((2*n+first)*(2*n+first-1)))
		}
	}
	s, c := series(r, next(1)), series(integer(1), next(0))
	switch n {
	case 0:
		return s, c
	case 1:
		return c, zero().Neg(s)
	case 2:
		return zero().Neg(s), zero().Neg(c)
	}
	return zero().Neg(c), s
}

// bigErf is 2/√π·e^(−x²)·Σ 2ⁿx²ⁿ⁺¹/(2n+1)!!, whose terms have one sign.
func bigErf(x *big.Float) *big.Float {
	square := times(x, x)
	sum := series(x, func(t *big.Float, n int64) *big.Float { return over(scale(times(t, square), 1), integer(2*n+1)) })
	return over(scale(times(bigExp(zero().Neg(square)), sum), 1), root(bigPi))
}

// leaf is an elementary function, its truth, and how its operands are drawn.
type leaf struct {
	op     *graph.Op
	domain string
	draw   func(r *rand.Rand) [2]float64
	truth  func(x, y *big.Float) *big.Float
}

// magnitude draws ±2^e with e uniform.
func magnitude(r *rand.Rand, low, high float64) float64 {
	return math.Copysign(math.Exp2(low+(high-low)*r.Float64()), r.Float64()-0.5)
}

func leaves() []leaf {
	one := integer(1)
	between := func(a, b float64) func(*rand.Rand) [2]float64 {
		return func(r *rand.Rand) [2]float64 { return [2]float64{a + (b-a)*r.Float64(), 1} }
	}
	sized := func(low, high float64) func(*rand.Rand) [2]float64 {
		return func(r *rand.Rand) [2]float64 { return [2]float64{magnitude(r, low, high), 1} }
	}
	nearQuarters := func(r *rand.Rand) [2]float64 {
		return [2]float64{float64(1+r.IntN(1000))*(math.Pi/2) + magnitude(r, -40, -1), 1}
	}
	nearMany := func(r *rand.Rand) [2]float64 { // the rounding of n·π/2, which is within half a unit of it
		n := new(big.Float).SetPrec(longQuarter.Prec()).SetInt64(1 + r.Int64N(1<<50))
		x, _ := n.Mul(n, longQuarter).Float64()
		return [2]float64{x, 1}
	}
	nearOne := func(r *rand.Rand) [2]float64 { return [2]float64{1 - math.Abs(magnitude(r, -50, -1)), 1} }
	aboveOne := func(r *rand.Rand) [2]float64 { return [2]float64{1 + magnitude(r, -50, -1), 1} }
	sin := func(x, _ *big.Float) *big.Float { s, _ := bigSinCos(x); return s }
	cos := func(x, _ *big.Float) *big.Float { _, c := bigSinCos(x); return c }
	tan := func(x, _ *big.Float) *big.Float { s, c := bigSinCos(x); return over(s, c) }
	exp := func(x, _ *big.Float) *big.Float { return bigExp(x) }
	log := func(x, _ *big.Float) *big.Float { return bigLog(x) }
	asin := func(x, _ *big.Float) *big.Float { return bigAtan(over(x, root(minus(one, times(x, x))))) }
	acos := func(x, _ *big.Float) *big.Float {
		return scale(bigAtan(root(over(minus(one, x), plus(one, x)))), 1)
	}
	hyperbolic := func(x *big.Float) (sinh, cosh *big.Float) { // from e = e^|x| − 1: e + e/(1 + e) over 2
		if x.Sign() < 0 {
			x = zero().Neg(x)
			defer func() { sinh = zero().Neg(sinh) }()
		}
		e := bigExpm1(x)
		reciprocal := over(e, plus(one, e))
		return scale(plus(e, reciprocal), -1), plus(one, scale(minus(e, reciprocal), -1))
	}
	power := func(x, y *big.Float) *big.Float { return bigExp(times(y, bigLog(x))) }
	tanh := func(x, _ *big.Float) *big.Float { s, c := hyperbolic(x); return over(s, c) }
	return []leaf{
		{op.Exp, "[-700, 700]", between(-700, 700), exp},
		{op.Exp, "|x| in [2^-30, 2^3]", sized(-30, 3), exp},
		{op.Expm1, "|x| in [2^-30, 2^5]", sized(-30, 5), func(x, _ *big.Float) *big.Float { return bigExpm1(x) }},
		{op.Expm1, "[0.38, 0.42]", between(0.38, 0.42), func(x, _ *big.Float) *big.Float { return bigExpm1(x) }},
		{op.Log, "[0, 1000]", between(1e-9, 1000), log},
		{op.Log, "near 1", aboveOne, log},
		{op.Log, "[2^-1074, 2^1024]", func(r *rand.Rand) [2]float64 { return [2]float64{math.Exp2(-1074 + 2097.9*r.Float64()), 1} }, log},
		{op.Log1p, "[-1 + 2^-50, 2^60]", func(r *rand.Rand) [2]float64 { return [2]float64{math.Exp2(-50+110*r.Float64()) - 1, 1} },
			func(x, _ *big.Float) *big.Float { return bigLog(plus(one, x)) }},
		{op.Log1p, "|x| in [2^-40, 2^-1]", sized(-40, -1), func(x, _ *big.Float) *big.Float { return bigLog(plus(one, x)) }},
		{op.Sqrt, "[0, 1000]", between(0, 1000), func(x, _ *big.Float) *big.Float { return root(x) }},
		{op.Sin, "[-10, 10]", between(-10, 10), sin},
		{op.Sin, "near multiples of pi/2", nearQuarters, sin},
		{op.Sin, "at multiples up to 2^50 pi/2", nearMany, sin},
		{op.Sin, "|x| in [2^-30, 2^1024]", sized(-30, 1023.99), sin},
		{op.Cos, "[-10, 10]", between(-10, 10), cos},
		{op.Cos, "near multiples of pi/2", nearQuarters, cos},
		{op.Cos, "at multiples up to 2^50 pi/2", nearMany, cos},
		{op.Cos, "|x| in [2^-30, 2^1024]", sized(-30, 1023.99), cos},
		{op.Tan, "[-10, 10]", between(-10, 10), tan},
		{op.Tan, "near multiples of pi/2", nearQuarters, tan},
		{op.Tan, "at multiples up to 2^50 pi/2", nearMany, tan},
		{op.Tan, "|x| in [2^-30, 2^1024]", sized(-30, 1023.99), tan},
		{op.Tan, "|tan x| just below 1", func(r *rand.Rand) [2]float64 {
			return [2]float64{float64(2*r.IntN(1000)+1)*(math.Pi/4) + math.Copysign(0.05*r.Float64(), r.Float64()-0.5), 1}
		}, tan},
		{op.Asin, "|x| in [2^-30, 1]", sized(-30, 0), asin},
		{op.Asin, "below 1", nearOne, asin},
		{op.Acos, "[-1, 1]", between(-1, 1), acos},
		{op.Acos, "below 1", nearOne, acos},
		{op.Atan, "|x| in [2^-30, 2^30]", sized(-30, 30), func(x, _ *big.Float) *big.Float { return bigAtan(x) }},
		{op.Atan2, "y, x in [2^-30, 2^30]", func(r *rand.Rand) [2]float64 {
			return [2]float64{math.Abs(magnitude(r, -30, 30)), math.Abs(magnitude(r, -30, 30))}
		}, func(y, x *big.Float) *big.Float { return bigAtan(over(y, x)) }},
		{op.Sinh, "|x| in [2^-30, 2^9]", sized(-30, 9), func(x, _ *big.Float) *big.Float { s, _ := hyperbolic(x); return s }},
		{op.Sinh, "[0.82, 0.92]", between(0.82, 0.92), func(x, _ *big.Float) *big.Float { s, _ := hyperbolic(x); return s }},
		{op.Cosh, "|x| in [2^-30, 2^9]", sized(-30, 9), func(x, _ *big.Float) *big.Float { _, c := hyperbolic(x); return c }},
		{op.Tanh, "|x| in [2^-30, 2^4]", sized(-30, 4), tanh},
		{op.Sech2, "|x| in [2^-30, 2^8]", sized(-30, 8), func(x, _ *big.Float) *big.Float {
			_, c := hyperbolic(x)
			return over(one, times(c, c))
		}},
		{op.Logistic, "|x| in [2^-30, 2^9]", sized(-30, 9), func(x, _ *big.Float) *big.Float {
			return over(one, plus(one, bigExp(zero().Neg(x))))
		}},
		{op.Softplus, "|x| in [2^-30, 2^6]", sized(-30, 6), func(x, _ *big.Float) *big.Float { return bigLog(plus(one, bigExp(x))) }},
		{op.Erf, "|x| in [2^-30, 2^2]", sized(-30, 2), func(x, _ *big.Float) *big.Float { return bigErf(x) }},
		{op.Erf, "[0.44, 0.48]", between(0.44, 0.48), func(x, _ *big.Float) *big.Float { return bigErf(x) }},
		{op.Gaussian, "|x| in [2^-30, 2^4]", sized(-30, 4), func(x, _ *big.Float) *big.Float { return bigExp(zero().Neg(times(x, x))) }},
		{op.Hypot, "|x|, |y| in [2^-30, 2^30]", func(r *rand.Rand) [2]float64 {
			return [2]float64{magnitude(r, -30, 30), magnitude(r, -30, 30)}
		}, func(x, y *big.Float) *big.Float { return root(plus(times(x, x), times(y, y))) }},
		{op.Pow, "x in [2^-10, 2^10], |y| <= 60", func(r *rand.Rand) [2]float64 {
			return [2]float64{math.Abs(magnitude(r, -10, 10)), 120*r.Float64() - 60}
		}, power},
		{op.Pow, "x > 0, x^y in [2^-1022, 2^1024]", func(r *rand.Rand) [2]float64 {
			x := math.Exp2(-1074 + 2097.9*r.Float64())
			return [2]float64{x, (2046*r.Float64() - 1022) / math.Log2(x)}
		}, power},
		{op.Pow, "x near 1, x^y in [2^-1022, 2^1024]", func(r *rand.Rand) [2]float64 {
			x := aboveOne(r)[0]
			return [2]float64{x, (2046*r.Float64() - 1022) / (math.Log1p(x-1) / math.Ln2)}
		}, power},
		{op.Pow, "x > 0, x^y subnormal", func(r *rand.Rand) [2]float64 {
			x := math.Exp2(-1074 + 2097.9*r.Float64())
			return [2]float64{x, (-1022 - 52*r.Float64()) / math.Log2(x)}
		}, power},
		{op.PowInt, "x in [2^-10, 2^10], 3 <= |n| <= 64", func(r *rand.Rand) [2]float64 {
			return [2]float64{math.Abs(magnitude(r, -10, 10)), math.Copysign(float64(3+r.IntN(62)), r.Float64()-0.5)}
		}, power},
		{op.PowInt, "x near 1, |n| <= 2^30", func(r *rand.Rand) [2]float64 {
			return [2]float64{1 + magnitude(r, -50, -25), math.Trunc(magnitude(r, 0, 30))}
		}, power},
	}
}

// ulps is the distance of have from the truth in units of the last place of the truth's float64.
func ulps(have float64, truth *big.Float) float64 {
	nearest, _ := truth.Float64()
	unit := math.Abs(math.Nextafter(nearest, math.Inf(1)) - nearest)
	d, _ := over(minus(number(have), truth), number(unit)).Float64()
	return math.Abs(d)
}

func (l *leaf) worst(points int) (worst float64, at [2]float64) {
	r := rand.New(rand.NewPCG(7, 11))
	for range points {
		x := l.draw(r)
		have := 0.0
		switch {
		case l.op == op.PowInt:
			have = op.PowInteger(x[0], int(x[1]))
		case l.op.Unary != nil:
			have = l.op.Unary(x[0])
		default:
			have = l.op.Binary(x[0], x[1])
		}
		if d := ulps(have, l.truth(number(x[0]), number(x[1]))); d > worst {
			worst, at = d, x
		}
	}
	return worst, at
}

var points = flag.Int("points", 20_000, "points for each line of testdata/ulp.txt, with -update")

// The table of the worst error seen of each elementary function, which stays below 1. A short run takes the first of the same
// points, and must find nothing worse: the functions have the same bits on every machine. To make the table anew:
//
//	go test ./graph/exec -run TestElementaryFunctions -update
func TestElementaryFunctions(t *testing.T) {
	const file = "testdata/ulp.txt"
	if *update {
		var b bytes.Buffer
		fmt.Fprintf(&b, "# Worst error seen, in units of the last place, on %d points each.\n", *points)
		fmt.Fprintf(&b, "# Made by: go test ./graph/exec -run TestElementaryFunctions -update\n")
		for _, l := range leaves() {
			worst, at := l.worst(*points)
			where := fmt.Sprint(at[0])
			if l.op.Unary == nil {
				where += fmt.Sprint(", ", at[1])
			}
			fmt.Fprintf(&b, "%-10s %-36s %8.4g at %s\n", l.op.Name, l.domain, worst, where)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[2:]
	if len(lines) != len(leaves()) {
		t.Fatalf("%d lines for %d functions", len(lines), len(leaves()))
	}
	for i, l := range leaves() {
		var worst float64
		rest := strings.TrimSpace(strings.TrimPrefix(lines[i], l.op.Name))
		if _, err := fmt.Sscan(strings.TrimPrefix(rest, l.domain), &worst); err != nil || !strings.HasPrefix(lines[i], l.op.Name+" ") {
			t.Fatalf("line %q is not of %s on %s: %v", lines[i], l.op.Name, l.domain, err)
		}
		if worst >= 1 {
			t.Errorf("%s on %s is off by %v ulp, more than 1", l.op.Name, l.domain, worst)
		}
		if have, at := l.worst(100); have > worst*1.001 {
			t.Errorf("%s is off by %.4g ulp at %v, the table says %.4g", l.op.Name, have, at, worst)
		}
	}
}

// hardest returns arguments m·2^e nearest to whole numbers of quarters, of which m is the denominator: the last convergents
// of 2^e/(π/2) with m < 2⁵³.
func hardest(e int) (x []float64) {
	prec := longQuarter.Prec()
	ratio := new(big.Float).SetPrec(prec).SetInt64(1)
	ratio.SetMantExp(ratio, e)
	ratio.Quo(ratio, longQuarter)
	m0, m1 := big.NewInt(1), big.NewInt(0) // denominators
	limit := new(big.Int).Lsh(big.NewInt(1), 53)
	for m0.Cmp(limit) < 0 {
		if f, _ := new(big.Float).SetInt(m0).Float64(); f > 0x1p20 {
			x = append(x, math.Ldexp(f, e))
		}
		whole, _ := ratio.Int(nil)
		ratio.Sub(ratio, new(big.Float).SetPrec(prec).SetInt(whole))
		if ratio.Sign() == 0 {
			break
		}
		ratio.Quo(new(big.Float).SetPrec(prec).SetInt64(1), ratio)
		next, _ := ratio.Int(nil)
		m0, m1 = new(big.Int).Add(new(big.Int).Mul(next, m0), m1), m0
	}
	return x[max(0, len(x)-3):]
}

// The functions of a circle keep their last digits where the argument is as close to a whole number of quarters as a float64 number can be,
// in every binade.
func TestHardestArguments(t *testing.T) {
	const known = 6381956970095103 * 0x1p797
	found := false
	worst := 0.0
	for e := -50; e <= 971; e++ {
		for _, x := range hardest(e) {
			found = found || x == known
			s, c := bigSinCos(number(x))
			for _, q := range []struct {
				o     *graph.Op
				truth *big.Float
			}{{op.Sin, s}, {op.Cos, c}, {op.Tan, over(s, c)}} {
				d := ulps(q.o.Unary(x), q.truth)
				worst = max(worst, d)
				if d > 0.8 {
					t.Errorf("%s of %v: want %v, have %v, off by %.3g ulp", q.o.Name, x, q.truth, q.o.Unary(x), d)
				}
			}
		}
	}
	t.Logf("worst error %.4g ulp", worst)
	if !found {
		t.Errorf("%v is not among the hardest", float64(known))
	}
	// Source: Muller, Elementary Functions, chapter 11.
	if c := math.Abs(op.Cos.Unary(known)); math.Abs(c-4.687165924254624e-19) > 1e-33 {
		t.Errorf("cos of %v: %v", float64(known), c)
	}
}

// Known values check the truths.
func TestTruths(t *testing.T) {
	sin, cos := bigSinCos(integer(1))
	for _, c := range []struct {
		name string
		have *big.Float
		want string
	}{
		{"pi", bigPi, "3.14159265358979323846264338327950288419716939937510582097494459"},
		{"log 2", bigLn2, "0.693147180559945309417232121458176568075500134360255254120680009"},
		{"e", bigExp(integer(1)), "2.71828182845904523536028747135266249775724709369995957496696763"},
		{"log 10", bigLog(integer(10)), "2.30258509299404568401799145468436420760110148862877297603332790"},
		{"sin 1", sin, "0.841470984807896506652502321630298999622563060798371065672751710"},
		{"cos 1", cos, "0.540302305868139717400936607442976603732310420617922227670097255"},
		{"erf 1", bigErf(integer(1)), "0.842700792949714869341220635082609259296066997966302908459937898"},
	} {
		if have := c.have.Text('g', 63); strings.TrimRight(have, "0") != strings.TrimRight(c.want, "0") {
			t.Errorf("%s: want %s, have %s", c.name, c.want, have)
		}
	}
}

// Sums and products keep their a-priori bounds: with u = 2⁻⁵³, |error| ≤ (⌈n/8⌉ + 3)·u·Σ|xᵢ| for a sum in eight partial
// sums, and (k + 1)·u·Σ|aᵢ||bᵢ| for an entry of a product (to first order in u; 1% is added for the rest).
//
// Source: Higham, Accuracy and Stability of Numerical Algorithms, sections 3.1 and 4.2.
func TestSumAndProductBounds(t *testing.T) {
	const u = 0x1p-53 * 1.01
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 64, 1000, 4099} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = magnitude(r, -20, 20), magnitude(r, -20, 20)
		}
		w := writer{graph.NewBuilder("bounds")}
		a, c := w.Input("x", graph.F64(n)), w.Input("y", graph.F64(n))
		product := op.Product(w.Builder, op.ReshapeTo(w.Builder, a, graph.Shape{1, n}), op.ReshapeTo(w.Builder, c, graph.Shape{n, 1}), false, false)
		p := w.Build(op.SumOver(w.Builder, a, 0), product)
		out := poisoned(p.OutputTypes(), 1)
		e := mustCompile(t, p)
		if err := e.Run(e.NewWorkspace(), []exec.Buffer{{F: x}, {F: y}}, out); err != nil {
			t.Fatal(err)
		}
		sum, dot := zero(), zero()
		size, dotSize := 0.0, 0.0
		for i := range x {
			sum.Add(sum, number(x[i]))
			dot.Add(dot, times(number(x[i]), number(y[i])))
			size += math.Abs(x[i])
			dotSize += math.Abs(x[i] * y[i])
		}
		for _, c := range []struct {
			name  string
			have  float64
			truth *big.Float
			bound float64
		}{
			{"sum", out[0].F[0], sum, float64((n+7)/8+3) * u * size},
			{"product", out[1].F[0], dot, float64(n+1) * u * dotSize},
		} {
			if d, _ := minus(number(c.have), c.truth).Float64(); math.Abs(d) > c.bound {
				t.Errorf("%s of %d: error %g, bound %g", c.name, n, d, c.bound)
			}
		}
	}
}
