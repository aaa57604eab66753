package sql

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// populates reports whether a function makes rows of JSON that have the type of another row.
func populates(name string) bool {
	return name == "json_populate_record" || name == "jsonb_populate_record" || name == "json_populate_recordset" ||
		name == "jsonb_populate_recordset"
}

// populate binds such a function in FROM. What JSON does not have is as in the row that is given.
func (b *binder) populate(f *funcRef, ns *names) (*recordOf, error) {
	c := f.fn
	switch {
	case f.defs != nil:
		return nil, sqlstate.New(sqlstate.SyntaxError,
			"a column definition list is redundant for a function returning a named composite type").At(c.pos)
	case f.ordinality:
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "%s WITH ORDINALITY is not supported", c.name).At(c.pos)
	case len(c.args) != 2 || c.names != nil:
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "%s takes a row and JSON here", c.name).At(c.pos)
	}
	base, err := b.rowOfType(c, ns)
	if err != nil {
		return nil, err
	}
	form := pgtype.JSON
	if strings.HasPrefix(c.name, "jsonb") {
		form = pgtype.JSONB
	}
	source, err := b.expr(c.args[1], ns)
	if err == nil && source.oid == pgtype.Unknown {
		source, err = b.coerce(source, form)
	}
	if err != nil {
		return nil, err
	}
	if source.oid != form {
		return nil, noFunction(c, []pgtype.OID{base.oid, source.oid})
	}
	r := &recordOf{name: c.name, at: map[string]int{}, source: source, base: base}
	r.set = strings.HasSuffix(c.name, "set")
	for i, col := range base.fields {
		r.at[col.Name] = i
		r.cols = append(r.cols, Column{Name: col.Name, OID: col.OID})
	}
	r.limits, r.fields = make([][]int, len(r.cols)), make([]pgtype.Fields, len(r.cols))
	return r, nil
}

// rowOfType binds the first argument of the call: a row of a table, or NULL cast to the type of a table.
func (b *binder) rowOfType(c *call, ns *names) (*bound, error) {
	if x, ok := c.args[0].(*cast); ok {
		if _, known := pgtype.Named(x.to.name); !known {
			return b.nullRow(x, ns)
		}
	}
	e, err := b.expr(c.args[0], ns)
	switch {
	case err != nil:
		return nil, err
	case e.oid == pgtype.Unknown:
		return nil, sqlstate.New(sqlstate.TypeMismatch,
			"could not determine polymorphic type because input has type unknown").At(c.pos)
	case e.oid != pgtype.Record:
		return nil, sqlstate.New(sqlstate.TypeMismatch, "first argument of %s must be a row type", c.name).At(c.pos)
	case !e.stored:
		return nil, sqlstate.New(sqlstate.SyntaxError,
			"a column definition list is required for functions returning \"record\"").At(c.pos).
			Hinted("Cast NULL to the type of a table, or give a row of one.")
	}
	return e, nil
}

// nullRow is NULL as a row of the table that a cast names.
func (b *binder) nullRow(x *cast, ns *names) (*bound, error) {
	rel, err := b.env.Relation("", x.to.name)
	if err != nil {
		return nil, err
	}
	if rel == nil {
		return nil, sqlstate.New(sqlstate.UndefinedObject, "type %q does not exist", x.to.name).At(x.to.pos)
	}
	e, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	if e.lit == nil || !e.lit.IsNone() {
		return nil, rowCast(x)
	}
	out := constant(value.None, pgtype.Record)
	out.fields = rel.Columns()
	return out, nil
}

// rowCast refuses a cast to the type of a table.
func rowCast(x *cast) error {
	return sqlstate.New(sqlstate.FeatureNotSupported,
		"only NULL can be cast to the type of the table %q, as an argument of json_populate_record and its like",
		x.to.name).At(x.to.pos)
}
