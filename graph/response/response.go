// Package response composes response maps: pairs (f, b) of a forward map and a backward map that is linear in
// the cotangent, whether or not b is the derivative's transpose.
//
// Both halves are programs. A response map from X to Y has a forward program X → Y and a backward
// program X × Y* → X* whose cotangent inputs are linear, which graph.Verify proves. Response maps form a
// category, and sending a program to the pair of itself and its exact pullback (Exact) preserves identity and
// composition.
//
// An Implementation runs a response map by residuals: forward to Y × R, reverse from R × Y*.
//
// Source: the typed tensor fragment, section 2.
package response

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Map is a response map (f, b).
type Map struct {
	// Forward is f, a program from X to Y.
	Forward *graph.Program
	// Backward is b, a program from X, then one linear cotangent for each component of Y, to one cotangent
	// for each component of X.
	Backward *graph.Program
}

// Domain is the list of types of X.
func (m Map) Domain() []graph.Type { return inputTypes(m.Forward) }

// Codomain is the list of types of Y.
func (m Map) Codomain() []graph.Type { return m.Forward.OutputTypes() }

func inputTypes(p *graph.Program) []graph.Type {
	types := make([]graph.Type, len(p.Inputs))
	for i, in := range p.Inputs {
		types[i] = in.Type
	}
	return types
}

// Check verifies both halves, that their types belong together and that b is linear in the cotangents.
func (m Map) Check() error {
	for _, p := range []*graph.Program{m.Forward, m.Backward} {
		if err := graph.Verify(p); err != nil {
			return err
		}
	}
	x, y := m.Domain(), m.Codomain()
	if want, have := slices.Concat(x, tangents(y)), inputTypes(m.Backward); !equalTypes(want, have) {
		return fmt.Errorf("the backward map wants inputs %v, has %v", want, have)
	}
	if want, have := tangents(x), m.Backward.OutputTypes(); !equalTypes(want, have) {
		return fmt.Errorf("the backward map wants outputs %v, has %v", want, have)
	}
	for i, in := range m.Backward.Inputs {
		if in.Linear != (i >= len(x)) {
			return fmt.Errorf("input %s of the backward map: want linear %t, have %t", in.Name, i >= len(x), in.Linear)
		}
	}
	return nil
}

func tangents(types []graph.Type) []graph.Type {
	out := make([]graph.Type, len(types))
	for i, t := range types {
		out[i] = t.Tangent()
	}
	return out
}

func equalTypes(a, b []graph.Type) bool { return slices.EqualFunc(a, b, graph.Type.Equal) }

// builders starts the two programs of a map with their inputs.
func builders(x, y []graph.Type) (f, b *graph.Builder, fx, bx, by []graph.Value) {
	f, b = graph.NewBuilder("forward"), graph.NewBuilder("backward")
	for i, t := range x {
		fx = append(fx, f.Input(fmt.Sprintf("x%d", i), t))
		bx = append(bx, b.Input(fmt.Sprintf("x%d", i), t))
	}
	for i, t := range y {
		by = append(by, b.LinearInput(fmt.Sprintf("ct%d", i), t.Tangent()))
	}
	return f, b, fx, bx, by
}

// Exact is the response map of a program with its exact pullback: (f, (x, γ) ↦ Df(x)ᵀ·γ). Composites with a
// declared response keep it.
func Exact(p *graph.Program) Map { return residuals(p).Response() }

// Identity is (id, (x, α) ↦ α).
func Identity(x ...graph.Type) Map {
	f, b, fx, _, by := builders(x, x)
	return Map{f.Build(fx...), b.Build(by...)}
}

// Copy is the diagonal x ↦ (x, x), whose response adds: (α, β) ↦ α + β.
func Copy(x ...graph.Type) Map {
	f, b, fx, _, by := builders(x, slices.Concat(x, x))
	ct := make([]graph.Value, len(x))
	for i := range x {
		if ct[i] = by[i]; x[i].DType.IsFloat() {
			ct[i] = b.Accumulate(by[i], by[len(x)+i])
		}
	}
	return Map{f.Build(slices.Concat(fx, fx)...), b.Build(ct...)}
}

// Discard is x ↦ (), whose response is zero.
func Discard(x ...graph.Type) Map {
	f, b, _, _, _ := builders(x, nil)
	ct := make([]graph.Value, len(x))
	for i, t := range x {
		ct[i] = b.Zeros(t.Tangent())
	}
	return Map{f.Build(), b.Build(ct...)}
}

// Compose is m ∘ l: first l, then m. Its backward map is (x, γ) ↦ b(x, c(f(x), γ)).
func Compose(m, l Map) (Map, error) {
	if !equalTypes(l.Codomain(), m.Domain()) {
		return Map{}, fmt.Errorf("cannot compose: the first map ends in %v, the second starts from %v", l.Codomain(), m.Domain())
	}
	f, b, fx, bx, by := builders(l.Domain(), m.Codomain())
	forward := f.Build(f.Inline(m.Forward, f.Inline(l.Forward, fx...)...)...)
	y := b.Inline(l.Forward, bx...)
	middle := b.Inline(m.Backward, slices.Concat(y, by)...)
	return Map{forward, b.Build(b.Inline(l.Backward, slices.Concat(bx, middle)...)...)}, nil
}

// Product is l × m, side by side.
func Product(l, m Map) Map {
	f, b, fx, bx, by := builders(slices.Concat(l.Domain(), m.Domain()), slices.Concat(l.Codomain(), m.Codomain()))
	nx, ny := len(l.Domain()), len(l.Codomain())
	y := slices.Concat(f.Inline(l.Forward, fx[:nx]...), f.Inline(m.Forward, fx[nx:]...))
	ct := slices.Concat(
		b.Inline(l.Backward, slices.Concat(bx[:nx], by[:ny])...),
		b.Inline(m.Backward, slices.Concat(bx[nx:], by[ny:])...))
	return Map{f.Build(y...), b.Build(ct...)}
}
