package plan

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// byID finds id = <record of this table> among the conditions.
func byID(ctx context.Context, q *Query) (Path, error) {
	for _, c := range Conjuncts(q.Where) {
		b, ok := c.(*ast.Binary)
		if !ok || b.Op != ast.OpEqual && b.Op != ast.OpExact {
			continue
		}
		x := b.R
		if !isID(b.L) {
			if !isID(b.R) {
				continue
			}
			x = b.L
		}
		if !Constant(x) && !OfOuter(x) {
			continue
		}
		v, err := q.Host.Value(ctx, x)
		if err != nil {
			continue
		}
		if v.Kind() == value.KindRecord && v.Record().Table == q.Table.Name &&
			v.Record().Key.Kind() != value.KindRange {
			return &Record{ID: v.Record()}, nil
		}
	}
	return nil, nil
}

func isID(x ast.Expr) bool {
	id, ok := x.(*ast.Idiom)
	if !ok || len(id.Parts) != 1 {
		return false
	}
	f, ok := id.Parts[0].(*ast.PartField)
	return ok && f.Name == "id"
}
