package sql

import (
	"slices"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// mostDefined is how many columns a list of definitions behind a function may have.
const mostDefined = 1600

// definition is the definition of a column behind a function in FROM.
type definition struct {
	name string
	to   typeName
}

// recordFunctions make rows of JSON, whose columns are defined where the function is called.
func recordFunctions() map[string]*Function {
	out := map[string]*Function{}
	for oid, form := range map[pgtype.OID]string{pgtype.JSON: "json", pgtype.JSONB: "jsonb"} {
		for _, name := range []string{"_to_record", "_to_recordset"} {
			fn := Returns(pgtype.Record, 1, 1, func(*Call) (value.Value, error) {
				return value.None, sqlstate.New(sqlstate.FeatureNotSupported,
					"function returning record called in context that cannot accept type record")
			}, oid)
			fn.Record, fn.Typed, fn.Set = true, true, name == "_to_recordset"
			out[form+name] = fn
		}
		for _, name := range []string{"_populate_record", "_populate_recordset"} {
			out[form+name] = &Function{Min: 1, Max: -1, Type: always2(pgtype.Record), Nulls: true,
				Eval: func(*Call) (value.Value, error) {
					return value.None, sqlstate.New(sqlstate.FeatureNotSupported,
						"the functions that populate rows are supported in FROM only")
				}}
		}
	}
	return out
}

// recordOf makes rows of JSON.
type recordOf struct {
	name   string
	cols   []Column
	limits [][]int         // the modifiers of their types
	fields []pgtype.Fields // of those that are intervals
	at     map[string]int  // the columns by their names
	source *bound
	base   *bound // a row whose values stand for what JSON does not have; nil: there is none
	set    bool
}

// record binds a call of a function of recordFunctions; nil: it calls another one.
func (b *binder) record(f *funcRef, ns *names) (*recordOf, error) {
	fn := functions()[f.fn.name]
	switch {
	case populates(f.fn.name):
		return b.populate(f, ns)
	case fn == nil || !fn.Record:
		if f.defs != nil {
			return nil, sqlstate.New(sqlstate.SyntaxError,
				"a column definition list is only allowed for functions returning \"record\"").At(f.fn.pos)
		}
		return nil, nil
	case f.defs == nil:
		return nil, sqlstate.New(sqlstate.SyntaxError,
			"a column definition list is required for functions returning \"record\"").At(f.fn.pos)
	case f.ordinality:
		return nil, sqlstate.New(sqlstate.SyntaxError,
			"WITH ORDINALITY cannot be used with a column definition list").At(f.fn.pos)
	case len(f.defs) > mostDefined:
		return nil, sqlstate.New(sqlstate.TooManyColumns, "column definition lists can have at most %d entries",
			mostDefined).At(f.fn.pos)
	}
	args, oids, err := b.args(f.fn, fn, ns)
	if err != nil {
		return nil, err
	}
	if len(args) != 1 || !fn.takes(oids) {
		return nil, noFunction(f.fn, oids)
	}
	r := &recordOf{name: f.fn.name, at: map[string]int{}, source: args[0], set: fn.Set}
	for i, d := range f.defs {
		if _, twice := r.at[d.name]; twice {
			return nil, sqlstate.New(sqlstate.DuplicateColumn, "column name %q specified more than once", d.name)
		}
		oid, ok := pgtype.Named(d.to.name)
		if !ok {
			return nil, sqlstate.New(sqlstate.UndefinedObject, "type %q does not exist", d.to.name).At(d.to.pos)
		}
		limits, err := modifiers(oid, d.to.mods)
		if err != nil {
			return nil, err
		}
		r.at[d.name], r.limits, r.fields = i, append(r.limits, limits), append(r.fields, d.to.fields)
		r.cols = append(r.cols, Column{Name: d.name, OID: oid})
	}
	return r, nil
}

// recordSource is the part of FROM that has the rows.
func (b *binder) recordSource(f *funcRef, r *recordOf, ns *names) *source {
	alias := f.alias
	if alias == "" {
		alias = f.fn.name
	}
	s := b.leaf(ns, alias, renamed(slices.Clone(r.cols), f.cols), nil)
	reads := len(r.source.cols) > 0 || r.base != nil && len(r.base.cols) > 0
	s.lateral, s.title = reads, "Function Scan on "+alias
	s.leaf = func(_ *runtime, at *scope, _ []*bound, yield func(*scope) error) error {
		return r.each(at, func(row []value.Value) error { return yield(at.with(s.at, row)) })
	}
	return s
}

// each hands the rows to yield.
func (r *recordOf) each(s *scope, yield func(row []value.Value) error) error {
	v, err := r.source.eval(s)
	if err != nil {
		return err
	}
	var base []value.Value
	if r.base != nil {
		row, err := r.base.eval(s)
		if err != nil {
			return err
		}
		base = elems(row)
	}
	if !r.set {
		return r.one(s, base, v, yield)
	}
	switch v.Kind() {
	case value.KindNone:
		return nil
	case value.KindArray:
	default:
		return sqlstate.New(sqlstate.InvalidParameter, "cannot call %s on a non-array", r.name)
	}
	for _, e := range v.Elems() {
		if err := s.rt.poll(); err != nil {
			return err
		}
		if e.Kind() != value.KindObject {
			return sqlstate.New(sqlstate.InvalidParameter, "argument of %s must be an array of objects", r.name)
		}
		if err := r.one(s, base, e, yield); err != nil {
			return err
		}
	}
	return nil
}

// one hands the row of an object to yield. What the object has not is that of base, which may be nil.
func (r *recordOf) one(s *scope, base []value.Value, v value.Value, yield func(row []value.Value) error) error {
	row := make([]value.Value, len(r.cols))
	copy(row, base)
	switch v.Kind() {
	case value.KindNone:
		return yield(row)
	case value.KindObject:
	default:
		return sqlstate.New(sqlstate.InvalidParameter, "cannot call %s on a non-object", r.name)
	}
	for _, f := range v.Object().Fields() {
		if err := s.rt.poll(); err != nil {
			return err
		}
		i, ok := r.at[f.Name]
		if !ok {
			continue
		}
		var err error
		if row[i], err = r.member(s, f.Value, i); err != nil {
			return err
		}
	}
	return yield(row)
}

// member is a part of JSON as a value of column i.
func (r *recordOf) member(s *scope, v value.Value, i int) (value.Value, error) {
	oid, limits := r.cols[i].OID, r.limits[i]
	v, err := ofJSON(s, v, oid)
	if err != nil || v.IsNone() {
		return value.None, err
	}
	if oid == pgtype.Varchar && len(limits) == 1 && utf8.RuneCountInString(plain(v)) > limits[0] {
		return value.None, sqlstate.New(sqlstate.StringTooLong, "value too long for type character varying(%d)",
			limits[0])
	}
	if cutOff := modified(oid, limits, r.fields[i]); cutOff != nil {
		return cutOff(v)
	}
	return v, nil
}

// ofJSON is a part of JSON as a value of a type: what the text of it is read as, but for JSON itself and for arrays.
func ofJSON(s *scope, v value.Value, oid pgtype.OID) (value.Value, error) {
	elem := pgtype.ElemOf(oid)
	switch {
	case v.IsNullish():
		return value.None, nil
	case oid == pgtype.JSON, oid == pgtype.JSONB:
		return v, nil
	case elem == 0 || v.Kind() == value.KindString:
		return castValue(s.rt.ctx, s.rt.env, jsonText(v), pgtype.Text, oid)
	case v.Kind() != value.KindArray:
		return value.None, sqlstate.New(sqlstate.InvalidText, "expected JSON array")
	}
	out := make([]value.Value, v.Len())
	for i, e := range v.Elems() {
		if err := s.rt.poll(); err != nil {
			return value.None, err
		}
		of := elem
		if e.Kind() == value.KindArray && elem != pgtype.JSON && elem != pgtype.JSONB { // it has more dimensions
			of = oid
		}
		var err error
		if out[i], err = ofJSON(s, e, of); err != nil {
			return value.None, err
		}
	}
	return value.ArrayOf(out), nil
}
