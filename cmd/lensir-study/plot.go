package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/results"
)

func plotCommand() *cobra.Command {
	var formats []string
	c := &cobra.Command{
		Use:   "plot FOLDER...",
		Short: "Draw the plots of output folders again, from their records",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var chosen []results.Format
			for _, f := range formats {
				switch format := results.Format(f); format {
				case results.SVG, results.PNG, results.PDF:
					chosen = append(chosen, format)
				default:
					return fmt.Errorf("unknown format %q: use svg, png or pdf", f)
				}
			}
			for _, dir := range args {
				r, err := results.Load(dir)
				if err == nil {
					err = r.WritePlots(dir, chosen...)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&formats, "format", []string{"svg"}, "svg, png or pdf")
	return c
}
