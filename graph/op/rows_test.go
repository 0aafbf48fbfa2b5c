package op_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
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
