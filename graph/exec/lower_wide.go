package exec

import (
	"cmp"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Scalar programs often write one formula for many entries. Where at least four instructions of one
// code do not depend on each other they are a unit: their results lie side by side, and four of them
// run as one wide instruction wherever their operands lie side by side too.

// arrange orders the instructions of a step in units, of one instruction or more. An instruction's
// level is the length of the longest chain of instructions that leads to it; a unit has one code and
// one level.
func (lo *lowering) arrange(list []pending) [][]*pending {
	type key struct {
		level int
		code  uint16
	}
	levelOf := map[graph.Value]int{}
	keys := make([]key, len(list))
	groups := map[key][]*pending{}
	for k := range list {
		q := &list[k]
		level := 0
		for _, a := range q.args {
			level = max(level, levelOf[lo.root(a)])
		}
		keys[k] = key{level + 1, q.code}
		if q.d != graph.None {
			levelOf[lo.root(q.d)] = level + 1
		}
		if q.code >= scalarAdd {
			groups[keys[k]] = append(groups[keys[k]], q)
		}
	}
	type placed struct {
		level int
		unit  []*pending
	}
	var units []placed
	grouped := false
	for k := range list {
		switch g := groups[keys[k]]; {
		case len(g) < wide:
			units = append(units, placed{keys[k].level, []*pending{&list[k]}})
		case g[0] == &list[k]:
			units = append(units, placed{keys[k].level, g})
			grouped = true
		}
	}
	if grouped { // a unit is complete only after all that its members need
		slices.SortStableFunc(units, func(x, y placed) int { return cmp.Compare(x.level, y.level) })
	}
	order := make([][]*pending, len(units))
	for k, u := range units {
		order[k] = u.unit
	}
	return order
}

// widening writes the units of one step.
type widening struct {
	*lowering
	packs map[[wide]graph.Value]int // register of four values side by side
}

// emit writes a unit. What its members read stays where it is until the last one has run, so that
// the last four may run again where they are no multiple of four.
func (w *widening) emit(unit []*pending) {
	first := w.regs.allocBlock(len(unit))
	for k, q := range unit {
		w.at(q.d).reg = first + k
	}
	for k := 0; k < len(unit); k += wide {
		four := unit[min(k, len(unit)-wide):][:wide]
		ins, ok := w.join(four)
		if ok {
			ins.code += scalarWide
			ins.d = 8 * uint32(w.at(four[0].d).reg)
			w.c.scalars = append(w.c.scalars, ins)
			continue
		}
		for _, q := range unit[k:min(k+wide, len(unit))] {
			ins := scalar{code: q.code, d: 8 * uint32(w.at(q.d).reg)}
			w.setOperands(q, &ins)
			w.c.scalars = append(w.c.scalars, ins)
		}
	}
}

// join finds the operands of four instructions side by side, or puts them there, which pays for one
// operand only.
func (w *widening) join(four []*pending) (scalar, bool) {
	ins := scalar{code: four[0].code}
	fields := ins.operands()
	apart := -1
	var key [wide]graph.Value
	for i := range four[0].args {
		var values [wide]graph.Value
		for k, q := range four {
			values[k] = w.root(q.args[i])
		}
		at, ok := w.sideBySide(values)
		if !ok {
			if apart >= 0 {
				return ins, false
			}
			apart, key = i, values
			continue
		}
		*fields[i] = 8 * uint32(at)
	}
	if apart >= 0 {
		*fields[apart] = 8 * uint32(w.pack(key))
	}
	return ins, true
}

// sideBySide returns the first of the consecutive registers of four values.
func (w *widening) sideBySide(values [wide]graph.Value) (int, bool) {
	if at, ok := w.packs[values]; ok {
		return at, true
	}
	first := w.registerOf(values[0])
	consecutive, equal := true, true
	for k, v := range values {
		r := w.registerOf(v)
		consecutive, equal = consecutive && r == first+k, equal && r == first
	}
	if n := w.literal(values[0]); n != nil && equal {
		return w.fourOf(n.Value.F[0]), true
	}
	return first, consecutive
}

// pack writes the instruction that copies four values side by side.
func (w *widening) pack(values [wide]graph.Value) int {
	at := w.regs.allocBlock(wide)
	w.packs[values] = at
	ins := scalar{code: scalarPack, d: 8 * uint32(at)}
	fields := ins.operands()
	for k, v := range values {
		*fields[k] = 8 * uint32(w.registerOf(v))
	}
	w.c.scalars = append(w.c.scalars, ins)
	return at
}

// release takes back the registers of all packs.
func (w *widening) release() {
	for _, at := range w.packs {
		for k := range wide {
			w.regs.release(at + k)
		}
	}
}

// fourOf returns the first of four registers that hold a literal.
func (lo *lowering) fourOf(x float64) int {
	at, ok := lo.fours[math.Float64bits(x)]
	if !ok {
		at = lo.regs.newBlock(wide)
		lo.fours[math.Float64bits(x)] = at
		for k := range wide {
			lo.c.constants = append(lo.c.constants, constant{at + k, x})
		}
	}
	return at
}
