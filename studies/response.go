package studies

import "github.com/lensir/lensir-study/studies/source"

// DeclaredResponse is how the cotangent of a definition goes back, whether or not that is its derivative's transpose.
type DeclaredResponse struct {
	Name       string
	Cotangents []Definition // of names that the definition reads; those of others are 0
}

// SeedName is the cotangent of the value in the formulas of a response.
const SeedName = "seed"

// responses reads the responses of definitions.
func (d *decoder) responses() error {
	for _, n := range d.entries("define") {
		if n.Kind != source.Table {
			continue
		}
		r := DeclaredResponse{Name: n.Name, Cotangents: d.definitions("define", n.Name, "response")}
		if place, taken := d.names.places[SeedName]; taken {
			return place.Errorf(SeedName, "the name %q is taken: the response of %s reads the cotangent of its value under it", SeedName, n.Name).WithHint("choose another name")
		}
		d.Responses = append(d.Responses, r)
	}
	return nil
}
