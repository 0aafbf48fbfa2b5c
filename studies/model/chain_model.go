package model

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
	"github.com/lensir/lensir-study/studies"
	"github.com/lensir/lensir-study/studies/source"
)

// lowerSteps writes F and the running term, with the controls that they read.
func (m *Model) lowerSteps() error {
	s := m.Study
	formulas := s.Equations
	if s.Chain.Running.Text != "" {
		formulas = append(formulas[:len(formulas):len(formulas)], studies.Definition{Name: "running", Formula: s.Chain.Running, Place: s.Chain.Running.Place})
	}
	rows := make([]int, len(s.Chain.Controls))
	scalar := func(_ int, t graph.Type) (string, string) {
		if !t.Equal(graph.Scalar) {
			return fmt.Sprintf("the number of steps is %v, want a scalar", t), ""
		}
		return "", ""
	}
	var err error
	if m.length, err = m.lower("steps", roles{fixed: true}, []studies.Definition{{Name: "steps", Formula: s.Chain.Steps, Place: s.Chain.Steps.Place}}, scalar); err != nil {
		return err
	}
	steps, err := m.steps(s.Point(0))
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i] = max(steps, 1)
	}
	m.Equations, err = m.lower("F", roles{state: true, index: true, rows: rows}, formulas, func(i int, t graph.Type) (string, string) {
		if i < len(s.State) {
			return mismatch("F for "+s.Equations[i].Name, t, s.State[i].Name, m.State[i])
		}
		if !t.Equal(graph.Scalar) {
			return fmt.Sprintf("the running term is %v, want a scalar", t), "sum(…), mean(…) or an index makes a scalar"
		}
		return "", ""
	})
	return err
}

// lowerChain writes what else a chain has, and checks its length, controls and schedules at every point of the sweep.
func (m *Model) lowerChain() error {
	c := m.Study.Chain
	var err error
	if c.Until.Text != "" {
		if m.Until, err = m.lower("until", roles{state: true, index: true, condition: true}, []studies.Definition{{Name: "until", Formula: c.Until, Place: c.Until.Place}}, func(_ int, t graph.Type) (string, string) {
			if len(t.Shape) > 0 {
				return fmt.Sprintf("the condition has the shape %v, want one", t.Shape), "compare a norm, max(…) or sum(…)"
			}
			return "", ""
		}); err != nil {
			return err
		}
	}
	var starts []studies.Definition
	for _, u := range c.Controls {
		starts = append(starts, studies.Definition{Name: u.Name, Formula: u.Start, Place: u.Place})
	}
	if m.controls, err = m.lower("controls", roles{fixed: true}, starts, func(int, graph.Type) (string, string) { return "", "" }); err != nil {
		return err
	}
	chain, err := program.New(m.spec())
	var misuse *program.ControlError
	if errors.As(err, &misuse) {
		for i, u := range c.Controls {
			if u.Name == misuse.Control {
				return c.Controls[i].Place.Errorf("controls."+u.Name, "%s", misuse).WithHint("a step reads its own entry, %s[j], or a later one, %s[j+1]", u.Name, u.Name)
			}
		}
	}
	if err != nil {
		return err
	}
	for i, u := range c.Controls {
		if chain.Reads(i) == 0 {
			return u.Place.Errorf("controls."+u.Name, "the control %q is never read", u.Name).WithHint("read it as %s[j] in [next] or in the running term", u.Name)
		}
	}
	if err := m.checkDirection(); err != nil {
		return err
	}
	return m.checkPoints(chain)
}

// checkDirection holds the parts of the direction of a Hessian against the names and shapes of the study.
func (m *Model) checkDirection() error {
	s := m.Study
	known := map[string][]int{}
	for i, b := range s.State {
		known[b.Name] = m.State[i].Shape
	}
	for _, q := range s.Parameters {
		known[q.Name] = q.Value.Shape
	}
	for _, u := range s.Chain.Controls {
		known[u.Name] = nil // one number for every entry of every step
	}
	for _, v := range s.Chain.Hessian {
		shape, ok := known[v.Name]
		switch {
		case !ok:
			e := v.Place.Errorf("hessian."+v.Name, "%q is no parameter, no control and no block of the state", v.Name)
			if near := source.Nearest(v.Name, slices.Sorted(maps.Keys(known))); near != "" {
				return e.WithHint("did you mean %q?", near)
			}
			return e.WithHint("the direction has parts of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case !v.Value.IsScalar() && !slices.Equal(v.Value.Shape, shape):
			return v.Place.Errorf("hessian."+v.Name, "the direction of %s is %v, want %v or a number", v.Name, graph.F64(v.Value.Shape...), graph.F64(shape...))
		}
	}
	return nil
}

// spec states the chain.
func (m *Model) spec() program.Spec {
	s := m.Study
	return program.Spec{
		Dims: program.Dims{States: len(s.State), Params: len(s.Parameters), Constants: len(s.Constants) + len(s.Data), Controls: len(s.Chain.Controls)},
		Step: m.Equations, Running: s.Chain.Running.Text != "", Objective: m.Objectives, Start: m.Starts[0], Until: m.Until,
	}
}

// tensors are the constants and data of a point.
func tensors(p studies.Point) []*graph.Tensor {
	var list []*graph.Tensor
	for _, quantities := range [][]studies.Quantity{p.Constants, p.Study.Data} {
		for _, q := range quantities {
			list = append(list, graph.Floats(q.Value.Shape, q.Value.Data))
		}
	}
	return list
}

// steps returns T of a point, or its limit.
func (m *Model) steps(p studies.Point) (int, error) {
	out, err := graph.Eval(m.length, tensors(p)...)
	f := m.Study.Chain.Steps
	if err != nil {
		return 0, whole(f, "", "the number of steps: %s", err)
	}
	if x := out[0].F[0]; x == math.Trunc(x) && x >= 0 && x <= studies.MaxSteps {
		return int(x), nil
	}
	return 0, whole(f, "", "the number of steps is %v; T is a whole number from 0 to %d", out[0].F[0], studies.MaxSteps)
}

// controlValues returns the entries of every control for T steps.
func (m *Model) controlValues(chain *program.Chain, p studies.Point, steps int) ([][]float64, error) {
	if len(m.Study.Chain.Controls) == 0 {
		return nil, nil
	}
	out, err := graph.Eval(m.controls, tensors(p)...)
	if err != nil {
		return nil, graph.Within("before the first step", err)
	}
	values := make([][]float64, len(out))
	for i, u := range m.Study.Chain.Controls {
		x, n := out[i], graph.Shape(u.Shape).Len()
		want := chain.ControlLen(i, steps)
		rows := want / max(n, 1)
		if n > 0 && want/n > studies.MaxEntries/n {
			return nil, u.Place.Errorf("controls."+u.Name, "the control %q has more than %d entries", u.Name, studies.MaxEntries)
		}
		full := len(x.Shape) == len(u.Shape)+1 && x.Shape[1:].Equal(u.Shape)
		switch {
		case full && x.Shape[0] == rows, full && x.Shape[0] > rows && m.Until != nil:
			values[i] = x.F[:want]
			continue
		case full:
			hint := fmt.Sprintf("the last step reads entry %d", rows-1)
			if rows > steps {
				hint += ", also where an arm that reads it is not taken"
			}
			return nil, whole(u.Start, hint, "the control %q has %d entries; %d steps read %d", u.Name, x.Shape[0], steps, rows)
		case len(x.Shape) > 0 && !x.Shape.Equal(u.Shape):
			return nil, whole(u.Start, "give a number, one entry, or an array with an entry for each step",
				"the control %q is %v, but an entry of it is %v", u.Name, x.Type, graph.F64(u.Shape...))
		}
		values[i] = make([]float64, want)
		for k := range values[i] {
			values[i][k] = x.F[k%len(x.F)]
		}
	}
	return values, nil
}

// trial is one run of the matrix of schedules.
type trial struct {
	method        string
	slots, budget int // 0 and −1 where the method has none
	disk          *studies.Disk
}

// trials lists the runs in the order of the file.
func trials(s studies.Schedule) []trial {
	var list []trial
	for _, method := range s.Methods {
		switch {
		case method == studies.StoreAll:
			list = append(list, trial{method, 0, -1, nil})
			continue
		case method == studies.Binomial && len(s.Budgets) > 0:
			for _, slots := range s.Slots {
				for _, budget := range s.Budgets {
					list = append(list, trial{method, slots, budget, nil})
				}
			}
			continue
		}
		for _, slots := range s.Slots {
			list = append(list, trial{method, slots, -1, s.Disk})
		}
	}
	return list
}

// schedule makes the schedule for T steps, or of an online one for its limit.
func (c trial) schedule(steps int) (schedule.Schedule, error) {
	switch c.method {
	case studies.StoreAll:
		return schedule.NewStoreAll(steps)
	case studies.Uniform:
		return schedule.NewUniform(steps, c.slots)
	case studies.UniformTape:
		return schedule.NewUniformTape(steps, c.slots)
	case studies.Binomial:
		return schedule.NewBinomial(steps, c.slots, c.budget)
	case studies.TwoTier:
		return schedule.NewTwoTier(steps, c.slots, c.disk.Slots, schedule.Costs{Advance: 1, DiskWrite: c.disk.Write, DiskRead: c.disk.Read})
	case studies.Online:
		return schedule.NewOnline(steps, c.slots)
	}
	return schedule.NewRevolve(steps, c.slots)
}
