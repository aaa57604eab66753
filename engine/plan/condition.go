package plan

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// condition is one test of a field against a value that is the same for all rows.
type condition struct {
	field string // canonical text of the idiom
	op    ast.BinaryOp
	v     value.Value
	x     ast.Expr // as it was written
}

// conditions finds the tests in a WHERE that an index could answer.
func (q *Query) conditions(ctx context.Context, where ast.Expr) []condition {
	var out []condition
	for _, c := range Conjuncts(where) {
		b, ok := c.(*ast.Binary)
		if !ok {
			continue
		}
		op, field, other := b.Op, b.L, b.R
		if _, ok := field.(*ast.Idiom); !ok || !q.same(other) {
			if op, ok = mirrored(b.Op); !ok {
				continue
			}
			field, other = b.R, b.L
		}
		id, ok := field.(*ast.Idiom)
		if !ok || !q.same(other) || !indexable(op) {
			continue
		}
		if op != ast.OpEqual && op != ast.OpExact && OfOuter(other) {
			continue // the reference walks the table: without ORDER BY, rows would come in another order
		}
		v, err := q.Host.Value(ctx, other)
		if err != nil {
			continue // whether anybody sees it depends on the rows
		}
		if op == ast.OpInside && v.Kind() == value.KindRange {
			out = appendRange(out, ast.Text(id), v.Range(), c)
		} else if searchable(op, v) {
			out = append(out, condition{ast.Text(id), op, v, c})
		}
	}
	return q.switchedOn(out)
}

// same reports whether an expression has one value for all rows, which is evaluated once.
func (q *Query) same(x ast.Expr) bool {
	if sub, ok := bare(x).(*ast.Subquery); ok {
		return q.Host.Once(sub)
	}
	return Constant(x) || OfOuter(x)
}

// switchedOn leaves the conditions whose rules are on.
func (q *Query) switchedOn(conds []condition) []condition {
	out := conds[:0]
	for _, c := range conds {
		rule := Elements
		switch c.op {
		case ast.OpEqual, ast.OpExact:
			rule = Equality
		case ast.OpLess, ast.OpLessEqual, ast.OpMore, ast.OpMoreEqual:
			rule = Range
		case ast.OpInside:
			rule = InList
		}
		if !q.Off.Has(rule) {
			out = append(out, c)
		}
	}
	return out
}

// appendRange takes IN <range> for its bounds.
func appendRange(out []condition, field string, r *value.Range, x ast.Expr) []condition {
	from, to := ast.OpMoreEqual, ast.OpLessEqual
	if r.Start.Kind == value.Excluded {
		from = ast.OpMore
	}
	if r.End.Kind == value.Excluded {
		to = ast.OpLess
	}
	var bounds []condition
	if r.Start.Kind != value.Unbounded {
		bounds = append(bounds, condition{field, from, r.Start.Value, x})
	}
	if r.End.Kind != value.Unbounded {
		bounds = append(bounds, condition{field, to, r.End.Value, x})
	}
	for _, b := range bounds {
		if !searchable(b.op, b.v) {
			return out
		}
	}
	return append(out, bounds...)
}

// mirrored is the operator with its sides exchanged.
func mirrored(op ast.BinaryOp) (ast.BinaryOp, bool) {
	switch op {
	case ast.OpEqual, ast.OpExact:
		return op, true
	case ast.OpLess:
		return ast.OpMore, true
	case ast.OpLessEqual:
		return ast.OpMoreEqual, true
	case ast.OpMore:
		return ast.OpLess, true
	case ast.OpMoreEqual:
		return ast.OpLessEqual, true
	case ast.OpInside:
		return ast.OpContains, true
	case ast.OpContains:
		return ast.OpInside, true
	case ast.OpAllInside:
		return ast.OpContainsAll, true
	case ast.OpAnyInside:
		return ast.OpContainsAny, true
	}
	return op, false
}

func indexable(op ast.BinaryOp) bool {
	switch op {
	case ast.OpEqual, ast.OpExact, ast.OpLess, ast.OpLessEqual, ast.OpMore, ast.OpMoreEqual, ast.OpInside,
		ast.OpContains, ast.OpContainsAny,
		ast.OpContainsAll:
		return true
	}
	return false
}

// searchable reports whether an index can be searched for v: missing values and patterns can not.
func searchable(op ast.BinaryOp, v value.Value) bool {
	switch op {
	case ast.OpInside, ast.OpContainsAny, ast.OpContainsAll:
		if v.Kind() != value.KindArray || v.Len() > maxBranches || op == ast.OpContainsAll && v.Len() == 0 {
			return false
		}
		for _, e := range v.Elems() {
			if !searchable(ast.OpEqual, e) {
				return false
			}
		}
		return true
	}
	switch v.Kind() {
	case value.KindNone, value.KindNull:
		return op == ast.OpEqual || op == ast.OpExact
	case value.KindRegex, value.KindRange, value.KindClosure, value.KindArray, value.KindSet, value.KindObject:
		return false
	}
	return true
}
