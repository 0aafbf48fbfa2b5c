package rounding

import (
	"fmt"
	"math"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// Perturbed returns p with every rounded result times a factor, entry by entry: an input for each, after those of p. Where all
// factors are 1 it computes what p does; where they are 1 ± 2^level·2⁻⁵² at random, the spread of its outputs measures how far rounding moves
// them. The levels are those of the factors in order.
//
// An operation that rounds within, such as a sum or a product of matrices, has factors on an operand too, unless that is a
// rounded result itself: terms that cancel inside show. One of n terms has a level of its own, on operand and result: its partial
// sums are rounded n times.
//
// Source: Monte Carlo arithmetic (Parker, 1997).
func Perturbed(p *graph.Program) (_ *graph.Program, levels []int) {
	p = graph.Expand(p)
	type factored struct {
		node, level int
		of          graph.Value
	}
	var places []factored // in the order of the factors: a node's result, or an operand of the node
	isRounded := make([]bool, p.NumValues())
	for i := range p.Nodes {
		n, v := &p.Nodes[i], graph.Value(len(p.Inputs)+i)
		if !rounds(n) {
			continue
		}
		level := levelOf(p, n)
		if level > 0 || within(n) && !slices.ContainsFunc(n.Args, func(a graph.Value) bool { return isRounded[a] }) {
			least := graph.None
			for _, a := range n.Args {
				if t := p.Type(a); t.DType == graph.Float64 && t.Len() > 0 && (least == graph.None || t.Len() < p.Type(least).Len()) {
					least = a
				}
			}
			if least != graph.None {
				places = append(places, factored{i, level, least})
			}
		}
		isRounded[v] = true
		places = append(places, factored{i, level, v})
	}

	b := graph.NewBuilder(p.Name)
	at := make([]graph.Value, p.NumValues())
	for i, in := range p.Inputs {
		at[i] = b.Input(in.Name, in.Type)
	}
	factors := make([]graph.Value, len(places))
	prefix := "factor"
	for slices.ContainsFunc(p.Inputs, func(in graph.Input) bool { return len(in.Name) >= len(prefix) && in.Name[:len(prefix)] == prefix }) {
		prefix += "_"
	}
	for k, f := range places {
		factors[k] = b.Input(fmt.Sprintf("%s%d", prefix, k), p.Type(f.of))
		levels = append(levels, f.level)
	}
	for i := range p.Nodes {
		n, v := &p.Nodes[i], len(p.Inputs)+i
		if n.Op == graph.Literal {
			at[v] = b.Literal(n.Value)
			b.Name(at[v], n.Name)
			continue
		}
		args := mapped(at, n.Args)
		b.SetOrigin(n.Origin)
		for ; len(places) > 0 && places[0].node == i; places, factors = places[1:], factors[1:] {
			of := places[0].of
			if int(of) == v {
				break
			}
			moved := b.Emit(op.Mul, nil, at[of], factors[0])
			for k, a := range n.Args {
				if a == of {
					args[k] = moved
				}
			}
		}
		y := b.Emit(n.Op, n.Attrs, args...)
		b.Name(y, n.Name)
		if len(places) > 0 && places[0].node == i {
			y = b.Emit(op.Mul, nil, y, factors[0])
			places, factors = places[1:], factors[1:]
		}
		at[v] = y
	}
	return b.BuildNamed(p.OutputNames, mapped(at, p.Outputs)...), levels
}

// rounds reports whether the result of a node is rounded.
func rounds(n *graph.Node) bool {
	return n.Type.DType == graph.Float64 && n.Type.Len() > 0 && !n.Op.Exact && n.Op != graph.Literal && n.Op != op.Round && n.Op != op.Convert
}

// within reports whether an operation rounds more than its result.
func within(n *graph.Node) bool {
	return n.Op.Unary == nil && n.Op.Binary == nil && len(n.Args) > 0
}

// levelOf is log₂ of √n/8 of an operation that adds n terms, or, where it adds them in turn, of n/32 if that is more: equal
// terms are rounded alike. It is 0 of other operations and of few terms: these round by a unit of the last place.
func levelOf(p *graph.Program, n *graph.Node) int {
	if n.Op.Terms == nil || n.Type.Len() == 0 {
		return 0
	}
	in := make([]graph.Type, len(n.Args))
	for k, a := range n.Args {
		in[k] = p.Type(a)
	}
	terms, inTurn := n.Op.Terms(n.Attrs, in, n.Type)
	size := math.Sqrt(terms) / 8
	if inTurn {
		size = max(size, terms/32)
	}
	return max(0, int(math.Round(math.Log2(size))))
}

func mapped(at, values []graph.Value) []graph.Value {
	out := make([]graph.Value, len(values))
	for i, v := range values {
		out[i] = at[v]
	}
	return out
}
