package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// LogName is the log's name in an output folder. Removing the file makes a study start afresh.
const LogName = "records.jsonl"

// Key says which records of a log belong to a run: those that this tool made of this study.
type Key struct {
	Tool  string // digest of the tool, see ToolDigest
	Study string
}

// Log is the append-only file of the records of an output folder. It may be used by several goroutines.
type Log struct {
	key  Key
	mu   sync.Mutex
	file *os.File
	size int64
	seen readLog
}

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
		l.size = l.seen.whole
		err = file.Truncate(l.size)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// Find returns the last record of a point that belongs to the run and was in the log when it was opened. Records
// appended since are on the disk alone, so that a long sweep does not fill the memory.
func (l *Log) Find(point string) (*Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.seen.records[point]
	return r, ok
}

// Notes says which lines of an earlier run are not used, and why.
func (l *Log) Notes() []string { return l.seen.notes() }

// Append stamps the record with the log's key and writes it as one line, in one write. If the write fails,
// the part that reached the file is removed again.
func (l *Log) Append(r *Record) error {
	r.Format, r.Tool, r.Study = RecordFormat, l.key.Tool, l.key.Study
	if err := r.check(); err != nil {
		return err
	}
	line := r.encode()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.WriteAt(line, l.size); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(len(line))
	return nil
}

// Flush brings the records to the disk.
func (l *Log) Flush() error { return l.file.Sync() }

// Close flushes the log and lets other processes have the folder.
func (l *Log) Close() error { return errors.Join(l.file.Sync(), l.file.Close()) }

// ReadLog reads the records of a folder without changing it. The notes say which lines are not used, and why.
func ReadLog(dir string, key Key) (records map[string]*Record, notes []string, err error) {
	file, err := os.Open(filepath.Join(dir, LogName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	seen, err := scan(file, key)
	return seen.records, seen.notes(), err
}

// readLog is what a scan of a log found.
type readLog struct {
	records                    map[string]*Record
	whole                      int64 // bytes up to the end of the last whole line
	torn, format, tool, unread int
}

func (s readLog) notes() []string {
	var notes []string
	for _, n := range []struct {
		count int
		what  string
	}{
		{s.torn, "was cut short"},
		{s.format, "has another record format"},
		{s.tool, "was made by another version of the tool or another study"},
		{s.unread, "cannot be read"},
	} {
		if n.count == 1 {
			notes = append(notes, fmt.Sprintf("%s: 1 record %s and is computed again", LogName, n.what))
		} else if n.count > 1 {
			notes = append(notes, fmt.Sprintf("%s: %d records: each %s and is computed again", LogName, n.count, n.what))
		}
	}
	return notes
}

func scan(file io.Reader, key Key) (readLog, error) {
	s := readLog{records: make(map[string]*Record)}
	for in := bufio.NewReaderSize(file, 1<<16); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			if len(line) > 0 {
				s.torn++
			}
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.whole += int64(len(line))
		var stamp struct {
			Format      int
			Tool, Study string
		}
		if json.Unmarshal(line, &stamp) != nil {
			s.unread++
			continue
		}
		switch {
		case stamp.Format != RecordFormat:
			s.format++
		case stamp.Tool != key.Tool || stamp.Study != key.Study:
			s.tool++
		default:
			if r, err := decode(line); err == nil {
				s.records[r.Point] = r
			} else {
				s.unread++
			}
		}
	}
}
