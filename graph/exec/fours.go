package exec

import (
	"fmt"

	"github.com/lensir/lensir-study/graph"
)

// A few lanes of a linear program of scalars run four at a time, as a program that does all of it four times: every
// instruction of it is wide.

// fewLanes is the most lanes that run so. More of them fill the tiles of the general code.
const fewLanes = 16

// compileFours translates the fourfold of a program that compile has translated.
func compileFours(p *graph.Program) *code {
	c, err := compile(fourfold(p), false, 0)
	if err != nil || !c.scalarOnly {
		panic(fmt.Sprint("exec: a program of scalars is none four times: ", err))
	}
	c.fours = true
	return c
}

// fourfold writes each value of a program four times: value v becomes 4v, …, 4v+3.
func fourfold(p *graph.Program) *graph.Program {
	q := &graph.Program{Name: p.Name}
	for _, in := range p.Inputs {
		for k := range wide {
			q.Inputs = append(q.Inputs, graph.Input{Name: fmt.Sprintf("%s.%d", in.Name, k), Type: in.Type})
		}
	}
	for _, n := range p.Nodes {
		args := n.Args
		for k := range wide {
			n.Name, n.Args = "", nil
			for _, a := range args {
				n.Args = append(n.Args, wide*a+graph.Value(k))
			}
			q.Nodes = append(q.Nodes, n)
		}
	}
	for _, v := range p.Outputs {
		for k := range wide {
			q.Outputs = append(q.Outputs, wide*v+graph.Value(k))
		}
	}
	return q
}

// runFours runs the lanes four by four. The last four overlap those before; fewer than four are filled up with the
// first of them.
func (e *Exec) runFours(ws *Workspace, in, out []Buffer) error {
	if err := e.lanes.checkSizes(in, out, ws.lanes); err != nil {
		return err
	}
	c, sizes := ws.c, e.lanes.inputs[:len(in)]
	registers := ws.registers[c.firstInput:]
	for at := 0; at < ws.lanes; at += wide {
		first := max(0, min(at, ws.lanes-wide))
		for i := range in {
			x, to := in[i].F, (*[wide]float64)(registers[wide*i:])
			switch {
			case sizes[i].perLane == 0 || len(x) < wide:
				*to = [wide]float64{x[0], x[0], x[0], x[0]}
				copy(to[:], x)
			default:
				*to = [wide]float64(x[first:])
			}
		}
		ws.runScalars(c, c.scalars)
		for j := range out {
			y := out[j].F
			for k, place := range c.scalarOutputs[wide*j:][:min(wide, len(y))] {
				y[first+k] = load(ws.base, place.register)
			}
		}
	}
	return nil
}
