package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// index says where in a log the last record of each point stands. The records themselves stay in the file: all that is made from
// a log reads them one by one, as often as it takes.
type index struct {
	places                     map[string]place
	whole                      int64 // bytes up to the end of the last whole line
	torn, format, tool, unread int   // lines that are not used
}

// place is the place of a line, its end included.
type place struct {
	at, size int64
}

// readIndex lists the records of a folder without changing it; there may be no log.
func readIndex(dir string, key Key) (*index, error) {
	file, err := os.Open(filepath.Join(dir, LogName))
	if errors.Is(err, fs.ErrNotExist) {
		return new(index), nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return scan(file, key)
}

// scan lists the records of a log, each of which it has read.
func scan(file io.Reader, key Key) (*index, error) {
	x := &index{places: make(map[string]place)}
	var d decoder
	var r Record
	in := bufio.NewReaderSize(file, 1<<16)
	for long := []byte(nil); ; {
		line, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = append(long, line...)
			continue
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = line[:0]
		}
		if err == io.EOF {
			if len(line) > 0 {
				x.torn++
			}
			return x, nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case !d.stamp(line, &r):
			x.unread++
		case r.Format != RecordFormat:
			x.format++
		case r.Tool != key.Tool || r.Study != key.Study:
			x.tool++
		case d.decode(line, &r, nil) != nil:
			x.unread++
		default:
			x.places[r.Point] = place{x.whole, int64(len(line))}
		}
		x.whole += int64(len(line))
	}
}

// read reads the record of a point into r, or nil if the log has none. See decoder.decode for only.
func (x *index) read(file io.ReaderAt, point string, d *decoder, r *Record, only []string) (*Record, error) {
	p, ok := x.places[point]
	if !ok {
		return nil, nil
	}
	if int64(cap(d.buffer)) < p.size {
		d.buffer = make([]byte, p.size+p.size/4)
	}
	line := d.buffer[:p.size]
	_, err := file.ReadAt(line, p.at)
	d.point = point
	if err == nil {
		err = d.decode(line, r, only)
	}
	if err == nil && r.Point != point {
		err = errLine
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the record of point %s cannot be read, perhaps because another run writes to the folder: %w", LogName, point, err)
	}
	return r, nil
}

func (x *index) notes() []string {
	var notes []string
	for _, n := range []struct {
		count int
		what  string
	}{
		{x.torn, "was cut short"},
		{x.format, "has another record format"},
		{x.tool, "was made by another version of the tool or another study"},
		{x.unread, "cannot be read"},
	} {
		if n.count == 1 {
			notes = append(notes, fmt.Sprintf("%s: 1 record %s and is computed again", LogName, n.what))
		} else if n.count > 1 {
			notes = append(notes, fmt.Sprintf("%s: %d records: each %s and is computed again", LogName, n.count, n.what))
		}
	}
	return notes
}
