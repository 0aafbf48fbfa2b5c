package conformance

import (
	_ "embed"
	"math"
	"math/rand/v2"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
)

// TiedResidual is the tied-weight residual block A = XW + b, H = tanh A, Y = X + HW + b as a family
// of modules in the dimensions B and d: one W and one b, each used twice.
//
//go:embed tied_residual.json
var TiedResidual []byte

// block is one tied block with a seed G, all row-major.
type block struct {
	rows, d    int // B and d
	x, w, b, g []float64
}

// blocks draws n blocks of batch sizes 1–3 and widths 1–4 in turn, entries uniform on (−1, 1).
func blocks(r *rand.Rand, n int) []block {
	var out []block
	for i := range n {
		c := block{rows: 1 + i%3, d: 1 + i/3%4}
		for _, field := range []struct {
			to *[]float64
			n  int
		}{{&c.x, c.rows * c.d}, {&c.w, c.d * c.d}, {&c.b, c.d}, {&c.g, c.rows * c.d}} {
			*field.to = uniform(r, field.n)
		}
		out = append(out, c)
	}
	return out
}

func uniform(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 2*r.Float64() - 1
	}
	return x
}

// single rounds all entries to float32.
func (b block) single() block {
	for _, x := range []*[]float64{&b.x, &b.w, &b.b, &b.g} {
		y := make([]float64, len(*x))
		for i, v := range *x {
			y[i] = float64(float32(v))
		}
		*x = y
	}
	return b
}

func (b block) valuation() module.Valuation { return module.Valuation{"B": b.rows, "d": b.d} }

func (b block) inputs() []*graph.Tensor {
	return []*graph.Tensor{graph.Floats(graph.Shape{b.rows, b.d}, b.x), graph.Floats(graph.Shape{b.d, b.d}, b.w), graph.Floats(graph.Shape{b.d}, b.b)}
}

func (b block) named() map[string]*graph.Tensor {
	in := b.inputs()
	return map[string]*graph.Tensor{"X": in[0], "W": in[1], "b": in[2]}
}

func (b block) seed() *graph.Tensor { return graph.Floats(graph.Shape{b.rows, b.d}, b.g) }

// closedForm is the pullback of G by the formulas of the document, written out with loops of its own:
//
//	H̄ = GWᵀ, Ā = H̄∘(1 − H∘H), X̄ = G + ĀWᵀ, W̄ = HᵀG + XᵀĀ, b̄ = Σ_r G_r + Σ_r Ā_r.
func (b block) closedForm() (x, w, bias []float64) {
	n, d := b.rows, b.d
	h, a := make([]float64, n*d), make([]float64, n*d)
	for r := range n {
		for j := range d {
			sum := b.b[j]
			for k := range d {
				sum += b.x[r*d+k] * b.w[k*d+j]
			}
			h[r*d+j] = math.Tanh(sum)
		}
	}
	for r := range n {
		for k := range d {
			sum := 0.0
			for j := range d {
				sum += b.g[r*d+j] * b.w[k*d+j]
			}
			a[r*d+k] = sum * (1 - h[r*d+k]*h[r*d+k])
		}
	}
	x, w, bias = make([]float64, n*d), make([]float64, d*d), make([]float64, d)
	for r := range n {
		for k := range d {
			sum := 0.0
			for j := range d {
				sum += a[r*d+j] * b.w[k*d+j]
				w[k*d+j] += h[r*d+k]*b.g[r*d+j] + b.x[r*d+k]*a[r*d+j]
			}
			x[r*d+k] = b.g[r*d+k] + sum
			bias[k] += b.g[r*d+k] + a[r*d+k]
		}
	}
	return x, w, bias
}
