package op

import "github.com/lensir/lensir-study/graph"

// StopGradient returns, for a float type, the identity with the declared response 0: no derivative passes through it.
func StopGradient(t graph.Type) *graph.Op {
	return declared("stop_gradient", t,
		func(_ *graph.Builder, x graph.Value) graph.Value { return x },
		func(b *graph.Builder, seed graph.Value) graph.Value { return b.Zeros(t) })
}

// StraightThroughRound returns, for a float type, the nearest whole number with the declared response γ ↦ γ:
// derivatives pass through it as if it were the identity.
func StraightThroughRound(t graph.Type) *graph.Op {
	return declared("straight_through_round", t,
		func(b *graph.Builder, x graph.Value) graph.Value { return b.Emit(Round, nil, x) },
		func(_ *graph.Builder, seed graph.Value) graph.Value { return seed })
}

// declared returns a unary operation with a declared response that does not depend on its operand.
func declared(name string, t graph.Type, forward, response func(*graph.Builder, graph.Value) graph.Value) *graph.Op {
	f := graph.NewBuilder(name)
	y := forward(f, f.Input("x", t))
	r := graph.NewBuilder(name + "_response")
	r.Input("x", t)
	ct := response(r, r.LinearInput("seed", t))
	o, err := graph.Declare(name, f.Build(y), r.Build(ct))
	if err != nil {
		panic(err) // t is no float type: a mistake of the caller
	}
	return o
}
