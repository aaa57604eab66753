package sql

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// A FROM clause has one wide row: every relation in it has its columns at a place of their own. So an expression
// finds its columns wherever it is evaluated, and a condition can move to the place where all of them are known.

// source is a part of a FROM clause.
type source struct {
	at, n   int // its columns in the wide row
	lateral bool
	conds   []*bound // that its rows must meet
	// Of a leaf: it fills its columns of copies of the row.
	leaf func(rt *runtime, s *scope, conds []*bound, yield func(*scope) error) error
	rel  Relation // of a leaf that is one; nil: else
	used []bool   // of a leaf: which of its columns are looked at
	// Of a leaf, for EXPLAIN: what it is called, and what it takes its rows from; nil: nothing else.
	title string
	below func(rt *runtime) (*Step, error)
	// passing: what is done with a row of the leaf ends before the next one is read, so that one scope does for all.
	passing bool
	// of is the query whose rows are those of the leaf, in order, but for a LIMIT; nil: there is none.
	of    *coreRun
	order []ScanOrder
	// Of a join:
	kind string
	l, r *source
	on   []*bound
	keys [][2]*bound // equal columns of the left and the right
}

// covers reports whether all columns of x are those of s.
func (s *source) covers(x *bound) bool {
	for c := range x.cols {
		if c < s.at || c >= s.at+s.n {
			return false
		}
	}
	return true
}

// from binds the FROM clause; the columns are added to ns.
func (b *binder) from(list []fromItem, ns *names) (*source, error) {
	var all *source
	for _, f := range list {
		s, err := b.fromItem(f, ns)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = s
			continue
		}
		all = &source{at: all.at, n: all.n + s.n, kind: "cross", l: all, r: s}
	}
	return all, nil
}

func (b *binder) fromItem(f fromItem, ns *names) (*source, error) {
	switch f := f.(type) {
	case *tableRef:
		return b.table(f, ns)
	case *subRef:
		outer := ns.outer
		if f.lateral {
			outer = ns
		}
		q, err := b.query(f.sub, outer)
		if err != nil {
			return nil, err
		}
		s := b.leaf(ns, f.alias, renamed(q.cols, f.cols), q.fields)
		s.lateral, s.title, s.below = f.lateral, "Subquery Scan on "+f.alias, q.explain
		s.leaf = func(rt *runtime, at *scope, _ []*bound, yield func(*scope) error) error {
			outer := at.outer
			if f.lateral {
				outer = at
			}
			return q.run(rt, outer, func(row []value.Value) error { return yield(at.with(s.at, row[:s.n])) })
		}
		return s, nil
	case *funcRef:
		return b.tableFunc(f, ns)
	case *join:
		return b.join(f, ns)
	}
	return nil, sqlstate.New(sqlstate.Internal, "unknown part of FROM")
}

// with is a copy of s whose row has more columns filled.
func (s *scope) with(at int, cols []value.Value) *scope {
	next := *s
	next.row = append([]value.Value(nil), s.row...)
	copy(next.row[at:], cols)
	return &next
}

// leaf adds the columns of a relation to ns.
func (b *binder) leaf(ns *names, alias string, cols []Column, fields [][]Column) *source {
	s := &source{at: len(ns.cols), n: len(cols), used: make([]bool, len(cols))}
	for i, c := range cols {
		cb := colBind{table: alias, name: c.Name, oid: c.OID, origin: c, used: &s.used[i]}
		if i < len(fields) {
			cb.fields = fields[i]
		}
		ns.cols = append(ns.cols, cb)
	}
	return s
}

func (b *binder) table(f *tableRef, ns *names) (*source, error) {
	alias := f.alias
	if alias == "" {
		alias = f.name
	}
	if f.schema == "" {
		for i := len(b.ctes) - 1; i >= 0; i-- {
			if st := b.ctes[i]; st.name == f.name {
				s := b.leaf(ns, alias, renamed(st.cols, f.cols), nil)
				s.title = "CTE Scan on " + f.name
				if st.q != nil && st.rec == nil {
					s.below = st.q.explain
				}
				s.leaf = func(rt *runtime, at *scope, _ []*bound, yield func(*scope) error) error {
					rows, err := st.rows(rt, at.outer)
					if err != nil {
						return err
					}
					for _, row := range rows {
						if err := rt.poll(); err != nil {
							return err
						}
						if err := yield(at.with(s.at, row[:s.n])); err != nil {
							return err
						}
					}
					return nil
				}
				return s, nil
			}
		}
	}
	rel, err := b.env.Relation(f.schema, f.name)
	if err != nil {
		return nil, err
	}
	if rel == nil {
		name := f.name
		if f.schema != "" {
			name = f.schema + "." + name
		}
		return nil, sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", name).At(f.pos)
	}
	b.leaves++
	if rel.Exclusive() {
		b.stored++
	}
	s := b.leaf(ns, alias, renamed(rel.Columns(), f.cols), nil)
	s.rel, s.title = rel, "Scan on "+f.name
	for i := range ns.cols[s.at:] {
		ns.cols[s.at+i].stored = f.cols == nil
	}
	s.leaf = func(rt *runtime, at *scope, conds []*bound, yield func(*scope) error) error {
		if rel.Exclusive() && b.stored > 1 {
			return s.kept(rt, at, conds, yield)
		}
		scan, err := pushed(new(Scan), s, at, conds)
		if err != nil {
			return err
		}
		if s.of != nil && len(scan.Filters) == len(conds) {
			scan.Most, scan.Order = rt.most[s.of], s.order
		}
		one := *at
		return rel.Scan(rt.ctx, scan, func(row []value.Value) error {
			if err := rt.poll(); err != nil {
				return err
			}
			if s.passing {
				one.row = row
				return yield(&one)
			}
			return yield(at.with(s.at, row))
		})
	}
	return s, nil
}

// kept reads a relation whole before it hands on the first row, so that others can be read meanwhile. The rows are kept
// for the next time unless the conditions depend on rows around.
func (s *source) kept(rt *runtime, at *scope, conds []*bound, yield func(*scope) error) error {
	rows, ok := rt.scans[s]
	if !ok {
		scan, err := pushed(new(Scan), s, at, conds)
		if err != nil {
			return err
		}
		scan.Passing = false
		err = s.rel.Scan(rt.ctx, scan, func(row []value.Value) error {
			rows = append(rows, row)
			return rt.hold(row)
		})
		if err != nil {
			return err
		}
		varies := func(c *bound) bool { return c.compares != nil && c.compares.with.outer }
		if !slices.ContainsFunc(conds, varies) {
			keep(&rt.scans, s, rows)
		}
	}
	for _, row := range rows {
		if err := rt.poll(); err != nil {
			return err
		}
		if err := yield(at.with(s.at, row)); err != nil {
			return err
		}
	}
	return nil
}

// comparisonOf returns the comparison of one column that a condition consists of, where it is that simple.
type comparisonOf struct {
	col  int
	op   string
	with *bound
}

// pushed makes scan one with the conditions that the relation itself may use.
func pushed(scan *Scan, s *source, at *scope, conds []*bound) (*Scan, error) {
	scan.Columns, scan.Passing = s.used, s.passing
	for _, c := range conds {
		cmp := c.compares
		if cmp == nil || len(cmp.with.cols) > 0 {
			continue
		}
		v, err := cmp.with.eval(at)
		if err != nil {
			return nil, err
		}
		scan.Filters = append(scan.Filters, Filter{Column: cmp.col - s.at, Op: cmp.op, Value: v})
	}
	return scan, nil
}

// unnest binds unnest of several arrays, as a set of rows with a column for each: as many as the longest has elements.
func (b *binder) unnest(c *call, ns *names) (*bound, error) {
	out := &bound{oid: pgtype.Record}
	var arrays []*bound
	for i := range c.args {
		one := *c
		one.args = c.args[i : i+1]
		x, err := b.expr(&one, ns)
		if err != nil {
			return nil, err
		}
		arrays, out.fields = append(arrays, x), append(out.fields, Column{Name: c.name, OID: x.oid})
	}
	out.uses(arrays...)
	out.setArgs = func(s *scope) (value.Value, error) {
		var rows []value.Value
		lists := make([][]value.Value, len(arrays))
		for i, x := range arrays {
			v, err := x.setArgs(s)
			if err != nil {
				return value.None, err
			}
			lists[i] = elems(v)
		}
		for n := 0; slices.ContainsFunc(lists, func(l []value.Value) bool { return n < len(l) }); n++ {
			row := make([]value.Value, len(lists))
			for i, list := range lists {
				if n < len(list) {
					row[i] = list[n]
				}
			}
			rows = append(rows, value.ArrayOf(row))
		}
		return value.ArrayOf(rows), nil
	}
	return out, nil
}

func (b *binder) tableFunc(f *funcRef, ns *names) (*source, error) {
	var x *bound
	inner := &names{cols: ns.cols, outer: ns.outer, sets: &[]*setCall{}, where: "FROM"}
	rec, err := b.record(f, inner)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		return b.recordSource(f, rec, ns), nil
	}
	if f.fn.name == "unnest" && len(f.fn.args) > 1 {
		x, err = b.unnest(f.fn, inner)
	} else {
		x, err = b.expr(f.fn, inner)
	}
	if err != nil {
		return nil, err
	}
	fn := b.function(f.fn)
	alias := f.alias
	if alias == "" {
		alias = f.fn.name
	}
	cols := []Column{{Name: alias, OID: x.oid}}
	if f.alias == "" {
		cols[0].Name = f.fn.name
	}
	if fn != nil && fn.As != "" {
		cols[0].Name = fn.As
	}
	rows := x.fields != nil
	if rows {
		cols = x.fields
	}
	cols = append([]Column(nil), cols...)
	if f.ordinality {
		cols = append(cols, Column{Name: "ordinality", OID: pgtype.Int8})
	}
	cols = renamed(cols, f.cols)
	// The arguments of a function may be columns of what stands before it.
	s := b.leaf(ns, alias, cols, nil)
	ns.cols[s.at].alone = !rows
	s.lateral, s.title = len(x.cols) > 0, "Function Scan on "+alias
	set := fn != nil && fn.Set
	call := x.setArgs
	s.leaf = func(rt *runtime, at *scope, _ []*bound, yield func(*scope) error) error {
		var v value.Value
		var err error
		if set {
			v, err = call(at)
		} else {
			v, err = x.eval(at)
		}
		if err != nil {
			return err
		}
		list := []value.Value{v}
		if set {
			list = elems(v)
		}
		for i, e := range list {
			if err := rt.poll(); err != nil {
				return err
			}
			row := []value.Value{e}
			if rows {
				row = append([]value.Value(nil), elems(e)...)
			}
			if f.ordinality {
				row = append(row, value.Int(int64(i+1)))
			}
			if err := yield(at.with(s.at, row)); err != nil {
				return err
			}
		}
		return nil
	}
	return s, nil
}

func elems(v value.Value) []value.Value {
	if v.Kind() == value.KindArray || v.Kind() == value.KindSet {
		return v.Elems()
	}
	return nil
}

func (b *binder) join(f *join, ns *names) (*source, error) {
	l, err := b.fromItem(f.l, ns)
	if err != nil {
		return nil, err
	}
	r, err := b.fromItem(f.r, ns)
	if err != nil {
		return nil, err
	}
	s := &source{at: l.at, n: l.n + r.n, kind: f.kind, l: l, r: r}
	using := f.using
	if f.natural {
		for i := l.at; i < l.at+l.n; i++ {
			for j := r.at; j < r.at+r.n; j++ {
				if ns.cols[i].name == ns.cols[j].name && !ns.cols[i].hidden {
					using = append(using, ns.cols[i].name)
				}
			}
		}
	}
	for _, name := range using {
		x, err := b.usingKey(name, s, ns)
		if err != nil {
			return nil, err
		}
		s.on = append(s.on, x)
	}
	if f.on != nil {
		visible := &names{cols: ns.cols, outer: ns.outer, where: "JOIN"}
		for _, c := range conjuncts(f.on) {
			x, err := b.condition(c, visible)
			if err != nil {
				return nil, err
			}
			s.on = append(s.on, x)
		}
	}
	s.split()
	return s, nil
}

// usingKey makes the condition of a column of USING. The column of the right side is hidden, so that the name is not
// ambiguous.
func (b *binder) usingKey(name string, s *source, ns *names) (*bound, error) {
	find := func(part *source) (int, error) {
		for i := part.at; i < part.at+part.n; i++ {
			if ns.cols[i].name == name && !ns.cols[i].hidden {
				return i, nil
			}
		}
		return 0, sqlstate.New(sqlstate.UndefinedColumn, "column %q specified in USING clause does not exist", name)
	}
	i, err := find(s.l)
	if err != nil {
		return nil, err
	}
	j, err := find(s.r)
	if err != nil {
		return nil, err
	}
	x, err := b.compare("=", column(i, &ns.cols[i]), column(j, &ns.cols[j]))
	if err != nil {
		return nil, err
	}
	if s.kind == "right" {
		ns.cols[i].hidden = true
	} else {
		ns.cols[j].hidden = true
	}
	return x, nil
}

// conjuncts are the conditions that AND joins, and those of a BETWEEN.
func conjuncts(x Expr) []Expr {
	if b, ok := x.(*between); ok && !b.not && !b.symmetric {
		return []Expr{&binary{op: ">=", l: b.x, r: b.low}, &binary{op: "<=", l: b.x, r: b.high}}
	}
	if a, ok := x.(*binary); ok && a.op == "and" {
		return append(conjuncts(a.l), conjuncts(a.r)...)
	}
	return []Expr{x}
}

// split finds the equal columns of a join, by which its rows are found.
func (s *source) split() {
	var rest []*bound
	for _, x := range s.on {
		if l, r := x.equalL, x.equalR; l != nil && !s.r.lateral && len(l.cols) > 0 && len(r.cols) > 0 {
			switch {
			case s.l.covers(l) && s.r.covers(r):
				s.keys = append(s.keys, [2]*bound{l, r})
				continue
			case s.l.covers(r) && s.r.covers(l):
				s.keys = append(s.keys, [2]*bound{r, l})
				continue
			}
		}
		rest = append(rest, x)
	}
	s.on = rest
}

// push moves a condition of WHERE to where its columns are known. It reports whether it found a place.
func (s *source) push(x *bound) bool {
	if !s.covers(x) || len(x.cols) == 0 {
		return false
	}
	if s.l == nil {
		s.conds = append(s.conds, x)
		return true
	}
	inner := s.kind == "inner" || s.kind == "cross"
	if (inner || s.kind == "left") && s.l.covers(x) {
		return s.l.push(x)
	}
	if inner && s.r.covers(x) {
		return s.r.push(x)
	}
	if inner {
		s.on = append(s.on, x)
		s.kind = "inner"
		s.split()
		return true
	}
	return false
}

// run hands every row of s to yield.
func (s *source) run(rt *runtime, at *scope, yield func(*scope) error) error {
	if s.l == nil {
		return s.leaf(rt, at, s.conds, func(row *scope) error {
			ok, err := all(s.conds, row)
			if err != nil || !ok {
				return err
			}
			return yield(row)
		})
	}
	if s.r.lateral && s.kind != "right" && s.kind != "full" {
		return s.runNested(rt, at, yield)
	}
	if done, err := s.runLookups(rt, at, yield); done {
		return err
	}
	return s.runHashed(rt, at, yield)
}

// all reports whether all conditions hold.
func all(conds []*bound, s *scope) (bool, error) {
	for _, c := range conds {
		v, err := c.eval(s)
		if err != nil {
			return false, err
		}
		if !truth(v) {
			return false, nil
		}
	}
	return true, nil
}

// runNested runs the right side for every row of the left.
func (s *source) runNested(rt *runtime, at *scope, yield func(*scope) error) error {
	return s.l.run(rt, at, func(left *scope) error {
		found := false
		err := s.r.run(rt, left, func(both *scope) error {
			ok, err := all(s.on, both)
			if err != nil || !ok {
				return err
			}
			found = true
			return yield(both)
		})
		if err != nil || found || s.kind != "left" {
			return err
		}
		return yield(left)
	})
}

// runHashed keeps the rows of the right side, and finds those that fit a row of the left by its keys.
func (s *source) runHashed(rt *runtime, at *scope, yield func(*scope) error) error {
	var rows [][]value.Value
	table := map[string][]int{}
	err := s.r.run(rt, at, func(row *scope) error {
		own := append([]value.Value(nil), row.row[s.r.at:s.r.at+s.r.n]...)
		if err := rt.hold(own); err != nil {
			return err
		}
		k, ok, err := s.key(row, 1)
		if err != nil {
			return err
		}
		if ok {
			table[k] = append(table[k], len(rows))
		}
		rows = append(rows, own)
		return nil
	})
	if err != nil {
		return err
	}
	matched := make([]bool, len(rows))
	err = s.l.run(rt, at, func(left *scope) error {
		k, ok, err := s.key(left, 0)
		if err != nil {
			return err
		}
		found := false
		if ok {
			for _, i := range table[k] {
				if err := rt.poll(); err != nil {
					return err
				}
				both := left.with(s.r.at, rows[i])
				fits, err := all(s.on, both)
				if err != nil {
					return err
				}
				if fits {
					found, matched[i] = true, true
					if err := yield(both); err != nil {
						return err
					}
				}
			}
		}
		if found || s.kind != "left" && s.kind != "full" {
			return nil
		}
		return yield(left)
	})
	if err != nil || s.kind != "right" && s.kind != "full" {
		return err
	}
	for i, row := range rows {
		if !matched[i] {
			if err := yield(at.with(s.r.at, row)); err != nil {
				return err
			}
		}
	}
	return nil
}

// key is the key of a row; ok is false where a part of it is NULL.
func (s *source) key(row *scope, side int) (string, bool, error) {
	var k []byte
	for _, pair := range s.keys {
		v, err := pair[side].eval(row)
		if err != nil {
			return "", false, err
		}
		if v.IsNone() {
			return "", false, nil
		}
		k = appendKey(k, v)
	}
	return string(k), true, nil
}
