package formula

import (
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

// Formulas as the programs they become.
func TestPrograms(t *testing.T) {
	var s strings.Builder
	for _, text := range []string{
		"q * z + (1 - q) * theta",
		"tanh(gain * (matmul(W, z) + v))",
		"z - 0.5 * (z + theta / z)",
		"speed - dt * (sin(angle) + damping * speed - w[j])",
		"v[1:] - v[:-1]",
		"concat(0, v, [1, q]) * 2",
		"sum((v - mean(v))^2) / len(v)",
		"j == 0 ? w[0] : w[j - 1]",
		"q > 0 ? sqrt(q) : -q",
		"v > 0 ? log(v) * q : sum(sqrt(v))",
		"q > 0 ? (v > 0 ? 1/v : 0) : v^0.5",
		"0 < q && sqrt(q) < 1 ? 1 : 2",
		"2 > 1 ? pi * q : 1/0",
		"[[1, 2, 3], [4, 5, 6], [7, 8, 9]][1]",
		"v^3 + v^0.5 + 2^v",
	} {
		b := graph.NewBuilder("f")
		scope := Scope{}
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range f.FreeNames() {
			typ, ok := map[string]graph.Type{"W": graph.F64(3, 3), "v": graph.F64(3), "w": graph.F64(10), "j": {DType: graph.Int64}}[n.Name]
			if n.Name == "z" && strings.Contains(text, "W") {
				typ, ok = graph.F64(3), true
			}
			if !ok {
				typ = graph.Scalar
			}
			scope[n.Name] = b.Input(n.Name, typ)
		}
		v, err := f.Lower(b, scope)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p := b.Build(v)
		s.WriteString(text + "\n" + p.String() + "\n")
		if back, err := op.Parse(p.String()); err != nil || back.String() != p.String() {
			t.Errorf("%s: the program does not parse back: %v", text, err)
		}
	}
	golden(t, "programs.txt", s.String())
}
