package sql

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// setOp binds UNION, INTERSECT and EXCEPT.
func (b *binder) setOp(s *setOp, outer *names) (*query, error) {
	l, err := b.query(s.l, outer)
	if err != nil {
		return nil, err
	}
	r, err := b.query(s.r, outer)
	if err != nil {
		return nil, err
	}
	if len(l.cols) != len(r.cols) {
		return nil, sqlstate.New(sqlstate.SyntaxError, "each %s query must have the same number of columns",
			strings.ToUpper(s.op))
	}
	q := &query{cols: append([]Column(nil), l.cols...), outer: l.outer || r.outer,
		explain: both(setTitle(s), l.explain, r.explain)}
	for i := range q.cols {
		oid := common(l.cols[i].OID, r.cols[i].OID)
		if l.cols[i].OID == pgtype.Name && pgtype.IsText(r.cols[i].OID) {
			oid = pgtype.Name
		}
		if oid == 0 {
			return nil, sqlstate.New(sqlstate.TypeMismatch, "%s types %s and %s cannot be matched",
				strings.ToUpper(s.op),
				pgtype.Format(l.cols[i].OID), pgtype.Format(r.cols[i].OID))
		}
		if oid == pgtype.Unknown {
			oid = pgtype.Text
		}
		q.cols[i] = Column{Name: l.cols[i].Name, OID: oid}
	}
	lq, rq := converted(l, q.cols), converted(r, q.cols)
	q.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		return runSet(rt, outer, s, lq, rq, yield)
	}
	return q, nil
}

// setTitle names the step of a set operation.
func setTitle(s *setOp) string {
	if s.op == "union" && s.all {
		return "Append"
	}
	title := "HashSetOp " + strings.ToUpper(s.op[:1]) + s.op[1:]
	if s.all {
		title += " All"
	}
	return title
}

// converted is q with its rows of the types of cols.
func converted(q *query, cols []Column) *query {
	out := *q
	out.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		return q.run(rt, outer, func(row []value.Value) error {
			next := make([]value.Value, len(cols))
			for i := range cols {
				v, err := castValue(rt.ctx, rt.env, row[i], q.cols[i].OID, cols[i].OID)
				if err != nil {
					return err
				}
				next[i] = v
			}
			return yield(next)
		})
	}
	return &out
}

func runSet(rt *runtime, outer *scope, s *setOp, l, r *query, yield func([]value.Value) error) error {
	if s.op == "union" && s.all {
		if err := l.run(rt, outer, yield); err != nil {
			return err
		}
		return r.run(rt, outer, yield)
	}
	counts := map[string]int{}
	if s.op != "union" {
		if err := r.run(rt, outer, func(row []value.Value) error {
			counts[rowKey(row)]++
			return rt.hold(row)
		}); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	each := func(row []value.Value) error {
		k := rowKey(row)
		there := counts[k] > 0
		switch {
		case s.op == "intersect" && !there, s.op == "except" && there && !s.all:
			return nil
		case s.op == "except" && there:
			counts[k]--
			return nil
		case s.all:
			counts[k]--
			return yield(row)
		case seen[k]:
			return nil
		}
		seen[k] = true
		if err := rt.hold(row); err != nil {
			return err
		}
		return yield(row)
	}
	if err := l.run(rt, outer, each); err != nil || s.op != "union" {
		return err
	}
	return r.run(rt, outer, each)
}
