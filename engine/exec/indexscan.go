package exec

import (
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

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
