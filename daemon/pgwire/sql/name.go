package sql

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// colRef finds a column, a whole row, or a column of a query around this one.
func (b *binder) colRef(x *colRef, ns *names) (*bound, error) {
	depth := 0
	for at := ns; at != nil; at = at.outer {
		e, err := b.lookup(x, at)
		if err != nil {
			return nil, err
		}
		if e == nil {
			depth++
			continue
		}
		if depth == 0 {
			if at.groups != nil || at.aggs != nil && at.aggs.strict {
				return nil, sqlstate.New(sqlstate.GroupingError,
					"column %q must appear in the GROUP BY clause or be used in an aggregate function",
					strings.Join(x.parts, ".")).At(x.pos)
			}
			return e, nil
		}
		for in := ns; ; in = in.outer {
			if in != ns && in.used != nil {
				*in.used = true
			}
			if in == at {
				break
			}
		}
		if at.groups != nil || at.aggs != nil && at.aggs.strict {
			i, ok := at.groups[e.key]
			if !ok {
				return nil, sqlstate.New(sqlstate.GroupingError, "subquery uses ungrouped column %q from outer query",
					strings.Join(x.parts, ".")).At(x.pos)
			}
			e.eval = func(s *scope) (value.Value, error) { return s.aggs[i], nil }
		}
		inner, up := e.eval, depth
		e.eval = func(s *scope) (value.Value, error) {
			for range up {
				s = s.outer
			}
			return inner(s)
		}
		e.whole = nil
		e.cols, e.outer, e.key = nil, true, keyed("^", itoa(depth), e.key)
		return e, nil
	}
	name := strings.Join(x.parts, ".")
	if len(x.parts) > 1 {
		for at := ns; at != nil; at = at.outer {
			if slices.ContainsFunc(at.cols, func(c colBind) bool { return c.table == x.parts[len(x.parts)-2] }) {
				return nil, sqlstate.New(sqlstate.UndefinedColumn, "column %s does not exist", name).At(x.pos)
			}
		}
		return nil, sqlstate.New(sqlstate.UndefinedTable,
			"missing FROM-clause entry for table %q, or it has no column %q",
			x.parts[len(x.parts)-2], x.parts[len(x.parts)-1]).At(x.pos)
	}
	return nil, sqlstate.New(sqlstate.UndefinedColumn, "column %q does not exist", name).At(x.pos)
}

// lookup finds a name in one query; nil where it is not there.
func (b *binder) lookup(x *colRef, ns *names) (*bound, error) {
	name, table := x.parts[len(x.parts)-1], ""
	if len(x.parts) > 1 {
		table = x.parts[len(x.parts)-2]
	}
	found := -1
	for i := range ns.cols {
		c := &ns.cols[i]
		if c.name != name || table != "" && c.table != table || table == "" && c.hidden {
			continue
		}
		if found >= 0 {
			return nil, sqlstate.New(sqlstate.AmbiguousColumn, "column reference %q is ambiguous", name).At(x.pos)
		}
		found = i
	}
	if found >= 0 {
		return column(found, &ns.cols[found]), nil
	}
	if e := systemColumn(name, table, ns); e != nil {
		return e, nil
	}
	if table != "" {
		return nil, nil
	}
	// The name of a relation is its whole row.
	e := &bound{oid: pgtype.Record, name: name, key: "row " + name, stored: true}
	var at []int
	for i := range ns.cols {
		if ns.cols[i].table == name {
			at = append(at, i)
			e.stored = e.stored && ns.cols[i].stored
			ns.cols[i].use()
			e.uses(&bound{cols: map[int]bool{i: true}})
			e.fields = append(e.fields, Column{Name: ns.cols[i].name, OID: ns.cols[i].oid})
		}
	}
	if at == nil {
		return nil, nil
	}
	if len(at) == 1 && ns.cols[at[0]].alone {
		e := column(at[0], &ns.cols[at[0]])
		e.name = name
		return e, nil
	}
	e.eval = func(s *scope) (value.Value, error) {
		row := make([]value.Value, len(at))
		for i, j := range at {
			row[i] = s.row[j]
		}
		return value.ArrayOf(row), nil
	}
	return e, nil
}

// systemColumn finds the columns that every relation has.
func systemColumn(name, table string, ns *names) *bound {
	var oid pgtype.OID
	v := value.Int(0)
	switch name {
	case "xmin", "xmax", "cmin", "cmax":
		oid = pgtype.Xid
	case "tableoid":
		oid = pgtype.Oid
	case "ctid":
		oid, v = pgtype.Tid, value.Str("(0,1)")
	default:
		return nil
	}
	for i := range ns.cols {
		if table == "" || ns.cols[i].table == table {
			if name == "tableoid" {
				v = value.Int(int64(ns.cols[i].origin.Table))
			}
			e := constant(v, oid)
			e.name, e.lit = name, nil
			return e
		}
	}
	return nil
}

// param is $n. Its type is that of what it meets first, unless the client has named one.
func (b *binder) param(n int) *bound {
	for len(b.params) < n {
		i := len(b.params)
		oid := pgtype.OID(0)
		if i < len(b.given) && b.given[i] != pgtype.Unknown {
			oid = b.given[i]
		}
		b.params = append(b.params, oid)
	}
	e := &bound{oid: b.params[n-1], key: "$" + itoa(n), name: "?column?", fixed: true}
	if e.oid == 0 {
		e.oid, e.param = pgtype.Unknown, n
	}
	e.eval = func(s *scope) (value.Value, error) {
		if n > len(s.rt.params) {
			return value.None, sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%d", n)
		}
		if v := s.rt.params[n-1]; !v.IsNull() {
			return v, nil
		}
		return value.None, nil
	}
	return e
}
