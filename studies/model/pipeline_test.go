package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// sweepOf computes n points with a stand-in for the solver, on some goroutines, and returns the points that the log has then.
func sweepOf(t *testing.T, ctx context.Context, n int, o Options, f func(ctx context.Context, at int) (*Outcome, error)) (*Summary, []string, error) {
	t.Helper()
	points, todo := make([]results.Point, n), make([]int, n)
	for i := range n {
		points[i].ID, todo[i] = fmt.Sprintf("%012x", i), i
	}
	dir, key := t.TempDir(), results.Key{Tool: "0123456789ab", Study: "s"}
	log, err := results.OpenLog(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Summary)
	warnings := make([][]string, n)
	start := func() pointSolver {
		record := new(results.Record) // each worker uses the memory of one again
		return func(ctx context.Context, at int) (*Outcome, error) {
			out, err := f(ctx, at)
			if out != nil {
				record.Reset()
				record.Add(results.Implicit, results.Row{Ending: results.Ending{Status: "OK"}, Fields: results.Fields{{Column: "J", Value: results.Int(at)}}})
				out.Record = record
				out.Warnings = []string{fmt.Sprint("point ", at)}
			}
			return out, err
		}
	}
	computing := s.compute(ctx, start, points, todo, warnings, log, o)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err = results.OpenLog(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if log.Notes() != nil {
		t.Errorf("notes %q", log.Notes())
	}
	var done []string
	for i, p := range points {
		r, ok := log.Find(p.ID)
		if !ok {
			continue
		}
		done = append(done, p.ID)
		if j := r.Rows(results.Implicit)[0].Fields.Get("J"); j != results.Int(i) {
			t.Errorf("the record of point %d has J = %v", i, j)
		}
		if len(warnings[i]) != 1 || warnings[i][0] != fmt.Sprint("point ", i) {
			t.Errorf("point %d has the warnings %q", i, warnings[i])
		}
	}
	if len(done) != s.Computed {
		t.Errorf("%d records of %d points", len(done), s.Computed)
	}
	return s, done, computing
}

// One job stops exactly at the first refusal; several do not begin a point when one is known. What was done is kept.
func TestFailFastIsExact(t *testing.T) {
	const n, bad = 300, 123
	for _, jobs := range []int{1, 2, 8} {
		begun := new(atomic.Int64)
		s, done, err := sweepOf(t, context.Background(), n, Options{Jobs: jobs, FailFast: true}, func(_ context.Context, at int) (*Outcome, error) {
			begun.Add(1)
			if at >= bad {
				return &Outcome{Refused: 1}, nil
			}
			return &Outcome{}, nil
		})
		if err != nil || s.Refused < 1 || s.Refused > jobs || int(begun.Load()) != s.Computed {
			t.Errorf("%d jobs: %d refused, %d begun, %d computed, %v", jobs, s.Refused, begun.Load(), s.Computed, err)
		}
		if jobs == 1 && len(done) != bad+1 {
			t.Errorf("one job computed %d points, want %d", len(done), bad+1)
		}
		if len(done) > bad+jobs {
			t.Errorf("%d jobs computed %d points", jobs, len(done))
		}
	}
	if s, done, err := sweepOf(t, context.Background(), n, Options{Jobs: 4}, func(context.Context, int) (*Outcome, error) { return &Outcome{Refused: 1}, nil }); err != nil ||
		s.Refused != n || len(done) != n {
		t.Errorf("without --fail-fast: %d refused, %d points, %v", s.Refused, len(done), err)
	}
}

// An error, a panic and an interruption end a run: the points that are done are in the log.
func TestRunsThatEndEarly(t *testing.T) {
	const n, at = 300, 77
	broken := errors.New("broken")
	for name, f := range map[string]func(cancel func(error)) (*Outcome, error){
		"broken":                       func(func(error)) (*Outcome, error) { return nil, broken },
		"internal error at point 0000": func(func(error)) (*Outcome, error) { panic("a defect") },
		"stopped": func(cancel func(error)) (*Outcome, error) {
			cancel(errors.New("stopped"))
			return &Outcome{}, nil
		},
	} {
		for _, jobs := range []int{1, 4} {
			ctx, cancel := context.WithCancelCause(context.Background())
			s, done, err := sweepOf(t, ctx, n, Options{Jobs: jobs}, func(_ context.Context, i int) (*Outcome, error) {
				if i == at {
					return f(cancel)
				}
				return &Outcome{}, nil
			})
			cancel(nil)
			if err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("%s, %d jobs: the error is %v", name, jobs, err)
			}
			if len(done) < at || jobs == 1 && len(done) > at+1 {
				t.Errorf("%s, %d jobs: %d points are kept, %d computed", name, jobs, len(done), s.Computed)
			}
		}
	}
}

// Progress goes up by one, and is not called twice at once.
func TestProgressIsSerial(t *testing.T) {
	last := 0
	_, _, err := sweepOf(t, context.Background(), 500, Options{Jobs: 8, Progress: func(done, total int) {
		if done != last+1 || total != 500 {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}}, func(context.Context, int) (*Outcome, error) { return &Outcome{}, nil })
	if err != nil || last != 500 {
		t.Errorf("%d points, %v", last, err)
	}
}

// A point that takes long is in the log before the next one ends.
func TestSlowPointsAreWrittenAtOnce(t *testing.T) {
	m := contractionSweep(t, 4)
	dir := t.TempDir()
	path := filepath.Join(dir, results.LogName)
	var lines []int
	_, err := Run(context.Background(), m, "contraction", Options{Dir: dir, Jobs: 1, Seed: 1, Tool: results.Tool{Name: "test", Digest: "test"},
		Progress: func(int, int) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			lines = append(lines, bytes.Count(data, []byte("\n")))
			time.Sleep(30 * time.Millisecond)
		}})
	if err != nil || !slices.Equal(lines, []int{1, 2, 3, 4}) {
		t.Errorf("lines of the log after each point: %v, %v", lines, err)
	}
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
