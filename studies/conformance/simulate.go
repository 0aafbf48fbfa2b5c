package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
)

// Evaluator runs a float64 program and returns its outputs as float64 tensors, whatever it computes with.
type Evaluator func(p *graph.Program, inputs ...*graph.Tensor) ([]*graph.Tensor, error)

// Budget is the local error that one operation of a backend may make: on operands x̃ it returns ỹ with
//
//	|ỹ − op(x̃)| ≤ Absolute + Relative·k·M,
//
// entrywise, where op is the reference operation, k the number of floating-point operations of the entry and M its
// magnitude: |op(x̃)|, and for sums and products op taken of absolute values, so that cancellation is allowed for.
// The zero budget wants equal values, as a compiled evaluator has to give.
type Budget struct {
	Relative float64 `json:"relative"`
	Absolute float64 `json:"absolute"`
}

// SingleBudget is the budget of float32 arithmetic: half a unit in the last place of each operation, up to the
// second order, and half the least denormal.
var SingleBudget = Budget{Relative: 1.001 * 0x1p-24, Absolute: 0x1p-150}

// NodeReport compares one value of a backend with the reference: its largest local error beside the local budget, and its
// largest distance from the reference run beside the budget that the propagation gives, at the entries where
// they come closest to it.
type NodeReport struct {
	Name        string  `json:"name"`
	Op          string  `json:"op"`
	Local       float64 `json:"local_error"`
	LocalBudget float64 `json:"local_budget"`
	Error       float64 `json:"error"`
	Budget      float64 `json:"budget"`
	Holds       bool    `json:"holds"`
}

// Simulation is the outcome for a program: values of both runs, budgets, and one report for each node.
type Simulation struct {
	Reference, Backend, Budgets []*graph.Tensor // of the outputs
	Nodes                       []NodeReport    // of the inputs, then the nodes
}

// Holds reports whether the backend keeps the relation at every node.
func (s *Simulation) Holds() bool {
	return !slices.ContainsFunc(s.Nodes, func(n NodeReport) bool { return !n.Holds })
}

// firstOrder is the slack for the terms of second order that the propagation of errors leaves out.
const firstOrder = 1.01

// Simulate holds an evaluator against the reference at every node of p. The relation between the two runs is
// |x̃ − x| ≤ E entrywise. It starts from the given E of the inputs, and a node's E is its local budget plus
// |Dop|·E of its operands, taken at the reference values: explicit, and closed under accumulation.
//
// Source: backend simulation, the typed tensor fragment, section 5.
func Simulate(p *graph.Program, run Evaluator, budget Budget, reference, backend, errors []*graph.Tensor) (*Simulation, error) {
	ideal, err := graph.Trace(p, reference...)
	if err != nil {
		return nil, err
	}
	all := make([]graph.Value, p.NumValues())
	for v := range all {
		all[v] = graph.Value(v)
	}
	actual, err := run(p.WithOutputs(all...), backend...)
	if err != nil {
		return nil, err
	}
	names := p.Names()
	s := &Simulation{}
	budgets := slices.Clone(errors)
	for i, in := range p.Inputs {
		s.Nodes = append(s.Nodes, related(in.Name, ideal[i], actual[i], errors[i]))
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := len(p.Inputs) + i
		node := simulatedNode{n, k(p, i), budget}
		in := func(of []*graph.Tensor) []*graph.Tensor {
			out := make([]*graph.Tensor, len(n.Args))
			for k, a := range n.Args {
				out[k] = of[a]
			}
			return out
		}
		report, e, err := node.check(in(ideal), in(actual), in(budgets), ideal[v], actual[v])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[v], err)
		}
		report.Name = names[v]
		s.Nodes, budgets = append(s.Nodes, report), append(budgets, e)
	}
	for _, v := range p.Outputs {
		s.Reference, s.Backend, s.Budgets = append(s.Reference, ideal[v]), append(s.Backend, actual[v]), append(s.Budgets, budgets[v])
	}
	return s, nil
}

// related reports on an input: the relation that the propagation starts from.
func related(name string, ideal, actual, e *graph.Tensor) NodeReport {
	report := NodeReport{Name: name, Op: "input", Holds: slices.Equal(ideal.I, actual.I)}
	worst := -1.0
	for i := range ideal.F {
		d := math.Abs(actual.F[i] - ideal.F[i])
		report.Holds = report.Holds && d <= e.F[i]
		if r := ratio(d, e.F[i]); r > worst {
			worst, report.Error, report.Budget = r, finite(d), finite(e.F[i])
		}
	}
	return report
}

// k is the number of floating-point operations of one entry of a node.
func k(p *graph.Program, node int) float64 {
	entries := p.Nodes[node].Type.Len()
	return math.Max(1, math.Ceil(float64(p.NodeOperations(node))/math.Max(1, float64(entries))))
}

type simulatedNode struct {
	*graph.Node
	operations float64
	budget     Budget
}

// check reports on one node and returns the budget of its value.
func (n simulatedNode) check(ideal, actual, errors []*graph.Tensor, y, yActual *graph.Tensor) (NodeReport, *graph.Tensor, error) {
	report := NodeReport{Op: n.Op.Name, Holds: true}
	e := graph.NewTensor(graph.Type{DType: graph.Float64, Shape: n.Type.Shape})
	if !n.Type.DType.IsFloat() { // decisions and indices have no relation but equality
		report.Holds = slices.Equal(y.I, yActual.I)
		return report, e, nil
	}
	local, fault := n.Run(actual)
	if fault != nil {
		return report, nil, fmt.Errorf("the reference operation refuses the backend's operands: %s", fault.Reason)
	}
	magnitude := n.magnitude(actual, local)
	propagated, err := n.propagate(ideal, errors)
	if err != nil {
		return report, nil, err
	}
	worst, worstLocal := -1.0, -1.0
	for i := range e.F {
		localBudget := n.budget.Absolute + n.budget.Relative*n.operations*magnitude[i]
		if n.Op == graph.Literal {
			localBudget = n.budget.Absolute + n.budget.Relative*math.Abs(y.F[i])
		}
		e.F[i] = localBudget + firstOrder*propagated[i]
		localError, total := math.Abs(yActual.F[i]-local.F[i]), math.Abs(yActual.F[i]-y.F[i])
		report.Holds = report.Holds && localError <= localBudget && total <= e.F[i]
		if r := ratio(localError, localBudget); r > worstLocal {
			worstLocal, report.Local, report.LocalBudget = r, finite(localError), finite(localBudget)
		}
		if r := ratio(total, e.F[i]); r > worst {
			worst, report.Error, report.Budget = r, finite(total), finite(e.F[i])
		}
	}
	return report, e, nil
}

func ratio(x, bound float64) float64 {
	if x == 0 {
		return 0
	}
	return finite(x / bound)
}

// magnitude is the sum of the absolute values of the terms of every entry of an operation that is linear in some of its
// operands, and the absolute value of others.
func (n simulatedNode) magnitude(in []*graph.Tensor, y *graph.Tensor) []float64 {
	out := make([]float64, len(y.F))
	for i, v := range y.F {
		out[i] = math.Abs(v)
	}
	if n.Op.LinearIn == nil || n.Op.Body != nil || n.Op.Name == "div" {
		return out
	}
	node := *n.Node
	if node.Op.Name == "sub" {
		node.Op = graph.Add
	}
	positive := make([]*graph.Tensor, len(in))
	for k, x := range in {
		positive[k] = x.Clone()
		for i, f := range x.F {
			positive[k].F[i] = math.Abs(f)
		}
	}
	if z, fault := node.Run(positive); fault == nil {
		for i, v := range z.F {
			out[i] = math.Abs(v)
		}
	}
	return out
}

// propagate is Σ |∂y/∂x|·E over the operands, entrywise, at the reference values.
func (n simulatedNode) propagate(in, errors []*graph.Tensor) ([]float64, error) {
	out := make([]float64, n.Type.Len())
	var wrt []int
	b := graph.NewBuilder("node")
	args := make([]graph.Value, len(in))
	for k, x := range in {
		args[k] = b.Input(fmt.Sprintf("x%d", k), x.Type)
		if slices.ContainsFunc(errors[k].F, func(e float64) bool { return e != 0 }) {
			wrt = append(wrt, k)
		}
	}
	if len(wrt) == 0 {
		return out, nil
	}
	// Errors pass through values, not through declared responses.
	one := graph.AsImplemented(b.Build(b.Emit(n.Op, n.Attrs, args...)))
	jacobians, err := graph.Jacobian(one, wrt, in)
	if err != nil {
		return nil, fmt.Errorf("no error propagates: %w", err)
	}
	for j, k := range wrt {
		for i := range out {
			for c, e := range errors[k].F {
				if e != 0 { // an entry without error adds none
					out[i] += math.Abs(jacobians[j][0][i*len(errors[k].F)+c]) * e
				}
			}
		}
	}
	return out, nil
}

// ModuleSimulation holds an evaluator against the reference on a module, forward with the residuals, and in reverse from
// the residuals that each of the two runs saved.
type ModuleSimulation struct {
	Forward, Reverse *Simulation
}

// Holds reports whether both directions hold at every node.
func (s ModuleSimulation) Holds() bool { return s.Forward.Holds() && s.Reverse.Holds() }

// SimulateModule simulates a float64 instance at inputs and seeds that both runs share.
func SimulateModule(in *module.Instance, run Evaluator, budget Budget, inputs, seeds []*graph.Tensor) (ModuleSimulation, error) {
	forward, err := Simulate(in.Linearization.Primal, run, budget, inputs, inputs, exactly(inputs))
	if err != nil {
		return ModuleSimulation{}, err
	}
	n := len(in.Program.Outputs)
	reverse, err := Simulate(in.Adjoint, run, budget,
		slices.Concat(forward.Reference[n:], seeds), slices.Concat(forward.Backend[n:], seeds), slices.Concat(forward.Budgets[n:], exactly(seeds)))
	return ModuleSimulation{forward, reverse}, err
}

// exactly is the relation of equal values.
func exactly(x []*graph.Tensor) []*graph.Tensor {
	out := make([]*graph.Tensor, len(x))
	for i := range x {
		out[i] = graph.NewTensor(graph.Type{DType: graph.Float64, Shape: x[i].Shape})
	}
	return out
}

// Single is the reference evaluator in float32: every input, literal and result is rounded to float32.
func Single(p *graph.Program, inputs ...*graph.Tensor) ([]*graph.Tensor, error) {
	in := make([]*graph.Tensor, len(inputs))
	for i, x := range inputs {
		in[i] = withFloat(x, graph.Float32)
	}
	out, err := graph.Eval(SingleProgram(p), in...)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = withFloat(out[i], graph.Float64)
	}
	return out, nil
}

func withFloat(x *graph.Tensor, d graph.DType) *graph.Tensor {
	y := x.Clone()
	if y.DType.IsFloat() {
		if y.DType = d; d == graph.Float32 {
			y.Round32()
		}
	}
	return y
}

// SingleProgram is a float64 program, composites written out, with every float64 in it made float32.
func SingleProgram(p *graph.Program) *graph.Program {
	q := *graph.Expand(p)
	single := func(t graph.Type) graph.Type {
		if t.DType == graph.Float64 {
			t.DType = graph.Float32
		}
		return t
	}
	q.Inputs, q.Nodes = slices.Clone(q.Inputs), slices.Clone(q.Nodes)
	for i := range q.Inputs {
		q.Inputs[i].Type = single(q.Inputs[i].Type)
	}
	for i := range q.Nodes {
		n := &q.Nodes[i]
		n.Type = single(n.Type)
		if n.Value != nil {
			n.Value = withFloat(n.Value, graph.Float32)
		}
		if n.Op.Name == "convert" && graph.DType(n.Attrs.Int("dtype")) == graph.Float64 {
			n.Attrs = n.Attrs.With("dtype", int(graph.Float32))
		}
	}
	return &q
}
