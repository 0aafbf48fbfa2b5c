package results

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func printText(t *testing.T, r *Run, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Print(&b, width); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPrint(t *testing.T) {
	short := contraction([]float64{0.1, 0.5, 0.9, 0.99}, []int{0, 1, 2, 5, 200})
	golden(t, "contraction.txt", printText(t, short, 0))
	narrow := printText(t, short, 72)
	golden(t, "narrow.txt", narrow)
	for line := range strings.Lines(string(narrow)) {
		if n := utf8.RuneCountInString(line) - 1; n > 72 && !strings.Contains(line, ":") {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}

	refused := fold(-0.5, 0, 0.25, 0.5)
	refused.Records[3] = nil
	golden(t, "fold.txt", printText(t, refused, 0))

	long := contraction([]float64{0.5, 0.9}, make([]int, 30))
	golden(t, "long.txt", printText(t, long, 0))
	golden(t, "empty.txt", printText(t, fold(), 0))

	var lines bytes.Buffer
	if err := refused.WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	golden(t, "fold.jsonl", lines.Bytes())
}

// A swept number is rounded, but never so far that two points look alike.
func TestSweptNumbersTellPointsApart(t *testing.T) {
	for _, c := range []struct {
		qs   []float64
		want []string
	}{
		{[]float64{0.1, 1.0 / 3}, []string{"  0.1 ", "  0.333333 "}},
		{[]float64{0.12345678, 0.12345679}, []string{"  0.12345678 ", "  0.12345679 "}},
	} {
		text := string(printText(t, contraction(c.qs, []int{0}), 0))
		for _, want := range c.want {
			if !strings.Contains(strings.ReplaceAll(text, "\n", " \n"), want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

// A column of integers repeats a swept column of the same numbers, and is printed once.
func TestSweptStepsArePrintedOnce(t *testing.T) {
	r := &Run{Manifest: Manifest{Study: Study{Name: "s", Main: Schedules}, Sweep: Sweep{Names: []string{"T"}}}}
	for _, steps := range []int{10, 1000} {
		record := &Record{Point: pointAt(float64(steps))}
		record.Add(Schedules, row("OK", Field{"method", Text("revolve")}, Field{"T", Int(steps)}, Field{"slots", Int(2 * steps)}))
		r.Manifest.Sweep.Points = append(r.Manifest.Sweep.Points, Point{record.Point, []Value{Float(float64(steps))}})
		r.Records = append(r.Records, record)
	}
	if text := string(printText(t, r, 0)); !strings.Contains(text, "     T  slots\n    10     20\n  1000   2000\n") {
		t.Errorf("printed\n%s", text)
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "-0"}, {1, "1"}, {-0.5, "-0.5"}, {math.NaN(), "NaN"}, {math.Inf(-1), "-Inf"},
		{1.0 / 3, "0.333333"}, {200.0 / 3, "66.6667"}, {0.30000000000000004, "0.300000"}, {0.031249999999999955, "0.0312500"},
		{0.99999999, "0.99999999"}, {1 - 1e-10, "0.9999999999"}, {1 + 1e-16, "1"}, {1 - 0x1p-53, "1.00000"},
		{1e-300, "1e-300"}, {1.23456789e-7, "1.23457e-07"}, {5e-324, "5e-324"}, {math.MaxFloat64, "1.79769e+308"},
		{1234567, "1.23457e+06"}, {123456, "123456"}, {1e6, "1000000"}, {1e15, "1e+15"}, {999999.7, "999999.7"},
		{-3482258.63459582, "-3.48226e+06"},
	} {
		if got := round(c.x); got != c.want {
			t.Errorf("round(%v) = %s, want %s", c.x, got, c.want)
		}
	}
}

// What is printed is within half a unit of its last digit, and exact if it has fewer than six digits.
func TestRoundIsNotMisleading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyFloat().Draw(t, "x")
		if rapid.Bool().Draw(t, "near a round number") {
			x = 1 + x*1e-9/(1+math.Abs(x))
		}
		s := round(x)
		back, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(back, 0) { // the largest float rounds up
			t.Fatal(err)
		}
		if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) || math.IsInf(back, 0) {
			return
		}
		mantissa, _, _ := strings.Cut(strings.Trim(s, "-"), "e")
		shown := len(strings.TrimLeft(strings.Replace(mantissa, ".", "", 1), "0"))
		if shown < 6 && back != x && Float(back) != Float(x) {
			t.Fatalf("%v is printed as the exact number %s", x, s)
		}
		if math.Abs(back-x) > 0.5000001e-5*math.Abs(x) && math.Abs(x) > 1e-300 {
			t.Fatalf("%v is printed as %s", x, s)
		}
	})
}
