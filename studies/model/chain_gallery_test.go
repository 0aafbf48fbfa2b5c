package model

import (
	"math"
	"testing"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies"
)

// The chains of the gallery, held to references, to closed forms, or to derivatives by complex steps: f(x + ih) has the imaginary part
// h·f′(x) up to h², without a difference, so that h = 1e-30 gives all digits.
func init() {
	for name, test := range map[string]func(*testing.T, ran){
		"lorenz63":        checkLorenz63,
		"lorenz96":        checkLorenz96,
		"burgers":         checkBurgers,
		"heat":            checkHeat,
		"leapfrog-wave":   checkWave,
		"rnn":             checkNetwork,
		"gray-scott":      checkGrayScott,
		"optimal-control": checkControl,
		"van-der-pol":     checkVanDerPol,
	} {
		special[name] = func(t *testing.T, r ran) {
			checkChainEvidence(t, r)
			test(t, r)
		}
	}
}

// checkChainEvidence holds every gradient to the tangent over the whole chain, and every schedule to its certificate and to the bits
// of another schedule.
func checkChainEvidence(t *testing.T, r ran) {
	t.Helper()
	for _, record := range r.Run.Records {
		row := record.Rows(results.Chain)[0]
		if gap := number(t, row, "adjoint_tangent_gap"); !(gap < 1e-13) {
			t.Errorf("adjoint and tangent differ by %g", gap)
		}
		if row.Fields.Get("certificate") != results.Text(certificateHolds) || number(t, row, "gap_tolerance") > 1e-8 {
			t.Errorf("adjoint and tangent: %+v", row)
		}
		schedules := record.Rows(results.Schedules)
		if len(schedules) == 0 {
			t.Error("no schedule ran")
		}
		for _, s := range schedules {
			if s.Fields.Get("gradient_equal") != results.Bool(true) || s.Fields.Get("certificate") != results.Text(certificateHolds) {
				t.Errorf("%v: %+v", s.Fields.Get("method"), s)
			}
		}
	}
}

func chainRow(t *testing.T, r *results.Record) results.Row {
	t.Helper()
	rows := r.Rows(results.Chain)
	if len(rows) != 1 || rows[0].Status != "OK" {
		t.Fatalf("the chain's rows are %+v", rows)
	}
	return rows[0]
}

// digits holds a value to so many digits of its reference.
func digits(t *testing.T, what string, n int, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 0.5*math.Pow10(1-n)*math.Abs(want)) {
		t.Errorf("%s: got %.17g, want %.17g to %d digits", what, got, want, n)
	}
}

func checkLorenz63(t *testing.T, r ran) {
	for _, c := range []struct {
		steps  float64
		digits int
		value  float64
		want   [6]float64
	}{
		{1000, 12, 11.6267215298242370, [6]float64{1.55040843235375887, 1.22367243378050860, 0.233358901780815058,
			-1.01205286448920941, 1.06926844176638889, 7.93013957995466239}},
		{10000, 11, 16.0442976242910789, [6]float64{-1.28492313222248913, -1.33443468865581407, 8.21017006852853923,
			-7.95090320707776961, -10.9482959130135986, -39.0863748596383397}},
	} {
		record := r.point(t, at{"T": c.steps})
		row := chainRow(t, record)
		digits(t, "J", c.digits, number(t, row, "J"), c.value)
		var errors []float64
		for i, name := range []string{"x", "y", "z", "sigma", "rho", "beta"} {
			digits(t, "dJ_"+name, c.digits, number(t, row, "dJ_"+name), c.want[i])
			errors = append(errors, number(t, row, "dJ_"+name)-c.want[i])
		}
		bounded(t, row, "value_error_estimate", number(t, row, "J")-c.value)
		bounded(t, row, "gradient_error_estimate", errors...)
	}
}

func checkBurgers(t *testing.T, r ran) {
	record := r.Run.Records[0]
	g := array(t, record, "dJ_u")
	total, square := 0.0, 0.0
	for _, x := range g {
		total, square = total+x, square+x*x
	}
	digits(t, "J", 12, number(t, chainRow(t, record), "J"), 1103.41453679024120)
	digits(t, "g[0]", 12, g[0], 2.00182290336835422)
	digits(t, "g[500]", 12, g[500], 2.00263013054595583)
	digits(t, "the sum of g", 12, total, 1998.18397372348560)
	digits(t, "g·g", 12, square, 4325.28930509565346)
}

func checkHeat(t *testing.T, r ran) {
	const h, dt, a, steps = 0.02, 1e-4, 1.5, 1000.
	slope := -4 * dt / (h * h) * math.Pow(math.Sin(math.Pi*h/2), 2) // dλ/dkappa
	lambda := 1 + slope
	row := chainRow(t, r.Run.Records[0])
	digits(t, "J", 12, number(t, row, "J"), a*a*math.Pow(lambda, 2*steps)/2)
	digits(t, "dJ_a", 12, number(t, row, "dJ_a"), a*math.Pow(lambda, 2*steps))
	digits(t, "dJ_kappa", 12, number(t, row, "dJ_kappa"), a*a*steps*math.Pow(lambda, 2*steps-1)*slope)
}

func checkWave(t *testing.T, r ran) {
	const h, dt, c, steps = 0.02, 0.01, 1., 730.
	s := dt / h * math.Sin(math.Pi*h/2)
	phi := 2 * math.Asin(c*s)
	dphi := 2 * s / math.Sqrt(1-c*c*s*s)
	// a = (sin(mφ) − sin(nφ))/sin φ, with m = T + 1 and n = T; the middle of the string has sin(πx) = 1.
	m, n := steps+1, steps
	top, bottom := math.Sin(m*phi)-math.Sin(n*phi), math.Sin(phi)
	slope := ((m*math.Cos(m*phi)-n*math.Cos(n*phi))*bottom - top*math.Cos(phi)) / (bottom * bottom)
	row := chainRow(t, r.Run.Records[0])
	digits(t, "J", 10, number(t, row, "J"), top/bottom) // φ·T is rounded to 1e-14, relative to a number of order 1
	digits(t, "dJ_c", 10, number(t, row, "dJ_c"), slope*dphi)
}

func checkControl(t *testing.T, r ran) {
	const steps, dt, rho, u = 400, 0.01, 0.05, -0.3
	position, speed := 1.0, 0.5
	for range steps {
		position, speed = position+dt*speed, speed+dt*u
	}
	row := chainRow(t, r.Run.Records[0])
	digits(t, "J", 13, number(t, row, "J"), position*position+speed*speed+steps*rho*dt*u*u)
	digits(t, "dJ_rho", 13, number(t, row, "dJ_rho"), steps*dt*u*u)
	digits(t, "dJ_position", 12, number(t, row, "dJ_position"), 2*position)
	digits(t, "dJ_speed", 12, number(t, row, "dJ_speed"), 2*position*steps*dt+2*speed)
	// The Hessian is constant: 2dt⁴(T−1−j)(T−1−k) + 2dt² + 2·rho·dt·δ_jk between controls, 2dt·u[j] between rho and u[j].
	h := array(t, r.Run.Records[0], "HJ_u")
	sum := float64(steps * (steps - 1) / 2)
	for j, got := range h {
		want := 2*math.Pow(dt, 4)*float64(steps-1-j)*sum + 2*dt*dt*steps + 2*rho*dt
		if math.Abs(got-want) > 1e-13 {
			t.Fatalf("entry %d of Hv: got %.17g, want %.17g", j, got, want)
		}
	}
	digits(t, "HJ_rho", 12, number(t, row, "HJ_rho"), 2*dt*u*steps)
	digits(t, "HJ_position", 12, number(t, row, "HJ_position"), 2*dt*dt*sum)
	g := array(t, r.Run.Records[0], "dJ_u")
	if len(g) != steps || len(h) != steps {
		t.Fatalf("%d derivatives for %d controls", len(g), steps)
	}
	for j, got := range g {
		want := 2*position*dt*dt*float64(steps-1-j) + 2*speed*dt + 2*rho*dt*u
		if math.Abs(got-want) > 1e-14 {
			t.Fatalf("dJ/du[%d]: got %.17g, want %.17g", j, got, want)
		}
	}
}

// checkNetwork holds the gradient to backpropagation through time by hand.
func checkNetwork(t *testing.T, r ran) {
	const n, m, steps = 8, 2, 1000
	value := func(list []studies.Quantity, name string) []float64 {
		for _, q := range list {
			if q.Name == name {
				return q.Value.Data
			}
		}
		t.Fatal("no " + name)
		return nil
	}
	p, k := r.study.Parameters, r.study.Constants
	w, u, b, c := value(p, "W"), value(p, "U"), value(p, "b"), value(p, "c")
	x, y := value(k, "X"), value(k, "Y")
	h := make([][n]float64, steps+1)
	misfit := make([]float64, steps+1)
	loss := 0.0
	for j := range steps {
		for i := range n {
			a := b[i]
			for l := range n {
				a += w[i*n+l] * h[j][l]
			}
			for l := range m {
				a += u[i*m+l] * x[j*m+l]
			}
			h[j+1][i] = math.Tanh(a)
			misfit[j+1] += c[i] * h[j+1][i]
		}
		misfit[j+1] -= y[j]
		loss += misfit[j+1] * misfit[j+1] / steps
	}
	dw, du, db, dc := make([]float64, n*n), make([]float64, n*m), make([]float64, n), make([]float64, n)
	var bar [n]float64
	for j := steps - 1; j >= 0; j-- {
		var before [n]float64
		for i := range n {
			e := 2 * misfit[j+1] / steps
			dc[i] += e * h[j+1][i]
			g := (bar[i] + e*c[i]) * (1 - h[j+1][i]*h[j+1][i])
			db[i] += g
			for l := range n {
				dw[i*n+l] += g * h[j][l]
				before[l] += g * w[i*n+l]
			}
			for l := range m {
				du[i*m+l] += g * x[j*m+l]
			}
		}
		bar = before
	}
	record := r.Run.Records[0]
	digits(t, "loss", 13, number(t, chainRow(t, record), "loss"), loss)
	for name, want := range map[string][]float64{"W": dw, "U": du, "b": db, "c": dc, "h": bar[:]} {
		got := array(t, record, "dloss_"+name)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-13 {
				t.Fatalf("dloss_%s[%d]: got %.17g, want %.17g", name, i, got[i], want[i])
			}
		}
	}
}

const tiny = 1e-30

func checkLorenz96(t *testing.T, r ran) {
	const n, steps, dt = 40, 500, 0.01
	energy := func(force, size complex128, moved int) float64 {
		x := make([]complex128, n)
		for i := range x {
			x[i] = size * complex(math.Sin(float64(i*i)), 0)
			if i == moved {
				x[i] += complex(0, tiny)
			}
		}
		rate := func(x []complex128) []complex128 {
			k := make([]complex128, n)
			for i := range k {
				k[i] = (x[(i+1)%n]-x[(i+n-2)%n])*x[(i+n-1)%n] - x[i] + force
			}
			return k
		}
		move := func(h complex128, k []complex128) []complex128 {
			y := make([]complex128, n)
			for i := range y {
				y[i] = x[i] + h*k[i]
			}
			return y
		}
		for range steps {
			k1 := rate(x)
			k2 := rate(move(dt/2, k1))
			k3 := rate(move(dt/2, k2))
			k4 := rate(move(dt, k3))
			for i := range x {
				x[i] += dt / 6 * (k1[i] + 2*k2[i] + 2*k3[i] + k4[i])
			}
		}
		sum := complex128(0)
		for _, v := range x {
			sum += v * v / 80
		}
		return imag(sum) / tiny
	}
	record := r.Run.Records[0]
	row := chainRow(t, record)
	const step = complex(0, tiny)
	digits(t, "dJ_force", 10, number(t, row, "dJ_force"), energy(8+step, 3, -1))
	digits(t, "dJ_size", 10, number(t, row, "dJ_size"), energy(8, 3+step, -1))
	g := array(t, record, "dJ_x")
	for _, i := range []int{0, 7, 19, 20, 33} {
		want := energy(8, 3, i)
		if math.Abs(g[i]-want) > 1e-11*number(t, record.Rows(results.Schedules)[0], "gradient_norm") {
			t.Errorf("dJ_x[%d]: got %.17g, want %.17g", i, g[i], want)
		}
	}
}

func checkGrayScott(t *testing.T, r ran) {
	const n, steps = 64, 200
	mean := func(p [4]complex128) float64 {
		feed, kill, du, dv := p[0], p[1], p[2], p[3]
		u, v := make([]complex128, n*n), make([]complex128, n*n)
		for i := range n {
			for k := range n {
				a, b := float64(i-32)/5, float64(k-32)/5
				bump := complex(math.Exp(-a*a)*math.Exp(-b*b), 0)
				u[i*n+k], v[i*n+k] = 1-0.5*bump, 0.25*bump
			}
		}
		u2, v2 := make([]complex128, n*n), make([]complex128, n*n)
		for range steps {
			lap := func(x []complex128, i, k int) complex128 {
				return x[(i+1)%n*n+k] + x[(i+n-1)%n*n+k] + x[i*n+(k+1)%n] + x[i*n+(k+n-1)%n] - 4*x[i*n+k]
			}
			for i := range n {
				for k := range n {
					a, b := u[i*n+k], v[i*n+k]
					rate := a * b * b
					u2[i*n+k] = a + du*lap(u, i, k) - rate + feed*(1-a)
					v2[i*n+k] = b + dv*lap(v, i, k) + rate - (feed+kill)*b
				}
			}
			u, u2, v, v2 = u2, u, v2, v
		}
		sum := complex128(0)
		for _, x := range v {
			sum += x
		}
		return imag(sum) / tiny / (n * n)
	}
	row := chainRow(t, r.Run.Records[0])
	for i, name := range []string{"feed", "kill", "du", "dv"} {
		p := [4]complex128{0.037, 0.06, 0.16, 0.08}
		p[i] += complex(0, tiny)
		digits(t, "dJ_"+name, 11, number(t, row, "dJ_"+name), mean(p))
	}
}

func checkVanDerPol(t *testing.T, r ran) {
	const dt = 0.001
	end := func(x, y, mu complex128) (int, float64, float64) {
		for j := 0; ; j++ {
			if real(x) < 0 {
				return j, real(y), imag(y) / tiny
			}
			x, y = x+dt*y, y+dt*(mu*(1-x*x)*y-x)
		}
	}
	row := chainRow(t, r.Run.Records[0])
	const step = complex(0, tiny)
	steps, y, dx := end(2+step, 0, 2)
	_, _, dy := end(2, step, 2)
	_, _, dmu := end(2, 0, 2+step)
	if got := number(t, row, "T"); got != float64(steps) {
		t.Errorf("T is %v, want %d", got, steps)
	}
	digits(t, "J", 12, number(t, row, "J"), y)
	digits(t, "dJ_x", 11, number(t, row, "dJ_x"), dx)
	digits(t, "dJ_y", 11, number(t, row, "dJ_y"), dy)
	digits(t, "dJ_mu", 11, number(t, row, "dJ_mu"), dmu)
}
