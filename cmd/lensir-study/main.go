// Command lensir-study computes derivatives of equations, fixed points and iterations from study
// files, with a status and evidence beside every number. See the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// The exit codes.
const (
	exitFine        = 0
	exitInternal    = 1 // a defect of this program
	exitUsage       = 2
	exitInvalid     = 3 // the study is invalid
	exitRefused     = 4 // some points ended in a failing status
	exitViolated    = 5 // a bound, a declaration or a count was violated
	exitInterrupted = 130
)

// exit is an error that carries an exit code. Its message may be empty: everything is said already.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "lensir-study: internal error: %v\n%s", r, debug.Stack())
			code = exitInternal
		}
	}()
	root := command()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitFine
	}
	var e *exit
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "lensir-study: interrupted; the points that are done are kept, and the next run continues")
		return exitInterrupted
	case errors.As(err, &e):
		if text := e.Error(); text != "" {
			fmt.Fprintln(stderr, text)
		}
		return e.code
	}
	fmt.Fprintln(stderr, "lensir-study:", err)
	return exitUsage
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "lensir-study",
		Short: "Derivatives of equations, fixed points and iterations, with evidence",
		Long: `lensir-study reads study files, in which equations and contractions are written as
formulas, and computes their derivatives: of the exact solution branch, and of what an iteration
really computes, held against the bounds on the distance between the two.

Exit codes: 0 fine, 1 internal error, 2 usage, 3 invalid study, 4 some points were refused,
5 a bound or a declared constant was violated, 130 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(runCommand(), checkCommand(), showCommand(), initCommand(), listCommand(), plotCommand(), verifyCommand(), versionCommand())
	return root
}

// open reads a study with its settings; an error is that of an invalid study.
func open(arg string, settings []string) (*studies.Study, *studies.Model, error) {
	s, err := studies.Open(arg)
	if err == nil {
		s, err = studies.Apply(s, settings)
	}
	var m *studies.Model
	if err == nil {
		m, err = studies.Compile(s)
	}
	if err != nil {
		return nil, nil, &exit{exitInvalid, err}
	}
	return s, m, nil
}

// tool names this program.
func tool() (results.Tool, error) {
	digest, err := results.ToolDigest()
	return results.Tool{Name: "lensir-study", Version: version(), Digest: digest}, err
}
