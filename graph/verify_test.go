package graph_test

import (
	"math"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// sample is f(x, n, c) = (sin x · 2, x) with every kind of value.
func sample() *graph.Program {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(3))
	b.Input("n", graph.Type{DType: graph.Int64, Shape: graph.Shape{2}})
	c := b.Input("c", graph.Type{DType: graph.Bool})
	y := b.Emit(op.Sin, nil, x)
	two := b.Full(graph.F64(3), 2)
	z := b.Emit(op.Mul, nil, y, two)
	s := b.Emit(op.Select, nil, c, z, x)
	b.Name(z, "z")
	return b.BuildNamed([]string{"first", ""}, s, x)
}

// Each invariant of a program is checked: the change breaks it, the message says so.
func TestVerifyCatches(t *testing.T) {
	if err := graph.Verify(sample()); err != nil {
		t.Fatal(err)
	}
	literal := func(value *graph.Tensor) func(p *graph.Program) {
		return func(p *graph.Program) {
			p.Nodes = append(p.Nodes, graph.Node{Op: graph.Literal, Type: value.Type, Value: value})
		}
	}
	cases := []struct {
		name, want string
		change     func(p *graph.Program)
	}{
		{"program name", `"f(x)" is not a name`, func(p *graph.Program) { p.Name = "f(x)" }},
		{"empty program name", `"" is not a name`, func(p *graph.Program) { p.Name = "" }},
		{"percent in the name", `program 100%s: output 0`, func(p *graph.Program) { p.Name, p.Outputs[0] = "100%s", 99 }},
		{"input name", `input 0: "x y" is not a name`, func(p *graph.Program) { p.Inputs[0].Name = "x y" }},
		{"input twice", `input "x" appears twice`, func(p *graph.Program) { p.Inputs[1].Name = "x" }},
		{"negative dimension", "negative", func(p *graph.Program) { p.Inputs[1].Type.Shape = graph.Shape{-1} }},
		{"huge shape", "entries", func(p *graph.Program) { p.Inputs[1].Type.Shape = graph.Shape{1 << 30, 1 << 30} }},
		{"huge shape that overflows", "entries", func(p *graph.Program) { p.Inputs[1].Type.Shape = graph.Shape{1 << 32, 1 << 32, 1 << 32} }},
		{"huge empty shape", "entries", func(p *graph.Program) { p.Inputs[1].Type.Shape = graph.Shape{0, 1 << 62} }},
		{"linear integers", "want floats", func(p *graph.Program) { p.Inputs[1].Linear = true }},
		{"residual after a linear input", `residual "n" stands after a linear input`, func(p *graph.Program) { p.Inputs[0].Linear = true }},
		{"no operation", "node 0 has no operation", func(p *graph.Program) { p.Nodes[0].Op = nil }},
		{"node name", `"a b" is not a name`, func(p *graph.Program) { p.Nodes[0].Name = "a b" }},
		{"node name that would not parse", `"y=" is not a name`, func(p *graph.Program) { p.Nodes[0].Name = "y=" }},
		{"order", "not before it", func(p *graph.Program) { p.Nodes[0].Args = []graph.Value{5} }},
		{"operand itself", "not before it", func(p *graph.Program) { p.Nodes[0].Args = []graph.Value{3} }},
		{"negative operand", "not before it", func(p *graph.Program) { p.Nodes[0].Args = []graph.Value{graph.None} }},
		{"arity", "sin wants 1 operands, has 2", func(p *graph.Program) { p.Nodes[0].Args = []graph.Value{0, 0} }},
		{"type", "sin node 0: want type f64[3], have f64[4]", func(p *graph.Program) { p.Nodes[0].Type = graph.F64(4) }},
		{"element type", "want type f64[3], have f32[3]", func(p *graph.Program) { p.Nodes[0].Type.DType = graph.Float32 }},
		{"operand types", "wants operands of one type, has f64[3] and i64[2]", func(p *graph.Program) { p.Nodes[2].Args = []graph.Value{0, 1} }},
		{"unknown attribute", `sin: unknown attribute "n"`, func(p *graph.Program) { p.Nodes[0].Attrs = at("n", 1) }},
		{"order on a smooth operation", `unknown attribute "order"`, func(p *graph.Program) { p.Nodes[0].Attrs = at("order", 1) }},
		{"value on an operation", "sin node 0: has a literal value", func(p *graph.Program) { p.Nodes[0].Value = graph.Number(1) }},
		{"literal without value", "no value", func(p *graph.Program) { p.Nodes[1].Value = nil }},
		{"literal with operands", "has operands or attributes", func(p *graph.Program) { p.Nodes[1].Args = []graph.Value{0} }},
		{"literal with attributes", "has operands or attributes", func(p *graph.Program) { p.Nodes[1].Attrs = at("n", 1) }},
		{"literal of another type", "no value of type f64[3]", func(p *graph.Program) { p.Nodes[1].Value = graph.Number(1) }},
		{"literal of two entries", "want 3 entries, or one for all, have 2", literal(&graph.Tensor{Type: graph.F64(3), F: []float64{1, 2}})},
		{"empty literal with an entry", "want 0 entries", literal(&graph.Tensor{Type: graph.F64(0), F: []float64{1}})},
		{"float literal of integers", "entries of another type", literal(&graph.Tensor{Type: graph.F64(), I: []int64{1}})},
		{"integer literal of floats", "entries of another type", literal(&graph.Tensor{Type: graph.Type{DType: graph.Int64}, F: []float64{1}})},
		{"float0 literal with an entry", "float0 has 1 entries", literal(&graph.Tensor{Type: graph.Type{DType: graph.Float0}, F: []float64{1}})},
		{"NaN", "NaN is not finite", literal(graph.Number(math.NaN()))},
		{"infinity", "+Inf is not finite", literal(graph.Number(math.Inf(1)))},
		{"float32 literal", "0.1 is no float32", literal(&graph.Tensor{Type: graph.Type{DType: graph.Float32}, F: []float64{0.1}})},
		{"boolean 2", "2 is no boolean", literal(&graph.Tensor{Type: graph.Type{DType: graph.Bool}, I: []int64{2}})},
		{"output", "output 0 is value 99 of 7", func(p *graph.Program) { p.Outputs[0] = 99 }},
		{"output None", "output 1 is value -1", func(p *graph.Program) { p.Outputs[1] = graph.None }},
		{"output names", "3 names for 2 outputs", func(p *graph.Program) { p.OutputNames = []string{"a", "b", "c"} }},
		{"output name", `output 0: "a,b" is not a name`, func(p *graph.Program) { p.OutputNames[0] = "a,b" }},
	}
	for _, c := range cases {
		p := sample()
		c.change(p)
		if err := graph.Verify(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: have %v, want %q", c.name, err, c.want)
		}
	}
}

func at(name string, ints ...int) graph.Attrs { return graph.Attrs{{Name: name, Ints: ints}} }

// A program marked linear that is not linear in its linear inputs is refused, and one that is passes.
func TestVerifyProvesLinearity(t *testing.T) {
	for body, want := range map[string]string{
		"a: f64 = mul dx dx\n  return a":                                 "mul node 0 is not linear",
		"a: f64 = mul dx dy\n  return a":                                 "mul node 0 is not linear",
		"a: f64 = add dx r\n  return a":                                  "add node 0 is not linear",
		"a: f64 = sub r dx\n  return a":                                  "sub node 0 is not linear",
		"a: f64 = literal 1\n  b: f64 = add dx a\n  return b":            "add node 1 is not linear",
		"a: f64 = div r dx\n  return a":                                  "div node 0 is not linear",
		"a: f64 = sin dx\n  return dx":                                   "sin node 0 is not linear",
		"a: f64 = abs dx\n  return a":                                    "abs node 0 is not linear",
		"a: bool = less dx dy\n  b: f64 = select a dx dy\n  return b":    "less node 0 is not linear",
		"a: f64 = select c dx r\n  return a":                             "select node 0 is not linear",
		"a: f64 = powi dx n=[1]\n  return a":                             "powi node 0 is not linear",
		"a: f64 = exp r\n  return a":                                     "output 0 of a linear program does not depend",
		"return r":                                                       "output 0 of a linear program does not depend",
		"a: f64 = literal 3\n  return a":                                 "output 0 of a linear program does not depend",
		"a: i64 = literal 0\n  b: f64 = convert a dtype=[0]\n  return b": "output 0 of a linear program does not depend",
		"a: f64 = literal 0\n  b: f64[1] = reshape a shape=[1]\n  c2: f64[1] = reshape r shape=[1]\n  d: f64[2] = concat c2 b axis=[0]\n  return dx": "",
		"a: f64 = mul dx r\n  b: f64 = div a r\n  e: f64 = neg b\n  g: f64 = sub e dy\n  return g":                                                   "",
		"a: f64 = literal 0\n  b: f64 = select c dx a\n  return b":                                                                                   "",
		"a: f64 = literal 0\n  return a":                  "",
		"a: f64 = exp r\n  b: f64 = mul a dx\n  return b": "",
		"a: float0 = literal []\n  return a, dx":          "",
	} {
		types := "f64"
		if strings.Contains(body, "float0") {
			types = "(float0, f64)"
		}
		_, err := op.Parse("linear f(r: f64, c: bool; dx: f64, dy: f64) -> " + types + " {\n  " + body + "\n}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: have %v, want %q", body, err, want)
		}
	}
}

// Builder errors name the operation and both types.
func TestBuilderErrors(t *testing.T) {
	b := graph.NewBuilder("f")
	x, y := b.Input("x", graph.F64(3)), b.Input("y", graph.F64(2, 3))
	n := b.Input("n", graph.Type{DType: graph.Int64, Shape: graph.Shape{3}})
	c := b.Input("c", graph.Type{DType: graph.Bool, Shape: graph.Shape{3}})
	z := b.Input("z", graph.Type{DType: graph.Float0, Shape: graph.Shape{3}})
	list := func(pairs ...any) (at graph.Attrs) {
		for i := 0; i < len(pairs); i += 2 {
			at = append(at, graph.Attr{Name: pairs[i].(string), Ints: pairs[i+1].([]int)})
		}
		return at
	}
	type ints = []int
	const huge = math.MaxInt
	for _, e := range []struct {
		op   *graph.Op
		at   graph.Attrs
		args []graph.Value
		want string
	}{
		{op.Add, nil, []graph.Value{x, y}, "add: wants operands of one type, has f64[3] and f64[2 3]"},
		{op.Add, nil, []graph.Value{c, c}, "add: wants numbers, has bool[3]"},
		{op.Add, nil, []graph.Value{x}, "add wants 2 operands, has 1"},
		{op.Add, nil, []graph.Value{z, z}, "add: operand 0 is float0[3], which has no entries to compute with"},
		{op.Less, nil, []graph.Value{z, z}, "less: operand 0 is float0[3]"},
		{op.Reshape, list("shape", ints{3}), []graph.Value{z}, "reshape: operand 0 is float0[3]"},
		{op.Sin, nil, []graph.Value{n}, "sin: wants floats, has i64[3]"},
		{op.Div, nil, []graph.Value{n, n}, "div: wants floats, has i64[3]"},
		{op.And, nil, []graph.Value{c, n}, "and: wants booleans, has i64[3]"},
		{op.Select, nil, []graph.Value{x, x, x}, "select: wants a condition of type bool or bool[3], has f64[3]"},
		{op.Select, nil, []graph.Value{c, y, y}, "select: wants a condition of type bool or bool[2 3], has bool[3]"},
		{op.Select, nil, []graph.Value{c, x, n}, "select: wants arms of one type, has f64[3] and i64[3]"},
		{op.Concat, list("axis", ints{0}), nil, "concat wants at least one operand"},
		{op.Concat, list("axis", ints{0}), []graph.Value{x, y}, "concat: f64[3] and f64[2 3] do not join along axis 0"},
		{op.Concat, list("axis", ints{0, 1}), []graph.Value{x, x}, "concat: attribute axis wants one number, has [0 1]"},
		{op.Concat, list("axis", ints{}), []graph.Value{x, x}, "concat: attribute axis wants one number, has []"},
		{op.Concat, nil, []graph.Value{x, x}, `concat: missing attribute "axis"`},
		{op.Concat, list("axis", ints{0}, "axis", ints{0}), []graph.Value{x, x}, `concat: attribute "axis" twice`},
		{op.Concat, list("axis", ints{1}), []graph.Value{x, x}, "increasing axes of shape [3]"},
		{op.Sum, list("axes", ints{1, 0}), []graph.Value{y}, "sum: attribute axes is [1 0], want increasing axes of shape [2 3]"},
		{op.Sum, list("axes", ints{0, 0}), []graph.Value{y}, "increasing axes"},
		{op.Sum, list("axes", ints{0}), []graph.Value{c}, "sum: wants numbers, has bool[3]"},
		{op.CumSum, list("axis", ints{-1}), []graph.Value{x}, "cumsum: attribute axis is -1, want an axis of shape [3]"},
		{op.MatMul, nil, []graph.Value{y, y}, "matmul: inner dimensions differ: 2×3 times 2×3"},
		{op.MatMul, nil, []graph.Value{y, x}, "matmul: wants two matrices of floats, has f64[2 3] and f64[3]"},
		{op.MatMul, list("tc", ints{1}), []graph.Value{y, y}, `matmul: unknown attribute "tc"`},
		{op.Reshape, list("shape", ints{2, 2}), []graph.Value{x}, "reshape: shape [2 2] has 4 entries, the operand f64[3] has 3"},
		{op.Reshape, list("shape", ints{-3}), []graph.Value{x}, "negative"},
		{op.Reshape, list("shape", ints{1 << 32, 1 << 32, 1 << 32}), []graph.Value{x}, "more than"},
		{op.Transpose, list("perm", ints{0, 0}), []graph.Value{y}, "transpose: attribute perm is [0 0], want a permutation of the axes of shape [2 3]"},
		{op.Transpose, list("perm", ints{0}), []graph.Value{y}, "want a permutation"},
		{op.Transpose, list("perm", ints{0, 2}), []graph.Value{y}, "want a permutation"},
		{op.Broadcast, list("shape", ints{2, 4}, "dims", ints{1}), []graph.Value{x}, "broadcast: axis 0 of f64[3] does not fit axis 1 of shape [2 4]"},
		{op.Broadcast, list("shape", ints{-2, 3}, "dims", ints{1}), []graph.Value{x}, "negative"},
		{op.Broadcast, list("shape", ints{3}, "dims", ints{}), []graph.Value{x}, "one axis for each of shape [3]"},
		{op.BroadcastRows, list("rows", ints{2}), []graph.Value{y}, "broadcast_rows: wants a vector, has f64[2 3]"},
		{op.BroadcastRows, list("rows", ints{-1}), []graph.Value{x}, "want a number of rows"},
		{op.BroadcastRows, list("rows", ints{huge}), []graph.Value{x}, "more than"},
		{op.Slice, list("start", ints{2}, "limit", ints{1}, "step", ints{1}), []graph.Value{x}, "slice: 2:1:1 is no slice of axis 0 of shape [3]"},
		{op.Slice, list("start", ints{0}, "limit", ints{4}, "step", ints{1}), []graph.Value{x}, "0:4:1 is no slice"},
		{op.Slice, list("start", ints{0}, "limit", ints{3}, "step", ints{0}), []graph.Value{x}, "0:3:0 is no slice"},
		{op.Slice, list("start", ints{0}, "limit", ints{3}, "step", ints{huge}), []graph.Value{x}, "is no slice"},
		{op.Slice, list("start", ints{0}, "limit", ints{3}, "step", ints{}), []graph.Value{x}, "attribute step is [], want one entry for each axis of shape [3]"},
		{op.Pad, list("low", ints{-1}, "high", ints{0}, "interior", ints{0}), []graph.Value{x}, "pad: padding -1, 0, 0 of axis 0 is negative"},
		{op.Pad, list("low", ints{huge}, "high", ints{huge}, "interior", ints{0}), []graph.Value{x}, "beyond"},
		{op.Pad, list("low", ints{0}, "high", ints{0}, "interior", ints{huge}), []graph.Value{x}, "beyond"},
		{op.Pad, list("low", ints{0}, "high", ints{0}, "interior", ints{huge / 2}), []graph.Value{x}, "beyond"},
		{op.Roll, list("axis", ints{1}, "shift", ints{1}), []graph.Value{x}, "increasing axes of shape [3]"},
		{op.Reverse, list("axes", ints{2}), []graph.Value{y}, "increasing axes of shape [2 3]"},
		{op.Gather, nil, []graph.Value{x, x}, "gather: wants an array and int64 indices, has f64[3] and f64[3]"},
		{op.ScatterAdd, list("size", ints{-1}, "rank", ints{1}), []graph.Value{x, n}, "size -1"},
		{op.ScatterAdd, list("size", ints{2}, "rank", ints{1}), []graph.Value{y, n}, "has f64[2 3], i64[3] and size 2"},
		{op.ScatterAdd, list("size", ints{2}, "rank", ints{-1}), []graph.Value{x, n}, "size 2"},
		{op.Convert, list("dtype", ints{2}), []graph.Value{x}, "convert: cannot convert f64[3] to dtype 2"},
		{op.Convert, list("dtype", ints{256}), []graph.Value{x}, "cannot convert f64[3] to dtype 256"},
		{op.PowInt, list("n", ints{math.MinInt}), []graph.Value{x}, "want a power within"},
		{op.PowSlope, list("k", ints{0}), []graph.Value{x, x}, "pow_slope: attribute k is 0, want 1 to"},
		{op.Abs, list("order", ints{1, 1}), []graph.Value{x}, "abs: attribute order wants 1 counts, has [1 1]"},
		{op.Abs, list("order", ints{-1}), []graph.Value{x}, "abs: attribute order wants 1 counts, has [-1]"},
	} {
		_, err := b.Try(e.op, e.at, e.args...)
		if err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%s %v: have %v, want %q", e.op.Name, e.at, err, e.want)
		}
	}
	func() {
		defer func() {
			if r := recover(); r != "graph: add: wants operands of one type, has f64[3] and f64[2 3]" {
				t.Errorf("Emit: %v", r)
			}
		}()
		b.Emit(op.Add, nil, x, y)
	}()
}

// Every mistake in a text is found, with its line.
func TestParseErrors(t *testing.T) {
	const good = "program f(x: f64[3], c: bool) -> f64[3] {\n  a: f64[3] = sin x\n  return a\n}\n"
	if _, err := op.Parse(good); err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct{ from, to, want string }{
		{good, "", "line 1: want \"program name(inputs) -> types {\""},
		{"program", "programme", "line 1: want"},
		{"program", "linear", "line 1: want a semicolon"},
		{"f(x: f64[3], c: bool)", "f", "line 1: want"},
		{"x: f64[3]", "x f64[3]", `line 1: want "name: type", have "x f64[3]"`},
		{"x: f64[3]", "x: f65[3]", `line 1: unknown type "f65[3]"`},
		{"x: f64[3]", "x: f64[-3]", `line 1: unknown type`},
		{"x: f64[3]", "x: f64[99999999999999999999]", "line 1: strconv"},
		{"x: f64[3]", "x: f64[9999999999999]", "entries"},
		{"c: bool", "x: bool", `input "x" appears twice`},
		{"c: bool", "c d: bool", `"c d" is not a name`},
		{"sin x", "sine x", `line 2: unknown operation "sine"`},
		{"sin x", "sin z", `line 2: operand "z" is not defined before it is used`},
		{"sin x", "sin a", `line 2: operand "a" is not defined before it is used`},
		{"sin x", "sin  x", `line 2: operand ""`},
		{"sin x", "sin x c", "sin wants 1 operands, has 2"},
		{"sin x", "sin x n=[1]", `unknown attribute "n"`},
		{"sin x", "sin x n=1", `operand "n=1"`},
		{"sin x", "sin x n=[--1]", "strconv"},
		{"sin x", "", `line 2: want "name: type = operation operands"`},
		{"a: f64[3] = sin x", "a: f64[4] = sin x", "want type f64[3], have f64[4]"},
		{"a: f64[3] = sin x", "x: f64[3] = sin x", `line 2: "x" is defined twice`},
		{"sin x", "literal", "want 3 entries, or one for all, have 0"},
		{"sin x", "literal [1 2]", "want 3 entries, or one for all, have 2"},
		{"sin x", "literal abc", "line 2: strconv"},
		{"sin x", "literal NaN", "not finite"},
		{"sin x", "literal 1e999", "line 2: strconv"},
		{"a: f64[3] = sin x", "a: i64[3] = literal 1.5", "line 2: strconv"},
		{"return a", "return b", `line 3: output "b" is not defined`},
		{"return a", "return a,", `line 3: output "" is not defined`},
		{"return a", "return q+=a", `"q+" is not a name`},
		{"return a", "return a, x", "line 1: want result type (f64[3], f64[3]), have f64[3]"},
		{"-> f64[3]", "-> f64", "line 1: want result type f64[3], have f64"},
		{"return a\n}", "}", `line 3: want "name: type = operation operands", have "}"`},
		{"\n  return a\n}", "", `line 3: want "return"`},
		{"return a\n}", "return a", `line 4: want "}" at the end`},
		{"}\n", "}\nmore\n", `line 4: want "}" at the end`},
	} {
		text := strings.Replace(good, e.from, e.to, 1)
		if _, err := op.Parse(text); err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%s: have %v, want %q", text, err, e.want)
		}
	}
	if _, err := op.Parse("linear f(r: f64; ) -> f64 {\n  return r\n}"); err == nil || !strings.Contains(err.Error(), "wants a linear input") {
		t.Errorf("a linear program without linear inputs: %v", err)
	}
}

// FuzzParse: whatever parses is well formed, and prints to what it was parsed from.
func FuzzParse(f *testing.F) {
	f.Add("program f(x: f64[3], c: bool) -> f64[3] {\n  a: f64[3] = sin x\n  return a\n}\n")
	f.Add("linear f(r: f64; dx: f64) -> (f64, f64) {\n  return y=dx, dx\n}\n")
	f.Add("program f() -> (f32[2], i64[0]) {\n  a: f32[2] = literal [1 -0.5]\n  b: i64[0] = literal []\n  return a, q=b\n}\n")
	f.Add("program f(x: f64[2 2]) -> f64 {\n  a: f64 = sum x axes=[0 1]\n  b: f64 = abs a order=[2]\n  return b\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := op.Parse(text)
		if err != nil {
			return
		}
		if err := graph.Verify(p); err != nil {
			t.Fatal(err)
		}
		if err := roundTrip(p); err != nil {
			t.Fatal(err)
		}
	})
}
