package exec

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/lensir/lensir-study/graph"
)

// Options holds the sizes that speed depends on, and results never. The zero value is a good default.
type Options struct {
	// Tile is the number of entries in which elementwise groups run; 0 chooses it so that the tiles of a
	// group fit the first cache.
	Tile int
	// Block is the number of lanes that run together; 0 chooses it so that they fit the second cache.
	Block int
}

const (
	shortestTile, longestTile = 64, 512 // entries

	firstCache  = 1 << 15 // bytes, for the tiles of a group
	secondCache = 1 << 20 // bytes, for the linear values of a block of lanes
)

// Exec is a compiled program. It does not change, and goroutines may share it.
type Exec struct {
	p       *graph.Program
	options Options
	plain   *code
	lanes   *code        // of a linear program
	fours   func() *code // of a linear program of scalars, else nil: for a few lanes, compiled on first use
}

// Compile translates a program whose values are float64, int64 and bool.
func Compile(p *graph.Program, o Options) (*Exec, error) {
	if o.Tile < 0 || o.Block < 0 {
		return nil, fmt.Errorf("compile %s: tile %d and block %d must not be negative", p.Name, o.Tile, o.Block)
	}
	e := &Exec{p: p, options: o}
	written := graph.Expand(p) // composites are for derivatives: what runs is their programs
	var err error
	if e.plain, err = compile(written, false, o.Tile); err != nil {
		return nil, fmt.Errorf("compile %s: %w", p.Name, err)
	}
	if p.IsLinear() {
		if e.lanes, err = compile(written, true, o.Tile); err != nil {
			return nil, fmt.Errorf("compile %s: %w", p.Name, err)
		}
		if e.plain.scalarOnly {
			e.fours = sync.OnceValue(func() *code { return compileFours(written) })
		}
	}
	return e, nil
}

// Program returns the program that was compiled.
func (e *Exec) Program() *graph.Program { return e.p }

// Buffer holds the row-major entries of one input or output: F for floats, I for integers and
// booleans (0 or 1). It belongs to the caller.
type Buffer struct {
	F []float64
	I []int64
}

// Floats returns a buffer over float64 entries, which it keeps.
func Floats(x ...float64) Buffer { return Buffer{F: x} }

// Ints returns a buffer over int64 or boolean entries, which it keeps.
func Ints(x ...int64) Buffer { return Buffer{I: x} }

// NewBuffers returns a fresh buffer for each type, for so many lanes.
func NewBuffers(types []graph.Type, lanes int) []Buffer {
	buffers := make([]Buffer, len(types))
	for i, t := range types {
		x := graph.NewTensor(t)
		if lanes != 1 && x.F != nil {
			x.F = make([]float64, len(x.F)*lanes)
		}
		buffers[i] = Buffer{x.F, x.I}
	}
	return buffers
}

// Run evaluates the program. Outputs must not overlap inputs or each other, but an output that is
// an input unchanged may be given the input's own buffer. A failing check is the *graph.Failure of
// the reference evaluator, and then every float of the outputs is NaN; a buffer of the wrong size is an ordinary error.
func (e *Exec) Run(ws *Workspace, in, out []Buffer) error {
	if ws.e != e || ws.lanes != 1 {
		return errors.New("exec: the workspace is of another executable, or of RunLanes")
	}
	c := ws.c
	ws.flag = 0
	if c.scalarOnly {
		if !ws.runScalarOnly(c, in, out) {
			return c.checkSizes(in, out, 1)
		}
	} else {
		if err := c.bind(ws, in, out); err != nil {
			return err
		}
		c.run(ws, c.steps)
		if err := c.copyOut(ws, in, out); err != nil {
			return err
		}
	}
	if ws.flag != 0 {
		return e.diagnose(in, out, 1)
	}
	return nil
}

// diagnose repeats a failed run on the reference evaluator, lane by lane, and returns the failure of the
// lowest failing lane.
func (e *Exec) diagnose(in, out []Buffer, lanes int) error {
	x := make([]*graph.Tensor, len(in))
	for l := range lanes {
		for i, b := range in {
			x[i] = &graph.Tensor{Type: e.p.Inputs[i].Type, F: b.F, I: b.I}
			if lanes != 1 && e.p.Inputs[i].Linear {
				x[i] = graph.NewTensor(e.p.Inputs[i].Type)
				for k := range x[i].F {
					x[i].F[k] = b.F[k*lanes+l]
				}
			}
		}
		if _, err := graph.Trace(e.p, x...); err != nil {
			spoil(in, out)
			return err
		}
	}
	return fmt.Errorf("exec: %s raised a flag that the reference evaluator does not: a defect of the compiler", e.p.Name)
}

// spoil overwrites the outputs of a failed run, so that nothing of it is taken for a result.
func spoil(in, out []Buffer) {
	for _, b := range out {
		own := len(b.F) > 0
		for _, x := range in {
			own = own && !same(x.F, b.F)
		}
		for i := range b.F {
			if own {
				b.F[i] = math.NaN()
			}
		}
	}
}

func same[T any](x, y []T) bool { return len(x) > 0 && len(y) > 0 && &x[0] == &y[0] }

// RunLanes evaluates a linear program on all lanes of the workspace at once: in holds the residuals,
// shared by the lanes, and the linear inputs, entry-major; out holds the outputs, entry-major.
func (e *Exec) RunLanes(ws *Workspace, in, out []Buffer) error {
	if ws.e != e {
		return errors.New("exec: the workspace is of another executable")
	}
	if ws.lanes == 1 {
		return e.Run(ws, in, out)
	}
	c := e.lanes
	ws.flag = 0
	if ws.c != c {
		if err := e.runFours(ws, in, out); err != nil {
			return err
		}
	} else if ws.block == ws.lanes {
		if err := c.bind(ws, in, out); err != nil {
			return err
		}
		c.run(ws, c.steps)
		if err := c.copyOut(ws, in, out); err != nil {
			return err
		}
	} else if err := c.runBlocks(ws, in, out); err != nil {
		return err
	}
	if ws.flag != 0 {
		return e.diagnose(in, out, ws.lanes)
	}
	return nil
}

// runBlocks runs what does not depend on lanes once, then the lanes block by block through staged copies.
func (c *code) runBlocks(ws *Workspace, in, out []Buffer) error {
	if err := c.checkSizes(in, out, ws.lanes); err != nil {
		return err
	}
	for first := 0; first < ws.lanes; first += ws.block {
		width := min(ws.block, ws.lanes-first)
		for i, b := range in {
			ws.stagedIn[i] = b
			if n := c.inputs[i].perLane; n > 0 {
				x := ws.stageIn[i][:n*width]
				for k := 0; k*width < len(x); k++ {
					copy(x[k*width:(k+1)*width], b.F[k*ws.lanes+first:])
				}
				ws.stagedIn[i] = Buffer{F: x}
			}
		}
		for j := range out {
			ws.stagedOut[j] = Buffer{F: ws.stageOut[j][:c.outputs[j].perLane*width]}
		}
		ws.setWidth(width)
		if err := c.bind(ws, ws.stagedIn, ws.stagedOut); err != nil {
			return err
		}
		steps := c.steps
		if first > 0 {
			steps = steps[c.once:]
		}
		c.run(ws, steps)
		if err := c.copyOut(ws, ws.stagedIn, ws.stagedOut); err != nil {
			return err
		}
		for j, b := range out {
			y := ws.stagedOut[j].F
			for k := 0; k*width < len(y); k++ {
				copy(b.F[k*ws.lanes+first:], y[k*width:(k+1)*width])
			}
		}
	}
	return nil
}
