package sql

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Column is a column of a relation or an answer.
type Column struct {
	Name  string
	OID   pgtype.OID
	Table uint32 // the object id of its relation, or 0
	Attr  int16
}

// Filter is a condition that a relation may use to give fewer rows. It need not: the reader looks at all of them again.
type Filter struct {
	Column int
	Op     string // = < > <= >=
	Value  value.Value
}

// Scan is what is wanted of a relation.
type Scan struct {
	Filters []Filter
	Columns []bool // which are looked at; the others may be left NULL; nil: all
	Passing bool   // a row and its values need only be good until yield returns
	// Most is how many rows in Order are enough, 0: all are wanted. A relation may make use of it where it gives no row
	// that a filter drops.
	Most  int64
	Order []ScanOrder
}

// ScanOrder is a column that rows are ordered by.
type ScanOrder struct {
	Column           int
	Desc, NullsFirst bool
}

// Counter is a relation that may know how many rows a scan would give without giving them.
type Counter interface {
	// Count counts the rows that meet the filters; ok is false where it cannot.
	Count(ctx context.Context, s *Scan) (n int64, ok bool, err error)
}

// Relation is something that rows can be read from.
type Relation interface {
	Columns() []Column
	// Scan hands the rows to yield, which keeps them unless s.Passing is set. An error of yield ends it.
	Scan(ctx context.Context, s *Scan, yield func(row []value.Value) error) error
	// Exclusive reports whether nothing else can be read while yield runs.
	Exclusive() bool
}

// Env is what a query is bound and run in.
type Env interface {
	// Relation finds a relation; schema is "" for one of the search path. nil: there is none.
	Relation(schema, name string) (Relation, error)
	// Function finds a function of the environment; nil: there is none.
	Function(name string) *Function
	// Object is the id of the object of a registered type by its name, ObjectName the reverse.
	Object(oid pgtype.OID, name string) (int64, error)
	ObjectName(oid pgtype.OID, id int64) string
	// Style is that of the session.
	Style() *pgtype.Style
	// Charge counts bytes that the query holds until it ends.
	Charge(n int) error
	// Poll reports whether the query must end.
	Poll(ctx context.Context) error
}

// Function is a function of SQL.
type Function struct {
	Min, Max int // arguments; Max -1: any number
	// Type is the type of the result for the types of the arguments.
	Type func(args []pgtype.OID) pgtype.OID
	// Args are the types that literals and parameters among the arguments are taken for; the last one goes on. Nil:
	// text.
	Args []pgtype.OID
	Keep bool // an argument that has a type keeps it
	// Eval is not called with a NULL unless Nulls is set: the result is NULL then.
	Eval  func(c *Call) (value.Value, error)
	Nulls bool
	// Fields are those of a row that the function gives; Set says that it gives a list of rows, as an array.
	Fields []Column
	Set    bool
	As     string // the name of its column in FROM; "": that of the function
}

// Call is one call of a function.
type Call struct {
	Ctx  context.Context
	Env  Env
	Args []value.Value
	OIDs []pgtype.OID
}

// Str is argument i as a text; "" where it is missing.
func (c *Call) Str(i int) string {
	if i >= len(c.Args) || c.Args[i].IsNullish() {
		return ""
	}
	if c.Args[i].Kind() == value.KindString {
		return c.Args[i].Str()
	}
	return string(pgtype.AppendText(nil, c.OIDs[i], c.Args[i], c.Env.Style()))
}

// Int is argument i as a whole number; 0 where it is none.
func (c *Call) Int(i int) int64 {
	if i >= len(c.Args) {
		return 0
	}
	return asInt(c.Args[i])
}

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
	s := p.straight
	return pushed(s, &scope{rt: newRuntime(ctx, env, params)}, s.conds)
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
	oid    pgtype.OID
	eval   func(s *scope) (value.Value, error)
	key    string       // the same for the same expression
	cols   map[int]bool // of the row, nil: none
	outer  bool         // it looks at rows around it
	lit    *value.Value // its value where that is known
	param  int          // number of a parameter whose type is open
	fields []Column     // of a row
	name   string       // that a column of it has
	weak   bool         // the name is that of a type: that of another cast goes before

	compares       *comparisonOf                       // not nil: a column with something
	equalL, equalR *bound                              // of an equality
	setArgs        func(s *scope) (value.Value, error) // of a function that gives a set: all of it
}

func (b *bound) uses(cols ...*bound) *bound {
	for _, c := range cols {
		if c == nil {
			continue
		}
		b.outer = b.outer || c.outer
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
	hidden bool  // of the right side of USING
	used   *bool // set when an expression reads the column; nil: not tracked
}

// names is what names mean in a query.
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

// binder binds one statement.
type binder struct {
	env    Env
	params []pgtype.OID
	given  []pgtype.OID
	ctes   []*cteState
	leaves int
	stored int
	depth  int
	// recursing counts the recursive queries whose recursive part is being bound: what reads it changes as it runs.
	recursing int
}

// cteState is a query of WITH.
type cteState struct {
	name string
	cols []Column
	q    *query
	rec  *query // the part of a recursive query that reads itself
	all  bool
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

// with binds a query of WITH.
func (b *binder) with(c *cte, recursive bool, outer *names) error {
	st := &cteState{name: c.name}
	if recursive && c.sub.set != nil && c.sub.set.op == "union" && mentions(c.sub.set.r, c.name) {
		return b.withRecursive(c, st, outer)
	}
	q, err := b.query(c.sub, outer)
	if err != nil {
		return err
	}
	st.q, st.cols = q, renamed(q.cols, c.cols)
	b.ctes = append(b.ctes, st)
	return nil
}

func (b *binder) withRecursive(c *cte, st *cteState, outer *names) error {
	base, err := b.query(c.sub.set.l, outer)
	if err != nil {
		return err
	}
	st.q, st.cols, st.all = base, renamed(base.cols, c.cols), c.sub.set.all
	for i := range st.cols {
		if st.cols[i].OID == pgtype.Unknown {
			st.cols[i].OID = pgtype.Text
		}
	}
	b.ctes = append(b.ctes, st)
	b.recursing++
	rec, err := b.query(c.sub.set.r, outer)
	b.recursing--
	if err != nil {
		return err
	}
	if len(rec.cols) != len(base.cols) {
		return sqlstate.New(sqlstate.SyntaxError, "each UNION query must have the same number of columns")
	}
	st.rec = rec
	return nil
}

// mostRecursion is how many rows a recursive query may find.
const mostRecursion = 1_000_000

// rows gives the rows of a query of WITH, which runs once.
func (st *cteState) rows(rt *runtime, outer *scope) ([][]value.Value, error) {
	if rows, ok := rt.ctes[st]; ok {
		return rows, nil
	}
	all, err := st.q.rows(rt, outer)
	if err != nil {
		return nil, err
	}
	if st.rec == nil {
		keep(&rt.ctes, st, all)
		return all, nil
	}
	seen := map[string]bool{}
	fresh := func(rows [][]value.Value) (out [][]value.Value) {
		for _, r := range rows {
			if k := rowKey(r); st.all || !seen[k] {
				seen[k] = true
				out = append(out, r)
			}
		}
		return out
	}
	all = fresh(all)
	for work := all; len(work) > 0; {
		keep(&rt.ctes, st, work)
		more, err := st.rec.rows(rt, outer)
		if err != nil {
			return nil, err
		}
		work = fresh(more)
		if all = append(all, work...); len(all) > mostRecursion {
			return nil, sqlstate.New(sqlstate.TooMuch, "a recursive query finds more than %d rows", mostRecursion)
		}
	}
	keep(&rt.ctes, st, all)
	return all, nil
}

// mentions reports whether a query reads a relation of a name.
func mentions(s *Select, name string) bool {
	var from func(f fromItem) bool
	from = func(f fromItem) bool {
		switch f := f.(type) {
		case *tableRef:
			return f.schema == "" && f.name == name
		case *subRef:
			return mentions(f.sub, name)
		case *join:
			return from(f.l) || from(f.r)
		}
		return false
	}
	switch {
	case s == nil:
		return false
	case s.set != nil:
		return mentions(s.set.l, name) || mentions(s.set.r, name)
	case s.core != nil:
		for _, f := range s.core.from {
			if from(f) {
				return true
			}
		}
	}
	return false
}

func renamed(cols []Column, names []string) []Column {
	out := append([]Column(nil), cols...)
	for i := range out {
		if i < len(names) {
			out[i].Name = names[i]
		}
	}
	return out
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

// setOp binds UNION, INTERSECT and EXCEPT.
func (b *binder) setOp(s *setOp, outer *names) (*query, error) {
	l, err := b.query(s.l, outer)
	if err != nil {
		return nil, err
	}
	r, err := b.query(s.r, outer)
	if err != nil {
		return nil, err
	}
	if len(l.cols) != len(r.cols) {
		return nil, sqlstate.New(sqlstate.SyntaxError, "each %s query must have the same number of columns",
			strings.ToUpper(s.op))
	}
	q := &query{cols: append([]Column(nil), l.cols...), outer: l.outer || r.outer,
		explain: both(setTitle(s), l.explain, r.explain)}
	for i := range q.cols {
		oid := common(l.cols[i].OID, r.cols[i].OID)
		if l.cols[i].OID == pgtype.Name && pgtype.IsText(r.cols[i].OID) {
			oid = pgtype.Name
		}
		if oid == 0 {
			return nil, sqlstate.New(sqlstate.TypeMismatch, "%s types %s and %s cannot be matched",
				strings.ToUpper(s.op),
				pgtype.Format(l.cols[i].OID), pgtype.Format(r.cols[i].OID))
		}
		if oid == pgtype.Unknown {
			oid = pgtype.Text
		}
		q.cols[i] = Column{Name: l.cols[i].Name, OID: oid}
	}
	lq, rq := converted(l, q.cols), converted(r, q.cols)
	q.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		return runSet(rt, outer, s, lq, rq, yield)
	}
	return q, nil
}

// setTitle names the step of a set operation.
func setTitle(s *setOp) string {
	if s.op == "union" && s.all {
		return "Append"
	}
	title := "HashSetOp " + strings.ToUpper(s.op[:1]) + s.op[1:]
	if s.all {
		title += " All"
	}
	return title
}

// converted is q with its rows of the types of cols.
func converted(q *query, cols []Column) *query {
	out := *q
	out.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		return q.run(rt, outer, func(row []value.Value) error {
			next := make([]value.Value, len(cols))
			for i := range cols {
				v, err := castValue(rt.ctx, rt.env, row[i], q.cols[i].OID, cols[i].OID)
				if err != nil {
					return err
				}
				next[i] = v
			}
			return yield(next)
		})
	}
	return &out
}

func runSet(rt *runtime, outer *scope, s *setOp, l, r *query, yield func([]value.Value) error) error {
	if s.op == "union" && s.all {
		if err := l.run(rt, outer, yield); err != nil {
			return err
		}
		return r.run(rt, outer, yield)
	}
	counts := map[string]int{}
	if s.op != "union" {
		if err := r.run(rt, outer, func(row []value.Value) error {
			counts[rowKey(row)]++
			return rt.hold(row)
		}); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	each := func(row []value.Value) error {
		k := rowKey(row)
		there := counts[k] > 0
		switch {
		case s.op == "intersect" && !there, s.op == "except" && there && !s.all:
			return nil
		case s.op == "except" && there:
			counts[k]--
			return nil
		case s.all:
			counts[k]--
			return yield(row)
		case seen[k]:
			return nil
		}
		seen[k] = true
		if err := rt.hold(row); err != nil {
			return err
		}
		return yield(row)
	}
	if err := l.run(rt, outer, each); err != nil || s.op != "union" {
		return err
	}
	return r.run(rt, outer, each)
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
