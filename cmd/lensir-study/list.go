package main

import (
	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/studies"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the studies that are built in",
		Long:  "List the studies that are built in, with their kinds and titles. Each runs by its name, anywhere.",
		Example: `  lensir-study list
  lensir-study run contraction`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rows := [][]string{{"study", "kind", "title"}}
			for _, name := range studies.Gallery() {
				s, err := studies.Open(name)
				if err != nil {
					return &exit{exitInternal, err}
				}
				rows = append(rows, []string{name, string(s.Kind), s.Title})
			}
			printAligned(c.OutOrStdout(), rows)
			return nil
		},
	}
}
