package graph

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	headLine = regexp.MustCompile(`^(program|linear) ([^\s(]+)\((.*)\) -> (.*) \{$`)
	nodeLine = regexp.MustCompile(`^([^\s:]+): (.+?) = (\S+)(.*)$`)
	typeText = regexp.MustCompile(`^(f64|f32|i64|bool|float0)(?:\[([\d ]*)\])?$`)
	attrText = regexp.MustCompile(`^ ([a-z_]+)=\[([-\d ]*)\]`)
)

// Parse reads the canonical text of a program, as String writes it, and verifies it. lookup finds
// an operation by name, or returns nil.
func Parse(text string, lookup func(string) *Op) (*Program, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	fail := func(line int, format string, args ...any) error {
		return fmt.Errorf("line %d: "+format, append([]any{line + 1}, args...)...)
	}
	head := headLine.FindStringSubmatch(lines[0])
	if head == nil {
		return nil, fail(0, "want \"program name(inputs) -> types {\", have %q", lines[0])
	}
	p := &Program{Name: head[2]}
	byName := map[string]Value{}
	if err := parseInputs(p, head[3], head[1] == "linear", byName); err != nil {
		return nil, fail(0, "%w", err)
	}
	for i := 1; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if rest, ok := strings.CutPrefix(line+" ", "return "); ok {
			if err := parseReturn(p, strings.TrimSpace(rest), byName); err != nil {
				return nil, fail(i, "%w", err)
			}
			if i+2 != len(lines) || strings.TrimSpace(lines[i+1]) != "}" {
				return nil, fail(i+1, "want \"}\" at the end")
			}
			if err := Verify(p); err != nil {
				return nil, err
			}
			switch got := headLine.FindStringSubmatch(strings.SplitN(p.String(), "\n", 2)[0]); {
			case got[1] != head[1]:
				return nil, fail(0, "a linear program wants a linear input")
			case got[4] != head[4]:
				return nil, fail(0, "want result type %s, have %s", got[4], head[4])
			}
			return p, nil
		}
		if err := parseNode(p, line, lookup, byName); err != nil {
			return nil, fail(i, "%w", err)
		}
	}
	return nil, fail(len(lines), "want \"return\"")
}

func parseInputs(p *Program, list string, isLinear bool, byName map[string]Value) error {
	residuals, linears := list, ""
	if isLinear {
		var found bool
		if residuals, linears, found = strings.Cut(list, ";"); !found {
			return fmt.Errorf("want a semicolon between residuals and linear inputs")
		}
	}
	for k, part := range []string{residuals, linears} {
		if strings.TrimSpace(part) == "" {
			continue
		}
		for _, item := range strings.Split(part, ",") {
			name, typ, ok := strings.Cut(strings.TrimSpace(item), ": ")
			if !ok {
				return fmt.Errorf("want \"name: type\", have %q", item)
			}
			t, err := parseType(typ)
			if err != nil {
				return err
			}
			byName[name] = Value(len(p.Inputs))
			p.Inputs = append(p.Inputs, Input{Name: name, Type: t, Linear: k == 1})
		}
	}
	return nil
}

func parseType(s string) (Type, error) {
	m := typeText.FindStringSubmatch(s)
	if m == nil {
		return Type{}, fmt.Errorf("unknown type %q", s)
	}
	var t Type
	for d, name := range dtypeNames {
		if name == m[1] {
			t.DType = DType(d)
		}
	}
	dims, err := parseInts(m[2])
	t.Shape = dims
	return t, err
}

func parseInts(s string) ([]int, error) {
	var ints []int
	for _, f := range strings.Fields(s) {
		i, err := strconv.Atoi(f)
		if err != nil {
			return nil, err
		}
		ints = append(ints, i)
	}
	return ints, nil
}

func parseNode(p *Program, line string, lookup func(string) *Op, byName map[string]Value) error {
	m := nodeLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("want \"name: type = operation operands\", have %q", line)
	}
	if _, ok := byName[m[1]]; ok {
		return fmt.Errorf("%q is defined twice", m[1])
	}
	t, err := parseType(m[2])
	if err != nil {
		return err
	}
	n := Node{Op: lookup(m[3]), Type: t, Name: m[1]}
	if n.Op == nil {
		return fmt.Errorf("unknown operation %q", m[3])
	}
	rest := m[4]
	if n.Op == Literal {
		if n.Value, err = parseLiteral(t, strings.TrimSpace(rest)); err != nil {
			return err
		}
		rest = ""
	}
	for rest != "" {
		if a := attrText.FindStringSubmatch(rest); a != nil {
			ints, err := parseInts(a[2])
			if err != nil {
				return err
			}
			n.Attrs = append(n.Attrs, Attr{a[1], ints})
			rest = rest[len(a[0]):]
			continue
		}
		operand, tail, _ := strings.Cut(rest[1:], " ")
		v, ok := byName[operand]
		if !ok {
			return fmt.Errorf("operand %q is not defined before it is used", operand)
		}
		n.Args = append(n.Args, v)
		if rest = ""; tail != "" {
			rest = " " + tail
		}
	}
	byName[m[1]] = Value(p.NumValues())
	p.Nodes = append(p.Nodes, n)
	return nil
}

func parseLiteral(t Type, s string) (*Tensor, error) {
	x := &Tensor{Type: t}
	for _, f := range strings.Fields(strings.Trim(s, "[]")) {
		if t.DType.IsFloat() {
			v, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return nil, err
			}
			x.F = append(x.F, v)
			continue
		}
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, err
		}
		x.I = append(x.I, v)
	}
	return x, nil
}

func parseReturn(p *Program, list string, byName map[string]Value) error {
	if list == "" {
		return nil
	}
	for i, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		if name, value, ok := strings.Cut(item, "="); ok {
			for len(p.OutputNames) < i {
				p.OutputNames = append(p.OutputNames, "")
			}
			p.OutputNames, item = append(p.OutputNames, name), value
		}
		v, ok := byName[item]
		if !ok {
			return fmt.Errorf("output %q is not defined", item)
		}
		p.Outputs = append(p.Outputs, v)
	}
	return nil
}
