package model

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/studies"
)

// CostLine is one count of a program, by its name in the program table.
type CostLine struct {
	Name  string
	Value float64
}

// CostLines lists the counts of a program in the order of tables.
func CostLines(c module.Cost) []CostLine {
	return []CostLine{
		{"primal", float64(c.Primal)}, {"reverse", float64(c.Reverse)}, {"accumulation", float64(c.Accumulation)}, {"total", float64(c.Total())},
		{"bound", c.Bound()}, {"c", c.C}, {"a", float64(c.A)}, {"r", float64(c.R)}, {"work", float64(c.Work)}, {"tape", float64(c.FullTape)},
		{"program_primal", float64(c.ProgramPrimal)}, {"program_reverse", float64(c.ProgramReverse)},
		{"program_accumulation", float64(c.ProgramAccumulation)}, {"residual_tape", float64(c.ResidualTape)},
	}
}

// signProgram adds the outputs to a signature.
func (m *Model) signProgram(line func(section, name string, what any, text string)) {
	p := m.Study.Program
	if p.Module != nil {
		line("module", p.Module.Name, strings.TrimSpace(countOf(len(p.Module.Nodes), "node")), "from "+p.ModulePath.Text)
	}
	for i, t := range m.Program.OutputTypes() {
		text := ""
		if p.Module == nil {
			text = "= " + brief(p.Outputs[i].Formula.Text)
		}
		if declared := marks(m.Program, i); declared != "" {
			text = strings.TrimSpace(text + "  (declared: " + declared + ")")
		}
		line("output", m.Program.OutputName(i), t, text)
	}
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// checkProgram compares the derivative of each output with differences, in one random direction. Where a declared
// response takes part there is nothing that it should agree with.
func (s *programSolver) checkProgram(point studies.Point) ([]Difference, error) {
	program := s.model.Program
	rng := rand.New(rand.NewPCG(s.seed, 0x636865636b))
	inputs, err := s.model.InputsAt(point, program)
	if err != nil {
		return []Difference{refused(err)}, refusalOnly(err)
	}
	var x []float64
	var blocks []int
	for _, i := range s.wrt {
		x, blocks = append(x, inputs[i].F...), append(blocks, len(inputs[i].F))
	}
	v := inUnits(random(rng, len(x)), x, blocks)
	unpack := func(flat []float64) []*graph.Tensor {
		in := slices.Clone(inputs)
		for _, i := range s.wrt {
			n := len(inputs[i].F)
			if n == 0 { // an integer, or nothing
				continue
			}
			in[i] = graph.Floats(inputs[i].Shape, flat[:n])
			flat = flat[n:]
		}
		return in
	}
	tangents := []*graph.Tensor{}
	for at, i := 0, 0; i < len(s.wrt); i++ {
		in := program.Inputs[s.wrt[i]]
		t := graph.NewTensor(in.Type.Tangent())
		at += copy(t.F, v[at:])
		tangents = append(tangents, t)
	}
	var list []Difference
	for o, t := range program.OutputTypes() {
		if !t.DType.IsFloat() {
			continue
		}
		one := program.WithOutputs(program.Outputs[o])
		u := random(rng, t.Len())
		what := s.outputName(o)
		_, dy, err := graph.Directional(one, s.wrt, inputs, tangents)
		if err != nil {
			if err := refusalOnly(err); err != nil {
				return nil, err
			}
			d := refused(err)
			d.What = what
			list = append(list, d)
			continue
		}
		d := ladder(what, dot(u, dy[0].F), x, v, func(flat []float64) (float64, error) {
			y, err := graph.Eval(one, unpack(flat)...)
			if err != nil {
				return 0, err
			}
			return dot(u, y[0].F), nil
		})
		d.Declared = graph.Declared(one, 0)
		list = append(list, d)
	}
	return list, nil
}
