package exec

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/lensir/lensir-study/graph"
)

// Workspace is the memory of one run at a time: registers, arena, tiles and scratch. Each goroutine
// has its own.
type Workspace struct {
	e     *Exec
	c     *code
	lanes int
	block int // lanes that run together
	width int // lanes of the current block

	flag      uint64 // not 0: a check failed
	registers []float64
	base      unsafe.Pointer // of the registers
	fixed     []float64
	perLane   []float64
	ints      []int64
	tiles     []float64
	intTiles  []int64
	scratch   []float64
	pack      []float64 // of matrix products
	args      []float64 // of op.Check
	order     []int

	evals [][]*graph.Tensor // results and operands of evals

	f [][]float64 // by view
	i [][]int64

	stageIn, stageOut   [][]float64
	stagedIn, stagedOut []Buffer
}

// NewWorkspace returns the memory for Run.
func (e *Exec) NewWorkspace() *Workspace { return e.newWorkspace(e.plain, 1, 1) }

// NewLanes returns the memory for RunLanes on so many lanes.
func (e *Exec) NewLanes(lanes int) *Workspace {
	if e.lanes == nil || lanes < 1 {
		panic(fmt.Sprintf("exec: %d lanes of %s: lanes are at least 1, and of a linear program", lanes, e.p.Name))
	}
	if lanes == 1 {
		return e.NewWorkspace()
	}
	if e.fours != nil && lanes <= fewLanes {
		return e.newWorkspace(e.fours(), lanes, lanes)
	}
	c := e.lanes
	entries := c.perLane.peak
	for _, in := range c.inputs {
		entries += in.perLane
	}
	for _, out := range c.outputs {
		entries += out.perLane
	}
	block := e.options.Block
	if block == 0 {
		block = max(16, secondCache/8/max(entries, 1)&^7)
	}
	return e.newWorkspace(c, lanes, min(block, lanes))
}

func (e *Exec) newWorkspace(c *code, lanes, block int) *Workspace {
	ws := &Workspace{e: e, c: c, lanes: lanes, block: block,
		registers: make([]float64, c.registers+1),
		fixed:     make([]float64, c.fixed.peak),
		perLane:   make([]float64, c.perLane.peak*block),
		ints:      make([]int64, c.ints.peak),
		tiles:     make([]float64, c.tiles*c.tile),
		intTiles:  make([]int64, c.intTiles*c.tile),
		args:      make([]float64, c.maxArgs),
		order:     make([]int, c.maxArgs),
		f:         make([][]float64, len(c.views)),
		i:         make([][]int64, len(c.views)),
	}
	ws.base = unsafe.Pointer(&ws.registers[0])
	for _, k := range c.constants {
		ws.registers[k.register] = k.value
	}
	if len(c.sums) > 0 {
		ws.scratch = make([]float64, sumScratch)
	}
	for _, q := range c.products {
		ws.pack = grow(ws.pack, q.packSize(block))
	}
	for i := range c.views {
		ws.bindView(i)
	}
	for _, q := range c.evals {
		tensors := []*graph.Tensor{{Type: q.node.Type}}
		for _, a := range q.node.Args {
			tensors = append(tensors, &graph.Tensor{Type: c.p.Type(a)})
		}
		ws.evals = append(ws.evals, tensors)
	}
	if block < lanes {
		ws.stage()
	}
	ws.setWidth(block)
	return ws
}

func grow(x []float64, n int) []float64 {
	if n > len(x) {
		return make([]float64, n)
	}
	return x
}

// bindView points a view at memory of the workspace or of the program, once.
func (ws *Workspace) bindView(i int) {
	w, tile := &ws.c.views[i], ws.c.tile
	switch w.space {
	case inRegisters:
		ws.f[i] = ws.registers[w.at : w.at+1]
	case inFixed:
		ws.f[i] = ws.fixed[w.at : w.at+w.n]
	case inInts:
		ws.i[i] = ws.ints[w.at : w.at+w.n]
	case inTile:
		if w.isInt {
			ws.i[i] = ws.intTiles[w.at*tile : (w.at+1)*tile]
		} else {
			ws.f[i] = ws.tiles[w.at*tile : (w.at+1)*tile]
		}
	case inLiteral:
		ws.f[i], ws.i[i] = spreadLiteral(w.value.F, w.n), spreadLiteral(w.value.I, w.n)
	case inLiteralTile:
		ws.f[i], ws.i[i] = spreadLiteral(w.value.F, tile), spreadLiteral(w.value.I, tile)
	}
}

// spreadLiteral returns n entries: those of a literal, or its one entry n times.
func spreadLiteral[T any](entries []T, n int) []T {
	if len(entries) == 0 || len(entries) == n {
		return entries
	}
	x := make([]T, n)
	for i := range x {
		x[i] = entries[0]
	}
	return x
}

// setWidth binds the views that depend on the number of lanes in the block.
func (ws *Workspace) setWidth(width int) {
	if ws.width == width {
		return
	}
	ws.width = width
	for i := range ws.c.views {
		if w := &ws.c.views[i]; w.space == inLanes {
			at := w.at * ws.block
			ws.f[i] = ws.perLane[at : at+w.n*width]
		}
	}
}

// stage allocates what the blocks of lanes are copied through.
func (ws *Workspace) stage() {
	ws.stagedIn, ws.stagedOut = make([]Buffer, len(ws.c.inputs)), make([]Buffer, len(ws.c.outputs))
	for _, in := range ws.c.inputs {
		ws.stageIn = append(ws.stageIn, make([]float64, in.perLane*ws.block))
	}
	for _, out := range ws.c.outputs {
		ws.stageOut = append(ws.stageOut, make([]float64, out.perLane*ws.block))
	}
}

// checkSizes compares the buffers with the program, for so many lanes.
func (c *code) checkSizes(in, out []Buffer, lanes int) error {
	if len(in) != len(c.inputs) || len(out) != len(c.outputs) {
		return fmt.Errorf("exec: %s wants %d inputs and %d outputs, has %d and %d", c.p.Name, len(c.inputs), len(c.outputs), len(in), len(out))
	}
	for i := range c.inputs {
		if p := &c.inputs[i]; !p.fits(&in[i], lanes) {
			return p.mismatch(&in[i], lanes, c.p.Name, "input "+c.p.Inputs[i].Name)
		}
	}
	for j := range c.outputs {
		if p := &c.outputs[j]; !p.fits(&out[j], lanes) {
			return p.mismatch(&out[j], lanes, c.p.Name, "output "+c.p.OutputName(j))
		}
	}
	return nil
}

// fits reports whether a buffer has the right number of entries.
func (s *size) fits(b *Buffer, lanes int) bool {
	return len(b.F) == s.floats+s.perLane*lanes && len(b.I) == s.ints
}

func (s *size) mismatch(b *Buffer, lanes int, program, what string) error {
	return fmt.Errorf("exec: %s wants %d floats and %d integers for %s, has %d and %d",
		program, s.floats+s.perLane*lanes, s.ints, what, len(b.F), len(b.I))
}

const (
	exponentMask = 0x7ff << 52
	exponentUnit = 1 << 52
	signBit      = 1 << 63
)

// infinite has its sign bit set if x is infinite or NaN.
func infinite(x float64) uint64 {
	return math.Float64bits(x)&exponentMask + exponentUnit
}

// bind takes the inputs in and points views at the caller's buffers. Sizes of scalar outputs are
// checked when they are written.
func (c *code) bind(ws *Workspace, in, out []Buffer) error {
	if len(in) != len(c.inputs) || len(out) != len(c.outputs) {
		return c.checkSizes(in, out, ws.width)
	}
	registers := ws.registers[c.firstInput:][:len(c.scalarInputs)]
	for k, number := range c.scalarInputs {
		b := &in[number]
		if len(b.F) != 1 || len(b.I) != 0 {
			return c.checkSizes(in, out, ws.width)
		}
		registers[k] = b.F[0]
	}
	for k := range c.arrayInputs {
		p := &c.arrayInputs[k]
		b := &in[p.number]
		if !c.inputs[p.number].fits(b, ws.width) {
			return c.checkSizes(in, out, ws.width)
		}
		if p.view >= 0 {
			ws.f[p.view], ws.i[p.view] = b.F, b.I
		}
		if p.isBool {
			for _, x := range b.I {
				ws.raise(x&^1 != 0)
			}
		}
	}
	for k := range c.arrayOutputs {
		p := &c.arrayOutputs[k]
		b := &out[p.number]
		if !c.outputs[p.number].fits(b, ws.width) {
			return c.checkSizes(in, out, ws.width)
		}
		if p.view >= 0 {
			ws.f[p.view], ws.i[p.view] = b.F, b.I
		}
	}
	return nil
}

// copyOut copies the outputs that were not written in place.
func (c *code) copyOut(ws *Workspace, in, out []Buffer) error {
	base := ws.base
	for k := range c.scalarOutputs {
		p := &c.scalarOutputs[k]
		b := &out[p.number]
		if len(b.F) != 1 || len(b.I) != 0 {
			return c.checkSizes(in, out, ws.width)
		}
		b.F[0] = load(base, p.register)
	}
	for k := range c.arrayOutputs {
		p := &c.arrayOutputs[k]
		b := &out[p.number]
		switch {
		case p.source < 0:
		case p.isInt:
			copy(b.I, ws.i[p.source])
		case p.spread:
			for k, x := range ws.f[p.source] {
				fill(b.F[k*ws.width:(k+1)*ws.width], x)
			}
		case !same(b.F, ws.f[p.source]):
			copy(b.F, ws.f[p.source])
		}
	}
	return nil
}
