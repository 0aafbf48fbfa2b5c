package schedule

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// nothing is a chain whose steps cost nothing.
type nothing struct{}

func (nothing) StateLen(int) int                                   { return 1 }
func (nothing) TapeLen(int) int                                    { return 0 }
func (nothing) Advance(int, []float64, []float64) error            { return nil }
func (nothing) Record(int, []float64, []float64, []float64) error  { return nil }
func (nothing) Reverse(int, []float64, []float64, []float64) error { return nil }

// BenchmarkRunnerOverhead reverses empty steps. ns/action is the time of the fastest run over the number of actions, where an action
// that goes over several steps counts once for each, and record-and-reverse twice. (The fastest, because other work on the machine
// only ever adds time.)
func BenchmarkRunnerOverhead(b *testing.B) {
	const steps, slots = 20_000, 20
	store, _ := NewStoreAll(steps)
	uniform, _ := NewUniform(steps, 1000)
	tape, _ := NewUniformTape(steps, 150)
	binomial, _ := NewBinomial(steps, slots, -1)
	revolve, _ := NewRevolve(steps, slots)
	online, _ := NewOnline(steps, slots)
	for _, s := range []Schedule{store, uniform, tape, binomial, revolve, online} {
		b.Run(s.Name(), func(b *testing.B) {
			r, err := NewRunner(nothing{}, s, Settings{})
			if err != nil {
				b.Fatal(err)
			}
			sweep := Sweep{Start: []float64{1}, Gradient: []float64{0}, Seed: func(_, _ []float64) error { return nil }}
			if s == Schedule(online) {
				sweep.Until = func(int, []float64) (bool, error) { return false, nil }
			}
			b.ReportAllocs()
			actions := 0
			s.Reset()
			for a, ok := s.Next(); ok; a, ok = s.Next() {
				switch a.Kind {
				case Advance, Record, Reverse:
					actions += a.To - a.From
				case RecordReverse:
					actions += 2
				default:
					actions++
				}
			}
			fastest := math.Inf(1)
			for b.Loop() {
				fastest = min(fastest, seconds(func() {
					if _, err := r.Run(context.Background(), sweep); err != nil {
						b.Fatal(err)
					}
				}))
			}
			b.ReportMetric(fastest*1e9/float64(actions), "ns/action")
		})
	}
}

// BenchmarkStream makes the actions of a schedule without executing them.
func BenchmarkStream(b *testing.B) {
	binomial, _ := NewBinomial(1_000_000, 20, -1)
	revolve, _ := NewRevolve(1_000_000, 20)
	for _, s := range []Schedule{binomial, revolve} {
		b.Run(s.Name(), func(b *testing.B) {
			b.ReportAllocs()
			actions := 0
			for b.Loop() {
				s.Reset()
				for _, ok := s.Next(); ok; _, ok = s.Next() {
					actions++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(actions), "ns/action")
		})
	}
}

// BenchmarkLorenz reverses Lorenz-63 with 20 snapshots and reports the fastest time over that of its bare parts: the replays as a
// plain loop of steps, and T bare records and reverses.
func BenchmarkLorenz(b *testing.B) {
	for _, steps := range []int{2000, 20_000, 1_000_000} {
		b.Run(fmt.Sprintf("T=%d", steps), func(b *testing.B) { benchmarkLorenz(b, steps) })
	}
}

func benchmarkLorenz(b *testing.B, steps int) {
	s, _ := NewRevolve(steps, 20)
	c := newLorenz()
	c.dt = 1e-5
	r, err := NewRunner(c, s, Settings{})
	if err != nil {
		b.Fatal(err)
	}
	sweep := Sweep{Start: []float64{1, 1, 1}, Cotangent: []float64{1, 1, 1}, Gradient: make([]float64, 3)}
	whole, step, pair := math.Inf(1), math.Inf(1), math.Inf(1)
	for b.Loop() {
		whole = min(whole, seconds(func() {
			if _, err := r.Run(context.Background(), sweep); err != nil {
				b.Fatal(err)
			}
		}))
		step = min(step, seconds(func() {
			x, next := []float64{1, 1, 1}, make([]float64, 3)
			for j := 1; j <= steps; j++ {
				c.Advance(j, x, next)
				x, next = next, x
			}
		}))
		pair = min(pair, seconds(func() {
			x, next, tape := []float64{1, 1, 1}, make([]float64, 3), make([]float64, 3)
			after, before := []float64{1, 1, 1}, make([]float64, 3)
			for j := steps; j > 0; j-- {
				c.Record(j, x, next, tape)
				c.Reverse(j, tape, after, before)
				after, before = before, after
			}
		}))
	}
	step, pair = step/float64(steps), pair/float64(steps)
	replays := float64(s.Predict().Replays()) / float64(steps)
	b.ReportMetric(whole/float64(steps)/(replays*step+pair), "whole/parts")
	b.ReportMetric(step*1e9, "ns/step")
	b.ReportMetric(pair*1e9, "ns/record+reverse")
}
