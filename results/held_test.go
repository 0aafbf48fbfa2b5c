package results

import (
	"os"
	"path/filepath"
	"testing"
)

// The short forms that tests use; what fails here is a defect of the test.

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// Table is a whole table.
func (r *Run) Table(name string) *Table { return must(r.ReadTable(name)) }

func (r *Run) TableNames() (names []string) {
	for _, l := range must(r.tables()) {
		names = append(names, l.Name)
	}
	return names
}

func (r *Record) encode() []byte { return must(new(encoder).encode(r)) }

func (r *Record) check() error { return new(checker).check(r) }

// ReadLog reads all records of a folder.
func ReadLog(dir string, key Key) (map[string]*Record, []string, error) {
	x, err := readIndex(dir, key)
	if err != nil || x.places == nil {
		return nil, nil, err
	}
	file, err := os.Open(filepath.Join(dir, LogName))
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	records := make(map[string]*Record)
	for point := range x.places {
		if records[point], err = x.read(file, point, new(decoder), new(Record), nil); err != nil {
			return nil, nil, err
		}
	}
	return records, x.notes(), nil
}

// held is a loaded run with its records in memory.
func held(t *testing.T, r *Run) *Run {
	t.Helper()
	h := &Run{Manifest: r.Manifest, Notes: r.Notes}
	for i := range r.Manifest.Sweep.Points {
		record, err := r.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		h.Records = append(h.Records, record)
	}
	return h
}
