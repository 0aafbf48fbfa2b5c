package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies/conformance"
)

// verificationFile is what a verification run writes.
const verificationFile = "verification-results.json"

func verifyCommand() *cobra.Command {
	var out string
	var seed uint64
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify the typed tensor language and its transformations",
		Long: `Hold the typed tensor language and its transformations against independent formulas, finite
differences, the numbers that their documents print, and the laws that they state, on random
programs. The table shows the largest error of each check beside its limit; every single error is in
` + verificationFile + `, in ./results/verify/ or the folder of --out.

The exit code is 5 if anything fails.`,
		Example: `  lensir-study verify
  lensir-study verify --seed 1 --out trial`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := tool()
			if err != nil {
				return &exit{exitInternal, err}
			}
			r := conformance.Run(seed)
			r.Tool = fmt.Sprintf("%s %s %s", t.Name, t.Version, t.Digest)
			return writeVerification(c.OutOrStdout(), c.ErrOrStderr(), out, r)
		},
	}
	c.Flags().StringVar(&out, "out", filepath.Join("results", "verify"), "output `folder`")
	c.Flags().Uint64Var(&seed, "seed", conformance.DefaultSeed, "seed of the random cases")
	return c
}

// writeVerification prints and writes a result; one that did not pass is a violation.
func writeVerification(stdout, stderr io.Writer, dir string, r conformance.Result) error {
	printVerification(stdout, r)
	path := filepath.Join(dir, verificationFile)
	if err := results.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(r.JSON())
		return err
	}); err != nil {
		return fmt.Errorf("the results cannot be written: %w", err)
	}
	fmt.Fprintf(stderr, "verify: %s of seed %d; every error in %s\n", count(len(r.Checks), "check"), r.Seed, path)
	if !r.Pass {
		return &exit{code: exitViolated}
	}
	return nil
}

// printVerification prints one line for each check, what failed below it, and the verdict.
func printVerification(w io.Writer, r conformance.Result) {
	fmt.Fprintf(w, "verification %s, seed %d\n", r.Version, r.Seed)
	rows := [][]string{{"check", " cases", " largest error", " limit", ""}}
	failed := 0
	for _, c := range r.Checks {
		largest, limit, verdict := "", "", "passes"
		if len(c.Errors) > 0 {
			largest, limit = fmt.Sprintf("%.2e", c.Largest), fmt.Sprintf("%.2e", c.Tolerance)
		}
		if !c.Pass {
			failed++
			verdict = "FAILS"
		}
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Cases), largest, limit, verdict})
	}
	printAligned(w, rows)
	for _, c := range r.Checks {
		for i, text := range c.Failures {
			if i == mostFailures {
				fmt.Fprintf(w, "%s: … and %d more\n", c.Name, len(c.Failures)-i)
				break
			}
			fmt.Fprintf(w, "%s: %s\n", c.Name, text)
		}
	}
	if failed > 0 || !r.Pass {
		fmt.Fprintf(w, "FAILED: %d of %s\n", failed, count(len(r.Checks), "check"))
		return
	}
	fmt.Fprintf(w, "all of %s pass\n", count(len(r.Checks), "check"))
}

// mostFailures is how many failing cases of a check are printed; the file has all.
const mostFailures = 5
