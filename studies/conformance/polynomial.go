package conformance

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
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
func (p *polyProgram) grow(draw Draw, label string, nodes int) {
	for range nodes {
		x := p.values[draw(label+" operand", len(p.values))]
		var fit []polyTensor
		for _, y := range p.values {
			if y.shape.Equal(x.shape) {
				fit = append(fit, y)
			}
		}
		y := fit[draw(label+" operand", len(fit))]
		p.values = append(p.values, p.apply(draw(label+" operation", 6), x, y))
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
