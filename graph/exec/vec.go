package exec

import (
	"github.com/lensir/lensir-study/graph/op"
)

// The array kernels, in Go. d may be an operand.

func addGo(d, a, b []float64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func subGo(d, a, b []float64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func mulGo(d, a, b []float64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

func divGo(d, a, b []float64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] / b[i]
	}
}

func neg(d, a []float64) {
	a = a[:len(d)]
	for i := range d {
		d[i] = -a[i]
	}
}

func fill[T float64 | int64](d []T, x T) {
	for i := range d {
		d[i] = x
	}
}

// anyInfiniteGo has its sign bit set if an entry is infinite or NaN.
func anyInfiniteGo(a []float64) uint64 {
	flag := uint64(0)
	for _, x := range a {
		flag |= infinite(x)
	}
	return flag & signBit
}

// sumRowGo adds the entries of x in the order of op.Sum.
func sumRowGo(x []float64) float64 {
	var part [op.SumLanes]float64
	for len(x) >= op.SumLanes {
		for k, v := range x[:op.SumLanes] {
			part[k] += v
		}
		x = x[op.SumLanes:]
	}
	for k, v := range x {
		part[k] += v
	}
	return combine(&part)
}

func elementaryGo(f func(float64) float64, d, a []float64) {
	d = d[:len(a)]
	for i, x := range a {
		d[i] = f(x)
	}
}
