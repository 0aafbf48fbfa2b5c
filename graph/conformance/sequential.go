package conformance

import "math"

// sequentialError is the bound on the error after each stage: e_k ≤ ε_k + L_k·e_{k−1}, e_0 = 0, for stages that
// are L-Lipschitz and approximated with local error ε on every value that is met.
//
// Source: sequential error propagation (lemma 5.3 of the typed tensor fragment).
func sequentialError(local, lipschitz []float64) []float64 {
	e := make([]float64, len(local)+1)
	for k := range local {
		e[k+1] = local[k] + lipschitz[k]*e[k]
	}
	return e
}

// reverseSequentialError is its counterpart for cotangents. Stage k pulls a cotangent of size c_k (given as
// sizes[k], at the stage's end) back by a map that is P_k-Lipschitz in the cotangent and, for each unit of cotangent,
// M_k-Lipschitz in the primal value, which is off by primal[k]:
//
//	ē_{k−1} ≤ ε̄_k + P_k·ē_k + M_k·c_k·e_{k−1}.
func reverseSequentialError(local, pullback, dependence, sizes, primal []float64) []float64 {
	n := len(local)
	e := make([]float64, n+1)
	for k := n - 1; k >= 0; k-- {
		e[k] = local[k] + pullback[k]*e[k+1] + dependence[k]*sizes[k]*primal[k]
	}
	return e
}

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
func (b block) predict() BlockErrors {
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
	primal := sequentialError(
		[]float64{u * ((d+1)*xMax*w1 + bMax), u, u * ((d+2)*w1 + 2*xMax + bMax)},
		[]float64{max(1, w1), 1, 1 + w1})
	hBar := gMax * wInf // the size of H̄, and of Ā, as |tanh′| ≤ 1
	reverse := reverseSequentialError(
		[]float64{u * ((d+1)*hBar*wInf + gMax), 2.001 * u * hBar, u * d * hBar},
		[]float64{1 + wInf, 1, max(1, wInf)},
		[]float64{0, 4 / (3 * math.Sqrt(3)), 0},
		[]float64{hBar, hBar * 1.001, gMax},
		primal)
	return BlockErrors{PredictedY: primal[3], PredictedX: reverse[0]}
}
