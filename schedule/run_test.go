package schedule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// grid is pairs of T and d with the edge cases: T = 0 and 1, d ≥ T, capacities and their neighbours.
var grid = [][2]int{
	{0, 1}, {1, 1}, {2, 1}, {3, 1}, {9, 1}, {2, 2}, {7, 2}, {5, 3}, {3, 9}, {10, 10}, {11, 10}, {12, 10}, {35, 3}, {36, 3},
	{56, 5}, {57, 5}, {100, 4}, {100, 10}, {121, 20},
}

// TestEverySchedule holds every method to the bits of the uncheckpointed sweep, on three chains: with poisoned buffers and full
// replay fidelity, and without instruments.
func TestEverySchedule(t *testing.T) {
	for _, g := range grid {
		steps, slots := g[0], g[1]
		t.Run(fmt.Sprintf("T=%d,d=%d", steps, slots), func(t *testing.T) {
			type full struct {
				outcome
				parameters []float64
			}
			run := map[string]func(Schedule, Settings) full{
				"logistic": func(s Schedule, settings Settings) full {
					c := newLogistic(steps)
					o := execute(t, c, s, steps, []float64{0.3}, settings)
					for i, j := range c.reversed {
						if j != steps-i {
							t.Fatalf("%s reverses in the order %v", s.Name(), c.reversed)
						}
					}
					return full{o, append(slices.Clone(c.uBar), c.rBar)}
				},
				"lorenz": func(s Schedule, settings Settings) full {
					c := newLorenz()
					o := execute(t, c, s, steps, []float64{1, 1, 1}, settings)
					return full{o, c.pBar[:]}
				},
				"growing": func(s Schedule, settings Settings) full {
					return full{execute(t, growing{steps}, s, steps, []float64{0.5}, settings), nil}
				},
			}
			for name, f := range run {
				var want full
				for i, s := range every(t, steps, slots) {
					if o, ok := s.(*Online); ok && name == "growing" && o.limit != steps {
						continue // its last state has another length, so T must be the limit
					}
					for _, settings := range []Settings{checked, {}} {
						got := f(s, settings)
						if i == 0 && settings == checked {
							want = got
						}
						same(t, s.Name()+" value", got.value, want.value)
						same(t, s.Name()+" gradient", got.gradient, want.gradient)
						same(t, s.Name()+" parameters", got.parameters, want.parameters)
					}
				}
			}
		})
	}
}

func TestEveryScheduleRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.IntRange(0, 150).Draw(r, "steps")
		slots := rapid.IntRange(1, 12).Draw(r, "slots")
		all := every(t, steps, slots)
		want := execute(t, newLogistic(steps), all[0], steps, []float64{0.4}, checked)
		got := execute(t, newLogistic(steps), rapid.SampledFrom(all[1:]).Draw(r, "schedule"), steps, []float64{0.4}, checked)
		same(t, "value", got.value, want.value)
		same(t, "gradient", got.gradient, want.gradient)
	})
}

// TestLorenzReference compares with references of thirty digits, and in TestLorenzTaylor with the primal map itself.
func TestLorenzReference(t *testing.T) {
	for _, ref := range []struct {
		steps  int
		digits float64
		want   [7]float64
	}{
		{1000, 1e-12, [7]float64{11.6267215298242370, 1.55040843235375887, 1.22367243378050860, 0.233358901780815058,
			-1.01205286448920941, 1.06926844176638889, 7.93013957995466239}},
		{10000, 1e-11, [7]float64{16.0442976242910789, -1.28492313222248913, -1.33443468865581407, 8.21017006852853923,
			-7.95090320707776961, -10.9482959130135986, -39.0863748596383397}},
	} {
		for _, s := range every(t, ref.steps, 12) {
			if s.Name() == "uniform" && ref.steps > 1000 {
				s, _ = NewUniform(ref.steps, 200)
			}
			c := newLorenz()
			o := execute(t, c, s, ref.steps, []float64{1, 1, 1}, checked)
			got := append([]float64{o.value[0] + o.value[1] + o.value[2]}, append(o.gradient, c.pBar[:]...)...)
			for i, want := range ref.want {
				if math.Abs(got[i]-want) > ref.digits*math.Abs(want) {
					t.Errorf("%s T=%d entry %d: %.17g, want %.17g", s.Name(), ref.steps, i, got[i], want)
				}
			}
		}
	}
}

// TestLorenzTaylor: the remainder of the first-order expansion falls with the square of the step.
func TestLorenzTaylor(t *testing.T) {
	const steps = 300
	at := func(h float64) float64 {
		c := newLorenz()
		x, next := []float64{1 + h, 1 - 2*h, 1 + h/2}, make([]float64, 3)
		c.p[1] += 3 * h
		for j := 1; j <= steps; j++ {
			c.Advance(j, x, next)
			x, next = next, x
		}
		return x[0] + x[1] + x[2]
	}
	c := newLorenz()
	s, _ := NewRevolve(steps, 4)
	o := execute(t, c, s, steps, []float64{1, 1, 1}, checked)
	slope := o.gradient[0] - 2*o.gradient[1] + o.gradient[2]/2 + 3*c.pBar[1]
	remainder := func(h float64) float64 { return math.Abs(at(h) - at(0) - h*slope) }
	for _, h := range []float64{1e-2, 1e-3, 1e-4} {
		order := math.Log10(remainder(h) / remainder(h/10))
		if order < 1.9 || order > 2.1 {
			t.Errorf("h = %g: order %.3f", h, order)
		}
	}
}

func TestNoSteps(t *testing.T) {
	for _, s := range every(t, 0, 3) {
		if s.Steps() != 0 {
			continue
		}
		var until func(int, []float64) (bool, error)
		if s.Name() == "online" {
			until = func(int, []float64) (bool, error) { return false, nil }
		}
		settings := Settings{Store: damaged{}}
		r, err := NewRunner(newLorenz(), s, settings)
		if err != nil {
			t.Fatal(err)
		}
		value, gradient := make([]float64, 3), make([]float64, 3)
		sweep := Sweep{Start: []float64{1, 2, 3}, Cotangent: []float64{4, 5, 6}, Until: until, Value: value, Gradient: gradient}
		res, err := r.Run(context.Background(), sweep)
		if err != nil {
			t.Fatal(err)
		}
		same(t, s.Name(), value, []float64{1, 2, 3})
		same(t, s.Name(), gradient, []float64{4, 5, 6})
		if res.Counts != (Counts{}) {
			t.Errorf("%s: %+v", s.Name(), res.Counts)
		}
	}
}

func TestOnlineEnds(t *testing.T) {
	run := func(limit int, threshold float64) (Result, *Online, []float64) {
		s, err := NewOnline(limit, 4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(s, 3); err != nil { // whatever the schedule did before
			t.Fatal(err)
		}
		r, err := NewRunner(halving{}, s, Settings{Fidelity: 1, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		gradient := []float64{0}
		res, err := r.Run(context.Background(), Sweep{
			Start: []float64{1}, Gradient: gradient,
			Seed:  func(x, cotangent []float64) error { cotangent[0] = 2 * x[0]; return nil }, // of x²
			Until: func(_ int, x []float64) (bool, error) { return x[0] <= threshold, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := Certify(s, res).Check(); err != nil {
			t.Fatal(err)
		}
		return res, s, gradient
	}
	for _, T := range []int{0, 1, 2, 3, 17, 40} {
		res, s, gradient := run(40, math.Ldexp(1, -T))
		if res.Steps != T || !res.Ended || gradient[0] != math.Ldexp(2, -2*T) {
			t.Errorf("T = %d: %+v, gradient %g", T, res, gradient[0])
		}
		if got, best := s.Regret(); got != res.Counts.Replays() || best != Optimal(T, 4) || got < best {
			t.Errorf("T = %d: regret %d over %d", T, got, best)
		}
	}
	if res, _, _ := run(40, 0); res.Steps != 40 || res.Ended {
		t.Errorf("at the limit: %+v", res)
	}
}

// halving is x_j = x_{j−1}/2, with exact derivatives.
type halving struct{}

func (halving) StateLen(int) int                                { return 1 }
func (halving) TapeLen(int) int                                 { return 0 }
func (halving) Advance(_ int, x, next []float64) error          { next[0] = x[0] / 2; return nil }
func (h halving) Record(j int, x, next, _ []float64) error      { return h.Advance(j, x, next) }
func (halving) Reverse(_ int, _, after, before []float64) error { before[0] = after[0] / 2; return nil }

// TestRegretBounds states how far the online method is from an optimum that knows T.
func TestRegretBounds(t *testing.T) {
	for _, slots := range []int{2, 3, 5, 10, 20} {
		worst, sum, n := 0.0, 0.0, 0.0
		for steps := 2; steps <= 1000; steps += 7 {
			s, _ := NewOnline(steps, slots)
			if _, err := Verify(s, steps); err != nil {
				t.Fatal(err)
			}
			got, best := s.Regret()
			ratio := float64(got-1) / float64(best) // one replay more is the price of not knowing T
			worst, sum, n = max(worst, ratio), sum+ratio, n+1
		}
		t.Logf("d = %d: mean %.3f, worst %.3f", slots, sum/n, worst)
		if worst > 1.5 || sum/n > 1.12 {
			t.Errorf("d = %d: mean %.3f, worst %.3f", slots, sum/n, worst)
		}
	}
}

// faulty is a logistic chain with one fault.
type faulty struct {
	*logistic
	advance, record, reverse int // the step that fails
	forget                   int // the step whose replays differ: its result depends on how often it was called
	calls                    int
}

var errFault = errors.New("outside the domain")

func (c *faulty) Advance(j int, x, next []float64) error {
	if j == c.advance {
		return errFault
	}
	err := c.logistic.Advance(j, x, next)
	if j == c.forget {
		c.calls++
		next[0] += float64(c.calls) * 0x1p-40
	}
	return err
}

func (c *faulty) Record(j int, x, next, tape []float64) error {
	if j == c.record {
		return errFault
	}
	tape[0] = x[0]
	return c.Advance(j, x, next)
}

func (c *faulty) Reverse(j int, tape, after, before []float64) error {
	if j == c.reverse {
		return errFault
	}
	return c.logistic.Reverse(j, tape, after, before)
}

func runOn(chain Chain, s Schedule, settings Settings) (Result, error) {
	r, err := NewRunner(chain, s, settings)
	if err != nil {
		return Result{}, err
	}
	return r.Run(context.Background(), Sweep{Start: []float64{0.3}, Cotangent: []float64{1}, Gradient: make([]float64, 1)})
}

func TestStepErrorsNameTheStep(t *testing.T) {
	for _, call := range []string{"advance", "record", "reverse"} {
		c := &faulty{logistic: newLogistic(50)}
		switch call {
		case "advance":
			c.advance = 17
		case "record":
			c.record = 17
		case "reverse":
			c.reverse = 17
		}
		s, _ := NewRevolve(50, 4)
		_, err := runOn(c, s, Settings{})
		var step *StepError
		if !errors.As(err, &step) || !errors.Is(err, errFault) || step.Step != 17 || step.Call != call {
			t.Errorf("%s: %v", call, err)
		}
		if !strings.Contains(err.Error(), "step 17") {
			t.Errorf("%q does not name its step", err)
		}
	}
}

func TestReplaysThatDifferAreFound(t *testing.T) {
	for _, build := range []func() (Schedule, error){
		func() (Schedule, error) { return NewUniform(50, 5) },
		func() (Schedule, error) { return NewBinomial(50, 4, -1) },
		func() (Schedule, error) { return NewRevolve(50, 4) },
	} {
		s, err := build()
		if err != nil {
			t.Fatal(err)
		}
		_, err = runOn(&faulty{logistic: newLogistic(50), forget: 17}, s, Settings{Fidelity: 1})
		var f *FidelityError
		if !errors.As(err, &f) || f.State != 17 {
			t.Errorf("%s: %v", s.Name(), err)
		}
		// A sample finds it at the next state that it holds.
		_, err = runOn(&faulty{logistic: newLogistic(50), forget: 17}, s, Settings{Fidelity: 3})
		if !errors.As(err, &f) || f.State%3 != 0 {
			t.Errorf("%s: sampled: %v", s.Name(), err)
		}
		if _, err := runOn(&faulty{logistic: newLogistic(50), forget: 17}, s, Settings{}); err != nil {
			t.Errorf("%s: off: %v", s.Name(), err)
		}
		if _, err := runOn(newLogistic(50), s, Settings{Fidelity: 1}); err != nil {
			t.Errorf("%s: deterministic: %v", s.Name(), err)
		}
	}
}

func TestCancellation(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	s, _ := NewStoreAll(1000)
	c := &cancelling{halving{}, 400, cancel, cause}
	r, err := NewRunner(c, s, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(ctx, Sweep{Start: []float64{1}, Cotangent: []float64{1}, Gradient: make([]float64, 1)})
	if !errors.Is(err, cause) || res.Counts.Records < 400 || res.Counts.Records == 1000 {
		t.Errorf("%v after %d records", err, res.Counts.Records)
	}
	// A context that is done already runs no step.
	res, err = r.Run(ctx, Sweep{Start: []float64{1}, Cotangent: []float64{1}, Gradient: make([]float64, 1)})
	if !errors.Is(err, cause) || res.Counts.Records != 0 {
		t.Errorf("%v after %d records", err, res.Counts.Records)
	}
	// And the same runner still works.
	c.cause = nil
	gradient := make([]float64, 1)
	if _, err = r.Run(context.Background(), Sweep{Start: []float64{1}, Cotangent: []float64{1}, Gradient: gradient}); err != nil || gradient[0] != math.Ldexp(1, -1000) {
		t.Errorf("%v, gradient %g", err, gradient)
	}
}

type cancelling struct {
	halving
	step   int
	cancel context.CancelCauseFunc
	cause  error
}

// TestCancellationInAReplay ends a run within one long advance.
func TestCancellationInAReplay(t *testing.T) {
	for _, settings := range []Settings{{}, {Fidelity: 1, Poison: true}} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cause := errors.New("enough")
		s, _ := NewRevolve(1000, 1)
		r, err := NewRunner(&slow{cancelling{halving{}, 400, cancel, cause}}, s, settings)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(ctx, Sweep{Start: []float64{1}, Cotangent: []float64{1}, Gradient: make([]float64, 1)})
		if !errors.Is(err, cause) || res.Counts.Records != 0 || res.Counts.Writes != 1 {
			t.Errorf("%v after %+v", err, res.Counts)
		}
	}
}

// slow cancels in Advance instead of Record.
type slow struct{ cancelling }

func (c *slow) Advance(j int, x, next []float64) error { return c.Record(j, x, next, nil) }

func (c *cancelling) Record(j int, x, next, tape []float64) error {
	if j == c.step {
		c.cancel(c.cause)
	}
	if j >= c.step && c.cause != nil {
		time.Sleep(time.Millisecond) // the runner hears of it through another goroutine
	}
	return c.halving.Record(j, x, next, tape)
}

func TestSweepsThatDoNotFit(t *testing.T) {
	s, _ := NewRevolve(5, 2)
	ok := Sweep{Start: []float64{0.3}, Cotangent: []float64{1}, Gradient: make([]float64, 1)}
	for name, change := range map[string]func(*Sweep){
		"start":     func(s *Sweep) { s.Start = nil },
		"gradient":  func(s *Sweep) { s.Gradient = make([]float64, 2) },
		"value":     func(s *Sweep) { s.Value = make([]float64, 2) },
		"cotangent": func(s *Sweep) { s.Cotangent = make([]float64, 2) },
		"no seed":   func(s *Sweep) { s.Cotangent = nil },
		"both":      func(s *Sweep) { s.Seed = func(_, _ []float64) error { return nil } },
		"until":     func(s *Sweep) { s.Until = func(int, []float64) (bool, error) { return true, nil } },
	} {
		r, err := NewRunner(newLogistic(5), s, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		sweep := ok
		change(&sweep)
		if _, err := r.Run(context.Background(), sweep); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	two, _ := NewTwoTier(5, 1, 1, Costs{Advance: 1})
	if _, err := NewRunner(newLogistic(5), two, Settings{}); !errors.Is(err, ErrInput) {
		t.Errorf("no store: %v", err)
	}
}

// TestCallbackErrors: what the caller's functions say comes back with its step.
func TestCallbackErrors(t *testing.T) {
	s, _ := NewOnline(9, 2)
	for call, sweep := range map[string]Sweep{
		"until": {Until: func(j int, _ []float64) (bool, error) {
			if j == 4 {
				return false, errFault
			}
			return false, nil
		}},
		"seed": {Until: func(j int, _ []float64) (bool, error) { return j == 4, nil }},
	} {
		r, err := NewRunner(newLogistic(9), s, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		sweep.Start, sweep.Gradient = []float64{0.3}, make([]float64, 1)
		sweep.Seed = func(_, _ []float64) error { return errFault }
		var step *StepError
		if _, err := r.Run(context.Background(), sweep); !errors.As(err, &step) || !errors.Is(err, errFault) || step.Step != 4 || step.Call != call {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestSameBits(t *testing.T) {
	nan, zero := math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		a, b  []float64
		entry int
		same  bool
	}{
		{nil, nil, 0, true},
		{[]float64{1, nan}, []float64{1, nan}, 2, true},
		{[]float64{1, 0}, []float64{1, zero}, 1, false},
		{[]float64{1, 2}, []float64{1}, 1, false},
	} {
		if i, ok := SameBits(c.a, c.b); i != c.entry || ok != c.same {
			t.Errorf("%v and %v: %d, %v", c.a, c.b, i, ok)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want any }{
		{Action{Save, 2, 7, 7}, "save x_7, slot 2"},
		{Action{Back, 0, 7, 7}, "back to x_7"},
		{Action{Record, 0, 2, 7}, "record 2→7"},
		{Kind(77), "Kind(77)"},
		{&ActionError{3, Action{Move, 1, 4, 4}, "slot does not hold this state"}, "schedule: action 3 (move x_4, slot 1): slot does not hold this state"},
		{&ActionError{3, Action{}, "the stream ends with the cotangent at x_1"}, "schedule: after 3 actions: the stream ends with the cotangent at x_1"},
		{&StepError{17, "record", errFault}, "schedule: step 17: record: outside the domain"},
		{Line{"reads", 3, 4, false}, "reads: 3 is not = 4"},
		{Line{"reads", 3, 4, true}, "reads: 3 ≤ 4"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if text := (&FidelityError{17, "restore"}).Error(); !strings.Contains(text, "x_17") || !strings.Contains(text, "restore") {
		t.Error(text)
	}
}

// script is a schedule that somebody wrote by hand.
type script struct {
	StoreAll
	actions []Action
	limits  Limits
	i       int
}

func (s *script) Limits() Limits  { return s.limits }
func (s *script) Predict() Counts { return Counts{PeakSlots: s.limits.Slots, PeakTapes: 2} }
func (s *script) Reset()          { s.i = 0 }
func (s *script) Next() (Action, bool) {
	if s.i == len(s.actions) {
		return Action{}, false
	}
	s.i++
	return s.actions[s.i-1], true
}

// TestBadSchedules: checker and runner both refuse every kind of broken stream.
func TestBadSchedules(t *testing.T) {
	good := []Action{
		{Save, 0, 0, 0}, {Advance, 0, 0, 2}, {RecordReverse, 0, 2, 3}, {Restore, 0, 0, 0}, {Advance, 0, 0, 1},
		{RecordReverse, 0, 1, 2}, {Move, 0, 0, 0}, {RecordReverse, 0, 0, 1},
	}
	run := func(actions []Action) (error, error) {
		s := &script{StoreAll: StoreAll{steps: 3}, actions: actions, limits: Limits{Slots: 1, Budget: -1}}
		_, check := Verify(s, 3)
		_, err := runOn(newLogistic(3), s, Settings{})
		return check, err
	}
	if check, err := run(good); check != nil || err != nil {
		t.Fatalf("%v, %v", check, err)
	}
	edit := func(i int, a Action) []Action {
		b := slices.Clone(good)
		b[i] = a
		return b
	}
	for name, actions := range map[string][]Action{
		"wrong live state":   edit(1, Action{Advance, 0, 1, 2}),
		"wrong saved state":  edit(0, Action{Save, 0, 1, 1}),
		"missing slot":       edit(0, Action{Save, 1, 0, 0}),
		"negative slot":      edit(0, Action{Save, -1, 0, 0}),
		"empty slot":         edit(0, Action{Restore, 0, 0, 0}),
		"other state":        edit(3, Action{Restore, 0, 1, 1}),
		"full slot":          slices.Insert(slices.Clone(good), 1, Action{Save, 0, 0, 0}),
		"wrong order":        edit(1, Action{Advance, 0, 0, 1}),
		"step twice":         slices.Insert(slices.Clone(good), 6, Action{Restore, 0, 0, 0}, Action{Advance, 0, 0, 1}, Action{RecordReverse, 0, 1, 2}),
		"no tape":            edit(2, Action{Reverse, 0, 2, 3}),
		"consumed state":     slices.Delete(slices.Clone(good), 3, 4),
		"ends early":         good[:6],
		"unknown kind":       edit(1, Action{Kind(77), 0, 0, 2}),
		"back without cause": edit(3, Action{Back, 0, 0, 0}),
		"back after restore": slices.Insert(slices.Clone(good), 2, Action{Restore, 0, 0, 0}, Action{Back, 0, 1, 1}, Action{Advance, 0, 1, 2}),
		"middle step first": {
			{Save, 0, 0, 0}, {Advance, 0, 0, 1}, {RecordReverse, 0, 1, 2}, {Restore, 0, 0, 0}, {Advance, 0, 0, 2},
			{RecordReverse, 0, 2, 3}, {Move, 0, 0, 0}, {RecordReverse, 0, 0, 1},
		},
		"beyond the end":    slices.Insert(slices.Clone(good), 4, Action{Advance, 0, 0, 3}, Action{Restore, 0, 0, 0}),
		"too many tapes":    {{Record, 0, 0, 3}, {Reverse, 0, 1, 3}},
		"backwards":         edit(4, Action{Advance, 0, 0, -1}),
		"two steps at once": {{RecordReverse, 0, 0, 3}},
	} {
		check, err := run(actions)
		var action *ActionError
		if !errors.As(check, &action) {
			t.Errorf("%s: the checker says %v", name, check)
		}
		if !errors.As(err, &action) {
			t.Errorf("%s: the runner says %v", name, err)
		}
	}
	// Only the checker asks that nothing is left over.
	if check, err := run(edit(6, Action{Restore, 0, 0, 0})); check == nil || err != nil {
		t.Errorf("a snapshot that is never freed: %v, %v", check, err)
	}
}

// TestTapesBelow: a tape that is kept while a later step is recorded and reversed at once counts in the peaks.
func TestTapesBelow(t *testing.T) {
	s := &script{StoreAll: StoreAll{steps: 4}, limits: Limits{Slots: 2, Budget: -1}, actions: []Action{
		{Save, 0, 0, 0}, {Advance, 0, 0, 3}, {RecordReverse, 0, 3, 4}, {Move, 0, 0, 0}, {Record, 0, 0, 1}, {Save, 1, 1, 1},
		{Advance, 0, 1, 2}, {RecordReverse, 0, 2, 3}, {Move, 1, 1, 1}, {RecordReverse, 0, 1, 2}, {Reverse, 0, 0, 1},
	}}
	want, err := Verify(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, settings := range []Settings{checked, {}} {
		res, err := runOn(newLogistic(4), s, settings)
		if err != nil || res.Counts != want || want.PeakTapes != 2 || res.Bytes.Snapshots+res.Bytes.Tape != 8+16 {
			t.Errorf("counted %+v, %+v, walked %+v; %v", res.Counts, res.Bytes, want, err)
		}
	}
}

// TestRunnerAgain: a second run knows nothing of the first.
func TestRunnerAgain(t *testing.T) {
	s, _ := NewRevolve(30, 3)
	r, err := NewRunner(newLorenz(), s, checked)
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range [][]float64{{1, 1, 1}, {2, 1, 1}, {1, 1, 1}} {
		gradient := make([]float64, 3)
		res, err := r.Run(context.Background(), Sweep{Start: start, Cotangent: []float64{1, 1, 1}, Gradient: gradient})
		if err != nil {
			t.Fatal(err)
		}
		if err := Certify(s, res).Check(); err != nil {
			t.Fatal(err)
		}
		same(t, "gradient", gradient, execute(t, newLorenz(), every(t, 30, 1)[0], 30, start, checked).gradient)
	}
}

// TestCertificateBites: a run that does other work than its schedule promises fails its certificate.
func TestCertificateBites(t *testing.T) {
	s, _ := NewRevolve(57, 5)
	good := execute(t, newLogistic(57), s, 57, []float64{0.3}, checked).result
	for name, change := range map[string]func(*Result){
		"first pass":               func(r *Result) { r.Counts.FirstPass++ },
		"later replays":            func(r *Result) { r.Counts.LaterReplays-- },
		"records":                  func(r *Result) { r.Counts.Records++ },
		"reverses":                 func(r *Result) { r.Counts.Reverses-- },
		"writes":                   func(r *Result) { r.Counts.Writes++ },
		"reads":                    func(r *Result) { r.Counts.Reads++ },
		"most replays of one step": func(r *Result) { r.Counts.MaxStepReplays++ },
		"most slots":               func(r *Result) { r.Counts.PeakSlots++ },
		"most tapes":               func(r *Result) { r.Counts.PeakTapes++ },
		"disk writes":              func(r *Result) { r.Counts.DiskWrites++ },
		"disk reads":               func(r *Result) { r.Counts.DiskReads++ },
		"most disk slots":          func(r *Result) { r.Counts.PeakDisk++ },
		"bytes of snapshots":       func(r *Result) { r.Bytes.Snapshots++ },
		"bytes of tape":            func(r *Result) { r.Bytes.Tape++ },
		"(d+1)·R_s + G":            func(r *Result) { r.Bytes.Work += 8 },
		"Ŵ + W̄ + tW":              func(r *Result) { r.Counts.LaterReplays += 1000 },
	} {
		r := good
		change(&r)
		if err := Certify(s, r).Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBytes works the theorem's storage out by hand for one run.
func TestBytes(t *testing.T) {
	s, _ := NewBinomial(100, 10, -1)
	got := execute(t, newLorenz(), s, 100, []float64{1, 1, 1}, checked).result.Bytes
	want := Bytes{
		Snapshots: 10 * 24, State: 24, Tape: 24, Cotangent: 2 * 24, Work: 24, Output: 24,
		Records: 10 * (4*8 + 32), // four integers a frame, one entry a slot
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	all, _ := NewStoreAll(100)
	if got := execute(t, newLorenz(), all, 100, []float64{1, 1, 1}, checked).result.Bytes; got.Tape != 2400 || got.Snapshots != 0 {
		t.Errorf("store-all: %+v", got)
	}
	// Lengths that change: the snapshots held weigh what they hold.
	u, _ := NewUniform(20, 4) // x_0, x_5, x_10, x_15
	c := growing{20}
	held := 8 * int64(c.StateLen(0)+c.StateLen(5)+c.StateLen(10)+c.StateLen(15))
	if got := execute(t, c, u, 20, []float64{0.5}, checked).result.Bytes.Snapshots; got != held {
		t.Errorf("growing: %d bytes of snapshots, want %d", got, held)
	}
}

func TestNoAllocationPerAction(t *testing.T) {
	for _, steps := range []int{100, 2000} {
		for _, s := range every(t, steps, 8) {
			settings := Settings{Fidelity: 1}
			if s.Limits().Disk > 0 {
				store, err := NewFileStore(t.TempDir(), 3)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				settings.Store = store
			}
			r, err := NewRunner(newLorenz(), s, settings)
			if err != nil {
				t.Fatal(err)
			}
			sweep := Sweep{Start: []float64{1, 1, 1}, Gradient: make([]float64, 3),
				Seed: func(_, cotangent []float64) error { fill(cotangent, 1); return nil }}
			if s.Name() == "online" {
				sweep.Until = func(j int, _ []float64) (bool, error) { return j == steps, nil }
			}
			n := testing.AllocsPerRun(3, func() {
				if _, err := r.Run(context.Background(), sweep); err != nil {
					t.Fatal(err)
				}
			})
			if n > 6 { // the context's callback and the sweep, whatever the number of actions
				t.Errorf("%s T=%d: %g allocations", s.Name(), steps, n)
			}
		}
	}
}
