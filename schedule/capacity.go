package schedule

// Capacity returns min(C(d, t), limit) for limit ≤ MaxSteps, where C(d, t) = binom(d+t, d) is the largest number
// of steps that d slots and t replays of each step can reverse: C(d, 0) = C(0, t) = 1 and
// C(d, t) = C(d−1, t) + C(d, t−1). It cannot overflow. It returns 0 if d or t is negative.
func Capacity(d, t, limit int) int {
	if d < 0 || t < 0 {
		return 0
	}
	limit = min(limit, MaxSteps)
	short, long := min(d, t, MaxSteps), min(max(d, t), MaxSteps)
	c := uint64(min(1, limit))
	for i := 1; i <= short && c < uint64(limit); i++ {
		c = c * uint64(long+i) / uint64(i) // below 2³¹·2³²
	}
	return int(min(c, uint64(limit)))
}

// LeastBudget returns the least t with steps ≤ C(slots, t), or −1 if there is none.
func LeastBudget(steps, slots int) int {
	t, _ := leastBudget(steps, slots)
	return t
}

// LeastSlots returns the least d with steps ≤ C(d, budget), or −1 if there is none.
func LeastSlots(steps, budget int) int { return LeastBudget(steps, budget) } // C is symmetric

// leastBudget returns the least t with n ≤ C(d, t), and C(d, t−1), or 0 if t = 0. The loop is O(√n) for d ≥ 2.
func leastBudget(n, d int) (t, below int) {
	switch {
	case n <= 1:
		return 0, 0
	case d <= 0:
		return -1, 0
	case d == 1:
		return n - 1, n - 1
	case d >= n-1:
		return 1, 1
	}
	c := 1
	for c < n {
		t++
		below, c = c, c*(d+t)/t
	}
	return t, below
}

// Optimal returns p(T, d) = t·T − binom(d+t, t−1) with the least t such that T ≤ C(d, t): the least number of
// replays with which d slots can reverse T ≥ 0 steps (Griewank and Walther, Algorithm 799, 2000). It returns −1 if d = 0 and T ≥ 2.
func Optimal(steps, slots int) int64 {
	t, below := leastBudget(steps, slots)
	if t <= 0 {
		return int64(t)
	}
	// binom(d+t, t−1) = C(d, t−1)·(d+t)/(d+1), and C(d, t−1) < T.
	d := min(slots, MaxSteps)
	return int64(t)*int64(steps) - int64(below)*int64(d+t)/int64(d+1)
}

// FewestWrites returns max(C(d−1, t−1), T − C(d, t−1)), t least: the least number of snapshots that a schedule with
// [Optimal] replays saves for T ≥ 2; it is 0 for T ≤ 1.
func FewestWrites(steps, slots int) int64 {
	t, below := leastBudget(steps, slots)
	if t <= 0 {
		return 0
	}
	d := min(slots, MaxSteps)
	return max(int64(below)*int64(d)/int64(d+t-1), int64(steps-below))
}
