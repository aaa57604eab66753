package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/bucket"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
)

// remove is REMOVE.
func (r *run) remove(ctx context.Context, env *exec.Env, s *ast.Remove) error {
	err := r.removeKind(ctx, env, s)
	if s.IfExists && isMissing(err) {
		return nil
	}
	return err
}

func (r *run) removeKind(ctx context.Context, env *exec.Env, s *ast.Remove) error {
	switch s.Kind {
	case ast.DefNamespace:
		return r.removeNamespace(ctx, env, s)
	case ast.DefDatabase:
		return r.removeDatabase(ctx, env, s)
	case ast.DefUser, ast.DefAccess:
		return r.removeActor(ctx, env, s)
	case ast.DefConfig:
		return r.removeConfig(s.Name.Ident)
	}
	db, err := r.inDatabase(s.Kind)
	if err != nil {
		return err
	}
	switch s.Kind {
	case ast.DefTable:
		tb, err := r.presentTable(ctx, env, db, s.Name)
		if err != nil {
			return err
		}
		r.endLive(live.Table{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID})
		return r.removeTable(ctx, db, tb)
	case ast.DefField, ast.DefIndex, ast.DefEvent:
		return r.removeFromTable(ctx, env, db, s)
	}
	return r.removeFromDatabase(ctx, env, db, s)
}

func (r *run) removeNamespace(ctx context.Context, env *exec.Env, s *ast.Remove) error {
	if err := r.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceAny); err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "namespace")
	if err != nil {
		return err
	}
	ns, err := r.Cat.Namespace(name)
	if err != nil {
		return err
	}
	if ns == nil {
		return missing{exec.NoNamespace(name)}
	}
	dbs, err := r.Cat.Databases(ns)
	if err != nil {
		return err
	}
	for _, db := range dbs {
		if err := r.Cat.Delete(db.Def); err != nil {
			return err
		}
	}
	if err := r.drop(catalog.CleanJob(catalog.Scope{NS: ns.ID}, name), nil); err != nil {
		return err
	}
	r.endLive(live.Table{NS: ns.ID})
	r.dropFiles(bucket.ID{NS: ns.ID})
	return r.Cat.Delete(ns.Def)
}

func (r *run) removeDatabase(ctx context.Context, env *exec.Env, s *ast.Remove) error {
	if err := r.Auth.Allow(auth.Edit, ast.BaseNamespace, auth.ResourceAny); err != nil {
		return err
	}
	ns, err := r.Namespace()
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "database")
	if err != nil {
		return err
	}
	db, err := r.Cat.Database(ns, name)
	if err != nil {
		return err
	}
	if db == nil {
		return missing{exec.NoDatabase(name)}
	}
	if err := r.drop(catalog.CleanJob(catalog.Scope{NS: ns.ID, DB: db.ID}, name), nil); err != nil {
		return err
	}
	r.endLive(live.Table{NS: ns.ID, DB: db.ID})
	r.dropFiles(bucket.ID{NS: ns.ID, DB: db.ID})
	return r.Cat.Delete(db.Def)
}

// endLive ends the live queries of what is removed, and the work on its indexes, once that is committed. Ids that are 0
// stand for everything inside.
func (r *run) endLive(of live.Table) {
	if r.Ex.Relay != nil && r.Log != nil { // in its turn among the changes that all servers hear of
		r.Log.Ended = append(r.Log.Ended, catalog.Scope{NS: of.NS, DB: of.DB, TB: of.TB})
	} else {
		r.Tx.OnApply(func(kv.Version) { r.Ex.Hub.End(of) })
	}
	r.Tx.OnCommit(func(kv.Version) { r.builds.End(of, 0) })
}

// dropFiles forgets the files of what is removed, once that is committed.
func (r *run) dropFiles(of bucket.ID) {
	r.Tx.OnCommit(func(kv.Version) { r.Ex.Files.Drop(of) })
}

// dropInside is how many keys a REMOVE takes out of the store itself. What is more goes in the background, by batches.
const dropInside = 20_000

// drop removes what is stored inside of a namespace, database or table whose definition is removed too. It has no name
// from then on, and its ids are not given again, so everything but definitions may be removed later. A store that keeps
// its past notes at once what was removed. first, unless it is nil, is called where nothing is left for later.
func (r *run) drop(j *catalog.Job, first func() error) error {
	later, err := r.Cat.DropDefs(j)
	if err != nil {
		return err
	}
	if !r.Ex.Versioned {
		if more, err := r.Cat.MoreThan(int(r.inside(dropInside)), later); err != nil {
			return err
		} else if more {
			_, err := r.builds.Postpone(r.Run, j)
			return err
		}
	}
	if first != nil {
		if err := first(); err != nil {
			return err
		}
	}
	return r.Cat.DropData(later...)
}

func (r *run) removeActor(ctx context.Context, env *exec.Env, s *ast.Remove) error {
	a, err := r.presentActor(ctx, env, s.Kind, s.Name, s.Base)
	if err != nil {
		return err
	}
	if s.Kind == ast.DefAccess {
		if err := r.Cat.DropGrants(a.def); err != nil {
			return err
		}
	}
	return r.Cat.Delete(a.def)
}

func (r *run) removeFromTable(ctx context.Context, env *exec.Env, db *catalog.Database, s *ast.Remove) error {
	kind := map[ast.DefKind]string{ast.DefField: "field", ast.DefIndex: "index", ast.DefEvent: "event"}[s.Kind]
	tb, name, err := r.onTable(ctx, env, db, kind, s.Table, s.Name, s.Field)
	if err != nil {
		return err
	}
	switch s.Kind {
	case ast.DefField:
		if f := tb.Field(name); f != nil {
			if err := r.dropReferences(ctx, tb, f, nil); err != nil {
				return err
			}
			return r.Cat.Delete(f.Def)
		}
	case ast.DefIndex:
		if ix := tb.Index(name); ix != nil {
			return r.removeIndexes(tb, ix, tb.Successor(name))
		}
	default:
		for _, e := range tb.Events {
			if e.Name == name {
				return r.Cat.Delete(e.Def)
			}
		}
	}
	return missing{exec.DoesNotExist(kind, name)}
}

func (r *run) removeFromDatabase(ctx context.Context, env *exec.Env, db *catalog.Database, s *ast.Remove) error {
	if s.Version != "" {
		s = &ast.Remove{Kind: s.Kind, Name: ident(s.Name.Ident + "<" + s.Version + ">")}
	}
	d, err := r.presentIn(ctx, env, db, s.Kind, s.Name)
	if err != nil {
		return err
	}
	scope := db.Inner()
	switch s.Kind {
	case ast.DefSequence:
		if err := r.Cat.DropSequence(d); err != nil {
			return err
		}
	case ast.DefModel:
		if err := r.dropModel(db, d); err != nil {
			return err
		}
	case ast.DefBucket:
		r.dropFiles(bucket.ID{NS: scope.NS, DB: scope.DB, Name: d.Name})
	}
	return r.Cat.Delete(d)
}
