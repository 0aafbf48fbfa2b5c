package model

import (
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
)

// programRows collects the rows of one transformation.
type programRows struct {
	record         *results.Record
	transformation string
	rows           []results.Row
	groups         []group
}

// row starts a row.
func (w *programRows) row(name string) results.Row {
	row := results.Row{Ending: results.Ending{Status: string(graph.OK)}}
	row.Fields.Set("transformation", results.Text(w.transformation))
	if name != "" {
		row.Fields.Set("name", results.Text(name))
	}
	return row
}

// finish adds the fields that end a row.
func (w *programRows) finish(row results.Row, more results.Fields, column string, value results.Value, declared string) {
	for _, f := range more {
		row.Fields.Set(f.Column, f.Value)
	}
	row.Fields.Set(column, value)
	putDeclared(&row.Fields, declared)
	w.rows = append(w.rows, row)
}

func (w *programRows) number(name string, x float64) {
	w.finish(w.row(name), nil, "value", results.Float(x), "")
}

// tensor adds the entries of an output, or of the cotangent of an input; those of a large one are an array.
func (w *programRows) tensor(x *graph.Tensor, declared, name, input string, more results.Fields) {
	index := "index"
	if input != "" {
		index = "input_index"
	}
	start := func() results.Row {
		row := w.row(name)
		if input != "" {
			row.Fields.Set("input", results.Text(input))
		}
		return row
	}
	if x.DType == graph.Float0 { // a derivative that is absent
		w.finish(start(), more, "float0", results.Text(x.Type.String()), declared)
		return
	}
	entries := x.F
	if x.DType.IsFloat() {
		w.rounded(entries)
	} else {
		entries = make([]float64, len(x.I))
		for i, v := range x.I {
			entries[i] = float64(v)
		}
	}
	if len(entries) > maxSensitivities {
		w.finish(start(), more, "array", results.Text(w.array(entries, x.Shape, name+input, more)), declared)
		return
	}
	for i, v := range entries {
		row := start()
		row.Fields.Set(index, results.Text(entry(x.Shape, i)))
		w.finish(row, more, "value", results.Float(v), declared)
	}
}

// matrix adds the derivative of an output by an input.
func (w *programRows) matrix(x []float64, declared, name string, shape graph.Shape, input string, by graph.Shape) {
	w.rounded(x)
	if len(x) > maxSensitivities {
		row := w.row(name)
		row.Fields.Set("input", results.Text(input))
		w.finish(row, nil, "array", results.Text(w.array(x, slices.Concat(shape, by), name+"-"+input, nil)), declared)
		return
	}
	n := by.Len()
	for i, v := range x {
		row := w.row(name)
		row.Fields.Set("index", results.Text(entry(shape, i/n)))
		row.Fields.Set("input", results.Text(input))
		row.Fields.Set("input_index", results.Text(entry(by, i%n)))
		w.finish(row, nil, "value", results.Float(v), declared)
	}
}

// array records an array and returns its name. No name of a study has a hyphen.
func (w *programRows) array(x []float64, shape graph.Shape, of string, more results.Fields) string {
	name := w.transformation + "-" + of
	for _, f := range more {
		name += "-" + strings.ReplaceAll(f.Value.String(), " ", "-")
	}
	w.record.Arrays = append(w.record.Arrays, results.Array{Name: name, Shape: slices.Clone(shape), Data: x})
	return name
}
