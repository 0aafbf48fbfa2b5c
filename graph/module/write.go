package module

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Write writes the canonical text of a module: fields in one order, one input and one node a line, attributes
// in the order of the primitive, what is absent left out. Read gives the module back.
func (m *Module) Write() []byte {
	var s strings.Builder
	s.WriteString("{\n  \"name\": " + quote(m.Name) + ",\n  \"inputs\": ")
	lines(&s, len(m.Inputs), func(i int) string { return m.Inputs[i].text() })
	s.WriteString(",\n  \"nodes\": ")
	lines(&s, len(m.Nodes), func(i int) string { return m.Nodes[i].text() })
	s.WriteString(",\n  \"outputs\": " + quotes(m.Outputs) + "\n}\n")
	return []byte(s.String())
}

func lines(s *strings.Builder, n int, line func(int) string) {
	if n == 0 {
		s.WriteString("[]")
		return
	}
	s.WriteString("[")
	for i := range n {
		if i > 0 {
			s.WriteString(",")
		}
		s.WriteString("\n    " + line(i))
	}
	s.WriteString("\n  ]")
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

func quotes(list []string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = quote(s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (in Input) text() string {
	s := `{"name": ` + quote(in.Name)
	if in.DType != "" {
		s += `, "dtype": ` + quote(in.DType)
	}
	parts := make([]string, len(in.Shape))
	for i, d := range in.Shape {
		if parts[i] = d.String(); d.Name != "" {
			parts[i] = quote(d.Name)
		}
	}
	s += `, "shape": [` + strings.Join(parts, ", ") + "]"
	if in.Parameter {
		s += `, "parameter": true`
	}
	return s + "}"
}

func (n Node) text() string {
	s := `{"name": ` + quote(n.Name) + `, "primitive": ` + quote(n.Primitive) + `, "operands": ` + quotes(n.Operands)
	if len(n.Attributes) > 0 {
		var parts []string
		for _, a := range n.ordered() {
			parts = append(parts, quote(a.Name)+": "+a.text())
		}
		s += `, "attributes": {` + strings.Join(parts, ", ") + "}"
	}
	if r := n.Response; r != nil {
		var parts []string
		for _, inner := range r.Nodes {
			parts = append(parts, inner.text())
		}
		s += `, "response": {"operands": ` + quotes(r.Operands) + `, "seed": ` + quote(r.Seed) +
			`, "nodes": [` + strings.Join(parts, ", ") + `], "outputs": ` + quotes(r.Outputs) + "}"
	}
	return s + "}"
}

// ordered returns the attributes in the order in which the primitive declares them.
func (n Node) ordered() []Attribute {
	var out []Attribute
	known := map[string]bool{}
	if p := primitives[n.Primitive]; p != nil {
		for _, spec := range p.attrs {
			known[spec.name] = true
			for _, a := range n.Attributes {
				if a.Name == spec.name {
					out = append(out, a)
				}
			}
		}
	}
	for _, a := range n.Attributes {
		if !known[a.Name] {
			out = append(out, a)
		}
	}
	return out
}

func (a Attribute) text() string {
	parts := make([]string, len(a.Values))
	for i, v := range a.Values {
		switch v.Kind {
		case Integer:
			parts[i] = strconv.Itoa(v.Int)
		case Real:
			if parts[i] = strconv.FormatFloat(v.Real, 'g', -1, 64); !strings.ContainsAny(parts[i], ".e") {
				parts[i] += ".0"
			}
		case Name:
			parts[i] = quote(v.Name)
		case Flag:
			parts[i] = strconv.FormatBool(v.Int != 0)
		}
	}
	if !a.List {
		return strings.Join(parts, "")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
