package module

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// poly is a dimension of a family: a polynomial in dimension names with integer coefficients. Its key is a
// monomial, the names sorted and joined by "*"; "" is the constant. No coefficient is 0, so that two
// polynomials are equal for all valuations exactly if they are equal term by term.
type poly map[string]*big.Int

func constantDim(n int) poly {
	if n == 0 {
		return poly{}
	}
	return poly{"": big.NewInt(int64(n))}
}

func (d Dim) poly() poly {
	if d.Name != "" {
		return poly{d.Name: big.NewInt(1)}
	}
	return constantDim(d.Size)
}

func (p poly) add(q poly) poly {
	out := poly{}
	for _, terms := range []poly{p, q} {
		for m, c := range terms {
			sum := new(big.Int).Set(c)
			if have := out[m]; have != nil {
				sum.Add(sum, have)
			}
			if out[m] = sum; sum.Sign() == 0 {
				delete(out, m)
			}
		}
	}
	return out
}

func (p poly) scale(n int) poly { return p.mul(constantDim(n)) }

func (p poly) mul(q poly) poly {
	out := poly{}
	for m, c := range p {
		for n, d := range q {
			var names []string
			for _, s := range []string{m, n} {
				if s != "" {
					names = append(names, strings.Split(s, "*")...)
				}
			}
			slices.Sort(names)
			out = out.add(poly{strings.Join(names, "*"): new(big.Int).Mul(c, d)})
		}
	}
	return out
}

func (p poly) equal(q poly) bool {
	return maps.EqualFunc(p, q, func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
}

// constant returns the size of a dimension without names.
func (p poly) constant() (int, bool) {
	switch c := p[""]; {
	case len(p) == 0:
		return 0, true
	case len(p) == 1 && c != nil && c.IsInt64():
		return int(c.Int64()), true
	}
	return 0, false
}

// at is the size for one valuation.
func (p poly) at(v Valuation) *big.Int {
	sum := new(big.Int)
	for m, c := range p {
		term := new(big.Int).Set(c)
		if m != "" {
			for _, name := range strings.Split(m, "*") {
				term.Mul(term, big.NewInt(int64(v[name])))
			}
		}
		sum.Add(sum, term)
	}
	return sum
}

// String writes the terms in order of degree, then of names: B*d + 2.
func (p poly) String() string {
	if len(p) == 0 {
		return "0"
	}
	degree := func(m string) int {
		if m == "" {
			return 0
		}
		return 1 + strings.Count(m, "*")
	}
	terms := slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		if d := degree(b) - degree(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	s := ""
	for i, m := range terms {
		c := p[m]
		if sign := c.Sign(); i > 0 {
			s += map[bool]string{true: " - ", false: " + "}[sign < 0]
		} else if sign < 0 {
			s += "-"
		}
		size := new(big.Int).Abs(c)
		switch {
		case m == "":
			s += size.String()
		case size.IsInt64() && size.Int64() == 1:
			s += m
		default:
			s += size.String() + "*" + m
		}
	}
	return s
}

// mismatch is a condition on dimensions that does not hold for all valuations.
type mismatch struct{ reason, needs string }

func (e *mismatch) Error() string {
	if e.needs == "" {
		return e.reason
	}
	return e.reason + ": needs " + e.needs
}

// equation wants p = q for all valuations. The refusal carries the equation if some valuation may fulfil it.
func equation(p, q poly, format string, args ...any) error {
	if p.equal(q) {
		return nil
	}
	e := &mismatch{reason: fmt.Sprintf(format, args...)}
	signs := map[int]bool{}
	for _, c := range p.add(q.scale(-1)) {
		signs[c.Sign()] = true
	}
	if len(signs) > 1 { // a difference of one sign is never 0: every dimension is positive
		e.needs = p.String() + " = " + q.String()
	}
	return e
}

// condition is an inequality between dimensions: it holds for all valuations, for some, or for none.
type condition struct {
	always, sometimes bool
	text              string
}

// atMost is p ≤ q. Dimensions are affine in their names, and these are at least 1: the difference q − p is least where all
// are 1 if no name lowers it, and else falls below 0.
func atMost(p, q poly) condition {
	least, falls, rises := new(big.Int), false, false
	for m, c := range q.add(p.scale(-1)) {
		least.Add(least, c)
		falls = falls || m != "" && c.Sign() < 0
		rises = rises || m != "" && c.Sign() > 0
	}
	holds := least.Sign() >= 0
	return condition{holds && !falls, holds || rises, p.String() + " <= " + q.String()}
}

// both wants two conditions for all valuations. The refusal carries those that hold for some only, unless one holds for none.
func both(a, b condition, format string, args ...any) error {
	if a.always && b.always {
		return nil
	}
	e := &mismatch{reason: fmt.Sprintf(format, args...)}
	if !a.sometimes || !b.sometimes {
		return e
	}
	for _, c := range []condition{a, b} {
		switch {
		case c.always:
		case e.needs == "":
			e.needs = c.text
		default:
			e.needs += " and " + c.text
		}
	}
	return e
}

// equalShapes wants two shapes equal for all valuations.
func equalShapes(a, b []poly, format string, args ...any) error {
	if len(a) != len(b) {
		return &mismatch{reason: fmt.Sprintf(format, args...)}
	}
	var conditional *mismatch
	seen := map[string]bool{}
	for i := range a {
		err, _ := equation(a[i], b[i], format, args...).(*mismatch)
		switch {
		case err == nil:
		case err.needs == "":
			return err
		case conditional == nil:
			conditional = err
		case !seen[err.needs]:
			conditional.needs += " and " + err.needs
		}
		seen[a[i].String()+" = "+b[i].String()], seen[b[i].String()+" = "+a[i].String()] = true, true
	}
	if conditional == nil {
		return nil
	}
	return conditional
}

// product is the number of entries of a shape.
func product(shape []poly) poly {
	n := constantDim(1)
	for _, d := range shape {
		n = n.mul(d)
	}
	return n
}

// maxTerms bounds the polynomials that a check multiplies out.
const maxTerms = 1 << 12

// terms bounds the number of terms of a product, up to maxTerms + 1.
func terms(shape []poly) int {
	n := 1
	for _, d := range shape {
		n = min(n*max(1, len(d)), maxTerms+1)
	}
	return n
}

func shapeText(shape []poly) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
