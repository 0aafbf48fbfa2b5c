package model

import (
	"math"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/lensir/lensir-study/studies"
)

// A ladder must tell a right derivative from a wrong one: of functions of every scale, offset and
// speed, at every argument. Where it cannot, it has to say that it compared nothing.
func TestLadderIsNotFooled(t *testing.T) {
	for _, c := range []struct {
		name     string
		f        func(x float64) float64
		x, slope float64
		compared bool
	}{
		{"sine", math.Sin, 1, math.Cos(1), true},
		{"line", func(x float64) float64 { return 3 * x }, 1, 3, true},
		{"constant", func(x float64) float64 { return 7 }, 1, 0, true},
		{"square at 0", func(x float64) float64 { return x * x }, 0, 0, true},
		{"beside an offset", func(x float64) float64 { return 1e9 + math.Sin(x) }, 1, math.Cos(1), true},
		{"small slope", func(x float64) float64 { return 1 + 1e-8*x }, 1, 1e-8, true},
		{"tiny units", func(x float64) float64 { return 1e-12 * math.Exp(x/1e-12) }, 1e-12, math.E, true},
		{"root", math.Sqrt, 1e-12, 5e5, true},
		{"root beside a large argument", func(x float64) float64 { return math.Sqrt(x - 1 + 1e-12) }, 1, 5e5, false},
		{"fast", func(x float64) float64 { return math.Sin(1e6 * x) }, 1, 1e6 * math.Cos(1e6), true},
		{"too fast", func(x float64) float64 { return math.Sin(1e15 * x) }, 1, 1e15 * math.Cos(1e15), false},
		{"kink nearby", func(x float64) float64 { return math.Abs(x - 1 - 1e-9) }, 1, -1, true},
	} {
		f := func(x []float64) (float64, error) { return c.f(x[0]), nil }
		x, v := []float64{c.x}, []float64{0.75}
		right := ladder("", 0.75*c.slope, x, v, f)
		if right.Compared() != c.compared && c.compared || right.Compared() && !right.Agrees {
			t.Errorf("%s: the right derivative %g: %+v", c.name, 0.75*c.slope, right)
		}
		if !c.compared {
			continue
		}
		scale := max(math.Abs(c.slope), 1e-3)
		for _, off := range []float64{1, -1, 0.1, 0.01} {
			wrong := 0.75 * (c.slope + off*scale)
			if d := ladder("", wrong, x, v, f); d.Agrees || !d.Compared() {
				t.Errorf("%s: the wrong derivative %g for %g: %+v", c.name, wrong, 0.75*c.slope, d)
			}
		}
		if zero := ladder("", 0, x, v, f); c.slope != 0 && zero.Agrees {
			t.Errorf("%s: 0 for %g: %+v", c.name, 0.75*c.slope, zero)
		}
	}
}

// A kink within reach of the steps is no reason to doubt a derivative beside it.
func TestDifferencesStayOnTheBranch(t *testing.T) {
	for _, r := range []string{"z - abs(t - 1 - 1e-9)", "z - max(t, 1 + 1e-7)", "z + z^3 - (t < 1 + 1e-8 ? t : 3 * t)", "z - clamp(t, 0, 1 - 1e-6) - t"} {
		text := "kind = \"root\"\n[parameters]\nt = 1.0\n[state]\nz = { start = \"1\" }\n[root]\nr = \"" + r + "\"\n[objective]\nJ = \"z\"\n"
		study, err := studies.Read(fstest.MapFS{"kink.toml": {Data: []byte(text)}}, "kink.toml")
		if err != nil {
			t.Fatal(err)
		}
		model, err := Compile(study)
		if err != nil {
			t.Fatal(err)
		}
		solver, err := NewSolver(model, 1)
		if err != nil {
			t.Fatal(err)
		}
		list, err := solver.CheckDerivatives(study.Point(0))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if !d.Agrees {
				t.Errorf("%s: %+v", r, d)
			}
		}
	}
}

// One unknown of 1e-9 beside one of 1e12: a step for the one must not be a step for the other.
func TestDifferencesInAnyUnits(t *testing.T) {
	const quantities = "[parameters]\nk = 1e12\ns = 1e-9\n"
	const state = quantities + "[state]\nx = { start = \"s\" }\ny = { start = \"k\" }\n"
	for name, text := range map[string]string{
		"root":    "kind = \"root\"\n" + state + "[root]\nr = \"exp(x / s) - 2\"\nq = \"y / k - 3\"\n[objective]\nJ = \"x * y\"\n",
		"chain":   "kind = \"chain\"\n" + state + "[chain]\nsteps = 3\n[next]\nx = \"s * sin(x / s)\"\ny = \"k * cos(y / k)\"\n[objective]\nJ = { terminal = \"y / k\", running = \"x / s\" }\n",
		"program": "kind = \"program\"\n" + quantities + "[program]\nresults = [\"value\"]\n[program.outputs]\nf = \"sin(s / 1e-9) + cos(k / 1e12)\"\n",
	} {
		study := readText(t, text)
		list, err := newSolver(t, study).CheckDerivatives(study.Point(0))
		if err != nil || len(list) == 0 {
			t.Fatal(name, err)
		}
		for _, d := range list {
			if !d.Agrees || !d.Compared() {
				t.Errorf("%s: %+v", name, d)
			}
		}
	}
}

func TestInUnits(t *testing.T) {
	v := inUnits([]float64{1, 1, -1, 1, 1, 1}, []float64{0, -4, 0.25, 0, 0, 16}, []int{2, 1, 2, 0, 1})
	if want := []float64{0.25, 0.25, -0x1p-6, 0x1p-4, 0x1p-4, 1}; !slices.Equal(v, want) {
		t.Errorf("%v, want %v", v, want)
	}
	if v := inUnits([]float64{0.5, -1}, []float64{0, 0}, []int{2}); !slices.Equal(v, []float64{0.5, -1}) {
		t.Errorf("at 0 the direction is %v", v)
	}
}

// In chaos no difference settles: then no order of a remainder accuses a derivative.
func TestChaosAccusesNobody(t *testing.T) {
	study := readText(t, "kind = \"chain\"\n[parameters]\na = 3.9\n[state]\nx = { start = \"0.3\" }\n[chain]\nsteps = 100\n[next]\nx = \"a * x * (1 - x)\"\n[objective]\nJ = \"x\"\n")
	list, err := newSolver(t, study).CheckDerivatives(study.Point(0))
	if err != nil || len(list) != 1 || list[0].Compared() || list[0].Reason == "" {
		t.Errorf("%+v, %v", list, err)
	}
}
