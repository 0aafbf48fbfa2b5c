package schedule

// profile holds how often each step that is not yet reversed has been replayed, as spans of equal counts. There are about
// as many spans as snapshots, whatever the number of steps.
type profile struct {
	spans []span // ascending; spans[0] is empty and ends at 0
	max   int
}

// span holds the steps up to to, from the end of the span before.
type span struct{ to, n int }

func (p *profile) reset() { p.spans, p.max = append(p.spans[:0], span{}), 0 }

func (p *profile) end() int { return p.spans[len(p.spans)-1].to }

// add counts one replay of steps from+1…to.
func (p *profile) add(from, to int) {
	last := p.spans[len(p.spans)-1]
	switch {
	case last.to == from: // a first pass
		if last.n == 1 {
			p.spans[len(p.spans)-1].to = to
		} else {
			p.spans = append(p.spans, span{to, 1})
		}
		p.max = max(p.max, 1)
		return
	case last.to < to:
		p.spans = append(p.spans, span{to, 0})
	}
	i := len(p.spans) - 1
	for p.spans[i-1].to >= to {
		i--
	}
	if p.spans[i].to > to {
		p.insert(i, to)
	}
	for ; p.spans[i].to > from; i-- {
		if p.spans[i-1].to < from {
			p.insert(i, from)
			i++
		}
		p.spans[i].n++
		p.max = max(p.max, p.spans[i].n)
	}
}

// insert divides span i at a step inside it; the part up to that step is span i.
func (p *profile) insert(i, at int) {
	p.spans = append(p.spans, span{})
	for k := len(p.spans) - 1; k > i; k-- {
		p.spans[k] = p.spans[k-1]
	}
	p.spans[i].to = at
}

// truncate forgets the steps beyond end.
func (p *profile) truncate(end int) {
	top := len(p.spans) - 1
	for top > 0 && p.spans[top-1].to >= end {
		top--
	}
	p.spans = p.spans[:top+1]
	p.spans[top].to = min(p.spans[top].to, end)
}

// last returns the count of the last step, if that is beyond the given one, and 0 otherwise.
func (p *profile) last(beyond int) int {
	if p.end() <= beyond {
		return 0
	}
	return p.spans[len(p.spans)-1].n
}
