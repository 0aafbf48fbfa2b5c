package schedule

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Two states that differ in one entry, by any bit, have different hashes; so have states of different lengths, or in another order.
func TestHashTellsEntriesApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 13 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		h := hash(x)
		if longer := hash(append(x[:n:n], 0)); longer == h {
			t.Errorf("%d entries and %d have one hash", n, n+1)
		}
		for i := range x {
			right := x[i]
			for bit := range 64 {
				x[i] = math.Float64frombits(math.Float64bits(right) ^ 1<<bit)
				if hash(x) == h {
					t.Errorf("%d entries, entry %d, bit %d: one hash", n, i, bit)
				}
			}
			x[i] = right
			for k := range i {
				x[i], x[k] = x[k], x[i]
				if hash(x) == h {
					t.Errorf("%d entries: %d and %d exchanged have one hash", n, i, k)
				}
				x[i], x[k] = x[k], x[i]
			}
		}
	}
}

func BenchmarkHash(b *testing.B) {
	x := make([]float64, 1000)
	for b.Loop() {
		hash(x)
	}
}
