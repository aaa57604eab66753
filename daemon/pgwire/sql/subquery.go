package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// sub binds a query inside of an expression.
func (b *binder) sub(s *Select, ns *names) (*query, error) { return b.query(s, ns) }

// subUses says that a query may look at every column around it: where it must be evaluated is not known better.
func (b *binder) subUses(out *bound, ns *names) *bound {
	out.outer = true
	if len(ns.cols) > 0 {
		out.cols = map[int]bool{}
		for i := range ns.cols {
			out.cols[i] = true
		}
	}
	return out
}

func (b *binder) anyTest(x *anyTest, ns *names) (*bound, error) {
	l, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	if x.sub == nil {
		return b.anyArray(x, l, ns)
	}
	q, err := b.sub(x.sub, ns)
	if err != nil {
		return nil, err
	}
	row := l.oid == pgtype.Record
	if !row && len(q.cols) != 1 {
		return nil, sqlstate.New(sqlstate.SyntaxError, "subquery has too many columns")
	}
	var cur value.Value
	elem := &bound{oid: q.cols[0].OID, key: "elem", eval: func(*scope) (value.Value, error) { return cur, nil }}
	if row {
		elem.oid = pgtype.Record
	}
	test, err := b.operator(x.op, l, elem)
	if err != nil {
		return nil, err
	}
	out := &bound{oid: pgtype.Bool, key: "?", name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		result := value.Bool(x.all)
		err := q.run(s.rt, s, func(r []value.Value) error {
			if cur = r[0]; row {
				cur = value.ArrayOf(append([]value.Value(nil), r[:len(q.cols)]...))
			}
			v, err := test.eval(s)
			switch {
			case err != nil:
				return err
			case v.IsNone():
				result = value.None
			case truth(v) != x.all:
				result = v
				return errEnough
			}
			return nil
		})
		return result, enough(err)
	}
	return b.subUses(out, ns), nil
}

func (b *binder) anyArray(x *anyTest, l *bound, ns *names) (*bound, error) {
	arr, err := b.expr(x.arr, ns)
	if err != nil {
		return nil, err
	}
	if arr.oid == pgtype.Unknown {
		of := pgtype.ArrayOf(l.oid)
		if of == 0 {
			of = pgtype.TextArray
		}
		if arr, err = b.coerce(arr, of); err != nil {
			return nil, err
		}
	}
	elemOID := pgtype.ElemOf(arr.oid)
	if elemOID == 0 {
		return nil, sqlstate.New(sqlstate.WrongObject, "op ANY/ALL (array) requires array on right side")
	}
	var cur value.Value
	elem := &bound{oid: elemOID, key: "elem", eval: func(*scope) (value.Value, error) { return cur, nil }}
	test, err := b.operator(x.op, l, elem)
	if err != nil {
		return nil, err
	}
	out := &bound{oid: pgtype.Bool, key: "(" + l.key + x.op + "any" + arr.key + ")", name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		a, err := arr.eval(s)
		if err != nil || a.IsNone() {
			return value.None, err
		}
		result := value.Bool(x.all)
		for _, cur = range elems(a) {
			v, err := test.eval(s)
			switch {
			case err != nil:
				return value.None, err
			case v.IsNone():
				result = value.None
			case truth(v) != x.all:
				return v, nil
			}
		}
		return result, nil
	}
	return out.uses(l, arr), nil
}

func (b *binder) exists(x *exists, ns *names) (*bound, error) {
	q, err := b.sub(x.sub, ns)
	if err != nil {
		return nil, err
	}
	out := &bound{oid: pgtype.Bool, key: "?", name: "exists"}
	out.eval = func(s *scope) (value.Value, error) {
		found := false
		err := q.run(s.rt, s, func([]value.Value) error { found = true; return errEnough })
		return value.Bool(found), enough(err)
	}
	return b.subUses(out, ns), nil
}

func (b *binder) scalarSub(x *scalarSub, ns *names) (*bound, error) {
	q, err := b.sub(x.sub, ns)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != 1 {
		return nil, sqlstate.New(sqlstate.SyntaxError, "subquery must return only one column")
	}
	out := &bound{oid: q.cols[0].OID, key: "?", name: q.cols[0].Name}
	if out.oid == pgtype.Unknown {
		out.oid = pgtype.Text
	}
	out.eval = func(s *scope) (value.Value, error) {
		v, n := value.None, 0
		err := q.run(s.rt, s, func(row []value.Value) error {
			if n++; n > 1 {
				return sqlstate.New(sqlstate.CardinalityViolation,
					"more than one row returned by a subquery used as an expression")
			}
			v = row[0]
			return nil
		})
		return v, err
	}
	return b.subUses(out, ns), nil
}

func (b *binder) arraySub(x *arraySub, ns *names) (*bound, error) {
	q, err := b.sub(x.sub, ns)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != 1 {
		return nil, sqlstate.New(sqlstate.SyntaxError, "subquery must return only one column")
	}
	out := &bound{oid: arrayType(q.cols[0].OID), key: "?", name: "array"}
	out.eval = func(s *scope) (value.Value, error) {
		var list []value.Value
		err := q.run(s.rt, s, func(row []value.Value) error {
			list = append(list, row[0])
			return s.rt.hold(row[:1])
		})
		return value.ArrayOf(list), err
	}
	return b.subUses(out, ns), nil
}
