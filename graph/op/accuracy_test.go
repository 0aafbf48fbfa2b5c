package op_test

import (
	"encoding/csv"
	"math"
	"math/big"
	"os"
	"strconv"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// accuracy bounds the error of value and derivatives in units of 2⁻⁵³ of the true value (the spacing of the numbers
// just below 1), against testdata/elementary.csv, whose values are those of arithmetic
// with 400 digits to 25: what was measured, which is the same on every machine, rounded up. A rule that rounds
// several times shows here; the derivative of pow_slope in its exponent reads x^(y − k) with y − k rounded.
var accuracy = map[string][3]float64{
	"exp": {1, 1, 1}, "expm1": {0.8, 1, 1}, "log": {0.9, 1.1, 2.1}, "log1p": {0.8, 0.8, 1.4},
	"sqrt": {1.1, 1.6, 4.6}, "sin": {0.7, 0.8, 0.7}, "cos": {0.8, 0.7, 0.8}, "tan": {0.8, 1.8, 3},
	"asin": {1, 1.6, 2.1}, "acos": {1, 1.6, 2.1}, "atan": {0.8, 2.4, 3.9}, "atan2": {1, 1.6, 1.6},
	"hypot": {0.8, 0.8, 0.8}, "sinh": {0.7, 0.9, 0.7}, "cosh": {0.9, 0.7, 0.9}, "tanh": {0.5, 0.8, 1.7},
	"sech2": {0.8, 1.7, 2.1}, "logistic": {0.9, 1.3, 2.1}, "softplus": {0.9, 0.9, 1.3}, "erf": {0.5, 1, 0.6},
	"gaussian": {0.8, 0.9, 1.9}, "pow": {0.7, 1.1, 1.7}, "pow_slope": {1.1, 1, 19.8}, "div": {0.6, 0.6, 0.8},
}

// vanishing are the second derivatives that vanish at 0 as the difference of two equal terms: for |x| < 1 their error is
// measured in units of 2⁻⁵³ itself.
var vanishing = map[string]bool{"logistic": true, "asin": true, "acos": true}

// The kernels and the rules hold their accuracy in both tails, against high-precision values.
func TestAccuracy(t *testing.T) {
	file, err := os.Open("testdata/elementary.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		o := op.Lookup(row[0])
		x, y := parse(t, row[1]), 0.0
		if row[2] != "" {
			y = parse(t, row[2])
		}
		for k, have := range derivatives(o, x, y) {
			unit := 0x1p-1022
			if k == 2 && vanishing[o.Name] && math.Abs(x) < 1 {
				unit = 1
			}
			e := ulps(t, have, row[3+k], unit)
			if bound := accuracy[o.Name][k]; !(e <= bound) {
				t.Errorf("%s(%s %s), column %d: have %v, want %s: error %.3g, bound %v", o.Name, row[1], row[2], k, have, row[3+k], e, bound)
			}
		}
	}
}

func parse(t *testing.T, s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// derivatives evaluates f, f′ and f″ of one operand, or f, f_x and f_y of two. A refusal is a NaN.
func derivatives(o *graph.Op, x, y float64) [3]float64 {
	var at graph.Attrs
	if o == op.PowSlope {
		at = graph.Attrs{{Name: "k", Ints: []int{1}}}
	}
	b := graph.NewBuilder("f")
	args := []graph.Value{b.Input("x", graph.Scalar)}
	in := []*graph.Tensor{graph.Number(x)}
	if o.Arity == 2 {
		args, in = append(args, b.Input("y", graph.Scalar)), append(in, graph.Number(y))
	}
	p := b.Build(b.Emit(o, at, args...))
	one := graph.Number(1)
	if o.Arity == 2 {
		return [3]float64{run(p, 0, in...), run(graph.JVP(p, []int{0}), 1, append(in, one)...), run(graph.JVP(p, []int{1}), 1, append(in, one)...)}
	}
	first := graph.JVP(p, []int{0})
	return [3]float64{run(p, 0, in...), run(first, 1, in[0], one), run(graph.JVP(first, []int{0}), 3, in[0], one, one)}
}

// run returns output k of a program of scalars, NaN where it refuses.
func run(p *graph.Program, k int, in ...*graph.Tensor) float64 {
	if err := graph.Verify(p); err != nil {
		panic(err)
	}
	y, err := graph.Eval(p, in...)
	if err != nil {
		return math.NaN()
	}
	return y[k].F[0]
}

// ulps is the error in units of 2⁻⁵³ of the true value, or of unit where the true value is smaller. An empty field
// wants a refusal.
func ulps(t *testing.T, have float64, want string, unit float64) float64 {
	if want == "" || math.IsNaN(have) {
		if want == "" && math.IsNaN(have) {
			return 0
		}
		return math.Inf(1)
	}
	truth, _, err := big.ParseFloat(want, 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	difference := new(big.Float).Sub(big.NewFloat(have), truth)
	size, _ := truth.Float64()
	relative, _ := difference.Quo(difference, big.NewFloat(max(math.Abs(size), unit))).Float64()
	return math.Abs(relative) / 0x1p-53
}

// Just below 1 the unit in the last place is smallest beside the values of sine and cosine, whose rounding shows there
// first. Values are those of arithmetic with 120 digits.
func TestTangentBelowOne(t *testing.T) {
	for x, want := range map[float64]string{
		22.776540391877578:  "0.9999873067837135996036946",
		-29.038921402024922: "-0.9592214534406875411803871",
		20226.358894722223:  "0.9999854955792346912350285",
	} {
		if e := ulps(t, op.Tan.Unary(x), want, 0); !(e <= 0.8) {
			t.Errorf("tan of %v: have %v, want %s: error %.3g", x, op.Tan.Unary(x), want, e)
		}
	}
}
