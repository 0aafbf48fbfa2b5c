package module_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/lensir/lensir-study/graph/module"
)

// Whatever the bytes, Read returns a module or an error; a module it returns writes a text that reads back and stays.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("../../studies/modules/tied_residual.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(family + `{"name": "h", "primitive": "concat", "operands": ["X", "X"], "attributes": {"axis": 0}}, {"name": "r", "primitive": "reshape", "operands": ["h"], "attributes": {"shape": ["d", 2, "B"]}}], "outputs": ["h"]}`))
	f.Add([]byte(head + `{"name": "h", "primitive": "round", "operands": ["X"], "response": {"operands": ["u"], "seed": "g", "nodes": [], "outputs": ["g"]}}, {"name": "l", "primitive": "literal", "operands": [], "attributes": {"shape": [2], "value": [1, 2.5e-3]}}], "outputs": ["h"]}`))
	f.Add([]byte(head + `{"name": "s", "primitive": "slice", "operands": ["X"], "attributes": {"start": [0, 0], "limit": [1, 2], "step": [1, 2]}}, {"name": "p", "primitive": "pad", "operands": ["s"], "attributes": {"low": [1, 0], "high": [0, 0], "interior": [0, 3]}}, {"name": "t", "primitive": "transpose", "operands": ["p"], "attributes": {"perm": [1, 0]}}], "outputs": ["t"]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		m, err := module.Read(document)
		if err != nil {
			return
		}
		canonical := m.Write()
		again, err := module.Read(canonical)
		if err != nil {
			t.Fatalf("%v\n%s", err, canonical)
		}
		if !bytes.Equal(again.Write(), canonical) {
			t.Fatalf("not canonical:\n%s\n%s", canonical, again.Write())
		}
	})
}
