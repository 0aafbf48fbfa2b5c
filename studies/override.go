package studies

import (
	"errors"
	"slices"
	"strings"

	"github.com/lensir/lensir-study/studies/source"
)

// Apply returns the study with settings of the form key=value put in place, in order; the value is
// written as in a study file. A key is dotted, such as implicit.tolerance, or the bare name of a
// constant or a parameter. The result is checked like a file, and its messages name the settings.
//
// A swept name cannot be set, since the sweep would hide the value: sweep.grid.q=[0.5] can.
func Apply(s *Study, settings []string) (*Study, error) {
	for _, setting := range settings {
		next, err := s.apply(setting)
		if err != nil {
			return nil, err
		}
		s = next
	}
	return s, nil
}

// apply edits the text of the study and reads it again, so that a setting means exactly what it
// would mean in the file.
func (s *Study) apply(setting string) (*Study, error) {
	fail := func(format string, args ...any) *Error {
		return Place{}.Errorf("", "--set "+strings.ReplaceAll(setting, "%", "%%")+": "+format, args...)
	}
	key, value, ok := strings.Cut(setting, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	path := strings.Split(key, ".")
	if !ok || slices.Contains(path, "") || strings.ContainsAny(key, "\"'\\ \t\r\n") {
		return nil, fail("not of the form key=value").WithHint("for example --set q=0.5 or --set implicit.tolerance=1e-8")
	}
	alone, err := source.Parse(&source.File{Name: "--set", Text: "value = " + value + "\n"})
	if err != nil || len(alone.Items) != 1 || strings.ContainsRune(value, '#') && alone.Items[0].At.End < len("value = "+value) {
		why := ""
		if e := (*Error)(nil); errors.As(err, &e) && strings.Contains(e.Message, "out of range") {
			why = strings.TrimPrefix(e.Message, "broken TOML")
		}
		return nil, fail("%q is not a value%s", value, why).WithHint(`write it as in a study file: 0.5, [1, 2], '"a formula in quotes"'`)
	}
	if len(path) == 1 && rules.keys[key] == nil {
		if path = s.home(key); path == nil {
			e := fail("no constant or parameter has the name %q", key)
			var names []string
			for _, q := range slices.Concat(s.Constants, s.Parameters) {
				names = append(names, q.Name)
			}
			if near := source.Nearest(key, names); near != "" {
				return nil, e.WithHint("did you mean %q?", near)
			}
			return nil, e.WithHint("constants and parameters are: %s", strings.Join(names, ", "))
		}
	}
	if name := path[len(path)-1]; len(path) == 2 && (path[0] == "constants" || path[0] == "parameters") &&
		slices.ContainsFunc(s.Sweep.Axes, func(a Axis) bool { return a.Name == name }) {
		way := "grid"
		if s.Sweep.Zip {
			way = "zip"
		}
		return nil, fail("%q is swept", name).WithHint("--set 'sweep.%s.%s=[%s]' sets the values of the sweep", way, name, value)
	}
	settings := append(slices.Clone(s.settings), setting)
	src := &source.File{Name: s.File + " with --set " + strings.Join(settings, " --set "), Text: s.edit(path, value)}
	tree, err := source.Parse(src)
	if err != nil {
		return nil, err
	}
	next, err := decode(s.files, s.path, src, tree)
	if err != nil {
		return nil, err
	}
	next.settings = settings
	return next, nil
}

// home returns the path of a constant or a parameter.
func (s *Study) home(name string) []string {
	for _, section := range []string{"constants", "parameters"} {
		if s.tree.Child(section, name) != nil {
			return []string{section, name}
		}
	}
	return nil
}

// edit returns the study's text with a value at a path: in place of the old one, or as a new line.
func (s *Study) edit(path []string, value string) string {
	insert := func(at int, text string) string { return s.Text[:at] + text + s.Text[at:] }
	if n := s.tree.Child(path...); n != nil && (n.Kind != source.Table || s.Text[n.At.Start] == '{') {
		return s.Text[:n.At.Start] + value + s.Text[n.At.End:]
	}
	last := len(path) - 1
	line := source.KeyText(path[last:]) + " = " + value
	switch parent := s.tree.Child(path[:last]...); {
	case parent == nil:
		return s.Text + "\n[" + source.KeyText(path[:last]) + "]\n" + line + "\n"
	case parent == s.tree || s.Text[parent.At.Start] != '[' && s.Text[parent.At.Start] != '{':
		return insert(0, source.KeyText(path)+" = "+value+"\n") // made by dotted keys
	case s.Text[parent.At.Start] == '{' && len(parent.Items) == 0:
		return insert(parent.At.Start+1, " "+line+" ")
	case s.Text[parent.At.Start] == '{':
		return insert(parent.At.Start+1, " "+line+",")
	default: // a header: on the line below it
		if i := strings.IndexByte(s.Text[parent.At.End:], '\n'); i >= 0 {
			return insert(parent.At.End+i+1, line+"\n")
		}
		return s.Text + "\n" + line + "\n"
	}
}
