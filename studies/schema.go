package studies

import (
	"github.com/lensir/lensir-study/graph"
)

// Kind says what a study states.
type Kind string

const (
	Root       Kind = "root"        // a residual map R(z, θ) = 0
	FixedPoint Kind = "fixed-point" // a contraction z = G(z, θ)
	Chain      Kind = "chain"       // transitions x_{j+1} = F(x_j, θ, u[j], j)
	Program    Kind = "program"     // a module, or named formulas
)

// want is the type of value that a key takes.
type want int

const (
	wantTable      want = iota // a section, or an inline table
	wantText                   // a string
	wantChoice                 // one of the row's choices
	wantFormula                // a formula in quotes, or a bare number
	wantPositive               // a finite number above 0
	wantNumber                 // a finite number
	wantCount                  // a whole number from 0
	wantShape                  // a whole number, or a list of them
	wantRange                  // [first, last, how many]
	wantPair                   // two numbers
	wantDraw                   // the law of a sampled name
	wantRows                   // [first, end]
	wantArray                  // a number, a vector, a matrix, or a made array
	wantList                   // a list of numbers, or a made list
	wantColumns                // a name, or a list of names
	wantScale                  // "standard", or a table
	wantWords                  // a list of the row's choices
	wantNames                  // a name, or a list of names
	wantSeed                   // an array, or a formula
	wantDefinition             // a formula, or a table with a declared response
	wantObjective              // a formula, or a table
	wantSize                   // a number of bytes with its unit
)

// wants names each type as messages and the reference page do.
var wants = map[want]string{
	wantTable:      "a table",
	wantText:       "a string",
	wantChoice:     "one of the words",
	wantFormula:    "a formula in quotes",
	wantPositive:   "a positive number",
	wantNumber:     "a number",
	wantCount:      "a whole number",
	wantShape:      "a whole number or a list of whole numbers",
	wantRange:      "[first, last, how many]",
	wantPair:       "two numbers",
	wantDraw:       "a law",
	wantRows:       "[first, end]",
	wantArray:      "a number, a vector, a matrix or a made array",
	wantList:       "a list of numbers or a made list",
	wantColumns:    "a column name or a list of them",
	wantScale:      `"standard" or { standard = [first, end] }`,
	wantWords:      "a list of words",
	wantNames:      "a name or a list of names",
	wantDefinition: `a formula in quotes, or { value = "…", response = { … } }`,
	wantSeed:       "a number, an array, a made array, or a formula in quotes",
	wantObjective:  `a formula in quotes, or { terminal = "…", running = "…" }`,
	wantSize:       `a size such as "2GiB"`,
}

// forms names the rows that describe the table which a type also takes.
var forms = map[want]string{wantArray: "(array)", wantSeed: "(array)", wantList: "(list)", wantDraw: "(law)"}

// row is one line of the schema.
type row struct {
	path      string   // dotted; <name> stands for any name; (form) is a table that several keys take
	want      want     //
	kinds     []Kind   // the kinds of study that take the key; empty means all
	choices   []string // of wantChoice
	required  bool     // in its table
	least     int      // of wantCount
	byDefault string   // the value of an absent key, as it would be written
	example   string
	meaning   string
}

var (
	fixedPoint = []Kind{FixedPoint}
	root       = []Kind{Root}
	equations  = []Kind{Root, FixedPoint}
	chain      = []Kind{Chain}
	programs   = []Kind{Program}
	stateful   = []Kind{Root, FixedPoint, Chain}
)

// schema is every key of a study file, in the order of the reference page.
var schema = []row{
	{path: "title", want: wantText, example: `"Kepler's equation"`,
		meaning: "What the study shows, in one line."},
	{path: "kind", want: wantChoice, choices: []string{string(Root), string(FixedPoint), string(Chain), string(Program)}, required: true, example: `"root"`,
		meaning: "What the study states: `root`, a residual map R(z, θ) = 0; `fixed-point`, a contraction z = G(z, θ); `chain`, steps x_{j+1} = F(x_j, θ, u[j], j), j = 0, …, T−1; `program`, a module of the typed tensor language, or formulas, and transformations of it."},

	{path: "constants", want: wantTable,
		meaning: "Numbers and arrays that are not differentiated."},
	{path: "constants.<name>", want: wantArray, example: "0.5",
		meaning: "A constant."},
	{path: "parameters", want: wantTable,
		meaning: "θ, the numbers and arrays that derivatives are taken with respect to."},
	{path: "parameters.<name>", want: wantArray, example: "[0.1, -0.2]",
		meaning: "A parameter."},
	{path: "data", want: wantTable,
		meaning: "Constants that are read from files. Rows are counted from 0; a header line is not a row."},
	{path: "data.<name>", want: wantTable, example: `{ file = "data/longley.csv", columns = ["GNP", "Unemployed"] }`,
		meaning: "A vector or a matrix from a file."},
	{path: "data.<name>.file", want: wantText, required: true, example: `"data/longley.csv"`,
		meaning: "A `.csv` file whose first line names the columns, or a `.npy` file; found from the folder of the study."},
	{path: "data.<name>.columns", want: wantColumns, example: `["GNP", "Unemployed"]`,
		meaning: "The columns of a CSV file: one name makes a vector, a list of names a matrix with these columns in this order."},
	{path: "data.<name>.rows", want: wantRows, example: "[0, 12]",
		meaning: "Only the rows from the first up to, and without, the end. All rows when absent."},
	{path: "data.<name>.scale", want: wantScale, example: `"standard"`,
		meaning: "`standard` subtracts from each column its mean and divides by its standard deviation (the root of the mean square), both over the rows that are read."},
	{path: "data.<name>.scale.standard", want: wantRows, required: true, example: "[0, 12]",
		meaning: "Takes mean and standard deviation over these rows of the file instead, so that held-out rows are scaled like the training rows."},

	{path: "define", want: wantTable,
		meaning: "Named formulas, which other formulas may use in any order but a circle. One that nothing uses is refused."},
	{path: "define.<name>", want: wantDefinition, example: `"matmul(W, z) + b"`,
		meaning: "An intermediate value. A table gives it a derivative of your own: what depends on it says so in the column `declared`."},
	{path: "define.<name>.value", want: wantFormula, required: true, example: `"round(x)"`,
		meaning: "The value."},
	{path: "define.<name>.response", want: wantTable, required: true, example: `{ x = "seed" }`,
		meaning: "The declared response: how a cotangent of the value goes back to the names that it reads."},
	{path: "define.<name>.response.<operand>", want: wantFormula, example: `"seed"`,
		meaning: "The cotangent of a name that the value reads, a formula that is linear in `seed`, the cotangent of the value. It is 0 for names that are not given."},
	{path: "state", want: wantTable, kinds: stateful, required: true,
		meaning: "The blocks of the state z (of a chain: x), in order."},
	{path: "state.<block>", want: wantTable, kinds: stateful, example: `{ start = "0 * b" }`,
		meaning: "A block of the state."},
	{path: "state.<block>.start", want: wantFormula, kinds: stateful, required: true, example: `"0"`,
		meaning: "z₀(θ) (of a chain: x₀(θ)), a formula of constants, data and parameters; its shape is the block's."},
	{path: "branches", want: wantTable, kinds: equations,
		meaning: "Further starts, each solved by itself."},
	{path: "branches.<branch>", want: wantTable, kinds: equations, example: `{ z = "-1" }`,
		meaning: "A start by another name."},
	{path: "branches.<branch>.<block>", want: wantFormula, kinds: equations, example: `"-1"`,
		meaning: "The block's start on this branch. A block that is not given starts as in `[state]`."},
	{path: "root", want: wantTable, kinds: root, required: true,
		meaning: "R: the equations whose values shall be 0, in order. Their total size is the state's."},
	{path: "root.<equation>", want: wantFormula, kinds: root, example: `"E - e * sin(E) - M"`,
		meaning: "An equation. It may have the name of a block."},
	{path: "fixed-point", want: wantTable, kinds: fixedPoint, required: true,
		meaning: "G: one formula for each block of the state."},
	{path: "fixed-point.<block>", want: wantFormula, kinds: fixedPoint, example: `"tanh(gain * a)"`,
		meaning: "The next value of the block."},
	{path: "chain", want: wantTable, kinds: chain, required: true,
		meaning: "How many steps there are."},
	{path: "chain.steps", want: wantFormula, kinds: chain, required: true, example: "1000",
		meaning: "T, or with `until` its limit: a whole number, or a formula of scalar constants, so that a sweep can vary it."},
	{path: "chain.until", want: wantFormula, kinds: chain, example: `"norm < 1e-6"`,
		meaning: "A condition on the state and j: the chain ends at the first state x_j for which it holds."},
	{path: "next", want: wantTable, kinds: chain, required: true,
		meaning: "F: one formula for each block of the state. It may use the step index `j` and, of controls and data, the entries of the step: `u[j]`, `u[j+1]`, `X[j]`."},
	{path: "next.<block>", want: wantFormula, kinds: chain, example: `"x + dt * v"`,
		meaning: "The block of x_{j+1}."},
	{path: "controls", want: wantTable, kinds: chain,
		meaning: "Inputs with an entry for each step, differentiated as parameters are."},
	{path: "controls.<name>", want: wantTable, kinds: chain, example: `{ start = "0" }`,
		meaning: "A control, read as `u[j]` or `u[j+1]`, … . Each step has these entries also where an arm of `c ? a : b` that reads one is not taken, so that `u[j-1]` is refused and `u[j+1]` needs an entry after the last step."},
	{path: "controls.<name>.shape", want: wantShape, kinds: chain, example: "[3]",
		meaning: "The shape of one entry; a scalar when absent."},
	{path: "controls.<name>.start", want: wantFormula, kinds: chain, byDefault: "0", example: `"0"`,
		meaning: "Its value, a formula of constants and data: one number, one entry, or an array with an entry for each step."},
	{path: "objective", want: wantTable, kinds: stateful, required: true,
		meaning: "The scalars whose gradients are wanted, in order. A chain has one."},
	{path: "objective.<name>", want: wantObjective, kinds: stateful, example: `"sum(z^2)"`,
		meaning: "A scalar. Of a chain: of the last state, or a table with a running term."},
	{path: "objective.<name>.terminal", want: wantFormula, kinds: chain, byDefault: "0", example: `"x^2"`,
		meaning: "The term of the last state."},
	{path: "objective.<name>.running", want: wantFormula, kinds: chain, example: `"0.001 * u[j]^2"`,
		meaning: "The term that is summed over the steps: a formula of x_j, u[j] and j, j = 0, …, T−1."},
	{path: "hessian", want: wantTable, kinds: chain,
		meaning: "A direction v of parameters, controls and starts of blocks, the others 0: asks for the Hessian of the objective times v."},
	{path: "hessian.<name>", want: wantArray, kinds: chain, example: "1",
		meaning: "The part of v of a parameter, a control or the start of a block: an array of its shape, or a number for all entries."},
	{path: "schedule", want: wantTable, kinds: chain,
		meaning: "Which checkpoint schedules run."},
	{path: "schedule.methods", want: wantWords, kinds: chain, choices: methodNames, byDefault: `["revolve"]`, example: `["store-all", "binomial", "revolve"]`,
		meaning: "The schedules, each with every number of slots: `store-all` tapes every step and needs no slots; `uniform` saves the start of d equal blocks and replays from there for each step; `uniform-tape` tapes a block at a time; `binomial` splits the chain by slots and replays; `revolve` has the fewest replays with d slots; `online` is for a chain with `until`; `two-tier` has slots on disk too and needs `disk`."},
	{path: "schedule.slots", want: wantShape, kinds: chain, byDefault: "20", example: "[5, 10, 20]",
		meaning: "d, the most snapshots in memory, that of x₀ included."},
	{path: "schedule.budgets", want: wantShape, kinds: chain, example: "[3, 5]",
		meaning: "t, the most replays of a step, of `binomial`; the least that is enough when absent. One that is enough at no point of the sweep is refused before it runs."},
	{path: "schedule.disk", want: wantTable, kinds: chain, example: "{ slots = 8, write = 20, read = 10 }",
		meaning: "Snapshots on disk, for the method `two-tier`, in the system's folder for temporary files."},
	{path: "schedule.disk.slots", want: wantCount, least: 1, kinds: chain, required: true, example: "8",
		meaning: "The most snapshots on disk."},
	{path: "schedule.disk.write", want: wantPositive, kinds: chain, required: true, example: "20",
		meaning: "What writing a snapshot costs, in steps."},
	{path: "schedule.disk.read", want: wantPositive, kinds: chain, required: true, example: "10",
		meaning: "What reading a snapshot costs, in steps."},
	{path: "schedule.memory", want: wantSize, kinds: chain, example: `"2GiB"`,
		meaning: "The bytes of a sweep, instead of methods and slots: the schedule of the least time that fits is chosen, by the measured costs of a step. The choice and what it was chosen from are in `measurements.csv`. Bytes that are enough at no point of the sweep are refused before it runs."},
	{path: "schedule.repetitions", want: wantCount, kinds: chain, byDefault: "0", example: "5",
		meaning: "Runs each schedule so many times more, to measure its time and memory; best with `--jobs 1`."},

	{path: "program", want: wantTable, kinds: programs, required: true,
		meaning: "A program of the inputs in `[parameters]`, `[constants]` and `[data]`, and what is wanted of it. It is differentiated by the parameters."},
	{path: "program.module", want: wantText, kinds: programs, example: `"modules/tied_residual.json"`,
		meaning: "A module of the typed tensor language as a JSON file, found from the folder of the study. Each of its inputs has its value under its name."},
	{path: "program.dimensions", want: wantTable, kinds: programs, example: "{ B = 2, d = 3 }",
		meaning: "The sizes of the module's named dimensions."},
	{path: "program.dimensions.<name>", want: wantCount, least: 1, kinds: programs, example: "2",
		meaning: "A size."},
	{path: "program.outputs", want: wantTable, kinds: programs,
		meaning: "The outputs as formulas, in order, where there is no module."},
	{path: "program.outputs.<name>", want: wantFormula, kinds: programs, example: `"sin(x) * x"`,
		meaning: "An output."},
	{path: "program.results", want: wantWords, kinds: programs, choices: transformations, required: true, example: `["value", "jvp", "residuals", "cost"]`,
		meaning: "What is wanted, with outputs y = f(x), seeds γ and J = Σ⟨γ, y⟩: `value`, y; `jvp`, Df·v for each direction; `vjp`, Dfᵀγ; `gradient`, ∇J with the seeds held fixed; `jacobian`, Df; `hvp`, ∇²J·v with the seeds held fixed; `jet`, the mixed derivatives of Dfᵀγ, as the reverse pass computes it, in all subsets of the directions `jet`; `taylor`, the coefficients of f(x + tv) in t for each direction, of formulas with no other functions of what moves than `exp`, `log`, `sqrt`, `sin`, `cos`, `sinh`, `cosh`, `tanh`, `logistic`, `norm2` and those that are linear; `residuals`, the values that the linear part of Df reads; `cost`, operations and stored scalars."},
	{path: "program.seeds", want: wantTable, kinds: programs,
		meaning: "γ: a cotangent for each output that is not a scalar. The seed of a scalar is 1 when absent."},
	{path: "program.seeds.<output>", want: wantSeed, kinds: programs, example: `{ random = "uniform", shape = [2, 3], seed = 1 }`,
		meaning: "The seed of an output; a formula may depend on the inputs."},
	{path: "program.directions", want: wantTable, kinds: programs,
		meaning: "Directions v, by name."},
	{path: "program.directions.<name>", want: wantTable, kinds: programs, example: "{ x = [1, 0] }",
		meaning: "The tangent of each parameter that moves; the others stand still."},
	{path: "program.directions.<name>.<parameter>", want: wantArray, kinds: programs, example: "[1, 0]",
		meaning: "A tangent, of the parameter's shape."},
	{path: "program.jet", want: wantNames, kinds: programs, example: `["v", "v", "w"]`,
		meaning: "The directions of the jet. Their number, at most 8, is its order; a direction may appear again."},
	{path: "program.order", want: wantCount, kinds: programs, byDefault: "3",
		meaning: "The order of `taylor`, at most 100."},

	{path: "domain", want: wantTable, kinds: equations,
		meaning: "D, the convex set on which the theorems' constants hold."},
	{path: "domain.ball", want: wantTable, kinds: equations, required: true, example: `{ center = "solution", radius = 1.5, norm = "2" }`,
		meaning: "A ball."},
	{path: "domain.ball.center", want: wantChoice, kinds: equations, choices: []string{"solution"}, byDefault: `"solution"`,
		meaning: "Its centre: the computed solution."},
	{path: "domain.ball.radius", want: wantPositive, kinds: equations, required: true, example: "1.5",
		meaning: "Its radius."},
	{path: "domain.ball.norm", want: wantChoice, kinds: equations, choices: []string{"1", "2", "inf", "weighted-inf"}, byDefault: `"2"`,
		meaning: "The norm of the ball, of the state, and of every constant and bound."},
	{path: "domain.ball.weights", want: wantArray, kinds: equations, example: "[1, 0.5]",
		meaning: "w of the weighted norm maxᵢ |zᵢ|/wᵢ: one positive weight for each entry of the state; with `weighted-inf` only."},
	{path: "bounds", want: wantTable, kinds: fixedPoint,
		meaning: "The constants of the contraction bounds."},
	{path: "bounds.constants", want: wantChoice, kinds: fixedPoint, choices: []string{"estimate", "declare"}, required: true, example: `"declare"`,
		meaning: "`estimate` samples them over D; `declare` takes the three formulas below."},
	{path: "bounds.q", want: wantFormula, kinds: fixedPoint, example: `"0.5"`,
		meaning: "The contraction factor over D, a formula of constants and parameters."},
	{path: "bounds.L_z", want: wantFormula, kinds: fixedPoint, example: `"0"`,
		meaning: "The Lipschitz constant of G_z in z over D."},
	{path: "bounds.L_theta", want: wantFormula, kinds: fixedPoint, example: `"0"`,
		meaning: "The Lipschitz constant of G_θ in z over D."},
	{path: "iterate", want: wantTable, kinds: fixedPoint,
		meaning: "The derivative of the K-step iterate."},
	{path: "iterate.steps", want: wantList, kinds: fixedPoint, required: true, example: "[0, 1, 2, 5, 10]",
		meaning: "The values of K, ascending whole numbers."},
	{path: "implicit", want: wantTable, kinds: equations,
		meaning: "Settings of the solve for the exact branch."},
	{path: "implicit.tolerance", want: wantPositive, kinds: equations, byDefault: "1e-10",
		meaning: "The root is accepted when the estimated error of every entry is at most this times the largest entry of its block. An unknown that vanishes is held to max(1, ‖z‖) instead, where its error is rounding alone."},
	{path: "implicit.max_iterations", want: wantCount, least: 1, kinds: equations, byDefault: "100",
		meaning: "The most Newton iterations."},
	{path: "implicit.solver", want: wantChoice, kinds: equations, choices: []string{"dense"}, byDefault: `"dense"`,
		meaning: "The linear solver."},

	{path: "sweep", want: wantTable,
		meaning: "Values that constants and parameters take in turn: one of `[sweep.grid]`, `[sweep.zip]` and `[sweep.sample]`."},
	{path: "sweep.grid", want: wantTable,
		meaning: "All combinations; the last name varies fastest."},
	{path: "sweep.grid.<name>", want: wantList, example: "[0.5, 1.0, 1.5]",
		meaning: "The values of a scalar constant or parameter."},
	{path: "sweep.zip", want: wantTable,
		meaning: "The first values together, then the second ones, and so on: lists of one length."},
	{path: "sweep.zip.<name>", want: wantList, example: "{ linspace = [0, 1, 11] }",
		meaning: "The values of a scalar constant or parameter."},
	{path: "sweep.sample", want: wantTable,
		meaning: "Points drawn at random: each name by its own law, independently of the others."},
	{path: "sweep.sample.points", want: wantCount, least: 1, required: true, example: "100",
		meaning: "How many points."},
	{path: "sweep.sample.seed", want: wantCount, byDefault: "1",
		meaning: "The seed of the draws."},
	{path: "sweep.sample.<name>", want: wantDraw, example: "{ uniform = [0.1, 0.9] }",
		meaning: "The law of a scalar constant or parameter."},
	{path: "expect", want: wantTable,
		meaning: "Makes a refusal the success of the study."},
	{path: "expect.status", want: wantChoice, choices: statuses, required: true, example: `"SINGULAR_STATE_JACOBIAN"`,
		meaning: "The status that every point shall end with."},

	{path: "(array).random", want: wantChoice, choices: []string{"normal", "uniform"}, example: `"normal"`,
		meaning: "Seeded random entries: `normal` with mean 0 and variance 1, `uniform` on (−1, 1)."},
	{path: "(array).shape", want: wantShape, example: "[8, 8]",
		meaning: "With `random`: the shape; a number makes a vector."},
	{path: "(array).seed", want: wantCount, example: "1",
		meaning: "With `random`: the seed."},
	{path: "(array).norm2", want: wantPositive, example: "0.5",
		meaning: "With `random`: the entries are scaled to this 2-norm (of a matrix: spectral)."},
	{path: "(array).scale", want: wantNumber, example: "0.1",
		meaning: "With `random`: the entries are multiplied by this."},
	{path: "(array).linspace", want: wantRange, example: "[0, 1, 11]",
		meaning: "Equally spaced numbers, both ends included."},
	{path: "(array).zeros", want: wantShape, example: "[3, 3]",
		meaning: "Zeros of this shape."},
	{path: "(array).identity", want: wantCount, example: "3",
		meaning: "The identity matrix of this size."},
	{path: "(law).uniform", want: wantPair, example: "[0.1, 0.9]",
		meaning: "Uniform between the two ends."},
	{path: "(law).loguniform", want: wantPair, example: "[1e-3, 1]",
		meaning: "The logarithm is uniform between those of the two ends, which are positive."},
	{path: "(law).normal", want: wantPair, example: "[0, 1]",
		meaning: "Normal with this mean and standard deviation."},
	{path: "(list).linspace", want: wantRange, example: "[0, 1, 11]",
		meaning: "Equally spaced numbers, both ends included."},
	{path: "(list).logspace", want: wantRange, example: "[1e-3, 1, 4]",
		meaning: "Numbers in equal ratios, both ends included; the ends are the values themselves, not exponents."},
}

// statuses are what a point can end with.
var statuses = []string{
	string(graph.OK), string(graph.IteratesDifferentiated), string(graph.DomainError), string(graph.Nondifferentiable),
	string(graph.NonFinite), string(graph.NotConverged), string(graph.SingularStateJacobian), string(graph.AdjointNotConverged),
	string(graph.ScheduleFailure), string(graph.OutOfBudget),
}
