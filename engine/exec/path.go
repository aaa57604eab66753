package exec

import (
	"context"
	"math"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// properties are what a statement asks of its source beside the rows. The source sets what it grants. nil: nothing is
// asked.
type properties struct {
	order  *ast.Order // of the rows as they are stored
	wanted int64      // how many rows are read at most; -1: all
	count  bool       // the rows are only counted

	sorted bool // the rows come in that order
}

// propertiesOf returns what a SELECT asks of its source.
func propertiesOf(s *ast.Select, lim window) *properties {
	w := &properties{wanted: -1}
	if len(s.From) != 1 || len(s.Split) > 0 {
		return w
	}
	if s.Group != nil {
		w.count = plan.OnlyCounts(s)
		return w
	}
	if end := lim.start + lim.limit; lim.limit >= 0 && end >= 0 {
		w.wanted = end
	}
	if plan.SortsRaw(s) {
		w.order = s.Order
	}
	return w
}

// tableSource reads a table by the best way that the WHERE allows. Indexes know only what stands now.
func (r *Run) tableSource(ctx context.Context, env *Env, s *ast.Select, name string, where *predicate, version uint64,
	w *properties) (rows, error) {
	tb, err := r.Table(name)
	if err != nil {
		return nil, err
	}
	if tb == nil {
		return &tableRows{r: r, name: name, version: version, filter: where}, nil
	}
	tb = r.needed(tb, s)
	q := &plan.Query{Table: tb, With: s.With, Wanted: -1, Off: r.Ex.PlanOff}
	if version != 0 {
		q.With = &ast.With{NoIndex: true}
	}
	h := &planHost{r: r, env: env, tb: tb}
	q.Host = h
	if where != nil {
		q.Where, h.row, h.once = where.x, where.env, where.once
	}
	if w != nil {
		q.Order, q.Wanted = w.order, w.wanted
	}
	found, err := plan.Choose(ctx, q)
	if err != nil {
		return nil, err
	}
	b := &pathBuilder{r: r, env: env, tb: tb, where: where, left: where, version: version}
	if w != nil {
		w.sorted = found.Sorted
		b.counted = w.count && where != nil && r.readsPlain(tb)
		b.bare = b.counted && plan.Covers(ctx, q, found.Path)
	}
	// What writes may change the records that it has yet to find: the keys are those of before.
	if where != nil && r.readsPlain(tb) && !r.Tx.Writable() {
		b.left = where.of(plan.Residual(ctx, q, found.Path))
		b.ids = plan.CoversIDs(ctx, q, s, found.Path)
	}
	if w != nil && b.left == nil && (w.order == nil || w.sorted) {
		b.wanted = w.wanted
	}
	return b.rows(ctx, found.Path)
}

// needed is the table without the COMPUTED fields that a SELECT does not read.
func (r *Run) needed(tb *catalog.Table, s *ast.Select) *catalog.Table {
	if len(tb.Computed) == 0 || s.Projections == nil {
		return tb
	}
	for i := range s.Projections.Fields {
		if s.Projections.Fields[i].All {
			return tb
		}
	}
	return tb.Needing(catalog.ReadingOfSelect(s))
}

// readsPlain reports whether the caller sees every record of a table as it is stored.
func (r *Run) readsPlain(tb *catalog.Table) bool { return r.Auth.CanRead() && len(tb.Computed) == 0 }

// planHost answers the planner for one table of a statement.
type planHost struct {
	r   *Run
	env *Env // of the statement
	row *Env // of its rows
	tb  *catalog.Table

	once once // of its WHERE
}

// Value implements plan.Host.
func (h *planHost) Value(ctx context.Context, x ast.Expr) (value.Value, error) {
	env := h.env
	if plan.OfOuter(x) { // seen from the rows
		env = h.row
	}
	return h.once.within(ctx, h.r, env, x)
}

// Once implements plan.Host.
func (h *planHost) Once(x *ast.Subquery) bool { return h.once[x] != nil }

// MayUse implements plan.Host. SECURITY: what an index is over may be hidden from the caller, for whom those fields are
// NONE: neither its entries nor their order may show. An index that is to be removed is left alone, but for searches,
// which nothing else can answer.
func (h *planHost) MayUse(ix *catalog.Index) bool {
	if ix.Build.Retired && ix.Define.Kind <= ast.IndexCount {
		return false
	}
	return !(h.r.hidesFields(h.tb) && h.tb.HidesPartOf(ix))
}

// BindText implements plan.Host.
func (h *planHost) BindText(ctx context.Context, x *ast.Binary, ix *catalog.Index) (bool, error) {
	m := h.r.matcher(h.row, x)
	err := m.bind(ctx, h.r, h.row, h.tb, ix)
	return m.plain, err
}

// Terms implements plan.Host. SECURITY: the indexes know fields that are hidden.
func (h *planHost) Terms() bool { return !h.r.hidesFields(h.tb) }

// Entries implements plan.Host. SECURITY: EXPLAIN shows what became of the answer, so who may not read everything must
// not be able to tell it from records that are hidden.
func (h *planHost) Entries(ix *catalog.Index, a index.Access, most int) (int, error) {
	if !h.r.Auth.CanRead() {
		return most, nil
	}
	cur := index.Scan(h.r.Tx, h.tb, ix, a)
	defer cur.Close()
	n := 0
	for n < most && cur.Next() {
		n++
	}
	return n, cur.Err()
}

// Records implements plan.Host. SECURITY: as Entries.
func (h *planHost) Records() (int64, error) {
	if !h.r.Auth.CanRead() {
		return math.MaxInt64, nil
	}
	g, err := h.r.Gate()
	if err != nil {
		return 0, err
	}
	return g.RowCount(h.tb)
}

// pathBuilder makes operators of the paths to the rows of a table.
type pathBuilder struct {
	r       *Run
	env     *Env
	tb      *catalog.Table
	where   *predicate
	left    *predicate // what of it the keys of an index do not say
	version uint64
	counted bool  // the rows are only counted, by who sees them as they are stored
	bare    bool  // they are, and the keys of the index tell them: the records are not read
	wanted  int64 // rows at most; 0: not known
	ids     bool  // of the records nothing is asked but their ids, where the path tells all of the WHERE
}

func (b *pathBuilder) rows(ctx context.Context, p plan.Path) (rows, error) {
	switch p := p.(type) {
	case *plan.Record:
		return &recordRows{r: b.r, tb: b.tb, id: p.ID, filter: b.where}, nil
	case *plan.Index:
		s := b.index(p)
		for _, x := range p.Rest {
			s.rest = append(s.rest, b.r.shown(b.where.env, x))
			s.inside = append(s.inside, plan.Subs(x, nil)...)
		}
		return s, nil
	case *plan.Union:
		return b.union(ctx, p)
	case *plan.Text:
		return b.text(p), nil
	case *plan.Nearest:
		return b.nearest(ctx, p)
	}
	scan := p.(*plan.Scan)
	return &tableRows{r: b.r, name: b.tb.Name, tb: b.tb, reverse: scan.Reverse, version: b.version,
		filter: b.where}, nil
}

func (b *pathBuilder) index(p *plan.Index) *indexRows {
	return &indexRows{r: b.r, tb: b.tb, ix: p.Index, access: p.Access, ties: p.Ties, filter: b.left, bare: b.bare,
		ids: b.ids, wanted: b.wanted}
}

func (b *pathBuilder) union(ctx context.Context, p *plan.Union) (rows, error) {
	u := &unionIndexRows{tb: b.tb, where: b.where, distinct: p.Distinct}
	for _, part := range p.Parts {
		in, err := b.rows(ctx, part)
		if err != nil {
			return nil, err
		}
		u.parts = append(u.parts, in)
	}
	return u, nil
}

func (b *pathBuilder) text(p *plan.Text) *textRows {
	m := b.r.matcher(b.where.env, p.X)
	t := &textRows{r: b.r, env: b.where.env, tb: b.tb, ix: p.Index, m: m, also: p.Also, filter: b.where.of(p.Rest)}
	t.bare = b.counted && t.filter == nil && !b.r.Ex.PlanOff.Has(plan.CoverCount)
	t.ids = b.ids && t.filter == nil
	m.scan = t
	return t
}

// of is a predicate like p with another condition; nil where there is none.
func (p *predicate) of(x ast.Expr) *predicate {
	if x == nil {
		return nil
	}
	return &predicate{r: p.r, env: p.env, x: x, once: p.once}
}
