package model

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// contractionSweep is the contraction study over n values of q.
func contractionSweep(t testing.TB, n int) *Model {
	t.Helper()
	s, err := studies.Open("contraction")
	if err == nil {
		s, err = studies.Apply(s, []string{fmt.Sprintf("sweep.grid.q={linspace=[0.01,0.99,%d]}", n)})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkPipeline measures what a point costs besides Solve: taking it, its record checked, encoded and written to a file,
// and its judgement. The records are those of 64 points of the contraction.
func BenchmarkPipeline(b *testing.B) {
	const prepared, points = 64, 10_000
	m := contractionSweep(b, prepared)
	var outcomes []*Outcome
	for i := range prepared {
		solver, err := NewSolver(m, 1) // each keeps the record of its last point
		if err != nil {
			b.Fatal(err)
		}
		out, err := solver.Solve(context.Background(), m.Study.Point(i))
		if err != nil {
			b.Fatal(err)
		}
		outcomes = append(outcomes, out)
	}
	sweep := expand(m.Study, 1)
	todo := make([]int, points)
	for i := range todo {
		todo[i] = i % prepared
	}
	b.ReportAllocs()
	dir := b.TempDir()
	for b.Loop() {
		log, err := results.OpenLog(dir, results.Key{Tool: "0123456789ab", Study: "contraction"})
		if err != nil {
			b.Fatal(err)
		}
		s := new(Summary)
		start := func() pointSolver {
			return func(_ context.Context, at int) (*Outcome, error) { return outcomes[at], nil }
		}
		if err := s.compute(context.Background(), start, sweep.Points, todo, make([][]string, prepared), log, Options{Jobs: 1}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer() // a run waits once until its disk has all
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, results.LogName)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/points, "ns/point")
}

// BenchmarkExpand measures the identity and the values of a point.
func BenchmarkExpand(b *testing.B) {
	const points = 10_000
	m := contractionSweep(b, points)
	b.ReportAllocs()
	for b.Loop() {
		expand(m.Study, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/points, "ns/point")
}
