package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// sound is a study that runs; bad inputs change a piece of it.
const sound = `kind = "fixed-point"

[constants]
a = 0.5
W = [[0.1, 0.2], [0.3, 0.4]]

[parameters]
theta = 1.0

[data]
X = { file = "data.csv", columns = ["x", "y"] }

[define]
offset = "theta + sum(X)"

[state]
z = { start = "zeros(2)" }

[fixed-point]
z = "a * matmul(W, z) + offset"

[objective]
J = "sum(z^2)"

[domain]
ball = { center = "solution", radius = 1.0, norm = "2" }

[bounds]
constants = "estimate"

[sweep.grid]
theta = [0.5, 1.0]
`

const soundData = "x,y\n1,2\n3,4\n"

// change returns text with one piece replaced; the piece must be there once.
func change(text, old, new string) string {
	if strings.Count(text, old) != 1 {
		panic("not once in the text: " + old)
	}
	return strings.Replace(text, old, new, 1)
}

func study(old, new string) string { return change(sound, old, new) }

var badInputs = []struct{ name, study, data string }{
	{"broken TOML", study("a = 0.5", "a = "), soundData},
	{"a quote is missing", study(`J = "sum(z^2)"`, `J = "sum(z^2)`), soundData},
	{"an unknown key", study("radius = 1.0", "radios = 1.0"), soundData},
	{"an unknown section", study("[bounds]", "[bound]"), soundData},
	{"an unknown function", study("sum(z^2)", "summ(z^2)"), soundData},
	{"an unknown name", study("+ offset", "+ ofset"), soundData},
	{"shapes that do not fit", study("matmul(W, z)", "matmul(W, [1, 2, 3])"), soundData},
	{"shapes that are not broadcast", study("+ offset", "+ offset + W"), soundData},
	{"a formula of another shape than its block", study(`"zeros(2)"`, `"zeros(3)"`), soundData},
	{"a state without a formula", study(`z = { start = "zeros(2)" }`, "z = { start = \"zeros(2)\" }\ny = { start = \"1\" }"), soundData},
	{"a formula without a state", study("[objective]", "y = \"1\"\n\n[objective]"), soundData},
	{"an objective that is no scalar", study("sum(z^2)", "z^2"), soundData},
	{"a name defined twice", study("[define]", "[define]\na = \"1\""), soundData},
	{"a key twice", study("theta = 1.0", "theta = 1.0\ntheta = 2.0"), soundData},
	{"a reserved name: a function", study("a = 0.5", "a = 0.5\nmean = 1"), soundData},
	{"a reserved name: a column", study("a = 0.5", "a = 0.5\nstatus = 1"), soundData},
	{"definitions in a circle", study(`offset = "theta + sum(X)"`, "offset = \"theta + sum(X) + p\"\np = \"2 * r\"\nr = \"p + 1\""), soundData},
	{"a definition of itself", study(`offset = "theta + sum(X)"`, `offset = "theta + sum(X) * offset"`), soundData},
	{"a definition that nothing uses", study("[state]", "spare = \"theta^2\"\n\n[state]"), soundData},
	{"data without a column", study(`["x", "y"]`, `["x", "z1"]`), soundData},
	{"data that is no number", sound, "x,y\n1,2\n3,four\n"},
	{"data with a ragged line", sound, "x,y\n1,2\n3\n"},
	{"data without a file", study("data.csv", "dta.csv"), soundData},
	{"a sweep over an unknown name", study("theta = [0.5, 1.0]", "thta = [0.5, 1.0]"), soundData},
	{"a sweep over an array", study("theta = [0.5, 1.0]", "W = [0.5, 1.0]"), soundData},
	{"an empty sweep", study("theta = [0.5, 1.0]", "theta = []"), soundData},
	{"a sweep without a name", study("theta = [0.5, 1.0]", ""), soundData},
	{"lists of a zip that differ", study("[sweep.grid]\ntheta = [0.5, 1.0]", "[sweep.zip]\ntheta = [0.5, 1.0]\na = [1, 2, 3]"), soundData},
	{"a parameter that is NaN", study("theta = 1.0", "theta = nan"), soundData},
	{"a swept value that is NaN", study("theta = [0.5, 1.0]", "theta = [0.5, nan]"), soundData},
	{"a literal that underflows", study("sum(z^2)", "1e-400 * sum(z^2)"), soundData},
	{"a constant that underflows", study("a = 0.5", "a = 1e-400"), soundData},
	{"a literal that overflows", study("sum(z^2)", "1e400 * sum(z^2)"), soundData},
	{"a shape of 10⁹ entries", study("W = [[0.1, 0.2], [0.3, 0.4]]", `W = { random = "normal", shape = [1000, 1000, 1000], seed = 1 }`), soundData},
	{"10⁹ entries in a formula", study("sum(z^2)", "sum(z) + sum(zeros(1000000000))"), soundData},
	{"10²⁴ entries in a formula", study("sum(z^2)", "sum(z) + sum(zeros(1000000000000, 1000000000000))"), soundData},
	{"10⁹ entries in a definition", study("theta + sum(X)", "theta + sum(rows(zeros(10000), 100000))"), soundData},
	{"a state of 10⁹ entries", study(`"zeros(2)"`, `"zeros(1000000000)"`), soundData},
	{"a state of 10⁵ entries", study(`"zeros(2)"`, `"zeros(100000)"`), soundData},
	{"500,000 brackets in a formula", study("sum(z^2)", strings.Repeat("(", 500_000)+"sum(z)"+strings.Repeat(")", 500_000)), soundData},
	{"500,000 brackets that stay open", study("sum(z^2)", strings.Repeat("[", 500_000)), soundData},
	{"500,000 signs", study("sum(z^2)", strings.Repeat("-", 500_000)+"sum(z)"), soundData},
	{"500,000 brackets in a list", study("a = 0.5", "a = "+strings.Repeat("[", 500_000)+strings.Repeat("]", 500_000)), soundData},
	{"a comparison where a number is wanted", study("sum(z^2)", "sum(z) < 1"), soundData},
	{"an operator of another language", study("sum(z^2)", "sum(z)**2"), soundData},
	{"not UTF-8", study("sum(z^2)", "sum(\xff)"), soundData},
	{"an empty file", "", soundData},
	{"a kind that is none", study("fixed-point\"\n\n[constants]", "fixpoint\"\n\n[constants]"), soundData},
}

// TestBadInput holds every way in which a study can be wrong to one clear error on stderr, the exit code 3, and a
// folder in which nothing is written; whichever command reads the study.
func TestBadInput(t *testing.T) {
	var out strings.Builder
	refuse := func(name string, files map[string]string, prepare func() error) {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, files)
			if prepare != nil {
				if err := prepare(); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprintf(&out, "-- %s --\n%s", name, refusal(t, "bad.toml"))
		})
	}
	for _, bad := range badInputs {
		refuse(bad.name, map[string]string{"bad.toml": bad.study, "data.csv": bad.data}, nil)
	}
	refuse("a missing file", nil, nil)
	refuse("a folder", nil, func() error { return os.Mkdir("bad.toml", 0o777) })
	refuse("a file of 10⁸ bytes", map[string]string{"bad.toml": ""}, func() error { return os.Truncate("bad.toml", 100_000_000) })
	golden(t, "bad.txt", out.String())
}

// TestSoundInput holds what the bad inputs are made from to being right, so that each is wrong for one reason.
func TestSoundInput(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"sound.toml": sound, "data.csv": soundData})
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), &stdout, &stderr, []string{"run", "sound.toml"}); code != exitFine {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

func write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// refusal runs each command on a study that is wrong and returns what is said about it.
func refusal(t *testing.T, file string) string {
	t.Helper()
	before := entries(t)
	said := ""
	for _, command := range []string{"run", "check", "show"} {
		var stdout, stderr bytes.Buffer
		began := time.Now()
		code := run(t.Context(), &stdout, &stderr, []string{command, file})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", command, took)
		}
		if code != exitInvalid {
			t.Errorf("%s has the exit code %d, want %d", command, code, exitInvalid)
		}
		if stdout.Len() > 0 {
			t.Errorf("%s writes to stdout: %s", command, &stdout)
		}
		if said != "" && stderr.String() != said {
			t.Errorf("%s says something else than run: %s", command, &stderr)
		}
		said = stderr.String()
	}
	if after := entries(t); after != before {
		t.Errorf("files before: %s, after: %s", before, after)
	}
	if len(said) > 1000 {
		t.Errorf("the error has %d bytes", len(said))
	}
	return said
}

// entries lists the current folder.
func entries(t *testing.T) string {
	t.Helper()
	list, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list)
}
