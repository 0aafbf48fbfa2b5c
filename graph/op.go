package graph

import (
	"fmt"
	"slices"
)

// Op is a primitive operation: a value, whose fields are its rules. The table of all primitives is
// package op; this package defines only the two that its transformations emit, literal and add.
//
// No operation has a backward rule. Its JVP says how tangents pass through it; where it is linear,
// its Transpose says how cotangents pass back.
type Op struct {
	Name  string
	Arity int        // number of operands; -1: one or more
	Attrs []AttrSpec // static attributes, in printed order

	// Infer is the shape rule: the type of the result, or what is wrong with the operands.
	Infer func(at Attrs, in []Type) (Type, error)

	// Unary or Binary is the leaf kernel of an elementwise operation on floats. Eval evaluates everything
	// else: other operations, and elementwise ones on integers and booleans.
	Unary  func(x float64) float64
	Binary func(x, y float64) float64
	Eval   func(at Attrs, out *Tensor, in []*Tensor) *Fault

	// Check classifies one entry of an elementwise operation: nil inside the open domain, and on
	// its boundary where a value exists and no derivative of the demanded orders is asked.
	// order[i] is how many times the result is differentiated with respect to operand i.
	Check func(at Attrs, order []int, x []float64) *Fault
	// Kinks marks operations that are not smooth everywhere they have a value. They carry the
	// attribute "order", which JVP raises.
	Kinks bool
	// Total marks operations without a check whose float result is finite whenever the operands are.
	// Only these may be removed when nothing reads them.
	Total bool
	// Terms is how many terms an entry of the result is the sum of, and whether they are added in turn. nil: it is no sum.
	Terms func(at Attrs, in []Type, out Type) (n float64, inTurn bool)
	// Exact marks operations whose result is exact, so that no rounding enters.
	Exact bool
	// Safe is an operand tuple strictly inside the domain at every order, for guarding the arm of
	// a conditional that is not taken.
	Safe []float64
	// Domain states, in words, the open domain, the boundary value and the smoothness there.
	Domain string

	// LinearIn reports whether the operation is linear in the marked operands together, the others
	// held fixed. nil: never.
	LinearIn func(marked []bool) bool
	// Branch numbers the open branch region in which the operands of one entry lie, 1, 2, …; it is 0
	// on the boundary. nil: the operation has one smooth formula on its open domain.
	Branch func(x []float64) int
	// JVP emits the tangent of the result from the operands' tangents, of which at least one is not
	// None; it returns None for a tangent that is zero by structure.
	JVP func(s *Site, dx []Value) Value
	// Transpose emits, for each operand marked linear, its cotangent (None for zero) from the
	// result's.
	Transpose func(s *Site, linear []bool, ct Value) []Value

	// Taylor fills the coefficients y[1], y[2], … of the result along a curve from y[0] and the
	// operands' coefficients x[operand]. nil: the operation has no such rule, and wants none where it
	// is linear in the operands that vary.
	Taylor func(at Attrs, y []*Tensor, x [][]*Tensor)

	// Cost is the number of floating-point operations. nil: one for each entry of the result.
	Cost func(at Attrs, in []Type, out Type) int

	// Body is the program, of one output, that a composite operation stands for; nil for primitives.
	// Expand writes it out.
	Body *Program
	// Declared names the declared response that a composite operation belongs to; "" for exact ones.
	Declared string
	bodyKey  string // tells composites of one name and different bodies apart
}

// AttrSpec declares an attribute of an operation.
type AttrSpec struct {
	Name     string
	Optional bool // absent means 0
	List     bool // any number of integers; otherwise one
}

// Attr is a static parameter of an operation: a list of integers (a flag or a number is a list of one).
type Attr struct {
	Name string
	Ints []int
}

// Attrs is the ordered list of a node's attributes.
type Attrs []Attr

// Ints returns the named list, or nil.
func (a Attrs) Ints(name string) []int {
	for i := range a {
		if a[i].Name == name {
			return a[i].Ints
		}
	}
	return nil
}

// Int returns the named number, or 0.
func (a Attrs) Int(name string) int {
	if v := a.Ints(name); len(v) > 0 {
		return v[0]
	}
	return 0
}

// Flag reports whether the named number is there and not 0.
func (a Attrs) Flag(name string) bool { return a.Int(name) != 0 }

// With returns a copy in which the named attribute has the given value, in place or at the end.
func (a Attrs) With(name string, ints ...int) Attrs {
	out := slices.Clone(a)
	for i := range out {
		if out[i].Name == name {
			out[i].Ints = ints
			return out
		}
	}
	return append(out, Attr{name, ints})
}

// Order is the attribute by which an operation with kinks knows how often its result is
// differentiated with respect to each operand.
const Order = "order"

// Fault is what an operation reports of one failing entry; the evaluator adds the place.
type Fault struct {
	Status Status
	Offset int // row-major offset of the entry in the result; -1: no entry of the result is to blame
	Reason string
}

// Outside returns the fault of an entry outside the real domain.
func Outside(format string, args ...any) *Fault {
	return &Fault{Status: DomainError, Reason: fmt.Sprintf(format, args...)}
}

// Kink returns the fault of an entry on a branch boundary whose derivative is asked.
func Kink(format string, args ...any) *Fault {
	return &Fault{Status: Nondifferentiable, Reason: fmt.Sprintf(format, args...)}
}

// infer applies the shape rule after the checks that every operation shares.
func (op *Op) infer(at Attrs, in []Type) (Type, error) {
	if op.Arity >= 0 && len(in) != op.Arity {
		return Type{}, fmt.Errorf("%s wants %d operands, has %d", op.Name, op.Arity, len(in))
	}
	if op.Arity < 0 && len(in) == 0 {
		return Type{}, fmt.Errorf("%s wants at least one operand", op.Name)
	}
	if err := op.checkAttrs(at, len(in)); err != nil {
		return Type{}, fmt.Errorf("%s: %w", op.Name, err)
	}
	for i, t := range in {
		if t.DType == Float0 {
			return Type{}, fmt.Errorf("%s: operand %d is %v, which has no entries to compute with", op.Name, i, t)
		}
	}
	t, err := op.Infer(at, in)
	if err == nil {
		err = t.Shape.Check()
	}
	if err != nil {
		return Type{}, fmt.Errorf("%s: %w", op.Name, err)
	}
	return t, nil
}

func (op *Op) checkAttrs(at Attrs, arity int) error {
	for i, a := range at {
		k := slices.IndexFunc(op.Attrs, func(s AttrSpec) bool { return s.Name == a.Name })
		if k < 0 && !(op.Kinks && a.Name == Order) {
			return fmt.Errorf("unknown attribute %q", a.Name)
		}
		if k >= 0 && !op.Attrs[k].List && len(a.Ints) != 1 {
			return fmt.Errorf("attribute %s wants one number, has %v", a.Name, a.Ints)
		}
		if slices.ContainsFunc(at[:i], func(b Attr) bool { return a.Name == b.Name }) {
			return fmt.Errorf("attribute %q twice", a.Name)
		}
		if k < 0 && (len(a.Ints) != arity || slices.ContainsFunc(a.Ints, func(i int) bool { return i < 0 })) {
			return fmt.Errorf("attribute order wants %d counts, has %v", arity, a.Ints)
		}
	}
	for _, s := range op.Attrs {
		if !s.Optional && !slices.ContainsFunc(at, func(a Attr) bool { return a.Name == s.Name }) {
			return fmt.Errorf("missing attribute %q", s.Name)
		}
	}
	return nil
}

// Site is a node as its rules see it: the node, and its operands and result in the program being
// built. In a transpose, operands that are linear, and the result, are None.
type Site struct {
	*Builder
	Node   *Node
	XTypes []Type
	X      []Value
	Y      Value
}

// ElementwiseInfer is the shape rule of elementwise operations: float operands of one type.
func ElementwiseInfer(_ Attrs, in []Type) (Type, error) {
	for _, t := range in {
		if !t.DType.IsFloat() {
			return Type{}, fmt.Errorf("wants floats, has %v", t)
		}
	}
	return SameInfer(nil, in)
}

// SameInfer is the shape rule of operations whose operands and result are of one type.
func SameInfer(_ Attrs, in []Type) (Type, error) {
	for _, t := range in[1:] {
		if !t.Equal(in[0]) {
			return Type{}, fmt.Errorf("wants operands of one type, has %v and %v", in[0], t)
		}
	}
	return in[0], nil
}

// JointlyLinear is the LinearIn of operations that are linear in all operands together.
func JointlyLinear(marked []bool) bool { return !slices.Contains(marked, false) }

// Literal is a constant of the program text. Its value is part of the node; one entry stands for
// all entries of the shape. Its type is stated, not inferred.
var Literal = &Op{Name: "literal", Total: true, Domain: "everywhere",
	JVP: func(*Site, []Value) Value { return None },
}

// Add is the entrywise sum x + y: the operation by which cotangents of repeated uses accumulate.
var Add = &Op{Name: "add", Arity: 2, Infer: numericInfer, Domain: "everywhere", Safe: []float64{0, 0},
	Binary:   func(x, y float64) float64 { return x + y },
	Eval:     func(_ Attrs, out *Tensor, in []*Tensor) *Fault { return AddInts(out, in[0], in[1]) },
	LinearIn: JointlyLinear,
	JVP: func(s *Site, dx []Value) Value {
		switch {
		case dx[0] == None:
			return dx[1]
		case dx[1] == None:
			return dx[0]
		}
		return s.Emit(s.Node.Op, nil, dx[0], dx[1])
	},
	Transpose: func(s *Site, linear []bool, ct Value) []Value { return []Value{ct, ct} },
}

func numericInfer(at Attrs, in []Type) (Type, error) {
	t, err := SameInfer(at, in)
	if err == nil && t.DType != Int64 && !t.DType.IsFloat() {
		err = fmt.Errorf("wants numbers, has %v", t)
	}
	return t, err
}

// AddInts adds int64 entries; a sum beyond int64 is a fault.
func AddInts(out, x, y *Tensor) *Fault {
	for i := range out.I {
		a, b := x.I[i], y.I[i]
		s := a + b
		if (s > a) != (b > 0) && b != 0 {
			return &Fault{Status: NonFinite, Offset: i, Reason: fmt.Sprintf("%d + %d is beyond int64", a, b)}
		}
		out.I[i] = s
	}
	return nil
}
