package schedule

import "math"

// pool is the fixed set of buffers in which a run keeps its snapshots. They are made once, for the largest state, and
// never given back to the garbage collector; a slot that is moved swaps its buffer with the live one.
type pool struct {
	buffers [][]float64
	held    []int // the state in each slot, or none
	bytes   int64 // logical bytes of the snapshots held
	used    int   // snapshots held
	peak    int
	poison  bool // fill empty buffers with NaN
}

func newPool(slots, length int, poison bool) pool {
	p := pool{buffers: make([][]float64, slots), held: make([]int, slots), poison: poison}
	for i := range p.buffers {
		p.buffers[i] = make([]float64, length)
	}
	return p
}

func (p *pool) reset() {
	p.bytes, p.used, p.peak = 0, 0, 0
	for i := range p.held {
		p.held[i] = none
		p.spoil(p.buffers[i])
	}
}

// put enters state j of the given length, whose buffer the caller fills.
func (p *pool) put(slot int32, j, length int) {
	p.held[slot] = j
	p.bytes += 8 * int64(length)
	p.used++
	p.peak = max(p.peak, p.used)
}

func (p *pool) drop(slot int32, length int) {
	p.held[slot] = none
	p.bytes -= 8 * int64(length)
	p.used--
	p.spoil(p.buffers[slot])
}

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
