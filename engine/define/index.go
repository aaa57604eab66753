package define

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// defineIndex is DEFINE INDEX.
func (r *run) defineIndex(ctx context.Context, env *exec.Env, s *ast.DefineIndex) error {
	db, tb, err := r.tableToDefineOn(ctx, env, s.Table)
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "index")
	if err != nil {
		return err
	}
	old := tb.Index(name)
	if err := r.mode(s.Mode, old != nil, func() error { return alreadyExists("index", name) }); err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name, def.Table, def.Concurrently = ast.ModeCreate, ident(name), ident(tb.Name), false
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if def.Fields, err = r.columns(ctx, env, s.Fields); err != nil {
		return err
	}
	if err := checkColumns(tb, &def, name); err != nil {
		return err
	}
	if def.Vector != nil {
		def.Vector = vectorDefaults(*def.Vector)
	}
	return r.replaceIndex(ctx, db, tb, &def, s.Concurrently || s.Defer)
}

// replaceIndex puts an index in the place of the one of its name, if there is one. What can not be built before this
// transaction ends is built beside the old index, which stays until then: for good where the new one can not be built.
// A build without a waiting statement may replace an index that is not Ready.
func (r *run) replaceIndex(ctx context.Context, db *catalog.Database, tb *catalog.Table, def *ast.DefineIndex,
	background bool) error {
	name := def.Name.Ident
	if err := r.removeIndexes(tb, tb.Successor(name)); err != nil {
		return err
	}
	g, err := r.Gate()
	if err != nil {
		return err
	}
	how := filling{}
	if how.rows, err = g.RowCount(tb); err != nil {
		return err
	}
	how.background = background && how.rows > 0
	how.wait = !how.background && r.Log.Waits() && how.rows > r.inside(buildInside)
	if old := tb.Index(name); old != nil {
		if how.staged = how.wait || how.background && old.Build.State == catalog.Ready; !how.staged {
			if err := r.removeIndexes(tb, old); err != nil {
				return err
			}
		}
	}
	return r.newIndex(ctx, db, tb, def, how)
}

// buildInside is how many records a table may have for an index to be filled in the transaction that defines it.
const buildInside = 20_000

// inside is the limit n of what a definition does in its own transaction. It is 0 on a store that other servers write
// to: such a transaction would conflict with all writers of the table, and so might never come to its end.
func (r *run) inside(n int64) int64 {
	if r.Ex.Process != nil {
		return 0
	}
	return n
}

// filling is how an index is filled. Without background and wait it is in the transaction that defines it.
type filling struct {
	rows       int64 // of the table
	background bool  // in the background, without waiting
	wait       bool  // in the background, waiting: the definition is taken back where that fails
	staged     bool  // it takes the place of one of the same name, which stays until then
}

// newIndex stores the definition of an index and has it filled.
func (r *run) newIndex(ctx context.Context, db *catalog.Database, tb *catalog.Table, def *ast.DefineIndex,
	how filling) error {
	d := &catalog.Def{Scope: tb.Inner(), Kind: ast.DefIndex, Name: def.Name.Ident, Stmt: def, By: r.Auth.Definer()}
	if how.staged {
		d.Name = catalog.StagedName(d.Name)
	}
	later := how.background || how.wait
	switch {
	case later:
		d.Extra = catalog.Build{State: catalog.Building}.Facts()
	case !r.Log.Waits() && how.rows > int64(r.Ex.Limits.IndexInside):
		return errs.Internal("The table '%s' has %d records, too many to fill an index inside of a transaction: use CONCURRENTLY, or a statement outside of a transaction", tb.Name, how.rows)
	case how.rows > 0:
		d.Extra = catalog.Build{Initial: how.rows}.Facts()
	}
	if _, err := r.Cat.Put(d); err != nil {
		return err
	}
	tb, err := r.Cat.Table(db, tb.Name)
	if err != nil {
		return err
	}
	ix := tb.Index(d.Name)
	if !later {
		g, err := r.Gate()
		if err != nil {
			return err
		}
		return g.BuildIndex(ctx, tb, ix)
	}
	left, err := r.builds.Postpone(r.Run, catalog.JobOf(tb, ix))
	if how.wait {
		r.Log.After(func(ctx context.Context) error { return r.builds.Await(ctx, left) })
	}
	return err
}

// checkColumns refuses to index what is not stored.
func checkColumns(tb *catalog.Table, def *ast.DefineIndex, name string) error {
	for _, x := range def.Fields {
		id, ok := x.(*ast.Idiom)
		if !ok || len(id.Parts) == 0 {
			continue
		}
		if tb.Define.Schemafull && !storable(tb, catalog.PathOf(id)) {
			return errs.Internal("The field '%s' does not exist", ast.Text(id))
		}
		first := ast.Text(&ast.Idiom{Parts: id.Parts[:1]})
		if f := tb.Field(first); f != nil && f.Define.Computed != nil {
			return badOption("Computed fields cannot be indexed. Index: '%s' - Field: '%s'", name, first)
		}
	}
	return nil
}

// columns are the paths that an index is over; type::field(…) and type::fields(…) name them by text.
func (r *run) columns(ctx context.Context, env *exec.Env, xs []ast.Expr) ([]ast.Expr, error) {
	out := make([]ast.Expr, 0, len(xs))
	for _, x := range xs {
		for p, ok := x.(*ast.Paren); ok; p, ok = x.(*ast.Paren) {
			x = p.X
		}
		switch x := x.(type) {
		case *ast.Idiom:
			out = append(out, x)
			continue
		case *ast.Call:
			if exec.SelfNaming(x) {
				ids, _, err := r.FieldPaths(ctx, env, x)
				if err != nil {
					return nil, err
				}
				for _, id := range ids {
					out = append(out, id)
				}
				continue
			}
		}
		return nil, errs.Internal("Expected an idiom or type::field or type::fields function call")
	}
	return out, nil
}

// storable reports whether a SCHEMAFULL table can hold something at path: a field of that name, or one around it that
// holds what it likes.
func storable(tb *catalog.Table, path []catalog.Step) bool {
	for _, f := range tb.Fields {
		if slices.Equal(f.Path, path) || catalog.Within(path, f.Path) && holdsParts(f.Define.Type) {
			return true
		}
	}
	return false
}

// holdsParts reports whether values of t have fields or elements of their own.
func holdsParts(t *value.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case value.TypeAny, value.TypeObject, value.TypeArray, value.TypeSet, value.TypeFields, value.TypeTuple:
		return true
	case value.TypeUnion:
		return slices.ContainsFunc(t.Alts, holdsParts)
	}
	return false
}

// vectorDefaults fills in the parameters of a vector index that were not given; the parser knows those of HNSW.
func vectorDefaults(v ast.VectorIndex) *ast.VectorIndex {
	if v.Distance == "" {
		v.Distance = "EUCLIDEAN"
	}
	if v.Type == "" {
		v.Type = "F32"
	}
	return &v
}

// removeIndexes removes indexes and what is stored of them, in the background where that is much; a nil one is none.
func (r *run) removeIndexes(tb *catalog.Table, indexes ...*catalog.Index) error {
	for _, ix := range indexes {
		if ix == nil {
			continue
		}
		remove := r.removeIndex
		if more, err := r.Cat.MoreThan(int(r.inside(dropInside)), catalog.JobOf(tb, ix).Prefixes()); err != nil {
			return err
		} else if more {
			remove = r.discard
		}
		if err := remove(tb, ix); err != nil {
			return err
		}
	}
	return nil
}

// removeIndex removes an index and, in the same transaction, what is stored of it.
func (r *run) removeIndex(tb *catalog.Table, ix *catalog.Index) error {
	g, err := r.Gate()
	if err != nil {
		return err
	}
	if err := g.DropIndex(tb, ix); err != nil {
		return err
	}
	return r.builds.Undefine(r.Run, ix)
}

// discard removes an index at once, and what is stored of it in the background.
func (r *run) discard(tb *catalog.Table, ix *catalog.Index) error {
	return r.builds.Discard(r.Run, tb, ix)
}

// rebuild is REBUILD INDEX.
func (r *run) rebuild(ctx context.Context, env *exec.Env, s *ast.Rebuild) error {
	db, err := r.inDatabase(ast.DefIndex)
	if err != nil {
		return err
	}
	table, err := r.name(ctx, env, *s.Table, "table")
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, *s.Name, "index")
	if err != nil {
		return err
	}
	tb, err := r.Cat.Table(db, table)
	if err != nil {
		return err
	}
	var ix *catalog.Index
	if tb != nil {
		ix = tb.LastDefined(name)
	}
	if ix == nil {
		if s.IfExists {
			return nil
		}
		return exec.DoesNotExist("index", name)
	}
	if ix.Build.Retired {
		return errs.Internal("Index building has been cancelled: Prepare remove.")
	}
	return r.replaceIndex(ctx, db, tb, ix.Define, s.Concurrently)
}

// defineEvent is DEFINE EVENT.
func (r *run) defineEvent(ctx context.Context, env *exec.Env, s *ast.DefineEvent) error {
	_, tb, err := r.tableToDefineOn(ctx, env, s.Table)
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "event")
	if err != nil {
		return err
	}
	def := *s
	def.Mode, def.Name, def.Table = ast.ModeCreate, ident(name), ident(tb.Name)
	if def.When == nil {
		def.When = &ast.Literal{Value: value.Bool(true)}
	}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	return r.put(tb.Inner(), ast.DefEvent, name, s.Mode, &def, func() error { return alreadyExists("event", name) })
}
