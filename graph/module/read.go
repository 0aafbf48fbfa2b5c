package module

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Read reads a module strictly: a field that is unknown, missing, given twice or of another type is refused with
// its place. The module is checked, too, for all valuations of its dimensions.
func Read(document []byte) (*Module, error) {
	m, err := parse(document)
	if err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, nil
}

// parse is Read without the check.
func parse(document []byte) (m *Module, err error) {
	root, err := parseTree(document)
	if err != nil {
		return nil, err
	}
	r := reader{document}
	defer func() { // a reader reports the first mistake by panicking with it
		switch e := recover().(type) {
		case nil:
		case *SyntaxError:
			m, err = nil, e
		default:
			panic(e)
		}
	}()
	m = &Module{}
	r.object(root, "the module", map[string]func(tree){
		"name":    func(t tree) { m.Name = r.string(t, "name") },
		"inputs":  func(t tree) { r.list(t, "inputs", func(t tree) { m.Inputs = append(m.Inputs, r.input(t)) }) },
		"nodes":   func(t tree) { m.Nodes = r.nodes(t) },
		"outputs": func(t tree) { m.Outputs = r.strings(t, "outputs") },
	}, "name", "inputs", "nodes", "outputs")
	return m, nil
}

type reader struct{ document []byte }

func (r reader) fail(t tree, format string, args ...any) {
	panic(syntaxError(r.document, t.offset, format, args...))
}

func (r reader) want(t tree, what, kind string) {
	if t.kind != kind {
		r.fail(t, "%s wants %s, has %s", what, article(kind), article(t.kind))
	}
}

func article(noun string) string {
	if noun == "object" {
		return "an " + noun
	}
	return "a " + noun
}

func (r reader) object(t tree, what string, fields map[string]func(tree), required ...string) {
	r.want(t, what, "object")
	seen := map[string]bool{}
	for _, f := range t.fields {
		read, ok := fields[f.name]
		if !ok {
			r.fail(f.tree, "%s has the unknown field %q", what, f.name)
		}
		read(f.tree)
		seen[f.name] = true
	}
	for _, name := range required {
		if !seen[name] {
			r.fail(t, "%s has no field %q", what, name)
		}
	}
}

func (r reader) list(t tree, what string, item func(tree)) {
	r.want(t, what, "list")
	for _, i := range t.items {
		item(i)
	}
}

func (r reader) string(t tree, what string) string {
	r.want(t, what, "string")
	return t.text
}

func (r reader) strings(t tree, what string) []string {
	out := []string{}
	r.list(t, what, func(t tree) { out = append(out, r.string(t, "an entry of "+what)) })
	return out
}

// named describes an entry by its name, if it has one, so that mistakes within it can be told apart.
func named(t tree, kind string) string {
	for _, f := range t.fields {
		if f.name == "name" && f.tree.kind == "string" {
			return fmt.Sprintf("%s %q", kind, f.tree.text)
		}
	}
	return "a " + strings.TrimPrefix(kind, "an ")
}

func (r reader) input(t tree) Input {
	var in Input
	what := named(t, "input")
	r.object(t, what, map[string]func(tree){
		"name":  func(t tree) { in.Name = r.string(t, "name") },
		"dtype": func(t tree) { in.DType = r.string(t, "dtype of "+what) },
		"shape": func(t tree) {
			in.Shape = []Dim{}
			r.list(t, "the shape of "+what, func(t tree) { in.Shape = append(in.Shape, r.dim(t, what)) })
		},
		"parameter": func(t tree) {
			r.want(t, "parameter of "+what, "boolean")
			in.Parameter = t.text == "true"
		},
	}, "name", "shape")
	return in
}

func (r reader) dim(t tree, what string) Dim {
	if t.kind == "string" {
		return Dim{Name: t.text}
	}
	r.want(t, "a dimension of "+what, "number")
	n, err := strconv.Atoi(t.text)
	if err != nil {
		r.fail(t, "%s: dimension %s is no integer that fits", what, t.text)
	}
	return Dim{Size: n}
}

func (r reader) nodes(t tree) []Node {
	out := []Node{}
	r.list(t, "nodes", func(t tree) {
		var n Node
		what := named(t, "node")
		r.object(t, what, map[string]func(tree){
			"name":      func(t tree) { n.Name = r.string(t, "name") },
			"primitive": func(t tree) { n.Primitive = r.string(t, "primitive of "+what) },
			"operands":  func(t tree) { n.Operands = r.strings(t, "operands of "+what) },
			"attributes": func(t tree) {
				r.want(t, "attributes of "+what, "object")
				for _, f := range t.fields {
					n.Attributes = append(n.Attributes, r.attribute(f, what))
				}
			},
			"response": func(t tree) { n.Response = r.response(t, what) },
		}, "name", "primitive", "operands")
		out = append(out, n)
	})
	return out
}

func (r reader) response(t tree, what string) *Response {
	var out Response
	what = "the response of " + what
	r.object(t, what, map[string]func(tree){
		"operands": func(t tree) { out.Operands = r.strings(t, "operands of "+what) },
		"seed":     func(t tree) { out.Seed = r.string(t, "seed of "+what) },
		"nodes":    func(t tree) { out.Nodes = r.nodes(t) },
		"outputs":  func(t tree) { out.Outputs = r.strings(t, "outputs of "+what) },
	}, "operands", "seed", "nodes", "outputs")
	return &out
}

func (r reader) attribute(f field, what string) Attribute {
	a := Attribute{Name: f.name, List: f.tree.kind == "list"}
	items := []tree{f.tree}
	if a.List {
		items = f.tree.items
	}
	for _, t := range items {
		a.Values = append(a.Values, r.value(t, fmt.Sprintf("%s: attribute %q", what, f.name)))
	}
	return a
}

func (r reader) value(t tree, what string) Value {
	switch t.kind {
	case "string":
		return Value{Kind: Name, Name: t.text}
	case "boolean":
		if t.text == "true" {
			return Value{Kind: Flag, Int: 1}
		}
		return Value{Kind: Flag}
	case "number":
		if t.text == "-0" { // a real number, whose sign counts
			return Value{Kind: Real, Real: math.Copysign(0, -1)}
		}
		if n, err := strconv.Atoi(t.text); err == nil {
			return Value{Kind: Integer, Int: n}
		} else if !strings.ContainsAny(t.text, ".eE") {
			r.fail(t, "%s: %s is an integer that does not fit", what, t.text)
		}
		x, err := strconv.ParseFloat(t.text, 64)
		if err != nil || x == 0 && strings.Trim(strings.FieldsFunc(t.text, func(r rune) bool { return r == 'e' || r == 'E' })[0], "-0.") != "" {
			r.fail(t, "%s: %s is no float64", what, t.text)
		}
		if math.IsInf(x, 0) {
			r.fail(t, "%s: %s is beyond float64", what, t.text)
		}
		return Value{Kind: Real, Real: x}
	}
	r.fail(t, "%s wants numbers, names or flags, has a %s", what, t.kind)
	return Value{}
}
