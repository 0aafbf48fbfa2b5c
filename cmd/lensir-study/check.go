package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies/model"
)

func checkCommand() *cobra.Command {
	var set []string
	var seed uint64
	c := &cobra.Command{
		Use:   "check STUDY...",
		Short: "Type studies, and compare their derivatives with finite differences",
		Long: `Read and type studies, print what was inferred, and compare derivatives with central differences
at the first point of the sweep: of each program at the start, and of each objective along the
exact branch, in one random direction each. Nothing is written.

The exit code is 5 if a derivative disagrees, and 4 if the study's first point is refused.`,
		Example: `  lensir-study check my.toml
  lensir-study check contraction --set theta=0.5 --seed 2`,
		Args:              someStudies,
		ValidArgsFunction: completeStudy,
		RunE: func(c *cobra.Command, args []string) error {
			worst := exitFine
			for i, arg := range args {
				m, err := open(arg, set)
				if err != nil {
					return err
				}
				if i > 0 {
					fmt.Fprintln(c.OutOrStdout())
				}
				code, err := check(c.OutOrStdout(), m, seed)
				if err != nil {
					return &exit{exitInternal, err}
				}
				worst = max(worst, code)
			}
			if worst != exitFine {
				return &exit{code: worst}
			}
			return nil
		},
	}
	settingsFlag(c, &set)
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the random directions")
	return c
}

// check prints what was inferred, and compares derivatives with differences at the first point of the sweep.
func check(w io.Writer, m *model.Model, seed uint64) (code int, err error) {
	fmt.Fprint(w, m.Signature())
	solver, err := model.NewSolver(m, seed)
	if err != nil {
		return 0, err
	}
	p := m.Study.Point(0)
	list, err := solver.CheckDerivatives(p)
	if err != nil {
		return 0, err
	}
	at := ""
	for i, axis := range m.Study.Sweep.Axes {
		at += fmt.Sprintf(", %s = %s", axis.Name, results.FormatFloat(p.Swept[i]))
	}
	if at != "" {
		at = ", at the first point" + at
	}
	fmt.Fprintf(w, "\nderivatives in a random direction, beside central differences%s\n", at)
	return printDifferences(w, list, m.Study.Expect), nil
}

// printDifferences prints comparisons and their verdict, and returns the exit code that they have.
func printDifferences(w io.Writer, list []model.Difference, expected graph.Status) (code int) {
	rows := [][]string{{"of", " derivative", " difference", " error", " step", ""}}
	var agree, disagree, declared int
	var apart []string
	for _, d := range list {
		verdict := "agrees"
		switch {
		case !d.Compared():
			apart = append(apart, fmt.Sprintf("not compared: %s: %s", d.What, d.Reason))
			if d.Status != "" && d.Status != expected {
				code = max(code, exitRefused)
			}
			continue
		case len(d.Declared) > 0: // there is nothing that it should agree with
			declared++
		case d.Agrees:
			agree++
		default:
			disagree++
			verdict, code = "DISAGREES", exitViolated
		}
		if len(d.Declared) > 0 {
			verdict = "declared: " + strings.Join(d.Declared, " ")
		}
		rows = append(rows, []string{d.What, fmt.Sprintf("%.10g", d.Derivative), fmt.Sprintf("%.10g", d.Quotient),
			fmt.Sprintf("%.1e", d.Error), fmt.Sprintf("%.0e", d.Step), verdict})
	}
	if len(rows) > 1 {
		printAligned(w, rows)
	}
	for _, line := range apart {
		fmt.Fprintf(w, "  %s\n", line)
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{agree, "agree"}, {disagree, "DISAGREE"}, {declared, "declared"}, {len(apart), "not compared"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	fmt.Fprintf(w, "derivatives: %s\n", strings.Join(parts, ", "))
	return code
}
