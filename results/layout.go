package results

import (
	"cmp"
	"slices"
)

// layout is what a table of a run looks like: a table without its rows.
type layout struct {
	Table
	at    map[string]int // the places of the table's own columns
	guess []fieldPlace   // where the fields of the last row went
}

type fieldPlace struct {
	column string
	at     int
}

// tables lists the tables that the run has rows for, in a fixed order, with their columns.
func (r *Run) tables() ([]*layout, error) {
	layouts, err := r.survey()
	if err != nil {
		return nil, err
	}
	var known, others []*layout
	for _, s := range schemas {
		if l := layouts[s.name]; l != nil {
			known = append(known, l)
		}
	}
	for name, l := range layouts {
		if !slices.ContainsFunc(schemas, func(s schema) bool { return s.name == name }) {
			others = append(others, l)
		}
	}
	slices.SortFunc(others, func(a, b *layout) int { return cmp.Compare(a.Name, b.Name) })
	return append(known, others...), nil
}

// survey reads all records for the tables that they have and for the columns of these. A table has first study, point,
// branch, the swept names, status and reason; then come the table's own columns. A swept name that is also an own
// column becomes sweep.<name>, so that an own column always keeps its name.
func (r *Run) survey() (map[string]*layout, error) {
	if r.layouts != nil {
		return r.layouts, nil
	}
	var c checker
	found := make(map[string]*columnOrder)
	of := func(table string) *columnOrder {
		if found[table] == nil {
			found[table] = newColumnOrder(table)
		}
		return found[table]
	}
	err := r.Each(nil, nil, func(_ int, record *Record) error {
		if record.Failure != nil {
			of(r.Manifest.Study.Main)
		}
		for _, t := range record.Tables {
			if len(t.Rows) == 0 {
				continue
			}
			o := of(t.Table)
			for i := range t.Rows {
				columns, err := c.columns(t.Rows[i].Fields)
				if err != nil {
					return inTable(record, t.Table, err)
				}
				o.add(columns)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	layouts := make(map[string]*layout, len(found))
	for name, o := range found {
		layouts[name] = r.layout(name, o.own())
	}
	if r.log != nil {
		r.layouts = layouts
	}
	return layouts, nil
}

// layout puts a table's own columns after those that every table has.
func (r *Run) layout(name string, own []string) *layout {
	sweep := r.Manifest.Sweep
	l := &layout{Table: Table{Name: name, Columns: []string{"study", "point", "branch"}, Swept: len(sweep.Names)}, at: make(map[string]int, len(own))}
	for _, swept := range sweep.Names {
		if slices.Contains(own, swept) {
			swept = "sweep." + swept
		}
		l.Columns = append(l.Columns, swept)
	}
	l.Columns = append(l.Columns, "status", "reason")
	for _, column := range own {
		l.at[column] = len(l.Columns)
		l.Columns = append(l.Columns, column)
	}
	return l
}

// pick is the layout with no other own columns than some, in its order.
func (l *layout) pick(take func(column string) bool) *layout {
	p := &layout{Table: l.Table, at: make(map[string]int)}
	first := 5 + l.Swept
	p.Columns = slices.Clone(l.Columns[:first])
	for _, column := range l.Columns[first:] {
		if take(column) {
			p.at[column] = len(p.Columns)
			p.Columns = append(p.Columns, column)
		}
	}
	return p
}

// columnOrder finds the order of a table's own columns: those of its schema, with the dynamic ones at their place in the order
// in which rows first bring them. A column that a later row brings comes after its left neighbour there, so that a
// first point without a derivative does not scatter the others.
type columnOrder struct {
	fixed, found []string
	seen         map[*columnList]bool
}

func newColumnOrder(table string) *columnOrder {
	o := &columnOrder{fixed: []string{dynamic}, seen: make(map[*columnList]bool)}
	for _, s := range schemas {
		if s.name == table {
			o.fixed = s.columns
		}
	}
	return o
}

// add takes the columns of a row.
func (o *columnOrder) add(columns *columnList) {
	if o.seen[columns] {
		return
	}
	o.seen[columns] = true
	last := ""
	for _, column := range columns.names {
		if slices.Contains(o.fixed, column) {
			continue
		}
		if !slices.Contains(o.found, column) {
			at := len(o.found)
			if last != "" {
				at = slices.Index(o.found, last) + 1
			}
			o.found = slices.Insert(o.found, at, column)
		}
		last = column
	}
}

func (o *columnOrder) own() []string {
	at := slices.Index(o.fixed, dynamic)
	return slices.Concat(o.fixed[:at], o.found, o.fixed[at+1:])
}

// rows calls f with each row of a table, in the sweep's order. The row is good until the next call. A point that failed as a whole has one
// row in the study's main table.
func (r *Run) rows(l *layout, f func(row []Value) error) error { return r.rowsOf(nil, l, f) }

// rowsOf is rows for the points at some places of the sweep, or all if the list is nil.
func (r *Run) rowsOf(places []int, l *layout, f func(row []Value) error) error {
	values := make([]Value, len(l.Columns))
	swept := r.Manifest.Sweep.Points
	own := l.Columns[5+l.Swept:]
	return r.Each(places, []string{l.Name}, func(i int, record *Record) error {
		values[0], values[1] = Text(record.Study), Text(record.Point)
		copy(values[3:], swept[i].Values)
		put := func(branch string, e Ending, fields Fields) error {
			values[2] = optional(branch)
			values[3+l.Swept], values[4+l.Swept] = Text(e.Status), optional(e.Reason)
			clear(values[len(values)-len(own):])
			for k := range fields {
				if at := l.place(k, fields[k].Column); at > 0 {
					values[at] = fields[k].Value
				}
			}
			return f(values)
		}
		if record.Failure != nil && l.Name == r.Manifest.Study.Main {
			if err := put("", *record.Failure, nil); err != nil {
				return err
			}
		}
		rows := record.Rows(l.Name)
		for k := range rows {
			if err := put(rows[k].Branch, rows[k].Ending, rows[k].Fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// place is where the k-th field of a row goes, 0 if the layout does not have it.
func (l *layout) place(k int, column string) int {
	if k < len(l.guess) {
		if g := l.guess[k]; g.column == column {
			return g.at
		}
	}
	at := l.at[column]
	if k == len(l.guess) {
		l.guess = append(l.guess, fieldPlace{})
	}
	if k < len(l.guess) {
		l.guess[k] = fieldPlace{column, at}
	}
	return at
}

// optional is a text that is absent when empty.
func optional(s string) Value {
	if s == "" {
		return Value{}
	}
	return Text(s)
}
