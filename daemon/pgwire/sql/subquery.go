package sql

import (
	"fmt"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// subquery is a query inside of an expression.
type subquery struct {
	*query
	same bool // it does not depend on the row around it: what it answers is kept
}

// sub binds a query inside of an expression.
func (b *binder) sub(s *Select, ns *names) (*subquery, error) {
	b.subs++
	around, used := *ns, false
	around.used = &used
	q, err := b.query(s, &around)
	if err != nil {
		return nil, err
	}
	return &subquery{query: q, same: !used && b.recursing == 0}, nil
}

// remember returns the result of make, and keeps it for the run where it is always the same.
func remember[T any](rt *runtime, q *subquery, make func() (T, error)) (T, error) {
	if v, ok := rt.subs[q].(T); ok {
		return v, nil
	}
	v, err := make()
	if err == nil && q.same {
		keep(&rt.subs, q, any(v))
	}
	return v, err
}

var anyOrAll = map[bool]string{false: " any ", true: " all "}

// longestSubKey is how long a query may be that another one written like it stands for.
const longestSubKey = 64 << 10

// subKey is the key of a query inside of an expression: the same for those that are written alike.
func subKey(s *Select) string {
	if s.text == "" || len(s.text) > longestSubKey {
		return fmt.Sprintf("query at %p", s)
	}
	return keyed("query ", s.text)
}

func (x *scalarSub) key() string { return subKey(x.sub) }

func (x *exists) key() string { return keyed("exists ", subKey(x.sub)) }

func (x *arraySub) key() string { return keyed("array ", subKey(x.sub)) }

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
	elem := &bound{oid: q.cols[0].OID, key: "elem", varies: true,
		eval: func(*scope) (value.Value, error) { return cur, nil }}
	if row {
		elem.oid, elem.fields = pgtype.Record, q.cols
	}
	test, err := b.operator(x.op, l, elem)
	if err != nil {
		return nil, err
	}
	key := keyed("(", l.key, x.op, anyOrAll[x.all], subKey(x.sub), ")")
	out := &bound{oid: pgtype.Bool, key: key, name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		result := value.Bool(x.all)
		one := func(r []value.Value) error {
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
		}
		if !q.same {
			return result, enough(q.run(s.rt, s, one))
		}
		rows, err := remember(s.rt, q, func() ([][]value.Value, error) { return q.rows(s.rt, s) })
		for i := 0; err == nil && i < len(rows); i++ {
			if err = s.rt.poll(); err == nil {
				err = one(rows[i])
			}
		}
		return result, enough(err)
	}
	if !row && q.same && (x.op == "=" && !x.all || x.op == "<>" && x.all) {
		if err := b.member(out, x, l, elem, q); err != nil {
			return nil, err
		}
	}
	return b.subUses(out, ns), nil
}

// members are the values of a query, to look one up.
type members struct {
	keys map[string]bool
	null bool
	any  bool
}

// member evaluates IN and NOT IN of a query that is always the same: by a look-up.
func (b *binder) member(out *bound, x *anyTest, l, elem *bound, q *subquery) error {
	l, to, _, err := b.unify(l, elem)
	if err != nil {
		return err
	}
	from, oid := elem.oid, to.oid
	gather := func(s *scope) (*members, error) {
		m := &members{keys: map[string]bool{}}
		err := q.run(s.rt, s, func(r []value.Value) error {
			m.any = true
			v, err := castValue(s.rt.ctx, s.rt.env, r[0], from, oid)
			if err != nil {
				return err
			}
			if v.IsNone() {
				m.null = true
				return nil
			}
			m.keys[string(appendKey(nil, v))] = true
			return s.rt.hold(r[:1])
		})
		return m, err
	}
	out.eval = func(s *scope) (value.Value, error) {
		m, err := remember(s.rt, q, func() (*members, error) { return gather(s) })
		if err != nil {
			return value.None, err
		}
		v, err := l.eval(s)
		switch {
		case err != nil:
			return value.None, err
		case !m.any:
			return value.Bool(x.all), nil
		case v.IsNone():
			return value.None, nil
		case m.keys[string(appendKey(nil, v))]:
			return value.Bool(!x.all), nil
		case m.null:
			return value.None, nil
		}
		return value.Bool(x.all), nil
	}
	return nil
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
	elem := &bound{oid: elemOID, key: "elem", eval: func(*scope) (value.Value, error) { return cur, nil },
		varies: arr.varies || arr.outer || len(arr.cols) > 0}
	test, err := b.operator(x.op, l, elem)
	if err != nil {
		return nil, err
	}
	out := &bound{oid: pgtype.Bool, key: keyed("(", l.key, x.op, anyOrAll[x.all], arr.key, ")"), name: "?column?"}
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
	out := &bound{oid: pgtype.Bool, key: x.key(), name: "exists"}
	out.eval = func(s *scope) (value.Value, error) {
		return remember(s.rt, q, func() (value.Value, error) {
			found := false
			err := q.run(s.rt, s, func([]value.Value) error { found = true; return errEnough })
			return value.Bool(found), enough(err)
		})
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
	out := &bound{oid: q.cols[0].OID, key: x.key(), name: q.cols[0].Name}
	if out.oid == pgtype.Unknown {
		out.oid = pgtype.Text
	}
	out.eval = func(s *scope) (value.Value, error) {
		return remember(s.rt, q, func() (value.Value, error) {
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
		})
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
	out := &bound{oid: arrayType(q.cols[0].OID), key: x.key(), name: "array"}
	out.eval = func(s *scope) (value.Value, error) {
		return remember(s.rt, q, func() (value.Value, error) {
			var list []value.Value
			err := q.run(s.rt, s, func(row []value.Value) error {
				list = append(list, row[0])
				return s.rt.hold(row[:1])
			})
			return value.ArrayOf(list), err
		})
	}
	return b.subUses(out, ns), nil
}
