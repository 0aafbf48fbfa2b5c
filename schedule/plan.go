package schedule

import (
	"fmt"
	"slices"
)

// Candidate is one schedule that [Plan] considered.
type Candidate struct {
	Method string
	Slots  int // d, or m for the uniform methods
	Disk   int
	Counts Counts  // predicted
	Bytes  Bytes   // predicted; never exceeded, and attained but for a tape or a block of tapes in the uniform methods
	Time   float64 // predicted, in the unit of the costs
	Fits   bool    // in the budget
}

// BudgetError reports a memory budget that no schedule fits.
type BudgetError struct {
	Budget int64
	Least  Candidate // the candidate of least bytes
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("schedule: no schedule fits %d bytes; the least is %d bytes, for %s with %d slots",
		e.Budget, e.Least.Bytes.Total(), e.Least.Method, e.Least.Slots)
}

// Unwrap returns [ErrInput].
func (e *BudgetError) Unwrap() error { return ErrInput }

// Plan predicts the time and the bytes of all methods (but [Online]) over a ladder of slots, for T = steps, and
// returns the table and the index of the candidate with the least predicted time that fits the budget of bytes; of equals, the
// first. A two-tier candidate is considered if disk > 0 disk slots are offered. It returns a [*BudgetError],
// with the table, if nothing fits.
//
// The ladder holds every number of slots up to 73, then steps of about a tenth, and always T and the largest number that fits.
func Plan(steps int, costs Costs, budget int64, disk int) (table []Candidate, best int, err error) {
	if err := checkSteps(steps); err != nil {
		return nil, 0, err
	}
	if costs.StateBytes < 0 || costs.TapeBytes < 0 || disk < 0 {
		return nil, 0, fmt.Errorf("%w: negative bytes or disk slots", ErrInput)
	}
	z := sizes{
		state: int(costs.StateBytes / 8), output: int(costs.StateBytes / 8),
		tape: int(costs.TapeBytes / 8), tapes: steps * int(costs.TapeBytes/8),
	}
	add := func(s Schedule) {
		c := Candidate{Method: s.Name(), Slots: s.Limits().Slots, Disk: s.Limits().Disk, Counts: s.Predict()}
		c.Bytes = z.need(c.Counts.PeakSlots, c.Counts.PeakDisk, c.Counts.PeakTapes, s.RecordBytes())
		c.Time = c.Counts.Time(costs)
		c.Fits = c.Bytes.Total() <= budget
		table = append(table, c)
	}
	must := func(s Schedule, err error) Schedule {
		if err != nil {
			panic(err) // the ladder holds feasible numbers only
		}
		return s
	}
	// The largest number of slots for which revolve fits.
	fits := int(max(0, budget-z.need(0, 0, 1, 0).Total()) /
		(costs.StateBytes + slotRecord + reverserBytes(1)))
	add(must(NewStoreAll(steps)))
	for _, slots := range ladder(steps, fits) {
		// The last two are not made, only asked: making them would reserve their frames.
		add(must(NewUniformTape(steps, slots)))
		add(must(NewUniform(steps, slots)))
		add(&Binomial{steps: steps, slots: slots, budget: LeastBudget(steps, slots)})
		add(&Revolve{steps: steps, slots: slots})
	}
	if disk > 0 {
		// The tables of the two-tier schedule take room that its slots must leave.
		for slots := min(fits, steps); slots > 0; {
			s, err := NewTwoTier(steps, slots, disk, costs)
			if err != nil {
				return nil, 0, err
			}
			add(s)
			over := table[len(table)-1].Bytes.Total() - budget
			if over <= 0 || slots == 1 {
				break
			}
			table = table[:len(table)-1]
			slots = max(1, slots-int(1+over/(costs.StateBytes+slotRecord)))
		}
	}

	best = -1
	least := 0
	for i, c := range table {
		if c.Bytes.Total() < table[least].Bytes.Total() {
			least = i
		}
		if c.Fits && (best < 0 || c.Time < table[best].Time) {
			best = i
		}
	}
	if best < 0 {
		return table, -1, &BudgetError{budget, table[least]}
	}
	return table, best, nil
}

// ladder returns numbers of slots from 1 to steps, ascending, with extra among them if it is in that range.
func ladder(steps, extra int) []int {
	var rungs []int
	for n := 1; n < steps; n += max(1, (n-54)/10) {
		rungs = append(rungs, n)
	}
	if steps > 0 {
		rungs = append(rungs, steps)
	}
	if extra > 0 && extra < steps {
		rungs = append(rungs, extra)
	}
	slices.Sort(rungs)
	return slices.Compact(rungs)
}

// New makes the schedule of a candidate.
func (c Candidate) New(steps int, costs Costs) (Schedule, error) {
	switch c.Method {
	case "store-all":
		return NewStoreAll(steps)
	case "uniform":
		return NewUniform(steps, c.Slots)
	case "uniform-tape":
		return NewUniformTape(steps, c.Slots)
	case "binomial":
		return NewBinomial(steps, c.Slots, -1)
	case "revolve":
		return NewRevolve(steps, c.Slots)
	case "two-tier":
		return NewTwoTier(steps, c.Slots, c.Disk, costs)
	}
	return nil, fmt.Errorf("%w: no method %q", ErrInput, c.Method)
}
