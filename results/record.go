package results

import "slices"

// RecordFormat is the version of the record's encoding. A record of another format is not reused.
const RecordFormat = 1

// Record is all that one point of a study produced. It depends on the point and on the tool alone, never on
// the sweep that asked for it; only the rows of the measurements table differ from run to run.
type Record struct {
	Format  int    // set by Log.Append
	Tool    string // digest of the tool that made it, set by Log.Append
	Study   string // the study's name, set by Log.Append
	Point   string // see Digest
	Failure *Ending
	Tables  []Rows
	Arrays  []Array
}

// Reset empties the record and keeps the memory of its tables and rows for the next ones.
func (r *Record) Reset() { *r = Record{Tables: r.Tables[:0], Arrays: r.Arrays[:0]} }

// Ending says how a computation ended: its status, and the reason when that is a refusal.
type Ending struct {
	Status string
	Reason string
}

// Rows are a record's rows of one table, in order.
type Rows struct {
	Table string
	Rows  []Row
}

// Row is one line of a table, without the columns that the table takes from the manifest.
type Row struct {
	Branch string
	Ending
	Fields Fields
}

// Field is one column of a row.
type Field struct {
	Column string
	Value  Value
}

// Fields are a row's own columns, in order.
type Fields []Field

// Set appends a column, or replaces the column of that name.
func (f *Fields) Set(column string, v Value) {
	list := *f
	for i := range list {
		if list[i].Column == column {
			list[i].Value = v
			return
		}
	}
	if list == nil {
		list = make(Fields, 0, 16) // as many columns as most rows have
	}
	*f = append(list, Field{column, v})
}

// Get returns the value of a column, absent if there is none.
func (f Fields) Get(column string) Value {
	for _, field := range f {
		if field.Column == column {
			return field.Value
		}
	}
	return Value{}
}

// MarshalJSON encodes the fields as one object, in order.
func (f Fields) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, field := range f {
		b = append(appendJSONString(append(b, opening(i, "")...), field.Column), ':')
		b = field.Value.appendJSON(b)
	}
	return append(b, '}'), nil
}

// Array is an array of float64 in row-major order. The empty shape is a scalar.
type Array struct {
	Name  string
	Shape []int
	Data  Floats
}

// Floats is a list of float64 whose JSON form is exact, NaN and infinities included.
type Floats []float64

// Add appends a row to the named table. A row for [Measurements] may differ from run to run, all others may not.
func (r *Record) Add(table string, row Row) {
	for i := range r.Tables {
		if r.Tables[i].Table == table {
			r.Tables[i].Rows = append(r.Tables[i].Rows, row)
			return
		}
	}
	n := len(r.Tables)
	r.Tables = slices.Grow(r.Tables, 1)[:n+1] // beyond the old length there may be rows to use again
	r.Tables[n] = Rows{table, append(r.Tables[n].Rows[:0], row)}
}

// Rows returns the record's rows of the named table.
func (r *Record) Rows(table string) []Row {
	for _, t := range r.Tables {
		if t.Table == table {
			return t.Rows
		}
	}
	return nil
}
