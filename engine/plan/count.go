package plan

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// Counted is the COUNT index that has counted the rows of a WHERE; nil for none. The counter of the table itself serves a
// count without a WHERE.
func Counted(q *Query) *catalog.Index {
	if q.Off.Has(CoverCount) || q.Where == nil {
		return nil
	}
	text := ast.Text(bare(q.Where))
	for _, ix := range q.Table.Indexes {
		if ix.Define.Kind == ast.IndexCount && ix.Define.CountWhere != nil && q.names(ix) && ast.Text(bare(ix.Define.CountWhere)) == text {
			return ix
		}
	}
	return nil
}

// Covers reports whether the entries that a path walks are the rows of the WHERE, one for one: then they can be counted
// without reading the records.
func Covers(q *Query, path Path) bool {
	if q.Off.Has(CoverCount) {
		return false
	}
	switch p := path.(type) {
	case *Index:
		return !p.Access.Elements && len(p.Rest) == 0
	case *Union: // of the values of IN
		return !p.Distinct && q.inAlone()
	}
	return false
}

// inAlone reports whether the WHERE is a single IN.
func (q *Query) inAlone() bool {
	conds := q.whole()
	return len(Conjuncts(q.Where)) == 1 && len(conds) == 1 && conds[0].op == ast.OpInside
}
