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
	c := e.lanes
	entries := c.perLane.peak
	for _, in := range c.inputs {
		if in.laned {
			entries += in.n
		}
	}
	for _, out := range c.outputs {
		entries += out.n
	}
	block := e.options.Block
	if block == 0 {
		block = max(16, cacheBytes/8/max(entries, 1)&^7)
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
		var x []float64
		if in.laned {
			x = make([]float64, in.n*ws.block)
		}
		ws.stageIn = append(ws.stageIn, x)
	}
	for _, out := range ws.c.outputs {
		var x []float64
		if !out.isInt && !out.isFloat0 {
			x = make([]float64, out.n*ws.block)
		}
		ws.stageOut = append(ws.stageOut, x)
	}
}

// checkSizes compares the buffers with the program, for so many lanes.
func (c *code) checkSizes(in, out []Buffer, lanes int) error {
	if len(in) != len(c.inputs) || len(out) != len(c.outputs) {
		return fmt.Errorf("exec: %s wants %d inputs and %d outputs, has %d and %d", c.p.Name, len(c.inputs), len(c.outputs), len(in), len(out))
	}
	for i := range c.inputs {
		p := &c.inputs[i]
		floats, ints := sizes(p.n, lanes, p.isInt, p.isFloat0, p.laned)
		if len(in[i].F) != floats || len(in[i].I) != ints {
			return fmt.Errorf("exec: %s wants %d floats and %d integers for input %s, has %d and %d",
				c.p.Name, floats, ints, c.p.Inputs[i].Name, len(in[i].F), len(in[i].I))
		}
	}
	for j := range c.outputs {
		p := &c.outputs[j]
		floats, ints := sizes(p.n, lanes, p.isInt, p.isFloat0, c.laned)
		if len(out[j].F) != floats || len(out[j].I) != ints {
			return fmt.Errorf("exec: %s wants %d floats and %d integers for output %s, has %d and %d",
				c.p.Name, floats, ints, c.p.OutputName(j), len(out[j].F), len(out[j].I))
		}
	}
	return nil
}

// sizes are the numbers of floats and of integers of a buffer.
func sizes(n, lanes int, isInt, isFloat0, laned bool) (floats, ints int) {
	switch {
	case isFloat0:
		return 0, 0
	case isInt:
		return 0, n
	case laned:
		return n * lanes, 0
	}
	return n, 0
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

// bind takes the inputs in and points views at the caller's buffers.
func (c *code) bind(ws *Workspace, in, out []Buffer) error {
	if err := c.checkSizes(in, out, ws.width); err != nil {
		return err
	}
	flag := uint64(0)
	for i := range c.inputs {
		p := &c.inputs[i]
		if p.register >= 0 {
			ws.registers[p.register] = in[i].F[0]
		} else if p.view >= 0 {
			ws.f[p.view], ws.i[p.view] = in[i].F, in[i].I
		}
		if p.check {
			flag |= infinite(in[i].F[0])
		}
	}
	ws.flag |= flag & signBit
	for i := range c.outputViews {
		w := c.outputViews[i]
		ws.f[w.view], ws.i[w.view] = out[w.output].F, out[w.output].I
	}
	return nil
}

// copyOut copies the outputs that were not written in place.
func (c *code) copyOut(ws *Workspace, out []Buffer) {
	for j := range c.outputs {
		p := &c.outputs[j]
		switch {
		case p.view < 0:
		case p.isInt:
			copy(out[j].I, ws.i[p.view])
		case c.laned && !p.laned:
			for k, x := range ws.f[p.view] {
				fill(out[j].F[k*ws.width:(k+1)*ws.width], x)
			}
		case p.n == 1 && !p.laned:
			out[j].F[0] = ws.f[p.view][0]
		case !same(out[j].F, ws.f[p.view]):
			copy(out[j].F, ws.f[p.view])
		}
	}
}
