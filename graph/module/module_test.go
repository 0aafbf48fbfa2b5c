package module_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
)

func tied(t testing.TB) (*module.Module, []byte) {
	t.Helper()
	text, err := os.ReadFile("../../studies/modules/tied_residual.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return m, text
}

func Example() {
	m, err := module.Read([]byte(`{
		"name": "family",
		"inputs": [{"name": "x", "shape": ["B", "d"]}, {"name": "w", "shape": ["d"], "parameter": true}],
		"nodes": [
			{"name": "rows", "primitive": "broadcast_rows", "operands": ["w"], "attributes": {"rows": "B"}},
			{"name": "y", "primitive": "mul", "operands": ["x", "rows"]}
		],
		"outputs": ["y"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, _ := m.Program(module.Valuation{"B": 2, "d": 3})
	fmt.Print(p)
	// Output:
	// program family(x: f64[2 3], w: f64[3]) -> f64[2 3] {
	//   rows: f64[2 3] = broadcast_rows w rows=[2]
	//   y: f64[2 3] = mul x rows
	//   return y
	// }
}

func TestTiedResidualIsCanonicalAndKeepsEveryNode(t *testing.T) {
	m, text := tied(t)
	if diff := cmp.Diff(string(text), string(m.Write())); diff != "" {
		t.Errorf("the file is not canonical (-file +canonical):\n%s", diff)
	}
	p, err := m.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Nodes) != len(m.Nodes) || p.Names()[3+1] != "b_first" || p.Names()[3+5] != "b_second" {
		t.Errorf("%d nodes for %d:\n%v", len(p.Nodes), len(m.Nodes), p)
	}
	if got := m.Parameters(); !cmp.Equal(got, []int{1, 2}) {
		t.Errorf("parameters %v", got)
	}
}

func TestWriteReadsBack(t *testing.T) {
	m := &module.Module{Name: "m",
		Inputs: []module.Input{{Name: "x", Shape: []module.Dim{{Name: "n"}, module.Size(2)}}, {Name: "k", DType: "i64", Shape: []module.Dim{module.Size(3)}}, {Name: "θ", Shape: []module.Dim{}, Parameter: true}},
		Nodes: []module.Node{
			{Name: "c", Primitive: "literal", Operands: []string{}, Attributes: []module.Attribute{
				{Name: "shape", List: true, Values: []module.Value{{Kind: module.Integer, Int: 2}}},
				{Name: "value", List: true, Values: []module.Value{{Kind: module.Real, Real: 1e-9}, {Kind: module.Real, Real: math.Copysign(0, -1)}}}}},
			{Name: "g", Primitive: "gather", Operands: []string{"c", "k"}},
			{Name: "q", Primitive: "round", Operands: []string{"x"}, Response: &module.Response{Operands: []string{"u"}, Seed: "s",
				Nodes: []module.Node{{Name: "z", Primitive: "mul", Operands: []string{"u", "s"}}}, Outputs: []string{"z"}}},
		},
		Outputs: []string{"g", "g"}}
	text := m.Write()
	if !strings.Contains(string(text), "-0.0") {
		t.Errorf("the sign of a zero is lost:\n%s", text)
	}
	again, err := module.Read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("read back (-want +have):\n%s", diff)
	}
	// Another order of fields and other spaces make the same canonical text.
	loose := strings.NewReplacer(`"name": "x", "shape": ["n", 2]`, `"shape": [ "n",2 ], "name": "x"`, "-0.0", "-0", "\n", "\n\n").Replace(string(text))
	if again, err = module.Read([]byte(loose)); err != nil {
		t.Fatalf("%v\n%s", err, loose)
	}
	if string(again.Write()) != string(text) {
		t.Errorf("%v\n%s", err, again.Write())
	}
}

const head = `{"name": "m", "inputs": [{"name": "X", "shape": [2, 3]}, {"name": "W", "shape": [3, 3]}, {"name": "b", "shape": [3]}], "nodes": [`

// Every refusal names the node (or input, or output) and its reason.
func TestRefusals(t *testing.T) {
	node := func(s string) string { return head + s + `], "outputs": ["h"]}` }
	for name, c := range map[string]struct{ text, want string }{
		"unknown primitive":    {node(`{"name": "h", "primitive": "conv", "operands": ["X"]}`), `node "h": unknown primitive "conv"`},
		"wrong arity":          {node(`{"name": "h", "primitive": "add", "operands": ["X"]}`), `node "h": add: wants 2 operands, has 1`},
		"no operands":          {node(`{"name": "h", "primitive": "concat", "operands": [], "attributes": {"axis": 0}}`), `node "h": concat: wants at least one operand`},
		"shape mismatch":       {node(`{"name": "h", "primitive": "add", "operands": ["X", "W"]}`), `node "h": add: wants operands of one shape, has real[2, 3] and real[3, 3]`},
		"inner dimensions":     {node(`{"name": "h", "primitive": "matmul", "operands": ["X", "X"]}`), `node "h": matmul: the inner dimensions of real[2, 3] and real[2, 3] differ`},
		"zero dimension":       {strings.Replace(node(""), "[2, 3]", "[0, 3]", 1), `input "X": dimension 0 is not positive`},
		"negative dimension":   {strings.Replace(node(""), "[2, 3]", "[-2, 3]", 1), `input "X": dimension -2 is not positive`},
		"non-positive rows":    {node(`{"name": "h", "primitive": "broadcast_rows", "operands": ["b"], "attributes": {"rows": 0}}`), `node "h": broadcast_rows: attribute "rows": dimension 0 is not positive`},
		"empty slice":          {node(`{"name": "h", "primitive": "slice", "operands": ["b"], "attributes": {"start": [1], "limit": [1], "step": [1]}}`), `node "h": slice: 1:1:1 is no slice`},
		"duplicate node":       {node(`{"name": "h", "primitive": "tanh", "operands": ["X"]}, {"name": "h", "primitive": "tanh", "operands": ["X"]}`), `node "h": a node before it has this name`},
		"named as an input":    {node(`{"name": "X", "primitive": "tanh", "operands": ["X"]}`), `node "X": an input has this name`},
		"use before":           {node(`{"name": "h", "primitive": "tanh", "operands": ["k"]}, {"name": "k", "primitive": "tanh", "operands": ["X"]}`), `node "h": operand "k" is used before it is defined`},
		"use of itself":        {node(`{"name": "h", "primitive": "tanh", "operands": ["h"]}`), `node "h": operand "h" is used before it is defined`},
		"undefined operand":    {node(`{"name": "h", "primitive": "tanh", "operands": ["k"]}`), `node "h": operand "k" is not defined`},
		"unknown output":       {node(`{"name": "k", "primitive": "tanh", "operands": ["X"]}`), `output "h": there is no such node or input`},
		"no outputs":           {head + `], "outputs": []}`, `module m: there are no outputs`},
		"repeated input":       {strings.Replace(node(""), `"W"`, `"X"`, 1), `input "X": the input appears twice`},
		"unknown attribute":    {node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "attributes": {"axis": 0}}`), `node "h": tanh: unknown attribute "axis"`},
		"hidden attribute":     {node(`{"name": "h", "primitive": "sqrt", "operands": ["X"], "attributes": {"order": [1]}}`), `node "h": sqrt: unknown attribute "order"`},
		"missing attribute":    {node(`{"name": "h", "primitive": "broadcast_rows", "operands": ["b"]}`), `node "h": broadcast_rows: missing attribute "rows"`},
		"attribute type":       {node(`{"name": "h", "primitive": "matmul", "operands": ["X", "W"], "attributes": {"tb": 1}}`), `node "h": matmul: attribute "tb" is 1, want true or false`},
		"attribute list":       {node(`{"name": "h", "primitive": "broadcast_rows", "operands": ["b"], "attributes": {"rows": [2]}}`), `node "h": broadcast_rows: attribute "rows" is [2], want a positive integer or a name`},
		"overflow":             {node(`{"name": "h", "primitive": "broadcast", "operands": ["b"], "attributes": {"shape": [4294967296, 4294967296, 3], "dims": [2]}}`), `node "h": shape [4294967296, 4294967296, 3] overflows`},
		"overflow of an input": {strings.Replace(node(`{"name": "h", "primitive": "tanh", "operands": ["X"]}`), "[2, 3]", "[1099511627776, 3]", 1), `input "X": shape [1099511627776, 3] overflows`},
		"dimension too large":  {strings.Replace(node(""), "[2, 3]", "[99999999999999999999, 3]", 1), `input "X": dimension 99999999999999999999 is no integer that fits`},
		"fractional dimension": {strings.Replace(node(""), "[2, 3]", "[2.0, 3]", 1), `input "X": dimension 2.0 is no integer that fits`},
		"no name":              {node(`{"name": "", "primitive": "tanh", "operands": ["X"]}`), `node "": this is no name`},
		"power too large":      {node(`{"name": "h", "primitive": "powi", "operands": ["b"], "attributes": {"n": 9007199254740993}}`), `node "h": powi: attribute "n" is 9007199254740993, want a power within`},
		"step too large":       {node(`{"name": "h", "primitive": "slice", "operands": ["b"], "attributes": {"start": [0], "limit": [3], "step": [9223372036854775807]}}`), `node "h": slice: 0:3:9223372036854775807 is no slice`},
		"signed integer":       {node(`{"name": "h", "primitive": "cumsum", "operands": ["b"], "attributes": {"axis": -0}}`), `node "h": cumsum: attribute "axis" is -0.0, want an integer`},
		"axis":                 {node(`{"name": "h", "primitive": "sum", "operands": ["X"], "attributes": {"axes": [2]}}`), `node "h": sum: attribute "axes" is [2], want increasing axes below 2`},
		"perm":                 {node(`{"name": "h", "primitive": "transpose", "operands": ["X"], "attributes": {"perm": [0, 0]}}`), `node "h": transpose: attribute "perm" is [0 0]`},
		"unknown field":        {node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "operand": []}`), `line 1, column 196: node "h" has the unknown field "operand"`},
		"field case":           {node(`{"Name": "h", "primitive": "tanh", "operands": ["X"]}`), `unknown field "Name"`},
		"missing field":        {node(`{"name": "h", "operands": ["X"]}`), `node "h" has no field "primitive"`},
		"duplicate key":        {node(`{"name": "h", "name": "k", "primitive": "tanh", "operands": ["X"]}`), `key "name" appears twice`},
		"wrong JSON type":      {node(`{"name": "h", "primitive": "tanh", "operands": "X"}`), `operands of node "h" wants a list, has a string`},
		"a list of modules":    {"[]", `the module wants an object, has a list`},
		"trailing text":        {node("") + "{}", `there is more after the module`},
		"truncated":            {head, `unexpected EOF`},
		"not UTF-8":            {"{\"name\": \"\xff\"}", `not UTF-8`},
		"deep":                 {strings.Repeat("[", 100000), `nested deeper`},
		"response arity":       {node(`{"name": "h", "primitive": "add", "operands": ["X", "X"], "response": {"operands": ["u"], "seed": "g", "nodes": [], "outputs": ["g"]}}`), `node "h": response: wants 2 operands and as many outputs, has 1 and 1`},
		"response not linear":  {node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "response": {"operands": ["u"], "seed": "g", "nodes": [{"name": "z", "primitive": "mul", "operands": ["g", "g"]}], "outputs": ["z"]}}`), `node "h": declared response h: program h_response: mul node 0 is not linear`},
		"response fixed":       {node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "response": {"operands": ["u"], "seed": "g", "nodes": [], "outputs": ["u"]}}`), `node "h": declared response h`},
		"response shape":       {node(`{"name": "h", "primitive": "sum", "operands": ["X"], "response": {"operands": ["u"], "seed": "g", "nodes": [], "outputs": ["g"]}}`), `node "h": response: output "g" is real[], operand 0 is real[2, 3]`},
		"response node":        {node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "response": {"operands": ["u"], "seed": "g", "nodes": [{"name": "z", "primitive": "conv", "operands": []}], "outputs": ["z"]}}`), `node "h": response: node "z": unknown primitive "conv"`},
		"literal entries":      {node(`{"name": "h", "primitive": "literal", "operands": [], "attributes": {"shape": [2], "value": [1, 2, 3]}}`), `node "h": literal: attribute "value" has 3 entries`},
		"literal underflow":    {node(`{"name": "h", "primitive": "literal", "operands": [], "attributes": {"shape": [], "value": 1e-999}}`), `1e-999 is no float64`},
	} {
		m, err := module.Read([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, have %v (%v)", name, c.want, err, m)
		}
	}
}

func TestAllowed(t *testing.T) {
	m, err := module.Read([]byte(head + `{"name": "h", "primitive": "mul", "operands": ["X", "X"]}], "outputs": ["h", "h", "X"]}`))
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := graph.Floats(graph.Shape{2, 3}, []float64{1, 2, 3, 4, 5, 6})
	e, err := in.Forward(map[string]*graph.Tensor{"X": x, "W": graph.NewTensor(graph.F64(3, 3)), "b": graph.NewTensor(graph.F64(3))})
	if err != nil {
		t.Fatal(err)
	}
	one := graph.NewTensor(graph.F64(2, 3))
	for i := range one.F {
		one.F[i] = 1
	}
	ct, err := e.Reverse(e.Tape, one, one, one)
	if err != nil {
		t.Fatal(err)
	}
	// Two seeds at h and two slots of mul: 2·2x, and 1 for the output that is an input.
	if want := []float64{5, 9, 13, 17, 21, 25}; !cmp.Equal(ct["X"].F, want) {
		t.Errorf("cotangent of X is %v, want %v", ct["X"].F, want)
	}
	if !cmp.Equal(ct["W"].F, make([]float64, 9)) || !cmp.Equal(ct["b"].F, make([]float64, 3)) {
		t.Errorf("unused inputs have cotangents %v and %v", ct["W"].F, ct["b"].F)
	}
}

func TestRunTimeRefusals(t *testing.T) {
	m, _ := tied(t)
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	inputs := func() map[string]*graph.Tensor {
		return map[string]*graph.Tensor{"X": graph.NewTensor(graph.F64(2, 3)), "W": graph.NewTensor(graph.F64(3, 3)), "b": graph.NewTensor(graph.F64(3))}
	}
	refused := func(what, want string, err error) {
		t.Helper()
		var e *module.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, have %v", what, want, err)
		}
	}
	x := inputs()
	x["X"] = graph.NewTensor(graph.F64(3, 2))
	_, err = in.Forward(x)
	refused("wrong shape", `input "X": want f64[2 3], have f64[3 2]`, err)
	x = inputs()
	x["b"] = graph.NewTensor(graph.Type{DType: graph.Float32, Shape: graph.Shape{3}})
	_, err = in.Forward(x)
	refused("wrong type", `input "b": want f64[3], have f32[3]`, err)
	x = inputs()
	delete(x, "W")
	_, err = in.Forward(x)
	refused("missing input", `input "W": missing`, err)
	x = inputs()
	x["V"] = x["W"]
	_, err = in.Eval(x)
	refused("unknown input", `input "V": the module has no such input`, err)
	e, err := in.Forward(inputs())
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Reverse(e.Tape, graph.NewTensor(graph.F64(3, 2)))
	refused("wrong seed", `output "Y": its seed wants type f64[2 3], has f64[3 2]`, err)
	_, err = e.Reverse(e.Tape)
	refused("missing seed", `want 1 seeds, have 0`, err)
}

// The count of parent slots is that of the node with the most: a choice has three.
func TestCostCountsSlots(t *testing.T) {
	m, err := module.Read([]byte(`{"name": "m", "inputs": [{"name": "c", "dtype": "bool", "shape": [2]}, {"name": "x", "shape": [2]}], "nodes": [{"name": "h", "primitive": "select", "operands": ["c", "x", "x"]}], "outputs": ["h"]}`))
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := in.Cost(); c.R != 3 || c.A != 2 || c.Accumulation != 4 || float64(c.Total()) > c.Bound() {
		t.Errorf("r = %d, a = %d, accumulation %d, want 3, 2, 4: %+v", c.R, c.A, c.Accumulation, c)
	}
}
