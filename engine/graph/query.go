package graph

import (
	"errors"
	"slices"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// errStop ends what runs because nothing more is wanted of it.
var errStop = errors.New("no more rows are wanted")

// need is what stands around a query and decides what it must have.
type need struct {
	result bool // it needs a result, unless it writes
	first  bool // nothing is before it: it cannot begin with OPTIONAL
}

// query runs composite queries one after the other.
type query struct {
	parts   []*composite
	columns []string
	kinds   []varKind
	returns bool
}

type composite struct {
	in    []int // the slots that take the columns of the part before
	yield []int // which columns those are
	op    gql.SetOp
	all   bool
	arms  []*linear
}

// linear is one linear query: steps in segments with a barrier behind each, then the result.
type linear struct {
	low, high int // its slots
	segs      []segment
	res       *result // nil: none
	braced    *query
	src       *gql.Linear
}

// segment is steps that run row by row, and what takes all of their rows; nil at the end.
type segment struct {
	steps   []step
	barrier barrier
}

// step runs on the current row and calls k for each row that it makes of it. It takes its bindings back.
type step interface {
	run(x *runner, k func() error) error
	explain(x *runner) *node
}

// barrier runs on all rows. rows are snapshots of the slots of a linear query.
type barrier interface {
	whole(x *runner, l *linear, rows [][]slot) ([][]slot, error)
	explain(x *runner) *node
}

func (b *binder) query(q *gql.Query, outer *scope, n need) (*query, error) {
	out := &query{}
	for i, c := range q.Parts {
		part := &composite{op: c.Op, all: c.All}
		sc := newScope(outer)
		low := b.slots
		if i > 0 {
			n.first = false
			if err := b.imports(out, part, c.Yield, sc); err != nil {
				return nil, err
			}
		}
		var columns []string
		var kinds []varKind
		last := i == len(q.Parts)-1
		for j, l := range c.Arms {
			inner := newScope(sc)
			need := n
			need.result = n.result || !last || len(c.Arms) > 1
			arm, cols, ks, err := b.linear(l, inner, need, low)
			if err != nil {
				return nil, err
			}
			if j > 0 && !sameColumns(columns, cols) {
				return nil, b.fail(l.Span, "The queries of a set operation must have the same columns")
			}
			if j > 0 { // by name: the order of the first counts
				arm = reorder(arm, cols, columns)
				for k, name := range columns {
					if ks[slices.Index(cols, name)] != kinds[k] {
						kinds[k] = varValue
					}
				}
			} else {
				columns, kinds = cols, ks
			}
			out.returns = arm.res != nil || arm.braced != nil && arm.braced.returns
			part.arms = append(part.arms, arm)
		}
		out.parts, out.columns, out.kinds = append(out.parts, part), columns, kinds
	}
	return out, nil
}

// imports declares the columns of the part before as variables.
func (b *binder) imports(q *query, part *composite, yield []gql.Item, sc *scope) error {
	if yield == nil {
		for i, name := range q.columns {
			part.in = append(part.in, b.declare(sc, name, q.kinds[i]).slot)
			part.yield = append(part.yield, i)
		}
		return nil
	}
	for _, y := range yield {
		from := y.X.(*gql.Ref).Name
		at := slices.Index(q.columns, from.Text)
		if at < 0 {
			return b.fail(from.Span, "Unknown variable `%s`", from.Text)
		}
		if sc.vars[y.Alias] != nil {
			return b.fail(y.Span, "Duplicate column name `%s`", y.Alias)
		}
		part.in = append(part.in, b.declare(sc, y.Alias, q.kinds[at]).slot)
		part.yield = append(part.yield, at)
	}
	return nil
}

func sameColumns(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, name := range a {
		if !slices.Contains(b, name) {
			return false
		}
	}
	return true
}

// reorder makes an arm give its columns in the order of want.
func reorder(l *linear, have, want []string) *linear {
	if slices.Equal(have, want) || l.res == nil {
		return l
	}
	l.res.permute = make([]int, len(want))
	for i, name := range want {
		l.res.permute[i] = slices.Index(have, name)
	}
	return l
}

func (b *binder) linear(l *gql.Linear, sc *scope, n need, low int) (*linear, []string, []varKind, error) {
	out := &linear{low: low, src: l}
	if l.Braced != nil {
		q, err := b.query(l.Braced, sc, n)
		if err != nil {
			return nil, nil, nil, err
		}
		out.braced, out.high = q, b.slots
		return out, q.columns, q.kinds, nil
	}
	writes := false
	var seg segment
	for i, s := range l.Steps {
		if m, ok := s.(*gql.Match); ok && i == 0 && n.first && m.Optional {
			return nil, nil, nil, b.fail(m.Span,
				"A query cannot start with OPTIONAL MATCH: OPTIONAL is a left-outer join "+
					"and needs a preceding MATCH to join against")
		}
		if o, ok := s.(*gql.OptionalBlock); ok && i == 0 && n.first {
			return nil, nil, nil, b.fail(o.Span,
				"A query cannot start with OPTIONAL MATCH: OPTIONAL is a left-outer join "+
					"and needs a preceding MATCH to join against")
		}
		st, bar, err := b.step(s, sc)
		if err != nil {
			return nil, nil, nil, err
		}
		if st != nil {
			seg.steps = append(seg.steps, st)
			continue
		}
		if _, ok := bar.(*sorted); !ok {
			writes, b.writes = true, true
		}
		seg.barrier = bar
		out.segs = append(out.segs, seg)
		seg = segment{}
	}
	out.segs = append(out.segs, seg)
	if l.Result == nil {
		if n.result && !writes && !l.Finish {
			at := l.Span
			if at.End > at.Start {
				at.Start = at.End - 1
			}
			return nil, nil, nil, b.fail(at, "A GQL query must end with a RETURN clause")
		}
		out.high = b.slots
		return out, nil, nil, nil
	}
	res, err := b.result(l.Result, sc)
	if err != nil {
		return nil, nil, nil, err
	}
	out.res, out.high = res, b.slots
	return out, res.columns, res.kinds, nil
}

// step binds one statement: it runs row by row, or on all rows.
func (b *binder) step(s gql.Step, sc *scope) (step, barrier, error) {
	switch s := s.(type) {
	case *gql.Match:
		m, err := b.matchStep(s, sc)
		return m, nil, err
	case *gql.OptionalBlock:
		m, err := b.optionalBlock(s, sc)
		return m, nil, err
	case *gql.Let:
		l := &letStep{}
		for _, f := range s.Items {
			if sc.find(f.Name.Text) != nil {
				return nil, nil, b.fail(f.Name.Span, "Variable `%s` is already bound", f.Name.Text)
			}
			x, kind, err := b.slotExpr(f.X, sc)
			if err != nil {
				return nil, nil, err
			}
			l.xs, l.kinds = append(l.xs, x), append(l.kinds, kind)
		}
		for i, f := range s.Items {
			if sc.vars[f.Name.Text] != nil {
				return nil, nil, b.fail(f.Name.Span, "Variable `%s` is already bound", f.Name.Text)
			}
			l.slots = append(l.slots, b.declare(sc, f.Name.Text, l.kinds[i]).slot)
			l.names = append(l.names, f.Name.Text)
		}
		return l, nil, nil
	case *gql.Filter:
		c, err := b.cond(s.X, sc)
		return &filterStep{c, gql.ExprText(s.X)}, nil, err
	case *gql.For:
		return b.forStep(s, sc)
	case *gql.Order:
		o := &sorted{text: orderText(s)}
		var err error
		if o.window, err = b.window(s, sc); err != nil {
			return nil, nil, err
		}
		for _, k := range s.Keys {
			x, err := b.expr(k.X, sc)
			if err != nil {
				return nil, nil, err
			}
			o.keys = append(o.keys, sortKey{x, k.Desc, k.Nulls})
		}
		return nil, o, nil
	case *gql.Call:
		return b.callStep(s, sc)
	}
	bar, err := b.mutation(s, sc)
	return nil, bar, err
}

func (b *binder) forStep(s *gql.For, sc *scope) (step, barrier, error) {
	f := &forStep{count: -1, text: s.Var.Text + " IN " + gql.ExprText(s.List)}
	var err error
	if f.list, err = b.expr(s.List, sc); err != nil {
		return nil, nil, err
	}
	if sc.find(s.Var.Text) != nil {
		return nil, nil, b.fail(s.Var.Span, "Variable `%s` is already bound", s.Var.Text)
	}
	f.slot = b.declare(sc, s.Var.Text, varValue).slot
	n := s.Ordinality
	if f.first = 1; n.Text == "" {
		n, f.first = s.Offset, 0
	}
	if n.Text != "" {
		if sc.find(n.Text) != nil {
			return nil, nil, b.fail(n.Span, "Variable `%s` is already bound", n.Text)
		}
		f.count = b.declare(sc, n.Text, varValue).slot
	}
	return f, nil, nil
}

func (b *binder) callStep(s *gql.Call, sc *scope) (step, barrier, error) {
	outer := sc
	if !s.All {
		outer = newScope(nil)
		for _, n := range s.Imports {
			v, err := b.lookup(sc, n)
			if err != nil {
				return nil, nil, err
			}
			outer.vars[n.Text] = v
			outer.list = append(outer.list, v)
		}
	}
	was := b.writes
	b.writes = false
	q, err := b.query(s.Body, outer, need{result: true})
	if err != nil {
		return nil, nil, err
	}
	if b.writes {
		return nil, nil, b.fail(s.Span, "A query that writes may not stand inside of CALL")
	}
	b.writes = was
	c := &callStep{q: q, optional: s.Optional}
	for i, name := range q.columns {
		if sc.find(name) != nil {
			return nil, nil, b.fail(s.Span, "Variable `%s` is already bound", name)
		}
		v := b.declare(sc, name, q.kinds[i])
		v.optional = s.Optional
		c.slots = append(c.slots, v.slot)
	}
	return c, nil, nil
}

// run runs the query. input is the rows that its first part works on: nil for the current row. emit gets the columns.
func (q *query) run(x *runner, _ [][]slot, emit func(cols []slot) error) error {
	defer x.r.Mem.Rewind(x.r.Mem.Mark())
	var table [][]slot
	for i, part := range q.parts {
		rows := [][]slot(nil)
		if i > 0 {
			if rows = table; rows == nil {
				rows = [][]slot{}
			}
		}
		if i == len(q.parts)-1 {
			return part.run(x, rows, emit)
		}
		table = nil
		err := part.run(x, rows, func(cols []slot) error {
			table = append(table, slices.Clone(cols))
			return x.holds(len(table), len(cols))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// holds counts a row of slots that is kept; n is how many there are then.
func (x *runner) holds(n, slots int) error {
	if n > x.r.Ex.Limits.Rows {
		return errs.Internal("The statement would hold more than %d rows", x.r.Ex.Limits.Rows)
	}
	return x.r.Mem.Charge(32 + slots*slotSize)
}

const slotSize = 64

// run runs a composite query on a table of columns; nil: on the current row.
func (c *composite) run(x *runner, table [][]slot, emit func(cols []slot) error) error {
	if c.op == gql.OpNone {
		return c.arm(x, 0, table, emit)
	}
	gather := func(i int, f func(key string, cols []slot) error) error {
		return c.arm(x, i, table, func(cols []slot) error {
			key, err := x.rowKey(cols)
			if err != nil {
				return err
			}
			return f(key, cols)
		})
	}
	if c.op == gql.OpOtherwise {
		for i := range c.arms {
			any := false
			err := c.arm(x, i, table, func(cols []slot) error {
				any = true
				return emit(cols)
			})
			if err != nil || any {
				return err
			}
		}
		return nil
	}
	counts := &tally{x: x, n: map[string]int{}}
	if c.op == gql.OpUnion {
		for i := range c.arms {
			err := gather(i, func(key string, cols []slot) error {
				if !c.all {
					if again, err := counts.add(key); again || err != nil {
						return err
					}
				}
				return emit(cols)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c.subtract(x, gather, emit)
}

// tally counts keys, within the limit of what a program may compare.
type tally struct {
	x *runner
	n map[string]int
}

// add counts a key and reports whether it was there.
func (t *tally) add(key string) (bool, error) {
	n := t.n[key]
	if n == 0 {
		if len(t.n) >= t.x.r.Ex.Limits.GraphJoins {
			return false, t.x.tooMany("SERVICE_GQL_MAX_JOIN_BUILD_ROWS", t.x.r.Ex.Limits.GraphJoins)
		}
		if err := t.x.r.Mem.Charge(len(key) + 48); err != nil {
			return false, err
		}
	}
	t.n[key] = n + 1
	return n > 0, nil
}

func (x *runner) tooMany(setting string, n int) error {
	return errs.Internal("GQL exceeded %s (%d); the program would compare too many rows", setting, n)
}

// subtract is EXCEPT and INTERSECT, from left to right.
func (c *composite) subtract(x *runner, gather func(int, func(string, []slot) error) error,
	emit func([]slot) error) error {
	type entry struct {
		key  string
		cols []slot
	}
	var rows []entry
	err := gather(0, func(key string, cols []slot) error {
		rows = append(rows, entry{key, slices.Clone(cols)})
		return x.holds(len(rows), len(cols))
	})
	if err != nil {
		return err
	}
	for i := 1; i < len(c.arms); i++ {
		right := &tally{x: x, n: map[string]int{}}
		err := gather(i, func(key string, _ []slot) error {
			_, err := right.add(key)
			return err
		})
		if err != nil {
			return err
		}
		kept := rows[:0]
		for _, e := range rows {
			hit := right.n[e.key] > 0
			if hit && c.all {
				right.n[e.key]--
			}
			if hit == (c.op == gql.OpIntersect) {
				kept = append(kept, e)
			}
		}
		rows = kept
	}
	seen := &tally{x: x, n: map[string]int{}}
	for _, e := range rows {
		if !c.all {
			if again, err := seen.add(e.key); err != nil {
				return err
			} else if again {
				continue
			}
		}
		if err := emit(e.cols); err != nil {
			return err
		}
	}
	return nil
}

// arm runs one arm on the table.
func (c *composite) arm(x *runner, i int, table [][]slot, emit func([]slot) error) error {
	l := c.arms[i]
	if table == nil {
		return l.run(x, nil, emit)
	}
	rows := make([][]slot, len(table))
	for j, cols := range table {
		row := make([]slot, l.high-l.low)
		for n, s := range c.in {
			row[s-l.low] = cols[c.yield[n]]
		}
		rows[j] = row
		if err := x.holds(j, len(row)); err != nil {
			return err
		}
	}
	return l.run(x, rows, emit)
}

// rowKey is a text that is equal for rows of equal values; null and missing are one value.
func (x *runner) rowKey(cols []slot) (string, error) {
	var key []byte
	for i := range cols {
		s := &cols[i]
		if s.kind == isNode || s.kind == isEdge {
			key = append(value.RecordOf(s.el.recordID()).AppendText(key), 0)
			continue
		}
		v, err := x.value(s)
		if err != nil {
			return "", err
		}
		key = appendKey(key, v)
		key = append(key, 0)
	}
	return string(key), nil
}

// appendKey appends a text of v that is the same for values that are equal.
func appendKey(key []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindNone, value.KindNull:
		return append(key, "NULL"...)
	case value.KindFloat, value.KindDecimal:
		if i := wholeOf(v); value.LooseEqual(i, v) {
			return i.AppendText(key)
		}
		return value.Float(v.AsFloat()).AppendText(key)
	case value.KindArray:
		key = append(key, '[')
		for _, e := range v.Elems() {
			key = append(appendKey(key, e), ',')
		}
		return append(key, ']')
	}
	return v.AppendText(key)
}

// wholeOf is a number as an int, or NONE where it is none.
func wholeOf(v value.Value) value.Value {
	f := v.AsFloat()
	if f >= -1<<53 && f <= 1<<53 {
		return value.Int(int64(f))
	}
	return value.None
}

// run runs the linear query on rows, nil standing for the current row, and gives the columns of its result.
func (l *linear) run(x *runner, rows [][]slot, emit func(cols []slot) error) error {
	defer x.r.Mem.Rewind(x.r.Mem.Mark())
	if l.braced != nil {
		return l.each(x, rows, func() error { return l.braced.run(x, nil, emit) })
	}
	for i := range l.segs {
		seg := &l.segs[i]
		if seg.barrier == nil {
			return l.finish(x, rows, seg.steps, emit)
		}
		out := [][]slot{}
		err := l.each(x, rows, func() error {
			return runSteps(x, seg.steps, func() error {
				out = append(out, slices.Clone(x.row[l.low:l.high]))
				return x.holds(len(out), l.high-l.low)
			})
		})
		if err != nil {
			return err
		}
		if rows, err = seg.barrier.whole(x, l, out); err != nil {
			return err
		}
	}
	return nil
}

// finish runs the last steps into the result.
func (l *linear) finish(x *runner, rows [][]slot, steps []step, emit func([]slot) error) error {
	if l.res == nil {
		return l.each(x, rows, func() error { return runSteps(x, steps, func() error { return emit(nil) }) })
	}
	sink, err := l.res.open(x, l, emit)
	if err != nil {
		return err
	}
	err = l.each(x, rows, func() error { return runSteps(x, steps, sink.row) })
	if err != nil && err != sink.stop {
		return err
	}
	return sink.close()
}

// each calls f with each of rows as the current one.
func (l *linear) each(x *runner, rows [][]slot, f func() error) error {
	if rows == nil {
		return f()
	}
	was := slices.Clone(x.row[l.low:l.high])
	defer copy(x.row[l.low:l.high], was)
	for _, row := range rows {
		if err := x.r.Tick(x.ctx); err != nil {
			return err
		}
		copy(x.row[l.low:l.high], row)
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func runSteps(x *runner, steps []step, k func() error) error {
	if len(steps) == 0 {
		return k()
	}
	return steps[0].run(x, func() error { return runSteps(x, steps[1:], k) })
}

// letStep is LET.
type letStep struct {
	xs    []slotFn
	kinds []varKind
	slots []int
	names []string
}

func (s *letStep) run(x *runner, k func() error) error {
	vals := make([]slot, len(s.xs))
	for i, f := range s.xs {
		var err error
		if vals[i], err = f(x); err != nil {
			return err
		}
	}
	for i, at := range s.slots {
		x.row[at] = vals[i]
	}
	return k()
}

// filterStep is FILTER.
type filterStep struct {
	cond condFn
	text string
}

func (s *filterStep) run(x *runner, k func() error) error {
	if ok, err := s.cond(x); err != nil || ok != yes {
		return err
	}
	return k()
}

// forStep is FOR.
type forStep struct {
	list  evalFn
	slot  int
	count int // -1: none
	first int64
	text  string
}

func (s *forStep) run(x *runner, k func() error) error {
	v, err := s.list(x)
	if err != nil || v.IsNullish() {
		return err
	}
	if v.Kind() != value.KindArray && v.Kind() != value.KindSet {
		return errs.Internal("FOR expects a list, found %s", kindName(v))
	}
	for i, e := range v.Elems() {
		if err := x.r.Tick(x.ctx); err != nil {
			return err
		}
		x.row[s.slot] = valueSlot(e)
		if s.count >= 0 {
			x.row[s.count] = valueSlot(value.Int(int64(i) + s.first))
		}
		if err := k(); err != nil {
			return err
		}
	}
	return nil
}

// callStep is CALL.
type callStep struct {
	q        *query
	slots    []int
	optional bool
}

func (s *callStep) run(x *runner, k func() error) error {
	if err := x.r.Enter(x.ctx); err != nil {
		return err
	}
	defer x.r.Leave()
	any := false
	err := s.q.run(x, nil, func(cols []slot) error {
		any = true
		for i, at := range s.slots {
			x.row[at] = cols[i]
		}
		return k()
	})
	if err != nil || any || !s.optional {
		return err
	}
	for _, at := range s.slots {
		x.row[at] = slot{kind: isNull, val: value.Null}
	}
	return k()
}
