package sql

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// condition binds an expression that is true or false.
func (b *binder) condition(x Expr, ns *names) (*bound, error) {
	e, err := b.expr(x, ns)
	if err != nil {
		return nil, err
	}
	if e.oid == pgtype.Unknown {
		return b.coerce(e, pgtype.Bool)
	}
	if e.oid != pgtype.Bool {
		return nil, sqlstate.New(sqlstate.TypeMismatch, "argument of %s must be type boolean, not type %s", ns.where,
			pgtype.Format(e.oid))
	}
	return e, nil
}

func truth(v value.Value) bool { return v.Kind() == value.KindBool && v.Bool() }

func (b *binder) logic(x *binary, ns *names) (*bound, error) {
	l, err := b.condition(x.l, ns)
	if err != nil {
		return nil, err
	}
	r, err := b.condition(x.r, ns)
	if err != nil {
		return nil, err
	}
	stop := x.op == "or" // the value that decides
	out := &bound{oid: pgtype.Bool, key: keyed("(", l.key, x.op, r.key, ")"), name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		a, err := l.eval(s)
		if err != nil {
			return value.None, err
		}
		if !a.IsNone() && truth(a) == stop {
			return a, nil
		}
		c, err := r.eval(s)
		if err != nil {
			return value.None, err
		}
		if !c.IsNone() && truth(c) == stop {
			return c, nil
		}
		if a.IsNone() || c.IsNone() {
			return value.None, nil
		}
		return value.Bool(!stop), nil
	}
	return out.uses(l, r), nil
}

// unify makes two expressions of one type.
func (b *binder) unify(l, r *bound) (_, _ *bound, oid pgtype.OID, err error) {
	oid = common(l.oid, r.oid)
	if oid == 0 {
		return nil, nil, 0, sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist: %s = %s",
			pgtype.Format(l.oid), pgtype.Format(r.oid)).
			Hinted("No operator matches the given types. Add explicit casts.")
	}
	target := oid
	if target == pgtype.Unknown {
		target = pgtype.Text
	}
	if l, err = b.coerce(l, target); err != nil {
		return nil, nil, 0, err
	}
	if r, err = b.coerce(r, target); err != nil {
		return nil, nil, 0, err
	}
	return l, r, target, nil
}

// compare binds a comparison.
func (b *binder) compare(op string, l, r *bound) (*bound, error) {
	first, second := l, r
	l, r, oid, err := b.unify(l, r)
	if err != nil {
		return nil, err
	}
	if op == "=" || op == "<>" || op == "is distinct from" {
		l, r = spelled(l, first, second), spelled(r, second, first)
	}
	out := &bound{oid: pgtype.Bool, key: keyed("(", l.key, op, r.key, ")"), name: "?column?"}
	out.uses(l, r)
	out.eval = func(s *scope) (value.Value, error) {
		x, err := l.eval(s)
		if err != nil {
			return value.None, err
		}
		y, err := r.eval(s)
		if err != nil {
			return value.None, err
		}
		if op == "is distinct from" {
			return value.Bool(x.IsNone() != y.IsNone() || !x.IsNone() && order(oid, x, y) != 0), nil
		}
		if x.IsNone() || y.IsNone() {
			return value.None, nil
		}
		return value.Bool(holds(op, order(oid, x, y))), nil
	}
	if op == "=" {
		out.equalL, out.equalR = l, r
	}
	out.compares = comparisonWith(op, first, l, r)
	if out.compares == nil {
		out.compares = comparisonWith(flipped[op], second, r, l)
	}
	return out, nil
}

// spelled is the side x of a comparison, which was made of from, as the column on the other side spells it.
func spelled(x, from, other *bound) *bound {
	spell := other.spell
	if spell == nil || from.spell != nil || len(x.cols) > 0 || x.outer || x.varies || !pgtype.IsText(x.oid) {
		return x
	}
	if x.lit != nil && x.lit.Kind() == value.KindString {
		out := constant(value.Str(spell(x.lit.Str())), x.oid)
		out.name = x.name
		return out
	}
	return x.altered(func(s *scope) (value.Value, error) {
		v, err := x.eval(s)
		if err != nil || v.Kind() != value.KindString {
			return v, err
		}
		return value.Str(spell(v.Str())), nil
	})
}

var flipped = map[string]string{"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// comparisonWith is a comparison of the column first, which was not converted, with something of the same type.
func comparisonWith(op string, first, l, r *bound) *comparisonOf {
	if _, is := first.isColumn(); !is || flipped[op] == "" || len(r.cols) != 0 || r.varies || l.key != first.key {
		return nil
	}
	for c := range l.cols {
		return &comparisonOf{col: c, op: op, with: r}
	}
	return nil
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func (b *binder) rowCompare(op string, l, r *rowExpr, ns *names) (*bound, error) {
	if len(l.elems) != len(r.elems) || op != "=" && op != "<>" {
		return nil, sqlstate.New(sqlstate.SyntaxError,
			"rows of different length, or an order of rows, cannot be compared")
	}
	var x Expr
	for i := range l.elems {
		eq := Expr(&binary{op: "=", l: l.elems[i], r: r.elems[i]})
		if x == nil {
			x = eq
		} else {
			x = &binary{op: "and", l: x, r: eq}
		}
	}
	if op == "<>" {
		x = &unary{"not", x}
	}
	return b.expr(x, ns)
}

func (b *binder) isTest(x *isTest, ns *names) (*bound, error) {
	e, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	if x.kind != "null" {
		if e, err = b.coerce(e, pgtype.Bool); err != nil {
			return nil, err
		}
	}
	out := &bound{oid: pgtype.Bool, key: keyed(e.key, " is ", x.kind), name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		v, err := e.eval(s)
		if err != nil {
			return value.None, err
		}
		is := v.IsNone()
		switch x.kind {
		case "null":
			if e.oid == pgtype.Record && !is { // all of its values are, or none is
				is = !slices.ContainsFunc(elems(v), func(f value.Value) bool { return f.IsNone() == x.not })
				return value.Bool(is), nil
			}
		case "true":
			is = truth(v)
		case "false":
			is = !v.IsNone() && !truth(v)
		}
		return value.Bool(is != x.not), nil
	}
	if x.not {
		out.key = keyed("not ", out.key)
	}
	return out.uses(e), nil
}

// held is an operand in the place of its expression: it is bound, and its value is known.
type held struct{ x *bound }

// once binds a test that has operands in several places. One that is more than a name is bound once, and evaluated once
// for each row.
//
// SECURITY: nested, such operands take time that doubles with every level.
func (b *binder) once(ns *names, operands []Expr, test func(operands []Expr) Expr) (*bound, error) {
	var known []*bound
	values := new([]value.Value)
	hold := func(list []Expr) ([]Expr, error) {
		out := make([]Expr, len(list))
		for i, x := range list {
			switch x.(type) {
			case *literal, *colRef, *paramRef, *held:
				out[i] = x
				continue
			}
			e, err := b.expr(x, ns)
			if err != nil {
				return nil, err
			}
			n := len(known)
			out[i] = &held{e.altered(func(*scope) (value.Value, error) { return (*values)[n], nil })}
			known = append(known, e)
		}
		return out, nil
	}
	list := make([]Expr, len(operands))
	for i, x := range operands {
		row, isRow := x.(*rowExpr)
		if !isRow {
			row = &rowExpr{elems: operands[i : i+1]}
		}
		elems, err := hold(row.elems)
		if err != nil {
			return nil, err
		}
		if list[i] = elems[0]; isRow {
			list[i] = &rowExpr{elems: elems}
		}
	}
	e, err := b.expr(test(list), ns)
	if err != nil || len(known) == 0 {
		return e, err
	}
	return e.altered(func(s *scope) (value.Value, error) {
		vs, err := evalAll(known, s)
		if err != nil {
			return value.None, err
		}
		*values = vs
		return e.eval(s)
	}), nil
}

func (b *binder) inTest(x *inTest, ns *names) (*bound, error) {
	if x.sub != nil {
		return b.anyTest(&anyTest{x: x.x, op: map[bool]string{false: "=", true: "<>"}[x.not], sub: x.sub, all: x.not},
			ns)
	}
	return b.once(ns, []Expr{x.x}, func(operands []Expr) Expr {
		var or Expr
		for _, e := range x.list {
			eq := Expr(&binary{op: "=", l: operands[0], r: e})
			if or == nil {
				or = eq
			} else {
				or = &binary{op: "or", l: or, r: eq}
			}
		}
		return negated(or, x.not)
	})
}

func (b *binder) between(x *between, ns *names) (*bound, error) {
	within := func(x, low, high Expr) Expr {
		return &binary{op: "and", l: &binary{op: ">=", l: x, r: low}, r: &binary{op: "<=", l: x, r: high}}
	}
	if !x.symmetric {
		return b.once(ns, []Expr{x.x}, func(operands []Expr) Expr {
			return negated(within(operands[0], x.low, x.high), x.not)
		})
	}
	return b.once(ns, []Expr{x.x, x.low, x.high}, func(o []Expr) Expr {
		return negated(&binary{op: "or", l: within(o[0], o[1], o[2]), r: within(o[0], o[2], o[1])}, x.not)
	})
}

// negated is x, or NOT x.
func negated(x Expr, not bool) Expr {
	if not {
		return &unary{"not", x}
	}
	return x
}
