package exec

import (
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// Scalar instructions. A superinstruction is a tree of two to four sums, differences and products
// (o1 to o4 below), numbered by its operations:
//
//	scalarPair   (a o1 b) o2 c
//	scalarChain  ((a o1 b) o2 c) o3 e
//	scalarFork   (a o1 b) o2 (c o3 e)
//	scalarLong   (((a o1 b) o2 c) o3 e) o4 f
//
// where o1, and all of a fork, are kAdd, kMul or kSub, and the others may also be turned:
// c − (a o1 b).
//
// From scalarAdd on every instruction has two variants more. A wide one does the same on four
// consecutive registers of the result and of every operand. A forwarded one differs in nothing but
// that operand a is the result of the instruction before it, which a machine may still hold.
const (
	scalarReturn uint16 = iota // ends a list
	scalarTile                 // runs an elementwise operation on one entry
	scalarUnary
	scalarBinary
	scalarLoad   // d = entry b of view a
	scalarFinite // raises the flag if one of four registers is not finite
	scalarPack   // copies four registers to consecutive ones
	scalarAdd
	scalarMul
	scalarSub
	scalarDiv
	scalarNeg
	scalarPair
	scalarChain = scalarPair + 3*4
	scalarFork  = scalarChain + 3*4*4
	scalarLong  = scalarFork + 3*3*3
	scalarEnd   = scalarLong + 3*4*4*4

	scalarWide    = scalarEnd - scalarAdd // what is added to the code of a wide instruction
	scalarForward = 2 * scalarWide        // and of a forwarded one

	wide = 4 // entries of a wide instruction

	turned = 3 // c − x, among the operations of a pair or chain
)

// pending is a scalar instruction whose registers are not chosen yet.
type pending struct {
	code uint16
	d    graph.Value // or None
	args []graph.Value
	at   uint32 // entry of a load, or number of a node
	tile *tileOp
}

func (lo *lowering) emitScalars(s int) {
	first := len(lo.c.scalars)
	units := lo.arrange(lo.selectScalars(s))
	lastReader := map[graph.Value]int{} // by unit
	for k, unit := range units {
		for _, q := range unit {
			for _, a := range q.args {
				lastReader[lo.root(a)] = k
			}
			if q.d != graph.None {
				lastReader[lo.root(q.d)] = max(k, lastReader[lo.root(q.d)])
			}
		}
	}
	w := widening{lowering: lo, packs: map[[wide]graph.Value]int{}}
	for k, unit := range units {
		release := func(v graph.Value) {
			if v != graph.None && lastReader[lo.root(v)] == k {
				lo.releaseDead(s, v)
			}
		}
		if len(unit) > 1 {
			w.emit(unit)
		} else {
			lo.emitSingle(unit[0], release)
		}
		for _, q := range unit {
			for _, v := range q.args {
				release(v)
			}
			release(q.d)
		}
	}
	w.release()
	forward(lo.c.scalars[first:])
	lo.c.scalars = append(lo.c.scalars, scalar{code: scalarReturn})
}

// emitSingle writes one instruction.
func (lo *lowering) emitSingle(q *pending, release func(graph.Value)) {
	ins := scalar{code: q.code}
	switch {
	case q.tile != nil:
		lo.emitScalarTile(q, &ins)
	case q.code == scalarLoad:
		ins.a, ins.b = uint32(lo.viewOf(q.args[0])), q.at
	default:
		lo.setOperands(q, &ins)
		for _, a := range q.args { // before the result, which may take the place of an operand
			release(a)
		}
	}
	if q.code == scalarUnary || q.code == scalarBinary {
		ins.e = q.at
	}
	if q.d != graph.None && q.tile == nil {
		lo.place(q.d)
		ins.d = 8 * uint32(lo.at(q.d).reg)
	}
	lo.c.scalars = append(lo.c.scalars, ins)
}

// forward marks the instructions whose operand a is the result of the one before; a sum or product may exchange its
// operands for that.
func forward(list []scalar) {
	for k := 1; k < len(list); k++ {
		q, before := &list[k], &list[k-1]
		if before.code < scalarAdd || q.code < scalarAdd || q.code >= scalarEnd {
			continue
		}
		if q.b == before.d && q.a != before.d && commutes(q.code) {
			q.a, q.b = q.b, q.a
		}
		if q.a == before.d {
			q.code += scalarForward
		}
	}
}

// commutes reports whether the first operation of an instruction is a sum or a product.
func commutes(code uint16) bool {
	switch {
	case code < scalarDiv:
		return code != scalarSub
	case code < scalarPair:
		return false
	case code < scalarChain:
		return (code-scalarPair)/4 != uint16(kSub)
	case code < scalarFork:
		return (code-scalarChain)/16 != uint16(kSub)
	case code < scalarLong:
		return (code-scalarFork)/9 != uint16(kSub)
	}
	return (code-scalarLong)/64 != uint16(kSub)
}

func (ins *scalar) operands() [5]*uint32 {
	return [...]*uint32{&ins.a, &ins.b, &ins.c, &ins.e, &ins.f}
}

func (lo *lowering) setOperands(q *pending, ins *scalar) {
	fields := ins.operands()
	for i, a := range q.args {
		*fields[i] = 8 * uint32(lo.registerOf(a))
	}
}

func (lo *lowering) emitScalarTile(q *pending, ins *scalar) {
	t := *q.tile
	operands := [3]operand{}
	for i, a := range q.args {
		operands[i] = operand{view: lo.viewOf(a)}
	}
	t.a, t.b, t.c = operands[0], operands[1], operands[2]
	if t.node.Op == op.Select {
		t.a, t.b, t.c = t.b, t.c, t.a
	}
	if q.d != graph.None {
		lo.place(q.d)
		t.d = operand{view: lo.viewOf(q.d)}
	}
	ins.d = uint32(len(lo.c.singles))
	lo.c.singles = append(lo.c.singles, t)
}

// registerOf returns the register of a scalar.
func (lo *lowering) registerOf(v graph.Value) int { return lo.at(v).reg }

// placeConstants gives the scalar literals registers that nothing else ever uses.
func (lo *lowering) placeConstants() {
	at := map[uint64]int{}
	for i := range lo.vals {
		f := &lo.vals[i]
		n := lo.literal(graph.Value(i))
		if n == nil || f.root != graph.Value(i) || !f.needed || !f.scalarFloat() {
			continue
		}
		value := n.Value.F[0]
		reg, ok := at[math.Float64bits(value)]
		if !ok {
			reg = lo.regs.alloc()
			at[math.Float64bits(value)] = reg
			lo.c.constants = append(lo.c.constants, constant{reg, value})
		}
		f.reg = reg
	}
}

// selectScalars chooses the instructions of a scalar step: first which sums, differences and
// products are part of the instruction that reads them, then one instruction for each of the others.
func (lo *lowering) selectScalars(s int) []pending {
	members := lo.steps[s].members
	list := lo.checkFour(nil, lo.steps[s].checks)
	inlined := map[graph.Value]bool{}
	chosen := make([]pending, len(members))
	for k := len(members) - 1; k >= 0; k-- {
		if v := members[k]; !inlined[v] {
			chosen[k] = lo.selectTree(s, v, inlined)
		}
	}
	var finite []graph.Value
	for k, v := range members {
		if inlined[v] {
			continue
		}
		n := lo.p.Node(v)
		if code, ok := check(n, lo.types(n)); ok {
			list = append(list, pending{code: scalarTile, d: graph.None, args: n.Args, tile: &tileOp{code: code, node: n}})
		}
		list = append(list, chosen[k])
		if lo.vals[v].finite {
			finite = append(finite, v)
		}
	}
	return lo.checkFour(list, finite)
}

// checkFour appends the instructions that look at values, four at a time.
func (lo *lowering) checkFour(list []pending, finite []graph.Value) []pending {
	for len(finite) > 0 {
		four := make([]graph.Value, 4)
		for i := range four {
			four[i] = finite[min(i, len(finite)-1)]
		}
		list = append(list, pending{code: scalarFinite, d: graph.None, args: four})
		finite = finite[min(4, len(finite)):]
	}
	return list
}

// simple returns the operation of a value that can be part of a tree.
func (lo *lowering) simple(v graph.Value) (opcode, []graph.Value, bool) {
	n := lo.p.Node(v)
	if n == nil || len(n.Args) != 2 || n.Type.DType != graph.Float64 {
		return 0, nil, false
	}
	code, ok := elementwise(n, lo.types(n))
	return code, n.Args, ok && code <= kSub
}

// onlyReader returns the operation of an operand that can be part of the one operation that reads it.
func (lo *lowering) onlyReader(s int, a graph.Value, inlined map[graph.Value]bool) (opcode, []graph.Value, bool) {
	r := lo.root(a)
	f := &lo.vals[r]
	if f.step != s || f.uses != 1 || f.finite || inlined[r] {
		return 0, nil, false
	}
	return lo.simple(r)
}

func (lo *lowering) selectTree(s int, v graph.Value, inlined map[graph.Value]bool) pending {
	o1, args, ok := lo.simple(v)
	if !ok {
		return lo.selectSingle(v)
	}
	child := func(a graph.Value) (opcode, []graph.Value, bool) { return lo.onlyReader(s, a, inlined) }
	left, x, isLeft := child(args[0])
	right, y, isRight := child(args[1])
	switch {
	case isLeft && isRight:
		inlined[lo.root(args[0])], inlined[lo.root(args[1])] = true, true
		return pending{code: scalarFork + (uint16(left)*3+uint16(o1))*3 + uint16(right), d: v, args: []graph.Value{x[0], x[1], y[0], y[1]}}
	case !isLeft && !isRight:
		return pending{code: scalarAdd + uint16(o1), d: v, args: args}
	}
	// The tree is a chain: o2, o3 and so on join one more operand each, from the inside out.
	first, leaves := o1, args
	var joins []uint16
	var others []graph.Value
	for len(joins) < 3 {
		side, inner, innerArgs := 0, left, x
		if !isLeft {
			side, inner, innerArgs = 1, right, y
		}
		join := uint16(first)
		if side == 1 && first == kSub {
			join = turned
		}
		inlined[lo.root(leaves[side])] = true
		joins, others = append(joins, join), append(others, leaves[1-side])
		first, leaves = inner, innerArgs
		left, x, isLeft = child(leaves[0])
		right, y, isRight = child(leaves[1])
		if !isLeft && !isRight {
			break
		}
	}
	slices.Reverse(joins)
	slices.Reverse(others)
	code := uint16(first)
	for _, join := range joins {
		code = code*4 + join
	}
	return pending{code: [...]uint16{scalarPair, scalarChain, scalarLong}[len(joins)-1] + code, d: v,
		args: append([]graph.Value{leaves[0], leaves[1]}, others...)}
}

// selectSingle returns the instruction of an operation that is no part of a tree.
func (lo *lowering) selectSingle(v graph.Value) pending {
	n := lo.p.Node(v)
	code, ok := elementwise(n, lo.types(n))
	q := pending{d: v, args: n.Args}
	switch {
	case !ok:
		q.code = scalarLoad
		if n.Op == op.Slice {
			for a, stride := range lo.p.Type(n.Args[0]).Shape.Strides() {
				q.at += uint32(n.Attrs.Ints("start")[a] * stride)
			}
		}
	case code == kDiv:
		q.code = scalarDiv
	case code == kNeg:
		q.code = scalarNeg
	case code >= kUnary && code <= kBinary:
		q.code = scalarUnary
		if code == kBinary {
			q.code = scalarBinary
		}
		q.at = uint32(len(lo.c.nodes))
		lo.c.nodes = append(lo.c.nodes, n)
	default:
		q.code, q.tile = scalarTile, &tileOp{code: code, node: n}
	}
	return q
}
