package graph_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/op"
)

func ExampleHVP() {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(2))
	f := b.Build(op.SumOver(b, op.PowN(b, x, 3), 0)) // Σx³: gradient 3x², Hessian diag(6x)
	out, _ := graph.Eval(graph.HVP(f, []int{0}), vec(1, 2), vec(1, 10))
	fmt.Println(out[0].F, out[1].F, out[2].F)
	// Output: [9] [3 12] [6 120]
}

// curved is Σ tanh(xᵀ-like product) · e^{…}: smooth, with repeated parents in every slot.
func curved() *graph.Program {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.F64(2, 2))
	h := b.Emit(op.Tanh, nil, op.Product(b, x, x, true, false))
	y := b.Emit(op.Mul, nil, h, b.Emit(op.Mul, nil, h, b.Emit(op.Sin, nil, x)))
	return b.Build(op.SumOver(b, b.Emit(op.Add, nil, y, y), 0, 1))
}

func TestHessianIsSymmetricAndAgreesWithTheJet(t *testing.T) {
	f := curved()
	x := graph.Floats(graph.Shape{2, 2}, []float64{.3, -.8, 1.1, .4})
	unit := func(i int) *graph.Tensor {
		e := graph.NewTensor(graph.F64(2, 2))
		e.F[i] = 1
		return e
	}
	hvp, second := graph.HVP(f, []int{0}), graph.Mixed(f, []int{0}, 2)
	nested := graph.JVP(graph.JVP(f, []int{0}), []int{0})
	var hessian [4][]float64
	for i := range hessian {
		out, err := graph.Eval(hvp, x, unit(i))
		if err != nil {
			t.Fatal(err)
		}
		hessian[i] = out[2].F
	}
	for i := range hessian {
		for j := range hessian {
			if d := math.Abs(hessian[i][j] - hessian[j][i]); d > 4e-15 { // a few roundings of entries below 8
				t.Errorf("H[%d,%d] − H[%d,%d] = %.1e", i, j, j, i, d)
			}
			out, err := graph.Eval(second, x, unit(i), unit(j))
			if err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(hessian[i][j] - out[0].F[0]); d > 4e-15 {
				t.Errorf("H[%d,%d] is %v by the product and %v by the jet", i, j, hessian[i][j], out[0].F[0])
			}
			again, err := graph.Eval(nested, x, unit(i), unit(j))
			if err != nil {
				t.Fatal(err)
			}
			if last := again[len(again)-1].F[0]; last != out[0].F[0] {
				t.Errorf("nested JVP gives %v, the jet %v", last, out[0].F[0])
			}
		}
		// One direction: 2·y₂ of the Taylor series is vᵀHv.
		y, err := graph.Taylor(f, 2, []*graph.Tensor{x, unit(i)})
		if err != nil {
			t.Fatal(err)
		}
		if d := math.Abs(2*y[0][2].F[0] - hessian[i][i]); d > 4e-15 {
			t.Errorf("H[%d,%d] is %v by the product and %v by Taylor", i, i, hessian[i][i], 2*y[0][2].F[0])
		}
	}
}

// x·x reads one parent in two slots: each slot contributes, so f″ = 2 and not 1 or 4.
func TestHVPOfRepeatedParents(t *testing.T) {
	b := graph.NewBuilder("f")
	x := b.Input("x", graph.Scalar)
	out, err := graph.Eval(graph.HVP(b.Build(b.Emit(op.Mul, nil, x, x)), []int{0}), graph.Number(3), graph.Number(5))
	if err != nil || out[1].F[0] != 6 || out[2].F[0] != 10 {
		t.Errorf("%v, %v", out, err)
	}
}

func TestHVPStatuses(t *testing.T) {
	for _, c := range []struct {
		o    *graph.Op
		x    float64
		want graph.Status
	}{{op.Log, 0, graph.DomainError}, {op.Sqrt, 0, graph.Nondifferentiable}, {op.Abs, 0, graph.Nondifferentiable}, {op.Exp, 1000, graph.NonFinite}} {
		b := graph.NewBuilder("f")
		p := b.Build(b.Emit(c.o, nil, b.Input("x", graph.Scalar)))
		_, hvp := graph.Eval(graph.HVP(p, []int{0}), graph.Number(c.x), graph.Number(0)) // a zero direction changes nothing
		_, forward := graph.Eval(graph.JVP(p, []int{0}), graph.Number(c.x), graph.Number(0))
		var a, z *graph.Failure
		if !errors.As(hvp, &a) || !errors.As(forward, &z) || a.Status != c.want || z.Status != c.want {
			t.Errorf("%s at %v: HVP %v, forward %v, want %s", c.o.Name, c.x, hvp, forward, c.want)
		}
	}
}

func TestTangentsOfAnotherTypeAreRefused(t *testing.T) {
	f32 := graph.Type{DType: graph.Float32, Shape: graph.Shape{3}}
	b := graph.NewBuilder("f")
	x, n := b.Input("x", f32), b.Input("n", graph.Type{DType: graph.Int64, Shape: graph.Shape{3}})
	p := b.Build(b.Emit(op.Mul, nil, x, b.Full(f32, 2)), b.Emit(op.Mul, nil, n, n))
	primals := []*graph.Tensor{graph.NewTensor(f32), graph.Ints(graph.Shape{3}, []int64{0, 1, 2})}
	absent := graph.NewTensor(graph.Type{DType: graph.Float0, Shape: graph.Shape{3}})
	_, _, err := graph.Directional(p, []int{0, 1}, primals, []*graph.Tensor{vec(1, 1, 1), absent})
	if err == nil || !strings.Contains(err.Error(), "has type f64[3], its primal f32[3]: the expected tangent type is f32[3]") {
		t.Errorf("float64 tangent of a float32: %v", err)
	}
	if _, _, err = graph.Directional(p, []int{1}, primals, []*graph.Tensor{vec(1, 1, 1)}); err == nil || !strings.Contains(err.Error(), "expected tangent type is float0[3]") {
		t.Errorf("float64 tangent of an int64: %v", err)
	}
	_, dy, err := graph.Directional(p, []int{0, 1}, primals, []*graph.Tensor{graph.NewTensor(f32), absent})
	if err != nil || dy[1].DType != graph.Float0 || dy[1].DType.Size() != 0 || len(dy[1].F)+len(dy[1].I) != 0 || !slices.Equal(dy[1].Shape, graph.Shape{3}) {
		t.Errorf("tangent of an integer: %v, %v", dy, err)
	}
	vjp := graph.VJP(p, []int{0, 1})
	ct, err := graph.Eval(vjp, primals[0], primals[1], graph.NewTensor(f32), absent)
	if err != nil || ct[3].DType != graph.Float0 || ct[3].DType.Size()*ct[3].Len() != 0 {
		t.Errorf("cotangent of an integer: %v, %v", ct, err)
	}
}
