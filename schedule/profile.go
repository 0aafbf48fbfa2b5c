package schedule

// profile holds how often each step that is not yet reversed has been replayed, as spans of equal counts. There are about
// as many spans as snapshots, whatever the number of steps.
type profile struct {
	spans []span
	max   int
}

type span struct {
	to int // the span holds the steps up to this one, from the end of the span before
	n  int
}

func (p *profile) reset() { p.spans, p.max = p.spans[:0], 0 }

// add counts one replay of steps from+1…to, where no step beyond those counted before is left out.
func (p *profile) add(from, to int) {
	top := len(p.spans) - 1
	if p.end() == from { // the common case of a first pass
		p.max = max(p.max, 1)
		if top >= 0 && p.spans[top].n == 1 {
			p.spans[top].to = to
		} else {
			p.spans = append(p.spans, span{to, 1})
		}
		return
	}
	if p.end() < to {
		p.spans = append(p.spans, span{to, 0})
		top++
	}
	i := p.cut(top, to)
	for ; i >= 0 && p.spans[i].to > from; i-- {
		if start := p.start(i); start < from {
			p.cut(i, from)
			i++
		}
		p.spans[i].n++
		p.max = max(p.max, p.spans[i].n)
	}
	if i >= 0 && p.spans[i].n == p.spans[i+1].n {
		p.spans = append(p.spans[:i], p.spans[i+1:]...)
	}
}

// cut ensures that a span at or below index i ends at step `at`, and returns its index.
func (p *profile) cut(i, at int) int {
	for i > 0 && p.start(i) >= at {
		i--
	}
	if p.spans[i].to != at {
		p.spans = append(p.spans, span{})
		copy(p.spans[i+1:], p.spans[i:])
		p.spans[i].to = at
	}
	return i
}

// truncate forgets the steps beyond end.
func (p *profile) truncate(end int) {
	for len(p.spans) > 0 && p.start(len(p.spans)-1) >= end {
		p.spans = p.spans[:len(p.spans)-1]
	}
	if n := len(p.spans); n > 0 {
		p.spans[n-1].to = min(p.spans[n-1].to, end)
	}
}

// last returns the count of the last step, if that is beyond the given one, and 0 otherwise.
func (p *profile) last(beyond int) int {
	if p.end() <= beyond {
		return 0
	}
	return p.spans[len(p.spans)-1].n
}

func (p *profile) end() int {
	if len(p.spans) == 0 {
		return 0
	}
	return p.spans[len(p.spans)-1].to
}

func (p *profile) start(i int) int {
	if i == 0 {
		return 0
	}
	return p.spans[i-1].to
}
