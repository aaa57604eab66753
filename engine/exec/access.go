package exec

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
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
func (r *Run) conditions(env *Env, where ast.Expr) ([]condition, error) {
	var out []condition
	for _, c := range conjuncts(nil, where) {
		b, ok := c.(*ast.Binary)
		if !ok {
			continue
		}
		op, field, other := b.Op, b.L, b.R
		if _, ok := field.(*ast.Idiom); !ok || !constant(other) {
			if op, ok = mirrored(b.Op); !ok {
				continue
			}
			field, other = b.R, b.L
		}
		id, ok := field.(*ast.Idiom)
		if !ok || !constant(other) || !indexable(op) {
			continue
		}
		v, err := r.Value(env, other)
		if err != nil {
			return nil, err
		}
		if searchable(op, v) {
			out = append(out, condition{ast.Text(id), op, v, c})
		}
	}
	return out, nil
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
	}
	return op, false
}

func indexable(op ast.BinaryOp) bool {
	switch op {
	case ast.OpEqual, ast.OpExact, ast.OpLess, ast.OpLessEqual, ast.OpMore, ast.OpMoreEqual, ast.OpInside, ast.OpContains, ast.OpContainsAny:
		return true
	}
	return false
}

// searchable reports whether an index can be searched for v: missing values and patterns can not.
func searchable(op ast.BinaryOp, v value.Value) bool {
	switch op {
	case ast.OpInside, ast.OpContainsAny:
		if v.Kind() != value.KindArray || v.Len() > maxBranches {
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

// maxBranches is how many values of IN are looked up one by one.
const maxBranches = 256

// candidate is a way to use one index.
type candidate struct {
	ix       *catalog.Index
	lead     []value.Value
	from, to value.Bound
	in       []value.Value // values of an IN on the field after lead
	elements bool
	lists    bool // the first field is declared to hold nothing but arrays or sets
	score    int
	used     []ast.Expr // the conditions that the scan answers
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

// chooseIndex picks the index that narrows a WHERE most; nil where none helps.
func (r *Run) chooseIndex(env *Env, s *ast.Select, tb *catalog.Table, where *predicate) (rows, error) {
	if len(tb.Indexes) == 0 {
		return nil, nil
	}
	conds, err := r.conditions(env, where.x)
	if err != nil {
		return nil, err
	}
	if len(conds) == 0 {
		return r.unionOfIndexes(env, s, tb, where)
	}
	if best := r.bestIndex(s, tb, conds); best != nil {
		return r.indexRows(tb, best, where), nil
	}
	return r.unionOfIndexes(env, s, tb, where)
}

// bestIndex is the index that narrows some conditions most; nil where none does.
func (r *Run) bestIndex(s *ast.Select, tb *catalog.Table, conds []condition) *candidate {
	var best *candidate
	for _, ix := range tb.Indexes {
		if !r.mayUse(tb, ix) || s != nil && s.With != nil && len(s.With.Indexes) > 0 && !named(s.With.Indexes, ix.Name) {
			continue
		}
		c := match(tb, ix, conds)
		if c != nil && (best == nil || c.score > best.score) {
			best = c
		}
	}
	return best
}

// mayUse reports whether rows may be found by an index. SECURITY: what an index is over may be hidden from the caller,
// for whom those fields are NONE: neither its entries nor their order may show.
func (r *Run) mayUse(tb *catalog.Table, ix *catalog.Index) bool {
	return index.Kept(ix) && !(r.hidesFields(tb) && tb.HidesPartOf(ix))
}

// unionOfIndexes serves an OR whose every branch has an index of its own.
func (r *Run) unionOfIndexes(env *Env, s *ast.Select, tb *catalog.Table, where *predicate) (rows, error) {
	for _, c := range conjuncts(nil, where.x) {
		branches := disjuncts(nil, c)
		if len(branches) < 2 || len(branches) > maxBranches {
			continue
		}
		u := &unionIndexRows{tb: tb, where: where, distinct: true}
		for _, b := range branches {
			conds, err := r.conditions(env, b)
			if err != nil {
				return nil, err
			}
			best := r.bestIndex(s, tb, conds)
			if best == nil {
				u = nil
				break
			}
			part := r.indexRows(tb, best, where)
			if scan, ok := part.(*indexRows); ok {
				scan.rest = residual(b, best.used)
			}
			u.parts = append(u.parts, part)
		}
		if u != nil {
			return u, nil
		}
	}
	return nil, nil
}

// disjuncts takes a condition apart at its ORs.
func disjuncts(out []ast.Expr, x ast.Expr) []ast.Expr {
	switch x := x.(type) {
	case *ast.Paren:
		return disjuncts(out, x.X)
	case *ast.Binary:
		if x.Op == ast.OpOr {
			return disjuncts(disjuncts(out, x.L), x.R)
		}
	}
	return append(out, x)
}

func named(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// match fits conditions to the fields of an index from the left: equalities, then one range, IN or CONTAINS.
func match(tb *catalog.Table, ix *catalog.Index, conds []condition) *candidate {
	c := &candidate{ix: ix, lists: holdsLists(tb, ix)}
	for i, f := range ix.Define.Fields {
		text := ast.Text(f)
		if d := equality(conds, text); d != nil {
			c.lead = append(c.lead, d.v)
			c.used = append(c.used, d.x)
			c.score += 4
			continue
		}
		c.next(conds, text, i == 0)
		break
	}
	if c.score == 0 {
		return nil
	}
	if ix.Unique() && len(c.lead) == len(ix.Define.Fields) {
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

// next uses the conditions on the field after the equalities.
func (c *candidate) next(conds []condition, field string, first bool) {
	elem, ofElements := strings.CutSuffix(field, ".*")
	if !ofElements {
		elem, ofElements = strings.CutSuffix(field, "[*]")
	}
	for i := range conds {
		d := &conds[i]
		switch {
		case first && d.op == ast.OpContains && (d.field == elem || d.field == field) && (c.lists || !ofElements):
			c.in, c.elements, c.score = []value.Value{d.v}, true, 3
			return
		case first && d.op == ast.OpContainsAny && (d.field == elem || d.field == field) && (c.lists || !ofElements):
			c.in, c.elements, c.score = d.v.Elems(), true, 2
			return
		case d.field != field || ofElements:
		case d.op == ast.OpInside:
			c.in = d.v.Elems()
			c.score += 2
			return
		case d.op == ast.OpMore, d.op == ast.OpMoreEqual:
			c.narrowFrom(d)
			c.used = append(c.used, d.x)
		case d.op == ast.OpLess, d.op == ast.OpLessEqual:
			c.narrowTo(d)
			c.used = append(c.used, d.x)
		}
	}
	if c.from.Kind != value.Unbounded {
		c.score++
	}
	if c.to.Kind != value.Unbounded {
		c.score++
	}
}

func (c *candidate) narrowFrom(d *condition) {
	kind := value.Included
	if d.op == ast.OpMore {
		kind = value.Excluded
	}
	cmp := value.Compare(d.v, c.from.Value)
	if c.from.Kind == value.Unbounded || cmp > 0 || cmp == 0 && kind == value.Excluded {
		c.from = value.Bound{Kind: kind, Value: d.v}
	}
}

func (c *candidate) narrowTo(d *condition) {
	kind := value.Included
	if d.op == ast.OpLess {
		kind = value.Excluded
	}
	cmp := value.Compare(d.v, c.to.Value)
	if c.to.Kind == value.Unbounded || cmp < 0 || cmp == 0 && kind == value.Excluded {
		c.to = value.Bound{Kind: kind, Value: d.v}
	}
}
