package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// LogName is the log's name in an output folder. Removing the file makes a study start afresh.
const LogName = "records.jsonl"

// Key says which records of a log belong to a run: those that this tool made of this study.
type Key struct {
	Tool  string // digest of the tool, see ToolDigest
	Study string
}

// Log is the append-only file of the records of an output folder. It may be used by several goroutines.
//
// Records that come quickly are written in groups. A record that comes groupTime or more after the last write is written at once,
// and no other waits longer than that for its group: this is what a killed run can lose.
type Log struct {
	key   Key
	file  *os.File
	seen  *index
	found decoder // of Find

	writing sync.Mutex // held while a group goes to the file, when others still join the next one; before mu
	mu      sync.Mutex // of what follows
	size    int64      // of the file: all whole lines
	end     int64      // the size with the lines that are not written yet
	group   []byte     // these lines, but for those that are being written
	spare   []byte     // memory for the next group
	wrote   time.Time  // when a group was last taken to be written
	timer   *time.Timer
}

// A group is written when it is this old or this large.
const (
	groupTime = 10 * time.Millisecond
	groupSize = 1 << 18
)

// keptSize is how much memory is kept for the next record or group; a record may have far larger arrays.
const keptSize = 1 << 22

// ErrInUse says that another process is writing to an output folder.
var ErrInUse = errors.New("another run is writing to this folder; wait until it ends, or write to another one")

// OpenLog opens or creates the log of the folder dir. A last line that was cut short is removed from the file.
// One process at a time has the log open: each would write over the other's records.
func OpenLog(dir string, key Key) (*Log, error) {
	path := filepath.Join(dir, LogName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if lock(file) {
		file.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	l := &Log{key: key, file: file}
	if l.seen, err = scan(file, key); err == nil {
		l.size, l.end = l.seen.whole, l.seen.whole
		err = file.Truncate(l.size)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// Find returns the last record of a point that belongs to the run and is in the file. It is read from there each time, so that a
// long sweep does not fill the memory.
func (l *Log) Find(point string) (*Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.seen.read(l.file, point, &l.found, new(Record), nil)
	return r, err == nil && r != nil
}

// Notes says which lines of an earlier run are not used, and why.
func (l *Log) Notes() []string { return l.seen.notes() }

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Append stamps the record with the log's key and adds it as one line, which is in the file after groupTime at the latest. Where a
// write fails, the part that reached the file is removed again; the next Append, Flush or Close tries once more.
func (l *Log) Append(r *Record) error {
	r.Format, r.Tool, r.Study = RecordFormat, l.key.Tool, l.key.Study
	e := encoders.Get().(*encoder)
	line, err := e.encode(r)
	if cap(line) <= keptSize {
		defer encoders.Put(e)
	}
	if err != nil {
		return err
	}
	if l.join(r.Point, line) {
		return l.write()
	}
	return nil
}

// join adds a line to the group and reports whether it is to be written now.
func (l *Log) join(point string, line []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.places[point] = place{l.end, int64(len(line))}
	l.group, l.end = append(l.group, line...), l.end+int64(len(line))
	wait := groupTime - time.Since(l.wrote)
	if wait <= 0 || len(l.group) >= groupSize {
		return true
	}
	if len(l.group) == len(line) { // the first of a group
		if l.timer == nil {
			l.timer = time.AfterFunc(wait, l.late)
		} else {
			l.timer.Reset(wait)
		}
	}
	return false
}

// late writes a group that waited. An error is that of the next call, which tries again.
func (l *Log) late() { _ = l.write() }

// write brings the group into the file, or leaves the file as it was.
func (l *Log) write() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	taken := l.group
	if len(taken) > 0 {
		l.group, l.spare, l.wrote = l.spare[:0], nil, time.Now()
	}
	l.mu.Unlock()
	if len(taken) == 0 {
		return nil
	}
	_, err := l.file.WriteAt(taken, l.size)
	if err != nil {
		err = errors.Join(err, l.file.Truncate(l.size))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.group, l.wrote = append(taken, l.group...), time.Time{} // in the order of their places, and due
		return err
	}
	l.size += int64(len(taken))
	if cap(taken) <= keptSize {
		l.spare = taken
	}
	return nil
}

// Run returns the run of a manifest with the records that are in the file by now, as Load does but without reading them.
func (l *Log) Run(m *Manifest) *Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	written := *l.seen
	written.places = make(map[string]place, len(l.seen.places))
	for point, p := range l.seen.places {
		if p.at < l.size {
			written.places[point] = p
		}
	}
	return &Run{Manifest: *m, Notes: l.Notes(), dir: filepath.Dir(l.file.Name()), log: &written}
}

// Flush brings the records to the disk.
func (l *Log) Flush() error { return errors.Join(l.write(), l.file.Sync()) }

// Close flushes the log and lets other processes have the folder.
func (l *Log) Close() error {
	err := l.Flush()
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group = nil // which a late timer would write to a closed file
	return errors.Join(err, l.file.Close())
}
