package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
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
where it stopped.`,
		Example: `  lensir-study run contraction
  lensir-study run studies/kepler.toml --set e=0.3 --out /tmp/kepler`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return runStudies(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args, f)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "set a constant, a parameter or a setting: `key=value`")
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
	model     *studies.Model
}

// runStudies checks every study before it runs the first, so that a mistake leaves nothing half-written.
func runStudies(ctx context.Context, stdout, stderr io.Writer, args []string, f runFlags) error {
	var jobs []job
	for _, arg := range args {
		_, m, err := open(arg, f.set)
		if err != nil {
			return err
		}
		j := job{studies.Stem(arg), filepath.Join("results", studies.Stem(arg)), m}
		if f.out != "" {
			if j.dir = f.out; len(args) > 1 {
				j.dir = filepath.Join(f.out, j.name)
			}
		}
		for _, other := range jobs {
			if other.dir == j.dir {
				return fmt.Errorf("two studies would write to %s: run them apart, with --out", j.dir)
			}
		}
		jobs = append(jobs, j)
	}
	worst := exitFine
	for i, j := range jobs {
		if i > 0 && !f.json {
			fmt.Fprintln(stdout)
		}
		if f.dryRun {
			if err := dryRun(stdout, j, f); err != nil {
				return err
			}
			continue
		}
		code, err := runJob(ctx, stdout, stderr, j, f)
		if err != nil {
			return err
		}
		worst = max(worst, code) // a violation (5) wins over a refusal (4)
	}
	if worst != exitFine {
		return &exit{code: worst}
	}
	return nil
}

func dryRun(w io.Writer, j job, f runFlags) error {
	s := j.model.Study
	for i := range s.Sweep.Len() {
		p := s.Point(i)
		fmt.Fprintf(w, "%s  %s", j.name, p.ID(results.RecordFormat, f.seed))
		for k, axis := range s.Sweep.Axes {
			fmt.Fprintf(w, "  %s = %s", axis.Name, results.FormatFloat(p.Swept[k]))
		}
		fmt.Fprintln(w)
	}
	return nil
}

func runJob(ctx context.Context, stdout, stderr io.Writer, j job, f runFlags) (int, error) {
	t, err := tool()
	if err != nil {
		return 0, &exit{exitInternal, err}
	}
	p := newProgress(stderr, j.name)
	s, err := studies.Run(ctx, j.model, j.name, studies.Options{Dir: j.dir, Jobs: f.jobs, Seed: f.seed,
		FailFast: f.failFast, Fresh: f.fresh, Tool: t, Progress: p.done})
	p.finish()
	if s != nil {
		for _, note := range s.Notes {
			fmt.Fprintf(stderr, "%s: %s\n", j.name, note)
		}
		if printing := printRun(stdout, s.Run, f.json); err == nil {
			err = printing
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return 0, err
	case err != nil:
		var path *os.PathError
		if errors.As(err, &path) {
			return 0, &exit{exitRefused, fmt.Errorf("%s: cannot write the results: %w", j.name, err)}
		}
		return 0, &exit{exitInternal, fmt.Errorf("%s: %w", j.name, err)}
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(stderr, "%s: warning: %s\n", j.name, w)
	}
	fmt.Fprintf(stderr, "%s: %s computed", j.name, count(s.Computed, "point"))
	if s.Reused > 0 {
		fmt.Fprintf(stderr, ", %d found from before", s.Reused)
	}
	fmt.Fprintf(stderr, "; results in %s\n", j.dir)
	switch {
	case s.Violated > 0:
		return exitViolated, nil
	case s.Refused+s.Unexpected > 0:
		return exitRefused, nil
	}
	return exitFine, nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
