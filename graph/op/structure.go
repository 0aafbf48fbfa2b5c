package op

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Operations that move entries and compute nothing.
var (
	// Reshape gives the entries, in row-major order, the attribute shape.
	Reshape = new(graph.Op)
	// Transpose permutes the axes: result axis i is operand axis perm[i].
	Transpose = new(graph.Op)
	// Broadcast copies the operand into the attribute shape; operand axis i becomes result axis dims[i].
	Broadcast = new(graph.Op)
	// BroadcastRows copies a vector to the rows of a matrix; the attribute rows says how many.
	BroadcastRows = new(graph.Op)
	// Slice takes entries start, start+step, … below limit along every axis.
	Slice = new(graph.Op)
	// Pad puts low zeros before, high zeros after and interior zeros between the entries of every axis.
	Pad = new(graph.Op)
	// Concat joins its operands along the attribute axis.
	Concat = new(graph.Op)
	// Roll shifts entries cyclically along the attribute axis by shift places towards higher indices.
	Roll = new(graph.Op)
	// Reverse turns the order along the attribute axes around.
	Reverse = new(graph.Op)
	// Gather takes rows: result[i…] = x[index[i…]], the index being the second operand.
	Gather = new(graph.Op)
	// ScatterAdd adds rows into size rows of zeros: result[index[i…]] += x[i…].
	ScatterAdd = new(graph.Op)
	// Convert changes the element type of numbers and booleans to a float type, the attribute dtype.
	Convert = new(graph.Op)
)

// numbers declares attributes of one integer each, lists attributes of several.
func numbers(names ...string) []graph.AttrSpec {
	specs := make([]graph.AttrSpec, len(names))
	for i, name := range names {
		specs[i].Name = name
	}
	return specs
}

func lists(names ...string) []graph.AttrSpec {
	specs := numbers(names...)
	for i := range specs {
		specs[i].List = true
	}
	return specs
}

func init() {
	// move enters an operation whose result entry i is operand entry from(i), or zero where from is negative.
	move := func(o *graph.Op, name string, specs []graph.AttrSpec, infer func(graph.Attrs, graph.Type) (graph.Type, error),
		from func(at graph.Attrs, in, out graph.Shape) func(int) int, transpose func(s *site, ct value) value) {
		define(o, graph.Op{Name: name, Arity: 1, Attrs: specs, Domain: "everywhere", Total: true, Exact: true,
			Infer: func(at graph.Attrs, in []graph.Type) (graph.Type, error) { return infer(at, in[0]) },
			Eval: func(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
				source := from(at, in[0].Shape, out.Shape)
				for i := range out.Len() {
					copyEntry(out, i, in[0], source(i))
				}
				return nil
			},
			LinearIn:  graph.JointlyLinear,
			JVP:       again,
			Transpose: func(s *site, _ []bool, ct value) []value { return []value{transpose(s, ct)} },
			Cost:      free,
		})
	}
	move(Reshape, "reshape", lists("shape"), reshapeInfer,
		func(graph.Attrs, graph.Shape, graph.Shape) func(int) int { return func(i int) int { return i } },
		func(s *site, ct value) value { return ReshapeTo(s.Builder, ct, s.XTypes[0].Shape) })
	move(Transpose, "transpose", lists("perm"), transposeInfer, transposeFrom,
		func(s *site, ct value) value {
			perm := s.Node.Attrs.Ints("perm")
			inverse := make([]int, len(perm))
			for i, a := range perm {
				inverse[a] = i
			}
			return s.Emit(Transpose, graph.Attrs{{Name: "perm", Ints: inverse}}, ct)
		})
	move(Broadcast, "broadcast", lists("shape", "dims"), broadcastInfer, broadcastFrom,
		func(s *site, ct value) value {
			return SumOver(s.Builder, ct, others(s.Node.Type.Shape, s.Node.Attrs.Ints("dims"))...)
		})
	move(BroadcastRows, "broadcast_rows", numbers("rows"), broadcastRowsInfer,
		func(_ graph.Attrs, in, _ graph.Shape) func(int) int { return func(i int) int { return i % in[0] } },
		func(s *site, ct value) value { return SumOver(s.Builder, ct, 0) })
	move(Slice, "slice", lists("start", "limit", "step"), sliceInfer, sliceFrom, transposeSlice)
	move(Pad, "pad", lists("low", "high", "interior"), padInfer, padFrom, transposePad)
	move(Roll, "roll", numbers("axis", "shift"), func(at graph.Attrs, t graph.Type) (graph.Type, error) {
		return t, checkAxes([]int{at.Int("axis")}, t.Shape)
	}, rollFrom, func(s *site, ct value) value {
		at := s.Node.Attrs
		return s.Emit(Roll, at.With("shift", -(at.Int("shift")%max(1, s.Node.Type.Shape[at.Int("axis")]))), ct)
	})
	move(Reverse, "reverse", lists("axes"), func(at graph.Attrs, t graph.Type) (graph.Type, error) {
		return t, checkAxes(at.Ints("axes"), t.Shape)
	}, reverseFrom, func(s *site, ct value) value { return s.Emit(Reverse, s.Node.Attrs, ct) })
	defineJoins()
}

func free(graph.Attrs, []graph.Type, graph.Type) int { return 0 }

func copyEntry(out *graph.Tensor, i int, x *graph.Tensor, k int) {
	switch {
	case k < 0:
	case out.F != nil:
		out.F[i] = x.F[k]
	default:
		out.I[i] = x.I[k]
	}
}

// others lists the axes of shape that are not in dims.
func others(shape graph.Shape, dims []int) []int {
	var axes []int
	for a := range shape {
		if !slices.Contains(dims, a) {
			axes = append(axes, a)
		}
	}
	return axes
}

// SumOver emits the sum over the given axes.
func SumOver(b *graph.Builder, x graph.Value, axes ...int) graph.Value {
	return b.Emit(Sum, graph.Attrs{{Name: "axes", Ints: axes}}, x)
}

// spread is the transpose of a sum: every summed entry receives the cotangent.
func spread(s *site, ct value) value {
	return BroadcastTo(s.Builder, ct, s.XTypes[0].Shape, others(s.XTypes[0].Shape, s.Node.Attrs.Ints("axes"))...)
}

// BroadcastTo emits the copy of x into a shape, its axis i becoming axis dims[i].
func BroadcastTo(b *graph.Builder, x graph.Value, shape graph.Shape, dims ...int) graph.Value {
	return b.Emit(Broadcast, graph.Attrs{{Name: "shape", Ints: shape}, {Name: "dims", Ints: dims}}, x)
}

// ReshapeTo emits x in another shape of as many entries.
func ReshapeTo(b *graph.Builder, x graph.Value, shape graph.Shape) graph.Value {
	return b.Emit(Reshape, graph.Attrs{{Name: "shape", Ints: shape}}, x)
}

func reshapeInfer(at graph.Attrs, t graph.Type) (graph.Type, error) {
	shape := graph.Shape(at.Ints("shape"))
	if err := shape.Check(); err != nil {
		return graph.Type{}, err
	}
	if shape.Len() != t.Len() {
		return graph.Type{}, fmt.Errorf("shape %v has %d entries, the operand %v has %d", shape, shape.Len(), t, t.Len())
	}
	return graph.Type{DType: t.DType, Shape: shape}, nil
}

func transposeInfer(at graph.Attrs, t graph.Type) (graph.Type, error) {
	perm := at.Ints("perm")
	sorted := slices.Sorted(slices.Values(perm))
	out := graph.Type{DType: t.DType, Shape: make(graph.Shape, len(perm))}
	for i, a := range sorted {
		if a != i || len(perm) != len(t.Shape) {
			return graph.Type{}, attrError("perm", perm, fmt.Sprintf("a permutation of the axes of shape %v", t.Shape))
		}
		out.Shape[i] = t.Shape[perm[i]]
	}
	if len(perm) != len(t.Shape) {
		return graph.Type{}, attrError("perm", perm, fmt.Sprintf("a permutation of the axes of shape %v", t.Shape))
	}
	return out, nil
}

func transposeFrom(at graph.Attrs, in, out graph.Shape) func(int) int {
	perm, strides := at.Ints("perm"), in.Strides()
	return func(i int) int {
		k := 0
		for a, x := range out.Index(i) {
			k += x * strides[perm[a]]
		}
		return k
	}
}

func broadcastInfer(at graph.Attrs, t graph.Type) (graph.Type, error) {
	shape, dims := graph.Shape(at.Ints("shape")), at.Ints("dims")
	if err := checkAxes(dims, shape); err != nil {
		return graph.Type{}, err
	}
	if len(dims) != len(t.Shape) {
		return graph.Type{}, attrError("dims", dims, fmt.Sprintf("one axis for each of shape %v", t.Shape))
	}
	for i, a := range dims {
		if shape[a] != t.Shape[i] {
			return graph.Type{}, fmt.Errorf("axis %d of %v does not fit axis %d of shape %v", i, t, a, shape)
		}
	}
	return graph.Type{DType: t.DType, Shape: shape}, nil
}

func broadcastFrom(at graph.Attrs, in, out graph.Shape) func(int) int {
	dims, strides := at.Ints("dims"), in.Strides()
	return func(i int) int {
		index, k := out.Index(i), 0
		for a, d := range dims {
			k += index[d] * strides[a]
		}
		return k
	}
}

func broadcastRowsInfer(at graph.Attrs, t graph.Type) (graph.Type, error) {
	if len(t.Shape) != 1 {
		return graph.Type{}, fmt.Errorf("wants a vector, has %v", t)
	}
	if at.Int("rows") < 0 {
		return graph.Type{}, attrError("rows", at.Int("rows"), "a number of rows")
	}
	return graph.Type{DType: t.DType, Shape: graph.Shape{at.Int("rows"), t.Shape[0]}}, nil
}

// perAxis wants attribute lists of one entry for each axis.
func perAxis(at graph.Attrs, t graph.Type, names ...string) error {
	for _, name := range names {
		if len(at.Ints(name)) != len(t.Shape) {
			return attrError(name, at.Ints(name), fmt.Sprintf("one entry for each axis of shape %v", t.Shape))
		}
	}
	return nil
}

func sliceInfer(at graph.Attrs, t graph.Type) (graph.Type, error) {
	if err := perAxis(at, t, "start", "limit", "step"); err != nil {
		return graph.Type{}, err
	}
	out := graph.Type{DType: t.DType, Shape: make(graph.Shape, len(t.Shape))}
	for a, d := range t.Shape {
		start, limit, step := at.Ints("start")[a], at.Ints("limit")[a], at.Ints("step")[a]
		if start < 0 || limit < start || limit > d || step < 1 || step > graph.MaxEntries {
			return graph.Type{}, fmt.Errorf("%d:%d:%d is no slice of axis %d of shape %v", start, limit, step, a, t.Shape)
		}
		if limit > start {
			out.Shape[a] = (limit-start-1)/step + 1
		}
	}
	return out, nil
}

func sliceFrom(at graph.Attrs, in, out graph.Shape) func(int) int {
	start, step, strides := at.Ints("start"), at.Ints("step"), in.Strides()
	return func(i int) int {
		k := 0
		for a, x := range out.Index(i) {
			k += (start[a] + x*step[a]) * strides[a]
		}
		return k
	}
}

// SliceOf emits entries start, start+step, … below limit of x along every axis.
func SliceOf(b *graph.Builder, x graph.Value, start, limit, step []int) graph.Value {
	return b.Emit(Slice, graph.Attrs{{Name: "start", Ints: start}, {Name: "limit", Ints: limit}, {Name: "step", Ints: step}}, x)
}

func transposeSlice(s *site, ct value) value {
	at, shape := s.Node.Attrs, s.XTypes[0].Shape
	low, high, interior := make([]int, len(shape)), make([]int, len(shape)), make([]int, len(shape))
	for a, d := range shape {
		start, step, n := at.Ints("start")[a], at.Ints("step")[a], s.Node.Type.Shape[a]
		low[a], interior[a] = start, step-1
		if high[a] = d - start; n > 0 {
			high[a] -= (n-1)*step + 1
		}
	}
	return PadWith(s.Builder, ct, low, high, interior)
}

// PadWith emits x with zeros before, after and between its entries along every axis.
func PadWith(b *graph.Builder, x graph.Value, low, high, interior []int) graph.Value {
	return b.Emit(Pad, graph.Attrs{{Name: "low", Ints: low}, {Name: "high", Ints: high}, {Name: "interior", Ints: interior}}, x)
}

func padInfer(at graph.Attrs, t graph.Type) (graph.Type, error) {
	if err := perAxis(at, t, "low", "high", "interior"); err != nil {
		return graph.Type{}, err
	}
	out := graph.Type{DType: t.DType, Shape: make(graph.Shape, len(t.Shape))}
	for a, d := range t.Shape {
		low, high, interior := at.Ints("low")[a], at.Ints("high")[a], at.Ints("interior")[a]
		if min(low, high, interior) < 0 {
			return graph.Type{}, fmt.Errorf("padding %d, %d, %d of axis %d is negative", low, high, interior, a)
		}
		if max(low, high, interior) >= graph.MaxEntries || d > 1 && interior > graph.MaxEntries/(d-1) {
			return graph.Type{}, fmt.Errorf("padding %d, %d, %d of axis %d is beyond %d entries", low, high, interior, a, graph.MaxEntries)
		}
		out.Shape[a] = low + high + padded(d, interior)
	}
	return out, nil
}

// padded is the length of n entries with interior zeros between them.
func padded(n, interior int) int { return max(0, n+(n-1)*interior) }

func padFrom(at graph.Attrs, in, out graph.Shape) func(int) int {
	low, interior, strides := at.Ints("low"), at.Ints("interior"), in.Strides()
	return func(i int) int {
		k := 0
		for a, x := range out.Index(i) {
			x -= low[a]
			if x < 0 || x%(interior[a]+1) != 0 || x/(interior[a]+1) >= in[a] {
				return -1
			}
			k += x / (interior[a] + 1) * strides[a]
		}
		return k
	}
}

func transposePad(s *site, ct value) value {
	at, shape := s.Node.Attrs, s.XTypes[0].Shape
	start, limit, step := make([]int, len(shape)), make([]int, len(shape)), make([]int, len(shape))
	for a, d := range shape {
		start[a], step[a] = at.Ints("low")[a], at.Ints("interior")[a]+1
		limit[a] = start[a] + padded(d, step[a]-1)
	}
	return SliceOf(s.Builder, ct, start, limit, step)
}

func rollFrom(at graph.Attrs, in, _ graph.Shape) func(int) int {
	axis := at.Int("axis")
	n, stride := in[axis], in.Strides()[axis]
	shift := at.Int("shift") % max(1, n)
	return func(i int) int {
		x := i / stride % n
		from := (x - shift + n) % n
		return i + (from-x)*stride
	}
}

func reverseFrom(at graph.Attrs, in, _ graph.Shape) func(int) int {
	strides := in.Strides()
	return func(i int) int {
		for _, a := range at.Ints("axes") {
			x := i / strides[a] % in[a]
			i += (in[a] - 1 - 2*x) * strides[a]
		}
		return i
	}
}

func defineJoins() {
	define(Concat, graph.Op{Name: "concat", Arity: -1, Attrs: numbers("axis"), Domain: "everywhere", Total: true, Exact: true,
		Infer: concatInfer, Eval: evalConcat, LinearIn: graph.JointlyLinear, Cost: free,
		JVP: func(s *site, dx []value) value {
			parts := make([]value, len(dx))
			for i := range dx {
				parts[i] = orZero(s, s.XTypes[i], dx[i])
			}
			return s.Emit(Concat, s.Node.Attrs, parts...)
		},
		Transpose: func(s *site, linear []bool, ct value) []value {
			axis, shape := s.Node.Attrs.Int("axis"), s.Node.Type.Shape
			out := make([]value, len(linear))
			offset := 0
			for i, t := range s.XTypes {
				start, limit, step := make([]int, len(shape)), slices.Clone(shape), make([]int, len(shape))
				for a := range step {
					step[a] = 1
				}
				start[axis], limit[axis] = offset, offset+t.Shape[axis]
				offset = limit[axis]
				if out[i] = none; linear[i] {
					out[i] = SliceOf(s.Builder, ct, start, limit, step)
				}
			}
			return out
		},
	})
	define(Gather, graph.Op{Name: "gather", Arity: 2, Domain: "every index within the rows of x", Infer: gatherInfer, Exact: true,
		LinearIn: linearInFirst, JVP: again, Cost: free,
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			fault := eachRow(in[1], in[0].Shape, func(i, row, width int) {
				for k := range width {
					copyEntry(out, i*width+k, in[0], row*width+k)
				}
			})
			if fault != nil {
				fault.Offset *= in[0].Shape[1:].Len()
			}
			return fault
		},
		Transpose: func(s *site, _ []bool, ct value) []value {
			at := graph.Attrs{{Name: "size", Ints: []int{s.XTypes[0].Shape[0]}}, {Name: "rank", Ints: []int{len(s.XTypes[1].Shape)}}}
			return []value{s.Emit(ScatterAdd, at, ct, s.X[1]), none}
		},
	})
	define(ScatterAdd, graph.Op{Name: "scatter_add", Arity: 2, Attrs: numbers("size", "rank"), Infer: scatterInfer,
		Domain: "every index within the rows of the result", LinearIn: linearInFirst, JVP: again, Cost: costOfOperand, Terms: addedTerms,
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			round := rounding(out.DType)
			fault := eachRow(in[1], out.Shape, func(i, row, width int) {
				for k := range width {
					out.F[row*width+k] = round(out.F[row*width+k] + in[0].F[i*width+k])
				}
			})
			if fault != nil {
				fault.Offset = -1
			}
			return fault
		},
		Transpose: func(s *site, _ []bool, ct value) []value { return []value{call(s, Gather, ct, s.X[1]), none} },
	})
	define(Convert, graph.Op{Name: "convert", Arity: 1, Attrs: numbers("dtype"), Domain: "everywhere", LinearIn: graph.JointlyLinear,
		Infer: func(at graph.Attrs, in []graph.Type) (graph.Type, error) {
			d := at.Int("dtype")
			if d != int(graph.Float64) && d != int(graph.Float32) {
				return graph.Type{}, fmt.Errorf("cannot convert %v to dtype %d", in[0], d)
			}
			return graph.Type{DType: graph.DType(d), Shape: in[0].Shape}, nil
		},
		Eval: func(_ graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
			copy(out.F, in[0].F)
			for i, x := range in[0].I {
				out.F[i] = float64(x)
			}
			return nil
		},
		JVP: again,
		Transpose: func(s *site, _ []bool, ct value) []value {
			return []value{ConvertTo(s.Builder, ct, s.XTypes[0].DType)}
		},
	})
}

// ConvertTo emits x with another float element type.
func ConvertTo(b *graph.Builder, x graph.Value, d graph.DType) graph.Value {
	return b.Emit(Convert, graph.Attrs{{Name: "dtype", Ints: []int{int(d)}}}, x)
}

func concatInfer(at graph.Attrs, in []graph.Type) (graph.Type, error) {
	axis := at.Int("axis")
	out := graph.Type{DType: in[0].DType, Shape: slices.Clone(in[0].Shape)}
	if err := checkAxes([]int{axis}, out.Shape); err != nil {
		return graph.Type{}, err
	}
	for _, t := range in[1:] {
		fits := t.DType == out.DType && len(t.Shape) == len(out.Shape)
		for a := range t.Shape {
			fits = fits && (a == axis || t.Shape[a] == out.Shape[a])
		}
		if !fits {
			return graph.Type{}, fmt.Errorf("%v and %v do not join along axis %d", in[0], t, axis)
		}
		out.Shape[axis] += t.Shape[axis]
	}
	return out, nil
}

func evalConcat(at graph.Attrs, out *graph.Tensor, in []*graph.Tensor) *graph.Fault {
	axis := at.Int("axis")
	stride := out.Shape.Strides()[axis]
	block := out.Shape[axis] * stride
	offset := 0
	for _, x := range in {
		width := x.Shape[axis] * stride
		for i := range x.Len() {
			copyEntry(out, i/width*block+offset+i%width, x, i)
		}
		offset += width
	}
	return nil
}

func gatherInfer(_ graph.Attrs, in []graph.Type) (graph.Type, error) {
	if len(in[0].Shape) == 0 || in[1].DType != graph.Int64 {
		return graph.Type{}, fmt.Errorf("wants an array and int64 indices, has %v and %v", in[0], in[1])
	}
	return graph.Type{DType: in[0].DType, Shape: slices.Concat(in[1].Shape, in[0].Shape[1:])}, nil
}

func scatterInfer(at graph.Attrs, in []graph.Type) (graph.Type, error) {
	size, rank := at.Int("size"), at.Int("rank")
	x, index := in[0], in[1]
	if !x.DType.IsFloat() || index.DType != graph.Int64 || size < 0 || len(index.Shape) != rank || rank > len(x.Shape) || !x.Shape[:rank].Equal(index.Shape) {
		return graph.Type{}, fmt.Errorf("wants floats whose first axes are those of %d-axis int64 indices, and a size; has %v, %v and size %d", rank, x, index, size)
	}
	return graph.Type{DType: x.DType, Shape: slices.Concat(graph.Shape{size}, x.Shape[rank:])}, nil
}

// eachRow visits, for every index, the row of shape that it names; one outside is a fault whose
// offset is that of the index.
func eachRow(index *graph.Tensor, shape graph.Shape, visit func(i, row, width int)) *graph.Fault {
	width := shape[1:].Len()
	for i, row := range index.I {
		if row < 0 || row >= int64(shape[0]) {
			fault := graph.Outside("index %d at %v is outside the %d rows", row, index.Shape.Index(i), shape[0])
			fault.Offset = i
			return fault
		}
		visit(i, int(row), width)
	}
	return nil
}
