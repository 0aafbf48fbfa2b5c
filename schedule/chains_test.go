package schedule

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

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

// logistic is x_j = r·x_{j−1}·(1 − x_{j−1}) + u_j, with a parameter and one control for each step.
type logistic struct {
	r        float64
	u        []float64
	rBar     float64
	uBar     []float64
	reversed []int // the order of the reverses
}

func newLogistic(steps int) *logistic {
	c := &logistic{r: 3.7, u: make([]float64, steps+1), uBar: make([]float64, steps+1)}
	random := lcg(7)
	for j := range c.u {
		c.u[j] = 0.01 * random.unit()
	}
	return c
}

func (c *logistic) StateLen(int) int { return 1 }
func (c *logistic) TapeLen(int) int  { return 1 }

func (c *logistic) Advance(j int, x, next []float64) error {
	next[0] = float64(c.r*x[0]*(1-x[0])) + c.u[j]
	return nil
}

func (c *logistic) Record(j int, x, next, tape []float64) error {
	tape[0] = x[0]
	return c.Advance(j, x, next)
}

func (c *logistic) Reverse(j int, tape, after, before []float64) error {
	x := tape[0]
	before[0] = after[0] * c.r * (1 - 2*x)
	c.rBar += after[0] * x * (1 - x)
	c.uBar[j] = after[0]
	c.reversed = append(c.reversed, j)
	return nil
}

// lorenz is Lorenz-63 by the classical Runge-Kutta method. Its tape is the state.
type lorenz struct {
	dt   float64
	p    [3]float64 // σ, ρ, β
	pBar [3]float64
}

func newLorenz() *lorenz { return &lorenz{dt: 0.001, p: [3]float64{10, 28, 8.0 / 3.0}} }

func (c *lorenz) StateLen(int) int { return 3 }
func (c *lorenz) TapeLen(int) int  { return 3 }

type vec [3]float64

func (c *lorenz) field(s vec) vec {
	return vec{
		c.p[0] * (s[1] - s[0]),
		float64(s[0]*(c.p[1]-s[2])) - s[1],
		float64(s[0]*s[1]) - float64(c.p[2]*s[2]),
	}
}

// pull adds the cotangents of s and the parameters for the cotangent k of field(s).
func (c *lorenz) pull(s, k vec, sBar *vec) {
	sBar[0] += -c.p[0]*k[0] + (c.p[1]-s[2])*k[1] + s[1]*k[2]
	sBar[1] += c.p[0]*k[0] - k[1] + s[0]*k[2]
	sBar[2] += -s[0]*k[1] - c.p[2]*k[2]
	c.pBar[0] += (s[1] - s[0]) * k[0]
	c.pBar[1] += s[0] * k[1]
	c.pBar[2] -= s[2] * k[2]
}

func axpy(x vec, h float64, k vec) vec {
	return vec{x[0] + float64(h*k[0]), x[1] + float64(h*k[1]), x[2] + float64(h*k[2])}
}

func (c *lorenz) Advance(_ int, state, next []float64) error {
	half, h := 0.5*c.dt, c.dt/6.0
	p, q, r := c.p[0], c.p[1], c.p[2]
	x, y, z := state[0], state[1], state[2]
	x1, y1, z1 := p*(y-x), float64(x*(q-z))-y, float64(x*y)-float64(r*z)
	u, v, w := x+float64(half*x1), y+float64(half*y1), z+float64(half*z1)
	x2, y2, z2 := p*(v-u), float64(u*(q-w))-v, float64(u*v)-float64(r*w)
	u, v, w = x+float64(half*x2), y+float64(half*y2), z+float64(half*z2)
	x3, y3, z3 := p*(v-u), float64(u*(q-w))-v, float64(u*v)-float64(r*w)
	u, v, w = x+float64(c.dt*x3), y+float64(c.dt*y3), z+float64(c.dt*z3)
	x4, y4, z4 := p*(v-u), float64(u*(q-w))-v, float64(u*v)-float64(r*w)
	next[0] = x + float64(h*(x1+float64(2*x2)+float64(2*x3)+x4))
	next[1] = y + float64(h*(y1+float64(2*y2)+float64(2*y3)+y4))
	next[2] = z + float64(h*(z1+float64(2*z2)+float64(2*z3)+z4))
	return nil
}

func (c *lorenz) Record(j int, x, next, tape []float64) error {
	copy(tape, x)
	return c.Advance(j, x, next)
}

func (c *lorenz) Reverse(_ int, tape, after, before []float64) error {
	x := vec(tape)
	half, h := 0.5*c.dt, c.dt/6.0
	k1 := c.field(x)
	s2 := axpy(x, half, k1)
	k2 := c.field(s2)
	s3 := axpy(x, half, k2)
	k3 := c.field(s3)
	s4 := axpy(x, c.dt, k3)
	b := vec(after)
	var zero vec
	xBar := b
	k4b := axpy(zero, h, b)
	var s4b, s3b, s2b vec
	c.pull(s4, k4b, &s4b)
	k3b := axpy(axpy(zero, 2*h, b), c.dt, s4b)
	c.pull(s3, k3b, &s3b)
	k2b := axpy(axpy(zero, 2*h, b), half, s3b)
	c.pull(s2, k2b, &s2b)
	k1b := axpy(axpy(zero, h, b), half, s2b)
	c.pull(x, k1b, &xBar)
	for i := range 3 {
		before[i] = xBar[i] + s2b[i] + s3b[i] + s4b[i]
	}
	return nil
}

// growing is a chain whose states and tapes change their length: x_j has 1 + (5j mod 7) entries, and T's is 1.
type growing struct{ steps int }

func (c growing) StateLen(j int) int {
	if j == c.steps {
		return 1
	}
	return 1 + 5*j%7
}

func (c growing) TapeLen(j int) int { return c.StateLen(j-1) + j%3 }

func (c growing) Advance(j int, x, next []float64) error {
	for i := range next {
		s := 0.1 * float64(i+j%5)
		for k, v := range x {
			s += float64(math.Sin(v+float64(i)) / float64(1+k+len(x)))
		}
		next[i] = s
	}
	return nil
}

func (c growing) Record(j int, x, next, tape []float64) error {
	copy(tape, x)
	for i := len(x); i < len(tape); i++ {
		tape[i] = float64(j)
	}
	return c.Advance(j, x, next)
}

func (c growing) Reverse(j int, tape, after, before []float64) error {
	for k := range before {
		before[k] = 0
		for i, b := range after {
			before[k] += b * math.Cos(tape[k]+float64(i)) / float64(1+k+len(before))
		}
	}
	for _, v := range tape[len(before):] {
		if v != float64(j) {
			return errors.New("tape of another step")
		}
	}
	return nil
}

// outcome is what a sweep returned.
type outcome struct {
	result          Result
	value, gradient []float64
}

// checked turns all instruments on.
var checked = Settings{Fidelity: 1, Poison: true}

// execute runs one schedule over T steps and holds it to its certificate.
func execute(tb testing.TB, chain Chain, s Schedule, steps int, start []float64, settings Settings) outcome {
	tb.Helper()
	if s.Limits().Disk > 0 {
		store, err := NewFileStore(tb.TempDir(), 16)
		if err != nil {
			tb.Fatal(err)
		}
		defer store.Close()
		settings.Store = store
	}
	r, err := NewRunner(chain, s, settings)
	if err != nil {
		tb.Fatal(err)
	}
	o := outcome{value: make([]float64, chain.StateLen(steps)), gradient: make([]float64, chain.StateLen(0))}
	sweep := Sweep{
		Start: start,
		Seed: func(_, cotangent []float64) error {
			fill(cotangent, 1)
			return nil
		},
		Value: o.value, Gradient: o.gradient,
	}
	if _, ok := s.(*Online); ok {
		sweep.Until = func(j int, _ []float64) (bool, error) { return j == steps, nil }
	}
	if o.result, err = r.Run(context.Background(), sweep); err != nil {
		tb.Fatalf("%s T=%d %+v: %v", s.Name(), steps, s.Limits(), err)
	}
	if err := Certify(s, o.result).Check(); err != nil {
		tb.Fatal(err)
	}
	if o.result.Steps != steps {
		tb.Fatalf("%s: T = %d, want %d", s.Name(), o.result.Steps, steps)
	}
	return o
}

func same(tb testing.TB, what string, got, want []float64) {
	tb.Helper()
	if i, ok := SameBits(got, want); !ok {
		tb.Fatalf("%s differs from the uncheckpointed sweep at entry %d: %v, want %v", what, i, got, want)
	}
}
