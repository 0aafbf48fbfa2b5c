package formula

import "strings"

// otherFunctions and otherNames are what people write for things that have another name here.
var otherFunctions = map[string]string{
	"ln": "write log(x)", "log10": "write log(x) / log(10)", "log2": "write log(x) / log(2)",
	"arcsin": "write asin(x)", "arccos": "write acos(x)", "arctan": "write atan(x)", "arctan2": "write atan2(y, x)",
	"sigmoid": "write logistic(x)", "norm": "write norm2(x)", "size": "write len(x)", "length": "write len(x)",
	"clip": "write clamp(x, lo, hi)", "where": "write c ? a : b", "inner": "write dot(x, y)", "square": "write x^2",
	"vstack": "write concat(A, B)", "column": "write col(A, j)", "erfc": "write 1 - erf(x)",
}

var otherNames = map[string]string{"π": "write pi", "Pi": "write pi", "PI": "write pi"}

// suggest is the hint for an unknown name: another spelling, or the nearest known name.
func suggest(name string, known []string, others map[string]string) string {
	if hint, ok := others[name]; ok {
		return hint
	}
	best, least := "", 1+min(2, len(name)/3)
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return "did you mean " + k + "?"
		}
		if d := distance(name, k, least); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance is the least number of insertions, deletions and replacements of runes between two
// names, or limit if it is not less.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			d := diagonal
			if x[i] != y[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return min(row[len(y)], limit)
}
