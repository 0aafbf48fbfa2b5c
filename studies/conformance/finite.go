package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
)

// Verdict says what a comparison of a derivative with finite differences found.
type Verdict string

const (
	Agrees   Verdict = "AGREES"
	Differs  Verdict = "DIFFERS"
	Declared Verdict = "DECLARED" // a response was declared: there is nothing that it should agree with
)

// Difference compares a directional derivative with the central difference of step h.
type Difference struct {
	Derivative float64  `json:"derivative"`
	Quotient   float64  `json:"quotient"`
	Error      float64  `json:"error"`
	Verdict    Verdict  `json:"verdict"`
	Declared   []string `json:"declared,omitempty"` // the declared responses that the outputs depend on
}

// FiniteDifference compares ⟨γ, Df(x)·v⟩, computed in reverse, with (⟨γ, f(x + hv)⟩ − ⟨γ, f(x − hv)⟩)/2h. A
// program that depends on a declared response is reported as declared, not as wrong.
func FiniteDifference(p *graph.Program, wrt []int, x, v, seeds []*graph.Tensor, h, tolerance float64) (Difference, error) {
	if len(v) != len(wrt) || len(seeds) != len(p.Outputs) {
		return Difference{}, fmt.Errorf("%s wants %d directions and %d seeds, has %d and %d", p.Name, len(wrt), len(p.Outputs), len(v), len(seeds))
	}
	out, err := graph.Eval(graph.VJP(p, wrt), slices.Concat(x, seeds)...)
	if err != nil {
		return Difference{}, err
	}
	var d Difference
	d.Derivative, _ = pairing(out[len(seeds):], v)
	at := func(t float64) (float64, error) {
		moved := slices.Clone(x)
		for k, i := range wrt {
			moved[i] = x[i].Clone()
			for e := range moved[i].F {
				moved[i].F[e] += t * v[k].F[e]
			}
		}
		y, err := graph.Eval(p, moved...)
		if err != nil {
			return 0, err
		}
		sum, _ := pairing(seeds, y)
		return sum, nil
	}
	above, err := at(h)
	if err != nil {
		return d, err
	}
	below, err := at(-h)
	if err != nil {
		return d, err
	}
	d.Quotient = (above - below) / (2 * h)
	d.Error = math.Abs(d.Quotient - d.Derivative)
	for o := range p.Outputs {
		d.Declared = append(d.Declared, graph.Declared(p, o)...)
	}
	slices.Sort(d.Declared)
	d.Declared = slices.Compact(d.Declared)
	switch {
	case len(d.Declared) > 0:
		d.Verdict = Declared
	case d.Error <= tolerance:
		d.Verdict = Agrees
	default:
		d.Verdict = Differs
	}
	return d, nil
}
