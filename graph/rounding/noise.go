package rounding

import (
	"math"
	"math/rand/v2"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/exec"
)

// Noise draws the factors of perturbed programs. They depend on its key, the program, the step and the place alone, so that a
// step that is evaluated again is the same; each place has its own bias, up or down. It is not safe for concurrent use.
type Noise struct {
	Key  uint64
	Step int

	programs uint64
	pools    [][2][]float64 // by level, one with more factors above 1 and one with more below
}

// Factors are those of one perturbed program.
type Factors struct {
	noise   *Noise
	id      uint64
	buffers []exec.Buffer
	lengths []int
	levels  []int
	pools   [][]float64 // from which they are taken, for the key
	key     uint64
	drawn   bool
}

// Factors makes the factors of a program by [Perturbed], to be drawn into the last of its inputs: buffers are those of all.
func (m *Noise) Factors(perturbed *graph.Program, levels []int, buffers []exec.Buffer) *Factors {
	first := len(perturbed.Inputs) - len(levels)
	m.programs++
	f := &Factors{noise: m, id: m.programs, buffers: buffers[first:], levels: levels, pools: make([][]float64, len(levels))}
	for i, in := range perturbed.Inputs[first:] {
		n := in.Type.Len()
		f.lengths = append(f.lengths, n)
		m.reserve(levels[i], n)
	}
	return f
}

// Draw points the buffers at factors for the key and the step of the noise.
func (f *Factors) Draw() {
	m := f.noise
	if !f.drawn || f.key != m.Key { // the side of each place is that of the key
		f.key, f.drawn = m.Key, true
		for i, level := range f.levels {
			f.pools[i] = m.pools[level][mix(m.Key^mix(f.id^uint64(i)<<32))>>63]
		}
	}
	state := mix(m.Key ^ mix(uint64(m.Step)^mix(f.id)))
	for i, n := range f.lengths {
		state = state*6364136223846793005 + 1442695040888963407
		at := int(state >> 52)
		f.buffers[i].F = f.pools[i][at : at+n : at+n]
	}
}

// Move moves every entry of x by a unit of its last place, as a further operation of the program does.
func (f *Factors) Move(x []float64) {
	m := f.noise
	m.reserve(0, len(x))
	place := mix(m.Key ^ mix(^f.id))
	at := int(mix(place^uint64(m.Step)) >> 52)
	for i, factor := range m.pools[0][place>>63][at : at+len(x)] {
		x[i] *= factor
	}
}

// poolSpan is the number of places from which a list of factors may be taken.
const poolSpan = 1 << 12

// reserve makes the pools of a level long enough for lists of n factors.
func (m *Noise) reserve(level, n int) {
	for len(m.pools) <= level {
		m.pools = append(m.pools, [2][]float64{})
	}
	for side, pool := range m.pools[level] {
		if want := poolSpan + n; len(pool) < want {
			rng := rand.New(rand.NewPCG(0x726f756e64+uint64(level), uint64(len(pool)+side)))
			for range want - len(pool) {
				pool = append(pool, factor(rng, level, 1+bias*float64(1-2*side)))
			}
			m.pools[level][side] = pool
		}
	}
}

// bias is the mean of a place's factors over the steps, above 1 or below: rounding may drift, as that of a sum of equal terms does.
const bias = 1. / 8

// factor draws 1 ± 2^level·2⁻⁵², with odds for +.
func factor(rng *rand.Rand, level int, odds float64) float64 {
	size := math.Ldexp(0x1p-52, level)
	if 2*rng.Float64() < odds {
		return 1 + size
	}
	return 1 - size
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Tensors draws values of the last inputs of a perturbed program, for an evaluator of tensors.
func Tensors(perturbed *graph.Program, levels []int, key uint64) []*graph.Tensor {
	rng := rand.New(rand.NewPCG(key, 0x666163746f72))
	var list []*graph.Tensor
	for k, in := range perturbed.Inputs[len(perturbed.Inputs)-len(levels):] {
		x := graph.NewTensor(in.Type)
		for i := range x.F {
			x.F[i] = factor(rng, levels[k], 1)
		}
		list = append(list, x)
	}
	return list
}
