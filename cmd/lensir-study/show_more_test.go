package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/studies"
)

// TestCostOfTheGallery holds the counts of every built-in study to a golden file, and every total to its bound.
func TestCostOfTheGallery(t *testing.T) {
	var out strings.Builder
	for _, name := range studies.Gallery() {
		m, err := open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", name)
		showCost(&out, m)
	}
	golden(t, "cost.txt", out.String())
	for line := range strings.Lines(out.String()) {
		var name string
		var primal, reverse, accumulation, total int
		var bound float64
		if n, _ := fmt.Sscan(line, &name, &primal, &reverse, &accumulation, &total, &bound); n != 6 {
			continue
		}
		if total != primal+reverse+accumulation || float64(total) > bound {
			t.Errorf("the total is not the sum, or beyond the bound: %s", line)
		}
	}
}
