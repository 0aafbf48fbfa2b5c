package schedule

import (
	"fmt"
	"math"
	"strings"
)

// Certificate holds what a run counted against what the theory says.
type Certificate struct {
	Method string
	Steps  int
	Lines  []Line
}

// Line is one claim: Counted = Predicted, or Counted ≤ Predicted if AtMost is set.
type Line struct {
	Name               string
	Counted, Predicted int64
	AtMost             bool
}

// Holds reports whether the claim is true.
func (l Line) Holds() bool {
	return l.Counted == l.Predicted || l.AtMost && l.Counted < l.Predicted
}

func (l Line) String() string {
	relation := "="
	if l.AtMost {
		relation = "≤"
	}
	if !l.Holds() {
		relation = "is not " + relation
	}
	return fmt.Sprintf("%s: %d %s %d", l.Name, l.Counted, relation, l.Predicted)
}

// Certify compares the result of a complete run with the formulas of its schedule, which must not have been reset since:
//
//   - every field of [Counts] equals its prediction, and no slot limit or replay budget is exceeded;
//   - with a replay budget t, the work in steps is at most Ŵ + W̄ + tW, where Ŵ, W̄ and W count T steps each;
//   - the peak of the logical bytes is at most (d+1)·R_s + G, as a whole and item by item.
func Certify(s Schedule, r Result) Certificate {
	limits, p, c := s.Limits(), s.Predict(), r.Counts
	steps := int64(r.Steps)
	cert := Certificate{Method: s.Name(), Steps: r.Steps}
	equal := func(name string, counted, predicted int64) {
		cert.Lines = append(cert.Lines, Line{name, counted, predicted, false})
	}
	atMost := func(name string, counted, bound int64) {
		cert.Lines = append(cert.Lines, Line{name, counted, bound, true})
	}
	equal("records", c.Records, steps)
	equal("reverses", c.Reverses, steps)
	equal("first pass", c.FirstPass, p.FirstPass)
	equal("later replays", c.LaterReplays, p.LaterReplays)
	equal("writes", c.Writes, p.Writes)
	equal("reads", c.Reads, p.Reads)
	equal("disk writes", c.DiskWrites, p.DiskWrites)
	equal("disk reads", c.DiskReads, p.DiskReads)
	equal("most replays of one step", int64(c.MaxStepReplays), int64(p.MaxStepReplays))
	equal("most slots", int64(c.PeakSlots), int64(p.PeakSlots))
	equal("most disk slots", int64(c.PeakDisk), int64(p.PeakDisk))
	equal("most tapes", int64(c.PeakTapes), int64(p.PeakTapes))
	atMost("slots within d", int64(c.PeakSlots), int64(limits.Slots))
	atMost("disk slots within their limit", int64(c.PeakDisk), int64(limits.Disk))
	if limits.Budget >= 0 && limits.Slots > 0 {
		t := int64(limits.Budget)
		atMost("replays of one step within t", int64(c.MaxStepReplays), t)
		atMost("work within Ŵ + W̄ + tW", c.Records+c.Reverses+c.Replays(), steps+steps+t*steps)
	}
	bound := Bound(s, r)
	atMost("bytes of snapshots", r.Bytes.Snapshots, r.Need.Snapshots)
	atMost("bytes of tape", r.Bytes.Tape, r.Need.Tape)
	atMost("bytes within (d+1)·R_s + G", r.Bytes.Total(), bound.Total())
	return cert
}

// Bound returns the storage (d+1)·R_s + G of the theorem for a run, item by item: d snapshots and one live state of at most R_s
// bytes; and in G the tapes, two cotangents, the work state, the output register and the records.
func Bound(s Schedule, r Result) Bytes {
	b := r.Need
	b.Snapshots = int64(s.Limits().Slots) * b.State
	return b
}

// Check returns an error that names every claim that does not hold.
func (c Certificate) Check() error {
	var broken []string
	for _, l := range c.Lines {
		if !l.Holds() {
			broken = append(broken, l.String())
		}
	}
	if broken == nil {
		return nil
	}
	return fmt.Errorf("schedule: the run of %s over %d steps breaks its certificate: %s", c.Method, c.Steps, strings.Join(broken, "; "))
}

// SameBits reports whether two vectors are equal bit for bit, and if not, the first entry that differs (the shorter
// length if one vector is a prefix of the other).
func SameBits(a, b []float64) (int, bool) {
	for i := range min(len(a), len(b)) {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return i, false
		}
	}
	return min(len(a), len(b)), len(a) == len(b)
}
