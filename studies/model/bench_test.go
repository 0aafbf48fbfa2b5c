package model

import (
	"context"
	"fmt"
	"testing"

	"github.com/lensir/lensir-study/studies"
)

// BenchmarkContractionPoint computes points of the contraction study on one core, records encoded
// but not written.
func BenchmarkContractionPoint(b *testing.B) {
	s, err := studies.Open("contraction")
	if err == nil {
		s, err = studies.Apply(s, []string{fmt.Sprintf("sweep.grid.q={linspace=[0.01,0.99,%d]}", 100_000)})
	}
	if err != nil {
		b.Fatal(err)
	}
	m, err := Compile(s)
	if err != nil {
		b.Fatal(err)
	}
	solver, err := NewSolver(m, 1)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := solver.Solve(context.Background(), s.Point(i%s.Sweep.Len())); err != nil {
			b.Fatal(err)
		}
	}
}
