package repl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/engine/value"
)

// structures are the definitions of a kind in the database, as objects.
func (sh *shell) structures(ctx context.Context, kind string) ([]*value.Object, error) {
	v, err := sh.ask(ctx, "RETURN (INFO FOR DB STRUCTURE)."+kind)
	if err != nil {
		return nil, err
	}
	var list []*value.Object
	if v.Kind() == value.KindArray {
		for _, e := range v.Elems() {
			if e.Kind() == value.KindObject {
				list = append(list, e.Object())
			}
		}
	}
	return list, nil
}

// text is a field of an object that is a string; "" for others.
func text(o *value.Object, name string) string {
	if v, ok := o.Get(name); ok && v.Kind() == value.KindString {
		return v.Str()
	}
	return ""
}

func truth(o *value.Object, name string) bool {
	v, ok := o.Get(name)
	return ok && v.Kind() == value.KindBool && v.Bool()
}

// listed prints rows as a table, or says that there are none.
func (sh *shell) listed(rows []value.Value, what string, columns ...string) error {
	if len(rows) == 0 {
		fmt.Fprintf(sh.opt.Err, "no %s\n", what)
		return nil
	}
	return render.Columns(sh.out, render.Table, value.ArrayOf(rows), columns)
}

// places makes a command that lists the names and comments of namespaces or databases.
func places(info, what string) func(*shell, context.Context, string) error {
	return func(sh *shell, ctx context.Context, _ string) error {
		v, err := sh.ask(ctx, "RETURN ("+info+" STRUCTURE)."+what)
		if err != nil {
			return err
		}
		var rows []value.Value
		if v.Kind() == value.KindArray {
			for _, e := range v.Elems() {
				if e.Kind() == value.KindObject {
					rows = append(rows, value.ObjectOf(e.Object().Without("id")))
				}
			}
		}
		return sh.listed(rows, what, "name", "comment")
	}
}

// tables lists the tables; with more, how many records they have, how large those are, and their indexes.
func (sh *shell) tables(ctx context.Context, more bool) error {
	list, err := sh.structures(ctx, "tables")
	if err != nil {
		return err
	}
	rows := make([]value.Value, 0, len(list))
	for _, o := range list {
		kind := ""
		if k, ok := o.Get("kind"); ok && k.Kind() == value.KindObject {
			kind = strings.ToLower(text(k.Object(), "kind"))
		}
		schema := "schemaless"
		if truth(o, "schemafull") {
			schema = "schemafull"
		}
		row := value.NewObject(
			value.Field{Name: "table", Value: value.Str(text(o, "name"))},
			value.Field{Name: "type", Value: value.Str(kind)},
			value.Field{Name: "schema", Value: value.Str(schema)})
		if c := text(o, "comment"); c != "" {
			row = row.With("comment", value.Str(c))
		}
		if more {
			if row, err = sh.measured(ctx, row, text(o, "name")); err != nil {
				return err
			}
		}
		rows = append(rows, value.ObjectOf(row))
	}
	return sh.listed(rows, "tables", "table", "type", "schema", "rows", "bytes", "indexes", "comment")
}

// measured adds what a table holds: its records, the bytes of their contents, and its indexes. It reads the table.
func (sh *shell) measured(ctx context.Context, row *value.Object, table string) (*value.Object, error) {
	name := value.QuoteIdent(table)
	v, err := sh.ask(ctx, "RETURN { n: (SELECT count() AS rows, "+
		"math::sum(bytes::len(encoding::cbor::encode($this))) AS bytes FROM "+name+" GROUP ALL)[0], "+
		"i: array::len((INFO FOR TABLE "+name+" STRUCTURE).indexes) }")
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.KindObject {
		return nil, errors.New("the server answers no figures of the table " + table)
	}
	row = row.With("rows", value.Int(0)).With("bytes", value.Int(0))
	if n, ok := v.Object().Get("n"); ok && n.Kind() == value.KindObject {
		for _, f := range n.Object().Fields() {
			row = row.With(f.Name, f.Value)
		}
	}
	if i, ok := v.Object().Get("i"); ok {
		row = row.With("indexes", i)
	}
	return row, nil
}

// functions lists the functions; with more, who may call them and what they say of themselves.
func (sh *shell) functions(ctx context.Context, more bool) error {
	list, err := sh.structures(ctx, "functions")
	if err != nil {
		return err
	}
	rows := make([]value.Value, 0, len(list))
	for _, o := range list {
		row := value.NewObject(value.Field{Name: "function", Value: value.Str(signature(o))})
		if more {
			row = row.With("comment", value.Str(text(o, "comment")))
			if p, ok := o.Get("permissions"); ok {
				row = row.With("permissions", permission(p))
			}
			row = row.With("body", value.Str(text(o, "block")))
		}
		rows = append(rows, value.ObjectOf(row))
	}
	return sh.listed(rows, "functions", "function", "permissions", "comment", "body")
}

// permission is how a permission is written: FULL, NONE or its condition.
func permission(p value.Value) value.Value {
	switch {
	case p.Kind() == value.KindBool && p.Bool():
		return value.Str("FULL")
	case p.Kind() == value.KindBool:
		return value.Str("NONE")
	}
	return p
}

// signature is fn::name(arg: type) -> type of a structure.
func signature(o *value.Object) string {
	var args []string
	if list, ok := o.Get("args"); ok && list.Kind() == value.KindArray {
		for _, a := range list.Elems() {
			if a.Kind() == value.KindArray && a.Len() == 2 {
				args = append(args, a.Elems()[0].Str()+": "+a.Elems()[1].Str())
			}
		}
	}
	s := "fn::" + text(o, "name") + "(" + strings.Join(args, ", ") + ")"
	if r := text(o, "returns"); r != "" {
		s += " -> " + r
	}
	return s
}

// users lists the users of the database, the namespace and the server, as far as they may be seen.
func (sh *shell) users(ctx context.Context, _ string) error {
	var rows []value.Value
	for _, level := range []string{"ROOT", "NS", "DB"} {
		v, err := sh.ask(ctx, "RETURN (INFO FOR "+level+" STRUCTURE).users")
		if err != nil {
			fmt.Fprintf(sh.opt.Err, "users of %s: %s\n", level, Plain(err))
			continue
		}
		if v.Kind() != value.KindArray {
			continue
		}
		for _, u := range v.Elems() {
			if u.Kind() != value.KindObject {
				continue
			}
			row := value.NewObject(value.Field{Name: "user", Value: value.Str(text(u.Object(), "name"))},
				value.Field{Name: "level", Value: value.Str(strings.ToLower(level))})
			if roles, ok := u.Object().Get("roles"); ok {
				row = row.With("roles", roles)
			}
			rows = append(rows, value.ObjectOf(row))
		}
	}
	return sh.listed(rows, "users", "user", "level", "roles")
}
