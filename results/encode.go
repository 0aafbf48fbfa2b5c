package results

import (
	"math"
	"strconv"
)

// encoder checks records and writes each as one line of JSON. It keeps what recurs from record to record.
type encoder struct {
	checker
	numbers
	line []byte
}

// encode returns the record as one line of JSON, which is good until the next one.
func (e *encoder) encode(r *Record) ([]byte, error) {
	if err := e.outline(r); err != nil {
		return nil, err
	}
	b := strconv.AppendInt(append(e.line[:0], `{"format":`...), int64(r.Format), 10)
	b = appendText(b, `,"tool":`, r.Tool)
	b = appendText(b, `,"study":`, r.Study)
	b = appendText(b, `,"point":`, r.Point)
	if r.Failure != nil {
		b = append(appendEnding(append(b, `,"failure":{`...), *r.Failure), '}')
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		b = append(b, opening(i, `,"tables":[`)...)
		b = appendText(b, `{"table":`, t.Table)
		b = append(b, `,"rows":[`...)
		for k := range t.Rows {
			row := &t.Rows[k]
			columns, err := e.columns(row.Fields)
			if err != nil {
				return nil, inTable(r, t.Table, err)
			}
			b = append(b, opening(k, "")...)
			b = append(b, '{')
			if row.Branch != "" {
				b = append(appendText(b, `"branch":`, row.Branch), ',')
			}
			b = appendEnding(b, row.Ending)
			if len(row.Fields) > 0 {
				b = append(b, `,"values":`...)
				for j := range row.Fields {
					b = append(b, columns.keys[j]...)
					if v := &row.Fields[j].Value; v.kind == floatKind {
						b = e.append(b, math.Float64frombits(v.bits), appendJSONFloat)
					} else {
						b = v.appendJSON(b)
					}
				}
				b = append(b, '}')
			}
			b = append(b, '}')
		}
		b = append(b, "]}"...)
	}
	if len(r.Tables) > 0 {
		b = append(b, ']')
	}
	for i := range r.Arrays {
		a := &r.Arrays[i]
		b = append(b, opening(i, `,"arrays":[`)...)
		b = appendText(b, `{"name":`, a.Name)
		b = append(b, `,"shape":[`...)
		for k, n := range a.Shape {
			b = append(b, opening(k, "")...)
			b = strconv.AppendInt(b, int64(n), 10)
		}
		b = append(b, `],"data":[`...)
		for k, x := range a.Data {
			b = append(b, opening(k, "")...)
			b = e.append(b, x, appendJSONFloat)
		}
		b = append(b, "]}"...)
	}
	if len(r.Arrays) > 0 {
		b = append(b, ']')
	}
	e.line = append(b, "}\n"...)
	return e.line, nil
}

func appendText(b []byte, key, text string) []byte { return appendJSONString(append(b, key...), text) }

func appendEnding(b []byte, e Ending) []byte {
	b = appendText(b, `"status":`, e.Status)
	if e.Reason != "" {
		b = appendText(b, `,"reason":`, e.Reason)
	}
	return b
}

// opening is what stands before item i of a list: what opens the list, or a comma.
func opening(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// numbers keeps the texts of floats: in a record many recur.
type numbers [1 << numbersBits]struct {
	bits uint64
	size uint8 // 0: none is kept here
	text [longestNumber]byte
}

const (
	numbersBits   = 8
	longestNumber = len("-2.2250738585072014e-308")
)

// append appends the text of x that write writes, the same for all calls.
func (n *numbers) append(b []byte, x float64, write func([]byte, float64) []byte) []byte {
	bits := math.Float64bits(x)
	kept := &n[bits*0x9e3779b97f4a7c15>>(64-numbersBits)] // Knuth's multiplicative hash
	if kept.bits == bits && kept.size > 0 {
		return append(b, kept.text[:kept.size]...)
	}
	start := len(b)
	b = write(b, x)
	kept.bits, kept.size = bits, uint8(copy(kept.text[:], b[start:]))
	return b
}
