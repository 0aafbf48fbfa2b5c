package results

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WriteFile makes the file at path hold what write writes. The file is complete or unchanged: the content goes to a
// file aside, which is renamed. Missing folders are made.
func WriteFile(path string, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return renameio.WriteFile(path, buf.Bytes(), 0o666)
}
