package module

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/lensir/lensir-study/graph"
)

// Instance is a module at one valuation and float type, ready to run forward and in reverse.
type Instance struct {
	Module *Module
	// Program is the lowered module, node for node.
	Program *graph.Program
	// Forward half, which hands over the residuals, and linear half of its derivative by every real input.
	Linearization graph.Linearization
	// Adjoint is the transpose of the linear half: residuals, then seeds, to cotangents.
	Adjoint *graph.Program

	digest [sha256.Size]byte
}

// Instantiate checks and lowers the module for one valuation.
func (m *Module) Instantiate(v Valuation) (*Instance, error) {
	return m.InstantiateOf(v, graph.Float64)
}

// InstantiateOf is Instantiate with real numbers of the given float type.
func (m *Module) InstantiateOf(v Valuation, float graph.DType) (*Instance, error) {
	p, err := m.ProgramOf(v, float)
	if err != nil {
		return nil, err
	}
	wrt := make([]int, len(p.Inputs))
	for i := range wrt {
		wrt[i] = i
	}
	in := &Instance{Module: m, Program: p, Linearization: graph.Linearize(p, wrt)}
	in.Adjoint = graph.Transpose(in.Linearization.Linear)
	in.digest = sha256.Sum256(append(m.Write(), p.String()...))
	return in, nil
}

// arguments orders named inputs, or says which is missing, unknown, or of another type.
func (in *Instance) arguments(inputs map[string]*graph.Tensor) ([]*graph.Tensor, error) {
	args := make([]*graph.Tensor, len(in.Program.Inputs))
	for i, want := range in.Program.Inputs {
		x := inputs[want.Name]
		switch {
		case x == nil:
			return nil, in.Module.refuse(place("input", want.Name), "missing: want %v", want.Type)
		case !x.Type.Equal(want.Type):
			return nil, in.Module.refuse(place("input", want.Name), "want %v, have %v", want.Type, x.Type)
		}
		args[i] = x
	}
	for name := range inputs {
		if !slices.ContainsFunc(in.Program.Inputs, func(i graph.Input) bool { return i.Name == name }) {
			return nil, in.Module.refuse(place("input", name), "the module has no such input")
		}
	}
	return args, nil
}

// Eval runs the module without a tape and returns its outputs in order.
func (in *Instance) Eval(inputs map[string]*graph.Tensor) ([]*graph.Tensor, error) {
	args, err := in.arguments(inputs)
	if err != nil {
		return nil, err
	}
	return graph.Eval(in.Program, args...)
}

// Tape holds the residuals of one forward evaluation: the values that its reverse pass reads, each once.
// Values are the saved tensors themselves; a tape that differs from what was saved, by any bit, is refused.
type Tape struct {
	Names  []string
	Values []*graph.Tensor

	module string
	digest [sha256.Size]byte // of the instance
	serial uint64            // of the evaluation
	sealed [sha256.Size]byte // over all of the tape
}

// Evaluation is one forward evaluation of a module.
type Evaluation struct {
	Outputs []*graph.Tensor
	Tape    *Tape

	instance *Instance
	serial   uint64
}

var evaluations atomic.Uint64

// Forward runs the module and saves the tape of its reverse pass. As it is the first half of a derivative, it
// refuses on a branch boundary.
func (in *Instance) Forward(inputs map[string]*graph.Tensor) (*Evaluation, error) {
	args, err := in.arguments(inputs)
	if err != nil {
		return nil, err
	}
	out, err := graph.Eval(in.Linearization.Primal, args...)
	if err != nil {
		return nil, err
	}
	n := len(in.Program.Outputs)
	e := &Evaluation{Outputs: make([]*graph.Tensor, n), instance: in, serial: evaluations.Add(1)}
	e.Tape = &Tape{module: in.Module.Name, digest: in.digest, serial: e.serial}
	for i := range n {
		e.Outputs[i] = out[i].Clone()
	}
	for i, x := range out[n:] {
		e.Tape.Names = append(e.Tape.Names, in.Linearization.Linear.Inputs[i].Name)
		e.Tape.Values = append(e.Tape.Values, x.Clone()) // the caller keeps its inputs, the tape its own values
	}
	e.Tape.sealed = e.Tape.hash()
	return e, nil
}

// Reverse maps one seed for each output, repeated ones apart, to the cotangents of the inputs, by name. It
// accepts only the tape of this evaluation, unchanged since.
func (e *Evaluation) Reverse(t *Tape, seeds ...*graph.Tensor) (map[string]*graph.Tensor, error) {
	in := e.instance
	if err := e.accept(t); err != nil {
		return nil, err
	}
	if len(seeds) != len(in.Program.Outputs) {
		return nil, in.Module.refuse("", "want %d seeds, have %d", len(in.Program.Outputs), len(seeds))
	}
	for i, v := range in.Program.Outputs {
		if want := in.Program.Type(v).Tangent(); seeds[i] == nil || !seeds[i].Type.Equal(want) {
			have := "nothing"
			if seeds[i] != nil {
				have = seeds[i].Type.String()
			}
			return nil, in.Module.refuse(place("output", in.Module.Outputs[i]), "its seed wants type %v, has %s", want, have)
		}
	}
	ct, err := graph.Eval(in.Adjoint, append(slices.Clone(t.Values), seeds...)...)
	if err != nil {
		return nil, err
	}
	out := map[string]*graph.Tensor{}
	for i, x := range in.Program.Inputs {
		out[x.Name] = ct[i]
	}
	return out, nil
}

// TapeError is a tape that a reverse pass does not accept.
type TapeError struct{ Reason string }

func (e *TapeError) Error() string { return "the tape is refused: " + e.Reason }

func (e *Evaluation) accept(t *Tape) error {
	switch {
	case t == nil || t.serial == 0:
		return &TapeError{"no forward evaluation saved it"}
	case t.digest != e.instance.digest:
		return &TapeError{fmt.Sprintf("it is of module %s or of another valuation, not of this instance of %s", t.module, e.instance.Module.Name)}
	case t.serial != e.serial:
		return &TapeError{"it is of another forward evaluation of this module"}
	case t.hash() != t.sealed:
		return &TapeError{"it was changed after it was saved"}
	}
	return nil
}

// hash covers every bit of the tape.
func (t *Tape) hash() [sha256.Size]byte {
	h := sha256.New()
	word := func(x uint64) { _ = binary.Write(h, binary.LittleEndian, x) }
	text := func(s string) { word(uint64(len(s))); h.Write([]byte(s)) }
	text(t.module)
	h.Write(t.digest[:])
	word(t.serial)
	word(uint64(len(t.Names)))
	for _, name := range t.Names {
		text(name)
	}
	word(uint64(len(t.Values)))
	for _, x := range t.Values {
		if x == nil {
			text("none")
			continue
		}
		text(x.Type.String())
		word(uint64(len(x.F)))
		for _, f := range x.F {
			word(math.Float64bits(f))
		}
		word(uint64(len(x.I)))
		for _, i := range x.I {
			word(uint64(i))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
