package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/studies/model"
)

func showCommand() *cobra.Command {
	var set []string
	var cost, values, compiled bool
	c := &cobra.Command{
		Use:   "show STUDY",
		Short: "Print a study as programs: each with its JVP, its linear part with residuals, and its adjoint",
		Long: `Print a study as programs: start, equations, objectives and declared constants. With each come

  its JVP          values and derivatives in one direction, by forward mode
  its linear part  what of the JVP depends on the direction; the residuals, which are values that
                   it still reads, stand before the semicolon
  its adjoint      the transpose of the linear part: one run gives a gradient

Long literals are cut short. --values adds the residuals' values at the first point of the study.

--cost prints instead the operations and stored scalars of each program: of the primal pass, of the
reverse pass and of the accumulation of cotangents, beside the bound (1 + c + a r) Σ w on their total;
tape is all values, residuals is what reverse mode keeps of them. --exec prints what runs: the
instructions of each compiled program and the layout of its memory.`,
		Example: `  lensir-study show contraction
  lensir-study show sine-product --values
  lensir-study show tied-residual --cost
  lensir-study show my.toml | less`,
		Args:              oneStudy,
		ValidArgsFunction: completeStudy,
		RunE: func(c *cobra.Command, args []string) error {
			m, err := open(args[0], set)
			if err != nil {
				return err
			}
			switch {
			case cost && compiled, cost && values, compiled && values:
				return errors.New("--cost, --exec and --values are asked for one at a time")
			case cost:
				showCost(c.OutOrStdout(), m)
				return nil
			case compiled:
				return showExec(c.OutOrStdout(), m)
			}
			show(c.OutOrStdout(), m, values)
			return nil
		},
	}
	settingsFlag(c, &set)
	c.Flags().BoolVar(&cost, "cost", false, "print operations and stored scalars, beside their bound")
	c.Flags().BoolVar(&values, "values", false, "print the values of the residuals, too")
	c.Flags().BoolVar(&compiled, "exec", false, "print the compiled programs")
	return c
}

func show(w io.Writer, m *model.Model, values bool) {
	for i, p := range m.Programs() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		wrt := m.Differentiated(p)
		l := graph.Linearize(p, wrt)
		showProgram(w, p.Name, p)
		showProgram(w, "its JVP", graph.JVP(p, wrt))
		showProgram(w, fmt.Sprintf("its linear part, with %s", count(l.Residuals, "residual")), l.Linear)
		if values {
			showValues(w, m, p, l)
		}
		showProgram(w, "its adjoint", graph.Transpose(l.Linear))
	}
}

func showProgram(w io.Writer, title string, p *graph.Program) {
	fmt.Fprintf(w, "# %s: %s\n%s", title, operations(p), shortLiterals(p.String()))
}

// operations counts a program's operations by kind, the most frequent first.
func operations(p *graph.Program) string {
	n := map[string]int{}
	var kinds []string
	for i := range p.Nodes {
		name := p.Nodes[i].Op.Name
		if n[name]++; n[name] == 1 {
			kinds = append(kinds, name)
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return n[b] - n[a] })
	for i, name := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", n[name], name)
	}
	if len(kinds) == 0 {
		return "no operation"
	}
	return fmt.Sprintf("%s (%s)", count(len(p.Nodes), "operation"), strings.Join(kinds, ", "))
}

var literal = regexp.MustCompile(`(= literal |=)\[([^\]]*)\]`)

// shortLiterals shows the first entries of lists that are longer than a line.
func shortLiterals(text string) string {
	const most, first = 12, 6
	return literal.ReplaceAllStringFunc(text, func(s string) string {
		head, list, _ := strings.Cut(s, "[")
		entries := strings.Fields(strings.TrimSuffix(list, "]"))
		if len(entries) <= most {
			return s
		}
		return fmt.Sprintf("%s[%s … %d more]", head, strings.Join(entries[:first], " "), len(entries)-first)
	})
}
