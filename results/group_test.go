package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// logSize is how many bytes of a log are in its file.
func logSize(t *testing.T, l *Log) int64 {
	t.Helper()
	info, err := l.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A record that comes late after the last one is in the file when Append returns; one that comes soon after waits for others, but
// not for long; a large group does not wait.
func TestGroups(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, testKey)
	appendAll(t, l, valued(point("1"), 1))
	first := logSize(t, l)
	if first == 0 {
		t.Error("the first record waits")
	}
	l.mu.Lock()
	l.wrote = time.Now().Add(time.Hour) // so that no time passes since the last write
	l.mu.Unlock()
	appendAll(t, l, valued(point("2"), 2))
	if logSize(t, l) != first {
		t.Error("a record that comes soon after another has a write of its own")
	}
	if err := l.Flush(); err != nil || logSize(t, l) <= first {
		t.Errorf("Flush left a group in memory: %v", err)
	}
	l.mu.Lock()
	l.wrote = time.Now().Add(time.Hour)
	l.mu.Unlock()
	before := logSize(t, l)
	big := valued(point("3"), 3)
	big.Arrays = []Array{{"a", []int{groupSize / 2}, make(Floats, groupSize/2)}}
	appendAll(t, l, big)
	if logSize(t, l) < before+groupSize {
		t.Error("a large group waits")
	}

	// No other call than Append is needed, and the last record of a burst does not wait for a next one.
	l.mu.Lock()
	l.wrote = time.Now()
	l.mu.Unlock()
	before = logSize(t, l)
	appendAll(t, l, valued(point("4"), 4))
	for deadline := time.Now().Add(10 * time.Second); logSize(t, l) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the last record is not written")
		}
	}

	l.mu.Lock()
	l.wrote = time.Now().Add(-groupTime)
	l.mu.Unlock()
	before = logSize(t, l)
	appendAll(t, l, valued(point("5"), 5))
	if logSize(t, l) == before {
		t.Error("a record of a slow study waits")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	records, notes, err := ReadLog(dir, testKey)
	if len(records) != 5 || notes != nil || err != nil || len(records[point("3")].Arrays[0].Data) != groupSize/2 {
		t.Errorf("%d records, %q, %v", len(records), notes, err)
	}
}

// A group that cannot be written leaves the file as it was, is an error, and is written when that is possible again.
func TestGroupThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, testKey)
	appendAll(t, l, valued(point("1"), 1))
	size := logSize(t, l)
	readOnly, err := os.Open(filepath.Join(dir, LogName))
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	l.mu.Lock()
	file := l.file
	l.file, l.wrote = readOnly, time.Time{}
	l.mu.Unlock()
	for _, p := range []string{"2", "3"} {
		if err := l.Append(valued(point(p), 2)); err == nil {
			t.Error("a record was appended to a file that cannot be written")
		}
	}
	if err := l.Flush(); err == nil {
		t.Error("flushed without an error")
	}
	if logSize(t, l) != size {
		t.Error("the file has changed")
	}
	m := NewManifest(Tool{}, Study{}, Sweep{Points: []Point{{ID: point("1")}, {ID: point("2")}}}, time.Now())
	if r := l.Run(&m); !r.Has(0) || r.Has(1) {
		t.Error("a run has a record that is not in the file, or does not have one that is")
	}
	l.mu.Lock()
	l.file = file
	l.mu.Unlock()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if records, notes, err := ReadLog(dir, testKey); len(records) != 3 || notes != nil || err != nil {
		t.Errorf("%d records, %q, %v", len(records), notes, err)
	}
}

// childLog is the folder to which the program, started again by a test, appends records until it is killed.
const childLog = "RESULTS_CHILD_LOG"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childLog); dir != "" {
		l, err := OpenLog(dir, testKey)
		if err != nil {
			panic(err)
		}
		for i := 0; ; i++ {
			if err := l.Append(valued(fmt.Sprintf("%012x", i), float64(i))); err != nil {
				panic(err)
			}
			fmt.Printf("%d %d\n", i, time.Now().UnixNano())
			time.Sleep(100 * time.Microsecond)
		}
	}
	os.Exit(m.Run())
}

// A run that is killed loses the records of the last moments, and leaves a log of whole lines but for the last one.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	const limit = 40 * time.Millisecond
	var lost time.Duration
	for range 10 { // a process that the machine held up may lose more
		lost = killed(t)
		if lost <= limit {
			return
		}
	}
	t.Errorf("killed runs lost the records of %v", lost)
}

// killed kills a process that appends records and says how long before the end the first one was appended that is lost.
func killed(t *testing.T) time.Duration {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childLog+"="+dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var appended []int64 // when each record was
	for in := bufio.NewScanner(out); in.Scan(); {
		n, at, ok := strings.Cut(in.Text(), " ")
		nanoseconds, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil || n != strconv.Itoa(len(appended)) {
			break // a line that was cut short
		}
		if appended = append(appended, nanoseconds); nanoseconds-appended[0] > int64(150*time.Millisecond) {
			if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // it was killed
	records, notes, err := ReadLog(dir, testKey)
	if err != nil || len(notes) > 1 || len(notes) == 1 && !strings.Contains(notes[0], "was cut short") {
		t.Fatalf("%q, %v", notes, err)
	}
	for i := range len(records) {
		if r := records[fmt.Sprintf("%012x", i)]; r == nil || r.Rows(Implicit)[0].Fields.Get("J") != Float(float64(i)) {
			t.Fatalf("of %d records the %dth is missing", len(records), i)
		}
	}
	l := openLog(t, dir, testKey) // the run goes on
	appendAll(t, l, valued(point("f"), 1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if again, notes, err := ReadLog(dir, testKey); len(again) != len(records)+1 || notes != nil || err != nil {
		t.Fatalf("continued: %d records after %d, %q, %v", len(again), len(records), notes, err)
	}
	if len(records) >= len(appended) {
		return 0
	}
	return time.Duration(appended[len(appended)-1] - appended[len(records)])
}

// A run killed within a group continues with what is whole.
func TestTornGroup(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, testKey)
	l.wrote = time.Now().Add(time.Hour)
	for i := range 4 {
		appendAll(t, l, valued(pointAt(float64(i)), float64(i)))
	}
	group := bytes.Clone(l.group)
	if bytes.Count(group, []byte("\n")) != 4 {
		t.Fatalf("the group is\n%s", group)
	}
	l.Close()
	for cut := 0; cut < len(group); cut += 29 {
		if err := os.WriteFile(filepath.Join(dir, LogName), group[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, dir, testKey)
		for i := range 4 {
			if _, found := l.Find(pointAt(float64(i))); found != (i < bytes.Count(group[:cut], []byte("\n"))) {
				t.Fatalf("cut at %d: record %d found: %v", cut, i, found)
			} else if !found {
				appendAll(t, l, valued(pointAt(float64(i)), float64(i)))
			}
		}
		l.Close()
		if got, err := os.ReadFile(filepath.Join(dir, LogName)); err != nil || !bytes.Equal(got, group) {
			t.Fatalf("cut at %d: the log continues as\n%s", cut, got)
		}
	}
}
