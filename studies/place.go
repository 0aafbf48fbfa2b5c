package studies

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// source is the text of a file, with the name that messages call it by.
type source struct {
	name string
	text string
}

// span is a stretch of a source in bytes: start ≤ end.
type span struct{ start, end int }

// Place is a stretch of text in a file. The zero Place is nowhere.
type Place struct {
	src *source
	at  span
}

// Line returns the line on which the place begins, counted from 1, or 0 for the zero Place.
func (p Place) Line() int { line, _ := p.position(); return line }

// Raw returns the text at the place as it stands in the file.
func (p Place) Raw() string {
	if p.src == nil {
		return ""
	}
	return p.src.text[p.at.start:p.at.end]
}

// String returns file:line:column.
func (p Place) String() string {
	if p.src == nil {
		return ""
	}
	line, column := p.position()
	return fmt.Sprintf("%s:%d:%d", p.src.name, line, column)
}

func (p Place) position() (line, column int) {
	if p.src == nil {
		return 0, 0
	}
	before := p.src.text[:p.at.start]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// errorf makes an Error at the place.
func (p Place) errorf(key, format string, args ...any) *Error {
	e := &Error{Key: key, Message: fmt.Sprintf(format, args...)}
	if p.src == nil {
		return e
	}
	e.File = p.src.name
	e.Line, e.Column = p.position()
	begin := strings.LastIndexByte(p.src.text[:p.at.start], '\n') + 1
	line, _, _ := strings.Cut(p.src.text[begin:], "\n")
	line = strings.TrimSuffix(line, "\r")
	from := min(p.at.start-begin, len(line))
	to := max(from, min(p.at.end-begin, len(line)))
	e.excerpt, e.caret = excerpt(line, from, to)
	return e
}

// printable shows what would disturb a terminal as spaces.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// excerptWidth is how many characters of a long line a message shows.
const excerptWidth = 100

// excerpt cuts a line to a readable width around line[from:to] and returns it with the line of
// carets that goes below.
func excerpt(line string, from, to int) (text, caret string) {
	before := []rune(line[:from])
	marked := []rune(line[from:to])
	after := []rune(line[to:])
	var prefix, suffix string
	if len(marked) > excerptWidth/2 {
		marked, after = marked[:excerptWidth/2], nil
		suffix = "…"
	}
	if len(before)+len(marked)+len(after) > excerptWidth {
		room := excerptWidth - len(marked)
		if len(before) > room/2 {
			before, prefix = before[len(before)-room/2:], "…"
		}
		if left := room - len(before); len(after) > left {
			after, suffix = after[:left], "…"
		}
	}
	text = prefix + printable(string(before)+string(marked)+string(after)) + suffix
	caret = strings.Repeat(" ", utf8.RuneCountInString(prefix)+len(before)) + strings.Repeat("^", max(1, len(marked)))
	return text, caret
}
