package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// source builds what a SELECT reads from: its FROM list with the WHERE pushed into it, as VERSION says.
func (r *Run) source(env *Env, s *ast.Select, where *predicate) (rows, error) {
	version, err := r.version(env, s.Version)
	if err != nil {
		return nil, err
	}
	u := &unionRows{}
	for _, x := range s.From {
		part, err := r.sourceOf(env, s, x, where, version)
		if err != nil {
			return nil, err
		}
		if part != nil {
			u.parts = append(u.parts, part)
		}
	}
	if len(u.parts) == 1 {
		return u.parts[0], nil
	}
	return u, nil
}

func (r *Run) sourceOf(env *Env, s *ast.Select, x ast.Expr, where *predicate, version uint64) (rows, error) {
	if _, ok := x.(*ast.Subquery); ok && s.Version != nil {
		return nil, errVersionedSubquery()
	}
	if t, ok := x.(*ast.Table); ok {
		return r.tableSource(env, s, t.Name, where, version)
	}
	if inner := subselect(x); inner != nil {
		in, err := r.plan(env, inner)
		if err != nil {
			return nil, err
		}
		return &subRows{r: r, in: in, filter: where}, nil
	}
	v, err := r.Eval(inFrom(env), x)
	if err != nil {
		return nil, err
	}
	switch v.Kind() {
	case value.KindNone, value.KindNull:
		return &valueRows{r: r, text: ast.Text(x)}, nil
	case value.KindTable:
		return r.tableSource(env, s, v.Table(), where, version)
	case value.KindRecord:
		return r.recordSource(v.Record(), where, version)
	case value.KindArray:
		if !unwrapped(x) {
			_, sub := x.(*ast.Subquery)
			return &valueRows{r: r, vs: v.Elems(), filter: where, skip: !sub, text: ast.Text(x)}, nil
		}
	}
	return &valueRows{r: r, vs: []value.Value{v}, filter: where, text: ast.Text(x)}, nil
}

// inFrom is where the FROM and LIMIT of a subquery are evaluated: both $this and $parent are the row around it.
func inFrom(env *Env) *Env {
	if !env.HasDoc() {
		return env
	}
	return env.WithDoc(env.This())
}

// subselect is the SELECT that a source is, where its rows can go straight into the outer one.
func subselect(x ast.Expr) *ast.Select {
	q, ok := x.(*ast.Subquery)
	if !ok {
		return nil
	}
	s, ok := q.Stmt.(*ast.Select)
	if !ok || s.Only || s.Timeout != nil || s.Explain != nil {
		return nil
	}
	return s
}

// unwrapped reports whether x is a subquery with ONLY: an array that it gives is one value.
func unwrapped(x ast.Expr) bool {
	if q, ok := x.(*ast.Subquery); ok {
		s, ok := q.Stmt.(*ast.Select)
		return ok && s.Only
	}
	return false
}

// recordSource reads one record, or a range of records.
func (r *Run) recordSource(id *value.RecordID, where *predicate, version uint64) (rows, error) {
	tb, err := r.table(id.Table)
	if err != nil {
		return nil, err
	}
	if tb == nil || id.Key.Kind() == value.KindRange {
		return &tableRows{r: r, name: id.Table, tb: tb, rng: keyRange(id), version: version, filter: where, id: id}, nil
	}
	return &recordRows{r: r, id: id, version: version, filter: where}, nil
}

// table finds a table; nil where it does not exist.
func (r *Run) table(name string) (*catalog.Table, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	return r.Cat.Table(g.DB, name)
}

func keyRange(id *value.RecordID) *value.Range {
	if id.Key.Kind() == value.KindRange {
		return id.Key.Range()
	}
	return nil
}

// tableSource reads a table by the best way that the WHERE allows. Indexes know only what stands now.
func (r *Run) tableSource(env *Env, s *ast.Select, name string, where *predicate, version uint64) (rows, error) {
	tb, err := r.table(name)
	if err != nil {
		return nil, err
	}
	scan := &tableRows{r: r, name: name, tb: tb, version: version, filter: where}
	if tb == nil || where == nil || version != 0 || s.With != nil && s.With.NoIndex {
		return scan, nil
	}
	if found, err := r.knnSource(env, s, tb, where); found != nil || err != nil {
		return found, err
	}
	if id, err := r.recordByID(env, name, where.x); id != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return &recordRows{r: r, id: id, filter: where}, nil
	}
	best, err := r.textSource(s, tb, where)
	if best != nil || err != nil {
		return best, err
	}
	best, err = r.chooseIndex(env, s, tb, where)
	if best != nil || err != nil {
		return best, err
	}
	return scan, nil
}

// recordByID finds id = <record of this table> among the conditions of a WHERE.
func (r *Run) recordByID(env *Env, table string, where ast.Expr) (*value.RecordID, error) {
	for _, c := range conjuncts(nil, where) {
		b, ok := c.(*ast.Binary)
		if !ok || b.Op != ast.OpEqual && b.Op != ast.OpExact {
			continue
		}
		x := b.R
		if !isID(b.L) {
			if !isID(b.R) {
				continue
			}
			x = b.L
		}
		if !constant(x) {
			continue
		}
		v, err := r.Value(env, x)
		if err != nil {
			return nil, err
		}
		if v.Kind() == value.KindRecord && v.Record().Table == table && v.Record().Key.Kind() != value.KindRange {
			return v.Record(), nil
		}
	}
	return nil, nil
}

func isID(x ast.Expr) bool {
	id, ok := x.(*ast.Idiom)
	if !ok || len(id.Parts) != 1 {
		return false
	}
	f, ok := id.Parts[0].(*ast.PartField)
	return ok && f.Name == "id"
}

// conjuncts takes a condition apart at its ANDs.
func conjuncts(out []ast.Expr, x ast.Expr) []ast.Expr {
	switch x := x.(type) {
	case *ast.Paren:
		return conjuncts(out, x.X)
	case *ast.Binary:
		if x.Op == ast.OpAnd {
			return conjuncts(conjuncts(out, x.L), x.R)
		}
	}
	return append(out, x)
}

// constant reports whether an expression has the same value for all rows of a statement and costs
// nothing to evaluate once.
func constant(x ast.Expr) bool {
	same := true
	inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Literal, *ast.Constant, *ast.Array, *ast.Set, *ast.Object, *ast.RecordID, *ast.KeyRange, *ast.Range, *ast.Paren, *ast.Cast, *ast.Unary:
		case *ast.Param:
			switch n.Name {
			case "this", "parent", "value", "before", "after", "input", "event":
				same = false
			}
		default:
			same = false
		}
		return same
	})
	return same
}

// countPlan serves count() … GROUP ALL over whole tables and ranges without reading records.
func (r *Run) countPlan(env *Env, s *ast.Select) (rows, error) {
	if s.Group == nil || !s.Group.All || s.Where != nil || len(s.Split) > 0 || len(s.Projections.Fields) != 1 || s.Version != nil {
		return nil, nil
	}
	f := &s.Projections.Fields[0]
	c, ok := f.X.(*ast.Call)
	if f.All || !ok || c.Kind != ast.CallBuiltin || c.Path != "count" || len(c.Args) != 0 || len(s.From) != 1 {
		return nil, nil
	}
	t, ok := s.From[0].(*ast.Table)
	if !ok || r.Auth.Caps.MayCall(c.Path) != nil {
		return nil, nil
	}
	tb, err := r.table(t.Name)
	if err != nil {
		return nil, err
	}
	path := namesOf(f.Alias)
	if path == nil {
		path = keyOf(f.X)
	}
	return &countRows{r: r, tb: tb, path: path, text: t.Name}, nil
}
