package schedule

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var lorenzCosts = Costs{Advance: 20, Record: 25, Reverse: 60, Write: 5, Read: 4, DiskWrite: 4000, DiskRead: 2000, StateBytes: 24, TapeBytes: 24}

// TestPlanIsKept runs every candidate of a table and finds the bytes and the counts that the table predicts.
func TestPlanIsKept(t *testing.T) {
	const steps = 90
	table, best, err := Plan(steps, lorenzCosts, 1<<20, 2)
	if err != nil || best < 0 {
		t.Fatal(err)
	}
	methods := map[string]int{}
	for _, c := range table {
		methods[c.Method]++
		s, err := c.New(steps, lorenzCosts)
		if err != nil {
			t.Fatal(err)
		}
		got := execute(t, newLorenz(), s, steps, []float64{1, 1, 1}, checked).result
		if got.Counts != c.Counts {
			t.Fatalf("%s with %d slots: counted %+v, predicted %+v", c.Method, c.Slots, got.Counts, c.Counts)
		}
		// In blocks the most snapshots and the longest tape are not there at the same time; all else is exact.
		slack := int64(0)
		switch c.Method {
		case "uniform":
			slack = lorenzCosts.TapeBytes
		case "uniform-tape":
			slack = int64(c.Counts.PeakTapes) * lorenzCosts.TapeBytes
		}
		if d := c.Bytes.Total() - got.Bytes.Total(); d < 0 || d > slack {
			t.Fatalf("%s with %d slots: counted %+v, predicted %+v", c.Method, c.Slots, got.Bytes, c.Bytes)
		}
	}
	for _, m := range []string{"store-all", "uniform", "uniform-tape", "binomial", "revolve", "two-tier"} {
		if methods[m] == 0 {
			t.Errorf("no candidate of %s", m)
		}
	}
}

func TestPlanChooses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(0, 5000).Draw(t, "steps")
		cost := rapid.Float64Range(0.01, 100)
		k := Costs{
			Advance: cost.Draw(t, "advance"), Record: cost.Draw(t, "record"), Reverse: cost.Draw(t, "reverse"),
			Write: cost.Draw(t, "write"), Read: cost.Draw(t, "read"),
			StateBytes: 8 * rapid.Int64Range(1, 1000).Draw(t, "state"), TapeBytes: 8 * rapid.Int64Range(0, 4000).Draw(t, "tape"),
		}
		budget := int64(math.Exp(rapid.Float64Range(4, 20).Draw(t, "log budget")))
		table, best, err := Plan(steps, k, budget, 0)
		fits := func(c Candidate) bool { return c.Bytes.Total() <= budget }
		if err != nil {
			var b *BudgetError
			if !errors.As(err, &b) || slices.ContainsFunc(table, fits) || b.Least.Bytes.Total() <= budget {
				t.Fatalf("refused with %v", err)
			}
			if _, _, err := Plan(steps, k, b.Least.Bytes.Total(), 0); err != nil {
				t.Fatalf("the least budget is refused: %v", err)
			}
			if _, _, err := Plan(steps, k, b.Least.Bytes.Total()-1, 0); err == nil {
				t.Fatal("less than the least budget is accepted")
			}
			return
		}
		if !fits(table[best]) {
			t.Fatal("the choice does not fit")
		}
		for _, c := range table {
			if fits(c) != c.Fits || c.Fits && c.Time < table[best].Time {
				t.Fatalf("%+v is better than %+v", c, table[best])
			}
		}
		// No revolve with any other number of slots is faster: the ladder holds the largest one that fits, and with free
		// writes more slots are never slower.
		if k.Write = 0; steps > 1 {
			table, best, err := Plan(steps, k, budget, 0)
			if err != nil {
				t.Fatal(err)
			}
			for slots := 1; slots < steps; slots++ {
				s := &Revolve{steps: steps, slots: slots}
				z := sizes{state: int(k.StateBytes / 8), output: int(k.StateBytes / 8), tape: int(k.TapeBytes / 8), tapes: steps * int(k.TapeBytes/8)}
				bytes := z.need(slots, 0, 1, s.RecordBytes()).Total()
				if bytes <= budget && s.Predict().Time(k) < table[best].Time*(1-1e-12) {
					t.Fatalf("revolve with %d slots fits and is faster than %s with %d", slots, table[best].Method, table[best].Slots)
				}
			}
		}
	})
}

func TestPlanKnownChoices(t *testing.T) {
	choose := func(budget int64, k Costs, disk int) string {
		table, best, err := Plan(1000, k, budget, disk)
		if err != nil {
			t.Fatal(err)
		}
		return table[best].Method
	}
	big := Costs{Advance: 1, Record: 1.5, Reverse: 2, Write: 0.1, Read: 0.1, DiskWrite: 2, DiskRead: 1, StateBytes: 1 << 20, TapeBytes: 4 << 20}
	if got := choose(1<<40, big, 0); got != "store-all" {
		t.Errorf("with room for everything: %s", got)
	}
	if got := choose(40<<20, big, 0); got != "revolve" {
		t.Errorf("with room for 30 states and large tapes: %s", got)
	}
	if got := choose(13<<20, big, 100); got != "two-tier" {
		t.Errorf("with room for few states and a fast disk: %s", got)
	}
	small := big
	small.TapeBytes = 1 << 18
	if got := choose(80<<20, small, 0); got != "uniform-tape" {
		t.Errorf("with tapes much smaller than states: %s", got)
	}
	// The tables of a two-tier schedule are paid for from the same budget.
	tiny := lorenzCosts
	tiny.DiskWrite, tiny.DiskRead = 0.1, 0.1
	table, _, err := Plan(1000, tiny, 40_000, 3)
	if last := table[len(table)-1]; err != nil || last.Method != "two-tier" || !last.Fits || last.Bytes.Records < 15_000 {
		t.Errorf("tables beside slots: %+v, %v", last, err)
	} else if last.Bytes.Total() < 30_000 || table[len(table)-2].Method == "two-tier" {
		t.Errorf("slots are left out: %d bytes of 40,000, after %+v", last.Bytes.Total(), table[len(table)-2])
	}
	// The largest number of slots that fits is considered, on the ladder or not.
	for slots := 90; slots < 100; slots++ {
		table, best, err := Plan(1000, big, int64(slots+6+4)<<20-1, 0)
		if got := table[best]; err != nil || got.Method != "revolve" || got.Slots != slots {
			t.Errorf("%s with %d slots, %v; %d fit", got.Method, got.Slots, err, slots)
		}
	}
	_, _, err = Plan(1000, big, 5<<20, 0)
	if err == nil || !strings.Contains(err.Error(), "the least is") || !errors.Is(err, ErrInput) {
		t.Errorf("with too little room: %v", err)
	}
	if _, _, err := Plan(-1, big, 1, 0); !errors.Is(err, ErrInput) {
		t.Errorf("negative steps: %v", err)
	}
}

func TestPlanIsFast(t *testing.T) {
	fastest := math.Inf(1)
	for range 3 {
		fastest = min(fastest, seconds(func() {
			if _, _, err := Plan(1_000_000, lorenzCosts, 10_000, 0); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if fastest > 0.25 {
		t.Errorf("a plan for 10⁶ steps takes %.3f s", fastest)
	}
}
