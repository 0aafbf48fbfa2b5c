package schedule

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// Store holds the disk snapshots of a run. Slots are numbered from 0. A slot is read with the length with which
// it was written.
type Store interface {
	Write(slot int, x []float64) error
	Read(slot int, x []float64) error
	io.Closer
}

// FileStore is a Store in one scratch file. The file is unlinked as soon as it is open, where the system allows that, so that even a
// killed process leaves nothing behind; elsewhere Close removes it. Its content is neither portable nor
// flushed: a snapshot is worthless to any other process.
type FileStore struct {
	file     *os.File
	slotSize int64
	unlinked bool
}

// NewFileStore makes a scratch file in dir (the system's folder for temporary files if dir is empty), with slots for states of
// up to stateLen entries. The caller closes the store.
func NewFileStore(dir string, stateLen int) (*FileStore, error) {
	file, err := os.CreateTemp(dir, "snapshots-*.scratch")
	if err != nil {
		if dir == "" {
			dir = os.TempDir()
		}
		return nil, fmt.Errorf("schedule: no scratch file for disk snapshots in %s: %w; choose a writable folder", dir, cause(err))
	}
	return &FileStore{file: file, slotSize: 8 * int64(stateLen), unlinked: os.Remove(file.Name()) == nil}, nil
}

// Write saves x.
func (s *FileStore) Write(slot int, x []float64) error {
	if err := s.check(slot, x); err != nil {
		return err
	}
	_, err := s.file.WriteAt(bytesOf(x), int64(slot)*s.slotSize)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk is full at disk slot %d: %w; use fewer disk slots or another folder", slot, cause(err))
	case err != nil:
		return fmt.Errorf("disk slot %d: %w", slot, cause(err))
	}
	return nil
}

// Read fills x from its slot.
func (s *FileStore) Read(slot int, x []float64) error {
	if err := s.check(slot, x); err != nil {
		return err
	}
	n, err := s.file.ReadAt(bytesOf(x), int64(slot)*s.slotSize)
	switch {
	case n == 8*len(x):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the snapshot file was cut short: disk slot %d has %d of %d bytes: %w", slot, n, 8*len(x), io.ErrUnexpectedEOF)
	default:
		return fmt.Errorf("disk slot %d: %w", slot, cause(err))
	}
}

// cause drops the name of the scratch file from an error: it is random, and no run's results should depend on it.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (s *FileStore) check(slot int, x []float64) error {
	if slot < 0 || 8*int64(len(x)) > s.slotSize {
		return fmt.Errorf("%w: disk slot %d with %d entries, of %d", ErrInput, slot, len(x), s.slotSize/8)
	}
	return nil
}

// Close closes the scratch file, and removes it if that is still to be done.
func (s *FileStore) Close() error {
	err := s.file.Close()
	if !s.unlinked {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}

// bytesOf returns the memory of x.
func bytesOf(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
}
