package studies

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/lensir/lensir-study/studies/source"
)

// maxFileBytes bounds a study and each of its data files.
const maxFileBytes = 10_000_000

// Read reads the study at a path of fsys, and its data files, which are found from the study's folder.
// The error is an *[Error], or [Errors] when several things are wrong.
func Read(fsys fs.FS, name string) (*Study, error) {
	return read(files{fsys: fsys, display: func(p string) string { return p }}, name)
}

// ReadFile reads a study from the disk, by the path that the user gave. Messages call files by it.
func ReadFile(name string) (*Study, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, &Error{File: name, Message: err.Error()}
	}
	volume := filepath.VolumeName(absolute) + string(filepath.Separator)
	slashed := filepath.ToSlash(strings.TrimPrefix(absolute, volume))
	display := func(p string) string {
		if rel, err := filepath.Rel(filepath.Dir(absolute), volume+filepath.FromSlash(p)); err == nil {
			return filepath.ToSlash(filepath.Join(filepath.Dir(name), rel))
		}
		return p
	}
	return read(files{fsys: os.DirFS(volume), display: display}, slashed)
}

// files is where a study and its data come from.
type files struct {
	fsys    fs.FS
	display func(string) string // the name of a file in messages
}

// load reads a whole file within maxFileBytes, whose size is asked before anything is read.
func (f files) load(name string) ([]byte, *Error) {
	shown := f.display(name)
	fail := func(format string, args ...any) *Error {
		return &Error{File: shown, Message: fmt.Sprintf(format, args...)}
	}
	if !fs.ValidPath(name) {
		return nil, fail("not a path below the folder that is read from")
	}
	info, err := fs.Stat(f.fsys, name) // before it is opened: opening a pipe waits for its writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail("no such file")
	case err != nil:
		return nil, fail("cannot be read: %s", cause(err))
	case info.IsDir():
		return nil, fail("is a folder, not a file")
	case !info.Mode().IsRegular():
		return nil, fail("is not a regular file")
	case info.Size() > maxFileBytes:
		return nil, fail("has %d bytes; the most is %d", info.Size(), maxFileBytes)
	}
	file, err := f.fsys.Open(name)
	if err != nil {
		return nil, fail("cannot be opened: %s", cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fail("cannot be read: %s", cause(err))
	}
	if len(data) > maxFileBytes {
		return nil, fail("has more than %d bytes", maxFileBytes)
	}
	return data, nil
}

// cause strips the path from a file error: the message names the file already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// text is load for text files: UTF-8, without a byte order mark.
func (f files) text(name string) (*source.File, *Error) {
	data, err := f.load(name)
	if err != nil {
		return nil, err
	}
	return source.New(f.display(name), string(data))
}

// beside returns the path of a file that a study names.
func beside(study, name string) string { return path.Join(path.Dir(study), name) }
