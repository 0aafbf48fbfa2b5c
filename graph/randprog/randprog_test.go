package randprog_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/graph/randprog"
)

func Example() {
	r := randprog.Rand(20)
	p := randprog.Program(r, randprog.Settings{Ops: 3, Smooth: true})
	fmt.Print(p)
	_, err := graph.Eval(p, randprog.Inputs(r, p)...)
	fmt.Println(err)
	// Output:
	// program random(ct_y: f64, sin_x: f64) -> (f64[3], f64[3], f64[3]) {
	//   ct_x: f64[3] = broadcast sin_x shape=[3] dims=[]
	//   ct_x_2: f64[3] = sinh ct_x
	//   a: f64[3] = tanh ct_x_2
	//   b: f64[3] = sub ct_x a
	//   return ct_x_2, ct_x_2, ct_x_2
	// }
	// <nil>
}

// Every operation of the table is drawn, and so are the shapes and programs that break things.
func TestProgramsCoverTheTable(t *testing.T) {
	seen := map[string]int{}
	kinds := map[string]int{}
	for seed := range uint64(3000) {
		p := randprog.Program(randprog.Rand(seed), randprog.Settings{})
		if err := graph.Verify(p); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		used := make([]bool, p.NumValues())
		for i := range p.Nodes {
			n := &p.Nodes[i]
			seen[n.Op.Name]++
			for k, a := range n.Args {
				used[a] = true
				if k > 0 && a == n.Args[0] {
					kinds["repeated operand"]++
				}
			}
			if n.Type.Len() == 0 {
				kinds["zero-size value"]++
			}
		}
		outputs := map[graph.Value]bool{}
		for _, v := range p.Outputs {
			if outputs[v] {
				kinds["repeated output"]++
			}
			outputs[v] = true
			if int(v) < len(p.Inputs) {
				kinds["output that is an input"]++
			}
		}
		for i := range p.Inputs {
			if !used[i] && !outputs[graph.Value(i)] {
				kinds["unused input"]++
			}
		}
		if len(p.Inputs) == 0 {
			kinds["no inputs"]++
		}
		if len(p.Outputs) == 0 {
			kinds["no outputs"]++
		}
	}
	for _, o := range op.All() {
		if seen[o.Name] < 20 {
			t.Errorf("%s was drawn %d times", o.Name, seen[o.Name])
		}
	}
	for _, kind := range []string{"repeated operand", "zero-size value", "repeated output", "output that is an input",
		"unused input", "no inputs", "no outputs"} {
		if kinds[kind] < 20 {
			t.Errorf("%s: %d", kind, kinds[kind])
		}
	}
}

// A seed gives one program.
func TestProgramsAreReproducible(t *testing.T) {
	for seed := range uint64(100) {
		draw := func() string { return randprog.Program(randprog.Rand(seed), randprog.Settings{}).String() }
		if first, second := draw(), draw(); first != second {
			t.Fatalf("seed %d gives two programs", seed)
		}
	}
}

// The ladder accepts a derivative and refuses one that is wrong by a billionth, or of a function with a kink.
func TestLadder(t *testing.T) {
	f := func(h float64) (float64, error) { return math.Sin(0.7 + h), nil }
	if err := randprog.Ladder(f, math.Cos(0.7), 1); err != nil {
		t.Error(err)
	}
	if randprog.Ladder(f, math.Cos(0.7)*(1+1e-8), 1) == nil {
		t.Error("a derivative wrong by 1e-8 passes")
	}
	kink := func(h float64) (float64, error) { return math.Abs(h - 1e-4), nil }
	if randprog.Ladder(kink, -1, 1) == nil {
		t.Error("a kink 1e-4 away passes")
	}
	if err := randprog.Ladder(func(h float64) (float64, error) { return 3 * h, nil }, 3, 1); err != nil {
		t.Error(err)
	}
	if randprog.Ladder(func(h float64) (float64, error) { return 0, nil }, 1e-3, 1) == nil {
		t.Error("a constant passes with derivative 1e-3")
	}
}

func TestDense(t *testing.T) {
	p, err := op.Parse("linear f(r: f64[2]; dx: f64[2]) -> (f64[2], f64[2]) {\n  a: f64[2] = mul dx r\n  return a, dx\n}")
	if err != nil {
		t.Fatal(err)
	}
	m, err := randprog.Dense(p, []*graph.Tensor{graph.Floats(graph.Shape{2}, []float64{3, 5})})
	if want := "[[3 0] [0 5] [1 0] [0 1]]"; err != nil || fmt.Sprint(m) != want {
		t.Errorf("have %v, %v, want %s", m, err, want)
	}
}
