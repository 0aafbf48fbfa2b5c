package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"unique"
)

// RecordFormat is the version of the record's encoding. A record of another format is not reused.
const RecordFormat = 1

// Record is all that one point of a study produced. It depends on the point and on the tool alone, never on
// the sweep that asked for it; only the rows of the measurements table differ from run to run.
type Record struct {
	Format  int     `json:"format"` // set by Log.Append
	Tool    string  `json:"tool"`   // digest of the tool that made it, set by Log.Append
	Study   string  `json:"study"`  // the study's name, set by Log.Append
	Point   string  `json:"point"`  // see Digest
	Failure *Ending `json:"failure,omitempty"`
	Tables  []Rows  `json:"tables,omitempty"`
	Arrays  []Array `json:"arrays,omitempty"`
}

// Reset empties the record and keeps the memory of its tables and rows for the next ones.
func (r *Record) Reset() { *r = Record{Tables: r.Tables[:0], Arrays: r.Arrays[:0]} }

// Ending says how a computation ended: its status, and the reason when that is a refusal.
type Ending struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Rows are a record's rows of one table, in order.
type Rows struct {
	Table string `json:"table"`
	Rows  []Row  `json:"rows"`
}

// Row is one line of a table, without the columns that the table takes from the manifest.
type Row struct {
	Branch string `json:"branch,omitempty"`
	Ending
	Fields Fields `json:"values,omitempty"`
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
	for i := range *f {
		if (*f)[i].Column == column {
			(*f)[i].Value = v
			return
		}
	}
	*f = append(*f, Field{column, v})
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

// Array is an array of float64 in row-major order. The empty shape is a scalar.
type Array struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Data  Floats `json:"data"`
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

var (
	pointPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)
	namePattern  = regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)
)

// check finds what could not be read back or shown, before it is written.
func (r *Record) check() error {
	if !pointPattern.MatchString(r.Point) {
		return fmt.Errorf("record: the point %q is not 12 hexadecimal digits", r.Point)
	}
	for _, t := range r.Tables {
		if !namePattern.MatchString(t.Table) {
			return fmt.Errorf("record %s: %q cannot name a table, which names a file", r.Point, t.Table)
		}
		for _, row := range t.Rows {
			for i, f := range row.Fields {
				switch {
				case f.Column == "" || slices.Contains(leading, f.Column):
					return fmt.Errorf("record %s, table %s: a row cannot set the column %q", r.Point, t.Table, f.Column)
				case slices.ContainsFunc(row.Fields[:i], func(g Field) bool { return g.Column == f.Column }):
					return fmt.Errorf("record %s, table %s: the column %q is there twice", r.Point, t.Table, f.Column)
				}
			}
		}
	}
	names := make(map[string]bool)
	for _, a := range r.Arrays {
		if !namePattern.MatchString(a.Name) || names[a.Name] {
			return fmt.Errorf("record %s: %q cannot name an array, or names two", r.Point, a.Name)
		}
		names[a.Name] = true
		size := 1
		for _, n := range a.Shape {
			if n < 0 {
				return fmt.Errorf("record %s: the array %s has the shape %v", r.Point, a.Name, a.Shape)
			}
			size *= n
		}
		if size != len(a.Data) {
			return fmt.Errorf("record %s: the array %s of shape %v has %d entries", r.Point, a.Name, a.Shape, len(a.Data))
		}
	}
	return nil
}

// encode returns the record as one line of JSON.
func (r *Record) encode() []byte {
	b := fmt.Appendf(make([]byte, 0, 4096), `{"format":%d`, r.Format)
	text := func(key, value string) {
		b = appendJSONString(append(append(append(b, `,"`...), key...), `":`...), value)
	}
	ending := func(e Ending) {
		b = appendJSONString(append(b, `"status":`...), e.Status)
		if e.Reason != "" {
			text("reason", e.Reason)
		}
	}
	text("tool", r.Tool)
	text("study", r.Study)
	text("point", r.Point)
	if r.Failure != nil {
		b = append(b, `,"failure":{`...)
		ending(*r.Failure)
		b = append(b, '}')
	}
	for i, t := range r.Tables {
		b = append(b, opening(i, `,"tables":[`)...)
		b = appendJSONString(append(b, `{"table":`...), t.Table)
		b = append(b, `,"rows":[`...)
		for k, row := range t.Rows {
			b = append(b, opening(k, "")...)
			b = append(b, '{')
			if row.Branch != "" {
				b = append(appendJSONString(append(b, `"branch":`...), row.Branch), ',')
			}
			ending(row.Ending)
			if len(row.Fields) > 0 {
				b = row.Fields.appendJSON(append(b, `,"values":`...))
			}
			b = append(b, '}')
		}
		b = append(b, "]}"...)
	}
	if len(r.Tables) > 0 {
		b = append(b, ']')
	}
	for i, a := range r.Arrays {
		b = append(b, opening(i, `,"arrays":[`)...)
		b = appendJSONString(append(b, `{"name":`...), a.Name)
		b = append(b, `,"shape":[`...)
		for k, n := range a.Shape {
			b = append(b, opening(k, "")...)
			b = strconv.AppendInt(b, int64(n), 10)
		}
		b = append(a.Data.appendJSON(append(b, `],"data":`...)), '}')
	}
	if len(r.Arrays) > 0 {
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}

// opening is what stands before item i of a list: what opens the list, or a comma.
func opening(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// decode reads one line. It refuses unknown keys, which another format would have.
func decode(line []byte) (*Record, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	r := new(Record)
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	return r, r.check()
}

// MarshalJSON encodes the fields as one object, in order.
func (f Fields) MarshalJSON() ([]byte, error) { return f.appendJSON(nil), nil }

func (f Fields) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, field := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, field.Column)
		b = append(b, ':')
		b = field.Value.appendJSON(b)
	}
	return append(b, '}')
}

// UnmarshalJSON decodes an object, keeping its order.
func (f *Fields) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("want an object of values, have %.40s", data)
	}
	*f = make(Fields, 0, bytes.Count(data, []byte{':'}))
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		var v Value
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("column %v: %w", t, err)
		}
		*f = append(*f, Field{unique.Make(t.(string)).Value(), v}) // the same few names in every row
	}
	return nil
}

// MarshalJSON encodes the list exactly.
func (f Floats) MarshalJSON() ([]byte, error) { return f.appendJSON(nil), nil }

func (f Floats) appendJSON(b []byte) []byte {
	b = append(b, '[')
	for i, x := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONFloat(b, x)
	}
	return append(b, ']')
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (f *Floats) UnmarshalJSON(data []byte) error {
	var values []Value
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*f = make(Floats, len(values))
	for i, v := range values {
		if v.kind != floatKind {
			return fmt.Errorf("entry %d is not a float", i)
		}
		(*f)[i] = math.Float64frombits(v.bits)
	}
	return nil
}
