package model

import (
	"flag"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/lensir/lensir-study/studies"
)

var update = flag.Bool("update", false, "write golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// minimalRoot is a study of another kind.
const minimalRoot = `kind = "root"
[constants]
e = 0.1
[parameters]
M = 0.5
[state]
E = { start = "M" }
[root]
r = "E - e * sin(E) - M"
[objective]
J = "E"
`

// readText2 reads a study given as text.
func readText(t testing.TB, text string) *studies.Study {
	t.Helper()
	s, err := tryText(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func tryText(text string) (*studies.Study, error) {
	return studies.Read(fstest.MapFS{"x.toml": {Data: []byte(text)}}, "x.toml")
}
