package conformance

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// The laws of jets through reverse accumulation, to order 4, against exact derivatives of polynomials. All numbers
// are integers that float64 holds, so that equality is to the last bit.

const jetOrder = 4

var polyWrt = []int{0, 1, 2, 3}

// jetPoint is a point with directions, each a list of all entries.
type jetPoint struct {
	flat       []float64
	directions [][]float64
}

func drawJetPoint(draw Draw) jetPoint {
	entries := func(label string) []float64 {
		x := make([]float64, polyVariables)
		for i := range x {
			x[i] = float64(draw(label, 5) - 2)
		}
		return x
	}
	p := jetPoint{flat: entries("x")}
	for range draw("order", jetOrder+1) {
		p.directions = append(p.directions, entries("direction"))
	}
	return p
}

func (p jetPoint) inputs() []*graph.Tensor {
	var in []*graph.Tensor
	for _, flat := range append([][]float64{p.flat}, p.directions...) {
		for _, shape := range polyInputs {
			in = append(in, graph.Floats(shape, flat[:shape.Len()]))
			flat = flat[shape.Len():]
		}
	}
	return in
}

func (p jetPoint) jet(q *graph.Program) ([]*graph.Tensor, error) {
	jet := graph.Jet(q, polyWrt, len(p.directions))
	if err := graph.Verify(jet); err != nil {
		return nil, err
	}
	return graph.Eval(jet, p.inputs()...)
}

// check compares every block of a jet with the exact mixed derivatives.
func (p jetPoint) check(q *graph.Program, want [][]polynomial) error {
	got, err := p.jet(q)
	if err != nil {
		return err
	}
	for s := range 1 << len(p.directions) {
		for o := range want {
			for e, w := range want[o] {
				for k, v := range p.directions {
					if s>>k&1 == 1 {
						w = w.along(v)
					}
				}
				if g, w := got[s*len(want)+o].F[e], w.at(p.flat); g != w {
					return fmt.Errorf("%s: directions %b, output %d, entry %d: %v, want %v", q.Name, s, o, e, g, w)
				}
			}
		}
	}
	return nil
}

func polysOf(values []polyTensor) [][]polynomial {
	var out [][]polynomial
	for _, v := range values {
		out = append(out, v.entries)
	}
	return out
}

// pullbackPolys is the exact pullback: entry i of the result is Σ seed·∂f/∂x_i.
func pullbackPolys(f, seed []polyTensor) [][]polynomial {
	var out [][]polynomial
	variable := 0
	for _, shape := range polyInputs {
		entries := make([]polynomial, shape.Len())
		for i := range entries {
			entries[i] = polynomial{}
			for o := range f {
				for e := range f[o].entries {
					entries[i].addTo(seed[o].entries[e].times(f[o].entries[e].derivative(variable)), 1)
				}
			}
			variable++
		}
		out = append(out, entries)
	}
	return out
}

// zeroPack is a pack of zero gradient buffers with one entry replaced.
func zeroPack(i int, entries []polynomial) [][]polynomial {
	pack := make([][]polynomial, len(polyInputs))
	for k, shape := range polyInputs {
		if pack[k] = make([]polynomial, shape.Len()); k == i {
			pack[k] = entries
		}
	}
	return pack
}

// fitting returns the last value of a shape.
func (p *polyProgram) fitting(shape graph.Shape) polyTensor {
	for k := len(p.values) - 1; ; k-- {
		if p.values[k].shape.Equal(shape) {
			return p.values[k]
		}
	}
}

// jetSingleLaw: seeding one input of a pass that hands its inputs through puts the seed's jet there; the
// other buffers have no derivative of any order.
func jetSingleLaw(draw Draw) error {
	f, through := newPolyProgram("seed"), newPolyProgram("through")
	f.grow(draw, "seed", 4)
	i := draw("input", len(polyInputs))
	seed := f.fitting(polyInputs[i])
	single, err := graph.Pullback(through.build(through.inputs[i]), polyWrt, f.build(seed))
	if err != nil {
		return err
	}
	return drawJetPoint(draw).check(single, zeroPack(i, seed.entries))
}

// jetAdditionLaw: two seeds of one input accumulate, as jets do.
func jetAdditionLaw(draw Draw) error {
	f, through := newPolyProgram("seed"), newPolyProgram("through")
	f.grow(draw, "seed", 4)
	i := draw("input", len(polyInputs))
	one, two := f.fitting(polyInputs[i]), f.inputs[i]
	two = f.apply(0, two, two)
	x := through.inputs[i]
	both, err := graph.Pullback(through.build(x, x), polyWrt, f.build(one, two))
	if err != nil {
		return err
	}
	sum := make([]polynomial, len(one.entries))
	for e := range sum {
		sum[e] = one.entries[e].plus(two.entries[e])
	}
	return drawJetPoint(draw).check(both, zeroPack(i, sum))
}

// jetUnsnocLaw: splitting the last value off a pack leaves the jets of both parts.
func jetUnsnocLaw(draw Draw) error {
	f := newPolyProgram("pack")
	f.grow(draw, "pack", 3)
	at := drawJetPoint(draw)
	pack := f.build(f.values...)
	last := len(f.values) - 1
	whole, err := at.jet(pack)
	if err != nil {
		return err
	}
	front, err := at.jet(pack.WithOutputs(pack.Outputs[:last]...))
	if err != nil {
		return err
	}
	for s := range 1 << len(at.directions) {
		if err := equalBits(fmt.Sprintf("set %b", s), whole[s*(last+1):s*(last+1)+last], front[s*last:(s+1)*last]); err != nil {
			return err
		}
	}
	return at.check(pack.WithOutputs(pack.Outputs[last]), [][]polynomial{f.values[last].entries})
}

// jetProductLaw: seed·coefficient and coefficient·seed have the Leibniz product of the jets,
// (s·c)_S = Σ_{T ⊆ S} s_T·c_{S∖T}.
func jetProductLaw(draw Draw) error {
	f := newPolyProgram("product")
	f.grow(draw, "product", 4)
	at := drawJetPoint(draw)
	seed := f.values[len(f.values)-1]
	coefficient := f.values[slices.IndexFunc(f.values, func(v polyTensor) bool { return v.shape.Equal(seed.shape) })]
	exact := make([]polynomial, len(seed.entries))
	for e := range exact {
		exact[e] = seed.entries[e].times(coefficient.entries[e])
	}
	left := f.b.Emit(op.Mul, nil, seed.value, coefficient.value)
	right := f.b.Emit(op.Mul, nil, coefficient.value, seed.value)
	p := f.b.Build(seed.value, coefficient.value, left, right)
	out, err := at.jet(p)
	if err != nil {
		return err
	}
	for s := range 1 << len(at.directions) {
		for e := range exact {
			want := 0.0
			for u := range s + 1 {
				if u&^s == 0 {
					want += out[4*u].F[e] * out[4*(s&^u)+1].F[e]
				}
			}
			if l, r := out[4*s+2].F[e], out[4*s+3].F[e]; l != want || r != want {
				return fmt.Errorf("set %b, entry %d: %v and %v, want %v", s, e, l, r, want)
			}
		}
	}
	return at.check(p.WithOutputs(left, right), [][]polynomial{exact, exact})
}

// jetActivationLaw: the jets of all saved forward values are exact.
func jetActivationLaw(draw Draw) error {
	f := newPolyProgram("activations")
	f.grow(draw, "activations", 5)
	return drawJetPoint(draw).check(f.build(f.values...), polysOf(f.values))
}

// jetReverseLaw: the jets of what a reverse pass returns are the exact derivatives of the pullback, for constant
// seeds and for seeds that depend on the inputs.
func jetReverseLaw(draw Draw) error {
	f, s := newPolyProgram("f"), newPolyProgram("seed")
	f.grow(draw, "f", 4)
	s.grow(draw, "seed", 2)
	outputs := f.values[len(f.values)-2:]
	var seeds []polyTensor
	for _, o := range outputs {
		seed := polyTensor{shape: o.shape, value: s.b.Full(graph.F64(o.shape...), 3)}
		for range o.shape.Len() {
			seed.entries = append(seed.entries, constantPoly(3))
		}
		for _, v := range s.values {
			if v.shape.Equal(o.shape) && draw("seed depends on the inputs", 2) == 1 {
				seed = v
			}
		}
		seeds = append(seeds, seed)
	}
	reverse, err := graph.Pullback(f.build(outputs...), polyWrt, s.build(seeds...))
	if err != nil {
		return err
	}
	return drawJetPoint(draw).check(reverse, pullbackPolys(outputs, seeds))
}

// jetDeclaredLaw: with y = D(x)·x, where D has the value x² and the declared response γ·x³, the pullback is
// s·x·x³ + s·x²: its jets are those, whatever the derivative of x² is.
func jetDeclaredLaw(draw Draw) error {
	t := graph.F64(2, 2)
	forward := graph.NewBuilder("D")
	x := forward.Input("x", t)
	r := graph.NewBuilder("D_response")
	u := r.Input("x", t)
	ct := r.LinearInput("seed", t)
	declared, err := graph.Declare("D", forward.Build(forward.Emit(op.Mul, nil, x, x)),
		r.Build(r.Emit(op.Mul, nil, ct, r.Emit(op.Mul, nil, r.Emit(op.Mul, nil, u, u), u))))
	if err != nil {
		return err
	}
	f, s := newPolyProgram("f"), newPolyProgram("seed")
	in := f.inputs[0]
	p := f.b.Build(f.b.Emit(op.Mul, nil, f.b.Emit(declared, nil, in.value), in.value))
	s.grow(draw, "seed", 3)
	seed := s.fitting(in.shape)
	reverse, err := graph.Pullback(p, polyWrt, s.build(seed))
	if err != nil {
		return err
	}
	if names := graph.Declared(reverse, 0); !slices.Equal(names, []string{"D"}) {
		return fmt.Errorf("the pullback says that it depends on %v", names)
	}
	exact := make([]polynomial, len(in.entries))
	for e, x := range in.entries {
		square := x.times(x)
		exact[e] = seed.entries[e].times(square.times(square).plus(square))
	}
	return drawJetPoint(draw).check(reverse, zeroPack(0, exact))
}
