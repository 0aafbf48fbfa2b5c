package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/studies/conformance"
)

// TestVerify holds what the run prints to a golden file, and its file to the result.
func TestVerify(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), &stdout, &stderr, []string{"verify", "--out", dir}); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	golden(t, "verify.txt", stdout.String())
	text, err := os.ReadFile(filepath.Join(dir, "verification-results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r conformance.Result
	if err := json.Unmarshal(text, &r); err != nil || !bytes.Equal(text, r.JSON()) || !r.Pass || r.Version != "1.0.0" || r.Seed != 20261012 || !strings.HasPrefix(r.Tool, "lensir-study ") || len(r.Hashes) == 0 {
		t.Errorf("%v: %v, version %s, seed %d", err, r.Pass, r.Version, r.Seed)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v: %v", files, err)
	}
}

// TestVerifyFails holds a run with a failing check to exit code 5, to what it prints and to a file that is
// there all the same.
func TestVerifyFails(t *testing.T) {
	r := conformance.Result{Version: "1.0.0", Seed: 7, Checks: []conformance.Check{
		{Name: "one", Cases: 1, Errors: []float64{1e-16}, Largest: 1e-16, Tolerance: 1e-15, Pass: true},
		{Name: "two", Cases: 2, Errors: []float64{0, 1}, Largest: 1, Tolerance: 1e-3, Failures: slices.Repeat([]string{"case 1: error 1 is above 0.001"}, 7)}}}
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := writeVerification(&stdout, &stderr, dir, r)
	if e, ok := err.(*exit); !ok || e.code != exitViolated {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{"1.00e+00  1.00e-03  FAILS", "two: case 1: error 1 is above 0.001", "two: … and 2 more", "FAILED: 1 of 2 checks"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, verificationFile)); err != nil || !bytes.Equal(text, r.JSON()) {
		t.Errorf("the file: %v", err)
	}
	// A folder that cannot be made.
	if err := writeVerification(&stdout, &stderr, filepath.Join(dir, verificationFile, "below"), r); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("the error is %v", err)
	}
}
