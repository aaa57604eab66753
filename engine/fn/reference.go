package fn

import (
	"fmt"
	"io"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

//go:generate go test -run TestReferenceIsCurrent -update .

// WriteReference writes the documentation of the library in Markdown: a table for each family, then the constants.
func (t *Table) WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Functions\n\nGenerated from the table of `engine/fn`: `go generate ./engine/fn`.\n\n" +
		"A `?` marks an argument that may be left out, `...` one that may be repeated. A function with a method can be called\n" +
		"as `value.method(...)`, where the value stands for the first argument. Names do not depend on letter case.\n")
	family := ""
	for _, f := range t.Functions() {
		if next := f.Family(); next != family {
			family = next
			fmt.Fprintf(&b, "\n## %s\n\n| function | method | what it does |\n|---|---|---|\n", family)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Signature(), f.methodText(), f.docText())
	}
	b.WriteString("\n## Only as methods\n\n| method | what it does |\n|---|---|\n")
	for _, m := range t.pathless {
		fmt.Fprintf(&b, "| %s | %s |\n", m.methodText(), m.Doc)
	}
	b.WriteString("\n## Constants\n\n| constant | value |\n|---|---|\n")
	for _, name := range t.names {
		if v, ok := t.consts[name]; ok {
			fmt.Fprintf(&b, "| `%s` | `%s` |\n", name, v.Text())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Family is the first segment of the path: "string" of "string::len", "count" of "count".
func (f *Func) Family() string {
	family, _, _ := strings.Cut(f.Name, "::")
	return family
}

// Signature is the path with its parameters and result, "array::at(items: array, index: int) -> any".
func (f *Func) Signature() string {
	var b strings.Builder
	b.WriteString(f.Name + "(")
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case f.Variadic && i == len(f.Params)-1:
			b.WriteString("..." + p.Name)
		case i >= len(f.Params)-f.Optional:
			b.WriteString(p.Name + "?")
		default:
			b.WriteString(p.Name)
		}
		b.WriteString(": " + p.text)
	}
	b.WriteString(") -> " + f.Result)
	return b.String()
}

func (f *Func) docText() string {
	doc := f.Doc
	switch f.Needs {
	case "net":
		doc += " Needs the target among those of `--allow-net`."
	case "files":
		doc += " Needs `--allow-experimental files`."
	case "eval":
		doc += " Needs `--allow-eval-query`."
	}
	if f.MethodOnly {
		doc += " (The path cannot be called.)"
	}
	return doc
}

// methodText is the method forms: the name, and on what kinds.
func (f *Func) methodText() string {
	var out []string
	for _, m := range f.Methods {
		out = append(out, "`."+m.Name+"()` on "+m.receivers())
	}
	return strings.Join(out, ", ")
}

func (m MethodForm) receivers() string {
	if m.Any {
		return "any value"
	}
	names := make([]string, len(m.On))
	for i, k := range m.On {
		names[i] = k.String()
	}
	text := strings.Join(names, ", ")
	numbers := []value.Kind{value.KindInt, value.KindFloat, value.KindDecimal}
	if len(m.On) == len(numbers) && m.On[0] == numbers[0] && m.On[2] == numbers[2] {
		return "number"
	}
	return text
}
