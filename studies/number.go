package studies

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var decimal = regexp.MustCompile(`^[+-]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][+-]?[0-9_]+)?$`)

// parseDecimal rounds a decimal literal once to float64. A literal that is not 0 but rounds to 0,
// or that overflows, is refused: no study shall quietly compute with another number than it shows.
func parseDecimal(text string) (float64, error) {
	if !decimal.MatchString(text) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	plain := strings.ReplaceAll(text, "_", "")
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is beyond the largest float64, 1.8e308", text)
	}
	digits, _, _ := strings.Cut(strings.ToLower(plain), "e")
	if v == 0 && strings.ContainsAny(digits, "123456789") {
		return 0, fmt.Errorf("%s underflows to 0: the smallest positive float64 is 4.9e-324", text)
	}
	return v, nil
}
