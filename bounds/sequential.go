package bounds

// Stage is one stage of a sequence x_k = f_k(x_{k−1}), replaced by an approximation.
type Stage struct {
	L       float64 // Lipschitz constant L_k of the ideal f_k
	Epsilon float64 // uniform local error ε_k of the approximation on all intermediate values met
}

// SequentialError returns the error bounds e_1 … e_n of the intermediate values, with e_0 = 0 and
//
//	e_k ≤ ε_k + L_k e_{k−1}
//
// (Lemma 5.3 of the LensIR document: insert the ideal stage at the approximate value).
func SequentialError(stages []Stage) ([]float64, error) {
	if err := checkStages(stages); err != nil {
		return nil, err
	}
	e := make([]float64, len(stages))
	previous := 0.0
	for k, s := range stages {
		e[k] = s.Epsilon + amplify(s.L, previous)
		previous = e[k]
	}
	return e, nil
}

// ReverseStage is one stage of a reverse sweep λ_{k−1} = P_k(x_{k−1}) λ_k, where P_k(x), linear in
// the cotangent, is the pullback of stage k at the primal value x.
type ReverseStage struct {
	L       float64 // bound of ‖P_k(x)‖ at every primal value met (for a derivative: the Lipschitz constant of f_k, in the dual norm)
	H       float64 // Lipschitz constant of P_k in x: ‖P_k(x) − P_k(y)‖ ≤ H_k‖x − y‖
	Epsilon float64 // uniform local error of the computed pullback at the values met
	Primal  float64 // error e_{k−1} of the primal value that the pullback reads
}

// ReverseError returns bounds a_0 … a_n of the errors of the cotangents λ_0 … λ_n, in the dual norm,
// for a seed λ_n of the given norm and error a_n = seedError.
//
// The computed sweep is λ̂_{k−1} = P̂_k(x̂_{k−1}) λ̂_k with ‖P̂_k(x)λ − P_k(x)λ‖ ≤ ε_k. Insert
// P_k(x̂)λ̂_k and P_k(x̂)λ_k:
//
//	λ̂_{k−1} − λ_{k−1} = [P̂_k(x̂) − P_k(x̂)]λ̂_k + P_k(x̂)[λ̂_k − λ_k] + [P_k(x̂) − P_k(x)]λ_k
//	a_{k−1} ≤ ε_k + L_k a_k + H_k e_{k−1} Λ_k,     Λ_k = ‖λ_n‖ Π_{j>k} L_j ≥ ‖λ_k‖.
//
// The third term is the dependence of the pullback on a perturbed primal; it is there even when every
// pullback is evaluated exactly. Parameters are covered as a part of the state that every stage
// passes on, with the sum of cotangents as the pullback of sharing.
func ReverseError(stages []ReverseStage, seedNorm, seedError float64) ([]float64, error) {
	if err := checkReverse(stages, seedNorm, seedError); err != nil {
		return nil, err
	}
	n := len(stages)
	a := make([]float64, n+1)
	a[n] = seedError
	cotangent := scaledOf(seedNorm)
	for k := n; k >= 1; k-- {
		s := stages[k-1]
		a[k-1] = s.Epsilon + amplify(s.L, a[k]) + cotangent.times(s.H, s.Primal)
		cotangent = cotangent.mul(scaledOf(s.L))
	}
	return a, nil
}

// amplify returns L·e, 0 for L = 0 also where e has overflowed: the exact e is finite.
func amplify(L, e float64) float64 {
	if L == 0 {
		return 0
	}
	return float64(L * e)
}

func checkStages(stages []Stage) error {
	for _, s := range stages {
		if err := first(size("L", s.L), size("ε", s.Epsilon)); err != nil {
			return err
		}
	}
	return nil
}

func checkReverse(stages []ReverseStage, seedNorm, seedError float64) error {
	for _, s := range stages {
		if err := first(size("L", s.L), size("H", s.H), size("ε", s.Epsilon), size("e", s.Primal)); err != nil {
			return err
		}
	}
	return first(size("seed norm", seedNorm), size("seed error", seedError))
}
