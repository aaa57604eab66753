package plan

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// byText answers one full-text condition by its index. The others are tried on each row that it finds.
func byText(ctx context.Context, q *Query) (Path, error) {
	conds := Conjuncts(q.Where)
	match, ix := q.bestMatch(conds)
	if match == nil {
		return nil, nil
	}
	if ok, err := q.Host.BindText(ctx, match, ix); !ok || err != nil {
		return nil, err
	}
	return &Text{Index: ix, Match: match, Rest: And(without(conds, match)...)}, nil
}

// bestMatch picks the condition that an index answers: of the last index by name, the first one.
func (q *Query) bestMatch(conds []ast.Expr) (*ast.Binary, *catalog.Index) {
	var best *ast.Binary
	var with *catalog.Index
	for _, c := range conds {
		b, ok := c.(*ast.Binary)
		if !ok || b.Op != ast.OpMatches || !Rowless(b.R) {
			continue
		}
		field, _ := b.L.(*ast.Idiom)
		if ix := FieldIndex(q.Table, IsText, field, q.With); ix != nil && (with == nil || ix.Name > with.Name) {
			best, with = b, ix
		}
	}
	return best, with
}

// byTexts answers an OR by one walk after the other, if every branch has one and one of them searches texts. What
// stands beside the OR is tried on each row.
func byTexts(ctx context.Context, q *Query) (Path, error) {
	conds := Conjuncts(q.Where)
	for _, c := range conds {
		branches := Disjuncts(c)
		if len(branches) < 2 || len(branches) > maxBranches || !anyMatches(branches) {
			continue
		}
		u, err := q.texts(ctx, branches, without(conds, c))
		if u != nil || err != nil {
			return u, err
		}
	}
	return nil, nil
}

func (q *Query) texts(ctx context.Context, branches, others []ast.Expr) (Path, error) {
	u := &Union{Distinct: true}
	for _, x := range branches {
		conds := Conjuncts(x)
		if match, ix := q.bestMatch(conds); match != nil {
			if ok, err := q.Host.BindText(ctx, match, ix); !ok || err != nil {
				return nil, err
			}
			u.Parts = append(u.Parts, &Text{Index: ix, Match: match,
				Rest: And(append(without(conds, match), others...)...)})
			continue
		}
		part, err := q.branch(ctx, x)
		if part == nil || err != nil {
			return nil, err
		}
		u.Parts = append(u.Parts, part)
	}
	return u, nil
}

func anyMatches(branches []ast.Expr) bool {
	for _, x := range branches {
		for _, c := range Conjuncts(x) {
			if b, ok := c.(*ast.Binary); ok && b.Op == ast.OpMatches {
				return true
			}
		}
	}
	return false
}

// MatchText is a MATCHES operator as it is written.
func MatchText(x *ast.Binary) string {
	switch {
	case x.Match == nil || !x.Match.HasRef && x.Match.Op == "":
		return "@@"
	case !x.Match.HasRef:
		return "@" + x.Match.Op + "@"
	case x.Match.Op == "":
		return fmt.Sprintf("@%d@", x.Match.Ref)
	}
	return fmt.Sprintf("@%d,%s@", x.Match.Ref, x.Match.Op)
}
