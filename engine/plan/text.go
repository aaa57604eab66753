package plan

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
)

// byText answers one full-text condition by its index, and others by what the indexes have of the records that it
// finds. What is left is tried on each row.
func byText(ctx context.Context, q *Query) (Path, error) {
	conds := Conjuncts(q.Where)
	best := q.bestMatch(conds)
	if best == nil {
		return nil, nil
	}
	return q.text(ctx, best, without(conds, best.X))
}

// text is the walk for a full-text condition, with others beside it; nil where its query is no text.
func (q *Query) text(ctx context.Context, best *Match, others []ast.Expr) (Path, error) {
	if ok, err := q.Host.BindText(ctx, best.X, best.Index); !ok || err != nil {
		return nil, err
	}
	t := &Text{Match: *best}
	var rest []ast.Expr
	for _, c := range others {
		m := q.match(c)
		if m == nil || q.Off.Has(TextAlso) || !q.Host.Terms() {
			rest = append(rest, c)
			continue
		}
		ok, err := q.Host.BindText(ctx, m.X, m.Index)
		if err != nil {
			return nil, err
		}
		if !ok {
			rest = append(rest, c)
			continue
		}
		t.Also = append(t.Also, *m)
	}
	t.Rest = And(rest...)
	return t, nil
}

// bestMatch picks the condition that an index answers: of the last index by name, the first one.
func (q *Query) bestMatch(conds []ast.Expr) (best *Match) {
	for _, c := range conds {
		if m := q.match(c); m != nil && (best == nil || m.Index.Name > best.Index.Name) {
			best = m
		}
	}
	return best
}

// match is a condition as one that an index answers; nil where none does.
func (q *Query) match(x ast.Expr) *Match {
	b, ok := x.(*ast.Binary)
	if !ok || b.Op != ast.OpMatches || !Rowless(b.R) {
		return nil
	}
	field, _ := b.L.(*ast.Idiom)
	if ix := FieldIndex(q.Table, IsText, field, q.With); ix != nil {
		return &Match{Index: ix, X: b}
	}
	return nil
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
		if best := q.bestMatch(conds); best != nil {
			t, err := q.text(ctx, best, append(without(conds, best.X), others...))
			if t == nil || err != nil {
				return nil, err
			}
			u.Parts = append(u.Parts, t)
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
