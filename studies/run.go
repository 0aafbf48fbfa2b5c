package studies

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
)

// Options of a run. The zero value means the defaults.
type Options struct {
	Dir      string // the output folder
	Jobs     int    // goroutines; 0 means one for each processor
	Seed     uint64 // of the checks that draw at random
	FailFast bool   // stop at the first refusal
	Fresh    bool   // compute every point again
	Tool     results.Tool
	Formats  []results.Format // of the figures; none means SVG
	// Progress, if not nil, is called from one goroutine when a point is done.
	Progress func(done, total int, warnings []string)
}

// Summary is what a run came to.
type Summary struct {
	Run      *results.Run
	Computed int // points computed now
	Reused   int // points found in the folder
	// Refused, Unexpected and Violated count rows; see Outcome.
	Refused, Unexpected, Violated int
	Warnings                      []string // findings, each once
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
	points, sweep := expand(m.Study, o.Seed)
	manifest := results.NewManifest(o.Tool, describe(m.Study, name), sweep, started)
	manifest.Seeds = []results.Seed{{Name: "checks", Seed: o.Seed}}
	log, err := results.Begin(o.Dir, &manifest, []byte(m.Study.Text))
	if err != nil {
		return nil, err
	}
	s := &Summary{Notes: log.Notes()}
	var todo []Point
	seen := map[string]bool{}
	for i, p := range points {
		id := sweep.Points[i].ID
		if seen[id] {
			continue
		}
		seen[id] = true
		if record, ok := log.Find(id); ok && !o.Fresh {
			s.Reused++
			s.recount(m.Study, record)
			continue
		}
		todo = append(todo, p)
	}
	err = s.compute(ctx, m, todo, log, o)
	if closing := log.Close(); err == nil {
		err = closing
	}
	if err == nil {
		finished := time.Now()
		manifest.Finished = &finished
		err = manifest.Write(o.Dir)
	}
	run, loading := results.Load(o.Dir)
	if loading != nil {
		return nil, errors.Join(err, loading)
	}
	s.Run = run
	return s, errors.Join(err, run.Write(o.Dir, o.Formats...))
}

// expand lists the points of the sweep with their identities.
func expand(s *Study, seed uint64) ([]Point, results.Sweep) {
	var sweep results.Sweep
	for _, axis := range s.Sweep.Axes {
		sweep.Names = append(sweep.Names, axis.Name)
	}
	points := make([]Point, s.Sweep.Len())
	for i := range points {
		points[i] = s.Point(i)
		p := results.Point{ID: points[i].ID(results.RecordFormat, seed)}
		for _, x := range points[i].Swept {
			p.Values = append(p.Values, results.Float(x))
		}
		sweep.Points = append(sweep.Points, p)
	}
	return points, sweep
}

func describe(s *Study, name string) results.Study {
	d := results.Study{Name: name, Title: s.Title, Kind: string(s.Kind), Main: results.Implicit}
	if s.Kind == Chain {
		d.Main = results.Chain
	}
	for _, o := range s.Objective {
		d.Objectives = append(d.Objectives, o.Name)
	}
	return d
}

// errEnough stops a run at its first refusal.
var errEnough = errors.New("stopped at the first refusal")

// compute runs the points on o.Jobs goroutines.
func (s *Summary) compute(ctx context.Context, m *Model, points []Point, log *results.Log, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan Point)
	type answer struct {
		outcome *Outcome
		err     error
	}
	answers := make(chan answer)
	first, err := NewSolver(m, o.Seed)
	if err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range min(o.Jobs, len(points)) {
		workers.Go(func() {
			solver := first.Clone()
			for p := range queue {
				out, err := solvePoint(ctx, solver, p)
				answers <- answer{out, err}
			}
		})
	}
	go func() {
		defer close(queue)
		for _, p := range points {
			select {
			case queue <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() { workers.Wait(); close(answers) }()
	for a := range answers {
		if a.err == nil {
			a.err = log.Append(a.outcome.Record)
		}
		if a.err != nil {
			cancel(a.err)
			continue
		}
		s.Computed++
		s.note(a.outcome)
		if o.Progress != nil {
			o.Progress(s.Computed, len(points), a.outcome.Warnings)
		}
		if o.FailFast && a.outcome.Refused > 0 {
			cancel(errEnough)
		}
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// solvePoint turns a panic, which is a defect of this program, into an error that names the point.
func solvePoint(ctx context.Context, s *Solver, p Point) (out *Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error at point %s: %v\n%s", p.ID(results.RecordFormat, s.seed), r, debug.Stack())
		}
	}()
	return s.Solve(ctx, p)
}

// note adds the counts of a point.
func (s *Summary) note(o *Outcome) {
	s.Refused += o.Refused
	s.Unexpected += o.Unexpected
	s.Violated += o.Violated
	s.Warnings = append(s.Warnings, o.Warnings...)
	s.Notes = append(s.Notes, o.Notes...)
}

// recount reads from a record what its computation counted.
func (s *Summary) recount(study *Study, r *results.Record) {
	out := &Outcome{}
	for _, row := range r.Rows(results.Implicit) {
		out.count(study, row.Ending, row.Branch)
	}
	for _, row := range r.Rows(results.Chain) {
		out.count(study, row.Ending, row.Branch)
	}
	for _, row := range r.Rows(results.Schedules) {
		out.judgeSchedule(study, row)
	}
	for _, row := range r.Rows(results.Measurements) {
		if row.Fields.Get("kind") == results.Text(measuredChoice) {
			out.judgeSchedule(study, row)
		}
	}
	for _, row := range r.Rows(results.Iterates) {
		if row.Status != string(graph.IteratesDifferentiated) {
			out.count(study, row.Ending, row.Branch)
		}
		out.judge(row)
	}
	s.note(out)
}
