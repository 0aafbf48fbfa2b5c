package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// tree is a JSON value with its place, its fields in the order of the text.
type tree struct {
	offset int
	kind   string // object, list, string, number, boolean or null
	text   string // of a string, a number or a boolean
	fields []field
	items  []tree
}

type field struct {
	name string
	tree tree
}

const maxNesting = 32

// SyntaxError is a document that is no module: it says where and why.
type SyntaxError struct {
	Line, Column int
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

func syntaxError(document []byte, offset int, format string, args ...any) *SyntaxError {
	before := document[:min(offset, len(document))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{line, column, fmt.Sprintf(format, args...)}
}

// parseTree reads one JSON value and nothing after it; a key that appears twice is refused.
func parseTree(document []byte) (tree, error) {
	for i, rest := 0, document; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			return tree{}, syntaxError(document, i, "the text is not UTF-8")
		}
		i, rest = i+size, rest[size:]
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	t, err := parseValue(d, document, 0)
	if err != nil {
		return tree{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return tree{}, syntaxError(document, int(d.InputOffset()), "there is more after the module")
	}
	return t, nil
}

func parseValue(d *json.Decoder, document []byte, depth int) (tree, error) {
	token, err := d.Token()
	t := tree{offset: int(d.InputOffset())}
	fail := func(err error) (tree, error) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return tree{}, syntaxError(document, int(d.InputOffset()), "%v", err)
	}
	if err != nil {
		return fail(err)
	}
	if depth > maxNesting {
		return tree{}, syntaxError(document, t.offset, "nested deeper than %d", maxNesting)
	}
	switch v := token.(type) {
	case string:
		t.kind, t.text = "string", v
	case json.Number:
		t.kind, t.text = "number", v.String()
	case bool:
		t.kind, t.text = "boolean", fmt.Sprint(v)
	case nil:
		t.kind = "null"
	case json.Delim:
		t.kind = map[json.Delim]string{'{': "object", '[': "list"}[v]
		seen := map[string]bool{}
		for d.More() {
			name := ""
			if t.kind == "object" {
				key, err := d.Token()
				if err != nil {
					return fail(err)
				}
				if name = key.(string); seen[name] {
					return tree{}, syntaxError(document, int(d.InputOffset()), "key %q appears twice", name)
				}
				seen[name] = true
			}
			item, err := parseValue(d, document, depth+1)
			if err != nil {
				return tree{}, err
			}
			if t.kind == "object" {
				t.fields = append(t.fields, field{name, item})
			} else {
				t.items = append(t.items, item)
			}
		}
		if _, err := d.Token(); err != nil {
			return fail(err)
		}
	}
	return t, nil
}
