package studies

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// node is a key of the file with its value and where both stand.
type node struct {
	parent *node
	name   string // the key, unquoted; "" at the root and in arrays
	keyAt  span   // the key's own part, without the parts before it
	at     span   // the value as written; of a table its header or braces

	kind  nodeKind
	items []*node          // entries of an array, or keys of a table, in the order of the file
	keys  map[string]*node // keys of a table
	value any              // of a scalar, as the TOML library read it
}

type nodeKind int

const (
	scalarNode nodeKind = iota
	arrayNode
	tableNode
)

// child returns the value at a key, or nil. It may be asked of a nil node.
func (n *node) child(names ...string) *node {
	for _, name := range names {
		if n == nil {
			return nil
		}
		n = n.keys[name]
	}
	return n
}

// path returns the keys from the root to n.
func (n *node) path() []string {
	if n.parent == nil {
		return nil
	}
	if n.parent.kind == arrayNode {
		return n.parent.path()
	}
	return append(n.parent.path(), n.name)
}

// maxNesting bounds arrays, inline tables and dotted keys: the TOML library recurses over the
// first two and takes quadratic time over the third.
const maxNesting = 32

// parseTOML reads TOML text into a tree. The TOML library decides what is valid and what the values
// are; the scanner adds the places. The two are walked together, so that a disagreement is an error
// and never a wrong place.
func parseTOML(src *source) (*node, error) {
	s := &scanner{src: src}
	root, failed := s.document()
	refuse := func(at span) Place { return Place{src, at} }
	switch {
	case s.tooDeep:
		return nil, refuse(span{s.failedAt, s.failedAt + 1}).errorf("", "arrays, tables and dotted keys nest more than %d deep", maxNesting)
	case s.arrayTable != span{}:
		return nil, refuse(s.arrayTable).errorf("", "a study has no lists of tables").
			hint("write the section's name in single brackets: [name]")
	case s.emptyKey != span{}:
		return nil, refuse(s.emptyKey).errorf("", "a key is empty")
	case s.twice != nil: // the library lets some of these pass
		return nil, refuse(s.twiceAt).errorf("", "the key %q is defined twice", s.twice.name).
			hint("the first is on line %d", refuse(s.twice.keyAt).Line())
	}
	text := src.text
	if failed {
		// The library stops on this line too; cutting there keeps its recursion within the
		// nesting that was checked.
		if i := strings.IndexByte(text[s.failedAt:], '\n'); i >= 0 {
			text = text[:s.failedAt+i+1]
		}
	}
	values, err := decodeTOML(src, text)
	if err != nil {
		return nil, err
	}
	if failed {
		return nil, refuse(span{s.failedAt, s.failedAt + 1}).errorf("", "this text cannot be read as TOML")
	}
	if n := attach(root, values); n != nil {
		return nil, refuse(n.keyAt).errorf("", "this key cannot be read").
			hint("define it once, in one place")
	}
	return root, nil
}

// decodeTOML runs the TOML library and turns its errors, and its panics on odd input, into an Error.
func decodeTOML(src *source, text string) (values map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{File: src.name, Message: "broken TOML"}
		}
	}()
	_, err = toml.Decode(text, &values)
	var broken toml.ParseError
	if errors.As(err, &broken) {
		start := max(0, min(broken.Position.Start, len(src.text)))
		end := max(start, min(start+broken.Position.Len, len(src.text)))
		e := src.place(start, end).errorf(broken.LastKey, "broken TOML: %s", printable(broken.Message))
		switch {
		case strings.HasSuffix(broken.Message, "out of range for int64"):
			e.hint("write it with a decimal point or an exponent to have a floating-point number")
		case strings.HasSuffix(broken.Message, "out of range for float64"):
			e.hint("the largest float64 is 1.8e308")
		}
		return nil, e
	}
	if err != nil {
		return nil, &Error{File: src.name, Message: "broken TOML: " + err.Error()}
	}
	return values, nil
}

func (s *source) place(start, end int) Place { return Place{s, span{start, end}} }

// attach copies the library's values into the tree and returns the first node at which the two
// differ, or nil.
func attach(n *node, value any) *node {
	switch n.kind {
	case tableNode:
		table, ok := value.(map[string]any)
		if !ok || len(table) != len(n.items) {
			return n
		}
		for _, c := range n.items {
			v, ok := table[c.name]
			if !ok {
				return c
			}
			if bad := attach(c, v); bad != nil {
				return bad
			}
		}
	case arrayNode:
		list, ok := value.([]any)
		if !ok || len(list) != len(n.items) {
			return n
		}
		for i, c := range n.items {
			if bad := attach(c, list[i]); bad != nil {
				return bad
			}
		}
	case scalarNode:
		switch value.(type) {
		case string, int64, float64, bool, time.Time:
			n.value = value
		default:
			return n
		}
	}
	return nil
}

// scanner finds the keys and values of TOML text. It is exact on valid text and lenient otherwise:
// validity is the library's to judge.
type scanner struct {
	src        *source
	pos        int
	depth      int
	failedAt   int
	tooDeep    bool
	arrayTable span // the first [[header]]
	emptyKey   span // the first key without a letter, over which the library stumbles
	twice      *node
	twiceAt    span // where a key that has a value is defined again
}

// stop is what the scanner panics with when it cannot go on; document recovers it.
type stop struct{}

func (s *scanner) fail() {
	s.failedAt = min(s.pos, len(s.src.text))
	panic(stop{})
}

func (s *scanner) enter() {
	if s.depth++; s.depth > maxNesting {
		s.tooDeep = true
		s.fail()
	}
}

func (s *scanner) leave() { s.depth-- }

// peek returns the byte k places on, or 0 at the end.
func (s *scanner) peek(k int) byte {
	if s.pos+k < len(s.src.text) {
		return s.src.text[s.pos+k]
	}
	return 0
}

func (s *scanner) expect(c byte) {
	if s.peek(0) != c {
		s.fail()
	}
	s.pos++
}

func (s *scanner) blanks() {
	for s.peek(0) == ' ' || s.peek(0) == '\t' {
		s.pos++
	}
}

// space skips blanks, line ends and comments.
func (s *scanner) space() {
	for {
		switch s.peek(0) {
		case ' ', '\t', '\n', '\r':
			s.pos++
		case '#':
			s.comment()
		default:
			return
		}
	}
}

func (s *scanner) comment() {
	if i := strings.IndexByte(s.src.text[s.pos:], '\n'); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.src.text)
	}
}

// lineEnd skips to the next line; only blanks and a comment may stand before it.
func (s *scanner) lineEnd() {
	s.blanks()
	switch {
	case s.pos == len(s.src.text), s.peek(0) == '\n', s.peek(0) == '\r':
	case s.peek(0) == '#':
		s.comment()
	default:
		s.fail()
	}
}

func newTable(parent *node, name string, keyAt span) *node {
	return &node{parent: parent, name: name, keyAt: keyAt, at: keyAt, kind: tableNode, keys: map[string]*node{}}
}

func (s *scanner) document() (root *node, failed bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			root, failed = nil, true
		}
	}()
	root = newTable(nil, "", span{})
	context := root
	for s.space(); s.pos < len(s.src.text); s.space() {
		if s.peek(0) == '[' {
			context = s.header(root)
		} else {
			s.pair(context)
		}
		s.lineEnd()
	}
	return root, false
}

// header reads [a.b] and returns the table that it opens.
func (s *scanner) header(root *node) *node {
	start := s.pos
	s.pos++
	double := s.peek(0) == '['
	if double {
		s.pos++
	}
	names, spans := s.key()
	s.expect(']')
	if double {
		s.expect(']')
		if s.arrayTable == (span{}) {
			s.arrayTable = span{start, s.pos}
		}
	}
	t := root
	for i, name := range names {
		t = s.table(t, name, spans[i])
	}
	t.keyAt, t.at = spans[len(spans)-1], span{start, s.pos}
	return t
}

// table returns the table at a key of t, which it makes if it is new.
func (s *scanner) table(t *node, name string, at span) *node {
	c := t.keys[name]
	if c == nil {
		c = newTable(t, name, at)
		t.keys[name] = c
		t.items = append(t.items, c)
	}
	if c.kind != tableNode {
		s.again(c, at)
	}
	return c
}

func (s *scanner) again(first *node, at span) {
	s.twice, s.twiceAt = first, at
	s.fail()
}

// pair reads key = value into the table t.
func (s *scanner) pair(t *node) {
	names, spans := s.key()
	s.expect('=')
	s.blanks()
	last := len(names) - 1
	for i, name := range names[:last] {
		t = s.table(t, name, spans[i])
	}
	if first := t.keys[names[last]]; first != nil {
		s.again(first, spans[last])
	}
	n := &node{parent: t, name: names[last], keyAt: spans[last]}
	t.keys[n.name] = n
	t.items = append(t.items, n)
	s.value(n)
}

// key reads the parts of a dotted key and the blanks after it.
func (s *scanner) key() (names []string, spans []span) {
	for {
		s.blanks()
		start := s.pos
		switch s.peek(0) {
		case '"', '\'':
			s.quoted()
			text, _ := unquote(s.src.text[start:s.pos])
			names = append(names, text)
		default:
			for isBareKey(s.peek(0)) {
				s.pos++
			}
			if s.pos == start {
				s.fail()
			}
			names = append(names, s.src.text[start:s.pos])
		}
		spans = append(spans, span{start, s.pos})
		if names[len(names)-1] == "" && s.emptyKey == (span{}) {
			s.emptyKey = span{start, s.pos}
		}
		if len(names) > maxNesting {
			s.tooDeep = true
			s.fail()
		}
		s.blanks()
		if s.peek(0) != '.' {
			return names, spans
		}
		s.pos++
	}
}

func isBareKey(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// value reads a value into n.
func (s *scanner) value(n *node) {
	start := s.pos
	switch s.peek(0) {
	case '"', '\'':
		if q := s.src.text[s.pos]; s.peek(1) == q && s.peek(2) == q {
			s.longQuoted()
		} else {
			s.quoted()
		}
	case '[':
		s.array(n)
	case '{':
		s.inlineTable(n)
	default:
		s.word()
	}
	n.at = span{start, s.pos}
}

func (s *scanner) array(n *node) {
	s.enter()
	defer s.leave()
	n.kind = arrayNode
	s.pos++
	for s.space(); s.peek(0) != ']'; s.space() {
		c := &node{parent: n}
		s.value(c)
		c.keyAt = c.at
		n.items = append(n.items, c)
		if s.space(); s.peek(0) != ']' {
			s.expect(',')
		}
	}
	s.pos++
}

func (s *scanner) inlineTable(n *node) {
	s.enter()
	defer s.leave()
	n.kind, n.keys = tableNode, map[string]*node{}
	s.pos++
	for s.space(); s.peek(0) != '}'; s.space() {
		s.pair(n)
		if s.space(); s.peek(0) != '}' {
			s.expect(',')
		}
	}
	s.pos++
}

// word reads a number, a truth value, a date or a time.
func (s *scanner) word() {
	start := s.pos
	for isBareKey(s.peek(0)) || strings.IndexByte("+.:", s.peek(0)) >= 0 && s.pos < len(s.src.text) {
		s.pos++
	}
	if s.pos == start {
		s.fail()
	}
	if !looksLikeDate(s.src.text[start:s.pos]) {
		return
	}
	// A date may be followed by one blank and a time.
	for s.pos < len(s.src.text) && strings.IndexByte("0123456789-:Tt .Zz+", s.peek(0)) >= 0 {
		s.pos++
	}
	s.pos = start + len(strings.TrimRight(s.src.text[start:s.pos], " "))
}

// looksLikeDate reports whether digits are followed by '-' or ':'.
func looksLikeDate(word string) bool {
	digits := strings.TrimLeft(word, "0123456789")
	return len(digits) < len(word) && digits != "" && (digits[0] == '-' || digits[0] == ':')
}

// quoted reads a "…" or '…' string.
func (s *scanner) quoted() {
	q := s.src.text[s.pos]
	for s.pos++; s.pos < len(s.src.text); s.pos++ {
		switch c := s.src.text[s.pos]; {
		case c == q:
			s.pos++
			return
		case c == '\n':
			s.fail()
		case c == '\\' && q == '"':
			s.pos++
		}
	}
	s.fail()
}

// longQuoted reads a """…""" or ”'…”' string. Up to two quotes may stand right before the closing three.
func (s *scanner) longQuoted() {
	q := s.src.text[s.pos]
	for s.pos += 3; s.pos < len(s.src.text); s.pos++ {
		switch c := s.src.text[s.pos]; {
		case c == q && s.peek(1) == q && s.peek(2) == q && s.peek(3) != q:
			s.pos += 3
			return
		case c == '\\' && q == '"':
			s.pos++
		}
	}
	s.fail()
}

// unquote returns the text of a TOML string as written with its quotes, and for each byte of that
// text, and for its end, the offset in raw that it came from.
func unquote(raw string) (text string, from []int) {
	q := raw[:1]
	start, end := 1, len(raw)-1
	long := len(raw) >= 6 && raw[:3] == q+q+q
	if long {
		start, end = 3, len(raw)-3
		if strings.HasPrefix(raw[start:end], "\r\n") {
			start += 2
		} else if strings.HasPrefix(raw[start:end], "\n") {
			start++
		}
	}
	var b strings.Builder
	put := func(s string, at int) {
		b.WriteString(s)
		for range len(s) {
			from = append(from, at)
		}
	}
	for i := start; i < end; {
		if q == "'" || raw[i] != '\\' || i+1 >= end {
			put(raw[i:i+1], i)
			i++
			continue
		}
		if long {
			if rest := strings.TrimLeft(raw[i+1:end], " \t\r\n"); strings.Contains(raw[i+1:end-len(rest)], "\n") {
				i = end - len(rest)
				continue
			}
		}
		width := 2
		if digits := strings.IndexByte("xuU", raw[i+1]); digits >= 0 {
			width = min(2+(2<<digits), end-i)
			code, err := strconv.ParseUint(raw[i+2:i+width], 16, 32)
			if err != nil {
				code = utf8.RuneError
			}
			put(string(rune(code)), i)
		} else if k := strings.IndexByte(`btnfre"\`, raw[i+1]); k >= 0 {
			put("\b\t\n\f\r\x1b\"\\"[k:k+1], i)
		}
		i += width
	}
	return b.String(), append(from, end)
}

// describe names the type of a value for messages.
func (n *node) describe() string {
	switch n.kind {
	case tableNode:
		return "a table"
	case arrayNode:
		return "a list"
	}
	switch v := n.value.(type) {
	case string:
		return "a string"
	case int64, float64:
		return "a number"
	case bool:
		return "a truth value"
	case time.Time:
		return "a date"
	default:
		return fmt.Sprintf("%T", v)
	}
}
