package model

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lensir/lensir-study/results"
)

// armChain has one step x' = F and J = x² + Σ running.
func armChain(next, running, define string) string {
	return fmt.Sprintf(`kind = "chain"
[constants]
T = 9
w = [1, 2, 3, 4, 5, 6, 7, 8]
[parameters]
a = 0.5
[state]
x = { start = "a" }
%s
[controls]
u = { start = "0.25" }
[chain]
steps = "T"
[next]
x = "%s"
[objective]
J = { terminal = "x^2", running = "%s" }
[schedule]
methods = ["store-all", "uniform", "revolve"]
slots = 3
[hessian]
u = 1
a = 2
`, define, next, running)
}

// A control and data by step are read inside the arms of c ? a : b, and right of && and ||.
func TestControlInArms(t *testing.T) {
	for _, c := range []struct {
		name, next, running string
		value, da           float64
		du                  []float64 // without the entries after the last step
	}{
		{"an arm", "x + (j < 3 ? u[j] : 0)", "0", 1.25 * 1.25, 2.5, []float64{2.5, 2.5, 2.5, 0, 0, 0, 0, 0, 0}},
		{"the other arm", "x + (j < 3 ? 0 : u[j])", "0", 4, 4, []float64{0, 0, 0, 4, 4, 4, 4, 4, 4}},
		{"an arm of an arm", "x + (j > 1 ? (j < 4 ? 2 * u[j] : 0) : 0)", "0", 2.25, 3, []float64{0, 0, 6, 6, 0, 0, 0, 0, 0}},
		{"a later entry", "x + (j < 2 ? u[j + 1] : 0)", "0", 1, 2, []float64{0, 2, 2, 0, 0, 0, 0, 0, 0, 0}},
		{"by the state", "x + (x > 0.9 ? 0 : u[j])", "0", 1, 2, []float64{2, 2, 0, 0, 0, 0, 0, 0, 0}},
		{"a partial function of it", "x + (j < 2 ? sqrt(u[j]) : log(u[j] - 1))", "0", 2.25, 3, nil},
		{"right of &&", "x + (j < 4 && u[j] > 0.2 ? u[j] : 0)", "0", 2.25, 3, []float64{3, 3, 3, 3, 0, 0, 0, 0, 0}},
		{"right of ||", "x + (j < 4 || u[j + 1] < 0.2 ? u[j] : 0)", "0", 2.25, 3, []float64{3, 3, 3, 3, 0, 0, 0, 0, 0, 0}},
		{"in the running term", "x", "j == 8 ? u[j]^2 : 0", 0.25 + 0.0625, 1, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0.5}},
		{"data, out of range at the last step", "x + (j < 8 ? w[j] * u[j] : 0)", "0", 9.5 * 9.5, 19, []float64{19, 38, 57, 76, 95, 114, 133, 152, 0}},
		{"data before the first step", "x + (j > 0 ? w[j - 1] * u[j] : 0)", "0", 9.5 * 9.5, 19, []float64{0, 19, 38, 57, 76, 95, 114, 133, 152}},
	} {
		if c.name == "a partial function of it" {
			// The arm log(u[j] − 1) is never in its domain, and taken from j = 2.
			out := solveText(t, armChain(c.next, c.running, ""), 0)
			if row := out.Record.Rows(results.Chain)[0]; row.Status != "DOMAIN_ERROR" {
				t.Errorf("%s: %s: %s", c.name, row.Status, row.Reason)
			}
			c.next = "x + (j < 9 ? sqrt(u[j]) / 4.5 : log(u[j] - 1))" // never taken
		}
		out := solveText(t, armChain(c.next, c.running, ""), 0)
		row := out.Record.Rows(results.Chain)[0]
		if row.Status != "OK" || out.Violated != 0 {
			t.Errorf("%s: %s: %s", c.name, row.Status, row.Reason)
			continue
		}
		digits(t, c.name+": J", 14, number(t, row, "J"), c.value)
		digits(t, c.name+": dJ_a", 14, number(t, row, "dJ_a"), c.da)
		if got := array(t, out.Record, "dJ_u"); c.du != nil && !cmp.Equal(got, c.du) {
			t.Errorf("%s: dJ_u is %v, want %v", c.name, got, c.du)
		}
	}
}

// What an arm reads has the same bits as what a definition outside of the arm reads.
func TestArmsAndDefinitions(t *testing.T) {
	for _, c := range [][2]string{
		{"x + (j < 3 ? sin(u[j]) * x : cos(x) * u[j + 1])", "x + (j < 3 ? sin(v) * x : cos(x) * later)"},
		{"x + (x > 0.7 && u[j] < 1 || log(u[j + 1]) < 0 ? u[j]^3 / x : u[j + 1])", "x + (x > 0.7 && v < 1 || log(later) < 0 ? v^3 / x : later)"},
	} {
		var rows [2][]results.Row
		for i, next := range c {
			define := ""
			if i == 1 {
				define = "[define]\nv = \"u[j]\"\nlater = \"u[j + 1]\""
			}
			out := solveText(t, armChain(next, "x", define), 0)
			for _, table := range []string{results.Chain, results.Schedules} {
				rows[i] = append(rows[i], out.Record.Rows(table)...)
			}
			if row := rows[i][0]; row.Status != "OK" {
				t.Fatalf("%s: %s: %s", next, row.Status, row.Reason)
			}
		}
		if diff := cmp.Diff(rows[0], rows[1], cmp.AllowUnexported(results.Value{})); diff != "" {
			t.Errorf("%s: %s", c[0], diff)
		}
	}
}
