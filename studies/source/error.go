package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error says what is wrong with a study or one of its data files, where, and what to try.
type Error struct {
	File    string // the file as it was named by the caller, or found from the study
	Line    int    // from 1; 0 when the error has no line
	Column  int    // in characters from 1; 0 when the error has no line
	Key     string // dotted key that the error belongs to, such as "implicit.tolerance"; may be empty
	Message string // what is wrong
	Hint    string // what to try; may be empty

	excerpt, caret string // the line and the carets under it
}

// Error renders the message with its place, the line, a caret and the hint:
//
//	studies/foo.toml:12:3: unknown key "tolerence" in [implicit]
//	   12 | tolerence = 1e-12
//	      | ^^^^^^^^^
//	  did you mean "tolerance"?
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Line > 0 {
		fmt.Fprintf(&b, "\n%5d | %s\n      | %s", e.Line, e.excerpt, e.caret)
	}
	if e.Hint != "" {
		b.WriteString("\n  " + strings.ReplaceAll(e.Hint, "\n", "\n  "))
	}
	return b.String()
}

// WithHint sets the hint, in the way of fmt.Sprintf, and returns the error.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Errors is several errors of one file, in the order of the file.
type Errors []*Error

// Error is the texts of the errors, one below the other.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap lets errors.As find the single errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

// MaxErrors is how many errors are collected before reading stops.
const MaxErrors = 10

// ErrorList collects the errors of one stage of reading, of which it keeps the first [MaxErrors].
type ErrorList struct{ list Errors }

// Add keeps an error, unless the list is full.
func (l *ErrorList) Add(e *Error) {
	if !l.Full() {
		l.list = append(l.list, e)
	}
}

// Full reports whether no more errors are wanted: finding places costs time in long files.
func (l *ErrorList) Full() bool { return len(l.list) == MaxErrors }

// Err returns nil, the one *Error, or Errors.
func (l *ErrorList) Err() error {
	switch len(l.list) {
	case 0:
		return nil
	case 1:
		return l.list[0]
	}
	return l.list
}

// Nearest returns the candidate with the least edit distance to name, if it is near enough to be a
// slip of the fingers, and "" otherwise. A candidate that differs by case only always wins, and then
// one that name abbreviates.
func Nearest(name string, candidates []string) string {
	length := utf8.RuneCountInString(name)
	best, least := "", min(length, length/3+2)
	for _, c := range candidates {
		if strings.EqualFold(c, name) {
			return c
		}
		if length > 2 && strings.HasPrefix(c, name) {
			best, least = c, 0
		}
		if d := editDistance(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// editDistance is the least number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 {
		return 64 // no name is this long: not worth the work
	}
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range t {
		rows[0][j+1] = j + 1
	}
	for i := range s {
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(s)][len(t)]
}
