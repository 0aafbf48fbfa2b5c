package studies

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
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

// TestReference holds the reference page to the tables that it is written from.
func TestReference(t *testing.T) { golden(t, "../REFERENCE.md", Reference()) }

// The least number that the reference page names is the least that reading takes.
func TestLeastCounts(t *testing.T) {
	const root = "kind = \"root\"\n[parameters]\na = 2.0\n[state]\nz = { start = \"1\" }\n[root]\nr = \"z - a\"\n[objective]\nJ = \"z\"\n"
	const steps = "kind = \"chain\"\n[parameters]\na = 2.0\n[state]\nz = { start = \"1\" }\n[chain]\nsteps = 3\n[next]\nz = \"z * a\"\n[objective]\nJ = \"z\"\n[schedule]\n"
	for path, text := range map[string]string{
		"implicit.max_iterations": root + "[implicit]\nmax_iterations = %d\n",
		"sweep.sample.points":     root + "[sweep.sample]\na = { uniform = [1, 2] }\npoints = %d\n",
		"sweep.sample.seed":       root + "[sweep.sample]\na = { uniform = [1, 2] }\npoints = 1\nseed = %d\n",
		"schedule.disk.slots":     steps + "methods = [\"two-tier\"]\ndisk = { slots = %d, write = 1, read = 1 }\n",
		"schedule.repetitions":    steps + "repetitions = %d\n",
	} {
		i := slices.IndexFunc(schema, func(r row) bool { return r.path == path })
		for n := schema[i].least - 1; n <= schema[i].least; n++ {
			_, err := Read(fstest.MapFS{"x.toml": {Data: fmt.Appendf(nil, text, n)}}, "x.toml")
			if taken := n == schema[i].least; taken != (err == nil) {
				t.Errorf("%s = %d: %v", path, n, err)
			}
		}
	}
}
