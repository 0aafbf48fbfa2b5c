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

// gemm computes c[i·ldc + j] = Σ_k a[i·ai + k·ak]·b[k·bk + j·bj], each product and sum rounded once, k
// in order. It runs in tiles that stay in registers: rows of a against panels of b as wide as a tile.
// Panels are packed where their entries lie far apart and are read often.
func gemm(pack []float64, m, n, k int, a []float64, ai, ak int, b []float64, bk, bj int, c []float64, ldc int) {
	width := panelWidth()
	switch {
	case n == 1 && ak == 1 || m == 1 && n == 1:
		rowDots(c, ldc, m, a, ai, ak, b, bk, k)
		return
	case m == 1 && bk == 1:
		rowDots(c, 1, n, b, bj, bk, a, ak, k)
		return
	case n == 1 && ai == 1 && ldc == 1: // a product of b with the transpose of a
		a, ai, ak, b, bk, bj, m, n = b, 0, bk, a, ak, 1, 1, m
	}
	if width == 0 {
		gemmGo(m, n, k, a, ai, ak, b, bk, bj, c, ldc)
		return
	}
	direct := bj == 1 && m <= 2*tileHeight()
	for k0 := 0; k0 < k; k0 += innerBlock {
		inner := min(innerBlock, k-k0)
		for j0 := 0; j0 < n; j0 += panels * width {
			j1 := min(j0+panels*width, n)
			for j := j0; j < j1; j += width {
				if !direct || j+width > n {
					packPanel(pack[(j-j0)*inner:], inner, width, b[k0*bk+j*bj:], bk, bj, min(width, n-j))
				}
			}
			for i := 0; i < m; i += tileHeight() {
				rows := min(tileHeight(), m-i)
				for j := j0; j < j1; j += width {
					panel, step := pack[min((j-j0)*inner, len(pack)):], width
					if direct && j+width <= n {
						panel, step = b[k0*bk+j:], bk
					}
					if j+width <= n {
						tiles(rows, inner, false, a[i*ai+k0*ak:], ai, ak, panel, step, c[i*ldc+j:], ldc, k0 > 0)
					} else {
						edge(rows, n-j, width, inner, a[i*ai+k0*ak:], ai, ak, panel, c[i*ldc+j:], ldc, k0 > 0)
					}
				}
			}
		}
	}
}

const (
	innerBlock = 256 // inner indices, and
	panels     = 8   // panels of b, that stay in the second cache
)

func packSize(m, n, k int) int {
	w := panelWidth()
	if w == 0 {
		return 0
	}
	n = max(n, m) // a product with a column runs as one with a row
	return min(k, innerBlock) * min((n+w-1)/w, panels) * w
}

// packPanel copies columns of b side by side, and zeros for those that are missing.
func packPanel(pack []float64, inner, width int, b []float64, bk, bj, columns int) {
	pack = pack[:inner*width]
	switch {
	case bj == 1:
		for l := range inner {
			row := pack[l*width : (l+1)*width]
			k := copy(row, b[l*bk:l*bk+columns])
			clear(row[k:])
		}
	default:
		if columns < width {
			clear(pack)
		}
		j := 0
		for ; bk == 1 && j+4 <= columns; j += 4 {
			b0, b1, b2, b3 := b[j*bj:][:inner], b[(j+1)*bj:][:inner], b[(j+2)*bj:][:inner], b[(j+3)*bj:][:inner]
			for l, x := range b0 {
				row := pack[l*width+j:][:4]
				row[0], row[1], row[2], row[3] = x, b1[l], b2[l], b3[l]
			}
		}
		for ; j < columns; j++ {
			for l := range inner {
				pack[l*width+j] = b[l*bk+j*bj]
			}
		}
	}
}

// tiles computes the rows of one panel.
func tiles(rows, inner int, half bool, a []float64, ai, ak int, b []float64, bk int, c []float64, ldc int, accumulate bool) {
	for done := 0; done < rows; {
		done += tile(rows-done, inner, half, a[done*ai:], ai, ak, b, bk, c[done*ldc:], ldc, accumulate)
	}
}

// edge computes a panel with fewer columns than a tile, through a copy that is wide enough.
func edge(rows, columns, width, inner int, a []float64, ai, ak int, b []float64, c []float64, ldc int, accumulate bool) {
	var wide [8 * 16]float64
	for i := range rows {
		copy(wide[i*width:], c[i*ldc:i*ldc+columns])
	}
	tiles(rows, inner, 2*columns <= width, a, ai, ak, b, width, wide[:], width, accumulate)
	for i := range rows {
		copy(c[i*ldc:i*ldc+columns], wide[i*width:])
	}
}

// rowDots computes c[i·step] = Σ_k a[i·ai + k·ak]·x[k·xk], k in order: several rows at a time, whose sums
// do not wait for each other.
func rowDots(c []float64, step, rows int, a []float64, ai, ak int, x []float64, xk, k int) {
	i := 0
	if ak == 1 && xk == 1 {
		x = x[:k]
		for i < rows {
			var sums [16]float64
			done, columns := dotRows(&sums, rows-i, a[i*ai:], ai, x)
			if done == 0 && rows-i >= 4 {
				done = 4
				fourDots(&sums, a[i*ai:], ai, x)
			} else {
				for r := range done {
					row := a[(i+r)*ai:][:k]
					for l := columns; l < k; l++ {
						sums[r] += float64(row[l] * x[l])
					}
				}
			}
			for r := range done {
				c[(i+r)*step] = sums[r]
			}
			if i += done; done == 0 {
				break
			}
		}
	}
	for ; i < rows; i++ {
		s := 0.0
		for l := range k {
			s += float64(a[i*ai+l*ak] * x[l*xk])
		}
		c[i*step] = s
	}
}

func fourDots(sums *[16]float64, a []float64, ai int, x []float64) {
	a0, a1, a2, a3 := a[:len(x)], a[ai:][:len(x)], a[2*ai:][:len(x)], a[3*ai:][:len(x)]
	var s0, s1, s2, s3 float64
	for l, v := range x {
		s0 += float64(a0[l] * v)
		s1 += float64(a1[l] * v)
		s2 += float64(a2[l] * v)
		s3 += float64(a3[l] * v)
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
}

// gemmGo is gemm in Go: rows of b join a row of c four at a time, in order.
func gemmGo(m, n, k int, a []float64, ai, ak int, b []float64, bk, bj int, c []float64, ldc int) {
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		clear(row)
		l := 0
		for ; bj == 1 && l+4 <= k; l += 4 {
			x0, x1, x2, x3 := a[i*ai+l*ak], a[i*ai+(l+1)*ak], a[i*ai+(l+2)*ak], a[i*ai+(l+3)*ak]
			b0, b1, b2, b3 := b[l*bk:][:len(row)], b[(l+1)*bk:][:len(row)], b[(l+2)*bk:][:len(row)], b[(l+3)*bk:][:len(row)]
			for j, s := range row {
				s += float64(x0 * b0[j])
				s += float64(x1 * b1[j])
				s += float64(x2 * b2[j])
				s += float64(x3 * b3[j])
				row[j] = s
			}
		}
		for ; l < k; l++ {
			x := a[i*ai+l*ak]
			for j := range row {
				row[j] += float64(x * b[l*bk+j*bj])
			}
		}
	}
}
