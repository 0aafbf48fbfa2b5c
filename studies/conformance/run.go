package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/module"
)

// Version is that of the run: what it checks and how it is written.
const Version = "1.0.0"

// DefaultSeed is the documents' seed.
const DefaultSeed = 20261012

// Result is the outcome of a run: the contents of verification-results.json.
type Result struct {
	Version string            `json:"version"`
	Tool    string            `json:"tool,omitempty"` // the program that ran it, by version and digest
	Go      string            `json:"go"`
	Seed    uint64            `json:"seed"`
	Hashes  map[string]string `json:"sha256"`
	Checks  []Check           `json:"checks"`
	Costs   []CostRow         `json:"costs"`
	// The float32 simulation of the block with B = 2, d = 3, node by node.
	Forward []NodeReport `json:"float32_forward"`
	Reverse []NodeReport `json:"float32_reverse"`
	Pass    bool         `json:"pass"`
}

// Check is one point of the run.
type Check struct {
	Name string `json:"name"`
	// Stream tells the random numbers of the check from those of others: they are PCG(seed, stream). 0: none.
	Stream uint64 `json:"stream,omitempty"`
	Cases  int    `json:"cases"`
	// Errors holds every measured error, in order of the cases, where the check measures one.
	Errors    []float64 `json:"errors,omitempty"`
	Largest   float64   `json:"largest_error"`
	Tolerance float64   `json:"tolerance"`
	// Predicted holds the bound beside each error, where the check has one for each case.
	Predicted []float64 `json:"predicted,omitempty"`
	Notes     []string  `json:"notes,omitempty"`    // what was seen
	Failures  []string  `json:"failures,omitempty"` // what is wrong
	Pass      bool      `json:"pass"`
}

// measure records the error of one case.
func (c *Check) measure(err float64) {
	c.Cases++
	if !(err <= c.Tolerance) {
		c.fail("case %d: error %.3e is above %.3e", c.Cases-1, err, c.Tolerance)
	}
	err = finite(err)
	c.Errors = append(c.Errors, err)
	c.Largest = math.Max(c.Largest, err)
}

// finite gives NaN and infinity a number that JSON can hold: the largest.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.MaxFloat64
	}
	return x
}

// expect records one case that holds or does not.
func (c *Check) expect(ok bool, format string, args ...any) {
	c.Cases++
	if !ok {
		c.fail(format, args...)
	}
}

func (c *Check) fail(format string, args ...any) {
	c.Failures = append(c.Failures, fmt.Sprintf(format, args...))
}

// CostRow is the cost of one module, beside the cheap-gradient bound.
type CostRow struct {
	Module string `json:"module"`
	B      int    `json:"B"`
	D      int    `json:"d"`
	module.Cost
	Total    int     `json:"total"`
	Bound    float64 `json:"bound"`
	Gradient int     `json:"gradient_operations"`
	HVP      int     `json:"hvp_operations"`
}

// JSON is the text of verification-results.json.
func (r Result) JSON() []byte {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // every number in a result is finite
	}
	return append(text, '\n')
}

// Run runs the whole verification. On one machine the result is a function of the seed alone.
func Run(seed uint64) Result {
	r := Result{Version: Version, Go: runtime.Version() + " " + runtime.GOARCH, Seed: seed, Hashes: map[string]string{}, Pass: true}
	family, err := module.Read(TiedResidual)
	if err != nil {
		r.add(Check{Name: "the tied residual block"}, func(c *Check) { c.fail("%v", err) })
		return r
	}
	r.hash("tied_residual family", family.Write())
	r.hash("tied_residual B=2 d=3", family.At(module.Valuation{"B": 2, "d": 3}).Write())
	cases := blocks(generator(seed, blockStream), 32)
	r.add(Check{Name: "tied blocks against the closed-form pullback", Stream: blockStream, Tolerance: 1e-15}, func(c *Check) { closedForms(c, family, cases) })
	r.add(Check{Name: "directional finite differences, step 1e-6", Stream: 2, Tolerance: 3e-7}, func(c *Check) { differences(c, family, cases, generator(seed, c.Stream)) })
	r.add(Check{Name: "sharing, unused inputs, products and reductions"}, structures)
	r.add(Check{Name: "invalid modules are refused"}, invalidModules)
	r.add(Check{Name: "runtime refusals"}, func(c *Check) { runtimeRefusals(c, family) })
	r.add(Check{Name: "tapes of another module, another evaluation or altered by a bit are refused", Stream: 3}, func(c *Check) { tapes(c, family, cases[0], generator(seed, c.Stream)) })
	r.add(Check{Name: "numbers printed in the documents"}, documentNumbers)
	r.add(Check{Name: "declared responses are reported as declared"}, declaredResponses)
	r.add(Check{Name: "every operation: reverse mode against finite differences or known slopes", Stream: 4}, func(c *Check) { operations(c, generator(seed, c.Stream)) })
	for i, law := range Laws() {
		r.add(Check{Name: "law: " + law.Name, Stream: 100 + uint64(i), Tolerance: law.Tolerance}, func(c *Check) { c.law(law, generator(seed, c.Stream)) })
	}
	r.add(Check{Name: "Taylor arithmetic to order 20", Tolerance: 1e-12}, taylorForms)
	r.add(Check{Name: "float32 simulates float64 on every node of the block, forward and reverse", Tolerance: 1}, func(c *Check) { r.simulate(c, family, cases) })
	r.add(Check{Name: "the compiled executable simulates the reference with no error on every node, forward and reverse"}, func(c *Check) { compiled(c, family, cases) })
	r.add(Check{Name: "sequential error propagation, float32 against float64: Y"}, func(c *Check) {
		sequential(c, family, cases, func(e BlockErrors) (float64, float64) { return e.ObservedY, e.PredictedY })
	})
	r.add(Check{Name: "sequential error propagation in reverse, float32 against float64: cotangent of X"}, func(c *Check) {
		sequential(c, family, cases, func(e BlockErrors) (float64, float64) { return e.ObservedX, e.PredictedX })
	})
	r.add(Check{Name: "cost within the cheap-gradient bound; Hessian-vector products within four gradients"}, func(c *Check) { r.costs(c, family) })
	return r
}

func (r *Result) add(c Check, run func(*Check)) {
	run(&c)
	c.Pass = len(c.Failures) == 0 && c.Cases > 0
	r.Pass = r.Pass && c.Pass
	r.Checks = append(r.Checks, c)
}

func (r *Result) hash(name string, content []byte) {
	sum := sha256.Sum256(content)
	r.Hashes[name] = hex.EncodeToString(sum[:])
}

// blockStream is the stream of the tied blocks.
const blockStream = 1

func generator(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

const lawCases = 25

func (c *Check) law(law Law, r *rand.Rand) {
	for i := range lawCases {
		worst, err := law.Check(func(_ string, n int) int { return r.IntN(n) })
		if c.measure(worst); err != nil {
			c.fail("case %d: %v", i, err)
		}
	}
}

// closedForms compares every cotangent of the blocks with the independent formulas; one error a block.
func closedForms(c *Check, family *module.Module, cases []block) {
	for i, b := range cases {
		ct, err := reverse(family, b)
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		x, w, bias := b.closedForm()
		worst := 0.0
		for name, want := range map[string][]float64{"X": x, "W": w, "b": bias} {
			for e, v := range want {
				worst = math.Max(worst, math.Abs(ct[name].F[e]-v))
			}
		}
		c.measure(worst)
	}
}

func reverse(family *module.Module, b block) (map[string]*graph.Tensor, error) {
	in, err := family.Instantiate(b.valuation())
	if err != nil {
		return nil, err
	}
	e, err := in.Forward(b.named())
	if err != nil {
		return nil, err
	}
	return e.Reverse(e.Tape, b.seed())
}

// differences takes one direction in each of X, W and b.
func differences(c *Check, family *module.Module, cases []block, r *rand.Rand) {
	for i, b := range cases {
		p, err := family.Program(b.valuation())
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		x := b.inputs()
		for k := range x {
			v := graph.Floats(x[k].Shape, uniform(r, x[k].Len()))
			d, err := FiniteDifference(p, []int{k}, x, []*graph.Tensor{v}, []*graph.Tensor{b.seed()}, 1e-6, c.Tolerance)
			if err != nil || d.Verdict != Agrees {
				c.fail("case %d, input %s: %s, %v", i, p.Inputs[k].Name, d.Verdict, err)
			}
			c.measure(d.Error)
		}
	}
}

// simulate runs the float32 evaluator over all blocks, at float32 inputs, and keeps the report of B = 2, d = 3.
func (r *Result) simulate(c *Check, family *module.Module, cases []block) {
	for i, b := range cases {
		b = b.single()
		in, err := family.Instantiate(b.valuation())
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		s, err := SimulateModule(in, Single, SingleBudget, b.inputs(), []*graph.Tensor{b.seed()})
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		for _, n := range slices.Concat(s.Forward.Nodes, s.Reverse.Nodes) {
			if c.measure(math.Max(ratio(n.Local, n.LocalBudget), ratio(n.Error, n.Budget))); !n.Holds {
				c.fail("case %d, %s %s: local error %.3e of %.3e, error %.3e of %.3e", i, n.Op, n.Name, n.Local, n.LocalBudget, n.Error, n.Budget)
			}
		}
		if b.rows == 2 && b.d == 3 && r.Forward == nil {
			r.Forward, r.Reverse = s.Forward.Nodes, s.Reverse.Nodes
		}
	}
	c.Notes = append(c.Notes, "an error is the larger of the local and the propagated one, each in units of its budget")
}

// compiled runs the compiled executable over all blocks, without any budget.
func compiled(c *Check, family *module.Module, cases []block) {
	for i, b := range cases {
		in, err := family.Instantiate(b.valuation())
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		s, err := SimulateModule(in, Compiled, Budget{}, b.inputs(), []*graph.Tensor{b.seed()})
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		for _, n := range slices.Concat(s.Forward.Nodes, s.Reverse.Nodes) {
			if c.measure(math.Max(n.Local, n.Error)); !n.Holds {
				c.fail("case %d, %s %s: error %.3e", i, n.Op, n.Name, n.Error)
			}
		}
	}
}

// sequential holds the errors of the float32 runs against what the propagation of stage errors predicts.
func sequential(c *Check, family *module.Module, cases []block, pick func(BlockErrors) (observed, predicted float64)) {
	for i, b := range cases {
		e, err := b.single().observe(family)
		if err != nil {
			c.fail("case %d: %v", i, err)
			continue
		}
		observed, predicted := pick(e)
		c.Cases++
		c.Errors, c.Predicted = append(c.Errors, observed), append(c.Predicted, predicted)
		c.Largest, c.Tolerance = math.Max(c.Largest, observed), math.Max(c.Tolerance, predicted)
		if !(observed <= predicted) {
			c.fail("case %d: observed %.3e, predicted %.3e", i, observed, predicted)
		}
	}
	c.Notes = append(c.Notes, "the tolerance shown is the largest prediction; each case is held against its own")
}

// observe runs the block in both float types.
func (b block) observe(family *module.Module) (BlockErrors, error) {
	e, err := b.predict()
	if err != nil {
		return e, err
	}
	var y, x [2]*graph.Tensor
	for k, float := range []graph.DType{graph.Float64, graph.Float32} {
		in, err := family.InstantiateOf(b.valuation(), float)
		if err != nil {
			return e, err
		}
		named := map[string]*graph.Tensor{}
		for name, t := range b.named() {
			named[name] = withFloat(t, float)
		}
		run, err := in.Forward(named)
		if err != nil {
			return e, err
		}
		ct, err := run.Reverse(run.Tape, withFloat(b.seed(), float))
		if err != nil {
			return e, err
		}
		y[k], x[k] = run.Outputs[0], ct["X"]
	}
	e.ObservedY, e.ObservedX = distance(y[0], y[1]), distance(x[0], x[1])
	return e, nil
}

func distance(x, y *graph.Tensor) float64 {
	d := 0.0
	for i := range x.F {
		d = math.Max(d, math.Abs(x.F[i]-y.F[i]))
	}
	return d
}

// costs counts the blocks of several sizes.
func (r *Result) costs(c *Check, family *module.Module) {
	for _, size := range [][2]int{{1, 1}, {2, 3}, {3, 4}, {32, 64}} {
		v := module.Valuation{"B": size[0], "d": size[1]}
		in, err := family.Instantiate(v)
		if err != nil {
			c.fail("%v", err)
			continue
		}
		objective, err := family.Objective(v)
		if err != nil {
			c.fail("%v", err)
			continue
		}
		cost := in.Cost()
		row := CostRow{Module: family.Name, B: size[0], D: size[1], Cost: cost, Total: cost.Total(), Bound: cost.Bound(),
			Gradient: graph.Gradient(objective, []int{0, 1, 2}).Operations(), HVP: graph.HVP(objective, []int{0, 1, 2}).Operations()}
		r.Costs = append(r.Costs, row)
		c.expect(float64(row.Total) <= row.Bound, "B %d, d %d: %d operations, bound %v", row.B, row.D, row.Total, row.Bound)
		c.expect(row.HVP <= 4*row.Gradient, "B %d, d %d: a Hessian-vector product takes %d operations, a gradient %d", row.B, row.D, row.HVP, row.Gradient)
	}
}
