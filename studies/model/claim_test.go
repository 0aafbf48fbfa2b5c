package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lensir/lensir-study/studies"
)

// Claim.Euclid bounds the ledger's norm by the 2-norm, ‖x‖ ≤ Euclid·‖x‖₂, and no smaller number does: a larger
// one would hide errors below the floor.
func TestEuclid(t *testing.T) {
	const text = `kind = "fixed-point"
[parameters]
t = 1.0
[state]
z = { start = "zeros(3)" }
[fixed-point]
z = "z / 2 + t"
[objective]
J = "sum(z)"
[domain]
ball = { center = "solution", radius = 10.0, norm = NORM }
[iterate]
steps = [0, 1]
[bounds]
constants = "estimate"
`
	for _, norm := range []string{`"1"`, `"2"`, `"inf"`, `"weighted-inf", weights = [1, 1, 1]`,
		`"weighted-inf", weights = [1e8, 1e6, 1e7]`, `"weighted-inf", weights = [1e-8, 1, 1e8]`} {
		study, err := studies.Read(fstest.MapFS{"s.toml": {Data: []byte(strings.Replace(text, "NORM", norm, 1))}}, "s.toml")
		if err != nil {
			t.Fatal(err)
		}
		model, err := Compile(study)
		if err != nil {
			t.Fatal(err)
		}
		solver, err := NewSolver(model, 1)
		if err != nil {
			t.Fatal(err)
		}
		claim, err := solver.claim(solver.load(study.Point(0)))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		directions := [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}}
		for range 1000 {
			directions = append(directions, []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()})
		}
		most := 0.0
		for _, x := range directions {
			most = max(most, claim.Norm.Of(x)/math.Sqrt(x[0]*x[0]+x[1]*x[1]+x[2]*x[2]))
		}
		if math.Abs(claim.Euclid/most-1) > 1e-14 {
			t.Errorf("norm %s: Euclid is %g, want %g", norm, claim.Euclid, most)
		}
	}
}
