package sql

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// boundKey is a key of ORDER BY.
type boundKey struct {
	x          *bound
	out        int // the column of the answer; -1: x
	desc       bool
	nullsFirst bool
	oid        pgtype.OID
}

// aggregation holds the parts of the aggregates of a query.
type aggregation struct {
	groups []*bound
	calls  []*aggCall
	strict bool    // columns must be in GROUP BY
	sets   [][]int // the grouping sets, as ordered numbers of groups; nil: one of all groups
}

// core binds SELECT … FROM … with its ORDER BY.
func (b *binder) core(c *core, orderBy []orderKey, outer *names) (*query, error) {
	ns := &names{outer: outer}
	var src *source
	var err error
	if len(c.from) > 0 {
		if src, err = b.from(c.from, ns); err != nil {
			return nil, err
		}
	}
	var filters []*bound
	if c.where != nil {
		where := &names{cols: ns.cols, outer: outer, where: "WHERE"}
		for _, x := range conjuncts(c.where) {
			e, err := b.condition(x, where)
			if err != nil {
				return nil, err
			}
			if src == nil || !src.push(e) {
				filters = append(filters, e)
			}
		}
	}
	items, err := b.expand(c.items, ns)
	if err != nil {
		return nil, err
	}
	agg := b.aggregation(c, items, orderBy)
	inner := &names{cols: ns.cols, outer: outer, where: "SELECT"}
	var wins []*windowCall
	var sets []*setCall
	inner.wins, inner.sets = &wins, &sets
	if agg != nil {
		if err := b.groups(c, items, agg, ns, outer); err != nil {
			return nil, err
		}
		inner.aggs = agg
		inner.groups = map[string]int{}
		for i, g := range agg.groups {
			inner.groups[g.key] = i
		}
	}
	q := &query{}
	outs := make([]*bound, len(items))
	for i, it := range items {
		x, err := b.expr(it.x, inner)
		if err != nil {
			return nil, err
		}
		if x.oid == pgtype.Unknown {
			name := x.name
			if x, err = b.coerce(x, pgtype.Text); err != nil {
				return nil, err
			}
			x.name = name
		}
		outs[i] = x
		q.cols = append(q.cols, b.outputColumn(it, x, ns))
		q.fields = append(q.fields, x.fields)
	}
	var having *bound
	if c.having != nil {
		inner.where = "HAVING"
		if having, err = b.condition(c.having, inner); err != nil {
			return nil, err
		}
	}
	keys, err := b.orderKeys(orderBy, items, q.cols, outs, inner)
	if err != nil {
		return nil, err
	}
	var on []*bound
	for _, x := range c.distinctOn {
		k, err := b.orderKeys([]orderKey{{x: x}}, items, q.cols, outs, inner)
		if err != nil {
			return nil, err
		}
		if k[0].x == nil {
			k[0].x = outs[k[0].out]
		}
		on = append(on, k[0].x)
	}
	r := &coreRun{src: src, width: len(ns.cols), filters: filters, agg: agg, having: having, wins: wins, sets: sets,
		outs: outs,
		keys: keys, distinct: c.distinct, on: on}
	r.limitable()
	q.run, q.core, q.explain = r.run, r, r.explain
	return q, nil
}

// leaf is the relation that r reads, where it is only one; nil else.
func (r *coreRun) leaf() *source {
	if r.src == nil || r.src.l != nil || r.src.rel == nil {
		return nil
	}
	return r.src
}

// limitable tells the relation that a LIMIT of the query is one of its rows, where that is so.
func (r *coreRun) limitable() {
	s := r.leaf()
	if s == nil || r.agg != nil || r.distinct || len(r.wins)+len(r.sets)+len(r.filters) > 0 {
		return
	}
	var order []ScanOrder
	for _, k := range r.keys {
		x := k.x
		if k.out >= 0 {
			x = r.outs[k.out]
		}
		i, ok := x.isColumn()
		if !ok {
			return
		}
		order = append(order, ScanOrder{Column: i - s.at, Desc: k.desc, NullsFirst: k.nullsFirst})
	}
	s.of, s.order = r, order
}

// isColumn reports whether x is a column of the row as it is, and which.
func (b *bound) isColumn() (int, bool) {
	if b.outer || len(b.cols) != 1 {
		return 0, false
	}
	for i := range b.cols {
		if b.key == "#"+itoa(i) {
			return i, true
		}
	}
	return 0, false
}

// pass makes the rows of r pass one by one, where nothing has to keep them. Only the outermost query may: what is
// around others keeps their rows.
func (r *coreRun) pass() {
	s := r.leaf()
	if s == nil || len(r.wins)+len(r.sets) > 0 {
		return
	}
	lists := [][]*bound{r.filters, s.conds}
	if r.agg == nil {
		if r.distinct || len(r.keys) > 0 {
			return
		}
		lists = append(lists, r.outs)
	} else {
		if !r.agg.streams() {
			return
		}
		lists = append(lists, r.agg.groups)
		for _, a := range r.agg.calls {
			lists = append(lists, a.args, []*bound{a.filter})
		}
	}
	for _, list := range lists {
		for _, x := range list {
			if x != nil && x.outer { // a query inside may keep the row
				return
			}
		}
	}
	r.passing, s.passing = r.agg == nil, true
}

// straight is the only part of FROM, and its columns that r gives; nil where r does more than to compare columns with
// what is known before, and to pick some.
func (r *coreRun) straight() (s *source, picked []int) {
	if s = r.leaf(); s == nil || !r.passing || len(r.filters) > 0 || r.having != nil {
		return nil, nil
	}
	for _, x := range s.conds {
		if x.compares == nil || len(x.compares.with.cols) > 0 || x.compares.with.outer {
			return nil, nil
		}
	}
	cols := s.rel.Columns()
	for _, x := range r.outs {
		i, ok := x.isColumn()
		if !ok || i < s.at || i-s.at >= len(cols) || x.oid != cols[i-s.at].OID {
			return nil, nil
		}
		picked = append(picked, i-s.at)
	}
	return s, picked
}

// outputColumn names a column of the answer.
func (b *binder) outputColumn(it item, x *bound, ns *names) Column {
	col := Column{Name: it.alias, OID: x.oid}
	if col.Name == "" {
		col.Name = x.name
	}
	if len(x.key) > 1 && x.key[0] == '#' && !strings.ContainsAny(x.key, ".[:(") {
		for i := range x.cols {
			origin := &ns.cols[i].origin
			col.Table, col.Attr, col.Spell = origin.Table, origin.Attr, origin.Spell
		}
	}
	return col
}

// indexed is column i of the row, for * in a list.
type indexed struct{ i int }

// expand writes out * and table.*.
func (b *binder) expand(items []item, ns *names) ([]item, error) {
	var out []item
	for _, it := range items {
		s, ok := it.x.(*star)
		if !ok {
			out = append(out, it)
			continue
		}
		found := false
		for i := range ns.cols {
			c := &ns.cols[i]
			if s.table == "" && !c.hidden || s.table != "" && c.table == s.table {
				found = true
				out = append(out, item{x: &indexed{i}, alias: c.name})
			}
		}
		if !found && s.table != "" {
			return nil, sqlstate.New(sqlstate.UndefinedTable, "missing FROM-clause entry for table %q", s.table)
		}
		if !found {
			return nil, sqlstate.New(sqlstate.SyntaxError, "SELECT * with no tables specified is not valid")
		}
	}
	return out, nil
}

// aggregation returns the grouping of the query; nil where it has none.
func (b *binder) aggregation(c *core, items []item, order []orderKey) *aggregation {
	if len(c.group) > 0 || c.having != nil {
		return &aggregation{strict: true}
	}
	for _, it := range items {
		if hasAggregate(it.x, b) {
			return &aggregation{strict: true}
		}
	}
	for _, k := range order {
		if hasAggregate(k.x, b) {
			return &aggregation{strict: true}
		}
	}
	return nil
}

// placeOf is the place, from 0, in a list that a constant of a clause names; ok is false for what is no constant.
func placeOf(x Expr, clause string, most int) (place int, ok bool, err error) {
	sign := int64(1)
	for {
		minus, is := x.(*unary)
		if !is || minus.op != "-" {
			break
		}
		sign, x = -sign, minus.x
	}
	l, is := x.(*literal)
	switch {
	case !is:
		return 0, false, nil
	case l.v.Kind() != value.KindInt:
		return 0, false, sqlstate.New(sqlstate.SyntaxError, "non-integer constant in %s", clause)
	}
	n := sign * l.v.Int()
	if n < 1 || n > int64(most) {
		return 0, false, sqlstate.New(sqlstate.InvalidColumnRef, "%s position %d is not in select list", clause, n)
	}
	return int(n - 1), true, nil
}

// orderKeys binds ORDER BY: the place of a column, its name, or an expression.
func (b *binder) orderKeys(order []orderKey, items []item, cols []Column, outs []*bound, ns *names) ([]boundKey,
	error) {
	return b.outputKeysOf(order, cols, ns, func(x Expr) (*bound, int, error) {
		e, err := b.expr(x, ns)
		if err != nil {
			return nil, -1, err
		}
		for i, o := range outs {
			if o.key == e.key && !e.varies {
				return o, i, nil
			}
		}
		return e, -1, nil
	})
}

func (b *binder) outputKeys(order []orderKey, cols []Column, ns *names, _ []*bound) ([]boundKey, error) {
	return b.outputKeysOf(order, cols, ns, func(x Expr) (*bound, int, error) {
		e, err := b.expr(x, ns)
		return e, -1, err
	})
}

func (b *binder) outputKeysOf(order []orderKey, cols []Column, ns *names, bind func(Expr) (*bound, int,
	error)) ([]boundKey, error) {
	var out []boundKey
	for _, k := range order {
		key := boundKey{out: -1, desc: k.desc, nullsFirst: k.nullsFirst}
		n, ok, err := placeOf(k.x, "ORDER BY", len(cols))
		if err != nil {
			return nil, err
		}
		if ok {
			key.out, key.oid = n, cols[n].OID
			out = append(out, key)
			continue
		}
		if ref, ok := k.x.(*colRef); ok && len(ref.parts) == 1 {
			if i := slices.IndexFunc(cols, func(c Column) bool { return c.Name == ref.parts[0] }); i >= 0 {
				key.out, key.oid = i, cols[i].OID
				out = append(out, key)
				continue
			}
		}
		x, i, err := bind(k.x)
		if err != nil {
			return nil, err
		}
		if key.oid = x.oid; i >= 0 {
			key.out = i
		} else {
			key.x = x
		}
		out = append(out, key)
	}
	return out, nil
}

// coreRun is a bound SELECT at work.
type coreRun struct {
	src      *source
	width    int
	filters  []*bound
	agg      *aggregation
	having   *bound
	wins     []*windowCall
	sets     []*setCall
	outs     []*bound
	keys     []boundKey
	distinct bool
	on       []*bound
	passing  bool // see pass
}

// input hands the rows that WHERE lets pass to yield.
func (r *coreRun) input(rt *runtime, outer *scope, yield func(*scope) error) error {
	at := &scope{rt: rt, row: make([]value.Value, r.width), outer: outer}
	each := func(s *scope) error {
		ok, err := all(r.filters, s)
		if err != nil || !ok {
			return err
		}
		return yield(s)
	}
	if r.src == nil {
		return each(at)
	}
	return r.src.run(rt, at, each)
}

// rows hands the rows after grouping and windows to yield.
func (r *coreRun) rows(rt *runtime, outer *scope, yield func(*scope) error) error {
	feed := r.input
	if r.agg != nil {
		feed = r.grouped
	}
	having := func(s *scope) error {
		if r.having != nil {
			v, err := r.having.eval(s)
			if err != nil || !truth(v) {
				return err
			}
		}
		return yield(s)
	}
	if len(r.wins) == 0 {
		return feed(rt, outer, having)
	}
	var list []*scope
	keep := yield
	yield = func(s *scope) error {
		list = append(list, s)
		return rt.hold(s.row)
	}
	if err := feed(rt, outer, having); err != nil {
		return err
	}
	if err := runWindows(rt, outer, r.wins, list); err != nil {
		return err
	}
	for _, s := range list {
		if err := keep(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *coreRun) run(rt *runtime, outer *scope, yield func([]value.Value) error) error {
	var room []value.Value
	project := func(s *scope) ([]value.Value, error) {
		if err := rt.poll(); err != nil {
			return nil, err
		}
		if !r.passing {
			return evalAll(r.outs, s)
		}
		var err error
		room, err = evalInto(room[:0], r.outs, s)
		return room, err
	}
	var seen map[string]bool
	if r.distinct {
		seen = map[string]bool{}
	}
	give := func(s *scope, row []value.Value) error {
		if r.distinct {
			k := rowKey(row)
			if len(r.on) > 0 {
				vs, err := evalAll(r.on, s)
				if err != nil {
					return err
				}
				k = rowKey(vs)
			}
			if seen[k] {
				return nil
			}
			seen[k] = true
			if err := rt.hold(row); err != nil {
				return err
			}
		}
		return yield(row)
	}
	if len(r.keys) == 0 {
		return r.expanded(rt, outer, func(s *scope) error {
			row, err := project(s)
			if err != nil {
				return err
			}
			return give(s, row)
		})
	}
	return r.ordered(rt, outer, project, give)
}

// expanded hands a row for each element of the functions that give sets.
func (r *coreRun) expanded(rt *runtime, outer *scope, yield func(*scope) error) error {
	if len(r.sets) == 0 {
		return r.rows(rt, outer, yield)
	}
	return r.rows(rt, outer, func(s *scope) error {
		lists := make([][]value.Value, len(r.sets))
		n := 0
		for i, set := range r.sets {
			v, err := set.eval(s)
			if err != nil {
				return err
			}
			lists[i] = elems(v)
			n = max(n, len(lists[i]))
		}
		for j := range n {
			next := *s
			next.sets = make([]value.Value, len(lists))
			for i := range lists {
				if j < len(lists[i]) {
					next.sets[i] = lists[i][j]
				}
			}
			if err := yield(&next); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *coreRun) ordered(rt *runtime, outer *scope, project func(*scope) ([]value.Value, error),
	give func(*scope, []value.Value) error) error {
	var list []*scope
	err := r.expanded(rt, outer, func(s *scope) error {
		row, err := project(s)
		if err != nil {
			return err
		}
		// The row of the answer takes the place of the input, which the keys need no more.
		next := *s
		keys := make([]value.Value, len(r.keys))
		for i, k := range r.keys {
			if k.out >= 0 {
				keys[i] = row[k.out]
			} else if keys[i], err = k.x.eval(s); err != nil {
				return err
			}
		}
		next.sets = keys
		if len(r.on) == 0 {
			next.row = row
		} else {
			next.wins = row
		}
		list = append(list, &next)
		return rt.hold(row)
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, c *scope) int { return compareKeys(r.keys, a.sets, c.sets) })
	for _, s := range list {
		row := s.row
		if len(r.on) > 0 {
			row = s.wins
		}
		if err := give(s, row); err != nil {
			return err
		}
	}
	return nil
}

// compareKeys is the order of two rows by the values of their keys.
func compareKeys(keys []boundKey, a, c []value.Value) int {
	for i, k := range keys {
		x, y := a[i], c[i]
		switch {
		case x.IsNone() && y.IsNone():
			continue
		case x.IsNone() || y.IsNone():
			if x.IsNone() == k.nullsFirst {
				return -1
			}
			return 1
		}
		n := order(k.oid, x, y)
		if k.desc {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

// sortScopes orders rows by keys that are evaluated on them.
func sortScopes(list []*scope, keys []boundKey) error {
	vals := make(map[*scope][]value.Value, len(list))
	for _, s := range list {
		row := make([]value.Value, len(keys))
		for i, k := range keys {
			if k.out >= 0 {
				row[i] = s.row[k.out]
				continue
			}
			v, err := k.x.eval(s)
			if err != nil {
				return err
			}
			row[i] = v
		}
		vals[s] = row
	}
	slices.SortStableFunc(list, func(a, c *scope) int { return compareKeys(keys, vals[a], vals[c]) })
	return nil
}
