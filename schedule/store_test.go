package schedule

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// damaged is a store that works up to a point.
type damaged struct{}

func (damaged) Write(int, []float64) error { return errFault }
func (damaged) Read(int, []float64) error  { return errFault }
func (damaged) Close() error               { return nil }

func TestFileStore(t *testing.T) {
	dir := t.TempDir()
	s, err := NewFileStore(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	for slot, x := range [][]float64{{1, 2, 3}, {4}, {5, 6, 7}} {
		if err := s.Write(slot, x); err != nil {
			t.Fatal(err)
		}
	}
	x := make([]float64, 3)
	if err := s.Read(2, x); err != nil || x[0] != 5 || x[2] != 7 {
		t.Errorf("%v, %v", x, err)
	}
	if err := s.Read(1, x[:1]); err != nil || x[0] != 4 {
		t.Errorf("%v, %v", x, err)
	}
	if err := s.Write(0, make([]float64, 4)); !errors.Is(err, ErrInput) {
		t.Errorf("too long: %v", err)
	}
	if err := s.file.Truncate(2*24 + 20); err != nil {
		t.Fatal(err)
	}
	if err := s.Read(2, x); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "20 of 24 bytes") {
		t.Errorf("cut short: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	empty(t, dir)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func twoTier(t *testing.T) Schedule {
	s, err := NewTwoTier(60, 2, 3, Costs{Advance: 1, DiskWrite: 0.1, DiskRead: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), filepath.Join(t.TempDir(), "missing")} {
		_, err := NewFileStore(dir, 3)
		if err == nil || !strings.Contains(err.Error(), "writable folder") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestFileCutShort(t *testing.T) {
	dir := t.TempDir()
	store, err := NewFileStore(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutting{logistic: newLogistic(60), store: store}
	_, err = runOn(c, twoTier(t), Settings{Store: store})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("got %v", err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	empty(t, dir)
}

// cutting truncates the scratch file while the chain is being reversed.
type cutting struct {
	*logistic
	store *FileStore
}

func (c *cutting) Reverse(j int, tape, after, before []float64) error {
	if j == 60 {
		if err := c.store.file.Truncate(4); err != nil {
			return err
		}
	}
	return c.logistic.Reverse(j, tape, after, before)
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no device that is always full: ", err)
	}
	store := &FileStore{file: full, slotSize: 8, unlinked: true}
	defer store.Close()
	_, err = runOn(newLogistic(60), twoTier(t), Settings{Store: store})
	var step *StepError
	if !errors.As(err, &step) || step.Step != 0 || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("got %v", err)
	}
}

// TestDamagedSnapshot: a bit that flips on disk is found by the hashes.
func TestDamagedSnapshot(t *testing.T) {
	store, err := NewFileStore(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	flip := &flipping{store}
	_, err = runOn(newLogistic(60), twoTier(t), Settings{Store: flip, Fidelity: 1})
	var f *FidelityError
	if !errors.As(err, &f) || f.Call != "restore" {
		t.Errorf("got %v", err)
	}
}

type flipping struct{ Store }

func (s *flipping) Read(slot int, x []float64) error {
	err := s.Store.Read(slot, x)
	x[0] += 0x1p-50
	return err
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	store, err := NewFileStore(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := NewRunner(newLogistic(60), twoTier(t), Settings{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(ctx, Sweep{Start: []float64{0.3}, Cotangent: []float64{1}, Gradient: make([]float64, 1)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if store.unlinked {
		empty(t, dir) // even before it is closed
	}
	store.Close()
	empty(t, dir)
}
