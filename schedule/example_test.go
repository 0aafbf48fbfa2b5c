package schedule_test

import (
	"context"
	"fmt"
	"log"

	"github.com/lensir/lensir-study/schedule"
)

// Decay is a simulation that was never a formula: x_j = x_{j−1} − h·k·x_{j−1}², with its adjoint by hand. The rate k is a
// parameter, and its cotangent the chain's own business.
type Decay struct {
	H, K float64
	KBar float64
}

func (d *Decay) StateLen(int) int { return 1 }
func (d *Decay) TapeLen(int) int  { return 1 }

func (d *Decay) Advance(_ int, x, next []float64) error {
	next[0] = x[0] - d.H*d.K*x[0]*x[0]
	return nil
}

func (d *Decay) Record(j int, x, next, tape []float64) error {
	tape[0] = x[0]
	return d.Advance(j, x, next)
}

func (d *Decay) Reverse(_ int, tape, after, before []float64) error {
	x := tape[0]
	before[0] = after[0] * (1 - 2*d.H*d.K*x)
	d.KBar -= after[0] * d.H * x * x
	return nil
}

// The gradient of x_T over 1000 steps, from three snapshots.
func Example() {
	s, err := schedule.NewRevolve(1000, 3)
	if err != nil {
		log.Fatal(err)
	}
	chain := &Decay{H: 0.001, K: 2}
	runner, err := schedule.NewRunner(chain, s, schedule.Settings{Fidelity: 1})
	if err != nil {
		log.Fatal(err)
	}
	value, gradient := make([]float64, 1), make([]float64, 1)
	result, err := runner.Run(context.Background(), schedule.Sweep{
		Start:     []float64{1},
		Cotangent: []float64{1},
		Value:     value,
		Gradient:  gradient,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := schedule.Certify(s, result).Check(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("x(1) = %.4f, dx(1)/dx(0) = %.4f, dx(1)/dk = %.4f\n", value[0], gradient[0], chain.KBar)
	fmt.Printf("%d replays, %d snapshots at once, %d bytes of snapshots\n",
		result.Counts.Replays(), result.Counts.PeakSlots, result.Bytes.Snapshots)
	// Output:
	// x(1) = 0.3331, dx(1)/dx(0) = 0.1108, dx(1)/dk = -0.1111
	// 12155 replays, 3 snapshots at once, 24 bytes of snapshots
}

// A schedule is data: this is the document's binomial schedule for five steps.
func ExampleBinomial() {
	s, err := schedule.NewBinomial(5, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		fmt.Println(a)
	}
	// Output:
	// save x_0, slot 0
	// advance 0→3
	// save x_3, slot 1
	// advance 3→4
	// record-and-reverse 4→5
	// move x_3, slot 1
	// record-and-reverse 3→4
	// move x_0, slot 0
	// save x_0, slot 0
	// advance 0→1
	// save x_1, slot 1
	// advance 1→2
	// record-and-reverse 2→3
	// move x_1, slot 1
	// record-and-reverse 1→2
	// move x_0, slot 0
	// record-and-reverse 0→1
}

// A replay budget that is too small is refused with what would do.
func ExampleNewBinomial() {
	_, err := schedule.NewBinomial(1000, 3, 4)
	fmt.Println(err)
	// Output:
	// schedule: 1000 steps exceed C(3, 4) = 35; with 3 slots the least budget is t = 17; with t = 4 the least number of slots is d = 10
}
