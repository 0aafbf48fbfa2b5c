package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Run is the content of an output folder: the manifest, and for each point of its sweep the record.
type Run struct {
	Manifest Manifest
	Records  []*Record // of a run that is held in memory: nil where a point is not computed; of one that was loaded, see Record
	Notes    []string  // lines of the log that were not used, and why

	dir     string
	log     *index             // of a run that was loaded
	layouts map[string]*layout // of a run that was loaded, which does not change
}

// Begin starts or resumes a run in the folder dir: it writes the study as it was read and the manifest, and
// opens the log, where the points of an earlier run are found.
func Begin(dir string, m *Manifest, study []byte) (*Log, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := foreign(dir); err != nil {
		return nil, err
	}
	l, err := OpenLog(dir, m.Key()) // first: it says whether the folder is free
	if err != nil {
		return nil, err
	}
	if err = m.Write(dir); err == nil { // from now on the folder is a run's
		err = WriteFile(filepath.Join(dir, StudyName), func(w io.Writer) error {
			_, err := w.Write(study)
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ErrForeign says that a folder holds files of someone else under the names of results.
var ErrForeign = errors.New("no run wrote it, and this one would write over it; name another folder with --out")

// foreign refuses a folder that is no output folder and has a file that a run would replace.
func foreign(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, ManifestName)); err == nil {
		return nil
	}
	if log, err := os.Stat(filepath.Join(dir, LogName)); err == nil && log.Size() > 0 {
		return fmt.Errorf("%s is there already: %w", filepath.Join(dir, LogName), ErrForeign)
	}
	names := []string{StudyName, ArraysName}
	for _, s := range schemas {
		names = append(names, s.name+".csv")
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there already: %w", path, ErrForeign)
		}
	}
	return nil
}

// Load opens an output folder. Its records stay in the log, from which each table and figure reads what it needs.
func Load(dir string) (*Run, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	log, err := readIndex(dir, m.Key())
	if err != nil {
		return nil, err
	}
	return &Run{Manifest: *m, Notes: log.notes(), dir: dir, log: log}, nil
}

// Record returns the record of the i-th point of the sweep, nil if it is not computed.
func (r *Run) Record(i int) (record *Record, err error) {
	err = r.Each([]int{i}, nil, func(_ int, found *Record) error {
		record = found
		return nil
	})
	return record, err
}

// Each calls f with each record, in the sweep's order, or with those of some places in it if the list is not nil. The record holds
// what only names, see decoder.decode, and is good until the next call.
func (r *Run) Each(places []int, only []string, f func(i int, record *Record) error) error {
	points := len(r.Manifest.Sweep.Points)
	if r.log == nil {
		points = len(r.Records)
	}
	if places != nil {
		points = len(places)
	}
	read := func(i int) (*Record, error) { return r.Records[i], nil }
	if r.log != nil {
		if len(r.log.places) == 0 {
			return nil
		}
		file, err := os.Open(filepath.Join(r.dir, LogName))
		if err != nil {
			return err
		}
		defer file.Close()
		var d decoder
		var record Record
		read = func(i int) (*Record, error) {
			return r.log.read(file, r.Manifest.Sweep.Points[i].ID, &d, &record, only)
		}
	}
	for i := range points {
		if places != nil {
			i = places[i]
		}
		record, err := read(i)
		if err == nil && record != nil {
			err = f(i, record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Missing counts the points that are not computed.
func (r *Run) Missing() int {
	n := 0
	for i := range r.Manifest.Sweep.Points {
		if !r.Has(i) {
			n++
		}
	}
	return n
}

// Has reports whether the i-th point of the sweep is computed.
func (r *Run) Has(i int) bool {
	if r.log == nil {
		return r.Records[i] != nil
	}
	_, ok := r.log.places[r.Manifest.Sweep.Points[i].ID]
	return ok
}

// Write makes the tables and the arrays of the run in the folder dir, and removes those of an earlier run that this one
// does not have.
func (r *Run) Write(dir string) error {
	tables := make(chan error)
	go func() { tables <- r.WriteTables(dir) }()
	return errors.Join(r.WriteArrays(dir), <-tables)
}

// WriteTables writes one CSV file for each table of the run.
func (r *Run) WriteTables(dir string) error {
	all, err := r.tables()
	if err != nil {
		return err
	}
	for _, l := range all {
		err := WriteFile(filepath.Join(dir, l.Name+".csv"), func(w io.Writer) error {
			out := newCSV(w)
			out.header(l.Columns)
			if err := r.rows(l, out.row); err != nil {
				return err
			}
			return out.flush()
		})
		if err != nil {
			return err
		}
	}
	for _, s := range schemas {
		if !slices.ContainsFunc(all, func(l *layout) bool { return l.Name == s.name }) {
			if err := remove(filepath.Join(dir, s.name+".csv")); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes a file that may be absent.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
