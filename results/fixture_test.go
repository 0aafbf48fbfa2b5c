package results

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds got to the file testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the golden file; have\n%.4000s", name, got)
	}
}

func row(status string, fields ...Field) Row {
	return Row{Ending: Ending{Status: status}, Fields: fields}
}

// pointAt names the point of one swept value.
func pointAt(x float64) string { return Digest(Float(x).appendJSON(nil)) }

// contraction is the study of z = qz + (1−q)θ: at step K the state error is 0 and the sensitivity error is q^K, which the
// bound attains.
func contraction(qs []float64, steps []int) *Run {
	r := &Run{Manifest: Manifest{
		Format: RecordFormat,
		Study: Study{Name: "contraction", Title: "A residual of zero, and a derivative that is wrong", Kind: "fixed-point",
			Main: Implicit, Objectives: []string{"J"}},
		Sweep:   Sweep{Names: []string{"q"}},
		Tool:    Tool{"lensir-study", "(devel)", testKey.Tool},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	for _, q := range qs {
		id := pointAt(q)
		record := &Record{Format: RecordFormat, Tool: testKey.Tool, Study: "contraction", Point: id}
		record.Add(Implicit, row("OK", Field{"J", Float(0)}, Field{"dJ_theta", Float(1)}, Field{"residual_norm", Float(0)},
			Field{"condition", Float(1)}, Field{"sigma_min", Float(1 - q)}, Field{"det_sign", Int(1)}))
		for _, k := range steps {
			bound := math.Pow(q, float64(k))
			floor := 0x1p-53 * (1 - bound) / (1 - q)
			measured := math.Abs(bound + floor/2*math.Sin(float64(7*k)))
			record.Add(Iterates, row("ITERATES_DIFFERENTIATED", Field{"method", Text("iterate")}, Field{"K", Int(k)},
				Field{"residual_norm", Float(0)}, Field{"state_error", Float(0)}, Field{"state_bound", Float(0)},
				Field{"sensitivity_error", Float(measured)}, Field{"sensitivity_bound", Float(bound)}, Field{"floor", Float(floor)},
				Field{"norm", Text("2")}, Field{"q", Float(q)}, Field{"constants", Text("declared")}, Field{"verdict", Text("HOLDS")}))
		}
		record.Add(Measurements, row("OK", Field{"wall_s", Float(0.001)}))
		record.Arrays = []Array{{"z", []int{1}, Floats{0}}}
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, Point{id, []Value{Float(q)}})
		r.Records = append(r.Records, record)
	}
	return r
}

// fold is a root z² = θ with two branches, refused where θ ≤ 0.
func fold(thetas ...float64) *Run {
	r := &Run{Manifest: Manifest{
		Format: RecordFormat,
		Study:  Study{Name: "fold", Title: "Two branches that meet in a fold", Kind: "root", Main: Implicit, Objectives: []string{"J"}},
		Sweep:  Sweep{Names: []string{"theta"}},
		Tool:   Tool{"lensir-study", "(devel)", testKey.Tool},
	}}
	for _, theta := range thetas {
		id := pointAt(theta)
		record := &Record{Format: RecordFormat, Tool: testKey.Tool, Study: "fold", Point: id}
		for i, branch := range []string{"upper", "lower"} {
			z := float64(1-2*i) * math.Sqrt(theta)
			line := Row{Branch: branch, Ending: Ending{Status: "OK"}, Fields: Fields{{"J", Float(z)}, {"dJ_theta", Float(0.5 / z)},
				{"residual_norm", Float(1e-17)}, {"condition", Float(1)}, {"sigma_min", Float(2 * math.Abs(z))}}}
			switch {
			case theta == 0:
				line = Row{Branch: branch, Ending: Ending{"SINGULAR_STATE_JACOBIAN", "R_z is singular at the root: a fold; start on one side of it"},
					Fields: Fields{{"J", Float(0)}, {"sigma_min", Float(0)}}}
			case theta < 0:
				line = Row{Branch: branch, Ending: Ending{"NOT_CONVERGED", "the residual stalls at a least-squares minimum: there may be no root"}}
			}
			record.Add(Implicit, line)
		}
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, Point{id, []Value{Float(theta)}})
		r.Records = append(r.Records, record)
	}
	return r
}

// save writes a run's manifest and log into a new folder.
func save(t *testing.T, r *Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	log, err := Begin(dir, &r.Manifest, []byte("title = \"…\"\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Records { // in the order of completion, not of the sweep
		if record := r.Records[len(r.Records)-1-i]; record != nil {
			appendAll(t, log, record)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func csvText(t *testing.T, table *Table) string {
	t.Helper()
	var b strings.Builder
	if err := table.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
