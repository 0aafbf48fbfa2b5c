package results

import "testing"

// BenchmarkAppend appends the record of a point with one row of the exact solution, nine iterates and
// ten sensitivities.
func BenchmarkAppend(b *testing.B) {
	run := contraction([]float64{0.5}, []int{0, 1, 2, 5, 10, 20, 50, 100, 200})
	record := run.Records[0]
	for k := range 10 {
		record.Add(Sensitivities, row("OK", Field{"kind", Text("iterate")}, Field{"K", Int(k)}, Field{"block", Text("z")}, Field{"index", Text("")},
			Field{"parameter", Text("theta")}, Field{"parameter_index", Text("")}, Field{"value", Float(1.0 / float64(k+3))}))
	}
	log, err := OpenLog(b.TempDir(), testKey)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Append(record); err != nil {
			b.Fatal(err)
		}
	}
}
