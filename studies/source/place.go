package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// File is the text of a file, with the name that messages call it by.
type File struct {
	Name string
	Text string
}

// Span is a stretch of a text in bytes: start ≤ end.
type Span struct{ Start, End int }

// Place is a stretch of text in a file. The zero Place is nowhere.
type Place struct {
	src *File
	at  Span
}

// At returns the place of a span.
func (s *File) At(stretch Span) Place { return Place{s, stretch} }

// Place returns the place of the bytes start ≤ i < end.
func (s *File) Place(start, end int) Place { return Place{s, Span{start, end}} }

// Part returns the stretch from ≤ i < to of a place, in bytes from its beginning.
func (p Place) Part(from, to int) Place {
	return p.src.Place(p.at.Start+from, p.at.Start+to)
}

// Line returns the line on which the place begins, counted from 1, or 0 for the zero Place.
func (p Place) Line() int { line, _ := p.position(); return line }

// Raw returns the text at the place as it stands in the file.
func (p Place) Raw() string {
	if p.src == nil {
		return ""
	}
	return p.src.Text[p.at.Start:p.at.End]
}

// String returns file:line:column.
func (p Place) String() string {
	if p.src == nil {
		return ""
	}
	line, column := p.position()
	return fmt.Sprintf("%s:%d:%d", p.src.Name, line, column)
}

func (p Place) position() (line, column int) {
	if p.src == nil {
		return 0, 0
	}
	before := p.src.Text[:p.at.Start]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// Errorf makes an Error at the place, about a dotted key, which may be empty.
func (p Place) Errorf(key, format string, args ...any) *Error {
	e := &Error{Key: key, Message: fmt.Sprintf(format, args...)}
	if p.src == nil {
		return e
	}
	e.File = p.src.Name
	e.Line, e.Column = p.position()
	begin := strings.LastIndexByte(p.src.Text[:p.at.Start], '\n') + 1
	line, _, _ := strings.Cut(p.src.Text[begin:], "\n")
	line = strings.TrimSuffix(line, "\r")
	from := min(p.at.Start-begin, len(line))
	to := max(from, min(p.at.End-begin, len(line)))
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

// New returns the text of a file without its byte order mark; what is not UTF-8 is an error.
func New(name, text string) (*File, *Error) {
	src := &File{Name: name, Text: strings.TrimPrefix(text, "\ufeff")}
	for i, r := range src.Text {
		broken := r == 0
		if r == utf8.RuneError {
			_, width := utf8.DecodeRuneInString(src.Text[i:])
			broken = width == 1
		}
		if broken {
			return nil, src.Place(i, i+1).Errorf("", "the file is not UTF-8 text: byte 0x%02x", src.Text[i]).
				WithHint("save it as UTF-8")
		}
	}
	return src, nil
}

// LineStarts returns the byte offset of each line.
func (s *File) LineStarts() []int {
	starts := []int{0}
	for i := range len(s.Text) {
		if s.Text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
