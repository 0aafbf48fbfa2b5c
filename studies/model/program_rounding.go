package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/rounding"
	"github.com/lensir/lensir-study/results"
)

const (
	// programFactor times the largest deviation of the perturbed runs is an estimate.
	programFactor = 4
	// fewRuns is how many there are of a program that computes more than manyEntries.
	fewRuns     = 3
	manyEntries = 1 << 16
	// sampledColumns is how many columns of a matrix that is no list of rows are computed again.
	sampledColumns = 16
)

// perturbed returns a solver that runs the programs of s with their rounding perturbed, by the random numbers of its key.
func (s *programSolver) perturbed() (*programSolver, error) {
	q := *s
	q.wanted, q.residuals, q.key, q.twin = nil, nil, new(uint64), nil
	var err error
	twin := func(r *runner) *runner {
		if r == nil || err != nil {
			return nil
		}
		c := *r
		c.key = q.key
		c.rounding, err = rounding.NewRunner(r.p)
		return &c
	}
	q.seeds = twin(s.seeds)
	for _, t := range s.wanted {
		q.wanted = append(q.wanted, &transformed{t.what, twin(t.runner)})
	}
	for _, r := range s.residuals {
		q.residuals = append(q.residuals, twin(r))
	}
	q.program, q.levels = rounding.Perturbed(s.model.Program)
	return &q, err
}

// estimate adds to the rows of a transformation how far rounding moves them: some times the largest deviation of a few runs in which every
// rounded operation is moved at random.
func (s *programSolver) estimate(w *programRows, k int, inputs []*graph.Tensor) error {
	if len(w.groups) == 0 { // nothing is rounded
		return nil
	}
	if s.twin == nil {
		var err error
		if s.twin, err = s.perturbed(); err != nil {
			return err
		}
	}
	work := 0
	for _, g := range w.groups {
		work += len(g.x)
	}
	for i := range s.model.Program.Nodes {
		work += s.model.Program.Nodes[i].Type.Len()
	}
	runs := mostRuns
	if work > manyEntries {
		runs = fewRuns
	}
	for key := range runs {
		*s.twin.key = s.seed + uint64(key)
		again := &programRows{record: new(results.Record), transformation: w.transformation}
		err := s.twin.transform(again, s.twin.wanted[k], inputs)
		ending, failure := endingOf(err)
		if failure != nil {
			return failure
		}
		if err != nil {
			w.doubt(fmt.Sprintf("within rounding there is no such number: %s: %s", ending.Status, ending.Reason))
			return nil
		}
		for i := range w.groups {
			w.groups[i].compare(again.groups[i].x)
		}
	}
	for i := range w.groups {
		w.groups[i].put(w)
	}
	return nil
}

// group is the rows of one tensor, or the one row of an array.
type group struct {
	row   int // the first
	array bool
	x     []float64
	moved []float64 // how far runs move each entry, of an array none
	most  float64   // and the largest of these
}

// rounded says that the next rows are those of floats, which stay as they are.
func (w *programRows) rounded(x []float64) {
	g := group{row: len(w.rows), array: len(x) > maxSensitivities, x: x}
	if !g.array {
		g.moved = make([]float64, len(x))
	}
	w.groups = append(w.groups, g)
}

// rows is the number of rows of a group.
func (g *group) rows() int {
	if g.array {
		return 1
	}
	return len(g.x)
}

// compare takes in the numbers of a perturbed run; NaN is one that was not computed again.
func (g *group) compare(again []float64) {
	for i, x := range g.x {
		d := math.Abs(again[i] - x)
		if d > g.most {
			g.most = d
		}
		if !g.array && d > g.moved[i] {
			g.moved[i] = d
		}
	}
}

// put adds the estimates. No digit of a number is known where rounding moves it by more than half, unless that is little beside
// another number of the tensor: near 0 a relative error says nothing.
func (g *group) put(w *programRows) {
	lost := programFactor*g.most > largest(g.x)/2
	for i := range g.rows() {
		e := programFactor * g.most
		if !g.array {
			e = programFactor * g.moved[i]
		}
		r := &w.rows[g.row+i]
		at := slices.IndexFunc(r.Fields, func(f results.Field) bool { return f.Column == "value" || f.Column == "array" })
		r.Fields = slices.Insert(r.Fields, at+1, results.Field{Column: "error_estimate", Value: results.Float(e)})
		if lost && (g.array || e > math.Abs(g.x[i])/2) {
			r.Reason = fmt.Sprintf("no digit is known: rounding moves it by up to %.2g: either it vanishes, or the formula cancels, and another form of it keeps digits", e)
		}
	}
}

// doubt gives every rounded number a reason not to be trusted.
func (w *programRows) doubt(reason string) {
	for _, g := range w.groups {
		for i := range g.rows() {
			w.rows[g.row+i].Reason = reason
		}
	}
}

// warnOfRounding says of each transformation whether it has numbers without a known digit.
func (o *Outcome) warnOfRounding(rows []results.Row) {
	var first []results.Row
	var count []int
	for _, row := range rows {
		if row.Status != string(graph.OK) || row.Reason == "" {
			continue
		}
		n := len(first)
		if n == 0 || first[n-1].Fields.Get("transformation") != row.Fields.Get("transformation") {
			first, count = append(first, row), append(count, 0)
			n++
		}
		count[n-1]++
	}
	for i, row := range first {
		where := row.Fields.Get("transformation").String()
		for _, column := range []string{"name", "index", "input", "input_index", "direction", "order"} {
			if v := row.Fields.Get(column); !v.Absent() && v.String() != "" {
				where += " " + v.String()
			}
		}
		if count[i] > 1 {
			where = fmt.Sprintf("%d numbers, the first %s", count[i], where)
		}
		o.Warnings = append(o.Warnings, where+": "+row.Reason)
	}
}

// sampled draws the columns of a matrix that perturbed runs compute again: all of a list of rows, some of an array.
func (s *programSolver) sampled(n int, array bool) func(c int) bool {
	if !array || n <= sampledColumns {
		return func(int) bool { return true }
	}
	rng := rand.New(rand.NewPCG(s.seed, 0x636f6c756d6e))
	chosen := map[int]bool{}
	for len(chosen) < sampledColumns {
		chosen[rng.IntN(n)] = true
	}
	return func(c int) bool { return chosen[c] }
}

// stretch is the number by which perturbed Taylor arithmetic scales its curve, so that the operations on coefficients round otherwise.
func (s *programSolver) stretch() float64 {
	if s.key == nil {
		return 1
	}
	return 1 + rand.New(rand.NewPCG(*s.key, 0x7461796c6f72)).Float64()
}
