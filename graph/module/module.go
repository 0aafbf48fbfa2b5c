package module

import (
	"fmt"
	"slices"
	"strconv"
)

// Module is a module as it is written: nothing of it is checked until Check or Instantiate.
type Module struct {
	Name    string
	Inputs  []Input
	Nodes   []Node
	Outputs []string
}

// Input is a named input. Parameter marks it as one; it is an ordinary input all the same.
type Input struct {
	Name      string
	DType     string // "" for real numbers, "i64" or "bool"
	Shape     []Dim
	Parameter bool
}

// Node is one operation: a fresh name, a primitive, names of operands and attributes.
type Node struct {
	Name       string
	Primitive  string
	Operands   []string
	Attributes []Attribute
	Response   *Response // the declared response, or nil for the primitive's own
}

// Response is a declared response: nodes that compute, from the operands (under names of its own) and the
// seed, one cotangent for each operand.
type Response struct {
	Operands []string
	Seed     string
	Nodes    []Node
	Outputs  []string
}

// Dim is a dimension: a positive integer, or a name where Name is not empty.
type Dim struct {
	Name string
	Size int
}

func (d Dim) String() string {
	if d.Name != "" {
		return d.Name
	}
	return strconv.Itoa(d.Size)
}

// Size is the dimension of a fixed size.
func Size(n int) Dim { return Dim{Size: n} }

// Attribute is a static parameter of a node: one value, or a list.
type Attribute struct {
	Name   string
	List   bool
	Values []Value
}

// Value is an entry of an attribute.
type Value struct {
	Kind ValueKind
	Name string // of a Name
	Int  int    // of an Integer, or a Flag (0 or 1)
	Real float64
}

// ValueKind says which field of a Value holds.
type ValueKind uint8

const (
	Integer ValueKind = iota
	Real
	Name
	Flag
)

// Error is a refusal: it names the input, node or output at fault and says why.
type Error struct {
	Module string
	Place  string // such as `node "h"`
	Reason string
	// Needs is the equation between dimensions that would have to hold, where one is at fault.
	Needs string
}

func (e *Error) Error() string {
	text := "module " + e.Module + ": "
	if e.Place != "" {
		text += e.Place + ": "
	}
	text += e.Reason
	if e.Needs != "" {
		text += ": needs " + e.Needs
	}
	return text
}

func (m *Module) refuse(place, format string, args ...any) *Error {
	return &Error{Module: m.Name, Place: place, Reason: fmt.Sprintf(format, args...)}
}

func place(kind, name string) string { return fmt.Sprintf("%s %q", kind, name) }

// Parameters lists the positions of the inputs that are parameters.
func (m *Module) Parameters() []int {
	var out []int
	for i, in := range m.Inputs {
		if in.Parameter {
			out = append(out, i)
		}
	}
	return out
}

// Dimensions lists the dimension names of the module, sorted. A module without any is one module, not a family.
func (m *Module) Dimensions() []string {
	var names []string
	for _, in := range m.Inputs {
		for _, d := range in.Shape {
			names = append(names, d.Name)
		}
	}
	var visit func(nodes []Node)
	visit = func(nodes []Node) {
		for _, n := range nodes {
			for _, a := range n.Attributes {
				for _, v := range a.Values {
					names = append(names, v.Name)
				}
			}
			if n.Response != nil {
				visit(n.Response.Nodes)
			}
		}
	}
	visit(m.Nodes)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	return names
}
