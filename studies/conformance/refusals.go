package conformance

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
)

// refusal is a document that must be refused with a reason that holds the given text.
type refusal struct{ what, document, reason string }

// invalid lists the refusals of the language.
func invalid() []refusal {
	const inputs = `{"name": "X", "shape": [2, 3]}, {"name": "W", "shape": [3, 3]}, {"name": "b", "shape": [3]}`
	document := func(inputs, nodes, outputs string) string {
		return `{"name": "m", "inputs": [` + inputs + `], "nodes": [` + nodes + `], "outputs": [` + outputs + `]}`
	}
	node := func(nodes string) string { return document(inputs, nodes, `"h"`) }
	const fine = `{"name": "h", "primitive": "tanh", "operands": ["X"]}`
	return []refusal{
		{"unknown primitive", node(`{"name": "h", "primitive": "conv", "operands": ["X"]}`), `node "h": unknown primitive "conv"`},
		{"wrong arity", node(`{"name": "h", "primitive": "add", "operands": ["X"]}`), `node "h": add: wants 2 operands`},
		{"shape mismatch", node(`{"name": "h", "primitive": "mul", "operands": ["X", "b"]}`), `node "h": mul: wants operands of one shape`},
		{"inner dimensions", node(`{"name": "h", "primitive": "matmul", "operands": ["X", "X"]}`), `node "h": matmul: the inner dimensions`},
		{"dimension 0", document(`{"name": "X", "shape": [0, 3]}`, fine, `"h"`), `input "X": dimension 0 is not positive`},
		{"negative dimension", document(`{"name": "X", "shape": [2, -3]}`, fine, `"h"`), `input "X": dimension -3 is not positive`},
		{"no rows", node(`{"name": "h", "primitive": "broadcast_rows", "operands": ["b"], "attributes": {"rows": 0}}`), `node "h": broadcast_rows`},
		{"duplicate node", node(fine + "," + fine), `node "h": a node before it has this name`},
		{"node named as an input", node(`{"name": "X", "primitive": "tanh", "operands": ["X"]}`), `node "X": an input has this name`},
		{"use before definition", node(`{"name": "h", "primitive": "tanh", "operands": ["k"]}, {"name": "k", "primitive": "tanh", "operands": ["X"]}`), `node "h": operand "k" is used before it is defined`},
		{"unknown operand", node(`{"name": "h", "primitive": "tanh", "operands": ["k"]}`), `node "h": operand "k" is not defined`},
		{"unknown output", document(inputs, fine, `"k"`), `output "k": there is no such`},
		{"no outputs", document(inputs, fine, ``), `there are no outputs`},
		{"repeated input", document(inputs+`, {"name": "W", "shape": []}`, fine, `"h"`), `input "W": the input appears twice`},
		{"unknown attribute", node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "attributes": {"rows": 2}}`), `node "h": tanh: unknown attribute "rows"`},
		{"missing attribute", node(`{"name": "h", "primitive": "broadcast_rows", "operands": ["b"]}`), `node "h": broadcast_rows: missing attribute "rows"`},
		{"overflow", node(`{"name": "h", "primitive": "broadcast", "operands": ["b"], "attributes": {"shape": [4294967296, 4294967296, 3], "dims": [2]}}`), `node "h": shape [4294967296, 4294967296, 3] overflows`},
		{"unknown field", node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "rows": 2}`), `node "h" has the unknown field "rows"`},
		{"duplicate key", node(`{"name": "h", "name": "h", "primitive": "tanh", "operands": ["X"]}`), `key "name" appears twice`},
		{"family that types for some valuations", document(`{"name": "X", "shape": ["B", "d"]}`, `{"name": "h", "primitive": "matmul", "operands": ["X", "X"]}`, `"h"`), `node "h": matmul: the inner dimensions of real[B, d] and real[B, d] differ: needs d = B`},
		{"response that is not linear", node(`{"name": "h", "primitive": "tanh", "operands": ["X"], "response": {"operands": ["u"], "seed": "g", "nodes": [{"name": "z", "primitive": "mul", "operands": ["g", "g"]}], "outputs": ["z"]}}`), `node "h": declared response`},
	}
}

func invalidModules(c *Check) {
	for _, r := range invalid() {
		_, err := module.Read([]byte(r.document))
		c.expect(err != nil && strings.Contains(err.Error(), r.reason), "%s: %v, want %q", r.what, err, r.reason)
		if err != nil {
			c.Notes = append(c.Notes, r.what+": "+err.Error())
		}
	}
}

func runtimeRefusals(c *Check, family *module.Module) {
	in, err := family.Instantiate(module.Valuation{"B": 2, "d": 3})
	if err != nil {
		c.fail("%v", err)
		return
	}
	b := block{2, 3, make([]float64, 6), make([]float64, 9), make([]float64, 3), make([]float64, 6)}
	refused := func(reason string, err error) {
		var e *module.Error
		c.expect(errors.As(err, &e) && strings.Contains(err.Error(), reason), "%v, want %q", err, reason)
		if err != nil {
			c.Notes = append(c.Notes, err.Error())
		}
	}
	inputs := b.named()
	inputs["X"] = graph.NewTensor(graph.F64(3, 2))
	_, err = in.Forward(inputs)
	refused(`input "X": want f64[2 3], have f64[3 2]`, err)
	inputs = b.named()
	delete(inputs, "W")
	_, err = in.Forward(inputs)
	refused(`input "W": missing`, err)
	e, err := in.Forward(b.named())
	if err != nil {
		c.fail("%v", err)
		return
	}
	_, err = e.Reverse(e.Tape, graph.NewTensor(graph.F64(2, 2)))
	refused(`output "Y": its seed wants type f64[2 3], has f64[2 2]`, err)
}

// tapes alters every bit position once, at a random entry of every saved value.
func tapes(c *Check, family *module.Module, b block, r *rand.Rand) {
	in, err := family.Instantiate(b.valuation())
	if err != nil {
		c.fail("%v", err)
		return
	}
	e, err := in.Forward(b.named())
	if err != nil {
		c.fail("%v", err)
		return
	}
	refused := func(what string, t *module.Tape) {
		var refusal *module.TapeError
		_, err := e.Reverse(t, b.seed())
		c.expect(errors.As(err, &refusal), "%s: %v", what, err)
	}
	if other, err := in.Forward(b.named()); err == nil {
		refused("the tape of another evaluation", other.Tape)
	}
	if another, err := family.Instantiate(module.Valuation{"B": b.rows + 1, "d": b.d}); err == nil {
		larger := block{b.rows + 1, b.d, make([]float64, (b.rows+1)*b.d), b.w, b.b, nil}
		if other, err := another.Forward(larger.named()); err == nil {
			refused("the tape of another module", other.Tape)
		}
	}
	for _, x := range e.Tape.Values {
		for bit := range 64 {
			i := r.IntN(len(x.F))
			saved := x.F[i]
			x.F[i] = math.Float64frombits(math.Float64bits(saved) ^ 1<<bit)
			refused("a tape altered by a bit", e.Tape)
			x.F[i] = saved
		}
	}
	_, err = e.Reverse(e.Tape, b.seed())
	c.expect(err == nil, "the unchanged tape: %v", err)
}
