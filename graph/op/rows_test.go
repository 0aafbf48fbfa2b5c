package op_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

// row is the test of one primitive.
type row struct {
	op       *graph.Op
	examples []example
	edges    []edge
}

// example is a known answer at a point where the operation is smooth.
type example struct {
	at   graph.Attrs
	in   []*graph.Tensor
	want *graph.Tensor
}

// edge is a point on the boundary of the domain or of a branch: the status of the value and of the first and the
// second derivative with respect to the operands in wrt (nil: all), and the failing entry.
type edge struct {
	at     graph.Attrs
	in     []*graph.Tensor
	wrt    []int
	status [3]graph.Status
	entry  []int
	reason string
}

const (
	ok   = graph.OK
	dom  = graph.DomainError
	kink = graph.Nondifferentiable
	inf  = graph.NonFinite
)

func vec(x ...float64) *graph.Tensor { return graph.Floats(graph.Shape{len(x)}, x) }
func mat(m, n int, x ...float64) *graph.Tensor {
	return graph.Floats(graph.Shape{m, n}, x)
}
func num(x float64) *graph.Tensor    { return graph.Number(x) }
func index(i ...int64) *graph.Tensor { return graph.Ints(graph.Shape{len(i)}, i) }
func truth(i ...int64) *graph.Tensor {
	x := index(i...)
	x.DType = graph.Bool
	return x
}

// at builds attributes from "name=1,2 other=3".
func at(text string) graph.Attrs {
	var attrs graph.Attrs
	for _, field := range strings.Fields(text) {
		name, list, _ := strings.Cut(field, "=")
		a := graph.Attr{Name: name}
		for _, s := range strings.Split(list, ",") {
			if s != "" {
				var i int
				fmt.Sscan(s, &i)
				a.Ints = append(a.Ints, i)
			}
		}
		attrs = append(attrs, a)
	}
	return attrs
}

func in(x ...*graph.Tensor) []*graph.Tensor { return x }

// one is the example of an elementary function at two points.
func one(o *graph.Op, x1, y1, x2, y2 float64, edges ...edge) row {
	return row{o, []example{{nil, in(vec(x1, x2)), vec(y1, y2)}}, edges}
}

// statuses of a value, its first and its second derivative at one entry, the second of three.
func unaryEdge(x float64, s0, s1, s2 graph.Status, reason string, safe float64) edge {
	return edge{nil, in(vec(safe, x, safe)), nil, [3]graph.Status{s0, s1, s2}, []int{1}, reason}
}

var zero = math.Copysign(0, -1)

var rows = []row{
	{op.Add, []example{{nil, in(vec(1, 2), vec(3, 5)), vec(4, 7)}, {nil, in(index(1, 2), index(3, -5)), index(4, -3)}},
		[]edge{
			{nil, in(vec(1, math.MaxFloat64), vec(1, math.MaxFloat64)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond the floating-point range"},
			{nil, in(index(1, math.MaxInt64), index(1, 1)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond int64"}}},
	{op.Sub, []example{{nil, in(vec(1, 2), vec(3, 5)), vec(-2, -3)}, {nil, in(index(1, 2), index(3, -5)), index(-2, 7)}},
		[]edge{{nil, in(index(1, math.MinInt64), index(1, 1)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond int64"}}},
	{op.Mul, []example{{nil, in(vec(2, 3), vec(5, 7)), vec(10, 21)}, {nil, in(index(-2, 3), index(5, 7)), index(-10, 21)}},
		[]edge{
			{nil, in(index(1, math.MinInt64), index(1, -1)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond int64"},
			{nil, in(index(1, 1<<32), index(1, 1<<31)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond int64"},
			{nil, in(index(1, 1<<32), index(1, -1<<31)), nil, [3]graph.Status{ok, ok, ok}, nil, ""}}},
	{op.Neg, []example{{nil, in(vec(2, -3)), vec(-2, 3)}, {nil, in(index(2, -3)), index(-2, 3)}},
		[]edge{{nil, in(index(1, math.MinInt64)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond int64"}}},
	{op.Div, []example{{nil, in(vec(1, 6), vec(4, -3)), vec(0.25, -2)}},
		[]edge{
			{nil, in(vec(1, 0), vec(1, 0)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "by zero"},
			{nil, in(vec(1, 3), vec(1, zero)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "by zero"},
			{nil, in(vec(1, 1e300), vec(1, 1e-300)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond"}}},
	{op.Pow, []example{{nil, in(vec(2, 9, 0.5), vec(3, 0.5, -2)), vec(8, 3, 4)}}, powEdges(nil)},
	{op.PowSlope, []example{
		{at("k=1"), in(vec(2, 4), vec(3, 0.5)), vec(12, 0.25)}, {at("k=2"), in(vec(2, 4), vec(3, 2.5)), vec(12, 7.5)}},
		powEdges(at("k=1"))},
	{op.PowInt, []example{
		{at("n=2"), in(vec(2, -3)), vec(4, 9)}, {at("n=3"), in(vec(2, -3)), vec(8, -27)}, {at("n=0"), in(vec(2, -3)), vec(1, 1)},
		{at("n=1"), in(vec(2, -3)), vec(2, -3)}, {at("n=-1"), in(vec(2, -4)), vec(0.5, -0.25)}, {at("n=-2"), in(vec(2, -4)), vec(0.25, 0.0625)},
		{at("n=4"), in(vec(0, -1)), vec(0, 1)}, {at("n=9007199254740992"), in(vec(1, -1)), vec(1, 1)}, {at("n=-9007199254740992"), in(vec(1, -1)), vec(1, 1)}},
		[]edge{
			{at("n=-1"), in(vec(1, 0)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "0 to the power -1"},
			{at("n=0"), in(vec(1, 0)), nil, [3]graph.Status{ok, ok, ok}, nil, ""},
			{at("n=1"), in(vec(1, 0)), nil, [3]graph.Status{ok, ok, ok}, nil, ""},
			{at("n=9"), in(vec(1, 1e99)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond"}}},
	one(op.Abs, 2, 2, -3, 3, unaryEdge(0, ok, kink, kink, "abs has no derivative at 0", 1), unaryEdge(zero, ok, kink, kink, "abs", 1)),
	one(op.Sign, 2, 1, -3, -1, unaryEdge(0, ok, kink, kink, "sign has no derivative at 0", 1)),
	one(op.Round, 2.4, 2, -3.6, -4, unaryEdge(0.5, ok, kink, kink, "round has no derivative at the tie 0.5", 1), unaryEdge(-1.5, ok, kink, kink, "tie", 1)),
	{op.Min, []example{{nil, in(vec(1, 5), vec(2, 3)), vec(1, 3)}}, equalEdges("min")},
	{op.Max, []example{{nil, in(vec(1, 5), vec(2, 3)), vec(2, 5)}}, equalEdges("max")},
	{op.Clamp, []example{{nil, in(vec(-1, 0.5, 3), vec(0, 0, 0), vec(1, 1, 1)), vec(0, 0.5, 1)}},
		[]edge{
			{nil, in(vec(0, 1), vec(-1, 1), vec(1, 2)), nil, [3]graph.Status{ok, kink, kink}, []int{1}, "limit 1"},
			{nil, in(vec(0, 2), vec(-1, 1), vec(1, 2)), []int{0}, [3]graph.Status{ok, kink, kink}, []int{1}, "limit 2"},
			{nil, in(vec(0, 2), vec(-1, 1), vec(1, 0)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "lo ≤ hi"},
			{nil, in(vec(0, 5), vec(-1, 1), vec(1, 1)), []int{0}, [3]graph.Status{ok, ok, ok}, nil, ""},
			{nil, in(vec(0, 5), vec(-1, 1), vec(1, 1)), []int{2}, [3]graph.Status{ok, kink, kink}, []int{1}, "limits that are equal"}}},
	one(op.Exp, 0, 1, math.Ln2, 2, unaryEdge(710, inf, inf, inf, "exp of finite operands", 1), unaryEdge(-1e300, ok, ok, ok, "", 1)),
	one(op.Expm1, 0, 0, math.Ln2, 1, unaryEdge(710, inf, inf, inf, "expm1 of finite", 1)),
	one(op.Log, 1, 0, math.E, 1, unaryEdge(0, dom, dom, dom, "log of 0", 1), unaryEdge(-1, dom, dom, dom, "log of -1", 1), unaryEdge(5e-324, ok, inf, inf, "beyond", 1)),
	one(op.Log1p, 0, 0, math.E-1, 1, unaryEdge(-1, dom, dom, dom, "above -1", 1), unaryEdge(-2, dom, dom, dom, "above -1", 1)),
	one(op.Sqrt, 4, 2, 2.25, 1.5, unaryEdge(0, ok, kink, kink, "sqrt has no derivative at 0", 1), unaryEdge(zero, ok, kink, kink, "sqrt", 1), unaryEdge(-1e-300, dom, dom, dom, "negative", 1)),
	one(op.Sin, 0, 0, math.Pi/6, 0.5),
	one(op.Cos, 0, 1, math.Pi/3, 0.5),
	one(op.Tan, 0, 0, math.Pi/4, 1, unaryEdge(math.Pi/2, ok, ok, ok, "", 1)),
	one(op.Asin, 0, 0, 0.5, math.Pi/6, unaryEdge(1, ok, kink, kink, "asin has no derivative at 1", 0), unaryEdge(-1, ok, kink, kink, "at -1", 0), unaryEdge(1+0x1p-52, dom, dom, dom, "[-1, 1]", 0)),
	one(op.Acos, 0, math.Pi/2, 0.5, math.Pi/3, unaryEdge(1, ok, kink, kink, "acos has no derivative at 1", 0), unaryEdge(-1, ok, kink, kink, "at -1", 0), unaryEdge(-1.5, dom, dom, dom, "[-1, 1]", 0)),
	one(op.Atan, 0, 0, 1, math.Pi/4, unaryEdge(math.MaxFloat64, ok, ok, ok, "", 1)),
	{op.Atan2, []example{{nil, in(vec(1, 1, -1, 1), vec(1, -1, -1, 0)), vec(math.Pi/4, 3*math.Pi/4, -3*math.Pi/4, math.Pi/2)}},
		[]edge{
			{nil, in(vec(1, 0), vec(1, 0)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "no angle"},
			{nil, in(vec(1, zero), vec(1, zero)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "no angle"},
			{nil, in(vec(1, 0), vec(1, -2)), nil, [3]graph.Status{ok, kink, kink}, []int{1}, "cut"},
			{nil, in(vec(1, zero), vec(1, -2)), []int{1}, [3]graph.Status{ok, kink, kink}, []int{1}, "cut"},
			{nil, in(vec(1, 0), vec(1, 2)), nil, [3]graph.Status{ok, ok, ok}, nil, ""}}},
	one(op.Sinh, 0, 0, 1, 1.1752011936438014, unaryEdge(711, inf, inf, inf, "sinh", 1)),
	one(op.Cosh, 0, 1, 1, 1.5430806348152437, unaryEdge(711, inf, inf, inf, "cosh", 1)),
	one(op.Tanh, 0, 0, math.Log(3)/2, 0.5),
	one(op.Sech2, 0, 1, math.Log(3)/2, 0.75),
	one(op.Logistic, 0, 0.5, math.Log(3), 0.75),
	one(op.Softplus, 0, math.Ln2, math.Log(3), math.Log(4)),
	one(op.Erf, 0, 0, 1, 0.8427007929497149),
	one(op.Gaussian, 0, 1, 1, 1/math.E, unaryEdge(1e300, ok, ok, ok, "", 1)),
	{op.Hypot, []example{{nil, in(vec(3, -5), vec(4, 12)), vec(5, 13)}},
		[]edge{
			{nil, in(vec(1, 0), vec(1, 0)), nil, [3]graph.Status{ok, kink, kink}, []int{1}, "hypot has no derivative at (0, 0)"},
			{nil, in(vec(1, 0), vec(1, 2)), nil, [3]graph.Status{ok, ok, ok}, nil, ""},
			{nil, in(vec(1, 1e200), vec(1, 1e200)), nil, [3]graph.Status{ok, ok, ok}, nil, ""}}},
	{op.Less, []example{{nil, in(vec(1, 5), vec(2, 3)), truth(1, 0)}, {nil, in(index(1, 3), index(2, 3)), truth(1, 0)}}, equalEdges("less")},
	{op.LessEqual, []example{{nil, in(vec(1, 5), vec(2, 3)), truth(1, 0)}, {nil, in(index(1, 3), index(2, 3)), truth(1, 1)}}, equalEdges("less_equal")},
	{op.Equal, []example{{nil, in(vec(1, 5), vec(2, 3)), truth(0, 0)}, {nil, in(index(1, 3), index(2, 3)), truth(0, 1)}}, equalEdges("equal")},
	{op.And, []example{{nil, in(truth(0, 0, 1, 1), truth(0, 1, 0, 1)), truth(0, 0, 0, 1)}}, nil},
	{op.Or, []example{{nil, in(truth(0, 0, 1, 1), truth(0, 1, 0, 1)), truth(0, 1, 1, 1)}}, nil},
	{op.Not, []example{{nil, in(truth(0, 1)), truth(1, 0)}}, nil},
	{op.Select, []example{
		{nil, in(truth(1, 0), vec(1, 2), vec(3, 4)), vec(1, 4)},
		{nil, in(boolean(0), vec(1, 2), vec(3, 4)), vec(3, 4)},
		{nil, in(truth(1, 0), index(1, 2), index(3, 4)), index(1, 4)}}, nil},
	{op.Sum, []example{
		{at("axes=0"), in(mat(2, 3, 1, 2, 3, 4, 5, 6)), vec(5, 7, 9)}, {at("axes=1"), in(mat(2, 3, 1, 2, 3, 4, 5, 6)), vec(6, 15)},
		{at("axes=0,1"), in(mat(2, 3, 1, 2, 3, 4, 5, 6)), num(21)}, {at("axes="), in(vec(1, 2)), vec(1, 2)},
		{at("axes=0"), in(mat(0, 2)), vec(0, 0)}, {at("axes=1"), in(mat(0, 2)), vec()}, {at("axes=0"), in(index(1, 2)), graph.Ints(nil, []int64{3})}},
		[]edge{
			{at("axes=1"), in(mat(2, 2, 1, 1, math.MaxFloat64, math.MaxFloat64)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond"},
			{at("axes=1"), in(graph.Ints(graph.Shape{2, 2}, []int64{1, 1, math.MaxInt64, 1})), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "int64"}}},
	{op.CumSum, []example{
		{at("axis=0"), in(vec(1, 2, 3)), vec(1, 3, 6)}, {at("axis=0 reverse=1"), in(vec(1, 2, 3)), vec(6, 5, 3)}, {at("axis=0 reverse=7"), in(vec(1, 2, 3)), vec(6, 5, 3)},
		{at("axis=1"), in(mat(2, 2, 1, 2, 3, 4)), mat(2, 2, 1, 3, 3, 7)}, {at("axis=0"), in(mat(2, 2, 1, 2, 3, 4)), mat(2, 2, 1, 2, 4, 6)},
		{at("axis=0"), in(mat(0, 2)), mat(0, 2)}, {at("axis=1"), in(mat(2, 0)), mat(2, 0)}, {at("axis=0 reverse=1"), in(index(1, 2)), index(3, 2)}},
		[]edge{
			{at("axis=0"), in(graph.Ints(graph.Shape{3, 2}, []int64{1, math.MaxInt64, 1, 1, math.MaxInt64, 1})), nil, [3]graph.Status{inf, inf, inf}, []int{1, 1}, "int64"},
			{at("axis=0"), in(graph.Ints(graph.Shape{3, 2}, []int64{math.MaxInt64, 1, 1, 1, 1, math.MaxInt64})), nil, [3]graph.Status{inf, inf, inf}, []int{1, 0}, "int64"}}},
	{op.MatMul, []example{
		{nil, in(mat(2, 3, 1, 2, 3, 4, 5, 6), mat(3, 2, 1, 0, 2, 1, 0, 3)), mat(2, 2, 5, 11, 14, 23)},
		{at("ta=1"), in(mat(3, 2, 1, 4, 2, 5, 3, 6), mat(3, 2, 1, 0, 2, 1, 0, 3)), mat(2, 2, 5, 11, 14, 23)},
		{at("tb=1"), in(mat(2, 3, 1, 2, 3, 4, 5, 6), mat(2, 3, 1, 2, 0, 0, 1, 3)), mat(2, 2, 5, 11, 14, 23)},
		{at("ta=1 tb=1"), in(mat(3, 2, 1, 4, 2, 5, 3, 6), mat(2, 3, 1, 2, 0, 0, 1, 3)), mat(2, 2, 5, 11, 14, 23)},
		{nil, in(mat(2, 0), mat(0, 2)), mat(2, 2, 0, 0, 0, 0)}, {nil, in(mat(0, 2), mat(2, 3, 1, 2, 3, 4, 5, 6)), mat(0, 3)}}, nil},
	{op.Reshape, []example{{at("shape=3,2"), in(mat(2, 3, 1, 2, 3, 4, 5, 6)), mat(3, 2, 1, 2, 3, 4, 5, 6)}, {at("shape="), in(vec(7)), num(7)}, {at("shape=2,0"), in(vec()), mat(2, 0)}}, nil},
	{op.Transpose, []example{
		{at("perm=1,0"), in(mat(2, 3, 1, 2, 3, 4, 5, 6)), mat(3, 2, 1, 4, 2, 5, 3, 6)}, {at("perm="), in(num(7)), num(7)},
		{at("perm=2,0,1"), in(graph.Floats(graph.Shape{1, 2, 3}, []float64{1, 2, 3, 4, 5, 6})), graph.Floats(graph.Shape{3, 1, 2}, []float64{1, 4, 2, 5, 3, 6})}}, nil},
	{op.Broadcast, []example{
		{at("shape=2,3 dims=1"), in(vec(1, 2, 3)), mat(2, 3, 1, 2, 3, 1, 2, 3)}, {at("shape=2,2 dims=0"), in(vec(1, 2)), mat(2, 2, 1, 1, 2, 2)},
		{at("shape=2 dims="), in(num(5)), vec(5, 5)}, {at("shape=0 dims="), in(num(5)), vec()}, {at("shape=0,2 dims=1"), in(vec(1, 2)), mat(0, 2)}}, nil},
	{op.BroadcastRows, []example{{at("rows=2"), in(vec(1, 2, 3)), mat(2, 3, 1, 2, 3, 1, 2, 3)}, {at("rows=0"), in(vec(1, 2)), mat(0, 2)}, {at("rows=2"), in(vec()), mat(2, 0)}}, nil},
	{op.Slice, []example{
		{at("start=1 limit=6 step=2"), in(vec(0, 1, 2, 3, 4, 5)), vec(1, 3, 5)}, {at("start=1 limit=5 step=2"), in(vec(0, 1, 2, 3, 4, 5)), vec(1, 3)},
		{at("start=2 limit=2 step=1"), in(vec(0, 1, 2)), vec()}, {at("start=1 limit=3 step=1099511627776"), in(vec(0, 1, 2)), vec(1)},
		{at("start=0,1 limit=2,3 step=1,2"), in(mat(2, 3, 1, 2, 3, 4, 5, 6)), mat(2, 1, 2, 5)}}, nil},
	{op.Pad, []example{
		{at("low=1 high=2 interior=0"), in(vec(7, 8)), vec(0, 7, 8, 0, 0)}, {at("low=0 high=1 interior=2"), in(vec(7, 8)), vec(7, 0, 0, 8, 0)},
		{at("low=1 high=1 interior=3"), in(vec()), vec(0, 0)}, {at("low=0 high=0 interior=1099511627775"), in(vec(7)), vec(7)},
		{at("low=0,1 high=1,0 interior=0,1"), in(mat(1, 2, 7, 8)), mat(2, 4, 0, 7, 0, 8, 0, 0, 0, 0)}}, nil},
	{op.Concat, []example{
		{at("axis=0"), in(vec(1, 2), vec(), vec(3)), vec(1, 2, 3)}, {at("axis=1"), in(mat(2, 1, 1, 2), mat(2, 2, 3, 4, 5, 6)), mat(2, 3, 1, 3, 4, 2, 5, 6)},
		{at("axis=0"), in(vec(1)), vec(1)}, {at("axis=0"), in(mat(1, 0), mat(2, 0)), mat(3, 0)}, {at("axis=0"), in(index(1), index(2)), index(1, 2)}}, nil},
	{op.Roll, []example{
		{at("axis=0 shift=1"), in(vec(1, 2, 3)), vec(3, 1, 2)}, {at("axis=0 shift=-1"), in(vec(1, 2, 3)), vec(2, 3, 1)}, {at("axis=0 shift=7"), in(vec(1, 2, 3)), vec(3, 1, 2)},
		{at("axis=1 shift=1"), in(mat(2, 2, 1, 2, 3, 4)), mat(2, 2, 2, 1, 4, 3)}, {at("axis=0 shift=1"), in(vec()), vec()},
		{at("axis=0 shift=-9223372036854775808"), in(vec(1, 2, 3)), vec(3, 1, 2)}}, nil},
	{op.Reverse, []example{
		{at("axes=0"), in(vec(1, 2, 3)), vec(3, 2, 1)}, {at("axes=0,1"), in(mat(2, 2, 1, 2, 3, 4)), mat(2, 2, 4, 3, 2, 1)}, {at("axes="), in(vec(1, 2)), vec(1, 2)}, {at("axes=0"), in(vec()), vec()}}, nil},
	{op.Gather, []example{
		{nil, in(vec(5, 6, 7), index(2, 0, 2)), vec(7, 5, 7)}, {nil, in(mat(2, 2, 1, 2, 3, 4), index(1)), mat(1, 2, 3, 4)},
		{nil, in(vec(5, 6), graph.Ints(nil, []int64{1})), num(6)}, {nil, in(vec(), index()), vec()}, {nil, in(index(5, 6), index(1)), index(6)}},
		[]edge{
			{nil, in(mat(2, 2, 1, 2, 3, 4), index(0, 2)), nil, [3]graph.Status{dom, dom, dom}, []int{1, 0}, "index 2 at [1] is outside the 2 rows"},
			{nil, in(vec(1, 2), index(-1)), nil, [3]graph.Status{dom, dom, dom}, []int{0}, "index -1"},
			{nil, in(mat(2, 0), index(0, 2)), nil, [3]graph.Status{dom, dom, dom}, nil, "index 2"},
			{nil, in(vec(), index(0)), nil, [3]graph.Status{dom, dom, dom}, []int{0}, "outside the 0 rows"}}},
	{op.ScatterAdd, []example{
		{at("size=3 rank=1"), in(vec(5, 6, 7), index(2, 0, 2)), vec(6, 0, 12)}, {at("size=2 rank=1"), in(mat(1, 2, 3, 4), index(1)), mat(2, 2, 0, 0, 3, 4)},
		{at("size=2 rank=0"), in(num(6), graph.Ints(nil, []int64{1})), vec(0, 6)}, {at("size=0 rank=1"), in(vec(), index()), vec()}},
		[]edge{{at("size=2 rank=1"), in(vec(1, 2, 3, 4), index(0, 0, 0, 2)), nil, [3]graph.Status{dom, dom, dom}, nil, "index 2 at [3] is outside the 2 rows"}}},
	{op.Convert, []example{{at("dtype=0"), in(vec(1, 2)), vec(1, 2)}, {at("dtype=0"), in(index(1, 2)), vec(1, 2)}, {at("dtype=0"), in(truth(1, 0)), vec(1, 0)}},
		[]edge{{at("dtype=1"), in(vec(1, 1e300)), nil, [3]graph.Status{inf, inf, inf}, []int{1}, "beyond"}}},
}

func boolean(i int64) *graph.Tensor {
	return &graph.Tensor{Type: graph.Type{DType: graph.Bool}, I: []int64{i}}
}

// equalEdges: equal operands are a branch boundary, whichever operand is differentiated.
func equalEdges(name string) []edge {
	text := name + " "
	return []edge{
		{nil, in(vec(1, 3), vec(2, 3)), nil, [3]graph.Status{ok, kink, kink}, []int{1}, text},
		{nil, in(vec(1, 3), vec(2, 3)), []int{1}, [3]graph.Status{ok, kink, kink}, []int{1}, text},
		{nil, in(vec(1, 0), vec(2, zero)), nil, [3]graph.Status{ok, kink, kink}, []int{1}, text},
		{nil, in(vec(1, 3), vec(2, 3)), []int{}, [3]graph.Status{ok, ok, ok}, nil, ""},
	}
}

// powEdges are the cases of the exponent; slopes have no value where x^y has no derivative in x.
func powEdges(at graph.Attrs) []edge {
	edges := []edge{
		{at, in(vec(2, -2), vec(3, 3)), []int{0}, [3]graph.Status{ok, ok, ok}, nil, ""},
		{at, in(vec(2, -2), vec(3, 3)), []int{1}, [3]graph.Status{ok, kink, kink}, []int{1}, "positive base"},
		{at, in(vec(2, -2), vec(3, -3)), []int{0}, [3]graph.Status{ok, ok, ok}, nil, ""},
		{at, in(vec(2, -2), vec(3, 0.5)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "negative base"},
		{at, in(vec(2, 0), vec(3, -1)), nil, [3]graph.Status{dom, dom, dom}, []int{1}, "0 to the power -1"},
		{at, in(vec(2, 0), vec(3, 0)), []int{0}, [3]graph.Status{ok, ok, ok}, nil, ""},
		{at, in(vec(2, 0), vec(3, 1)), []int{0}, [3]graph.Status{ok, ok, ok}, nil, ""},
		{at, in(vec(2, 0), vec(3, 2)), []int{0}, [3]graph.Status{ok, ok, ok}, nil, ""},
		{at, in(vec(2, 0), vec(3, 2)), []int{1}, [3]graph.Status{ok, kink, kink}, []int{1}, "positive base"},
		{at, in(vec(2, 2), vec(3, 0)), nil, [3]graph.Status{ok, ok, ok}, nil, ""},
	}
	for _, y := range []float64{0.5, 1.5, 2.5} {
		status := [3]graph.Status{ok, kink, kink}
		if at != nil {
			status[0] = kink
		}
		edges = append(edges, edge{at, in(vec(2, 0), vec(3, y)), []int{0}, status, []int{1}, "boundary of the domain"})
	}
	return edges
}

func (r row) program(at graph.Attrs, in []*graph.Tensor) (*graph.Program, error) {
	b := graph.NewBuilder("f")
	args := make([]graph.Value, len(in))
	for i, x := range in {
		args[i] = b.Input(fmt.Sprintf("x%d", i), x.Type)
	}
	v, err := b.Try(r.op, at, args...)
	return b.Build(v), err
}

// Every primitive has a row, and every row its rules.
func TestEveryPrimitiveHasARow(t *testing.T) {
	for _, o := range op.All() {
		if o == graph.Literal { // has no operands; tested with the verifier
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			k := slices.IndexFunc(rows, func(r row) bool { return r.op == o })
			if k < 0 {
				t.Fatal("no test row")
			}
			want := func(holds bool, what string) {
				if !holds {
					t.Error(what)
				}
			}
			want(o.Infer != nil, "no shape rule")
			want(o.Unary != nil || o.Binary != nil || o.Eval != nil, "no kernel")
			want(o.JVP != nil, "no JVP rule")
			want((o.LinearIn != nil) == (o.Transpose != nil), "LinearIn without Transpose, or the reverse")
			want(o.Domain != "", "no domain")
			want(!o.Kinks || o.Check != nil, "kinks without a check")
			want(!o.Total || o.Check == nil, "total with a check")
			want(o.Branch == nil || o.Kinks, "branches without kinks")
			want(o.Check == nil || len(o.Safe) == o.Arity, "partial without a safe operand")
			want(o.Check == nil || len(rows[k].edges) > 0, "partial without a test of its boundary")
			if len(o.Safe) > 0 {
				checkSafe(t, rows[k])
			}
		})
	}
}

// checkSafe: the safe operand passes at every order.
func checkSafe(t *testing.T, r row) {
	x := make([]*graph.Tensor, len(r.op.Safe))
	for i, s := range r.op.Safe {
		x[i] = num(s)
	}
	for _, e := range r.examples {
		if slices.ContainsFunc(e.in, func(x *graph.Tensor) bool { return !x.DType.IsFloat() }) {
			continue
		}
		p, err := r.program(e.at, x)
		if err != nil {
			t.Fatal(err)
		}
		for order, status := range statusesByOrder(p, x, nil) {
			if status.err != nil {
				t.Errorf("safe operand %v, order %d: %v", r.op.Safe, order, status.err)
			}
		}
	}
}

// outcome is how a derivative of one order ended, by forward mode over forward mode and over reverse mode.
type outcome struct{ err, reverse error }

func statusesByOrder(p *graph.Program, x []*graph.Tensor, wrt []int) [3]outcome {
	if wrt == nil {
		wrt = floats(p)
	}
	tangents := make([]graph.Type, len(wrt))
	for k, i := range wrt {
		tangents[k] = p.Inputs[i].Type
	}
	r := randprog.Rand(1)
	d1, d2 := randprog.Tangents(r, tangents), randprog.Tangents(r, tangents)
	ct := randprog.Tangents(r, p.OutputTypes())
	var out [3]outcome
	_, out[0].err = graph.Eval(p, x...)
	out[0].reverse = out[0].err
	jvp, vjp := graph.JVP(p, wrt), graph.VJP(p, wrt)
	_, out[1].err = graph.Eval(jvp, slices.Concat(x, d1)...)
	_, out[1].reverse = graph.Eval(vjp, slices.Concat(x, ct)...)
	_, out[2].err = graph.Eval(graph.JVP(jvp, wrt), slices.Concat(x, d1, d2)...)
	_, out[2].reverse = graph.Eval(graph.JVP(vjp, wrt), slices.Concat(x, ct, d2)...)
	return out
}

// floats lists the inputs that are differentiated.
func floats(p *graph.Program) []int {
	wrt := []int{}
	for i, in := range p.Inputs {
		if in.Type.DType.IsFloat() {
			wrt = append(wrt, i)
		}
	}
	return wrt
}

// Values, domains and branches: status, failing entry and reason at every order.
func TestEdges(t *testing.T) {
	for _, r := range rows {
		for k, e := range r.edges {
			p, err := r.program(e.at, e.in)
			if err != nil {
				t.Fatal(err)
			}
			for order, have := range statusesByOrder(p, e.in, e.wrt) {
				for _, err := range []error{have.err, have.reverse} {
					if problem := e.compare(err, order, r.op.Name); problem != "" {
						t.Errorf("%s edge %d %v%v, wrt %v, order %d: %s", r.op.Name, k, e.at, values(e.in), e.wrt, order, problem)
					}
				}
			}
		}
	}
}

func values(x []*graph.Tensor) (out []any) {
	for _, t := range x {
		if t.DType.IsFloat() {
			out = append(out, t.F)
		} else {
			out = append(out, t.I)
		}
	}
	return out
}

func (e edge) compare(err error, order int, name string) string {
	status := e.status[order]
	if err == nil {
		if status == ok {
			return ""
		}
		return fmt.Sprintf("OK, want %s", status)
	}
	f, isFailure := err.(*graph.Failure)
	switch {
	case !isFailure || f.Status != status:
		return fmt.Sprintf("%v, want %s", err, status)
	case status == inf && e.status[0] == ok: // the overflow of a derivative is found by the operation that computes it
		return ""
	case f.Op != name || !slices.Equal(f.Entry, e.entry) || !strings.Contains(f.Reason, e.reason):
		return fmt.Sprintf("%s at %v: %q, want %s at %v: %q", f.Op, f.Entry, f.Reason, name, e.entry, e.reason)
	}
	return ""
}

// Known answers, and the laws of the derivative at the same points.
func TestExamples(t *testing.T) {
	for _, r := range rows {
		t.Run(r.op.Name, func(t *testing.T) {
			for _, e := range r.examples {
				p, err := r.program(e.at, e.in)
				if err != nil {
					t.Fatal(err)
				}
				have, err := graph.Eval(p, e.in...)
				if err != nil {
					t.Fatalf("%v%v: %v", e.at, values(e.in), err)
				}
				if !close(have[0], e.want) {
					t.Errorf("%v%v: have %v, want %v %v", e.at, values(e.in), values(have), e.want.Type, values(in(e.want)))
				}
				if err := derivativeLaws(p, e.in); err != nil {
					t.Errorf("%v%v: %v\n%v", e.at, values(e.in), err, p)
				}
				if err := float32Law(r, e); err != nil {
					t.Errorf("%v%v in float32: %v", e.at, values(e.in), err)
				}
			}
		})
	}
}

// close allows the rounding of the known answers and of one operation.
func close(x, y *graph.Tensor) bool {
	if !x.Type.Equal(y.Type) || !slices.Equal(x.I, y.I) {
		return false
	}
	for i := range x.F {
		if math.Abs(x.F[i]-y.F[i]) > 4e-16*math.Abs(y.F[i])+1e-16 {
			return false
		}
	}
	return true
}

// float32Law: the operation on float32 is the operation on float64, rounded.
func float32Law(r row, e example) error {
	if r.op == op.Convert {
		return nil
	}
	x := make([]*graph.Tensor, len(e.in))
	wide := make([]*graph.Tensor, len(e.in))
	for i := range e.in {
		x[i] = e.in[i].Clone()
		if x[i].DType == graph.Float64 {
			x[i].DType = graph.Float32
			x[i].Round32()
		}
		wide[i] = &graph.Tensor{Type: e.in[i].Type, F: x[i].F, I: x[i].I}
	}
	p, err := r.program(e.at, x)
	if err != nil {
		return err
	}
	q, err := r.program(e.at, wide)
	if err != nil {
		return err
	}
	have, err1 := graph.Eval(p, x...)
	want, err2 := graph.Eval(q, wide...)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%v, %v", err1, err2)
	}
	want[0].Round32()
	for i := range have[0].F {
		if have[0].F[i] != want[0].F[i] {
			return fmt.Errorf("have %v, want %v", have[0].F, want[0].F)
		}
	}
	return roundTrip(graph.JVP(graph.VJP(p, floats(p)), floats(p)))
}

func roundTrip(programs ...*graph.Program) error {
	for _, p := range programs {
		if err := graph.Verify(p); err != nil {
			return fmt.Errorf("%w\n%v", err, p)
		}
		q, err := op.Parse(p.String())
		if err != nil {
			return fmt.Errorf("%w\n%v", err, p)
		}
		if q.String() != p.String() {
			return fmt.Errorf("parsed text differs:\n%v%v", p, q)
		}
	}
	return nil
}

// derivativeLaws: forward against reverse, both against a ladder of differences, once and twice differentiated, and
// the transposes against the dense matrix; with respect to all float operands, and to each alone.
func derivativeLaws(p *graph.Program, x []*graph.Tensor) error {
	all := floats(p)
	subsets := [][]int{all}
	for _, i := range all {
		if len(all) > 1 {
			subsets = append(subsets, []int{i})
		}
	}
	for _, wrt := range subsets {
		first, second := graph.JVP(p, wrt), graph.VJP(p, wrt)
		for _, q := range []*graph.Program{p, first, second} {
			if err := lawsOf(q, wrt, x); err != nil {
				return fmt.Errorf("%s, wrt %v: %w", q.Name, wrt, err)
			}
		}
	}
	return nil
}

// lawsOf checks the laws of q, of which the inputs after x are drawn.
func lawsOf(q *graph.Program, wrt []int, x []*graph.Tensor) error {
	r := randprog.Rand(7)
	rest := &graph.Program{Inputs: q.Inputs[len(x):]}
	x = slices.Concat(x, randprog.Inputs(r, rest))
	types := make([]graph.Type, len(wrt))
	for k, i := range wrt {
		types[k] = q.Inputs[i].Type
	}
	v, ct := randprog.Tangents(r, types), randprog.Tangents(r, q.OutputTypes())
	jvp, vjp, l := graph.JVP(q, wrt), graph.VJP(q, wrt), graph.Linearize(q, wrt)
	back := graph.Transpose(l.Linear)
	again := graph.Transpose(back)
	if err := roundTrip(jvp, vjp, l.Primal, l.Linear, back, again); err != nil {
		return err
	}
	n := len(q.Outputs)
	forward, err := graph.Eval(jvp, slices.Concat(x, v)...)
	if err != nil {
		return err
	}
	reverse, err := graph.Eval(vjp, slices.Concat(x, ct)...)
	if err != nil {
		return err
	}
	left, size := randprog.Dot(ct, forward[n:])
	right, size2 := randprog.Dot(reverse[n:], v)
	if math.Abs(left-right) > 1e-14*(size+size2+1) {
		return fmt.Errorf("⟨ū, Jv⟩ = %v, ⟨Jᵀū, v⟩ = %v", left, right)
	}
	_, outputs := randprog.Dot(ct, forward[:n])
	if err := randprog.Ladder(func(h float64) (float64, error) {
		moved := slices.Clone(x)
		for k, i := range wrt {
			moved[i] = x[i].Clone()
			for e := range moved[i].F {
				moved[i].F[e] += h / 8 * v[k].F[e]
			}
		}
		y, err := graph.Eval(q, moved...)
		if err != nil {
			return 0, err
		}
		dot, _ := randprog.Dot(ct, y)
		return 8 * dot, nil
	}, left, 8*(size+outputs)); err != nil && !steep(q) {
		return err
	}
	primal, err := graph.Eval(l.Primal, x...)
	if err != nil {
		return err
	}
	return denseLaw(l.Linear, back, again, primal[n:])
}

// steep reports the powers that no difference can follow.
func steep(q *graph.Program) bool {
	return slices.ContainsFunc(q.Nodes, func(n graph.Node) bool { return n.Op == op.PowInt && max(n.Attrs.Int("n"), -n.Attrs.Int("n")) > 1<<50 })
}

// denseLaw: Transpose is the transposed matrix, and twice Transpose the matrix itself.
func denseLaw(linear, back, again *graph.Program, residuals []*graph.Tensor) error {
	a, err := randprog.Dense(linear, residuals)
	if err != nil {
		return err
	}
	b, err := randprog.Dense(back, residuals)
	if err != nil {
		return err
	}
	c, err := randprog.Dense(again, residuals)
	if err != nil {
		return err
	}
	for i := range a {
		for j, x := range a[i] {
			if tolerance := 1e-14 * (1 + math.Abs(x)); math.Abs(b[j][i]-x) > tolerance || math.Abs(c[i][j]-x) > tolerance {
				return fmt.Errorf("entry %d, %d is %v, transposed %v, twice transposed %v\n%v%v", i, j, x, b[j][i], c[i][j], linear, back)
			}
		}
	}
	return nil
}

// An operation is additive in the operands in which its row calls it linear.
func TestLinearIn(t *testing.T) {
	for _, r := range rows {
		for _, e := range r.examples {
			if r.op.LinearIn == nil || slices.ContainsFunc(e.in, func(x *graph.Tensor) bool { return x.DType == graph.Int64 && r.op.Arity != 2 }) {
				continue
			}
			p, _ := r.program(e.at, e.in)
			for subset := 1; subset < 1<<len(e.in); subset++ {
				marked, x, y, sum := make([]bool, len(e.in)), slices.Clone(e.in), slices.Clone(e.in), slices.Clone(e.in)
				fits := true
				for k := range e.in {
					if marked[k] = subset>>k&1 == 1; !marked[k] {
						continue
					}
					fits = fits && e.in[k].DType.IsFloat()
					drawn := randprog.Tangents(randprog.Rand(uint64(subset)), []graph.Type{e.in[k].Type})[0]
					y[k], sum[k] = drawn, drawn.Clone()
					for i := range sum[k].F {
						sum[k].F[i] += x[k].F[i]
					}
				}
				if !fits || !r.op.LinearIn(marked) {
					continue
				}
				fx, err1 := graph.Eval(p, x...)
				fy, err2 := graph.Eval(p, y...)
				fsum, err3 := graph.Eval(p, sum...)
				if err1 != nil || err2 != nil || err3 != nil {
					t.Errorf("%s: %v, %v, %v", r.op.Name, err1, err2, err3)
					continue
				}
				for i, z := range fsum[0].F {
					if math.Abs(z-fx[0].F[i]-fy[0].F[i]) > 1e-14*(1+math.Abs(z)) {
						t.Errorf("%s is not additive in %v", r.op.Name, marked)
					}
				}
			}
		}
	}
}

// Boundaries have the values that the rows state.
func TestBoundaryValues(t *testing.T) {
	for _, e := range []struct {
		op   *graph.Op
		at   graph.Attrs
		in   []*graph.Tensor
		want *graph.Tensor
	}{
		{op.Abs, nil, in(vec(0, zero)), vec(0, 0)},
		{op.Sign, nil, in(vec(0, zero)), vec(0, 0)},
		{op.Sqrt, nil, in(vec(0)), vec(0)},
		{op.Asin, nil, in(vec(1, -1)), vec(math.Pi/2, -math.Pi/2)},
		{op.Acos, nil, in(vec(1, -1)), vec(0, math.Pi)},
		{op.Atan2, nil, in(vec(0, zero, 0, zero), vec(-2, -2, 2, 2)), vec(math.Pi, math.Pi, 0, 0)},
		{op.Hypot, nil, in(vec(0), vec(0)), vec(0)},
		{op.Min, nil, in(vec(3), vec(3)), vec(3)},
		{op.Max, nil, in(vec(3), vec(3)), vec(3)},
		{op.Clamp, nil, in(vec(-1, 2, 5), vec(-1, -1, 3), vec(2, 2, 3)), vec(-1, 2, 3)},
		{op.Less, nil, in(vec(3), vec(3)), truth(0)},
		{op.LessEqual, nil, in(vec(3), vec(3)), truth(1)},
		{op.Equal, nil, in(vec(0), vec(zero)), truth(1)},
		{op.Pow, nil, in(vec(0, 0, 0, -2, -2), vec(0, 0.5, 3, 3, -1)), vec(1, 0, 0, -8, -0.5)},
		{op.PowSlope, at("k=1"), in(vec(0, 0, 0, 0, -2), vec(0, 1, 2, 3, 3)), vec(0, 1, 0, 0, 12)},
		{op.PowInt, at("n=0"), in(vec(0)), vec(1)},
	} {
		p, err := row{op: e.op}.program(e.at, e.in)
		if err != nil {
			t.Fatal(err)
		}
		have, err := graph.Eval(p, e.in...)
		if err != nil || !randprog.Same(have, in(e.want)) {
			t.Errorf("%s%v: have %v, %v, want %v", e.op.Name, values(e.in), values(have), err, values(in(e.want)))
		}
	}
}

// The derivative of x^y exists with respect to both, twice, also where y = 0; with respect to x also at x = 0.
func TestPowDerivatives(t *testing.T) {
	b := graph.NewBuilder("f")
	x, y := b.Input("x", graph.Scalar), b.Input("y", graph.Scalar)
	p := b.Build(b.Emit(op.Pow, nil, x, y))
	gradient := graph.Gradient(p, []int{0, 1})
	hessian := graph.JVP(gradient, []int{0, 1}) // outputs: value, g, then their tangents
	for _, c := range []struct{ x, y, dx, dy, dxdx, dxdy, dydy float64 }{
		{2, 0, 0, math.Ln2, 0, 0.5, math.Ln2 * math.Ln2},
		{2, 1, 1, 2 * math.Ln2, 0, 1 + math.Ln2, 2 * math.Ln2 * math.Ln2},
		{2, 3, 12, 8 * math.Ln2, 12, 4 * (1 + 3*math.Ln2), 8 * math.Ln2 * math.Ln2},
	} {
		for k, want := range [][2]float64{{c.dxdx, c.dxdy}, {c.dxdy, c.dydy}} {
			d := [2]float64{}
			d[k] = 1
			out, err := graph.Eval(hessian, num(c.x), num(c.y), num(d[0]), num(d[1]))
			if err != nil {
				t.Fatalf("at (%v, %v): %v", c.x, c.y, err)
			}
			have := []*graph.Tensor{out[1], out[2], out[4], out[5]}
			for i, w := range []float64{c.dx, c.dy, want[0], want[1]} {
				if !close(have[i], num(w)) {
					t.Errorf("at (%v, %v), direction %d, entry %d: have %v, want %v", c.x, c.y, k, i, have[i].F[0], w)
				}
			}
		}
	}
	inBase := graph.JVP(graph.Gradient(p, []int{0}), []int{0})
	for y, want := range map[float64][2]float64{0: {0, 0}, 1: {1, 0}, 2: {0, 2}, 3: {0, 0}} {
		out, err := graph.Eval(inBase, num(0), num(y), num(1))
		if err != nil || out[1].F[0] != want[0] || out[3].F[0] != want[1] {
			t.Errorf("0^%v: have %v, %v, want %v", y, values(out), err, want)
		}
	}
}
