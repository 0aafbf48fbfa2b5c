package schedule

import (
	"fmt"
	"math"
	"math/bits"
)

// FidelityError reports a replay that did not reproduce the first visit of a state: the step is not deterministic, reads something
// that its state does not hold, records other bits than it advances, or a snapshot was damaged.
type FidelityError struct {
	State int
	Call  string // how the state was reached again: "advance", "record", "restore", …
}

func (e *FidelityError) Error() string {
	return fmt.Sprintf("schedule: state x_%d differs from its first visit when reached again by %s; "+
		"a step must depend on its state alone, and record must compute the bits that advance computes", e.State, e.Call)
}

// fidelity holds a hash of every n-th state at its first visit. States are first visited in ascending order.
type fidelity struct {
	every  int // 0: off
	hashes []uint64
}

func newFidelity(every, steps int) fidelity {
	if every <= 0 {
		return fidelity{}
	}
	return fidelity{every, make([]uint64, 0, steps/every+1)}
}

// visit enters or compares state j.
func (f *fidelity) visit(j int, x []float64, call string) error {
	if j%f.every != 0 {
		return nil
	}
	i, h := j/f.every, hash(x)
	switch {
	case i == len(f.hashes):
		f.hashes = append(f.hashes, h)
	case f.hashes[i] != h:
		return &FidelityError{j, call}
	}
	return nil
}

// hash mixes the bits of all entries, in four strands that do not wait for one another. Every round is a bijection of the running
// value, so that two states of one length that differ in one entry never collide.
func hash(x []float64) uint64 {
	a, b, c, d := uint64(len(x)), uint64(1), uint64(2), uint64(3)
	for ; len(x) >= 4; x = x[4:] {
		a, b = mix(a, math.Float64bits(x[0])), mix(b, math.Float64bits(x[1]))
		c, d = mix(c, math.Float64bits(x[2])), mix(d, math.Float64bits(x[3]))
	}
	for _, v := range x {
		a = mix(a, math.Float64bits(v))
	}
	return mix(mix(mix(a, b), c), d)
}

func mix(h, v uint64) uint64 { return bits.RotateLeft64(h^v, 29) * 0x9e3779b97f4a7c15 }
