package graph

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// DType is the element type of a tensor.
type DType uint8

const (
	Float64 DType = iota
	Float32
	Int64
	Bool
	// Float0 is the tangent type of integers and booleans: a space without directions, zero bytes
	// an element. It states that a derivative is absent, which a buffer of zeros would not.
	Float0
)

var dtypeNames = [...]string{Float64: "f64", Float32: "f32", Int64: "i64", Bool: "bool", Float0: "float0"}

func (d DType) String() string { return dtypeNames[d] }

// IsFloat reports whether values of the type carry derivatives.
func (d DType) IsFloat() bool { return d == Float64 || d == Float32 }

// Tangent is the type of a tangent or cotangent: the type itself for floats, float0 otherwise.
func (d DType) Tangent() DType {
	if d.IsFloat() {
		return d
	}
	return Float0
}

// Size is the number of bytes of one element.
func (d DType) Size() int { return [...]int{Float64: 8, Float32: 4, Int64: 8, Bool: 1, Float0: 0}[d] }

// Shape lists the dimensions of a tensor, outermost first. The empty shape is the scalar; a
// dimension may be 0.
type Shape []int

// MaxEntries bounds the entries of one tensor, so that sizes and byte counts never overflow.
const MaxEntries = 1 << 40

// Len is the number of entries: the product of the dimensions.
func (s Shape) Len() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Check reports a dimension that is negative, or a dimension or a number of entries beyond MaxEntries.
func (s Shape) Check() error {
	n := 1
	for i, d := range s {
		if d < 0 {
			return fmt.Errorf("dimension %d of shape %v is negative", i, s)
		}
		if d > MaxEntries || d > 0 && n > MaxEntries/d {
			return fmt.Errorf("shape %v has more than %d entries", s, MaxEntries)
		}
		n *= d
	}
	return nil
}

func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// Index returns the multi-index of the entry at a row-major offset, or nil for an offset outside the shape.
func (s Shape) Index(offset int) []int {
	if offset < 0 || offset >= s.Len() {
		return nil
	}
	index := make([]int, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		index[i], offset = offset%s[i], offset/s[i]
	}
	return index
}

// Strides returns the row-major strides of the shape, in entries.
func (s Shape) Strides() []int {
	strides := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i], n = n, n*s[i]
	}
	return strides
}

// Type is an element type with a shape.
type Type struct {
	DType DType
	Shape Shape
}

// Scalar is the type of one float64.
var Scalar = Type{DType: Float64}

// F64 is the float64 type of the given shape.
func F64(dims ...int) Type { return Type{Float64, dims} }

func (t Type) Equal(u Type) bool { return t.DType == u.DType && t.Shape.Equal(u.Shape) }

// Len is the number of entries.
func (t Type) Len() int { return t.Shape.Len() }

// Tangent is the type of tangents and cotangents of t.
func (t Type) Tangent() Type { return Type{t.DType.Tangent(), t.Shape} }

// String writes the type as in a printed program: f64, f64[3], i64[2 4].
func (t Type) String() string {
	if len(t.Shape) == 0 {
		return t.DType.String()
	}
	return t.DType.String() + t.Shape.String()
}

// Tensor is a value: row-major entries of a type. Floats (both widths) live in F, each float32
// entry as a float64 that float32 represents; integers and booleans (0 or 1) live in I; float0 has
// no entries at all.
type Tensor struct {
	Type
	F []float64
	I []int64
}

// NewTensor returns a tensor of zeros.
func NewTensor(t Type) *Tensor {
	x := &Tensor{Type: t}
	switch {
	case t.DType.IsFloat():
		x.F = make([]float64, t.Len())
	case t.DType != Float0:
		x.I = make([]int64, t.Len())
	}
	return x
}

// Floats returns the float64 tensor of a shape over the given entries, which it keeps.
func Floats(shape Shape, entries []float64) *Tensor {
	if len(entries) != shape.Len() {
		panic(fmt.Sprintf("graph: %d entries for shape %v", len(entries), shape))
	}
	return &Tensor{Type: Type{Float64, shape}, F: entries}
}

// Number returns a float64 scalar.
func Number(x float64) *Tensor { return Floats(nil, []float64{x}) }

// Ints returns the int64 tensor of a shape over the given entries, which it keeps.
func Ints(shape Shape, entries []int64) *Tensor {
	if len(entries) != shape.Len() {
		panic(fmt.Sprintf("graph: %d entries for shape %v", len(entries), shape))
	}
	return &Tensor{Type: Type{Int64, shape}, I: entries}
}

// Clone returns a copy that shares nothing with x.
func (x *Tensor) Clone() *Tensor {
	return &Tensor{Type: x.Type, F: slices.Clone(x.F), I: slices.Clone(x.I)}
}

// Round32 replaces every entry by the nearest float32.
func (x *Tensor) Round32() {
	for i, v := range x.F {
		x.F[i] = float64(float32(v))
	}
}

// nonFinite returns the offset of the first entry that is NaN or infinite, or -1.
func (x *Tensor) nonFinite() int {
	return slices.IndexFunc(x.F, func(v float64) bool { return v-v != 0 })
}

// wellFormed reports a tensor whose entries do not belong to its type.
func (x *Tensor) wellFormed() error {
	floats, ints := 0, 0
	switch {
	case x.DType.IsFloat():
		floats = x.Len()
	case x.DType != Float0:
		ints = x.Len()
	}
	if len(x.F) != floats || len(x.I) != ints {
		return fmt.Errorf("%v wants %d floats and %d integers, has %d and %d", x.Type, floats, ints, len(x.F), len(x.I))
	}
	for _, v := range x.F {
		if x.DType == Float32 && float64(float32(v)) != v && !math.IsNaN(v) {
			return fmt.Errorf("%v is no float32", v)
		}
	}
	for _, v := range x.I {
		if x.DType == Bool && v != 0 && v != 1 {
			return fmt.Errorf("%d is no boolean", v)
		}
	}
	return nil
}
