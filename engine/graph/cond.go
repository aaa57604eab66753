package graph

import (
	"golang.org/x/text/unicode/norm"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// truth is a truth value of three-valued logic.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

// condFn is a condition ready to run on the current row.
type condFn func(x *runner) (truth, error)

func (t truth) value() value.Value {
	if t == unknown {
		return value.Null
	}
	return value.Bool(t == yes)
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// notIf is t, or its opposite where not is set.
func notIf(t truth, not bool) truth {
	if not {
		return t.not()
	}
	return t
}

// cond binds an expression in condition position.
func (b *binder) cond(e gql.Expr, sc *scope) (condFn, error) {
	switch e := e.(type) {
	case *gql.Binary:
		if e.Op <= gql.And {
			return b.logic(e, sc)
		}
		if e.Op >= gql.Equal && e.Op <= gql.MoreEqual {
			return b.comparison(e, sc)
		}
	case *gql.Unary:
		if e.Op == gql.Not {
			c, err := b.cond(e.X, sc)
			return func(x *runner) (truth, error) {
				t, err := c(x)
				return t.not(), err
			}, err
		}
	case *gql.Is:
		c, err := b.cond(e.X, sc)
		want := [...]truth{yes, no, unknown}[e.Truth]
		not := e.Not
		return func(x *runner) (truth, error) {
			t, err := c(x)
			return truthOf((t == want) != not), err
		}, err
	case *gql.IsNull:
		f, err := b.slotOf(e.X, sc)
		not := e.Not
		return func(x *runner) (truth, error) {
			s, err := f(x)
			if err != nil {
				return no, err
			}
			null := s.kind == isNull
			if s.kind == isNode || s.kind == isEdge {
				ok, err := x.load(&s)
				if err != nil {
					return no, err
				}
				null = !ok
			}
			return truthOf(null != not), nil
		}, err
	case *gql.IsTyped:
		f, err := b.slotOf(e.X, sc)
		t, not := e.Type, e.Not
		return func(x *runner) (truth, error) {
			s, err := f(x)
			if err != nil {
				return no, err
			}
			ok, err := x.hasType(&s, t)
			return truthOf(ok != not), err
		}, err
	case *gql.Exists:
		return b.exists(e, sc)
	case *gql.IsLabeled:
		return b.labeled(e, sc)
	case *gql.IsEnd:
		return b.isEnd(e, sc)
	case *gql.IsDirected:
		f, err := b.slotOf(e.X, sc)
		not := e.Not
		return func(x *runner) (truth, error) {
			s, err := f(x)
			switch {
			case err != nil:
				return no, err
			case s.kind == isNull:
				return unknown, nil
			case s.kind != isEdge:
				return no, errs.Internal("IS DIRECTED needs an edge")
			}
			return truthOf(!not), nil
		}, err
	case *gql.IsNormalized:
		return b.normalized(e, sc)
	case *gql.Func:
		if e.Name == "ALL_DIFFERENT" || e.Name == "SAME" {
			return b.elementsTest(e, sc)
		}
	}
	f, err := b.expr(e, sc)
	return func(x *runner) (truth, error) {
		v, err := f(x)
		if err != nil || v.Kind() != value.KindBool {
			return unknown, err // a value that is no truth value is neither TRUE nor FALSE
		}
		return truthOf(v.Bool()), nil
	}, err
}

// slotOf is slotExpr where the kind does not matter.
func (b *binder) slotOf(e gql.Expr, sc *scope) (slotFn, error) {
	if _, ok := e.(*gql.Operand); ok {
		at := sc.find(operandName).slot
		return func(x *runner) (slot, error) { return x.row[at], nil }, nil
	}
	f, _, err := b.slotExpr(e, sc)
	return f, err
}

func (b *binder) logic(e *gql.Binary, sc *scope) (condFn, error) {
	l, err := b.cond(e.L, sc)
	if err != nil {
		return nil, err
	}
	r, err := b.cond(e.R, sc)
	if err != nil {
		return nil, err
	}
	op := e.Op
	return func(x *runner) (truth, error) {
		t, err := l(x)
		if err != nil || op == gql.And && t == no || op == gql.Or && t == yes {
			return t, err
		}
		u, err := r(x)
		if err != nil {
			return no, err
		}
		switch {
		case op == gql.Xor && (t == unknown || u == unknown):
			return unknown, nil
		case op == gql.Xor:
			return truthOf(t != u), nil
		case op == gql.And && u == no, op == gql.Or && u == yes:
			return u, nil
		case t == unknown || u == unknown:
			return unknown, nil
		}
		return truthOf(op == gql.And), nil
	}, nil
}

// comparison binds a comparison: unknown where either side is null.
func (b *binder) comparison(e *gql.Binary, sc *scope) (condFn, error) {
	l, err := b.expr(e.L, sc)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(e.R, sc)
	if err != nil {
		return nil, err
	}
	op := operators[e.Op]
	return func(x *runner) (truth, error) {
		v, err := l(x)
		if err != nil || v.IsNullish() {
			return unknown, err
		}
		w, err := r(x)
		if err != nil || w.IsNullish() {
			return unknown, err
		}
		ok, err := x.r.Operate(x.ctx, op, v, w)
		return truthOf(err == nil && ok.Bool()), err
	}, nil
}

func (b *binder) exists(e *gql.Exists, sc *scope) (condFn, error) {
	q, err := b.subquery(e.Query, sc, e.Span, false)
	if err != nil {
		return nil, err
	}
	return func(x *runner) (truth, error) {
		found := false
		err := x.nested(q, func([]slot) error {
			found = true
			return errStop
		})
		if err != nil && err != errStop {
			return no, err
		}
		return truthOf(found), nil
	}, nil
}

func (b *binder) labeled(e *gql.IsLabeled, sc *scope) (condFn, error) {
	f, err := b.slotOf(e.X, sc)
	l, not := e.Label, e.Not
	return func(x *runner) (truth, error) {
		s, err := f(x)
		switch {
		case err != nil:
			return no, err
		case s.kind == isNull:
			return unknown, nil
		case s.kind != isNode && s.kind != isEdge:
			return no, errs.Internal("IS LABELED needs a node or an edge")
		}
		return notIf(truthOf(gql.Matches(l, s.el.table.name)), not), nil
	}, err
}

func (b *binder) isEnd(e *gql.IsEnd, sc *scope) (condFn, error) {
	n, err := b.slotOf(e.X, sc)
	if err != nil {
		return nil, err
	}
	edge, err := b.slotOf(e.Edge, sc)
	if err != nil {
		return nil, err
	}
	field, not := "out", e.Not
	if e.Source {
		field = "in"
	}
	return func(x *runner) (truth, error) {
		s, err := n(x)
		if err != nil {
			return no, err
		}
		t, err := edge(x)
		switch {
		case err != nil:
			return no, err
		case s.kind == isNull || t.kind == isNull:
			return unknown, nil
		case s.kind != isNode || t.kind != isEdge:
			return no, errs.Internal("IS SOURCE OF and IS DESTINATION OF need a node and an edge")
		}
		end, err := x.property(&t, field)
		if err != nil || end.Kind() != value.KindRecord {
			return unknown, err
		}
		return notIf(truthOf(value.KeyOf(end.Record()) == value.KeyOf(s.el.recordID())), not), nil
	}, nil
}

// forms are the Unicode normal forms.
var forms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

func (b *binder) normalized(e *gql.IsNormalized, sc *scope) (condFn, error) {
	f, err := b.expr(e.X, sc)
	form, not := forms[e.Form], e.Not
	return func(x *runner) (truth, error) {
		v, err := f(x)
		switch {
		case err != nil:
			return no, err
		case v.IsNullish():
			return unknown, nil
		case v.Kind() != value.KindString:
			return no, errs.Internal("IS NORMALIZED needs a string, found %s", kindName(v))
		}
		return notIf(truthOf(form.IsNormalString(v.Str())), not), nil
	}, err
}

// elementsTest binds ALL_DIFFERENT and SAME.
func (b *binder) elementsTest(e *gql.Func, sc *scope) (condFn, error) {
	fs := make([]slotFn, len(e.Args))
	for i, a := range e.Args {
		var err error
		if fs[i], err = b.slotOf(a, sc); err != nil {
			return nil, err
		}
	}
	same := e.Name == "SAME"
	return func(x *runner) (truth, error) {
		keys := make(map[value.IDKey]bool, len(fs))
		for _, f := range fs {
			s, err := f(x)
			switch {
			case err != nil:
				return no, err
			case s.kind == isNull:
				return unknown, nil
			case s.kind != isNode && s.kind != isEdge:
				return no, errs.Internal("`%s` needs nodes or edges", e.Name)
			}
			keys[value.KeyOf(s.el.recordID())] = true
		}
		if same {
			return truthOf(len(keys) == 1), nil
		}
		return truthOf(len(keys) == len(fs)), nil
	}, nil
}
