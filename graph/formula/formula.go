// Package formula lowers formulas, the text in which people write their mathematics, to programs.
//
//	speed - dt * (sin(angle) + damping * speed - u[j])
//
// A formula is parsed once and lowered, as operations appended to a graph.Builder, over a Scope
// that says which value each name stands for. Numbers are decimals, each rounded once to float64.
// A scalar combines with a tensor entry by entry; any other mismatch of shapes is an error, since
// broadcasting of tensors is explicit. Operators, from the loosest:
//
//	c ? a : b          a where c holds, b elsewhere; the arm not taken has no domain
//	||                 or
//	&&                 and
//	== != < <= > >=    comparisons, which do not chain
//	+ -                sum and difference
//	!                  not
//	* /                product and quotient, entry by entry
//	-x +x
//	^                  power, from the right: -x^2 is -(x^2) and 2^3^2 is 2^9
//	x[i] x[i:j] f(x)   entries and slices from 0, negative from the end; A[i] is row i of a matrix
//
// [a, b, 2] is a vector, [[a, b], [c, d]] a matrix, pi is predefined, and Functions lists the
// functions. Arithmetic of numbers alone is carried out here, with the rounding that the program
// would have. Every error is an *Error that points into the text.
package formula

import (
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/lensir/lensir-study/graph"
)

// Scope says which value a name stands for. An int64 value is a whole number, such as a step
// index: it selects entries, and turns into a float where it meets one.
type Scope map[string]graph.Value

// Error says what is wrong with a formula and where: the Length bytes of its text from Offset.
type Error struct {
	Offset, Length int
	Message        string
	Hint           string // what to write instead, or ""
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Name is the use of a name in a formula, with its byte offset.
type Name struct {
	Name   string
	Offset int
}

// Formula is a formula whose syntax is right.
type Formula struct {
	source *source
	root   ast.Node
}

// Parse reads a formula. An error is an *Error.
func Parse(text string) (*Formula, error) {
	s, fault := scan(text)
	if fault != nil {
		return nil, fault
	}
	root, fault := s.parse()
	if fault != nil {
		return nil, fault
	}
	return &Formula{s, root}, nil
}

// FreeNames lists the first use of each name that a scope must give, in order.
func (f *Formula) FreeNames() []Name {
	var names []Name
	seen := map[string]bool{"pi": true}
	for _, n := range f.source.names {
		if !seen[n.Name] {
			seen[n.Name] = true
			names = append(names, n)
		}
	}
	return names
}

// Lower appends the operations of a formula to b and returns its value: a float64 scalar or
// tensor, or a boolean for a condition. An error is an *Error; b is then of no further use.
//
// swept are arrays of the scope with an entry for each value of a step index. What c ? a : b, && or ||
// chooses between does not guard the index of such an entry: it is there at every step, so that an arm
// reads the same one whether it is taken or not.
func (f *Formula) Lower(b *graph.Builder, scope Scope, swept ...graph.Value) (graph.Value, error) {
	l := &lowerer{b: b, scope: scope, source: f.source, swept: swept}
	x, fault := l.lower(f.root, unguarded)
	if fault != nil {
		return graph.None, fault
	}
	return l.result(x), nil
}

// Lower is Parse, then Formula.Lower.
func Lower(b *graph.Builder, scope Scope, text string) (graph.Value, error) {
	f, err := Parse(text)
	if err != nil {
		return graph.None, err
	}
	return f.Lower(b, scope)
}

// Reserved reports whether a name has a meaning of its own in every formula and cannot be given to a value.
func Reserved(name string) bool {
	_, isWord := words[name]
	return isWord || name == "pi" || functionNamed(name) != nil
}

// names lists the names of the scope.
func (s Scope) names() []string { return slices.Sorted(maps.Keys(s)) }
