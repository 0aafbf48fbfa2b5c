package program

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/rounding"
)

// transition is one map y = f(x, θ, u, j) of flat states, with its reverse rule.
type transition struct {
	noise         *rounding.Noise // of a perturbed one
	reads         []read
	before, after []int // lengths of the blocks of x and y

	once   *task // θ and constants ↦ shared values
	static *task // shared values ↦ what the primal part reads of them
	value  *task // shared values, x, reads, j ↦ y
	record *task // static values, x, reads, j ↦ y, tape
	back   *task // residuals, cotangents of y ↦ those of the active shared values, x and the reads
	pull   *task // θ and constants, cotangents of the active shared values ↦ those of θ
	stride *task // shared values, x, the reads and j of some steps ↦ the state after them; may be nil
	joint  *task // static values, x, reads, j, cotangents of y ↦ what back returns; may be nil

	pieces  []piece // by residual
	moving  []int   // those that are no part of the tape and differ from step to step
	tapeLen int
	written *float64 // the tape to which record's outputs point
	read    *float64 // the tape to which back's inputs point
	nstatic int      // residuals' and inputs' static values of record
	active  int      // shared values that depend on θ
	indexed bool     // j is an input
	params  int

	shared      [][]float64 // cotangents of the active shared values, summed over the steps
	controls    [][]float64
	bars        [][]float64        // of the controls
	scratch     []float64          // cotangents of the reads of one step
	added       [][]float64        // cotangents of the active shared values, of one step
	index       []int64            // j
	strideIndex [strideSteps]int64 // j of each step of a stride
	truth       [1]int64           // of a condition
}

// piece says where a residual is.
type piece struct {
	kind  pieceKind
	at, n int // on the tape; at is the read
	ints  bool
}

type pieceKind uint8

const (
	onTape pieceKind = iota
	isStatic
	isRead
	isIndexed // j
)

// newTransition transforms and compiles. The inputs of p are the state blocks, parameters, constants, reads and, if there is
// one, the index; withIndex says so. A condition has no derivative.
func newTransition(p *graph.Program, dims Dims, reads []read, withIndex, derivative bool, m *rounding.Noise) (*transition, error) {
	t := &transition{noise: m, reads: reads, params: dims.Params, index: make([]int64, 1), indexed: withIndex}
	first := dims.States + dims.Params + dims.Constants
	last := first + len(reads)
	t.before = lengths(inputTypes(p, 0, dims.States))
	t.after = lengths(p.OutputTypes())
	vary := append(span(0, dims.States), span(first, last)...)
	if withIndex {
		vary = append(vary, last)
	}
	if len(p.Inputs) != first+len(vary)-dims.States {
		return nil, fmt.Errorf("program %s has %d inputs, want %d", p.Name, len(p.Inputs), first+len(vary)-dims.States)
	}
	early, late := graph.Split(p, vary)
	var err error
	if t.once, err = newTask(early, m); err != nil {
		return nil, err
	}
	if t.value, err = newTask(late, m); err != nil {
		return nil, err
	}
	t.once.ownOutputs()
	if !derivative {
		return t, nil
	}

	// The shared values with a derivative come from a parameter and are floats.
	depends := make([]bool, early.NumValues())
	for v := range depends {
		if v < len(early.Inputs) {
			depends[v] = v < dims.Params
		} else {
			depends[v] = slices.ContainsFunc(early.Nodes[v-len(early.Inputs)].Args, func(a graph.Value) bool { return depends[a] })
		}
	}
	nshared := len(late.Inputs) - len(vary)
	var active []int
	var activeOut []graph.Value
	for k, v := range early.Outputs {
		if depends[v] && early.Type(v).DType.IsFloat() {
			active, activeOut = append(active, k), append(activeOut, v)
		}
	}
	t.active = len(active)
	wrt := slices.Concat(active, span(nshared, nshared+dims.States+len(reads)))
	l := graph.Linearize(late, wrt)
	static, each := graph.Split(l.Primal, span(nshared, len(late.Inputs)))
	t.nstatic = len(static.Outputs)
	if t.static, err = newTask(static, m); err != nil {
		return nil, err
	}
	t.static.ownOutputs()

	// What a residual is decides where it is kept.
	outputs := slices.Clone(each.Outputs[:len(p.Outputs)])
	for _, v := range each.Outputs[len(p.Outputs):] {
		at := int(v) - t.nstatic - dims.States // among the reads and the index
		switch r := each.Type(v); {
		case int(v) < t.nstatic:
			t.pieces = append(t.pieces, piece{kind: isStatic, at: int(v)})
		case at >= 0 && at < len(reads):
			t.moving = append(t.moving, len(t.pieces))
			t.pieces = append(t.pieces, piece{kind: isRead, at: at})
		case withIndex && at == len(reads):
			t.moving = append(t.moving, len(t.pieces))
			t.pieces = append(t.pieces, piece{kind: isIndexed})
		default:
			outputs = append(outputs, v)
			t.pieces = append(t.pieces, piece{onTape, t.tapeLen, r.Len(), !r.DType.IsFloat()})
			t.tapeLen += r.Len()
		}
	}
	if t.record, err = newTask(each.WithOutputs(outputs...), m); err != nil {
		return nil, err
	}
	if t.back, err = newTask(graph.Transpose(l.Linear), m); err != nil {
		return nil, err
	}
	for i := range t.active {
		n := late.Inputs[active[i]].Type.Len()
		t.shared = append(t.shared, make([]float64, n))
		t.added = append(t.added, make([]float64, n))
		t.back.out[i].F = t.added[i]
	}
	total := 0
	for _, r := range reads {
		total += r.n
	}
	t.scratch = make([]float64, total)
	rest := t.scratch
	for i, r := range reads {
		t.back.out[t.active+dims.States+i].F, rest = rest[:r.n:r.n], rest[r.n:]
	}
	// Also without an active value, a comparison of parameters may be on its boundary, where the derivative is refused.
	if !slices.Contains(depends[len(early.Inputs):], true) && t.active == 0 {
		return t, nil
	}
	if t.pull, err = newTask(graph.VJP(early.WithOutputs(activeOut...), span(0, dims.Params)), m); err != nil {
		return nil, err
	}
	t.pull.ownOutputs()
	for i, x := range t.shared {
		t.pull.in[len(early.Inputs)+i].F = x
	}
	return t, nil
}

// set evaluates what depends on θ and the constants alone, and points at the controls.
func (t *transition) set(given []exec.Buffer, controls, bars [][]float64) error {
	t.controls, t.bars = controls, bars
	t.at(-1)
	copy(t.once.in, given)
	t.once.passThrough()
	if err := t.once.run(); err != nil {
		return err
	}
	copy(t.value.in, t.once.out)
	if t.stride != nil {
		copy(t.stride.in, t.once.out)
	}
	if t.record == nil {
		return nil
	}
	if t.pull != nil {
		copy(t.pull.in, given)
		t.pull.passThrough()
	}
	copy(t.static.in, t.once.out)
	t.static.passThrough()
	if err := t.static.run(); err != nil {
		return err
	}
	copy(t.record.in, t.static.out)
	if t.joint != nil {
		copy(t.joint.in, t.static.out)
	}
	for i, q := range t.pieces {
		if q.kind == isStatic {
			t.back.in[i] = t.static.out[q.at]
		}
	}
	return nil
}

// clear sets the cotangents of the shared values to zero.
func (t *transition) clear() {
	for _, x := range t.shared {
		clear(x)
	}
}

// bind points the inputs after the static ones at x, the reads of step j and j.
func (t *transition) bind(in []exec.Buffer, j int, x []float64) {
	t.at(j)
	floats(in, t.before, x)
	in = in[len(t.before):]
	for i := range t.reads {
		in[i].F = t.entry(t.controls, i, j)
	}
	if in = in[len(t.reads):]; len(in) > 0 && t.indexed {
		t.index[0] = int64(j)
		in[0].I = t.index
	}
}

// at tells the noise which step is next; −1 stands for what all steps share.
func (t *transition) at(j int) {
	if t.noise != nil {
		t.noise.Step = j
	}
}

// entry returns what read i refers to at step j.
func (t *transition) entry(arrays [][]float64, i, j int) []float64 {
	r := &t.reads[i]
	at := (j + r.offset) * r.n
	return arrays[r.control][at : at+r.n : at+r.n]
}

// advance sets y = f(x, …) of step j, counted from 0.
func (t *transition) advance(j int, x, y []float64) error {
	t.bind(t.value.in[len(t.once.out):], j, x)
	floats(t.value.out, t.after, y)
	return t.value.run()
}

// holds evaluates a condition.
func (t *transition) holds(j int, x []float64) (bool, error) {
	t.bind(t.value.in[len(t.once.out):], j, x)
	t.value.out[0].I = t.truth[:]
	err := t.value.run()
	return t.truth[0] != 0, err
}

// tape sets y = f(x, …) and fills the tape.
func (t *transition) tape(j int, x, y, tape []float64) error {
	t.bind(t.record.in[t.nstatic:], j, x)
	floats(t.record.out, t.after, y)
	if at := unsafe.SliceData(tape); at != t.written {
		k := len(t.after)
		for i := range t.pieces {
			if q := &t.pieces[i]; q.kind == onTape {
				t.record.out[k] = q.on(tape)
				k++
			}
		}
		t.written = at
	}
	return t.record.run()
}

// on returns the piece's part of a tape.
func (q *piece) on(tape []float64) exec.Buffer {
	part := tape[q.at : q.at+q.n : q.at+q.n]
	if q.ints {
		return exec.Buffer{I: unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(part))), q.n)}
	}
	return exec.Buffer{F: part}
}

// reverse sets before to the cotangent of x, and adds to those of the shared values and the controls.
func (t *transition) reverse(j int, tape, after, before []float64) error {
	in, out := t.back.in, t.back.out
	if at := unsafe.SliceData(tape); at != t.read {
		for i := range t.pieces {
			if q := &t.pieces[i]; q.kind == onTape {
				in[i] = q.on(tape)
			}
		}
		t.read = at
	}
	for _, i := range t.moving {
		if q := &t.pieces[i]; q.kind == isRead {
			in[i].F = t.entry(t.controls, q.at, j)
		} else {
			t.index[0] = int64(j)
			in[i].I = t.index
		}
	}
	t.at(j)
	floats(in[len(t.pieces):], t.after, after)
	floats(out[t.active:], t.before, before)
	if err := t.back.run(); err != nil {
		return err
	}
	t.accumulate(j, out)
	return nil
}

// accumulate adds the cotangents of step j to those of the shared values and the controls.
func (t *transition) accumulate(j int, out []exec.Buffer) {
	for i, x := range t.added {
		add(t.shared[i], x)
		if t.noise != nil { // the sum over the steps is rounded at each
			t.back.factors.Move(t.shared[i])
		}
	}
	for i := range t.reads {
		add(t.entry(t.bars, i, j), out[t.active+len(t.before)+i].F)
	}
}

// finish adds the cotangents of θ to bars.
func (t *transition) finish(bars [][]float64) error {
	if t.pull == nil {
		return nil
	}
	t.at(-1)
	if err := t.pull.run(); err != nil {
		return err
	}
	for i, x := range t.pull.out[t.active:] {
		add(bars[i], x.F)
	}
	return nil
}

func add(y, x []float64) {
	for i, v := range x {
		y[i] += v
	}
}
