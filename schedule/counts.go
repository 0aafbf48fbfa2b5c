package schedule

// Counts is the work of a schedule: predicted by formula, counted by the checker, or counted by a run.
type Counts struct {
	FirstPass      int64 // replays before the first record, restore or move
	LaterReplays   int64 // replays after it
	Records        int64
	Reverses       int64
	Writes         int64 // snapshots saved in memory
	Reads          int64 // snapshots restored or moved from memory
	DiskWrites     int64
	DiskReads      int64
	MaxStepReplays int // most replays of any one step
	PeakSlots      int // most snapshots in memory at once
	PeakDisk       int // most snapshots on disk at once
	PeakTapes      int // most one-step tapes kept at once
}

// Replays returns the sum of the first pass and the later replays, by which methods are compared.
func (c Counts) Replays() int64 { return c.FirstPass + c.LaterReplays }

// Costs are what a chain's operations cost, in any one unit of time, and the size of what they keep.
type Costs struct {
	Advance, Record, Reverse float64 // one step
	Write, Read              float64 // one snapshot in memory
	DiskWrite, DiskRead      float64 // one snapshot on disk
	StateBytes, TapeBytes    int64   // the largest state and one-step tape
}

// Time returns the time that the counted work takes at the given costs.
func (c Counts) Time(k Costs) float64 {
	return float64(c.Replays())*k.Advance +
		float64(c.Records)*k.Record + float64(c.Reverses)*k.Reverse +
		float64(c.Writes)*k.Write + float64(c.Reads)*k.Read +
		float64(c.DiskWrites)*k.DiskWrite + float64(c.DiskReads)*k.DiskRead
}
