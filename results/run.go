package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Run is the content of an output folder: the manifest, and for each point of its sweep the record, nil
// where the point is not computed.
type Run struct {
	Manifest Manifest
	Records  []*Record
	Notes    []string // lines of the log that were not used, and why
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

// Load reads an output folder.
func Load(dir string) (*Run, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	records, notes, err := ReadLog(dir, m.Key())
	if err != nil {
		return nil, err
	}
	r := &Run{Manifest: *m, Notes: notes}
	for _, p := range m.Sweep.Points {
		r.Records = append(r.Records, records[p.ID])
	}
	return r, nil
}

// Missing counts the points that are not computed.
func (r *Run) Missing() int {
	n := 0
	for _, record := range r.Records {
		if record == nil {
			n++
		}
	}
	return n
}

// Write makes the tables, the arrays and the figures of the run in the folder dir, and removes those of an earlier run
// that this one does not have.
func (r *Run) Write(dir string, formats ...Format) error {
	if err := r.WriteTables(dir); err != nil {
		return err
	}
	if err := r.WriteArrays(dir); err != nil {
		return err
	}
	return r.WritePlots(dir, formats...)
}

// WriteTables writes one CSV file for each table of the run.
func (r *Run) WriteTables(dir string) error {
	names := r.TableNames()
	for _, name := range names {
		if err := WriteFile(filepath.Join(dir, name+".csv"), r.Table(name).WriteCSV); err != nil {
			return err
		}
	}
	for _, s := range schemas {
		if !slices.Contains(names, s.name) {
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
