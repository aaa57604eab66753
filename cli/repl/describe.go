package repl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/engine/value"
)

// describe prints what a table is for people: its kind and who may do what, then its fields, indexes, events and views.
func (sh *shell) describe(ctx context.Context, arg string) error {
	arg = strings.TrimSuffix(arg, ";")
	if arg == "" {
		return sh.tables(ctx, false)
	}
	tables, err := sh.structures(ctx, "tables")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tables, func(o *value.Object) bool { return text(o, "name") == arg })
	if at < 0 {
		return fmt.Errorf("there is no table %s in this database: \\dt lists them", arg)
	}
	info, err := sh.ask(ctx, "INFO FOR TABLE "+value.QuoteIdent(arg)+" STRUCTURE")
	if err != nil {
		return err
	}
	fmt.Fprint(sh.out, render.Visible(heading(tables[at]), true))
	if info.Kind() != value.KindObject {
		return nil
	}
	for _, part := range []struct {
		name string
		row  func(*value.Object) value.Value
		cols []string
	}{
		{"fields", fieldRow, fieldColumns},
		{"indexes", indexRow, []string{"index", "fields", "kind", "comment"}},
		{"events", eventRow, []string{"event", "when", "then", "comment"}},
		{"tables", viewRow, []string{"view", "as"}},
	} {
		list, _ := info.Object().Get(part.name)
		var rows []value.Value
		if list.Kind() == value.KindArray {
			for _, e := range list.Elems() {
				if e.Kind() == value.KindObject {
					rows = append(rows, part.row(e.Object()))
				}
			}
		}
		switch {
		case len(rows) > 0:
			fmt.Fprintln(sh.out)
			if err := render.Columns(sh.out, render.Table, value.ArrayOf(rows), part.cols); err != nil {
				return err
			}
		case part.name == "fields":
			fmt.Fprintln(sh.out, "\nno fields are defined")
		}
	}
	return nil
}

// heading returns the heading of the parts of a table.
func heading(o *value.Object) string {
	var out strings.Builder
	traits := []string{kindOf(o), "schemaless"}
	if truth(o, "schemafull") {
		traits[1] = "schemafull"
	}
	if truth(o, "drop") {
		traits = append(traits, "keeps no records")
	}
	fmt.Fprintf(&out, "table %s: %s\n", text(o, "name"), strings.Join(traits, ", "))
	if c := text(o, "comment"); c != "" {
		fmt.Fprintf(&out, "comment: %s\n", c)
	}
	if v := text(o, "view"); v != "" {
		fmt.Fprintf(&out, "view: %s\n", v)
	}
	if feed, ok := o.Get("changefeed"); ok && feed.Kind() == value.KindObject {
		expiry, _ := feed.Object().Get("expiry")
		fmt.Fprintf(&out, "changes are kept for %s\n", expiry.Text())
	}
	if p, ok := o.Get("permissions"); ok && p.Kind() == value.KindObject {
		var who []string
		for _, action := range []string{"select", "create", "update", "delete"} {
			if v, ok := p.Object().Get(action); ok {
				who = append(who, action+" "+value.ToString(permission(v)))
			}
		}
		fmt.Fprintf(&out, "permissions: %s\n", strings.Join(who, ", "))
	}
	return out.String()
}

// kindOf is "relation from a | b to c", or the other kinds in small letters.
func kindOf(o *value.Object) string {
	k, ok := o.Get("kind")
	if !ok || k.Kind() != value.KindObject {
		return "any"
	}
	kind := strings.ToLower(text(k.Object(), "kind"))
	for _, end := range []struct{ name, word string }{{"in", "from"}, {"out", "to"}} {
		if list, ok := k.Object().Get(end.name); ok && list.Kind() == value.KindArray && list.Len() > 0 {
			kind += " " + end.word + " " + joined(list, " | ")
		}
	}
	return kind
}

// joined are the elements of a list as people write them.
func joined(list value.Value, between string) string {
	parts := make([]string, 0, list.Len())
	for _, e := range list.Elems() {
		parts = append(parts, value.ToString(e))
	}
	return strings.Join(parts, between)
}

func indexRow(o *value.Object) value.Value {
	row := value.NewObject(value.Field{Name: "index", Value: value.Str(text(o, "name"))})
	if cols, ok := o.Get("cols"); ok && cols.Kind() == value.KindArray {
		row = row.With("fields", value.Str(joined(cols, ", ")))
	}
	kind := text(o, "index")
	if kind == "" {
		kind = "ordered"
	}
	return value.ObjectOf(commented(row.With("kind", value.Str(kind)), o))
}

func eventRow(o *value.Object) value.Value {
	row := value.NewObject(value.Field{Name: "event", Value: value.Str(text(o, "name"))},
		value.Field{Name: "when", Value: value.Str(text(o, "when"))})
	if then, ok := o.Get("then"); ok && then.Kind() == value.KindArray {
		row = row.With("then", value.Str(joined(then, "; ")))
	}
	return value.ObjectOf(commented(row, o))
}

func viewRow(o *value.Object) value.Value {
	return value.ObjectOf(value.NewObject(value.Field{Name: "view", Value: value.Str(text(o, "name"))},
		value.Field{Name: "as", Value: value.Str(text(o, "view"))}))
}

// commented is a row with the comment of the definition, if there is one.
func commented(row, o *value.Object) *value.Object {
	if c := text(o, "comment"); c != "" {
		return row.With("comment", value.Str(c))
	}
	return row
}

var fieldColumns = []string{"field", "type", "default", "value", "assert", "notes"}

// fieldRow is a field with what people ask for first.
func fieldRow(o *value.Object) value.Value {
	var notes []string
	if truth(o, "readonly") {
		notes = append(notes, "read-only")
	}
	if x := text(o, "computed"); x != "" {
		notes = append(notes, "computed: "+x)
	}
	if x := text(o, "comment"); x != "" {
		notes = append(notes, x)
	}
	row := value.NewObject(value.Field{Name: "field", Value: value.Str(text(o, "name"))},
		value.Field{Name: "type", Value: value.Str(text(o, "kind"))})
	for _, c := range fieldColumns[2:5] {
		if x := text(o, c); x != "" {
			row = row.With(c, value.Str(x))
		}
	}
	if len(notes) > 0 {
		row = row.With("notes", value.Str(strings.Join(notes, "; ")))
	}
	return value.ObjectOf(row)
}
