package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// arrayType is the type of arrays of a type: of texts where there is none.
func arrayType(oid pgtype.OID) pgtype.OID {
	if a := pgtype.ArrayOf(oid); a != 0 {
		return a
	}
	if pgtype.IsArray(oid) {
		return oid
	}
	return pgtype.TextArray
}

func (b *binder) arrayLit(x *arrayLit, ns *names) (*bound, error) {
	list := make([]*bound, len(x.elems))
	oid := pgtype.OID(0)
	for i, e := range x.elems {
		var err error
		if list[i], err = b.expr(e, ns); err != nil {
			return nil, err
		}
		if oid = common(oid, list[i].oid); oid == 0 {
			return nil, sqlstate.New(sqlstate.TypeMismatch, "the elements of an array must be of one type")
		}
	}
	if oid == 0 {
		return nil, sqlstate.New(sqlstate.IndeterminateType,
			"cannot determine type of empty array").Hinted("Cast it, as in ARRAY[]::integer[].")
	}
	if oid == pgtype.Unknown {
		oid = pgtype.Text
	}
	out := &bound{oid: arrayType(oid), key: "array[", name: "array"}
	for i := range list {
		e, err := b.coerce(list[i], oid)
		if err != nil {
			return nil, err
		}
		list[i] = e
		out.key = keyed(out.key, e.key, ",")
	}
	out.eval = func(s *scope) (value.Value, error) {
		vs, err := evalAll(list, s)
		return value.ArrayOf(vs), err
	}
	return out.uses(list...), nil
}

func (b *binder) rowExpr(x *rowExpr, ns *names) (*bound, error) {
	list := make([]*bound, len(x.elems))
	out := &bound{oid: pgtype.Record, key: "row(", name: "row"}
	for i, e := range x.elems {
		var err error
		if list[i], err = b.expr(e, ns); err != nil {
			return nil, err
		}
		out.key = keyed(out.key, list[i].key, ",")
		out.fields = append(out.fields, Column{Name: "f" + itoa(i+1), OID: list[i].oid})
	}
	out.eval = func(s *scope) (value.Value, error) {
		vs, err := evalAll(list, s)
		return value.ArrayOf(vs), err
	}
	return out.uses(list...), nil
}

func (b *binder) index(x *index, ns *names) (*bound, error) {
	arr, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	elem := pgtype.ElemOf(arr.oid)
	if arr.oid == pgtype.JSONB && !x.slice {
		key, err := b.expr(x.lo, ns)
		if err != nil {
			return nil, err
		}
		out, err := b.jsonPath("->", arr, key)
		if err == nil {
			out.name = arr.name
		}
		return out, err
	}
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.TypeMismatch,
			"cannot subscript type %s because it does not support subscripting", pgtype.Format(arr.oid))
	}
	// Vectors count from 0, arrays from 1.
	base := int64(1)
	if pgtype.IsVector(arr.oid) {
		base = 0
	}
	at := func(e Expr) (*bound, error) {
		if e == nil {
			return nil, nil
		}
		i, err := b.expr(e, ns)
		if err != nil {
			return nil, err
		}
		return b.coerce(i, pgtype.Int4)
	}
	lo, err := at(x.lo)
	if err != nil {
		return nil, err
	}
	hi, err := at(x.hi)
	if err != nil {
		return nil, err
	}
	out := &bound{oid: elem, name: arr.name, key: keyed(arr.key, "[")}
	if x.slice {
		out.oid = arrayType(elem)
	}
	for _, i := range []*bound{lo, hi} {
		if i != nil {
			out.key = keyed(out.key, i.key, ":")
			out.uses(i)
		}
	}
	out.eval = func(s *scope) (value.Value, error) {
		a, err := arr.eval(s)
		if err != nil || a.IsNone() {
			return value.None, err
		}
		list := elems(a)
		from, to := base, base+int64(len(list))-1
		for i, e := range []*bound{lo, hi} {
			if e == nil {
				continue
			}
			v, err := e.eval(s)
			if err != nil || v.IsNone() {
				return value.None, err
			}
			if i == 0 {
				from = asInt(v)
			} else {
				to = asInt(v)
			}
		}
		if x.slice {
			from, to = max(from-base, 0), min(to-base+1, int64(len(list)))
			if from >= to {
				return value.ArrayOf(nil), nil
			}
			return value.ArrayOf(list[from:to]), nil
		}
		if from < base || from-base >= int64(len(list)) {
			return value.None, nil
		}
		return list[from-base], nil
	}
	return out.uses(arr), nil
}

func (b *binder) fieldOf(x *fieldOf, ns *names) (*bound, error) {
	e, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	for i, f := range e.fields {
		if f.Name != x.name {
			continue
		}
		out := &bound{oid: f.OID, key: keyed(e.key, ".", x.name), name: x.name}
		out.eval = func(s *scope) (value.Value, error) {
			v, err := e.eval(s)
			if err != nil || v.Kind() != value.KindArray || i >= v.Len() {
				return value.None, err
			}
			return v.Elems()[i], nil
		}
		return out.uses(e), nil
	}
	return nil, sqlstate.New(sqlstate.UndefinedColumn, "column %q not found in a row of type %s", x.name,
		pgtype.Format(e.oid))
}
