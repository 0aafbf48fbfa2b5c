package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// outputs are all files and texts that are made from a run.
func outputs(t *testing.T, r *Run) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out["stdout"] = string(printText(t, r, 0))
	var lines bytes.Buffer
	if err := r.WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	out["json"] = lines.String()
	return out
}

// What is made from a log, record by record, is what is made from the same records in memory.
func TestFromTheLogAsFromMemory(t *testing.T) {
	refused := fold(-0.5, 0, 0.25, 0.5)
	refused.Records[3] = nil
	failed := contraction([]float64{0.1, 0.5, 0.9}, []int{0, 1})
	failed.Records[1] = &Record{Point: failed.Records[1].Point, Failure: &Ending{"DOMAIN_ERROR", `log of -1]},{"table":"x, in "log(q)"`}}
	many := make([]float64, 60)
	for i := range many {
		many[i] = float64(i+1) / 61
	}
	for name, r := range map[string]*Run{"contraction": contraction(many, []int{0, 1, 5}), "fold": refused, "failed": failed} {
		for _, record := range r.Records { // stamped, as Append does
			if record != nil {
				record.Format, record.Tool, record.Study = RecordFormat, r.Manifest.Tool.Digest, r.Manifest.Study.Name
			}
		}
		want := outputs(t, r)
		dir := save(t, r)
		loaded, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, outputs(t, loaded)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		opened := openLog(t, dir, r.Manifest.Key())
		defer opened.Close()
		for _, record := range r.Records { // those of half the points stand in the log again, and count
			if record != nil && record.Point < "8" {
				appendAll(t, opened, record)
			}
		}
		if err := opened.Flush(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, outputs(t, opened.Run(&r.Manifest))); diff != "" {
			t.Errorf("%s, just written: %s", name, diff)
		}
		if loaded.Missing() != r.Missing() {
			t.Errorf("%s: %d points missing, want %d", name, loaded.Missing(), r.Missing())
		}
	}
}

// A decoder that reads many lines into one record finds in each what a new one finds; and of some tables what is theirs.
func TestDecoderOfManyLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d, some decoder
		var r, part Record
		for range rapid.IntRange(1, 5).Draw(t, "records") {
			want := anyRecord().Draw(t, "record")
			want.Format = RecordFormat
			line := want.encode()
			if err := d.decode(line, &r, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, &r, compare); diff != "" {
				t.Fatal(diff)
			}
			only := rapid.SliceOf(rapid.SampledFrom([]string{Implicit, Iterates, Measurements, ArraysName})).Draw(t, "only")
			if err := some.decode(line, &part, append([]string{}, only...)); err != nil {
				t.Fatalf("only %v: %v", only, err)
			}
			want.Tables = slices.DeleteFunc(want.Tables, func(rows Rows) bool { return !slices.Contains(only, rows.Table) })
			if !slices.Contains(only, ArraysName) {
				want.Arrays = nil
			}
			if diff := cmp.Diff(want, &part, compare); diff != "" {
				t.Fatalf("only %v: %s", only, diff)
			}
		}
	})
}

// A line that was changed or cut is an error or another record, which reads back; never a panic.
func TestDecoderOfBadLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := anyRecord().Draw(t, "record")
		record.Format = RecordFormat
		line := record.encode()
		if _, err := decode(line[:rapid.IntRange(0, len(line)-1).Draw(t, "cut")]); err == nil {
			t.Fatal("a line that was cut short was read")
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(line)-2).Draw(t, "at")
			line[at] = rapid.SampledFrom([]byte("\x00\"\\{}[],:.-+e0nN\xff")).Draw(t, "byte")
		}
		r, err := decode(line)
		if err != nil {
			return
		}
		again, err := decode(r.encode())
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		if diff := cmp.Diff(r, again, compare); diff != "" {
			t.Fatalf("%s\n%s", diff, line)
		}
	})
}

// The texts that end tables in a line are no ends inside a text.
func TestTextsLikeTheEndOfATable(t *testing.T) {
	for _, text := range []string{`]},{"table":"`, `]}],"arrays":[`, `\`, `\n`, "\n", `\"`, `"`, `]}]}`} {
		r := &Record{Format: RecordFormat, Point: point("a"), Arrays: []Array{{"z", nil, Floats{1}}}}
		for _, table := range []string{Implicit, Iterates, Measurements} {
			r.Add(table, Row{Branch: text, Ending: Ending{"OK", text}, Fields: Fields{{text, Text(text)}, {"x" + text, Text(`\n`)}}})
			r.Add(table, Row{Branch: text, Ending: Ending{"OK", text}, Fields: Fields{{text, Text("\n")}, {"x" + text, Text("\n")}}})
		}
		for i, table := range []string{Implicit, Iterates, Measurements} {
			part := new(Record)
			if err := new(decoder).decode(r.encode(), part, []string{table, ArraysName}); err != nil {
				t.Fatalf("%q, %s: %v", text, table, err)
			}
			want := *r
			want.Tables = r.Tables[i : i+1]
			if diff := cmp.Diff(&want, part, compare); diff != "" {
				t.Errorf("%q, %s: %s", text, table, diff)
			}
		}
	}
}

func TestCSVIsThatOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var row []Value
		var texts []string
		for range rapid.IntRange(2, 6).Draw(t, "fields") {
			v := rapid.OneOf(anyValue(), rapid.Map(rapid.SampledFrom([]string{`\.`, " a", "a ", "a,b", "a\"b", "\r", "a\nb", "\u2003x"}), Text)).Draw(t, "value")
			row, texts = append(row, v), append(texts, v.String())
		}
		var got, want bytes.Buffer
		out := newCSV(&got)
		for range 2 { // the second time from what is kept
			if err := out.row(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.flush(); err != nil {
			t.Fatal(err)
		}
		library := csv.NewWriter(&want)
		if err := library.WriteAll([][]string{texts, texts}); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("wrote %q, want %q", &got, &want)
		}
	})
}

func TestNames(t *testing.T) {
	for s, want := range map[string]bool{"": false, "a": true, "_": true, "-": false, "1": false, "a-1_": true, "θ²": true, "²": false, "a/b": false,
		"a b": false, "../t": false, "a.b": false, "\xff": false, "a\xff": false, "\uFFFD": false, "é": true, "a\n": false} {
		if isName(s) != want {
			t.Errorf("isName(%q) = %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"0123456789ab": true, "0123456789aB": false, "0123456789a": false, "0123456789abc": false, "0123456789ag": false} {
		if isPoint(s) != want {
			t.Errorf("isPoint(%q) = %v", s, !want)
		}
	}
}

// A checker that has seen many lists of columns still finds what is wrong with another.
func TestCheckerOfManyLists(t *testing.T) {
	var c checker
	for n := range 100 {
		fields := Fields{{fmt.Sprint("a", n), Int(1)}, {"b", Int(2)}}
		for range 2 {
			if l, err := c.columns(fields); err != nil || !l.is(fields) {
				t.Fatalf("list %d: %v, %v", n, l, err)
			}
		}
		if _, err := c.columns(append(fields, Field{"b", Int(3)})); err == nil {
			t.Fatalf("list %d: a column was there twice", n)
		}
	}
}

// However long a table is, the printed one has its first and last rows, and its file no gap.
func TestLongTables(t *testing.T) {
	for _, n := range []int{firstRows - 1, firstRows, maxRows - 1, maxRows, maxRows + 1, maxRows + 2, 200} {
		s := newSummary(&Table{Columns: []string{"study", "point", "branch", "status", "reason", "K"}})
		row := make([]Value, 6)
		for i := range n {
			row[5] = Int(i)
			if err := s.add(row); err != nil {
				t.Fatal(err)
			}
		}
		var got, want []int64
		for _, row := range slices.Concat(s.first, s.last) {
			got = append(got, int64(row[5].bits))
		}
		for i := range n {
			if n <= maxRows || i < firstRows || i >= n-lastRows {
				want = append(want, int64(i))
			}
		}
		if !slices.Equal(got, want) || s.count != n {
			t.Errorf("of %d rows: %v", n, got)
		}
	}
}

// What tables, arrays and figures take in memory does not grow with the rows of a run, and little with its points.
func TestMemoryOfALongRun(t *testing.T) {
	const few, many = 500, 2000
	taken := func(points int) uint64 {
		qs := make([]float64, points)
		for i := range qs {
			qs[i] = 0.01 + 0.98*float64(i)/float64(points)
		}
		run := contraction(qs, []int{0, 1, 2, 5, 10, 20, 50, 100, 200})
		for _, record := range run.Records {
			record.Arrays = nil
		}
		r, err := Load(save(t, run))
		if err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err = r.WriteTables(out); err == nil {
			err = r.Print(new(bytes.Buffer), 0)
		}
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	less, more := taken(few), taken(many)
	// A record has 2.5 kB as text and several times that decoded; each is read six times.
	if grown := (int64(more) - int64(less)) / (many - few); grown > 1500 {
		t.Errorf("%d bytes were allocated for a point", grown)
	}
}

// The log may change while tables are made from it: then they are not made.
func TestLogThatChanges(t *testing.T) {
	r := contraction([]float64{0.1, 0.5}, []int{0})
	dir := save(t, r)
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, LogName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for name, text := range map[string]string{"another order": lines[1] + lines[0], "cut": lines[0], "other": strings.Replace(string(data), "{", "[", 20)} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		loaded.layouts = nil
		if err := loaded.Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
