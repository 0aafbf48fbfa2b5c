package program

import (
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/rounding"
)

// task is a compiled program with its workspace and the buffers that it reads and writes.
type task struct {
	p       *graph.Program
	e       *exec.Exec
	ws      *exec.Workspace
	in, out []exec.Buffer

	// Of a perturbed one:
	all     []exec.Buffer // in, then the factors
	factors *rounding.Factors
}

// newTask compiles p, perturbed if there is noise. Its buffers are bound later.
func newTask(p *graph.Program, m *rounding.Noise) (*task, error) {
	t := &task{p: p, out: make([]exec.Buffer, len(p.Outputs))}
	run := p
	var levels []int
	if m != nil {
		run, levels = rounding.Perturbed(p)
	}
	t.all = make([]exec.Buffer, len(run.Inputs))
	t.in = t.all[:len(p.Inputs):len(p.Inputs)]
	if m != nil {
		t.factors = m.Factors(run, levels, t.all)
	}
	var err error
	if t.e, err = exec.Compile(run, exec.Options{}); err != nil {
		return nil, err
	}
	t.ws = t.e.NewWorkspace()
	return t, nil
}

func (t *task) run() error {
	if t.factors != nil {
		t.factors.Draw()
	}
	return t.e.Run(t.ws, t.all, t.out)
}

// ownOutputs gives every output a buffer of its own, but an output that is an input is that input's buffer.
func (t *task) ownOutputs() {
	p := t.p
	for i, b := range exec.NewBuffers(p.OutputTypes(), 1) {
		if int(p.Outputs[i]) >= len(p.Inputs) {
			t.out[i] = b
		}
	}
}

// passThrough points the outputs that are inputs at the buffers of these.
func (t *task) passThrough() {
	p := t.p
	for i, v := range p.Outputs {
		if int(v) < len(p.Inputs) {
			t.out[i] = t.in[v]
		}
	}
}

// floats binds buffers to consecutive parts of x, one for each length, and returns the rest.
func floats(buffers []exec.Buffer, lengths []int, x []float64) []float64 {
	for i, n := range lengths {
		buffers[i].F = x[:n:n]
		x = x[n:]
	}
	return x
}

func lengths(types []graph.Type) []int {
	n := make([]int, len(types))
	for i, t := range types {
		n[i] = t.Len()
	}
	return n
}

func inputTypes(p *graph.Program, from, to int) []graph.Type {
	var types []graph.Type
	for _, in := range p.Inputs[from:to] {
		types = append(types, in.Type)
	}
	return types
}

func sum(list []int) int {
	s := 0
	for _, n := range list {
		s += n
	}
	return s
}

// span returns the numbers from, …, to−1.
func span(from, to int) []int {
	list := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
