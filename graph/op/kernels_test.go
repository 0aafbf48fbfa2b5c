package op_test

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// patterns draws float64 numbers: any bits, or sizes that functions tell apart.
func patterns(n int) []float64 {
	r := rand.New(rand.NewPCG(3, 5))
	x := []float64{0, 1, 0.5, math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 0x1p-1023, 0x1p-54, 0x1p-28, 0x1p-5, 0x1p5, 0x1p30, 0x1p60,
		6, 20, 36, 40, 374, 708, 710, 710.5, 745.2, 746, 750, math.Pi, math.Pi / 2, math.Pi / 4, math.Inf(1)}
	for _, v := range x {
		x = append(x, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1)))
	}
	for range n {
		x = append(x, math.Float64frombits(r.Uint64()), math.Exp2(80*r.Float64()-60), 800*r.Float64(), r.Float64())
	}
	return x
}

func same(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

// Odd functions change nothing but the sign with that of their operand, even functions nothing.
func TestSymmetry(t *testing.T) {
	for _, x := range patterns(50_000) {
		for _, o := range []*graph.Op{op.Sin, op.Tan, op.Asin, op.Atan, op.Sinh, op.Tanh, op.Erf} {
			if y := o.Unary(x); !same(o.Unary(-x), -y) {
				t.Fatalf("%s of %v is %v, of %v %v", o.Name, x, y, -x, o.Unary(-x))
			}
		}
		for _, o := range []*graph.Op{op.Cos, op.Cosh, op.Sech2, op.Gaussian} {
			if y := o.Unary(x); !same(o.Unary(-x), y) {
				t.Fatalf("%s of %v is %v, of %v %v", o.Name, x, y, -x, o.Unary(-x))
			}
		}
	}
}

// Functions of slope 1 at 0 are their operand near it, down to the smallest numbers.
func TestNearZero(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for i := range 20_000 {
		x := math.Copysign(math.Exp2(-1074+1018*r.Float64()), r.Float64()-0.5)
		if i < 100 {
			x = float64(i) * math.SmallestNonzeroFloat64
		}
		for _, o := range []*graph.Op{op.Sin, op.Tan, op.Asin, op.Atan, op.Sinh, op.Tanh, op.Expm1, op.Log1p} {
			if y := o.Unary(x); !same(x, y) {
				t.Fatalf("%s of %v is %v", o.Name, x, y)
			}
		}
		for _, o := range []*graph.Op{op.Cos, op.Cosh, op.Exp, op.Sech2, op.Gaussian} {
			if y := o.Unary(x); y != 1 {
				t.Fatalf("%s of %v is %v", o.Name, x, y)
			}
		}
	}
}

// Everywhere the kernels agree with package math to the digits that both have, in the sign of zero, and in what is infinite or NaN.
func TestAgainstMath(t *testing.T) {
	close := func(have, want, relative float64) bool {
		if math.IsNaN(want) || math.IsInf(want, 0) || want == 0 {
			return same(have, want)
		}
		return math.Abs(have-want) <= relative*math.Abs(want)+1e-322
	}
	growing := func(f func(float64) float64) func(float64) float64 { // which in package math overflows too early
		return func(x float64) float64 {
			y := f(x)
			if math.IsInf(y, 0) && math.Abs(x) < 711 {
				y = f(x-math.Copysign(2, x)) * (math.E * math.E)
			}
			return y
		}
	}
	for _, c := range []struct {
		o        *graph.Op
		f        func(float64) float64
		relative float64
	}{
		{op.Exp, growing(math.Exp), 1e-15}, {op.Expm1, math.Expm1, 1e-15}, {op.Log1p, math.Log1p, 1e-15}, {op.Atan, math.Atan, 1e-15},
		{op.Asin, math.Asin, 1e-14}, {op.Sinh, growing(math.Sinh), 2e-15}, {op.Cosh, growing(math.Cosh), 2e-15}, {op.Tanh, math.Tanh, 1e-15},
		{op.Erf, math.Erf, 1e-15},
	} {
		for _, x := range patterns(50_000) {
			for _, x := range []float64{x, -x} {
				if want := c.f(x); !close(c.o.Unary(x), want, c.relative) {
					t.Fatalf("%s of %v: want %v, have %v", c.o.Name, x, want, c.o.Unary(x))
				}
			}
		}
	}
	for _, x := range patterns(50_000) {
		for _, x := range []float64{x, -x} { // near zeros the error of package math is absolute
			for _, c := range []struct {
				o        *graph.Op
				f        func(float64) float64
				absolute float64
			}{{op.Sin, math.Sin, 1e-15}, {op.Cos, math.Cos, 1e-15}, {op.Acos, math.Acos, 4e-15}} {
				if have, want := c.o.Unary(x), c.f(x); !(math.Abs(have-want) <= c.absolute) && !same(have, want) {
					t.Fatalf("%s of %v: want %v, have %v", c.o.Name, x, want, have)
				}
			}
			if x >= 0x1p-1022 {
				if have, want := op.Log.Unary(x), math.Log(x); math.Abs(have-want) > 1e-15*max(1, math.Abs(want)) {
					t.Fatalf("log of %v: want %v, have %v", x, want, have)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	all := patterns(2000)
	pick := func() float64 { return math.Copysign(all[r.IntN(len(all))], r.Float64()-0.5) }
	for range 200_000 {
		x, y := pick(), pick()
		if have, want := op.Hypot.Binary(x, y), math.Hypot(x, y); !close(have, want, 1e-15) {
			t.Fatalf("hypot(%v, %v): want %v, have %v", x, y, want, have)
		}
		if have, want := op.Atan2.Binary(x, y), math.Atan2(x+0, y); !close(have, want, 1e-15) && x/y != 0 { // where the ratio underflows, math.Atan2 loses the sign
			t.Fatalf("atan2(%v, %v): want %v, have %v", x, y, want, have)
		}
		if x != 0 && math.Abs(x) < 0x1p-1022 {
			continue // math.Pow is wrong by 2e-7 at a subnormal base
		}
		if have, want := op.Pow.Binary(x, y), math.Pow(x, y); !close(have, want, 1e-12+2e-16*math.Abs(y)) && !(math.Abs(want) < 1e-290 && math.Abs(have-want) < 1e-290) {
			t.Fatalf("pow(%v, %v): want %v, have %v", x, y, want, have)
		}
	}
}

// The power of special operands is that of package math, which follows IEEE 754.
func TestPowerSpecials(t *testing.T) {
	values := []float64{0, 1, 0.5, 2, 3, 1e-320, 1e300, 1 << 53, 1<<53 - 1, 1 << 54, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN(), 2.5}
	for _, x := range values {
		for _, y := range values {
			for _, x := range []float64{x, -x} {
				for _, y := range []float64{y, -y} {
					want := math.Pow(x, y)
					if !math.IsInf(want, 0) && !math.IsNaN(want) && want != 0 && math.Abs(want) != 1 {
						continue
					}
					if have := op.Pow.Binary(x, y); !same(have, want) {
						t.Errorf("%v^%v: want %v, have %v", x, y, want, have)
					}
				}
			}
		}
	}
}

// Powers that float64 holds are exact, by a real exponent and by a whole one; a negative base gives the sign.
func TestExactPowers(t *testing.T) {
	check := func(x float64, n int, want float64) {
		if have := op.Pow.Binary(x, float64(n)); have != want {
			t.Errorf("pow(%v, %d): want %v, have %v", x, n, want, have)
		}
		if have := op.PowInteger(x, n); have != want {
			t.Errorf("PowInteger(%v, %d): want %v, have %v", x, n, want, have)
		}
	}
	for base := 1; base <= 4000; base++ {
		power := 1
		for n := 0; n < 60 && power <= 1<<53; n++ {
			check(float64(base), n, float64(power))
			check(-float64(base), n, float64(power)*float64(1-n%2*2))
			check(float64(base)*0x1p-20, n, math.Ldexp(float64(power), -20*n))
			if power > 1<<53/base {
				break
			}
			power *= base
		}
	}
	for n := -1074; n <= 1023; n++ {
		check(2, n, math.Ldexp(1, n))
		check(0.5, -n, math.Ldexp(1, n))
	}
	r := rand.New(rand.NewPCG(1, 9))
	for range 10_000 {
		m := float64(r.IntN(1<<26)) * math.Exp2(float64(r.IntN(400)-200))
		if have := op.Pow.Binary(m*m, 0.5); have != m {
			t.Fatalf("pow(%v, ½): want %v, have %v", m*m, m, have)
		}
		if have := op.Pow.Binary(m, 2); have != m*m {
			t.Fatalf("pow(%v, 2): want %v, have %v", m, m*m, have)
		}
	}
}

// Functions that increase or decrease do so from each number to the next, within the last digit.
func TestMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	for _, c := range []struct {
		o         *graph.Op
		low, high float64
		sign      float64
	}{
		{op.Exp, -700, 700, 1}, {op.Expm1, -3, 3, 1}, {op.Log, 0, 10, 1}, {op.Log1p, -0.9, 3, 1}, {op.Asin, -1, 1, 1}, {op.Acos, -1, 1, -1},
		{op.Atan, -40, 40, 1}, {op.Sinh, -3, 3, 1}, {op.Tanh, -3, 3, 1}, {op.Erf, -6, 6, 1}, {op.Logistic, -40, 40, 1}, {op.Softplus, -40, 40, 1},
		{op.Sin, -1.57, 1.57, 1}, {op.Cos, 0, 3.14, -1}, {op.Tan, -1.57, 1.57, 1},
	} {
		borders := []float64{0.5, 1, 36, 1.0 / 32, 32, 0.25, math.Pi / 4, math.Ln2 / 2, 0.75, 2, math.Sqrt2}
		for i := range 20_000 {
			x := c.low + (c.high-c.low)*r.Float64()
			if i < len(borders) { // where one formula gives way to another
				if x = borders[i]; x < c.low || x >= c.high {
					continue
				}
			}
			next := x + 4*math.Abs(math.Nextafter(x, math.Inf(1))-x)
			y, z := c.o.Unary(x), c.o.Unary(next)
			if c.sign*(z-y) < -math.Abs(math.Nextafter(y, math.Inf(1))-y) {
				t.Fatalf("%s of %v is %v, of %v %v", c.o.Name, x, y, next, z)
			}
		}
	}
}

// The bits of every kernel are the same on every machine: digests of their values on 40,000 operands of all sizes, NaN as one number.
func TestKernelBits(t *testing.T) {
	operands := patterns(10_000)
	for _, c := range []struct {
		o    *graph.Op
		want uint64
	}{
		{op.Exp, 0x43b298a365933a04}, {op.Expm1, 0xddbe30d48eb9ec7c}, {op.Log, 0x4cb101a1a971c4ae}, {op.Log1p, 0x3429080a6b4ddb41}, {op.Sin, 0x629a1713638db381}, {op.Cos, 0xf1267f0fcae5841}, {op.Tan, 0x1fc65e6f83336f01}, {op.Asin, 0xce36025edcf270d5}, {op.Acos, 0x6cdb07a5582dc967}, {op.Atan, 0xe1c98f577cedc29d},
		{op.Atan2, 0xa37b6fbf39151032}, {op.Sinh, 0x6fa86a9ca19b6af9}, {op.Cosh, 0xd32df14501a5d5d5}, {op.Tanh, 0x41287a1fc509897d}, {op.Sech2, 0xb2658daabdaf6d91}, {op.Logistic, 0x980179cf3a376dec}, {op.Softplus, 0xf2c5a4abe3a2c563}, {op.Erf, 0xed5e658f409064a5}, {op.Gaussian, 0xca8450c619776ecd},
		{op.Hypot, 0xe43b79dfeabb0fe9}, {op.Pow, 0xe04eae4aa962ded7},
	} {
		digest := fnv.New64a()
		write := func(y float64) {
			if y != y {
				y = math.NaN()
			}
			digest.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(y)))
		}
		for i, x := range operands {
			if c.o.Unary != nil {
				write(c.o.Unary(x))
				write(c.o.Unary(-x))
			} else {
				write(c.o.Binary(x, operands[len(operands)-1-i]))
			}
		}
		if have := digest.Sum64(); have != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.o.Name, have, c.want)
		}
	}
}
