package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/sbinet/npyio/npz"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTables(t *testing.T) {
	r := contraction([]float64{0.5, 0.9}, []int{0, 1, 5, 200})
	golden(t, "implicit.csv", []byte(csvText(t, r.Table(Implicit))))
	golden(t, "iterates.csv", []byte(csvText(t, r.Table(Iterates))))
	var lines bytes.Buffer
	if err := r.Table(Iterates).WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	golden(t, "iterates.jsonl", lines.Bytes())
	for line := range strings.Lines(lines.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	golden(t, "fold.csv", []byte(csvText(t, fold(-0.25, 0, 0.25).Table(Implicit))))
}

// Every float of a table reads back to the same bits, and the table has as many fields in each line as in its header.
func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Run{Manifest: Manifest{Study: Study{Main: Implicit}}}
		for range rapid.IntRange(1, 4).Draw(t, "points") {
			record := anyRecord().Draw(t, "record")
			r.Records = append(r.Records, record)
			r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, Point{ID: record.Point})
		}
		for _, name := range r.TableNames() {
			table := r.Table(name)
			var b bytes.Buffer
			if err := table.WriteCSV(&b); err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(&b).ReadAll()
			if err != nil || len(lines) != len(table.Rows)+1 {
				t.Fatalf("%d lines for %d rows, %v", len(lines), len(table.Rows), err)
			}
			for i, row := range table.Rows {
				for j, v := range row {
					field := lines[i+1][j]
					switch v.kind {
					case floatKind:
						x, err := strconv.ParseFloat(field, 64)
						if err != nil || Float(x) != v {
							t.Fatalf("%v was written %q", v, field)
						}
					case absentKind:
						if field != "" {
							t.Fatalf("absent was written %q", field)
						}
					case textKind:
						// A CSV reader turns \r\n into \n.
						if field != strings.ReplaceAll(v.text, "\r\n", "\n") {
							t.Fatalf("%q was written %q", v.text, field)
						}
					}
				}
			}
		}
	})
}

func TestOrderOfColumns(t *testing.T) {
	r := &Run{Manifest: Manifest{Study: Study{Main: Implicit}, Sweep: Sweep{Names: []string{"b", "q"}}}}
	add := func(columns ...string) {
		record := &Record{Point: point("a")}
		var row Row
		for _, c := range columns {
			row.Fields.Set(c, Float(1))
		}
		record.Add(Implicit, row)
		r.Records = append(r.Records, record)
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, Point{record.Point, []Value{Int(1), Int(2)}})
	}
	add("condition", "J", "L", "q") // refused: no derivatives
	add("J", "dJ_b[0]", "dJ_b[1]", "L", "dL_b[0]", "q", "residual_norm")
	add("first", "J")
	want := []string{"study", "point", "branch", "b", "sweep.q", "status", "reason", "J", "dJ_b[0]", "dJ_b[1]", "L", "dL_b[0]", "q", "first",
		"residual_norm", "root_error_estimate", "sensitivity_error_estimate", "value_error_estimate", "gradient_error_estimate", "condition", "sigma_min", "det_sign", "adjoint_residual", "adjoint_tangent_gap"}
	if diff := cmp.Diff(want, r.Table(Implicit).Columns); diff != "" {
		t.Error(diff)
	}
}

func TestFailedAndMissingPoints(t *testing.T) {
	r := contraction([]float64{0.1, 0.5, 0.9}, []int{0})
	r.Records[1] = &Record{Point: r.Records[1].Point, Failure: &Ending{"DOMAIN_ERROR", "log of -1, in \"log(q)\""}}
	r.Records[2] = nil
	if n := r.Missing(); n != 1 {
		t.Errorf("%d points are missing", n)
	}
	table := r.Table(Implicit)
	status, reason := table.Column("status"), table.Column("reason")
	if len(table.Rows) != 2 || table.Rows[1][status] != Text("DOMAIN_ERROR") || table.Rows[1][reason] != Text("log of -1, in \"log(q)\"") ||
		table.Rows[1][3] != Float(0.5) || !table.Rows[1][table.Column("J")].Absent() {
		t.Errorf("rows %v", table.Rows)
	}
	if rows := r.Table(Iterates).Rows; len(rows) != 1 {
		t.Errorf("the failed point has %d rows of iterates", len(rows)-1)
	}
}

// The files are a function of the records and of the sweep's order: not of the order of completion, and of no
// measurement but in its own table.
func TestFolder(t *testing.T) {
	r := contraction([]float64{0.1, 0.5}, []int{0, 1, 2, 5})
	r.Records[0].Arrays = []Array{{"S", []int{2, 3}, Floats{1, 2, 3, 4, 5, math.Inf(1)}}, {"scalar", nil, Floats{7}},
		{"cube", []int{2, 1, 2}, Floats{1, 2, 3, 4}}, {"none", []int{0, 3}, nil}}
	dir := save(t, r)
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, held(t, loaded), compare); diff != "" {
		t.Fatal(diff)
	}
	if err := loaded.Write(dir); err != nil {
		t.Fatal(err)
	}
	if study, _ := os.ReadFile(filepath.Join(dir, StudyName)); string(study) != "title = \"…\"\r\n" {
		t.Errorf("study.toml is %q", study)
	}

	for i := range r.Records {
		r.Records[i].Rows(Measurements)[0].Fields.Set("wall_s", Float(float64(i)))
	}
	slices.Reverse(r.Records) // completed in another order
	other := save(t, r)
	again, err := Load(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(other); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		name, _ := filepath.Rel(dir, path)
		names = append(names, name)
		a, _ := os.ReadFile(path)
		b, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Error(err)
		}
		differs := name == LogName || name == "measurements.csv"
		if bytes.Equal(a, b) == differs {
			t.Errorf("%s: equal in both runs: %v", name, !differs)
		}
	}
	for _, want := range []string{"arrays.npz", "implicit.csv", "iterates.csv", "manifest.json", "measurements.csv", "records.jsonl", "study.toml"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %v", want, names)
		}
	}

	archive, err := npz.Open(filepath.Join(dir, ArraysName))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	loaded = held(t, loaded)
	id := loaded.Records[0].Point
	for _, a := range loaded.Records[0].Arrays {
		name := id + "/" + a.Name + ".npy"
		header := archive.Header(name)
		if header == nil {
			t.Fatalf("no %s in %v", name, archive.Keys())
		}
		if !slices.Equal(header.Descr.Shape, a.Shape) || header.Descr.Fortran {
			t.Errorf("%s: shape %v, want %v", name, header.Descr.Shape, a.Shape)
		}
		if len(a.Data) == 0 {
			continue
		}
		var data []float64
		if err := archive.Read(name, &data); err != nil || !slices.Equal(data, a.Data) {
			t.Errorf("%s: %v, %v", name, data, err)
		}
	}

	// A later run without iterates and arrays leaves none of the former's.
	for _, record := range loaded.Records {
		record.Tables, record.Arrays = record.Tables[:1], nil
	}
	if err := loaded.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, stale := range []string{"iterates.csv", "measurements.csv", ArraysName} {
		if _, err := os.Stat(filepath.Join(dir, stale)); err == nil {
			t.Errorf("%s is left from the former run", stale)
		}
	}
}

func TestManifest(t *testing.T) {
	r := contraction([]float64{0.1}, nil)
	m := NewManifest(r.Manifest.Tool, r.Manifest.Study, r.Manifest.Sweep, r.Manifest.Started)
	m.Seeds = []Seed{{"W", 1<<64 - 1}}
	if m.Machine.Go == "" || m.Machine.CPUs < 1 {
		t.Errorf("machine %+v", m.Machine)
	}
	finished := m.Started.AddDate(0, 0, 1)
	m.Finished = &finished
	dir := t.TempDir()
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&m, got, compare); diff != "" {
		t.Error(diff)
	}
	m.Sweep.Names = nil
	if m.Write(dir) == nil {
		t.Error("a manifest with values of no name was written")
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not the output folder") {
		t.Errorf("an empty folder was loaded: %v", err)
	}
}

func TestWriteFileIsCompleteOrUnchanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b.txt")
	write := func(s string, err error) error {
		return WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, s)
			return err
		})
	}
	if err := write("whole", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("ha", io.ErrShortWrite); err != io.ErrShortWrite {
		t.Errorf("the writer's error became %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "whole" {
		t.Errorf("the file holds %q", got)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("files aside are left: %v", entries)
	}
}
