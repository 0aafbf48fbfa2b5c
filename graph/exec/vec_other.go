//go:build !amd64

package exec

// level is 0: there are no vector kernels.
var level = 0

func add(d, a, b []float64) { addGo(d, a, b) }
func sub(d, a, b []float64) { subGo(d, a, b) }
func mul(d, a, b []float64) { mulGo(d, a, b) }
func div(d, a, b []float64) { divGo(d, a, b) }

func pair(code int, d, a, b, c []float64) { pairGo(code, d, a, b, c) }

func anyInfinite(a []float64) uint64 { return anyInfiniteGo(a) }
func sumRow(x []float64) float64     { return sumRowGo(x) }

// panelWidth is 0: there are no tiles, and a matrix product runs in Go.
func panelWidth() int { return 0 }

func tileHeight() int { return 1 }

func tile(rows, k int, half bool, a []float64, ai, ak int, b []float64, bk int, c []float64, ldc int, accumulate bool) int {
	panic("exec: there are no tiles on this machine")
}

func elementary(_ opcode, f func(float64) float64, d, a []float64) { elementaryGo(f, d, a) }

func dotRows(sums *[16]float64, rows int, a []float64, ai int, x []float64) (done, columns int) {
	return 0, 0
}

func (ws *Workspace) runScalars(c *code, list []scalar) { ws.runScalarsGo(c, list) }
