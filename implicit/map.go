package implicit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
)

// Map is a map y = f(z, θ) of flat vectors, given by a program: its state inputs, concatenated,
// are z, its parameter inputs are θ, its other inputs are fixed, and its outputs, concatenated, are
// y. A Map serves one goroutine; Clone gives another one its own.
type Map struct {
	*compiled
	inputs                []*graph.Tensor
	buffers               []exec.Buffer // the entries of inputs
	z, theta              []float64     // the entries of the state and of the parameters, which the buffers share
	workspace             *exec.Workspace
	value                 []exec.Buffer
	outputs               []float64 // the entries of value
	unitState, unitParams []float64 // identity matrices, on first use
	perturber             *graph.Perturber
	pullPerturber         *graph.Perturber
	pulled                []*graph.Tensor // its inputs: those of f, then cotangents
	pushPerturber         *graph.Perturber
	pushed                []*graph.Tensor // its inputs: those of f, then tangents

	byState, byParams, byBoth *Derivative
}

// compiled is what clones of a map share.
type compiled struct {
	p                            *graph.Program
	e                            *exec.Exec
	state, params                []int
	m, n, out                    int // lengths of z, θ and y
	wrtState, wrtParams, wrtBoth linearized

	declaredOnce sync.Once
	declared     []string // responses that take part in f_z

	vjpOnce, jvpOnce sync.Once
	vjp, jvp         *graph.Program // with respect to state and parameters
}

// NewMap compiles the map of a program. fixed has a tensor for every input that is neither state
// nor parameter.
func NewMap(p *graph.Program, state, params []int, fixed []*graph.Tensor) (*Map, error) {
	both := slices.Concat(state, params)
	for _, i := range both {
		if in := p.Inputs[i]; in.Type.DType != graph.Float64 {
			return nil, fmt.Errorf("implicit: input %s of %s is %v, want float64", in.Name, p.Name, in.Type)
		}
	}
	e, err := exec.Compile(graph.Expand(p), exec.Options{})
	if err != nil {
		return nil, err
	}
	c := &compiled{p: p, e: e, state: state, params: params,
		wrtState: linearized{program: p, wrt: state, state: state}, wrtParams: linearized{program: p, wrt: params, state: state},
		wrtBoth: linearized{program: p, wrt: both, state: state}}
	for _, i := range state {
		c.m += p.Inputs[i].Type.Len()
	}
	for _, i := range params {
		c.n += p.Inputs[i].Type.Len()
	}
	for _, t := range p.OutputTypes() {
		c.out += t.Len()
	}
	f := &Map{compiled: c, inputs: make([]*graph.Tensor, len(p.Inputs))}
	copy(f.inputs, fixed)
	for i, x := range f.inputs {
		if x == nil && !slices.Contains(both, i) {
			return nil, fmt.Errorf("implicit: no value for input %s of %s", p.Inputs[i].Name, p.Name)
		}
	}
	return f.Clone(), nil
}

// Clone returns a map of the same program with memory of its own, for another goroutine.
func (f *Map) Clone() *Map {
	c := &Map{compiled: f.compiled, inputs: slices.Clone(f.inputs), buffers: make([]exec.Buffer, len(f.inputs)),
		workspace: f.e.NewWorkspace(), value: exec.NewBuffers(f.p.OutputTypes(), 1)}
	c.outputs = join(c.value)
	c.z, c.theta = c.own(f.state), c.own(f.params)
	for i, x := range c.inputs {
		c.Fix(i, x)
	}
	return c
}

// own gives inputs entries that lie one after the other.
func (f *Map) own(inputs []int) []float64 {
	n := 0
	for _, i := range inputs {
		n += f.p.Inputs[i].Type.Len()
	}
	x := make([]float64, n)
	rest := x
	for _, i := range inputs {
		t := f.p.Inputs[i].Type
		k := t.Len()
		f.inputs[i], rest = &graph.Tensor{Type: t, F: rest[:k:k]}, rest[k:]
	}
	return x
}

// Fix changes the value of a fixed input.
func (f *Map) Fix(input int, x *graph.Tensor) {
	f.inputs[input], f.buffers[input] = x, exec.Buffer{F: x.F, I: x.I}
}

// Dims returns the lengths of z, θ and f(z, θ).
func (f *Map) Dims() (state, params, out int) { return f.m, f.n, f.out }

// set puts z and θ into the inputs.
func (f *Map) set(z, theta []float64) {
	copy(f.z, z)
	copy(f.theta, theta)
}

// Eval sets dst = f(z, θ).
func (f *Map) Eval(dst, z, theta []float64) error {
	f.set(z, theta)
	if err := f.e.Run(f.workspace, f.buffers, f.value); err != nil {
		return err
	}
	copy(dst, f.outputs)
	return nil
}

// StateJacobian sets dst = f_z, row-major, and value, if not nil, to f(z, θ).
func (f *Map) StateJacobian(dst, value, z, theta []float64) error {
	d, err := f.at(&f.byState, &f.wrtState, value, z, theta)
	if err != nil {
		return err
	}
	if f.unitState == nil {
		f.unitState = identity(f.m)
	}
	return d.Push(dst, f.unitState, f.m)
}

// ParamJacobian sets dst = f_θ, row-major.
func (f *Map) ParamJacobian(dst, z, theta []float64) error {
	d, err := f.at(&f.byParams, &f.wrtParams, nil, z, theta)
	if err != nil {
		return err
	}
	if f.unitParams == nil {
		f.unitParams = identity(f.n)
	}
	return d.Push(dst, f.unitParams, f.n)
}

// Joint returns the derivative with respect to (z, θ) at a point, and sets value, if not nil, to
// f(z, θ). It is valid until the next call.
func (f *Map) Joint(value, z, theta []float64) (*Derivative, error) {
	return f.at(&f.byBoth, &f.wrtBoth, value, z, theta)
}

// DeclaredInState names the declared responses that take part in f_z: where there are any, f_z is not the derivative of f.
func (f *Map) DeclaredInState() []string {
	f.declaredOnce.Do(func() {
		_, late := graph.Split(f.p, f.state)
		for o := range late.Outputs {
			f.declared = append(f.declared, graph.Declared(late, o)...)
		}
		slices.Sort(f.declared)
		f.declared = slices.Compact(f.declared)
	})
	return f.declared
}

// Affine reports whether the derivatives f_z and f_θ are the same at every z, by the structure of
// the program: no residual of its linear part depends on the state, and nothing piecewise does.
func (f *Map) Affine() (bool, error) {
	err := f.wrtBoth.compile()
	return f.wrtBoth.constant, err
}

func (f *Map) at(d **Derivative, l *linearized, value, z, theta []float64) (*Derivative, error) {
	if *d == nil {
		var err error
		if *d, err = newDerivative(l); err != nil {
			return nil, err
		}
	}
	f.set(z, theta)
	return *d, (*d).at(value, f.buffers)
}

func identity(n int) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = 1
	}
	return a
}

// Perturbed sets dst = f(z, θ) with a random rounding of every operation; see graph.Perturber.
func (f *Map) Perturbed(dst, z, theta []float64, rng *rand.Rand) error {
	if f.perturber == nil {
		f.perturber = graph.NewPerturber(f.e.Program())
	}
	f.set(z, theta)
	out, err := f.perturber.Run(rng, f.inputs...)
	if err != nil {
		return err
	}
	for _, t := range out {
		dst = dst[copy(dst, t.F):]
	}
	return nil
}

// perturbedPull sets dst = (ȳᵀf_z, ȳᵀf_θ), and value, if not nil, to f(z, θ), with a random rounding of every
// operation, those of the derivative included; see graph.Perturber.
func (f *Map) perturbedPull(dst, value, z, theta, cotangent []float64, rng *rand.Rand) error {
	f.vjpOnce.Do(func() { f.vjp = graph.Expand(graph.VJP(f.p, slices.Concat(f.state, f.params))) })
	if f.pullPerturber == nil {
		f.pullPerturber = graph.NewPerturber(f.vjp)
		f.pulled = make([]*graph.Tensor, len(f.inputs))
		for _, t := range f.p.OutputTypes() {
			f.pulled = append(f.pulled, graph.NewTensor(t))
		}
	}
	f.set(z, theta)
	for _, x := range f.pulled[copy(f.pulled, f.inputs):] {
		cotangent = cotangent[copy(x.F, cotangent):]
	}
	out, err := f.pullPerturber.Run(rng, f.pulled...)
	if err != nil {
		return err
	}
	for _, x := range out[:len(f.p.Outputs)] {
		value = value[copy(value, x.F):]
	}
	for _, x := range out[len(f.p.Outputs):] {
		dst = dst[copy(dst, x.F):]
	}
	return nil
}

// perturbedPush sets dst = f_z ż + f_θ θ̇ of a tangent (ż, θ̇), with a random rounding of every operation, those of the
// derivative included; see graph.Perturber.
func (f *Map) perturbedPush(dst, z, theta, tangent []float64, rng *rand.Rand) error {
	both := slices.Concat(f.state, f.params)
	f.jvpOnce.Do(func() { f.jvp = graph.Expand(graph.JVP(f.p, both)) })
	if f.pushPerturber == nil {
		f.pushPerturber = graph.NewPerturber(f.jvp)
		f.pushed = make([]*graph.Tensor, len(f.inputs))
		for _, i := range both {
			f.pushed = append(f.pushed, graph.NewTensor(f.p.Inputs[i].Type))
		}
	}
	f.set(z, theta)
	for _, x := range f.pushed[copy(f.pushed, f.inputs):] {
		tangent = tangent[copy(x.F, tangent):]
	}
	out, err := f.pushPerturber.Run(rng, f.pushed...)
	if err != nil {
		return err
	}
	for _, x := range out[len(f.p.Outputs):] {
		dst = dst[copy(dst, x.F):]
	}
	return nil
}

// piecewise reports whether f has operations that take branches.
func (f *Map) piecewise() bool {
	return slices.ContainsFunc(f.p.Nodes, func(n graph.Node) bool { return n.Op.Branch != nil })
}

// Branches returns the strict branch that every piecewise operation of f takes at (z, θ), entry by
// entry; see graph.Branches. It is empty for a map without such operations.
func (f *Map) Branches(z, theta []float64) ([]int, error) {
	if !f.piecewise() {
		return nil, nil
	}
	f.set(z, theta)
	values, err := graph.Trace(f.p, f.inputs...)
	if err != nil {
		return nil, err
	}
	var labels []int
	for _, b := range graph.Branches(f.p, values) {
		labels = append(labels, b.Labels...)
	}
	return labels, nil
}
