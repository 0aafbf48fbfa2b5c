package graph_test

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"pgregory.net/rapid"
)

// polynomial in the entries of all inputs: coefficient of each monomial, whose key holds one exponent a byte.
// It is the exact oracle: integer coefficients at integer points, differentiated term by term.
type polynomial map[string]float64

const polyVariables = 9

func constantPoly(c float64) polynomial {
	if c == 0 {
		return polynomial{}
	}
	return polynomial{string(make([]byte, polyVariables)): c}
}

func variablePoly(i int) polynomial {
	key := make([]byte, polyVariables)
	key[i] = 1
	return polynomial{string(key): 1}
}

func (p polynomial) addTo(q polynomial, scale float64) {
	for m, c := range q {
		if p[m] += scale * c; p[m] == 0 {
			delete(p, m)
		}
	}
}

func (p polynomial) plus(q polynomial) polynomial {
	out := polynomial{}
	out.addTo(p, 1)
	out.addTo(q, 1)
	return out
}

func (p polynomial) times(q polynomial) polynomial {
	out := polynomial{}
	for m, c := range p {
		for n, d := range q {
			key := []byte(m)
			for i := range key {
				key[i] += n[i]
			}
			out.addTo(polynomial{string(key): c * d}, 1)
		}
	}
	return out
}

func (p polynomial) derivative(i int) polynomial {
	out := polynomial{}
	for m, c := range p {
		if m[i] > 0 {
			key := []byte(m)
			key[i]--
			out.addTo(polynomial{string(key): c * float64(m[i])}, 1)
		}
	}
	return out
}

func (p polynomial) along(v []float64) polynomial {
	out := polynomial{}
	for i, d := range v {
		if d != 0 {
			out.addTo(p.derivative(i), d)
		}
	}
	return out
}

func (p polynomial) at(x []float64) float64 {
	sum := 0.0
	for m, c := range p {
		for i := range x {
			for range m[i] {
				c *= x[i]
			}
		}
		sum += c
	}
	return sum
}

func (p polynomial) degree() int {
	most := 0
	for m := range p {
		d := 0
		for i := range polyVariables {
			d += int(m[i])
		}
		most = max(most, d)
	}
	return most
}

// polyTensor is a tensor of polynomials, beside the value of a program that computes it.
type polyTensor struct {
	value   graph.Value
	shape   graph.Shape
	entries []polynomial
}

// polyProgram draws random programs and carries the polynomials of every value along.
type polyProgram struct {
	b      *graph.Builder
	inputs []polyTensor
	values []polyTensor
}

var polyInputs = []graph.Shape{{2, 2}, {2}, {}, {2, 1}} // 4 + 2 + 1 + 2 = 9 variables

func newPolyProgram(name string) *polyProgram {
	p := &polyProgram{b: graph.NewBuilder(name)}
	variable := 0
	for i, shape := range polyInputs {
		x := polyTensor{shape: shape, value: p.b.Input(fmt.Sprintf("x%d", i), graph.F64(shape...))}
		for range shape.Len() {
			x.entries = append(x.entries, variablePoly(variable))
			variable++
		}
		p.inputs = append(p.inputs, x)
	}
	p.values = slices.Clone(p.inputs)
	return p
}

const polyDegree = 5

// grow adds random operations, each on values drawn from all before; repeated operands are likely.
func (p *polyProgram) grow(t *rapid.T, label string, nodes int) {
	for range nodes {
		x := p.values[rapid.IntRange(0, len(p.values)-1).Draw(t, label+" operand")]
		var fit []polyTensor
		for _, y := range p.values {
			if y.shape.Equal(x.shape) {
				fit = append(fit, y)
			}
		}
		y := fit[rapid.IntRange(0, len(fit)-1).Draw(t, label+" operand")]
		p.values = append(p.values, p.apply(rapid.IntRange(0, 5).Draw(t, label+" operation"), x, y))
	}
}

func (p *polyProgram) apply(kind int, x, y polyTensor) polyTensor {
	out := polyTensor{shape: x.shape, entries: make([]polynomial, x.shape.Len())}
	degree := 0
	for _, e := range append(slices.Clone(x.entries), y.entries...) {
		degree = max(degree, e.degree())
	}
	switch {
	case kind <= 1 && 2*degree <= polyDegree+1:
		out.value = p.b.Emit(op.Mul, nil, x.value, y.value)
		for i := range out.entries {
			out.entries[i] = x.entries[i].times(y.entries[i])
		}
	case kind == 2 && len(x.shape) == 2 && 2*degree <= polyDegree+1:
		m, k := x.shape[0], x.shape[1]
		out.shape, out.value = graph.Shape{k, k}, op.Product(p.b, x.value, y.value, true, false)
		out.entries = make([]polynomial, k*k)
		for i := range k {
			for j := range k {
				sum := polynomial{}
				for l := range m {
					sum.addTo(x.entries[l*k+i].times(y.entries[l*k+j]), 1)
				}
				out.entries[i*k+j] = sum
			}
		}
	case kind == 3:
		axes := make([]int, len(x.shape))
		sum := polynomial{}
		for i := range axes {
			axes[i] = i
		}
		for _, e := range x.entries {
			sum.addTo(e, 1)
		}
		out.shape, out.value, out.entries = nil, op.SumOver(p.b, x.value, axes...), []polynomial{sum}
	case kind == 4 && len(x.shape) == 1:
		out.shape = graph.Shape{2, x.shape[0]}
		out.value = p.b.Emit(op.BroadcastRows, graph.Attrs{{Name: "rows", Ints: []int{2}}}, x.value)
		out.entries = append(slices.Clone(x.entries), x.entries...)
	default:
		out.value = p.b.Emit(op.Add, nil, x.value, y.value)
		for i := range out.entries {
			out.entries[i] = x.entries[i].plus(y.entries[i])
		}
	}
	return out
}

// build returns the program of the values, and their polynomials.
func (p *polyProgram) build(outputs ...polyTensor) *graph.Program {
	values := make([]graph.Value, len(outputs))
	for i, o := range outputs {
		values[i] = o.value
	}
	return p.b.Build(values...)
}

var polyWrt = []int{0, 1, 2, 3}

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

type jetPoint struct {
	flat       []float64   // all entries
	directions [][]float64 // one a direction
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

func drawJetPoint(t *rapid.T, order int) jetPoint {
	small := rapid.Map(rapid.IntRange(-2, 2), func(i int) float64 { return float64(i) })
	entries := rapid.SliceOfN(small, polyVariables, polyVariables)
	p := jetPoint{flat: entries.Draw(t, "x")}
	for range order {
		p.directions = append(p.directions, entries.Draw(t, "direction"))
	}
	return p
}

// checkJet compares every block of a jet with the exact mixed derivatives, to the last bit.
func checkJet(t *rapid.T, p *graph.Program, want [][]polynomial, at jetPoint) {
	t.Helper()
	order := len(at.directions)
	jet := graph.Jet(p, polyWrt, order)
	if err := graph.Verify(jet); err != nil {
		t.Fatal(err)
	}
	got, err := graph.Eval(jet, at.inputs()...)
	if err != nil {
		t.Fatal(err)
	}
	for s := range 1 << order {
		for o := range want {
			for e, q := range want[o] {
				for k := range order {
					if s>>k&1 == 1 {
						q = q.along(at.directions[k])
					}
				}
				if g, w := got[s*len(want)+o].F[e], q.at(at.flat); g != w {
					t.Fatalf("%s: directions %b, output %d, entry %d: %v, want %v", p.Name, s, o, e, g, w)
				}
			}
		}
	}
}

func polysOf(values []polyTensor) [][]polynomial {
	var out [][]polynomial
	for _, v := range values {
		out = append(out, v.entries)
	}
	return out
}

// Accumulation over the graph: jets of what a reverse pass returns are the exact derivatives of the
// pullback, for seeds that vary with the inputs.
func TestJetsThroughReverseAccumulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.IntRange(0, 4).Draw(t, "order")
		f, s := newPolyProgram("f"), newPolyProgram("seed")
		f.grow(t, "f", 4)
		outputs := f.values[len(f.values)-2:]
		s.grow(t, "seed", 2)
		var seeds []polyTensor
		for _, o := range outputs {
			seed := polyTensor{shape: o.shape, value: s.b.Full(graph.F64(o.shape...), 3)}
			for range o.shape.Len() {
				seed.entries = append(seed.entries, constantPoly(3))
			}
			for _, v := range s.values {
				if v.shape.Equal(o.shape) && rapid.Bool().Draw(t, "seed depends on the inputs") {
					seed = v
				}
			}
			seeds = append(seeds, seed)
		}
		reverse, err := graph.Pullback(f.build(outputs...), polyWrt, s.build(seeds...))
		if err != nil {
			t.Fatal(err)
		}
		checkJet(t, reverse, pullbackPolys(outputs, seeds), drawJetPoint(t, order))
	})
}

// Saved activations: jets of every forward value are exact.
func TestJetsOfSavedActivations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newPolyProgram("f")
		f.grow(t, "f", 5)
		checkJet(t, f.build(f.values...), polysOf(f.values), drawJetPoint(t, rapid.IntRange(0, 4).Draw(t, "order")))
	})
}

// The laws of packs of gradient buffers: zero, single, addition, unsnoc.
func TestJetLawsOfPacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := drawJetPoint(t, rapid.IntRange(0, 4).Draw(t, "order"))
		f := newPolyProgram("f")
		f.grow(t, "f", 4)
		// zero and single: seeding input i of a pass that passes its inputs through puts the seed's jet there and zeros elsewhere.
		i := rapid.IntRange(0, len(polyInputs)-1).Draw(t, "input")
		var seed *polyTensor
		for k := len(f.values) - 1; k >= 0 && seed == nil; k-- {
			if f.values[k].shape.Equal(polyInputs[i]) {
				seed = &f.values[k]
			}
		}
		through := newPolyProgram("through")
		single, err := graph.Pullback(through.build(through.inputs[i]), polyWrt, f.build(*seed))
		if err != nil {
			t.Fatal(err)
		}
		want := make([][]polynomial, len(polyInputs))
		for k, shape := range polyInputs {
			if want[k] = make([]polynomial, shape.Len()); k == i {
				want[k] = seed.entries
			}
		}
		checkJet(t, single, want, at)

		// addition: the seed twice, at two outputs that are one input, accumulates.
		twice := newPolyProgram("twice")
		seeds := newPolyProgram("seeds")
		other := seeds.apply(0, seeds.inputs[i], seeds.inputs[i])
		both, err := graph.Pullback(twice.build(twice.inputs[i], twice.inputs[i]), polyWrt, seeds.build(other, seeds.inputs[i]))
		if err != nil {
			t.Fatal(err)
		}
		sum := make([]polynomial, polyInputs[i].Len())
		for e := range sum {
			sum[e] = other.entries[e].plus(seeds.inputs[i].entries[e])
		}
		want[i] = sum
		checkJet(t, both, want, at)

		// unsnoc: splitting the last value off a pack leaves the jets of both parts.
		g := newPolyProgram("g")
		g.grow(t, "g", 3)
		pack := g.build(g.values...)
		last := len(g.values) - 1
		init, err := graph.Eval(graph.Jet(pack.WithOutputs(pack.Outputs[:last]...), polyWrt, len(at.directions)), at.inputs()...)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := graph.Eval(graph.Jet(pack, polyWrt, len(at.directions)), at.inputs()...)
		if err != nil {
			t.Fatal(err)
		}
		for s := range 1 << len(at.directions) {
			for k := range last {
				if !slices.Equal(init[s*last+k].F, whole[s*(last+1)+k].F) {
					t.Fatalf("unsnoc: block %b, output %d: %v against %v", s, k, init[s*last+k].F, whole[s*(last+1)+k].F)
				}
			}
		}
		checkJet(t, pack.WithOutputs(pack.Outputs[last]), [][]polynomial{g.values[last].entries}, at)
	})
}

// Products: the pullback seed·coefficient, and coefficient·seed, has the Leibniz product of the two jets:
// (s·c)_S = Σ_{T ⊆ S} s_T·c_{S∖T}.
func TestJetLawsOfProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.IntRange(0, 4).Draw(t, "order")
		at := drawJetPoint(t, order)
		f := newPolyProgram("f")
		f.grow(t, "f", 4)
		seed, coefficient := f.values[len(f.values)-1], f.values[len(f.values)-2]
		for _, v := range f.values {
			if v.shape.Equal(seed.shape) {
				coefficient = v
			}
		}
		for _, side := range []string{"left", "right"} {
			x, y := seed.value, coefficient.value
			if side == "right" {
				x, y = y, x
			}
			product := f.b.Emit(op.Mul, nil, x, y)
			p := f.b.Build(seed.value, coefficient.value, product)
			out, err := graph.Eval(graph.Jet(p, polyWrt, order), at.inputs()...)
			if err != nil {
				t.Fatal(err)
			}
			for s := range 1 << order {
				for e := range out[0].F {
					want := 0.0
					for u := range 1 << order {
						if u&^s == 0 {
							want += out[3*u].F[e] * out[3*(s&^u)+1].F[e]
						}
					}
					if got := out[3*s+2].F[e]; got != want {
						t.Fatalf("%s, block %b, entry %d: %v, want %v", side, s, e, got, want)
					}
				}
			}
			q := make([]polynomial, len(seed.entries))
			for e := range q {
				q[e] = seed.entries[e].times(coefficient.entries[e])
			}
			checkJet(t, p.WithOutputs(product), [][]polynomial{q}, at)
		}
	})
}

// A closed form that is no polynomial: the pullback of sin(x)·y with seed e^z.
func TestJetsOfAClosedForm(t *testing.T) {
	b := graph.NewBuilder("f")
	x, y, _ := b.Input("x", graph.Scalar), b.Input("y", graph.Scalar), b.Input("z", graph.Scalar)
	p := b.Build(b.Emit(op.Mul, nil, b.Emit(op.Sin, nil, x), y))
	sb := graph.NewBuilder("seed")
	sb.Input("x", graph.Scalar)
	sb.Input("y", graph.Scalar)
	seed := sb.Build(sb.Emit(op.Exp, nil, sb.Input("z", graph.Scalar)))
	reverse, err := graph.Pullback(p, []int{0, 1, 2}, seed)
	if err != nil {
		t.Fatal(err)
	}
	at := []float64{0.4, 1.3, -0.2}
	// x̄ = e^z·cos(x)·y. D^n in directions e_x (a times), e_y (at most once), e_z (any): e^z·cos(x + aπ/2)·(y or 1).
	for order := 0; order <= 4; order++ {
		jet := graph.Jet(reverse, []int{0, 1, 2}, order)
		for code := range pow3(order) {
			in := []*graph.Tensor{graph.Number(at[0]), graph.Number(at[1]), graph.Number(at[2])}
			axes := make([]int, order)
			for k := range axes {
				axes[k] = code % 3
				code /= 3
				for i := range 3 {
					in = append(in, graph.Number(map[bool]float64{true: 1}[i == axes[k]]))
				}
			}
			out, err := graph.Eval(jet, in...)
			if err != nil {
				t.Fatal(err)
			}
			for s := range 1 << order {
				var count [3]int
				for k, a := range axes {
					count[a] += s >> k & 1
				}
				want := math.Exp(at[2]) * math.Cos(at[0]+float64(count[0])*math.Pi/2)
				switch count[1] {
				case 0:
					want *= at[1]
				case 1:
				default:
					want = 0
				}
				if got := out[3*s].F[0]; math.Abs(got-want) > 1e-14 {
					t.Errorf("order %d, axes %v, set %b (%d): %v, want %v", order, axes, s, bits.OnesCount(uint(s)), got, want)
				}
				if z := out[3*s+2].F[0]; z != 0 {
					t.Errorf("the cotangent of z, which f does not read, is %v", z)
				}
			}
		}
	}
}

func pow3(n int) int {
	p := 1
	for range n {
		p *= 3
	}
	return p
}

func TestPullbackRefusesSeedsOfAnotherType(t *testing.T) {
	f := newPolyProgram("f")
	p := f.build(f.inputs[0])
	s := newPolyProgram("seed")
	if _, err := graph.Pullback(p, polyWrt, s.build(s.inputs[1])); err == nil {
		t.Error("a seed of type f64[2] for an output of type f64[2 2] was accepted")
	}
}
