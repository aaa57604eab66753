package define

import (
	"context"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// defineTable is DEFINE TABLE.
func (r *run) defineTable(ctx context.Context, env *exec.Env, s *ast.DefineTable) error {
	db, err := r.inDatabase(ast.DefTable)
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "table")
	if err != nil {
		return err
	}
	old, err := r.Cat.Table(db, name)
	if err != nil {
		return err
	}
	if err := r.mode(s.Mode, old != nil, func() error { return errs.TableExists(name) }); err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name = ast.ModeCreate, ident(name)
	if !def.KindGiven {
		def.Kind = ast.TableAny
		if def.Schemafull {
			def.Kind = ast.TableNormal
		}
	}
	def.KindGiven, def.SchemaGiven = true, true
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if err := checkGraphQL(s.GraphQL); err != nil {
		return err
	}
	return r.putTable(ctx, db, old, &def, r.Auth.Definer(), def.ChangeFeed != nil)
}

// putTable stores a table with what its kind and view bring along. told says that changefeeds tell of it.
func (r *run) putTable(ctx context.Context, db *catalog.Database, old *catalog.Table, def *ast.DefineTable,
	by catalog.Definer, told bool) error {
	name := def.Name.Ident
	var sources []*catalog.Table
	if def.View != nil {
		var err error
		if err = record.CheckView(def.View); err != nil {
			return err
		}
		if sources, err = r.viewSources(db, def.View); err != nil {
			return err
		}
	}
	if old != nil && old.Define.View != nil {
		if err := r.forgetView(db, old); err != nil {
			return err
		}
		g, err := r.Gate()
		if err != nil {
			return err
		}
		if err := g.ClearTable(old); err != nil {
			return err
		}
	}
	if old != nil && def.Kind != ast.TableRelation {
		for _, f := range old.Fields {
			if f.Define.Inline {
				return badOption("The table '%s' has the INLINE field '%s', and must stay a relation", name, f.Name)
			}
		}
	}
	if _, err := r.Cat.Put(&catalog.Def{Scope: db.Inner(), Kind: ast.DefTable, Name: name, Stmt: def,
		By: by}); err != nil {
		return err
	}
	tb, err := r.Cat.Table(db, name)
	if err != nil {
		return err
	}
	if told {
		r.Log.Define(tb, structureOf(tb.Def))
	}
	if def.Kind == ast.TableRelation {
		if err := r.defineEnds(tb, def); err != nil {
			return err
		}
	}
	for _, src := range sources {
		if err := r.Cat.AddView(db, src.Name, name); err != nil {
			return err
		}
	}
	if len(sources) == 0 {
		return nil
	}
	return r.fillView(ctx, db, name)
}

// defineEnds defines the fields in and out of a relation table.
func (r *run) defineEnds(tb *catalog.Table, def *ast.DefineTable) error {
	for _, end := range [2]struct {
		name   string
		tables []string
	}{{"in", def.In}, {"out", def.Out}} {
		f := &ast.DefineField{Name: &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: end.name}}},
			Table: ident(tb.Name),
			Type:  &value.Type{Kind: value.TypeRecord, Tables: end.tables, Max: -1}}
		if _, err := r.Cat.Put(&catalog.Def{Scope: tb.Inner(), Kind: ast.DefField, Name: end.name, Stmt: f,
			By: tb.By}); err != nil {
			return err
		}
	}
	return nil
}

// viewSources are the tables that a view reads; they must be defined.
func (r *run) viewSources(db *catalog.Database, s *ast.Select) ([]*catalog.Table, error) {
	var out []*catalog.Table
	for _, x := range s.From {
		t, ok := x.(*ast.Table)
		if !ok {
			continue
		}
		tb, err := r.Cat.Table(db, t.Name)
		if err != nil {
			return nil, err
		}
		if tb == nil && r.Import { // its definition comes later
			if tb, err = r.tableForView(t.Name); err != nil {
				return nil, err
			}
		}
		if tb == nil {
			return nil, errs.TableNotFound(t.Name)
		}
		out = append(out, tb)
	}
	return out, nil
}

func (r *run) tableForView(name string) (*catalog.Table, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	return g.TableForWrite(name)
}

// forgetView takes a view off the tables that it reads.
func (r *run) forgetView(db *catalog.Database, tb *catalog.Table) error {
	for _, x := range tb.Define.View.From {
		if t, ok := x.(*ast.Table); ok {
			if err := r.Cat.DropView(db, t.Name, tb.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillView makes the rows of a new view out of the records that are there.
func (r *run) fillView(ctx context.Context, db *catalog.Database, name string) error {
	g, err := r.Gate()
	if err != nil {
		return err
	}
	tb, err := r.Cat.Table(db, name)
	if err != nil {
		return err
	}
	return g.FillView(ctx, tb)
}

// removeTable is REMOVE TABLE: the definition and all that is stored under it.
func (r *run) removeTable(ctx context.Context, db *catalog.Database, tb *catalog.Table) error {
	if len(tb.Views) > 0 {
		names := make([]string, len(tb.Views))
		for i, v := range tb.Views {
			names[i] = "`" + v + "`"
		}
		return errs.Internal("Invalid query: Cannot delete table `%s` on which a view is defined, table(s) %s are defined as a view on this table.",
			tb.Name, strings.Join(names, ", "))
	}
	if tb.Define.View != nil {
		if err := r.forgetView(db, tb); err != nil {
			return err
		}
	}
	g, err := r.Gate()
	if err != nil {
		return err
	}
	g.Forget(tb.AllIndexes()...)
	if err := r.drop(catalog.CleanTable(tb), func() error { return g.Untie(ctx, tb) }); err != nil {
		return err
	}
	return r.Cat.Delete(tb.Def)
}
