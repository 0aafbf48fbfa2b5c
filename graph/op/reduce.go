package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Sums and products of arrays.
var (
	// Sum adds the entries over the axes in its attribute axes.
	Sum = new(graph.Op)
	// CumSum is the running sum along the attribute axis, from the end if the flag reverse is set.
	CumSum = new(graph.Op)
	// MatMul is the product of two matrices, transposed first where the flags ta and tb say so.
	MatMul = new(graph.Op)
)

func init() {
	define(Sum, graph.Op{Name: "sum", Arity: 1, Domain: "everywhere", Infer: sumInfer,
		Attrs:     lists("axes"),
		Eval:      evalSum,
		Terms:     addedTerms,
		LinearIn:  graph.JointlyLinear,
		JVP:       again,
		Transpose: func(s *site, _ []bool, ct value) []value { return []value{spread(s, ct)} },
		Cost:      costOfOperand,
	})
	define(CumSum, graph.Op{Name: "cumsum", Arity: 1, Domain: "everywhere", Infer: axisInfer,
		Attrs: []graph.AttrSpec{{Name: "axis"}, {Name: "reverse", Optional: true}},
		Eval:  evalCumSum,
		Terms: func(at graph.Attrs, _ []graph.Type, out graph.Type) (float64, bool) {
			return float64(out.Shape[at.Int("axis")]), true
		},
		LinearIn: graph.JointlyLinear,
		JVP:      again,
		Transpose: func(s *site, _ []bool, ct value) []value {
			at := s.Node.Attrs
			return []value{s.Emit(CumSum, at.With("reverse", int(bit(!at.Flag("reverse")))), ct)}
		},
	})
	define(MatMul, graph.Op{Name: "matmul", Arity: 2, Domain: "everywhere", Infer: matmulInfer,
		Attrs: []graph.AttrSpec{{Name: "ta", Optional: true}, {Name: "tb", Optional: true}},
		Eval:  evalMatMul,
		Terms: func(_ graph.Attrs, in []graph.Type, out graph.Type) (float64, bool) { // (m×k)(k×n)
			return math.Sqrt(float64(in[0].Len()) * float64(in[1].Len()) / float64(out.Len())), true
		},
		LinearIn:  linearInOne,
		JVP:       bilinear,
		Transpose: transposeMatMul,
		Cost: func(at graph.Attrs, in []graph.Type, out graph.Type) int {
			inner := in[0].Shape[1]
			if at.Flag("ta") {
				inner = in[0].Shape[0]
			}
			return 2 * inner * out.Len()
		},
	})
}

func addedTerms(_ graph.Attrs, in []graph.Type, out graph.Type) (float64, bool) {
	return float64(in[0].Len()) / float64(out.Len()), false
}

func costOfOperand(_ graph.Attrs, in []graph.Type, _ graph.Type) int { return in[0].Len() }

func needNumbers(t graph.Type) error {
	if t.DType != graph.Int64 && !t.DType.IsFloat() {
		return fmt.Errorf("wants numbers, has %v", t)
	}
	return nil
}

// checkAxes wants increasing axes of the shape.
func checkAxes(axes []int, shape graph.Shape) error {
	for i, a := range axes {
		if a < 0 || a >= len(shape) || i > 0 && a <= axes[i-1] {
			return attrError("axes", axes, fmt.Sprintf("increasing axes of shape %v", shape))
		}
	}
	return nil
}

func sumInfer(at graph.Attrs, in []graph.Type) (graph.Type, error) {
	axes := at.Ints("axes")
	if err := checkAxes(axes, in[0].Shape); err != nil {
		return graph.Type{}, err
	}
	out := graph.Type{DType: in[0].DType}
	for a, d := range in[0].Shape {
		if !slices.Contains(axes, a) {
			out.Shape = append(out.Shape, d)
		}
	}
	return out, needNumbers(in[0])
}

func axisInfer(at graph.Attrs, in []graph.Type) (graph.Type, error) {
	if a := at.Int("axis"); a < 0 || a >= len(in[0].Shape) {
		return graph.Type{}, attrError("axis", a, fmt.Sprintf("an axis of shape %v", in[0].Shape))
	}
	return in[0], needNumbers(in[0])
}

// SumLanes is the number of interleaved partial sums of a reduction.
const SumLanes = 8

// accumulator is the one order in which a sum is taken: entry k joins partial sum k mod 8, and the
// eight partial sums are added pairwise at the end. Up to eight entries cost no extra error, and the
// eight chains are independent.
type accumulator struct {
	part  [SumLanes]float64
	count int
	round func(float64) float64
}

func (a *accumulator) add(x float64) {
	k := a.count % SumLanes
	a.part[k] = a.round(a.part[k] + x)
	a.count++
}

func (a *accumulator) sum() float64 {
	p := a.part
	for half := SumLanes / 2; half > 0; half /= 2 {
		for k := range half {
			p[k] = a.round(p[k] + p[k+half])
		}
	}
	return p[0]
}

// rounding is the rounding of one operation on entries of a float type.
func rounding(d graph.DType) func(float64) float64 {
	if d == graph.Float32 {
		return func(x float64) float64 { return float64(float32(x)) }
	}
	return func(x float64) float64 { return x }
}

func evalSum(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
	x := in[0]
	axes := at.Ints("axes")
	strides := x.Shape.Strides()
	var keptDims, keptStrides, sumDims, sumStrides []int
	for a, d := range x.Shape {
		if slices.Contains(axes, a) {
			sumDims, sumStrides = append(sumDims, d), append(sumStrides, strides[a])
		} else {
			keptDims, keptStrides = append(keptDims, d), append(keptStrides, strides[a])
		}
	}
	round := rounding(x.DType)
	entry := 0
	var fault *graph.Fault
	walk(keptDims, keptStrides, 0, func(base int) {
		if x.DType.IsFloat() {
			acc := accumulator{round: round}
			walk(sumDims, sumStrides, base, func(k int) { acc.add(x.F[k]) })
			out.F[entry] = acc.sum()
		} else {
			walk(sumDims, sumStrides, base, func(k int) {
				if f := addTo(out, entry, x.I[k]); fault == nil {
					fault = f
				}
			})
		}
		entry++
	})
	return fault
}

// addTo adds an int64 to an entry; a sum beyond int64 is a fault.
func addTo(out *graph.Tensor, entry int, x int64) *graph.Fault {
	sum := graph.Tensor{I: out.I[entry : entry+1]}
	fault := graph.AddInts(&sum, &graph.Tensor{I: []int64{out.I[entry]}}, &graph.Tensor{I: []int64{x}})
	if fault != nil {
		fault.Offset = entry
	}
	return fault
}

// walk visits the offsets of a strided block in row-major order.
func walk(dims, strides []int, base int, visit func(offset int)) {
	if len(dims) == 0 {
		visit(base)
		return
	}
	for i := range dims[0] {
		walk(dims[1:], strides[1:], base+i*strides[0], visit)
	}
}

func evalCumSum(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
	x := in[0]
	axis := at.Int("axis")
	n, stride := x.Shape[axis], x.Shape.Strides()[axis]
	round := rounding(x.DType)
	var lowest *graph.Fault
	for start := range x.Len() {
		if start/stride%n != 0 {
			continue
		}
		var sum float64
		total := graph.Tensor{I: []int64{0}}
		for i := range n {
			k := start + i*stride
			if at.Flag("reverse") {
				k = start + (n-1-i)*stride
			}
			if x.DType.IsFloat() {
				sum = round(sum + x.F[k])
				out.F[k] = sum
				continue
			}
			if fault := addTo(&total, 0, x.I[k]); fault != nil {
				if fault.Offset = k; lowest == nil || k < lowest.Offset {
					lowest = fault
				}
				break
			}
			out.I[k] = total.I[0]
		}
	}
	return lowest
}

func matmulInfer(at graph.Attrs, in []graph.Type) (graph.Type, error) {
	a, b := in[0], in[1]
	if len(a.Shape) != 2 || len(b.Shape) != 2 || a.DType != b.DType || !a.DType.IsFloat() {
		return graph.Type{}, fmt.Errorf("wants two matrices of floats, has %v and %v", a, b)
	}
	m, k := a.Shape[0], a.Shape[1]
	if at.Flag("ta") {
		m, k = k, m
	}
	l, n := b.Shape[0], b.Shape[1]
	if at.Flag("tb") {
		l, n = n, l
	}
	if k != l {
		return graph.Type{}, fmt.Errorf("inner dimensions differ: %d×%d times %d×%d", m, k, l, n)
	}
	return graph.Type{DType: a.DType, Shape: graph.Shape{m, n}}, nil
}

// evalMatMul accumulates every entry over the inner index in order, each product and sum rounded once.
func evalMatMul(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
	a, b := in[0], in[1]
	ai, ak := a.Shape[1], 1
	inner := a.Shape[1]
	if at.Flag("ta") {
		ai, ak, inner = 1, a.Shape[1], a.Shape[0]
	}
	bk, bj := b.Shape[1], 1
	if at.Flag("tb") {
		bk, bj = 1, b.Shape[1]
	}
	m, n := out.Shape[0], out.Shape[1]
	for i := range m {
		for j := range n {
			var sum float64
			if a.DType == graph.Float32 {
				for k := range inner {
					sum = float64(float32(sum + float64(float32(a.F[i*ai+k*ak]*b.F[k*bk+j*bj]))))
				}
			} else {
				for k := range inner {
					sum += float64(a.F[i*ai+k*ak] * b.F[k*bk+j*bj])
				}
			}
			out.F[i*n+j] = sum
		}
	}
	return nil
}

// transposeMatMul: for C = A·B, Ā = C̄·Bᵀ and B̄ = Aᵀ·C̄; the flags are folded in.
func transposeMatMul(s *site, linear []bool, ct value) []value {
	ta, tb := s.Node.Attrs.Flag("ta"), s.Node.Attrs.Flag("tb")
	a, b := s.X[0], s.X[1]
	switch {
	case linear[0] && !ta:
		return []value{Product(s.Builder, ct, b, false, !tb), none}
	case linear[0]:
		return []value{Product(s.Builder, b, ct, tb, true), none}
	case !tb:
		return []value{none, Product(s.Builder, a, ct, !ta, false)}
	}
	return []value{none, Product(s.Builder, ct, a, true, ta)}
}

// Product emits op(a)·op(b), where op transposes if its flag is set.
func Product(b *graph.Builder, x, y graph.Value, ta, tb bool) graph.Value {
	return b.Emit(MatMul, ProductAttrs(ta, tb), x, y)
}

// ProductAttrs are the attributes of a MatMul with the given flags.
func ProductAttrs(ta, tb bool) graph.Attrs {
	var at graph.Attrs
	if ta {
		at = append(at, graph.Attr{Name: "ta", Ints: []int{1}})
	}
	if tb {
		at = append(at, graph.Attr{Name: "tb", Ints: []int{1}})
	}
	return at
}
