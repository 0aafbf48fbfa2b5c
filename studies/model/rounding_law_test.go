package model

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lensir/lensir-study/results"
)

type lawRandom struct{ *rand.Rand }

var lawCases = flag.Int("cases", 200, "random chains and programs to draw")

// ratios are estimates over errors, or over half a unit of the last place where an error is less.
type ratios []float64

func (r *ratios) judge(t *testing.T, what string, estimate, err, size float64) {
	t.Helper()
	if !(err <= estimate) {
		t.Errorf("%s: an error of %.3g, estimated as %.3g", what, err, estimate)
	}
	if size = max(err, unit*size); size > 0 {
		*r = append(*r, estimate/size)
	}
}

func (r ratios) report(t *testing.T, what string) {
	t.Helper()
	slices.Sort(r)
	at := func(q float64) float64 { return r[int(q*float64(len(r)-1))] }
	t.Logf("%s: %d estimates over errors, or half a unit: least %.2g, 1%% %.2g, median %.2g, 99%% %.2g", what, len(r), r[0], at(0.01), at(0.5), at(0.99))
	if median := at(0.5); !(median > 1 && median < 1e3) || at(0.99) > 1e4 {
		t.Errorf("%s: estimates are %.3g times the errors in the median, %.3g of the highest", what, median, at(0.99))
	}
}

func difference(x float64, y *big.Float) float64 {
	d, _ := new(big.Float).Sub(exact(x), y).Float64()
	return d
}

// The error of J and ∇J of random chains is below its estimate, where a digit is known at all; the references have 256 bits.
func TestRoundingOfRandomChains(t *testing.T) {
	var values, gradients ratios
	unknown := 0
	for seed := range uint64(*lawCases) {
		r := &lawRandom{rand.New(rand.NewPCG(seed, 1))}
		states, params := []string{"x", "y"}[:1+r.IntN(2)], []string{"a", "b"}[:1+r.IntN(2)]
		names := slices.Concat(states, params)
		n := len(names)
		env := map[string]dual{}
		steps := 1 + r.IntN(60)
		gain := 0.5 + 2*r.Float64()
		gain = math.Round(gain*64) / 64
		var b strings.Builder
		b.WriteString("kind = \"chain\"\n[parameters]\n")
		for k, p := range params {
			v := 3*r.Float64() - 1.5
			fmt.Fprintf(&b, "%s = %v\n", p, v)
			env[p] = constantly(v, n, len(states)+k)
		}
		b.WriteString("[state]\n")
		for k, x := range states {
			v := 2*r.Float64() - 1
			fmt.Fprintf(&b, "%s = { start = \"%v\" }\n", x, v)
			env[x] = constantly(v, n, k)
		}
		var next []expression
		fmt.Fprintf(&b, "[chain]\nsteps = %d\n[next]\n", steps)
		for _, x := range states {
			e := bound(gain, r.expression(3, names))
			next = append(next, e)
			fmt.Fprintf(&b, "%s = \"%s\"\n", x, e.text)
		}
		objective := r.expression(2, names)
		fmt.Fprintf(&b, "[objective]\nJ = \"%s\"\n", objective.text)
		for range steps {
			var after []dual
			for _, e := range next {
				after = append(after, e.value(env))
			}
			for k, x := range states {
				env[x] = after[k]
			}
		}
		want := objective.value(env)

		row := solveText(t, b.String(), 0).Record.Rows(results.Chain)[0]
		what := fmt.Sprintf("case %d", seed)
		switch {
		case row.Status != "OK":
			t.Errorf("%s: %+v\n%s", what, row, b.String())
			continue
		case row.Fields.Get("certificate") == results.Text(certificateUnknown):
			unknown++
			continue
		}
		err, size := 0.0, 0.0
		for k, name := range names {
			d := number(t, row, "dJ_"+name)
			err, size = math.Hypot(err, difference(d, want.d[k])), math.Hypot(size, d)
		}
		value := number(t, row, "J")
		values.judge(t, what+": J", number(t, row, "value_error_estimate"), math.Abs(difference(value, want.v)), math.Abs(value))
		gradients.judge(t, what+": dJ", number(t, row, "gradient_error_estimate"), err, size)
	}
	values.report(t, "values")
	gradients.report(t, "gradients")
	if t.Logf("%d of %d chains have no known digit", unknown, *lawCases); unknown > *lawCases/4 {
		t.Errorf("%d chains are not judged", unknown)
	}
}

// The error of every number of random programs is below its estimate.
func TestRoundingOfRandomPrograms(t *testing.T) {
	var all ratios
	for seed := range uint64(*lawCases) {
		r := &lawRandom{rand.New(rand.NewPCG(seed, 2))}
		names := []string{"a", "b", "c"}
		env := map[string]dual{}
		var b strings.Builder
		b.WriteString("kind = \"program\"\n[parameters]\n")
		for k, p := range names {
			v := 3*r.Float64() - 1.5
			fmt.Fprintf(&b, "%s = %v\n", p, v)
			env[p] = constantly(v, len(names), k)
		}
		e := r.expression(5, names)
		fmt.Fprintf(&b, "[program]\nresults = [\"value\", \"gradient\", \"jvp\", \"jacobian\", \"taylor\"]\norder = 1\n[program.outputs]\nf = \"%s\"\n[program.directions]\nv = { a = 1 }\n", e.text)
		want := e.value(env)
		_, out := programOf(t, b.String())
		for _, row := range out.Record.Rows(results.Program) {
			get := func(column string) string { return row.Fields.Get(column).String() }
			if row.Status != "OK" {
				t.Errorf("case %d: %+v\n%s", seed, row, b.String())
				continue
			}
			value := number(t, row, "value")
			truth := want.d[0] // of the direction
			switch what, input := get("transformation"), get("input"); {
			case what == "value" || what == "taylor" && get("order") == "0":
				truth = want.v
			case what == "gradient" || what == "jacobian":
				truth = want.d[slices.Index(names, input)]
			}
			all.judge(t, fmt.Sprintf("case %d: %+v", seed, row.Fields), number(t, row, "error_estimate"), math.Abs(difference(value, truth)), math.Abs(value))
		}
	}
	all.report(t, "programs")
}

// Sums of many terms are rounded at each, in one operation and over the steps of a chain.
func TestRoundingOfLongSums(t *testing.T) {
	const n = 20_000
	_, out := programOf(t, fmt.Sprintf(`kind = "program"
[parameters]
x = { random = "uniform", shape = [%d], seed = 3 }
[program]
results = ["value"]
[program.outputs]
plain = "sum(x)"
positive = "sum(0.5 * x + 1)"
squares = "sum(x * x)"
product = "dot(x, x)"
running = "cumsum(x)[-1]"
grid = "cumsum(0 * x + 0.1)[-1]"
product_row = "matmul(reshape(0 * x + 1, 1, %[1]d), 0 * x + 0.1)[0]"
X = "x"
`, n))
	want := map[string]*big.Float{}
	for _, name := range []string{"plain", "positive", "squares"} {
		want[name] = exact(0)
	}
	for _, x := range array(t, out.Record, "value-X") {
		y := exact(x)
		want["plain"].Add(want["plain"], y)
		want["squares"].Add(want["squares"], new(big.Float).Mul(y, y))
		y = exact(1).Add(exact(1), new(big.Float).Mul(y, exact(0.5)))
		want["positive"].Add(want["positive"], y)
	}
	want["running"], want["product"] = want["plain"], want["squares"]
	want["grid"] = new(big.Float).Mul(exact(0.1), exact(n)) // equal terms, as those of a grid of times
	want["product_row"] = want["grid"]
	var all ratios
	for _, row := range out.Record.Rows(results.Program)[:7] {
		name, value := row.Fields.Get("name").String(), number(t, row, "value")
		all.judge(t, name, number(t, row, "error_estimate"), math.Abs(difference(value, want[name])), math.Abs(value))
	}

	// A chain that forgets: the derivatives by its parameters are sums over its steps of equal terms.
	const steps = 50_000
	row := solveText(t, fmt.Sprintf("kind = \"chain\"\n[parameters]\na = 0.7\nw = 0.3\n[state]\ns = { start = \"0\" }\n[chain]\nsteps = %d\n[next]\ns = \"s * 0.25 + w * a^2\"\n[objective]\nJ = { running = \"w * s\" }\n", steps), 0).Record.Rows(results.Chain)[0]
	const params = 2
	a, w, s, j := constantly(0.7, params, 0), constantly(0.3, params, 1), constantly(0, params, -1), constantly(0, params, -1)
	quarter := constantly(0.25, params, -1)
	for range steps {
		j = op2('+', j, op2('*', w, s))
		s = op2('+', op2('*', s, quarter), op2('*', w, op2('*', a, a)))
	}
	value, da, dw := number(t, row, "J"), number(t, row, "dJ_a"), number(t, row, "dJ_w")
	all.judge(t, "J", number(t, row, "value_error_estimate"), math.Abs(difference(value, j.v)), math.Abs(value))
	all.judge(t, "dJ", number(t, row, "gradient_error_estimate")-number(t, row, "dJ_s")*1e-15, math.Hypot(difference(da, j.d[0]), difference(dw, j.d[1])), math.Hypot(da, dw))
	// A clock of equal ticks: its rounding drifts.
	row = solveText(t, "kind = \"chain\"\n[parameters]\ndt = 0.1\n[state]\nt = { start = \"0\" }\n[chain]\nsteps = 200000\n[next]\nt = \"t + dt\"\n[objective]\nJ = \"t\"\n", 0).Record.Rows(results.Chain)[0]
	value = number(t, row, "J")
	all.judge(t, "clock", number(t, row, "value_error_estimate"), math.Abs(difference(value, new(big.Float).Mul(exact(0.1), exact(200_000)))), value)
	t.Logf("estimates over errors: %.3g", []float64(all))
	if slices.Max(all) > 1e3 {
		t.Errorf("estimates over errors: %.3g", []float64(all))
	}
}

// dual is a number with its derivatives, in 256 bits.
type dual struct {
	v *big.Float
	d []*big.Float
}

func exact(x float64) *big.Float { return new(big.Float).SetPrec(256).SetFloat64(x) }

func constantly(x float64, n, k int) dual {
	y := dual{exact(x), make([]*big.Float, n)}
	for i := range y.d {
		y.d[i] = exact(0)
		if i == k {
			y.d[i] = exact(1)
		}
	}
	return y
}

// lowest is an exponent below that of any float64: a sum with less would take as many digits as lie between.
const lowest = -1500

// with returns v and Σ s·x.d over pairs of factors and duals.
func with(v *big.Float, pairs ...any) dual {
	if v.MantExp(nil) <= lowest {
		v = exact(0)
	}
	y := dual{v, make([]*big.Float, len(pairs[1].(dual).d))}
	for i := range y.d {
		y.d[i] = exact(0)
		for k := 0; k < len(pairs); k += 2 {
			if term := new(big.Float).Mul(pairs[k].(*big.Float), pairs[k+1].(dual).d[i]); term.MantExp(nil) > lowest {
				y.d[i].Add(y.d[i], term)
			}
		}
	}
	return y
}

func op2(op byte, x, y dual) dual {
	f := func() *big.Float { return new(big.Float).SetPrec(256) }
	one := exact(1)
	switch op {
	case '+':
		return with(f().Add(x.v, y.v), one, x, one, y)
	case '-':
		return with(f().Sub(x.v, y.v), one, x, exact(-1), y)
	case '*':
		return with(f().Mul(x.v, y.v), y.v, x, x.v, y)
	case '/':
		q := f().Quo(x.v, y.v)
		inverse := f().Quo(one, y.v)
		return with(q, inverse, x, f().Neg(f().Mul(q, inverse)), y)
	}
	r := f().Sqrt(x.v) // 's'
	return with(r, f().Quo(exact(0.5), r), x)
}

// expression is a random formula, as text and exactly.
type expression struct {
	text  string
	value func(env map[string]dual) dual
}

// expression draws a formula of sums, differences, products and quotients of bounded parts.
func (r *lawRandom) expression(depth int, names []string) expression {
	if depth == 0 || r.IntN(6) == 0 {
		name := names[r.IntN(len(names))]
		if r.IntN(4) > 0 {
			return expression{name, func(env map[string]dual) dual { return env[name] }}
		}
		c := math.Round(1000*(4*r.Float64()-2)) / 512 // never alone: what formulas make of numbers alone is a number of the study
		return expression{fmt.Sprintf("(%v * %s)", c, name), func(env map[string]dual) dual {
			return op2('*', constantly(c, len(env[name].d), -1), env[name])
		}}
	}
	a, b := r.expression(depth-1, names), r.expression(depth-1, names)
	binary := func(op byte) expression {
		return expression{fmt.Sprintf("(%s %c %s)", a.text, op, b.text), func(env map[string]dual) dual { return op2(op, a.value(env), b.value(env)) }}
	}
	switch k := r.IntN(6); k {
	case 0, 1, 2:
		return binary("+-*"[k])
	case 3:
		return binary('*')
	case 4: // a / (1 + b²)
		b = positive(b)
		return binary('/')
	}
	p := positive(a)
	return expression{"sqrt(" + p.text + ")", func(env map[string]dual) dual { x := p.value(env); return op2('s', x, x) }}
}

func positive(e expression) expression {
	return expression{fmt.Sprintf("(1 + %s * %s)", e.text, e.text), func(env map[string]dual) dual {
		x := e.value(env)
		return op2('+', constantly(1, len(x.d), -1), op2('*', x, x))
	}}
}

// bound is c·e/√(1 + e²).
func bound(c float64, e expression) expression {
	p := positive(e)
	return expression{fmt.Sprintf("%v * %s / sqrt(%s)", c, e.text, p.text), func(env map[string]dual) dual {
		x, s := e.value(env), p.value(env)
		return op2('/', op2('*', constantly(c, len(x.d), -1), x), op2('s', s, s))
	}}
}
