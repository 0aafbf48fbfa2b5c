package results

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testKey = Key{Tool: "aaaaaaaaaaaa", Study: "demo"}

func point(digit string) string { return strings.Repeat(digit, 12) }

func valued(p string, x float64) *Record {
	r := &Record{Point: p}
	r.Add(Implicit, Row{Ending: Ending{Status: "OK"}, Fields: Fields{{"J", Float(x)}}})
	return r
}

func openLog(t *testing.T, dir string, key Key) *Log {
	t.Helper()
	l, err := OpenLog(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func appendAll(t *testing.T, l *Log, records ...*Record) {
	t.Helper()
	for _, r := range records {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

// The log is cut at every byte: what is found is the whole lines, and appending leaves a log without a scar.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	l := openLog(t, dir, testKey)
	appendAll(t, l, valued(point("1"), 1), valued(point("2"), 2), valued(point("3"), 3))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(whole[:cut]), "\n")
		torn := cut > 0 && whole[cut-1] != '\n'
		if records, notes, err := ReadLog(dir, testKey); err != nil || len(records) != lines || (len(notes) == 1) != torn {
			t.Fatalf("cut at %d: read %d of %d records, %q, %v", cut, len(records), lines, notes, err)
		}
		l := openLog(t, dir, testKey)
		if got, _ := os.ReadFile(path); string(got) != string(whole[:strings.LastIndex(string(whole[:cut]), "\n")+1]) {
			t.Fatalf("cut at %d: the opened log holds\n%s", cut, got)
		}
		for i := range 3 {
			p := point(string(rune('1' + i)))
			if _, found := l.Find(p); found != (i < lines) {
				t.Fatalf("cut at %d: record %d found: %v", cut, i+1, found)
			} else if !found {
				appendAll(t, l, valued(p, float64(i+1)))
			}
		}
		l.Close()
		if got, _ := os.ReadFile(path); string(got) != string(whole) {
			t.Fatalf("cut at %d: the log continues as\n%s", cut, got)
		}
	}
}

func TestWhichRecordsAreReused(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, testKey)
	appendAll(t, l, valued(point("1"), 1), valued(point("2"), 2), valued(point("1"), 10))
	l.Close()
	otherTool := openLog(t, dir, Key{"bbbbbbbbbbbb", "demo"})
	appendAll(t, otherTool, valued(point("2"), 20))
	otherTool.Close()
	otherStudy := openLog(t, dir, Key{testKey.Tool, "other"})
	appendAll(t, otherStudy, valued(point("1"), 30))
	otherStudy.Close()
	file, err := os.OpenFile(filepath.Join(dir, LogName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString(`{"format":99,"tool":"aaaaaaaaaaaa","study":"demo","point":"111111111111","new":true}` + "\n" +
		"\x00\x00\n" + `{"format":1,"tool":"aaaaaaaaaaaa","study":"demo","point":"short"}` + "\n")
	file.Close()

	l = openLog(t, dir, testKey)
	defer l.Close()
	for p, want := range map[string]float64{point("1"): 10, point("2"): 2} {
		r, ok := l.Find(p)
		if !ok || r.Rows(Implicit)[0].Fields.Get("J") != Float(want) {
			t.Errorf("point %s: %v, %v, want %v", p, r, ok, want)
		}
	}
	want := []string{
		"records.jsonl: 1 record has another record format and is computed again",
		"records.jsonl: 2 records: each was made by another version of the tool or another study and is computed again",
		"records.jsonl: 2 records: each cannot be read and is computed again",
	}
	if diff := cmp.Diff(want, l.Notes()); diff != "" {
		t.Error(diff)
	}
	if err := l.Append(&Record{Point: "short"}); err == nil {
		t.Error("a record without a point was appended")
	}
}

func TestLogFromManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, testKey)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := l.Append(valued(pointAt(float64(i)), float64(i))); err != nil {
				t.Error(err)
			}
			l.Find(pointAt(float64(i)))
		})
	}
	wg.Wait()
	l.Close()
	records, notes, err := ReadLog(dir, testKey)
	if len(records) != 50 || notes != nil || err != nil {
		t.Errorf("%d records, %q, %v", len(records), notes, err)
	}
}

func TestReadLogOfAnEmptyFolder(t *testing.T) {
	if records, notes, err := ReadLog(t.TempDir(), testKey); len(records) != 0 || notes != nil || err != nil {
		t.Errorf("%v, %v, %v", records, notes, err)
	}
	if _, err := OpenLog(filepath.Join(t.TempDir(), "absent"), testKey); err == nil {
		t.Error("a log was opened in an absent folder")
	}
}

// Two processes that write to one folder would write over each other's records: the second is refused,
// and changes nothing.
func TestAFolderHasOneWriter(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks")
	}
	dir := t.TempDir()
	m := NewManifest(Tool{}, Study{Name: "s"}, Sweep{}, time.Now())
	first, err := Begin(dir, &m, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(dir, &m, []byte("second")); !errors.Is(err, ErrInUse) {
		t.Fatalf("a second writer was let in: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, StudyName)); err != nil || string(text) != "first" {
		t.Errorf("the refused run wrote %q, %v", text, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Begin(dir, &m, []byte("second"))
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// A folder that no run made keeps what is in it.
func TestForeignFilesAreKept(t *testing.T) {
	m := NewManifest(Tool{}, Study{Name: "s"}, Sweep{}, time.Now())
	for _, name := range []string{StudyName, LogName, "implicit.csv", "arrays.npz"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Begin(dir, &m, []byte("other")); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		left, err := os.ReadDir(dir)
		if text, _ := os.ReadFile(path); err != nil || len(left) != 1 || string(text) != "mine" {
			t.Errorf("%s: %q, %v is left", name, text, left)
		}
	}
}
