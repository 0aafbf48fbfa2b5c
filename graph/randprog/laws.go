package randprog

import (
	"fmt"
	"math"

	"github.com/lensir/lensir-study/graph"
)

// Dot returns Σ⟨xᵢ, yᵢ⟩ over all entries, and Σ|xᵢ||yᵢ|, the size that its rounding error is measured by.
func Dot(x, y []*graph.Tensor) (dot, size float64) {
	for i := range x {
		for k, v := range x[i].F {
			dot += v * y[i].F[k]
			size += math.Abs(v * y[i].F[k])
		}
	}
	return dot, size
}

// Same reports whether tensors are equal bit for bit, types included.
func Same(x, y []*graph.Tensor) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !x[i].Type.Equal(y[i].Type) || len(x[i].F) != len(y[i].F) || len(x[i].I) != len(y[i].I) {
			return false
		}
		for k := range x[i].F {
			if math.Float64bits(x[i].F[k]) != math.Float64bits(y[i].F[k]) {
				return false
			}
		}
		for k := range x[i].I {
			if x[i].I[k] != y[i].I[k] {
				return false
			}
		}
	}
	return true
}

// Dense returns the matrix of a linear program at the given residuals: row i is an entry of the outputs, column j of
// the linear inputs, both in order.
func Dense(p *graph.Program, residuals []*graph.Tensor) ([][]float64, error) {
	tangents := make([]*graph.Tensor, 0, len(p.Inputs))
	for _, in := range p.Inputs[len(residuals):] {
		tangents = append(tangents, graph.NewTensor(in.Type))
	}
	rows := 0
	for _, t := range p.OutputTypes() {
		if t.DType.IsFloat() {
			rows += t.Len()
		}
	}
	matrix := make([][]float64, rows)
	inputs := append(append([]*graph.Tensor{}, residuals...), tangents...)
	for _, x := range tangents {
		for k := range x.F {
			x.F[k] = 1
			y, err := graph.Eval(p, inputs...)
			if err != nil {
				return nil, err
			}
			x.F[k] = 0
			i := 0
			for _, out := range y {
				for _, v := range out.F {
					matrix[i] = append(matrix[i], v)
					i++
				}
			}
		}
	}
	return matrix, nil
}

// Ladder compares a derivative with central differences (f(h) − f(−h))/(2h) for h = 2⁻³, 2⁻⁴, …, 2⁻²⁰. It wants what only
// the derivative of a smooth f gives: the error falls by the factor 4 (or more) from rung to rung before it reaches
// the plateau of rounding, about size·2⁻⁵³/h, where size is that of the values that f adds up.
func Ladder(f func(h float64) (float64, error), derivative, size float64) error {
	const first, last = 3, 20
	size = max(size, math.Abs(derivative), 1e-300)
	var errors [last + 1]float64
	var text string
	for k := first; k <= last; k++ {
		h := math.Ldexp(1, -k)
		up, err := f(h)
		if err != nil {
			return err
		}
		down, err := f(-h)
		if err != nil {
			return err
		}
		errors[k] = math.Abs((up-down)/(2*h) - derivative)
		plateau := 256 * size * 0x1p-53 / h
		text += fmt.Sprintf("\n  h = 2^-%d: error %.3g, plateau %.3g", k, errors[k], plateau)
		if errors[k] > plateau {
			continue
		}
		// The last pairs of rungs above the plateau: with a wrong derivative the error stays where it is at the very
		// last, with a kink nearby it does so above. Two terms of the error may cancel at one rung between others.
		// A function may be on the plateau from the first rung.
		falls := func(j int) bool { return j < first || errors[j]/errors[j+1] >= 2.5 }
		if !falls(k-2) || !falls(k-3) && (k-4 < first || !falls(k-4)) {
			return fmt.Errorf("the error of central differences does not fall by the factor 4 for derivative %v:%s", derivative, text)
		}
		return nil
	}
	return fmt.Errorf("central differences do not reach derivative %v:%s", derivative, text)
}
