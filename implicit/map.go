package implicit

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
)

// Map is a map y = f(z, θ) of flat vectors, given by a program: its state inputs, concatenated,
// are z, its parameter inputs are θ, its other inputs are fixed, and its outputs, concatenated, are y.
type Map struct {
	p             *graph.Program
	state, params []int
	inputs        []*graph.Tensor
	m, n, out     int // lengths of z, θ and y

	byState, byParams, byBoth *Derivative
}

// NewMap makes a map of a program. fixed has a tensor for every input that is neither state nor parameter.
func NewMap(p *graph.Program, state, params []int, fixed []*graph.Tensor) (*Map, error) {
	f := &Map{p: p, state: state, params: params, inputs: make([]*graph.Tensor, len(p.Inputs))}
	copy(f.inputs, fixed)
	for _, i := range append(append([]int{}, state...), params...) {
		if !p.Inputs[i].Type.Equal(graph.Type{DType: graph.Float64, Shape: p.Inputs[i].Type.Shape}) {
			return nil, fmt.Errorf("implicit: input %s of %s is %v, want float64", p.Inputs[i].Name, p.Name, p.Inputs[i].Type)
		}
		f.inputs[i] = graph.NewTensor(p.Inputs[i].Type)
	}
	for i, x := range f.inputs {
		if x == nil {
			return nil, fmt.Errorf("implicit: no value for input %s of %s", p.Inputs[i].Name, p.Name)
		}
	}
	for _, i := range state {
		f.m += p.Inputs[i].Type.Len()
	}
	for _, i := range params {
		f.n += p.Inputs[i].Type.Len()
	}
	for _, t := range p.OutputTypes() {
		f.out += t.Len()
	}
	return f, nil
}

// Clone returns a map of the same program with inputs of its own, for another goroutine.
func (f *Map) Clone() *Map {
	c := *f
	c.inputs = append([]*graph.Tensor{}, f.inputs...)
	for _, i := range append(append([]int{}, f.state...), f.params...) {
		c.inputs[i] = graph.NewTensor(f.p.Inputs[i].Type)
	}
	c.byState, c.byParams, c.byBoth = nil, nil, nil
	return &c
}

// Fix changes the value of a fixed input.
func (f *Map) Fix(input int, x *graph.Tensor) { f.inputs[input] = x }

// Program returns the program of the map.
func (f *Map) Program() *graph.Program { return f.p }

// Dims returns the lengths of z, θ and f(z, θ).
func (f *Map) Dims() (state, params, out int) { return f.m, f.n, f.out }

// set puts z and θ into the inputs.
func (f *Map) set(z, theta []float64) []*graph.Tensor {
	for _, i := range f.state {
		z = z[copy(f.inputs[i].F, z):]
	}
	for _, i := range f.params {
		theta = theta[copy(f.inputs[i].F, theta):]
	}
	return f.inputs
}

// Eval sets dst = f(z, θ).
func (f *Map) Eval(dst, z, theta []float64) error {
	out, err := graph.Eval(f.p, f.set(z, theta)...)
	if err != nil {
		return err
	}
	flatten(dst, out)
	return nil
}

// StateJacobian sets dst = f_z, row-major, and value, if not nil, to f(z, θ).
func (f *Map) StateJacobian(dst, value, z, theta []float64) error {
	if f.byState == nil {
		f.byState = NewDerivative(f.p, f.state)
	}
	return jacobian(f.byState, dst, value, f.set(z, theta), f.m)
}

// ParamJacobian sets dst = f_θ, row-major.
func (f *Map) ParamJacobian(dst, z, theta []float64) error {
	if f.byParams == nil {
		f.byParams = NewDerivative(f.p, f.params)
	}
	return jacobian(f.byParams, dst, nil, f.set(z, theta), f.n)
}

func jacobian(d *Derivative, dst, value []float64, inputs []*graph.Tensor, lanes int) error {
	if err := d.At(value, inputs); err != nil {
		return err
	}
	identity := make([]float64, lanes*lanes)
	for i := range lanes {
		identity[i*lanes+i] = 1
	}
	return d.Push(dst, identity, lanes)
}

// Joint returns the derivative with respect to (z, θ) at a point, and sets value to f(z, θ).
func (f *Map) Joint(value, z, theta []float64) (*Derivative, error) {
	if f.byBoth == nil {
		f.byBoth = NewDerivative(f.p, append(append([]int{}, f.state...), f.params...))
	}
	return f.byBoth, f.byBoth.At(value, f.set(z, theta))
}

// Branches returns the strict branch that every piecewise operation of f takes at (z, θ), entry by
// entry; see graph.Branches. It is empty for a map without such operations.
func (f *Map) Branches(z, theta []float64) ([]int, error) {
	values, err := graph.Trace(f.p, f.set(z, theta)...)
	if err != nil {
		return nil, err
	}
	var labels []int
	for _, b := range graph.Branches(f.p, values) {
		labels = append(labels, b.Labels...)
	}
	return labels, nil
}
