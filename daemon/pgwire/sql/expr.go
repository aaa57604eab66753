package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

func constant(v value.Value, oid pgtype.OID) *bound {
	out := &bound{oid: oid, lit: &v, fixed: true, key: "=" + pgtype.Format(oid) + ":" + v.String(), name: "?column?",
		eval: func(*scope) (value.Value, error) { return v, nil }}
	if pgtype.IsInt(oid) && v.Kind() == value.KindInt {
		n := v.Int()
		out.whole = func(*scope) (int64, bool, error) { return n, true, nil }
	}
	return out
}

// use notes that an expression looks at the column.
func (c *colBind) use() {
	if c.used != nil {
		*c.used = true
	}
}

// column is column i of the row.
func column(i int, c *colBind) *bound {
	c.use()
	out := &bound{oid: c.oid, key: "#" + itoa(i), cols: map[int]bool{i: true}, fields: c.fields, name: c.name,
		spell: c.origin.Spell,
		eval:  func(s *scope) (value.Value, error) { return s.row[i], nil }}
	if pgtype.IsInt(c.oid) {
		out.whole = func(s *scope) (int64, bool, error) {
			if v := &s.row[i]; v.Kind() == value.KindInt {
				return v.Int(), true, nil
			}
			return 0, false, nil
		}
	}
	return out
}

// mostBindings is how many expressions are bound for a statement. One that fits a message has fewer, unless they are
// bound again and again.
//
// SECURITY: below GROUP BY an expression is bound twice, for it may be one of those. Where queries are inside of
// queries that doubles at each level.
const mostBindings = 10_000_000

// otherQuery reports whether x is a query that GROUP BY has not.
func otherQuery(x Expr, ns *names) bool {
	q, ok := x.(interface{ key() string })
	if ok {
		_, ok = ns.groups[q.key()]
		return !ok
	}
	return false
}

// expr binds an expression.
func (b *binder) expr(x Expr, ns *names) (*bound, error) {
	if b.depth++; b.depth > 4*mostDepth {
		return nil, sqlstate.New(sqlstate.TooDeep, "the statement nests too deeply")
	}
	defer func() { b.depth-- }()
	if b.bindings++; b.bindings > mostBindings {
		return nil, sqlstate.New(sqlstate.TooDeep, "the statement is too complex")
	}
	if len(ns.groups) > 0 && !otherQuery(x, ns) { // what GROUP BY has is one value for the group
		plain := &names{cols: ns.cols, outer: ns.outer, where: ns.where}
		if _, isCall := x.(*call); !isCall || !hasAggregate(x, b) {
			if e, err := b.expr(x, plain); err == nil {
				if i, ok := ns.groups[e.key]; ok {
					out := *e
					out.cols, out.lit, out.whole = nil, nil, nil
					out.eval = func(s *scope) (value.Value, error) { return s.aggs[i], nil }
					return &out, nil
				}
			}
		}
	}
	switch x := x.(type) {
	case *literal:
		e := constant(x.v, x.oid)
		return e, nil
	case *colRef:
		return b.colRef(x, ns)
	case *indexed:
		if ns.groups != nil || ns.aggs != nil {
			return nil, sqlstate.New(sqlstate.GroupingError,
				"column %q must appear in the GROUP BY clause or be used in an aggregate function", ns.cols[x.i].name)
		}
		return column(x.i, &ns.cols[x.i]), nil
	case *held:
		return x.x, nil
	case *rowOrColumn:
		return b.colRef(x.colRef, ns)
	case *paramRef:
		return b.param(x.n), nil
	case *unary:
		return b.unary(x, ns)
	case *binary:
		return b.binary(x, ns)
	case *cast:
		return b.castExpr(x, ns)
	case *caseExpr:
		return b.caseExpr(x, ns)
	case *call:
		return b.call(x, ns)
	case *isTest:
		return b.isTest(x, ns)
	case *inTest:
		return b.inTest(x, ns)
	case *between:
		return b.between(x, ns)
	case *anyTest:
		return b.anyTest(x, ns)
	case *exists:
		return b.exists(x, ns)
	case *scalarSub:
		return b.scalarSub(x, ns)
	case *arrayLit:
		return b.arrayLit(x, ns)
	case *arraySub:
		return b.arraySub(x, ns)
	case *rowExpr:
		return b.rowExpr(x, ns)
	case *index:
		return b.index(x, ns)
	case *fieldOf:
		return b.fieldOf(x, ns)
	case *star:
		return nil, sqlstate.New(sqlstate.SyntaxError, "\"*\" is not allowed here")
	}
	return nil, sqlstate.New(sqlstate.FeatureNotSupported, "this expression is not supported")
}

func (b *binder) unary(x *unary, ns *names) (*bound, error) {
	if x.op == "not" {
		e, err := b.condition(x.x, ns)
		if err != nil {
			return nil, err
		}
		out := &bound{oid: pgtype.Bool, key: keyed("not ", e.key), name: "?column?"}
		out.eval = func(s *scope) (value.Value, error) {
			v, err := e.eval(s)
			if err != nil || v.IsNone() {
				return value.None, err
			}
			return value.Bool(!truth(v)), nil
		}
		return out.uses(e), nil
	}
	if l, ok := x.x.(*literal); ok && l.v.Kind() == value.KindInt {
		return constant(value.Int(-l.v.Int()), l.oid), nil
	}
	e, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	if e.oid == pgtype.Interval || e.oid == pgtype.Time {
		return negatedInterval(e), nil
	}
	zero := constant(value.Int(0), pgtype.Int4)
	if e.oid == pgtype.Numeric || e.oid == pgtype.Float8 {
		zero = constant(value.Int(0), pgtype.Int4)
	}
	return b.arithmetic("-", zero, e)
}

func (b *binder) binary(x *binary, ns *names) (*bound, error) {
	if x.op == "and" || x.op == "or" {
		return b.logic(x, ns)
	}
	if l, ok := x.l.(*rowExpr); ok {
		if r, ok := x.r.(*rowExpr); ok {
			return b.rowCompare(x.op, l, r, ns)
		}
	}
	l, err := b.expr(x.l, ns)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(x.r, ns)
	if err != nil {
		return nil, err
	}
	e, err := b.operator(x.op, l, r)
	if se, ok := err.(*sqlstate.Error); ok && x.pos > 0 && se.Code == sqlstate.UndefinedFunction {
		return nil, se
	}
	return e, err
}

// operator binds an operator.
func (b *binder) operator(op string, l, r *bound) (*bound, error) {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=", "is distinct from":
		return b.compare(op, l, r)
	case "+", "-", "*", "/", "%", "^":
		if op == "-" && l.oid == pgtype.JSONB {
			return b.jsonMinus(op, l, r)
		}
		return b.arithmetic(op, l, r)
	case "||":
		return b.concat(l, r)
	case "~", "~*", "!~", "!~*", "~~", "!~~", "~~*", "!~~*":
		return b.match(op, l, r)
	case "&", "|", "#", "<<", ">>":
		return b.bits(op, l, r)
	case "@>", "<@", "&&":
		return b.contains(op, l, r)
	case "->", "->>", "#>", "#>>":
		return b.jsonPath(op, l, r)
	case "?", "?|", "?&":
		return b.jsonHas(op, l, r)
	case "#-":
		if l, err := b.coerce(l, pgtype.JSONB); err == nil {
			return b.jsonMinus(op, l, r)
		}
	}
	return nil, sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist: %s %s %s", pgtype.Format(l.oid),
		op, pgtype.Format(r.oid))
}

func (b *binder) caseExpr(x *caseExpr, ns *names) (*bound, error) {
	if x.x != nil {
		return b.once(ns, []Expr{x.x}, func(operands []Expr) Expr {
			out := &caseExpr{els: x.els}
			for _, w := range x.whens {
				out.whens = append(out.whens, [2]Expr{&binary{op: "=", l: operands[0], r: w[0]}, w[1]})
			}
			return out
		})
	}
	var conds, thens []*bound
	oid := pgtype.OID(0)
	add := func(e Expr) error {
		t, err := b.expr(e, ns)
		if err != nil {
			return err
		}
		thens = append(thens, t)
		was := oid
		if oid = common(oid, t.oid); oid == 0 {
			return sqlstate.New(sqlstate.TypeMismatch, "CASE types %s and %s cannot be matched", pgtype.Format(was),
				pgtype.Format(t.oid))
		}
		return nil
	}
	for _, w := range x.whens {
		c, err := b.condition(w[0], ns)
		if err != nil {
			return nil, err
		}
		conds = append(conds, c)
		if err := add(w[1]); err != nil {
			return nil, err
		}
	}
	if x.els != nil {
		if err := add(x.els); err != nil {
			return nil, err
		}
	}
	if oid == pgtype.Unknown {
		oid = pgtype.Text
	}
	out := &bound{oid: oid, key: "case(", name: "case"}
	if x.els != nil {
		if last := thens[len(thens)-1]; last.name != "?column?" && !last.weak {
			out.name = last.name
		}
	}
	for i := range thens {
		t, err := b.coerce(thens[i], oid)
		if err != nil {
			return nil, err
		}
		thens[i] = t
		out.key = keyed(out.key, t.key, ",")
	}
	for _, c := range conds {
		out.key = keyed(out.key, c.key, ",")
	}
	out.eval = func(s *scope) (value.Value, error) {
		for i, c := range conds {
			v, err := c.eval(s)
			if err != nil {
				return value.None, err
			}
			if truth(v) {
				return thens[i].eval(s)
			}
		}
		if len(thens) > len(conds) {
			return thens[len(thens)-1].eval(s)
		}
		return value.None, nil
	}
	return out.uses(append(append([]*bound(nil), conds...), thens...)...), nil
}
