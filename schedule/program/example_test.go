package program_test

import (
	"context"
	"fmt"
	"log"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/schedule"
	"github.com/lensir/lensir-study/schedule/program"
)

// The gradient of x_T² for x_{j+1} = x_j + 0.1·(u[j] − k·sin x_j), with respect to x_0, k and every u[j], from two snapshots.
func Example() {
	write := func(b *graph.Builder, scope formula.Scope, text string) *graph.Program {
		v, err := formula.Lower(b, scope, text)
		if err != nil {
			log.Fatal(err)
		}
		return b.Build(v)
	}
	const steps = 4
	b := graph.NewBuilder("step")
	step := write(b, formula.Scope{
		"x": b.Input("x", graph.Scalar), "k": b.Input("k", graph.Scalar), "u": b.Input("u", graph.F64(steps)),
		"j": b.Input("j", graph.Type{DType: graph.Int64}),
	}, "x + 0.1 * (u[j] - k * sin(x))")
	b = graph.NewBuilder("objective")
	objective := write(b, formula.Scope{"x": b.Input("x", graph.Scalar), "k": b.Input("k", graph.Scalar)}, "x^2")
	b = graph.NewBuilder("start")
	start := write(b, formula.Scope{"k": b.Input("k", graph.Scalar)}, "1")

	chain, err := program.New(program.Spec{
		Dims: program.Dims{States: 1, Params: 1, Controls: 1},
		Step: step, Objective: objective, Start: start,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := chain.Set(steps, false, [][]float64{{2}}, nil, [][]float64{{0, 0.5, 0, -0.5}}); err != nil {
		log.Fatal(err)
	}
	s, err := schedule.NewRevolve(steps, 2)
	if err != nil {
		log.Fatal(err)
	}
	runner, err := schedule.NewRunner(chain, s, schedule.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	x0, value, gradient := make([]float64, 1), make([]float64, 1), make([]float64, 1)
	if err := chain.Start(x0); err != nil {
		log.Fatal(err)
	}
	if _, err := runner.Run(context.Background(), chain.Sweep(x0, value, gradient)); err != nil {
		log.Fatal(err)
	}
	if err := chain.Finish(gradient); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("J = %.6f, dJ/dx0 = %.6f, dJ/dk = %.6f\n", value[0], gradient[0], chain.ParamBar(0)[0])
	fmt.Printf("dJ/du = %.4f\n", chain.ControlBar(0))
	// Output:
	// J = 0.190985, dJ/dx0 = 0.479563, dJ/dk = -0.189391
	// dJ/du = [0.0538 0.0621 0.0730 0.0874]
}
