package response

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Implementation is a residual implementation of a response map: Forward maps x to (f(x), r), Reverse maps
// (r, γ) to b(x, γ).
type Implementation struct {
	Forward   *graph.Program // X → Y × R
	Reverse   *graph.Program // R × Y* → X*, linear in Y*
	Residuals int            // the number of components of R
}

// Implement returns the residual implementation of a program's exact pullback: linearized, with the least
// residuals, and transposed.
func Implement(p *graph.Program) Implementation { return residuals(p) }

func residuals(p *graph.Program) Implementation {
	wrt := make([]int, len(p.Inputs))
	for i := range wrt {
		wrt[i] = i
	}
	l := graph.Linearize(p, wrt)
	return Implementation{l.Primal, graph.Transpose(l.Linear), l.Residuals}
}

// Tautological is the implementation of any response map whose residual is its whole input.
func Tautological(m Map) Implementation {
	f, _, fx, _, _ := builders(m.Domain(), nil)
	return Implementation{f.Build(slices.Concat(f.Inline(m.Forward, fx...), fx)...), m.Backward, len(fx)}
}

func (i Implementation) outputs() int { return len(i.Forward.Outputs) - i.Residuals }

// Response is the response map that the implementation implements: b(x, γ) = rev(r_x, γ).
func (i Implementation) Response() Map {
	n := i.outputs()
	f, b, fx, bx, by := builders(inputTypes(i.Forward), i.Forward.OutputTypes()[:n])
	r := b.Inline(i.Forward, bx...)[n:]
	return Map{f.Build(f.Inline(i.Forward, fx...)[:n]...), b.Build(b.Inline(i.Reverse, slices.Concat(r, by)...)...)}
}

// ComposeImplementations implements m ∘ l by the residuals (r_l, r_m): forward in the order l, m and reverse in
// the order m, l.
func ComposeImplementations(m, l Implementation) (Implementation, error) {
	nl, nm := l.outputs(), m.outputs()
	if !equalTypes(l.Forward.OutputTypes()[:nl], inputTypes(m.Forward)) {
		return Implementation{}, fmt.Errorf("cannot compose: the first map ends in %v, the second starts from %v",
			l.Forward.OutputTypes()[:nl], inputTypes(m.Forward))
	}
	f, _, fx, _, _ := builders(inputTypes(l.Forward), nil)
	y := f.Inline(l.Forward, fx...)
	z := f.Inline(m.Forward, y[:nl]...)
	forward := f.Build(slices.Concat(z[:nm], y[nl:], z[nm:])...)
	_, b, _, r, ct := builders(slices.Concat(l.Forward.OutputTypes()[nl:], m.Forward.OutputTypes()[nm:]), m.Forward.OutputTypes()[:nm])
	middle := b.Inline(m.Reverse, slices.Concat(r[l.Residuals:], ct)...)
	x := b.Inline(l.Reverse, slices.Concat(r[:l.Residuals], middle)...)
	return Implementation{forward, b.Build(x...), l.Residuals + m.Residuals}, nil
}

// ProductImplementations implements l × m by pairs of residuals.
func ProductImplementations(l, m Implementation) Implementation {
	nl, nm := l.outputs(), m.outputs()
	f, _, fx, _, _ := builders(slices.Concat(inputTypes(l.Forward), inputTypes(m.Forward)), nil)
	k := len(l.Forward.Inputs)
	y, z := f.Inline(l.Forward, fx[:k]...), f.Inline(m.Forward, fx[k:]...)
	forward := f.Build(slices.Concat(y[:nl], z[:nm], y[nl:], z[nm:])...)
	_, b, _, r, ct := builders(slices.Concat(l.Forward.OutputTypes()[nl:], m.Forward.OutputTypes()[nm:]),
		slices.Concat(l.Forward.OutputTypes()[:nl], m.Forward.OutputTypes()[:nm]))
	x := slices.Concat(
		b.Inline(l.Reverse, slices.Concat(r[:l.Residuals], ct[:nl])...),
		b.Inline(m.Reverse, slices.Concat(r[l.Residuals:], ct[nl:])...))
	return Implementation{forward, b.Build(x...), l.Residuals + m.Residuals}
}
