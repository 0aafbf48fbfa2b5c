package conformance

import (
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
)

// Compiled is the compiled executable as an evaluator. It has to equal the reference bit for bit: its budget is zero.
func Compiled(p *graph.Program, inputs ...*graph.Tensor) ([]*graph.Tensor, error) {
	e, err := exec.Compile(p, exec.Options{})
	if err != nil {
		return nil, err
	}
	in := make([]exec.Buffer, len(inputs))
	for i, x := range inputs {
		in[i] = exec.Buffer{F: x.F, I: x.I}
	}
	out := exec.NewBuffers(p.OutputTypes(), 1)
	if err := e.Run(e.NewWorkspace(), in, out); err != nil {
		return nil, err
	}
	values := make([]*graph.Tensor, len(out))
	for i, t := range p.OutputTypes() {
		values[i] = &graph.Tensor{Type: t, F: out[i].F, I: out[i].I}
	}
	return values, nil
}
