package graphql

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// clauses gives a SELECT the arguments of a list.
func (x *runner) clauses(s *ast.Select, o *object, p *pick) error {
	var err error
	if s.Where, err = x.where(o, p); err != nil {
		return err
	}
	if s.Order, err = orderOf(o, p.arg("order")); err != nil {
		return err
	}
	for _, c := range [...]struct {
		name string
		at   *ast.Expr
	}{{"limit", &s.Limit}, {"start", &s.Start}} {
		if v := p.arg(c.name); !v.IsNullish() {
			if v.Kind() != value.KindInt || v.Int() < 0 {
				return resolving("`%s` must be a number that is not negative", c.name)
			}
			*c.at = literalOf(v)
		}
	}
	return nil
}

// where is the condition of filter, or of where; nil for neither.
func (x *runner) where(o *object, p *pick) (ast.Expr, error) {
	v := p.arg("filter")
	if v.IsNullish() {
		v = p.arg("where")
	}
	if v.IsNullish() {
		return nil, nil
	}
	return (&conditions{x.o.conv}).table(o, v, nil)
}

// orderOf is the ORDER BY of an order argument; nil for none.
func orderOf(o *object, v value.Value) (*ast.Order, error) {
	var out *ast.Order
	for v.Kind() == value.KindObject && v.Object().Len() > 0 {
		asc, desc := member1(v, "asc"), member1(v, "desc")
		if !asc.IsNullish() && !desc.IsNullish() {
			return nil, resolving("Found both ASC and DESC in order")
		}
		down := asc.IsNullish()
		if down {
			asc = desc
		}
		if asc.IsNullish() {
			break
		}
		name := asc.Str()
		if f := o.fields[name]; f != nil && name != "id" {
			name = f.real
		}
		if out == nil {
			out = &ast.Order{}
		}
		out.Keys = append(out.Keys, ast.OrderKey{Key: &ast.Idiom{Parts: place(nil).field(name)}, Desc: down})
		v = member1(v, "then")
	}
	return out, nil
}

// projection is the fields of records that picks and order need.
func projection(o *object, picks []*pick, order *ast.Order, more ...string) *ast.Projections {
	seen := map[string]bool{}
	out := &ast.Projections{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out.Fields = append(out.Fields, ast.Projection{X: place(nil).field(name).expr()})
		}
	}
	add("id")
	for _, p := range picks {
		if f := o.fields[p.name]; f != nil && f.shape != nil {
			add(f.real)
		}
	}
	if order != nil {
		for _, k := range order.Keys {
			add(k.Key.Parts[0].(*ast.PartField).Name)
		}
	}
	for _, name := range more {
		add(name)
	}
	return out
}

// read runs a SELECT over records of a table and reads what their links and edges lead to.
func (x *runner) read(ctx context.Context, o *object, picks []*pick, s *ast.Select, env *exec.Env,
	more ...string) ([]value.Value, error) {
	s.Projections = projection(o, picks, s.Order, more...)
	docs, err := x.rows(ctx, s, env)
	if err != nil {
		return nil, err
	}
	return docs, x.gather(ctx, o, docs, picks)
}

// rows runs a SELECT and counts what it gives.
func (x *runner) rows(ctx context.Context, s *ast.Select, env *exec.Env) ([]value.Value, error) {
	if env == nil {
		env = x.r.Base
	}
	if !x.version.IsNone() {
		s.Version = literalOf(x.version)
	}
	x.plans++
	v, err := x.r.Land(x.r.Select(ctx, env, s))
	if err == nil {
		err = x.r.Mem.Charge(value.Weight(v))
	}
	if err != nil {
		return nil, x.engine(ctx, err)
	}
	return v.Elems(), nil
}

// idsVariable holds the ids of records that are read together.
const idsVariable = "graphql_ids"

// byID reads records by their ids, those that exist and that the caller may see.
func (x *runner) byID(ctx context.Context, o *object, picks []*pick, ids []value.Value) ([]value.Value, error) {
	s := &ast.Select{}
	env := x.from(s, ids)
	return x.read(ctx, o, picks, s, env)
}

// from makes a SELECT read records by their ids.
func (x *runner) from(s *ast.Select, ids []value.Value) *exec.Env {
	if len(ids) == 1 || !x.version.IsNone() { // a list is always read as it is now
		for _, id := range ids {
			s.From = append(s.From, literalOf(id))
		}
		return x.r.Base
	}
	s.From = []ast.Expr{&ast.Param{Name: idsVariable}}
	return x.r.Base.Child(record.Param{Name: idsVariable, Value: value.ArrayOf(ids)})
}

// gather reads what the picks of some objects lead to, for all of them together.
func (x *runner) gather(ctx context.Context, o *object, docs []value.Value, picks []*pick) error {
	for _, p := range picks {
		f := o.fields[p.name]
		if f == nil {
			continue
		}
		if f.edge != nil {
			if err := x.gatherEdges(ctx, f.edge, docs, p); err != nil {
				return err
			}
			continue
		}
		if !f.shape.leads() {
			continue
		}
		values := make([]value.Value, 0, len(docs))
		for _, doc := range docs {
			if v := member1(doc, f.real); !v.IsNullish() {
				values = append(values, v)
			}
		}
		if err := x.gatherValues(ctx, p, f.shape, values); err != nil {
			return err
		}
	}
	return nil
}

// leads reports whether a value leads to records or to objects with fields.
func (s *shape) leads() bool {
	for s.kind == shapeList {
		s = s.elem
	}
	return s.kind == shapeLink || s.kind == shapeNested
}

// gatherValues reads what some values of a shape lead to.
func (x *runner) gatherValues(ctx context.Context, p *pick, s *shape, values []value.Value) error {
	if !s.leads() {
		return nil
	}
	for s.kind == shapeList {
		s = s.elem
		var flat []value.Value
		for _, v := range values {
			if v.Kind() == value.KindArray || v.Kind() == value.KindSet {
				flat = append(flat, v.Elems()...)
			}
		}
		values = flat
	}
	if s.kind == shapeLink {
		return x.gatherLinks(ctx, p, values)
	}
	picks, err := p.of(x.o, s.obj.name)
	if err != nil {
		return err
	}
	return x.gather(ctx, s.obj, values, picks)
}

// gatherLinks reads the records that links lead to: one statement for each of their tables.
func (x *runner) gatherLinks(ctx context.Context, p *pick, links []value.Value) error {
	p.docs = map[value.IDKey]value.Value{}
	ids := map[string][]value.Value{}
	var tables []string
	for _, v := range links {
		if v = exec.RecordOf(v); v.IsNone() {
			continue
		}
		id := v.Record()
		k := value.KeyOf(id)
		if _, known := p.docs[k]; known || id.Key.Kind() == value.KindRange || x.o.s.tables[id.Table] == nil {
			continue
		}
		p.docs[k] = value.None
		if ids[id.Table] == nil {
			tables = append(tables, id.Table)
		}
		ids[id.Table] = append(ids[id.Table], v)
	}
	if err := x.r.Mem.Charge(len(p.docs) * 128); err != nil {
		return x.engine(ctx, err)
	}
	for _, table := range tables {
		o := x.o.s.tables[table]
		picks, err := p.of(x.o, o.name)
		if err != nil {
			return err
		}
		docs, err := x.byID(ctx, o, picks, ids[table])
		if err != nil {
			return err
		}
		for _, doc := range docs {
			p.docs[value.KeyOf(member1(doc, "id").Record())] = doc
		}
	}
	return nil
}

// gatherEdges reads the edges of some records: their ids by the adjacency of each, the records of all by one statement.
func (x *runner) gatherEdges(ctx context.Context, e *edge, docs []value.Value, p *pick) error {
	p.edges = map[value.IDKey][]value.Value{}
	picks, err := p.of(x.o, e.to.name)
	if err != nil {
		return err
	}
	s := &ast.Select{}
	if err := x.clauses(s, e.to, p); err != nil {
		return err
	}
	start, most := window(s)
	s.Start, s.Limit = nil, nil // they are about the edges of each record
	end := "in"
	if e.in {
		end = "out"
	}
	env := x.r.Base
	if x.version.IsNone() {
		stop := -1
		if most >= 0 && s.Where == nil && s.Order == nil {
			stop = start + most
		}
		ids, err := x.edgeIDs(ctx, e, docs, stop)
		if err != nil || len(ids) == 0 {
			return x.engine(ctx, err)
		}
		env = x.from(s, ids)
	} else {
		parents := value.ArrayOf(distinct(docs))
		s.From = []ast.Expr{&ast.Table{Name: e.to.table}}
		cond := binary(ast.OpInside, place(nil).field(end).expr(), literalOf(parents))
		if s.Where != nil {
			cond = binary(ast.OpAnd, cond, &ast.Paren{X: s.Where})
		}
		s.Where = cond
	}
	edges, err := x.read(ctx, e.to, picks, s, env, end)
	if err != nil {
		return err
	}
	for _, doc := range edges {
		if owner := member1(doc, end); owner.Kind() == value.KindRecord {
			k := value.KeyOf(owner.Record())
			p.edges[k] = append(p.edges[k], doc)
		}
	}
	for k, list := range p.edges {
		list = list[min(start, len(list)):]
		if most >= 0 {
			list = list[:min(most, len(list))]
		}
		p.edges[k] = list
	}
	return nil
}

// window is the START and LIMIT of a SELECT; -1 for no limit.
func window(s *ast.Select) (start, most int) {
	number := func(e ast.Expr, or int) int {
		if lit, ok := e.(*ast.Literal); ok {
			return int(min(lit.Value.Int(), 1<<31))
		}
		return or
	}
	return number(s.Start, 0), number(s.Limit, -1)
}

// distinct are the ids of records, each once.
func distinct(docs []value.Value) []value.Value {
	seen := map[value.IDKey]bool{}
	var out []value.Value
	for _, doc := range docs {
		id := exec.RecordOf(doc)
		if id.IsNone() || seen[value.KeyOf(id.Record())] {
			continue
		}
		seen[value.KeyOf(id.Record())] = true
		out = append(out, id)
	}
	return out
}

// edgeIDs are the edges of some records that the caller may see, no more than most of each (-1: all).
func (x *runner) edgeIDs(ctx context.Context, e *edge, docs []value.Value, most int) ([]value.Value, error) {
	g, err := x.r.Gate()
	if err != nil {
		return nil, err
	}
	dir := record.Out
	if e.in {
		dir = record.In
	}
	var out []value.Value
	x.plans++
	for _, id := range distinct(docs) {
		if most == 0 {
			break
		}
		n := 0
		err := g.EachEdge(ctx, id.Record(), dir, []string{e.to.table}, nil, func(h record.Hop) (bool, error) {
			out = append(out, value.RecordOf(h.Edge))
			n++
			if len(out) > x.r.Ex.Limits.Rows {
				return false, errs.Internal("The statement would answer more than %d rows", x.r.Ex.Limits.Rows)
			}
			if err := x.r.Mem.Charge(96); err != nil {
				return false, err
			}
			return n != most, x.r.Tick(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
