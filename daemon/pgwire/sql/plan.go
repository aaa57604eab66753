package sql

import (
	"context"
	"errors"
	"math"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Plan is a query that was bound to relations. It may be run again and again, by one goroutine at a time.
type Plan struct {
	Columns []Column
	Params  []pgtype.OID
	root    *query
	Leaves  int // how many relations are read
	Stored  int // how many of them are exclusive
	// straight is the only part of FROM, where the query does no more than to compare columns of it with what is known,
	// and to pick some of them; nil else. picked are those.
	straight *source
	picked   []int
}

// runtime is one run of a plan.
type runtime struct {
	ctx    context.Context
	env    Env
	params []value.Value
	ctes   map[*cteState][][]value.Value
	scans  map[*source][][]value.Value // of relations that are read whole and kept
	most   map[*coreRun]int64          // how many rows a LIMIT takes of a query
	subs   map[*subquery]any           // what queries inside of expressions answer, where that is always the same
	steps  int
	charge int
}

func newRuntime(ctx context.Context, env Env, params []value.Value) *runtime {
	return &runtime{ctx: ctx, env: env, params: params}
}

// keep puts a value into a map of a runtime. Most runs need none of them.
func keep[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// scope is the row that expressions see, and those around it.
type scope struct {
	rt    *runtime
	row   []value.Value
	outer *scope
	// Values that were computed for the row: of aggregates, windows, functions that give sets.
	aggs, wins, sets []value.Value
}

// poll is called for every row.
func (rt *runtime) poll() error {
	if rt.steps++; rt.steps&255 != 0 {
		return nil
	}
	if err := rt.ctx.Err(); err != nil {
		return err
	}
	return rt.env.Poll(rt.ctx)
}

// hold counts a row that is kept.
func (rt *runtime) hold(row []value.Value) error {
	n := 32
	for _, v := range row {
		n += value.Weight(v)
	}
	return rt.spend(n)
}

// spend counts bytes that are kept.
func (rt *runtime) spend(n int) error {
	if rt.charge += n; rt.charge < 64<<10 {
		return nil
	}
	n, rt.charge = rt.charge, 0
	return rt.env.Charge(n)
}

// errEnough ends a run that needs no more rows.
var errEnough = errors.New("enough rows")

// Run hands the rows of the plan to yield. A row and its values are good until yield returns.
func (p *Plan) Run(ctx context.Context, env Env, params []value.Value, yield func(row []value.Value) error) error {
	rt := newRuntime(ctx, env, params)
	return p.root.run(rt, nil, func(row []value.Value) error { return yield(row[:len(p.Columns)]) })
}

// Straight is the relation whose rows that meet the filters of a scan are those of the plan, in their order and as they
// are; nil: there is none. picked are its columns that the columns of the plan are.
func (p *Plan) Straight() (rel Relation, picked []int) {
	if p.straight == nil {
		return nil, nil
	}
	return p.straight.rel, p.picked
}

// StraightScan is the scan of a run of a plan that is Straight. All that it filters by is exactly what the plan does.
func (p *Plan) StraightScan(ctx context.Context, env Env, params []value.Value) (*Scan, error) {
	w := new(struct { // in one piece
		runtime
		scope
		Scan
		filters [2]Filter
	})
	s := p.straight
	w.runtime = runtime{ctx: ctx, env: env, params: params}
	w.rt, w.Filters = &w.runtime, w.filters[:0]
	return pushed(&w.Scan, s, &w.scope, s.conds)
}

// Unwrap reports whether err only says that enough rows were read.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// bound is an expression that knows its type and its columns.
type bound struct {
	oid  pgtype.OID
	eval func(s *scope) (value.Value, error)
	// whole is eval for whole numbers that are made of columns and constants; nil: it is something else. ok is false
	// where the value is none, so that eval must say what it is. Without values that are copied it takes half the time.
	whole  func(s *scope) (n int64, ok bool, err error)
	key    string                   // the same for the same expression
	cols   map[int]bool             // of the row, nil: none
	outer  bool                     // it looks at rows around it
	lit    *value.Value             // its value where that is known
	fixed  bool                     // it is a constant or a parameter: it has one value in a run
	varies bool                     // each time that it is computed it may have another value
	param  int                      // number of a parameter whose type is open
	fields []Column                 // of a row
	stored bool                     // it is the row of a relation
	name   string                   // that a column of it has
	weak   bool                     // the name is that of a type: that of another cast goes before
	spell  func(text string) string // that of a column

	compares       *comparisonOf                       // not nil: a column with something
	equalL, equalR *bound                              // of an equality
	setArgs        func(s *scope) (value.Value, error) // of a function that gives a set: all of it
}

func (b *bound) uses(cols ...*bound) *bound {
	for _, c := range cols {
		if c == nil {
			continue
		}
		b.outer, b.varies = b.outer || c.outer, b.varies || c.varies
		for i := range c.cols {
			if b.cols == nil {
				b.cols = map[int]bool{}
			}
			b.cols[i] = true
		}
	}
	return b
}

// colBind is a column in a scope of names.
type colBind struct {
	table  string
	name   string
	oid    pgtype.OID
	origin Column
	fields []Column
	stored bool  // of a relation, under its own names
	hidden bool  // of the right side of USING
	alone  bool  // it is the value of a function in FROM, whose name is no row
	used   *bool // set when an expression reads the column; nil: not tracked
}

// names resolves the names in a query.
type names struct {
	cols   []colBind
	outer  *names
	aggs   *aggregation // not nil: aggregates may be called
	groups map[string]int
	wins   *[]*windowCall
	sets   *[]*setCall
	where  string // the clause, for errors
	used   *bool  // not nil: set when a query inside looks at a name here or further out
}

// altered is x with another value: what is known of the value that it had is forgotten.
func (x *bound) altered(eval func(s *scope) (value.Value, error)) *bound {
	out := *x
	out.eval = eval
	out.lit, out.whole, out.compares, out.equalL, out.equalR, out.setArgs, out.spell = nil, nil, nil, nil, nil, nil, nil
	return &out
}

// binder binds one statement.
type binder struct {
	env    Env
	params []pgtype.OID
	given  []pgtype.OID
	ctes   []*cteState
	leaves int
	stored int
	subs   int // queries inside of expressions
	depth  int
	// bindings is how many expressions were bound.
	bindings int
	// recursing counts the recursive queries whose recursive part is being bound: what reads it changes as it runs.
	recursing int
}

// Bind binds a query to the relations of env. given are the types that the client names for its parameters.
func Bind(env Env, s *Select, given []pgtype.OID) (*Plan, error) {
	b := &binder{env: env, given: given}
	q, err := b.query(s, nil)
	if err != nil {
		return nil, err
	}
	for i := range q.cols {
		if q.cols[i].OID == pgtype.Unknown {
			q.cols[i].OID = pgtype.Text
		}
	}
	for i, oid := range b.params {
		if oid == 0 {
			b.params[i] = pgtype.Text
		}
	}
	if q.core != nil {
		q.core.pass()
	}
	p := &Plan{Columns: q.cols, Params: b.params, root: q, Leaves: b.leaves, Stored: b.stored}
	if q.core != nil && s.limit == nil && s.offset == nil {
		p.straight, p.picked = q.core.straight()
	}
	return p, nil
}

// query is a bound query.
type query struct {
	cols   []Column
	fields [][]Column
	run    func(rt *runtime, outer *scope, yield func(row []value.Value) error) error
	outer  bool     // it looks at rows around it
	core   *coreRun // not nil: it is a SELECT whose rows are given as they are, but for a LIMIT
	// explain says how it runs.
	explain func(rt *runtime) (*Step, error)
}

// rows runs q and keeps its rows.
func (q *query) rows(rt *runtime, outer *scope) (out [][]value.Value, err error) {
	err = q.run(rt, outer, func(row []value.Value) error {
		row = append([]value.Value(nil), row[:len(q.cols)]...)
		out = append(out, row)
		return rt.hold(row)
	})
	return out, enough(err)
}

func (b *binder) query(s *Select, outer *names) (*query, error) {
	if b.depth++; b.depth > mostDepth {
		return nil, sqlstate.New(sqlstate.TooDeep, "the statement nests too deeply")
	}
	defer func() { b.depth-- }()
	known := len(b.ctes)
	defer func() { b.ctes = b.ctes[:known] }()
	for i := range s.with {
		if err := b.with(&s.with[i], s.recursive, outer); err != nil {
			return nil, err
		}
	}
	limit, offset, err := b.limits(s, outer)
	if err != nil {
		return nil, err
	}
	var q *query
	switch {
	case s.core != nil:
		q, err = b.core(s.core, s.order, outer)
	case s.values != nil:
		q, err = b.values(s.values, outer)
	default:
		q, err = b.setOp(s.set, outer)
	}
	if err != nil {
		return nil, err
	}
	if s.core == nil && len(s.order) > 0 {
		if q, err = b.sorted(q, s.order, outer); err != nil {
			return nil, err
		}
	}
	return limited(q, limit, offset), nil
}

func (b *binder) limits(s *Select, outer *names) (limit, offset *bound, err error) {
	for _, l := range []struct {
		x  Expr
		to **bound
	}{{s.limit, &limit}, {s.offset, &offset}} {
		if l.x == nil {
			continue
		}
		x, err := b.expr(l.x, &names{outer: outer, where: "LIMIT"})
		if err != nil {
			return nil, nil, err
		}
		if *l.to, err = b.coerce(x, pgtype.Int8); err != nil {
			return nil, nil, err
		}
	}
	return limit, offset, nil
}

// limited cuts the rows of q.
func limited(q *query, limit, offset *bound) *query {
	if limit == nil && offset == nil {
		return q
	}
	// bounds are the numbers of the clauses (most -1: no LIMIT), which q is told of.
	bounds := func(rt *runtime, outer *scope) (most, skip int64, err error) {
		at := &scope{rt: rt, outer: outer}
		most = -1
		if limit != nil {
			v, err := limit.eval(at)
			if err != nil {
				return 0, 0, err
			}
			if !v.IsNone() {
				if most = asInt(v); most < 0 {
					return 0, 0, sqlstate.New(sqlstate.InvalidLimit, "LIMIT must not be negative")
				}
			}
		}
		if offset != nil {
			v, err := offset.eval(at)
			if err != nil {
				return 0, 0, err
			}
			if skip = asInt(v); skip < 0 {
				return 0, 0, sqlstate.New("2201X", "OFFSET must not be negative")
			}
		}
		if q.core != nil {
			if delete(rt.most, q.core); most > 0 && most <= math.MaxInt64-skip {
				keep(&rt.most, q.core, most+skip)
			}
		}
		return most, skip, nil
	}
	out := *q
	below := q.explain
	out.explain = func(rt *runtime) (*Step, error) {
		if (limit == nil || !limit.outer) && (offset == nil || !offset.outer) {
			if _, _, err := bounds(rt, nil); err != nil {
				return nil, err
			}
		}
		return over("Limit", below)(rt)
	}
	out.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		most, skip, err := bounds(rt, outer)
		if err != nil {
			return err
		}
		if most == 0 {
			return nil
		}
		n := int64(0)
		mine := false
		err = q.run(rt, outer, func(row []value.Value) error {
			if skip > 0 {
				skip--
				return nil
			}
			if err := yield(row); err != nil {
				return err
			}
			if n++; n == most {
				mine = true
				return errEnough
			}
			return nil
		})
		if mine {
			return enough(err)
		}
		return err
	}
	return &out
}

// values binds VALUES.
func (b *binder) values(rows [][]Expr, outer *names) (*query, error) {
	n := len(rows[0])
	list := make([][]*bound, len(rows))
	oids := make([]pgtype.OID, n)
	for i, row := range rows {
		if len(row) != n {
			return nil, sqlstate.New(sqlstate.SyntaxError, "VALUES lists must all be the same length")
		}
		for j, x := range row {
			if x == nil {
				return nil, sqlstate.New(sqlstate.SyntaxError, "DEFAULT is not allowed in this context")
			}
			e, err := b.expr(x, &names{outer: outer, where: "VALUES"})
			if err != nil {
				return nil, err
			}
			list[i] = append(list[i], e)
			oids[j] = common(oids[j], e.oid)
		}
	}
	q := &query{outer: true, explain: simply("Values Scan")}
	for j := range oids {
		q.cols = append(q.cols, Column{Name: "column" + itoa(j+1), OID: oids[j]})
		for i := range list {
			x, err := b.coerce(list[i][j], oids[j])
			if err != nil {
				return nil, err
			}
			list[i][j] = x
		}
	}
	q.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		at := &scope{rt: rt, outer: outer}
		for _, row := range list {
			if err := rt.poll(); err != nil {
				return err
			}
			out, err := evalAll(row, at)
			if err != nil {
				return err
			}
			if err := yield(out); err != nil {
				return err
			}
		}
		return nil
	}
	return q, nil
}

func evalAll(list []*bound, s *scope) ([]value.Value, error) {
	return evalInto(make([]value.Value, 0, len(list)), list, s)
}

// evalInto appends the values of list to out.
func evalInto(out []value.Value, list []*bound, s *scope) ([]value.Value, error) {
	for _, x := range list {
		v, err := x.eval(s)
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// sorted orders the rows of a query by its columns.
func (b *binder) sorted(q *query, order []orderKey, outer *names) (*query, error) {
	ns := &names{outer: outer, where: "ORDER BY"}
	for _, c := range q.cols {
		ns.cols = append(ns.cols, colBind{name: c.Name, oid: c.OID})
	}
	keys, err := b.outputKeys(order, q.cols, ns, nil)
	if err != nil {
		return nil, err
	}
	out := *q
	out.explain = over("Sort", q.explain)
	out.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		rows, err := q.rows(rt, outer)
		if err != nil {
			return err
		}
		list := make([]*scope, len(rows))
		for i := range rows {
			list[i] = &scope{rt: rt, row: rows[i], outer: outer}
		}
		if err := sortScopes(list, keys); err != nil {
			return err
		}
		for _, s := range list {
			if err := yield(s.row); err != nil {
				return err
			}
		}
		return nil
	}
	return &out, nil
}
