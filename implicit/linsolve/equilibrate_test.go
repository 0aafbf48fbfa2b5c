package linsolve

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The fast forms are those of package math, for every bit pattern.
func TestExponentAndScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if v == 0 || v-v != 0 {
			return
		}
		if _, want := math.Frexp(v); exponent(v) != want {
			t.Fatalf("exponent(%v) = %d, want %d", v, exponent(v), want)
		}
		e := rapid.IntRange(-2200, 2200).Draw(t, "e")
		if have, want := scale(v, e), math.Ldexp(v, e); have != want {
			t.Fatalf("scale(%v, %d) = %v, want %v", v, e, have, want)
		}
	})
}
