package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// printed are the tables that Print shows; the others are long, or differ from run to run.
var printed = []string{Implicit, Iterates, Chain, Schedules, Program}

// A table of more than maxRows rows shows its first and its last.
const maxRows, firstRows, lastRows = 40, 20, 10

// Print writes the run's tables for a reader: aligned, numbers at the right, each followed by a count for each
// status and the reasons of refusals. Lines fit into width columns, by leaving out own columns from the
// right and naming them; width 0 sets no limit.
//
// A number with fewer than six significant digits is exact. Others are rounded to six, or to as many as twelve where
// six would show a round number that it is not: 0.99999999 is not printed as 1.00000. A swept number is in full where the
// rounded ones would not tell points apart.
func (r *Run) Print(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintln(&b, r.Manifest.Study.Title)
	for _, name := range printed {
		if t := r.Table(name); len(t.Rows) > 0 {
			fmt.Fprintf(&b, "\n%s\n", name)
			t.print(&b, width)
		}
	}
	if n := r.Missing(); n > 0 {
		fmt.Fprintf(&b, "\n%d of %d points not computed\n", n, len(r.Records))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the rows of the tables that Print shows, one JSON object a line.
func (r *Run) WriteJSON(w io.Writer) error {
	for _, name := range printed {
		if err := r.Table(name).WriteJSON(w); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) print(b *strings.Builder, width int) {
	columns, common := t.shown()

	rows, skipped := t.Rows, 0
	if len(rows) > maxRows {
		skipped = len(rows) - firstRows - lastRows
		rows = slices.Concat(rows[:firstRows], rows[len(rows)-lastRows:])
	}
	cells := make([][]string, len(columns)) // by column, the header first
	widths := make([]int, len(columns))
	for c, i := range columns {
		cells[c] = []string{t.heading(i, columns)}
		text := cell
		if swept := i >= 3 && i < 3+t.Swept; swept && !t.tellsApart(i) {
			text = Value.String
		}
		for _, row := range rows {
			cells[c] = append(cells[c], text(row[i]))
		}
		for _, s := range cells[c] {
			widths[c] = max(widths[c], utf8.RuneCountInString(s))
		}
	}
	var hidden []string
	total := func() (n int) {
		for _, w := range widths {
			n += 2 + w
		}
		return n
	}
	for _, name := range t.leastFirst() {
		c := slices.Index(columns, t.Column(name))
		if width == 0 || total() <= width {
			break
		}
		if c >= 0 {
			hidden = append(hidden, name)
			columns, cells, widths = slices.Delete(columns, c, c+1), slices.Delete(cells, c, c+1), slices.Delete(widths, c, c+1)
		}
	}

	for line := range len(rows) + 1 {
		if skipped > 0 && line == firstRows+1 {
			fmt.Fprintf(b, "  … %d rows more in %s.csv …\n", skipped, t.Name)
		}
		var out strings.Builder
		for c, i := range columns {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cells[c][line]))
			if t.numeric(i) {
				out.WriteString("  " + pad + cells[c][line])
			} else {
				out.WriteString("  " + cells[c][line] + pad)
			}
		}
		fmt.Fprintln(b, strings.TrimRight(out.String(), " "))
	}
	if len(common) > 0 {
		fmt.Fprintf(b, "  in every row: %s\n", strings.Join(common, ", "))
	}
	if len(hidden) > 0 {
		fmt.Fprintf(b, "  not shown, see %s.csv: %s\n", t.Name, strings.Join(hidden, ", "))
	}
	fmt.Fprintf(b, "  status: %s\n", t.counts(t.Column("status")))
	if i := t.Column("verdict"); i >= 0 {
		if s := t.counts(i); s != "" {
			fmt.Fprintf(b, "  verdict: %s\n", s)
		}
	}
	t.printReasons(b)
}

// tellsApart reports whether the rounded values of a column are as many as its values.
func (t *Table) tellsApart(column int) bool {
	values, texts := make(map[Value]bool), make(map[string]bool)
	for _, row := range t.Rows {
		values[row[column]], texts[cell(row[column])] = true, true
	}
	return len(texts) == len(values)
}

// shown chooses the columns to print, the status last: not study, point and reason, nor those that are absent in every
// row or repeat a swept column. A text that is the same in every row is said once, below the table.
func (t *Table) shown() (columns []int, common []string) {
	status := t.Column("status")
	swept := t.Columns[3 : 3+t.Swept]
	every := func(holds func(row []Value) bool) bool {
		return !slices.ContainsFunc(t.Rows, func(row []Value) bool { return !holds(row) })
	}
	for i, name := range t.Columns {
		first := t.Rows[0][i]
		own := i > status
		repeats := slices.Index(swept, "sweep."+name)
		switch {
		case name == "study" || name == "point" || name == "status" || name == "reason":
		case every(func(row []Value) bool { return row[i].Absent() }):
		case own && repeats >= 0 && every(func(row []Value) bool { return compareValues(row[i], row[3+repeats]) == 0 }):
		case own && len(t.Rows) > 1 && first.kind == textKind && every(func(row []Value) bool { return row[i] == first }):
			if name != "verdict" { // which is counted
				common = append(common, name+" "+first.String())
			}
		default:
			columns = append(columns, i)
		}
	}
	if len(t.Rows) == 1 || !every(func(row []Value) bool { return row[status] == t.Rows[0][status] }) {
		columns = append(columns, status)
	}
	return columns, common
}

// heading is the name of a column; sweep.<name> is <name> where the own column is not printed.
func (t *Table) heading(i int, printed []int) string {
	name := t.Columns[i]
	if own, swept := strings.CutPrefix(name, "sweep."); swept && i < t.Column("status") && !slices.Contains(printed, t.Column(own)) {
		return own
	}
	return name
}

// leastFirst lists the own columns in the order in which a narrow terminal leaves them out.
func (t *Table) leastFirst() []string {
	names := slices.Clone(t.Columns[t.Column("reason")+1:])
	slices.Reverse(names)
	var least []string
	for _, s := range schemas {
		if s.name == t.Name {
			least = s.least
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "verdict" || slices.Contains(least, name) })
	return slices.Concat(least, names)
}

// numeric reports whether a column holds numbers only.
func (t *Table) numeric(column int) bool {
	some := false
	for _, row := range t.Rows {
		if _, ok := row[column].Number(); ok {
			some = true
		} else if !row[column].Absent() {
			return false
		}
	}
	return some
}

// counts counts the values of a column, in the order in which they come.
func (t *Table) counts(column int) string {
	count := make(map[Value]int)
	var order []Value
	for _, row := range t.Rows {
		if v := row[column]; !v.Absent() {
			if count[v] == 0 {
				order = append(order, v)
			}
			count[v]++
		}
	}
	var parts []string
	for _, v := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
	}
	return strings.Join(parts, ", ")
}

// printReasons prints each reason once, under its verdict or else its status, and no more than a few.
func (t *Table) printReasons(b *strings.Builder) {
	const most = 5
	status, reason, verdict := t.Column("status"), t.Column("reason"), t.Column("verdict")
	type key struct{ of, reason Value }
	var order []key
	for _, row := range t.Rows {
		k := key{row[status], row[reason]}
		if verdict >= 0 && !row[verdict].Absent() {
			k.of = row[verdict]
		}
		if !k.reason.Absent() && !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	for i, k := range order {
		if i == most {
			fmt.Fprintf(b, "  … and %d more in %s.csv …\n", len(order)-most, t.Name)
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", k.of, k.reason)
	}
}

// cell is the text of a value in a printed table.
func cell(v Value) string {
	if v.kind == floatKind {
		return round(math.Float64frombits(v.bits))
	}
	return strings.Join(strings.Fields(v.String()), " ") // a cell is one line
}

// round writes x for a reader; see Print.
func round(x float64) string {
	const few, many = 6, 12
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return FormatFloat(x)
	}
	if digits(x, -1) < few {
		return decimal(x, -1)
	}
	if digits(x, few) > 2 {
		return decimal(x, few)
	}
	for n := few + 1; n <= many; n++ {
		if digits(x, n) > 2 {
			return decimal(x, n)
		}
	}
	return decimal(x, few)
}

// digits counts the significant digits of x rounded to n of them, without the zeros at the end; n = -1 does not round.
func digits(x float64, n int) int {
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', max(n-1, -1), 64), "e")
	return len(strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0"))
}

// decimal writes x with n significant digits, zeros included; n = -1 writes the shortest exact text.
func decimal(x float64, n int) string {
	s := strconv.FormatFloat(x, 'e', max(n-1, -1), 64)
	_, e, _ := strings.Cut(s, "e")
	exponent, _ := strconv.Atoi(e)
	switch {
	case exponent < -4 || exponent > 6:
		return s
	case n < 0:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case exponent >= n:
		return s
	}
	return strconv.FormatFloat(x, 'f', n-1-exponent, 64)
}
