package studies

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// sample reads [sweep.sample]: so many points, each name drawn from its law independently.
//
// A name's numbers depend on the seed, the name and its law alone, so that another name, or more
// points, changes none of them. The generator is that of fillRandom with the stream FNV-1a(name):
// u in (−1, 1) gives (a + b)/2 + u(b − a)/2 of a uniform law on (a, b), and its exponential for a
// uniform law of the logarithm; normal numbers are mean + deviation·n.
func (d *decoder) sample(section *node) error {
	points, seed := section.child("points").count(), uint64(1)
	if n := section.child("seed"); n != nil {
		seed = uint64(n.count())
	}
	if points == 0 {
		return d.errorf(section.child("points"), "the sweep is empty").hint("for example points = 100")
	}
	if points > maxPoints {
		return d.errorf(section.child("points"), "the sweep has more than %d points", maxPoints)
	}
	d.Sweep.Zip = true
	scalars := d.scalars()
	for _, n := range section.items {
		if n.name == "points" || n.name == "seed" {
			continue
		}
		if !slices.Contains(scalars, n.name) {
			return d.notScalar(n, scalars)
		}
		values, err := d.draw(n, int(points), seed)
		if err != nil {
			return err
		}
		d.Sweep.Axes = append(d.Sweep.Axes, Axis{n.name, values})
	}
	if len(d.Sweep.Axes) == 0 {
		return d.keyErrorf(section, "the sweep is empty").hint("for example q = { uniform = [0.1, 0.9] }")
	}
	return nil
}

func (d *decoder) draw(n *node, points int, seed uint64) ([]float64, error) {
	if len(n.items) != 1 {
		return nil, d.errorf(n, "%s wants one law", label(n)).hint("for example { uniform = [0, 1] }, { loguniform = [1e-3, 1] } or { normal = [0, 1] }")
	}
	law := n.items[0]
	a, err := d.number(law.items[0], label(law)+"[0]")
	if err != nil {
		return nil, err
	}
	b, err := d.number(law.items[1], label(law)+"[1]")
	if err != nil {
		return nil, err
	}
	name := fnv.New64a()
	name.Write([]byte(n.name))
	source := rand.NewPCG(seed, name.Sum64())
	values := make([]float64, points)
	switch law.name {
	case "normal":
		if b < 0 {
			return nil, d.errorf(law.items[1], "the standard deviation of %s is negative", label(law))
		}
		fillRandom(values, "normal", source)
		for i, x := range values {
			values[i] = a + float64(b*x)
		}
		return values, nil
	case "loguniform":
		if a <= 0 || b <= 0 {
			return nil, d.errorf(law, "%s wants positive ends", label(law))
		}
	}
	if a > b {
		return nil, d.errorf(law, "%s has its ends the wrong way round", label(law)).hint("the smaller end comes first")
	}
	fillRandom(values, "uniform", source)
	for i, u := range values {
		t := (u + 1) / 2
		if law.name == "loguniform" {
			values[i] = math.Pow(a, 1-t) * math.Pow(b, t)
		} else {
			values[i] = float64(a*(1-t)) + float64(b*t)
		}
		values[i] = min(max(values[i], a), b)
	}
	return values, nil
}
