package iterate

import (
	"fmt"
	"math"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit"
)

// Iterate is z_k(θ) with its m×p Jacobian E_k, row-major, p columns.
type Iterate struct {
	K    int
	Z, E []float64
	// NewZ and NewE report whether they differ, bit for bit, from those of the step before.
	NewZ, NewE bool
}

// Steps runs the K-step map and its m×p Jacobian in one forward pass,
//
//	E₀ = Dz₀(θ),   E_{k+1} = G_z(z_k, θ) E_k + G_θ(z_k, θ),
//
// and calls visit for k = 0, 1, …, K; the slices are only valid during the call. start is z₀(θ), a map without state.
//
// The status comes from the primal recursion, also where tangents are zero, m = 0 or p = 0: an
// operation outside its domain or on a branch boundary refuses, naming the step.
//
// A step that returns its input bit for bit is not taken again: every later one would return the same.
func Steps(g, start *implicit.Map, theta []float64, k int, visit func(Iterate) error) error {
	m, p, out := g.Dims()
	if _, _, zLen := start.Dims(); zLen != m || out != m {
		return fmt.Errorf("iterate: the start has %d entries and the map takes %d to %d", zLen, m, out)
	}
	z, next := make([]float64, m), make([]float64, m)
	e, nextE := make([]float64, m*p), make([]float64, m*p)
	initial, err := start.Joint(z, nil, theta)
	if err != nil {
		return graph.Within("the start", err)
	}
	if err := initial.Push(e, identity(p), p); err != nil {
		return graph.Within("the start", err)
	}
	tangents := make([]float64, (m+p)*p)
	copy(tangents[m*p:], identity(p))
	newZ, newE := true, true
	for step := 0; ; step++ {
		if err := visit(Iterate{step, z, e, newZ, newE}); err != nil {
			return err
		}
		if step == k {
			return nil
		}
		if !newZ && !newE {
			continue
		}
		d, err := g.Joint(next, z, theta)
		if err != nil {
			return graph.Within(fmt.Sprintf("step %d", step+1), err)
		}
		copy(tangents, e)
		if err := d.Push(nextE, tangents, p); err != nil {
			return graph.Within(fmt.Sprintf("step %d", step+1), err)
		}
		newZ, newE = !sameBits(z, next), !sameBits(e, nextE)
		z, next, e, nextE = next, z, nextE, e
	}
}

func sameBits(x, y []float64) bool {
	if len(x) != len(y) {
		return false
	}
	for i, v := range x {
		if math.Float64bits(v) != math.Float64bits(y[i]) {
			return false
		}
	}
	return true
}

func identity(n int) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = 1
	}
	return a
}
