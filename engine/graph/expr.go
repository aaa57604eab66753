package graph

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// evalFn is an expression ready to run on the current row; slotFn is one whose value may be a record, a list or a path.
type (
	evalFn func(x *runner) (value.Value, error)
	slotFn func(x *runner) (slot, error)
)

// kindName names the kind of a value in errors.
func kindName(v value.Value) string { return v.Kind().String() }

// slotExpr binds an expression that may be a variable as a whole.
func (b *binder) slotExpr(e gql.Expr, sc *scope) (slotFn, varKind, error) {
	if ref, ok := e.(*gql.Ref); ok {
		v, err := b.lookup(sc, ref.Name)
		if err != nil {
			return nil, varValue, err
		}
		at := v.slot
		return func(x *runner) (slot, error) { return x.row[at], nil }, v.kind, nil
	}
	f, err := b.expr(e, sc)
	if err != nil {
		return nil, varValue, err
	}
	return func(x *runner) (slot, error) {
		v, err := f(x)
		return valueSlot(v), err
	}, varValue, nil
}

// expr binds an expression in value position.
func (b *binder) expr(e gql.Expr, sc *scope) (evalFn, error) {
	switch e := e.(type) {
	case *gql.Literal:
		v := e.Value
		return func(*runner) (value.Value, error) { return v, nil }, nil
	case *gql.Param:
		name := e.Name.Text
		return func(x *runner) (value.Value, error) {
			v, ok := x.r.Base.Lookup(name)
			if !ok {
				return value.Null, nil
			}
			return v, nil
		}, nil
	case *gql.Ref:
		v, err := b.lookup(sc, e.Name)
		if err != nil {
			return nil, err
		}
		at := v.slot
		return func(x *runner) (value.Value, error) { return x.value(&x.row[at]) }, nil
	case *gql.Prop:
		return b.prop(e, sc)
	case *gql.List:
		return b.list(e.Elems, sc)
	case *gql.Map:
		return b.object(e.Fields, sc)
	case *gql.Binary:
		return b.binary(e, sc)
	case *gql.Unary:
		return b.unary(e, sc)
	case *gql.Aggregate:
		return b.aggregate(e, sc)
	case *gql.Func:
		return b.function(e, sc)
	case *gql.Case:
		return b.caseOf(e, sc)
	case *gql.Cast:
		return b.cast(e, sc)
	case *gql.Scalar:
		return b.scalar(e, sc)
	case *gql.LetIn:
		return b.letIn(e, sc)
	case *gql.PathOf:
		return b.pathOf(e, sc)
	case *gql.Operand:
		v := sc.find(operandName)
		at := v.slot
		return func(x *runner) (value.Value, error) { return x.value(&x.row[at]) }, nil
	}
	// The tests are two-valued, or unknown where an operand is null.
	c, err := b.cond(e, sc)
	if err != nil {
		return nil, err
	}
	return func(x *runner) (value.Value, error) {
		t, err := c(x)
		return t.value(), err
	}, nil
}

func (b *binder) exprs(es []gql.Expr, sc *scope) ([]evalFn, error) {
	out := make([]evalFn, len(es))
	for i, e := range es {
		var err error
		if out[i], err = b.expr(e, sc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// prop binds x.name. A property of a record that is not there is null.
func (b *binder) prop(e *gql.Prop, sc *scope) (evalFn, error) {
	name := e.Name.Text
	ref, ok := e.X.(*gql.Ref)
	if !ok {
		of, err := b.expr(e.X, sc)
		if err != nil {
			return nil, err
		}
		return func(x *runner) (value.Value, error) {
			v, err := of(x)
			if err != nil {
				return value.None, err
			}
			return x.r.FieldOf(x.ctx, v, name)
		}, nil
	}
	v, err := b.lookup(sc, ref.Name)
	if err != nil {
		return nil, err
	}
	at := v.slot
	switch v.kind {
	case varGroup, varPath:
		if !b.inAgg || v.kind == varPath {
			return nil, b.fail(e.Name.Span, "Property access on a group or path variable is not supported yet")
		}
	case varNode, varEdge:
		if name == "id" {
			return func(x *runner) (value.Value, error) {
				s := &x.row[at]
				if s.kind != isNode && s.kind != isEdge {
					return x.value(s)
				}
				if ok, err := x.load(s); err != nil || !ok {
					return value.Null, err
				}
				return x.property(s, name)
			}, nil
		}
	}
	return func(x *runner) (value.Value, error) { return x.property(&x.row[at], name) }, nil
}

// property is a field of what a slot holds.
func (x *runner) property(s *slot, name string) (value.Value, error) {
	switch s.kind {
	case isNode, isEdge:
		return x.field(s, name)
	case isNull:
		return value.None, nil
	}
	v, err := x.value(s)
	if err != nil {
		return value.None, err
	}
	return x.r.FieldOf(x.ctx, v, name)
}

func (b *binder) list(elems []gql.Expr, sc *scope) (evalFn, error) {
	fs, err := b.exprs(elems, sc)
	if err != nil {
		return nil, err
	}
	return func(x *runner) (value.Value, error) {
		out := make([]value.Value, len(fs))
		for i, f := range fs {
			if out[i], err = f(x); err != nil {
				return value.None, err
			}
		}
		return x.r.Checked(value.ArrayOf(out))
	}, nil
}

func (b *binder) object(fields []gql.Field, sc *scope) (evalFn, error) {
	fs := make([]evalFn, len(fields))
	for i, f := range fields {
		var err error
		if fs[i], err = b.expr(f.X, sc); err != nil {
			return nil, err
		}
	}
	return func(x *runner) (value.Value, error) {
		out := make([]value.Field, len(fs))
		for i, f := range fs {
			v, err := f(x)
			if err != nil {
				return value.None, err
			}
			out[i] = value.Field{Name: fields[i].Name.Text, Value: v}
		}
		return x.r.Checked(value.ObjectOf(value.NewObject(out...)))
	}, nil
}

var operators = map[gql.Op]ast.BinaryOp{gql.Equal: ast.OpEqual, gql.NotEqual: ast.OpNotEqual, gql.Less: ast.OpLess,
	gql.LessEqual: ast.OpLessEqual, gql.More: ast.OpMore, gql.MoreEqual: ast.OpMoreEqual, gql.Add: ast.OpAdd,
	gql.Sub: ast.OpSub,
	gql.Mul: ast.OpMul, gql.Div: ast.OpDiv}

// binary binds an operator in value position, where comparisons are never unknown.
func (b *binder) binary(e *gql.Binary, sc *scope) (evalFn, error) {
	l, err := b.expr(e.L, sc)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(e.R, sc)
	if err != nil {
		return nil, err
	}
	op := e.Op
	switch op {
	case gql.Or, gql.And:
		return func(x *runner) (value.Value, error) {
			v, err := l(x)
			if err != nil {
				return value.None, err
			}
			if value.Truthy(v) == (op == gql.Or) {
				return value.Bool(op == gql.Or), nil
			}
			v, err = r(x)
			return value.Bool(value.Truthy(v)), err
		}, nil
	case gql.Xor:
		c, err := b.cond(e, sc)
		return func(x *runner) (value.Value, error) {
			t, err := c(x)
			return t.value(), err
		}, err
	}
	return func(x *runner) (value.Value, error) {
		v, err := l(x)
		if err != nil {
			return value.None, err
		}
		w, err := r(x)
		if err != nil {
			return value.None, err
		}
		if op >= gql.Equal && op <= gql.MoreEqual {
			return x.r.Operate(x.ctx, operators[op], v, w)
		}
		if v.IsNullish() || w.IsNullish() {
			return value.Null, nil
		}
		if op == gql.Concatenate {
			return x.concatenate(v, w)
		}
		return x.r.Operate(x.ctx, operators[op], v, w)
	}, nil
}

// concatenate is || on strings, lists and paths.
func (x *runner) concatenate(v, w value.Value) (value.Value, error) {
	switch {
	case v.Kind() == value.KindString && w.Kind() == value.KindString:
	case v.Kind() == value.KindArray && w.Kind() == value.KindArray:
	default:
		return value.None, errs.Internal("Cannot concatenate %s and %s", kindName(v), kindName(w))
	}
	return x.r.Operate(x.ctx, ast.OpAdd, v, w)
}

func (b *binder) unary(e *gql.Unary, sc *scope) (evalFn, error) {
	f, err := b.expr(e.X, sc)
	if err != nil {
		return nil, err
	}
	op := e.Op
	return func(x *runner) (value.Value, error) {
		v, err := f(x)
		switch {
		case err != nil:
			return value.None, err
		case op == gql.Not:
			return value.Bool(!value.Truthy(v)), nil
		case v.IsNullish():
			return value.Null, nil
		case op == gql.Minus:
			return value.Neg(v)
		case !v.Kind().IsNumber() && v.Kind() != value.KindDuration:
			return value.None, errs.Internal("A sign needs a number, found %s", kindName(v))
		}
		return v, nil
	}, nil
}

// operandName is the variable that holds the operand of CASE; no text can name it.
const operandName = "\x00operand"

func (b *binder) caseOf(e *gql.Case, sc *scope) (evalFn, error) {
	inner, at := sc, -1
	var operand evalFn
	if e.Operand != nil {
		var err error
		if operand, err = b.expr(e.Operand, sc); err != nil {
			return nil, err
		}
		inner = newScope(sc)
		v := b.declare(inner, operandName, varValue)
		at = v.slot
	}
	type branch struct {
		conds []condFn
		then  evalFn
	}
	branches := make([]branch, len(e.Whens))
	for i, w := range e.Whens {
		for _, c := range w.Conds {
			f, err := b.cond(c, inner)
			if err != nil {
				return nil, err
			}
			branches[i].conds = append(branches[i].conds, f)
		}
		var err error
		if branches[i].then, err = b.expr(w.Then, sc); err != nil {
			return nil, err
		}
	}
	other := func(*runner) (value.Value, error) { return value.Null, nil }
	if e.Else != nil {
		var err error
		if other, err = b.expr(e.Else, sc); err != nil {
			return nil, err
		}
	}
	return func(x *runner) (value.Value, error) {
		if operand != nil {
			v, err := operand(x)
			if err != nil {
				return value.None, err
			}
			x.row[at] = valueSlot(v)
		}
		for _, br := range branches {
			for _, c := range br.conds {
				t, err := c(x)
				if err != nil {
					return value.None, err
				}
				if t == yes {
					return br.then(x)
				}
			}
		}
		return other(x)
	}, nil
}

func (b *binder) letIn(e *gql.LetIn, sc *scope) (evalFn, error) {
	inner := newScope(sc)
	fs, slots := make([]evalFn, len(e.Items)), make([]int, len(e.Items))
	for i, f := range e.Items {
		var err error
		if fs[i], err = b.expr(f.X, sc); err != nil {
			return nil, err
		}
	}
	for i, f := range e.Items {
		if inner.vars[f.Name.Text] != nil {
			return nil, b.fail(f.Name.Span, "Variable `%s` is already bound", f.Name.Text)
		}
		slots[i] = b.declare(inner, f.Name.Text, varValue).slot
	}
	body, err := b.expr(e.X, inner)
	if err != nil {
		return nil, err
	}
	return func(x *runner) (value.Value, error) {
		for i, f := range fs {
			v, err := f(x)
			if err != nil {
				return value.None, err
			}
			x.row[slots[i]] = valueSlot(v)
		}
		return body(x)
	}, nil
}

// subquery binds a query inside of an expression, which may not write.
func (b *binder) subquery(q *gql.Query, sc *scope, at gql.Span, result bool) (*query, error) {
	writes, aggs, inAgg := b.writes, b.aggs, b.inAgg
	b.writes, b.aggs, b.inAgg = false, nil, false
	out, err := b.query(q, newScope(sc), need{result: result})
	wrote := b.writes
	b.writes, b.aggs, b.inAgg = writes, aggs, inAgg
	if err == nil && wrote {
		err = b.fail(at, "A query inside of an expression may not write")
	}
	return out, err
}

func (b *binder) scalar(e *gql.Scalar, sc *scope) (evalFn, error) {
	q, err := b.subquery(e.Query, sc, e.Span, true)
	if err != nil {
		return nil, err
	}
	if len(q.columns) != 1 {
		return nil, b.fail(e.Span, "VALUE { … } needs a query with exactly one column")
	}
	return func(x *runner) (value.Value, error) {
		out, n := value.Null, 0
		err := x.nested(q, func(cols []slot) error {
			if n++; n > 1 {
				return errs.Internal("VALUE { … } found more than one row")
			}
			var err error
			out, err = x.value(&cols[0])
			return err
		})
		return out, err
	}, nil
}

// nested runs a query inside of an expression; what it binds is taken back.
func (x *runner) nested(q *query, f func([]slot) error) error {
	if err := x.r.Enter(x.ctx); err != nil {
		return err
	}
	defer x.r.Leave()
	aggs := x.aggs
	err := q.run(x, nil, f)
	x.aggs = aggs
	return err
}

// pathOf binds PATH[n, e, m].
func (b *binder) pathOf(e *gql.PathOf, sc *scope) (evalFn, error) {
	if len(e.Elems)%2 == 0 {
		return nil, b.fail(e.Span, "A path is nodes with an edge between each two of them")
	}
	for i, x := range e.Elems {
		ref, ok := x.(*gql.Ref)
		want := varNode
		if i%2 == 1 {
			want = varEdge
		}
		if ok {
			v, err := b.lookup(sc, ref.Name)
			if err != nil {
				return nil, err
			}
			ok = v.kind == want
		}
		if !ok {
			return nil, b.fail(e.Span, "A path is nodes with an edge between each two of them")
		}
	}
	fs, err := b.exprs(e.Elems, sc)
	if err != nil {
		return nil, err
	}
	return func(x *runner) (value.Value, error) {
		out := make([]value.Value, len(fs))
		for i, f := range fs {
			if out[i], err = f(x); err != nil {
				return value.None, err
			}
			if out[i].IsNullish() {
				return value.Null, nil
			}
			if i >= 2 && i%2 == 0 && !joins(out[i-2], out[i-1], out[i]) {
				return value.None, errs.Internal("An edge of a path must join the nodes beside it")
			}
		}
		return x.r.Checked(value.ArrayOf(out))
	}, nil
}

// joins reports whether an edge lies between two nodes.
func joins(a, e, c value.Value) bool {
	at := func(v value.Value, name string) value.Value {
		if v.Kind() != value.KindObject {
			return value.None
		}
		w, _ := v.Object().Get(name)
		return w
	}
	in, out := at(e, "in"), at(e, "out")
	from, to := at(a, "id"), at(c, "id")
	return value.Equal(in, from) && value.Equal(out, to) || value.Equal(in, to) && value.Equal(out, from)
}
