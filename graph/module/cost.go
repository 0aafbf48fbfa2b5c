package module

import (
	"github.com/lensir/lensir-study/graph"
)

// Cost counts operations and stored scalars of a program and of its reverse pass.
//
// For the cheap-gradient bound: node j does primal work w_j ≥ 1, its local vector-Jacobian product costs at
// most c·w_j, an operation has at most r parent slots, and accumulating one slot's contribution costs at most a.
// Then primal, reverse and accumulation together take at most (1 + c + a·r)·Σw_j operations.
//
// Source: the cheap-gradient count of finite computational graphs.
type Cost struct {
	// Counted node by node, as the document's reverse execution runs: every slot adds its contribution.
	Primal       int `json:"primal"`       // one forward evaluation
	Reverse      int `json:"reverse"`      // local pullbacks, and what only they read of the forward pass
	Accumulation int `json:"accumulation"` // additions of slot contributions
	FullTape     int `json:"full_tape"`    // scalars of all inputs and node values

	// Counted from the transformed programs, where equal operations and first contributions cost nothing.
	ProgramPrimal       int `json:"program_primal"`
	ProgramReverse      int `json:"program_reverse"`
	ProgramAccumulation int `json:"program_accumulation"`
	ResidualTape        int `json:"residual_tape"` // scalars of the residuals

	Work int     `json:"work"` // Σ w_j
	C    float64 `json:"c"`    // least c for these nodes
	A    int     `json:"a"`    // most additions of one slot: the largest operand
	R    int     `json:"r"`    // most parent slots of one node
}

// Bound is (1 + c + a·r)·Σw_j.
func (c Cost) Bound() float64 { return (1 + c.C + float64(c.A*c.R)) * float64(c.Work) }

// Total is the document's count: primal, reverse and accumulation.
func (c Cost) Total() int { return c.Primal + c.Reverse + c.Accumulation }

// Cost counts the instance.
func (in *Instance) Cost() Cost { return cost(in.Program, in.Linearization, in.Adjoint) }

// CostBy counts any program, its reverse pass being by the inputs in wrt. The counts of the document, which
// has a cotangent for every value, do not depend on them.
func CostBy(p *graph.Program, wrt []int) Cost {
	l := graph.Linearize(p, wrt)
	return cost(p, l, graph.Transpose(l.Linear))
}

func cost(p *graph.Program, l graph.Linearization, adjoint *graph.Program) Cost {
	var c Cost
	c.FullTape = scalars(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		w := max(1, p.NodeOperations(i))
		local := localPullback(p, n)
		c.Primal += p.NodeOperations(i)
		c.Reverse += local
		c.Work += w
		c.C = max(c.C, float64(local)/float64(w))
		c.R = max(c.R, len(n.Args))
		for _, a := range n.Args {
			entries := graph.Scalars(p.Type(a).Tangent())
			c.Accumulation += entries
			c.A = max(c.A, entries)
		}
	}
	c.ProgramPrimal = p.Operations()
	c.ProgramReverse = l.Primal.Operations() - graph.Share(p).Operations()
	for i := range adjoint.Nodes {
		if operations := adjoint.NodeOperations(i); adjoint.Nodes[i].Op == graph.Add {
			c.ProgramAccumulation += operations
		} else {
			c.ProgramReverse += operations
		}
	}
	for i := range l.Residuals {
		c.ResidualTape += graph.Scalars(l.Linear.Inputs[i].Type)
	}
	return c
}

func scalars(p *graph.Program) int {
	total := 0
	for v := range p.NumValues() {
		total += graph.Scalars(p.Type(graph.Value(v)))
	}
	return total
}

// localPullback counts the vector-Jacobian product of one node beyond its forward evaluation, each slot apart.
func localPullback(p *graph.Program, n *graph.Node) int {
	b := graph.NewBuilder("node")
	args := make([]graph.Value, len(n.Args))
	wrt := make([]int, len(n.Args))
	for k, a := range n.Args {
		args[k] = b.Input(string(rune('a'+k%26))+string(rune('0'+k/26)), p.Type(a))
		wrt[k] = k
	}
	var y graph.Value
	if n.Op == graph.Literal {
		y = b.Literal(n.Value)
	} else {
		y = b.Emit(n.Op, n.Attrs, args...)
	}
	one := b.Build(y)
	return graph.VJP(one, wrt).Operations() - one.Operations()
}
