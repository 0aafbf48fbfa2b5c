package results

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// summary is what a printed table says of all rows, gathered row by row; it keeps only the first and the last of them.
type summary struct {
	table              *Table
	count              int
	first, last        [][]Value // of more than maxRows rows, the first and the last ones
	columns            []columnFacts
	statuses, verdicts Tally
	status, verdict    int
	reasons            []reasonOf // the first few
	seen               map[uint64]bool
	seed               maphash.Seed
}

// columnFacts is what holds for a column in every row so far.
type columnFacts struct {
	first    Value
	same     bool // all are the first
	absent   int  // how many are absent
	numbers  int
	other    int            // neither
	repeats  bool           // all equal the swept column of that name
	sweep    int            // the place of that column, or 0
	distinct map[Value]bool // of a swept column
	rounded  map[string]bool
}

// reasonOf is a reason under its verdict or else its status.
type reasonOf struct{ of, reason Value }

// numeric reports whether a column holds numbers only.
func (f *columnFacts) numeric() bool { return f.numbers > 0 && f.other == 0 }

func newSummary(t *Table) *summary {
	s := &summary{table: t, columns: make([]columnFacts, len(t.Columns)), status: t.Column("status"), verdict: t.Column("verdict"),
		seen: make(map[uint64]bool), seed: maphash.MakeSeed()}
	for i := range s.columns {
		f := &s.columns[i]
		f.same = true
		if k := slices.Index(t.Columns[3:3+t.Swept], "sweep."+t.Columns[i]); k >= 0 {
			f.sweep, f.repeats = 3+k, true
		}
		if i >= 3 && i < 3+t.Swept {
			f.distinct, f.rounded = make(map[Value]bool), make(map[string]bool)
		}
	}
	return s
}

// add takes a row, which is good for this call only.
func (s *summary) add(row []Value) error {
	s.keep(row)
	for i, v := range row {
		f := &s.columns[i]
		if s.count == 0 {
			f.first = v
		}
		f.same = f.same && v == f.first
		switch v.kind {
		case absentKind:
			f.absent++
		case floatKind, intKind:
			f.numbers++
		default:
			f.other++
		}
		if f.repeats {
			f.repeats = Compare(v, row[f.sweep]) == 0
		}
		if f.distinct != nil && !f.distinct[v] {
			f.distinct[v], f.rounded[Rounded(v)] = true, true
		}
	}
	s.count++
	s.statuses.Add(row[s.status])
	k := reasonOf{row[s.status], row[s.status+1]}
	if s.verdict >= 0 {
		s.verdicts.Add(row[s.verdict])
		if !row[s.verdict].Absent() {
			k.of = row[s.verdict]
		}
	}
	if k.reason.Absent() {
		return nil
	}
	const most = 5
	if h := maphash.Comparable(s.seed, k); !s.seen[h] {
		s.seen[h] = true
		if len(s.reasons) < most {
			s.reasons = append(s.reasons, k)
		}
	}
	return nil
}

// keep keeps the first firstRows rows and the last ones: lastRows of many, or as many as there are up to maxRows.
func (s *summary) keep(row []Value) {
	const room = maxRows - firstRows
	switch {
	case s.count < firstRows:
		s.first = append(s.first, slices.Clone(row))
		return
	case s.count < maxRows:
		s.last = append(s.last, slices.Clone(row))
		return
	case s.count == maxRows:
		s.last = slices.Clone(s.last[room-lastRows:])
	}
	oldest := s.last[0]
	copy(s.last, s.last[1:])
	copy(oldest, row)
	s.last[lastRows-1] = oldest
}

// tellsApart reports whether the rounded values of a swept column are as many as its values.
func (s *summary) tellsApart(column int) bool {
	return len(s.columns[column].rounded) == len(s.columns[column].distinct)
}

// Tally counts values. The zero value has counted none.
type Tally struct {
	Order []Value // in which they came
	count map[Value]int
}

// Add counts a value that is not absent.
func (t *Tally) Add(v Value) {
	if v.Absent() {
		return
	}
	if t.count == nil {
		t.count = make(map[Value]int)
	}
	if t.count[v] == 0 {
		t.Order = append(t.Order, v)
	}
	t.count[v]++
}

// String is "2 OK, 1 DOMAIN_ERROR".
func (t *Tally) String() string {
	parts := make([]string, len(t.Order))
	for i, v := range t.Order {
		parts[i] = fmt.Sprintf("%d %s", t.count[v], v)
	}
	return strings.Join(parts, ", ")
}
