package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// decoder reads lines of the one form that encoder writes, in one pass: another form is another format. It keeps the names and the
// short texts that it has read, since few recur in many rows.
type decoder struct {
	checker
	line  []byte
	at    int
	bad   bool
	texts map[string]string

	row    Fields // of the last row: the columns and texts of the next one are most likely the same
	status string

	buffer []byte // for the line
	point  string // which it is of
}

var errLine = errors.New("not a line of this record format")

// decode reads one line.
func decode(line []byte) (*Record, error) {
	r := new(Record)
	return r, new(decoder).decode(line, r, nil)
}

// decode reads a line into r, whose former content is overwritten. If only is not nil, it names the tables to read, and
// with ArraysName the arrays; the rest was found good when the log was scanned.
func (d *decoder) decode(line []byte, r *Record, only []string) error {
	r.Reset()
	d.stamp(line, r)
	if d.take(`,"failure":{`) {
		e := d.ending()
		r.Failure = &e
		d.want(`}`)
	}
	if d.take(`,"tables":[`) {
		for more := true; more && !d.bad; more = d.take(`,`) {
			d.table(r, only)
		}
		d.want(`]`)
	}
	if only != nil && !slices.Contains(only, ArraysName) {
		if d.bad {
			return errLine
		}
		return nil
	}
	if d.take(`,"arrays":[`) {
		for more := true; more && !d.bad; more = d.take(`,`) {
			d.want(`{"name":`)
			a := Array{Name: d.text()}
			d.want(`,"shape":[`)
			for !d.bad && !d.take(`]`) {
				n, err := strconv.Atoi(string(d.number()))
				d.bad = d.bad || err != nil
				a.Shape = append(a.Shape, n)
				d.take(`,`)
			}
			d.want(`,"data":[`)
			for !d.bad && !d.take(`]`) {
				v := d.value("")
				d.bad = d.bad || v.kind != floatKind
				a.Data = append(a.Data, math.Float64frombits(v.bits))
				d.take(`,`)
			}
			d.want(`}`)
			r.Arrays = append(r.Arrays, a)
		}
		d.want(`]`)
	}
	d.want("}\n")
	if d.bad || d.at != len(line) {
		return fmt.Errorf("%w: byte %d", errLine, d.at)
	}
	return d.check(r)
}

// stamp reads what a line begins with.
func (d *decoder) stamp(line []byte, r *Record) bool {
	d.line, d.at, d.bad = line, 0, false
	d.want(`{"format":`)
	format, err := strconv.Atoi(string(d.number()))
	if err != nil || d.bad {
		d.bad = true
		return false
	}
	if r.Format = format; format != RecordFormat {
		return true // of which nothing else is known
	}
	d.want(`,"tool":`)
	r.Tool = d.text()
	d.want(`,"study":`)
	r.Study = d.text()
	d.want(`,"point":`)
	r.Point = d.like(d.point)
	return !d.bad
}

func (d *decoder) table(r *Record, only []string) {
	d.want(`{"table":`)
	name := d.text()
	d.want(`,"rows":[`)
	if only != nil && !slices.Contains(only, name) {
		d.skip()
		return
	}
	// The rows of an earlier record that stood here are used again.
	var rows []Row
	if n := len(r.Tables); n < cap(r.Tables) {
		rows = r.Tables[:n+1][n].Rows[:0]
	}
	for !d.bad && !d.take(`]`) {
		var fields Fields
		if n := len(rows); n < cap(rows) {
			fields = rows[:n+1][n].Fields[:0]
		}
		rows = append(rows, d.readRow(fields))
		d.take(`,`)
	}
	d.want(`}`)
	r.Tables = append(r.Tables, Rows{name, rows})
}

// skip leaves a table, to where the next one or the end of all stands. Inside a text each quote comes after a backslash, so that
// no text can look like what it searches.
func (d *decoder) skip() {
	rest := d.line[d.at:]
	if i := bytes.Index(rest, []byte(`]},{"table":"`)); i >= 0 {
		d.at += i + len(`]}`)
	} else if i := bytes.Index(rest, []byte(`]}],"arrays":[`)); i >= 0 {
		d.at += i + len(`]}`)
	} else {
		d.at = max(d.at, len(d.line)-len("]}\n"))
	}
}

func (d *decoder) readRow(fields Fields) (row Row) {
	d.want(`{`)
	if d.take(`"branch":`) {
		row.Branch = d.text()
		d.want(`,`)
	}
	row.Ending = d.ending()
	d.status = row.Status
	if d.take(`,"values":{`) {
		if fields == nil {
			fields = make(Fields, 0, max(len(d.row), 8))
		}
		for more := true; more && !d.bad; more = d.take(`,`) {
			var like Field // what the last row has here
			if i := len(fields); i < len(d.row) {
				like = d.row[i]
			}
			column := d.like(like.Column)
			d.want(`:`)
			fields = append(fields, Field{column, d.value(like.Value.text)})
		}
		d.want(`}`)
		d.row = fields
	}
	d.want(`}`)
	row.Fields = fields
	return row
}

func (d *decoder) ending() (e Ending) {
	d.want(`"status":`)
	e.Status = d.like(d.status)
	if d.take(`,"reason":`) {
		e.Reason = d.text()
	}
	return e
}

// like takes a text that is most likely guess. A backslash in the line is the beginning of an escape, not one of a text.
func (d *decoder) like(guess string) string {
	if end := d.at + 1 + len(guess); !d.bad && end < len(d.line) && d.line[d.at] == '"' && d.line[end] == '"' &&
		string(d.line[d.at+1:end]) == guess && strings.IndexByte(guess, '\\') < 0 {
		d.at = end + 1
		return guess
	}
	return d.text()
}

// value takes a value, which is most likely guess if it is a text.
func (d *decoder) value(guess string) Value {
	if d.bad || d.at >= len(d.line) {
		d.bad = true
		return Value{}
	}
	switch d.line[d.at] {
	case '"':
		s := d.like(guess)
		if isWord(s) {
			x, _ := strconv.ParseFloat(s, 64)
			return Float(x)
		}
		return Value{kind: textKind, text: s}
	case '{':
		d.want(`{"text":`)
		v := Value{kind: textKind, text: d.text()}
		d.want(`}`)
		return v
	case 'n':
		d.want(`null`)
		return Value{}
	case 't':
		d.want(`true`)
		return Bool(true)
	case 'f':
		d.want(`false`)
		return Bool(false)
	}
	v, err := parseNumber(d.number())
	d.bad = d.bad || err != nil
	return v
}

// parseNumber reads a float, which has a point or an exponent, or an integer.
func parseNumber(text []byte) (Value, error) {
	for _, c := range text {
		if c == '.' || c == 'e' || c == 'E' {
			x, err := strconv.ParseFloat(string(text), 64)
			return Float(x), err
		}
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return Int(n), err
}

// number takes the characters of a number.
func (d *decoder) number() []byte {
	start := d.at
	for d.at < len(d.line) {
		if c := d.line[d.at]; (c < '0' || c > '9') && c != '.' && c != '-' && c != 'e' && c != '+' {
			break
		}
		d.at++
	}
	return d.line[start:d.at]
}

// text takes a text in quotes.
func (d *decoder) text() string {
	if d.bad || d.at >= len(d.line) || d.line[d.at] != '"' {
		d.bad = true
		return ""
	}
	start := d.at + 1
	for i := start; i < len(d.line); i++ {
		switch c := d.line[i]; {
		case c == '"':
			d.at = i + 1
			return d.intern(d.line[start:i])
		case c == '\\':
			return d.escaped(start - 1)
		case c < ' ':
			d.bad = true
			return ""
		}
	}
	d.bad = true
	return ""
}

// escaped takes a text with escapes, whose quote stands at start.
func (d *decoder) escaped(start int) (s string) {
	for i := start + 1; i < len(d.line); i++ {
		switch d.line[i] {
		case '\\':
			i++
		case '"':
			d.at = i + 1
			d.bad = json.Unmarshal(d.line[start:d.at], &s) != nil
			return s
		}
	}
	d.bad = true
	return ""
}

// intern is the string of some bytes, one for all that are equal if it is short.
func (d *decoder) intern(b []byte) string {
	if s, ok := d.texts[string(b)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	const short, most = 100, 4096
	if len(s) <= short && len(d.texts) < most && !isPoint(s) { // which does not recur
		if d.texts == nil {
			d.texts = make(map[string]string)
		}
		d.texts[string(b)] = s
	}
	return s
}

// take goes past s if it stands here.
func (d *decoder) take(s string) bool {
	if !d.bad && len(d.line)-d.at >= len(s) && string(d.line[d.at:d.at+len(s)]) == s {
		d.at += len(s)
		return true
	}
	return false
}

func (d *decoder) want(s string) {
	if !d.take(s) {
		d.bad = true
	}
}
