package bounds

import (
	"fmt"
	"math"
)

// Verdict says what is known about the claim error ≤ bound + floor.
type Verdict string

const (
	// Holds: the inequality was measured.
	Holds Verdict = "HOLDS"
	// HoldsAtFloor: the inequality was measured where rounding exceeds the bound.
	HoldsAtFloor Verdict = "HOLDS_AT_FLOOR"
	// EstimateRefuted: an excess, with estimated constants. They were too small.
	EstimateRefuted Verdict = "ESTIMATE_REFUTED"
	// DeclarationRefuted: an excess, with declared constants.
	DeclarationRefuted Verdict = "DECLARATION_REFUTED"
	// Violated: an excess, with certified constants: a defect of the program.
	Violated Verdict = "VIOLATED"
	// HypothesisFailed: the theorem does not apply.
	HypothesisFailed Verdict = "HYPOTHESIS_FAILED"
	// Unknown: not decided.
	Unknown Verdict = "UNKNOWN"
)

// Source says where the constants of a bound come from.
type Source string

const (
	Estimated Source = "estimate"
	Declared  Source = "declare"
	Certified Source = "certify"
)

// Claim is a measured error beside its bound.
type Claim struct {
	Measured, Bound, Floor float64
	Constants              Source
	// Failed names the hypothesis that fails, in words; empty when none is known to fail.
	Failed string
}

// Judge returns the verdict on a claim, with the reason. The comparison allows a relative 8·2⁻⁵³
// for the evaluation of the bound itself.
func Judge(c Claim) (Verdict, string) {
	const evaluation = 8 * 0x1p-53
	switch {
	case c.Failed != "":
		return HypothesisFailed, c.Failed
	case !(c.Measured >= 0 && c.Measured <= math.MaxFloat64):
		return Unknown, fmt.Sprintf("the measured error is %v", c.Measured)
	case !(c.Bound >= 0 && c.Bound <= math.MaxFloat64):
		return Unknown, fmt.Sprintf("the bound is %v", c.Bound)
	case !(c.Floor >= 0 && c.Floor <= math.MaxFloat64):
		return Unknown, fmt.Sprintf("the floor is %v", c.Floor)
	}
	limit := c.Bound + c.Floor
	if c.Measured-limit <= evaluation*c.Bound {
		if c.Floor > c.Bound {
			return HoldsAtFloor, "measured within the bound and the rounding floor, which is the larger"
		}
		return Holds, "measured within the bound and the rounding floor"
	}
	excess := fmt.Sprintf("measured %.3g exceeds bound %.3g + floor %.3g by %.3g", c.Measured, c.Bound, c.Floor, c.Measured-limit)
	switch c.Constants {
	case Estimated:
		return EstimateRefuted, excess + ": an estimated constant is too small; raise the search effort or declare it"
	case Declared:
		return DeclarationRefuted, excess + ": a declared constant is too small or does not belong to this norm and domain"
	case Certified:
		return Violated, excess + ": with certified constants this is a defect of the program"
	}
	return Unknown, excess + fmt.Sprintf(": the constants come from %q, which is no known source", c.Constants)
}
