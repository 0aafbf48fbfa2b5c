package model

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"codeberg.org/sbinet/npyio/npy"

	"github.com/lensir/lensir-study/iterate"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// twelve holds a value to twelve digits of its reference, which was computed with at least 30.
func twelve(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 5e-13*math.Abs(want)) {
		t.Errorf("%s: got %.17g, want %.15g", what, got, want)
	}
}

// TestBratuWorkload solves Bratu's problem on grids of 100 and 1,000 points.
func TestBratuWorkload(t *testing.T) {
	const text = `kind = "root"
[parameters]
lambda = 1.0
[define]
h = "1 / (N + 1)"
[state]
u = { start = "zeros(N)" }
[root]
heat = "shift(u, 1) - 2 * u + shift(u, -1) + h^2 * lambda * exp(u)"
[objective]
J = "h * sum(u)"
`
	for _, c := range []struct {
		n               int
		value, gradient float64
	}{
		{100, 0.093248811246503839, 0.10514317983981895},
		{1000, 0.093256795043829885, 0.10515090984252753},
	} {
		t.Run(fmt.Sprint(c.n), func(t *testing.T) {
			s := readText(t, strings.ReplaceAll(text, "N", fmt.Sprint(c.n)))
			row := solve(t, s, 0).Rows(results.Implicit)[0]
			twelve(t, "J", number(t, row, "J"), c.value)
			twelve(t, "dJ/dlambda", number(t, row, "dJ_lambda"), c.gradient)
		})
	}
}

// congruential is the generator of the workload's numbers, uniform on [−1, 1).
type congruential uint64

func (s *congruential) next() float64 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return 2*(float64(*s>>11)*0x1p-53) - 1
}

func (s *congruential) numbers(n int, scale float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = s.next() * scale
	}
	return x
}

// TestContractionWorkload solves z = tanh(Wz + Uθ + b) with 200 unknowns and 50 parameters: the
// Jacobian of 50 steps, and the gradient of z·z along the exact branch.
func TestContractionWorkload(t *testing.T) {
	const m, p, steps = 200, 50, 50
	lcg := congruential(4)
	w := lcg.numbers(m*m, 0.5/15.7241977347611)
	u := lcg.numbers(m*p, 1)
	b := lcg.numbers(m, 1)
	theta := lcg.numbers(p, 1)
	fsys := fstest.MapFS{}
	for name, x := range map[string][]float64{"W": w, "U": u, "b": b} {
		var file bytes.Buffer
		if err := npy.Write(&file, x); err != nil {
			t.Fatal(err)
		}
		fsys[name+".npy"] = &fstest.MapFile{Data: file.Bytes()}
	}
	fsys["w4.toml"] = &fstest.MapFile{Data: fmt.Appendf(nil, `kind = "fixed-point"
[data]
W = { file = "W.npy" }
U = { file = "U.npy" }
b = { file = "b.npy" }
[parameters]
theta = %s
[define]
input = "matmul(reshape(U, %d, %d), theta) + b"
[state]
z = { start = "zeros(%d)" }
[fixed-point]
z = "tanh(matmul(reshape(W, %d, %d), z) + input)"
[objective]
J = "dot(z, z)"
`, list(theta), m, p, m, m, m)}
	s, err := studies.Read(fsys, "w4.toml")
	if err != nil {
		t.Fatal(err)
	}
	record := solve(t, s, 0)
	twelve(t, "z·z", number(t, record.Rows(results.Implicit)[0], "J"), 142.445812857974009)
	g := array(t, record, "dJ")
	twelve(t, "g[0]", g[0], 6.48498130243587812)
	twelve(t, "g[1]", g[1], 2.32117081176584401)
	twelve(t, "Σg", sum(g), 35.4542203226317352)

	solver := newSolver(t, s)
	solver.load(s.Point(0))
	var jacobian []float64
	if err := iterate.Steps(solver.equations, solver.starts[0], theta, steps, func(at iterate.Iterate) error {
		if at.K == steps {
			jacobian = append(jacobian, at.E...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	twelve(t, "J[0][0] after 50 steps", jacobian[0], 0.646858934226076529)
	twelve(t, "ΣJ after 50 steps", sum(jacobian), -61.2106775671442101)
}

// list writes numbers as a TOML array.
func list(x []float64) string {
	parts := make([]string, len(x))
	for i, v := range x {
		parts[i] = results.FormatFloat(v)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

func newSolver(t *testing.T, s *studies.Study) *Solver {
	t.Helper()
	m, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := NewSolver(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	return solver
}

// solve computes a point, which shall not be refused.
func solve(t *testing.T, s *studies.Study, point int) *results.Record {
	t.Helper()
	out, err := newSolver(t, s).Solve(t.Context(), s.Point(point))
	if err != nil {
		t.Fatal(err)
	}
	if out.Refused != 0 {
		t.Fatalf("refused: %+v", out.Record.Rows(results.Implicit))
	}
	return out.Record
}

func number(t *testing.T, row results.Row, column string) float64 {
	t.Helper()
	x, ok := row.Fields.Get(column).Number()
	if !ok {
		t.Fatalf("no number in column %s: %+v", column, row)
	}
	return x
}

func array(t *testing.T, r *results.Record, name string) []float64 {
	t.Helper()
	for _, a := range r.Arrays {
		if a.Name == name {
			return a.Data
		}
	}
	t.Fatalf("the record has no array %s", name)
	return nil
}
