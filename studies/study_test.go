package studies

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"codeberg.org/sbinet/npyio/npy"
	"github.com/google/go-cmp/cmp"
	"github.com/lensir/lensir-study/studies/source"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func testFS(t testing.TB) fs.FS {
	t.Helper()
	return os.DirFS("testdata")
}

// readText reads a study given as text, beside the data files of the bad studies.
func readText(t testing.TB, text string) *Study {
	t.Helper()
	s, err := tryText(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func tryText(text string) (*Study, error) {
	fsys := fstest.MapFS{"x.toml": {Data: []byte(text)}}
	for name, text := range badFiles {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Read(fsys, "x.toml")
}

func names[T any](list []T, name func(T) string) string {
	var out []string
	for _, x := range list {
		out = append(out, name(x))
	}
	return strings.Join(out, " ")
}

func definition(d Definition) string { return d.Name + "=" + d.Formula.Text }
func quantity(q Quantity) string {
	return fmt.Sprintf("%s%v%v", q.Name, q.Value.Shape, q.Value.Data)
}

func TestReadContraction(t *testing.T) {
	s, err := Read(testFS(t), "contraction.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, got, want string }{
		{"title", s.Title, "A residual of zero, and a derivative that is wrong"},
		{"kind", string(s.Kind), "fixed-point"},
		{"constants", names(s.Constants, quantity), "q[][0.5]"},
		{"parameters", names(s.Parameters, quantity), "theta[][0]"},
		{"equations", names(s.Equations, definition), "z=q * z + (1 - q) * theta"},
		{"objective", names(s.Objective, definition), "J=z"},
		{"start", s.State[0].Start.Text, "0"},
		{"q", s.Bounds.Q.Text, "q"},
		{"L_z", s.Bounds.LZ.Text, "0"},
		{"L_theta", s.Bounds.LTheta.Text, "1e-9"},
		{"domain", fmt.Sprint(*s.Domain), "{1 2 []}"},
		{"steps", fmt.Sprint(s.Steps), "[0 1 2 5 10 20 50 100 200]"},
		{"implicit", fmt.Sprint(s.Implicit), "{1e-10 100 dense}"},
		{"sweep", fmt.Sprint(s.Sweep), "{[{q [0.1 0.5 0.9 0.99]}] false}"},
		{"expect", string(s.Expect), ""},
		{"place of J", s.Objective[0].Place.String(), "contraction.toml:18:1"},
		{"place of its formula", s.Objective[0].Formula.Place.String(), "contraction.toml:18:5"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	if !s.Bounds.Declared {
		t.Error("the bounds are declared")
	}
}

func TestReadLayer(t *testing.T) {
	s, err := Read(testFS(t), "layer.toml")
	if err != nil {
		t.Fatal(err)
	}
	// rows 1 and 2, columns b and a, scaled by the moments of rows 0 and 1: b 2, 6.5 has mean 4.25
	// and deviation 2.25; a 1, 3 has mean 2 and deviation 1.
	if got, want := names(s.Data, quantity), "X[2 2][1 1 2.5555555555555554 3]"; got != want {
		t.Errorf("data: got %s, want %s", got, want)
	}
	if got, want := names(s.Define, definition), "s=sum(X) a=matmul(W, z)\n  + b * s"; got != want {
		t.Errorf("define: got %q, want %q", got, want)
	}
	if got, want := fmt.Sprint(s.Steps, s.Implicit, s.Sweep, s.Expect), "[0 10 20 30 40 50] {1e-12 100 dense} {[{gain [0.5 1 1.5]}] false}OK"; got != want {
		t.Errorf("settings: got %q, want %q", got, want)
	}
	if s.Bounds.Declared {
		t.Error("the bounds are estimated")
	}
	if got := names(s.Branches, func(b Branch) string { return b.Name + "=" + b.Starts[0].Text }); got != "upper=1 + 0 * b" {
		t.Errorf("branches: got %q", got)
	}
	w := s.Constants[0].Value
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(8, 8, w.Data), mat.SVDNone) || math.Abs(svd.Values(nil)[0]-0.5) > 1e-15 {
		t.Errorf("the singular values of W are %v, want 0.5 first", svd.Values(nil))
	}
}

func TestOrderIsTheFiles(t *testing.T) {
	s := readText(t, `kind = "fixed-point"
[define]
c = "1"
a = "c"
b = "a"
[state]
y = { start = "0" }
x.start = "1"
[state.w]
start = 2.50
[fixed-point]
w = "w/2"
x = "x/2"
y = "y/2"
[objective]
K2 = "x"
A = "y"
[parameters]
"θ" = 1
"α1" = 2
`)
	if got, want := names(s.Define, definition), "c=1 a=c b=a"; got != want {
		t.Errorf("define: got %q, want %q", got, want)
	}
	if got, want := names(s.State, func(b Block) string { return b.Name + "=" + b.Start.Text }), "y=0 x=1 w=2.50"; got != want {
		t.Errorf("state: got %q, want %q", got, want)
	}
	if got, want := names(s.Equations, definition), "y=y/2 x=x/2 w=w/2"; got != want {
		t.Errorf("equations: got %q, want %q", got, want)
	}
	if got, want := names(s.Parameters, quantity), "θ[][1] α1[][2]"; got != want {
		t.Errorf("parameters: got %q, want %q", got, want)
	}
}

func TestArrays(t *testing.T) {
	for value, want := range map[string]string{
		"1":                                  "[] [1]",
		"-0.0":                               "[] [-0]",
		"0x10":                               "[] [16]",
		"1_000.5":                            "[] [1000.5]",
		"9007199254740993":                   "[] [9.007199254740992e+15]",
		"4.9e-324":                           "[] [5e-324]",
		"1.7976931348623157e308":             "[] [1.7976931348623157e+308]",
		"0e-999":                             "[] [0]",
		"[]":                                 "[0] []",
		"[1, 2.5, 3]":                        "[3] [1 2.5 3]",
		"[[1, 2], [3, 4], [5, 6]]":           "[3 2] [1 2 3 4 5 6]",
		"[[], []]":                           "[2 0] []",
		"[[[1], [2]], [[3], [4]]]":           "[2 2 1] [1 2 3 4]",
		"{ zeros = 2 }":                      "[2] [0 0]",
		"{ zeros = [2, 1] }":                 "[2 1] [0 0]",
		"{ zeros = [] }":                     "[] [0]",
		"{ zeros = [0, 3] }":                 "[0 3] []",
		"{ identity = 2 }":                   "[2 2] [1 0 0 1]",
		"{ identity = 0 }":                   "[0 0] []",
		"{ linspace = [0.1, 0.9, 9] }":       "[9] [0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9]",
		"{ linspace = [1, 1, 1] }":           "[1] [1]",
		"{ linspace = [1, 0, 0] }":           "[0] []",
		"{ linspace = [0, 1, 4] }":           "[4] [0 0.3333333333333333 0.6666666666666666 1]",
		"{ linspace = [-1e308, 1.1e308, 3]}": "[3] [-1e+308 5e+306 1.1e+308]",
	} {
		a := readText(t, constant(value)).Constants[0].Value
		if got := fmt.Sprint(a.Shape, " ", a.Data); got != want && fmt.Sprint(a.Shape, a.Data) != want {
			t.Errorf("%s: got %v %v, want %s", value, a.Shape, a.Data, want)
		}
	}
}

// TestRandomIsForever holds the first numbers of the generator to the ones of its first release.
func TestRandomIsForever(t *testing.T) {
	for _, c := range []struct {
		law  string
		seed uint64
		want []float64
	}{
		{"uniform", 1, []float64{0.27621291763227096, -0.767100049651863, -0.4940465364718418}},
		{"normal", 1, []float64{0.3061672508175428, -0.85028939021812, 1.593639881536709}},
		{"normal", 4, []float64{-0.8823505058431111, 0.2821393718138386, -0.8597425989478297}},
	} {
		got := make([]float64, 3)
		fillRandom(got, c.law, newGenerator(c.seed))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, seed %d (-want +got):\n%s", c.law, c.seed, diff)
		}
	}
	w := readText(t, constant(`{ random = "normal", shape = [3, 2], seed = 7, norm2 = 0.5 }`)).Constants[0].Value
	if diff := cmp.Diff([]float64{
		0.23156573905761682, -0.04994150670992715, -0.14662592293347798, 0.4481250704165561, 0.0021905633303022968, 0.11297824623196638,
	}, w.Data); diff != "" {
		t.Errorf("scaled (-want +got):\n%s", diff)
	}
}

// TestRandomMoments holds 10⁶ numbers to their law, at about five standard errors.
func TestRandomMoments(t *testing.T) {
	const n = 1_000_000
	x := make([]float64, n)
	for _, c := range []struct {
		law                      string
		variance, fourth, within float64 // within: the probability of |x| < 1/2
	}{
		{"uniform", 1. / 3, 1. / 5, 0.5},
		{"normal", 1, 3, 0.3829249225480262},
	} {
		fillRandom(x, c.law, newGenerator(3))
		var mean, square, fourth, within float64
		for _, v := range x {
			mean += v / n
			square += v * v / n
			fourth += v * v * v * v / n
			if math.Abs(v) < 0.5 {
				within += 1. / n
			}
		}
		if math.Abs(mean) > 0.005 || math.Abs(square-c.variance) > 0.007*c.variance+1e-3 ||
			math.Abs(fourth-c.fourth) > 0.05 || math.Abs(within-c.within) > 0.0025 {
			t.Errorf("%s: mean %v, square %v, fourth %v, within %v", c.law, mean, square, fourth, within)
		}
	}
}

func TestPortableLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0x1p-1022, 1).Draw(t, "x")
		if got, want := portableLog(x), math.Log(x); math.Abs(got-want) > 4e-16*math.Abs(want)+1e-300 {
			t.Fatalf("ln %v: got %v, want %v", x, got, want)
		}
	})
}

func TestNorm2(t *testing.T) {
	if got, err := norm2(Array{Shape: []int{2}, Data: []float64{3, -4}}); err != nil || got != 5 {
		t.Errorf("the norm of (3, -4): got %v, %v", got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(1, 12).Draw(t, "m"), rapid.IntRange(1, 12).Draw(t, "n")
		scale := math.Pow(10, float64(rapid.IntRange(-200, 200).Draw(t, "scale")))
		a := Array{Shape: []int{m, n}, Data: make([]float64, m*n)}
		for i := range a.Data {
			a.Data[i] = scale * float64(rapid.IntRange(-3, 3).Draw(t, "entry"))
		}
		var svd mat.SVD
		if !svd.Factorize(mat.NewDense(m, n, append([]float64{}, a.Data...)), mat.SVDNone) {
			t.Fatal("no singular values")
		}
		want := svd.Values(nil)[0]
		got, err := norm2(a)
		if want == 0 {
			if err == nil {
				t.Fatalf("the norm of zeros is %v", got)
			}
			return
		}
		if err != nil || math.Abs(got-want) > 1e-14*want {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	})
}

func TestSweeps(t *testing.T) {
	grid := readText(t, minimal+"[sweep.grid]\nM = [1, 2]\ne = { logspace = [1e-3, 1, 4] }\n")
	var got []string
	for i := range grid.Sweep.Len() {
		p := grid.Point(i)
		got = append(got, names(p.Parameters, quantity)+names(p.Constants, quantity))
	}
	if diff := cmp.Diff(strings.Fields(`M[][1]e[][0.001] M[][1]e[][0.01] M[][1]e[][0.1] M[][1]e[][1]
		M[][2]e[][0.001] M[][2]e[][0.01] M[][2]e[][0.1] M[][2]e[][1]`), got); diff != "" {
		t.Errorf("grid (-want +got):\n%s", diff)
	}
	if got := names(grid.Parameters, quantity); got != "M[][0.5]" {
		t.Errorf("a point changed its study: %s", got)
	}
	zip := readText(t, minimal+"[sweep.zip]\nM = [1, 2]\ne = [3, 4]\n")
	if zip.Sweep.Len() != 2 || fmt.Sprint(zip.Point(1).Swept) != "[2 4]" {
		t.Errorf("zip: %d points, the last %v", zip.Sweep.Len(), zip.Point(1).Swept)
	}
	if one := readText(t, minimal); one.Sweep.Len() != 1 || len(one.Point(0).Swept) != 0 {
		t.Errorf("without a sweep: %d points", one.Sweep.Len())
	}
}

// TestIdentity says what a point's identity depends on, and what not.
func TestIdentity(t *testing.T) {
	id := func(text string, i int) string { return readText(t, text).Point(i).ID(1, 1) }
	base := id(minimal, 0)
	for name, same := range map[string]string{
		"comments and blanks": "# x\n\n" + strings.ReplaceAll(minimal, " = ", "   =  "),
		"a title":             "title = \"T\"\n" + minimal,
		"a default written":   minimal + "[implicit]\ntolerance = 1e-10\n",
		"an expectation":      minimal + "[expect]\nstatus = \"OK\"\n",
		"a sweep's point":     minimal + "[sweep.grid]\nM = [0.50]\n",
		"other digits":        sub("e = 0.1", "e = 1.0e-1"),
	} {
		if got := id(same, 0); got != base {
			t.Errorf("%s changes the identity", name)
		}
	}
	seen := map[string]string{base: "the study itself"}
	for name, other := range map[string]string{
		"a constant":           sub("e = 0.1", "e = 0.10000000000000002"),
		"a parameter":          sub("M = 0.5", "M = 0.25"),
		"the sign of zero":     sub("M = 0.5", "M = -0.0"),
		"zero":                 sub("M = 0.5", "M = 0"),
		"a vector":             sub("M = 0.5", "M = [0.5]"),
		"a matrix":             sub("M = 0.5", "M = [[0.5]]"),
		"a constant's role":    strings.Replace(sub("e = 0.1\n", ""), "M = 0.5", "M = 0.5\ne = 0.1", 1),
		"a start":              sub(`start = "M"`, `start = "M + 0"`),
		"an equation":          sub("E - e", "E-e"),
		"an objective's name":  sub("J =", "J2 ="),
		"a define":             minimal + "[define]\na = \"1\"\n",
		"a branch":             minimal + "[branches]\nu = { E = \"M\" }\n",
		"a tolerance":          minimal + "[implicit]\ntolerance = 1e-11\n",
		"a domain":             minimal + "[domain]\nball = { radius = 1 }\n",
		"data":                 minimal + "[data]\nX = { file = \"good.csv\", columns = \"a\" }\n",
		"data of other rows":   minimal + "[data]\nX = { file = \"good.csv\", columns = \"a\", rows = [0, 2] }\n",
		"data of other column": minimal + "[data]\nX = { file = \"good.csv\", columns = \"b\" }\n",
	} {
		got := id(other, 0)
		if twin, twice := seen[got]; twice {
			t.Errorf("%s has the identity of %s", name, twin)
		}
		seen[got] = name
	}
	if s := readText(t, minimal); s.Point(0).ID(1, 1) == s.Point(0).ID(2, 1) {
		t.Error("the record format does not change the identity")
	}
	a := readText(t, minimal+"[sweep.grid]\ne = [0.1, 0.2]\nM = [0.5, 0.6]\n")
	b := readText(t, minimal+"[sweep.zip]\nM = [0.6, 0.5]\ne = [0.2, 0.1]\n")
	if a.Point(3).ID(1, 1) != b.Point(0).ID(1, 1) || a.Point(0).ID(1, 1) != b.Point(1).ID(1, 1) || a.Point(0).ID(1, 1) != base {
		t.Error("the identity depends on the position in a sweep")
	}
}

func TestCanonical(t *testing.T) {
	var out bytes.Buffer
	for _, name := range []string{"contraction.toml", "layer.toml"} {
		s, err := Read(testFS(t), name)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Point(s.Sweep.Len() - 1)
		if !json.Valid(p.Canonical(1, 1)) {
			t.Errorf("%s: not JSON", name)
		}
		fmt.Fprintf(&out, "%s\n%s\n", p.ID(1, 1), p.Canonical(1, 1))
	}
	golden(t, "canonical.txt", out.String())
}

func TestApply(t *testing.T) {
	base := readText(t, strings.Replace(minimal, "kind = \"root\"\n", "kind = \"root\"\nimplicit.max_iterations = 7\n", 1)+
		"[branches]\nu = { E = \"2\" }\n[sweep.zip]\ne = [1, 2]\n")
	s, err := Apply(base, []string{
		"M=[1, 2]", "implicit.tolerance=1e-8", "title = 'a = b'", "define.a=\"M\"", "sweep.zip.e=[3]", "branches.u={ E = \"3\" }", "state.E.start=4",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(names(s.Parameters, quantity), s.Implicit, s.Title, names(s.Define, definition), s.Sweep,
		s.Branches[0].Starts[0].Text, s.State[0].Start.Text)
	if want := "M[2][1 2]{1e-08 7 dense}a = ba=M{[{e [3]}] true}34"; strings.ReplaceAll(got, " {", "{") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if fmt.Sprint(base.Implicit, names(base.Parameters, quantity)) != "{1e-10 7 dense}M[][0.5]" {
		t.Error("the settings changed the study that they were put on")
	}
	if same, err := Apply(base, nil); err != nil || same != base {
		t.Errorf("no settings: %v", err)
	}
	if s.File != "x.toml" {
		t.Errorf("the settings changed the file's name to %q", s.File)
	}
	if _, err := Apply(base, []string{"M=2", "implicit.solver=\"none\""}); err == nil ||
		!strings.HasPrefix(err.Error(), `x.toml with --set M=2 --set implicit.solver="none":1:19: `) {
		t.Errorf("an error after two settings: %v", err)
	}
	plain := readText(t, minimal)
	if s, err := Apply(plain, []string{"e=0.2"}); err != nil || s.Point(0).ID(1, 1) != readText(t, sub("0.1", "0.2")).Point(0).ID(1, 1) {
		t.Errorf("a setting is not the same as the edit: %v", err)
	}
	var out strings.Builder
	for _, setting := range []string{
		"e=3", "x=1", "m=1", "M", "=1", "M=", "M=one", "M=1 # 2", "M=1\nq=2", "M=nan", "M=\"1\"", "implicit.tol=1", "implict.tolerance=1", "constants.z=", "a b=1",
		"kind=\"fixed-point\"", "constants.E=1", "branches.u.E=[1]", "M=[1, [2]]", "100%=1", "M=[1, 1e400]",
	} {
		_, err := Apply(base, []string{setting})
		if err == nil {
			t.Errorf("--set %s: no error", setting)
		}
		fmt.Fprintf(&out, "-- %q --\n%v\n", setting, err)
	}
	golden(t, "apply.txt", out.String())
}

// TestApplyIsAnEdit holds settings to the study that has them in its text, wherever their section is.
func TestApplyIsAnEdit(t *testing.T) {
	const head = "kind = \"root\"\n[parameters]\n\"θ\" = 1\n[state]\nx = { start = \"0\" }\n[root]\nr = \"x\"\n[objective]\nJ = \"x\"\n"
	for _, c := range []struct{ text, setting, want string }{
		{head, "θ=2", strings.Replace(head, "= 1", "= 2", 1)},
		{head, "parameters.β=2", strings.Replace(head, "\"θ\" = 1", "\"β\" = 2\n\"θ\" = 1", 1)},
		{head + "[implicit]", "implicit.tolerance=1", head + "[implicit]\ntolerance = 1"},
		{head + "[implicit] # x\n", "implicit.tolerance=1", head + "[implicit]\ntolerance = 1"},
		{head + "implicit = {}", "implicit.tolerance=1", ""},
		{"implicit = {}\n" + head, "implicit.tolerance=1", head + "[implicit]\ntolerance = 1"},
		{"implicit = { max_iterations = 3 }\n" + head, "implicit.tolerance=1", head + "[implicit]\ntolerance = 1\nmax_iterations = 3"},
		{"implicit.max_iterations = 3\n" + head, "implicit.tolerance=1", head + "[implicit]\ntolerance = 1\nmax_iterations = 3"},
		{head, "sweep.grid.θ=[1, 2]", head + "[sweep.grid]\n\"θ\" = [1, 2]"},
		{head, "state.y.start=\"1\"", strings.Replace(head, "[root]", "y = { start = \"1\" }\n[root]", 1)},
		{head + "[domain]\nball = { radius = 1 }", "domain.ball.radius=2", head + "[domain]\nball = { radius = 2 }"},
		{head, "constants.A={ zeros = 3 }", head + "[constants]\nA = [0, 0, 0]"},
	} {
		s, err := tryText(c.text)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: read", c.text)
			}
			continue
		}
		if err == nil {
			s, err = Apply(s, []string{c.setting})
		}
		if err != nil {
			t.Errorf("--set %s: %v", c.setting, err)
			continue
		}
		got, want := s.Point(0).Canonical(1, 1), readText(t, c.want).Point(0).Canonical(1, 1)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("--set %s (-want +got):\n%s", c.setting, diff)
		}
	}
}

func TestWeights(t *testing.T) {
	s := readText(t, fixed("[domain]\nball = { radius = 2, norm = \"weighted-inf\", weights = [0.5, 2] }\n"))
	if got := fmt.Sprint(*s.Domain); got != "{2 weighted-inf [0.5 2]}" {
		t.Errorf("got %s", got)
	}
}

func TestBranchesFallBackToTheState(t *testing.T) {
	s := readText(t, `kind = "root"
[state]
x = { start = "1" }
y = { start = "2" }
[branches]
upper = { y = "3" }
lower = { x = -4, y = "5" }
[root]
x = "x"
s = "y"
[objective]
J = "x"
`)
	got := names(s.Branches, func(b Branch) string { return b.Name + ":" + b.Starts[0].Text + "," + b.Starts[1].Text })
	if got != "upper:1,3 lower:-4,5" {
		t.Errorf("got %q", got)
	}
}

// TestManyErrors wants the first few of many errors only.
func TestManyErrors(t *testing.T) {
	var text strings.Builder
	text.WriteString(minimal + "[implicit]\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "unknown%d = 1\n", i)
	}
	_, err := tryText(text.String())
	var all Errors
	if !errors.As(err, &all) || len(all) != source.MaxErrors || all[0].Key != "implicit.unknown0" || all[9].Line != 22 {
		t.Errorf("got %v", err)
	}
}

func TestNumPyFiles(t *testing.T) {
	read := func(content []byte, more string) (Array, error) {
		fsys := fstest.MapFS{
			"x.toml": {Data: []byte(minimal + "[data]\nX = { file = \"d/a.npy\"" + more + " }\n")}, "d/a.npy": {Data: content},
		}
		s, err := Read(fsys, "x.toml")
		if err != nil {
			return Array{}, err
		}
		return s.Data[0].Value, nil
	}
	written := func(v any) []byte {
		var b bytes.Buffer
		if err := npy.Write(&b, v); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	doubles := string(written([]float64{1, 2, 3, 4, 5, 6}))
	doubles = doubles[len(doubles)-48:]
	for _, c := range []struct {
		name    string
		content []byte
		more    string
		want    string
	}{
		{"float64", written([]float64{1.5, -2}), "", "[2] [1.5 -2]"},
		{"float32", written([]float32{0.5, 3}), "", "[2] [0.5 3]"},
		{"int64", written([]int64{1 << 60, -2}), "", "[2] [1.152921504606847e+18 -2]"},
		{"int32", written([]int32{-7}), "", "[1] [-7]"},
		{"int16", written([]int16{-300}), "", "[1] [-300]"},
		{"int8", written([]int8{-128}), "", "[1] [-128]"},
		{"uint64", written([]uint64{1 << 63}), "", "[1] [9.223372036854776e+18]"},
		{"uint32", written([]uint32{1 << 31}), "", "[1] [2.147483648e+09]"},
		{"uint16", written([]uint16{65535}), "", "[1] [65535]"},
		{"uint8", written([]uint8{200}), "", "[1] [200]"},
		{"big end first", []byte(npyHeader(">f8", "False", "(1,)") + "\x3f\xf8\x00\x00\x00\x00\x00\x00"), "", "[1] [1.5]"},
		{"matrix", written(mat.NewDense(2, 2, []float64{1, 2, 3, 4})), "", "[2 2] [1 2 3 4]"},
		{"rows", written(mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})), ", rows = [1, 3]", "[2 2] [3 4 5 6]"},
		{"scale", written([]float64{1, 3}), `, scale = "standard"`, "[2] [-1 1]"},
		{"Fortran order", []byte(npyHeader("<f8", "True", "(2, 3)") + doubles), "", "[2 3] [1 3 5 2 4 6]"},
		{"three axes", []byte(npyHeader("<f8", "False", "(1, 2, 3)") + doubles), "", "[1 2 3] [1 2 3 4 5 6]"},
		{"scalar", []byte(npyHeader("<f8", "False", "()") + doubles[:8]), "", "[] [1]"},
		{"empty", []byte(npyHeader("<f8", "False", "(0, 3)")), "", "[0 3] []"},
	} {
		a, err := read(c.content, c.more)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := fmt.Sprint(a.Shape) + " " + fmt.Sprint(a.Data); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	for name, content := range map[string][]byte{
		"cut short":    []byte(npyHeader("<f8", "False", "(6,)") + doubles[:40]),
		"complex":      []byte(npyHeader("<c16", "False", "(1,)") + doubles),
		"negative":     []byte(npyHeader("<f8", "False", "(-1,)") + doubles),
		"NaN":          written([]float64{1, math.NaN()}),
		"not NumPy":    []byte("a,b\n1,2\n"),
		"nothing":      nil,
		"long header":  []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{"),
		"no line end":  []byte("\x93NUMPY\x01\x00\x02\x00{}"),
		"odd order":    []byte(npyHeader("<f8", "Maybe", "(1,)") + doubles),
		"odd shape":    []byte(npyHeader("<f8", "False", "(a,)") + doubles),
		"object array": []byte(npyHeader("|O", "False", "(1,)") + doubles),
	} {
		if a, err := read(content, ""); err == nil {
			t.Errorf("%s: read as %v %v", name, a.Shape, a.Data)
		}
	}
}

func TestReadFileNamesFilesAsGiven(t *testing.T) {
	if _, err := ReadFile("testdata/layer.toml"); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("s/data", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"s/x.toml": data(`file = "data/w.csv", columns = "b"`), "s/data/w.csv": badFiles["word.csv"],
		"s/up.toml": data(`file = "../s/data/w.csv", columns = "a"`),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"s/x.toml": "s/data/w.csv:4:3", "./s/x.toml": "s/data/w.csv:4:3", "s/../s/x.toml": "s/data/w.csv:4:3", "s/none.toml": "s/none.toml: no such file",
	} {
		if _, err := ReadFile(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if s, err := ReadFile("s/up.toml"); err != nil || s.File != "s/up.toml" {
		t.Errorf("a path upwards: %v", err)
	}
}

//go:embed testdata
var embedded embed.FS

func TestReadEmbedded(t *testing.T) {
	for _, name := range []string{"contraction.toml", "layer.toml"} {
		inside, err := Read(embedded, "testdata/"+name)
		if err != nil {
			t.Fatal(err)
		}
		outside, err := ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if inside.Point(0).ID(1, 1) != outside.Point(0).ID(1, 1) || inside.File != outside.File {
			t.Errorf("%s differs between the binary and the disk", name)
		}
	}
}

// TestSchemaDefaults holds every default to being a value that its own row accepts.
func TestSchemaDefaults(t *testing.T) {
	for _, r := range schema {
		for _, text := range []string{r.byDefault, r.example} {
			if text == "" || r.want == wantTable && !strings.HasPrefix(text, "{") {
				continue
			}
			src := &source.File{Name: r.path, Text: "value = " + text}
			root, err := source.Parse(src)
			if err != nil {
				t.Errorf("%s: %v", r.path, err)
				continue
			}
			c := checker{src: src, kind: FixedPoint}
			if len(r.kinds) > 0 {
				c.kind = r.kinds[0]
			}
			c.value(root.Items[0], rules.at(strings.Split(r.path, ".")...))
			if err := c.Err(); err != nil {
				t.Errorf("%s = %s: %v", r.path, text, err)
			}
		}
	}
}

// FuzzRead wants no panic from any text and setting, errors of the right type, and points from what reads.
func FuzzRead(f *testing.F) {
	for _, bad := range badStudies {
		f.Add(bad.text, "M=2")
	}
	for _, name := range []string{"contraction.toml", "layer.toml"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "implicit.tolerance=1e-3")
		f.Add(string(text), "sweep.grid.q=[1, 2]")
	}
	f.Fuzz(func(t *testing.T, text, setting string) {
		s, err := tryText(text)
		if err != nil {
			var one *Error
			if !errors.As(err, &one) || one.Message == "" || one.File == "" {
				t.Fatalf("the error %v is a %T", err, err)
			}
			return
		}
		p := s.Point(s.Sweep.Len() - 1)
		if !json.Valid(p.Canonical(1, 1)) {
			t.Fatal("not JSON")
		}
		again, err := Apply(s, []string{"title='x'"})
		if err != nil {
			t.Fatalf("a title cannot be set: %v", err)
		}
		if again.Point(s.Sweep.Len()-1).ID(1, 1) != p.ID(1, 1) {
			t.Fatal("the title changes the identity")
		}
		var one *Error
		if _, err := Apply(s, []string{setting, setting}); err != nil && !errors.As(err, &one) {
			t.Fatalf("the error %v is a %T", err, err)
		}
	})
}
