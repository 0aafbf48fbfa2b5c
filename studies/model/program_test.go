package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// spot is the place of a number in the program table.
type spot struct{ transformation, name, index, input, inputIndex, direction string }

// programCells reads the numbers of a record's program table; each row shall have a place of its own.
func programCells(t *testing.T, r *results.Record) map[spot]float64 {
	t.Helper()
	cells := map[spot]float64{}
	for _, row := range r.Rows(results.Program) {
		get := func(column string) string { return row.Fields.Get(column).String() }
		at := spot{get("transformation"), get("name"), get("index"), get("input"), get("input_index"), get("direction")}
		if at.transformation == "taylor" {
			at.direction += " " + get("order")
		}
		x, ok := row.Fields.Get("value").Number()
		if !ok {
			continue
		}
		if _, twice := cells[at]; twice {
			t.Errorf("two rows for %+v", at)
		}
		cells[at] = x
	}
	return cells
}

func (c spot) want(t *testing.T, cells map[spot]float64, want, within float64) {
	t.Helper()
	if got, ok := cells[c]; !ok || !(math.Abs(got-want) <= within) {
		t.Errorf("%+v: got %.17g (%t), want %.17g within %.1g", c, got, ok, want, within)
	}
}

// checkSineProduct holds the study to the numbers that its comment and the source print.
func checkSineProduct(t *testing.T, r ran) {
	cells := programCells(t, r.Run.Records[0])
	for i, want := range []float64{0, 1.3817732, 0.07700372} { // printed of a float32 run
		spot{transformation: "vjp", input: "x", inputIndex: fmt.Sprintf("[%d]", i)}.want(t, cells, want, 1.2e-7)
	}
	for i, want := range []float64{0, math.Sin(1) + math.Cos(1), math.Sin(2) + 2*math.Cos(2)} {
		spot{transformation: "vjp", input: "x", inputIndex: fmt.Sprintf("[%d]", i)}.want(t, cells, want, 2*ulp)
		spot{transformation: "jacobian", name: "total", input: "x", inputIndex: fmt.Sprintf("[%d]", i)}.want(t, cells, want, 2*ulp)
	}
	for i, want := range []float64{0.9588511, 2.25} {
		spot{transformation: "value", name: "pair", index: fmt.Sprintf("[%d]", i)}.want(t, cells, want, 0.5e-7)
	}
	for i, want := range []float64{1.7551651, 1} {
		at := spot{transformation: "jvp", name: "pair", index: fmt.Sprintf("[%d]", i), direction: "v"}
		at.want(t, cells, want, 0.5e-7)
		// v is the first unit vector: the Jacobian times v is its first column, to the last bit.
		column := cells[spot{transformation: "jacobian", name: "pair", index: at.index, input: "u", inputIndex: "[0]"}]
		at.want(t, cells, column, 0)
	}
	for i, x := range []float64{0, 1, 2} {
		index := fmt.Sprintf("[%d]", i)
		spot{transformation: "residuals", name: "cos_x", index: index}.want(t, cells, math.Cos(x), ulp)
		spot{transformation: "residuals", name: "x", index: index}.want(t, cells, x, 0)
		spot{transformation: "residuals", name: "sin_x", index: index}.want(t, cells, math.Sin(x), ulp)
	}
	for k, want := range []float64{2 * math.Sin(0.5), 2 * math.Cos(0.5), -math.Sin(0.5), -math.Cos(0.5) / 3, math.Sin(0.5) / 12} {
		spot{transformation: "taylor", name: "pair", index: "[0]", direction: fmt.Sprintf("v %d", k)}.want(t, cells, want, 2*ulp)
	}
	for k, want := range []float64{2.25, 1, 1, 0, 0} {
		spot{transformation: "taylor", name: "pair", index: "[1]", direction: fmt.Sprintf("v %d", k)}.want(t, cells, want, 0)
	}
}

// tied is the block of the study tied-residual by the formulas of its source, with loops of their own.
type tied struct{ x, w, b, g []float64 }

func (q tied) moved(s, t float64, v, w tied) tied {
	add := func(a, b, c []float64) []float64 {
		out := slices.Clone(a)
		for i := range out {
			if b != nil {
				out[i] += s * b[i]
			}
			if c != nil {
				out[i] += t * c[i]
			}
		}
		return out
	}
	return tied{add(q.x, v.x, w.x), add(q.w, v.w, w.w), add(q.b, v.b, w.b), q.g}
}

// pullback returns the cotangents of X, W and b, one after the other.
func (q tied) pullback() []float64 {
	const rows, d = 2, 3
	var h, a [rows][d]float64
	ct := make([]float64, rows*d+d*d+d)
	x, w, b := ct[:rows*d], ct[rows*d:rows*d+d*d], ct[rows*d+d*d:]
	for r := range rows {
		for j := range d {
			sum := q.b[j]
			for k := range d {
				sum += q.x[r*d+k] * q.w[k*d+j]
			}
			h[r][j] = math.Tanh(sum)
		}
		for k := range d {
			for j := range d {
				a[r][k] += q.g[r*d+j] * q.w[k*d+j]
			}
			a[r][k] *= 1 - h[r][k]*h[r][k]
		}
		for k := range d {
			x[r*d+k] += q.g[r*d+k]
			for j := range d {
				x[r*d+k] += a[r][j] * q.w[k*d+j]
				w[k*d+j] += h[r][k]*q.g[r*d+j] + q.x[r*d+k]*a[r][j]
			}
			b[k] += q.g[r*d+k] + a[r][k]
		}
	}
	return ct
}

// checkTiedResidual holds gradient, HVP and jet to the closed form and its extrapolated differences, and the counts
// to those of the source.
func checkTiedResidual(t *testing.T, r ran) {
	cells := programCells(t, r.Run.Records[0])
	value := func(list []studies.Quantity, name string) []float64 {
		for _, q := range list {
			if q.Name == name {
				return q.Value.Data
			}
		}
		return nil
	}
	p := r.study.Program
	q := tied{value(r.study.Parameters, "X"), value(r.study.Parameters, "W"), value(r.study.Parameters, "b"), p.Seeds[0].Value.Data}
	direction := func(i int) tied {
		d := p.Directions[i].Tangents
		return tied{x: value(d, "X"), w: value(d, "W"), b: value(d, "b")}
	}
	v, w := direction(0), direction(1)
	// Central differences of order 2, extrapolated to order 6: errors far below 1e-9 on this block.
	extrapolated := func(f func(h float64) []float64) []float64 {
		a, b, c := f(0.04), f(0.02), f(0.01)
		for i := range a {
			first, second := (4*b[i]-a[i])/3, (4*c[i]-b[i])/3
			a[i] = (16*second - first) / 15
		}
		return a
	}
	combine := func(h float64, parts map[[2]float64]float64) []float64 {
		out := make([]float64, 18)
		for at, weight := range parts {
			for i, g := range q.moved(at[0]*h, at[1]*h, v, w).pullback() {
				out[i] += weight * g
			}
		}
		return out
	}
	gradient := q.pullback()
	alongV := extrapolated(func(h float64) []float64 {
		return combine(h, map[[2]float64]float64{{1, 0}: 0.5 / h, {-1, 0}: -0.5 / h})
	})
	alongW := extrapolated(func(h float64) []float64 {
		return combine(h, map[[2]float64]float64{{0, 1}: 0.5 / h, {0, -1}: -0.5 / h})
	})
	mixed := extrapolated(func(h float64) []float64 {
		c := 0.25 / (h * h)
		return combine(h, map[[2]float64]float64{{1, 1}: c, {1, -1}: -c, {-1, 1}: -c, {-1, -1}: c})
	})
	at := 0
	for _, in := range r.study.Parameters {
		for i := range in.Value.Data {
			place := spot{input: in.Name, inputIndex: entry(in.Value.Shape, i)}
			check := func(transformation, direction string, want, within float64) {
				place.transformation, place.direction = transformation, direction
				place.want(t, cells, want, within)
			}
			check("gradient", "", gradient[at], 1e-15)
			check("jet", "", gradient[at], 1e-15)
			check("hvp", "v", alongV[at], 1e-8)
			check("hvp", "w", alongW[at], 1e-8)
			check("jet", "v w", mixed[at], 1e-7)
			for _, name := range []string{"v", "w"} {
				check("jet", name, cells[spot{transformation: "hvp", input: in.Name, inputIndex: place.inputIndex, direction: name}], 1e-14)
			}
			at++
		}
	}
	for name, want := range map[string]float64{"primal": 96, "reverse": 168, "accumulation": 78, "total": 342, "tape": 66, "residual_tape": 27, "bound": (1 + 6 + 9*2) * 98} {
		spot{transformation: "cost", name: name}.want(t, cells, want, 0)
	}
	residuals := 0
	for at := range cells {
		if at.transformation == "residuals" {
			residuals++
		}
	}
	if residuals != 27 {
		t.Errorf("%d residual entries, want 27", residuals)
	}
}

// families are modules of a folder of studies.
var families = map[string]string{
	"in/modules/scaled.json": `{"name": "scaled", "inputs": [{"name": "x", "shape": ["n"]}, {"name": "w", "shape": ["n"], "parameter": true}],
		"nodes": [{"name": "y", "primitive": "mul", "operands": ["x", "w"]}, {"name": "s", "primitive": "sum", "operands": ["y"]}], "outputs": ["s"]}`,
	"in/modules/count.json": `{"name": "count", "inputs": [{"name": "k", "dtype": "i64", "shape": [2]}, {"name": "x", "shape": [2]}],
		"nodes": [{"name": "twice", "primitive": "add", "operands": ["k", "k"]}, {"name": "y", "primitive": "mul", "operands": ["x", "x"]}], "outputs": ["twice", "y"]}`,
	"in/modules/own.json": `{"name": "own", "inputs": [{"name": "x", "shape": []}], "nodes": [
		{"name": "q", "primitive": "round", "operands": ["x"], "response": {"operands": ["u"], "seed": "g", "nodes": [{"name": "h", "primitive": "mul", "operands": ["g", "u"]}], "outputs": ["h"]}}], "outputs": ["q"]}`,
	"in/modules/broken.json": `{"name": "broken", "inputs": [{"name": "x", "shape": [2]}], "nodes": [{"name": "y", "primitive": "tan_h", "operands": ["x"]}], "outputs": ["y"]}`,
	"in/modules/syntax.json": "{\"name\": \"syntax\",\n \"inputs\": [}",
}

// programFS holds a study beside families.
func programFS(text string) fstest.MapFS {
	fsys := fstest.MapFS{"in/study.toml": {Data: []byte(text)}}
	for name, text := range families {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func readProgram(text string) (*Model, error) {
	s, err := studies.Read(programFS(text), "in/study.toml")
	if err != nil {
		return nil, err
	}
	return Compile(s)
}

// outcome computes the first point of a study.
func outcome(t *testing.T, solver *Solver, s *studies.Study) *Outcome {
	t.Helper()
	out, err := solver.Solve(context.Background(), s.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// programOf computes the first point of a study.
func programOf(t *testing.T, text string) (*Model, *Outcome) {
	t.Helper()
	m, err := readProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := NewSolver(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, again := outcome(t, solver, m.Study), outcome(t, solver.Clone(), m.Study)
	if !slices.EqualFunc(out.Record.Rows(results.Program), again.Record.Rows(results.Program), func(a, b results.Row) bool {
		return a.Ending == b.Ending && slices.Equal(a.Fields, b.Fields)
	}) {
		t.Error("a second solver finds other rows")
	}
	return m, out
}

// TestSineTimesX holds a study's formula to the counts and the residuals of the source's listing.
func TestSineTimesX(t *testing.T) {
	m, _ := programOf(t, "kind = \"program\"\n[parameters]\nx = [0, 1, 2]\n[program]\nresults = [\"residuals\"]\n[program.outputs]\ny = \"sin(x) * x\"\n")
	p := m.Programs()[0]
	if n, d := len(p.Nodes), len(graph.JVP(p, []int{0}).Nodes); n != 2 || d != 7 {
		t.Errorf("%d equations and %d of the jvp, want 2 and 7", n, d)
	}
	l := graph.Linearize(p, []int{0})
	var names []string
	for _, in := range l.Linear.Inputs[:l.Residuals] {
		names = append(names, in.Name)
	}
	if !slices.Equal(names, []string{"cos_x", "x", "sin_x"}) {
		t.Errorf("the residuals are %v", names)
	}
}

// TestModuleFamily runs one module at two sizes, with values from constants and parameters by name.
func TestModuleFamily(t *testing.T) {
	for _, c := range []struct {
		n      string
		x, w   string
		s      float64
		dw     []float64
		extra  string
		scaled float64
	}{
		{"2", "[3, 5]", "[1, 10]", 53, []float64{3, 5}, "", 1},
		{"3", "[3, 5, 7]", "[1, 10, 100]", 753, []float64{3, 5, 7}, "", 1},
		{"1", "[3]", "[2]", 6, []float64{6}, "[program.seeds]\ns = \"a\"\n", 2}, // a seed that reads a constant that the module does not
	} {
		_, out := programOf(t, "kind = \"program\"\n[constants]\nx = "+c.x+"\na = 2\n[parameters]\nw = "+c.w+
			"\n[program]\nmodule = \"modules/scaled.json\"\ndimensions = { n = "+c.n+" }\nresults = [\"value\", \"vjp\"]\n"+c.extra)
		cells := programCells(t, out.Record)
		spot{transformation: "value", name: "s"}.want(t, cells, c.s, 0)
		for i, want := range c.dw {
			spot{transformation: "vjp", input: "w", inputIndex: fmt.Sprintf("[%d]", i)}.want(t, cells, want, 0)
		}
		if len(cells) != 1+len(c.dw) {
			t.Errorf("%d numbers: constants are not differentiated by", len(cells))
		}
	}
}

// TestSeedsThatDependOnTheInputs tells what holds the seed fixed from what differentiates it: for y = x², γ = x the
// pullback is 2x², its jets are 4x and 4; with γ held at x the second derivative of J is 2x.
func TestSeedsThatDependOnTheInputs(t *testing.T) {
	_, out := programOf(t, `kind = "program"
[parameters]
x = 3
[program]
results = ["vjp", "gradient", "hvp", "jet"]
jet = ["v", "v", "w"]
[program.outputs]
y = "x^2"
[program.seeds]
y = "x"
[program.directions]
v = { x = 1 }
w = { x = 10 }
`)
	cells := programValues(t, out.Record)
	for at, want := range map[string]float64{"vjp": 18, "gradient": 18, "hvp v": 6, "hvp w": 60, "jet ": 18, "jet v": 12, "jet w": 120, "jet v v": 4, "jet v w": 40, "jet v v w": 0} {
		if got, ok := cells[at]; !ok || slices.ContainsFunc(got, func(x float64) bool { return x != want }) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	if len(cells["jet v"]) != 2 || len(cells["jet v w"]) != 2 || len(cells["jet v v"]) != 1 {
		t.Errorf("the sets of directions are %v", cells)
	}
}

// programValues lists the values of each transformation and direction of a study with one scalar.
func programValues(t *testing.T, r *results.Record) map[string][]float64 {
	t.Helper()
	cells := map[string][]float64{}
	for _, row := range r.Rows(results.Program) {
		at := row.Fields.Get("transformation").String()
		if d := row.Fields.Get("direction").String(); d != "" || at == "jet" {
			at += " " + d
		}
		x, _ := row.Fields.Get("value").Number()
		cells[at] = append(cells[at], x)
	}
	return cells
}

// TestIntegersOfModules holds the derivatives by and of integers to being absent, not zero.
func TestIntegersOfModules(t *testing.T) {
	_, out := programOf(t, "kind = \"program\"\n[parameters]\nk = [3, -4]\nx = [2, 5]\n[program]\nmodule = \"modules/count.json\"\nresults = [\"value\", \"jvp\", \"vjp\", \"jacobian\", \"gradient\"]\n"+
		"[program.seeds]\ny = 1\n[program.directions]\nv = { x = [1, 1] }\n")
	cells := programCells(t, out.Record)
	spot{transformation: "value", name: "twice", index: "[1]"}.want(t, cells, -8, 0)
	spot{transformation: "jvp", name: "y", index: "[1]", direction: "v"}.want(t, cells, 10, 0)
	spot{transformation: "vjp", input: "x", inputIndex: "[0]"}.want(t, cells, 4, 0)
	spot{transformation: "gradient", input: "x", inputIndex: "[1]"}.want(t, cells, 10, 0)
	absent := 0
	for _, row := range out.Record.Rows(results.Program) {
		if row.Status != "OK" {
			t.Errorf("%+v", row)
		}
		if row.Fields.Get("float0").String() == "float0[2]" {
			absent++
			if !row.Fields.Get("value").Absent() {
				t.Errorf("an absent derivative has a value: %+v", row)
			}
		}
	}
	if absent != 3 { // of twice along v, and by k twice
		t.Errorf("%d absent derivatives, want 3", absent)
	}
}

// TestDeclaredResponsesOfStudies holds every way to declare a response to its derivative and to its mark, in every
// transformation, and the check to reporting it as declared.
func TestDeclaredResponsesOfStudies(t *testing.T) {
	head := "kind = \"program\"\n[parameters]\nx = 1.75\nw = 2\n"
	tail := "[program]\nresults = [\"value\", \"jvp\", \"vjp\", \"gradient\", \"jacobian\", \"hvp\", \"jet\"]\njet = \"v\"\n[program.directions]\nv = { x = 1 }\n"
	for _, c := range []struct {
		name, text, mark string
		value, dx        float64
		hvp              float64 // of x by x, with declared tangents
		jet              float64 // the same of the pullback as it is implemented
	}{
		{"stop_gradient", "[program.outputs]\ny = \"stop_gradient(x) * x * w\"\n", "stop_gradient", 6.125, 3.5, 0, 2},
		{"straight-through rounding", "[program.outputs]\ny = \"round_straight_through(x) * w\"\n", "straight_through_round", 4, 2, 0, 0},
		{"a response of a study", "[program.outputs]\ny = \"q * w\"\n[define]\nq = { value = \"round(x)\", response = { x = \"seed * x\" } }\n", "q", 4, 3.5, 2, 2},
		{"no response at all", "[program.outputs]\ny = \"sin(x) * w\"\n", "", 2 * math.Sin(1.75), 2 * math.Cos(1.75), -2 * math.Sin(1.75), -2 * math.Sin(1.75)},
	} {
		m, out := programOf(t, head+tail+c.text)
		cells := programCells(t, out.Record)
		spot{transformation: "value", name: "y"}.want(t, cells, c.value, ulp)
		spot{transformation: "jvp", name: "y", direction: "v"}.want(t, cells, c.dx, ulp)
		for _, what := range []string{"vjp", "gradient", "jet"} {
			spot{transformation: what, input: "x"}.want(t, cells, c.dx, ulp)
		}
		spot{transformation: "jacobian", name: "y", input: "x"}.want(t, cells, c.dx, ulp)
		spot{transformation: "hvp", input: "x", direction: "v"}.want(t, cells, c.hvp, ulp)
		spot{transformation: "jet", input: "x", direction: "v"}.want(t, cells, c.jet, ulp)
		for _, row := range out.Record.Rows(results.Program) {
			if got := row.Fields.Get("declared").String(); row.Fields.Get("input").String() != "w" && got != c.mark {
				t.Errorf("%s: the row %v is marked %q, want %q", c.name, row.Fields, got, c.mark)
			}
		}
		differences, err := newSolver(t, m.Study).CheckDerivatives(m.Study.Point(0))
		if err != nil || len(differences) != 1 || strings.Join(differences[0].Declared, " ") != c.mark || differences[0].Agrees != (c.mark == "") {
			t.Errorf("%s: %+v, %v", c.name, differences, err)
		}
	}
	// What reads a value that depends on a response is marked, too, in every form of its derivative.
	_, read := programOf(t, "kind = \"program\"\n[constants]\nx = 3\n[parameters]\nw = 2\n[program]\nresults = [\"value\", \"jvp\", \"vjp\", \"jacobian\", \"residuals\", \"taylor\"]\n[program.outputs]\ny = \"round_straight_through(x) * w\"\nz = \"w\"\n[program.directions]\nv = { w = 1 }\n")
	for _, row := range read.Record.Rows(results.Program) {
		marked := row.Fields.Get("declared").String() == "straight_through_round"
		if row.Status != "OK" || marked != (row.Fields.Get("name").String() != "z") {
			t.Errorf("%+v", row)
		}
	}
	_, out := programOf(t, "kind = \"program\"\n[parameters]\nx = 1.75\n[program]\nmodule = \"modules/own.json\"\nresults = [\"vjp\"]\n")
	row := out.Record.Rows(results.Program)[0]
	if x, _ := row.Fields.Get("value").Number(); x != 1.75 || row.Fields.Get("declared").String() != "q" {
		t.Errorf("the response of a module: %+v", row)
	}
}

// TestDeclaredResponsesOfBranches marks exact and iterated derivatives, and only those that depend on a response:
// of z = θ·stop(θ) the solution is θ² and its declared derivative θ.
func TestDeclaredResponsesOfBranches(t *testing.T) {
	const text = `kind = "fixed-point"
[parameters]
theta = 3
[define]
s = { value = "theta", response = {} }
[state]
z = { start = "0" }
[fixed-point]
z = "0.5 * z + 0.5 * theta * %s"
[objective]
J = "z"
[iterate]
steps = [1]
`
	for _, c := range []struct {
		factor, mark string
		gradient     float64
	}{{"s", "s", 3}, {"stop_gradient(theta)", "stop_gradient", 3}, {"theta", "", 6}} {
		study := fmt.Sprintf(text, c.factor)
		if c.factor != "s" {
			study = strings.Replace(study, "[define]\ns = { value = \"theta\", response = {} }\n", "", 1)
		}
		s, err := studies.Read(programFS(study), "in/study.toml")
		if err != nil {
			t.Fatal(err)
		}
		out := outcome(t, newSolver(t, s), s)
		row := out.Record.Rows(results.Implicit)[0]
		if J, _ := row.Fields.Get("J").Number(); math.Abs(J-9) > 1e-14 {
			t.Errorf("%s: J = %v", c.factor, J)
		}
		if d, _ := row.Fields.Get("dJ_theta").Number(); math.Abs(d-c.gradient) > 1e-14 {
			t.Errorf("%s: dJ = %v, want %v", c.factor, d, c.gradient)
		}
		for _, table := range []string{results.Implicit, results.Iterates, results.Sensitivities} {
			for _, row := range out.Record.Rows(table) {
				if got := row.Fields.Get("declared").String(); got != c.mark {
					t.Errorf("%s: %s is marked %q, want %q", c.factor, table, got, c.mark)
				}
			}
		}
		differences, err := newSolver(t, s).CheckDerivatives(s.Point(0))
		last := differences[len(differences)-1]
		if err != nil || strings.Join(last.Declared, " ") != c.mark || last.Agrees != (c.mark == "") {
			t.Errorf("%s: %+v, %v", c.factor, last, err)
		}
	}
}

// TestDeclaredResponsesOfChains marks the gradient of a chain: of x₂ = θ·q(θ·q(1)) with q the identity by value and no
// response only the last factor is left, and of the classical chain both.
func TestDeclaredResponsesOfChains(t *testing.T) {
	const text = `kind = "chain"
[parameters]
theta = 3
[define]
q = { value = "x", response = {} }
[state]
x = { start = "1" }
[chain]
steps = 2
[next]
x = "theta * %s"
[objective]
J = "x"
`
	for _, c := range []struct {
		factor, mark string
		gradient     float64
	}{{"q", "q", 3}, {"stop_gradient(x)", "stop_gradient", 3}, {"x", "", 6}} {
		study := fmt.Sprintf(text, c.factor)
		if c.factor != "q" {
			study = strings.Replace(study, "[define]\nq = { value = \"x\", response = {} }\n", "", 1)
		}
		s, err := studies.Read(programFS(study), "in/study.toml")
		if err != nil {
			t.Fatal(err)
		}
		out := outcome(t, newSolver(t, s), s)
		for _, row := range out.Record.Rows(results.Chain) {
			J, _ := row.Fields.Get("J").Number()
			d, _ := row.Fields.Get("dJ_theta").Number()
			if row.Status != "OK" || J != 9 || d != c.gradient || row.Fields.Get("declared").String() != c.mark {
				t.Errorf("%s: %+v", c.factor, row)
			}
		}
		differences, err := newSolver(t, s).CheckDerivatives(s.Point(0))
		if err != nil {
			t.Fatal(err)
		}
		marked := false
		for _, d := range differences {
			marked = marked || strings.Join(d.Declared, " ") == c.mark && c.mark != ""
			if !d.Agrees && len(d.Declared) == 0 {
				t.Errorf("%s: %+v", c.factor, d)
			}
		}
		if marked != (c.mark != "") {
			t.Errorf("%s: the check says %+v", c.factor, differences)
		}
	}
}

// TestProgramRefusals gives a refused transformation one row and lets the others run.
func TestProgramRefusals(t *testing.T) {
	text := "kind = \"program\"\n[parameters]\nx = [1, 0]\n[program]\nresults = [\"jvp\", \"value\", \"cost\"]\n[program.outputs]\ny = \"abs(x)\"\n[program.directions]\nv = { x = [1, 1] }\n"
	_, out := programOf(t, text)
	rows := out.Record.Rows(results.Program)
	if rows[0].Status != "NONDIFFERENTIABLE" || !strings.Contains(rows[0].Reason, "[program] outputs.y") || rows[0].Fields.Get("transformation").String() != "jvp" {
		t.Errorf("%+v", rows[0])
	}
	if rows[1].Status != "OK" || rows[1].Fields.Get("transformation").String() != "value" || out.Refused != 1 {
		t.Errorf("%+v, %d refused", rows[1], out.Refused)
	}
	if _, out := programOf(t, text+"[expect]\nstatus = \"NONDIFFERENTIABLE\"\n"); out.Refused+out.Unexpected != 0 {
		t.Errorf("the expected refusal counts: %+v", out)
	}
	if _, out := programOf(t, strings.Replace(text, "[1, 0]", "[1, 2]", 1)+"[expect]\nstatus = \"NONDIFFERENTIABLE\"\n"); out.Unexpected != 1 || len(out.Warnings) != 1 {
		t.Errorf("the missing refusal: %+v", out)
	}
	if _, out := programOf(t, strings.Replace(text, "[1, 0]", "[1, 0]", 1)+"[expect]\nstatus = \"DOMAIN_ERROR\"\n"); out.Unexpected != 1 || out.Refused != 1 {
		t.Errorf("another refusal: %+v", out)
	}
}

// TestProgramSweep runs a sweep through a kink: a row for each transformation of each point.
func TestProgramSweep(t *testing.T) {
	m, err := readProgram("kind = \"program\"\n[parameters]\nx = 0\n[program]\nresults = [\"value\", \"gradient\"]\n[program.outputs]\ny = \"abs(x)\"\n[sweep.grid]\nx = [-2, 0, 3]\n")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	options := Options{Dir: dir, Seed: 1, Jobs: 2, Tool: results.Tool{Name: "test", Digest: "test"}}
	s, err := Run(context.Background(), m, "kink", options)
	if err != nil || s.Refused != 1 || s.Computed != 3 {
		t.Fatalf("%v: %+v", err, s)
	}
	table := s.Run.Table(results.Program)
	var rows []string
	for _, row := range table.Rows {
		var cells []string
		for _, column := range []string{"x", "status", "transformation", "name", "input", "value"} {
			cells = append(cells, row[table.Column(column)].String())
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	want := []string{"-2 OK value y  2", "-2 OK gradient  x -1", "0 OK value y  0", "0 NONDIFFERENTIABLE gradient   ", "3 OK value y  3", "3 OK gradient  x 1"}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows are %q", rows)
	}
	if s, err = Run(context.Background(), m, "kink", options); err != nil || s.Refused != 1 || s.Reused != 3 {
		t.Errorf("the second run: %v, %+v", err, s)
	}
}

// TestLargeProgramResults puts what is too long for a table into arrays.
func TestLargeProgramResults(t *testing.T) {
	m, out := programOf(t, "kind = \"program\"\n[parameters]\nx = { linspace = [0, 1, 1025] }\na = 2\n[program]\nresults = [\"value\", \"jvp\", \"jacobian\"]\n[program.outputs]\ny = \"a * x\"\n[program.directions]\nv = { a = 1 }\n")
	arrays := map[string]results.Array{}
	for _, a := range out.Record.Arrays {
		arrays[a.Name] = a
	}
	for _, c := range []struct {
		name  string
		shape []int
		at    int
		want  float64
	}{{"value-y", []int{1025}, 1024, 2}, {"jvp-y-v", []int{1025}, 512, 0.5}, {"jacobian-y-x", []int{1025, 1025}, 1025*7 + 7, 2}, {"jacobian-y-a", []int{1025}, 1024, 1}} {
		a, ok := arrays[c.name]
		if !ok || !slices.Equal(a.Shape, c.shape) || a.Data[c.at] != c.want {
			t.Errorf("%s: %v, shape %v", c.name, ok, a.Shape)
		}
	}
	if rows := out.Record.Rows(results.Program); len(rows) != 4 || rows[0].Fields.Get("array").String() != "value-y" {
		t.Errorf("the rows are %v", rows)
	}
	dir := t.TempDir()
	s, err := Run(context.Background(), m, "large", Options{Dir: dir, Seed: 1, Tool: results.Tool{Name: "test", Digest: "test"}})
	if err != nil || s.Refused != 0 {
		t.Fatalf("%v, %+v", err, s)
	}
	for _, name := range []string{"program.csv", "arrays.npz"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestProgramIdentity changes a point's identity with everything that its results depend on, and with nothing else.
func TestProgramIdentity(t *testing.T) {
	const text = `kind = "program"
[constants]
x = [3, 5]
[parameters]
w = [1, 10]
[program]
module = "modules/scaled.json"
dimensions = { n = 2 }
results = ["value", "jvp"]
[program.seeds]
s = 2
[program.directions]
v = { w = [1, 0] }
`
	id := func(fsys fstest.MapFS) string {
		t.Helper()
		s, err := studies.Read(fsys, "in/study.toml")
		if err != nil {
			t.Fatal(err)
		}
		return s.Point(0).ID(1, 1)
	}
	seen := map[string]string{id(programFS(text)): "the study"}
	for _, change := range [][2]string{{`["value", "jvp"]`, `["value"]`}, {`["value", "jvp"]`, `["jvp", "value"]`}, {"s = 2", "s = 3"}, {"s = 2", `s = "2"`}, {"[1, 0]", "[1, 1]"}, {"v = {", "u = {"},
		{"\n[program.seeds]", "\njet = \"v\"\n[program.seeds]"}, {"\n[program.seeds]", "\norder = 5\n[program.seeds]"}, {"n = 2", "n = 2, m = 1"}} {
		if !strings.Contains(text, change[0]) {
			t.Fatal(change[0])
		}
		now := id(programFS(strings.Replace(text, change[0], change[1], 1)))
		if other, ok := seen[now]; ok {
			t.Errorf("%v has the identity of %s", change, other)
		}
		seen[now] = change[1]
	}
	for old, wantSame := range map[string]bool{`"primitive": "mul", "operands": ["x", "w"]`: false, `"nodes": [`: true} {
		fsys := programFS(text)
		module := families["in/modules/scaled.json"]
		changed := strings.Replace(module, old, strings.NewReplacer(`["x", "w"]`, `["w", "x"]`, `"nodes": [`, "\n \"nodes\":\n [ ").Replace(old), 1)
		if changed == module {
			t.Fatal(old)
		}
		fsys["in/modules/scaled.json"] = &fstest.MapFile{Data: []byte(changed)}
		if _, same := seen[id(fsys)]; same != wantSame {
			t.Errorf("the module with %s changed has the same identity: %t", old, same)
		}
	}
	// Responses of definitions.
	declared := "kind = \"program\"\n[parameters]\nx = 1\n[define]\nq = { value = \"x\", response = { x = \"seed\" } }\n[program]\nresults = [\"vjp\"]\n[program.outputs]\ny = \"q\"\n"
	if id(programFS(declared)) == id(programFS(strings.Replace(declared, `"seed"`, `"2 * seed"`, 1))) ||
		id(programFS(declared)) == id(programFS(strings.Replace(declared, `{ value = "x", response = { x = "seed" } }`, `"x"`, 1))) {
		t.Error("a response does not change the identity")
	}
}

// badPrograms are studies of kind program with a mistake; testdata/bad_program.txt has their messages.
var badPrograms = []struct{ name, text string }{
	{"nothing to run", "[program]\nresults = [\"value\"]\n"},
	{"a module and outputs", "[parameters]\nx = 1\n[program]\nmodule = \"modules/own.json\"\nresults = [\"value\"]\n[program.outputs]\ny = \"x\"\n"},
	{"no results", "[program]\n[program.outputs]\ny = \"1\"\n"},
	{"an unknown result", "[program]\nresults = [\"value\", \"hessian\"]\n[program.outputs]\ny = \"1\"\n"},
	{"a result twice", "[program]\nresults = [\"value\", \"value\"]\n[program.outputs]\ny = \"1\"\n"},
	{"no file", "[program]\nmodule = \"modules/none.json\"\nresults = [\"value\"]\n"},
	{"a path out of the folder", "[program]\nmodule = \"/etc/passwd\"\nresults = [\"value\"]\n"},
	{"a module that is no JSON", "[program]\nmodule = \"modules/syntax.json\"\nresults = [\"value\"]\n"},
	{"a module that is refused", "[program]\nmodule = \"modules/broken.json\"\nresults = [\"value\"]\n"},
	{"a dimension without a size", "[parameters]\nx = [1]\nw = [1]\n[program]\nmodule = \"modules/scaled.json\"\nresults = [\"value\"]\n"},
	{"a dimension that is none", "[parameters]\nx = [1]\nw = [1]\n[program]\nmodule = \"modules/scaled.json\"\ndimensions = { n = 1, m = 2 }\nresults = [\"value\"]\n"},
	{"a dimension of 0", "[parameters]\nx = [1]\nw = [1]\n[program]\nmodule = \"modules/scaled.json\"\ndimensions = { n = 0 }\nresults = [\"value\"]\n"},
	{"dimensions of formulas", "[program]\ndimensions = { n = 1 }\nresults = [\"value\"]\n[program.outputs]\ny = \"1\"\n"},
	{"an input without a value", "[parameters]\nx = [1]\n[program]\nmodule = \"modules/scaled.json\"\ndimensions = { n = 1 }\nresults = [\"value\"]\n"},
	{"an input of another shape", "[parameters]\nx = [1]\nw = [1, 2]\n[program]\nmodule = \"modules/scaled.json\"\ndimensions = { n = 1 }\nresults = [\"value\"]\n"},
	{"an integer that is none", "[parameters]\nx = [1, 2]\n[constants]\nk = [0.5, 1]\n[program]\nmodule = \"modules/count.json\"\nresults = [\"value\"]\n"},
	{"no seed", "[parameters]\nx = [1, 2]\n[program]\nresults = [\"value\", \"vjp\"]\n[program.outputs]\ny = \"x\"\n"},
	{"a seed of another shape", "[parameters]\nx = [1, 2]\n[program]\nresults = [\"vjp\"]\n[program.outputs]\ny = \"x\"\n[program.seeds]\ny = [1]\n"},
	{"a seed of nothing", "[parameters]\nx = 1\n[program]\nresults = [\"vjp\"]\n[program.outputs]\ny = \"x\"\n[program.seeds]\nz = 1\n"},
	{"a seed that is no formula", "[parameters]\nx = 1\n[program]\nresults = [\"vjp\"]\n[program.outputs]\ny = \"x\"\n[program.seeds]\ny = \"x +\"\n"},
	{"no direction", "[parameters]\nx = 1\n[program]\nresults = [\"jvp\"]\n[program.outputs]\ny = \"x\"\n"},
	{"a direction of a constant", "[constants]\na = 1\n[parameters]\nx = 1\n[program]\nresults = [\"jvp\"]\n[program.outputs]\ny = \"a * x\"\n[program.directions]\nv = { a = 1 }\n"},
	{"a direction of another shape", "[parameters]\nx = [1, 2]\n[program]\nresults = [\"jvp\"]\n[program.outputs]\ny = \"x\"\n[program.directions]\nv = { x = [1, 2, 3] }\n"},
	{"a direction of nothing", "[parameters]\nx = 1\n[program]\nresults = [\"jvp\"]\n[program.outputs]\ny = \"x\"\n[program.directions]\nv = {}\n"},
	{"a jet without directions", "[parameters]\nx = 1\n[program]\nresults = [\"jet\"]\n[program.outputs]\ny = \"x\"\n"},
	{"a jet of an unknown direction", "[parameters]\nx = 1\n[program]\nresults = [\"jet\"]\njet = [\"v\", \"u\"]\n[program.outputs]\ny = \"x\"\n[program.directions]\nv = { x = 1 }\n"},
	{"a jet of a high order", "[parameters]\nx = 1\n[program]\nresults = [\"jet\"]\njet = [\"v\", \"v\", \"v\", \"v\", \"v\", \"v\", \"v\", \"v\", \"v\"]\n[program.outputs]\ny = \"x\"\n[program.directions]\nv = { x = 1 }\n"},
	{"a Taylor series of a high order", "[parameters]\nx = 1\n[program]\nresults = [\"taylor\"]\norder = 1000\n[program.outputs]\ny = \"x\"\n[program.directions]\nv = { x = 1 }\n"},
	{"a Taylor series without a rule", "[parameters]\nx = 1\n[program]\nresults = [\"taylor\"]\n[program.outputs]\ny = \"erf(x)\"\n[program.directions]\nv = { x = 1 }\n"},
	{"nothing to differentiate by", "[constants]\nx = 1\n[program]\nresults = [\"value\", \"residuals\"]\n[program.outputs]\ny = \"x\"\n"},
	{"a state", "[parameters]\nx = 1\n[state]\nz = { start = \"0\" }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"x\"\n"},
	{"an output of a name that is taken", "[parameters]\nx = 1\n[program]\nresults = [\"value\"]\n[program.outputs]\nx = \"1\"\n"},
	{"an output that reads another", "[parameters]\nx = 1\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"x\"\nz = \"y\"\n"},
	{"a definition without a response", "[parameters]\nx = 1\n[define]\nq = { value = \"x\" }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
	{"a response that is not linear", "[parameters]\nx = 1\n[define]\nq = { value = \"x\", response = { x = \"seed^2\" } }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
	{"a response that adds", "[parameters]\nx = 1\n[define]\nq = { value = \"x\", response = { x = \"seed + 1\" } }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
	{"a response of another shape", "[parameters]\nx = [1, 2]\n[define]\nq = { value = \"x\", response = { x = \"seed[:1]\" } }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
	{"a response to what is not read", "[parameters]\nx = 1\nw = 1\n[define]\nq = { value = \"x\", response = { w = \"seed\" } }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q * w\"\n"},
	{"a response in a circle", "[parameters]\nx = 1\n[define]\nq = { value = \"x\", response = { x = \"seed * r\" } }\nr = \"q\"\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
	{"a response with an unknown name", "[parameters]\nx = 1\n[define]\nq = { value = \"x\", response = { x = \"sed\" } }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
	{"a seed elsewhere", "[parameters]\nx = 1\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"seed\"\n"},
	{"a parameter in the place of a seed", "[parameters]\nseed = 1\n[define]\nq = { value = \"seed\", response = { } }\n[program]\nresults = [\"value\"]\n[program.outputs]\ny = \"q\"\n"},
}

func TestBadPrograms(t *testing.T) {
	var out strings.Builder
	for _, bad := range badPrograms {
		_, err := readProgram("kind = \"program\"\n" + bad.text)
		if err == nil {
			t.Errorf("%s: compiled without an error", bad.name)
			continue
		}
		fmt.Fprintf(&out, "-- %s --\n%s\n", bad.name, err)
	}
	golden(t, "bad_program.txt", out.String())
}

// FuzzProgram wants no panic of any study of kind program, and errors with a place.
func FuzzProgram(f *testing.F) {
	for _, bad := range badPrograms {
		f.Add(bad.text)
	}
	f.Add("[parameters]\nx = [1, 2]\n[define]\nq = { value = \"round(x)\", response = { x = \"seed * x\" } }\n[program]\nresults = [\"value\", \"jvp\", \"vjp\", \"gradient\", \"jacobian\", \"hvp\", \"jet\", \"residuals\", \"cost\"]\njet = [\"v\", \"v\"]\n" +
		"[program.outputs]\ny = \"q * stop_gradient(x)\"\nz = \"sum(x > 1 ? log(x) : x)\"\n[program.seeds]\ny = \"x\"\n[program.directions]\nv = { x = [1, 0] }\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		m, err := readProgram("kind = \"program\"\n" + text)
		var one *studies.Error
		if err != nil {
			if !errors.As(err, &one) || one.Message == "" || one.File == "" {
				t.Fatalf("the error %v is a %T", err, err)
			}
			return
		}
		for _, p := range m.Programs() {
			for i := range p.Nodes {
				if p.Nodes[i].Type.Len() > 1000 {
					return
				}
			}
		}
		solver, err := NewSolver(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		outcome(t, solver, m.Study)
		if _, err := solver.CheckDerivatives(m.Study.Point(0)); err != nil {
			t.Fatal(err)
		}
	})
}

// The reference page names the functions that taylor takes; of the others it must refuse each, and of these none.
func TestTaylorOfFunctions(t *testing.T) {
	page := studies.Reference()
	list := page[strings.Index(page, "of formulas with no other functions"):]
	list = list[:strings.Index(list, ";")]
	for _, f := range formula.Functions() {
		name, arguments, _ := strings.Cut(f.Signature, "(")
		if arguments != "x)" || name == "len" || name == "transpose" { // of a scalar, or of a vector
			continue
		}
		text := "kind = \"program\"\n[parameters]\nx = [0.3, 0.6]\n[program]\nresults = [\"taylor\"]\n[program.outputs]\ny = \"" + name + "(x)\"\n[program.directions]\nv = { x = [1, 1] }\n"
		study, err := tryText(text)
		if err != nil {
			t.Fatal(name, err)
		}
		model, err := Compile(study)
		if err == nil {
			_, err = NewSolver(model, 1)
		}
		if listed := strings.Contains(list, "`"+name+"`"); listed != (err == nil) {
			t.Errorf("%s is listed: %v, but %v", name, listed, err)
		}
	}
}
