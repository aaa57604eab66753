package exec

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/processors"
)

// rows is a pull operator: a stream of documents. next gives false at the end; close may be called
// at any time and more than once.
type rows interface {
	next(ctx context.Context) (value.Value, bool, error)
	close()
	explain(ctx context.Context) *plan.Node
}

// tableRows walks the records of a table, or a range of them, and keeps those that hold.
type tableRows struct {
	r       *Run
	name    string
	tb      *catalog.Table // nil: it does not exist, which is an error when the rows are asked for
	rng     *value.Range
	reverse bool
	version uint64     // of the history; 0: now
	filter  *predicate // nil: all
	id      *value.RecordID
	from    ast.Expr // of FROM, where that gave the table

	cur    *record.Cursor
	first  []value.Value     // records that were looked at before the walk
	held   *record.RowsAhead // for the filter; nil: none
	shared *sift.Walk        // of the rest of the walk, once it is a long one
	read   int
	n      int64
}

func (s *tableRows) next(ctx context.Context) (value.Value, bool, error) {
	if s.cur == nil {
		if err := s.open(); err != nil {
			return value.None, false, err
		}
	}
	for s.shared == nil {
		doc, ok, err := s.record(ctx)
		if !ok || err != nil {
			return value.None, false, err
		}
		if err := s.r.Tick(ctx); err != nil {
			return value.None, false, err
		}
		if ok, err = s.filter.holds(ctx, doc); err != nil {
			return value.None, false, err
		}
		if s.held != nil && s.held.Passes() {
			s.held = nil
		}
		if s.read++; s.read == s.r.Ex.Limits.ShareAfter {
			s.share(ctx)
		}
		if ok {
			s.n++
			return doc, true, nil
		}
	}
	return s.nextShared(ctx)
}

// record is the next record of the walk.
func (s *tableRows) record(ctx context.Context) (value.Value, bool, error) {
	if s.held != nil {
		return s.held.Next(ctx)
	}
	return s.walked(ctx)
}

func (s *tableRows) walked(ctx context.Context) (value.Value, bool, error) {
	if len(s.first) > 0 {
		doc := s.first[0]
		s.first = s.first[1:]
		return doc, true, nil
	}
	if !s.cur.Next(ctx) {
		return value.None, false, s.cur.Err()
	}
	return s.cur.Record(), true, nil
}

// open begins the walk.
func (s *tableRows) open() error {
	g, err := s.r.Gate()
	if err != nil {
		return err
	}
	if s.tb == nil {
		return errs.TableNotFound(s.name)
	}
	s.cur = g.Scan(s.tb, record.ScanOptions{Range: s.rng, Reverse: s.reverse, Version: s.version})
	if s.filter == nil || s.version != 0 {
		return nil
	}
	if paths := s.r.awaits(s.filter.x); len(paths) > 0 {
		s.held = &record.RowsAhead{Pull: s.walked, Gate: s.r.nears, Paths: paths}
	}
	return nil
}

// sampled is how many records leadAway looks at.
const sampled = 8

// leadAway reports whether paths lead to other records from one of the first records. The walk has begun, and gives
// those later.
func (s *tableRows) leadAway(ctx context.Context, paths [][]ast.Part) (bool, error) {
	for len(s.first) < sampled && s.cur.Next(ctx) {
		s.first = append(s.first, s.cur.Record())
	}
	return record.LeadAway(s.first, paths), s.cur.Err()
}

// skip leaves out the first n rows and reports how many, 0 where each has to be looked at.
func (s *tableRows) skip(ctx context.Context, n int64) (int64, error) {
	if s.filter != nil || s.cur != nil {
		return 0, nil
	}
	if err := s.open(); err != nil || !s.cur.Plain() {
		return 0, err
	}
	skipped := s.cur.Skip(ctx, n)
	s.n += skipped
	return skipped, s.cur.Err()
}

// share shares the rest of the walk among the processors, if it may be: only in transactions that write nothing, where
// to read ahead causes no conflict.
func (s *tableRows) share(ctx context.Context) {
	workers := processors.Count()
	if s.filter == nil || s.held != nil || len(s.first) > 0 || s.filter.compiled.fast == nil || workers == 1 ||
		s.r.Tx.Writable() || !s.cur.Plain() || s.r.Ex.PlanOff.Has(plan.ParallelScan) {
		return
	}
	prog := &sift.Program{Set: s.r.compiler(ctx, s.filter.env)}
	if prog.Where = prog.Set.Test(s.filter.x); prog.Where != nil {
		s.shared = sift.New(s.cur, prog, sift.Options{Workers: workers})
	}
}

func (s *tableRows) nextShared(ctx context.Context) (value.Value, bool, error) {
	for {
		row, ok, err := s.shared.Next(ctx)
		if !ok || err != nil {
			return value.None, false, err
		}
		doc, err := row.Stored.Record()
		if err != nil {
			return value.None, false, err
		}
		if row.Open {
			if err := s.r.Tick(ctx); err != nil {
				return value.None, false, err
			}
			if ok, err = s.filter.asWritten(ctx, doc); err != nil {
				return value.None, false, err
			}
		}
		if ok {
			s.n++
			return doc, true, nil
		}
	}
}

func (s *tableRows) close() {
	if s.shared != nil {
		s.shared.Close()
	}
	if s.cur != nil {
		s.cur.Close()
	}
}

// recordRows gives one record, if it is there and holds.
type recordRows struct {
	r       *Run
	tb      *catalog.Table
	id      *value.RecordID
	version uint64 // of the history; 0: now
	filter  *predicate
	from    ast.Expr // of FROM; nil where the condition says which record it is
	done    bool
	n       int64
}

func (s *recordRows) next(ctx context.Context) (value.Value, bool, error) {
	if s.done {
		return value.None, false, nil
	}
	s.done = true
	g, err := s.r.Gate()
	if err != nil {
		return value.None, false, err
	}
	doc, found, err := g.GetFrom(ctx, s.tb, s.id)
	if !found || err != nil {
		return value.None, false, err
	}
	ok, err := s.filter.holds(ctx, doc)
	if ok {
		s.n++
	}
	return doc, ok, err
}

func (s *recordRows) close() {}

// followed gives values as rows; links among them are followed to their records.
type followed struct {
	r      *Run
	filter *predicate
	links  bool // a link is given itself: the SELECT asks for it alone
	env    *Env // of the clauses that see each row next; nil: they see many at once
	n      int64
}

// keep is the row of a value, and whether there is one.
func (s *followed) keep(ctx context.Context, v value.Value) (row value.Value, ok bool, err error) {
	row = v
	if v.Kind() == value.KindRecord && (!s.links || s.filter != nil) {
		if row, err = s.r.Fetch(ctx, v.Record()); err != nil || row.IsNone() && !s.links {
			return value.None, false, err
		}
	}
	if s.env != nil {
		s.env.linked = v.Kind() == value.KindRecord
	}
	if ok, err = s.filter.holds(ctx, row); !ok || err != nil {
		return value.None, false, err
	}
	s.n++
	if s.links {
		row = v
	}
	return row, true, nil
}

// tell has env say of each row whether a link leads to it, unless the clauses of s see the rows later.
func (s *followed) tell(env *Env, of *ast.Select) {
	if of.Group == nil && of.Order == nil && len(of.Split) == 0 {
		s.env = env
	}
}

// valueRows gives the values of a list.
type valueRows struct {
	followed
	vs    []value.Value
	ahead record.Ahead
	paths [][]ast.Part // that are followed from each value
	skip  bool         // leave out NONE and NULL
	from  ast.Expr     // the expression they came from
}

// all reports whether all values are of a kind; there is at least one.
func (s *valueRows) all(k value.Kind) bool {
	return len(s.vs) > 0 && !slices.ContainsFunc(s.vs, func(v value.Value) bool { return v.Kind() != k })
}

func (s *valueRows) next(ctx context.Context) (value.Value, bool, error) {
	for len(s.vs) > 0 {
		if err := s.r.reach(ctx, &s.ahead, s.vs, s.paths...); err != nil {
			return value.None, false, err
		}
		v := s.vs[0]
		s.vs = s.vs[1:]
		if s.skip && v.IsNullish() {
			continue
		}
		if row, ok, err := s.keep(ctx, v); ok || err != nil {
			return row, ok, err
		}
	}
	return value.None, false, nil
}

func (s *valueRows) close() {}

// subRows gives the rows of a SELECT inside.
type subRows struct {
	followed
	in rows
}

func (s *subRows) next(ctx context.Context) (value.Value, bool, error) {
	for {
		v, ok, err := s.in.next(ctx)
		if !ok || err != nil {
			return value.None, false, err
		}
		if row, ok, err := s.keep(ctx, v); ok || err != nil {
			return row, ok, err
		}
	}
}

func (s *subRows) close() { s.in.close() }

func (s *subRows) explain(ctx context.Context) *plan.Node {
	return s.filter.filtered(ctx, s.in.explain(ctx), s.n)
}

// unionRows gives the rows of several sources, one after the other.
type unionRows struct {
	parts []rows
	where *predicate // that each of them has, in a plan
	at    int
	n     int64
}

func (s *unionRows) next(ctx context.Context) (value.Value, bool, error) {
	for s.at < len(s.parts) {
		doc, ok, err := s.parts[s.at].next(ctx)
		if ok || err != nil {
			s.n++
			return doc, ok, err
		}
		s.parts[s.at].close()
		s.at++
	}
	return value.None, false, nil
}

func (s *unionRows) close() {
	for _, p := range s.parts {
		p.close()
	}
}

// predicate is a WHERE over documents; nil holds for all.
type predicate struct {
	r    *Run
	env  *Env // its document is changed for each row
	x    ast.Expr
	once once // sub-selects that say the same for every row

	compiled compiled
}

func (p *predicate) holds(ctx context.Context, doc value.Value) (bool, error) {
	if p == nil {
		return true, nil
	}
	if v, ok := p.compiled.value(ctx, p.r, p.env, p.x, doc); ok {
		return value.Truthy(v), nil
	}
	return p.asWritten(ctx, doc)
}

// asWritten evaluates the condition for a document.
func (p *predicate) asWritten(ctx context.Context, doc value.Value) (bool, error) {
	p.env.SetDoc(doc)
	v, err := p.once.within(ctx, p.r, p.env, p.x)
	return value.Truthy(v), err
}

// splitRows gives a row for each element of the arrays at the given paths, and for each of those one for each element
// at the next path. Rows are made as they are asked for.
type splitRows struct {
	r     *Run
	in    rows
	paths []*ast.Idiom
	shown []*ast.Idiom // as written
	open  []split      // one for each path whose elements are walked
	n     int64
}

// split is SPLIT over rows, and the columns to go on with. An alias is split as the value that it stands for, which
// each row gets for this.
func (r *Run) split(env *Env, in rows, s *ast.Select) (rows, *ast.Projections) {
	to, made := plan.SplitColumns(s)
	if len(made) > 0 {
		in = &mapRows{in: in, f: func(ctx context.Context, doc value.Value) (value.Value, error) {
			env.SetDoc(doc)
			out := doc
			if doc.Kind() != value.KindObject {
				out = value.ObjectOf(nil)
			}
			for _, f := range made {
				v, err := r.Value(ctx, env, f.X)
				if err != nil {
					return value.None, err
				}
				out = inside.Put(out, f.Alias.Parts, v)
			}
			return out, nil
		}}
	}
	return &splitRows{r: r, in: in, paths: to.Split, shown: s.Split}, to.Projections
}

// split is a walk over the elements at one path of a row.
type split struct {
	doc   value.Value
	elems []value.Value // nil: there are none, and the row goes on as it is
	at    int
}

func (s *splitRows) next(ctx context.Context) (value.Value, bool, error) {
	for {
		if err := s.r.Tick(ctx); err != nil {
			return value.None, false, err
		}
		level := len(s.open)
		doc, ok, err := s.row(ctx, level)
		if err != nil {
			return value.None, false, err
		}
		switch {
		case ok && level == len(s.paths):
			s.n++
			return doc, true, nil
		case ok:
			s.open = append(s.open, splitOf(doc, s.paths[level].Parts))
		case level == 0:
			return value.None, false, nil
		default:
			s.open = s.open[:level-1]
		}
	}
}

// row is the next row that is split at all the paths before a level.
func (s *splitRows) row(ctx context.Context, level int) (value.Value, bool, error) {
	if level == 0 {
		return s.in.next(ctx)
	}
	l := &s.open[level-1]
	i := l.at
	l.at++
	switch {
	case l.elems == nil:
		return l.doc, i == 0, nil
	case i == len(l.elems):
		return value.None, false, nil
	}
	return inside.Put(l.doc, s.paths[level-1].Parts, l.elems[i]), true, nil
}

func splitOf(doc value.Value, path []ast.Part) split {
	v := inside.Value(doc, path)
	if v.Kind() != value.KindArray && v.Kind() != value.KindSet || v.Len() == 0 {
		return split{doc: doc}
	}
	return split{doc: doc, elems: v.Elems()}
}

func (s *splitRows) close() { s.in.close() }

// limitRows leaves out the first start rows and ends after limit.
type limitRows struct {
	in rows
	window
	n int64
}

func (s *limitRows) next(ctx context.Context) (value.Value, bool, error) {
	if scan, ok := unmeasured(s.in).(*tableRows); ok && s.start > 0 {
		skipped, err := scan.skip(ctx, s.start)
		if err != nil {
			return value.None, false, err
		}
		s.start -= skipped
	}
	for ; s.start > 0; s.start-- {
		if _, ok, err := s.in.next(ctx); !ok || err != nil {
			return value.None, false, err
		}
	}
	if s.limit >= 0 && int64(s.n) >= s.limit {
		return value.None, false, nil
	}
	doc, ok, err := s.in.next(ctx)
	if ok {
		s.n++
	}
	return doc, ok, err
}

func (s *limitRows) close() { s.in.close() }

// far reports whether rows may be held, to read together what they lead to: the store is elsewhere, and the transaction
// writes nothing, so that no row is another one by the time it is asked for.
func (r *Run) far() bool { return r.Tx.Prefetches() && !r.Tx.Writable() && r.at == 0 }

// awaits are the paths in expressions, evaluated for each row, for which rows may be held.
func (r *Run) awaits(xs ...ast.Expr) [][]ast.Part {
	if !r.far() {
		return nil
	}
	return plan.Paths(xs)
}

// aheadRows is a RowsAhead between two operators.
type aheadRows struct {
	rows
	held record.RowsAhead
}

func (s *aheadRows) next(ctx context.Context) (value.Value, bool, error) { return s.held.Next(ctx) }

func (r *Run) hold(in rows, paths [][]ast.Part) rows {
	out := &aheadRows{rows: in, held: record.RowsAhead{Gate: r.nears, Paths: paths}}
	out.held.Pull = func(ctx context.Context) (value.Value, bool, error) { return out.rows.next(ctx) } // or its clock
	return out
}

// lookingAhead puts an aheadRows under an operator that evaluates expressions for each row. Rows that leave something
// behind for the operator, such as the score of a search, are left alone.
func (r *Run) lookingAhead(in rows, xs ...ast.Expr) rows {
	paths := r.awaits(xs...)
	if s, ok := in.(*valueRows); ok && len(paths) > 0 {
		s.paths = append([][]ast.Part{nil}, paths...) // nil: the records themselves
	} else if len(paths) > 0 && standsAlone(in) {
		return r.hold(in, paths)
	}
	return in
}

// standsAlone reports whether each row is no more than its document.
func standsAlone(in rows) bool {
	switch in := unmeasured(in).(type) {
	case *tableRows, *indexRows, *unionIndexRows, *recordRows:
		return true
	case *limitRows:
		return standsAlone(in.in)
	case *sortRows:
		return standsAlone(in.in)
	case *unionRows:
		return !slices.ContainsFunc(in.parts, func(p rows) bool { return !standsAlone(p) })
	}
	return false
}

// mapRows turns each row into another.
type mapRows struct {
	in    rows
	f     func(context.Context, value.Value) (value.Value, error)
	shows func(context.Context) plan.Node // in a plan; nil: not at all
	n     int64
}

func (s *mapRows) next(ctx context.Context) (value.Value, bool, error) {
	doc, ok, err := s.in.next(ctx)
	if !ok || err != nil {
		return value.None, false, err
	}
	s.n++
	doc, err = s.f(ctx, doc)
	return doc, err == nil, err
}

func (s *mapRows) close() { s.in.close() }
