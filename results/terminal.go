package results

import (
	"bufio"
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
	tables, err := r.tables()
	if err != nil {
		return err
	}
	for _, name := range printed {
		i := slices.IndexFunc(tables, func(l *layout) bool { return l.Name == name })
		if i < 0 {
			continue
		}
		s := newSummary(&tables[i].Table)
		if err := r.rows(tables[i], s.add); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n", name)
		s.print(&b, width)
	}
	if n := r.Missing(); n > 0 {
		fmt.Fprintf(&b, "\n%d of %d points not computed\n", n, len(r.Manifest.Sweep.Points))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the rows of the tables that Print shows, one JSON object a line.
func (r *Run) WriteJSON(w io.Writer) error {
	tables, err := r.tables()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	for _, name := range printed {
		for _, l := range tables {
			if l.Name == name {
				if err := r.rows(l, l.jsonWriter(out)); err != nil {
					return err
				}
			}
		}
	}
	return out.Flush()
}

func (s *summary) print(b *strings.Builder, width int) {
	columns, common := s.shown()
	rows := slices.Concat(s.first, s.last)
	skipped := s.count - len(rows)
	cells := make([][]string, len(columns)) // by column, the header first
	widths := make([]int, len(columns))
	for c, i := range columns {
		cells[c] = []string{s.heading(i, columns)}
		text := Rounded
		if swept := i >= 3 && i < 3+s.table.Swept; swept && !s.tellsApart(i) {
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
	for _, name := range s.leastFirst() {
		c := slices.Index(columns, s.table.Column(name))
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
			fmt.Fprintf(b, "  … %d rows more in %s.csv …\n", skipped, s.table.Name)
		}
		var out strings.Builder
		for c, i := range columns {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cells[c][line]))
			if s.columns[i].numeric() {
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
		fmt.Fprintf(b, "  not shown, see %s.csv: %s\n", s.table.Name, strings.Join(hidden, ", "))
	}
	fmt.Fprintf(b, "  status: %s\n", &s.statuses)
	if len(s.verdicts.Order) > 0 {
		fmt.Fprintf(b, "  verdict: %s\n", &s.verdicts)
	}
	for _, k := range s.reasons {
		fmt.Fprintf(b, "  %s: %s\n", k.of, k.reason)
	}
	if n := len(s.seen) - len(s.reasons); n > 0 {
		fmt.Fprintf(b, "  … and %d more in %s.csv …\n", n, s.table.Name)
	}
}

// shown chooses the columns to print, the status last: not study, point and reason, nor those that are absent in every
// row or repeat a swept column. A text that is the same in every row is said once, below the table.
func (s *summary) shown() (columns []int, common []string) {
	status := s.table.Column("status")
	for i, name := range s.table.Columns {
		f := &s.columns[i]
		own := i > status
		switch {
		case name == "study" || name == "point" || name == "status" || name == "reason":
		case f.absent == s.count:
		case own && f.repeats:
		case own && s.count > 1 && f.first.kind == textKind && f.same:
			if name != "verdict" { // which is counted
				common = append(common, name+" "+f.first.String())
			}
		default:
			columns = append(columns, i)
		}
	}
	if s.count == 1 || !s.columns[status].same {
		columns = append(columns, status)
	}
	return columns, common
}

// heading is the name of a column; sweep.<name> is <name> where the own column is not printed.
func (s *summary) heading(i int, printed []int) string {
	name := s.table.Columns[i]
	if own, swept := strings.CutPrefix(name, "sweep."); swept && i < s.table.Column("status") && !slices.Contains(printed, s.table.Column(own)) {
		return own
	}
	return name
}

// leastFirst lists the own columns in the order in which a narrow terminal leaves them out.
func (s *summary) leastFirst() []string {
	names := slices.Clone(s.table.Columns[s.table.Column("reason")+1:])
	slices.Reverse(names)
	var least []string
	for _, schema := range schemas {
		if schema.name == s.table.Name {
			least = schema.least
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "verdict" || slices.Contains(least, name) })
	return slices.Concat(least, names)
}

// Rounded is the text of a value for a reader: of a float the digits that matter, see [Run.Print].
func Rounded(v Value) string {
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
