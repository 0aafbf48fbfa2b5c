package schedule

import (
	"fmt"
	"math"
	"unsafe"
)

// TwoTier keeps snapshots in memory and on disk, given the costs of a step, of a write to disk and of a read from disk; memory is
// taken to cost nothing. Its algorithm is the dynamic programme of Disk-Revolve (Aupy, Herrmann, Hovland and Robert,
// SIAM J. Sci. Comput. 38, 2016) with a limited number of disk slots, as in H-Revolve (Herrmann and Pallez, ACM Trans.
// Math. Softw. 46, 2020). With n steps, k free disk slots, the state of the start live and p = [Optimal](n, slots):
//
//	A_k(n) = min( p·step, write + B_k(n) )                                          the start is in no slot
//	B_k(n) = min( p·step, min over i of i·step + A_{k−1}(n−i) + read + B_k(i) )     the start is on disk
//
// It is optimal among hierarchical schedules: those that never write to disk while a snapshot is held in memory.
// The programme takes O(U²·k) time for U units; a chain of more than about 4,000 steps is planned in units of several steps, and its
// disk snapshots lie between units. What lies between two disk snapshots is reversed by [Revolve], step by step.
type TwoTier struct {
	steps, slots, disk int
	write, read        float64 // costs, in steps

	unit   int       // steps in a unit; the last unit may be shorter
	store  [][]bool  // store[k][n]: A_k(n) writes the start to disk
	choice [][]int32 // choice[k][n]: the i of B_k(n) in units, 0 for memory
	frames []int     // states on disk, ascending
	diskTier
	memory reverser
}

// diskTier is the state of the upper level, above the memory-only reversals.
type diskTier struct {
	live, end int
	phase     int
}

const (
	diskArrive = iota // x_live is live and in no slot
	diskSplit         // the disk snapshot on top is live
	diskReturn        // nothing is live
	diskMemory        // the memory tier reverses the steps from live to end
)

// planWork limits the operations of the dynamic programme.
const planWork = 1 << 27

// NewTwoTier returns a schedule with slots ≥ 1 in memory and disk ≥ 0 on disk. Of the costs it reads Advance,
// DiskWrite and DiskRead.
func NewTwoTier(steps, slots, disk int, costs Costs) (*TwoTier, error) {
	if err := checkSlots(steps, slots); err != nil {
		return nil, err
	}
	if disk < 0 || disk > MaxSteps-slots {
		return nil, fmt.Errorf("%w: %d disk slots beside %d in memory", ErrInput, disk, slots)
	}
	write, read := costs.DiskWrite/costs.Advance, costs.DiskRead/costs.Advance
	if !(costs.Advance > 0) || !(write >= 0) || !(read >= 0) || math.IsInf(write+read, 0) {
		return nil, fmt.Errorf("%w: a two-tier schedule needs the costs of a step, a disk write and a disk read, got %g, %g and %g",
			ErrInput, costs.Advance, costs.DiskWrite, costs.DiskRead)
	}
	s := &TwoTier{steps: steps, slots: slots, disk: disk, write: write, read: read}
	s.plan()
	s.memory.slots = revolveSlots(steps, slots)
	s.frames = make([]int, 0, len(s.choice))
	s.Reset()
	return s, nil
}

// plan fills the tables.
func (s *TwoTier) plan() {
	units := min(s.steps, 4096)
	for units > 1 && units*units/2*min(s.disk, units) > planWork {
		units = units * 9 / 10
	}
	s.unit = max(1, (s.steps+units-1)/max(units, 1))
	units = s.units(s.steps)

	memory := make([]float64, units+1)
	for n := 1; n <= units; n++ {
		memory[n] = float64(Optimal(n*s.unit, s.slots))
	}
	step := float64(s.unit)
	a := memory // A_{k−1}
	for k := 1; k <= s.disk; k++ {
		b, next := make([]float64, units+1), make([]float64, units+1)
		choice, store := make([]int32, units+1), make([]bool, units+1)
		better := false
		for n := 1; n <= units; n++ {
			b[n] = memory[n]
			for i := 1; i < n; i++ {
				if c := float64(i)*step + a[n-i] + s.read + b[i]; c < b[n] {
					b[n], choice[n] = c, int32(i)
				}
			}
			next[n] = memory[n]
			if c := s.write + b[n]; c < memory[n] {
				next[n], store[n] = c, true
			}
			better = better || next[n] < a[n]
		}
		if !better {
			break // a further disk slot saves nothing at any length
		}
		s.choice, s.store = append(s.choice, choice), append(s.store, store)
		a = next
	}
}

func (s *TwoTier) units(steps int) int { return (steps + s.unit - 1) / s.unit }

func (s *TwoTier) Name() string   { return "two-tier" }
func (s *TwoTier) Steps() int     { return s.steps }
func (s *TwoTier) Limits() Limits { return Limits{Slots: s.slots, Disk: s.disk, Budget: -1} }

func (s *TwoTier) RecordBytes() int64 {
	table := len(s.choice) * (s.units(s.steps) + 1) * int(unsafe.Sizeof(int32(0))+unsafe.Sizeof(false))
	return reverserBytes(revolveSlots(s.steps, s.slots)) + int64(table) + int64(cap(s.frames))*int64(unsafe.Sizeof(0))
}

func (s *TwoTier) Reset() {
	s.frames = s.frames[:0]
	s.memory.empty()
	s.diskTier = diskTier{end: s.steps}
	if s.steps == 0 {
		s.phase = diskReturn
	}
}

func (s *TwoTier) Next() (Action, bool) {
	for {
		if s.phase != diskMemory {
			return s.nextDisk()
		}
		if a, ok := s.memory.Next(); ok {
			return a, true
		}
		s.end, s.phase = s.live, diskReturn
	}
}

// nextDisk returns the next action of the upper level. Where that is the reversal of the steps from live to end in memory, it starts
// the memory tier and returns its first action.
func (s *TwoTier) nextDisk() (Action, bool) {
	top := len(s.frames) - 1
	free := len(s.choice) - len(s.frames)
	switch s.phase {
	case diskArrive:
		if free > 0 && s.store[free-1][s.units(s.end-s.live)] {
			s.frames = append(s.frames, s.live)
			s.phase = diskSplit
			return Action{Save, int32(s.slots + top + 1), s.live, s.live}, true
		}
		s.phase = diskMemory
		s.memory.start(s.live, s.end)
		return s.memory.Next()
	case diskSplit:
		from := s.frames[top]
		s.live = from + s.unit*int(s.choice[free][s.units(s.end-from)])
		s.phase = diskArrive
		return Action{Advance, 0, from, s.live}, true
	}
	if top < 0 {
		return Action{}, false
	}
	from := s.frames[top]
	slot := int32(s.slots + top)
	if s.choice[free][s.units(s.end-from)] > 0 {
		s.phase = diskSplit
		return Action{Restore, slot, from, from}, true
	}
	s.frames = s.frames[:top]
	s.live = from
	s.phase = diskMemory
	s.memory.start(from, s.end)
	return Action{Move, slot, from, from}, true
}

// Predict returns the counts: those of the upper level, and for every reversal in memory those of [Revolve].
func (s *TwoTier) Predict() Counts {
	if s.steps == 0 {
		return Counts{}
	}
	walk := *s
	walk.frames = make([]int, 0, cap(s.frames))
	walk.memory = reverser{slots: s.memory.slots}
	walk.diskTier = diskTier{end: s.steps}
	c := Counts{Records: int64(s.steps), Reverses: int64(s.steps), PeakTapes: 1}
	var replays int64
	var upper profile // replays by the upper level
	upper.reset()
	for {
		a, ok := walk.nextDisk()
		if !ok {
			c.FirstPass = int64(s.steps - 1)
			c.LaterReplays = replays - c.FirstPass
			return c
		}
		switch {
		case a.Kind == Save && walk.phase == diskSplit:
			c.DiskWrites++
			c.PeakDisk = max(c.PeakDisk, len(walk.frames))
		case a.Kind == Restore, a.Kind == Move:
			c.DiskReads++
		case a.Kind == Advance:
			upper.add(a.From, a.To)
			replays += int64(a.To - a.From)
		}
		if walk.phase == diskMemory {
			leaf := revolveCounts(walk.end-walk.live, s.slots)
			replays += leaf.Replays()
			c.Writes += leaf.Writes
			c.Reads += leaf.Reads
			c.PeakSlots = max(c.PeakSlots, leaf.PeakSlots)
			c.MaxStepReplays = max(c.MaxStepReplays, upper.last(walk.live)+leaf.MaxStepReplays)
			upper.truncate(walk.live)
			walk.memory.empty()
			walk.end, walk.phase = walk.live, diskReturn
		}
	}
}
