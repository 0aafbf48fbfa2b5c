package results

import (
	"io"
	"slices"
)

// The names of the tables.
const (
	Implicit      = "implicit"      // the exact branch: values, gradients and their evidence
	Sensitivities = "sensitivities" // the state's derivatives, one entry a row
	Iterates      = "iterates"      // derivatives of the K-step map, their errors and bounds
	Chain         = "chain"         // the value and gradient of a chain
	Schedules     = "schedules"     // what each checkpoint schedule did
	Theory        = "theory"        // the replays of the schedules by formula, over a range of slots
	Program       = "program"       // the outputs of a program and its transformations
	Measurements  = "measurements"  // times and memory: all that differs from run to run
)

// schema fixes the order of a table's own columns. A column that it does not name comes where dynamic stands.
type schema struct {
	name    string
	columns []string
	least   []string // what a narrow terminal leaves out before others
}

const dynamic = "*"

var schemas = []schema{
	{Implicit, []string{dynamic, "residual_norm", "root_error_estimate", "sensitivity_error_estimate", "value_error_estimate", "gradient_error_estimate", "condition", "sigma_min", "det_sign",
		"adjoint_residual", "adjoint_tangent_gap"}, nil},
	{Sensitivities, []string{"kind", "K", "block", "index", "parameter", "parameter_index", "value", dynamic}, nil},
	{Iterates, []string{"method", "K", "residual_norm", "state_error", "state_bound", "state_floor", "sensitivity_error",
		"sensitivity_bound", "floor", "norm", "q", "L_z", "L_theta", "delta0", "d0", "constants", "verdict", dynamic},
		[]string{"q", "d0", "delta0", "L_theta", "L_z", "state_floor", "floor", "residual_norm"}},
	{Chain, []string{dynamic}, nil},
	{Schedules, []string{"method", "T", "slots", "budget", "first_pass", "later_replays", "replays", "replays_predicted",
		"records", "writes", "reads", "max_step_replays", "peak_slots", "peak_bytes", "bound_bytes", "value",
		"gradient_norm", "gradient_equal", dynamic, "certificate", "compared_with", "snapshot_bytes", "state_bytes", "tape_bytes",
		"cotangent_bytes", "work_bytes", "output_bytes", "record_bytes"},
		[]string{"output_bytes", "work_bytes", "state_bytes", "cotangent_bytes", "record_bytes", "tape_bytes", "snapshot_bytes", "compared_with",
			"first_pass", "later_replays", "records", "gradient_norm", "value", "reads", "writes", "max_step_replays", "bound_bytes", "replays_predicted"}},
	{Theory, []string{"method", "T", "slots", "replays", dynamic}, nil},
	{Program, []string{"transformation", "name", "index", "input", "input_index", "direction", "order", "value", dynamic}, nil},
	{Measurements, []string{dynamic}, nil},
}

// leading are the columns that every table begins with; the swept names stand before status.
var leading = []string{"study", "point", "branch", "status", "reason"}

// Table is rows of one table of a run, in the sweep's order.
type Table struct {
	Name    string
	Columns []string
	Swept   int // how many swept columns follow the first three
	Rows    [][]Value
}

// Column returns the place of a column, or -1.
func (t *Table) Column(name string) int { return slices.Index(t.Columns, name) }

// WriteCSV writes the table as comma-separated values with a header line. Quantities are in SI base units.
func (t *Table) WriteCSV(w io.Writer) error {
	out := newCSV(w)
	out.header(t.Columns)
	for _, row := range t.Rows {
		if err := out.row(row); err != nil {
			return err
		}
	}
	return out.flush()
}

// WriteJSON writes one JSON object a line, with the table's name and the row's columns in order. Absent columns are
// left out; floats and integers are told apart as in a record.
func (t *Table) WriteJSON(w io.Writer) error {
	write := t.jsonWriter(w)
	for _, row := range t.Rows {
		if err := write(row); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) jsonWriter(w io.Writer) func(row []Value) error {
	var b []byte
	return func(row []Value) error {
		b = appendJSONString(append(b[:0], `{"table":`...), t.Name)
		for i, v := range row {
			if !v.Absent() {
				b = append(appendJSONString(append(b, ','), t.Columns[i]), ':')
				b = v.appendJSON(b)
			}
		}
		b = append(b, "}\n"...)
		_, err := w.Write(b)
		return err
	}
}

// ReadTable reads a whole table into memory.
func (r *Run) ReadTable(name string) (*Table, error) {
	return r.Select(name, nil, func(string) bool { return true })
}

// Select collects a table with the own columns that are taken, for the points at some places of the sweep, or all if the list is nil.
func (r *Run) Select(name string, places []int, take func(column string) bool) (*Table, error) {
	layouts, err := r.survey()
	if err != nil {
		return nil, err
	}
	l := layouts[name]
	if l == nil {
		l = r.layout(name, newColumnOrder(name).own())
	}
	l = l.pick(take)
	t := l.Table
	err = r.rowsOf(places, l, func(row []Value) error {
		t.Rows = append(t.Rows, slices.Clone(row))
		return nil
	})
	return &t, err
}
