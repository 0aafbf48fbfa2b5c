package model

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/results/figures"
	"github.com/lensir/lensir-study/studies"
)

// Options of a run. The zero value means the defaults.
type Options struct {
	Dir      string // the output folder
	Jobs     int    // goroutines; 0 means one for each processor
	Seed     uint64 // of the checks that draw at random
	FailFast bool   // stop at the first refusal
	Fresh    bool   // compute every point again
	Tool     results.Tool
	Formats  []figures.Format // of the figures; none means SVG
	// Executable measures the memory of timed sweeps, each in a process of its own; see [ServeSweep]. Empty: not measured.
	Executable string
	// Progress, if not nil, is called when a point is done, never twice at once.
	Progress func(done, total int)
}

// Summary is what a run came to.
type Summary struct {
	Run      *results.Run
	Computed int // points computed now
	Reused   int // points found in the folder
	// Refused, Unexpected and Violated count rows; see Outcome.
	Refused, Unexpected, Violated int
	Warnings                      []string // findings, each with its point, in the order of the sweep
	Notes                         []string // what happened to an earlier run's records, and what was chosen
}

// Run computes the points of a study that its folder does not have yet, records each as it is done,
// and writes the folder's tables, arrays and figures. If ctx ends, the points that are done are
// kept, and the error is that of ctx.
func Run(ctx context.Context, m *Model, name string, o Options) (*Summary, error) {
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	started := time.Now()
	sweep := expand(m.Study, o.Seed)
	manifest := results.NewManifest(o.Tool, describe(m.Study, name), sweep, started)
	manifest.Seeds = []results.Seed{{Name: "checks", Seed: o.Seed}}
	log, err := results.Begin(o.Dir, &manifest, []byte(m.Study.Text))
	if err != nil {
		return nil, err
	}
	defer log.Close() // after all that is made from the records
	s := &Summary{Notes: log.Notes()}
	warnings := make([][]string, len(sweep.Points)) // by place in the sweep, since workers finish in any order
	var todo []int
	seen := make(map[string]bool, len(sweep.Points))
	for i, p := range sweep.Points {
		id := p.ID
		if seen[id] {
			continue
		}
		seen[id] = true
		if record, ok := log.Find(id); ok && !o.Fresh && !mayWorkNow(record) {
			s.Reused++
			warnings[i] = s.note(recount(m.Study, record))
			continue
		}
		todo = append(todo, i)
	}
	if !o.FailFast || s.Refused == 0 {
		var start func() pointSolver
		if start, err = solvers(m, o); err == nil {
			err = s.compute(ctx, start, sweep.Points, todo, warnings, log, o)
		}
	}
	for i, list := range warnings {
		for _, text := range list {
			s.Warnings = append(s.Warnings, label(m.Study.Point(i))+text)
		}
	}
	if flushing := log.Flush(); err == nil {
		err = flushing
	}
	if err == nil {
		finished := time.Now()
		manifest.Finished = &finished
		err = manifest.Write(o.Dir)
	}
	s.Run = log.Run(&manifest)
	return s, errors.Join(err, write(s.Run, o))
}

// write makes the tables, the arrays and the figures of a run.
func write(run *results.Run, o Options) error {
	if err := run.Write(o.Dir); err != nil {
		return err
	}
	drawn, err := figures.Of(run)
	if err != nil {
		return err
	}
	return figures.Write(o.Dir, drawn, o.Formats...)
}

// mayWorkNow reports a record that another run may not repeat: a full disk is no property of its point.
func mayWorkNow(r *results.Record) bool {
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			if row.Status == string(graph.ScheduleFailure) {
				return true
			}
		}
	}
	return false
}

// expand lists the points of the sweep with their identities.
func expand(s *studies.Study, seed uint64) results.Sweep {
	var sweep results.Sweep
	for _, axis := range s.Sweep.Axes {
		sweep.Names = append(sweep.Names, axis.Name)
	}
	identity := s.Identities(results.RecordFormat, seed)
	sweep.Points = make([]results.Point, s.Sweep.Len())
	values := make([]results.Value, len(sweep.Points)*len(sweep.Names))
	for i := range sweep.Points {
		p := s.Point(i)
		sweep.Points[i] = results.Point{ID: identity(p)}
		if n := len(sweep.Names); n > 0 {
			sweep.Points[i].Values, values = values[:n:n], values[n:]
		}
		for k, x := range p.Swept {
			sweep.Points[i].Values[k] = results.Float(x)
		}
	}
	return sweep
}

func describe(s *studies.Study, name string) results.Study {
	d := results.Study{Name: name, Title: s.Title, Kind: string(s.Kind), Main: results.Implicit}
	if s.Kind == studies.Chain {
		d.Main = results.Chain
	}
	if d.Title == "" {
		d.Title = name
	}
	if s.Kind == studies.Program {
		d.Main = results.Program
	}
	for _, o := range s.Objective {
		d.Objectives = append(d.Objectives, o.Name)
	}
	return d
}

// errEnough stops a run at its first refusal.
var errEnough = errors.New("stopped at the first refusal")

// pointSolver computes the point at a place of the sweep. Its outcome is valid until the next one.
type pointSolver func(ctx context.Context, at int) (*Outcome, error)

// solvers returns what makes the solver of each worker.
func solvers(m *Model, o Options) (start func() pointSolver, err error) {
	first, err := NewSolver(m, o.Seed)
	if err != nil {
		return nil, err
	}
	if first.chain != nil {
		first.chain.executable = o.Executable
	}
	return func() pointSolver {
		solver := first.Clone()
		return func(ctx context.Context, at int) (*Outcome, error) { return solver.Solve(ctx, m.Study.Point(at)) }
	}, nil
}

// compute runs the points of todo, which are places in the sweep, on o.Jobs goroutines.
func (s *Summary) compute(ctx context.Context, start func() pointSolver, points []results.Point, todo []int, warnings [][]string, log *results.Log, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // of s, warnings and the calls of o.Progress
	judge := func(at int, out *Outcome) {
		mu.Lock()
		defer mu.Unlock()
		s.Computed++
		warnings[at] = s.note(out)
		if o.Progress != nil {
			o.Progress(s.Computed, len(todo))
		}
		if o.FailFast && out.Refused > 0 {
			cancel(errEnough)
		}
	}
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range min(o.Jobs, len(todo)) {
		workers.Go(func() {
			solve := start()
			// A worker takes its next point when its last one is recorded and judged: one job stops exactly at a refusal.
			for ctx.Err() == nil {
				next := int(taken.Add(1)) - 1
				if next >= len(todo) {
					return
				}
				at := todo[next]
				err := guarded(points[at].ID, func() error {
					out, err := solve(ctx, at)
					if err != nil {
						return err
					}
					out.Record.Point = points[at].ID
					if err := log.Append(out.Record); err != nil {
						return err
					}
					judge(at, out)
					return nil
				})
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// guarded turns a panic of f, which is a defect of this program, into an error that names the point.
func guarded(point string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error at point %s: %v\n%s", point, r, debug.Stack())
		}
	}()
	return f()
}

// pointLabel names a point by its swept values: "q = 0.5, theta = 1: ", or nothing without a sweep.
func label(p studies.Point) string {
	if len(p.Swept) == 0 {
		return ""
	}
	parts := make([]string, len(p.Swept))
	for i, x := range p.Swept {
		parts[i] = p.Study.Sweep.Axes[i].Name + " = " + results.FormatFloat(x)
	}
	return strings.Join(parts, ", ") + ": "
}

// note adds the counts of a point and returns its warnings.
func (s *Summary) note(o *Outcome) []string {
	s.Refused += o.Refused
	s.Unexpected += o.Unexpected
	s.Violated += o.Violated
	s.Notes = append(s.Notes, o.Notes...)
	return o.Warnings
}

// recount reads from a record what its computation counted.
func recount(study *studies.Study, r *results.Record) *Outcome {
	out := &Outcome{}
	for _, row := range r.Rows(results.Implicit) {
		out.count(study, row.Ending, row.Branch)
	}
	if study.Kind == studies.Chain {
		out.countChain(study, r)
	}
	if study.Kind == studies.Program {
		out.countProgram(study, r.Rows(results.Program))
	}
	for _, row := range r.Rows(results.Iterates) {
		if row.Status != string(graph.IteratesDifferentiated) {
			out.count(study, row.Ending, row.Branch)
		}
		out.judge(row)
	}
	return out
}
