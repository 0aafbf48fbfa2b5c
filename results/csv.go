package results

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// csvWriter writes comma-separated values as encoding/csv does, from values and without a string for each.
type csvWriter struct {
	w *bufio.Writer
	b []byte
	numbers
}

func newCSV(w io.Writer) *csvWriter { return &csvWriter{w: bufio.NewWriterSize(w, 1<<16)} }

// header writes a line of texts.
func (c *csvWriter) header(columns []string) {
	row := make([]Value, len(columns))
	for i, name := range columns {
		row[i] = Text(name)
	}
	_ = c.row(row) // an error stays, and flush returns it
}

func (c *csvWriter) row(row []Value) error {
	b := c.b[:0]
	for i := range row {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := &row[i]; v.kind {
		case floatKind:
			b = c.append(b, math.Float64frombits(v.bits), appendFloat)
		case intKind:
			b = strconv.AppendInt(b, int64(v.bits), 10)
		case textKind:
			b = appendCSVText(b, v.text)
		case boolKind:
			b = strconv.AppendBool(b, v.bits == 1)
		}
	}
	c.b = append(b, '\n')
	_, err := c.w.Write(c.b)
	return err
}

func (c *csvWriter) flush() error { return c.w.Flush() }

// appendCSVText quotes a text that has a comma, a quote or a line break, that begins with a space, or that is \. alone.
func appendCSVText(b []byte, s string) []byte {
	if first, _ := utf8.DecodeRuneInString(s); s != `\.` && !strings.ContainsAny(s, ",\"\r\n") && (s == "" || !unicode.IsSpace(first)) {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}
