package studies

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/graph/formula"
	"github.com/lensir/lensir-study/studies/source"
)

// namePattern is what names look like.
var namePattern = regexp.MustCompile(`^[A-Za-zα-ωΑ-Ω_][A-Za-z0-9_α-ωΑ-Ω]*$`)

// columns are the fixed columns of the result tables. Only pi is predefined in formulas.
var columns = []string{"study", "point", "branch", "status", "reason", "method", "K", "j"}

// kept are words of the study file that a name would make hard to read.
var kept = []string{"solution"}

// nameSpace holds the names of a study: all sections share it.
type nameSpace struct {
	places map[string]Place
	source.ErrorList
}

// declare adds the name of a key.
func (s *nameSpace) declare(src *source.File, n *source.Node) {
	at := src.At(n.KeyAt)
	key := strings.Join(n.Path(), ".")
	switch first, twice := s.places[n.Name]; {
	case !namePattern.MatchString(n.Name):
		s.Add(at.Errorf(key, "%q is not a name", n.Name).
			WithHint("a name has Latin or Greek letters, digits and _, and does not begin with a digit"))
	case slices.Contains(columns, n.Name):
		s.Add(at.Errorf(key, "the name %q is taken: result tables have a column of that name", n.Name).WithHint("choose another name"))
	case slices.ContainsFunc(formula.Functions(), func(f formula.FunctionDoc) bool { return f.Name == n.Name }):
		s.Add(at.Errorf(key, "the name %q is taken: formulas have a function of that name", n.Name).WithHint("choose another name"))
	case formula.Reserved(n.Name) || slices.Contains(kept, n.Name):
		s.Add(at.Errorf(key, "the name %q is taken: it is a word of the formula language", n.Name).WithHint("choose another name"))
	case twice:
		s.Add(at.Errorf(key, "the name %q is defined twice", n.Name).
			WithHint("the first is on line %d; all sections share one space of names", first.Line()))
	default:
		s.places[n.Name] = at
	}
}
