package exec

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// groupRows makes one row for each group of its input. It holds running totals, not rows, unless a
// field collects values.
type groupRows struct {
	r      *Run
	env    *Env
	in     rows
	proj   *ast.Projections
	by     []ast.Expr // what is grouped by
	fast   []compiled // of by
	keys   []int      // for each field of proj: its place in by, or -1
	fields []groupField
	all    bool
	counts bool // nothing but count()
	text   string

	args  aggregate.Arguments
	plain bool // each field is a key or an aggregate, and goes to a name at the top

	out   *aggregate.Groups
	known aggregate.Known
	batch []*aggregate.Group // of the rows that are to be added
	spare []value.Value      // the keys of a row, to use again
	sum   held               // of what the groups hold
	at    int
	done  bool
	n     int64
}

// groupField is a projection in a group: aggregates within an expression, or a value per row.
type groupField struct {
	x     ast.Expr
	path  []string
	calls []*ast.Call // its aggregates; none: the values of the rows are collected
	args  []compiled  // the first arguments of calls
	first int         // place of the first of calls among a group's totals
	list  int         // of a field that collects: its place among a group's lists
	once  bool        // it does not read the rows: one value for a group
}

// groupBy compiles GROUP over a projection list.
func (r *Run) groupBy(env *Env, in rows, s *ast.Select) (*groupRows, error) {
	g := &groupRows{r: r, env: env, in: in, proj: s.Projections, all: s.Group.All, counts: plan.OnlyCounts(s)}
	var texts []string
	for _, id := range s.Group.By {
		texts = append(texts, ast.Text(id))
		g.by = append(g.by, aggregate.Key(s.Projections, id))
	}
	g.text = strings.Join(texts, ", ")
	g.fast = make([]compiled, len(g.by))
	var calls []*ast.Call
	lists := 0
	g.plain = true
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		gf := groupField{x: f.X, path: column.Alias(f.Alias), first: len(calls), list: lists}
		if gf.path == nil {
			gf.path = column.Of(f.X)
		}
		key := aggregate.Place(f, g.by, s.Group.By)
		if key < 0 {
			gf.calls = aggregate.Calls(f.X)
			for _, c := range gf.calls {
				if err := r.Auth.Caps.MayCall(c.Path); err != nil {
					return nil, err
				}
				g.args.Absent = append(g.args.Absent, aggregate.Absent(c))
				g.args.Reads = append(g.args.Reads, len(c.Args) > 0)
			}
			gf.args = make([]compiled, len(gf.calls))
			calls = append(calls, gf.calls...)
			if gf.once = len(gf.calls) == 0 && plan.OncePerGroup(f.X); len(gf.calls) == 0 && !gf.once {
				lists++
			}
			g.plain = g.plain && len(gf.calls) == 1 && f.X == ast.Expr(gf.calls[0])
		}
		g.plain = g.plain && len(gf.path) == 1
		g.fields = append(g.fields, gf)
		g.keys = append(g.keys, key)
	}
	g.out = aggregate.NewGroups(calls, lists)
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
	if g.all {
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
	if text, ok := unmeasured(g.in).(*textRows); ok && text.bare && g.counts {
		n, err := text.count(ctx)
		g.count(n)
		return n > 0, err
	}
	var xs []ast.Expr
	if g.r.far() {
		xs = slices.Clone(g.by)
		for i := range g.proj.Fields {
			xs = append(xs, g.proj.Fields[i].X)
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
	xs := slices.Clone(g.by)
	for i := range g.fields {
		if g.keys[i] < 0 && len(g.fields[i].calls) == 0 {
			return false
		}
		for _, c := range g.fields[i].calls {
			if len(c.Args) > 1 {
				return false
			}
			xs = append(xs, c.Args...)
		}
	}
	p.Count, p.Keys = g.counts, len(g.by)
	p.Columns, ok = p.Set.Columns(xs)
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
	values, width := b.Values(), b.Width()
	add := func() error {
		n := len(g.batch) * width
		err := g.args.Add(g.batch, values[:n], g.kept)
		g.batch, values = g.batch[:0], values[n:]
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
		if g.all {
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
	for i, x := range g.by {
		v, err := g.value(ctx, &g.fast[i], x, doc)
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
	if g.all {
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
	for i := range g.fields {
		f := &g.fields[i]
		if g.keys[i] >= 0 || f.once {
			continue
		}
		if len(f.calls) == 0 {
			v, err := g.r.Value(ctx, g.env, f.x)
			if err != nil {
				if fatal(err) {
					return err
				}
				v = value.None // what fails for one row of a group fails quietly
			}
			gr.Lists[f.list] = append(gr.Lists[f.list], v)
			if err := g.sum.keep(g.r, v); err != nil {
				return err
			}
			continue
		}
		for j, c := range f.calls {
			v := aggregate.Absent(c)
			if len(c.Args) > 0 {
				var err error
				if v, err = g.value(ctx, &f.args[j], c.Args[0], doc); err != nil {
					return err
				}
			}
			t := &gr.Totals[f.first+j]
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

// plainRow is row where nothing is to be evaluated.
func (g *groupRows) plainRow(gr *aggregate.Group) (value.Value, bool) {
	if !g.plain {
		return value.None, false
	}
	out := make([]value.Field, len(g.fields))
	for i := range g.fields {
		f := &g.fields[i]
		if out[i].Name = f.path[0]; g.keys[i] >= 0 {
			out[i].Value = gr.Keys[g.keys[i]]
		} else if out[i].Value = gr.Totals[f.first].Result(); !out[i].Value.Light() {
			return value.None, false
		}
	}
	if g.proj.Value {
		return out[0].Value, true
	}
	return value.ObjectOf(value.NewObject(out...)), true
}

// row makes the document of a group.
func (g *groupRows) row(ctx context.Context, gr *aggregate.Group) (value.Value, error) {
	if doc, ok := g.plainRow(gr); ok {
		return doc, nil
	}
	outer := g.r.aggregates
	defer func() { g.r.aggregates = outer }()
	g.r.aggregates = map[*ast.Call]value.Value{}
	keyDoc := value.ObjectOf(nil)
	for i := range g.fields {
		if k := g.keys[i]; k >= 0 {
			keyDoc = inside.Set(keyDoc, g.fields[i].path, gr.Keys[k])
		}
	}
	out := keyDoc
	g.env.SetDoc(keyDoc)
	for i := range g.fields {
		f := &g.fields[i]
		var v value.Value
		switch {
		case g.keys[i] >= 0:
			v = gr.Keys[g.keys[i]]
		case len(f.calls) == 0 && !f.once:
			v = value.ArrayOf(gr.Lists[f.list])
		default:
			for j, c := range f.calls {
				g.r.aggregates[c] = gr.Totals[f.first+j].Result()
			}
			var err error
			if v, err = g.r.Value(ctx, g.env, f.x); err != nil {
				if fatal(err) {
					return value.None, err
				}
				v = value.Null // so does what fails for the group as a whole
			}
		}
		if g.proj.Value {
			return v, nil
		}
		out = inside.Set(out, f.path, v)
	}
	return out, nil
}

// fatal reports whether an error is about the statement, not about values.
func fatal(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return !ok || e.Kind != errs.KindInternal && e.Kind != errs.KindValidation || e.Err != nil
}
