package exec

import "unsafe"

//go:generate go run gen/scalars.go

// load reads the register at a byte offset.
func load(base unsafe.Pointer, at uint32) float64 {
	return *(*float64)(unsafe.Add(base, uintptr(at)))
}

func store(base unsafe.Pointer, at uint32, x float64) {
	*(*float64)(unsafe.Add(base, uintptr(at))) = x
}

// runScalarOnly is a run of a program of scalars only: many are so short that a call must not cost more than they do.
// It reports whether the buffers fit.
func (ws *Workspace) runScalarOnly(c *code, in, out []Buffer) bool {
	if len(in) != len(c.inputs) || len(out) != len(c.scalarOutputs) {
		return false
	}
	registers := ws.registers[c.firstInput:][:len(in)]
	for k := range in {
		b := &in[k]
		if len(b.F) != 1 || len(b.I) != 0 {
			return false
		}
		registers[k] = b.F[0]
	}
	if len(c.scalars) > 0 {
		ws.runScalars(c, c.scalars)
	}
	base, places := ws.base, c.scalarOutputs[:len(out)]
	for k := range out {
		b := &out[k]
		if len(b.F) != 1 || len(b.I) != 0 {
			return false
		}
		b.F[0] = load(base, places[k].register)
	}
	return true
}

// runSpecial executes the scalar instructions that call functions or read arrays.
func (ws *Workspace) runSpecial(c *code, q *scalar) {
	base := ws.base
	switch q.code {
	case scalarTile:
		c.singles[q.d].run(ws, 0, 1)
	case scalarLoad:
		store(base, q.d, ws.f[q.a][q.b])
	case scalarUnary:
		store(base, q.d, c.nodes[q.e].Op.Unary(load(base, q.a)))
	case scalarBinary:
		store(base, q.d, c.nodes[q.e].Op.Binary(load(base, q.a), load(base, q.b)))
	}
}
