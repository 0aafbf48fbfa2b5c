package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/studies"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the studies that are built in",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, name := range studies.Gallery() {
				s, err := studies.Open(name)
				if err != nil {
					return &exit{exitInternal, err}
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", name, s.Kind, s.Title)
			}
			return w.Flush()
		},
	}
}
