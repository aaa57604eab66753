package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

// candidate is a way to use one index: the first fields equal lead, the next is one of in or has an element of in, then
// the fields of tail are equal, then one lies between from and to.
type candidate struct {
	ix         *catalog.Index
	lead, tail []value.Value
	in         []value.Value
	from, to   value.Bound
	elements   bool       // in are elements
	lists      bool       // the first field is declared to hold nothing but arrays or sets
	score      int        // how much it narrows, by its form
	used       []ast.Expr // the conditions that the access answers by itself
}

// byIndex walks the index that narrows the WHERE most.
func byIndex(ctx context.Context, q *Query) (Path, error) {
	if len(q.Table.Indexes) == 0 {
		return nil, nil
	}
	best, err := q.best(q.whole(ctx))
	if best == nil || err != nil {
		return nil, err
	}
	return q.pathOf(best, q.Where)
}

// whole are the conditions of the whole WHERE.
func (q *Query) whole(ctx context.Context) []condition {
	if !q.known && q.Where != nil {
		q.known, q.conds = true, q.conditions(ctx, q.Where)
	}
	return q.conds
}

// best is the index that narrows some conditions most; nil where none does.
func (q *Query) best(conds []condition) (*candidate, error) {
	if len(conds) == 0 {
		return nil, nil
	}
	var found []*candidate
	for _, ix := range q.Table.Indexes {
		if !index.Kept(ix) || !q.mayUse(ix) {
			continue
		}
		c := q.fit(ix, conds)
		if c == nil {
			continue
		}
		if wide, err := q.wide(c); err != nil {
			return nil, err
		} else if !wide {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(found, func(a, b *candidate) int { return b.score - a.score })
	if len(found) == 1 || found[0].one() || q.Off.Has(Estimate) {
		return found[0], nil
	}
	return q.fewest(found)
}

// one reports whether the candidate finds at most one record.
func (c *candidate) one() bool { return c.ix.Unique() && len(c.lead) == len(c.ix.Define.Fields) }

// fit fits conditions to the fields of an index from the left; nil where the first field has none.
func (q *Query) fit(ix *catalog.Index, conds []condition) *candidate {
	c := &candidate{ix: ix, lists: holdsLists(q.Table, ix)}
	for i, f := range ix.Define.Fields {
		if i > 0 && (q.Off.Has(Compound) || c.elements) {
			break
		}
		if ix.IsWhole(i) { // its keys are not what the path gives
			break
		}
		text := ast.Text(f)
		if d := equality(conds, text); d != nil {
			c.equal(d)
			continue
		}
		if c.in != nil || !c.listed(conds, text, i == 0) {
			c.bounded(conds, text)
			break
		}
	}
	if c.score == 0 {
		return nil
	}
	if c.one() {
		c.score += 8
	}
	return c
}

func equality(conds []condition, field string) *condition {
	for i := range conds {
		if c := &conds[i]; c.field == field && (c.op == ast.OpEqual || c.op == ast.OpExact) {
			return c
		}
	}
	return nil
}

func (c *candidate) equal(d *condition) {
	if c.in != nil {
		c.tail = append(c.tail, d.v)
	} else {
		c.lead = append(c.lead, d.v)
	}
	c.used = append(c.used, d.x)
	c.score += 4
}

// access is the part of the index for one value of in, or the only one.
func (c *candidate) access(in ...value.Value) index.Access {
	lead := make([]value.Value, 0, len(c.lead)+len(in)+len(c.tail))
	lead = append(append(append(lead, c.lead...), in...), c.tail...)
	return index.Access{Lead: lead, From: c.from, To: c.to, Elements: c.elements}
}

// accesses are all parts of the index that are walked.
func (c *candidate) accesses() []index.Access {
	if c.in == nil {
		return []index.Access{c.access()}
	}
	values := value.SetOf(append([]value.Value(nil), c.in...)).Elems()
	out := make([]index.Access, len(values))
	for i, v := range values {
		out[i] = c.access(v)
	}
	if c.elements && !c.lists {
		// Strings, objects, ranges and geometries contain things too, and have no entries for them: all of those.
		out = append(out, index.Access{From: atLeast(value.Str("")),
			To: value.Bound{Kind: value.Excluded, Value: value.DurationOf(value.Duration{})}},
			index.Access{From: atLeast(value.ObjectOf(nil))})
		if slices.ContainsFunc(values, isString) { // a part of the text of a UUID
			out = append(out, index.Access{From: atLeast(value.UUIDOf(value.UUID{})),
				To: value.Bound{Kind: value.Excluded, Value: value.Array()}})
		}
	}
	return out
}

func atLeast(v value.Value) value.Bound { return value.Bound{Kind: value.Included, Value: v} }

// pathOf is the walk of a candidate for a condition.
func (q *Query) pathOf(c *candidate, where ast.Expr) (Path, error) {
	parts := c.accesses()
	more, err := q.apart(c)
	if err != nil {
		return nil, err
	}
	parts = append(parts, more...)
	if len(parts) == 1 && (c.in == nil || c.elements) {
		return &Index{Index: c.ix, Access: parts[0], Rest: c.rest(where)}, nil
	}
	u := &Union{Distinct: c.elements || len(more) > 0}
	for _, a := range parts {
		u.Parts = append(u.Parts, &Index{Index: c.ix, Access: a})
	}
	return u, nil
}

// rest are the conditions that a candidate does not answer by itself. The same again, and true, are none.
func (c *candidate) rest(where ast.Expr) []ast.Expr {
	var out []ast.Expr
next:
	for _, x := range Conjuncts(where) {
		for _, u := range c.used {
			if x == u || ast.Text(x) == ast.Text(u) {
				continue next
			}
		}
		if !alwaysTrue(x) {
			out = append(out, x)
		}
	}
	return out
}

// alwaysTrue reports whether a condition is the literal.
func alwaysTrue(x ast.Expr) bool {
	for {
		switch p := x.(type) {
		case *ast.Paren:
			x = p.X
			continue
		case *ast.Literal:
			return p.Value.Kind() == value.KindBool && p.Value.Bool()
		}
		return false
	}
}

// holdsLists reports whether the first field of an index is an array or set by its definition.
func holdsLists(tb *catalog.Table, ix *catalog.Index) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(ast.Text(ix.Define.Fields[0]), ".*"), "[*]")
	f := tb.Field(name)
	return f != nil && f.Define.Type != nil && onlyLists(f.Define.Type)
}

// onlyLists reports whether a type has no values but arrays, sets, NONE and NULL.
func onlyLists(t *value.Type) bool {
	switch t.Kind {
	case value.TypeArray, value.TypeSet, value.TypeTuple, value.TypeNone, value.TypeNull:
		return true
	case value.TypeUnion:
		for _, a := range t.Alts {
			if !onlyLists(a) {
				return false
			}
		}
		return true
	}
	return false
}
