// Command lensir-study computes derivatives of equations, fixed points and iterations from study
// files, with a status and evidence beside every number. See the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/studies/model"
)

// The exit codes.
const (
	exitFine        = 0
	exitInternal    = 1 // a defect of this program
	exitUsage       = 2 // the command cannot be carried out as it was given
	exitInvalid     = 3 // the study is invalid
	exitRefused     = 4 // some points ended in a failing status
	exitViolated    = 5 // a bound, a declaration, a count or a derivative was found to be wrong
	exitInterrupted = 130
)

// exit is an error that carries an exit code. Without an error, everything is said already.
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
	if asked, code := model.ServeSweep(os.Stdin, os.Stdout, os.Stderr); asked {
		os.Exit(code)
	}
	os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:]))
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
	c, err := root.ExecuteContextC(ctx)
	var e *exit
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "lensir-study: interrupted; what is done is kept, and the same command continues")
		return exitInterrupted
	case errors.As(err, &e):
		if text := e.Error(); text != "" {
			fmt.Fprintln(stderr, text)
		}
		return e.code
	}
	fmt.Fprintf(stderr, "lensir-study: %v\n  %s --help says how it is used\n", err, c.CommandPath())
	return exitUsage
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "lensir-study",
		Short: "Derivatives of equations, fixed points, iterations and long simulations, with evidence",
		Long: `lensir-study reads study files, in which mathematics is written as formulas, and computes
derivatives: of the solutions of equations and of fixed points, beside those of what an iteration really
computes and the bounds on the distance between the two; of long chains of steps, by reverse sweeps that
keep few states; and of programs, whose derivatives it shows as programs.

Data goes to stdout, progress and messages to stderr.

Exit codes:
    0  fine
    1  internal error
    2  usage: the command cannot be carried out as it was given
    3  a study, or a setting of --set, is invalid
    4  some points ended in a failing status
    5  a bound, a declared constant or a derivative was found to be wrong (wins over 4)
  130  interrupted`,
		Example: `  lensir-study run contraction          run a built-in study
  lensir-study init my.toml             write a study to start from
  lensir-study check my.toml            type it, and test its derivatives
  lensir-study run my.toml              compute it, with tables and plots in results/my/`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.")
		return errors.New(text)
	})
	root.AddCommand(runCommand(), checkCommand(), showCommand(), initCommand(), listCommand(), plotCommand(), verifyCommand(), versionCommand())
	return root
}
