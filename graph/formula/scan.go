package formula

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// MaxNesting bounds how deep a formula may nest: brackets, arms, powers and signs inside one
// another. The parser recurses once for each, and an exhausted stack cannot be recovered from.
const MaxNesting = 1000

// source is a formula as scan read it. What the parser sees differs from the text in one thing:
// every number is written as zeros of the same length, so that its value is taken from here,
// rounded once from its decimal, and never from the parser.
type source struct {
	text    string
	parsed  []byte
	numbers map[int]float64 // by byte offset
	names   []Name          // uses of names that are not calls
	tokens  []token
	runes   []int // byte offset of each rune; nil for ASCII text
}

type token struct{ offset, length int }

// scanner reads tokens and keeps what it must know of those before: the open brackets and how deep
// the parser will recurse.
type scanner struct {
	source
	at      int
	operand bool // the last token ends an operand
	open    []bracket
	depth   int
}

// bracket is an open bracket with the recursion that operators inside it have added so far.
type bracket struct {
	use    bracketUse
	offset int
	tight  int // signs and powers, until the next looser operator
	nots   int // !, which binds looser than *
	arms   int // ?, until the next comma
	colons int
}

type bracketUse uint8

const (
	outermost bracketUse = iota
	group                // (a + b)
	call                 // f(a, b)
	array                // [a, b]
	index                // x[a] and x[a:b]
)

// refusal is what is said of text that other languages allow.
type refusal struct{ message, hint string }

// words have a meaning in the parser, so no value can have such a name.
var words = map[string]refusal{
	"and": {"there is no \"and\"", "write &&"}, "or": {"there is no \"or\"", "write ||"}, "not": {"there is no \"not\"", "write !"},
	"in":         {"there is no \"in\"", "write comparisons joined by && and ||"},
	"if":         {"there is no \"if\"", "write c ? a : b"},
	"else":       {"there is no \"else\"", "write c ? a : b"},
	"let":        {"there is no \"let\"", "name the value in a formula of its own"},
	"true":       {"there is no \"true\"", "write a comparison"},
	"false":      {"there is no \"false\"", "write a comparison"},
	"nil":        {"there is no \"nil\"", ""},
	"matches":    {"\"matches\" is a reserved word", "rename it"},
	"contains":   {"\"contains\" is a reserved word", "rename it"},
	"startsWith": {"\"startsWith\" is a reserved word", "rename it"},
	"endsWith":   {"\"endsWith\" is a reserved word", "rename it"},
}

// refusedPairs and refusedRunes are looked up where no token of the language begins.
var refusedPairs = map[string]refusal{
	"//": {"there is no //, and there are no comments in a formula", "write / for division"},
	"/*": {"there are no comments in a formula", ""},
	"**": {"there is no **", "write ^ for a power"},
	"??": {"there is no ??", "write c ? a : b"},
	"..": {"there are no ranges", "a slice is x[1:4]"},
	"::": {"a slice has no step", "write x[1:4]"},
	"<>": {"there is no <>", "write !="},
	"=>": {"there is no =>", "write >="},
	"=<": {"there is no =<", "write <="},
}

var refusedRunes = map[rune]refusal{
	'=': {"there is no assignment in a formula", "a comparison is =="},
	'&': {"there is no &", "write &&"}, '|': {"there are no pipes", "write || for or, f(x) for a call"},
	'%': {"there is no %", ""}, '@': {"there is no @", "write matmul(A, B)"},
	'.': {"there are no members", "every value has a plain name"},
	';': {"a formula is one expression", "name other values in formulas of their own"},
	'{': {"there are no maps and no closures", "group with ( )"}, '}': {"there are no maps and no closures", "group with ( )"},
	'#': {"there are no closures and no comments in a formula", ""},
	'"': {"there are no strings", ""}, '`': {"there are no strings", ""}, '\'': {"there are no strings", ""},
	'“': {"there are no strings", ""}, '”': {"there are no strings", ""}, '’': {"there are no strings", ""},
	'−': {"− is not the minus sign of the keyboard", "write -"}, '–': {"– is not the minus sign of the keyboard", "write -"},
	'·': {"there is no ·", "write *"}, '⋅': {"there is no ⋅", "write *"}, '×': {"there is no ×", "write *"}, '∗': {"there is no ∗", "write *"},
	'÷': {"there is no ÷", "write /"},
	'≤': {"there is no ≤", "write <="}, '≥': {"there is no ≥", "write >="}, '≠': {"there is no ≠", "write !="},
	'∧': {"there is no ∧", "write &&"}, '∨': {"there is no ∨", "write ||"}, '¬': {"there is no ¬", "write !"},
	'⁰': {"there is no ⁰", "write ^0"}, '¹': {"there is no ¹", "write ^1"}, '²': {"there is no ²", "write ^2"}, '³': {"there is no ³", "write ^3"},
	'⁴': {"there is no ⁴", "write ^4"}, '⁵': {"there is no ⁵", "write ^5"}, '⁶': {"there is no ⁶", "write ^6"}, '⁷': {"there is no ⁷", "write ^7"},
	'⁸': {"there is no ⁸", "write ^8"}, '⁹': {"there is no ⁹", "write ^9"}, '⁻': {"there is no ⁻", "write ^-1"}, 'ᵀ': {"there is no ᵀ", "write transpose(A)"},
	'√': {"there is no √", "write sqrt(x)"}, '∑': {"there is no ∑", "write sum(x)"}, '∞': {"there is no ∞", "every number is finite"},
	'µ': {"this is the micro sign", "write the Greek letter μ"},
	'ϕ': {"ϕ is not a letter of names", "write φ"}, 'ϵ': {"ϵ is not a letter of names", "write ε"}, 'ϑ': {"ϑ is not a letter of names", "write θ"},
}

// scan checks everything about a formula that does not need its grammar: characters, numbers, brackets and nesting.
func scan(text string) (*source, *Error) {
	s := &scanner{source: source{text: text, parsed: []byte(text), numbers: map[int]float64{}}, open: []bracket{{}}}
	for s.skipSpace(); s.at < len(text); s.skipSpace() {
		if fault := s.token(); fault != nil {
			return nil, fault
		}
		if s.depth > MaxNesting {
			last := s.tokens[len(s.tokens)-1]
			return nil, &Error{last.offset, last.length, fmt.Sprintf("the formula nests deeper than %d levels", MaxNesting),
				"name parts of it in formulas of their own"}
		}
	}
	if len(s.tokens) == 0 {
		return nil, &Error{0, 0, "the formula is empty", ""}
	}
	if b := s.open[len(s.open)-1]; b.use != outermost {
		return nil, s.fault(b.offset, 1, refusal{fmt.Sprintf("this %s is never closed", text[b.offset:b.offset+1]), ""})
	}
	if utf8.RuneCountInString(text) != len(text) {
		for i := range text {
			s.runes = append(s.runes, i)
		}
	}
	return &s.source, nil
}

func (s *scanner) fault(offset, length int, r refusal) *Error {
	return &Error{offset, length, r.message, r.hint}
}

func (s *scanner) skipSpace() {
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		if !unicode.IsSpace(r) {
			return
		}
		s.at += size
	}
}

// token reads one token.
func (s *scanner) token() *Error {
	r, size := utf8.DecodeRuneInString(s.text[s.at:])
	switch {
	case r == utf8.RuneError && size <= 1:
		return s.fault(s.at, 1, refusal{"the formula is not valid UTF-8", ""})
	case isDigit(s.byte(0)), s.byte(0) == '.' && isDigit(s.byte(1)):
		return s.number()
	case isLetter(r):
		return s.name()
	}
	return s.operator(r, size)
}

// byte returns the byte k places on, or 0.
func (s *scanner) byte(k int) byte {
	if s.at+k < len(s.text) {
		return s.text[s.at+k]
	}
	return 0
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(r rune) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || 'α' <= r && r <= 'ω' || 'Α' <= r && r <= 'Ω' && unicode.IsLetter(r)
}

// take ends a token of the given length.
func (s *scanner) take(length int, operand bool) {
	s.tokens = append(s.tokens, token{s.at, length})
	s.at += length
	s.operand = operand
}

// last returns the text of the last token.
func (s *scanner) last() string {
	if len(s.tokens) == 0 {
		return ""
	}
	return s.source.at(s.tokens[len(s.tokens)-1])
}

func (s *source) at(t token) string { return s.text[t.offset : t.offset+t.length] }

// number reads digits[.digits][e±digits].
func (s *scanner) number() *Error {
	end := s.at
	digits := func() {
		for end < len(s.text) && isDigit(s.text[end]) {
			end++
		}
	}
	next := func(k int) byte {
		if end+k < len(s.text) {
			return s.text[end+k]
		}
		return 0
	}
	digits()
	if next(0) == '.' && next(1) != '.' {
		end++
		digits()
	}
	if e := next(0); e == 'e' || e == 'E' {
		if isDigit(next(1)) {
			end++
			digits()
		} else if (next(1) == '+' || next(1) == '-') && isDigit(next(2)) {
			end += 2
			digits()
		}
	}
	text := s.text[s.at:end]
	if s.operand {
		return s.side(text)
	}
	x, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	switch {
	case err != nil || math.IsInf(x, 0):
		return s.fault(s.at, len(text), refusal{fmt.Sprintf("%s is beyond the largest float64", shorten(text)), "the largest is about 1.8e308"})
	case x == 0 && strings.ContainsAny(mantissa, "123456789"):
		return s.fault(s.at, len(text), refusal{fmt.Sprintf("%s is not zero but would round to it", shorten(text)), "the smallest float64 is about 4.9e-324"})
	}
	s.numbers[s.at] = x
	for i := s.at; i < end; i++ {
		s.parsed[i] = '0'
	}
	s.take(len(text), true)
	return nil
}

// name reads a name, which is a call where a parenthesis follows.
func (s *scanner) name() *Error {
	end := s.at
	for end < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[end:])
		if !isLetter(r) && !isDigit(s.text[end]) {
			break
		}
		end += size
	}
	text := s.text[s.at:end]
	if word, ok := words[text]; ok {
		return s.fault(s.at, len(text), word)
	}
	if s.operand {
		return s.side(text)
	}
	start := s.at
	s.take(len(text), true)
	s.skipSpace()
	if s.byte(0) != '(' {
		s.names = append(s.names, Name{text, start})
	}
	return nil
}

// side says that two operands stand side by side.
func (s *scanner) side(text string) *Error {
	last := s.last()
	r := refusal{fmt.Sprintf("an operator is missing between %s and %s", shorten(last), shorten(text)), ""}
	switch {
	case isDigit(last[0]) && text[0] == '_':
		r = refusal{"a number has no underscores", "write its digits without them"}
	case last == "0" && strings.ContainsRune("xXbBoO", rune(text[0])):
		r.hint = "numbers are decimal"
	case functionNamed(last) != nil:
		r.hint = "write " + functionNamed(last).Signature
	case !isDigit(text[0]) && text[0] != '.':
		r.hint = fmt.Sprintf("for a product, write %s * %s", shorten(last), shorten(text))
	}
	return s.fault(s.at, len(text), r)
}

// operator reads an operator or bracket.
func (s *scanner) operator(r rune, size int) *Error {
	top := &s.open[len(s.open)-1]
	if s.at+2 <= len(s.text) {
		pair := s.text[s.at : s.at+2]
		switch pair {
		case "&&", "||", "==", "!=", "<=", ">=":
			s.reset(top, true)
			s.take(2, false)
			return nil
		}
		if refused, ok := refusedPairs[pair]; ok {
			return s.fault(s.at, 2, refused)
		}
	}
	switch r {
	case '(', '[':
		return s.openBracket(r)
	case ')', ']':
		return s.closeBracket(r)
	case ',':
		switch top.use {
		case index:
			return s.fault(s.at, 1, refusal{"an index is one number", "write A[i][j]"})
		case outermost, group:
			return s.fault(s.at, 1, refusal{"unexpected ,", "a vector is [a, b]"})
		}
		s.reset(top, true)
		s.depth -= top.arms
		top.arms = 0
	case '?':
		s.reset(top, true)
		top.arms++
		s.depth++
	case ':':
		if s.last() == "?" {
			return s.fault(s.at, 1, refusal{"the first arm is missing", "write c ? a : b"})
		}
		if top.colons++; top.use == index && top.colons > top.arms+1 {
			return s.fault(s.at, 1, refusedPairs["::"])
		}
		s.reset(top, true)
	case '<', '>':
		s.reset(top, true)
	case '!':
		if s.operand {
			return s.fault(s.at, 1, refusal{"there is no factorial", "! is not, and stands before a condition"})
		}
		top.nots++
		s.depth++
	case '^':
		top.tight++
		s.depth++
	case '+', '-':
		if s.operand {
			s.reset(top, true)
		} else {
			top.tight++
			s.depth++
		}
	case '*', '/':
		s.reset(top, false)
	default:
		return s.refuse(r, size)
	}
	s.take(1, false)
	return nil
}

// refuse says why a character begins no token.
func (s *scanner) refuse(r rune, size int) *Error {
	if r == '\'' && s.operand && s.at > 0 && !unicode.IsSpace(rune(s.text[s.at-1])) {
		hint := "write transpose(A)"
		if last := s.last(); last != ")" && last != "]" {
			hint = fmt.Sprintf("write transpose(%s)", shorten(last))
		}
		return s.fault(s.at, 1, refusal{"there is no '", hint})
	}
	if refused, ok := refusedRunes[r]; ok {
		return s.fault(s.at, size, refused)
	}
	refused := refusal{fmt.Sprintf("%q has no meaning in a formula", r), ""}
	if unicode.IsLetter(r) {
		refused.hint = "names have the letters A–Z, a–z and the Greek ones, digits and _"
	}
	return s.fault(s.at, size, refused)
}

// reset notes an operator that ends signs and powers, and, unless it is * or /, also !.
func (s *scanner) reset(top *bracket, nots bool) {
	s.depth -= top.tight
	top.tight = 0
	if nots {
		s.depth -= top.nots
		top.nots = 0
	}
}

func (s *scanner) openBracket(r rune) *Error {
	use := group
	switch {
	case r == '[' && s.operand:
		use = index
	case r == '[':
		use = array
	case s.operand:
		last := s.tokens[len(s.tokens)-1]
		first, _ := utf8.DecodeRuneInString(s.text[last.offset:])
		if !isLetter(first) {
			return s.fault(s.at, 1, refusal{fmt.Sprintf("an operator is missing between %s and (", shorten(s.last())), "for a product, write *"})
		}
		use = call
	}
	s.open = append(s.open, bracket{use: use, offset: s.at})
	s.depth++
	s.take(1, false)
	return nil
}

func (s *scanner) closeBracket(r rune) *Error {
	top := s.open[len(s.open)-1]
	if top.use == outermost {
		return s.fault(s.at, 1, refusal{fmt.Sprintf("this %c closes nothing", r), ""})
	}
	if opener := s.text[top.offset]; (opener == '(') != (r == ')') {
		return s.fault(s.at, 1, refusal{fmt.Sprintf("this %c meets an open %c", r, opener), ""})
	}
	s.open = s.open[:len(s.open)-1]
	s.depth -= 1 + top.tight + top.nots + top.arms
	s.take(1, true)
	return nil
}

// shorten cuts a long text for a message.
func shorten(text string) string {
	if len(text) <= 24 {
		return text
	}
	cut := 20
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// parse builds the syntax tree. Every built-in of the parser is overridden, so that all names are plain.
func (s *source) parse() (ast.Node, *Error) {
	config := conf.CreateNew()
	config.MaxNodes = 0
	for name, f := range config.Builtins {
		config.Functions[name] = f
	}
	tree, err := parser.ParseWithConfig(string(s.parsed), config)
	if err == nil {
		return tree.Node, nil
	}
	var place *file.Error
	if !errors.As(err, &place) || strings.Contains(place.Message, "EOF") {
		return nil, &Error{len(s.text), 0, "the formula ends too early", ""}
	}
	t := s.tokenAt(s.offset(place.Location))
	return nil, &Error{t.offset, t.length, "unexpected " + shorten(s.at(t)), ""}
}

// offset turns a place of the parser, which counts runes, into a byte offset.
func (s *source) offset(place file.Location) int {
	switch {
	case s.runes == nil:
		return min(place.From, len(s.text))
	case place.From < len(s.runes):
		return s.runes[place.From]
	}
	return len(s.text)
}

// tokenAt returns the token that holds an offset.
func (s *source) tokenAt(offset int) token {
	i := sort.Search(len(s.tokens), func(i int) bool { return s.tokens[i].offset > offset })
	return s.tokens[max(i-1, 0)]
}
