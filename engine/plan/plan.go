// Package plan chooses how the rows of a table are found: by walking it, by the id of one record, or through its
// indexes.
//
// It takes the WHERE and ORDER BY of a statement, the definition of the table and a few counts from its Host, and gives
// a Plan: a small tree of paths that engine/exec turns into operators. It reads no records and knows no rights; what
// may not be used it asks. A path only narrows: with any path, the rows that are left after the WHERE, or after what of
// it the path's keys do not say (Residual), are those of a walk over the table, and every rule can be switched off
// (Rules) without a change of any answer. Without ORDER BY rows come in the order of their path, as in the reference:
// that of the keys of an index, then of the records.
//
// The one exception is the nearest-neighbour operator with a search width, <|k,ef|>: it means the vector index, so
// there is no rule for it to switch off.
package plan

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

// Query describes the rows for which a plan is chosen: those of one table. It belongs to one goroutine and to one call
// of Choose.
type Query struct {
	Table  *catalog.Table
	With   *ast.With  // which indexes may be used; nil: all
	Where  ast.Expr   // nil: all rows are wanted
	Order  *ast.Order // of the stored rows; nil: none is asked for
	Wanted int64      // how many of the rows that are found are read at most; -1: all of them
	Off    Rules
	Host   Host

	conds []condition
	known bool // conds are
}

// Host answers what a plan asks of the statement around it.
type Host interface {
	// Value evaluates an expression that is the same for all rows. Its errors are those of the rows: a condition that
	// has one is left to them.
	Value(ctx context.Context, x ast.Expr) (value.Value, error)
	// Once reports whether a sub-select is run once for all rows: its value is at hand, or will be wanted anyhow.
	Once(x *ast.Subquery) bool
	// MayUse reports whether the caller's rows may be found by an index: its entries may show what is hidden.
	MayUse(ix *catalog.Index) bool
	// BindText gets a full-text operator ready for an index; false where its query is no text.
	BindText(ctx context.Context, x *ast.Binary, ix *catalog.Index) (bool, error)
	// Terms reports whether a full-text condition may be answered by the terms that an index has of a record which
	// another condition has found.
	Terms() bool
	// Entries counts the entries that an access walks, up to most; or gives most, when the count must stay hidden.
	Entries(ix *catalog.Index, a index.Access, most int) (int, error)
	// Records is the number of records in the table, or more.
	Records() (int64, error)
}

// Plan is how the rows of a table are found.
type Plan struct {
	Path   Path
	Sorted bool // the rows come in the order of the query; rows with equal keys in that of their records
}

// source is a rule that may find a path to the rows that a WHERE leaves.
type source struct {
	rule Rule
	find func(context.Context, *Query) (Path, error)
}

// sources are asked in this order; the first path is taken.
var sources = [...]source{
	{Always, byNearest},
	{RecordID, byID},
	{TextIndex, byText},
	{TextUnion, byTexts},
	{Always, byIndex},
	{OrUnion, byBranches},
}

// Choose finds the way to the rows of a query.
func Choose(ctx context.Context, q *Query) (Plan, error) {
	if q.Where != nil && !(q.With != nil && q.With.NoIndex) {
		for _, s := range sources {
			if q.Off.Has(s.rule) {
				continue
			}
			path, err := s.find(ctx, q)
			if err != nil {
				return Plan{}, err
			}
			if path != nil {
				return q.arrange(path)
			}
		}
	}
	return q.arrange(&Scan{})
}

// mayUse reports whether the statement and its caller allow an index.
func (q *Query) mayUse(ix *catalog.Index) bool { return q.names(ix) && q.Host.MayUse(ix) }

// names reports whether the WITH clause leaves an index.
func (q *Query) names(ix *catalog.Index) bool {
	switch {
	case q.With == nil:
		return true
	case q.With.NoIndex:
		return false
	case len(q.With.Indexes) == 0:
		return true
	}
	for _, name := range q.With.Indexes {
		if name == ix.Name {
			return true
		}
	}
	return false
}
