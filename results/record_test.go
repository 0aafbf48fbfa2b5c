package results

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// compare compares values by kind and bits, and NaN with NaN.
var compare = cmp.Options{
	cmp.Comparer(func(a, b Value) bool { return a == b }),
	cmp.Comparer(func(a, b float64) bool { return Float(a) == Float(b) }),
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreUnexported(Run{}), // where the records come from
}

// anyFloat draws floats by their bits, so that subnormals, NaN, infinities and -0 all come up.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) float64 { return math.Float64frombits(rapid.Uint64().Draw(t, "bits")) }),
		rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1),
			math.SmallestNonzeroFloat64, math.MaxFloat64, 0x1p-1022, 0x0.fffffffffffffp-1022, 1e15, 1e16, 1e21, 1 << 53, 1e-4, 9.999e-5}),
	)
}

func anyValue() *rapid.Generator[Value] {
	words := rapid.SampledFrom([]string{"NaN", "+Inf", "-Inf", "", "null", "1.0", "a,b", "\"", "a\nb", "\xff", "<&>", "\u2028", "θ"})
	return rapid.OneOf(
		rapid.Map(anyFloat(), Float),
		rapid.Map(rapid.Int64(), Int[int64]),
		rapid.Map(rapid.OneOf(rapid.String(), words), Text),
		rapid.Map(rapid.Bool(), Bool),
		rapid.Just(Value{}),
	)
}

func anyRecord() *rapid.Generator[*Record] {
	return rapid.Custom(func(t *rapid.T) *Record {
		r := &Record{Point: rapid.StringMatching(`[0-9a-f]{12}`).Draw(t, "point")}
		if rapid.Bool().Draw(t, "failed") {
			r.Failure = &Ending{"NOT_CONVERGED", Text(rapid.String().Draw(t, "reason")).String()}
		}
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			row := Row{Branch: rapid.SampledFrom([]string{"", "upper"}).Draw(t, "branch"), Ending: Ending{Status: "OK"}}
			for i := range rapid.IntRange(0, 5).Draw(t, "columns") {
				row.Fields.Set("c"+strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "column"))+",\"θ"[:rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "odd")],
					anyValue().Draw(t, "value"))
				_ = i
			}
			r.Add(rapid.SampledFrom([]string{Implicit, Iterates, Measurements}).Draw(t, "table"), row)
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "arrays") {
			shape := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 3).Draw(t, "shape")
			size := 1
			for _, n := range shape {
				size *= n
			}
			r.Arrays = append(r.Arrays, Array{"a" + strconv.Itoa(i), shape, rapid.SliceOfN(anyFloat(), size, size).Draw(t, "data")})
		}
		return r
	})
}

func TestRecordReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRecord().Draw(t, "record")
		want.Format = RecordFormat
		line := want.encode()
		if strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("not one line: %q", line)
		}
		got, err := decode(line)
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		if diff := cmp.Diff(want, got, compare); diff != "" {
			t.Fatalf("%s\n%s", diff, line)
		}
		if again := got.encode(); string(again) != string(line) {
			t.Fatalf("encoded again:\n%s%s", line, again)
		}
	})
}

func TestFormatFloatReadsBackAndIsShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyFloat().Draw(t, "x")
		s := FormatFloat(x)
		back, err := strconv.ParseFloat(s, 64)
		if err != nil || Float(back) != Float(x) {
			t.Fatalf("%x was written %s and read %x, %v", x, s, back, err)
		}
		digits := func(s string) int {
			s, _, _ = strings.Cut(s, "e")
			return len(strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(s), "0"))
		}
		if !math.IsNaN(x) && !math.IsInf(x, 0) && digits(s) != digits(strconv.FormatFloat(x, 'e', -1, 64)) {
			t.Fatalf("%s has more digits than needed", s)
		}
	})
}

func TestValueText(t *testing.T) {
	for _, c := range []struct {
		value     Value
		csv, json string
	}{
		{Float(1), "1", "1.0"},
		{Float(math.Copysign(0, -1)), "-0", "-0.0"},
		{Float(0.1), "0.1", "0.1"},
		{Float(1e-4), "0.0001", "0.0001"},
		{Float(1e-5), "1e-05", "1e-05"},
		{Float(1e16), "1e+16", "1e+16"},
		{Float(5e-324), "5e-324", "5e-324"},
		{Float(math.NaN()), "NaN", `"NaN"`},
		{Float(math.Inf(1)), "+Inf", `"+Inf"`},
		{Float(math.Inf(-1)), "-Inf", `"-Inf"`},
		{Int(-3), "-3", "-3"},
		{Text("NaN"), "NaN", `{"text":"NaN"}`},
		{Text("a<b"), "a<b", `"a<b"`},
		{Bool(true), "true", "true"},
		{Value{}, "", "null"},
	} {
		j, err := json.Marshal(c.value)
		if err != nil || c.value.String() != c.csv || string(c.value.appendJSON(nil)) != c.json {
			t.Errorf("%#v: %q, %s (%s), %v; want %q, %s", c.value, c.value, c.value.appendJSON(nil), j, err, c.csv, c.json)
		}
	}
	for _, bad := range []string{`[1]`, `{}`, `{"txt":"a"}`, `1e999`, `9223372036854775808`} {
		if err := json.Unmarshal([]byte(bad), new(Value)); err == nil {
			t.Errorf("%s was read as a value", bad)
		}
	}
}

func TestRecordThatCannotBeKeptIsRefused(t *testing.T) {
	good := func() *Record { return &Record{Point: "0123456789ab"} }
	for name, spoil := range map[string]func(*Record){
		"point":      func(r *Record) { r.Point = "xyz" },
		"table name": func(r *Record) { r.Add("../t", Row{}) },
		"leading":    func(r *Record) { r.Add(Implicit, Row{Fields: Fields{{"status", Text("OK")}}}) },
		"twice":      func(r *Record) { r.Add(Implicit, Row{Fields: Fields{{"J", Float(1)}, {"J", Float(2)}}}) },
		"no column":  func(r *Record) { r.Add(Implicit, Row{Fields: Fields{{"", Float(1)}}}) },
		"size":       func(r *Record) { r.Arrays = []Array{{"a", []int{2, 2}, Floats{1, 2, 3}}} },
		"negative":   func(r *Record) { r.Arrays = []Array{{"a", []int{-1, -1}, Floats{1}}} },
		"array name": func(r *Record) { r.Arrays = []Array{{"a/b", nil, Floats{1}}} },
	} {
		r := good()
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
		if spoil(r); r.check() == nil {
			t.Errorf("%s: the record was accepted", name)
		}
	}
}

func TestDigest(t *testing.T) {
	if got := Digest([]byte("abc")); got != "ba7816bf8f01" { // the first test vector of FIPS 180-4
		t.Errorf("got %s", got)
	}
}

func TestToolDigest(t *testing.T) {
	a, err := ToolDigest()
	if b, _ := ToolDigest(); err != nil || a != b || !isPoint(a) {
		t.Errorf("%q, %q, %v", a, b, err)
	}
}

// A record that is emptied shows nothing of what it held, and rows of the same tables cost no memory.
func TestReset(t *testing.T) {
	var r Record
	fill := func() {
		for _, table := range []string{Implicit, Iterates, Iterates} {
			r.Add(table, Row{Ending: Ending{Status: "OK"}})
		}
	}
	fill()
	r.Failure, r.Point, r.Arrays = &Ending{Status: "DOMAIN_ERROR"}, "0123456789ab", append(r.Arrays, Array{Name: "z"})
	r.Reset()
	if diff := cmp.Diff(Record{}, r, compare); diff != "" {
		t.Errorf("left over: %s", diff)
	}
	r.Add(Iterates, Row{Branch: "upper", Ending: Ending{Status: "OK"}})
	want := Record{Tables: []Rows{{Iterates, []Row{{Branch: "upper", Ending: Ending{Status: "OK"}}}}}}
	if diff := cmp.Diff(want, r, compare); diff != "" {
		t.Errorf("rows of before: %s", diff)
	}
	fill()
	if n := testing.AllocsPerRun(10, func() { r.Reset(); fill() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
