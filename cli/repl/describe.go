package repl

import (
	"context"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/engine/value"
)

// describe prints what a table is for people: its fields as a table, then its indexes and events by their definitions.
func (sh *shell) describe(ctx context.Context, arg string) error {
	if arg == "" {
		return sh.section(ctx, "INFO FOR DB", "tables")
	}
	name := value.QuoteIdent(strings.TrimSuffix(arg, ";"))
	tables, err := sh.ask(ctx, "RETURN (INFO FOR DB).tables")
	if err != nil {
		return err
	}
	definition := value.None
	if tables.Kind() == value.KindObject {
		definition, _ = tables.Object().Get(strings.TrimSuffix(arg, ";"))
	}
	if definition.Kind() != value.KindString {
		return fmt.Errorf("there is no table %s in this database: \\dt lists them", arg)
	}
	info, err := sh.ask(ctx, "INFO FOR TABLE "+name+" STRUCTURE")
	if err != nil {
		return err
	}
	fmt.Fprintf(sh.out, "%s\n\n", definition.Str())
	if info.Kind() != value.KindObject {
		return nil
	}
	if fields, ok := info.Object().Get("fields"); ok && fields.Kind() == value.KindArray && fields.Len() > 0 {
		if err := render.Columns(sh.out, render.Table, fieldRows(fields), fieldColumns); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(sh.out, "no fields are defined")
	}
	whole, err := sh.ask(ctx, "INFO FOR TABLE "+name)
	if err != nil {
		return err
	}
	for _, section := range []string{"indexes", "events", "tables"} {
		if list, ok := whole.Object().Get(section); ok && list.Kind() == value.KindObject && list.Object().Len() > 0 {
			fmt.Fprintf(sh.out, "\n%s:\n", section)
			for _, f := range list.Object().Fields() {
				fmt.Fprintf(sh.out, "  %s\n", f.Value.Str())
			}
		}
	}
	return nil
}

var fieldColumns = []string{"field", "type", "default", "value", "assert", "notes"}

// fieldRows are the fields of a structure with what people ask for first.
func fieldRows(fields value.Value) value.Value {
	rows := make([]value.Value, 0, fields.Len())
	for _, f := range fields.Elems() {
		if f.Kind() != value.KindObject {
			continue
		}
		o := f.Object()
		text := func(name string) string {
			if v, ok := o.Get(name); ok && v.Kind() == value.KindString {
				return v.Str()
			}
			return ""
		}
		var notes []string
		if v, ok := o.Get("readonly"); ok && v.Kind() == value.KindBool && v.Bool() {
			notes = append(notes, "read-only")
		}
		if x := text("computed"); x != "" {
			notes = append(notes, "computed: "+x)
		}
		if x := text("comment"); x != "" {
			notes = append(notes, x)
		}
		row := value.NewObject(value.Field{Name: "field", Value: value.Str(text("name"))},
			value.Field{Name: "type", Value: value.Str(text("kind"))})
		for _, c := range fieldColumns[2:5] {
			if x := text(c); x != "" {
				row = row.With(c, value.Str(x))
			}
		}
		if len(notes) > 0 {
			row = row.With("notes", value.Str(strings.Join(notes, "; ")))
		}
		rows = append(rows, value.ObjectOf(row))
	}
	return value.ArrayOf(rows)
}
