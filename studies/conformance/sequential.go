package conformance

import (
	"math"

	"github.com/lensir/lensir-study/bounds"
)

// BlockErrors compares, in the largest entry, the float32 run of a tied block with its float64 run.
type BlockErrors struct {
	PredictedY float64 `json:"predicted_y"`
	ObservedY  float64 `json:"observed_y"`
	PredictedX float64 `json:"predicted_x_cotangent"`
	ObservedX  float64 `json:"observed_x_cotangent"`
}

// predict bounds the errors of Y and of the cotangent of X in a float32 run of a tied block whose inputs and seed are
// float32 numbers.
//
// The stages are X ↦ (X, A) ↦ (X, H) ↦ Y, in the largest entry. With w₁ the largest column sum and w∞ the largest row sum
// of |W| they are max(1, w₁)-, 1- and (1 + w₁)-Lipschitz; their pullbacks are (1 + w∞)-, 1- and max(1, w∞)-Lipschitz
// in the cotangent, and that of tanh depends on A with constant max|tanh″| = 4/(3√3). The local errors count half a
// unit in the last place for each rounding of the sums of absolute values that occur.
func (b block) predict() (BlockErrors, error) {
	const u = 1.001 * 0x1p-24
	d := float64(b.d)
	w1, wInf, bMax, xMax, gMax := 0.0, 0.0, 0.0, 0.0, 0.0
	for k := range b.d {
		column, row := 0.0, 0.0
		for j := range b.d {
			column += math.Abs(b.w[j*b.d+k])
			row += math.Abs(b.w[k*b.d+j])
		}
		w1, wInf, bMax = max(w1, column), max(wInf, row), max(bMax, math.Abs(b.b[k]))
	}
	for i := range b.x {
		xMax, gMax = max(xMax, math.Abs(b.x[i])), max(gMax, math.Abs(b.g[i]))
	}
	// |tanh| ≤ 1; a term of a product of inner size d meets d roundings, and one more in each addition.
	primal, err := bounds.SequentialError([]bounds.Stage{
		{L: max(1, w1), Epsilon: u * ((d+1)*xMax*w1 + bMax)},
		{L: 1, Epsilon: u},
		{L: 1 + w1, Epsilon: u * ((d+2)*w1 + 2*xMax + bMax)},
	})
	if err != nil {
		return BlockErrors{}, err
	}
	hBar := gMax * wInf // the size of H̄, and of Ā, as |tanh′| ≤ 1
	reverse, err := bounds.ReverseError([]bounds.ReverseStage{
		{L: 1 + wInf, Epsilon: u * ((d+1)*hBar*wInf + gMax)},
		{L: 1, H: 4 / (3 * math.Sqrt(3)), Epsilon: 2.001 * u * hBar, Primal: primal[0]},
		{L: max(1, wInf), Epsilon: u * d * hBar, Primal: primal[1]},
	}, gMax, 0)
	if err != nil {
		return BlockErrors{}, err
	}
	return BlockErrors{PredictedY: primal[2], PredictedX: reverse[0]}, nil
}
