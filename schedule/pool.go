package schedule

import "math"

// pool is the fixed set of buffers in which a run keeps its snapshots. They are made once, for the largest state, and
// never given back to the garbage collector; a slot that is moved swaps its buffer with the live one.
type pool struct {
	slots  []slot
	bytes  int64 // logical bytes of the snapshots held
	used   int   // snapshots held
	peak   int
	poison bool // fill empty buffers with NaN
}

type slot struct {
	buffer []float64
	state  int // or none
}

func newPool(slots, length int, poison bool) pool {
	p := pool{slots: make([]slot, slots), poison: poison}
	for i := range p.slots {
		p.slots[i].buffer = make([]float64, length)
	}
	return p
}

func (p *pool) reset() {
	p.bytes, p.used, p.peak = 0, 0, 0
	for i := range p.slots {
		p.slots[i].state = none
		p.spoil(p.slots[i].buffer)
	}
}

// put enters state j of the given length, whose buffer the caller fills.
func (p *pool) put(i int32, j, length int) {
	p.slots[i].state = j
	p.bytes += 8 * int64(length)
	p.used++
	p.peak = max(p.peak, p.used)
}

func (p *pool) drop(i int32, length int) {
	p.slots[i].state = none
	p.bytes -= 8 * int64(length)
	p.used--
	p.spoil(p.slots[i].buffer)
}

// spoil fills a buffer whose content is no longer defined, if asked to.
func (p *pool) spoil(x []float64) {
	if p.poison {
		fill(x, math.NaN())
	}
}

func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}
