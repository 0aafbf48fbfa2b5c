package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Value is one entry of a table: a float64, an int64, a text, a truth value, or absent (the zero Value).
type Value struct {
	kind kind
	bits uint64
	text string
}

type kind uint8

const (
	absentKind kind = iota
	floatKind
	intKind
	textKind
	boolKind
)

// Float is the value x. Every NaN is the same NaN, so that values compare with ==.
func Float(x float64) Value {
	if x != x {
		x = math.NaN()
	}
	return Value{kind: floatKind, bits: math.Float64bits(x)}
}

// Int is the value n, printed as an integer.
func Int[N ~int | ~int64 | ~int32 | ~uint32](n N) Value {
	return Value{kind: intKind, bits: uint64(int64(n))}
}

// Text is the value s. Bytes that are not UTF-8 become U+FFFD.
func Text(s string) Value { return Value{kind: textKind, text: strings.ToValidUTF8(s, "\uFFFD")} }

// Bool is the value true or false.
func Bool(b bool) Value {
	if b {
		return Value{kind: boolKind, bits: 1}
	}
	return Value{kind: boolKind}
}

// Absent reports whether there is no value.
func (v Value) Absent() bool { return v.kind == absentKind }

// Number returns the value as a float64, and whether it is a float or an integer.
func (v Value) Number() (float64, bool) {
	switch v.kind {
	case floatKind:
		return math.Float64frombits(v.bits), true
	case intKind:
		return float64(int64(v.bits)), true
	}
	return math.NaN(), false
}

// String is the text of a CSV field: shortest exact floats, empty for absent.
func (v Value) String() string {
	switch v.kind {
	case floatKind:
		return FormatFloat(math.Float64frombits(v.bits))
	case intKind:
		return strconv.FormatInt(int64(v.bits), 10)
	case textKind:
		return v.text
	case boolKind:
		return strconv.FormatBool(v.bits == 1)
	}
	return ""
}

// Compare orders numbers by value and before all others, which are ordered by their text.
func Compare(a, b Value) int {
	x, aIs := a.Number()
	y, bIs := b.Number()
	switch {
	case aIs && bIs:
		return cmp.Compare(x, y)
	case aIs:
		return -1
	case bIs:
		return 1
	}
	return cmp.Compare(a.String(), b.String())
}

// FormatFloat is the shortest decimal that reads back to the same float64 (-0 included), or NaN, +Inf, -Inf.
// It has an exponent below 1e-4 and from 1e16 on.
func FormatFloat(x float64) string {
	var b [32]byte
	return string(appendFloat(b[:0], x))
}

func appendFloat(b []byte, x float64) []byte {
	if a := math.Abs(x); a == 0 || 1e-4 <= a && a < 1e16 {
		return strconv.AppendFloat(b, x, 'f', -1, 64)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// appendJSON appends the JSON form of v. A number with a point or an exponent is a float, any other number an
// integer. The strings "NaN", "+Inf" and "-Inf" are floats; a text that reads like one of them is
// wrapped as {"text": "NaN"}.
func (v Value) appendJSON(b []byte) []byte {
	switch v.kind {
	case floatKind:
		return appendJSONFloat(b, math.Float64frombits(v.bits))
	case textKind:
		if isWord(v.text) {
			return fmt.Appendf(b, `{"text":"%s"}`, v.text)
		}
		return appendJSONString(b, v.text)
	case absentKind:
		return append(b, "null"...)
	}
	return append(b, v.String()...)
}

func appendJSONFloat(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(appendFloat(append(b, '"'), x), '"')
	}
	start := len(b)
	b = appendFloat(b, x)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendJSONString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func appendEscaped(b []byte, s string) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// isWord reports whether s names a float that has no decimal form.
func isWord(s string) bool { return s == "NaN" || s == "+Inf" || s == "-Inf" }

// MarshalJSON encodes v exactly; see the package's note on numbers.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

// UnmarshalJSON decodes what MarshalJSON encodes.
func (v *Value) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		*v = Value{}
	case 't', 'f':
		*v = Bool(data[0] == 't')
	case '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		if isWord(s) {
			x, _ := strconv.ParseFloat(s, 64)
			*v = Float(x)
			return nil
		}
		*v = Text(s)
	case '{':
		var wrapped struct{ Text *string }
		if err := json.Unmarshal(data, &wrapped); err != nil {
			return err
		}
		if wrapped.Text == nil {
			return fmt.Errorf("want {\"text\": …}, have %s", data)
		}
		*v = Text(*wrapped.Text)
	case '[':
		return fmt.Errorf("want a value, have the list %.40s", data)
	default:
		n, err := parseNumber(data)
		if err != nil {
			return err
		}
		*v = n
	}
	return nil
}
