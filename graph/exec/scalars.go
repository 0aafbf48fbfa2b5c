package exec

import "unsafe"

//go:generate go run gen.go

// load reads the register at a byte offset.
func load(base unsafe.Pointer, at uint32) float64 {
	return *(*float64)(unsafe.Add(base, uintptr(at)))
}

func store(base unsafe.Pointer, at uint32, x float64) {
	*(*float64)(unsafe.Add(base, uintptr(at))) = x
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
