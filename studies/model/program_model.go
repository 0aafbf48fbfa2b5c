package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/studies"
)

// lowerProgram writes the program of a study of kind program, and that of its seeds.
func (m *Model) lowerProgram() error {
	s := m.Study
	var err error
	if s.Program.Module != nil {
		m.Program, err = m.lowerModule()
	} else {
		m.Program, err = m.lower("program", roles{}, s.Program.Outputs, func(int, graph.Type) (string, string) { return "", "" })
	}
	if err == nil {
		m.Seeds, err = m.lowerSeeds()
	}
	if err == nil && slices.Contains(s.Program.Results, "taylor") {
		err = m.checkTaylor()
	}
	return err
}

// checkTaylor refuses programs with an operation that has no Taylor rule.
func (m *Model) checkTaylor() error {
	inputs, err := m.InputsAt(m.Study.Point(0), m.Program)
	if err != nil {
		return nil // said at the point
	}
	curve := make([][]*graph.Tensor, len(inputs))
	for i, x := range inputs {
		curve[i] = []*graph.Tensor{x}
	}
	for _, i := range m.Differentiated(m.Program) {
		curve[i] = append(curve[i], graph.NewTensor(m.Program.Inputs[i].Type.Tangent()))
	}
	_, err = graph.Taylor(m.Program, 1, curve...)
	if f := (*graph.Failure)(nil); err != nil && !errors.As(err, &f) {
		return m.Study.Program.ResultsPlace.Errorf("program.results", "taylor: %v", err).WithHint("jet gives derivatives of the reverse pass to any order")
	}
	return nil
}

// lowerModule lowers the module and adds the quantities that it does not read as further inputs.
func (m *Model) lowerModule() (*graph.Program, error) {
	p := m.Study.Program
	at := p.ModulePath
	for _, name := range p.Module.Dimensions() {
		if _, ok := p.Dimensions[name]; !ok {
			return nil, whole(at, fmt.Sprintf("for example dimensions = { %s = 2 }", name), "the module %s has the dimension %s, which has no size", p.Module.Name, name)
		}
	}
	for name := range p.Dimensions {
		if !slices.Contains(p.Module.Dimensions(), name) {
			return nil, whole(at, "", "the module %s has no dimension %s", p.Module.Name, name)
		}
	}
	program, err := p.Module.Program(p.Dimensions)
	if err != nil {
		var refusal *module.Error
		if errors.As(err, &refusal) {
			return nil, whole(at, "", "%s", refusal)
		}
		return nil, err
	}
	for i := range program.Nodes {
		if t := program.Nodes[i].Type; !studies.Fits(t.Shape...) {
			return nil, whole(at, "", "the module makes an array of shape %v, which has more than %d entries", t.Shape, studies.MaxEntries)
		}
	}
	known := map[string]studies.Quantity{}
	var further []graph.Input
	for _, q := range m.quantities() {
		known[q.Name] = q
		if !slices.ContainsFunc(program.Inputs, func(in graph.Input) bool { return in.Name == q.Name }) {
			further = append(further, graph.Input{Name: q.Name, Type: graph.F64(q.Value.Shape...)})
		}
	}
	for _, in := range program.Inputs {
		q, ok := known[in.Name]
		if !ok {
			return nil, whole(at, "inputs have their values in [parameters], [constants] or [data]", "the input %s of the module has no value", in.Name)
		}
		if _, err := tensorOf(in.Type, q.Value); err != nil {
			return nil, q.Place.Errorf("", "the module wants %v for its input %s: %s", in.Type, in.Name, err)
		}
	}
	return withInputs(program, further), nil
}

// quantities lists all named values.
func (m *Model) quantities() []studies.Quantity {
	return slices.Concat(m.Study.Parameters, m.Study.Constants, m.Study.Data)
}

// tensorOf makes a tensor of a type of the entries of an array.
func tensorOf(t graph.Type, a studies.Array) (*graph.Tensor, error) {
	if !t.Shape.Equal(graph.Shape(a.Shape)) {
		return nil, fmt.Errorf("the value has shape %v", a.Shape)
	}
	if t.DType == graph.Float64 {
		return graph.Floats(t.Shape, a.Data), nil
	}
	x := graph.NewTensor(t)
	for i, v := range a.Data {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 || t.DType == graph.Bool && v != 0 && v != 1 {
			return nil, fmt.Errorf("the entry %v is no %v", v, t.DType)
		}
		x.I[i] = int64(v)
	}
	return x, nil
}

// withInputs adds inputs that a program does not read. Its nodes stay as they are, equal ones apart.
func withInputs(p *graph.Program, further []graph.Input) *graph.Program {
	if len(further) == 0 {
		return p
	}
	q := *p
	n, k := graph.Value(len(p.Inputs)), graph.Value(len(further))
	moved := func(list []graph.Value) []graph.Value {
		out := slices.Clone(list)
		for i, v := range out {
			if v >= n {
				out[i] = v + k
			}
		}
		return out
	}
	q.Inputs, q.Nodes, q.Outputs = slices.Concat(p.Inputs, further), slices.Clone(p.Nodes), moved(p.Outputs)
	for i := range q.Nodes {
		q.Nodes[i].Args = moved(q.Nodes[i].Args)
	}
	return &q
}

// lowerSeeds writes the program of the seeds, over the inputs of the program. An output without a seed has the seed 0
// where nothing that is wanted reads it.
func (m *Model) lowerSeeds() (*graph.Program, error) {
	p := m.Study.Program
	l := &lowering{Model: m, b: graph.NewBuilder("seeds"), scope: formula.Scope{}}
	for _, in := range m.Program.Inputs {
		l.scope[in.Name] = l.b.Input(in.Name, in.Type)
	}
	var names, outputs []string
	var values []graph.Value
	missing := ""
	for i, t := range m.Program.OutputTypes() {
		name := m.Program.OutputName(i)
		outputs = append(outputs, name)
		k := slices.IndexFunc(p.Seeds, func(s studies.Seed) bool { return s.Output == name })
		var v graph.Value
		switch {
		case !t.DType.IsFloat():
			v = l.b.Zeros(t.Tangent())
		case k < 0 && t.Equal(graph.Scalar):
			v = l.b.Full(t, 1)
		case k < 0:
			missing = fmt.Sprintf("the output %s is %v and has no seed", name, t)
			v = l.b.Full(t, 0)
		case p.Seeds[k].Formula.Text == "":
			seed := p.Seeds[k]
			if seed.Value.IsScalar() {
				v = l.b.Full(t, seed.Value.Data[0])
				break
			}
			if !t.Shape.Equal(graph.Shape(seed.Value.Shape)) {
				return nil, seed.Place.Errorf("program.seeds."+name, "the seed of %s has shape %v, want %v as the output has", name, seed.Value.Shape, t.Shape)
			}
			v = l.b.Literal(graph.Floats(t.Shape, seed.Value.Data))
		default:
			var err error
			f := p.Seeds[k].Formula
			if v, err = l.formula(studies.Definition{Name: name, Formula: f, Place: p.Seeds[k].Place}); err != nil {
				return nil, err
			}
			if have := l.b.Type(v); have.Equal(graph.Scalar) {
				v = op.BroadcastTo(l.b, v, t.Shape)
			} else if !have.Equal(t) {
				return nil, whole(f, "", "the seed of %s is %v, want %v as the output is", name, have, t)
			}
		}
		names, values = append(names, "seed_"+name), append(values, v)
	}
	for _, s := range p.Seeds {
		if !slices.Contains(outputs, s.Output) {
			return nil, s.Place.Errorf("program.seeds."+s.Output, "there is no output %q", s.Output).WithHint("outputs are: %s", strings.Join(outputs, ", "))
		}
	}
	for _, what := range []string{"vjp", "gradient", "hvp", "jet"} {
		if missing != "" && slices.Contains(p.Results, what) {
			return nil, p.ResultsPlace.Errorf("program.results", "%s wants seeds, and %s", what, missing).
				WithHint("for example\n[program.seeds]\n%s = 1", outputs[0])
		}
	}
	return l.b.BuildNamed(names, values...), nil
}

// firstEntries returns what the first step of a chain reads: j = 0, and of a control its first entries; nil for another input.
func (m *Model) firstEntries(point studies.Point, in graph.Input) (*graph.Tensor, error) {
	if in.Name == "j" {
		return graph.NewTensor(in.Type), nil
	}
	k := slices.IndexFunc(m.Study.Chain.Controls, func(u studies.Control) bool { return u.Name == in.Name })
	if k < 0 {
		return nil, nil
	}
	starts, err := graph.Eval(m.controls, tensors(point)...)
	if err != nil {
		return nil, graph.Within("the controls", err)
	}
	x := graph.NewTensor(in.Type)
	for i := range x.F {
		x.F[i] = starts[k].F[i%len(starts[k].F)] // one number or one entry stands for all
	}
	return x, nil
}

// InputsAt returns the values of a program's inputs at a point; those of the state are where the first start puts it, and
// those of a step are the first step's.
func (m *Model) InputsAt(point studies.Point, p *graph.Program) ([]*graph.Tensor, error) {
	values := map[string]studies.Array{}
	for _, q := range slices.Concat(point.Parameters, point.Constants, m.Study.Data) {
		values[q.Name] = q.Value
	}
	var state []*graph.Tensor
	out := make([]*graph.Tensor, len(p.Inputs))
	for i, in := range p.Inputs {
		if k := slices.IndexFunc(m.Study.State, func(b studies.Block) bool { return b.Name == in.Name }); k >= 0 {
			if state == nil {
				start, err := m.InputsAt(point, m.Starts[0])
				if err == nil {
					state, err = graph.Eval(m.Starts[0], start...)
				}
				if err != nil {
					return nil, graph.Within("the start", err)
				}
			}
			out[i] = state[k]
			continue
		}
		a, ok := values[in.Name]
		if !ok && m.Study.Chain != nil {
			if x, err := m.firstEntries(point, in); err != nil || x != nil {
				if err != nil {
					return nil, err
				}
				out[i] = x
				continue
			}
		}
		if !ok {
			return nil, fmt.Errorf("%s has the input %s, which has no value at a point", p.Name, in.Name)
		}
		x, err := tensorOf(in.Type, a)
		if err != nil {
			return nil, &graph.Failure{Status: graph.DomainError, Name: in.Name, Reason: err.Error()}
		}
		out[i] = x
	}
	return out, nil
}
