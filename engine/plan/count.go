package plan

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// Counted is the COUNT index that has counted the rows of a WHERE; nil for none. The counter of the table itself serves
// a count without a WHERE.
func Counted(q *Query) *catalog.Index {
	if q.Off.Has(CoverCount) || q.Where == nil {
		return nil
	}
	text := ast.Text(bare(q.Where))
	for _, ix := range q.Table.Indexes {
		if ix.Define.Kind == ast.IndexCount && ix.Define.CountWhere != nil && q.names(ix) &&
			ast.Text(bare(ix.Define.CountWhere)) == text {
			return ix
		}
	}
	return nil
}

// Covers reports whether the entries that a path walks are the rows of the WHERE, one for one: then they can be counted
// without reading the records.
func Covers(ctx context.Context, q *Query, path Path) bool {
	if q.Off.Has(CoverCount) {
		return false
	}
	rest, ok := q.left(ctx, path)
	return ok && rest == nil
}

// CoversIDs reports whether a SELECT asks for nothing that a path does not tell: the ids of the rows. A search tells
// them where nothing is left of the WHERE.
func CoversIDs(ctx context.Context, q *Query, s *ast.Select, path Path) bool {
	if q.Off.Has(CoverID) {
		return false
	}
	switch p := path.(type) {
	case *Text:
	case *Nearest:
		if p.Rest != nil {
			return false
		}
	default:
		if rest, ok := q.left(ctx, path); !ok || rest != nil || q.Off.Has(TrustKeys) {
			return false
		}
	}
	return ReadsIDs(s)
}

// Residual returns the part of the WHERE that must still be evaluated on the rows of a path: nil where its entries
// imply all of it. It holds for rows that are seen as they are stored.
func Residual(ctx context.Context, q *Query, path Path) ast.Expr {
	if !q.Off.Has(TrustKeys) {
		if rest, ok := q.left(ctx, path); ok {
			return rest
		}
	}
	return q.Where
}

// left is what the entries of a path do not say of the WHERE; false where they only narrow.
func (q *Query) left(ctx context.Context, path Path) (ast.Expr, bool) {
	switch p := path.(type) {
	case *Index:
		return And(p.Rest...), !p.Access.Elements
	case *Union: // of the values of IN
		return nil, !p.Distinct && q.inAlone(ctx)
	}
	return nil, false
}

// inAlone reports whether the WHERE is a single IN.
func (q *Query) inAlone(ctx context.Context) bool {
	conds := q.whole(ctx)
	return len(Conjuncts(q.Where)) == 1 && len(conds) == 1 && conds[0].op == ast.OpInside
}

// OnlyCounts reports whether a SELECT is nothing but count() of all its rows.
func OnlyCounts(s *ast.Select) bool {
	if s.Group == nil || !s.Group.All || len(s.Split) > 0 {
		return false
	}
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		c, ok := f.X.(*ast.Call)
		if f.All || !ok || c.Kind != ast.CallBuiltin || c.Path != "count" || len(c.Args) != 0 {
			return false
		}
	}
	return true
}
