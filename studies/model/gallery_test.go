package model

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/lensir/lensir-study/bounds"
	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// ran is a gallery study after a run.
type ran struct {
	*Summary
	study *studies.Study
	dir   string
}

// run computes all points of a gallery study, with settings, the way the command does.
func run(t *testing.T, name string, settings ...string) ran {
	t.Helper()
	s, err := studies.Open(name)
	if err == nil {
		s, err = studies.Apply(s, settings)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	summary, err := Run(context.Background(), m, name, Options{Dir: dir, Seed: 1, Tool: results.Tool{Name: "test", Digest: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range summary.Run.Manifest.Sweep.Points {
		record, err := summary.Run.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		summary.Run.Records = append(summary.Run.Records, record)
	}
	if n := summary.Refused + summary.Unexpected + summary.Violated; n != 0 {
		t.Errorf("%d rows are not as they shall be: %v", n, summary.Warnings)
	}
	return ran{summary, s, dir}
}

// point finds the record at values of the swept names; those that are not named may have any value.
func (r ran) point(t *testing.T, at map[string]float64) *results.Record {
	t.Helper()
	for i, record := range r.Run.Records {
		match := 0
		for k, axis := range r.study.Sweep.Axes {
			if v, ok := at[axis.Name]; ok && v == r.study.Point(i).Swept[k] {
				match++
			}
		}
		if match == len(at) {
			return record
		}
	}
	t.Fatalf("%s has no point at %v", r.study.File, at)
	return nil
}

// implicitRow finds the implicit row of a branch.
func implicitRow(t *testing.T, r *results.Record, branch string) results.Row {
	t.Helper()
	for _, row := range r.Rows(results.Implicit) {
		if row.Branch == branch {
			return row
		}
	}
	t.Fatalf("no branch %q in %+v", branch, r.Rows(results.Implicit))
	return results.Row{}
}

// at is the values of swept names.
type at map[string]float64

// ulp is the spacing of float64 at 1. An answer that a well-conditioned solve gives is right to a few of it.
const ulp = 0x1p-52

// known is an answer that was found in another way.
type known struct {
	study  string
	at     at
	branch string
	column string
	want   float64
	within float64 // relative, or absolute where want is 0
}

// The tolerances: published answers are held to the digits that were printed. The others were
// computed with 40 digits, and are held to the condition of the answer in double precision:
// κ·ulp for a value; near a fold at distance d, where the value moves as √d, ulp/√d for the value
// and ulp/d for its derivative, each times 8 for the few operations that are rounded.
var knownAnswers = []known{
	{study: "contraction", at: at{"q": 0.99}, column: "dJ_theta", want: 1, within: 100 * ulp}, // κ = 1/(1 − q)

	{study: "newton-sqrt", at: at{"theta": 2}, column: "J", want: 1.4142135623730950488, within: 2 * ulp},
	{study: "newton-sqrt", at: at{"theta": 2}, column: "dJ_theta", want: 0.35355339059327376220, within: 8 * ulp},
	{study: "newton-sqrt", at: at{"theta": 4}, column: "dJ_theta", want: 0.25, within: 8 * ulp},

	{study: "kepler", at: at{"e": 0.1, "M": degree * 5}, column: "anomaly", want: 5.554589 * degree, within: 0.5e-6 / 5.554589},
	{study: "kepler", at: at{"e": 0.99, "M": degree * 1}, column: "anomaly", want: 24.725822 * degree, within: 0.5e-6 / 24.725822},
	{study: "kepler", at: at{"e": 0.1, "M": degree * 5}, column: "anomaly", want: 0.09694587107596708729, within: 8 * ulp},
	{study: "kepler", at: at{"e": 0.1, "M": degree * 5}, column: "danomaly_e", want: 0.10749290077899201033, within: 8 * ulp},
	{study: "kepler", at: at{"e": 0.1, "M": degree * 5}, column: "danomaly_M", want: 1.11053171320062053666, within: 8 * ulp},
	{study: "kepler", at: at{"e": 0.99, "M": degree * 1}, column: "danomaly_e", want: 4.15107393207631903509, within: 10 * 8 * ulp}, // 1/(1 − e cos E) = 9.9
	{study: "kepler", at: at{"e": 0.99, "M": degree * 1}, column: "danomaly_M", want: 9.92423462487726734753, within: 10 * 8 * ulp},

	{study: "broyden-tridiagonal", column: "total", want: -5.7297012134874, within: 0.5e-13},
	{study: "broyden-tridiagonal", column: "dtotal_theta", want: -3.1385033592147, within: 0.5e-13},
	{study: "broyden-tridiagonal", column: "first", want: -0.5706545, within: 0.5e-7 / 0.57}, // MINPACK user guide
	{study: "broyden-tridiagonal", column: "last", want: -0.4164121, within: 0.5e-7 / 0.41},

	{study: "lotka-volterra", column: "X", want: 4. / 7, within: 8 * ulp},
	{study: "lotka-volterra", column: "Y", want: 6. / 7, within: 8 * ulp},
	{study: "lotka-volterra", column: "dX_a", want: -48. / 49, within: 8 * ulp},
	{study: "lotka-volterra", column: "dY_a", want: 12. / 49, within: 8 * ulp},
	{study: "lotka-volterra", column: "dX_b", want: 16. / 49, within: 8 * ulp},
	{study: "lotka-volterra", column: "dY_b", want: -32. / 49, within: 8 * ulp},

	{study: "lambert-w", at: at{"theta": -0.1}, branch: "start", column: "W", want: -0.11183255915896297182, within: 8 * ulp},
	{study: "lambert-w", at: at{"theta": -0.1}, branch: "start", column: "dW_theta", want: 1.25913824371972898443, within: 8 * ulp},
	{study: "lambert-w", at: at{"theta": -0.1}, branch: "minus_one", column: "W", want: -3.57715206395729714136, within: 8 * ulp},
	{study: "lambert-w", at: at{"theta": -0.1}, branch: "minus_one", column: "dW_theta", want: -13.88025221322978009420, within: 8 * ulp},
	{study: "lambert-w", at: at{"theta": -0.25}, branch: "minus_one", column: "W", want: -2.15329236411034964917, within: 8 * ulp},
	{study: "lambert-w", at: at{"theta": -0.25}, branch: "minus_one", column: "dW_theta", want: -7.46833129610254203179, within: 8 * ulp},
	{study: "lambert-w", at: at{"theta": -0.3678}, branch: "start", column: "W", want: -0.97936071495783051713, within: 8 * ulp / 0.015}, // d = 2.2e-4 of θ
	{study: "lambert-w", at: at{"theta": -0.3678}, branch: "start", column: "dW_theta", want: 129.01384102279328147, within: 8 * ulp / 2.2e-4},
	{study: "lambert-w", at: at{"theta": -0.3678}, branch: "minus_one", column: "W", want: -1.02092723940942545677, within: 8 * ulp / 0.015},
	{study: "lambert-w", at: at{"theta": -0.3678}, branch: "minus_one", column: "dW_theta", want: -132.63896482766456352, within: 8 * ulp / 2.2e-4},

	{study: "bratu", at: at{"lambda": 1}, branch: "start", column: "mean_u", want: 0.09324881124650383881, within: 4700 * ulp}, // κ = 4,700
	{study: "bratu", at: at{"lambda": 1}, branch: "start", column: "dmean_u_lambda", want: 0.10514317983981895037, within: 4700 * ulp},
	{study: "bratu", at: at{"lambda": 1}, branch: "hot", column: "mean_u", want: 2.44353197986773834181, within: 2000 * ulp},
	{study: "bratu", at: at{"lambda": 1}, branch: "hot", column: "dmean_u_lambda", want: -0.87021545416383336963, within: 2000 * ulp},
	{study: "bratu", at: at{"lambda": 3.5}, branch: "start", column: "mean_u", want: 0.69908356762900022675, within: 47000 * ulp},
	{study: "bratu", at: at{"lambda": 3.5}, branch: "start", column: "dmean_u_lambda", want: 2.24112776054125764164, within: 47000 * ulp / 0.004}, // d = 0.004 of λ
	{study: "bratu", at: at{"lambda": 3.5}, branch: "hot", column: "mean_u", want: 0.82785552321708874956, within: 47000 * ulp},
	{study: "bratu", at: at{"lambda": 3.5}, branch: "hot", column: "dmean_u_lambda", want: -2.48472784937550105784, within: 47000 * ulp / 0.004},
}

const degree = 0.017453292519943295

// chandrasekhar adds the closed form at every point: h̄ = 2/(1 + s), dh̄/dc = 1/(s(1 + s)²) with s = √(1 − c).
func chandrasekhar(t *testing.T) (list []known) {
	s, err := studies.Open("chandrasekhar")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Sweep.Axes[0].Values {
		r := math.Sqrt(1 - c)
		list = append(list,
			known{"chandrasekhar", at{"c": c}, "", "mean_h", 2 / (1 + r), 8 * ulp / r},
			known{"chandrasekhar", at{"c": c}, "", "dmean_h_c", 1 / (r * (1 + r) * (1 + r)), 8 * ulp / (1 - c)})
	}
	published := known{"chandrasekhar", at{"c": 0.9}, "", "mean_h", 1.5194938532959157, 0.5e-15}
	return append(list, published, known{"chandrasekhar", at{"c": 0.9}, "", "dmean_h_c", 1.8253153409694043, 8 * ulp / 0.1})
}

// findings are the warnings that a run of a study shall give, by their beginnings; no other one.
var findings = map[string][]string{
	"newton-sqrt":       {"theta = 4: HYPOTHESIS_FAILED at K = 0: q = 1.54"},
	"equilibrium-layer": {"gain = 3: HYPOTHESIS_FAILED at K = 0: q = 1.32"},
}

// TestGallery runs every study, holds its warnings to the ones that it explains, its rows to their
// statuses, and its numbers to known answers.
func TestGallery(t *testing.T) {
	answers := append(chandrasekhar(t), knownAnswers...)
	for _, name := range studies.Gallery() {
		t.Run(name, func(t *testing.T) {
			r := run(t, name)
			if !slices.EqualFunc(r.Warnings, findings[name], strings.HasPrefix) {
				t.Errorf("the findings are %q, want %q", r.Warnings, findings[name])
			}
			for _, a := range answers {
				if a.study == name {
					a.check(t, r)
				}
			}
			if test, ok := special[name]; ok {
				test(t, r)
			}
		})
	}
}

func (a known) check(t *testing.T, r ran) {
	t.Helper()
	got := number(t, implicitRow(t, r.point(t, a.at), a.branch), a.column)
	scale := math.Abs(a.want)
	if scale == 0 {
		scale = 1
	}
	if !(math.Abs(got-a.want) <= a.within*scale) {
		t.Errorf("%s at %v, branch %q: got %.17g, want %.17g within %.2g: the error is %.2g", a.column, a.at, a.branch, got, a.want, a.within, math.Abs(got-a.want)/scale)
	}
}

// special has what a table of numbers cannot say.
var special = map[string]func(*testing.T, ran){
	"newton-sqrt":       checkNewtonSqrt,
	"equilibrium-layer": checkEquilibriumLayer,
	"longley-ridge":     checkLongleyRidge,
	"longley-ols":       checkLongleyOLS,
	"lambert-w-fold":    checkFold,
	"lambert-w":         checkSides,
	"bratu":             checkSides,
	"sine-product":      checkSineProduct,
	"tied-residual":     checkTiedResidual,
}

// TestEveryGalleryStudyIsChecked wants an answer for each study.
func TestEveryGalleryStudyIsChecked(t *testing.T) {
	for _, name := range studies.Gallery() {
		_, ok := special[name]
		if !ok && !slices.ContainsFunc(append(chandrasekhar(t), knownAnswers...), func(a known) bool { return a.study == name }) {
			t.Errorf("%s has no known answer", name)
		}
	}
}

// TestGalleryFiles wants a comment and a title of every study, that it compiles, and that its
// derivatives agree with finite differences at its first point.
func TestGalleryFiles(t *testing.T) {
	for _, name := range studies.Gallery() {
		t.Run(name, func(t *testing.T) {
			s, err := studies.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			comment, _, _ := strings.Cut(s.Text, "\n\n")
			if lines := strings.Split(comment, "\n"); len(lines) < 5 || !strings.HasPrefix(lines[0], "# ") ||
				slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "#") }) {
				t.Errorf("the file shall begin with a comment that says what it teaches:\n%s", comment)
			}
			if s.Title == "" {
				t.Error("no title")
			}
			differences, err := newSolver(t, s).CheckDerivatives(s.Point(0))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range differences {
				if refused := s.Expect != "" && strings.HasPrefix(d.Reason, string(s.Expect)); !d.Agrees && !refused {
					t.Errorf("%s: derivative %v, difference %v: %s", d.What, d.Derivative, d.Quotient, d.Reason)
				}
			}
		})
	}
}

// TestContractionAtEveryStep holds the first study to its theorem at every K from 0 to 200: the
// residual is exactly 0, the derivative is 1 − q^K, and the bound is attained and reported as holding.
func TestContractionAtEveryStep(t *testing.T) {
	r := run(t, "contraction", "iterate.steps={ linspace = [0, 200, 201] }")
	for i, record := range r.Run.Records {
		q := r.study.Point(i).Swept[0]
		rows := record.Rows(results.Iterates)
		if len(rows) != 201 {
			t.Fatalf("q = %v: %d rows", q, len(rows))
		}
		derivatives := kStep(t, record)
		for k, row := range rows {
			power := math.Pow(q, float64(k))
			if got := number(t, row, "residual_norm"); got != 0 {
				t.Errorf("q = %v, K = %d: residual %v", q, k, got)
			}
			// A step rounds a product, a sum and 1 − q, at most ulp/2 each, and contracts what was there.
			rounding := 1.5 * ulp * (1 - power) / (1 - q)
			if got := derivatives[k]; !(math.Abs(got-(1-power)) <= rounding+ulp/2) {
				t.Errorf("q = %v, K = %d: derivative %.17g, want 1 − q^K = %.17g within %.2g", q, k, got, 1-power, rounding)
			}
			bound, measured := number(t, row, "sensitivity_bound"), number(t, row, "sensitivity_error")
			if !(math.Abs(bound-power) <= 4*ulp*float64(k+1)*power) {
				t.Errorf("q = %v, K = %d: bound %v, want q^K = %v", q, k, bound, power)
			}
			if !(math.Abs(measured-bound) <= rounding+2*ulp) {
				t.Errorf("q = %v, K = %d: the error %v does not attain the bound %v", q, k, measured, bound)
			}
			if got := row.Fields.Get("verdict").String(); got != string(bounds.Holds) && got != string(bounds.HoldsAtFloor) {
				t.Errorf("q = %v, K = %d: %s", q, k, got)
			}
			// The floor must not hide the bound: at least until q^K falls to 1e-12.
			if got := row.Fields.Get("verdict").String(); power > 1e-12 && got != string(bounds.Holds) {
				t.Errorf("q = %v, K = %d: %s, though q^K is %v", q, k, got, power)
			}
		}
	}
}

// checkNewtonSqrt holds the K-step derivatives to the closed form of Newton's iteration: (z − s)/(z + s),
// with s = √θ, is squared in each step. With ρ = r^(2^K), r = (1 − s)/(1 + s), it has
// z_K = s(1 + ρ)/(1 − ρ), and dz_K/dθ = ((1 + ρ)/(1 − ρ) + 2sρ′/(1 − ρ)²)/(2s), ρ′ = dρ/ds.
func checkNewtonSqrt(t *testing.T, r ran) {
	for i, record := range r.Run.Records {
		s := math.Sqrt(r.study.Point(i).Swept[0])
		iterates := kStep(t, record)
		for k, steps := range r.study.Steps {
			n := math.Pow(2, float64(steps))
			base := (1 - s) / (1 + s)
			rho, slope := math.Pow(base, n), n*math.Pow(base, n-1)*-2/((1+s)*(1+s))
			want := ((1+rho)/(1-rho) + 2*s*slope/((1-rho)*(1-rho))) / (2 * s)
			if got := iterates[k]; !(math.Abs(got-want) <= 16*ulp) { // a few operations on numbers below 2
				t.Errorf("θ = %v, K = %d: dz/dθ is %.17g, want %.17g", s*s, steps, got, want)
			}
		}
		for _, row := range record.Rows(results.Iterates) {
			if got := row.Fields.Get("verdict").String(); (got == string(bounds.HypothesisFailed)) != (s == 2) {
				t.Errorf("θ = %v: %s", s*s, got)
			}
		}
	}
	if first := kStep(t, r.Run.Records[0]); first[0] != 0 || first[1] != 0.5 {
		t.Errorf("θ = 1: the derivatives at K = 0 and 1 are %v, want 0 and 0.5 exactly", first[:2])
	}
}

// kStep lists the entries of the K-step Jacobians, K by K.
func kStep(t *testing.T, r *results.Record) (list []float64) {
	for _, row := range r.Rows(results.Sensitivities) {
		if row.Fields.Get("kind").String() == "iterate" {
			list = append(list, number(t, row, "value"))
		}
	}
	return list
}

// checkFold wants both branches refused, without a derivative.
func checkFold(t *testing.T, r ran) {
	for _, record := range r.Run.Records {
		rows := record.Rows(results.Implicit)
		if len(rows) != 2 || len(record.Rows(results.Sensitivities)) != 0 || len(record.Arrays) != 0 {
			t.Errorf("a refused point has %d rows, %d sensitivities, %d arrays", len(rows), len(record.Rows(results.Sensitivities)), len(record.Arrays))
		}
		for _, row := range rows {
			if row.Status != string(graph.SingularStateJacobian) || !row.Fields.Get("dW_theta").Absent() {
				t.Errorf("branch %s: %+v", row.Branch, row)
			}
		}
	}
}

// checkSides wants the two branches on the two sides of their fold at every point: det R_z has
// another sign, and so has the derivative.
func checkSides(t *testing.T, r ran) {
	j := r.study.Objective[0].Name
	column := "d" + j + "_" + r.study.Parameters[0].Name
	for i, record := range r.Run.Records {
		rows := record.Rows(results.Implicit)
		if len(rows) != 2 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, c := range []string{"det_sign", column} {
			if first, second := number(t, rows[0], c), number(t, rows[1], c); !(first > 0 && second < 0) {
				t.Errorf("%v: %s is %v and %v", r.study.Point(i).Swept, c, first, second)
			}
		}
	}
}

// checkEquilibriumLayer solves the layer again, by iteration and dense linear algebra: s = (I −
// gain·D·W)⁻¹ D(Wz + b) with D = diag(1 − z²). The tolerance is the condition of I − gain·D·W, below 6,
// times the 64 terms of a sum.
func checkEquilibriumLayer(t *testing.T, r ran) {
	const m = 64
	w := mat.NewDense(m, m, r.study.Constants[0].Value.Data)
	b := mat.NewVecDense(m, r.study.Parameters[1].Value.Data)
	within := 6 * m * ulp
	for i, record := range r.Run.Records {
		gain := r.study.Point(i).Swept[0]
		z, a := mat.NewVecDense(m, nil), mat.NewVecDense(m, nil)
		for range 400 {
			a.MulVec(w, z)
			a.AddVec(a, b)
			for k := range m {
				z.SetVec(k, math.Tanh(gain*a.AtVec(k)))
			}
		}
		rz, rGain, rb := mat.NewDense(m, m, nil), mat.NewVecDense(m, nil), mat.NewDense(m, m, nil)
		for k := range m {
			d := 1 - z.AtVec(k)*z.AtVec(k)
			rGain.SetVec(k, d*a.AtVec(k))
			rb.Set(k, k, gain*d)
			for l := range m {
				rz.Set(k, l, -gain*d*w.At(k, l))
			}
			rz.Set(k, k, 1+rz.At(k, k))
		}
		var s, sb mat.Dense
		if err := errors.Join(s.Solve(rz, rGain), sb.Solve(rz, rb)); err != nil {
			t.Fatal(err)
		}
		answer := implicitRow(t, record, "")
		for _, c := range []struct {
			column string
			want   float64
		}{{"J", mat.Dot(z, z)}, {"dJ_gain", 2 * mat.Dot(z, s.ColView(0))}} {
			if got := number(t, answer, c.column); !(math.Abs(got-c.want) <= within*math.Abs(c.want)) {
				t.Errorf("gain = %v: %s is %.17g, want %.17g", gain, c.column, got, c.want)
			}
		}
		got := array(t, record, "dJ")[1:]
		for l := range m {
			if want := 2 * mat.Dot(z, sb.ColView(l)); !(math.Abs(got[l]-want) <= within*mat.Norm(z, 2)) {
				t.Errorf("gain = %v: dJ/db[%d] is %.17g, want %.17g", gain, l, got[l], want)
			}
		}
		for _, row := range record.Rows(results.Iterates) {
			verdict := row.Fields.Get("verdict").String()
			if proves := verdict == string(bounds.Holds) || verdict == string(bounds.HoldsAtFloor); proves != (gain < 2) {
				t.Errorf("gain = %v, K = %v: %s", gain, row.Fields.Get("K"), verdict)
			}
			if gain < 2 && !(number(t, row, "q") <= 0.5*gain*(1+1e-12)) {
				t.Errorf("gain = %v: q = %v exceeds 0.5·gain", gain, row.Fields.Get("q"))
			}
		}
	}
}

// longley reads the data again, by another reader: the years as rows of the columns.
func longley(t *testing.T) (x *mat.Dense, y *mat.VecDense) {
	file, err := os.Open("../data/longley.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines = lines[1:]
	x, y = mat.NewDense(len(lines), 6, nil), mat.NewVecDense(len(lines), nil)
	for i, line := range lines {
		for j, text := range line {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if j == 0 {
				y.SetVec(i, v)
			} else {
				x.Set(i, j-1, v)
			}
		}
	}
	return x, y
}

// standardise scales v by the moments of its first 12 entries.
func standardise(v []float64) []float64 {
	mean, square := 0.0, 0.0
	for _, a := range v[:12] {
		mean += a / 12
	}
	for _, a := range v[:12] {
		square += (a - mean) * (a - mean) / 12
	}
	out := make([]float64, len(v))
	for i, a := range v {
		out[i] = (a - mean) / math.Sqrt(square)
	}
	return out
}

// checkLongleyRidge computes the answers again from the eigenvalues s and eigenvectors V of the
// correlation matrix, where c = VᵀXᵀy/n: the minimiser is V c/(s + λ), its derivative −V c/(s + λ)²;
// gradient descent from 0 has after K steps the weights V c(1 − ρ^K)/(s + λ) with ρ = 1 − α(s + λ),
// whose derivative follows by the product rule. The condition of the problem is below 50.
func checkLongleyRidge(t *testing.T, r ran) {
	x, y := longley(t)
	for j := range 6 {
		x.SetCol(j, standardise(mat.Col(nil, j, x)))
	}
	y = mat.NewVecDense(16, standardise(y.RawVector().Data))
	train, held := x.Slice(0, 12, 0, 6), x.Slice(12, 16, 0, 6)
	var h mat.SymDense
	h.SymOuterK(1./12, train.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&h, true) {
		t.Fatal("no eigenvalues")
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	s := eigen.Values(nil)
	var c mat.VecDense
	c.MulVec(train.T(), y.SliceVec(0, 12))
	c.MulVec(v.T(), &c)
	c.ScaleVec(1./12, &c)
	const alpha, within = 0.2, 50 * 12 * ulp
	if s[5] > 6 {
		t.Errorf("the largest eigenvalue is %v, beyond the 6 that the study declares with", s[5])
	}
	// back turns a function of the eigenvalue and c into a vector of weights.
	back := func(f func(s, c float64) float64) *mat.VecDense {
		u := mat.NewVecDense(6, nil)
		for i := range 6 {
			u.SetVec(i, f(s[i], c.AtVec(i)))
		}
		var w mat.VecDense
		w.MulVec(&v, u)
		return &w
	}
	var slopes []float64
	for i, record := range r.Run.Records {
		lambda := r.study.Point(i).Swept[0]
		w := back(func(s, c float64) float64 { return c / (s + lambda) })
		dw := back(func(s, c float64) float64 { return -c / (s + lambda) / (s + lambda) })
		answer := implicitRow(t, record, "")
		for _, part := range []struct {
			name string
			x    mat.Matrix
			y    mat.Vector
		}{{"held_out", held, y.SliceVec(12, 16)}, {"training", train, y.SliceVec(0, 12)}} {
			var e, de mat.VecDense
			e.MulVec(part.x, w)
			e.SubVec(&e, part.y)
			de.MulVec(part.x, dw)
			n := float64(e.Len())
			loss, slope := mat.Dot(&e, &e)/n, 2*mat.Dot(&e, &de)/n
			// e is a difference of numbers of the size of y
			size := mat.Norm(part.y, 2) / math.Sqrt(n)
			if got := number(t, answer, part.name); !(math.Abs(got-loss) <= within*size*math.Sqrt(loss)) {
				t.Errorf("λ = %v: %s is %.17g, want %.17g", lambda, part.name, got, loss)
			}
			if got := number(t, answer, "d"+part.name+"_lambda"); !(math.Abs(got-slope) <= within*size*mat.Norm(&de, 2)) {
				t.Errorf("λ = %v: d%s is %.17g, want %.17g", lambda, part.name, got, slope)
			}
			if part.name == "held_out" {
				slopes = append(slopes, slope)
			}
		}
		iterates := kStep(t, record)
		for k, steps := range r.study.Steps {
			want := back(func(s, c float64) float64 {
				rho, n := 1-alpha*(s+lambda), float64(steps)
				last := 0.0
				if steps > 0 {
					last = alpha * n * math.Pow(rho, n-1)
				}
				return c*last/(s+lambda) - c*(1-math.Pow(rho, n))/(s+lambda)/(s+lambda)
			})
			for j := range 6 {
				if got := iterates[6*k+j]; !(math.Abs(got-want.AtVec(j)) <= within*mat.Norm(dw, 2)) {
					t.Errorf("λ = %v, K = %d: dw[%d]/dλ is %.17g, want %.17g", lambda, steps, j, got, want.AtVec(j))
				}
			}
		}
	}
	if !(slopes[0] < 0 && slopes[1] < 0 && slopes[2] > 0) {
		t.Errorf("the slopes %v do not place the best penalty between 0.2 and 0.3, as the study says", slopes)
	}
}

// checkLongleyOLS holds the coefficients to the certified ones, and their derivatives to
// −(XᵀX)⁻¹β in rational arithmetic. A stable solve of Az = b is right to a few |A⁻¹||A||z| ulp, entry by
// entry (Skeel 1979): the condition that this data really has. For the derivatives, whose right-hand
// side holds the computed coefficients, the error of these is added, times |A⁻¹|.
func checkLongleyOLS(t *testing.T, r ran) {
	certified := []float64{-3482258.63459582, 15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359, -0.0511041056535807, 1829.15146461355}
	derivatives := []float64{29707.58320567977, -0.5805894635578308, 0.0009119122223614835, 0.013622192564917295, 0.003929932611584034, -0.0030976469840512383, -15.191660677384546}
	const n, p = 16, 7
	x, _ := longley(t)
	a := mat.NewDense(n+p, n+p, nil)
	for i := range n {
		a.Set(i, i, 1)
		for j := range p {
			v := 1.0
			if j > 0 {
				v = x.At(i, j-1)
			}
			a.Set(i, n+j, v)
			a.Set(n+j, i, v)
		}
	}
	var inverse mat.Dense
	var ill mat.Condition
	if err := inverse.Inverse(a); err != nil && !errors.As(err, &ill) {
		t.Fatal(err)
	}
	entrywise := func(m *mat.Dense) *mat.Dense {
		var out mat.Dense
		out.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, m)
		return &out
	}
	// skeel is 4·|A⁻¹|(|A||z|·ulp + extra).
	skeel := func(z, extra []float64) []float64 {
		size := mat.NewVecDense(n+p, nil)
		for i, v := range z {
			size.SetVec(i, math.Abs(v)*ulp)
		}
		size.MulVec(entrywise(a), size)
		for i, v := range extra {
			size.SetVec(n+i, size.AtVec(n+i)+v)
		}
		size.MulVec(entrywise(&inverse), size)
		size.ScaleVec(4, size)
		return size.RawVector().Data[n:]
	}
	record := r.Run.Records[0]
	answer := implicitRow(t, record, "")
	tolerance := skeel(array(t, record, "z"), nil)
	unit := r.study.Constants[0].Value.Data[0]
	moved := make([]float64, p)
	for i := range moved {
		moved[i] = unit * tolerance[i]
	}
	slope := skeel(array(t, record, "S"), moved)
	for i, o := range r.study.Objective {
		for _, c := range []struct {
			column       string
			want, within float64
		}{{o.Name, certified[i], tolerance[i]}, {"d" + o.Name + "_lambda", derivatives[i], slope[i]}} {
			got := number(t, answer, c.column)
			t.Logf("%s: relative tolerance %.1e, error %.1e", c.column, c.within/math.Abs(c.want), math.Abs(got-c.want)/math.Abs(c.want))
			if !(math.Abs(got-c.want) <= c.within) {
				t.Errorf("%s is %.17g, want %.17g within %.2g", c.column, got, c.want, c.within)
			}
			if c.within > 1e-4*math.Abs(c.want) {
				t.Errorf("%s: a tolerance of %.2g would hold nothing", c.column, c.within)
			}
		}
	}
}

// TestGalleryFolders wants every table and figure that a study promises.
func TestGalleryFolders(t *testing.T) {
	r := run(t, "lambert-w")
	for _, name := range []string{"study.toml", "manifest.json", "records.jsonl", "implicit.csv", "sensitivities.csv", "arrays.npz", "plots/sensitivity-W-theta.svg"} {
		if _, err := os.Stat(filepath.Join(r.dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	names := []string{}
	for _, a := range r.Run.Records[0].Arrays {
		names = append(names, a.Name)
	}
	if got, want := fmt.Sprint(names), "[start-z start-S start-dW start-lambda_W minus_one-z minus_one-S minus_one-dW minus_one-lambda_W]"; got != want {
		t.Errorf("the arrays are %s, want %s", got, want)
	}
}
