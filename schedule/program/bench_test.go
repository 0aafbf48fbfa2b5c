//go:build unix

package program_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// BenchmarkLorenz63 reverses T steps with d = 20 snapshots. overhead is the time over replays·(bare step) + T·(bare record-and-reverse), all
// medians of processor time in the same run. It is below 1 where strides, and records joined with their reverses, take less than what they
// stand for.
func BenchmarkLorenz63(b *testing.B) {
	for _, c := range []struct {
		name  string
		steps int
		dt    float64
	}{{"T=1e5", 100_000, 0.001}, {"T=1e6", 1_000_000, 1e-5}} {
		b.Run(c.name, func(b *testing.B) {
			lorenz := lorenz63(c.steps)
			lorenz.constants[0].value[0] = c.dt
			benchmark(b, lorenz.chain(b, false), c.steps, 20)
		})
	}
}

// BenchmarkBurgers is W5.
func BenchmarkBurgers(b *testing.B) {
	benchmark(b, burgers(10_000).chain(b, false), 10_000, 20)
}

func benchmark(b *testing.B, chain *program.Chain, steps, slots int) {
	s, err := schedule.NewRevolve(steps, slots)
	if err != nil {
		b.Fatal(err)
	}
	r, err := schedule.NewRunner(chain, s, schedule.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	n := chain.StateLen(0)
	x0, bar := make([]float64, n), make([]float64, n)
	if err := chain.Start(x0); err != nil {
		b.Fatal(err)
	}
	states := [2][]float64{make([]float64, n), make([]float64, n)}
	tape := make([]float64, chain.TapeLen(1))
	value := make([]float64, 1)
	var step, pair, total, wall []float64 // nanoseconds of each pass: of the processor, and the last by the clock
	var replays int64
	since := func(began time.Duration, n int) float64 { return float64(processor(b)-began) / float64(n) }
	for range b.N {
		// The bare loops run over many steps of the trajectory, as the sweep does.
		bare := min(steps-1, 100_000)
		copy(states[0], x0)
		began := processor(b)
		for j := 1; j <= bare; j++ {
			if err := chain.Advance(j, states[1-j&1], states[j&1]); err != nil {
				b.Fatal(err)
			}
		}
		step = append(step, since(began, bare))
		copy(states[0], x0)
		began = processor(b)
		for j := 1; j <= bare; j++ {
			if err := chain.Record(j, states[1-j&1], states[j&1], tape); err != nil {
				b.Fatal(err)
			}
			if err := chain.Reverse(j, tape, x0, bar); err != nil {
				b.Fatal(err)
			}
		}
		pair = append(pair, since(began, bare))
		chain.Clear()
		began = processor(b)
		clock := time.Now()
		result, err := r.Run(context.Background(), chain.Sweep(x0, value, bar))
		if err == nil {
			err = chain.Finish(bar)
		}
		total, wall = append(total, since(began, 1)), append(wall, float64(time.Since(clock).Nanoseconds()))
		if err != nil {
			b.Fatal(err)
		}
		replays = result.Counts.Replays()
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)/2]
	}
	b.ReportMetric(median(step), "ns/step")
	b.ReportMetric(median(pair), "ns/record-and-reverse")
	b.ReportMetric(median(total)/1e6, "ms/sweep")
	b.ReportMetric(median(wall)/1e6, "ms/sweep-by-the-clock")
	b.ReportMetric(median(total)/(float64(replays)*median(step)+float64(steps)*median(pair)), "overhead")
	b.ReportMetric(0, "ns/op")
}

// processor returns the time that the process has had the processor: other load on the machine does not count.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
