package figures

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lensir/lensir-study/results"
)

var update = flag.Bool("update", false, "write the golden files")

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func figuresOf(r *results.Run) []*Figure { return must(Of(r)) }

func iteratesPlot(r *results.Run) *Figure { return must(source{r}.iteratesPlots())[0] }

func table(r *results.Run, name string) *results.Table { return must(r.ReadTable(name)) }

func field(column string, v results.Value) results.Field {
	return results.Field{Column: column, Value: v}
}

// anyFloat draws floats by their bits too, so that subnormals, NaN and infinities come up.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Custom(func(t *rapid.T) float64 { return math.Float64frombits(rapid.Uint64().Draw(t, "bits")) }),
		rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64}))
}

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

func row(status string, fields ...results.Field) results.Row {
	return results.Row{Ending: results.Ending{Status: status}, Fields: fields}
}

// pointAt names the point of one swept value.
func pointAt(x float64) string { return results.Digest(must(results.Float(x).MarshalJSON())) }

// contraction is the study of z = qz + (1−q)θ: at step K the state error is 0 and the sensitivity error is q^K, which the
// bound attains.
func contraction(qs []float64, steps []int) *results.Run {
	r := &results.Run{Manifest: results.Manifest{
		Format: results.RecordFormat,
		Study: results.Study{Name: "contraction", Title: "A residual of zero, and a derivative that is wrong", Kind: "fixed-point",
			Main: results.Implicit, Objectives: []string{"J"}},
		Sweep:   results.Sweep{Names: []string{"q"}},
		Tool:    results.Tool{Name: "lensir-study", Version: "(devel)", Digest: "0123456789ab"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	for _, q := range qs {
		id := pointAt(q)
		record := &results.Record{Format: results.RecordFormat, Tool: "0123456789ab", Study: "contraction", Point: id}
		record.Add(results.Implicit, row("OK", field("J", results.Float(0)), field("dJ_theta", results.Float(1)), field("residual_norm", results.Float(0)),
			field("condition", results.Float(1)), field("sigma_min", results.Float(1-q)), field("det_sign", results.Int(1))))
		for _, k := range steps {
			bound := math.Pow(q, float64(k))
			floor := 0x1p-53 * (1 - bound) / (1 - q)
			measured := math.Abs(bound + floor/2*math.Sin(float64(7*k)))
			record.Add(results.Iterates, row("ITERATES_DIFFERENTIATED", field("method", results.Text("iterate")), field("K", results.Int(k)),
				field("residual_norm", results.Float(0)), field("state_error", results.Float(0)), field("state_bound", results.Float(0)),
				field("sensitivity_error", results.Float(measured)), field("sensitivity_bound", results.Float(bound)), field("floor", results.Float(floor)),
				field("norm", results.Text("2")), field("q", results.Float(q)), field("constants", results.Text("declared")), field("verdict", results.Text("HOLDS"))))
		}
		record.Add(results.Measurements, row("OK", field("wall_s", results.Float(0.001))))
		record.Arrays = []results.Array{{Name: "z", Shape: []int{1}, Data: results.Floats{0}}}
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, results.Point{ID: id, Values: []results.Value{results.Float(q)}})
		r.Records = append(r.Records, record)
	}
	return r
}

// fold is a root z² = θ with two branches, refused where θ ≤ 0.
func fold(thetas ...float64) *results.Run {
	r := &results.Run{Manifest: results.Manifest{
		Format: results.RecordFormat,
		Study:  results.Study{Name: "fold", Title: "Two branches that meet in a fold", Kind: "root", Main: results.Implicit, Objectives: []string{"J"}},
		Sweep:  results.Sweep{Names: []string{"theta"}},
		Tool:   results.Tool{Name: "lensir-study", Version: "(devel)", Digest: "0123456789ab"},
	}}
	for _, theta := range thetas {
		id := pointAt(theta)
		record := &results.Record{Format: results.RecordFormat, Tool: "0123456789ab", Study: "fold", Point: id}
		for i, branch := range []string{"upper", "lower"} {
			z := float64(1-2*i) * math.Sqrt(theta)
			line := results.Row{Branch: branch, Ending: results.Ending{Status: "OK"}, Fields: results.Fields{field("J", results.Float(z)), field("dJ_theta", results.Float(0.5/z)),
				field("residual_norm", results.Float(1e-17)), field("condition", results.Float(1)), field("sigma_min", results.Float(2*math.Abs(z)))}}
			switch {
			case theta == 0:
				line = results.Row{Branch: branch, Ending: results.Ending{Status: "SINGULAR_STATE_JACOBIAN", Reason: "R_z is singular at the root: a fold; start on one side of it"},
					Fields: results.Fields{field("J", results.Float(0)), field("sigma_min", results.Float(0))}}
			case theta < 0:
				line = results.Row{Branch: branch, Ending: results.Ending{Status: "NOT_CONVERGED", Reason: "the residual stalls at a least-squares minimum: there may be no root"}}
			}
			record.Add(results.Implicit, line)
		}
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, results.Point{ID: id, Values: []results.Value{results.Float(theta)}})
		r.Records = append(r.Records, record)
	}
	return r
}
