package exec

func add(d, a, b []float64) { addGo(d, a, b) }
func sub(d, a, b []float64) { subGo(d, a, b) }
func mul(d, a, b []float64) { mulGo(d, a, b) }
func div(d, a, b []float64) { divGo(d, a, b) }

func anyInfinite(a []float64) uint64 { return anyInfiniteGo(a) }
func sumRow(x []float64) float64     { return sumRowGo(x) }
