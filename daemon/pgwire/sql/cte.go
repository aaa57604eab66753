package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// cteState is a query of WITH.
type cteState struct {
	name string
	cols []Column
	q    *query
	rec  *query // the part of a recursive query that reads itself
	all  bool
}

// with binds a query of WITH.
func (b *binder) with(c *cte, recursive bool, outer *names) error {
	st := &cteState{name: c.name}
	if recursive && c.sub.set != nil && c.sub.set.op == "union" && mentions(c.sub.set.r, c.name) {
		return b.withRecursive(c, st, outer)
	}
	q, err := b.query(c.sub, outer)
	if err != nil {
		return err
	}
	st.q, st.cols = q, renamed(q.cols, c.cols)
	b.ctes = append(b.ctes, st)
	return nil
}

func (b *binder) withRecursive(c *cte, st *cteState, outer *names) error {
	base, err := b.query(c.sub.set.l, outer)
	if err != nil {
		return err
	}
	st.q, st.cols, st.all = base, renamed(base.cols, c.cols), c.sub.set.all
	for i := range st.cols {
		if st.cols[i].OID == pgtype.Unknown {
			st.cols[i].OID = pgtype.Text
		}
	}
	b.ctes = append(b.ctes, st)
	b.recursing++
	rec, err := b.query(c.sub.set.r, outer)
	b.recursing--
	if err != nil {
		return err
	}
	if len(rec.cols) != len(base.cols) {
		return sqlstate.New(sqlstate.SyntaxError, "each UNION query must have the same number of columns")
	}
	st.rec = rec
	return nil
}

// mostRecursion is how many rows a recursive query may find.
const mostRecursion = 1_000_000

// rows gives the rows of a query of WITH, which runs once.
func (st *cteState) rows(rt *runtime, outer *scope) ([][]value.Value, error) {
	if rows, ok := rt.ctes[st]; ok {
		return rows, nil
	}
	all, err := st.q.rows(rt, outer)
	if err != nil {
		return nil, err
	}
	if st.rec == nil {
		keep(&rt.ctes, st, all)
		return all, nil
	}
	seen := map[string]bool{}
	fresh := func(rows [][]value.Value) (out [][]value.Value) {
		for _, r := range rows {
			if k := rowKey(r); st.all || !seen[k] {
				seen[k] = true
				out = append(out, r)
			}
		}
		return out
	}
	all = fresh(all)
	for work := all; len(work) > 0; {
		keep(&rt.ctes, st, work)
		more, err := st.rec.rows(rt, outer)
		if err != nil {
			return nil, err
		}
		work = fresh(more)
		if all = append(all, work...); len(all) > mostRecursion {
			return nil, sqlstate.New(sqlstate.TooMuch, "a recursive query finds more than %d rows", mostRecursion)
		}
	}
	keep(&rt.ctes, st, all)
	return all, nil
}

// mentions reports whether a query reads a relation of a name.
func mentions(s *Select, name string) bool {
	var from func(f fromItem) bool
	from = func(f fromItem) bool {
		switch f := f.(type) {
		case *tableRef:
			return f.schema == "" && f.name == name
		case *subRef:
			return mentions(f.sub, name)
		case *join:
			return from(f.l) || from(f.r)
		}
		return false
	}
	switch {
	case s == nil:
		return false
	case s.set != nil:
		return mentions(s.set.l, name) || mentions(s.set.r, name)
	case s.core != nil:
		for _, f := range s.core.from {
			if from(f) {
				return true
			}
		}
	}
	return false
}

func renamed(cols []Column, names []string) []Column {
	out := append([]Column(nil), cols...)
	for i := range out {
		if i < len(names) {
			out[i].Name = names[i]
		}
	}
	return out
}
