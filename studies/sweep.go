package studies

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lensir/lensir-study/results"
	"github.com/lensir/lensir-study/studies/source"
)

// Sweep is the values that scalar constants and parameters take in turn. Without a section it has
// no axis and one point.
type Sweep struct {
	Axes []Axis
	Zip  bool // the axes go together; otherwise all combinations, the last axis fastest
}

// Axis is one name of a sweep with its values.
type Axis struct {
	Name   string
	Values []float64
}

// Extent says, for a reader, from where to where the values go, or between which they lie if they come in no order.
func (a Axis) Extent() string {
	first, last := a.Values[0], a.Values[len(a.Values)-1]
	if slices.IsSorted(a.Values) || slices.IsSortedFunc(a.Values, func(x, y float64) int { return cmp.Compare(y, x) }) {
		return fmt.Sprintf("from %.6g to %.6g", first, last)
	}
	return fmt.Sprintf("between %.6g and %.6g", slices.Min(a.Values), slices.Max(a.Values))
}

// maxPoints bounds a sweep.
const maxPoints = 10_000_000

// Len returns the number of points.
func (s Sweep) Len() int {
	n := 1
	for _, a := range s.Axes {
		if s.Zip {
			return len(a.Values)
		}
		n *= len(a.Values)
	}
	return n
}

// values returns the i-th combination, a value for each axis.
func (s Sweep) values(i int) []float64 {
	v := make([]float64, len(s.Axes))
	for k := len(s.Axes) - 1; k >= 0; k-- {
		if s.Zip {
			v[k] = s.Axes[k].Values[i]
			continue
		}
		n := len(s.Axes[k].Values)
		v[k] = s.Axes[k].Values[i%n]
		i /= n
	}
	return v
}

// sweep reads [sweep.grid], [sweep.zip] or [sweep.sample].
func (d *decoder) sweep() error {
	d.digests = map[string]string{}
	for _, list := range [][]Quantity{d.Constants, d.Parameters, d.Data} {
		for _, q := range list {
			if !q.Value.IsScalar() {
				sum := q.Value.digest()
				d.digests[q.Name] = hex.EncodeToString(sum[:])
			}
		}
	}
	var section *source.Node
	for _, form := range []string{"grid", "zip", "sample"} {
		n := d.tree.Child("sweep", form)
		if n == nil {
			continue
		}
		if section != nil {
			return d.keyErrorf(n, "a study has one sweep, and this one has %s too", label(section)).WithHint("keep one of them")
		}
		section = n
	}
	if section != nil && section.Name == "sample" {
		return d.sample(section)
	}
	d.Sweep.Zip = section != nil && section.Name == "zip"
	if section == nil {
		if n := d.tree.Child("sweep"); n != nil {
			return d.keyErrorf(n, "the sweep is empty").WithHint("for example\n[sweep.grid]\nq = [0.1, 0.5, 0.9]")
		}
		return nil
	}
	if len(section.Items) == 0 {
		return d.keyErrorf(section, "the sweep is empty").WithHint("for example q = [0.1, 0.5, 0.9]")
	}
	scalars := d.scalars()
	for _, n := range section.Items {
		if !slices.Contains(scalars, n.Name) {
			return d.notScalar(n, scalars)
		}
		values, err := d.list(n)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			return d.errorf(n, "%s is an empty sweep", label(n)).WithHint("give it a value, or leave it out")
		}
		if first := d.Sweep.Axes; d.Sweep.Zip && len(first) > 0 && len(first[0].Values) != len(values) {
			return d.errorf(n, "%s has length %d where %s has length %d", label(n), len(values), first[0].Name, len(first[0].Values)).
				WithHint("the lists of [sweep.zip] have one length; [sweep.grid] takes all combinations")
		}
		if i, first := repeated(values); !d.Sweep.Zip && i > 0 {
			return d.errorf(n, "%s has the value %v twice, as [%d] and [%d]", label(n), values[i], first, i).WithHint("each point of a sweep is computed once")
		}
		if !d.Sweep.Zip && d.Sweep.Len() > maxPoints/len(values) {
			return d.errorf(n, "the sweep has more than %d points", maxPoints)
		}
		d.Sweep.Axes = append(d.Sweep.Axes, Axis{n.Name, values})
	}
	if d.Sweep.Zip {
		points := make([]string, d.Sweep.Len())
		for i := range points {
			points[i] = fmt.Sprint(d.Sweep.values(i))
		}
		if i, first := repeated(points); i > 0 {
			return d.keyErrorf(section, "[sweep.zip] has the same values twice, as [%d] and [%d]: %s", first, i, points[i]).
				WithHint("each point of a sweep is computed once")
		}
	}
	return nil
}

// repeated returns the index of the first value that stood in the list before, and where it stood; or 0, 0.
func repeated[T comparable](list []T) (again, first int) {
	seen := make(map[T]int, len(list))
	for i, v := range list {
		if first, ok := seen[v]; ok {
			return i, first
		}
		seen[v] = i
	}
	return 0, 0
}

// scalars are the names that can be swept.
func (d *decoder) scalars() (names []string) {
	for _, list := range [][]Quantity{d.Constants, d.Parameters} {
		for _, q := range list {
			if q.Value.IsScalar() {
				names = append(names, q.Name)
			}
		}
	}
	return names
}

func (d *decoder) notScalar(n *source.Node, scalars []string) *Error {
	if place, known := d.names.places[n.Name]; known {
		return d.keyErrorf(n, "%q cannot be swept: it is not a scalar constant or parameter", n.Name).
			WithHint("it stands on line %d", place.Line())
	}
	e := d.keyErrorf(n, "a sweep over the unknown name %q", n.Name)
	if near := source.Nearest(n.Name, scalars); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e.WithHint("scalar constants and parameters are: %s", strings.Join(scalars, ", "))
}

// Point is one resolved combination of a sweep.
type Point struct {
	Study      *Study
	Swept      []float64  // a value for each axis of the sweep
	Constants  []Quantity // with the swept values in place
	Parameters []Quantity
}

// Point returns the i-th point, 0 ≤ i < s.Sweep.Len(), in the order of the sweep. Arrays are shared
// between points and must not be changed.
func (s *Study) Point(i int) Point {
	p := Point{Study: s, Swept: s.Sweep.values(i), Constants: s.Constants, Parameters: s.Parameters}
	if len(p.Swept) == 0 {
		return p
	}
	p.Constants, p.Parameters = slices.Clone(s.Constants), slices.Clone(s.Parameters)
	for _, list := range [][]Quantity{p.Constants, p.Parameters} {
		for k := range list {
			if axis := slices.IndexFunc(s.Sweep.Axes, func(a Axis) bool { return a.Name == list[k].Name }); axis >= 0 {
				list[k].Value = Scalar(p.Swept[axis])
			}
		}
	}
	return p
}

// canonical is the description of a point that its identity is taken from: all that a result
// depends on, and nothing else. Title, expectation, comments and the position in a sweep are left out.
// Between its parts stand the values of the constants and of the parameters; the rest is the study's.
type (
	canonicalHead struct {
		Format int    `json:"format"`
		Seed   uint64 `json:"seed"`
		Kind   Kind   `json:"kind"`
	}
	canonicalData struct {
		Data [][2]any `json:"data"`
	}
	canonicalRest struct {
		Define    [][2]any   `json:"define"`
		State     [][2]any   `json:"state"`
		Branches  [][2]any   `json:"branches"`
		Equations [][2]any   `json:"equations"`
		Objective [][2]any   `json:"objective"`
		Domain    *Domain    `json:"domain"`
		Bounds    *[3]string `json:"bounds"` // null: none; empty: estimated
		Steps     []int      `json:"steps"`
		Implicit  Implicit   `json:"implicit"`
		Chain     any        `json:"chain,omitempty"`
		Program   any        `json:"program,omitempty"`
		Responses [][2]any   `json:"responses,omitempty"`
	}
)

// canonicalParts is the canonical JSON of a study's points but for the values.
type canonicalParts struct {
	study              *Study
	head, middle, rest string
}

func (s *Study) canonicalParts(format int, seed uint64) canonicalParts {
	rest := canonicalRest{
		Define: texts(s.Define), State: [][2]any{}, Branches: [][2]any{}, Equations: texts(s.Equations), Objective: texts(s.Objective),
		Domain: s.Domain, Steps: s.Steps, Implicit: s.Implicit,
	}
	for _, b := range s.State {
		rest.State = append(rest.State, [2]any{b.Name, b.Start.Text})
	}
	for _, b := range s.Branches {
		starts := []string{}
		for _, f := range b.Starts {
			starts = append(starts, f.Text)
		}
		rest.Branches = append(rest.Branches, [2]any{b.Name, starts})
	}
	if s.Chain != nil {
		rest.Chain = s.Chain.canonical()
	}
	for _, r := range s.Responses {
		rest.Responses = append(rest.Responses, [2]any{r.Name, texts(r.Cotangents)})
	}
	if s.Program != nil {
		rest.Program = s.Program.canonical()
	}
	if b := s.Bounds; b != nil {
		rest.Bounds = &[3]string{b.Q.Text, b.LZ.Text, b.LTheta.Text}
	}
	data := [][2]any{}
	for _, q := range s.Data {
		data = append(data, [2]any{q.Name, json.RawMessage(s.appendValue(nil, q))})
	}
	inside := func(v any) string { // the braces of an object
		text := encode(v)
		return string(text[1 : len(text)-1])
	}
	return canonicalParts{
		study:  s,
		head:   "{" + inside(canonicalHead{format, seed, s.Kind}) + `,"constants":[`,
		middle: "]," + inside(canonicalData{data}) + `,"parameters":[`,
		rest:   "]," + inside(rest) + "}",
	}
}

// append appends the canonical JSON of a point.
func (c *canonicalParts) append(b []byte, p Point) []byte {
	list := func(quantities []Quantity) {
		for i, q := range quantities {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, `["`...), q.Name...) // a letter, then letters and digits
			b = append(c.study.appendValue(append(b, `",`...), q), ']')
		}
	}
	b = append(b, c.head...)
	list(p.Constants)
	b = append(b, c.middle...)
	list(p.Parameters)
	return append(b, c.rest...)
}

// Canonical returns the canonical JSON of a point: kind, formulas, values, settings, the seed of the
// checks and the record format; of arrays and data the shape and the SHA-256 of the contents. Equal bytes mean an equal
// computation.
func (p Point) Canonical(format int, seed uint64) []byte {
	parts := p.Study.canonicalParts(format, seed)
	return parts.append(nil, p)
}

// ID returns the identity of a point: 12 hex digits of the SHA-256 of its canonical JSON.
func (p Point) ID(format int, seed uint64) string {
	return p.Study.Identities(format, seed)(p)
}

// Identities returns the function that gives the identity of each point of the study, for one goroutine. All that
// the points share is written once.
func (s *Study) Identities(format int, seed uint64) func(Point) string {
	parts := s.canonicalParts(format, seed)
	var b []byte
	return func(p Point) string {
		b = parts.append(b[:0], p)
		return results.Digest(b)
	}
}

// appendValue writes a scalar by value, and an array by shape and digest.
func (s *Study) appendValue(b []byte, q Quantity) []byte {
	if q.Value.IsScalar() {
		return strconv.AppendFloat(b, q.Value.Data[0], 'g', -1, 64)
	}
	return append(b, encode(map[string]any{"shape": q.Value.Shape, "sha256": s.digests[q.Name]})...)
}

// encode is JSON without escapes for HTML.
func encode(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // nothing in a Study is beyond JSON
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func texts(list []Definition) [][2]any {
	out := [][2]any{}
	for _, d := range list {
		out = append(out, [2]any{d.Name, d.Formula.Text})
	}
	return out
}
