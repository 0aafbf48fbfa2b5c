package figures

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"

	"github.com/lensir/lensir-study/results"
)

func drawn(t interface {
	Helper()
	Fatal(...any)
}, f *Figure, format Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Draw(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func figureNames(figures []*Figure) (names []string) {
	for _, f := range figures {
		names = append(names, f.Name)
	}
	return names
}

func TestFiguresOfTheContraction(t *testing.T) {
	r := contraction([]float64{0.9, 0.5}, []int{0, 1, 2, 5, 20, 200})
	figures := figuresOf(r)
	if got := figureNames(figures); !slices.Equal(got, []string{"iterates", "sensitivity-J-q"}) {
		t.Fatalf("figures %v", got)
	}
	svg := drawn(t, figures[0], SVG)
	golden(t, "iterates.svg", svg)
	if again := drawn(t, figuresOf(r)[0], SVG); !bytes.Equal(svg, again) {
		t.Error("two drawings differ")
	}
	for _, want := range []string{"state error: exactly zero at all 12 points", "rounding floor", "measured", r.Manifest.Study.Title} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the figure does not say %q", want)
		}
	}
	// In the order of the values, not of the sweep.
	if got := []string{figures[0].legend[0].text, figures[0].legend[1].text}; !slices.Equal(got, []string{symbol("q") + " = 0.5", symbol("q") + " = 0.9"}) {
		t.Errorf("the legend begins %q", got)
	}
	if image := drawn(t, figures[0], PNG); !bytes.Equal(image, drawn(t, figures[0], PNG)) {
		t.Error("two PNG drawings differ")
	} else if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Error(err)
	}
	if pdf := drawn(t, figures[0], PDF); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Error("not a PDF")
	}
	if err := figures[0].Draw(new(bytes.Buffer), "bmp"); err == nil || !strings.Contains(err.Error(), "svg") {
		t.Errorf("an unknown format: %v", err)
	}
}

// What a logarithmic axis cannot show breaks the line, and is counted.
func TestWhatIsNotDrawnIsCounted(t *testing.T) {
	r := contraction([]float64{0.5}, []int{0, 1, 2, 3, 4, 5, 6, 7})
	rows := r.Records[0].Rows(results.Iterates)
	for i, x := range []float64{1, 0, 0, 0.1, math.NaN(), math.Inf(1), 0.01, 0.001} {
		rows[i].Fields.Set("sensitivity_error", results.Float(x))
	}
	rows[7].Fields.Set("sensitivity_bound", results.Float(0))
	rows[6].Fields.Set("sensitivity_bound", results.Value{})
	f := iteratesPlot(r)
	if want := []string{"The rounding floor of the sensitivity error, about " + scientific(2.2e-16) + ", lies below the axis.",
		"Not drawn on the logarithmic axis: 2 zero sensitivity errors, 2 non-finite sensitivity errors, 1 zero sensitivity bound."}; !slices.Equal(f.notes, want) {
		t.Errorf("notes %q, want %q", f.notes, want)
	}
	var y, x interval
	got := pieces(table(r, results.Iterates).Rows, table(r, results.Iterates).Column("K"), table(r, results.Iterates).Column("sensitivity_error"), &y, &x, nil)
	want := [][]xy{{{0, 1}}, {{3, 0.1}}, {{6, 0.01}, {7, 0.001}}}
	if !slices.EqualFunc(got, want, slices.Equal) || y != (interval{0.001, 1, true}) || x != (interval{0, 7, true}) {
		t.Errorf("pieces %v, y %v, x %v", got, y, x)
	}
}

// A series without a bound is named, with its verdict; a swept value has its power of ten.
func TestMissingBoundsAreNamed(t *testing.T) {
	r := contraction([]float64{0.5, 0.9, 3e8}, []int{0, 1})
	for _, i := range []int{1, 2} {
		for _, row := range r.Records[i].Rows(results.Iterates) {
			row.Fields.Set("sensitivity_bound", results.Value{})
			row.Fields.Set("verdict", results.Text("HYPOTHESIS_FAILED"))
		}
	}
	f := iteratesPlot(r)
	want := "No bound for " + symbol("q") + " = 0.9; " + symbol("q") + " = 3×10" + super("8") + ": HYPOTHESIS_FAILED."
	if !slices.Contains(f.notes, want) {
		t.Errorf("notes %q, want %q", f.notes, want)
	}
}

func TestSensitivityOfTheFold(t *testing.T) {
	r := fold(-0.5, 0.5, 0, 0.25)
	figures := figuresOf(r)
	if got := figureNames(figures); !slices.Equal(got, []string{"sensitivity-J-theta"}) {
		t.Fatalf("figures %v", got)
	}
	f := figures[0]
	golden(t, "sensitivity.svg", drawn(t, f, SVG))
	if want := []string{"Refused: 2 NOT_CONVERGED, 2 SINGULAR_STATE_JACOBIAN."}; !slices.Equal(f.notes, want) {
		t.Errorf("notes %q, want %q", f.notes, want)
	}
	marks := f.panels[0].layers[2].(crosses)
	if !slices.Equal(marks, crosses{-0.5, -0.5, 0, 0}) {
		t.Errorf("refused points at %v", marks)
	}
	// The singular root has a value, but neither panel shows one there.
	upper := f.panels[0].layers[0].(curve)
	if !slices.EqualFunc(upper.pieces, [][]xy{{{0.25, 0.5}, {0.5, math.Sqrt(0.5)}}}, slices.Equal) {
		t.Errorf("the upper branch is drawn at %v", upper.pieces)
	}
}

func TestWhichDerivativesAreShown(t *testing.T) {
	r := &results.Run{Manifest: results.Manifest{Study: results.Study{Main: results.Implicit, Objectives: []string{"J", "J_a"}}}}
	table := &results.Table{Columns: []string{"study", "point", "branch", "status", "reason", "J", "dJ_x", "dJ_b[0]", "dJ_y", "J_a", "dJ_a_x", "condition"}}
	for _, c := range []struct {
		objective, swept string
		want             []string
	}{{"J", "q", []string{"x", "y"}}, {"J", "y", []string{"y"}}, {"J_a", "q", []string{"x"}}} {
		if _, got := (source{r}).derivatives(table, c.objective, c.swept); !slices.Equal(got, c.want) {
			t.Errorf("%s against %s: %v, want %v", c.objective, c.swept, got, c.want)
		}
	}
}

// Whatever the numbers are, a figure is drawn, and twice the same.
func TestAnyNumbersAreDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Map(anyFloat(), results.Float), rapid.SampledFrom([]results.Value{{}, results.Float(0), results.Float(1), results.Float(1e-17), results.Text("x"), results.Int(3)}))
		one := number.Draw(t, "one")
		if rapid.Bool().Draw(t, "one number only") {
			number = rapid.Just(one)
		}
		r := &results.Run{Manifest: results.Manifest{Study: results.Study{Name: "any", Title: rapid.StringN(0, 200, -1).Draw(t, "title"), Main: results.Implicit, Objectives: []string{"J"}},
			Sweep: results.Sweep{Names: []string{"a", "b"}}}}
		for range rapid.IntRange(1, 4).Draw(t, "points") {
			record := &results.Record{Point: pointAt(1)}
			for range rapid.IntRange(0, 3).Draw(t, "rows") {
				record.Add(results.Iterates, row("ITERATES_DIFFERENTIATED", field("K", rapid.Map(rapid.IntRange(0, 3), results.Int[int]).Draw(t, "K")),
					field("state_error", number.Draw(t, "e")), field("state_bound", number.Draw(t, "b")), field("sensitivity_error", number.Draw(t, "s")),
					field("sensitivity_bound", number.Draw(t, "sb")), field("floor", number.Draw(t, "f"))))
				record.Add(results.Implicit, row(rapid.SampledFrom([]string{"OK", "NON_FINITE"}).Draw(t, "status"), field("J", number.Draw(t, "J")),
					field("dJ_a", number.Draw(t, "dJ"))))
			}
			r.Records = append(r.Records, record)
			r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, results.Point{ID: record.Point, Values: []results.Value{number.Draw(t, "a"), number.Draw(t, "b")}})
		}
		for _, f := range figuresOf(r) {
			svg := drawn(t, f, SVG)
			if !bytes.Equal(svg, drawn(t, f, SVG)) {
				t.Fatal("two drawings differ")
			}
			for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%v in\n%s", err, svg)
				}
			}
		}
	})
}

// A bound that vanishes or explodes does not stretch the axis.
func TestErrorRange(t *testing.T) {
	some := func(min, max float64) interval { return interval{min, max, true} }
	for _, c := range []struct {
		errs, bounds, floors, want interval
		floorShown                 bool
	}{
		{some(1e-17, 1), some(1e-200, 1), some(1e-16, 1e-15), some(1e-18, 1), true},
		{some(1e-13, 1), some(1e-200, 1), some(1e-40, 1e-15), some(1e-16, 1), true},
		{some(1e-3, 1), some(1e-4, 1), some(1e-16, 1e-15), some(1e-4, 1), false},
		{some(1e-3, 1), some(1e-2, 1e80), interval{}, some(1e-3, 1e4), false},
		{some(1e-3, 1), some(1e-9, 1), interval{}, some(1e-6, 1), false},
		{interval{}, some(1e-9, 1), interval{}, some(1e-9, 1), false},
		{interval{}, some(1e-9, 1), some(1e-10, 1e-8), some(1e-10, 1), true},
		{some(5e-324, math.MaxFloat64), some(1, 1), interval{}, some(5e-324, math.MaxFloat64), false},
		{interval{}, interval{}, some(1, 1), interval{}, false},
	} {
		got, shown := errorRange(c.errs, c.bounds, c.floors)
		if shown != c.floorShown || got.some != c.want.some || math.Abs(got.min-c.want.min) > 1e-9*c.want.min || math.Abs(got.max-c.want.max) > 1e-9*c.want.max {
			t.Errorf("errorRange(%v, %v, %v) = %v, %v, want %v, %v", c.errs, c.bounds, c.floors, got, shown, c.want, c.floorShown)
		}
	}
}

func labelsOf(ticks []plot.Tick) (out []string) {
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, strings.NewReplacer(string(superMark), "^", string(endMark), "").Replace(t.Label))
		}
	}
	return out
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		got  []plot.Tick
		want string
	}{
		{linearTicks(0, 1, tickStep(0, 1, false)), "0 0.2 0.4 0.6 0.8 1.0"},
		{linearTicks(-0.25, 1, tickStep(-0.25, 1, false)), "−0.2 0 0.2 0.4 0.6 0.8 1.0"},
		{linearTicks(0, 3, tickStep(0, 3, true)), "0 1 2 3"},
		{linearTicks(0, 200, tickStep(0, 200, true)), "0 50 100 150 200"},
		{linearTicks(1e6, 3e6, tickStep(1e6, 3e6, false)), "1.0×10^6 1.5×10^6 2.0×10^6 2.5×10^6 3.0×10^6"},
		{linearTicks(-2e-9, 2e-9, tickStep(-2e-9, 2e-9, false)), "−2×10^−9 −1×10^−9 0 1×10^−9 2×10^−9"},
		{linearTicks(1.0000001, 1.0000003, tickStep(1.0000001, 1.0000003, false)), "1.00000010 1.00000015 1.00000020 1.00000025 1.00000030"},
		{logTicks(1e-18, 1), "10^−18 10^−15 10^−12 10^−9 10^−6 10^−3 1"},
		{logTicks(0.01, 100), "10^−2 10^−1 1 10^1 10^2"},
		{logTicks(1e-3, 1e-2), "10^−3 2×10^−3 5×10^−3 10^−2"},
		{logTicks(2e-5, 7e-5), "2×10^−5 3×10^−5 4×10^−5 5×10^−5 6×10^−5 7×10^−5"},
		{logTicks(1e-300, 1), "10^−300 10^−250 10^−200 10^−150 10^−100 10^−50 1"},
	} {
		if got := strings.Join(labelsOf(c.got), " "); got != c.want {
			t.Errorf("ticks %s, want %s", got, c.want)
		}
	}
}

// Every axis has at least two different labels inside its range, and its range holds the data.
func TestAxesHoldTheirData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r interval
		log, whole := rapid.Bool().Draw(t, "log"), false
		number := rapid.Float64Range(-1e300, 1e300)
		if log {
			number = rapid.OneOf(rapid.Float64Range(math.SmallestNonzeroFloat64, math.MaxFloat64), rapid.Float64Range(1, 9), rapid.Just(math.SmallestNonzeroFloat64))
		} else if rapid.Bool().Draw(t, "near") {
			number = rapid.Map(rapid.Float64Range(0, 1e-9), func(x float64) float64 { return 3 + x })
		} else if whole = rapid.Bool().Draw(t, "whole"); whole {
			number = rapid.Map(rapid.IntRange(0, 100000), func(n int) float64 { return float64(n) })
		}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			r.add(number.Draw(t, "x"))
		}
		axis := plot.New().Y
		if log {
			logAxis(&axis, r)
		} else {
			linearAxis(&axis, r, whole, rapid.Bool().Draw(t, "rounded"))
		}
		if !(axis.Min < axis.Max) || r.some && (axis.Min > r.min || axis.Max < r.max) {
			t.Fatalf("the data %v are on an axis from %v to %v", r, axis.Min, axis.Max)
		}
		var seen []string
		for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
			if tick.Label != "" && tick.Value >= axis.Min && tick.Value <= axis.Max && !slices.Contains(seen, tick.Label) {
				seen = append(seen, tick.Label)
			}
		}
		if len(seen) < 2 || len(seen) > 12 {
			t.Fatalf("%d labels from %v to %v: %q", len(seen), axis.Min, axis.Max, seen)
		}
	})
}

func TestLogOfSubnormals(t *testing.T) {
	for x, want := range map[float64]float64{5e-324: -323.30621534311575, 1e-310: -310, 1: 0, 1e300: 300, 1000: 3} {
		if got := log10(x); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("log10(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestSymbols(t *testing.T) {
	for name, want := range map[string]string{
		"q": italic("q"), "theta": italic("θ"), "L_theta": italic("L") + sub("θ"), "learning_rate": italic("learning_rate"),
		"lambda_1": italic("λ") + sub("1"), "_x": italic("_x"), "x_": italic("x_"),
	} {
		if got := symbol(name); got != want {
			t.Errorf("symbol(%q) = %q, want %q", name, got, want)
		}
	}
	font := labels{}.style(10, darkGrey).Font
	if got := runs("a"+super("−3")+"b", font); len(got) != 3 || got[1].rise <= 0 || got[1].font.Size >= 10 || got[2].rise != 0 || got[2].font != font {
		t.Errorf("runs %+v", got)
	}
	if got := keepSpaces(" a  b "); got != "\u00a0a\u00a0\u00a0b\u00a0" {
		t.Errorf("%q", got)
	}
}

func TestStaleFiguresAreRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, figuresOf(contraction([]float64{0.1, 0.5}, []int{0, 1})), SVG, PNG); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, Folder, "iterates-notes.txt")
	if err := os.WriteFile(own, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, figuresOf(fold(0.25, 0.5))); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"iterates-notes.txt", "sensitivity-J-theta.svg"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

// Positive values over many decades get a logarithmic axis, so that the largest does not hide the others.
func TestValuesOverDecades(t *testing.T) {
	for _, c := range []struct {
		sign float64
		want bool
	}{{1, true}, {-1, false}} {
		r := contraction([]float64{1e-8, 1e-4, 1}, nil)
		for i, q := range []float64{1e-8, 1e-4, 1} {
			fields := &r.Records[i].Rows(results.Implicit)[0].Fields
			fields.Set("J", results.Float(math.Sqrt(q)))
			fields.Set("dJ_q", results.Float(c.sign*0.5/math.Sqrt(q)))
		}
		f := figuresOf(r)[0]
		if f.Name != "sensitivity-J-q" || !f.panels[0].yLog || f.panels[1].yLog != c.want || !f.panels[1].xLog {
			t.Errorf("%s: %v, %v; want %v", f.Name, f.panels[0].yLog, f.panels[1].yLog, c.want)
		}
		drawn(t, f, SVG)
	}
}

// Where neither branches nor other swept values are to be told apart, colours tell parameters apart, in the lines as in the legend.
func TestColoursOfParameters(t *testing.T) {
	r := contraction([]float64{0.1, 0.5}, nil)
	for _, record := range r.Records {
		fields := &record.Rows(results.Implicit)[0].Fields
		fields.Set("dJ_a", results.Float(1))
		fields.Set("dJ_b", results.Float(2))
	}
	f := figuresOf(r)[0]
	lines := f.panels[1].layers
	if len(lines) != 3 || len(f.legend) != 3 {
		t.Fatalf("%d lines, %d in the legend", len(lines), len(f.legend))
	}
	for i, entry := range f.legend {
		line, thumb := lines[i].(curve).line, entry.thumb.(curve).line
		if line.Color != okabeIto[i] || thumb.Color != line.Color {
			t.Errorf("%s is %v, in the legend %v", entry.text, line.Color, thumb.Color)
		}
	}
}
