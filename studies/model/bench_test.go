//go:build unix

package model

import (
	"context"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lensir/lensir-study/results"
)

// BenchmarkContractionPoint computes points of a sweep of 10⁵ values of q on one core, spread over it;
// nothing is recorded.
func BenchmarkContractionPoint(b *testing.B) {
	const points, stride = 100_000, 61_803
	m := contractionSweep(b, points)
	solver, err := NewSolver(m, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := solver.Solve(context.Background(), m.Study.Point(i*stride%points)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkContractionSweep is what a run does from the study's points to their records in the file:
// 10⁵ values of q, on all cores. It reports medians over the runs, by the clock and of processor time.
func BenchmarkContractionSweep(b *testing.B) {
	const points = 100_000
	m := contractionSweep(b, points)
	todo := make([]int, points)
	for i := range todo {
		todo[i] = i
	}
	cores := runtime.GOMAXPROCS(0)
	var wall, processor []float64
	for b.Loop() {
		log, err := results.OpenLog(b.TempDir(), results.Key{Tool: "0123456789ab", Study: "contraction"})
		if err != nil {
			b.Fatal(err)
		}
		began, used := time.Now(), processorTime(b)
		sweep := expand(m.Study, 1)
		s, o := new(Summary), Options{Jobs: cores}
		start, err := solvers(m, o)
		if err == nil {
			err = s.compute(context.Background(), start, sweep.Points, todo, make([][]string, points), log, o)
		}
		if err != nil || s.Computed != points {
			b.Fatal(s.Computed, err)
		}
		wall = append(wall, time.Since(began).Seconds()*float64(cores)*1e6/points)
		processor = append(processor, (processorTime(b)-used).Seconds()*1e6/points)
		if err := log.Close(); err != nil { // which waits for the disk
			b.Fatal(err)
		}
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)/2]
	}
	b.ReportMetric(median(wall), "core-µs/point")
	b.ReportMetric(median(processor), "processor-µs/point")
	b.ReportMetric(0, "ns/op")
}

// processorTime is what the process has had of the processors: other load on the machine does not count.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
