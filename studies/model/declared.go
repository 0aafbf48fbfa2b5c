package model

import (
	"fmt"
	"slices"

	"github.com/lensir/lensir-study/graph"
	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/graph/op"
	"github.com/lensir/lensir-study/studies"
)

// parseResponse parses the formulas of a definition's response.
func (m *Model) parseResponse(d *namedFormula) error {
	for _, r := range m.Study.Responses {
		if r.Name != d.Name {
			continue
		}
		for _, c := range r.Cotangents {
			parsed, err := parse(c.Formula)
			if err != nil {
				return err
			}
			d.cotangents = append(d.cotangents, parsed)
		}
	}
	return nil
}

// define lowers a definition.
func (l *lowering) define(d *namedFormula) (graph.Value, error) {
	for _, r := range l.Study.Responses {
		if r.Name == d.Name {
			return l.declare(d, r)
		}
	}
	return l.lowerParsed(d.Formula, d.parsed, false)
}

// declare lowers a definition with a response to one operation of what the two read.
func (l *lowering) declare(d *namedFormula, r studies.DeclaredResponse) (graph.Value, error) {
	if err := l.resolve(d.Formula, d.parsed.FreeNames()); err != nil {
		return graph.None, err
	}
	var names []string
	read := func(parsed *formula.Formula) {
		for _, n := range parsed.FreeNames() {
			if n.Name != studies.SeedName && !slices.Contains(names, n.Name) {
				names = append(names, n.Name)
			}
		}
	}
	read(d.parsed)
	operands := len(names)
	for i, c := range r.Cotangents {
		if !slices.Contains(names[:operands], c.Name) {
			return graph.None, c.Place.Errorf(c.Formula.Key, "%s does not read %q, which has a cotangent here", d.Name, c.Name)
		}
		others := slices.DeleteFunc(d.cotangents[i].FreeNames(), func(n formula.Name) bool { return n.Name == studies.SeedName })
		if err := l.resolve(c.Formula, others); err != nil {
			return graph.None, err
		}
		read(d.cotangents[i])
	}
	value, response := graph.NewBuilder(d.Name), graph.NewBuilder(d.Name+"_response")
	valueScope, responseScope := formula.Scope{}, formula.Scope{}
	args := make([]graph.Value, len(names))
	for i, name := range names {
		args[i] = l.scope[name]
		t := l.b.Type(args[i])
		valueScope[name], responseScope[name] = value.Input(name, t), response.Input(name, t)
	}
	value.SetOrigin(origin(d.Formula))
	y, err := d.parsed.Lower(value, valueScope)
	if err != nil {
		return graph.None, locate(d.Formula, err)
	}
	t := value.Type(y)
	if t.DType != graph.Float64 {
		return graph.None, whole(d.Formula, "c ? 1 : 0 makes a number of a condition", "the formula is %v, want float64", t)
	}
	responseScope[studies.SeedName] = response.LinearInput(studies.SeedName, t)
	outputs := make([]graph.Value, len(names))
	for i, name := range names {
		want := l.b.Type(args[i]).Tangent()
		k := slices.IndexFunc(r.Cotangents, func(c studies.Definition) bool { return c.Name == name })
		if k < 0 {
			outputs[i] = response.Zeros(want)
			continue
		}
		f := r.Cotangents[k].Formula
		response.SetOrigin(origin(f))
		ct, err := d.cotangents[k].Lower(response, responseScope)
		if err != nil {
			return graph.None, locate(f, err)
		}
		if response.Type(ct).Equal(graph.Scalar) && want.DType == graph.Float64 {
			ct = op.BroadcastTo(response, ct, want.Shape)
		}
		if have := response.Type(ct); !have.Equal(want) {
			return graph.None, whole(f, "", "the cotangent of %s is %v, want %v as %s is", name, have, want, name)
		}
		outputs[i] = ct
	}
	o, err := graph.Declare(d.Name, value.Build(y), response.Build(outputs...))
	if err != nil {
		return graph.None, whole(responseFormula(d, r), "every term holds seed once, as a factor", "%s", err)
	}
	l.b.SetOrigin(origin(d.Formula))
	v, err := l.b.Try(o, nil, args...)
	if err != nil {
		return graph.None, fmt.Errorf("%s: %w", d.Name, err)
	}
	return v, nil
}

// responseFormula is the formula that an error about the whole response points at.
func responseFormula(d *namedFormula, r studies.DeclaredResponse) studies.Formula {
	if len(r.Cotangents) > 0 {
		return r.Cotangents[0].Formula
	}
	return d.Formula
}
