package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
	"github.com/lensir/lensir-study/studies/model"
)

type runFlags struct {
	set      []string
	out      string
	jobs     int
	seed     uint64
	dryRun   bool
	failFast bool
	json     bool
	fresh    bool
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run STUDY...",
		Short: "Run studies and their sweeps",
		Long: `Run studies and their sweeps. STUDY is a file, or the name of a built-in study (see list).

The results of a study go to ./results/NAME/, or to the folder of --out (with several studies, to
one folder each below it): records, tables, arrays and plots. A run that was interrupted continues
where it stopped, and a point that is there already is not computed again.`,
		Example: `  lensir-study run contraction
  lensir-study run my.toml other.toml --jobs 2
  lensir-study run my.toml --set theta=0.5 --set implicit.tolerance=1e-10 --out trial
  lensir-study run contraction --set 'sweep.grid.q={ linspace = [0.1, 0.9, 9] }'
  lensir-study run contraction --json | head -1`,
		Args:              someStudies,
		ValidArgsFunction: completeStudy,
		RunE: func(c *cobra.Command, args []string) error {
			stderr := c.ErrOrStderr()
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			quiet := context.AfterFunc(ctx, func() {
				stop() // a second signal has its usual effect
				fmt.Fprintln(stderr, "lensir-study: finishing the points at work; a second interrupt stops at once")
			})
			defer quiet()
			return runStudies(ctx, c.OutOrStdout(), stderr, args, f)
		},
	}
	settingsFlag(c, &f.set)
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "output `folder`")
	flags.IntVar(&f.jobs, "jobs", 0, "points computed at once (0: one for each processor)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the checks that draw at random")
	flags.BoolVar(&f.dryRun, "dry-run", false, "list the points and compute nothing")
	flags.BoolVar(&f.failFast, "fail-fast", false, "stop at the first point that is refused")
	flags.BoolVar(&f.json, "json", false, "print rows as JSON, one object a line")
	flags.BoolVar(&f.fresh, "fresh", false, "compute every point again")
	return c
}

// job is a study that was found valid.
type job struct {
	name, dir string
	model     *model.Model
}

// jobsOf opens every study before the first one runs, so that a mistake leaves nothing half-written.
func jobsOf(args []string, f runFlags) ([]job, error) {
	if f.jobs < 0 {
		return nil, fmt.Errorf("--jobs %d: want a number of points, or 0 for one each processor", f.jobs)
	}
	var jobs []job
	for _, arg := range args {
		m, err := open(arg, f.set)
		if err != nil {
			return nil, err
		}
		j := job{studies.Stem(arg), filepath.Join("results", studies.Stem(arg)), m}
		if f.out != "" {
			if j.dir = f.out; len(args) > 1 {
				j.dir = filepath.Join(f.out, j.name)
			}
		}
		if exists(filepath.Join(j.dir, results.StudyName)) && !exists(filepath.Join(j.dir, results.ManifestName)) {
			return nil, fmt.Errorf("%s has a %s of its own, which the results would overwrite: name another folder with --out", j.dir, results.StudyName)
		}
		for _, other := range jobs {
			if other.dir == j.dir {
				return nil, fmt.Errorf("two studies would write to %s: run them one by one, with --out", j.dir)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func runStudies(ctx context.Context, stdout, stderr io.Writer, args []string, f runFlags) error {
	jobs, err := jobsOf(args, f)
	if err != nil {
		return err
	}
	worst := exitFine
	for i, j := range jobs {
		if i > 0 && !f.json {
			fmt.Fprintln(stdout)
		}
		if f.dryRun {
			if err := dryRun(stdout, stderr, j, f); err != nil {
				return err
			}
			continue
		}
		code, err := runJob(ctx, stdout, stderr, j, f)
		if err != nil {
			return err
		}
		worst = max(worst, code) // a violation (5) wins over a refusal (4)
		if f.failFast && worst != exitFine {
			break
		}
	}
	if worst != exitFine {
		return &exit{code: worst}
	}
	return nil
}

// A list of more than mostPoints points shows its first and its last.
const mostPoints, firstPoints, lastPoints = 40, 20, 10

// dryRun lists the points that a run would compute.
func dryRun(stdout, stderr io.Writer, j job, f runFlags) error {
	s := j.model.Study
	n := s.Sweep.Len()
	header := []string{"point"}
	for _, axis := range s.Sweep.Axes {
		header = append(header, " "+axis.Name)
	}
	rows := [][]string{header}
	for i := 0; i < n; i++ {
		if !f.json && n > mostPoints && i == firstPoints {
			i = n - lastPoints
			rows = append(rows, []string{fmt.Sprintf("… %d points more …", i-firstPoints)})
		}
		p := s.Point(i)
		id := p.ID(results.RecordFormat, f.seed)
		if f.json {
			if err := pointJSON(stdout, j.name, id, s.Sweep.Axes, p.Swept); err != nil {
				return err
			}
			continue
		}
		row := []string{id}
		for _, x := range p.Swept {
			row = append(row, results.FormatFloat(x))
		}
		rows = append(rows, row)
	}
	if !f.json {
		fmt.Fprintln(stdout, cmp.Or(s.Title, j.name))
		printAligned(stdout, rows)
	}
	fmt.Fprintf(stderr, "%s: %s for %s; nothing computed\n", j.name, count(n, "point"), j.dir)
	return nil
}

func pointJSON(w io.Writer, study, id string, axes []studies.Axis, values []float64) error {
	fields := results.Fields{{Column: "study", Value: results.Text(study)}, {Column: "point", Value: results.Text(id)}}
	for k, axis := range axes {
		fields = append(fields, results.Field{Column: axis.Name, Value: results.Float(values[k])})
	}
	line, err := fields.MarshalJSON()
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", line)
	}
	return err
}

// runJob runs a study, prints its tables and returns the exit code that it alone would have.
func runJob(ctx context.Context, stdout, stderr io.Writer, j job, f runFlags) (int, error) {
	t, err := tool()
	if err != nil {
		return 0, &exit{exitInternal, err}
	}
	p := newProgress(stderr, j.name)
	executable, err := os.Executable()
	if err != nil {
		executable = "" // the memory of sweeps is then not measured
	}
	s, err := model.Run(ctx, j.model, j.name, model.Options{Dir: j.dir, Jobs: f.jobs, Seed: f.seed,
		FailFast: f.failFast, Fresh: f.fresh, Tool: t, Progress: p.done, Executable: executable})
	p.finish()
	if s != nil {
		for _, note := range s.Notes {
			fmt.Fprintf(stderr, "%s: %s\n", j.name, note)
		}
		if printing := printRun(stdout, s.Run, f.json); err == nil {
			err = printing
		}
		printWarnings(stderr, j.name, s.Warnings)
		fmt.Fprintf(stderr, "%s: %s computed", j.name, count(s.Computed, "point"))
		if s.Reused > 0 {
			fmt.Fprintf(stderr, ", %d found from before", s.Reused)
		}
		if n := s.Run.Missing(); n > 0 {
			fmt.Fprintf(stderr, ", %d not", n)
		}
		fmt.Fprintf(stderr, "; results in %s\n", j.dir)
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, context.Canceled):
		return 0, err
	case errors.Is(err, results.ErrInUse), errors.Is(err, results.ErrForeign):
		return 0, &exit{exitUsage, fmt.Errorf("%s: %w", j.name, err)}
	case errors.As(err, &path), errors.As(err, &link):
		return 0, &exit{exitUsage, fmt.Errorf("%s: the results cannot be written: %w", j.name, err)}
	case err != nil:
		return 0, &exit{exitInternal, fmt.Errorf("%s: %w", j.name, err)}
	case s.Violated > 0:
		return exitViolated, nil
	case s.Refused+s.Unexpected > 0:
		return exitRefused, nil
	}
	return exitFine, nil
}

// mostWarnings is how many warnings of a run are printed; the tables have every finding.
const mostWarnings = 5

func printWarnings(w io.Writer, name string, warnings []string) {
	for i, text := range warnings {
		if i == mostWarnings {
			fmt.Fprintf(w, "%s: … and %s more\n", name, count(len(warnings)-i, "warning"))
			break
		}
		fmt.Fprintf(w, "%s: warning: %s\n", name, text)
	}
}

// printRun prints the tables of a run, as wide as the terminal.
func printRun(w io.Writer, r *results.Run, asJSON bool) error {
	if asJSON {
		return r.WriteJSON(w)
	}
	width := 0
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			width = columns
		}
	}
	return r.Print(w, width)
}

// tool names this program.
func tool() (results.Tool, error) {
	digest, err := results.ToolDigest()
	return results.Tool{Name: "lensir-study", Version: version(), Digest: digest}, err
}
