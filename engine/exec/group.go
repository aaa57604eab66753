package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// groupRows makes one row for each group of its input. It holds running totals, not rows, unless a
// field collects values.
type groupRows struct {
	r     *Run
	env   *Env
	in    rows
	of    *plan.Grouping
	by    []compiled // of what is grouped by
	reads []compiled // by total: its first argument

	out   *aggregate.Groups
	known aggregate.Known
	batch []*aggregate.Group // of the rows that are to be added
	spare []value.Value      // the keys of a row, to use again
	sum   held               // of what the groups hold
	at    int
	done  bool
	n     int64
}

// groupBy compiles GROUP over a projection list.
func (r *Run) groupBy(env *Env, in rows, s *ast.Select) (*groupRows, error) {
	g := &groupRows{r: r, env: env, in: in, of: plan.GroupingOf(s)}
	for _, c := range g.of.Calls {
		if err := r.Auth.Caps.MayCall(c.Path); err != nil {
			return nil, err
		}
	}
	g.by, g.reads = make([]compiled, len(g.of.By)), make([]compiled, len(g.of.Calls))
	g.out = aggregate.NewGroups(g.of.Calls, g.of.Lists)
	return g, nil
}

func (g *groupRows) next(ctx context.Context) (value.Value, bool, error) {
	if !g.done {
		g.done = true
		if err := g.fill(ctx); err != nil {
			return value.None, false, err
		}
	}
	if g.at == len(g.out.List) {
		return value.None, false, nil
	}
	doc, err := g.row(ctx, g.out.List[g.at])
	g.at++
	g.n++
	return doc, err == nil, err
}

func (g *groupRows) close() { g.in.close() }

// fill reads the whole input.
func (g *groupRows) fill(ctx context.Context) error {
	if g.of.All {
		g.out.Add(true)
	}
	taken, err := g.takeAll(ctx)
	if err != nil {
		return err
	}
	if !taken && !g.r.Auth.CanRead() { // as the reference: who may see no row gets none
		g.out.List = nil
	}
	g.out.Sort()
	return nil
}

// takeAll adds every row to its group, and reports whether there was one.
func (g *groupRows) takeAll(ctx context.Context) (taken bool, err error) {
	if text, ok := unmeasured(g.in).(*textRows); ok && text.bare && g.of.Counts {
		n, err := text.count(ctx)
		g.count(n)
		return n > 0, err
	}
	var xs []ast.Expr
	if g.r.far() {
		xs = slices.Clone(g.of.By)
		for i := range g.of.Fields {
			xs = append(xs, g.of.Fields[i].X)
		}
	}
	walk, err := g.r.sift(ctx, g.in, g.env, g.columns, xs...)
	if err != nil {
		return false, err
	}
	if walk != nil {
		return g.takeSifted(ctx, walk)
	}
	g.in = g.r.lookingAhead(g.in, xs...)
	for {
		doc, ok, err := g.in.next(ctx)
		if !ok || err != nil {
			return taken, err
		}
		taken = true
		if err := g.takeDoc(ctx, doc); err != nil {
			return true, err
		}
	}
}

// columns compiles the keys and the arguments of the aggregates.
func (g *groupRows) columns(p *sift.Program) (ok bool) {
	xs, ok := g.of.Columns()
	if ok {
		p.Count, p.Keys = g.of.Counts, len(g.of.By)
		p.Columns, ok = p.Set.Columns(xs)
	}
	return ok
}

// count counts n more rows of the only group, which nothing but count() is asked of.
func (g *groupRows) count(n int64) {
	if n == 0 {
		return
	}
	totals := g.out.List[0].Totals
	for i := range totals {
		totals[i].Rows(n)
	}
}

// takeSifted is takeAll for rows as they are stored.
func (g *groupRows) takeSifted(ctx context.Context, walk *sifted) (taken bool, err error) {
	for {
		doc, ok, err := walk.first(ctx)
		if err != nil {
			return taken, err
		}
		if !ok {
			break
		}
		if taken, err = true, g.takeDoc(ctx, doc); err != nil {
			return true, err
		}
	}
	for {
		b, ok, err := walk.walk.Batch(ctx)
		if err != nil {
			return taken, err
		}
		if !ok {
			n := walk.count()
			g.count(n)
			return taken || n > 0, nil
		}
		some, err := g.takeBatch(ctx, walk, b)
		if taken = taken || some; err != nil {
			return taken, err
		}
	}
}

// takeBatch adds the rows of a batch to their groups, and reports whether there was one.
func (g *groupRows) takeBatch(ctx context.Context, walk *sifted, b *sift.Batch) (taken bool, err error) {
	worker, keys := b.By()
	g.known.Turn(worker, keys, b.Fresh())
	values := b.Values()
	add := func() (err error) {
		values, err = g.of.Args.Add(g.batch, values, g.kept)
		g.batch = g.batch[:0]
		return err
	}
	for i := range b.Len() {
		at := b.Group(i)
		if at < 0 {
			if err := add(); err != nil {
				return true, err
			}
			doc, ok, err := walk.opened(ctx, b.Stored(i))
			if ok && err == nil {
				taken, err = true, g.takeDoc(ctx, doc)
			}
			if err != nil {
				return taken, err
			}
			continue
		}
		taken = true
		walk.scan.n++
		var gr *aggregate.Group
		if g.of.All {
			gr = g.out.List[0]
		} else if gr = g.known.Group(at); gr == nil {
			if gr, err = g.groupOf(g.known.Keys()); err != nil {
				return true, err
			}
			g.known.Add(gr)
		}
		g.batch = append(g.batch, gr)
	}
	return taken, add()
}

// kept counts a value that an aggregate keeps.
func (g *groupRows) kept(v value.Value) error { return g.sum.keep(g.r, v) }

// takeDoc adds a row to its group.
func (g *groupRows) takeDoc(ctx context.Context, doc value.Value) error {
	g.env.SetDoc(doc)
	g.spare = g.spare[:0]
	for i, x := range g.of.By {
		v, err := g.value(ctx, &g.by[i], x, doc)
		if err != nil {
			return err
		}
		g.spare = append(g.spare, v)
	}
	gr, err := g.groupOf(g.spare)
	if err != nil {
		return err
	}
	return g.take(ctx, gr, doc)
}

// groupOf is the group with the keys. It copies them for a new one.
func (g *groupRows) groupOf(keys []value.Value) (*aggregate.Group, error) {
	if g.of.All {
		return g.out.List[0], nil
	}
	gr, had := g.out.Find(keys)
	if had {
		return gr, nil
	}
	if err := g.keep(keys); err != nil {
		return nil, err
	}
	if len(g.out.List) > g.r.Ex.Limits.Rows {
		return nil, errs.Internal("The statement would hold more than %d groups", g.r.Ex.Limits.Rows)
	}
	return gr, nil
}

// add gives a value to an aggregate.
func (g *groupRows) add(t *aggregate.Total, v value.Value) error {
	if err := t.Add(v); err != nil || !t.Collects() {
		return err
	}
	return g.kept(v)
}

// keep counts what a new group takes.
func (g *groupRows) keep(keys []value.Value) error {
	for _, k := range keys {
		if err := g.sum.keep(g.r, k); err != nil {
			return err
		}
	}
	return g.r.Mem.Charge(groupSize)
}

// groupSize is about what a group takes beside its keys.
const groupSize = 160

// value evaluates an expression for the current document.
func (g *groupRows) value(ctx context.Context, c *compiled, x ast.Expr, doc value.Value) (value.Value, error) {
	if v, ok := c.value(ctx, g.r, g.env, x, doc); ok {
		return v, nil
	}
	return g.r.Value(ctx, g.env, x)
}

// take adds the document, which is that of g.env, to a group.
func (g *groupRows) take(ctx context.Context, gr *aggregate.Group, doc value.Value) error {
	for i := range g.of.Fields {
		f := &g.of.Fields[i]
		if f.Key >= 0 || f.Once {
			continue
		}
		if len(f.Calls) == 0 {
			v, err := g.r.Value(ctx, g.env, f.X)
			if err != nil {
				if fatal(err) {
					return err
				}
				v = value.None // what fails for one row of a group fails quietly
			}
			gr.Lists[f.List] = append(gr.Lists[f.List], v)
			if err := g.sum.keep(g.r, v); err != nil {
				return err
			}
			continue
		}
		for j, c := range f.Calls {
			v := g.of.Args.Absent[f.First+j]
			if len(c.Args) > 0 {
				var err error
				if v, err = g.value(ctx, &g.reads[f.First+j], c.Args[0], doc); err != nil {
					return err
				}
			}
			t := &gr.Totals[f.First+j]
			if err := g.add(t, v); err != nil {
				return err
			}
			if t.Asks() && len(c.Args) > 1 {
				sep, err := g.r.Value(ctx, g.env, c.Args[1])
				if err != nil {
					return err
				}
				t.Separate(value.ToString(sep))
			}
		}
	}
	return nil
}

// row makes the document of a group.
func (g *groupRows) row(ctx context.Context, gr *aggregate.Group) (value.Value, error) {
	if doc, ok := g.of.Plainly(gr); ok {
		return doc, nil
	}
	outer := g.r.aggregates
	defer func() { g.r.aggregates = outer }()
	g.r.aggregates = map[*ast.Call]value.Value{}
	keyDoc := value.ObjectOf(nil)
	for i := range g.of.Fields {
		if f := &g.of.Fields[i]; f.Key >= 0 {
			keyDoc = inside.Set(keyDoc, f.Path, gr.Keys[f.Key])
		}
	}
	out := keyDoc
	g.env.SetDoc(keyDoc)
	for i := range g.of.Fields {
		f := &g.of.Fields[i]
		var v value.Value
		switch {
		case f.Key >= 0:
			v = gr.Keys[f.Key]
		case len(f.Calls) == 0 && !f.Once:
			v = value.ArrayOf(gr.Lists[f.List])
		default:
			for j, c := range f.Calls {
				g.r.aggregates[c] = gr.Totals[f.First+j].Result()
			}
			var err error
			if v, err = g.r.Value(ctx, g.env, f.X); err != nil {
				if fatal(err) {
					return value.None, err
				}
				v = value.Null // so does what fails for the group as a whole
			}
		}
		if g.of.Value {
			return v, nil
		}
		out = inside.Set(out, f.Path, v)
	}
	return out, nil
}

// fatal reports whether an error is about the statement, not about values.
func fatal(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return !ok || e.Kind != errs.KindInternal && e.Kind != errs.KindValidation || e.Err != nil
}
