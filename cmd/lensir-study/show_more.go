package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies/model"
)

// showCost prints the counts of each program beside the cheap-gradient bound.
func showCost(w io.Writer, m *model.Model) {
	rows := [][]string{{"program", " primal", " reverse", " accumulation", " total", " bound", " c", " a", " r", " work", " tape", " residuals"}}
	for _, p := range m.Programs() {
		c := module.CostBy(p, m.Differentiated(p))
		row := []string{p.Name}
		for _, n := range []int{c.Primal, c.Reverse, c.Accumulation, c.Total()} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, short(c.Bound()), short(c.C))
		for _, n := range []int{c.A, c.R, c.Work, c.FullTape, c.ResidualTape} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	printAligned(w, rows)
}

// short writes a number with six digits at most, whole ones in full.
func short(x float64) string {
	if x == float64(int64(x)) {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// showValues prints the residuals of a program's linear part at the first point of the study.
func showValues(w io.Writer, m *model.Model, p *graph.Program, l graph.Linearization) {
	if l.Residuals == 0 {
		return
	}
	inputs, err := m.InputsAt(m.Study.Point(0), p)
	var out []*graph.Tensor
	if err == nil {
		out, err = graph.Eval(l.Primal, inputs...)
	}
	if err != nil {
		fmt.Fprintf(w, "# no residuals: %v\n", err)
		return
	}
	fmt.Fprintln(w, "# residuals at the first point")
	for i, x := range out[len(p.Outputs):] {
		var entries []string
		for _, v := range x.F {
			entries = append(entries, results.FormatFloat(v))
		}
		for _, v := range x.I {
			entries = append(entries, strconv.FormatInt(v, 10))
		}
		text := strings.Join(entries, " ")
		if len(x.Shape) > 0 {
			text = "[" + text + "]"
		}
		fmt.Fprintf(w, "  %s: %v = %s\n", l.Linear.Inputs[i].Name, x.Type, text)
	}
}

// showExec prints what runs: each program, its linear part and its adjoint, compiled.
func showExec(w io.Writer, m *model.Model) error {
	for i, p := range m.Programs() {
		l := graph.Linearize(p, m.Differentiated(p))
		for k, q := range []*graph.Program{p, l.Primal, l.Linear, graph.Transpose(l.Linear)} {
			e, err := exec.Compile(graph.Expand(q), exec.Options{})
			if err != nil {
				return err
			}
			if i+k > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "# %s\n%v", q.Name, e)
		}
	}
	return nil
}
