package results

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WriteFile makes the file at path hold what write writes. The file is complete or unchanged: the content goes to a
// file aside, which is renamed. Missing folders are made.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	aside, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o666), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer aside.Cleanup()
	w := bufio.NewWriterSize(aside, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return aside.CloseAtomicallyReplace()
}
