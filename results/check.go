package results

import (
	"fmt"
	"slices"
	"unicode"
)

// checker finds in records what could not be read back or shown. It knows the lists of columns that it found good, since a
// sweep has the same few in every record.
type checker struct {
	lists []*columnList
	last  int // which list the last row had
	names map[string]bool
}

// columnList is the columns of a row, each with its key in JSON and what stands before it.
type columnList struct {
	names, keys []string
}

func (l *columnList) is(fields Fields) bool {
	if len(l.names) != len(fields) {
		return false
	}
	for i := range fields {
		if l.names[i] != fields[i].Column {
			return false
		}
	}
	return true
}

// columns returns the checked list of a row's columns.
func (c *checker) columns(fields Fields) (*columnList, error) {
	if c.last < len(c.lists) && c.lists[c.last].is(fields) {
		return c.lists[c.last], nil
	}
	for i, l := range c.lists {
		if l.is(fields) {
			c.last = i
			return l, nil
		}
	}
	seen := make(map[string]bool, len(fields))
	l := new(columnList)
	for i, f := range fields {
		switch {
		case f.Column == "" || slices.Contains(leading, f.Column):
			return nil, fmt.Errorf("a row cannot set the column %q", f.Column)
		case seen[f.Column]:
			return nil, fmt.Errorf("the column %q is there twice", f.Column)
		}
		seen[f.Column] = true
		l.names = append(l.names, f.Column)
		l.keys = append(l.keys, string(append(appendJSONString([]byte(opening(i, "{")), f.Column), ':')))
	}
	const most = 32
	if len(c.lists) == most {
		c.lists = nil // rows of ever other columns: a list of all would be slower than none
	}
	c.last = len(c.lists)
	c.lists = append(c.lists, l)
	return l, nil
}

// outline checks all of a record but its rows.
func (c *checker) outline(r *Record) error {
	if !isPoint(r.Point) {
		return fmt.Errorf("record: the point %q is not 12 hexadecimal digits", r.Point)
	}
	for _, t := range r.Tables {
		if !isName(t.Table) {
			return fmt.Errorf("record %s: %q cannot name a table, which names a file", r.Point, t.Table)
		}
	}
	if len(r.Arrays) == 0 {
		return nil
	}
	if c.names == nil {
		c.names = make(map[string]bool)
	}
	clear(c.names)
	for i := range r.Arrays {
		a := &r.Arrays[i]
		if !isName(a.Name) || c.names[a.Name] {
			return fmt.Errorf("record %s: %q cannot name an array, or names two", r.Point, a.Name)
		}
		c.names[a.Name] = true
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

// check finds what could not be read back or shown, before it is written.
func (c *checker) check(r *Record) error {
	if err := c.outline(r); err != nil {
		return err
	}
	for _, t := range r.Tables {
		for i := range t.Rows {
			if _, err := c.columns(t.Rows[i].Fields); err != nil {
				return inTable(r, t.Table, err)
			}
		}
	}
	return nil
}

func inTable(r *Record, table string, err error) error {
	return fmt.Errorf("record %s, table %s: %w", r.Point, table, err)
}

// isPoint reports whether s is 12 hexadecimal digits.
func isPoint(s string) bool {
	if len(s) != 12 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isName reports whether s is a letter or an underscore, then letters, digits, underscores and hyphens.
func isName(s string) bool {
	for i, c := range s {
		switch {
		case c >= 'a' && c <= 'z' || c == '_' || unicode.IsLetter(c):
		case i > 0 && (c == '-' || unicode.IsNumber(c)):
		default:
			return false
		}
	}
	return s != ""
}
