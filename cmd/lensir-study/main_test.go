package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestMainJob holds the tables of the README's first command to a golden file.
func TestMainJob(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), &stdout, &stderr, []string{"run", "contraction", "--out", t.TempDir()})
	if code != exitFine {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	golden(t, "contraction.txt", stdout.String())
}

// TestInternalError holds a panic, which is a defect, to the exit code 1 and to a message that says so.
func TestInternalError(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), panics{}, &stderr, []string{"list"})
	if code != exitInternal || !strings.HasPrefix(stderr.String(), "lensir-study: internal error: a defect\n") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// panics is a stdout with a defect.
type panics struct{}

func (panics) Write([]byte) (int, error) { panic("a defect") }
