package studies

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/studies/source"
)

// rule is a row in its place in the tree of keys.
type rule struct {
	*row
	names []string // literal keys, in schema order
	keys  map[string]*rule
	any   *rule // the rule of <name>
}

var rules = buildRules()

func buildRules() *rule {
	top := &rule{row: &row{want: wantTable}}
	for i := range schema {
		r := top
		for part := range strings.SplitSeq(schema[i].path, ".") {
			next := r.keys[part]
			if strings.HasPrefix(part, "<") {
				next = r.any
			}
			if next == nil {
				next = &rule{row: &row{want: wantTable}}
				switch {
				case strings.HasPrefix(part, "<"):
					r.any = next
				case r.keys == nil:
					r.keys = map[string]*rule{part: next}
				default:
					r.keys[part] = next
				}
				if part[0] != '<' && part[0] != '(' {
					r.names = append(r.names, part)
				}
			}
			r = next
		}
		r.row = &schema[i]
	}
	return top
}

// at returns the rule that governs a path.
func (r *rule) at(path ...string) *rule {
	for _, part := range path {
		next := r.keys[part]
		if next == nil {
			next = r.any
		}
		r = next
	}
	return r
}

// kindNames lists the kinds of study that take the key, each in quotes.
func (r *row) kindNames(quote string) string {
	names := make([]string, len(r.kinds))
	for i, k := range r.kinds {
		names[i] = quote + string(k) + quote
	}
	return strings.Join(names, " or ")
}

func (r *rule) takes(kind Kind) bool { return len(r.kinds) == 0 || slices.Contains(r.kinds, kind) }

// checker holds a tree against the schema.
type checker struct {
	src  *source.File
	kind Kind
	source.ErrorList
}

func (c *checker) errorf(n *source.Node, at source.Span, format string, args ...any) *Error {
	e := c.src.At(at).Errorf(strings.Join(n.Path(), "."), format, args...)
	c.Add(e)
	return e
}

// check walks a table and its rule together: afterwards every value has its type and every table
// its required keys, so that decoding need not look again.
func (c *checker) check(n *source.Node, r *rule) {
	for _, k := range n.Items {
		if c.Full() {
			return
		}
		known, ok := r.keys[k.Name]
		if !ok || strings.HasPrefix(k.Name, "(") {
			known = r.any
		}
		switch {
		case known == nil:
			c.unknown(n, k, r)
		case !known.takes(c.kind):
			c.errorf(k, k.KeyAt, "%s is not for kind = %q", label(k), c.kind).
				WithHint("it belongs to kind = %s; this kind takes %s", known.kindNames(`"`), strings.Join(c.known(r), ", "))
		default:
			c.value(k, known)
		}
	}
	for _, name := range r.names {
		if known := r.keys[name]; known.required && known.takes(c.kind) && n.Child(name) == nil && !misspelt(n, r, name) {
			c.missing(n, name, known)
		}
	}
}

// misspelt reports whether an unknown key of a table was meant to be name: the error about it is enough.
func misspelt(n *source.Node, r *rule, name string) bool {
	return r.any == nil && slices.ContainsFunc(n.Items, func(k *source.Node) bool {
		return r.keys[k.Name] == nil && source.Nearest(k.Name, []string{name}) != ""
	})
}

// missing reports a required key that is not there: at its table, or at the file.
func (c *checker) missing(n *source.Node, name string, r *rule) {
	example := fmt.Sprintf("for example %s = %s", name, r.example)
	switch {
	case n.Parent == nil && r.want == wantTable:
		e := &Error{File: c.src.Name, Key: name, Message: fmt.Sprintf("the section [%s] is missing", name)}
		switch first := slices.IndexFunc(r.names, func(key string) bool { return r.keys[key].required }); {
		case r.any == nil && first >= 0:
			key := r.names[first]
			example = fmt.Sprintf("for example\n[%s]\n%s = %s", name, key, r.keys[key].example)
		case r.any != nil:
			example = fmt.Sprintf("for example\n[%s]\n%s = %s", name, exampleName(r.any.path), r.any.example)
		}
		c.Add(e.WithHint("%s", example))
	case n.Parent == nil:
		c.Add((&Error{File: c.src.Name, Key: name, Message: fmt.Sprintf("%q is missing", name)}).WithHint("%s", example))
	default:
		c.errorf(n, n.KeyAt, "%s has no %q", label(n), name).WithHint("%s", example)
	}
}

// exampleName makes a name to show from the last part of a path: z for <block>, and so on.
func exampleName(path string) string {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "<block>":
		return "z"
	case "<equation>":
		return "r"
	}
	return "J"
}

func (c *checker) unknown(n, k *source.Node, r *rule) {
	what := "key"
	if n.Parent == nil && k.Kind == source.Table {
		what = "section"
	}
	message := fmt.Sprintf("unknown %s %q", what, k.Name)
	if n.Parent != nil {
		message += " in " + label(n)
	}
	e := c.errorf(k, k.KeyAt, "%s", message)
	names := c.known(r)
	switch near := source.Nearest(k.Name, names); {
	case strings.EqualFold(near, k.Name):
		e.WithHint("write it as %q: upper and lower case differ", near)
	case near != "":
		e.WithHint("did you mean %q?", near)
	case c.home(k.Name) != "":
		e.WithHint("%q belongs in [%s]", k.Name, c.home(k.Name))
	default:
		e.WithHint("known here: %s", strings.Join(names, ", "))
	}
}

// known lists the keys that a table takes in this kind of study.
func (c *checker) known(r *rule) []string {
	var names []string
	for _, name := range r.names {
		if r.keys[name].takes(c.kind) {
			names = append(names, name)
		}
	}
	return names
}

// home returns the section that has a key of this name.
func (c *checker) home(name string) string {
	for _, r := range schema {
		if section, key, ok := strings.Cut(r.path, "."); ok && key == name && section[0] != '(' {
			return section
		}
	}
	return ""
}

// label names a node as a reader finds it: "[implicit] tolerance", "[implicit]", "title".
func label(n *source.Node) string {
	path := n.Path()
	section := 1
	if path[0] == "sweep" && len(path) > 1 {
		section = 2
	}
	if n.Kind != source.Table && len(path) <= section {
		return strings.Join(path, ".")
	}
	text := "[" + strings.Join(path[:section], ".") + "]"
	if rest := strings.Join(path[section:], "."); rest != "" {
		text += " " + rest
	}
	return text
}

func (c *checker) value(n *source.Node, r *rule) {
	if r.want == wantObjective && c.kind != Chain {
		plain := *r.row
		plain.want = wantFormula
		r = &rule{row: &plain}
	}
	if n.Kind == source.Table {
		if form, ok := forms[r.want]; ok {
			c.check(n, rules.keys[form])
			return
		}
		if r.want == wantTable || r.want == wantScale || r.want == wantDefinition || r.want == wantObjective && c.kind == Chain {
			c.check(n, r)
			return
		}
	}
	if f, ok := n.Value.(float64); ok {
		if text := numberText(c.src, n); math.IsNaN(f) || math.IsInf(f, 0) {
			c.errorf(n, n.At, "%s is %s, which is not a finite number", label(n), text)
			return
		} else if _, err := parseDecimal(text); err != nil {
			c.errorf(n, n.At, "%s", err)
			return
		}
	}
	if bad, why := c.misfit(n, r); bad != nil {
		e := c.errorf(n, bad.At, "%s wants %s, found %s", label(n), describeWant(r), why)
		c.misfitHint(e, bad, r)
	}
}

func describeWant(r *rule) string {
	if r.want == wantCount {
		return fmt.Sprintf("%s from %d", wants[r.want], r.least)
	}
	if r.want != wantChoice && r.want != wantWords {
		return wants[r.want]
	}
	quoted := make([]string, len(r.choices))
	for i, choice := range r.choices {
		quoted[i] = fmt.Sprintf("%q", choice)
	}
	switch {
	case r.want == wantWords:
		return "a list of words, of " + strings.Join(quoted, ", ")
	case len(quoted) == 1:
		return quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}

// misfit returns the part of a value that does not have the type of its rule, and what it is.
func (c *checker) misfit(n *source.Node, r *rule) (bad *source.Node, why string) {
	all := func(n *source.Node, ok func(*source.Node) bool) (*source.Node, string) {
		for _, item := range n.Items {
			if !ok(item) {
				return item, "an entry that is " + found(item)
			}
		}
		return nil, ""
	}
	list := n.Kind == source.List
	ok := false
	switch r.want {
	case wantText:
		_, ok = n.Value.(string)
	case wantChoice:
		if s, isText := n.Value.(string); isText {
			if !slices.Contains(r.choices, s) {
				return n, fmt.Sprintf("%q", s)
			}
			ok = true
		}
	case wantWords:
		if list && len(n.Items) > 0 {
			for i, item := range n.Items {
				s, isText := item.Value.(string)
				if !isText || !slices.Contains(r.choices, s) {
					return item, "an entry that is " + found(item)
				}
				if slices.ContainsFunc(n.Items[:i], func(other *source.Node) bool { return other.Value == item.Value }) {
					return item, fmt.Sprintf("%q twice", s)
				}
			}
			ok = true
		}
	case wantSize:
		if s, isText := n.Value.(string); isText {
			_, ok = parseSize(s)
		}
	case wantFormula, wantDefinition, wantObjective:
		s, isText := n.Value.(string)
		if isText && strings.TrimSpace(s) == "" {
			return n, "nothing between the quotes"
		}
		ok = isText || isNumber(n)
	case wantNumber:
		ok = isNumber(n)
	case wantPositive:
		ok = isNumber(n) && n.Number() > 0
	case wantCount:
		ok = isCount(n)
		if list {
			return all(n, isCount)
		}
	case wantShape:
		if list {
			return all(n, isCount)
		}
		ok = isCount(n)
	case wantRange:
		if list && len(n.Items) == 3 && isNumber(n.Items[0]) && isNumber(n.Items[1]) {
			return all(&source.Node{Items: n.Items[2:]}, isCount)
		}
	case wantPair:
		ok = list && len(n.Items) == 2 && isNumber(n.Items[0]) && isNumber(n.Items[1])
	case wantRows:
		if list && len(n.Items) == 2 {
			if bad, why := all(n, isCount); bad != nil {
				return bad, why
			}
			if n.Items[0].Count() >= n.Items[1].Count() {
				return n, "a first that is not below the end"
			}
			ok = true
		}
	case wantArray:
		ok = list || isNumber(n) // entries are looked at one by one when the array is read
	case wantSeed:
		s, isText := n.Value.(string)
		if isText && strings.TrimSpace(s) == "" {
			return n, "nothing between the quotes"
		}
		ok = isText || list || isNumber(n)
	case wantList:
		ok = list
	case wantColumns, wantNames:
		isText := func(n *source.Node) bool { _, ok := n.Value.(string); return ok }
		if list && len(n.Items) > 0 {
			return all(n, isText)
		}
		ok = isText(n)
	case wantScale:
		ok = n.Value == "standard"
	}
	if ok {
		return nil, ""
	}
	return n, found(n)
}

// found describes a value for "wants …, found …".
func found(n *source.Node) string {
	switch v := n.Value.(type) {
	case int64:
		return fmt.Sprint(v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		if len(v) <= 40 {
			return fmt.Sprintf("the string %q", v)
		}
	}
	if n.Kind == source.List {
		return fmt.Sprintf("a list of %d", len(n.Items))
	}
	return n.Describe()
}

func (c *checker) misfitHint(e *Error, bad *source.Node, r *rule) {
	switch s, isText := bad.Value.(string); {
	case (r.want == wantChoice || r.want == wantWords) && isText:
		if near := source.Nearest(s, r.choices); near != "" && near != s {
			e.WithHint("did you mean %q?", near)
		}
	case r.want == wantChoice && isNumber(bad):
		e.WithHint("put it in quotes")
	case (r.want == wantFormula || r.want == wantDefinition) && bad.Kind == source.List:
		e.WithHint("put the list in quotes: it is part of a formula")
	case r.want == wantFormula && bad.Kind == source.Table && r.example != "":
		e.WithHint("for example %s", r.example)
	case r.want == wantArray && isText:
		e.WithHint("formulas belong in [define]; data from a file in [data]")
	case r.want == wantTable && r.example != "":
		e.WithHint("for example %s", r.example)
	}
}

func isNumber(n *source.Node) bool {
	switch n.Value.(type) {
	case int64, float64:
		return true
	}
	return false
}

func isCount(n *source.Node) bool {
	switch v := n.Value.(type) {
	case int64:
		return v >= 0
	case float64:
		return v >= 0 && v <= 1<<53 && v == math.Trunc(v)
	}
	return false
}

// numberText is a number as it was written.
func numberText(src *source.File, n *source.Node) string { return src.Text[n.At.Start:n.At.End] }
