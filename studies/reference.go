package studies

import (
	"fmt"
	"strings"

	"github.com/lensir/lensir-study/graph/formula"
)

// Reference returns the reference page of the study file as Markdown, written from the schema.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# The study file

This page is written from the tables by which the program reads studies.

A study is a TOML file. Names have Latin or Greek letters, digits and ` + "`_`" + `, and all sections share one
space of names; a key with Greek letters stands in quotes, as TOML wants it. Formulas are strings in
quotes; a number alone needs none. Keys are read as they are written: upper and lower case differ.
`)
	b.WriteString("\nNot to be used as names are the columns of the result tables (" + code(columns) +
		"), `pi`, the words of the\nformula language, and its functions, which the table at the end lists.\n")
	const tableHead = "\n| key | takes | default | example | meaning |\n|---|---|---|---|---|\n"
	b.WriteString("\n## At the top\n" + tableHead)
	section := row{}
	for _, r := range schema {
		head, key, inSection := strings.Cut(r.path, ".")
		switch {
		case r.want == wantTable && !inSection:
			section = r
			fmt.Fprintf(&b, "\n## [%s]\n\n%s%s\n%s", head, r.meaning, onlyFor(r, row{}), tableHead)
			continue
		case !inSection:
			key = head
		case head != section.path:
			section = row{path: head}
			fmt.Fprintf(&b, "\n%s\n%s", formHeads[head], tableHead)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n",
			key, takes(r), defaultCell(r), cell(r.example), strings.ReplaceAll(r.meaning, "|", `\|`)+onlyFor(r, section))
	}
	b.WriteString(formulas)
	for _, f := range formula.Functions() {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(f.Signature), strings.ReplaceAll(f.Meaning, "|", `\|`))
	}
	return b.String()
}

const formulas = `
## Formulas

Numbers are decimals, each rounded once to float64; one that would become 0 or infinite is an error. A scalar combines
with an array entry by entry. Arrays combine only if they have the same shape: nothing is broadcast unasked. Operators,
from the loosest:

| operator | meaning |
|---|---|
| ` + "`c ? a : b`" + ` | a where c holds, b elsewhere; the arm that is not taken may be undefined |
| ` + "`\\|\\|`" + ` | or |
| ` + "`&&`" + ` | and |
| ` + "`==` `!=` `<` `<=` `>` `>=`" + ` | comparisons, which do not chain; where a derivative is wanted, equality is a boundary without one |
| ` + "`+` `-`" + ` | sum and difference |
| ` + "`*` `/`" + ` | product and quotient, entry by entry |
| ` + "`!`" + ` | not |
| ` + "`-x` `+x`" + ` | sign |
| ` + "`^`" + ` | power, from the right: ` + "`-x^2` is `-(x^2)`, `2^3^2` is `2^9`" + ` |
| ` + "`x[i]` `x[i:j]` `f(x)`" + ` | entries and slices, counted from 0, negative from the end; ` + "`A[i]`" + ` is row i of a matrix |

` + "`[a, b, 2]` is a vector, `[[a, b], [c, d]]` a matrix, and `pi`" + ` is predefined. The functions:

| function | meaning |
|---|---|
`

var formHeads = map[string]string{
	"(array)": "## Arrays that are made\n\nWhere an array is wanted, a table may say how it is made, " +
		"for example `W = { random = \"normal\", shape = [8, 8], seed = 1 }`.",
	"(law)": "## Laws of sampled names\n\nWhere a name is sampled, a table says its law, " +
		"for example `q = { uniform = [0.1, 0.9] }`.",
	"(list)": "## Lists that are made\n\nWhere a list of values is wanted, a table may say how it is made, " +
		"for example `q = { linspace = [0.1, 0.9, 9] }`.",
}

func code(names []string) string { return "`" + strings.Join(names, "` `") + "`" }

func cell(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

func defaultCell(r row) string {
	if r.required {
		return "required"
	}
	return cell(r.byDefault)
}

// onlyFor names the kind that a key belongs to, unless its section has said so.
func onlyFor(r, section row) string {
	if len(r.kinds) == 0 || len(section.kinds) > 0 {
		return ""
	}
	return fmt.Sprintf(" For kind %s.", r.kindNames("`"))
}

func takes(r row) string {
	if r.want == wantCount {
		return fmt.Sprintf("%s from %d", wants[r.want], r.least)
	}
	if r.want != wantChoice && r.want != wantWords {
		return wants[r.want]
	}
	quoted := make([]string, len(r.choices))
	for i, c := range r.choices {
		quoted[i] = fmt.Sprintf("`%q`", c)
	}
	list := strings.Join(quoted, ", ")
	if r.want == wantWords {
		list = "a list of " + list
	}
	return list
}
