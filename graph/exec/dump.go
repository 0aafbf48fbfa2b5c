package exec

import (
	"fmt"
	"strings"

	"github.com/lensir/lensir-study/graph"
)

// Memory is what the values of a run take, in bytes. With lanes, PerLane comes on top for each lane
// of a block.
type Memory struct {
	Peak    int // registers, tiles, arena and written-out literals of a workspace
	PerLane int
	Sum     int // of all values that are computed, each with its own memory
}

// Memory returns the memory of a run on one lane.
func (e *Exec) Memory() Memory { return e.plain.memory() }

func (c *code) memory() Memory {
	m := Memory{
		Peak:    8 * (c.registers + c.fixed.peak + c.ints.peak + c.tile*(c.tiles+c.intTiles) + c.writtenOut()),
		PerLane: 8 * c.perLane.peak,
	}
	for i := range c.p.Nodes {
		if t := c.p.Nodes[i].Type; t.DType != graph.Float0 {
			m.Sum += 8 * t.Len()
		}
	}
	return m
}

// writtenOut is the number of entries that a workspace holds of literals with one entry for all.
func (c *code) writtenOut() (entries int) {
	for i := range c.views {
		n := 0
		switch w := &c.views[i]; w.space {
		case inLiteral:
			n = w.n
		case inLiteralTile:
			n = c.tile
		}
		if n > 1 && len(c.views[i].value.F)+len(c.views[i].value.I) == 1 {
			entries += n
		}
	}
	return entries
}

// String lists the instructions, with the places of their operands, and the layout of the memory: of a run on one lane,
// and of a linear program also of a run on many.
func (e *Exec) String() string {
	s := e.plain.String()
	if e.lanes != nil {
		s += "\n" + e.lanes.String()
	}
	if e.fours != nil {
		s += "\n" + e.fours().String()
	}
	return s
}

// listing is a text under way.
type listing struct {
	strings.Builder
	c     *code
	names []string
}

func (c *code) String() string {
	l := &listing{c: c, names: c.p.Names()}
	heading := "exec"
	if c.laned {
		heading = "exec on lanes"
	}
	if c.fours {
		heading = "exec on four lanes"
	}
	l.line("%s %s: %d steps, tiles of %d entries", heading, c.p.Name, len(c.steps), c.tile)
	for k, s := range c.steps {
		if c.laned && k == c.once {
			l.line("  for each block of lanes")
		}
		l.step(k, s)
	}
	l.memory()
	return l.Builder.String()
}

func (l *listing) line(format string, args ...any) { fmt.Fprintf(l, format+"\n", args...) }

func (l *listing) step(k int, s step) {
	c := l.c
	line := func(format string, args ...any) { l.line("%4d  %s", k, fmt.Sprintf(format, args...)) }
	switch s.kind {
	case stepScalars:
		line("scalars")
		for _, q := range c.scalars[s.at : s.end-1] {
			l.line("        %s", l.scalar(q))
		}
	case stepGroup:
		g := &c.groups[s.at]
		line("group of %d entries", g.n)
		for i := range g.ops {
			l.line("        %s", l.tileOp(&g.ops[i]))
		}
	case stepMove:
		m := &c.moves[s.at]
		line("%s = move", l.view(m.d))
		for _, b := range m.blocks {
			l.line("        %s from %d step %v to %d step %v, %v entries", l.view(b.src), b.from, b.fromStep, b.to, b.step, b.dims)
		}
	case stepSum:
		q := &c.sums[s.at]
		line("%s = sum %s [%d %d %d]", l.view(q.d), l.view(q.x), q.outer, q.length, q.inner)
	case stepScan:
		q := &c.scans[s.at]
		line("%s = cumsum %s [%d %d %d]", l.view(q.d), l.view(q.x), q.outer, q.length, q.inner)
	case stepProduct:
		q := &c.products[s.at]
		line("%s = matmul %s %s, %d×%d×%d", l.view(q.d), l.view(q.a)+transposed(q.ta), l.view(q.b)+transposed(q.tb), q.m, q.k, q.n)
	case stepGather:
		q := &c.indexed[s.at]
		line("%s = gather %s %s", l.view(q.d), l.view(q.x), l.view(q.index))
	case stepScatter:
		q := &c.indexed[s.at]
		line("%s = scatter_add %s %s", l.view(q.d), l.view(q.x), l.view(q.index))
	case stepEval:
		q := &c.evals[s.at]
		text := l.view(q.d) + " = " + q.node.Op.Name
		for _, in := range q.in {
			text += " " + l.view(in)
		}
		line("%s", text)
	}
}

func transposed(is bool) string {
	if is {
		return "ᵀ"
	}
	return ""
}

// view names a place: r3 a register, t0 a tile, a@40 the arena at entry 40, <y an input and >y an output.
func (l *listing) view(i int32) string {
	w := &l.c.views[i]
	switch w.space {
	case inRegisters:
		return fmt.Sprintf("r%d", w.at)
	case inTile:
		if w.isInt {
			return fmt.Sprintf("i%d", w.at)
		}
		return fmt.Sprintf("t%d", w.at)
	case inInput:
		return "<" + l.names[w.of]
	case inOutput:
		return ">" + l.names[w.of]
	case inLiteral, inLiteralTile:
		switch n := len(w.value.F) + len(w.value.I); {
		case n != 1:
			return fmt.Sprintf("literal%v", w.value.Type.Shape)
		case w.isInt:
			return fmt.Sprint(w.value.I[0])
		}
		return fmt.Sprint(w.value.F[0])
	}
	return fmt.Sprintf("%s@%d", l.names[w.of], w.at)
}

var symbols = [...]string{kAdd: "+", kMul: "*", kSub: "-"}

// join writes x o y, or y − x for the turned difference.
func join(o uint16, x, y string) string {
	if o == turned {
		return y + " - (" + x + ")"
	}
	if strings.Contains(x, " ") {
		x = "(" + x + ")"
	}
	if strings.Contains(y, " ") {
		y = "(" + y + ")"
	}
	return x + " " + symbols[o] + " " + y
}

func (l *listing) tileOp(t *tileOp) string {
	a, b, c := l.view(t.a.view), l.view(t.b.view), l.view(t.c.view)
	if t.code >= kPair {
		code := uint16(t.code - kPair)
		return l.view(t.d.view) + " = " + join(code%4, join(code/4, a, b), c)
	}
	name, operands := opcodeNames[t.code], []string{a}
	switch t.code {
	case kUnary, kBinary:
		name = t.node.Op.Name
	case kPowInt:
		name += fmt.Sprintf(" n=%d", t.node.Attrs.Int("n"))
	case kCheck:
		name += " " + t.node.Op.Name
	case kSpread, kSpreadInt:
		text := fmt.Sprintf("%s = %s %s", l.view(t.d.view), name, a)
		if t.inner > 1 {
			text += fmt.Sprintf(", each %d times", t.inner)
		}
		if t.spread == spreadShared {
			text += " for all lanes"
		}
		return text
	}
	if t.node != nil && t.code != kCheckZero && t.code != kCheckUnit && t.code != kSpread {
		operands = []string{a, b, c}[:min(3, len(t.node.Args))]
	}
	text := name + " " + strings.Join(operands, " ")
	if t.code >= kFinite {
		return text
	}
	return l.view(t.d.view) + " = " + text
}

func (l *listing) scalar(q scalar) string {
	r := func(at uint32) string { return fmt.Sprintf("r%d", at/8) }
	switch {
	case q.code >= scalarEnd+scalarWide:
		q.code -= scalarForward
	case q.code >= scalarEnd:
		q.code -= scalarWide
		r = func(at uint32) string { return fmt.Sprintf("r%d..%d", at/8, at/8+wide-1) }
	}
	d, a, b, c, e, f := r(q.d), r(q.a), r(q.b), r(q.c), r(q.e), r(q.f)
	switch {
	case q.code == scalarTile:
		return l.tileOp(&l.c.singles[q.d])
	case q.code == scalarLoad:
		return fmt.Sprintf("%s = %s[%d]", d, l.view(int32(q.a)), q.b)
	case q.code == scalarFinite:
		return fmt.Sprintf("check_finite %s %s %s %s", a, b, c, e)
	case q.code == scalarPack:
		return fmt.Sprintf("%s to %s = %s %s %s %s", d, r(q.d+8*(wide-1)), a, b, c, e)
	case q.code == scalarUnary:
		return fmt.Sprintf("%s = %s %s", d, l.c.nodes[q.e].Op.Name, a)
	case q.code == scalarBinary:
		return fmt.Sprintf("%s = %s %s %s", d, l.c.nodes[q.e].Op.Name, a, b)
	case q.code == scalarDiv:
		return fmt.Sprintf("%s = %s / %s", d, a, b)
	case q.code == scalarNeg:
		return fmt.Sprintf("%s = -%s", d, a)
	case q.code < scalarPair:
		return d + " = " + join(q.code-scalarAdd, a, b)
	case q.code < scalarChain:
		k := q.code - scalarPair
		return d + " = " + join(k%4, join(k/4, a, b), c)
	case q.code < scalarFork:
		k := q.code - scalarChain
		return d + " = " + join(k%4, join(k/4%4, join(k/16, a, b), c), e)
	case q.code < scalarLong:
		k := q.code - scalarFork
		return d + " = " + join(k/3%3, join(k/9, a, b), join(k%3, c, e))
	}
	k := q.code - scalarLong
	return d + " = " + join(k%4, join(k/4%4, join(k/16%4, join(k/64, a, b), c), e), f)
}

// memory writes the layout of the arena and its peak.
func (l *listing) memory() {
	c, m := l.c, l.c.memory()
	l.line("memory")
	l.line("  %d registers, of which %d hold literals; %d tiles; %d entries of literals", c.registers, len(c.constants), c.tiles+c.intTiles, c.writtenOut())
	for _, w := range c.views {
		switch w.space {
		case inFixed, inLanes, inInts:
			unit := ""
			if w.laned {
				unit = " for each lane"
			}
			if w.isInt {
				unit = " integers"
			}
			l.line("  %6d to %6d  %s%s", w.at, w.at+w.n, l.names[w.of], unit)
		}
	}
	text := fmt.Sprintf("  peak %d bytes", m.Peak)
	if c.laned {
		text += fmt.Sprintf(" and %d for each lane", m.PerLane)
	}
	l.line("%s; the sum of all values is %d bytes", text, m.Sum)
}
