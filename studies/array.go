package studies

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/lensir/lensir-study/studies/source"
)

// Array is a scalar, vector, matrix or higher tensor of float64, entries in row-major order. The
// scalar has the empty shape and one entry.
type Array struct {
	Shape []int
	Data  []float64
}

// Scalar returns v as an Array.
func Scalar(v float64) Array { return Array{Shape: []int{}, Data: []float64{v}} }

// IsScalar reports whether the shape is empty.
func (a Array) IsScalar() bool { return len(a.Shape) == 0 }

// MaxEntries bounds an array: 2²⁴ entries are 128 MiB.
const MaxEntries = 1 << 24

// maxLinspace bounds linspace and logspace, whose entries are computed exactly and one by one.
const maxLinspace = 1_000_000

// entries returns the product of a shape. It is an error when that, or a product without the zeros
// of the shape, is above MaxEntries. Nothing is allocated before.
func entries(shape []int64) (int, error) {
	n, empty := int64(1), false
	for _, d := range shape {
		if d == 0 {
			empty = true
			continue
		}
		if n > MaxEntries/d {
			return 0, fmt.Errorf("an array of shape %v has more than %d entries", shape, MaxEntries)
		}
		n *= d
	}
	if empty {
		return 0, nil
	}
	return int(n), nil
}

// Fits reports whether an array of this shape has no more than MaxEntries entries.
func Fits(shape ...int) bool {
	wide := make([]int64, len(shape))
	for i, d := range shape {
		wide[i] = int64(d)
	}
	_, err := entries(wide)
	return err == nil
}

// digest names the contents of an array: the SHA-256 of its rank, shape and entries, each as 8
// bytes, little end first.
func (a Array) digest() [sha256.Size]byte {
	h := sha256.New()
	var buf [8]byte
	put := func(bits uint64) {
		binary.LittleEndian.PutUint64(buf[:], bits)
		h.Write(buf[:])
	}
	put(uint64(len(a.Shape)))
	for _, d := range a.Shape {
		put(uint64(d))
	}
	for _, v := range a.Data {
		put(math.Float64bits(v))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// arrayReader reads the values of one file.
type arrayReader struct{ src *source.File }

func (r arrayReader) errorf(n *source.Node, format string, args ...any) *Error {
	return r.src.At(n.At).Errorf(strings.Join(n.Path(), "."), format, args...)
}

// number reads a finite number; name says what it is in messages.
func (r arrayReader) number(n *source.Node, name string) (float64, *Error) {
	switch v := n.Value.(type) {
	case int64:
		return float64(v), nil
	case float64:
		text := numberText(r.src, n)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, r.errorf(n, "%s is %s, which is not a finite number", name, text)
		}
		v, err := parseDecimal(text)
		if err != nil {
			return 0, r.errorf(n, "%s: %s", name, err)
		}
		return v, nil
	}
	return 0, r.errorf(n, "%s is %s where a number is wanted", name, n.Describe())
}

// array reads a value of type wantArray.
func (r arrayReader) array(n *source.Node) (Array, *Error) {
	switch n.Kind {
	case source.Table:
		return r.made(n)
	case source.List:
		return r.nested(n)
	}
	v, err := r.number(n, label(n))
	return Scalar(v), err
}

// nested reads a list, or a list of lists of one length, and so on.
func (r arrayReader) nested(n *source.Node) (Array, *Error) {
	a := Array{}
	for level := n; level.Kind == source.List; level = level.Items[0] {
		a.Shape = append(a.Shape, len(level.Items))
		if len(level.Items) == 0 {
			break
		}
	}
	if err := r.fill(&a, n, 0, n.Name); err != nil {
		return Array{}, err
	}
	return a, nil
}

func (r arrayReader) fill(a *Array, n *source.Node, level int, name string) *Error {
	for i, item := range n.Items {
		itemName := fmt.Sprintf("%s[%d]", name, i)
		if level == len(a.Shape)-1 {
			if item.Kind == source.List {
				return r.errorf(item, "%s is a list where %s[0] is a number", itemName, name)
			}
			v, err := r.number(item, itemName)
			if err != nil {
				return err
			}
			a.Data = append(a.Data, v)
			continue
		}
		if item.Kind != source.List {
			return r.errorf(item, "%s is %s where %s[0] is a list", itemName, item.Describe(), name)
		}
		if len(item.Items) != a.Shape[level+1] {
			return r.errorf(item, "%s has length %d where %s[0] has length %d", itemName, len(item.Items), firstOf(name, level), a.Shape[level+1]).
				WithHint("the rows of a matrix have one length")
		}
		if err := r.fill(a, item, level+1, itemName); err != nil {
			return err
		}
	}
	return nil
}

// firstOf is the name of the list that fixed the length at a level: W for rows of W, W[0] one level down.
func firstOf(name string, level int) string {
	base, _, _ := strings.Cut(name, "[")
	return base + strings.Repeat("[0]", level)
}

// made reads an array that is made and not typed. The schema has checked the types of its keys.
func (r arrayReader) made(n *source.Node) (Array, *Error) {
	ways := []string{"random", "linspace", "zeros", "identity"}
	var way *source.Node
	for _, name := range ways {
		if c := n.Child(name); c != nil {
			if way != nil {
				return Array{}, r.errorf(n, "%s has both %q and %q", label(n), way.Name, c.Name)
			}
			way = c
		}
	}
	if way == nil {
		return Array{}, r.errorf(n, "%s does not say how it is made", label(n)).
			WithHint(`for example { random = "normal", shape = [8, 8], seed = 1 }; also linspace, zeros, identity`)
	}
	for _, c := range n.Items {
		if c != way && way.Name != "random" {
			return Array{}, r.src.At(c.KeyAt).Errorf(strings.Join(c.Path(), "."), "%q does not go with %q", c.Name, way.Name).
				WithHint("it goes with random")
		}
	}
	switch way.Name {
	case "linspace":
		values, err := r.linspace(way)
		return Array{Shape: []int{len(values)}, Data: values}, err
	case "zeros":
		return r.zeros(way)
	case "identity":
		size := way.Count()
		if _, err := entries([]int64{size, size}); err != nil {
			return Array{}, r.errorf(way, "%s", err)
		}
		a := Array{Shape: []int{int(size), int(size)}, Data: make([]float64, size*size)}
		for i := range int(size) {
			a.Data[i*int(size)+i] = 1
		}
		return a, nil
	}
	return r.random(n, way.Value.(string))
}

// zeros makes an array of the shape that a node gives.
func (r arrayReader) zeros(n *source.Node) (Array, *Error) {
	dims := []*source.Node{n}
	if n.Kind == source.List {
		dims = n.Items
	}
	shape := make([]int64, len(dims))
	for i, d := range dims {
		shape[i] = d.Count()
	}
	size, err := entries(shape)
	if err != nil {
		return Array{}, r.errorf(n, "%s", err)
	}
	a := Array{Shape: make([]int, len(shape)), Data: make([]float64, size)}
	for i, d := range shape {
		a.Shape[i] = int(d)
	}
	return a, nil
}

func (r arrayReader) random(n *source.Node, law string) (Array, *Error) {
	for _, name := range []string{"shape", "seed"} {
		if n.Child(name) == nil {
			return Array{}, r.errorf(n, "%s is random and has no %q", label(n), name).
				WithHint(`for example { random = "normal", shape = [8, 8], seed = 1 }`)
		}
	}
	norm, scale := n.Child("norm2"), n.Child("scale")
	if norm != nil && scale != nil {
		return Array{}, r.errorf(scale, "%s has both norm2 and scale", label(n)).WithHint("keep one of them")
	}
	a, err := r.zeros(n.Child("shape"))
	if err != nil {
		return Array{}, err
	}
	fillRandom(a.Data, law, newGenerator(uint64(n.Child("seed").Count())))
	factor := 1.0
	if scale != nil {
		factor = scale.Number()
	}
	if norm != nil {
		now, why := norm2(a)
		if why != nil {
			return Array{}, r.errorf(norm, "%s: %s", label(n), why)
		}
		factor = norm.Number() / now
	}
	for i := range a.Data {
		a.Data[i] *= factor
		if math.IsInf(a.Data[i], 0) || math.IsNaN(a.Data[i]) {
			return Array{}, r.errorf(n, "%s has entries beyond float64", label(n))
		}
	}
	return a, nil
}

// ends reads [first, last, how many] with its checks.
func (r arrayReader) ends(n *source.Node) (first, last float64, count int, err *Error) {
	first, err = r.number(n.Items[0], label(n)+": the first value")
	if err == nil {
		last, err = r.number(n.Items[1], label(n)+": the last value")
	}
	if err != nil {
		return 0, 0, 0, err
	}
	many := n.Items[2].Count()
	if many > maxLinspace {
		return 0, 0, 0, r.errorf(n.Items[2], "%s asks for %d values; the most is %d", label(n), many, maxLinspace)
	}
	if many == 1 && first != last {
		return 0, 0, 0, r.errorf(n.Items[2], "%s has two ends and asks for 1 value", label(n))
	}
	return first, last, int(many), nil
}

// linspace makes equally spaced values x_i = a + (b − a)·i/(n − 1), computed exactly from the
// decimals as they were written and rounded once: linspace = [0.1, 0.9, 9] has 0.3, not
// 0.30000000000000004.
func (r arrayReader) linspace(n *source.Node) ([]float64, *Error) {
	first, last, count, err := r.ends(n)
	if err != nil {
		return nil, err
	}
	a, b := r.exact(n.Items[0], first), r.exact(n.Items[1], last)
	step := new(big.Rat)
	if count > 1 {
		step.Quo(step.Sub(b, a), big.NewRat(int64(count-1), 1))
	}
	values := make([]float64, count)
	x := new(big.Rat)
	for i := range values {
		x.SetInt64(int64(i))
		values[i], _ = x.Add(a, x.Mul(x, step)).Float64()
	}
	if count > 0 {
		values[0], values[count-1] = first, last
	}
	return values, nil
}

// exact returns a number as written, without rounding.
func (r arrayReader) exact(n *source.Node, rounded float64) *big.Rat {
	if _, whole := n.Value.(int64); !whole {
		if x, ok := new(big.Rat).SetString(strings.ReplaceAll(numberText(r.src, n), "_", "")); ok {
			return x
		}
	}
	return new(big.Rat).SetFloat64(rounded)
}

// logspace makes values in equal ratios, x_i = a·(b/a)^(i/(n − 1)). The values between the ends are
// rounded to 15 significant digits, so that logspace = [1e-3, 1, 4] has 0.01 and 0.1 themselves.
func (r arrayReader) logspace(n *source.Node) ([]float64, *Error) {
	first, last, count, err := r.ends(n)
	if err != nil {
		return nil, err
	}
	if first == 0 || last == 0 || (first < 0) != (last < 0) {
		return nil, r.errorf(n, "%s: the ends of a logspace have one sign and are not 0", label(n)).
			WithHint("the ends are the values themselves, not exponents")
	}
	sign := math.Copysign(1, first)
	from, to := portableLog(math.Abs(first)), portableLog(math.Abs(last))
	values := make([]float64, count)
	for i := range values {
		t := float64(i) / float64(max(1, count-1))
		x := sign * math.Exp(float64(from*(1-t))+float64(to*t))
		values[i], _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	}
	if count > 0 {
		values[0], values[count-1] = first, last
	}
	return values, nil
}

// list reads a value of type wantList.
func (r arrayReader) list(n *source.Node) ([]float64, *Error) {
	if n.Kind == source.Table {
		lin, log := n.Child("linspace"), n.Child("logspace")
		switch {
		case lin != nil && log != nil:
			return nil, r.errorf(n, "%s has both linspace and logspace", label(n)).WithHint("keep one of them")
		case lin != nil:
			return r.linspace(lin)
		case log != nil:
			return r.logspace(log)
		}
		return nil, r.errorf(n, "%s does not say which values it has", label(n)).WithHint("for example { linspace = [0, 1, 11] }")
	}
	values := make([]float64, len(n.Items))
	for i, item := range n.Items {
		v, err := r.number(item, fmt.Sprintf("%s[%d]", n.Name, i))
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}
