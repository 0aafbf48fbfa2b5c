package rounding

import (
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
)

// Runner runs a program with its rounding perturbed. It is not safe for concurrent use.
type Runner struct {
	e       *exec.Exec
	ws      *exec.Workspace
	noise   Noise
	factors *Factors
	in      []exec.Buffer // of the program, then the factors
}

// NewRunner compiles the perturbed program; see [Perturbed].
func NewRunner(p *graph.Program) (*Runner, error) {
	q, levels := Perturbed(p)
	e, err := exec.Compile(q, exec.Options{})
	if err != nil {
		return nil, err
	}
	r := &Runner{e: e, ws: e.NewWorkspace(), in: make([]exec.Buffer, len(q.Inputs))}
	r.factors = r.noise.Factors(q, levels, r.in)
	return r, nil
}

// Run evaluates the program into out. Runs of one key are equal. Its errors are those of the executable.
func (r *Runner) Run(key uint64, in, out []exec.Buffer) error {
	r.noise.Key = key
	copy(r.in, in)
	r.factors.Draw()
	return r.e.Run(r.ws, r.in, out)
}
