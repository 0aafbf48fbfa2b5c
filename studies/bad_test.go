package studies

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// minimal is a study that reads; bad inputs change a line of it.
const minimal = `kind = "root"
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

// sub is minimal with one piece of text replaced; the piece must be there.
func sub(old, new string) string {
	if !strings.Contains(minimal, old) {
		panic("not in the minimal study: " + old)
	}
	return strings.Replace(minimal, old, new, 1)
}

func fixed(more string) string {
	return "kind = \"fixed-point\"\n[state]\nz = { start = \"0\" }\n[fixed-point]\nz = \"z/2\"\n[objective]\nJ = \"z\"\n" + more
}

func constant(value string) string { return sub("e = 0.1", "e = "+value) }

func data(entry string) string { return minimal + "[data]\nX = { " + entry + " }\n" }

var badStudies = []struct{ name, text string }{
	{"empty file", ""},
	{"broken TOML: no value", sub("e = 0.1", "e =")},
	{"broken TOML: a formula without quotes", sub(`J = "E"`, "J = E")},
	{"broken TOML: a bracket without quotes", sub(`J = "E"`, "J = (E)")},
	{"broken TOML: no closing quote", sub(`r = "E - e * sin(E) - M"`, `r = "E - e * sin(E) - M`)},
	{"broken TOML: unfinished long string", sub(`J = "E"`, `J = """E`)},
	{"broken TOML: backslash at the end", `a = "\`},
	{"broken TOML: the key twice", sub("e = 0.1", "e = 0.1\ne = 0.2")},
	{"broken TOML: the section twice", minimal + "[state]\n"},
	{"broken TOML: an integer too large", constant("12345678901234567890")},
	{"broken TOML: an escape", sub(`J = "E"`, `J = "\q"`)},
	{"not UTF-8", sub(`J = "E"`, "J = \"\xff\"")},
	{"not text: a NUL", "x\x00" + minimal},
	{"list of tables", minimal + "[[sweep]]\n"},
	{"nested too deep", constant(strings.Repeat("[", 40) + strings.Repeat("]", 40))},
	{"dotted too deep", constant("1\n" + strings.Repeat("a.", 50) + "a = 1")},

	{"no kind", sub(`kind = "root"`, "")},
	{"unknown kind", sub(`kind = "root"`, `kind = "rot"`)},
	{"kind by another case", sub("kind =", "Kind =")},
	{"unknown key", minimal + "[implicit]\n  tolerence = 1e-12\n"},
	{"key by another case", minimal + "[implicit]\nTolerance = 1e-12\n"},
	{"unknown section", minimal + "[implict]\n"},
	{"several unknown keys", minimal + "[implicit]\nfoo = 1\nmaxiterations = 2\n[extra]\n"},
	{"key without its section", "tolerance = 1\n" + minimal},
	{"unknown key in an inline table", sub(`{ start = "M" }`, `{ start = "M", shape = 3 }`)},
	{"section of the other kind", minimal + "[iterate]\nsteps = [1]\n"},
	{"equations of the other kind", sub("[root]", "[fixed-point]")},
	{"no state", sub("[state]\nE = { start = \"M\" }\n", "")},
	{"empty state", sub("E = { start = \"M\" }\n", "")},
	{"no objective", sub("[objective]\nJ = \"E\"\n", "")},
	{"empty objective", sub("J = \"E\"\n", "")},
	{"no start", sub(`{ start = "M" }`, "{}")},
	{"wrong type: section", "state = 5\n" + strings.Replace(minimal, "[state]\nE = { start = \"M\" }\n", "", 1)},
	{"wrong type: string for a number", minimal + "[implicit]\ntolerance = \"1e-12\"\n"},
	{"wrong type: negative for positive", minimal + "[implicit]\ntolerance = -1.0\n"},
	{"wrong type: a fraction of an iteration", minimal + "[implicit]\nmax_iterations = 1.5\n"},
	{"wrong type: list for a formula", sub(`{ start = "M" }`, `{ start = [0, 1] }`)},
	{"wrong type: truth value for a formula", sub(`J = "E"`, `J = true`)},
	{"wrong type: formula for a block", sub(`E = { start = "M" }`, `E = "M"`)},
	{"wrong type: formula for a constant", constant(`"2 * pi"`)},
	{"wrong type: date for a constant", constant(`2020-01-01 10:00:00`)},
	{"wrong type: truth value for a constant", constant(`true`)},
	{"empty formula", sub(`J = "E"`, `J = " "`)},
	{"a choice that is near", minimal + "[expect]\nstatus = \"NON_CONVERGED\"\n"},
	{"no iterations", minimal + "[implicit]\nmax_iterations = 0\n"},

	{"block without a formula", fixed("") + "[define]\n" + "a = \"z\"\n[state.y]\nstart = \"1\"\n"},
	{"formula without a block", strings.Replace(fixed(""), `z = "z/2"`, "z = \"z/2\"\ny = \"z\"", 1)},
	{"branch of an unknown block", minimal + "[branches]\nupper = { F = \"1\" }\n"},
	{"branch that starts nowhere", minimal + "[branches]\nupper = { }\n"},
	{"bounds: declared without a formula", fixed("[bounds]\nconstants = \"declare\"\nq = \"0.5\"\n")},
	{"bounds: estimated with a formula", fixed("[domain]\nball = { radius = 1 }\n[bounds]\nconstants = \"estimate\"\nq = \"0.5\"\n")},
	{"bounds: estimated without a domain", fixed("[bounds]\nconstants = \"estimate\"\n")},
	{"bounds: not a way", fixed("[bounds]\nconstants = \"guess\"\n")},
	{"norm without quotes", fixed("[domain]\nball = { radius = 1, norm = 2 }\n")},
	{"norm without weights", fixed("[domain]\nball = { radius = 1, norm = \"weighted-inf\" }\n")},
	{"weights without a norm", fixed("[domain]\nball = { radius = 1, weights = [1.0] }\n")},
	{"a weight of zero", fixed("[domain]\nball = { radius = 1, norm = \"weighted-inf\", weights = [1.0, 0] }\n")},
	{"steps descend", fixed("[iterate]\nsteps = [0, 5, 2]\n")},
	{"a step between", fixed("[iterate]\nsteps = [0, 0.5]\n")},
	{"no steps", fixed("[iterate]\nsteps = []\n")},
	{"a negative step", fixed("[iterate]\nsteps = [-1]\n")},

	{"name: not one", sub("e = 0.1", `"2e" = 0.1`)},
	{"name: empty", sub("e = 0.1", `"" = 0.1`)},
	{"name: with an accent, behind Greek letters", sub("e = 0.1", "\t\"θλ\" = 1 # x\n  \"θέ\" = 0.1")},
	{"key behind Greek letters", data("\"θέ\" = 1, file = \"good.csv\", columns = 3")},
	{"name: with a dash", sub("e = 0.1", "e-1 = 0.1")},
	{"name: twice", sub("[state]", "[define]\ne = \"2\"\n[state]")},
	{"name: a function", sub("e = 0.1", "sin = 0.1")},
	{"name: a column", sub("e = 0.1", "status = 0.1")},
	{"name: pi", sub("e = 0.1", "pi = 3")},
	{"name: a word", sub("e = 0.1", "not = 3")},
	{"name: an objective like a block", sub(`J = "E"`, `E = "E"`)},
	{"name: an equation like a constant", sub("r = ", "e = ")},

	{"NaN", constant("nan")},
	{"infinity", constant("-inf")},
	{"NaN in a matrix", constant("[[1, 2], [3, nan]]")},
	{"underflow", constant("1e-400")},
	{"underflow in a formula", sub(`J = "E"`, "J = 1e-400")},
	{"overflow", constant("1e400")},
	{"underflow in a list", constant("[1, 2e-400]")},
	{"underflow in a made array", constant("{ linspace = [0, 2e-400, 3] }")},
	{"ragged matrix", constant("[[1, 2], [3, 4], [5]]")},
	{"ragged, deeper", constant("[[[1, 2], [3, 4]], [[5, 6], [7, 8, 9]]]")},
	{"a number among rows", constant("[[1, 2], 3]")},
	{"a row among numbers", constant("[1, [2, 3]]")},
	{"a string in a vector", constant(`[1, "2"]`)},
	{"a table in a vector", constant(`[1, { zeros = 2 }]`)},
	{"made: no way", constant("{ shape = [2, 2] }")},
	{"made: two ways", constant("{ zeros = 2, identity = 2 }")},
	{"made: a key of another way", constant("{ zeros = 2, seed = 1 }")},
	{"made: no seed", constant(`{ random = "normal", shape = 2 }`)},
	{"made: no law", constant(`{ random = "gauss", shape = 2, seed = 1 }`)},
	{"made: norm and scale", constant(`{ random = "normal", shape = 2, seed = 1, norm2 = 1, scale = 1 }`)},
	{"made: norm of a scalar", constant(`{ random = "normal", shape = [], seed = 1, norm2 = 1 }`)},
	{"made: norm of nothing", constant(`{ random = "normal", shape = [0, 3], seed = 1, norm2 = 1 }`)},
	{"made: too large to scale", constant(`{ random = "normal", shape = 200, seed = 1, scale = 1.7e308 }`)},
	{"made: 10⁹ entries", constant(`{ random = "normal", shape = [1000, 1000, 1000], seed = 1 }`)},
	{"made: 10³⁶ entries", constant(`{ zeros = [1000000000000000000, 1000000000000000000] }`)},
	{"made: no entries, but a large shape", constant(`{ zeros = [0, 1000000000000] }`)},
	{"made: a large identity", constant(`{ identity = 100000 }`)},
	{"made: a long linspace", constant(`{ linspace = [0, 1, 1000000000] }`)},
	{"made: linspace of two", constant(`{ linspace = [0, 1] }`)},
	{"made: linspace of one", constant(`{ linspace = [0, 1, 1] }`)},
	{"made: negative shape", constant(`{ zeros = [2, -1] }`)},

	{"sweep: unknown name", minimal + "[sweep.grid]\nm = [1, 2]\n"},
	{"sweep: an array", sub("e = 0.1", "e = 0.1\nv = [1, 2]") + "[sweep.grid]\nv = [1, 2]\n"},
	{"sweep: a state", minimal + "[sweep.grid]\nE = [1, 2]\n"},
	{"sweep: empty list", minimal + "[sweep.grid]\ne = []\n"},
	{"sweep: empty linspace", minimal + "[sweep.grid]\ne = { linspace = [0, 1, 0] }\n"},
	{"sweep: empty", minimal + "[sweep.grid]\n"},
	{"sweep: no kind of sweep", minimal + "[sweep]\n"},
	{"sweep: both", minimal + "[sweep.grid]\ne = [1]\n[sweep.zip]\nM = [1]\n"},
	{"sweep: unequal", minimal + "[sweep.zip]\ne = [1, 2]\nM = [1]\n"},
	{"sweep: logspace through 0", minimal + "[sweep.grid]\ne = { logspace = [0, 1, 3] }\n"},
	{"sweep: one value", minimal + "[sweep.grid]\ne = 0.5\n"},
	{"sweep: a matrix", minimal + "[sweep.grid]\ne = [[1], [2]]\n"},
	{"sweep: NaN", minimal + "[sweep.grid]\ne = [1, nan]\n"},
	{"sweep: no values", minimal + "[sweep.grid]\ne = {}\n"},
	{"sweep: a value twice", minimal + "[sweep.grid]\ne = [1, 2, 1.0]\n"},
	{"sweep: a point twice", minimal + "[sweep.zip]\ne = [1, 1, 2, 1]\nM = [3, 4, 5, 4]\n"},
	{"sweep: too many", minimal + "[sweep.grid]\ne = { linspace = [0, 1, 10000] }\nM = { linspace = [0, 1, 10000] }\n"},

	{"data: no file", data(`columns = "a"`)},
	{"data: missing file", data(`file = "none.csv", columns = "a"`)},
	{"data: outside", data(`file = "../../a.csv", columns = "a"`)},
	{"data: absolute", data(`file = "/etc/passwd", columns = "a"`)},
	{"data: not a known type", data(`file = "a.txt", columns = "a"`)},
	{"data: a folder", data(`file = "folder.csv", columns = "a"`)},
	{"data: no columns", data(`file = "good.csv"`)},
	{"data: no column wanted", data(`file = "good.csv", columns = []`)},
	{"data: missing column", data(`file = "good.csv", columns = ["a", "bb"]`)},
	{"data: column by another case", data(`file = "good.csv", columns = "A"`)},
	{"data: column twice", data(`file = "twice.csv", columns = "a"`)},
	{"data: not a number", data(`file = "word.csv", columns = ["a", "b"]`)},
	{"data: NaN", data(`file = "nan.csv", columns = "a"`)},
	{"data: ragged", data(`file = "ragged.csv", columns = "a"`)},
	{"data: broken quotes", data(`file = "quotes.csv", columns = "a"`)},
	{"data: empty file", data(`file = "empty.csv", columns = "a"`)},
	{"data: not text", data(`file = "latin.csv", columns = "a"`)},
	{"data: rows beyond", data(`file = "good.csv", columns = "a", rows = [0, 4]`)},
	{"data: rows descend", data(`file = "good.csv", columns = "a", rows = [2, 1]`)},
	{"data: scale beyond", data(`file = "good.csv", columns = "a", scale = { standard = [0, 9] }`)},
	{"data: constant column", data(`file = "good.csv", columns = "c", scale = "standard"`)},
	{"data: unknown scale", data(`file = "good.csv", columns = "a", scale = "unit"`)},
	{"data: columns of NumPy", data(`file = "a.npy", columns = "a"`)},
	{"data: broken NumPy", data(`file = "a.npy"`)},
	{"data: NumPy of 10⁹", data(`file = "huge.npy"`)},
	{"data: too large", data(`file = "huge.csv", columns = "a"`)},
}

// badFiles are the data files of the bad studies.
var badFiles = map[string]string{
	"good.csv":     "a,b,c\n1,2,3\n4,5,3\n7,8,3\n",
	"twice.csv":    "a,a\n1,2\n",
	"word.csv":     "a,b\n1,2\n3,4\n5,none\n",
	"nan.csv":      "a\n1\nNaN\n",
	"ragged.csv":   "a,b\n1,2\n3\n",
	"quotes.csv":   "a,b\n1,\"2\n",
	"empty.csv":    "",
	"latin.csv":    "a\n\xe9\n",
	"a.npy":        "\x93NUMPY\x01\x00\x08\x00{'descr'",
	"huge.npy":     npyHeader("<f8", "False", "(1000000000,)"),
	"folder.csv/x": "",
}

func npyHeader(descr, fortran, shape string) string {
	h := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
	h += strings.Repeat(" ", 63-(10+len(h))%64) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(h)), byte(len(h) >> 8)}) + h
}

// hugeFS has a file that claims 10⁸ bytes and fails the test when it is read.
type hugeFS struct {
	fs.FS
	t *testing.T
}

func (h hugeFS) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, "in/huge.") && !strings.HasSuffix(name, ".npy") {
		return hugeFile{h.t}, nil
	}
	return h.FS.Open(name)
}

type hugeFile struct{ t *testing.T }

func (h hugeFile) Stat() (fs.FileInfo, error) { return hugeInfo{}, nil }
func (h hugeFile) Read([]byte) (int, error) {
	h.t.Error("a file that is too large was read")
	return 0, fs.ErrInvalid
}
func (h hugeFile) Close() error { return nil }

type hugeInfo struct{ fs.FileInfo }

func (hugeInfo) IsDir() bool       { return false }
func (hugeInfo) Mode() fs.FileMode { return 0o644 }
func (hugeInfo) Size() int64       { return 100_000_000 }
func (hugeInfo) ModTime() time.Time {
	return time.Time{}
}

func TestBadStudies(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, text := range badFiles {
		fsys["in/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	var out strings.Builder
	for _, bad := range badStudies {
		fsys["in/bad.toml"] = &fstest.MapFile{Data: []byte(bad.text)}
		_, err := Read(hugeFS{fsys, t}, "in/bad.toml")
		if err == nil {
			t.Errorf("%s: read without an error", bad.name)
			continue
		}
		var one *Error
		if !errors.As(err, &one) {
			t.Errorf("%s: the error is a %T", bad.name, err)
		}
		fmt.Fprintf(&out, "-- %s --\n%s\n", bad.name, err)
	}
	for _, name := range []string{"in/none.toml", "in", "in/huge.toml", "../x.toml"} {
		_, err := Read(hugeFS{fsys, t}, name)
		fmt.Fprintf(&out, "-- %s --\n%v\n", name, err)
	}
	golden(t, "bad.txt", out.String())
}

// TestHugeFile holds the refusal of a real file of 10⁸ bytes to being quick.
func TestHugeFile(t *testing.T) {
	name := t.TempDir() + "/huge.toml"
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 100_000_000); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := ReadFile(name)
	if err == nil || !strings.Contains(err.Error(), "the most is 10000000") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the refusal took %v", took)
	}
}
