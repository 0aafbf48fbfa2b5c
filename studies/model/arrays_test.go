package model

import (
	"context"
	"math"
	"testing"

	"github.com/lensir/lensir-study/results"
)

// A Jacobian too large for the long table is kept as an array, for every K, and for the exact branch.
func TestLargeJacobiansAreArrays(t *testing.T) {
	m, err := Compile(readText(t, `
title = "large"
kind = "fixed-point"
[parameters]
b = { linspace = [1, 40, 40] }
[state]
z = { start = "zeros(40)" }
[fixed-point]
z = "0.5 * z + b"
[objective]
J = "sum(z)"
[iterate]
steps = [1, 3]
`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSolver(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Solve(context.Background(), m.Study.Point(0))
	if err != nil {
		t.Fatal(err)
	}
	if rows := out.Record.Rows(results.Sensitivities); len(rows) != 0 {
		t.Errorf("%d rows of the long table", len(rows))
	}
	want := map[string]float64{"S": 2, "E_K1": 1, "E_K3": 1.75} // the diagonal
	found := 0
	for _, a := range out.Record.Arrays {
		diagonal, ok := want[a.Name]
		if !ok {
			continue
		}
		found++
		for i, v := range a.Data {
			expected := 0.0
			if i/40 == i%40 {
				expected = diagonal
			}
			if math.Abs(v-expected) > 1e-15 {
				t.Fatalf("%s[%d] = %v, want %v", a.Name, i, v, expected)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d arrays", found, len(want))
	}
}
