package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/rounding"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// programSolver computes the transformations of a program that a study wants, each compiled once.
type programSolver struct {
	model     *Model
	seed      uint64
	wrt       []int
	linear    graph.Linearization
	objective *graph.Program // J = Σ⟨γ, y⟩ of the inputs, then the seeds
	wanted    []*transformed // in the order of the study
	residuals []*runner      // of a Jacobian: the primal and the linear half
	seeds     *runner
	program   *graph.Program // that Taylor arithmetic runs
	levels    []int          // of its factors, where it is perturbed
	twin      *programSolver // the same with its rounding perturbed, by key; nil until it is needed
	key       *uint64        // nil in a solver whose rounding is as it is
	// columnMarks are the declared responses that the derivative of each output depends on.
	columnMarks []string
}

// transformed is one transformation that is wanted, with its program where it has one.
type transformed struct {
	what string
	*runner
}

// runner is a compiled program with its memory. The names of declared responses are those of the program before it was
// written out in primitives.
type runner struct {
	p        *graph.Program
	e        *exec.Exec
	ws       *exec.Workspace
	declared []string // of each output, joined
	rounding *rounding.Runner
	key      *uint64 // of rounding
}

func newRunner(p *graph.Program) (*runner, error) {
	e, err := exec.Compile(graph.Expand(p), exec.Options{})
	if err != nil {
		return nil, err
	}
	r := &runner{p: p, e: e, ws: e.NewWorkspace()}
	for o := range p.Outputs {
		r.declared = append(r.declared, marks(p, o))
	}
	return r, nil
}

// marks joins the names of the declared responses that some outputs of a program depend on.
func marks(p *graph.Program, outputs ...int) string {
	var names []string
	for _, o := range outputs {
		names = append(names, graph.Declared(p, o)...)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func (r *runner) clone() *runner {
	if r == nil {
		return nil
	}
	c := *r
	c.ws = r.e.NewWorkspace()
	return &c
}

// run evaluates the program into fresh tensors.
func (r *runner) run(inputs ...*graph.Tensor) ([]*graph.Tensor, error) {
	in := make([]exec.Buffer, len(inputs))
	for i, x := range inputs {
		in[i] = exec.Buffer{F: x.F, I: x.I}
	}
	types := r.p.OutputTypes()
	out := exec.NewBuffers(types, 1)
	var err error
	if r.rounding != nil {
		err = r.rounding.Run(*r.key, in, out)
	} else {
		err = r.e.Run(r.ws, in, out)
	}
	if err != nil {
		return nil, err
	}
	y := make([]*graph.Tensor, len(out))
	for i, t := range types {
		y[i] = &graph.Tensor{Type: t, F: out[i].F, I: out[i].I}
	}
	return y, nil
}

func newProgramSolver(m *Model, seed uint64) (*programSolver, error) {
	p := m.Program
	s := &programSolver{model: m, seed: seed, program: p, wrt: m.Differentiated(p)}
	s.linear = graph.Linearize(p, s.wrt)
	s.objective = pairingOf(p, m.Seeds)
	var err error
	compile := func(p *graph.Program) *runner {
		var r *runner
		if err == nil {
			r, err = newRunner(p)
		}
		return r
	}
	s.seeds = compile(m.Seeds)
	for _, what := range m.Study.Program.Results {
		t := &transformed{what: what}
		s.wanted = append(s.wanted, t)
		switch what {
		case "value":
			t.runner = compile(p)
		case "jvp":
			d := graph.JVP(p, s.wrt)
			t.runner = compile(graph.DropDead(d.WithOutputs(d.Outputs[len(p.Outputs):]...)))
		case "vjp", "jet":
			pullback, e := graph.Pullback(p, s.wrt, m.Seeds)
			if e != nil {
				return nil, e
			}
			if what == "jet" {
				pullback = graph.Jet(pullback, s.wrt, len(m.Study.Program.Jet))
			}
			t.runner = compile(pullback)
		case "gradient":
			g := graph.Gradient(s.objective, s.wrt)
			t.runner = compile(g.WithOutputs(g.Outputs[1:]...))
		case "hvp":
			h := graph.HVP(s.objective, s.wrt)
			t.runner = compile(graph.DropDead(h.WithOutputs(h.Outputs[1+len(s.wrt):]...)))
		case "jacobian":
			s.residuals = []*runner{compile(s.linear.Primal), compile(s.linear.Linear)}
			d := graph.JVP(p, s.wrt) // the halves by themselves do not show what the residuals depend on
			for o := range p.Outputs {
				s.columnMarks = append(s.columnMarks, marks(d, len(p.Outputs)+o))
			}
		case "residuals":
			l := s.linear.Primal
			t.runner = compile(l.WithOutputs(l.Outputs[len(p.Outputs):]...))
		}
	}
	return s, err
}

// clone returns a solver with memory of its own.
func (s *programSolver) clone() *programSolver {
	c := *s
	c.wanted, c.residuals, c.seeds, c.twin = nil, nil, s.seeds.clone(), nil
	for _, t := range s.wanted {
		c.wanted = append(c.wanted, &transformed{t.what, t.clone()})
	}
	for _, r := range s.residuals {
		c.residuals = append(c.residuals, r.clone())
	}
	return &c
}

// pairingOf is J = Σ⟨γ, y⟩ over the real outputs, a program of the inputs of p, then of the seeds.
func pairingOf(p, seeds *graph.Program) *graph.Program {
	b := graph.NewBuilder(p.Name)
	taken := map[string]bool{}
	var x, gamma []graph.Value
	for _, in := range p.Inputs {
		taken[in.Name] = true
		x = append(x, b.Input(in.Name, in.Type))
	}
	for i, t := range seeds.OutputTypes() {
		name := seeds.OutputName(i)
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		gamma = append(gamma, b.Input(name, t))
	}
	j := b.Full(graph.Scalar, 0)
	first := true
	for i, y := range b.Inline(p, x...) {
		t := p.Type(p.Outputs[i])
		if !t.DType.IsFloat() {
			continue
		}
		axes := make([]int, len(t.Shape))
		for k := range axes {
			axes[k] = k
		}
		term := op.SumOver(b, b.Emit(op.Mul, nil, gamma[i], y), axes...)
		if j = b.Accumulate(j, term); first {
			j, first = term, false
		}
	}
	return b.BuildNamed([]string{"J"}, j)
}

// solve adds the rows of a point. A transformation that is refused has one row, with the reason; the others still run.
func (s *programSolver) solve(out *Outcome, p studies.Point) error {
	inputs, err := s.model.InputsAt(p, s.model.Program)
	for k, t := range s.wanted {
		failed := err
		var rows []results.Row
		if failed == nil {
			w := &programRows{record: out.Record, transformation: t.what}
			if failed = s.transform(w, t, inputs); failed == nil {
				if err := s.estimate(w, k, inputs); err != nil {
					return err
				}
			}
			rows = w.rows
		}
		ending, broken := endingOf(failed)
		if broken != nil {
			return broken
		}
		if failed != nil {
			rows = []results.Row{{Ending: ending, Fields: results.Fields{{Column: "transformation", Value: results.Text(t.what)}}}}
		}
		for _, row := range rows {
			out.Record.Add(results.Program, row)
		}
	}
	out.countProgram(s.model.Study, out.Record.Rows(results.Program))
	return nil
}

// countProgram holds the rows of a point against what the study expects: a refusal of one of its transformations.
func (o *Outcome) countProgram(s *studies.Study, rows []results.Row) {
	o.warnOfRounding(rows)
	met := s.Expect == "" || s.Expect == graph.OK
	for _, row := range rows {
		switch graph.Status(row.Status) {
		case s.Expect:
			met = true
		case graph.OK:
		default:
			o.Refused++
		}
	}
	if !met {
		o.Unexpected++
		o.Warnings = append(o.Warnings, fmt.Sprintf("expected %s, which no transformation ended with", s.Expect))
	}
}

// transform computes one transformation.
func (s *programSolver) transform(w *programRows, t *transformed, inputs []*graph.Tensor) error {
	program := s.model.Program
	switch t.what {
	case "value":
		y, err := t.run(inputs...)
		for i := range y {
			w.tensor(y[i], t.declared[i], s.outputName(i), "", nil)
		}
		return err
	case "jvp":
		return s.each(func(v studies.Direction) error {
			dy, err := t.run(slices.Concat(inputs, s.tangents(v))...)
			for i := range dy {
				w.tensor(dy[i], t.declared[i], s.outputName(i), "", results.Fields{{Column: "direction", Value: results.Text(v.Name)}})
			}
			return err
		})
	case "vjp", "gradient", "hvp":
		return s.cotangents(w, t, inputs)
	case "jacobian":
		return s.jacobian(w, inputs)
	case "jet":
		return s.jet(w, t, inputs)
	case "taylor":
		return s.each(func(v studies.Direction) error { return s.taylor(w, v, inputs) })
	case "residuals":
		y, err := t.run(inputs...)
		for i := range y {
			w.tensor(y[i], t.declared[i], s.linear.Linear.Inputs[i].Name, "", nil)
		}
		return err
	case "cost":
		for _, line := range CostLines(module.CostBy(program, s.wrt)) {
			w.number(line.Name, line.Value)
		}
		return nil
	}
	panic("studies: no transformation " + t.what)
}

func (s *programSolver) outputName(i int) string { return s.model.Program.OutputName(i) }

func (s *programSolver) inputName(k int) string { return s.model.Program.Inputs[s.wrt[k]].Name }

// each calls f for each direction of the study.
func (s *programSolver) each(f func(studies.Direction) error) error {
	for _, v := range s.model.Study.Program.Directions {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// tangents is a direction as one tangent for each parameter that is differentiated by.
func (s *programSolver) tangents(v studies.Direction) []*graph.Tensor {
	var out []*graph.Tensor
	for _, i := range s.wrt {
		in := s.model.Program.Inputs[i]
		x := graph.NewTensor(in.Type.Tangent())
		for _, t := range v.Tangents {
			if t.Name == in.Name {
				copy(x.F, t.Value.Data)
			}
		}
		out = append(out, x)
	}
	return out
}

// cotangents adds what has one tensor for each parameter.
func (s *programSolver) cotangents(w *programRows, t *transformed, inputs []*graph.Tensor) error {
	in := inputs
	if t.what != "vjp" { // the seeds are held fixed
		seeds, err := s.seeds.run(inputs...)
		if err != nil {
			return graph.Within("the seeds", err)
		}
		in = slices.Concat(inputs, seeds)
	}
	put := func(in []*graph.Tensor, more results.Fields) error {
		ct, err := t.run(in...)
		for k := range ct {
			w.tensor(ct[k], t.declared[k], "", s.inputName(k), more)
		}
		return err
	}
	if t.what != "hvp" {
		return put(in, nil)
	}
	return s.each(func(v studies.Direction) error {
		return put(slices.Concat(in, s.tangents(v)), results.Fields{{Column: "direction", Value: results.Text(v.Name)}})
	})
}

// jacobian adds the matrices, column by column from the linear half.
func (s *programSolver) jacobian(w *programRows, inputs []*graph.Tensor) error {
	primal, linear := s.residuals[0], s.residuals[1]
	program := s.model.Program
	y, err := primal.run(inputs...)
	if err != nil {
		return err
	}
	saved := y[len(program.Outputs):]
	zero := s.tangents(studies.Direction{})
	columns := 0
	for _, x := range zero {
		columns += len(x.F)
	}
	for _, t := range program.OutputTypes() {
		if t.DType.IsFloat() && t.Len() > 0 && columns > maxJacobian/t.Len() {
			return &graph.Failure{Status: graph.OutOfBudget, Reason: fmt.Sprintf("the Jacobian has %d×%d entries, more than %d: use jvp or vjp", t.Len(), columns, maxJacobian)}
		}
	}
	for k, i := range s.wrt {
		n, array := len(zero[k].F), false
		matrices := make([][]float64, len(program.Outputs))
		for o, t := range program.OutputTypes() {
			matrices[o] = make([]float64, graph.Scalars(t.Tangent())*n)
			array = array || len(matrices[o]) > maxSensitivities
		}
		wanted := s.sampled(n, array && s.key != nil)
		for c := range n {
			if !wanted(c) {
				for _, x := range matrices {
					for r := c; r < len(x); r += n {
						x[r] = math.NaN()
					}
				}
				continue
			}
			zero[k].F[c] = 1
			dy, err := linear.run(slices.Concat(saved, zero)...)
			if err != nil {
				return err
			}
			for o := range dy {
				for r, e := range dy[o].F {
					matrices[o][r*n+c] = e
				}
			}
			zero[k].F[c] = 0
		}
		for o, t := range program.OutputTypes() {
			if t.DType.IsFloat() {
				w.matrix(matrices[o], s.columnMarks[o], s.outputName(o), t.Shape, s.inputName(k), program.Inputs[i].Type.Shape)
			}
		}
	}
	return nil
}

// jet adds the mixed derivatives in every set of the directions.
func (s *programSolver) jet(w *programRows, t *transformed, inputs []*graph.Tensor) error {
	names := s.model.Study.Program.Jet
	in := slices.Clone(inputs)
	for _, name := range names {
		i := slices.IndexFunc(s.model.Study.Program.Directions, func(v studies.Direction) bool { return v.Name == name })
		in = append(in, s.tangents(s.model.Study.Program.Directions[i])...)
	}
	y, err := t.run(in...)
	for b := range y {
		set, k := b/len(s.wrt), b%len(s.wrt)
		var chosen []string
		for i, name := range names {
			if set>>i&1 == 1 {
				chosen = append(chosen, name)
			}
		}
		w.tensor(y[b], t.declared[b], "", s.inputName(k), results.Fields{
			{Column: "direction", Value: results.Text(strings.Join(chosen, " "))}, {Column: "order", Value: results.Int(len(chosen))}})
	}
	return err
}

// taylor adds the coefficients along x + tv.
func (s *programSolver) taylor(w *programRows, v studies.Direction, inputs []*graph.Tensor) error {
	order := s.model.Study.Program.Order
	if s.key != nil {
		inputs = slices.Concat(inputs, rounding.Tensors(s.program, s.levels, *s.key))
	}
	curve := make([][]*graph.Tensor, len(inputs))
	for i, x := range inputs {
		curve[i] = []*graph.Tensor{x}
	}
	stretch := s.stretch()
	for k, x := range s.tangents(v) {
		for i := range x.F {
			x.F[i] *= stretch
		}
		curve[s.wrt[k]] = append(curve[s.wrt[k]], x)
	}
	y, err := graph.Taylor(s.program, order, curve...)
	if err != nil {
		return err
	}
	for o := range y {
		power := 1.0
		for k, c := range y[o] {
			if c.DType == graph.Float0 {
				continue
			}
			c = c.Clone() // which other outputs, or the inputs, may share
			for i := range c.F {
				c.F[i] /= power
			}
			power *= stretch
			w.tensor(c, marks(s.model.Program, o), s.outputName(o), "", results.Fields{
				{Column: "direction", Value: results.Text(v.Name)}, {Column: "order", Value: results.Int(k)}})
		}
	}
	return nil
}
