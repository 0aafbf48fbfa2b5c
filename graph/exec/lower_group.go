package exec

import (
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// grouping is the emission of one group: which tile holds what, and until which member.
type grouping struct {
	*lowering
	step          int
	out           group
	floats, ints  slots
	tileOf        map[graph.Value]operand // tiles of members, and of operands spread to fit
	lastReader    map[graph.Value]int     // by member
	tileView      map[tileSlot]int32
	slotOf        map[int32]tileSlot
	releasedTiles map[graph.Value]bool
}

type tileSlot struct {
	slot  int
	isInt bool
}

// emitGroup writes the operations of an elementwise group. A result that a later step reads is
// stored in full; any other lives in a tile.
func (lo *lowering) emitGroup(s int) {
	d := &lo.steps[s]
	g := &grouping{lowering: lo, step: s, out: group{n: d.n, laned: d.laned}, tileOf: map[graph.Value]operand{},
		lastReader: map[graph.Value]int{}, tileView: map[tileSlot]int32{}, slotOf: map[int32]tileSlot{}, releasedTiles: map[graph.Value]bool{}}
	for _, v := range d.checks {
		g.out.ops = append(g.out.ops, tileOp{code: kFinite, a: operand{view: lo.viewOf(v)}})
	}
	list := lo.selectMembers(s)
	for k, q := range list {
		g.lastReader[lo.root(q.d)] = max(k, g.lastReader[lo.root(q.d)])
		for _, a := range q.args {
			g.lastReader[lo.root(a)] = k
		}
	}
	for k, q := range list {
		g.emitMember(k, q)
	}
	for _, v := range d.members {
		lo.releaseDead(s, lo.p.Node(v).Args...)
		lo.releaseDead(s, v)
	}
	lo.c.tiles, lo.c.intTiles = max(lo.c.tiles, g.floats.n), max(lo.c.intTiles, g.ints.n)
	lo.c.steps = append(lo.c.steps, step{kind: stepGroup, at: int32(len(lo.c.groups))})
	lo.c.groups = append(lo.c.groups, g.out)
}

// selectMembers chooses the kernels of a group. A sum, difference or product that only one other reads is computed
// with it, in one pass over the tile.
func (lo *lowering) selectMembers(s int) []pending {
	members := lo.steps[s].members
	list := make([]pending, 0, len(members))
	inlined := map[graph.Value]bool{}
	for k := len(members) - 1; k >= 0; k-- {
		v := members[k]
		if inlined[v] {
			continue
		}
		n := lo.p.Node(v)
		q := pending{d: v, args: n.Args}
		code, _ := elementwise(n, lo.types(n))
		q.code = uint16(code)
		if outer, args, ok := lo.simple(v); ok {
			for side, a := range args {
				inner, leaves, ok := lo.onlyReader(s, a, inlined)
				if !ok {
					continue
				}
				inlined[lo.root(a)] = true
				join := uint16(outer)
				if side == 1 && outer == kSub {
					join = turned
				}
				q.code = uint16(kPair) + uint16(inner)*4 + join
				q.args = []graph.Value{leaves[0], leaves[1], args[1-side]}
				break
			}
		}
		list = append(list, q)
	}
	slices.Reverse(list)
	return list
}

func (g *grouping) emitMember(k int, q pending) {
	v := q.d
	n := g.p.Node(v)
	types := g.types(n)
	t := tileOp{node: n, code: opcode(q.code)}
	if t.code == kSpread || t.code == kSpreadInt {
		t.size, t.inner, _ = spreadOf(n, types[0].Shape)
		t.a = operand{view: g.viewOf(n.Args[0])}
		if g.out.laned {
			t.spread = spreadLanes
		}
	} else {
		x := [3]operand{}
		for i, arg := range q.args {
			x[i] = g.operand(arg)
		}
		if t.a, t.b, t.c = x[0], x[1], x[2]; n.Op == op.Select {
			t.a, t.b, t.c = x[1], x[2], x[0]
		}
	}
	if code, ok := check(n, types); ok {
		c := t
		c.code = code
		g.out.ops = append(g.out.ops, c)
	}
	for _, a := range q.args {
		g.releaseTile(k, a)
	}
	t.d = g.result(k, q)
	g.out.ops = append(g.out.ops, t)
	if g.vals[v].finite {
		g.out.ops = append(g.out.ops, tileOp{code: kFinite, a: t.d})
	}
	g.releaseTile(k, v)
}

func (g *grouping) operand(v graph.Value) operand {
	r := g.root(v)
	if t, ok := g.tileOf[r]; ok {
		return t
	}
	f := &g.vals[r]
	if n := g.literal(r); n != nil && len(n.Value.F)+len(n.Value.I) == 1 {
		return g.literalTile(n)
	}
	if f.n == g.out.n && f.laned == g.out.laned {
		return operand{view: g.viewOf(r)}
	}
	t := tileOp{code: kSpread, a: operand{view: g.viewOf(r)}, size: f.n, inner: 1}
	if f.isInt {
		t.code = kSpreadInt
	}
	if g.out.laned {
		t.spread = spreadShared
	}
	t.d = g.newTile(f.isInt)
	g.tileOf[r] = t.d
	g.out.ops = append(g.out.ops, t)
	return t.d
}

// literalTile returns a tile that holds nothing but the one entry of a literal.
func (lo *lowering) literalTile(n *graph.Node) operand {
	key := tileKey{isInt: n.Value.F == nil}
	if key.isInt {
		key.bits = uint64(n.Value.I[0])
	} else {
		key.bits = math.Float64bits(n.Value.F[0])
	}
	w, ok := lo.tiles[key]
	if !ok {
		w = lo.addView(view{space: inLiteralTile, isInt: key.isInt, value: n.Value})
		lo.tiles[key] = w
	}
	return operand{view: w, tiled: true}
}

func (g *grouping) newTile(isInt bool) operand {
	s := tileSlot{isInt: isInt}
	if isInt {
		s.slot = g.ints.alloc()
	} else {
		s.slot = g.floats.alloc()
	}
	w, ok := g.tileView[s]
	if !ok {
		w = g.addView(view{space: inTile, isInt: isInt, at: s.slot})
		g.tileView[s], g.slotOf[w] = w, s
	}
	return operand{view: w, tiled: true}
}

// releaseTile takes back the tile of a value that member k reads last.
func (g *grouping) releaseTile(k int, v graph.Value) {
	r := g.root(v)
	t, ok := g.tileOf[r]
	if !ok || g.lastReader[r] != k || g.releasedTiles[r] {
		return
	}
	g.releasedTiles[r] = true
	if s := g.slotOf[t.view]; s.isInt {
		g.ints.release(s.slot)
	} else {
		g.floats.release(s.slot)
	}
}

// result gives member k its memory: a tile, or, if it is read later, the memory of an operand of
// the same size that nothing reads any more, or memory of its own.
func (g *grouping) result(k int, q pending) operand {
	v := q.d
	f := g.at(v)
	if f.last <= g.step && !f.shared {
		t := g.newTile(f.isInt)
		g.tileOf[g.root(v)] = t
		return t
	}
	if f.output < 0 {
		for _, a := range q.args {
			old := g.at(a)
			if old.last != g.step || g.lastReader[g.root(a)] > k || old.view == noOperand || old.n != f.n || old.laned != f.laned || old.isInt != f.isInt {
				continue
			}
			switch w := g.c.views[old.view]; w.space {
			case inFixed, inLanes, inInts:
				_, arena := g.arenaOf(f)
				arena.sum += align(f.n)
				w.of = v
				f.view = g.addView(w)
				old.last = -1
				return operand{view: f.view}
			}
		}
	}
	g.place(v)
	return operand{view: g.viewOf(v)}
}
