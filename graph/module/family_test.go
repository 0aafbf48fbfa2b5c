package module_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
	"pgregory.net/rapid"
)

const family = `{"name": "m", "inputs": [{"name": "X", "shape": ["B", "d"]}, {"name": "Y", "shape": ["d", "B"]}, {"name": "W", "shape": ["d", "d"]}, {"name": "v", "shape": [3]}], "nodes": [`

func TestFamiliesAreCheckedForAllValuations(t *testing.T) {
	node := func(s string) string { return family + s + `], "outputs": ["h"]}` }
	for _, c := range []struct{ text, reason, needs string }{
		// Accepted: the rule holds whatever the sizes.
		{node(`{"name": "h", "primitive": "matmul", "operands": ["X", "Y"]}`), "", ""},
		{node(`{"name": "h", "primitive": "matmul", "operands": ["X", "X"], "attributes": {"tb": true}}`), "", ""},
		{node(`{"name": "h", "primitive": "matmul", "operands": ["X", "X"], "attributes": {"ta": true}}`), "", ""},
		{node(`{"name": "a", "primitive": "matmul", "operands": ["X", "Y"], "attributes": {"ta": true, "tb": true}}, {"name": "h", "primitive": "add", "operands": ["a", "W"]}`), "", ""},
		{node(`{"name": "h", "primitive": "reshape", "operands": ["X"], "attributes": {"shape": ["d", "B"]}}`), "", ""},
		{node(`{"name": "p", "primitive": "matmul", "operands": ["X", "W"]}, {"name": "t", "primitive": "transpose", "operands": ["Y"], "attributes": {"perm": [1, 0]}}, {"name": "h", "primitive": "concat", "operands": ["p", "t", "X"], "attributes": {"axis": 1}}`), "", ""},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 0], "limit": ["B", "d"], "step": [1, 1]}}`), "", ""},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 0], "limit": [1, 1], "step": [1, 3]}}`), "", ""},
		{node(`{"name": "p", "primitive": "pad", "operands": ["X"], "attributes": {"low": [2, 0], "high": [0, 0], "interior": [0, 1]}}, {"name": "h", "primitive": "slice", "operands": ["p"], "attributes": {"start": [1, 0], "limit": [3, "d"], "step": [2, 1]}}`), "", ""},
		{strings.Replace(node(`{"name": "s", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 1], "limit": ["B", 2], "step": [1, 1]}}, {"name": "t", "primitive": "reshape", "operands": ["s"], "attributes": {"shape": ["B"]}}, {"name": "h", "primitive": "add", "operands": ["t", "t"]}`), `["B", "d"]`, `["B", 2]`, 1), "", ""}, // every second of an axis of two
		// Refused: some valuations type, so the equation that must hold is given.
		{node(`{"name": "h", "primitive": "matmul", "operands": ["X", "X"]}`), `node "h": matmul: the inner dimensions`, "d = B"},
		{node(`{"name": "h", "primitive": "add", "operands": ["X", "Y"]}`), `node "h": add`, "B = d"},
		{node(`{"name": "h", "primitive": "add", "operands": ["X", "W"]}`), `node "h": add`, "B = d"},
		{node(`{"name": "b", "primitive": "broadcast_rows", "operands": ["v"], "attributes": {"rows": "B"}}, {"name": "h", "primitive": "mul", "operands": ["X", "b"]}`), `node "h": mul`, "d = 3"},
		{node(`{"name": "h", "primitive": "reshape", "operands": ["X"], "attributes": {"shape": ["d", "d"]}}`), `node "h": reshape`, "B*d = d*d"},
		{node(`{"name": "c", "primitive": "concat", "operands": ["W", "X"], "attributes": {"axis": 0}}, {"name": "h", "primitive": "matmul", "operands": ["Y", "c"]}`), `node "h": matmul`, "B = B + d"},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 0], "limit": [2, "d"], "step": [1, 1]}}`), `node "h": slice: 0:2:1 is no slice`, "2 <= B"},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [1, 0], "limit": ["B", "d"], "step": [1, 1]}}`), `node "h": slice: 1:B:1`, "2 <= B"},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [1, 0], "limit": ["d", "d"], "step": [1, 1]}}`), `node "h": slice: 1:d:1`, "2 <= d and d <= B"},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 0], "limit": ["B", "d"], "step": [2, 1]}}`), `node "h": slice: 0:B:2 has (B)/2 entries, rounded up, which no shape can state: a step above 1 wants a fixed limit, or an axis given as two, [k, 2], of which entry 0 of the second is taken`, ""},
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [3, 0], "limit": ["d", "d"], "step": [2, 1]}}`), `node "h": slice: 3:d:2 is no slice`, "4 <= d and d <= B"},
		// Refused: no valuation types.
		{node(`{"name": "h", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 0], "limit": ["B", "d"], "step": [-1, 1]}}`), `a step is positive, and reverse turns an axis around`, ""},
		{node(`{"name": "h", "primitive": "add", "operands": ["X", "v"]}`), `node "h": add`, ""},
		{node(`{"name": "c", "primitive": "concat", "operands": ["X", "X"], "attributes": {"axis": 0}}, {"name": "h", "primitive": "add", "operands": ["c", "X"]}`), `node "h": add`, ""},
		{node(`{"name": "h", "primitive": "slice", "operands": ["v"], "attributes": {"start": [1], "limit": [4], "step": [1]}}`), `node "h": slice: 1:4:1`, ""},
	} {
		_, err := module.Read([]byte(c.text))
		if c.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", c.text[len(family):], err)
			}
			continue
		}
		var e *module.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.reason) || !equationIs(e.Needs, c.needs) {
			t.Errorf("want %q, needs %q; have %v", c.reason, c.needs, err)
		}
	}
}

// B = B + d holds for no valuation: the difference d is positive.
func equationIs(have, want string) bool {
	if want == "B = B + d" {
		return have == ""
	}
	return have == want
}

func TestInstantiateRefuses(t *testing.T) {
	m, err := module.Read([]byte(family + `{"name": "h", "primitive": "matmul", "operands": ["X", "Y"]}], "outputs": ["h"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Dimensions(); !slices.Equal(got, []string{"B", "d"}) {
		t.Errorf("dimensions %v", got)
	}
	for _, c := range []struct {
		v    module.Valuation
		want string
	}{
		{module.Valuation{"B": 2}, `dimension "d": the valuation gives no size`},
		{module.Valuation{"B": 2, "d": 0}, `dimension "d": size 0 is not between`},
		{module.Valuation{"B": 2, "d": 1, "e": 1}, `dimension "e": the module has no such dimension`},
		{module.Valuation{"B": 1 << 21, "d": 1 << 21}, `input "X": shape [B, d] overflows`},
		{module.Valuation{"B": 1 << 21, "d": 1}, `node "h": shape [B, B] overflows`},
	} {
		if _, err := m.Instantiate(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: want %q, have %v", c.v, c.want, err)
		}
	}
}

// Whatever the check accepts for all valuations lowers for each of them: the shapes that the check infers are those that
// the operations infer, for every primitive.
func TestWhatTypesForAllTypesForEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := []string{`"B"`, `"d"`, "2", "3"}
		shape := func(label string, rank int) string {
			var parts []string
			for range rank {
				parts = append(parts, rapid.SampledFrom(dims).Draw(t, label))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
		same := shape("shape", rapid.IntRange(0, 2).Draw(t, "rank"))
		text := fmt.Sprintf(`{"name": "m", "inputs": [{"name": "x", "shape": %s}, {"name": "y", "shape": %s}, {"name": "z", "shape": %s}, {"name": "i", "dtype": "i64", "shape": %s}, {"name": "c", "dtype": "bool", "shape": %s}], "nodes": [`,
			same, same, shape("shape of z", rapid.IntRange(0, 3).Draw(t, "rank of z")), shape("shape of i", rapid.IntRange(0, 1).Draw(t, "rank of i")), same)
		names := []string{"x", "y", "z", "i", "c"}
		accepted := text + `], "outputs": ["x"]}`
		for k := range 25 {
			primitive := rapid.SampledFrom(module.Primitives()).Draw(t, "primitive")
			var operands []string
			for range rapid.IntRange(0, 3).Draw(t, "operands") {
				operands = append(operands, `"`+rapid.SampledFrom(names).Draw(t, "operand")+`"`)
			}
			ints := func(label string) string {
				return strings.ReplaceAll(fmt.Sprint(rapid.SliceOfN(rapid.IntRange(0, 2), 0, 3).Draw(t, label)), " ", ", ")
			}
			attributes := ""
			switch primitive {
			case "powi":
				attributes = `"n": 3`
			case "matmul":
				attributes = fmt.Sprintf(`"ta": %t, "tb": %t`, rapid.Bool().Draw(t, "ta"), rapid.Bool().Draw(t, "tb"))
			case "sum":
				if rapid.Bool().Draw(t, "axes") {
					attributes = `"axes": ` + ints("axes")
				}
			case "cumsum", "concat":
				attributes = fmt.Sprintf(`"axis": %d`, rapid.IntRange(0, 2).Draw(t, "axis"))
			case "roll":
				attributes = fmt.Sprintf(`"axis": %d, "shift": -5`, rapid.IntRange(0, 2).Draw(t, "axis"))
			case "reverse":
				attributes = `"axes": ` + ints("axes")
			case "broadcast_rows":
				attributes = `"rows": ` + rapid.SampledFrom(dims).Draw(t, "rows")
			case "scatter_add":
				attributes = `"size": ` + rapid.SampledFrom(dims).Draw(t, "size")
			case "broadcast":
				attributes = fmt.Sprintf(`"shape": %s, "dims": %s`, shape("to", 3), ints("dims"))
			case "reshape":
				attributes = `"shape": ` + shape("to", rapid.IntRange(0, 3).Draw(t, "rank"))
			case "transpose":
				attributes = `"perm": ` + ints("perm")
			case "slice":
				attributes = fmt.Sprintf(`"start": %s, "limit": %s, "step": [1, 1]`, ints("start"), shape("limit", 2))
			case "pad":
				attributes = fmt.Sprintf(`"low": %s, "high": %s, "interior": %s`, ints("low"), ints("high"), ints("interior"))
			case "literal":
				attributes = fmt.Sprintf(`"shape": %s, "value": 1.5`, shape("shape", 2))
			}
			separator := ","
			if strings.HasSuffix(text, "[") {
				separator = ""
			}
			longer := text + fmt.Sprintf(`%s{"name": "n%d", "primitive": "%s", "operands": [%s], "attributes": {%s}}`,
				separator, k, primitive, strings.Join(operands, ", "), attributes)
			whole := fmt.Sprintf(`%s], "outputs": ["n%d"]}`, longer, k)
			_, err := module.Read([]byte(whole))
			if err == nil {
				text, accepted = longer, whole
				names = append(names, fmt.Sprintf("n%d", k))
			} else if e := (*module.Error)(nil); !errors.As(err, &e) || e.Place != fmt.Sprintf(`node "n%d"`, k) {
				t.Fatalf("%v\n%s", err, whole)
			} else if all, none := members(whole); all || e.Needs == "" && !none {
				t.Fatalf("%v, but all members are accepted: %t, and none: %t\n%s", err, all, none, whole)
			}
		}
		m, err := module.Read([]byte(accepted))
		if err != nil {
			t.Fatal(err)
		}
		v := module.Valuation{}
		for _, name := range m.Dimensions() {
			v[name] = rapid.IntRange(1, 4).Draw(t, name)
		}
		for _, float := range []graph.DType{graph.Float64, graph.Float32} {
			if _, err := m.InstantiateOf(v, float); err != nil {
				t.Fatalf("%v: %v\n%s", v, err, accepted)
			}
		}
		if again, err := module.Read(m.Write()); err != nil || string(again.Write()) != string(m.Write()) {
			t.Fatalf("%v\n%s", err, m.Write())
		}
	})
}

// members reads a document for small sizes of the names B, d and n: are all of them modules, or none?
func members(document string) (all, none bool) {
	all, none = true, true
	for _, sizes := range [][]string{{"1", "1", "1"}, {"1", "2", "3"}, {"2", "1", "4"}, {"3", "3", "1"}, {"4", "2", "2"}} {
		_, err := module.Read([]byte(strings.NewReplacer(`"B"`, sizes[0], `"d"`, sizes[1], `"n"`, sizes[2]).Replace(document)))
		all, none = all && err == nil, none && err != nil
	}
	return all, none
}

// One node of every primitive, on inputs of a family: it lowers, runs, and its reverse agrees with its JVP.
func TestEveryPrimitive(t *testing.T) {
	const inputs = `{"name": "x", "shape": ["B", "d"]}, {"name": "y", "shape": ["B", "d"]}, {"name": "v", "shape": ["d"]}, {"name": "w", "shape": [3]}, {"name": "i", "dtype": "i64", "shape": ["B"]}, {"name": "c", "dtype": "bool", "shape": ["B", "d"]}`
	examples := map[string]string{
		"atan2": `"x", "y"`, "hypot": `"x", "y"`, "pow": `"x", "y"`, "min": `"x", "y"`, "max": `"x", "y"`,
		"add": `"x", "x"`, "sub": `"x", "y"`, "mul": `"x", "y"`, "div": `"x", "y"`,
		"less": `"i", "i"`, "less_equal": `"i", "i"`, "equal": `"i", "i"`,
		"and": `"c", "c"`, "or": `"c", "c"`, "not": `"c"`, "select": `"c", "x", "y"`,
		"clamp":          `"x", "lo", "hi"`,
		"powi":           `"x"], "attributes": {"n": -3}`,
		"matmul":         `"x", "y"], "attributes": {"ta": true, "tb": false}`,
		"sum":            `"x"], "attributes": {"axes": [0]}`,
		"cumsum":         `"x"], "attributes": {"axis": 1, "reverse": true}`,
		"roll":           `"x"], "attributes": {"axis": 1, "shift": -1}`,
		"reverse":        `"x"], "attributes": {"axes": [0, 1]}`,
		"broadcast_rows": `"v"], "attributes": {"rows": "B"}`,
		"broadcast":      `"v"], "attributes": {"shape": ["d", 2, "B"], "dims": [0]}`,
		"reshape":        `"x"], "attributes": {"shape": ["d", "B", 1]}`,
		"transpose":      `"x"], "attributes": {"perm": [1, 0]}`,
		"slice":          `"w"], "attributes": {"start": [0], "limit": [3], "step": [2]}`,
		"pad":            `"x"], "attributes": {"low": [1, 0], "high": [0, 2], "interior": [0, 1]}`,
		"concat":         `"x", "y", "x"], "attributes": {"axis": 1}`,
		"gather":         `"v", "i"`,
		"scatter_add":    `"x", "i"], "attributes": {"size": 3}`,
		"convert":        `"i"`,
		"literal":        `], "attributes": {"shape": ["B"], "value": 2.5}`,
	}
	for _, primitive := range module.Primitives() {
		operands, ok := examples[primitive]
		if !ok {
			operands = `"x"`
		}
		if !strings.Contains(operands, "]") {
			operands += "]"
		}
		text := fmt.Sprintf(`{"name": "m", "inputs": [%s], "nodes": [
			{"name": "lo", "primitive": "literal", "operands": [], "attributes": {"shape": ["B", "d"], "value": 0.2}},
			{"name": "hi", "primitive": "literal", "operands": [], "attributes": {"shape": ["B", "d"], "value": 0.6}},
			{"name": "z", "primitive": %q, "operands": [%s}], "outputs": ["z"]}`, inputs, primitive, operands)
		m, err := module.Read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", primitive, err)
			continue
		}
		in, err := m.Instantiate(module.Valuation{"B": 3, "d": 2})
		if err != nil {
			t.Errorf("%s: %v", primitive, err)
			continue
		}
		values := map[string]*graph.Tensor{"i": graph.Ints(graph.Shape{3}, []int64{1, 0, 1}), "c": {Type: graph.Type{DType: graph.Bool, Shape: graph.Shape{3, 2}}, I: []int64{1, 0, 0, 1, 1, 0}}}
		tangents := map[string]*graph.Tensor{}
		var args, dx []*graph.Tensor
		wrt := make([]int, len(in.Program.Inputs))
		for k, input := range in.Program.Inputs {
			wrt[k] = k
			tangents[input.Name] = graph.NewTensor(input.Type.Tangent())
			if values[input.Name] == nil {
				x := graph.NewTensor(input.Type)
				for e := range x.F {
					x.F[e] = 0.13 + 0.07*float64((5*e+3*k)%11)
					tangents[input.Name].F[e] = 1 / float64(1+(3*e+k)%7)
				}
				values[input.Name] = x
			}
			args, dx = append(args, values[input.Name]), append(dx, tangents[input.Name])
		}
		e, err := in.Forward(values)
		if err != nil {
			t.Errorf("%s: %v", primitive, err)
			continue
		}
		seed := graph.NewTensor(in.Program.Type(in.Program.Outputs[0]).Tangent())
		for k := range seed.F {
			seed.F[k] = float64(k%5) - 1.5
		}
		ct, err := e.Reverse(e.Tape, seed)
		if err != nil {
			t.Errorf("%s: %v", primitive, err)
			continue
		}
		_, dy, err := graph.Directional(in.Program, wrt, args, dx)
		if err != nil {
			t.Errorf("%s: %v", primitive, err)
			continue
		}
		left, right, scale := 0.0, 0.0, 1.0
		for k, d := range dy[0].F {
			left += seed.F[k] * d
			scale += max(seed.F[k]*d, -seed.F[k]*d)
		}
		for name, c := range ct {
			for k, d := range c.F {
				right += d * tangents[name].F[k]
			}
		}
		if d := left - right; !(max(d, -d) <= 1e-14*scale) {
			t.Errorf("%s: ⟨seed, Jv⟩ = %v, ⟨Jᵀseed, v⟩ = %v", primitive, left, right)
		}
	}
}
