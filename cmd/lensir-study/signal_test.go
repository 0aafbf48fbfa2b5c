package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// long is a study whose run can be stopped: many points, each a search for its constants.
const long = `title = "Long"
kind  = "fixed-point"
[parameters]
theta = 0.5
[constants]
a = 0
[state]
z = { start = "0 * theta" }
[fixed-point]
z = "theta * cos(z + a)"
[objective]
J = "z^2"
[domain]
ball = { center = "solution", radius = 1.0, norm = "2" }
[bounds]
constants = "estimate"
[iterate]
steps = [0, 1, 2, 5, 10]
[sweep.grid]
theta = { linspace = [0.1, 0.9, 12] }
a = { linspace = [0, 1, 5] }
`

// points is how many points the long study has.
const points = 60

// stopped runs the command on the long study in a folder of its own, lets stop end it when a few records are written,
// and waits. A run that came to its end before it was stopped says nothing: it is tried again.
func stopped(t *testing.T, stop func(*os.Process) error) (dir, stderr string, state *os.ProcessState) {
	t.Helper()
	for range 10 {
		dir := longStudy(t)
		c := exec.Command("lensir-study", "run", "long.toml", "--jobs", "2")
		var stderr bytes.Buffer
		c.Dir, c.Stderr = dir, &stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(dir, "results", "long", "records.jsonl")
		for deadline := time.Now().Add(time.Minute); records(t, log) < 3; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				_ = c.Process.Kill()
				t.Fatal("no record was written")
			}
		}
		if err := stop(c.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = c.Wait() // the state says how it ended
		if records(t, log) < points {
			return dir, stderr.String(), c.ProcessState
		}
	}
	t.Fatal("every run came to its end before it was stopped")
	return "", "", nil
}

// records counts the whole lines of a log.
func records(t *testing.T, log string) int {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func longStudy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long.toml"), []byte(long), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// whole runs the long study to its end, and returns the stderr.
func whole(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("lensir-study", append([]string{"run", "long.toml"}, args...)...)
	var stderr bytes.Buffer
	c.Dir, c.Stderr = dir, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return stderr.String()
}

// differing are the files of a folder that may differ from run to run.
var differing = []string{"manifest.json", "records.jsonl", "measurements.csv"}

// sameResults holds the files of two output folders to being equal, byte for byte.
func sameResults(t *testing.T, want, have string) {
	t.Helper()
	read := func(dir string) map[string]string {
		files := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if slices.Contains(differing, name) {
				data = nil
			}
			files[name] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	a, b := read(want), read(have)
	if len(a) < 8 {
		t.Errorf("%s has only %d files", want, len(a))
	}
	for name := range a {
		if text, ok := b[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if text != a[name] {
			t.Errorf("%s differs", name)
		}
		delete(b, name)
	}
	for name := range b {
		t.Errorf("%s is too much", name)
	}
}

// TestStopped stops runs, continues them, and holds what comes out to that of a run that was not stopped; and the
// tables of one worker to those of eight.
func TestStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for seconds")
	}
	one := longStudy(t)
	whole(t, one, "--jobs", "1")
	reference := filepath.Join(one, "results", "long")

	t.Run("eight jobs", func(t *testing.T) {
		dir := longStudy(t)
		whole(t, dir, "--jobs", "8")
		sameResults(t, reference, filepath.Join(dir, "results", "long"))
	})

	t.Run("interrupted", func(t *testing.T) {
		dir, stderr, state := stopped(t, func(p *os.Process) error { return p.Signal(os.Interrupt) })
		if code := state.ExitCode(); code != exitInterrupted {
			t.Fatalf("exit code %d (%v), want %d\n%s", code, state, exitInterrupted, stderr)
		}
		for _, want := range []string{" points computed, ", " not; results in results/long\n",
			"lensir-study: interrupted; what is done is kept, and the same command continues\n"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("stderr has no %q:\n%s", want, stderr)
			}
		}
		continued(t, dir, reference)
	})

	t.Run("killed", func(t *testing.T) {
		dir, _, _ := stopped(t, (*os.Process).Kill)
		// A kill in the middle of a write leaves a line that was cut short.
		log, err := os.OpenFile(filepath.Join(dir, "results", "long", "records.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.WriteString(`{"format":1,"tool":"`); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if stderr := continued(t, dir, reference); !strings.Contains(stderr, "1 record was cut short and is computed again") {
			t.Errorf("the line that was cut short is not named:\n%s", stderr)
		}
	})

	t.Run("a second signal", func(t *testing.T) {
		// The first is caught, a later one ends the program wherever it is.
		_, stderr, state := stopped(t, func(p *os.Process) error {
			for range 100 {
				if err := p.Signal(syscall.SIGTERM); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		if state.Success() {
			t.Errorf("the run was not stopped: %v\n%s", state, stderr)
		}
	})
}

// continued runs the study of a stopped run again: it finds records, computes the others, and comes to the same files.
func continued(t *testing.T, dir, reference string) (stderr string) {
	t.Helper()
	folder := filepath.Join(dir, "results", "long")
	stderr = whole(t, dir)
	if strings.Contains(stderr, " 0 points computed") || !strings.Contains(stderr, " found from before; ") {
		t.Errorf("nothing was left to do, or nothing was found from before:\n%s", stderr)
	}
	sameResults(t, reference, folder)
	return stderr
}
