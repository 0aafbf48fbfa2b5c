package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
	"github.com/lensir/lensir-study/studies"
)

// maxChecked bounds the points of a sweep that are checked before it starts.
const maxChecked = 10_000

// checkPoints holds the length and the controls of every point, and refuses a budget that works at none: one that works
// at some is a row of the others.
func (m *Model) checkPoints(chain *program.Chain) error {
	s := m.Study
	var lengths []int
	for i := range min(s.Sweep.Len(), maxChecked) {
		p := s.Point(i)
		steps, err := m.steps(p)
		if err != nil {
			return err
		}
		if slices.Contains(lengths, steps) {
			continue
		}
		lengths = append(lengths, steps)
		var refusal *graph.Failure // that of a point is a row of its own
		if _, err := m.controlValues(chain, p, steps); err != nil && !errors.As(err, &refusal) {
			return err
		}
	}
	if s.Chain.Until.Text != "" || s.Sweep.Len() > maxChecked {
		return nil // a chain may end early, and a point that is not looked at may be short
	}
	if err := checkBudgets(s, lengths); err != nil {
		return err
	}
	return checkMemory(s, chain, lengths)
}

// checkBudgets refuses a pair of slots and replays that is enough for no length.
func checkBudgets(s *studies.Study, lengths []int) error {
	for _, t := range trials(s.Chain.Schedule) {
		var first *schedule.InfeasibleError
		works := slices.ContainsFunc(lengths, func(steps int) bool {
			_, err := t.schedule(steps)
			var infeasible *schedule.InfeasibleError
			if errors.As(err, &infeasible) && first == nil {
				first = infeasible
			}
			return !errors.As(err, &infeasible)
		})
		if !works {
			return s.Chain.Schedule.BudgetsPlace.Errorf("schedule.budgets", "the budget can never work: %s", first).WithHint("without budgets, the least that is enough is taken")
		}
	}
	return nil
}

// checkMemory refuses bytes that are enough for no length, and names the least that would be.
func checkMemory(s *studies.Study, chain *program.Chain, lengths []int) error {
	memory := s.Chain.Schedule.Memory
	if memory == 0 {
		return nil
	}
	least := int64(math.MaxInt64)
	for _, steps := range lengths {
		need, err := leastMemory(chain, steps)
		if err != nil {
			return err
		}
		if least = min(least, need); least <= memory {
			return nil
		}
	}
	state, tape, _ := chain.Sizes(slices.Min(lengths))
	return s.Chain.Schedule.MemoryPlace.Errorf("schedule.memory", "the memory of %d bytes can never work: a state has %d bytes and a tape %d", memory, 8*state, 8*tape).
		WithHint("the least that works is %d bytes: snapshots, tapes and buffers", least)
}

// leastMemory returns the fewest bytes with which T steps have two references and a schedule to choose. The gradient alone
// counts: without the memory for a Hessian, a point keeps its gradient.
func leastMemory(chain *program.Chain, steps int) (int64, error) {
	state, first, last := chain.Sizes(steps)
	list, err := referenceSchedules(steps)
	if err != nil {
		return 0, err
	}
	var needs []int64
	for _, r := range list {
		needs = append(needs, need(r, state, first))
	}
	slices.Sort(needs)
	least := needs[1]
	_, _, err = schedule.Plan(steps, schedule.Costs{StateBytes: 8 * int64(state), TapeBytes: 8 * int64(max(first, last))}, 0, 0)
	var nothing *schedule.BudgetError
	switch {
	case errors.As(err, &nothing):
		least = max(least, nothing.Least.Bytes.Total())
	case err != nil:
		return 0, fmt.Errorf("the least memory of %d steps: %w", steps, err)
	}
	return least, nil
}

// referenceSchedules lists the schedules that can be a reference, from the one of the fewest replays to that of the fewest bytes.
func referenceSchedules(steps int) ([]schedule.Schedule, error) {
	all, err := schedule.NewStoreAll(steps)
	if err != nil {
		return nil, err
	}
	tape, err := schedule.NewUniformTape(steps, max(1, int(math.Sqrt(float64(steps)))))
	if err != nil {
		return nil, err
	}
	list := []schedule.Schedule{all, tape}
	for slots := 20; slots > 0; slots -= 3 { // the last of 2 slots
		optimal, err := schedule.NewRevolve(steps, slots)
		if err != nil {
			return nil, err
		}
		list = append(list, optimal)
	}
	return list, nil
}

// need returns the bytes of snapshots and tapes of a schedule, whose length an online one does not know.
func need(s schedule.Schedule, state, tape int) int64 {
	counts := s.Predict()
	if s.Limits().Slots > 0 {
		counts.PeakSlots = max(counts.PeakSlots, min(s.Limits().Slots, s.Steps()))
	}
	if s.Steps() == 0 {
		return 0
	}
	return 8 * (int64(counts.PeakSlots)*int64(state) + int64(counts.PeakTapes)*int64(tape))
}
