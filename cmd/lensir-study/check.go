package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/studies"
)

func checkCommand() *cobra.Command {
	var set []string
	var seed uint64
	c := &cobra.Command{
		Use:   "check STUDY...",
		Short: "Type studies, and compare their derivatives with finite differences",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			agree := true
			for i, arg := range args {
				_, m, err := open(arg, set)
				if err != nil {
					return err
				}
				if i > 0 {
					fmt.Fprintln(c.OutOrStdout())
				}
				ok, err := check(c.OutOrStdout(), m, seed)
				if err != nil {
					return &exit{exitInternal, err}
				}
				agree = agree && ok
			}
			if !agree {
				return &exit{code: exitViolated}
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a constant, a parameter or a setting: `key=value`")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the random directions")
	return c
}

// check prints what was inferred, and compares derivatives with differences at the first point of the sweep.
func check(w io.Writer, m *studies.Model, seed uint64) (agree bool, err error) {
	fmt.Fprint(w, m.Signature())
	solver, err := studies.NewSolver(m, seed)
	if err != nil {
		return false, err
	}
	list, err := solver.CheckDerivatives(m.Study.Point(0))
	if err != nil {
		return false, err
	}
	fmt.Fprintln(w, "\nderivatives in a random direction, beside central differences, at the first point")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  of\tderivative\tdifference\terror\tstep\t")
	agree = true
	for _, d := range list {
		switch {
		case d.Reason != "" && d.Step != d.Step, d.Step == 0:
			fmt.Fprintf(t, "  %s\tnot compared: %s\n", d.What, d.Reason)
			continue
		case !d.Agrees:
			agree = false
		}
		fmt.Fprintf(t, "  %s\t%.10g\t%.10g\t%.1e\t%.0e\t%s\n", d.What, d.Derivative, d.Quotient, d.Error, d.Step, d.Reason)
	}
	return agree, t.Flush()
}
