package program

import "github.com/lensir/lensir-study/graph"

// Tangent returns the chain of (x, ẋ), whose objective is J̇ = ∇J·(ẋ_0, θ̇, u̇). Its states, parameters and controls are those of s, then their
// tangents. The derivative of J̇ with respect to a parameter is the Hessian of J times the direction, and with respect to the
// parameter's tangent it is the gradient of J. Any schedule reverses it.
//
// The steps are the JVPs of those of s; so a Hessian-vector product needs no rule of its own.
func Tangent(s Spec) Spec {
	t := Spec{Running: s.Running}
	t.Dims = Dims{2 * s.States, 2 * s.Params, s.Constants, 2 * s.Controls}
	steps := span(0, s.States)
	t.Step = s.tangent(s.Step, true, s.Controls, true, steps, steps)
	if s.Running {
		t.Step = s.tangent(s.Step, true, s.Controls, true, steps, append(steps, s.States))
	}
	t.Objective = s.tangent(s.Objective, true, 0, false, nil, []int{0})
	t.Start = s.tangent(s.Start, false, 0, false, steps, steps)
	if s.Until != nil {
		t.Until = s.tangent(s.Until, true, 0, true, []int{0}, nil)
	}
	return t
}

// tangent writes a program over primals and tangents, which returns the given outputs of p, then the tangents of others.
func (s *Spec) tangent(p *graph.Program, withState bool, controls int, withIndex bool, values, tangents []int) *graph.Program {
	states := 0
	if withState {
		states = s.States
	}
	// The places of the inputs of p that have a tangent, role by role.
	first := states + s.Params + s.Constants
	roles := [][]int{span(0, states), span(states, states+s.Params), span(first, first+controls)}
	var wrt []int
	for _, role := range roles {
		wrt = append(wrt, role...)
	}
	d := graph.JVP(p, wrt)
	inputs := d.Inputs
	b := graph.NewBuilder(d.Name)
	args := make([]graph.Value, len(inputs))
	input := func(i int) { args[i] = b.Input(inputs[i].Name, inputs[i].Type) }
	if len(tangents) == 0 {
		d = p // a condition has no tangent, and its boundary refuses nothing
	}
	dual := len(p.Inputs) // the tangents of d in order
	for r, role := range roles {
		for _, i := range role {
			input(i)
		}
		for range role {
			input(dual)
			dual++
		}
		if r == 1 {
			for i := range s.Constants {
				input(states + s.Params + i)
			}
		}
	}
	if withIndex {
		input(len(p.Inputs) - 1)
	}
	out := b.Inline(d, args[:len(d.Inputs)]...)
	var outputs []graph.Value
	var names []string
	for _, i := range values {
		outputs, names = append(outputs, out[i]), append(names, d.OutputName(i))
	}
	for _, i := range tangents {
		i += len(p.Outputs)
		outputs, names = append(outputs, out[i]), append(names, d.OutputName(i))
	}
	return b.BuildNamed(names, outputs...)
}
