package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/studies"
	"github.com/lensir/lensir-study/studies/source"
)

// Model is a study as programs: typed and lowered once, for all points of the sweep.
//
// The inputs of every program are the blocks of the state (of none but Start and Constants), then
// the parameters, then the constants and data, each under its name in the study.
type Model struct {
	Study *studies.Study
	// State is the type of each block, inferred from the start.
	State []graph.Type
	// Starts are z₀(θ), one program for each branch; the first is that of [state].
	Starts []*graph.Program
	// Equations is R(z, θ) of a root and G(z, θ) of a fixed point; of a chain F and, as last output, the running term. F has the
	// controls and j as further inputs.
	Equations *graph.Program
	// Residual is R(z, θ); of a fixed point, z − G(z, θ); nil of a chain.
	Residual *graph.Program
	// Objectives has one scalar output for each objective.
	Objectives *graph.Program
	// Constants are the declared q, L_z and L_theta; nil where they are estimated or not asked for.
	Constants *graph.Program
	// Until is the condition that ends a chain, with j as further input; nil without one.
	Until *graph.Program
	// Program is that of kind program, which has none of the others, and Seeds the cotangents of its outputs.
	Program, Seeds *graph.Program

	declared declaredResponses
	length   *graph.Program // T of the constants
	controls *graph.Program // their values, of constants and data
	defines  map[string]*namedFormula
	used     map[string]bool
}

// namedFormula is a definition, parsed.
type namedFormula struct {
	studies.Definition
	parsed     *formula.Formula
	cotangents []*formula.Formula // of its declared response
}

// reads lists the names that a definition and its response read.
func (d *namedFormula) reads() []formula.Name {
	names := d.parsed.FreeNames()
	for _, c := range d.cotangents {
		names = append(names, c.FreeNames()...)
	}
	return names
}

// Compile types and lowers a study. The error is a *[studies.Error] with the formula's place in the file.
func Compile(s *studies.Study) (*Model, error) {
	m := &Model{Study: s, defines: map[string]*namedFormula{}, used: map[string]bool{}}
	for _, d := range s.Define {
		parsed, err := parse(d.Formula)
		if err != nil {
			return nil, err
		}
		m.defines[d.Name] = &namedFormula{Definition: d, parsed: parsed}
		if err := m.parseResponse(m.defines[d.Name]); err != nil {
			return nil, err
		}
	}
	if err := m.checkCircles(); err != nil {
		return nil, err
	}
	if s.Kind == studies.Program {
		if err := m.lowerProgram(); err != nil {
			return nil, err
		}
		return m, m.checkUsed()
	}
	if err := m.lowerStarts(); err != nil {
		return nil, err
	}
	if err := m.lowerEquations(); err != nil {
		return nil, err
	}
	var err error
	if m.Objectives, err = m.lower("objective", roles{state: true}, s.Objective, func(i int, t graph.Type) (string, string) {
		if !t.Equal(graph.Scalar) {
			return fmt.Sprintf("objective %s is %v, want a scalar", s.Objective[i].Name, t), "sum(…), mean(…) or an index makes a scalar"
		}
		return "", ""
	}); err != nil {
		return nil, err
	}
	if b := s.Bounds; b != nil && b.Declared {
		declared := []studies.Definition{{Name: "q", Formula: b.Q, Place: b.Q.Place}, {Name: "L_z", Formula: b.LZ, Place: b.LZ.Place}, {Name: "L_theta", Formula: b.LTheta, Place: b.LTheta.Place}}
		if m.Constants, err = m.lower("constants", roles{}, declared, func(i int, t graph.Type) (string, string) {
			if !t.Equal(graph.Scalar) {
				return fmt.Sprintf("%s is %v, want a scalar", declared[i].Name, t), ""
			}
			return "", ""
		}); err != nil {
			return nil, err
		}
	}
	if s.Kind == studies.Chain {
		if err := m.lowerChain(); err != nil {
			return nil, err
		}
	} else {
		m.declared = declaredResponses{declaredBy(m.Equations, m.Objectives), declaredBy(append(slices.Clone(m.Starts), m.Equations)...)}
	}
	return m, m.checkUsed()
}

// Programs lists the programs of the model, with what each is.
func (m *Model) Programs() []*graph.Program {
	if m.Program != nil {
		return []*graph.Program{m.Program}
	}
	programs := append(slices.Clone(m.Starts), m.Equations)
	if m.Residual != m.Equations && m.Residual != nil {
		programs = append(programs, m.Residual)
	}
	programs = append(programs, m.Objectives)
	if m.Constants != nil {
		programs = append(programs, m.Constants)
	}
	return programs
}

func parse(f studies.Formula) (*formula.Formula, error) {
	parsed, err := formula.Parse(f.Text)
	return parsed, locate(f, err)
}

// locate turns an error of a formula into one with its place in the file.
func locate(f studies.Formula, err error) error {
	var e *formula.Error
	if !errors.As(err, &e) {
		return err
	}
	return f.Errorf(e.Offset, e.Offset+e.Length, e.Hint, "%s", e.Message)
}

// whole makes an error about the whole formula.
func whole(f studies.Formula, hint, format string, args ...any) *studies.Error {
	return f.Errorf(0, len(f.Text), hint, format, args...)
}

// checkCircles refuses definitions that lead back to themselves.
func (m *Model) checkCircles() error {
	done := map[string]bool{}
	var visit func(name string, path []string) error
	visit = func(name string, path []string) error {
		d, ok := m.defines[name]
		if !ok || done[name] {
			return nil
		}
		if k := slices.Index(path, name); k >= 0 {
			circle := strings.Join(append(path[k:], name), " → ")
			return d.Place.Errorf("define."+name, "the definitions go in a circle: %s", circle).WithHint("a definition may use the ones that do not use it")
		}
		for _, n := range d.reads() {
			if err := visit(n.Name, append(slices.Clone(path), name)); err != nil {
				return err
			}
		}
		done[name] = true
		return nil
	}
	for _, d := range m.Study.Define {
		if err := visit(d.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// checkUsed refuses definitions that nothing reads: a formula that does nothing is a mistake.
func (m *Model) checkUsed() error {
	for _, d := range m.Study.Define {
		if !m.used[d.Name] {
			return d.Place.Errorf("define."+d.Name, "%q is defined and never used", d.Name).WithHint("use it in a formula, or remove the line")
		}
	}
	return nil
}

func (m *Model) lowerStarts() error {
	s := m.Study
	var blocks []studies.Definition
	for _, b := range s.State {
		blocks = append(blocks, studies.Definition{Name: b.Name, Formula: b.Start, Place: b.Place})
	}
	p, err := m.lower("start", roles{}, blocks, func(int, graph.Type) (string, string) { return "", "" })
	if err != nil {
		return err
	}
	m.Starts, m.State = []*graph.Program{p}, p.OutputTypes()
	if err := m.checkState(); err != nil {
		return err
	}
	for _, branch := range s.Branches {
		for i := range blocks {
			blocks[i].Formula = branch.Starts[i]
		}
		p, err := m.lower("start_"+branch.Name, roles{}, blocks, func(i int, t graph.Type) (string, string) {
			return mismatch(fmt.Sprintf("the start of %s in branch %s", blocks[i].Name, branch.Name), t, blocks[i].Name, m.State[i])
		})
		if err != nil {
			return err
		}
		m.Starts = append(m.Starts, p)
	}
	return nil
}

// mismatch says that a formula does not have the type of a block, or nothing if it has.
func mismatch(what string, have graph.Type, block string, want graph.Type) (message, hint string) {
	if have.Equal(want) {
		return "", ""
	}
	return fmt.Sprintf("%s is %v, but block %s of the state is %v", what, have, block, want),
		"the start of a block says its shape; arrays are made by zeros(n), rows(b, n) or a literal"
}

func (m *Model) lowerEquations() error {
	s := m.Study
	var err error
	if s.Kind == studies.FixedPoint {
		m.Equations, err = m.lower("G", roles{state: true}, s.Equations, func(i int, t graph.Type) (string, string) {
			return mismatch("G for "+s.Equations[i].Name, t, s.State[i].Name, m.State[i])
		})
		if err == nil {
			m.Residual = residualOf(m.Equations, len(s.State))
		}
		return err
	}
	if s.Kind == studies.Chain {
		return m.lowerSteps()
	}
	if m.Equations, err = m.lower("R", roles{state: true}, s.Equations, func(int, graph.Type) (string, string) { return "", "" }); err != nil {
		return err
	}
	m.Residual = m.Equations
	unknowns, equations := 0, 0
	for _, t := range m.State {
		unknowns += t.Len()
	}
	for _, t := range m.Equations.OutputTypes() {
		equations += t.Len()
	}
	if unknowns != equations {
		last := s.Equations[len(s.Equations)-1]
		return whole(last.Formula, "[root] needs as many equations as [state] has entries", "%d equations for %d unknowns", equations, unknowns)
	}
	return nil
}

// residualOf writes z − G(z, θ).
func residualOf(g *graph.Program, blocks int) *graph.Program {
	b := graph.NewBuilder("R")
	inputs := make([]graph.Value, len(g.Inputs))
	for i, in := range g.Inputs {
		inputs[i] = b.Input(in.Name, in.Type)
	}
	outputs := b.Inline(g, inputs...)
	for i := range blocks {
		outputs[i] = b.Emit(op.Sub, nil, inputs[i], outputs[i])
	}
	return b.BuildNamed(g.OutputNames, outputs...)
}

// roles says what a formula can read beside the constants.
type roles struct {
	state, index bool
	rows         []int // of each control; nil: no control
	fixed        bool  // no parameter
	condition    bool  // the formulas are conditions
}

// lower writes the program of some formulas. check says what is wrong with the type of one, and a hint.
func (m *Model) lower(name string, can roles, formulas []studies.Definition, check func(i int, t graph.Type) (message, hint string)) (*graph.Program, error) {
	l := &lowering{Model: m, b: graph.NewBuilder(name), scope: formula.Scope{}, roles: can}
	s := m.Study
	if can.state {
		for i, block := range s.State {
			l.scope[block.Name] = l.b.Input(block.Name, m.State[i])
		}
	}
	lists := [][]studies.Quantity{s.Parameters, s.Constants, s.Data}
	if can.fixed {
		lists = lists[1:]
	}
	for _, list := range lists {
		for _, q := range list {
			l.scope[q.Name] = l.b.Input(q.Name, graph.F64(q.Value.Shape...))
		}
	}
	for i, rows := range can.rows {
		u := s.Chain.Controls[i]
		l.scope[u.Name] = l.b.Input(u.Name, graph.F64(slices.Concat([]int{rows}, u.Shape)...))
		l.swept = append(l.swept, l.scope[u.Name])
	}
	if can.index {
		l.scope["j"] = l.b.Input("j", graph.Type{DType: graph.Int64})
	}
	var names []string
	var outputs []graph.Value
	for i, d := range formulas {
		v, err := l.formula(d)
		if err != nil {
			return nil, err
		}
		if message, hint := check(i, l.b.Type(v)); message != "" {
			return nil, whole(d.Formula, hint, "%s", message)
		}
		names, outputs = append(names, d.Name), append(outputs, v)
	}
	p := l.b.BuildNamed(names, outputs...)
	return p, m.checkSizes(p, formulas)
}

// checkSizes refuses programs with an array that no formula can mean: evaluating them would exhaust the memory.
func (m *Model) checkSizes(p *graph.Program, formulas []studies.Definition) error {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if studies.Fits(n.Type.Shape...) {
			continue
		}
		for _, d := range slices.Concat(formulas, m.Study.Define) {
			if origin(d.Formula) == n.Origin {
				return whole(d.Formula, "", "the formula makes an array of shape %v, which has more than %d entries", n.Type.Shape, studies.MaxEntries)
			}
		}
	}
	return nil
}

// checkState refuses a state whose square Jacobian, or whose sensitivity, would exhaust the memory.
func (m *Model) checkState() error {
	size, p := 0, 0
	for _, t := range m.State {
		size += t.Len()
	}
	for _, q := range m.Study.Parameters {
		p += len(q.Value.Data)
	}
	last := m.Study.State[len(m.Study.State)-1]
	switch {
	case m.Study.Kind == studies.Chain && studies.Fits(size): // a chain has no Jacobian
	case m.Study.Kind == studies.Chain:
		return whole(last.Start, "", "the state has %d entries; the most is %d", size, studies.MaxEntries)
	case !studies.Fits(size, size):
		return whole(last.Start, "", "the state has %d entries, whose square Jacobian would have more than %d", size, studies.MaxEntries)
	case !studies.Fits(size, p):
		return whole(last.Start, "", "the state has %d entries and the parameters have %d: the sensitivity would have more than %d", size, p, studies.MaxEntries)
	}
	return nil
}

// lowering writes one program: definitions are lowered when a formula first reads them, outside of
// every conditional arm.
type lowering struct {
	*Model
	roles
	b     *graph.Builder
	scope formula.Scope
	swept []graph.Value // the controls
}

func (l *lowering) formula(d studies.Definition) (graph.Value, error) {
	parsed, err := parse(d.Formula)
	if err != nil {
		return graph.None, err
	}
	return l.lowerParsed(d.Formula, parsed, l.condition)
}

func (l *lowering) lowerParsed(f studies.Formula, parsed *formula.Formula, condition bool) (graph.Value, error) {
	if err := l.resolve(f, parsed.FreeNames()); err != nil {
		return graph.None, err
	}
	l.b.SetOrigin(origin(f))
	v, err := parsed.Lower(l.b, l.scope, l.swept...)
	switch {
	case err == nil && condition && l.b.Type(v).DType != graph.Bool:
		return graph.None, whole(f, "write a comparison", "the formula is %v, want a condition", l.b.Type(v))
	case err == nil && !condition && l.b.Type(v).DType != graph.Float64:
		return graph.None, whole(f, "c ? 1 : 0 makes a number of a condition", "the formula is %v, want float64", l.b.Type(v))
	}
	return v, locate(f, err)
}

// hidden says what a name is that only some formulas can read.
func (m *Model) hidden(name string) string {
	s := m.Study
	switch {
	case slices.ContainsFunc(s.State, func(b studies.Block) bool { return b.Name == name }):
		return "the state"
	case slices.ContainsFunc(s.Parameters, func(q studies.Quantity) bool { return q.Name == name }):
		return "a parameter"
	case s.Chain != nil && slices.ContainsFunc(s.Chain.Controls, func(u studies.Control) bool { return u.Name == name }):
		return "a control"
	case s.Chain != nil && name == "j":
		return "the step index"
	}
	return ""
}

// readable lists what the formulas of a program can use.
func (l *lowering) readable() string {
	list := []string{"constants", "data"}
	if !l.fixed {
		list = append(list, "parameters")
	}
	if l.state {
		list = append(list, "the state")
	}
	if l.index {
		list = append(list, "j")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// resolve brings the names that a formula reads into the scope: a definition is lowered when it is first read.
func (l *lowering) resolve(f studies.Formula, names []formula.Name) error {
	for _, n := range names {
		if _, ok := l.scope[n.Name]; ok {
			continue
		}
		if d, ok := l.defines[n.Name]; ok {
			l.used[n.Name] = true
			v, err := l.define(d)
			if err != nil {
				return err
			}
			l.b.Name(v, d.Name)
			l.scope[d.Name] = v
			continue
		}
		if what := l.hidden(n.Name); what != "" {
			return f.Errorf(n.Offset, n.Offset+len(n.Name), "it may use "+l.readable(),
				"%q is %s, which this formula cannot read", n.Name, what)
		}
		hint := "names come from [constants], [data], [parameters], [define] and [state]"
		if near := source.Nearest(n.Name, l.names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return f.Errorf(n.Offset, n.Offset+len(n.Name), hint, "unknown name %q", n.Name)
	}
	return nil
}

// origin names a formula in reasons and in programs.
func origin(f studies.Formula) string {
	section, name, _ := strings.Cut(f.Key, ".")
	return fmt.Sprintf("[%s] %s", section, name)
}

// names lists what a formula could have meant.
func (l *lowering) names() []string {
	var names []string
	for name := range l.scope {
		names = append(names, name)
	}
	for name := range l.defines {
		names = append(names, name)
	}
	return slices.Sorted(slices.Values(names))
}

// Differentiated lists the inputs of a program of the model with respect to which it is
// differentiated: the state, if it reads it, and the parameters.
func (m *Model) Differentiated(p *graph.Program) []int {
	var wrt []int
	for i, in := range p.Inputs {
		switch m.hidden(in.Name) {
		case "the state", "a parameter", "a control":
			wrt = append(wrt, i)
		}
	}
	return wrt
}
