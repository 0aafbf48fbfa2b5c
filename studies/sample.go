package studies

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lensir/lensir-study/studies/source"
)

// sample reads [sweep.sample]: so many points, each name drawn from its law independently.
//
// A name's numbers depend on the seed, the name and its law alone, so that another name, or more
// points, changes none of them. The generator is that of fillRandom with the stream FNV-1a(name):
// u in (−1, 1) gives (a + b)/2 + u(b − a)/2 of a uniform law on (a, b), and its exponential for a
// uniform law of the logarithm; normal numbers are mean + deviation·n.
func (d *decoder) sample(section *source.Node) error {
	points, seed := section.Child("points").Count(), uint64(1)
	if n := section.Child("seed"); n != nil {
		seed = uint64(n.Count())
	}
	if points == 0 {
		return d.errorf(section.Child("points"), "the sweep is empty").WithHint("for example points = 100")
	}
	if points > maxPoints {
		return d.errorf(section.Child("points"), "the sweep has more than %d points", maxPoints)
	}
	d.Sweep.Zip = true
	scalars := d.scalars()
	for _, n := range section.Items {
		if n.Name == "points" || n.Name == "seed" {
			continue
		}
		if !slices.Contains(scalars, n.Name) {
			return d.notScalar(n, scalars)
		}
		values, err := d.draw(n, int(points), seed)
		if err != nil {
			return err
		}
		d.Sweep.Axes = append(d.Sweep.Axes, Axis{n.Name, values})
	}
	if len(d.Sweep.Axes) == 0 {
		return d.keyErrorf(section, "the sweep is empty").WithHint("for example q = { uniform = [0.1, 0.9] }")
	}
	return nil
}

func (d *decoder) draw(n *source.Node, points int, seed uint64) ([]float64, error) {
	if len(n.Items) != 1 {
		return nil, d.errorf(n, "%s wants one law", label(n)).WithHint("for example { uniform = [0, 1] }, { loguniform = [1e-3, 1] } or { normal = [0, 1] }")
	}
	law := n.Items[0]
	a, err := d.number(law.Items[0], label(law)+"[0]")
	if err != nil {
		return nil, err
	}
	b, err := d.number(law.Items[1], label(law)+"[1]")
	if err != nil {
		return nil, err
	}
	name := fnv.New64a()
	name.Write([]byte(n.Name))
	source := rand.NewPCG(seed, name.Sum64())
	values := make([]float64, points)
	switch law.Name {
	case "normal":
		if b < 0 {
			return nil, d.errorf(law.Items[1], "the standard deviation of %s is negative", label(law))
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
		return nil, d.errorf(law, "%s has its ends the wrong way round", label(law)).WithHint("the smaller end comes first")
	}
	fillRandom(values, "uniform", source)
	for i, u := range values {
		t := (u + 1) / 2
		if law.Name == "loguniform" {
			values[i] = math.Pow(a, 1-t) * math.Pow(b, t)
		} else {
			values[i] = float64(a*(1-t)) + float64(b*t)
		}
		values[i] = min(max(values[i], a), b)
	}
	return values, nil
}
