package sql

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

func constant(v value.Value, oid pgtype.OID) *bound {
	return &bound{oid: oid, lit: &v, key: "=" + pgtype.Format(oid) + ":" + v.String(), name: "?column?",
		eval: func(*scope) (value.Value, error) { return v, nil }}
}

// column is column i of the row.
func column(i int, c *colBind) *bound {
	return &bound{oid: c.oid, key: "#" + itoa(i), cols: map[int]bool{i: true}, fields: c.fields, name: c.name,
		eval: func(s *scope) (value.Value, error) { return s.row[i], nil }}
}

// expr binds an expression.
func (b *binder) expr(x Expr, ns *names) (*bound, error) {
	if b.depth++; b.depth > 4*mostDepth {
		return nil, sqlstate.New(sqlstate.TooDeep, "the statement nests too deeply")
	}
	defer func() { b.depth-- }()
	if len(ns.groups) > 0 { // an expression of GROUP BY is one value for the group
		plain := &names{cols: ns.cols, outer: ns.outer, where: ns.where}
		if _, isCall := x.(*call); !isCall || !hasAggregate(x, b) {
			if e, err := b.expr(x, plain); err == nil {
				if i, ok := ns.groups[e.key]; ok {
					out := *e
					out.cols, out.lit = nil, nil
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
		inner, up := e.eval, depth
		e.eval = func(s *scope) (value.Value, error) {
			for range up {
				s = s.outer
			}
			return inner(s)
		}
		e.cols, e.outer, e.key = nil, true, "^"+itoa(depth)+e.key
		return e, nil
	}
	name := strings.Join(x.parts, ".")
	if len(x.parts) > 1 {
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
	e := &bound{oid: pgtype.Record, name: name, key: "row " + name}
	var at []int
	for i := range ns.cols {
		if ns.cols[i].table == name {
			at = append(at, i)
			e.uses(&bound{cols: map[int]bool{i: true}})
			e.fields = append(e.fields, Column{Name: ns.cols[i].name, OID: ns.cols[i].oid})
		}
	}
	if at == nil {
		return nil, nil
	}
	if len(at) == 1 { // of a function: its value
		return column(at[0], &ns.cols[at[0]]), nil
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
	e := &bound{oid: b.params[n-1], key: "$" + itoa(n), name: "?column?", outer: false}
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

// coerce makes x of type oid, as an assignment or an argument does: literals and parameters take it, others are
// converted.
func (b *binder) coerce(x *bound, oid pgtype.OID) (*bound, error) {
	switch {
	case oid == 0 || oid == pgtype.Unknown || x.oid == oid:
		return x, nil
	case x.param > 0:
		if b.params[x.param-1] == 0 {
			b.params[x.param-1] = oid
		}
		from := b.params[x.param-1]
		out := *x
		out.oid, out.param = from, 0
		return b.converted(&out, oid)
	case x.lit != nil && x.oid == pgtype.Unknown:
		if x.lit.IsNone() {
			out := constant(value.None, oid)
			out.name = x.name
			return out, nil
		}
		v, err := b.parse(oid, x.lit.Str())
		if err != nil {
			return nil, err
		}
		out := constant(v, oid)
		out.name = x.name
		return out, nil
	}
	return b.converted(x, oid)
}

// parse reads a literal of a type.
func (b *binder) parse(oid pgtype.OID, s string) (value.Value, error) {
	if pgtype.IsReg(oid) {
		if n, err := pgtype.Parse(pgtype.Oid, s, nil); err == nil {
			return n, nil
		}
		id, err := b.env.Object(oid, s)
		return value.Int(id), err
	}
	return pgtype.Parse(oid, s, b.env.Style())
}

// converted is x cast to a type at work.
func (b *binder) converted(x *bound, oid pgtype.OID) (*bound, error) {
	if x.oid == oid || sameForm(x.oid, oid) {
		out := *x
		out.oid = oid
		return &out, nil
	}
	if !castable(x.oid, oid) {
		return nil, sqlstate.New(sqlstate.CannotCoerce, "cannot cast type %s to %s", pgtype.Format(x.oid),
			pgtype.Format(oid))
	}
	from, eval := x.oid, x.eval
	out := &bound{oid: oid, name: x.name, key: x.key + "::" + itoa(int(oid))}
	out.uses(x)
	out.eval = func(s *scope) (value.Value, error) {
		v, err := eval(s)
		if err != nil || v.IsNone() {
			return value.None, err
		}
		return castValue(s.rt.ctx, s.rt.env, v, from, oid)
	}
	return out, nil
}

// sameForm reports whether values of two types are the same.
func sameForm(a, b pgtype.OID) bool {
	text := func(oid pgtype.OID) bool {
		return oid == pgtype.Text || oid == pgtype.Varchar || oid == pgtype.Unknown || oid == pgtype.BPChar ||
			oid == pgtype.NodeTree
	}
	return text(a) && text(b)
}

func (b *binder) castExpr(x *cast, ns *names) (*bound, error) {
	oid, ok := pgtype.Named(x.to.name)
	if !ok {
		return nil, sqlstate.New(sqlstate.UndefinedObject, "type %q does not exist", x.to.name).At(x.to.pos)
	}
	if a, ok := x.x.(*arrayLit); ok && len(a.elems) == 0 && pgtype.IsArray(oid) {
		return constant(value.ArrayOf(nil), oid), nil
	}
	e, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	out, err := b.coerce(e, oid)
	if err != nil {
		return nil, err
	}
	if out == e {
		copied := *e
		out = &copied
	}
	if e.name == "?column?" || e.name == "case" || e.weak {
		if elem := pgtype.ElemOf(oid); elem != 0 && !pgtype.IsVector(oid) {
			oid = elem
		}
		if t := pgtype.Lookup(oid); t != nil {
			out.name, out.weak = t.Name, true
		}
	}
	return out, nil
}

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

func (b *binder) unary(x *unary, ns *names) (*bound, error) {
	if x.op == "not" {
		e, err := b.condition(x.x, ns)
		if err != nil {
			return nil, err
		}
		out := &bound{oid: pgtype.Bool, key: "not " + e.key, name: "?column?"}
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
		return b.arithmetic(op, l, r)
	case "||":
		return b.concat(l, r)
	case "~", "~*", "!~", "!~*", "~~", "!~~", "~~*", "!~~*":
		return b.match(op, l, r)
	case "&", "|", "#", "<<", ">>":
		return b.bits(op, l, r)
	case "@>", "<@", "&&":
		return b.contains(op, l, r)
	case "->", "->>", "#>", "#>>", "?":
		return b.jsonPath(op, l, r)
	}
	return nil, sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist: %s %s %s", pgtype.Format(l.oid),
		op, pgtype.Format(r.oid))
}

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
	out := &bound{oid: pgtype.Bool, key: "(" + l.key + x.op + r.key + ")", name: "?column?"}
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
	out := &bound{oid: pgtype.Bool, key: "(" + l.key + op + r.key + ")", name: "?column?"}
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

var flipped = map[string]string{"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// comparisonWith is a comparison of the column first, which was not converted, with something of the same type.
func comparisonWith(op string, first, l, r *bound) *comparisonOf {
	if flipped[op] == "" || len(l.cols) != 1 || len(r.cols) != 0 || len(first.key) < 2 || first.key[0] != '#' ||
		l.key != first.key {
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
	out := &bound{oid: pgtype.Bool, key: e.key + " is " + x.kind, name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		v, err := e.eval(s)
		if err != nil {
			return value.None, err
		}
		is := v.IsNone()
		switch x.kind {
		case "true":
			is = truth(v)
		case "false":
			is = !v.IsNone() && !truth(v)
		}
		return value.Bool(is != x.not), nil
	}
	if x.not {
		out.key = "not " + out.key
	}
	return out.uses(e), nil
}

func (b *binder) inTest(x *inTest, ns *names) (*bound, error) {
	if x.sub != nil {
		return b.anyTest(&anyTest{x: x.x, op: map[bool]string{false: "=", true: "<>"}[x.not], sub: x.sub, all: x.not},
			ns)
	}
	var or Expr
	for _, e := range x.list {
		eq := Expr(&binary{op: "=", l: x.x, r: e})
		if or == nil {
			or = eq
		} else {
			or = &binary{op: "or", l: or, r: eq}
		}
	}
	if x.not {
		or = &unary{"not", or}
	}
	return b.expr(or, ns)
}

func (b *binder) between(x *between, ns *names) (*bound, error) {
	var e Expr = &binary{op: "and", l: &binary{op: ">=", l: x.x, r: x.low}, r: &binary{op: "<=", l: x.x, r: x.high}}
	if x.not {
		e = &unary{"not", e}
	}
	return b.expr(e, ns)
}

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
		out.key += e.key + ","
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
		out.key += list[i].key + ","
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
	out := &bound{oid: elem, name: arr.name, key: arr.key + "["}
	if x.slice {
		out.oid = arrayType(elem)
	}
	for _, i := range []*bound{lo, hi} {
		if i != nil {
			out.key += i.key + ":"
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
		out := &bound{oid: f.OID, key: e.key + "." + x.name, name: x.name}
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

func (b *binder) caseExpr(x *caseExpr, ns *names) (*bound, error) {
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
		cond := w[0]
		if x.x != nil {
			cond = &binary{op: "=", l: x.x, r: w[0]}
		}
		c, err := b.condition(cond, ns)
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
		out.key += t.key + ","
	}
	for _, c := range conds {
		out.key += c.key + ","
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
