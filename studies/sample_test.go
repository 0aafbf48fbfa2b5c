package studies

import (
	"math"
	"strings"
	"testing"
)

const sampled = `
title = "sampled"
kind = "root"
[constants]
a = 1.0
b = 1.0
c = 1.0
[parameters]
theta = 2.0
[state]
z = { start = "1" }
[root]
r = "z^2 - theta * a * b * c"
[objective]
J = "z"
[sweep.sample]
points = 4000
seed = 3
`

func axis(t *testing.T, text, name string) []float64 {
	t.Helper()
	for _, a := range readText(t, text).Sweep.Axes {
		if a.Name == name {
			return a.Values
		}
	}
	t.Fatalf("no axis %s", name)
	return nil
}

// Each law has its moments, its range, and numbers that no other name or count of points changes.
func TestSampleLaws(t *testing.T) {
	text := sampled + "a = { uniform = [2, 4] }\nb = { normal = [5, 0.5] }\nc = { loguniform = [1e-4, 1] }\n"
	moments := func(x []float64) (mean, deviation float64) {
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			deviation += (v - mean) * (v - mean) / float64(len(x))
		}
		return mean, math.Sqrt(deviation)
	}
	logs := axis(t, text, "c")
	for i, v := range logs {
		if v < 1e-4 || v > 1 {
			t.Fatalf("c = %v", v)
		}
		logs[i] = math.Log10(v)
	}
	for _, c := range []struct {
		name            string
		x               []float64
		mean, deviation float64
	}{{"a", axis(t, text, "a"), 3, 1 / math.Sqrt(3)}, {"b", axis(t, text, "b"), 5, 0.5}, {"log c", logs, -2, 4 / math.Sqrt(12)}} {
		mean, deviation := moments(c.x)
		// four standard errors of 4,000 draws
		if math.Abs(mean-c.mean) > 4*c.deviation/math.Sqrt(4000) || math.Abs(deviation-c.deviation) > 4*c.deviation/math.Sqrt(2*4000) {
			t.Errorf("%s: mean %v, deviation %v; want %v and %v", c.name, mean, deviation, c.mean, c.deviation)
		}
	}
	alone := axis(t, strings.Replace(sampled, "4000", "5", 1)+"b = { normal = [5, 0.5] }\n", "b")
	for i, v := range axis(t, text, "b")[:5] {
		if v != alone[i] {
			t.Errorf("b[%d] depends on the other names or on the number of points", i)
		}
	}
	if s := readText(t, text).Sweep; s.Len() != 4000 {
		t.Errorf("%d points", s.Len())
	}
	if other := axis(t, strings.Replace(text, "seed = 3", "seed = 4", 1), "a"); other[0] == axis(t, text, "a")[0] {
		t.Error("the seed changes nothing")
	}
}

func TestBadSamples(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{sampled, "the sweep is empty"},
		{strings.Replace(sampled, "4000", "0", 1) + "a = { uniform = [0, 1] }\n", "the sweep is empty"},
		{sampled + "d = { uniform = [0, 1] }\n", "unknown name"},
		{sampled + "a = { uniform = [1, 0] }\n", "wrong way round"},
		{sampled + "a = { loguniform = [0, 1] }\n", "positive ends"},
		{sampled + "a = { normal = [0, -1] }\n", "negative"},
		{sampled + "a = { normal = [0, 1], uniform = [0, 1] }\n", "one law"},
		{sampled + "a = { triangular = [0, 1] }\n", "triangular"},
		{sampled + "a = { uniform = [0, 1, 2] }\n", "two numbers"},
		{sampled + "a = [1, 2]\n", "a law"},
		{sampled + "a = { uniform = [0, 1] }\n[sweep.grid]\nb = [1, 2]\n", "one sweep"},
	} {
		_, err := tryText(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, have %v", c.want, err)
		}
	}
}

func TestExtentOfAnAxis(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{3, 2, 1}, "from 3 to 1"},
		{[]float64{0.5, 0.5, 2}, "from 0.5 to 2"},
		{[]float64{1, math.Pi, 2}, "between 1 and 3.14159"},
	} {
		if got := (Axis{Values: c.values}).Extent(); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}
