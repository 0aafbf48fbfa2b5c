package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/results/figures"
)

func plotCommand() *cobra.Command {
	var formats []string
	c := &cobra.Command{
		Use:   "plot FOLDER...",
		Short: "Draw the plots of output folders again, from their records",
		Example: `  lensir-study plot results/contraction
  lensir-study plot results/contraction --format pdf,png`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no folder is named: give the output folder of a study, such as results/contraction")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			var chosen []figures.Format
			for _, f := range formats {
				switch format := figures.Format(f); format {
				case figures.SVG, figures.PNG, figures.PDF:
					chosen = append(chosen, format)
				default:
					return fmt.Errorf("unknown format %q: use svg, png or pdf", f)
				}
			}
			for _, dir := range args {
				r, err := results.Load(dir)
				if err != nil {
					return err
				}
				drawn, err := figures.Of(r)
				if err == nil {
					err = figures.Write(dir, drawn, chosen...)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", filepath.Join(dir, figures.Folder), count(len(drawn), "figure"))
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&formats, "format", []string{"svg"}, "`format` of the figures: svg, png or pdf")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"svg", "png", "pdf"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}
