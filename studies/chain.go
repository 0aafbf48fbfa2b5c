package studies

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"

	"github.com/lensir/lensir-study/studies/source"
)

// The checkpoint schedules of a study.
const (
	StoreAll    = "store-all"
	Uniform     = "uniform"
	UniformTape = "uniform-tape"
	Binomial    = "binomial"
	Revolve     = "revolve"
	Online      = "online"
	TwoTier     = "two-tier"
)

var methodNames = []string{StoreAll, Uniform, UniformTape, Binomial, Revolve, Online, TwoTier}

// chainColumns are the columns of a chain's table beside the objective and its derivatives.
var chainColumns = []string{"T", "ended", "value_error_estimate", "gradient_error_estimate", "adjoint_tangent_gap", "gap_tolerance", "certificate", "declared",
	"hessian_error_estimate", "hessian_gradient_gap"}

// chain reads the objective of a chain, its controls and its length.
func (d *decoder) chain() error {
	d.Chain = &ChainSettings{Steps: d.formula(d.tree.Child("chain", "steps"))}
	if n := d.tree.Child("chain", "until"); n != nil {
		d.Chain.Until = d.formula(n)
	}
	objectives := d.entries("objective")
	for i, n := range objectives {
		if i > 0 {
			return d.keyErrorf(n, "a chain has one objective, and this one has %q too", objectives[0].Name).
				WithHint("each objective is a sweep of its own: write a study for each, or add them up")
		}
		if slices.Contains(chainColumns, n.Name) {
			return d.keyErrorf(n, "the name %q is taken: the table of a chain has a column of that name", n.Name).WithHint("choose another name")
		}
		objective := Definition{n.Name, Formula{Text: "0", Key: "objective." + n.Name, Place: d.keyPlace(n)}, d.keyPlace(n)}
		if n.Kind != source.Table {
			objective.Formula = d.formula(n)
		} else {
			terminal, running := n.Child("terminal"), n.Child("running")
			if terminal == nil && running == nil {
				return d.keyErrorf(n, "%s has no term", label(n)).WithHint("for example { terminal = \"x^2\", running = \"u[j]^2\" }")
			}
			if terminal != nil {
				objective.Formula = d.formula(terminal)
			}
			if running != nil {
				d.Chain.Running = d.formula(running)
			}
		}
		d.Objective = append(d.Objective, objective)
	}
	for _, n := range d.entries("controls") {
		c := Control{Name: n.Name, Shape: []int{}, Start: Formula{Text: "0", Key: "controls." + n.Name, Place: d.keyPlace(n)}, Place: d.keyPlace(n)}
		if start := n.Child("start"); start != nil {
			c.Start = d.formula(start)
		}
		if shape := n.Child("shape"); shape != nil {
			entry, err := d.zeros(shape)
			if err != nil {
				return err
			}
			c.Shape = entry.Shape
		}
		d.Chain.Controls = append(d.Chain.Controls, c)
	}
	for _, n := range d.entries("hessian") {
		a, err := d.array(n)
		if err != nil {
			return err
		}
		d.Chain.Hessian = append(d.Chain.Hessian, Quantity{n.Name, a, d.keyPlace(n)})
	}
	if n := d.tree.Child("hessian"); n != nil && len(n.Items) == 0 {
		return d.keyErrorf(n, "the section [hessian] is empty").WithHint("name a parameter, for example %s = 1", "a")
	}
	return nil
}

// schedule reads the section of that name.
func (d *decoder) schedule() error {
	s := &d.Chain.Schedule
	s.Methods, s.Slots, s.Budgets = []string{Revolve}, []int{20}, []int{}
	if n := d.tree.Child("schedule", "methods"); n != nil {
		s.Methods = nil
		for _, item := range n.Items {
			name, _ := item.Text()
			s.Methods = append(s.Methods, name)
			if name == Online && d.Chain.Until.Text == "" {
				return d.errorf(item, "%q is for a chain whose end is a condition", name).WithHint("add until = \"…\" to [chain]; revolve is optimal where T is known")
			}
		}
	}
	for _, list := range []struct {
		name string
		dst  *[]int
	}{{"slots", &s.Slots}, {"budgets", &s.Budgets}} {
		n := d.tree.Child("schedule", list.name)
		if n == nil {
			continue
		}
		values, err := d.counts(n)
		if err != nil {
			return err
		}
		*list.dst = values
	}
	n := d.tree.Child("schedule", "budgets")
	if n != nil {
		s.BudgetsPlace = d.src.At(n.At)
	}
	if n != nil && !slices.Contains(s.Methods, Binomial) {
		return d.keyErrorf(n, "only the method %q takes budgets", Binomial).WithHint("add it to the methods, or leave budgets out")
	}
	disk := d.tree.Child("schedule", "disk")
	switch wanted := slices.Contains(s.Methods, TwoTier); {
	case wanted && disk == nil:
		return d.errorf(d.tree.Child("schedule", "methods"), "the method %q needs to know the disk", TwoTier).
			WithHint("for example disk = %s", rules.at("schedule", "disk").example)
	case !wanted && disk != nil:
		return d.keyErrorf(disk, "only the method %q takes disk slots", TwoTier).WithHint("add it to the methods, or leave disk out")
	case wanted:
		slots, err := d.counts(disk.Child("slots"))
		if err != nil {
			return err
		}
		s.Disk = &Disk{slots[0], disk.Child("write").Number(), disk.Child("read").Number()}
	}
	s.Repetitions = int(d.setting("schedule", "repetitions").(float64))
	if n := d.tree.Child("schedule", "repetitions"); s.Repetitions > maxRepetitions {
		return d.errorf(n, "%s is at most %d, found %d", label(n), maxRepetitions, s.Repetitions)
	}
	if n := d.tree.Child("schedule", "memory"); n != nil {
		for _, other := range []string{"methods", "slots", "budgets"} {
			if o := d.tree.Child("schedule", other); o != nil {
				return d.keyErrorf(o, "memory chooses the schedule, and this section has %s too", other).WithHint("keep one of them")
			}
		}
		text, _ := n.Text()
		s.Memory, _ = parseSize(text)
		s.MemoryPlace = d.src.At(n.At)
		s.Methods = nil
	}
	return nil
}

// maxRepetitions bounds the timed runs of a schedule.
const maxRepetitions = 1000

// counts reads a whole number above 0, or a list of different ones.
func (d *decoder) counts(n *source.Node) ([]int, *Error) {
	items := n.Items
	if n.Kind != source.List {
		items = []*source.Node{n}
	}
	if len(items) == 0 {
		return nil, d.errorf(n, "%s is empty", label(n))
	}
	var list []int
	for _, item := range items {
		k := int(item.Count())
		switch {
		case k < 1 || k > MaxSteps:
			return nil, d.errorf(item, "%s is from 1 to %d, found %d", label(n), MaxSteps, k)
		case slices.Contains(list, k):
			return nil, d.errorf(item, "%s has %d twice", label(n), k)
		}
		list = append(list, k)
	}
	return list, nil
}

// canonical describes the settings for the identity of a point.
func (c *ChainSettings) canonical() any {
	controls := [][3]any{}
	for _, u := range c.Controls {
		controls = append(controls, [3]any{u.Name, u.Shape, u.Start.Text})
	}
	hessian := [][3]any{}
	for _, v := range c.Hessian {
		sum := v.Value.digest()
		hessian = append(hessian, [3]any{v.Name, v.Value.Shape, hex.EncodeToString(sum[:])})
	}
	return struct {
		Steps    string   `json:"steps"`
		Until    string   `json:"until"`
		Running  string   `json:"running"`
		Controls [][3]any `json:"controls"`
		Schedule Schedule `json:"schedule"`
		Hessian  [][3]any `json:"hessian"`
	}{c.Steps.Text, c.Until.Text, c.Running.Text, controls, c.Schedule, hessian}
}

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$`)

var sizeUnits = map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// parseSize reads a number of bytes with its unit.
func parseSize(text string) (int64, bool) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	bytes := x * sizeUnits[m[2]]
	return int64(bytes), err == nil && bytes >= 1 && bytes < 1<<62
}
