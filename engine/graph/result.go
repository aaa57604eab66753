package graph

import (
	"errors"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// result is RETURN.
type result struct {
	columns  []string
	kinds    []varKind
	items    []slotFn
	permute  []int // where the columns go in a set operation; nil: they stay
	distinct bool
	grouped  bool
	keys     []evalFn
	aggs     []*aggregate
	order    []sortKey
	window   window
	text     string
}

// sortKey is one key of ORDER BY.
type sortKey struct {
	x     evalFn
	desc  bool
	nulls gql.NullPlace
}

// window is OFFSET and LIMIT; nil: not given.
type window struct{ skip, limit evalFn }

// result binds RETURN.
func (b *binder) result(r *gql.Result, sc *scope) (*result, error) {
	out := &result{distinct: r.Distinct}
	items := r.Items
	if r.Star {
		if len(r.Group) > 0 {
			return nil, b.fail(r.GroupAt, "RETURN * cannot be combined with GROUP BY")
		}
		if items = starItems(sc); len(items) == 0 {
			return nil, b.fail(r.Span, "RETURN * requires at least one named pattern variable")
		}
	}
	b.aggs = &out.aggs
	defer func() { b.aggs = nil }()
	for _, it := range items {
		if slices.Contains(out.columns, it.Alias) {
			return nil, b.fail(it.Span, "Duplicate column name `%s`", it.Alias)
		}
		f, kind, err := b.slotExpr(it.X, sc)
		if err != nil {
			return nil, err
		}
		out.columns, out.kinds, out.items = append(out.columns, it.Alias), append(out.kinds, kind), append(out.items, f)
	}
	if err := b.orderKeys(out, r, items, sc); err != nil {
		return nil, err
	}
	out.grouped = len(r.Group) > 0 || len(out.aggs) > 0
	b.aggs = nil
	var err error
	if out.window, err = b.window(&r.Order, sc); err != nil || !out.grouped {
		out.text = resultText(out, r, items)
		return out, err
	}
	out.text = resultText(out, r, items)
	return out, b.grouping(out, r, items, sc)
}

// starItems are all variables that have a name, in the order of their names.
func starItems(sc *scope) []gql.Item {
	names := map[string]bool{}
	for s := sc; s != nil; s = s.up {
		for name := range s.vars {
			if !strings.HasPrefix(name, "\x00") {
				names[name] = true
			}
		}
	}
	var out []gql.Item
	for name := range names {
		out = append(out, gql.Item{X: &gql.Ref{Name: gql.Name{Text: name}}, Alias: name})
	}
	slices.SortFunc(out, func(a, b gql.Item) int { return strings.Compare(a.Alias, b.Alias) })
	return out
}

// aliasOf is the item that a key names: by its alias, or, with byText, by being the same expression.
func aliasOf(x gql.Expr, items []gql.Item, byText bool) int {
	if ref, ok := x.(*gql.Ref); ok {
		for i, it := range items {
			if it.Named && it.Alias == ref.Name.Text {
				return i
			}
		}
	}
	if byText {
		text := gql.ExprText(x)
		for i, it := range items {
			if gql.ExprText(it.X) == text {
				return i
			}
		}
	}
	return -1
}

// named replaces the aliases in an expression of ORDER BY or GROUP BY by what they stand for, where no variable has the
// name.
func (b *binder) named(x gql.Expr, items []gql.Item, sc *scope) gql.Expr {
	if i := aliasOf(x, items, false); i >= 0 {
		return items[i].X
	}
	switch x := x.(type) {
	case *gql.Ref:
		return x
	case *gql.Prop:
		if ref, ok := x.X.(*gql.Ref); ok && sc.find(ref.Name.Text) != nil {
			return x
		}
		return &gql.Prop{X: b.named(x.X, items, sc), Name: x.Name}
	case *gql.Binary:
		return &gql.Binary{Op: x.Op, L: b.named(x.L, items, sc), R: b.named(x.R, items, sc), Span: x.Span}
	case *gql.Unary:
		return &gql.Unary{Op: x.Op, X: b.named(x.X, items, sc), Span: x.Span}
	case *gql.Func:
		f := *x
		f.Args = make([]gql.Expr, len(x.Args))
		for i, a := range x.Args {
			f.Args[i] = b.named(a, items, sc)
		}
		return &f
	}
	return x
}

func (b *binder) orderKeys(out *result, r *gql.Result, items []gql.Item, sc *scope) error {
	for _, k := range r.Order.Keys {
		if r.Distinct && aliasOf(k.X, items, true) < 0 {
			return b.fail(k.Span, "With RETURN DISTINCT, ORDER BY may only reference returned columns")
		}
		f, err := b.expr(b.named(k.X, items, sc), sc)
		if err != nil {
			return err
		}
		out.order = append(out.order, sortKey{f, k.Desc, k.Nulls})
	}
	return nil
}

// grouping binds the keys of GROUP BY and checks that all else is determined by them.
func (b *binder) grouping(out *result, r *gql.Result, items []gql.Item, sc *scope) error {
	d := &determined{texts: map[string]bool{}, vars: map[string]bool{}}
	for _, g := range r.Group {
		x := b.named(g, items, sc)
		d.texts[gql.ExprText(x)] = true
		if ref, ok := x.(*gql.Ref); ok {
			d.vars[ref.Name.Text] = true
		}
		f, err := b.groupKey(x, sc)
		if err != nil {
			return err
		}
		out.keys = append(out.keys, f)
	}
	for _, it := range items {
		if !d.holds(it.X) {
			return b.fail(it.Span,
				"RETURN item `%s` must be a GROUP BY key, an aggregate, or determined by the GROUP BY keys", it.Alias)
		}
	}
	for _, k := range r.Order.Keys {
		if !d.holds(b.named(k.X, items, sc)) {
			return b.fail(k.Span,
				"ORDER BY key must be a returned column, a GROUP BY key, an aggregate, or determined by the "+
					"GROUP BY keys")
		}
	}
	return nil
}

// groupKey binds a key: a record counts by its id.
func (b *binder) groupKey(x gql.Expr, sc *scope) (evalFn, error) {
	f, _, err := b.slotExpr(x, sc)
	return func(x *runner) (value.Value, error) {
		s, err := f(x)
		if err != nil {
			return value.None, err
		}
		if s.kind == isNode || s.kind == isEdge {
			return value.RecordOf(s.el.recordID()), nil
		}
		return x.value(&s)
	}, err
}

// determined tells which expressions have one value in a group.
type determined struct {
	texts map[string]bool // of the keys
	vars  map[string]bool // keys that are variables: what is said of them is the same, too
}

func (d *determined) holds(x gql.Expr) bool {
	if d.texts[gql.ExprText(x)] {
		return true
	}
	all := func(xs ...gql.Expr) bool {
		for _, x := range xs {
			if x != nil && !d.holds(x) {
				return false
			}
		}
		return true
	}
	switch x := x.(type) {
	case *gql.Aggregate, *gql.Literal, *gql.Param, *gql.Operand:
		return true
	case *gql.Ref:
		return d.vars[x.Name.Text]
	case *gql.Prop:
		return d.holds(x.X)
	case *gql.Unary:
		return d.holds(x.X)
	case *gql.Binary:
		return d.holds(x.L) && d.holds(x.R)
	case *gql.List:
		return all(x.Elems...)
	case *gql.Func:
		return all(x.Args...)
	case *gql.Map:
		for _, f := range x.Fields {
			if !d.holds(f.X) {
				return false
			}
		}
		return true
	case *gql.IsNull:
		return d.holds(x.X)
	case *gql.Is:
		return d.holds(x.X)
	case *gql.IsTyped:
		return d.holds(x.X)
	case *gql.IsLabeled:
		return d.holds(x.X)
	case *gql.Cast:
		return d.holds(x.X)
	case *gql.Case:
		for _, w := range x.Whens {
			if !all(w.Conds...) || !d.holds(w.Then) {
				return false
			}
		}
		return all(x.Operand, x.Else)
	}
	return false
}

func (b *binder) window(o *gql.Order, sc *scope) (w window, err error) {
	if o.Skip != nil {
		if w.skip, err = b.expr(o.Skip, sc); err != nil {
			return w, err
		}
	}
	if o.Limit != nil {
		w.limit, err = b.expr(o.Limit, sc)
	}
	return w, err
}

// bounds evaluates the window; limit -1: none.
func (w *window) bounds(x *runner) (skip, limit int, err error) {
	limit = -1
	if w.skip != nil {
		if skip, err = x.count(w.skip, "OFFSET"); err != nil {
			return 0, 0, err
		}
	}
	if w.limit != nil {
		limit, err = x.count(w.limit, "LIMIT")
	}
	return skip, limit, err
}

// count evaluates what must be a number of rows or paths.
func (x *runner) count(f evalFn, what string) (int, error) {
	v, err := f(x)
	if err != nil {
		return 0, err
	}
	if v.Kind() != value.KindInt || v.Int() < 0 {
		return 0, errs.Internal("%s needs an integer that is not negative", what)
	}
	return int(min(v.Int(), 1<<40)), nil
}

// sink takes the rows of a linear query and makes the result.
type sink struct {
	x     *runner
	l     *linear
	res   *result
	emit  func([]slot) error
	stop  error // what row answers when nothing more is wanted
	skip  int
	limit int // -1: none
	seen  *tally
	out   []sortedRow
	cols  []slot // of the row at work; who takes them copies them
	sum   int
	index map[string]*group
	list  []*group
}

type sortedRow struct {
	cols []slot
	keys []value.Value
}

// group is the rows of equal keys: the first of them, and the totals.
type group struct {
	row  []slot
	accs []acc
}

func (r *result) open(x *runner, l *linear, emit func([]slot) error) (*sink, error) {
	s := &sink{x: x, l: l, res: r, emit: emit, stop: errors.New("the result is complete")}
	var err error
	if s.skip, s.limit, err = r.window.bounds(x); err != nil {
		return nil, err
	}
	if r.distinct {
		s.seen = &tally{x: x, n: map[string]int{}}
	}
	if r.grouped {
		s.index = map[string]*group{}
		if len(r.keys) == 0 {
			err = s.newGroup("")
		}
	}
	return s, err
}

// row takes the current row.
func (s *sink) row() error {
	if s.res.grouped {
		return s.gather()
	}
	if s.limit == 0 {
		return s.stop
	}
	return s.project()
}

// project makes the columns of the current row and passes them on.
func (s *sink) project() error {
	cols := s.cols
	if len(s.res.order) > 0 || cols == nil { // sorted rows are kept
		cols = make([]slot, len(s.res.items))
		s.cols = cols
	}
	for i, f := range s.res.items {
		var err error
		if cols[i], err = f(s.x); err != nil {
			return err
		}
	}
	if s.seen != nil {
		key, err := s.x.rowKey(cols)
		if err != nil {
			return err
		}
		if again, err := s.seen.add(key); again || err != nil {
			return err
		}
	}
	if len(s.res.order) == 0 {
		return s.pass(cols)
	}
	keys := make([]value.Value, len(s.res.order))
	for i, k := range s.res.order {
		var err error
		if keys[i], err = k.x(s.x); err != nil {
			return err
		}
		s.sum += value.Weight(keys[i])
	}
	s.out = append(s.out, sortedRow{cols, keys})
	if s.limit >= 0 && len(s.out) >= 2*(s.skip+s.limit)+1024 { // the rest can not be among the first
		s.sort()
		clear(s.out[s.skip+s.limit:])
		s.out = s.out[:s.skip+s.limit]
		s.sum = 0
	}
	if len(s.out) > s.x.r.Ex.Limits.Rows {
		return errs.Internal("The statement would hold more than %d rows", s.x.r.Ex.Limits.Rows)
	}
	return s.x.r.Mem.Reach(s.sum + len(s.out)*(64+slotSize*len(cols)))
}

// pass gives a row on, within the window.
func (s *sink) pass(cols []slot) error {
	if s.skip > 0 {
		s.skip--
		return nil
	}
	if s.limit == 0 {
		return s.stop
	}
	if s.limit > 0 {
		s.limit--
	}
	if p := s.res.permute; p != nil {
		other := make([]slot, len(p))
		for i, from := range p {
			other[i] = cols[from]
		}
		cols = other
	}
	if err := s.emit(cols); err != nil {
		return err
	}
	if s.limit == 0 {
		return s.stop
	}
	return nil
}

func (s *sink) newGroup(key string) error {
	if len(s.list) >= s.x.r.Ex.Limits.GraphJoins {
		return s.x.tooMany("SERVICE_GQL_MAX_JOIN_BUILD_ROWS", s.x.r.Ex.Limits.GraphJoins)
	}
	g := &group{row: slices.Clone(s.x.row[s.l.low:s.l.high]), accs: make([]acc, len(s.res.aggs))}
	s.index[key] = g
	s.list = append(s.list, g)
	return s.x.r.Mem.Charge(len(key) + 128 + slotSize*len(g.row) + 96*len(g.accs))
}

// gather adds the current row to its group.
func (s *sink) gather() error {
	var key []byte
	for _, f := range s.res.keys {
		v, err := f(s.x)
		if err != nil {
			return err
		}
		key = append(appendKey(key, v), 0)
	}
	g := s.index[string(key)]
	if g == nil {
		if err := s.newGroup(string(key)); err != nil {
			return err
		}
		g = s.index[string(key)]
	}
	for i, a := range s.res.aggs {
		if err := g.accs[i].add(s.x, a); err != nil {
			return err
		}
	}
	return nil
}

// close ends the result.
func (s *sink) close() error {
	if s.res.grouped {
		if err := s.groups(); err != nil && err != s.stop {
			return err
		}
	}
	s.sort()
	for _, r := range s.out {
		if err := s.pass(r.cols); err == s.stop {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// groups makes a row of each group.
func (s *sink) groups() error {
	x := s.x
	was, aggs := slices.Clone(x.row[s.l.low:s.l.high]), x.aggs
	defer func() {
		copy(x.row[s.l.low:s.l.high], was)
		x.aggs = aggs
	}()
	for _, g := range s.list {
		if err := x.r.Tick(x.ctx); err != nil {
			return err
		}
		copy(x.row[s.l.low:s.l.high], g.row)
		x.aggs = make([]value.Value, len(g.accs))
		for i, a := range s.res.aggs {
			var err error
			if x.aggs[i], err = g.accs[i].total(x, a); err != nil {
				return err
			}
		}
		if err := s.project(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) sort() {
	slices.SortStableFunc(s.out, func(a, b sortedRow) int { return compareKeys(s.res.order, a.keys, b.keys) })
}

// compareKeys orders by sort keys: missing, null and the rest go by the order of values unless NULLS says otherwise.
func compareKeys(keys []sortKey, a, b []value.Value) int {
	for i, k := range keys {
		v, w := a[i], b[i]
		if k.nulls != gql.NullsDefault && (v.IsNullish() || w.IsNullish()) {
			if v.IsNullish() && w.IsNullish() {
				continue
			}
			if v.IsNullish() == (k.nulls == gql.NullsFirst) {
				return -1
			}
			return 1
		}
		c := value.Compare(v, w)
		if c == 0 {
			continue
		}
		if k.desc {
			return -c
		}
		return c
	}
	return 0
}

// sorted is ORDER BY, OFFSET and LIMIT as a statement.
type sorted struct {
	keys   []sortKey
	window window
	text   string
}

func (s *sorted) whole(x *runner, l *linear, rows [][]slot) ([][]slot, error) {
	skip, limit, err := s.window.bounds(x)
	if err != nil {
		return nil, err
	}
	if len(s.keys) > 0 {
		type keyed struct {
			row  []slot
			keys []value.Value
		}
		all, i, sum := make([]keyed, len(rows)), 0, 0
		err := l.each(x, rows, func() error {
			keys := make([]value.Value, len(s.keys))
			for j, k := range s.keys {
				var err error
				if keys[j], err = k.x(x); err != nil {
					return err
				}
				sum += value.Weight(keys[j])
			}
			all[i] = keyed{rows[i], keys}
			i++
			return x.r.Mem.Reach(sum)
		})
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(all, func(a, b keyed) int { return compareKeys(s.keys, a.keys, b.keys) })
		rows = make([][]slot, len(all))
		for i := range all {
			rows[i] = all[i].row
		}
	}
	rows = rows[min(skip, len(rows)):]
	if limit >= 0 {
		rows = rows[:min(limit, len(rows))]
	}
	return rows, nil
}
