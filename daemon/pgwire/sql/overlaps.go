package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// overlaps reads OVERLAPS and the row behind it; it is l where there is none.
func (p *parser) overlaps(l *rowExpr) Expr {
	pos := p.place(p.peek().Pos)
	if !p.eat("overlaps") {
		return l
	}
	r, ok := p.row()
	if !ok {
		p.unexpected()
	}
	for _, side := range []struct {
		row  *rowExpr
		name string
	}{{l, "left"}, {r, "right"}} {
		if len(side.row.elems) != 2 {
			panic(sqlstate.New(sqlstate.SyntaxError, "wrong number of parameters on %s side of OVERLAPS expression",
				side.name).At(pos))
		}
	}
	return &call{name: "overlaps", args: []Expr{l.elems[0], l.elems[1], r.elems[0], r.elems[1]}, pos: pos}
}

// row reads (x, y, …) or ROW (x, …), where it is there.
func (p *parser) row() (*rowExpr, bool) {
	named := p.eat("row")
	if !p.eat("(") {
		return nil, false
	}
	r := &rowExpr{}
	if !named || !p.at(")") {
		r.elems = p.exprs()
	}
	p.want(")")
	return r, named || len(r.elems) > 1
}

// bindOverlaps binds OVERLAPS of two stretches of time: each has two ends, or one and how long it is.
func (b *binder) bindOverlaps(c *call, ns *names) (*bound, error) {
	args, oids, err := b.args(c, &Function{Args: []pgtype.OID{pgtype.Unknown}}, ns)
	if err != nil {
		return nil, err
	}
	none := noFunction(c, oids)
	if len(args) != 4 {
		return nil, none
	}
	oid := pgtype.Unknown
	lasts := [4]bool{} // arguments that are lengths
	for i, a := range args {
		if lasts[i] = i%2 == 1 && a.oid == pgtype.Interval; lasts[i] {
			continue
		}
		if oid = common(oid, a.oid); oid == 0 {
			return nil, none
		}
	}
	switch {
	case oid == pgtype.Unknown, oid == pgtype.Date:
		oid = pgtype.Timestamptz
	case !isTime(oid) && oid != pgtype.Time:
		return nil, none
	}
	for i := range args {
		if lasts[i] {
			continue
		}
		if args[i], err = b.coerce(args[i], oid); err != nil {
			return nil, err
		}
	}
	out := &bound{oid: pgtype.Bool, name: c.name, key: keyOf(c, args)}
	out.eval = func(s *scope) (value.Value, error) {
		vs, err := evalAll(args, s)
		if err != nil {
			return value.None, err
		}
		for i := 1; i < 4; i += 2 {
			if !lasts[i] || vs[i].IsNone() {
				continue
			}
			if vs[i], err = ending(s.rt.env.Style(), oid, vs[i-1], vs[i]); err != nil {
				return value.None, err
			}
		}
		return overlap(oid, [2]value.Value{vs[0], vs[1]}, [2]value.Value{vs[2], vs[3]}), nil
	}
	return out.uses(args...), nil
}

// ending is the end of a stretch of time that is so long. A time of day goes on after midnight with the first one.
func ending(st *pgtype.Style, oid pgtype.OID, start, length value.Value) (value.Value, error) {
	switch start.Kind() {
	case value.KindNone:
		return value.None, nil
	case value.KindDuration:
		return clockMoved(start, length, false)
	}
	d, err := moved(oid, start.Datetime(), length, false, st)
	return value.DatetimeOf(d), err
}

// overlap reports whether two stretches of time have a part in common; NONE where an end that is not known decides it.
func overlap(oid pgtype.OID, x, y [2]value.Value) value.Value {
	x, y = ordered(oid, x), ordered(oid, y)
	if x[0].IsNone() || y[0].IsNone() {
		return value.None
	}
	c := order(oid, x[0], y[0])
	switch {
	case c == 0 && (x[1].IsNone() || y[1].IsNone()):
		return value.None
	case c == 0:
		return value.Bool(true)
	case c > 0:
		x, y = y, x
	}
	// y starts later.
	switch {
	case x[1].IsNone():
		return value.None
	case order(oid, y[0], x[1]) < 0:
		return value.Bool(true)
	case y[1].IsNone():
		return value.None
	}
	return value.Bool(false)
}

// ordered is a stretch of time with its earlier end first, or the one that is known.
func ordered(oid pgtype.OID, x [2]value.Value) [2]value.Value {
	if x[0].IsNone() || !x[1].IsNone() && order(oid, x[0], x[1]) > 0 {
		x[0], x[1] = x[1], x[0]
	}
	return x
}
