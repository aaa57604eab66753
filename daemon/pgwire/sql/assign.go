package sql

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// sets binds assignments.
func (b *binder) sets(list []assign, rel Relation, ns *names) (cols []string, outs []*bound, err error) {
	for _, a := range list {
		values, err := b.assigned(a, ns)
		if err != nil {
			return nil, nil, err
		}
		for i, name := range a.cols {
			col, err := columnOf(rel, name)
			if err != nil {
				return nil, nil, err
			}
			if slices.Contains(cols, name) {
				return nil, nil, sqlstate.New(sqlstate.SyntaxError, "multiple assignments to same column %q", name)
			}
			x, err := b.assign(values[i], name, col.OID)
			if err != nil {
				return nil, nil, err
			}
			cols, outs = append(cols, name), append(outs, x)
		}
	}
	return cols, outs, nil
}

// assign makes x a value of a column.
func (b *binder) assign(x *bound, name string, oid pgtype.OID) (*bound, error) {
	if x.oid != pgtype.Unknown {
		if err := assignable(name, oid, x.oid); err != nil {
			return nil, err
		}
	}
	return b.coerce(x, oid)
}

// assignable refuses values of a type that cannot be made one of a column.
func assignable(name string, oid, from pgtype.OID) error {
	if castable(from, oid) {
		return nil
	}
	return sqlstate.New(sqlstate.TypeMismatch, "column %q is of type %s but expression is of type %s", name,
		pgtype.Format(oid), pgtype.Format(from))
}

// assigned binds the values of an assignment, one for each column.
func (b *binder) assigned(a assign, ns *names) ([]*bound, error) {
	if a.sub != nil {
		return b.assignedQuery(a, ns)
	}
	out := make([]*bound, len(a.list))
	for i, x := range a.list {
		if x == nil {
			out[i] = constant(value.None, pgtype.Unknown)
			continue
		}
		var err error
		if out[i], err = b.expr(x, ns); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// answered is the row that a query of an assignment has answered for a row of the table.
type answered struct {
	s   *scope
	row []value.Value
}

// assignedQuery binds the query of an assignment. It runs once for each row that is changed.
func (b *binder) assignedQuery(a assign, ns *names) ([]*bound, error) {
	q, err := b.sub(a.sub, ns)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != len(a.cols) {
		return nil, sqlstate.New(sqlstate.SyntaxError, "number of columns does not match number of values")
	}
	out := make([]*bound, len(q.cols))
	for i, col := range q.cols {
		if col.OID == pgtype.Unknown {
			col.OID = pgtype.Text
		}
		x := &bound{oid: col.OID, name: col.Name, key: keyed(subKey(a.sub), " ", itoa(i))}
		x.eval = func(s *scope) (value.Value, error) {
			row, err := q.answer(s)
			if err != nil || row == nil {
				return value.None, err
			}
			return row[i], nil
		}
		out[i] = b.subUses(x, ns)
	}
	return out, nil
}

// answer is the only row of the query, as of a row around it; nil: there is none.
func (q *subquery) answer(s *scope) ([]value.Value, error) {
	if last, ok := s.rt.subs[q].(*answered); ok && (q.same || last.s == s) {
		return last.row, nil
	}
	last := &answered{s: s}
	n := 0
	err := q.run(s.rt, s, func(row []value.Value) error {
		if n++; n > 1 {
			return sqlstate.New(sqlstate.CardinalityViolation,
				"more than one row returned by a subquery used as an expression")
		}
		last.row = detached(row[:len(q.cols)])
		return nil
	})
	if err == nil {
		keep(&s.rt.subs, q, any(last))
	}
	return last.row, err
}
