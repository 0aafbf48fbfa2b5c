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
// just below 1), against testdata/elementary.csv. The reduction of large arguments by π in the standard library costs
// sin, cos and tan digits near their zeros and poles.
var accuracy = map[string][3]float64{
	"exp": {2, 2, 2}, "expm1": {2, 2, 2}, "log": {1.5, 1.5, 2.5}, "log1p": {1.5, 1.5, 2.5}, "sqrt": {1, 2, 5},
	"sin": {16, 16, 16}, "cos": {16, 16, 16}, "tan": {16, 30, 45},
	"asin": {2, 2, 8}, "acos": {2, 2, 8}, "atan": {2, 5, 9}, "atan2": {2, 5, 5}, "hypot": {2, 3, 3},
	"sinh": {2, 2, 2}, "cosh": {2, 2, 2}, "tanh": {2, 2, 3}, "sech2": {2, 3, 7},
	"logistic": {2, 3, 6}, "softplus": {2, 2, 3}, "erf": {1, 2, 3}, "gaussian": {1, 2, 3},
	"pow": {10, 15, 10}, "pow_slope": {15, 15, 25}, "div": {1, 1, 2},
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
