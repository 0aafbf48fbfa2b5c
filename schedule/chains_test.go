package schedule

import "time"

// lcg is a fixed source of random numbers.
type lcg uint64

// unit returns a number in [0, 1).
func (r *lcg) unit() float64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return float64(*r>>11) * 0x1p-53
}

func seconds(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}
