package module

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// primitive is a row of the registry: what the check of a node knows about its operation.
type primitive struct {
	arity int // -1: one or more
	attrs []attrSpec
	// infer is the shape rule for all valuations at once.
	infer func(c *call) (symbolic, error)
	// lower gives the operation and its attributes for one valuation; nil: the operation of the
	// same name with the attributes as they stand.
	lower func(c *call, v Valuation, result graph.Type) (*graph.Op, graph.Attrs)
}

type attrKind uint8

const (
	integer  attrKind = iota // a fixed integer
	integers                 // a list of them
	dim                      // a dimension
	dims                     // a list of them
	flag                     // true or false
	numbers                  // a real number or a list of them
)

var kindWords = [...]string{"an integer", "a list of integers", "a positive integer or a name", "a list of positive integers or names", "true or false", "a number or a list of numbers"}

type attrSpec struct {
	name     string
	kind     attrKind
	optional bool
}

// symbolic is a type of a family: "" for reals, i64 or bool, with dimensions as polynomials.
type symbolic struct {
	dtype string
	shape []poly
}

func (t symbolic) String() string {
	if t.dtype == "" {
		return "real" + shapeText(t.shape)
	}
	return t.dtype + shapeText(t.shape)
}

// call is a node with the types of its operands.
type call struct {
	node *Node
	in   []symbolic
}

func (c *call) attribute(name string) *Attribute {
	for i := range c.node.Attributes {
		if c.node.Attributes[i].Name == name {
			return &c.node.Attributes[i]
		}
	}
	return nil
}

func (c *call) dims(name string) []poly {
	var out []poly
	if a := c.attribute(name); a != nil {
		for _, v := range a.Values {
			out = append(out, Dim{Name: v.Name, Size: v.Int}.poly())
		}
	}
	return out
}

func (c *call) ints(name string) []int {
	var out []int
	if a := c.attribute(name); a != nil {
		for _, v := range a.Values {
			out = append(out, v.Int)
		}
	}
	return out
}

func (c *call) int(name string) int {
	if v := c.ints(name); len(v) > 0 {
		return v[0]
	}
	return 0
}

func (c *call) real(k int) error {
	if c.in[k].dtype != "" {
		return fmt.Errorf("wants real operands, has %v", c.in[k])
	}
	return nil
}

// axis wants an axis of operand 0.
func (c *call) axis(name string) (int, error) {
	a := c.int(name)
	if a < 0 || a >= len(c.in[0].shape) {
		return 0, fmt.Errorf("attribute %q is %d, want an axis of %v", name, a, c.in[0])
	}
	return a, nil
}

// axes wants increasing axes of a shape.
func (c *call) axes(name string, rank int) ([]int, error) {
	axes := c.ints(name)
	for i, a := range axes {
		if a < 0 || a >= rank || i > 0 && a <= axes[i-1] {
			return nil, fmt.Errorf("attribute %q is %v, want increasing axes below %d", name, axes, rank)
		}
	}
	return axes, nil
}

// same is the shape rule of operands of one type.
func same(c *call) (symbolic, error) {
	for _, t := range c.in[1:] {
		if t.dtype != c.in[0].dtype {
			return symbolic{}, fmt.Errorf("wants operands of one type, has %v and %v", c.in[0], t)
		}
		if err := equalShapes(c.in[0].shape, t.shape, "wants operands of one shape, has %v and %v", c.in[0], t); err != nil {
			return symbolic{}, err
		}
	}
	return c.in[0], nil
}

func sameReal(c *call) (symbolic, error) {
	for k := range c.in {
		if err := c.real(k); err != nil {
			return symbolic{}, err
		}
	}
	return same(c)
}

func sameNumbers(c *call) (symbolic, error) {
	if c.in[0].dtype == "bool" {
		return symbolic{}, fmt.Errorf("wants numbers, has %v", c.in[0])
	}
	return same(c)
}

func sameBool(c *call) (symbolic, error) {
	for _, t := range c.in {
		if t.dtype != "bool" {
			return symbolic{}, fmt.Errorf("wants booleans, has %v", t)
		}
	}
	return same(c)
}

func compare(c *call) (symbolic, error) {
	t, err := sameNumbers(c)
	return symbolic{"bool", t.shape}, err
}

// primitives is the registry, filled by init because its rows look names up in it.
var primitives map[string]*primitive

func init() {
	primitives = map[string]*primitive{
		"clamp":   {arity: 3, infer: sameReal},
		"powi":    {arity: 1, attrs: []attrSpec{{"n", integer, false}}, infer: inferPower},
		"select":  {arity: 3, infer: inferSelect},
		"matmul":  {arity: 2, attrs: []attrSpec{{"ta", flag, true}, {"tb", flag, true}}, infer: inferMatmul},
		"sum":     {arity: 1, attrs: []attrSpec{{"axes", integers, true}}, infer: inferSum, lower: lowerSum},
		"cumsum":  {arity: 1, attrs: []attrSpec{{"axis", integer, false}, {"reverse", flag, true}}, infer: inferAxis},
		"roll":    {arity: 1, attrs: []attrSpec{{"axis", integer, false}, {"shift", integer, false}}, infer: inferAxis},
		"reverse": {arity: 1, attrs: []attrSpec{{"axes", integers, false}}, infer: inferReverse},
		"broadcast_rows": {arity: 1, attrs: []attrSpec{{"rows", dim, false}}, infer: func(c *call) (symbolic, error) {
			if len(c.in[0].shape) != 1 {
				return symbolic{}, fmt.Errorf("wants a vector, has %v", c.in[0])
			}
			return symbolic{c.in[0].dtype, append(c.dims("rows"), c.in[0].shape...)}, nil
		}},
		"broadcast": {arity: 1, attrs: []attrSpec{{"shape", dims, false}, {"dims", integers, false}}, infer: inferBroadcast},
		"reshape": {arity: 1, attrs: []attrSpec{{"shape", dims, false}}, infer: func(c *call) (symbolic, error) {
			shape := c.dims("shape")
			if terms(c.in[0].shape) > maxTerms || terms(shape) > maxTerms {
				return symbolic{}, fmt.Errorf("the number of entries of %v is a polynomial of too many terms to compare", c.in[0])
			}
			err := equation(product(c.in[0].shape), product(shape), "shape %s does not hold the entries of %v", shapeText(shape), c.in[0])
			return symbolic{c.in[0].dtype, shape}, err
		}},
		"transpose": {arity: 1, attrs: []attrSpec{{"perm", integers, false}}, infer: inferTranspose},
		"slice":     {arity: 1, attrs: []attrSpec{{"start", integers, false}, {"limit", dims, false}, {"step", integers, false}}, infer: inferSlice},
		"pad":       {arity: 1, attrs: []attrSpec{{"low", integers, false}, {"high", integers, false}, {"interior", integers, false}}, infer: inferPad},
		"concat":    {arity: -1, attrs: []attrSpec{{"axis", integer, false}}, infer: inferConcat},
		"gather":    {arity: 2, infer: inferGather},
		"scatter_add": {arity: 2, attrs: []attrSpec{{"size", dim, false}}, infer: inferScatter,
			lower: func(c *call, v Valuation, _ graph.Type) (*graph.Op, graph.Attrs) {
				return op.ScatterAdd, append(c.lowered(v), graph.Attr{Name: "rank", Ints: []int{len(c.in[1].shape)}})
			}},
		"convert": {arity: 1, infer: func(c *call) (symbolic, error) { return symbolic{"", c.in[0].shape}, nil },
			lower: func(_ *call, _ Valuation, t graph.Type) (*graph.Op, graph.Attrs) {
				return op.Convert, graph.Attrs{{Name: "dtype", Ints: []int{int(t.DType)}}}
			}},
		"literal": {arity: 0, attrs: []attrSpec{{"shape", dims, false}, {"value", numbers, false}}, infer: inferLiteral,
			lower: func(*call, Valuation, graph.Type) (*graph.Op, graph.Attrs) { return graph.Literal, nil }},
		"stop_gradient": {arity: 1, infer: sameReal,
			lower: func(_ *call, _ Valuation, t graph.Type) (*graph.Op, graph.Attrs) { return op.StopGradient(t), nil }},
		"straight_through_round": {arity: 1, infer: sameReal,
			lower: func(_ *call, _ Valuation, t graph.Type) (*graph.Op, graph.Attrs) {
				return op.StraightThroughRound(t), nil
			}},
	}
	for _, o := range op.All() { // the elementwise rows of the table, whose shape rule is one
		if primitives[o.Name] == nil && len(o.Attrs) == 0 && (o.Unary != nil || o.Binary != nil) {
			primitives[o.Name] = &primitive{arity: o.Arity, infer: sameReal}
		}
	}
	for _, o := range []*graph.Op{op.Add, op.Sub, op.Mul, op.Neg} {
		primitives[o.Name].infer = sameNumbers
	}
	for _, o := range []*graph.Op{op.Less, op.LessEqual, op.Equal} {
		primitives[o.Name] = &primitive{arity: 2, infer: compare}
	}
	for _, o := range []*graph.Op{op.And, op.Or, op.Not} {
		primitives[o.Name] = &primitive{arity: o.Arity, infer: sameBool}
	}
}

// Primitives lists the names that a node may use, sorted.
func Primitives() []string { return slices.Sorted(maps.Keys(primitives)) }

func inferPower(c *call) (symbolic, error) {
	if n := c.int("n"); n < -op.MaxPower || n > op.MaxPower {
		return symbolic{}, fmt.Errorf("attribute \"n\" is %d, want a power within ±%d", n, op.MaxPower)
	}
	return sameReal(c)
}

func inferSelect(c *call) (symbolic, error) {
	condition, arms := c.in[0], call{c.node, c.in[1:]}
	if condition.dtype != "bool" {
		return symbolic{}, fmt.Errorf("wants a boolean condition, has %v", condition)
	}
	t, err := same(&arms)
	if err == nil && len(condition.shape) > 0 {
		err = equalShapes(condition.shape, t.shape, "wants a condition that is one boolean or of the arms' shape, has %v and %v", condition, t)
	}
	return t, err
}

func inferMatmul(c *call) (symbolic, error) {
	a, b := c.in[0], c.in[1]
	if len(a.shape) != 2 || len(b.shape) != 2 || a.dtype != "" || b.dtype != "" {
		return symbolic{}, fmt.Errorf("wants two real matrices, has %v and %v", a, b)
	}
	m, k, l, n := a.shape[0], a.shape[1], b.shape[0], b.shape[1]
	if c.int("ta") != 0 {
		m, k = k, m
	}
	if c.int("tb") != 0 {
		l, n = n, l
	}
	return symbolic{"", []poly{m, n}}, equation(k, l, "the inner dimensions of %v and %v differ", a, b)
}

func inferSum(c *call) (symbolic, error) {
	out := symbolic{dtype: c.in[0].dtype}
	if c.in[0].dtype == "bool" {
		return out, fmt.Errorf("wants numbers, has %v", c.in[0])
	}
	if c.attribute("axes") == nil {
		return out, nil
	}
	axes, err := c.axes("axes", len(c.in[0].shape))
	for a, d := range c.in[0].shape {
		if !slices.Contains(axes, a) {
			out.shape = append(out.shape, d)
		}
	}
	return out, err
}

func lowerSum(c *call, _ Valuation, _ graph.Type) (*graph.Op, graph.Attrs) {
	axes := c.ints("axes")
	if c.attribute("axes") == nil {
		for a := range c.in[0].shape {
			axes = append(axes, a)
		}
	}
	return op.Sum, graph.Attrs{{Name: "axes", Ints: axes}}
}

func inferAxis(c *call) (symbolic, error) {
	if c.in[0].dtype == "bool" {
		return symbolic{}, fmt.Errorf("wants numbers, has %v", c.in[0])
	}
	_, err := c.axis("axis")
	return c.in[0], err
}

func inferReverse(c *call) (symbolic, error) {
	_, err := c.axes("axes", len(c.in[0].shape))
	return c.in[0], err
}

func inferBroadcast(c *call) (symbolic, error) {
	shape := c.dims("shape")
	out := symbolic{c.in[0].dtype, shape}
	axes, err := c.axes("dims", len(shape))
	if err != nil {
		return out, err
	}
	if len(axes) != len(c.in[0].shape) {
		return out, fmt.Errorf("attribute \"dims\" is %v, want one axis for each of %v", axes, c.in[0])
	}
	for i, a := range axes {
		if err := equation(c.in[0].shape[i], shape[a], "axis %d of %v does not fit axis %d of %s", i, c.in[0], a, shapeText(shape)); err != nil {
			return out, err
		}
	}
	return out, nil
}

func inferTranspose(c *call) (symbolic, error) {
	perm := c.ints("perm")
	out := symbolic{dtype: c.in[0].dtype}
	isPermutation := len(perm) == len(c.in[0].shape)
	for i, a := range slices.Sorted(slices.Values(perm)) {
		isPermutation = isPermutation && a == i
	}
	if !isPermutation {
		return out, fmt.Errorf("attribute \"perm\" is %v, want a permutation of the axes of %v", perm, c.in[0])
	}
	for _, a := range perm {
		out.shape = append(out.shape, c.in[0].shape[a])
	}
	return out, nil
}

func (c *call) perAxis(names ...string) error {
	for _, name := range names {
		if have := len(c.ints(name)); have != len(c.in[0].shape) {
			return fmt.Errorf("attribute %q has %d entries, want one for each axis of %v", name, have, c.in[0])
		}
	}
	return nil
}

// inferSlice wants 0 ≤ start < limit ≤ size on every axis for all valuations. In steps longer than 1 a named limit B has
// ⌈(B − start)/step⌉ entries, which is no polynomial in B, so that no type can state it; of an axis [k, step] it is k.
func inferSlice(c *call) (symbolic, error) {
	out := symbolic{dtype: c.in[0].dtype}
	if err := c.perAxis("start", "limit", "step"); err != nil {
		return out, err
	}
	limits := c.dims("limit")
	for a, size := range c.in[0].shape {
		start, limit, step := c.ints("start")[a], limits[a], c.ints("step")[a]
		if step < 1 {
			return out, fmt.Errorf("%d:%v:%d is no slice of axis %d of %v: a step is positive, and reverse turns an axis around", start, limit, step, a, c.in[0])
		}
		if start < 0 || step > graph.MaxEntries {
			return out, fmt.Errorf("%d:%v:%d is no slice of axis %d of %v", start, limit, step, a, c.in[0])
		}
		if err := both(atMost(constantDim(start).add(constantDim(1)), limit), atMost(limit, size),
			"%d:%v:%d is no slice, with entries, of axis %d of %v", start, limit, step, a, c.in[0]); err != nil {
			return out, err
		}
		length := limit.add(constantDim(start).scale(-1))
		if n, fixed := length.constant(); fixed {
			length = constantDim((n-1)/step + 1)
		} else if step > 1 {
			return out, fmt.Errorf("%d:%v:%d has (%v)/%d entries, rounded up, which no shape can state: a step above 1 wants a fixed limit, or an axis given as two, [k, %d], of which entry %d of the second is taken",
				start, limit, step, length, step, step, start%step)
		}
		out.shape = append(out.shape, length)
	}
	return out, nil
}

func inferPad(c *call) (symbolic, error) {
	out := symbolic{dtype: c.in[0].dtype}
	if err := c.perAxis("low", "high", "interior"); err != nil {
		return out, err
	}
	for a, d := range c.in[0].shape {
		low, high, interior := c.ints("low")[a], c.ints("high")[a], c.ints("interior")[a]
		if min(low, high, interior) < 0 || max(low, high, interior) > graph.MaxEntries {
			return out, fmt.Errorf("axis %d cannot be padded by %d, %d and %d", a, low, high, interior)
		}
		out.shape = append(out.shape, d.scale(interior+1).add(constantDim(low+high-interior)))
	}
	return out, nil
}

func inferConcat(c *call) (symbolic, error) {
	axis, err := c.axis("axis")
	if err != nil {
		return symbolic{}, err
	}
	out := symbolic{c.in[0].dtype, slices.Clone(c.in[0].shape)}
	for _, t := range c.in[1:] {
		if t.dtype != out.dtype || len(t.shape) != len(out.shape) {
			return out, fmt.Errorf("%v and %v do not join", c.in[0], t)
		}
		for a := range t.shape {
			if a == axis {
				continue
			}
			if err := equation(out.shape[a], t.shape[a], "%v and %v do not join along axis %d", c.in[0], t, axis); err != nil {
				return out, err
			}
		}
		out.shape[axis] = out.shape[axis].add(t.shape[axis])
	}
	return out, nil
}

func inferGather(c *call) (symbolic, error) {
	x, index := c.in[0], c.in[1]
	if len(x.shape) == 0 || index.dtype != "i64" {
		return symbolic{}, fmt.Errorf("wants an array and i64 indices, has %v and %v", x, index)
	}
	return symbolic{x.dtype, slices.Concat(index.shape, x.shape[1:])}, nil
}

func inferScatter(c *call) (symbolic, error) {
	x, index := c.in[0], c.in[1]
	if x.dtype != "" || index.dtype != "i64" || len(index.shape) > len(x.shape) {
		return symbolic{}, fmt.Errorf("wants real rows and i64 indices of fewer axes, has %v and %v", x, index)
	}
	rank := len(index.shape)
	err := equalShapes(index.shape, x.shape[:rank], "wants one index for each row, has %v and %v", x, index)
	return symbolic{"", slices.Concat(c.dims("size"), x.shape[rank:])}, err
}

func inferLiteral(c *call) (symbolic, error) {
	shape := c.dims("shape")
	if a := c.attribute("value"); a.List {
		return symbolic{"", shape}, equation(product(shape), constantDim(len(a.Values)),
			"attribute \"value\" has %d entries, shape %s another number", len(a.Values), shapeText(shape))
	}
	return symbolic{"", shape}, nil
}
