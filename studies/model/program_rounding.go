package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/schedule/program"
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
		c.rounding, err = program.NewRounding(r.p)
		return &c
	}
	q.seeds = twin(s.seeds)
	for _, t := range s.wanted {
		q.wanted = append(q.wanted, &transformed{t.what, twin(t.runner)})
	}
	for _, r := range s.residuals {
		q.residuals = append(q.residuals, twin(r))
	}
	q.program = program.Perturbed(s.model.Program)
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
	work := len(w.numbers)
	for _, t := range s.model.Program.Nodes {
		work += t.Type.Len()
	}
	runs := mostRuns
	if work > manyEntries {
		runs = fewRuns
	}
	moved := make([]float64, len(w.numbers))
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
		for i, x := range again.numbers {
			if d := math.Abs(x - w.numbers[i]); d > moved[i] { // NaN: not computed again
				moved[i] = d
			}
		}
	}
	for _, g := range w.groups {
		g.put(w, moved)
	}
	return nil
}

// group is the rows of one tensor, or the one row of an array.
type group struct {
	row, number, n int // the first row, the first of its numbers, and how many there are
	array          bool
}

// put adds the estimates of a group. No digit of a number is known where rounding moves it by more than half, unless that is little beside
// another number of the tensor: near 0 a relative error says nothing.
func (g group) put(w *programRows, moved []float64) {
	largest, most := 0.0, 0.0
	for i := range g.n {
		largest, most = max(largest, math.Abs(w.numbers[g.number+i])), max(most, programFactor*moved[g.number+i])
	}
	lost := most > largest/2
	if g.array {
		w.putEstimate(g.row, most, lost)
		return
	}
	for i := range g.n {
		e := programFactor * moved[g.number+i]
		w.putEstimate(g.row+i, e, lost && e > math.Abs(w.numbers[g.number+i])/2)
	}
}

func (w *programRows) putEstimate(row int, e float64, lost bool) {
	r := &w.rows[row]
	at := slices.IndexFunc(r.Fields, func(f results.Field) bool { return f.Column == "value" || f.Column == "array" })
	r.Fields = slices.Insert(r.Fields, at+1, results.Field{Column: "error_estimate", Value: results.Float(e)})
	if lost {
		r.Reason = fmt.Sprintf("no digit is known: rounding moves it by up to %.2g; another form of the formula keeps digits", e)
	}
}

// doubt gives every rounded number a reason not to be trusted.
func (w *programRows) doubt(reason string) {
	for _, g := range w.groups {
		n := g.n
		if g.array {
			n = 1
		}
		for i := range n {
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
