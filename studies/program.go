package studies

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph/module"
	"github.com/lensir/lensir-study/studies/source"
)

// ProgramSettings are what a study of kind program states: a program, and what is wanted of it.
type ProgramSettings struct {
	Module     *module.Module // nil: the program is Outputs
	Dimensions module.Valuation
	Outputs    []Definition
	Results    []string    // in the order of the file
	Seeds      []Seed      // of outputs, by name
	Directions []Direction // of the parameters
	Jet        []string    // the directions v₁ … v_n, by name
	Order      int         // of Taylor arithmetic

	ModulePath   Formula // the path, as it was written
	ResultsPlace Place   // of Results
}

// Seed is the cotangent of an output: an array, or a formula that may depend on the inputs.
type Seed struct {
	Output  string
	Value   Array
	Formula Formula // without text: Value
	Place   Place
}

// Direction is a tangent of the parameters; those that it does not name stand still.
type Direction struct {
	Name     string
	Tangents []Quantity
	Place    Place
}

// transformations are what can be wanted of a program.
var transformations = []string{"value", "jvp", "vjp", "gradient", "jacobian", "hvp", "jet", "taylor", "residuals", "cost"}

// Every direction of a jet doubles its program; Taylor coefficients take O(n²) operations.
const maxJet, maxTaylor = 8, 100

// program reads [program].
func (d *decoder) program() error {
	section := d.tree.Child("program")
	p := &ProgramSettings{Dimensions: module.Valuation{}, Outputs: d.definitions("program", "outputs"), Order: int(d.setting("program", "order").(float64))}
	d.Program = p
	path := section.Child("module")
	switch outputs := section.Child("outputs"); {
	case path == nil && outputs == nil:
		return d.keyErrorf(section, "[program] has neither a module nor outputs").
			WithHint("for example module = %s, or\n[program.outputs]\ny = \"sin(x) * x\"", rules.at("program", "module").example)
	case path != nil && outputs != nil:
		return d.keyErrorf(outputs, "[program] has both a module and outputs").WithHint("a module has outputs of its own")
	case outputs != nil && len(outputs.Items) == 0:
		return d.keyErrorf(outputs, "the section [program.outputs] is empty").WithHint("for example y = \"sin(x) * x\"")
	}
	if n := section.Child("order"); n != nil && n.Count() > maxTaylor {
		return d.errorf(n, "%s is at most %d, found %d", label(n), maxTaylor, n.Count())
	}
	if path != nil {
		if err := d.module(path); err != nil {
			return err
		}
	}
	for _, n := range d.entries("program", "dimensions") {
		size := n.Count()
		if size < 1 || size > MaxEntries {
			return d.errorf(n, "the dimension %s is from 1 to %d, found %d", n.Name, MaxEntries, size)
		}
		p.Dimensions[n.Name] = int(size)
	}
	if n := section.Child("dimensions"); n != nil && p.Module == nil {
		return d.keyErrorf(n, "dimensions are of a module").WithHint("formulas have the shapes of their inputs")
	}
	p.ResultsPlace = d.src.At(section.Child("results").At)
	for _, n := range section.Child("results").Items {
		p.Results = append(p.Results, n.Value.(string))
	}
	if err := d.seedsAndDirections(); err != nil {
		return err
	}
	return d.jet(section)
}

// module reads the file of a module.
func (d *decoder) module(n *source.Node) error {
	text, _ := n.Text()
	name, err := d.relative(d.path, n, text, "modules/tied_residual.json")
	if err != nil {
		return err
	}
	document, failed := d.files.load(name)
	if failed != nil { // show where the study names it
		return d.errorf(n, "%s: %s", failed.File, failed.Message)
	}
	m, bad := module.Read(document)
	if bad != nil {
		var syntax *module.SyntaxError
		if errors.As(bad, &syntax) {
			return d.errorf(n, "%s: %s", d.files.display(name), syntax)
		}
		return d.errorf(n, "%s: %s", d.files.display(name), bad)
	}
	d.Program.Module, d.Program.ModulePath = m, d.formula(n)
	return nil
}

// seedsAndDirections reads what the derivatives are taken with.
func (d *decoder) seedsAndDirections() error {
	p := d.Program
	for _, n := range d.entries("program", "seeds") {
		s := Seed{Output: n.Name, Place: d.keyPlace(n)}
		if _, isText := n.Text(); isText {
			s.Formula = d.formula(n)
		} else {
			var err *Error
			if s.Value, err = d.array(n); err != nil {
				return err
			}
		}
		p.Seeds = append(p.Seeds, s)
	}
	for _, n := range d.entries("program", "directions") {
		v := Direction{Name: n.Name, Place: d.keyPlace(n)}
		if len(n.Items) == 0 {
			return d.keyErrorf(n, "the direction %s moves nothing", n.Name).WithHint("for example %s = { x = 1 }", n.Name)
		}
		for _, t := range n.Items {
			i := slices.IndexFunc(d.Parameters, func(q Quantity) bool { return q.Name == t.Name })
			if i < 0 {
				e := d.keyErrorf(t, "the direction %s moves %q, which is no parameter", n.Name, t.Name)
				var names []string
				for _, q := range d.Parameters {
					names = append(names, q.Name)
				}
				if near := source.Nearest(t.Name, names); near != "" {
					return e.WithHint("did you mean %q?", near)
				}
				return e.WithHint("parameters are: %s", strings.Join(names, ", "))
			}
			a, err := d.array(t)
			if err != nil {
				return err
			}
			if want := d.Parameters[i].Value.Shape; !slices.Equal(a.Shape, want) {
				return d.errorf(t, "the direction of %s has shape %v, want %v as the parameter has", t.Name, a.Shape, want)
			}
			v.Tangents = append(v.Tangents, Quantity{t.Name, a, d.keyPlace(t)})
		}
		p.Directions = append(p.Directions, v)
	}
	return nil
}

// jet reads v₁ … v_n, and holds what is wanted against what is given.
func (d *decoder) jet(section *source.Node) error {
	p := d.Program
	var names []string
	for _, v := range p.Directions {
		names = append(names, v.Name)
	}
	if n := section.Child("jet"); n != nil {
		items := n.Items
		if n.Kind != source.List {
			items = []*source.Node{n}
		}
		for _, item := range items {
			name, _ := item.Text()
			if !slices.Contains(names, name) {
				e := d.errorf(item, "there is no direction %q", name)
				if near := source.Nearest(name, names); near != "" {
					return e.WithHint("did you mean %q?", near)
				}
				return e.WithHint("[program.directions] names them")
			}
			p.Jet = append(p.Jet, name)
		}
		if len(p.Jet) > maxJet {
			return d.errorf(n, "the jet has order %d; the most is %d", len(p.Jet), maxJet).WithHint("taylor goes further in one direction")
		}
	}
	for _, n := range section.Child("results").Items {
		switch what := n.Value.(string); {
		case slices.Contains([]string{"jvp", "hvp", "taylor"}, what) && len(names) == 0:
			return d.errorf(n, "%s wants a direction, and there is none", what).WithHint("for example\n[program.directions]\nv = { x = 1 }")
		case what == "jet" && len(p.Jet) == 0:
			return d.errorf(n, "jet wants directions, and there is no key jet").WithHint("for example jet = [\"v\", \"v\"] for the second derivative in the direction v")
		case len(d.Parameters) == 0 && !slices.Contains([]string{"value", "cost"}, what):
			return d.errorf(n, "%s wants something to differentiate by, and there is no parameter", what).WithHint("the inputs that stand in [parameters] are differentiated")
		}
	}
	return nil
}

// canonical is the part of a point's description that [program] makes.
func (p *ProgramSettings) canonical() any {
	c := struct {
		Module     string           `json:"module"` // SHA-256 of its canonical text
		Dimensions module.Valuation `json:"dimensions"`
		Outputs    [][2]any         `json:"outputs"`
		Results    []string         `json:"results"`
		Seeds      [][2]any         `json:"seeds"`
		Directions [][2]any         `json:"directions"`
		Jet        []string         `json:"jet"`
		Order      int              `json:"order"`
	}{Dimensions: p.Dimensions, Outputs: texts(p.Outputs), Results: p.Results, Seeds: [][2]any{}, Directions: [][2]any{}, Jet: p.Jet, Order: p.Order}
	if p.Module != nil {
		sum := sha256.Sum256(p.Module.Write())
		c.Module = hex.EncodeToString(sum[:])
	}
	for _, s := range p.Seeds {
		if s.Formula.Text != "" {
			c.Seeds = append(c.Seeds, [2]any{s.Output, s.Formula.Text})
		} else {
			c.Seeds = append(c.Seeds, [2]any{s.Output, s.Value.describe()})
		}
	}
	for _, v := range p.Directions {
		tangents := [][2]any{}
		for _, t := range v.Tangents {
			tangents = append(tangents, [2]any{t.Name, t.Value.describe()})
		}
		c.Directions = append(c.Directions, [2]any{v.Name, tangents})
	}
	return c
}

// describe names the contents of an array.
func (a Array) describe() any {
	sum := a.digest()
	return map[string]any{"shape": a.Shape, "sha256": hex.EncodeToString(sum[:])}
}
