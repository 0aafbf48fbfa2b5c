package exec

// packSize is the scratch that a product needs for its largest panel.
func (q *product) packSize(lanes int) int {
	n, rows := q.n, q.m
	switch {
	case q.lanesB:
		n *= lanes
	case q.lanesA:
		n = lanes
		rows = q.n
	}
	return packSize(rows, n, q.k)
}

// run computes d = op(a)·op(b); every entry accumulates over the inner index in order. With lanes
// on the right it is one product with as many columns as entries and lanes; with lanes on the left
// it is one for each row.
func (q *product) run(ws *Workspace) {
	d, a, b := ws.f[q.d], ws.f[q.a], ws.f[q.b]
	ai, ak := q.k, 1
	if q.ta {
		ai, ak = 1, q.m
	}
	bk, bj := q.n, 1
	if q.tb {
		bk, bj = 1, q.k
	}
	w := ws.width
	switch {
	case q.m == 0 || q.k == 0 || q.n == 0:
		clear(d)
	case q.lanesB && !q.tb:
		gemm(ws.pack, q.m, q.n*w, q.k, a, ai, ak, b, q.n*w, 1, d, q.n*w)
	case q.lanesB:
		for j := range q.n {
			gemm(ws.pack, q.m, w, q.k, a, ai, ak, b[j*q.k*w:], w, 1, d[j*w:], q.n*w)
		}
	case q.lanesA:
		for i := range q.m {
			gemm(ws.pack, q.n, w, q.k, b, bj, bk, a[i*ai*w:], ak*w, 1, d[i*q.n*w:], w)
		}
	default:
		gemm(ws.pack, q.m, q.n, q.k, a, ai, ak, b, bk, bj, d, q.n)
	}
}

// gemm computes c[i·ldc + j] = Σ_k a[i·ai + k·ak]·b[k·bk + j·bj], each product and sum rounded once, k in order.
func gemm(pack []float64, m, n, k int, a []float64, ai, ak int, b []float64, bk, bj int, c []float64, ldc int) {
	gemmGo(pack, m, n, k, a, ai, ak, b, bk, bj, c, ldc)
}

func packSize(m, n, k int) int { return 0 }

func gemmGo(_ []float64, m, n, k int, a []float64, ai, ak int, b []float64, bk, bj int, c []float64, ldc int) {
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		clear(row)
		for l := range k {
			x := a[i*ai+l*ak]
			for j := range row {
				row[j] += float64(x * b[l*bk+j*bj])
			}
		}
	}
}
