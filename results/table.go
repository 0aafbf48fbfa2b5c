package results

import (
	"encoding/csv"
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
	{Implicit, []string{dynamic, "residual_norm", "root_error_estimate", "sensitivity_error_estimate", "gradient_error_estimate", "condition", "sigma_min", "det_sign",
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

// Table is one table of a run: the rows of its points in the sweep's order.
type Table struct {
	Name    string
	Columns []string
	Swept   int // how many swept columns follow the first three
	Rows    [][]Value
}

// TableNames lists the tables that the run has rows for, in a fixed order.
func (r *Run) TableNames() []string {
	have := make(map[string]bool)
	for _, record := range r.Records {
		if record == nil {
			continue
		}
		if record.Failure != nil {
			have[r.Manifest.Study.Main] = true
		}
		for _, t := range record.Tables {
			have[t.Table] = have[t.Table] || len(t.Rows) > 0
		}
	}
	var names, others []string
	for _, s := range schemas {
		if have[s.name] {
			names = append(names, s.name)
			delete(have, s.name)
		}
	}
	for name, any := range have {
		if any {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

// Table builds the named table. It begins with study, point, branch, the swept names, status and reason; then
// come the table's own columns. A swept name that is also an own column becomes sweep.<name>, so that an own
// column always keeps its name. A point that failed as a whole has one row in the study's main table.
func (r *Run) Table(name string) *Table {
	own := r.ownColumns(name)
	sweep := r.Manifest.Sweep
	t := &Table{Name: name, Columns: []string{"study", "point", "branch"}, Swept: len(sweep.Names)}
	for _, swept := range sweep.Names {
		if slices.Contains(own, swept) {
			swept = "sweep." + swept
		}
		t.Columns = append(t.Columns, swept)
	}
	t.Columns = append(append(t.Columns, "status", "reason"), own...)
	at := make(map[string]int, len(own))
	for i, column := range own {
		at[column] = len(t.Columns) - len(own) + i
	}
	for i, record := range r.Records {
		if record == nil {
			continue
		}
		rows := record.Rows(name)
		if record.Failure != nil && name == r.Manifest.Study.Main {
			rows = append([]Row{{Ending: *record.Failure}}, rows...)
		}
		for _, row := range rows {
			values := make([]Value, len(t.Columns))
			values[0], values[1], values[2] = Text(record.Study), Text(record.Point), optional(row.Branch)
			n := 3 + copy(values[3:], sweep.Points[i].Values)
			values[n], values[n+1] = Text(row.Status), optional(row.Reason)
			for _, f := range row.Fields {
				values[at[f.Column]] = f.Value
			}
			t.Rows = append(t.Rows, values)
		}
	}
	return t
}

// optional is a text that is absent when empty.
func optional(s string) Value {
	if s == "" {
		return Value{}
	}
	return Text(s)
}

// ownColumns lists a table's own columns: those of its schema, with the dynamic ones at their place in the order in
// which rows first bring them. A column that a later row brings comes after its left neighbour there, so
// that a first point without a derivative does not scatter the others.
func (r *Run) ownColumns(name string) []string {
	fixed := []string{dynamic}
	for _, s := range schemas {
		if s.name == name {
			fixed = s.columns
		}
	}
	known := make(map[string]bool)
	for _, column := range fixed {
		known[column] = true
	}
	var found []string
	for _, record := range r.Records {
		if record == nil {
			continue
		}
		for _, row := range record.Rows(name) {
			last := ""
			for _, f := range row.Fields {
				if slices.Contains(fixed, f.Column) {
					continue
				}
				if !known[f.Column] {
					known[f.Column] = true
					at := len(found)
					if last != "" {
						at = slices.Index(found, last) + 1
					}
					found = slices.Insert(found, at, f.Column)
				}
				last = f.Column
			}
		}
	}
	at := slices.Index(fixed, dynamic)
	return slices.Concat(fixed[:at], found, fixed[at+1:])
}

// Column returns the place of a column, or -1.
func (t *Table) Column(name string) int { return slices.Index(t.Columns, name) }

// WriteCSV writes the table as comma-separated values with a header line. Quantities are in SI base units.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.Columns); err != nil {
		return err
	}
	line := make([]string, len(t.Columns))
	for _, row := range t.Rows {
		for i, v := range row {
			line[i] = v.String()
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteJSON writes one JSON object a line, with the table's name and the row's columns in order. Absent columns are
// left out; floats and integers are told apart as in a record.
func (t *Table) WriteJSON(w io.Writer) error {
	var b []byte
	for _, row := range t.Rows {
		b = appendJSONString(append(b[:0], `{"table":`...), t.Name)
		for i, v := range row {
			if !v.Absent() {
				b = append(appendJSONString(append(b, ','), t.Columns[i]), ':')
				b = v.appendJSON(b)
			}
		}
		b = append(b, "}\n"...)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
