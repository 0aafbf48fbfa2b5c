package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/implicit"
	"github.com/lensir/lensir-study/studies"
)

// Signature describes what was read and inferred: one line for each block, parameter, constant,
// equation and objective, with its type.
func (m *Model) Signature() string {
	var b strings.Builder
	s := m.Study
	if s.Title != "" {
		b.WriteString(s.Title + "\n")
	}
	fmt.Fprintf(&b, "%s, %d point", s.Kind, s.Sweep.Len())
	if s.Sweep.Len() != 1 {
		b.WriteString("s")
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(section, name string, what any, text string) {
		cells := fmt.Sprintf("  %s\t%s\t%v", section, name, what)
		if text != "" {
			cells += "\t" + text
		}
		fmt.Fprintln(w, cells)
	}
	for i, block := range s.State {
		line("state", block.Name, m.State[i], "starts at "+brief(block.Start.Text))
	}
	for _, group := range []struct {
		section string
		list    []studies.Quantity
	}{{"parameter", s.Parameters}, {"constant", s.Constants}, {"data", s.Data}} {
		for _, q := range group.list {
			value := ""
			if q.Value.IsScalar() {
				value = "= " + strconv.FormatFloat(q.Value.Data[0], 'g', -1, 64)
			}
			if slices.ContainsFunc(s.Sweep.Axes, func(a studies.Axis) bool { return a.Name == q.Name }) {
				value = "swept"
			}
			line(group.section, q.Name, graph.F64(q.Value.Shape...), value)
		}
	}
	section := string(s.Kind)
	if s.Kind == studies.Chain {
		section = "next"
		line("chain", "steps", graph.Scalar, "= "+brief(s.Chain.Steps.Text))
		if text := s.Chain.Until.Text; text != "" {
			line("chain", "until", graph.Type{DType: graph.Bool}, "= "+brief(text))
		}
		for _, u := range s.Chain.Controls {
			line("control", u.Name+"[j]", graph.F64(u.Shape...), "= "+brief(u.Start.Text))
		}
	}
	if m.Program != nil {
		m.signProgram(line)
	}
	for i, e := range s.Equations {
		line(section, e.Name, m.Equations.OutputTypes()[i], "= "+brief(e.Formula.Text))
	}
	for _, o := range s.Objective {
		line("objective", o.Name, graph.Scalar, "= "+brief(o.Formula.Text))
	}
	if s.Kind == studies.Chain && s.Chain.Running.Text != "" {
		line("", "+ at each step", graph.Scalar, "+ "+brief(s.Chain.Running.Text))
	}
	for _, axis := range s.Sweep.Axes {
		line("sweep", axis.Name, fmt.Sprintf("%d values", len(axis.Values)),
			axis.Extent())
	}
	w.Flush() // a strings.Builder has no errors
	return b.String()
}

// brief is a formula on one line of no more than 60 characters.
func brief(text string) string {
	const most = 60
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// Difference compares one directional derivative with central differences over a ladder of steps.
type Difference struct {
	What       string
	Derivative float64
	// Quotient is the central difference that is known best, at the step Step, and Error is its
	// distance from the derivative; NaN where no difference settles.
	Quotient, Step, Error float64
	Agrees                bool
	Reason                string       // why there is nothing to compare, or what disagrees
	Status                graph.Status // of the exact branch, if it was refused
	// Declared names the declared responses that the derivative depends on: then it need not agree.
	Declared []string
}

// Compared reports whether there is a derivative and a difference.
func (d Difference) Compared() bool { return d.Step > 0 }

// declaring adds the declared responses that the outputs of some programs depend on.
func declaring(d Difference, programs ...*graph.Program) Difference {
	for _, p := range programs {
		for o := range p.Outputs {
			d.Declared = append(d.Declared, graph.Declared(p, o)...)
		}
	}
	slices.Sort(d.Declared)
	d.Declared = slices.Compact(d.Declared)
	return d
}

// refused stands for the comparisons along an exact branch that there is not.
func refused(err error) Difference {
	d := Difference{What: "exact branch", Reason: err.Error()}
	if f := (*graph.Failure)(nil); errors.As(err, &f) {
		d.Status = f.Status
	}
	return d
}

// CheckDerivatives compares the derivatives of a point's programs, and of each objective along the
// exact branch or of J over the whole chain, with finite differences, in one seeded random direction each. Along the branch the
// equation is solved again at every step, from the root. No finite difference is ever a result.
func (s *Solver) CheckDerivatives(p studies.Point) ([]Difference, error) {
	if s.chain != nil {
		list, err := s.chain.checkChain(context.Background(), p)
		for i := range list {
			list[i] = declaring(list[i], append(slices.Clone(s.model.Starts), s.model.Equations, s.model.Objectives)...)
		}
		return list, err
	}
	if s.program != nil {
		return s.program.checkProgram(p)
	}
	theta := s.load(p)
	rng := rand.New(rand.NewPCG(s.seed, 0x636865636b))
	var list []Difference
	_, _, m := s.starts[0].Dims()
	z0 := make([]float64, m)
	params := lengths(p.Parameters)
	var blocks []int
	for _, t := range s.model.State {
		blocks = append(blocks, t.Len())
	}
	blocks = append(blocks, params...)
	list = append(list, declaring(compareMap("start", s.starts[0], nil, theta, params, rng), s.model.Starts[0]))
	if err := s.starts[0].Eval(z0, nil, theta); err != nil {
		return append(list, refused(err)), refusalOnly(err)
	}
	name := "R at the start"
	if s.model.Study.Kind == studies.FixedPoint {
		name = "G at the start"
	}
	list = append(list, declaring(compareMap(name, s.equations, z0, theta, blocks, rng), s.model.Equations),
		declaring(compareMap("objectives at the start", s.objectives, z0, theta, blocks, rng), s.model.Objectives))
	root, _, gradients, err := s.exact(z0, theta, s.settings())
	if err != nil {
		return append(list, refused(err)), refusalOnly(err)
	}
	for i, g := range gradients {
		list = append(list, declaring(s.compareBranch(i, g, root, theta, params, rng), s.model.Equations, s.model.Objectives.WithOutputs(s.model.Objectives.Outputs[i])))
	}
	return list, nil
}

// refusalOnly passes errors that are no refusals.
func refusalOnly(err error) error {
	var f *graph.Failure
	if errors.As(err, &f) {
		return nil
	}
	return err
}

// lengths are the numbers of entries of some quantities.
func lengths(list []studies.Quantity) []int {
	var n []int
	for _, q := range list {
		n = append(n, len(q.Value.Data))
	}
	return n
}

// inUnits shortens a direction v at x, in place: each block of entries moves in proportion to its largest entry, so that one step
// suits quantities of every unit. A block of zeros moves by 1 at most.
func inUnits(v, x []float64, blocks []int) []float64 {
	most := largest(x)
	rest := v
	for _, n := range blocks {
		size := largest(x[:n])
		if size == 0 {
			size = min(1, most)
		}
		for i := range rest[:n] {
			if most > 0 {
				rest[i] *= size / most
			}
		}
		x, rest = x[n:], rest[n:]
	}
	return v
}

// largest is max |xᵢ|, and 0 of nothing.
func largest(x []float64) float64 {
	size := 0.0
	for _, a := range x {
		size = max(size, math.Abs(a))
	}
	return size
}

// compareMap checks ū·f′(x)·v for random ū and v.
func compareMap(what string, f *implicit.Map, z, theta []float64, blocks []int, rng *rand.Rand) Difference {
	_, _, out := f.Dims()
	x := slices.Concat(z, theta)
	v, u := inUnits(random(rng, len(x)), x, blocks), random(rng, out)
	value, tangent := make([]float64, out), make([]float64, out)
	d, err := f.Joint(value, z, theta)
	if err == nil {
		err = d.Push(tangent, v, 1)
	}
	if err != nil {
		return Difference{What: what, Reason: err.Error()}
	}
	same, err := onBranch(f, z, theta)
	if err != nil {
		return Difference{What: what, Reason: err.Error()}
	}
	return ladder(what, dot(u, tangent), x, v, func(x []float64) (float64, error) {
		err := errors.Join(same(x[:len(z)], x[len(z):]), f.Eval(value, x[:len(z)], x[len(z):]))
		return dot(u, value), err
	})
}

// errOtherBranch says that a point is beyond a kink, where a difference says nothing about the derivative.
var errOtherBranch = errors.New("a piecewise operation takes another branch there")

// onBranch returns a test of points: do the piecewise operations of f take the branches there that they
// take at (z, θ)?
func onBranch(f *implicit.Map, z, theta []float64) (same func(z, theta []float64) error, err error) {
	here, err := f.Branches(z, theta)
	return func(z, theta []float64) error {
		there, err := f.Branches(z, theta)
		if err == nil && !slices.Equal(here, there) {
			err = errOtherBranch
		}
		return err
	}, err
}

// compareBranch checks dJ/dθ·v by solving again from the root.
func (s *Solver) compareBranch(i int, g implicit.Gradient, root *implicit.Root, theta []float64, params []int, rng *rand.Rand) Difference {
	v := inUnits(random(rng, len(theta)), theta, params)
	values := make([]float64, len(s.model.Study.Objective))
	what := "d" + s.model.Study.Objective[i].Name + " along the exact branch"
	sameR, errR := onBranch(s.residual, root.Z, theta)
	sameJ, errJ := onBranch(s.objectives, root.Z, theta)
	if err := errors.Join(errR, errJ); err != nil {
		return Difference{What: what, Reason: err.Error()}
	}
	return ladder(what, dot(g.Gradient, v), theta, v, func(x []float64) (float64, error) {
		moved, err := implicit.FindRoot(s.residual, root.Z, x, s.settings())
		if err != nil {
			return 0, err
		}
		err = errors.Join(sameR(moved.Z, x), sameJ(moved.Z, x), s.objectives.Eval(values, moved.Z, x))
		return values[i], err
	})
}

// rung is a central difference at one step of a ladder.
type rung struct {
	step, quotient float64
	rounding       float64 // what rounding of the two values and of their arguments may add
	apart          float64 // from the quotient of the next larger step
}

// settled reports whether the quotient has stopped to change with the step, as far as rounding lets it be seen.
func (r rung) settled() bool { return r.apart <= max(1e-3*math.Abs(r.quotient), 2*r.rounding) }

// ladder compares a directional derivative with central differences at steps from 1e-1 down to 1e-12
// of the size of x. The step is chosen by the differences alone, so that a wrong derivative cannot choose the
// one that suits it: among the settled ones it has the least sum of rounding and of change from the
// step before. The two agree if they are within that sum and 1e-6 of the derivative.
func ladder(what string, derivative float64, x, v []float64, f func([]float64) (float64, error)) Difference {
	d := Difference{What: what, Derivative: derivative, Quotient: math.NaN(), Step: math.NaN(), Error: math.NaN()}
	size := largest(x)
	if size == 0 {
		size = 1
	}
	best, evaluated := rung{apart: math.Inf(1)}, 0
	before := rung{quotient: math.NaN()}
	for h := 0.1 * size; h > 0.5e-12*size; h /= 10 {
		up, errUp := f(step(x, v, h))
		down, errDown := f(step(x, v, -h))
		if errUp != nil || errDown != nil {
			continue
		}
		r := rung{step: h, quotient: (up - down) / (2 * h)}
		r.rounding = 0x1p-48*(math.Abs(up)+math.Abs(down))/h + 0x1p-50*math.Abs(r.quotient)*size/h
		evaluated++
		if r.apart = math.Abs(r.quotient - before.quotient); r.settled() && r.apart+r.rounding < best.apart+best.rounding {
			best = r
		}
		before = r
	}
	switch {
	case evaluated == 0:
		d.Reason = "no difference could be evaluated: the neighbourhood leaves the domain or the branch"
		return d
	case best.step == 0:
		d.Reason = "the differences do not settle at any step: rounding dominates, or the function varies too fast beside the size of its arguments"
		return d
	}
	d.Quotient, d.Step, d.Error = best.quotient, best.step, math.Abs(best.quotient-derivative)
	if d.Agrees = d.Error <= 1e-6*math.Abs(derivative)+best.apart+best.rounding; !d.Agrees {
		d.Reason = "the derivative and the difference disagree"
	}
	return d
}

func step(x, v []float64, h float64) []float64 {
	y := make([]float64, len(x))
	for i := range y {
		y[i] = x[i] + float64(h*v[i])
	}
	return y
}

// random returns a direction with entries of size about 1, none of which vanishes.
func random(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Copysign(0.5+rng.Float64()/2, rng.Float64()-0.5)
	}
	return v
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}
