package exec

import (
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// opcode is the kernel of an elementwise operation. Trees of the first three are single instructions.
type opcode uint8

const (
	kAdd opcode = iota
	kMul
	kSub
	kDiv
	kNeg
	kUnary // op.Unary(a)
	kExp   // op.Unary(a) too, with kernels for vectors
	kTanh
	kSech2
	kLogistic
	kSin
	kCos
	kBinary // op.Binary(a, b)
	kPowInt
	kClamp
	kLess
	kLessEqual
	kEqual
	kLessInt
	kLessEqualInt
	kEqualInt
	kAnd
	kOr
	kNot
	kSelect // c chooses between a and b
	kSelectInt
	kAddInt
	kSubInt
	kMulInt
	kNegInt
	kConvert // int64 or bool to float64
	kSpread  // entry e is operand entry (e / inner) mod size
	kSpreadInt
	kFinite     // raises the flag if an entry is not finite
	kCheckZero  // raises the flag if an entry is zero
	kCheckEqual // raises the flag if entries are equal
	kCheckUnit  // raises the flag if an entry is 1 or −1
	kCheck      // raises the flag if op.Check finds a fault
	kPair       // from here on (a o1 b) o2 c, numbered as the pairs of scalar instructions
)

var opcodeNames = [...]string{
	kAdd: "add", kMul: "mul", kSub: "sub", kDiv: "div", kNeg: "neg", kUnary: "unary", kExp: "exp", kTanh: "tanh", kSech2: "sech2", kLogistic: "logistic", kSin: "sin", kCos: "cos", kBinary: "binary", kPowInt: "powi",
	kClamp: "clamp", kLess: "less", kLessEqual: "less_equal", kEqual: "equal", kLessInt: "less_i64", kLessEqualInt: "less_equal_i64",
	kEqualInt: "equal_i64", kAnd: "and", kOr: "or", kNot: "not", kSelect: "select", kSelectInt: "select_i64", kAddInt: "add_i64",
	kSubInt: "sub_i64", kMulInt: "mul_i64", kNegInt: "neg_i64", kConvert: "convert", kSpread: "spread", kSpreadInt: "spread_i64",
	kFinite: "check_finite", kCheckZero: "check_zero", kCheckEqual: "check_equal", kCheckUnit: "check_unit", kCheck: "check", kPair: "pair",
}

// elementwise chooses the kernel of an elementwise operation, and says whether the operation is one.
// It and the switch in schedule are the only places where an operation meets its kernel.
func elementwise(n *graph.Node, in []graph.Type) (opcode, bool) {
	float := len(in) > 0 && in[0].DType == graph.Float64
	pick := func(f, i opcode) (opcode, bool) {
		if float {
			return f, true
		}
		return i, true
	}
	switch n.Op {
	case graph.Add:
		return pick(kAdd, kAddInt)
	case op.Sub:
		return pick(kSub, kSubInt)
	case op.Mul:
		return pick(kMul, kMulInt)
	case op.Neg:
		return pick(kNeg, kNegInt)
	case op.Div:
		return kDiv, true
	case op.PowInt:
		return kPowInt, true
	case op.Clamp:
		return kClamp, true
	case op.Less:
		return pick(kLess, kLessInt)
	case op.LessEqual:
		return pick(kLessEqual, kLessEqualInt)
	case op.Equal:
		return pick(kEqual, kEqualInt)
	case op.And:
		return kAnd, true
	case op.Or:
		return kOr, true
	case op.Not:
		return kNot, true
	case op.Select:
		if in[1].DType == graph.Float64 {
			return kSelect, true
		}
		return kSelectInt, true
	case op.Convert:
		return kConvert, true
	case op.Broadcast, op.BroadcastRows:
		_, _, ok := spreadOf(n, in[0].Shape)
		k, _ := pick(kSpread, kSpreadInt)
		return k, ok
	}
	switch n.Op {
	case op.Exp:
		return kExp, true
	case op.Tanh:
		return kTanh, true
	case op.Sech2:
		return kSech2, true
	case op.Logistic:
		return kLogistic, true
	case op.Sin:
		return kSin, true
	case op.Cos:
		return kCos, true
	}
	if float && n.Op.Unary != nil {
		return kUnary, true
	}
	return kBinary, float && n.Op.Binary != nil
}

// spreadOf writes a broadcast as result[e] = operand[(e / inner) mod size], if the operand's axes
// are neighbours in the result.
func spreadOf(n *graph.Node, operand graph.Shape) (size, inner int, ok bool) {
	size, inner = operand.Len(), 1
	if n.Op == op.BroadcastRows || size == 1 || n.Type.Len() == 0 {
		return max(size, 1), inner, true
	}
	dims, shape := n.Attrs.Ints("dims"), n.Type.Shape
	first, last := -1, -1
	for i, a := range dims {
		if operand[i] != 1 {
			if last = a; first < 0 {
				first = a
			}
		}
	}
	for a := first; a <= last; a++ {
		if !slices.Contains(dims, a) && shape[a] != 1 {
			return 0, 0, false
		}
	}
	return size, shape[last+1:].Len(), true
}

// check chooses how the domain and the branch boundaries of a node are watched where a result that
// is not finite does not already tell, and says whether they need to be.
func check(n *graph.Node, in []graph.Type) (opcode, bool) {
	if n.Op.Check == nil {
		return 0, false
	}
	differentiated := slices.ContainsFunc(n.Attrs.Ints(graph.Order), func(k int) bool { return k > 0 })
	float := in[0].DType == graph.Float64
	switch n.Op {
	case op.Div, op.Log, op.Log1p, op.PowInt:
		return 0, false // outside the domain the result is infinite or NaN
	case op.Sqrt:
		return kCheckZero, differentiated
	case op.Asin, op.Acos:
		return kCheckUnit, differentiated
	case op.Pow, op.Hypot, op.Round:
		return kCheck, differentiated
	case op.Abs, op.Sign:
		return kCheckZero, differentiated
	case op.Min, op.Max:
		return kCheckEqual, differentiated
	case op.Less, op.LessEqual, op.Equal:
		if float {
			return kCheckEqual, differentiated
		}
		return kCheck, differentiated
	}
	return kCheck, true
}

// mayFail reports whether an operation must run even if nothing reads its result.
func mayFail(n *graph.Node) bool {
	return !n.Op.Total || n.Op == op.Neg && n.Type.DType == graph.Int64 // −x is beyond int64 for one x
}

// createsNonFinite reports whether finite operands can give a float64 result that is not finite.
func createsNonFinite(n *graph.Node) bool {
	if n.Type.DType != graph.Float64 || n.Op.Total {
		return false
	}
	switch n.Op {
	case op.Abs, op.Sign, op.Min, op.Max, op.Clamp, op.Round, op.Sqrt, op.Gather, op.Convert:
		return n.Op == op.Sqrt
	}
	return true
}

// passesNonFinite reports whether an entry of operand k that is infinite or NaN makes an entry of the result so.
func passesNonFinite(n *graph.Node, k int) bool {
	if n.Type.DType != graph.Float64 || n.Type.Len() == 0 {
		return false
	}
	switch n.Op {
	case graph.Add, op.Sub, op.Mul, op.Neg, op.Abs, op.Hypot, op.Convert,
		op.Sqrt, op.Sin, op.Cos, op.Tan, op.Log, op.Log1p, op.Sinh, op.Cosh, op.Asin, op.Acos,
		op.Sum, op.CumSum, op.MatMul,
		op.Reshape, op.Transpose, op.Broadcast, op.BroadcastRows, op.Pad, op.Concat, op.Roll, op.Reverse:
		return true
	case op.Div, op.ScatterAdd:
		return k == 0
	case op.PowInt:
		return n.Attrs.Int("n") > 0
	}
	return false
}
