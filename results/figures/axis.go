package figures

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// interval is the range of the data of one axis; the zero interval holds nothing.
type interval struct {
	min, max float64
	some     bool
}

func (r *interval) add(x float64) {
	if !r.some {
		r.min, r.max, r.some = x, x, true
	}
	r.min, r.max = math.Min(r.min, x), math.Max(r.max, x)
}

// over reports whether the interval is of positive numbers and spans so many decades.
func (r interval) over(decades float64) bool {
	return r.some && r.min > 0 && r.max/r.min >= math.Pow(10, decades)
}

// linearAxis makes the axis show r on a linear scale, with whole numbers at the ticks if whole. If rounded, the axis begins
// and ends at a tick.
func linearAxis(axis *plot.Axis, r interval, whole, rounded bool) {
	if !r.some {
		r = interval{min: 0, max: 1}
	}
	// An interval narrower than its own rounding is shown as wide as its numbers can be told apart.
	if least := 1e-12 * math.Max(math.Abs(r.min), math.Abs(r.max)); r.max-r.min <= least {
		pad := math.Max(math.Abs(r.max)/10, least)
		if pad < tiny || whole {
			pad = 1
		}
		r.min, r.max = r.min-pad, r.max+pad
	}
	step := tickStep(r.min, r.max, whole)
	if rounded {
		r.min = math.Min(r.min, math.Floor(r.min/step+1e-6)*step)
		r.max = math.Max(r.max, math.Ceil(r.max/step-1e-6)*step)
	}
	axis.Min, axis.Max = r.min, r.max
	axis.Tick.Marker = plot.TickerFunc(func(min, max float64) []plot.Tick { return linearTicks(min, max, step) })
}

// tickStep is 1, 2 or 5 times a power of ten, for about six ticks.
func tickStep(min, max float64, whole bool) float64 {
	raw := (max - min) / 6
	power := math.Pow(10, math.Floor(log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= 0.8*raw {
			step = m * power
			break
		}
	}
	if whole {
		step = math.Max(1, math.Round(step))
	}
	return step
}

// linearTicks labels the multiples of step.
func linearTicks(min, max, step float64) []plot.Tick {
	if !(step > 0) {
		return nil
	}
	largest := math.Max(math.Abs(min), math.Abs(max))
	var ticks []plot.Tick
	for i, n := math.Ceil(min/step-1e-6), 0; i*step <= max+1e-6*step && n < 20; i, n = i+1, n+1 {
		ticks = append(ticks, plot.Tick{Value: math.Min(math.Max(i*step, min), max), Label: tickLabel(i*step, step, largest)})
	}
	return ticks
}

// tickLabel writes a multiple of step, with a power of ten where the axis reaches to very large or very small numbers.
func tickLabel(x, step, largest float64) string {
	if math.Abs(x) < step/2 {
		return "0"
	}
	exponent := 0.0
	if e := math.Floor(log10(largest)); e > 4 || e < -3 {
		exponent = e
	}
	decimals := math.Max(0, exponent-math.Floor(log10(step)*(1+1e-12)+1e-9))
	s := minus(strconv.FormatFloat(x/math.Pow(10, exponent), 'f', int(decimals), 64))
	if exponent != 0 {
		s += "×10" + super(minus(strconv.Itoa(int(exponent))))
	}
	return s
}

// minus replaces the hyphen of a negative number by a minus sign.
func minus(s string) string {
	if len(s) > 0 && s[0] == '-' {
		return "−" + s[1:]
	}
	return s
}

// tiny is where labels of a mantissa and a power of ten end: 10^−324 is no float64.
const tiny = 1e-300

// logAxis makes the axis show r, which is positive, on a logarithmic scale: to whole decades if it has more than one.
func logAxis(axis *plot.Axis, r interval) {
	axis.Scale = logScale{}
	if !r.some {
		r = interval{min: 0.1, max: 1}
	}
	switch ratio := r.max / r.min; {
	case ratio >= 10 || r.min < tiny:
		low, high := math.Floor(log10(r.min)+1e-9), math.Ceil(log10(r.max)-1e-9)
		if low == high {
			high++
		}
		r.min, r.max = math.Min(r.min, powerOfTen(low)), math.Max(r.max, powerOfTen(high))
	case ratio < 1.001:
		r.min, r.max = r.min/2, r.max*2
	default:
		pad := math.Pow(ratio, 0.1)
		r.min, r.max = r.min/pad, r.max*pad
	}
	axis.Min, axis.Max = math.Max(r.min, math.SmallestNonzeroFloat64), math.Min(r.max, math.MaxFloat64)
	axis.Tick.Marker = plot.TickerFunc(logTicks)
}

// log10 is right for subnormal numbers too, where math.Log10 and math.Log are not on every machine.
func log10(x float64) float64 { return math.Log2(x) * (math.Ln2 / math.Ln10) }

// logScale places positive numbers by their logarithms.
type logScale struct{}

func (logScale) Normalize(min, max, x float64) float64 {
	return (log10(x) - log10(min)) / (log10(max) - log10(min))
}

// powerOfTen is 10^e as a positive finite float64.
func powerOfTen(e float64) float64 {
	x, _ := strconv.ParseFloat("1e"+strconv.Itoa(int(e)), 64) // math.Pow is not exact
	return math.Min(math.Max(x, math.SmallestNonzeroFloat64), math.MaxFloat64)
}

// logTicks labels powers of ten. Within a decade it labels multiples of them, where gonum's ticker labels nothing.
func logTicks(min, max float64) []plot.Tick {
	low, high := math.Floor(log10(min)+1e-9), math.Ceil(log10(max)-1e-9)
	if max/min < 10*(1-1e-9) && min > tiny {
		if ticks := linearTicks(min, max, tickStep(min, max, false)); len(ticks) >= 2 {
			return ticks
		}
	}
	step := 1.0
	for _, s := range []float64{1, 2, 3, 4, 5, 10, 20, 25, 50, 100} {
		if step = s; (high-low)/s <= 8 {
			break
		}
	}
	within := math.Floor(log10(max)+1e-9) - math.Ceil(log10(min)-1e-9) + 1 // powers of ten on the axis
	var ticks []plot.Tick
	for e := low; e <= high; e++ {
		tick := plot.Tick{Value: powerOfTen(e)}
		if math.Mod(e, step) == 0 {
			tick.Label = powerLabel(int(e))
		}
		if step < 10 || tick.Label != "" || math.Mod(e, step/5) == 0 {
			ticks = append(ticks, tick)
		}
		if high-low > 4 {
			continue
		}
		for m := 2.0; m < 10 && e < high; m++ {
			tick := plot.Tick{Value: m * powerOfTen(e)}
			if within <= 2 && (m == 2 || m == 5) {
				tick.Label = strconv.Itoa(int(m)) + "×" + powerLabel(int(e))
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

func powerLabel(e int) string {
	if e == 0 {
		return "1"
	}
	return "10" + super(minus(strconv.Itoa(e)))
}

// scientific writes x with two digits and a power of ten.
func scientific(x float64) string { return typeset(strconv.FormatFloat(x, 'e', 1, 64)) }

// typeset writes the text of a number with a minus sign, and a power of ten for its exponent.
func typeset(number string) string {
	mantissa, exponent, _ := strings.Cut(number, "e")
	if e, err := strconv.Atoi(exponent); err == nil {
		return minus(mantissa) + "×10" + super(minus(strconv.Itoa(e)))
	}
	return minus(number)
}
