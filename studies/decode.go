package studies

import (
	"math"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/studies/source"
)

// read loads, parses and decodes a study.
func read(f files, path string) (*Study, error) {
	src, e := f.text(path)
	if e != nil {
		return nil, e
	}
	tree, err := source.Parse(src)
	if err != nil {
		return nil, err
	}
	return decode(f, path, src, tree)
}

// decoder fills a Study from a tree that the schema has passed.
type decoder struct {
	arrayReader
	*Study
	names nameSpace
}

// decode checks a tree against the schema and makes a Study of it.
func decode(f files, path string, src *source.File, tree *source.Node) (*Study, error) {
	c := checker{src: src}
	kind := rules.keys["kind"]
	switch text, _ := tree.Child("kind").Text(); {
	case tree.Child("kind") == nil:
		for _, n := range tree.Items {
			if strings.EqualFold(n.Name, "kind") {
				c.unknown(tree, n, rules)
				return nil, c.Err()
			}
		}
		c.missing(tree, "kind", kind)
	case !slices.Contains(kind.choices, text):
		c.value(tree.Child("kind"), kind)
	default:
		c.kind = Kind(text)
		c.check(tree, rules)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	d := decoder{
		arrayReader: arrayReader{src},
		Study:       &Study{File: f.display(path), Text: src.Text, Kind: c.kind, files: f, path: path, tree: tree},
		names:       nameSpace{places: map[string]Place{}},
	}
	for _, stage := range []func() error{d.declare, d.values, d.formulas, d.settings, d.sweep} {
		if err := stage(); err != nil {
			return nil, err
		}
	}
	return d.Study, nil
}

// entries returns the keys of a section in the order of the file.
func (d *decoder) entries(section ...string) []*source.Node {
	if n := d.tree.Child(section...); n != nil {
		return n.Items
	}
	return nil
}

func (d *decoder) keyPlace(n *source.Node) Place { return d.src.At(n.KeyAt) }

func (d *decoder) keyErrorf(n *source.Node, format string, args ...any) *Error {
	return d.keyPlace(n).Errorf(strings.Join(n.Path(), "."), format, args...)
}

// declare enters every name into the one space.
func (d *decoder) declare() error {
	var names []*source.Node
	for _, section := range []string{"constants", "parameters", "data", "define", "state", "controls", "branches", "objective"} {
		names = append(names, d.entries(section)...)
	}
	names = append(names, d.entries("program", "outputs")...)
	names = append(names, d.entries("program", "directions")...)
	for _, n := range d.entries("root") {
		if d.tree.Child("state", n.Name) == nil { // an equation may share the name of a block
			names = append(names, n)
		}
	}
	slices.SortStableFunc(names, func(a, b *source.Node) int { return a.KeyAt.Start - b.KeyAt.Start })
	for _, n := range names {
		if !d.names.Full() {
			d.names.declare(d.src, n)
		}
	}
	return d.names.Err()
}

// values makes and loads the numbers.
func (d *decoder) values() error {
	var errs source.ErrorList
	collect := func(section string, read func(*source.Node) (Array, *Error)) (list []Quantity) {
		for _, n := range d.entries(section) {
			if errs.Full() {
				break
			}
			a, err := read(n)
			if err != nil {
				errs.Add(err)
			}
			list = append(list, Quantity{n.Name, a, d.keyPlace(n)})
		}
		return list
	}
	d.Constants = collect("constants", d.array)
	d.Parameters = collect("parameters", d.array)
	d.Data = collect("data", func(n *source.Node) (Array, *Error) { return d.data(d.files, d.path, n) })
	return errs.Err()
}

// formula returns a value of type wantFormula.
func (d *decoder) formula(n *source.Node) Formula {
	text, quoted := n.Text()
	if !quoted {
		text = numberText(d.src, n)
	}
	return Formula{Text: text, Key: strings.Join(n.Path(), "."), Place: d.src.At(n.At)}
}

func (d *decoder) definitions(section ...string) (list []Definition) {
	for _, n := range d.entries(section...) {
		value := n
		if n.Kind == source.Table {
			value = n.Child("value")
		}
		list = append(list, Definition{n.Name, d.formula(value), d.keyPlace(n)})
	}
	return list
}

// formulas reads state, branches, equations and objectives.
func (d *decoder) formulas() error {
	d.Title, _ = d.tree.Child("title").Text()
	d.Define = d.definitions("define")
	if err := d.responses(); err != nil {
		return err
	}
	if d.Kind == Chain {
		if err := d.chain(); err != nil {
			return err
		}
	} else {
		d.Objective = d.definitions("objective")
	}
	var blocks []string
	for _, n := range d.entries("state") {
		d.State = append(d.State, Block{n.Name, d.formula(n.Child("start")), d.keyPlace(n)})
		blocks = append(blocks, n.Name)
	}
	var errs source.ErrorList
	isBlock := func(n *source.Node) {
		if !errs.Full() && !slices.Contains(blocks, n.Name) {
			errs.Add(d.keyErrorf(n, "[state] has no block %q", n.Name).WithHint("its blocks are %s", strings.Join(blocks, ", ")))
		}
	}
	for _, n := range d.entries("branches") {
		b := Branch{Name: n.Name, Place: d.keyPlace(n)}
		if len(n.Items) == 0 && !errs.Full() {
			errs.Add(d.keyErrorf(n, "[branches] %s starts nowhere", n.Name).WithHint("for example %s = { %s = \"1\" }", n.Name, blocks[0]))
		}
		for _, start := range n.Items {
			isBlock(start)
		}
		for _, block := range d.State {
			start := block.Start
			if own := n.Child(block.Name); own != nil {
				start = d.formula(own)
			}
			b.Starts = append(b.Starts, start)
		}
		d.Branches = append(d.Branches, b)
	}
	switch d.Kind {
	case Root:
		d.Equations = d.definitions("root")
	case FixedPoint, Chain:
		section := "fixed-point"
		if d.Kind == Chain {
			section = "next"
		}
		for _, n := range d.entries(section) {
			isBlock(n)
		}
		for _, block := range d.State {
			n := d.tree.Child(section, block.Name)
			if n == nil && errs.Full() {
				break
			}
			if n == nil {
				errs.Add(d.keyErrorf(d.tree.Child("state", block.Name), "the block %q has no formula in [%s]", block.Name, section).
					WithHint("add %s = \"…\" there", block.Name))
				continue
			}
			d.Equations = append(d.Equations, Definition{n.Name, d.formula(n), d.keyPlace(n)})
		}
	}
	for _, section := range []string{"state", "root", "objective"} {
		if n := d.tree.Child(section); n != nil && len(n.Items) == 0 {
			errs.Add(d.keyErrorf(n, "the section [%s] is empty", section))
		}
	}
	return errs.Err()
}

// setting returns the value at a path, or its default from the schema.
func (d *decoder) setting(path ...string) any {
	if n := d.tree.Child(path...); n != nil {
		if isNumber(n) {
			return n.Number()
		}
		return n.Value
	}
	text := rules.at(path...).byDefault
	if strings.HasPrefix(text, `"`) {
		return strings.Trim(text, `"`)
	}
	v, err := parseDecimal(text)
	if err != nil {
		panic("schema: " + strings.Join(path, ".") + " has no default")
	}
	return v
}

// settings reads what is neither number nor formula, with defaults.
func (d *decoder) settings() error {
	if s, ok := d.tree.Child("expect", "status").Text(); ok {
		d.Expect = graph.Status(s)
	}
	if d.Kind == Chain {
		return d.schedule()
	}
	if d.Kind == Program {
		return d.program()
	}
	d.Implicit = Implicit{
		Tolerance:     d.setting("implicit", "tolerance").(float64),
		MaxIterations: int(d.setting("implicit", "max_iterations").(float64)),
		Solver:        d.setting("implicit", "solver").(string),
	}
	if n := d.tree.Child("implicit", "max_iterations"); n != nil && (n.Count() < 1 || n.Count() > 1_000_000) {
		return d.errorf(n, "%s is from 1 to 1000000, found %d", label(n), n.Count())
	}
	for _, stage := range []func() *Error{d.domain, d.bounds, d.steps} {
		if err := stage(); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) domain() *Error {
	ball := d.tree.Child("domain", "ball")
	if ball == nil {
		return nil
	}
	d.Domain = &Domain{Radius: ball.Child("radius").Number(), Norm: d.setting("domain", "ball", "norm").(string)}
	weights := ball.Child("weights")
	switch weighted := d.Domain.Norm == "weighted-inf"; {
	case weighted && weights == nil:
		return d.keyErrorf(ball, "the norm weighted-inf needs weights").WithHint("for example weights = [1, 0.5]")
	case !weighted && weights != nil:
		return d.keyErrorf(weights, "the norm %q takes no weights", d.Domain.Norm).WithHint(`they go with norm = "weighted-inf"`)
	case !weighted:
		return nil
	}
	w, err := d.array(weights)
	if err != nil {
		return err
	}
	if len(w.Shape) != 1 || slices.ContainsFunc(w.Data, func(v float64) bool { return v <= 0 }) {
		return d.errorf(weights, "%s wants a vector of positive numbers", label(weights))
	}
	d.Domain.Weights = w.Data
	return nil
}

func (d *decoder) bounds() *Error {
	section := d.tree.Child("bounds")
	if section == nil {
		return nil
	}
	mode, _ := section.Child("constants").Text()
	d.Bounds = &Bounds{Declared: mode == "declare"}
	for _, f := range []struct {
		name string
		dst  *Formula
	}{{"q", &d.Bounds.Q}, {"L_z", &d.Bounds.LZ}, {"L_theta", &d.Bounds.LTheta}} {
		n := section.Child(f.name)
		switch {
		case d.Bounds.Declared && n == nil:
			return d.keyErrorf(section, "[bounds] declares its constants and has no %q", f.name).
				WithHint(`q, L_z and L_theta are declared together; constants = "estimate" samples them`)
		case !d.Bounds.Declared && n != nil:
			return d.keyErrorf(n, "[bounds] estimates its constants and has a formula for %s", f.name).
				WithHint(`constants = "declare" takes it`)
		case n != nil:
			*f.dst = d.formula(n)
		}
	}
	if !d.Bounds.Declared && d.Domain == nil {
		return d.keyErrorf(section, "[bounds] estimates its constants over D, and there is no [domain]").
			WithHint("for example\n[domain]\nball = %s", rules.at("domain", "ball").example)
	}
	return nil
}

// MaxSteps bounds K.
const MaxSteps = 10_000_000

func (d *decoder) steps() *Error {
	n := d.tree.Child("iterate", "steps")
	if n == nil {
		return nil
	}
	values, err := d.list(n)
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return d.errorf(n, "%s is empty", label(n)).WithHint("for example %s", rules.at("iterate", "steps").example)
	}
	for i, v := range values {
		place := n
		if n.Kind == source.List {
			place = n.Items[i]
		}
		switch {
		case v != math.Trunc(v) || v < 0 || v > MaxSteps:
			return d.errorf(place, "steps[%d] is %v; K is a whole number from 0 to %d", i, v, MaxSteps)
		case i > 0 && v <= values[i-1]:
			return d.errorf(place, "steps[%d] is %v after %v; the values of K ascend", i, v, values[i-1])
		}
		d.Steps = append(d.Steps, int(v))
	}
	return nil
}
