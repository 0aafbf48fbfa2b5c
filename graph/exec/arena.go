package exec

import "slices"

// arena hands out stretches of one growing array, and takes them back for reuse.
type arena struct {
	free []stretch // sorted, never touching
	peak int
	sum  int // of all that was ever handed out
}

type stretch struct{ at, n int }

// align keeps stretches on cache lines.
func align(n int) int { return (n + 7) &^ 7 }

// alloc returns the offset of n entries: the smallest free stretch that fits, else new space.
func (a *arena) alloc(n int) int {
	n = align(n)
	a.sum += n
	if n == 0 {
		return 0
	}
	best := -1
	for i, f := range a.free {
		if f.n >= n && (best < 0 || f.n < a.free[best].n) {
			best = i
		}
	}
	if best < 0 {
		at := a.peak
		if k := len(a.free) - 1; k >= 0 && a.free[k].at+a.free[k].n == a.peak {
			at = a.free[k].at
			a.free = a.free[:k]
		}
		a.peak = at + n
		return at
	}
	at := a.free[best].at
	if a.free[best].n == n {
		a.free = slices.Delete(a.free, best, best+1)
	} else {
		a.free[best].at += n
		a.free[best].n -= n
	}
	return at
}

// release takes back what alloc returned.
func (a *arena) release(at, n int) {
	n = align(n)
	if n == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(a.free, at, func(f stretch, at int) int { return f.at - at })
	a.free = slices.Insert(a.free, i, stretch{at, n})
	if i+1 < len(a.free) && at+n == a.free[i+1].at {
		a.free[i].n += a.free[i+1].n
		a.free = slices.Delete(a.free, i+1, i+2)
	}
	if i > 0 && a.free[i-1].at+a.free[i-1].n == at {
		a.free[i-1].n += a.free[i].n
		a.free = slices.Delete(a.free, i, i+1)
	}
}

// slots hands out small numbers: registers and tiles.
type slots struct {
	free   []int
	n      int
	blocks map[int]*run   // by the numbers in it
	runs   map[int][]*run // free ones, by length
}

// run is a block of consecutive numbers, free again as soon as all of them are.
type run struct{ at, n, used int }

func (s *slots) alloc() int {
	if k := len(s.free); k > 0 {
		slot := s.free[k-1]
		s.free = s.free[:k-1]
		return slot
	}
	s.n++
	return s.n - 1
}

// allocBlock returns the first of n consecutive numbers.
func (s *slots) allocBlock(n int) int {
	if k := len(s.runs[n]); k > 0 {
		b := s.runs[n][k-1]
		s.runs[n] = s.runs[n][:k-1]
		b.used = n
		return b.at
	}
	return s.newBlock(n)
}

// newBlock is allocBlock of numbers that nothing has used.
func (s *slots) newBlock(n int) int {
	if s.blocks == nil {
		s.blocks, s.runs = map[int]*run{}, map[int][]*run{}
	}
	b := &run{at: s.n, n: n, used: n}
	s.n += n
	for i := range n {
		s.blocks[b.at+i] = b
	}
	return b.at
}

func (s *slots) release(slot int) {
	b := s.blocks[slot]
	if b == nil {
		s.free = append(s.free, slot)
		return
	}
	if b.used--; b.used == 0 {
		s.runs[b.n] = append(s.runs[b.n], b)
	}
}
