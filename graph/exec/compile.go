package exec

import (
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// lowering is a compilation under way. Facts about a value are kept at its root: a reshape is no
// more than another name for its operand.
type lowering struct {
	p     *graph.Program
	c     *code
	vals  []fact
	steps []draft
	tiles map[tileKey]int32
	regs  slots
	regAt map[int]int32  // view of a register
	fours map[uint64]int // registers of a literal, four times
}

type fact struct {
	root    graph.Value
	n       int
	isInt   bool
	isFloat bool
	laned   bool
	needed  bool
	finite  bool // a check that it is finite is needed
	shared  bool // an output, which must outlive the run
	output  int  // the output whose buffer holds it, or −1
	uses    int
	step    int // that computes it; −1: there at the start
	last    int // step that reads it last
	reg     int // −1: not in a register
	view    int32
}

const forever = math.MaxInt

// draft is a step before it has places for its values.
type draft struct {
	kind    stepKind
	n       int
	laned   bool
	members []graph.Value
	checks  []graph.Value // inputs that it must find finite
}

type tileKey struct {
	bits  uint64
	isInt bool
}

func compile(p *graph.Program, laned bool, tile int) (*code, error) {
	lo := &lowering{p: p, c: &code{p: p, laned: laned, tile: tile}, tiles: map[tileKey]int32{}, regAt: map[int]int32{}, fours: map[uint64]int{}}
	if err := lo.classify(); err != nil {
		return nil, err
	}
	lo.placeChecks()
	if err := lo.schedule(); err != nil {
		return nil, err
	}
	lo.findLifetimes()
	lo.emit()
	return lo.c, nil
}

// types are those of the operands of a node.
func (lo *lowering) types(n *graph.Node) []graph.Type {
	types := make([]graph.Type, len(n.Args))
	for k, a := range n.Args {
		types[k] = lo.p.Type(a)
	}
	return types
}

func (lo *lowering) root(v graph.Value) graph.Value { return lo.vals[v].root }
func (lo *lowering) at(v graph.Value) *fact         { return &lo.vals[lo.vals[v].root] }

// scalarFloat reports whether a value lives in a register.
func (f *fact) scalarFloat() bool { return f.isFloat && f.n == 1 && !f.laned }

// classify finds the size, the lanes and the root of every value, and which values are needed.
func (lo *lowering) classify() error {
	p := lo.p
	lo.vals = make([]fact, p.NumValues())
	for i := range lo.vals {
		v := graph.Value(i)
		t := p.Type(v)
		if t.DType == graph.Float32 {
			return fmt.Errorf("value %s is of type %v: compiled programs hold f64, i64 and bool; run f32 on the reference evaluator, graph.Eval", p.Names()[v], t)
		}
		f := &lo.vals[i]
		*f = fact{root: v, n: t.Len(), isFloat: t.DType == graph.Float64, output: -1, step: -1, last: -1, reg: -1, view: noOperand}
		f.isInt = t.DType == graph.Int64 || t.DType == graph.Bool
		n := p.Node(v)
		if n == nil {
			f.laned = lo.c.laned && p.Inputs[v].Linear && f.isFloat
			continue
		}
		for _, a := range n.Args {
			f.laned = f.laned || lo.vals[a].laned && f.isFloat
		}
		if lo.isAlias(n) {
			f.root = lo.root(n.Args[0])
		}
		lo.c.maxArgs = max(lo.c.maxArgs, len(n.Args))
	}
	for _, v := range p.Outputs {
		lo.vals[v].needed = true
		lo.at(v).uses++
		lo.at(v).shared = true
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		v := graph.Value(len(p.Inputs) + i)
		n := &p.Nodes[i]
		if lo.vals[v].needed = lo.vals[v].needed || mayFail(n); !lo.vals[v].needed {
			continue
		}
		for _, a := range n.Args {
			lo.vals[a].needed = true
			if lo.root(v) == v {
				lo.at(a).uses++
			}
		}
	}
	return nil
}

// isAlias reports whether a node moves no entry.
func (lo *lowering) isAlias(n *graph.Node) bool {
	switch n.Op {
	case op.Reshape:
		return true
	case op.Convert:
		return lo.p.Type(n.Args[0]).DType == n.Type.DType
	case op.Broadcast, op.BroadcastRows:
		return lo.p.Type(n.Args[0]).Len() == n.Type.Len()
	case op.Transpose:
		last := -1
		for _, a := range n.Attrs.Ints("perm") {
			if lo.p.Type(n.Args[0]).Shape[a] == 1 {
				continue
			}
			if a < last {
				return false
			}
			last = a
		}
		return true
	}
	return false
}

// placeChecks decides which values must be looked at: those that can be the first not to be finite,
// unless a later value that is looked at would then not be finite either.
func (lo *lowering) placeChecks() {
	p := lo.p
	shown := make([]bool, p.NumValues()) // if it is not finite, the run is flagged
	passed := make([]bool, p.NumValues())
	for i := p.NumValues() - 1; i >= 0; i-- {
		f := &lo.vals[i]
		n := p.Node(graph.Value(i))
		if f.isFloat {
			shown[i] = passed[i]
			if !passed[i] && (n == nil || createsNonFinite(n)) {
				f.finite, shown[i] = true, true
			}
		}
		if n == nil || !f.needed {
			continue
		}
		for k, a := range n.Args {
			if shown[i] && passesNonFinite(n, k) {
				passed[a] = true
			}
		}
	}
}

// schedule arranges the operations in steps. An elementwise operation joins the last group of its
// length if its operands are there by then; what does not depend on lanes comes first.
func (lo *lowering) schedule() error {
	lo.checkInputs(false)
	scalars, checks := len(lo.steps), lo.scalarChecks()
	if checks != nil {
		lo.steps = append(lo.steps, draft{kind: stepScalars, n: 1, checks: checks})
	}
	for _, laned := range []bool{false, true} {
		if laned {
			lo.c.once = len(lo.steps)
			lo.checkInputs(true)
		}
		open := map[int]int{} // length to its last group
		if !laned && checks != nil {
			open[1] = scalars
		}
		for i := range lo.p.Nodes {
			v := graph.Value(len(lo.p.Inputs) + i)
			f := &lo.vals[v]
			if f.needed && f.laned == laned && f.root == v && lo.p.Nodes[i].Op != graph.Literal && (f.isFloat || f.isInt) {
				if err := lo.scheduleNode(v, open); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkInputs adds the steps that look at input arrays which nothing later gives away.
func (lo *lowering) checkInputs(laned bool) {
	at := map[int]int{} // length to step
	for i := range lo.p.Inputs {
		if f := &lo.vals[i]; f.finite && f.laned == laned && !f.scalarFloat() {
			s, ok := at[f.n]
			if !ok {
				s = len(lo.steps)
				at[f.n] = s
				lo.steps = append(lo.steps, draft{kind: stepGroup, n: f.n, laned: laned})
			}
			lo.steps[s].checks = append(lo.steps[s].checks, graph.Value(i))
		}
	}
}

// scalarChecks returns the scalar inputs that nothing later gives away.
func (lo *lowering) scalarChecks() (list []graph.Value) {
	for i := range lo.p.Inputs {
		if f := &lo.vals[i]; f.finite && f.scalarFloat() {
			list = append(list, graph.Value(i))
		}
	}
	return list
}

func (lo *lowering) scheduleNode(v graph.Value, open map[int]int) error {
	n, f := lo.p.Node(v), &lo.vals[v]
	ready := -1
	for _, a := range n.Args {
		ready = max(ready, lo.at(a).step)
	}
	kind := stepMove
	code, ok := elementwise(n, lo.types(n))
	switch {
	case ok:
		kind = stepGroup
		if f.n == 1 && !f.laned {
			kind = stepScalars
		}
		if code == kSpread || code == kSpreadInt {
			ready++ // it reads its operand as a whole
		}
	case n.Op == op.Sum:
		kind = stepSum
	case n.Op == op.CumSum:
		kind = stepScan
	case n.Op == op.MatMul:
		kind = stepProduct
	case n.Op == op.Gather:
		kind = stepGather
	case n.Op == op.ScatterAdd:
		kind = stepScatter
	case f.scalarFloat() && (n.Op == op.Slice || n.Op == op.Reverse || n.Op == op.Roll):
		kind = stepScalars
	case isMove(n.Op):
	case n.Op.Eval != nil && !f.laned:
		kind = stepEval
	default:
		return fmt.Errorf("value %s: there is no kernel for operation %s on lanes", lo.p.Names()[v], n.Op.Name)
	}
	if kind == stepGroup || kind == stepScalars {
		if s, there := open[f.n]; there && s >= ready {
			f.step = s
			lo.steps[s].members = append(lo.steps[s].members, v)
			return nil
		}
		open[f.n] = len(lo.steps)
	}
	f.step = len(lo.steps)
	lo.steps = append(lo.steps, draft{kind: kind, n: f.n, laned: f.laned, members: []graph.Value{v}})
	return nil
}

func isMove(o *graph.Op) bool {
	return slices.Contains([]*graph.Op{op.Transpose, op.Broadcast, op.Slice, op.Pad, op.Concat, op.Roll, op.Reverse}, o)
}

// findLifetimes finds the last step that reads each value, and which output buffers hold values from the start.
func (lo *lowering) findLifetimes() {
	for s := range lo.steps {
		for _, v := range lo.steps[s].members {
			lo.at(v).last = max(lo.at(v).last, s)
			for _, a := range lo.p.Node(v).Args {
				if f := lo.at(a); s >= lo.c.once && !f.laned && lo.c.laned {
					f.last = forever // later blocks of lanes read it again
				} else {
					f.last = max(f.last, s)
				}
			}
		}
	}
	for j, v := range lo.p.Outputs {
		f := lo.at(v)
		f.last = forever
		if f.step >= 0 && f.output < 0 && !f.scalarFloat() && f.laned == lo.c.laned {
			f.output = j
		}
	}
}

// emit gives every value a place, step by step, and writes the instructions.
func (lo *lowering) emit() {
	c := lo.c
	once := c.once // in drafts; from here on in steps, for a draft may need two
	lo.placeConstants()
	lo.placeInputs()
	for s := range lo.steps {
		if s == once {
			c.once = len(c.steps)
		}
		d := &lo.steps[s]
		switch d.kind {
		case stepScalars:
			first := len(c.scalars)
			lo.emitScalars(s)
			c.steps = append(c.steps, step{kind: stepScalars, at: int32(first), end: int32(len(c.scalars))})
		case stepGroup:
			lo.emitGroup(s)
		default:
			v := d.members[0]
			lo.place(v)
			lo.emitNode(v)
			if lo.vals[v].finite {
				lo.emitFinite(v)
			}
			lo.releaseDead(s, lo.p.Node(v).Args...)
			lo.releaseDead(s, v)
		}
	}
	if once == len(lo.steps) {
		c.once = len(c.steps)
	}
	lo.placeOutputs()
	c.scalarOnly = len(c.arrayInputs)+len(c.arrayOutputs) == 0 && (len(c.steps) == 0 || len(c.steps) == 1 && c.steps[0].kind == stepScalars)
	c.registers = lo.regs.n
	if c.tile == 0 {
		c.tile = min(max(firstCache/8/max(1, c.tiles+c.intTiles)&^7, shortestTile), longestTile)
	}
	if longest := 1; !c.laned { // no tile need be longer than the longest group
		for i := range c.groups {
			longest = max(longest, c.groups[i].n)
		}
		c.tile = min(c.tile, align(longest))
	}
}

func (lo *lowering) placeInputs() {
	c := lo.c
	c.firstInput = lo.regs.n
	for i := range lo.p.Inputs {
		f := &lo.vals[i]
		c.inputs = append(c.inputs, f.size(f.laned))
		place := arrayPlace{number: int32(i), view: noOperand, isBool: lo.p.Inputs[i].Type.DType == graph.Bool}
		switch {
		case f.scalarFloat():
			// One that nothing reads has a register too, to be looked at.
			f.reg = lo.regs.alloc()
			c.scalarInputs = append(c.scalarInputs, int32(i))
			continue
		case f.isFloat || f.isInt:
			f.view = lo.addView(view{space: inInput, isInt: f.isInt, laned: f.laned, at: i, n: f.n, of: graph.Value(i)})
			place.view = f.view
		}
		c.arrayInputs = append(c.arrayInputs, place)
	}
}

// size is that of the buffer of an input or output.
func (f *fact) size(laned bool) size {
	switch {
	case f.isInt:
		return size{ints: f.n}
	case !f.isFloat:
		return size{}
	case laned:
		return size{perLane: f.n}
	}
	return size{floats: f.n}
}

func (lo *lowering) placeOutputs() {
	c := lo.c
	for j, v := range lo.p.Outputs {
		f := lo.at(v)
		c.outputs = append(c.outputs, f.size(c.laned))
		place := arrayPlace{number: int32(j), view: noOperand, source: noOperand, isInt: f.isInt, spread: c.laned && !f.laned}
		switch {
		case f.reg >= 0 && !place.spread:
			c.scalarOutputs = append(c.scalarOutputs, scalarPlace{int32(j), 8 * uint32(f.reg)})
			continue
		case f.output == j:
			place.view = f.view
		case f.isFloat || f.isInt:
			place.source = lo.viewOf(v)
		}
		c.arrayOutputs = append(c.arrayOutputs, place)
	}
}

func (lo *lowering) addView(w view) int32 {
	lo.c.views = append(lo.c.views, w)
	return int32(len(lo.c.views) - 1)
}

// place gives the result of a step its memory: an output's buffer, a register or the arena.
func (lo *lowering) place(v graph.Value) {
	f := lo.at(v)
	switch {
	case f.scalarFloat():
		f.reg = lo.regs.alloc()
	case f.output >= 0:
		f.view = lo.addView(view{space: inOutput, isInt: f.isInt, laned: f.laned, at: f.output, n: f.n, of: v})
	default:
		space, a := lo.arenaOf(f)
		f.view = lo.addView(view{space: space, isInt: f.isInt, laned: f.laned, at: a.alloc(f.n), n: f.n, of: v})
	}
}

func (lo *lowering) arenaOf(f *fact) (space, *arena) {
	switch {
	case f.isInt:
		return inInts, &lo.c.ints
	case f.laned:
		return inLanes, &lo.c.perLane
	}
	return inFixed, &lo.c.fixed
}

// viewOf returns the view of a value that is in memory: of a literal, all its entries.
func (lo *lowering) viewOf(v graph.Value) int32 {
	f := lo.at(v)
	n := lo.p.Node(f.root)
	switch {
	case n != nil && n.Op == graph.Literal && f.reg < 0 && f.view == noOperand:
		f.view = lo.addView(view{space: inLiteral, isInt: f.isInt, n: f.n, value: n.Value})
	case f.reg >= 0:
		w, ok := lo.regAt[f.reg]
		if !ok {
			w = lo.addView(view{space: inRegisters, at: f.reg, n: 1})
			lo.regAt[f.reg] = w
		}
		return w
	}
	return f.view
}

// releaseDead takes back the memory of values that step s reads last.
func (lo *lowering) releaseDead(s int, values ...graph.Value) {
	for _, v := range values {
		f := lo.at(v)
		if f.last != s || lo.literal(v) != nil {
			continue
		}
		if f.reg >= 0 {
			lo.regs.release(f.reg)
		} else if f.view != noOperand {
			switch w := lo.c.views[f.view]; w.space {
			case inFixed, inLanes, inInts:
				_, a := lo.arenaOf(f)
				a.release(w.at, w.n)
			}
		}
		f.last = -1 // released
	}
}

// literal returns the node of a value that is a literal, or nil.
func (lo *lowering) literal(v graph.Value) *graph.Node {
	if n := lo.p.Node(lo.root(v)); n != nil && n.Op == graph.Literal {
		return n
	}
	return nil
}

// emitFinite adds a group of its own that checks a result.
func (lo *lowering) emitFinite(v graph.Value) {
	f := lo.at(v)
	g := group{n: f.n, laned: f.laned, ops: []tileOp{{code: kFinite, a: operand{view: lo.viewOf(v)}}}}
	lo.c.steps = append(lo.c.steps, step{kind: stepGroup, at: int32(len(lo.c.groups))})
	lo.c.groups = append(lo.c.groups, g)
}
