package exec

import (
	"fmt"
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
	if best := bestIndex(s, tb, conds); best != nil {
		return r.indexRows(tb, best, where), nil
	}
	return r.unionOfIndexes(env, s, tb, where)
}

// bestIndex is the index that narrows some conditions most; nil where none does.
func bestIndex(s *ast.Select, tb *catalog.Table, conds []condition) *candidate {
	var best *candidate
	for _, ix := range tb.Indexes {
		if !index.Kept(ix) || s != nil && s.With != nil && len(s.With.Indexes) > 0 && !named(s.With.Indexes, ix.Name) {
			continue
		}
		c := match(tb, ix, conds)
		if c != nil && (best == nil || c.score > best.score) {
			best = c
		}
	}
	return best
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
			best := bestIndex(s, tb, conds)
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

// indexRows builds the scan of a candidate; IN becomes one scan per value.
func (r *Run) indexRows(tb *catalog.Table, c *candidate, where *predicate) rows {
	if c.in == nil {
		scan := r.oneIndexScan(tb, c.ix, index.Access{Lead: c.lead, From: c.from, To: c.to, Elements: c.elements}, where)
		scan.rest = residual(where.x, c.used)
		return scan
	}
	u := &unionIndexRows{unionRows: unionRows{}, tb: tb, where: where}
	vs := append([]value.Value(nil), value.SetOf(append([]value.Value(nil), c.in...)).Elems()...)
	for _, v := range vs {
		lead := append(append([]value.Value(nil), c.lead...), v)
		u.parts = append(u.parts, r.oneIndexScan(tb, c.ix, index.Access{Lead: lead, Elements: c.elements}, where))
	}
	if c.elements && len(u.parts) == 1 && c.lists {
		return u.parts[0]
	}
	if c.elements && !c.lists {
		// Strings, objects, ranges and geometries contain things too, and have no entries for them: all of those.
		for _, a := range []index.Access{
			{From: value.Bound{Kind: value.Included, Value: value.Str("")}, To: value.Bound{Kind: value.Excluded, Value: value.DurationOf(value.Duration{})}},
			{From: value.Bound{Kind: value.Included, Value: value.ObjectOf(nil)}},
		} {
			u.parts = append(u.parts, r.oneIndexScan(tb, c.ix, a, where))
		}
	}
	u.distinct = c.elements
	return u
}

// residual is what a WHERE asks beyond the conditions that were used, as text.
func residual(where ast.Expr, used []ast.Expr) string {
	var rest []string
next:
	for _, c := range conjuncts(nil, where) {
		for _, u := range used {
			if c == u {
				continue next
			}
		}
		rest = append(rest, ast.Text(c))
	}
	return strings.Join(rest, " AND ")
}

func (r *Run) oneIndexScan(tb *catalog.Table, ix *catalog.Index, a index.Access, where *predicate) *indexRows {
	return &indexRows{r: r, tb: tb, ix: ix, access: a, filter: where}
}

// indexRows reads the records that an index finds. The whole WHERE is tried on each: an index only narrows.
type indexRows struct {
	r      *Run
	tb     *catalog.Table
	ix     *catalog.Index
	access index.Access
	filter *predicate
	cur    *index.Cursor
	seen   map[string]bool // of element scans, which may find a record twice
	rest   string          // what the WHERE asks beyond the scan, for EXPLAIN
	n      counter
}

func (s *indexRows) next() (value.Value, bool, error) {
	if s.cur == nil {
		s.cur = index.Scan(s.r.Tx, s.tb, s.ix, s.access)
	}
	for s.cur.Next() {
		if err := s.r.Tick(); err != nil {
			return value.None, false, err
		}
		if s.access.Elements {
			k := s.cur.Key().Text()
			if s.seen[k] {
				continue
			}
			if s.seen == nil {
				s.seen = map[string]bool{}
			}
			s.seen[k] = true
		}
		doc, err := s.r.Fetch(&value.RecordID{Table: s.tb.Name, Key: s.cur.Key()})
		if err != nil {
			return value.None, false, err
		}
		if doc.IsNone() {
			continue
		}
		ok, err := s.filter.holds(doc)
		if err != nil {
			return value.None, false, err
		}
		if ok {
			s.n++
			return doc, true, nil
		}
	}
	return value.None, false, s.cur.Err()
}

func (s *indexRows) close() {
	if s.cur != nil {
		s.cur.Close()
	}
}

func (s *indexRows) explain() *planNode {
	dir := "Forward"
	if s.access.Reverse {
		dir = "Backward"
	}
	n := node("IndexScan").with("index", s.ix.Name).with("access", accessText(s.ix, s.access)).with("direction", dir)
	n.rows = s.n
	if s.rest == "" {
		return n
	}
	return &planNode{op: "Filter", rows: s.n, children: []*planNode{n}, attrs: []planAttr{{"predicate", s.rest}}}
}

// accessText is the part of an index that is walked, as EXPLAIN shows it.
func accessText(ix *catalog.Index, a index.Access) string {
	if len(ix.Define.Fields) == 1 {
		if len(a.Lead) == 1 {
			return "= " + a.Lead[0].Text()
		}
		return strings.TrimSpace(boundText(">", a.From) + " " + boundText("<", a.To))
	}
	lead := value.ArrayOf(a.Lead).Text()
	switch {
	case a.From.Kind != value.Unbounded:
		name := "MoreThan"
		if a.From.Kind == value.Included {
			name = "MoreThanEqual"
		}
		return fmt.Sprintf("%s %s %s", lead, name, a.From.Value.Text())
	case a.To.Kind != value.Unbounded:
		name := "LessThan"
		if a.To.Kind == value.Included {
			name = "LessThanEqual"
		}
		return fmt.Sprintf("%s %s %s", lead, name, a.To.Value.Text())
	}
	return lead
}

func boundText(op string, b value.Bound) string {
	switch b.Kind {
	case value.Unbounded:
		return ""
	case value.Included:
		op += "="
	}
	return op + b.Value.Text()
}

// unionIndexRows is one index scan after the other, for IN and CONTAINSANY.
type unionIndexRows struct {
	unionRows
	tb       *catalog.Table
	where    *predicate
	distinct bool
	seen     map[string]bool
}

func (s *unionIndexRows) next() (value.Value, bool, error) {
	for {
		doc, ok, err := s.unionRows.next()
		if !ok || err != nil || !s.distinct {
			return doc, ok, err
		}
		id := recordOf(doc).Text()
		if s.seen[id] {
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[id] = true
		return doc, true, nil
	}
}

func (s *unionIndexRows) explain() *planNode {
	u := node("UnionIndexScan", s.parts...).with("table", s.tb.Name).with("branches", fmt.Sprint(len(s.parts)))
	u.rows = s.n
	return &planNode{op: "Filter", rows: s.n, children: []*planNode{u}, attrs: []planAttr{{"predicate", ast.Text(s.where.x)}}}
}
