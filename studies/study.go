package studies

import (
	"unicode/utf8"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/studies/source"
)

// What is wrong with a study is told as of any text.
type (
	Error  = source.Error
	Errors = source.Errors
	Place  = source.Place
)

// Study is a study file as it was read: checked, with arrays made, data loaded and defaults filled
// in. Lists are in the order of the file.
type Study struct {
	File  string // as the caller named it
	Text  string // as it was read, with the settings of Apply put in place
	Title string
	Kind  Kind

	Constants  []Quantity
	Data       []Quantity // constants that were read from files
	Parameters []Quantity // θ

	Define    []Definition
	Responses []DeclaredResponse // of some of Define
	State     []Block
	Branches  []Branch
	Equations []Definition // of a root: R, row by row; of a fixed point: G, one for each block in the order of State
	Objective []Definition

	Chain   *ChainSettings   // of kind chain, whose Equations are F and whose Objective is that of the last state
	Program *ProgramSettings // of kind program, which has no state

	Domain   *Domain // nil without [domain]
	Bounds   *Bounds // nil without [bounds]
	Steps    []int   // the values of K, ascending; nil without [iterate]
	Implicit Implicit
	Sweep    Sweep
	Expect   graph.Status // "" without [expect]

	settings []string // of Apply
	files    files
	path     string
	tree     *source.Node
	digests  map[string]string // of arrays, by name
}

// Quantity is a named value.
type Quantity struct {
	Name  string
	Value Array
	Place Place // of the name
}

// Definition is a named formula.
type Definition struct {
	Name    string
	Formula Formula
	Place   Place // of the name
}

// Block is a part of the state with its start z₀(θ).
type Block struct {
	Name  string
	Start Formula
	Place Place
}

// Branch is a further start, with one formula for each block in the order of State.
type Branch struct {
	Name   string
	Starts []Formula
	Place  Place
}

// Domain is D: the ball of a radius about the computed solution.
type Domain struct {
	Radius  float64   `json:"radius"`
	Norm    string    `json:"norm"`    // "1", "2", "inf" or "weighted-inf"
	Weights []float64 `json:"weights"` // of weighted-inf: positive, one for each entry of the state
}

// Bounds says where the constants of the contraction bounds come from.
type Bounds struct {
	Declared bool    // formulas below; otherwise the constants are estimated over D
	Q        Formula // contraction factor
	LZ       Formula // Lipschitz constant of G_z in z
	LTheta   Formula // Lipschitz constant of G_θ in z
}

// Implicit holds the settings of the solve for the exact branch.
type Implicit struct {
	Tolerance     float64 `json:"tolerance"`
	MaxIterations int     `json:"max_iterations"`
	Solver        string  `json:"solver"`
}

// ChainSettings are what a chain has beside its state and its transitions.
type ChainSettings struct {
	Steps    Formula // T, or its limit
	Until    Formula // a condition; without text, T is known
	Running  Formula // the running term; without text, there is none
	Controls []Control
	Schedule Schedule
	Hessian  []Quantity // the direction; nil: no Hessian
}

// Control is an input with an entry of a shape for each step.
type Control struct {
	Name  string
	Shape []int
	Start Formula
	Place Place
}

// Schedule says which checkpoint schedules run.
type Schedule struct {
	Methods []string `json:"methods"`
	Slots   []int    `json:"slots"`
	Budgets []int    `json:"budgets"` // empty: the least
	Disk    *Disk    `json:"disk"`    // of two-tier
	Memory  int64    `json:"memory"`  // bytes, instead of methods; 0: none
	// Repetitions is how often each schedule runs again, to be measured.
	Repetitions int `json:"repetitions"`

	BudgetsPlace Place `json:"-"` // zero without budgets
	MemoryPlace  Place `json:"-"` // zero without memory
}

// Disk is what a two-tier schedule knows of the disk; costs are in steps.
type Disk struct {
	Slots int     `json:"slots"`
	Write float64 `json:"write"`
	Read  float64 `json:"read"`
}

// Formula is the text of a formula and its place in the file. A number that was written without
// quotes is here exactly as it was written.
type Formula struct {
	Text  string
	Key   string // dotted key that holds it
	Place Place  // with its quotes
}

// At returns the place of the bytes from ≤ i < to of the formula's text, whatever kind of TOML
// string holds it.
func (f Formula) At(from, to int) Place {
	raw := f.Place.Raw()
	if raw == "" {
		return f.Place
	}
	if raw[0] == '"' || raw[0] == '\'' {
		_, offsets := source.Unquote(raw)
		last := len(offsets) - 1
		from, to = max(0, min(from, last)), max(0, min(to, last))
		from, to = offsets[from], offsets[to]
	}
	from = max(0, min(from, len(raw)))
	to = max(from, min(to, len(raw)))
	if to == from && to < len(raw) { // a caret stands under something
		_, width := utf8.DecodeRuneInString(raw[to:])
		to += width
	}
	return f.Place.Part(from, to)
}

// Errorf makes an error about the bytes from ≤ i < to of the formula. Hint may be empty.
func (f Formula) Errorf(from, to int, hint, format string, args ...any) *Error {
	e := f.At(from, to).Errorf(f.Key, format, args...)
	e.Hint = hint
	return e
}
