package plan

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
)

// maxBranches is how many branches of an OR, or values of IN, are looked up one by one.
const maxBranches = 256

// byBranches serves an OR whose every branch has an index of its own.
func byBranches(ctx context.Context, q *Query) (Path, error) {
	for _, c := range Conjuncts(q.Where) {
		branches := Disjuncts(c)
		if len(branches) < 2 || len(branches) > maxBranches {
			continue
		}
		u := &Union{Distinct: true}
		for _, b := range branches {
			part, err := q.branch(ctx, b)
			if err != nil {
				return nil, err
			}
			if part == nil {
				u = nil
				break
			}
			u.Parts = append(u.Parts, part)
		}
		if u != nil {
			return u, nil
		}
	}
	return nil, nil
}

// branch is the way to the rows of one branch of an OR; nil for none.
func (q *Query) branch(ctx context.Context, x ast.Expr) (Path, error) {
	best, err := q.best(q.conditions(ctx, x))
	if best == nil || err != nil {
		return nil, err
	}
	return q.pathOf(best, x)
}
