package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the canonical text of a program, which Parse reads back:
//
//	program f(x: f64[3]) -> f64[3] {
//	  a: f64[3] = sin x
//	  b: f64[3] = mul a x
//	  return b
//	}
//
// A linear program starts with "linear", and its residuals stand before the semicolon.
func (p *Program) String() string {
	names := p.Names()
	var s strings.Builder
	keyword, separator := "program", ""
	if p.IsLinear() {
		keyword, separator = "linear", ";"
	}
	fmt.Fprintf(&s, "%s %s(", keyword, p.Name)
	for i, in := range p.Inputs {
		if in.Linear && separator == ";" {
			s.WriteString(";")
			if i > 0 {
				s.WriteString(" ")
			}
			separator = ""
		} else if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%s: %v", in.Name, in.Type)
	}
	s.WriteString(") -> ")
	types := make([]string, len(p.Outputs))
	returned := make([]string, len(p.Outputs))
	for i, v := range p.Outputs {
		types[i], returned[i] = p.Type(v).String(), names[v]
		if i < len(p.OutputNames) && p.OutputNames[i] != "" && p.OutputNames[i] != names[v] {
			returned[i] = p.OutputNames[i] + "=" + returned[i]
		}
	}
	if len(types) == 1 {
		s.WriteString(types[0])
	} else {
		s.WriteString("(" + strings.Join(types, ", ") + ")")
	}
	s.WriteString(" {\n")
	for i := range p.Nodes {
		s.WriteString("  " + nodeText(p, i, names) + "\n")
	}
	s.WriteString(strings.TrimRight("  return "+strings.Join(returned, ", "), " ") + "\n}\n")
	return s.String()
}

func nodeText(p *Program, i int, names []string) string {
	n := &p.Nodes[i]
	s := fmt.Sprintf("%s: %v = %s", names[len(p.Inputs)+i], n.Type, n.Op.Name)
	for _, a := range n.Args {
		s += " " + names[a]
	}
	if n.Op == Literal {
		s += " " + literalText(n.Value)
	}
	for _, a := range n.Attrs {
		s += fmt.Sprintf(" %s=%v", a.Name, a.Ints)
	}
	return s
}

// literalText writes one entry plainly and several in brackets, each float as the shortest text that reads back.
func literalText(x *Tensor) string {
	var parts []string
	for _, f := range x.F {
		parts = append(parts, strconv.FormatFloat(f, 'g', -1, 64))
	}
	for _, i := range x.I {
		parts = append(parts, strconv.FormatInt(i, 10))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// Names returns a distinct name for every value: its own where it has one, a letter otherwise.
func (p *Program) Names() []string {
	names := make([]string, p.NumValues())
	taken := make(nameSet, p.NumValues())
	for i, in := range p.Inputs {
		names[i] = in.Name
		taken[in.Name] = 1
	}
	for i := range p.Nodes {
		if name := p.Nodes[i].Name; name != "" {
			names[len(p.Inputs)+i] = taken.fresh(name)
		}
	}
	next := 0
	for i := range names {
		for names[i] == "" {
			if name := letters(next); taken[name] == 0 {
				names[i] = name
			}
			next++
		}
	}
	return names
}

// nameSet holds the names that are taken, each with the last suffix tried after it: of thousands of nodes, many have
// one base name.
type nameSet map[string]int

// fresh takes name, or name with the first suffix _2, _3, … that is not taken, and returns it.
func (s nameSet) fresh(name string) string {
	base := name
	for k := s[base]; s[name] > 0; {
		k++
		s[base] = k
		name = base + "_" + strconv.Itoa(k)
	}
	s[name] = 1
	return name
}

// letters counts a, b, …, z, aa, ab, …
func letters(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('a'+(i-1)%26)) + s
	}
	return s
}
