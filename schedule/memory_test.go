package schedule

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// large is a chain of 10⁶ entries a state, whose tape is the state.
type large struct{}

const largeLen = 1_000_000

func (large) StateLen(int) int { return largeLen }
func (large) TapeLen(int) int  { return largeLen }

func (large) Advance(_ int, x, next []float64) error {
	for i, v := range x {
		next[i] = v - float64(0.01*v*v)
	}
	return nil
}

func (c large) Record(j int, x, next, tape []float64) error {
	copy(tape, x)
	return c.Advance(j, x, next)
}

func (large) Reverse(_ int, tape, after, before []float64) error {
	for i, v := range tape {
		before[i] = after[i] * (1 - 0.02*v)
	}
	return nil
}

// TestResidentSet runs a chain of large states in a fresh process: what the process gains is what the meters say.
func TestResidentSet(t *testing.T) {
	if os.Getenv("SCHEDULE_CHILD") != "" {
		residentChild(t)
		return
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own")
	}
	if peak(t) == 0 {
		t.Skip("no /proc/self/status to read")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestResidentSet$", "-test.v")
	cmd.Env = append(os.Environ(), "SCHEDULE_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var logical, rise int64
	i := bytes.Index(out, []byte("logical="))
	if i < 0 {
		t.Fatalf("%s", out)
	}
	if _, err := fmt.Sscanf(string(out[i:]), "logical=%d rise=%d", &logical, &rise); err != nil {
		t.Fatal(err)
	}
	t.Logf("logical %.1f MB, resident set +%.1f MB", float64(logical)/1e6, float64(rise)/1e6)
	if want := int64(8 * largeLen * (10 + 2 + 2 + 1 + 1)); logical < want || logical > want+10_000 {
		t.Errorf("logical bytes %d, want %d and some records", logical, want)
	}
	if float64(rise) > 1.05*float64(logical)+10e6 || rise < logical/2 {
		t.Errorf("the resident set rises by %d bytes, the logical bytes are %d", rise, logical)
	}
}

func residentChild(t *testing.T) {
	start, cotangent := make([]float64, largeLen), make([]float64, largeLen)
	value, gradient := make([]float64, largeLen), make([]float64, largeLen)
	for _, x := range [][]float64{start, cotangent, value, gradient} { // the caller's, so touched before
		fill(x, 1)
	}
	before := peak(t)
	s, err := NewBinomial(100, 10, -1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(large{}, s, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(context.Background(), Sweep{Start: start, Cotangent: cotangent, Value: value, Gradient: gradient})
	if err != nil {
		t.Fatal(err)
	}
	if err := Certify(s, res).Check(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("logical=%d rise=%d\n", res.Bytes.Total(), peak(t)-before)
	if math.IsNaN(gradient[0]) || gradient[0] != gradient[largeLen-1] {
		t.Error(gradient[0])
	}
}

// peak returns the largest resident set so far, or 0 where the system does not tell.
func peak(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); !ok || err != nil {
		t.Fatal("no VmHWM in ", string(status))
	}
	return kib * 1024
}
