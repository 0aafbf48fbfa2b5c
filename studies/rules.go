package studies

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
	src  *source
	kind Kind
	errorList
}

func (c *checker) errorf(n *node, at span, format string, args ...any) *Error {
	e := Place{c.src, at}.errorf(strings.Join(n.path(), "."), format, args...)
	c.add(e)
	return e
}

// check walks a table and its rule together: afterwards every value has its type and every table
// its required keys, so that decoding need not look again.
func (c *checker) check(n *node, r *rule) {
	for _, k := range n.items {
		if c.full() {
			return
		}
		known, ok := r.keys[k.name]
		if !ok || strings.HasPrefix(k.name, "(") {
			known = r.any
		}
		switch {
		case known == nil:
			c.unknown(n, k, r)
		case !known.takes(c.kind):
			c.errorf(k, k.keyAt, "%s is not for kind = %q", label(k), c.kind).
				hint("it belongs to kind = %s; this kind takes %s", known.kindNames(`"`), strings.Join(c.known(r), ", "))
		default:
			c.value(k, known)
		}
	}
	for _, name := range r.names {
		if known := r.keys[name]; known.required && known.takes(c.kind) && n.child(name) == nil && !misspelt(n, r, name) {
			c.missing(n, name, known)
		}
	}
}

// misspelt reports whether an unknown key of a table was meant to be name: the error about it is enough.
func misspelt(n *node, r *rule, name string) bool {
	return r.any == nil && slices.ContainsFunc(n.items, func(k *node) bool {
		return r.keys[k.name] == nil && nearest(k.name, []string{name}) != ""
	})
}

// missing reports a required key that is not there: at its table, or at the file.
func (c *checker) missing(n *node, name string, r *rule) {
	example := fmt.Sprintf("for example %s = %s", name, r.example)
	switch {
	case n.parent == nil && r.want == wantTable:
		e := &Error{File: c.src.name, Key: name, Message: fmt.Sprintf("the section [%s] is missing", name)}
		switch first := slices.IndexFunc(r.names, func(key string) bool { return r.keys[key].required }); {
		case r.any == nil && first >= 0:
			key := r.names[first]
			example = fmt.Sprintf("for example\n[%s]\n%s = %s", name, key, r.keys[key].example)
		case r.any != nil:
			example = fmt.Sprintf("for example\n[%s]\n%s = %s", name, exampleName(r.any.path), r.any.example)
		}
		c.add(e.hint("%s", example))
	case n.parent == nil:
		c.add((&Error{File: c.src.name, Key: name, Message: fmt.Sprintf("%q is missing", name)}).hint("%s", example))
	default:
		c.errorf(n, n.keyAt, "%s has no %q", label(n), name).hint("%s", example)
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

func (c *checker) unknown(n, k *node, r *rule) {
	what := "key"
	if n.parent == nil && k.kind == tableNode {
		what = "section"
	}
	message := fmt.Sprintf("unknown %s %q", what, k.name)
	if n.parent != nil {
		message += " in " + label(n)
	}
	e := c.errorf(k, k.keyAt, "%s", message)
	names := c.known(r)
	switch near := nearest(k.name, names); {
	case strings.EqualFold(near, k.name):
		e.hint("write it as %q: upper and lower case differ", near)
	case near != "":
		e.hint("did you mean %q?", near)
	case c.home(k.name) != "":
		e.hint("%q belongs in [%s]", k.name, c.home(k.name))
	default:
		e.hint("known here: %s", strings.Join(names, ", "))
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
func label(n *node) string {
	path := n.path()
	section := 1
	if path[0] == "sweep" && len(path) > 1 {
		section = 2
	}
	if n.kind != tableNode && len(path) <= section {
		return strings.Join(path, ".")
	}
	text := "[" + strings.Join(path[:section], ".") + "]"
	if rest := strings.Join(path[section:], "."); rest != "" {
		text += " " + rest
	}
	return text
}

func (c *checker) value(n *node, r *rule) {
	if r.want == wantObjective && c.kind != Chain {
		plain := *r.row
		plain.want = wantFormula
		r = &rule{row: &plain}
	}
	if n.kind == tableNode {
		if form, ok := forms[r.want]; ok {
			c.check(n, rules.keys[form])
			return
		}
		if r.want == wantTable || r.want == wantScale || r.want == wantDefinition || r.want == wantObjective && c.kind == Chain {
			c.check(n, r)
			return
		}
	}
	if f, ok := n.value.(float64); ok {
		if text := numberText(c.src, n); math.IsNaN(f) || math.IsInf(f, 0) {
			c.errorf(n, n.at, "%s is %s, which is not a finite number", label(n), text)
			return
		} else if _, err := parseDecimal(text); err != nil {
			c.errorf(n, n.at, "%s", err)
			return
		}
	}
	if bad, why := c.misfit(n, r); bad != nil {
		e := c.errorf(n, bad.at, "%s wants %s, found %s", label(n), describeWant(r), why)
		c.misfitHint(e, bad, r)
	}
}

func describeWant(r *rule) string {
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
func (c *checker) misfit(n *node, r *rule) (bad *node, why string) {
	all := func(n *node, ok func(*node) bool) (*node, string) {
		for _, item := range n.items {
			if !ok(item) {
				return item, "an entry that is " + found(item)
			}
		}
		return nil, ""
	}
	list := n.kind == arrayNode
	ok := false
	switch r.want {
	case wantText:
		_, ok = n.value.(string)
	case wantChoice:
		if s, isText := n.value.(string); isText {
			if !slices.Contains(r.choices, s) {
				return n, fmt.Sprintf("%q", s)
			}
			ok = true
		}
	case wantWords:
		if list && len(n.items) > 0 {
			for i, item := range n.items {
				s, isText := item.value.(string)
				if !isText || !slices.Contains(r.choices, s) {
					return item, "an entry that is " + found(item)
				}
				if slices.ContainsFunc(n.items[:i], func(other *node) bool { return other.value == item.value }) {
					return item, fmt.Sprintf("%q twice", s)
				}
			}
			ok = true
		}
	case wantSize:
		if s, isText := n.value.(string); isText {
			_, ok = parseSize(s)
		}
	case wantFormula, wantDefinition, wantObjective:
		s, isText := n.value.(string)
		if isText && strings.TrimSpace(s) == "" {
			return n, "nothing between the quotes"
		}
		ok = isText || isNumber(n)
	case wantNumber:
		ok = isNumber(n)
	case wantPositive:
		ok = isNumber(n) && n.number() > 0
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
		if list && len(n.items) == 3 && isNumber(n.items[0]) && isNumber(n.items[1]) {
			return all(&node{items: n.items[2:]}, isCount)
		}
	case wantPair:
		ok = list && len(n.items) == 2 && isNumber(n.items[0]) && isNumber(n.items[1])
	case wantRows:
		if list && len(n.items) == 2 {
			if bad, why := all(n, isCount); bad != nil {
				return bad, why
			}
			if n.items[0].count() >= n.items[1].count() {
				return n, "a first that is not below the end"
			}
			ok = true
		}
	case wantArray:
		ok = list || isNumber(n) // entries are looked at one by one when the array is read
	case wantSeed:
		s, isText := n.value.(string)
		if isText && strings.TrimSpace(s) == "" {
			return n, "nothing between the quotes"
		}
		ok = isText || list || isNumber(n)
	case wantList:
		ok = list
	case wantColumns, wantNames:
		isText := func(n *node) bool { _, ok := n.value.(string); return ok }
		if list && len(n.items) > 0 {
			return all(n, isText)
		}
		ok = isText(n)
	case wantScale:
		ok = n.value == "standard"
	}
	if ok {
		return nil, ""
	}
	return n, found(n)
}

// found describes a value for "wants …, found …".
func found(n *node) string {
	switch v := n.value.(type) {
	case int64:
		return fmt.Sprint(v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		if len(v) <= 40 {
			return fmt.Sprintf("the string %q", v)
		}
	}
	if n.kind == arrayNode {
		return fmt.Sprintf("a list of %d", len(n.items))
	}
	return n.describe()
}

func (c *checker) misfitHint(e *Error, bad *node, r *rule) {
	switch s, isText := bad.value.(string); {
	case (r.want == wantChoice || r.want == wantWords) && isText:
		if near := nearest(s, r.choices); near != "" && near != s {
			e.hint("did you mean %q?", near)
		}
	case r.want == wantChoice && isNumber(bad):
		e.hint("put it in quotes")
	case (r.want == wantFormula || r.want == wantDefinition) && bad.kind == arrayNode:
		e.hint("put the list in quotes: it is part of a formula")
	case r.want == wantFormula && bad.kind == tableNode && r.example != "":
		e.hint("for example %s", r.example)
	case r.want == wantArray && isText:
		e.hint("formulas belong in [define]; data from a file in [data]")
	case r.want == wantTable && r.example != "":
		e.hint("for example %s", r.example)
	}
}

func isNumber(n *node) bool {
	switch n.value.(type) {
	case int64, float64:
		return true
	}
	return false
}

func isCount(n *node) bool {
	switch v := n.value.(type) {
	case int64:
		return v >= 0
	case float64:
		return v >= 0 && v <= 1<<53 && v == math.Trunc(v)
	}
	return false
}

// number and count read a value whose type has been checked.
func (n *node) number() float64 {
	if v, ok := n.value.(int64); ok {
		return float64(v)
	}
	return n.value.(float64)
}

func (n *node) count() int64 {
	if v, ok := n.value.(int64); ok {
		return v
	}
	return int64(n.value.(float64))
}

// numberText is a number as it was written.
func numberText(src *source, n *node) string { return src.text[n.at.start:n.at.end] }
