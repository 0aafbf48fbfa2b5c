package conformance

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLaws(t *testing.T) {
	for _, law := range Laws() {
		t.Run(law.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				worst, err := law.Check(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) })
				if err != nil || worst > law.Tolerance {
					t.Fatal(worst, err)
				}
			})
		})
	}
}
