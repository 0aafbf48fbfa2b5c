package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/studies"
)

func showCommand() *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use:   "show STUDY",
		Short: "Print a study as programs: each with its JVP, its linear part with residuals, and its adjoint",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, m, err := open(args[0], set)
			if err != nil {
				return err
			}
			show(c.OutOrStdout(), m)
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a constant, a parameter or a setting: `key=value`")
	return c
}

func show(w io.Writer, m *studies.Model) {
	for _, p := range m.Programs() {
		fmt.Fprintf(w, "# %s: %s\n%v\n", p.Name, count(len(p.Nodes), "operation"), p)
		wrt := m.Differentiated(p)
		jvp := graph.JVP(p, wrt)
		l := graph.Linearize(p, wrt)
		adjoint := graph.Transpose(l.Linear)
		fmt.Fprintf(w, "# its JVP: %s\n%v\n", count(len(jvp.Nodes), "operation"), jvp)
		fmt.Fprintf(w, "# its linear part: %s, %s before the semicolon\n%v\n", count(len(l.Linear.Nodes), "operation"), count(l.Residuals, "residual"), l.Linear)
		fmt.Fprintf(w, "# its adjoint: %s\n%v\n", count(len(adjoint.Nodes), "operation"), adjoint)
	}
}
