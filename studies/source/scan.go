package source

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// Node is a key of the file with its value and where both stand.
type Node struct {
	Parent *Node
	Name   string // the key, unquoted; "" at the root and in arrays
	KeyAt  Span   // the key's own part, without the parts before it
	At     Span   // the value as written; of a table its header or braces

	Kind  Kind
	Items []*Node          // entries of an array, or keys of a table, in the order of the file
	keys  map[string]*Node // keys of a table
	Value any              // of a scalar, as the TOML library read it
}

// Kind tells scalars, lists and tables apart.
type Kind int

const (
	Scalar Kind = iota
	List
	Table
)

// Child returns the value at a key, or nil. It may be asked of a nil node.
func (n *Node) Child(names ...string) *Node {
	for _, name := range names {
		if n == nil {
			return nil
		}
		n = n.keys[name]
	}
	return n
}

// Path returns the keys from the root to n.
func (n *Node) Path() []string {
	if n.Parent == nil {
		return nil
	}
	if n.Parent.Kind == List {
		return n.Parent.Path()
	}
	return append(n.Parent.Path(), n.Name)
}

// maxNesting bounds arrays, inline tables and dotted keys: the TOML library recurses over the
// first two and takes quadratic time over the third.
const maxNesting = 32

// Parse reads TOML text into a tree. The TOML library decides what is valid and what the values
// are; the scanner adds the places. The two are walked together, so that a disagreement is an error
// and never a wrong place.
func Parse(src *File) (*Node, error) {
	s := &scanner{src: src}
	root, failed := s.document()
	refuse := src.At
	switch {
	case s.tooDeep:
		return nil, refuse(Span{s.failedAt, s.failedAt + 1}).Errorf("", "arrays, tables and dotted keys nest more than %d deep", maxNesting)
	case s.arrayTable != Span{}:
		return nil, refuse(s.arrayTable).Errorf("", "a study has no lists of tables").
			WithHint("write the section's name in single brackets: [name]")
	case s.emptyKey != Span{}:
		return nil, refuse(s.emptyKey).Errorf("", "a key is empty")
	case s.twice != nil: // the library lets some of these pass
		return nil, refuse(s.twiceAt).Errorf("", "the key %q is defined twice", s.twice.Name).
			WithHint("the first is on line %d", refuse(s.twice.KeyAt).Line())
	}
	text := src.Text
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
		return nil, refuse(Span{s.failedAt, s.failedAt + 1}).Errorf("", "this text cannot be read as TOML")
	}
	if n := attach(root, values); n != nil {
		return nil, refuse(n.KeyAt).Errorf("", "this key cannot be read").
			WithHint("define it once, in one place")
	}
	return root, nil
}

// unquoted is what the TOML library says of a value that begins as a name or a formula does.
var unquoted = regexp.MustCompile(`^expected value but found "?'?[\pL_(]`)

// decodeTOML runs the TOML library and turns its errors, and its panics on odd input, into an Error.
func decodeTOML(src *File, text string) (values map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{File: src.Name, Message: "broken TOML"}
		}
	}()
	_, err = toml.Decode(text, &values)
	var broken toml.ParseError
	if errors.As(err, &broken) {
		start := max(0, min(broken.Position.Start, len(src.Text)))
		end := max(start, min(start+broken.Position.Len, len(src.Text)))
		e := src.Place(start, end).Errorf(broken.LastKey, "broken TOML: %s", printable(broken.Message))
		switch {
		case strings.HasSuffix(broken.Message, "out of range for int64"):
			e.WithHint("write it with a decimal point or an exponent to have a floating-point number")
		case strings.HasSuffix(broken.Message, "out of range for float64"):
			e.WithHint("the largest float64 is 1.8e308")
		case unquoted.MatchString(broken.Message):
			e.WithHint("a formula goes in quotes")
		}
		return nil, e
	}
	if err != nil {
		return nil, &Error{File: src.Name, Message: "broken TOML: " + err.Error()}
	}
	return values, nil
}

// attach copies the library's values into the tree and returns the first node at which the two
// differ, or nil.
func attach(n *Node, value any) *Node {
	switch n.Kind {
	case Table:
		table, ok := value.(map[string]any)
		if !ok || len(table) != len(n.Items) {
			return n
		}
		for _, c := range n.Items {
			v, ok := table[c.Name]
			if !ok {
				return c
			}
			if bad := attach(c, v); bad != nil {
				return bad
			}
		}
	case List:
		list, ok := value.([]any)
		if !ok || len(list) != len(n.Items) {
			return n
		}
		for i, c := range n.Items {
			if bad := attach(c, list[i]); bad != nil {
				return bad
			}
		}
	case Scalar:
		switch value.(type) {
		case string, int64, float64, bool, time.Time:
			n.Value = value
		default:
			return n
		}
	}
	return nil
}

// scanner finds the keys and values of TOML text. It is exact on valid text and lenient otherwise:
// validity is the library's to judge.
type scanner struct {
	src        *File
	pos        int
	depth      int
	failedAt   int
	tooDeep    bool
	arrayTable Span // the first [[header]]
	emptyKey   Span // the first key without a letter, over which the library stumbles
	twice      *Node
	twiceAt    Span // where a key that has a value is defined again
}

// stop is what the scanner panics with when it cannot go on; document recovers it.
type stop struct{}

func (s *scanner) fail() {
	s.failedAt = min(s.pos, len(s.src.Text))
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
	if s.pos+k < len(s.src.Text) {
		return s.src.Text[s.pos+k]
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
	if i := strings.IndexByte(s.src.Text[s.pos:], '\n'); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.src.Text)
	}
}

// lineEnd skips to the next line; only blanks and a comment may stand before it.
func (s *scanner) lineEnd() {
	s.blanks()
	switch {
	case s.pos == len(s.src.Text), s.peek(0) == '\n', s.peek(0) == '\r':
	case s.peek(0) == '#':
		s.comment()
	default:
		s.fail()
	}
}

func newTable(parent *Node, name string, keyAt Span) *Node {
	return &Node{Parent: parent, Name: name, KeyAt: keyAt, At: keyAt, Kind: Table, keys: map[string]*Node{}}
}

func (s *scanner) document() (root *Node, failed bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			root, failed = nil, true
		}
	}()
	root = newTable(nil, "", Span{})
	context := root
	for s.space(); s.pos < len(s.src.Text); s.space() {
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
func (s *scanner) header(root *Node) *Node {
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
		if s.arrayTable == (Span{}) {
			s.arrayTable = Span{start, s.pos}
		}
	}
	t := root
	for i, name := range names {
		t = s.table(t, name, spans[i])
	}
	t.KeyAt, t.At = spans[len(spans)-1], Span{start, s.pos}
	return t
}

// table returns the table at a key of t, which it makes if it is new.
func (s *scanner) table(t *Node, name string, at Span) *Node {
	c := t.keys[name]
	if c == nil {
		c = newTable(t, name, at)
		t.keys[name] = c
		t.Items = append(t.Items, c)
	}
	if c.Kind != Table {
		s.again(c, at)
	}
	return c
}

func (s *scanner) again(first *Node, at Span) {
	s.twice, s.twiceAt = first, at
	s.fail()
}

// pair reads key = value into the table t.
func (s *scanner) pair(t *Node) {
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
	n := &Node{Parent: t, Name: names[last], KeyAt: spans[last]}
	t.keys[n.Name] = n
	t.Items = append(t.Items, n)
	s.value(n)
}

// key reads the parts of a dotted key and the blanks after it.
func (s *scanner) key() (names []string, spans []Span) {
	for {
		s.blanks()
		start := s.pos
		switch s.peek(0) {
		case '"', '\'':
			s.quoted()
			text, _ := Unquote(s.src.Text[start:s.pos])
			names = append(names, text)
		default:
			for isBareKey(s.peek(0)) {
				s.pos++
			}
			if s.pos == start {
				s.fail()
			}
			names = append(names, s.src.Text[start:s.pos])
		}
		spans = append(spans, Span{start, s.pos})
		if names[len(names)-1] == "" && s.emptyKey == (Span{}) {
			s.emptyKey = Span{start, s.pos}
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
func (s *scanner) value(n *Node) {
	start := s.pos
	switch s.peek(0) {
	case '"', '\'':
		if q := s.src.Text[s.pos]; s.peek(1) == q && s.peek(2) == q {
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
	n.At = Span{start, s.pos}
}

func (s *scanner) array(n *Node) {
	s.enter()
	defer s.leave()
	n.Kind = List
	s.pos++
	for s.space(); s.peek(0) != ']'; s.space() {
		c := &Node{Parent: n}
		s.value(c)
		c.KeyAt = c.At
		n.Items = append(n.Items, c)
		if s.space(); s.peek(0) != ']' {
			s.expect(',')
		}
	}
	s.pos++
}

func (s *scanner) inlineTable(n *Node) {
	s.enter()
	defer s.leave()
	n.Kind, n.keys = Table, map[string]*Node{}
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
	for isBareKey(s.peek(0)) || strings.IndexByte("+.:", s.peek(0)) >= 0 && s.pos < len(s.src.Text) {
		s.pos++
	}
	if s.pos == start {
		s.fail()
	}
	if !looksLikeDate(s.src.Text[start:s.pos]) {
		return
	}
	// A date may be followed by one blank and a time.
	for s.pos < len(s.src.Text) && strings.IndexByte("0123456789-:Tt .Zz+", s.peek(0)) >= 0 {
		s.pos++
	}
	s.pos = start + len(strings.TrimRight(s.src.Text[start:s.pos], " "))
}

// looksLikeDate reports whether digits are followed by '-' or ':'.
func looksLikeDate(word string) bool {
	digits := strings.TrimLeft(word, "0123456789")
	return len(digits) < len(word) && digits != "" && (digits[0] == '-' || digits[0] == ':')
}

// quoted reads a "…" or '…' string.
func (s *scanner) quoted() {
	q := s.src.Text[s.pos]
	for s.pos++; s.pos < len(s.src.Text); s.pos++ {
		switch c := s.src.Text[s.pos]; {
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
	q := s.src.Text[s.pos]
	for s.pos += 3; s.pos < len(s.src.Text); s.pos++ {
		switch c := s.src.Text[s.pos]; {
		case c == q && s.peek(1) == q && s.peek(2) == q && s.peek(3) != q:
			s.pos += 3
			return
		case c == '\\' && q == '"':
			s.pos++
		}
	}
	s.fail()
}

// Unquote returns the text of a TOML string as written with its quotes, and for each byte of that
// text, and for its end, the offset in raw that it came from.
func Unquote(raw string) (text string, from []int) {
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

// Describe names the type of a value for messages.
func (n *Node) Describe() string {
	switch n.Kind {
	case Table:
		return "a table"
	case List:
		return "a list"
	}
	switch v := n.Value.(type) {
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

// Text returns a string value, and whether there is one.
func (n *Node) Text() (string, bool) {
	if n == nil {
		return "", false
	}
	s, ok := n.Value.(string)
	return s, ok
}

// Number returns the value of a node that is known to hold a number.
func (n *Node) Number() float64 {
	if v, ok := n.Value.(int64); ok {
		return float64(v)
	}
	return n.Value.(float64)
}

// Count returns the value of a node that is known to hold a whole number.
func (n *Node) Count() int64 {
	if v, ok := n.Value.(int64); ok {
		return v
	}
	return int64(n.Value.(float64))
}

// KeyText writes a dotted key, in quotes where TOML needs them.
func KeyText(path []string) string {
	parts := slices.Clone(path)
	for i, part := range parts {
		if strings.ContainsFunc(part, func(r rune) bool { return r > 0x7f || !isBareKey(byte(r)) }) {
			parts[i] = `"` + part + `"`
		}
	}
	return strings.Join(parts, ".")
}
