package schedule

import "unsafe"

// Bytes are logical bytes: the entries that a run holds, times eight, and the records of its schedule. They are
// exact and the same on every machine. What the chain and the caller keep is not among them.
type Bytes struct {
	Snapshots int64 // states in memory slots
	State     int64 // the live state
	Tape      int64 // one-step tapes, and the scratch that they include
	Cotangent int64 // the cotangents before and after a step
	Work      int64 // the state that a step writes
	Output    int64 // the terminal value
	Records   int64 // frames and lists of the schedule, and the state number of each slot
}

// Total returns the sum.
func (b Bytes) Total() int64 {
	return b.Snapshots + b.State + b.Tape + b.Cotangent + b.Work + b.Output + b.Records
}

// sizes are what a run must know of a chain in order to reserve its buffers.
type sizes struct {
	state, tape int // the largest state and tape
	tapes       int // all tapes together
	output      int // x_T
	// All states below this one have inner entries, and all tapes innerTape: T in a chain whose lengths do not change, 0 in
	// any other. The chain is then not asked again.
	regular          int
	inner, innerTape int
}

func measure(chain Chain, steps int) sizes {
	z := sizes{regular: steps, inner: chain.StateLen(0)}
	z.state, z.output = z.inner, z.inner
	for j := 1; j <= steps; j++ {
		tape := chain.TapeLen(j)
		z.output = chain.StateLen(j)
		if j == 1 {
			z.innerTape = tape
		}
		if j < steps && (z.output != z.inner || tape != z.innerTape) {
			z.regular = 0
		}
		z.state = max(z.state, z.output)
		z.tape = max(z.tape, tape)
		z.tapes += tape
	}
	return z
}

// slotRecord is the size of a slot's entry in the runner's table.
const slotRecord = int64(unsafe.Sizeof(slot{}))

// need returns the bytes of a run with the given peaks; records are those of its schedule.
func (z sizes) need(slots, disk, tapes int, records int64) Bytes {
	state := 8 * int64(z.state)
	return Bytes{
		Snapshots: int64(slots) * state,
		State:     state,
		Tape:      8 * int64(min(tapes*z.tape, z.tapes)),
		Cotangent: 2 * state,
		Work:      state,
		Output:    8 * int64(z.output),
		Records:   records + slotRecord*int64(slots+disk),
	}
}
