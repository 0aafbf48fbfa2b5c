package model_test

import (
	"context"
	"fmt"
	"os"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
	"github.com/lensir/lensir-study/studies/model"
)

// A built-in study, with other values of its sweep, from its file to its tables.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "contraction")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	study, err := studies.Open("contraction")
	if err == nil {
		study, err = studies.Apply(study, []string{"sweep.grid.q=[0.5, 0.9]", "iterate.steps=[0, 10]"})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := model.Compile(study)
	if err != nil {
		fmt.Println(err)
		return
	}
	summary, err := model.Run(context.Background(), m, "contraction", model.Options{
		Dir:  dir,
		Seed: 1,
		Tool: results.Tool{Name: "example"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Computed, "points")
	table, err := summary.Run.ReadTable(results.Iterates)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, k, off := table.Column("sweep.q"), table.Column("K"), table.Column("sensitivity_error")
	for _, row := range table.Rows {
		x, _ := row[off].Number()
		fmt.Printf("q = %v, K = %v: the derivative is off by %.6f\n", row[q], row[k], x)
	}
	// Output:
	// 2 points
	// q = 0.5, K = 0: the derivative is off by 1.000000
	// q = 0.5, K = 10: the derivative is off by 0.000977
	// q = 0.9, K = 0: the derivative is off by 1.000000
	// q = 0.9, K = 10: the derivative is off by 0.348678
}
