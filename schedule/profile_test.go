package schedule

import (
	"testing"

	"pgregory.net/rapid"
)

// TestProfile compares the spans with a plain list of counts.
func TestProfile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p profile
		p.reset()
		counts := make([]int, 31) // by step
		end, most, front := 30, 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			if end == 0 {
				break
			}
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				end = rapid.IntRange(end*2/3, end).Draw(t, "end")
				p.truncate(end)
				front = min(front, end)
				continue
			}
			from := rapid.IntRange(0, min(front, end-1)).Draw(t, "from")
			to := rapid.IntRange(from+1, end).Draw(t, "to")
			front = max(front, to)
			p.add(from, to)
			for j := from + 1; j <= to; j++ {
				counts[j]++
				most = max(most, counts[j])
			}
			if p.max != most || p.end() != front {
				t.Fatalf("max %d, end %d; want %d, %d", p.max, p.end(), most, front)
			}
			for i, s := range p.spans[1:] {
				for j := p.spans[i].to + 1; j <= s.to; j++ {
					if counts[j] != s.n {
						t.Fatalf("step %d counts %d, want %d: %v", j, s.n, counts[j], p.spans)
					}
				}
			}
		}
	})
}
