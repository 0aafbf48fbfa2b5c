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
