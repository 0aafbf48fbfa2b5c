package schedule

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// every returns one schedule of each method for T steps and d slots. A method that cannot have them is left out.
func every(tb testing.TB, steps, slots int) []Schedule {
	tb.Helper()
	var all []Schedule
	add := func(s Schedule, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatalf("T=%d d=%d: %v", steps, slots, err)
		}
		all = append(all, s)
	}
	add(NewStoreAll(steps))
	add(NewUniform(steps, slots))
	add(NewUniformTape(steps, slots))
	add(NewBinomial(steps, slots, -1))
	add(NewBinomial(steps, slots, LeastBudget(steps, slots)+3))
	add(NewRevolve(steps, slots))
	add(NewOnline(steps, slots))
	add(NewOnline(steps+5, slots))
	add(NewTwoTier(steps, slots, 3, Costs{Advance: 1, DiskWrite: 2, DiskRead: 1.5}))
	return all
}

// soundness verifies one schedule and compares the walk with the prediction and the limits.
func soundness(tb testing.TB, s Schedule, steps int) Counts {
	tb.Helper()
	got, err := Verify(s, steps)
	if err != nil {
		tb.Fatalf("%s T=%d %+v: %v", s.Name(), steps, s.Limits(), err)
	}
	if want := s.Predict(); got != want {
		tb.Fatalf("%s T=%d %+v: counts −predicted +walked:\n%s", s.Name(), steps, s.Limits(), cmp.Diff(want, got))
	}
	limits := s.Limits()
	if got.Records != int64(steps) || got.Reverses != int64(steps) || got.PeakSlots > limits.Slots || got.PeakDisk > limits.Disk {
		tb.Fatalf("%s T=%d %+v: %+v", s.Name(), steps, limits, got)
	}
	if t := limits.Budget; t >= 0 && limits.Slots > 0 && (got.MaxStepReplays > t || got.Replays() > int64(t)*int64(steps)) {
		tb.Fatalf("%s T=%d %+v: replays exceed the budget: %+v", s.Name(), steps, limits, got)
	}
	return got
}

// TestSound walks every method. Set SCHEDULE_FULL to walk all T ≤ 300 and d ≤ 20, and 10⁵ random large ones; the default is thinned.
func TestSound(t *testing.T) {
	full := os.Getenv("SCHEDULE_FULL") != ""
	for steps := 0; steps <= 300; steps++ {
		for slots := 1; slots <= 20; slots++ {
			if !full && steps > 40 && (steps*7+slots)%23 != 0 {
				continue
			}
			for _, s := range every(t, steps, slots) {
				got := soundness(t, s, steps)
				switch s.Name() {
				case "revolve":
					if got.Replays() != Optimal(steps, slots) || got.Writes != FewestWrites(steps, slots) {
						t.Fatalf("revolve T=%d d=%d: %+v", steps, slots, got)
					}
				case "online":
					if least := LeastBudget(steps, slots); got.MaxStepReplays > least+1 {
						t.Fatalf("online T=%d d=%d: a step is replayed %d times, t is %d", steps, slots, got.MaxStepReplays, least)
					}
				case "binomial":
					if steps > 1 && s.Limits().Budget == LeastBudget(steps, slots) && got.MaxStepReplays != s.Limits().Budget {
						t.Fatalf("binomial T=%d d=%d: %+v", steps, slots, got)
					}
				}
			}
		}
	}
	if full {
		r := lcg(1)
		for range 100_000 {
			steps := int(math.Exp(float64(r.unit()) * math.Log(3000)))
			slots := 1 + int(r.unit()*float64(min(60, steps)))
			// Few slots at large T make the uniform walk quadratic.
			if steps*steps/slots > 2_000_000 {
				slots = min(steps, 60)
			}
			all := every(t, steps, slots)
			soundness(t, all[int(r.unit()*float64(len(all)))], steps)
		}
	}
}

func TestSoundRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(0, 3000).Draw(t, "steps")
		slots := rapid.IntRange(5, 60).Draw(t, "slots")
		if steps > 0 {
			mustSound(t, steps, slots)
		}
	})
}

func mustSound(t *rapid.T, steps, slots int) {
	build := func(s Schedule, err error) {
		if err != nil {
			t.Fatal(err)
		}
		got, err := Verify(s, steps)
		if err != nil {
			t.Fatal(err)
		}
		if got != s.Predict() {
			t.Fatalf("%s T=%d %+v: %s", s.Name(), steps, s.Limits(), cmp.Diff(s.Predict(), got))
		}
	}
	build(NewRevolve(steps, slots))
	build(NewBinomial(steps, slots, LeastBudget(steps, slots)+rapid.IntRange(0, 5).Draw(t, "surplus")))
	build(NewOnline(steps+rapid.IntRange(0, 9).Draw(t, "room"), slots))
	build(NewUniformTape(steps, slots))
	cost := rapid.Float64Range(0, 30)
	if steps < 800 {
		build(NewTwoTier(steps, rapid.IntRange(1, 8).Draw(t, "memory"), rapid.IntRange(0, 6).Draw(t, "disk"),
			Costs{Advance: 1, DiskWrite: cost.Draw(t, "write"), DiskRead: cost.Draw(t, "read")}))
	}
}

// TestKnownCounts compares with counts that another implementation produced.
func TestKnownCounts(t *testing.T) {
	file, err := os.Open("testdata/counts.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 97 || strings.Join(rows[0], ",") != "d,T,t_min,replays_optimal,min_snapshot_writes,loads,replays_document_split" {
		t.Fatalf("%d rows under %v", len(rows), rows[0])
	}
	for _, row := range rows[1:] {
		var v [7]int
		for i, text := range row {
			if v[i], err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
		slots, steps := v[0], v[1]
		revolve, err := NewRevolve(steps, slots)
		if err != nil {
			t.Fatal(err)
		}
		binomial, err := NewBinomial(steps, slots, -1)
		if err != nil {
			t.Fatal(err)
		}
		r, b := revolve.Predict(), binomial.Predict()
		got := [7]int{slots, steps, LeastBudget(steps, slots), int(r.Replays()), int(r.Writes), int(r.Reads), int(b.Replays())}
		if got != v {
			t.Errorf("got %v, want %v", got, v)
		}
		if r.Replays() < 200_000 { // walk it too
			soundness(t, revolve, steps)
			soundness(t, binomial, steps)
		}
	}
}

// TestOptimalIsOptimal compares with p(n, d) = min over i of i + p(i, d) + p(n−i, d−1), and the fewest writes of the schedules
// that attain it.
func TestOptimalIsOptimal(t *testing.T) {
	const most = 120
	type cell struct{ replays, writes int64 }
	// held[d][n]: n steps from a snapshot that is held in one of d slots.
	held := make([][most + 1]cell, 13)
	live := func(d, n int) cell { // the same from a live state that is in no slot
		if n <= 1 {
			return cell{}
		}
		c := held[d][n]
		c.writes++
		return c
	}
	for d := 1; d < len(held); d++ {
		for n := 2; n <= most; n++ {
			best := cell{math.MaxInt64, 0}
			for i := 1; i < n; i++ {
				if n-i > 1 && d == 1 {
					continue
				}
				right := live(d-1, n-i)
				c := cell{int64(i) + held[d][i].replays + right.replays, held[d][i].writes + right.writes}
				if c.replays < best.replays || c.replays == best.replays && c.writes < best.writes {
					best = c
				}
			}
			held[d][n] = best
			want := live(d, n)
			if got := (cell{Optimal(n, d), FewestWrites(n, d)}); got != want {
				t.Fatalf("T=%d d=%d: got %v, want %v", n, d, got, want)
			}
		}
	}
}

// TestTwoTierIsOptimal compares with the cheapest of all hierarchical schedules, found by another recursion that lists every
// set of disk states, and shows that the tiers are used as the costs say.
func TestTwoTierIsOptimal(t *testing.T) {
	cost := func(s Schedule, k Costs) float64 {
		c := s.Predict()
		return Counts{FirstPass: c.FirstPass, LaterReplays: c.LaterReplays, DiskWrites: c.DiskWrites, DiskReads: c.DiskReads}.Time(k)
	}
	for _, k := range []Costs{{Advance: 1}, {Advance: 1, DiskWrite: 3, DiskRead: 2}, {Advance: 2, DiskWrite: 1, DiskRead: 9}, {Advance: 1, DiskWrite: 1e6, DiskRead: 1e6}} {
		for _, slots := range []int{1, 2, 4} {
			for disk := 0; disk <= 3; disk++ {
				for steps := 1; steps <= 60; steps++ {
					s, err := NewTwoTier(steps, slots, disk, k)
					if err != nil {
						t.Fatal(err)
					}
					want := bruteTwoTier(steps, slots, disk, k)
					if got := cost(s, k); math.Abs(got-want) > 1e-9*want {
						t.Fatalf("T=%d slots=%d disk=%d %+v: cost %g, want %g", steps, slots, disk, k, got, want)
					}
					if k.DiskWrite == 1e6 && s.Predict().DiskWrites != 0 {
						t.Fatalf("T=%d: writes to a disk that is too slow", steps)
					}
				}
			}
		}
	}
	// A free disk is as good as memory.
	s, _ := NewTwoTier(100, 1, 9, Costs{Advance: 1})
	if got, want := s.Predict().Replays(), Optimal(100, 10); got != want {
		t.Errorf("free disk: %d replays, want %d", got, want)
	}
}

// bruteTwoTier is the least cost of reversing from a live state, by memoised search over (steps, disk slots, start on disk).
func bruteTwoTier(steps, slots, disk int, k Costs) float64 {
	type state struct {
		n, k int
		held bool
	}
	memo := map[state]float64{}
	var solve func(s state) float64
	solve = func(s state) float64 {
		if v, ok := memo[s]; ok {
			return v
		}
		best := float64(Optimal(s.n, slots)) * k.Advance
		if !s.held && s.k > 0 {
			best = min(best, k.DiskWrite+solve(state{s.n, s.k, true}))
		}
		if s.held {
			for i := 1; i < s.n; i++ {
				best = min(best, float64(i)*k.Advance+solve(state{s.n - i, s.k - 1, false})+k.DiskRead+solve(state{i, s.k, true}))
			}
		}
		memo[s] = best
		return best
	}
	return solve(state{steps, disk, false})
}

func TestTwoTierInUnits(t *testing.T) {
	s, err := NewTwoTier(20_011, 3, 4, Costs{Advance: 1, DiskWrite: 5, DiskRead: 5})
	if err != nil {
		t.Fatal(err)
	}
	if s.unit < 2 {
		t.Fatalf("unit is %d", s.unit)
	}
	got := soundness(t, s, 20_011)
	if got.DiskWrites == 0 || got.Replays() >= Optimal(20_011, 3) {
		t.Errorf("%+v", got)
	}
}

func TestCapacity(t *testing.T) {
	table := map[[2]int]int{}
	for d := range 40 {
		for n := range 40 {
			want := 1
			if d > 0 && n > 0 {
				want = min(table[[2]int{d - 1, n}]+table[[2]int{d, n - 1}], MaxSteps)
			}
			table[[2]int{d, n}] = want
			for _, limit := range []int{0, 1, 7, 1000, MaxSteps} {
				if got := Capacity(d, n, limit); got != min(want, limit) {
					t.Fatalf("C(%d, %d) up to %d = %d, want %d", d, n, limit, got, min(want, limit))
				}
			}
		}
	}
	for _, d := range []int{1, 2, 31, 34, 1000, MaxSteps, math.MaxInt} {
		for _, n := range []int{1, 31, 34, 1000, MaxSteps, math.MaxInt} {
			got := Capacity(d, n, MaxSteps)
			if want := min(int64(min(d, MaxSteps))+1, MaxSteps); n == 1 && int64(got) != want || got < 2 {
				t.Errorf("C(%d, %d) = %d", d, n, got)
			}
		}
	}
	if Capacity(-1, 3, 10) != 0 || Capacity(3, -1, 10) != 0 {
		t.Error("negative budgets have a capacity")
	}
	for _, steps := range []int{1, 2, 3, 56, 57, 1000, 1_000_000, MaxSteps} {
		for _, d := range []int{1, 2, 3, 10, 100, 1 << 20} {
			n := LeastBudget(steps, d)
			if Capacity(d, n, steps) < steps || Capacity(d, n-1, steps) >= steps && n > 0 {
				t.Errorf("LeastBudget(%d, %d) = %d", steps, d, n)
			}
			if got := LeastSlots(steps, n); n > 0 && (got > d || Capacity(got, n, steps) < steps || Capacity(got-1, n, steps) >= steps) {
				t.Errorf("LeastSlots(%d, %d) = %d", steps, n, got)
			}
			if p := Optimal(steps, d); p < int64(steps-1) || p > int64(steps)*int64(steps-1)/2 {
				t.Errorf("Optimal(%d, %d) = %d", steps, d, p)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	costs := Costs{Advance: 1, DiskWrite: 1, DiskRead: 1}
	for _, c := range []struct {
		what  string
		build func() (Schedule, error)
		wants []string
	}{
		{"C too small", func() (Schedule, error) { return NewBinomial(1000, 3, 4) },
			[]string{"1000 steps", "C(3, 4) = 35", "least budget is t = 17", "least number of slots is d = 10"}},
		{"no slot", func() (Schedule, error) { return NewBinomial(2, 0, 5) }, []string{"C(0, 5) = 1", "d = 1"}},
		{"no replay", func() (Schedule, error) { return NewBinomial(3, 5, 0) }, []string{"C(5, 0) = 1", "t = 1"}},
		{"neither", func() (Schedule, error) { return NewBinomial(2, 0, 0) }, []string{"d ≥ 1 and t ≥ 1"}},
		{"negative slots", func() (Schedule, error) { return NewBinomial(1, -1, 3) }, nil},
		{"negative steps", func() (Schedule, error) { return NewBinomial(-1, 2, 2) }, []string{"-1 steps"}},
		{"negative steps", func() (Schedule, error) { return NewStoreAll(-1) }, []string{"-1 steps"}},
		{"too many steps", func() (Schedule, error) { return NewRevolve(MaxSteps+1, 3) }, []string{"2147483648 steps"}},
		{"too many slots", func() (Schedule, error) { return NewRevolve(3, MaxSteps+1) }, []string{"2147483648 slots"}},
		{"uniform", func() (Schedule, error) { return NewUniform(1, 0) }, []string{"at least 1 slot"}},
		{"uniform-tape", func() (Schedule, error) { return NewUniformTape(2, 0) }, []string{"at least 1"}},
		{"revolve", func() (Schedule, error) { return NewRevolve(2, 0) }, []string{"at least 1"}},
		{"online", func() (Schedule, error) { return NewOnline(2, 0) }, []string{"at least 1"}},
		{"disk", func() (Schedule, error) { return NewTwoTier(2, 1, -1, costs) }, []string{"-1 disk slots"}},
		{"costs", func() (Schedule, error) { return NewTwoTier(2, 1, 1, Costs{}) }, []string{"costs of a step"}},
		{"costs", func() (Schedule, error) { return NewTwoTier(2, 1, 1, Costs{Advance: 1, DiskRead: math.NaN()}) }, []string{"NaN"}},
	} {
		_, err := c.build()
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: got %v", c.what, err)
			continue
		}
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.what, err, want)
			}
		}
	}
	// What needs no slot has none.
	for _, steps := range []int{0, 1} {
		for _, build := range []func() (Schedule, error){
			func() (Schedule, error) { return NewBinomial(steps, 0, 0) },
			func() (Schedule, error) { return NewRevolve(steps, 0) },
			func() (Schedule, error) { return NewUniformTape(steps, 0) },
			func() (Schedule, error) { return NewOnline(steps, 0) },
			func() (Schedule, error) { return NewTwoTier(steps, 0, 2, costs) },
		} {
			s, err := build()
			if err != nil {
				t.Fatal(err)
			}
			soundness(t, s, steps)
		}
	}
}

func TestPlansStartFast(t *testing.T) {
	for _, slots := range []int{1, 2, 20, 1000, 1_000_000} {
		for name, build := range map[string]func() (Schedule, error){
			"uniform":      func() (Schedule, error) { return NewUniform(1_000_000, slots) },
			"uniform-tape": func() (Schedule, error) { return NewUniformTape(1_000_000, slots) },
			"binomial":     func() (Schedule, error) { return NewBinomial(1_000_000, slots, -1) },
			"revolve":      func() (Schedule, error) { return NewRevolve(1_000_000, slots) },
			"online":       func() (Schedule, error) { return NewOnline(1_000_000, slots) },
			"store-all":    func() (Schedule, error) { return NewStoreAll(1_000_000) },
		} {
			fastest := math.Inf(1)
			for range 5 {
				fastest = min(fastest, seconds(func() {
					s, err := build()
					if err != nil {
						t.Fatal(err)
					}
					s.Predict()
					s.Next()
				}))
			}
			if fastest > 0.010 {
				t.Errorf("%s with %d slots takes %.1f ms to start", name, slots, fastest*1e3)
			}
		}
	}
}
