package implicit

import (
	"slices"
	"sync"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
)

// linearized is a program's derivative with respect to some of its inputs, compiled on first use.
// It does not change after that, and goroutines share it.
type linearized struct {
	program    *graph.Program
	wrt, state []int

	once                     sync.Once
	primal, forward, reverse *exec.Exec
	in, out                  []int // lengths of the inputs in wrt and of the outputs
	constant                 bool  // the derivative is the same at every state
	err                      error
}

func (l *linearized) compile() error {
	l.once.Do(func() {
		linear := graph.Linearize(l.program, l.wrt)
		for _, i := range l.wrt {
			l.in = append(l.in, l.program.Inputs[i].Type.Len())
		}
		for _, t := range l.program.OutputTypes() {
			l.out = append(l.out, t.Len())
		}
		l.constant = constantIn(linear.Primal, len(l.out), l.state)
		compile := func(dst **exec.Exec, p *graph.Program) {
			if l.err == nil {
				*dst, l.err = exec.Compile(graph.Expand(p), exec.Options{})
			}
		}
		compile(&l.primal, linear.Primal)
		compile(&l.forward, linear.Linear)
		compile(&l.reverse, graph.Transpose(linear.Linear))
	})
	return l.err
}

// constantIn reports whether the primal part of a linearization hands over residuals that do not
// depend on some inputs, and does nothing piecewise with these: the derivative is then one and the
// same wherever they are.
func constantIn(primal *graph.Program, outputs int, inputs []int) bool {
	depends := make([]bool, primal.NumValues())
	for _, i := range inputs {
		depends[i] = true
	}
	for i, n := range primal.Nodes {
		v := len(primal.Inputs) + i
		if depends[v] = slices.ContainsFunc(n.Args, func(a graph.Value) bool { return depends[a] }); depends[v] && n.Op.Kinks {
			return false
		}
	}
	return !slices.ContainsFunc(primal.Outputs[outputs:], func(v graph.Value) bool { return depends[v] })
}

// Derivative is the derivative of a map at a point, as a linear map between flat vectors: the
// differentiated inputs, concatenated, go in, and the outputs, concatenated, come out.
type Derivative struct {
	*linearized
	primalSpace *exec.Workspace
	values      []exec.Buffer // outputs, then residuals
	outputs     []float64     // one after the other
	push, pull  lanes
}

// lanes is the memory for so many directions at once.
type lanes struct {
	count     int
	workspace *exec.Workspace
	in, out   []exec.Buffer
}

func newDerivative(l *linearized) (*Derivative, error) {
	if err := l.compile(); err != nil {
		return nil, err
	}
	d := &Derivative{linearized: l, primalSpace: l.primal.NewWorkspace(),
		values: exec.NewBuffers(l.primal.Program().OutputTypes(), 1)}
	d.outputs = join(d.values[:len(l.out)])
	return d, nil
}

// at evaluates the program and keeps its residuals; value, if not nil, receives the outputs.
func (d *Derivative) at(value []float64, inputs []exec.Buffer) error {
	if err := d.primal.Run(d.primalSpace, inputs, d.values); err != nil {
		return err
	}
	copy(value, d.outputs)
	return nil
}

// Push applies the derivative to lanes tangents: dst and tangents are row-major, one row for each
// entry of the output or input and one column for each lane.
func (d *Derivative) Push(dst, tangents []float64, lanes int) error {
	return d.push.run(d.forward, d.values[len(d.out):], d.in, d.out, dst, tangents, lanes)
}

// Pull applies the transposed derivative to lanes cotangents, laid out as in Push.
func (d *Derivative) Pull(dst, cotangents []float64, lanes int) error {
	return d.pull.run(d.reverse, d.values[len(d.out):], d.out, d.in, dst, cotangents, lanes)
}

func (l *lanes) run(e *exec.Exec, residuals []exec.Buffer, in, out []int, dst, src []float64, count int) error {
	if count == 0 {
		return nil
	}
	if l.count != count {
		*l = lanes{count: count, workspace: e.NewLanes(count),
			in: append(slices.Clone(residuals), make([]exec.Buffer, len(in))...), out: make([]exec.Buffer, len(out))}
	}
	cut(l.in[len(residuals):], in, src, count)
	cut(l.out, out, dst, count)
	return e.RunLanes(l.workspace, l.in, l.out)
}

// cut points buffers at the entries of x, in order.
func cut(buffers []exec.Buffer, lengths []int, x []float64, lanes int) {
	for i := range buffers {
		n := lengths[i] * lanes
		buffers[i].F = x[:n:n]
		x = x[n:]
	}
}

// join moves the floats of buffers into one array, in order.
func join(buffers []exec.Buffer) []float64 {
	var x []float64
	lengths := make([]int, len(buffers))
	for i, b := range buffers {
		lengths[i] = len(b.F)
		x = append(x, b.F...)
	}
	cut(buffers, lengths, x, 1)
	return x
}
