package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/bucket"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
)

// remove is REMOVE.
func (r *Run) remove(env *Env, s *ast.Remove) error {
	err := r.removeKind(env, s)
	if s.IfExists && isMissing(err) {
		return nil
	}
	return err
}

// missing is the error of a REMOVE or ALTER whose thing is not there.
type missing struct{ error }

func (m missing) Unwrap() error { return m.error }

func isMissing(err error) bool {
	_, ok := err.(missing)
	return ok
}

func (r *Run) removeKind(env *Env, s *ast.Remove) error {
	switch s.Kind {
	case ast.DefNamespace:
		return r.removeNamespace(env, s)
	case ast.DefDatabase:
		return r.removeDatabase(env, s)
	case ast.DefUser, ast.DefAccess:
		return r.removeActor(env, s)
	}
	db, err := r.inDatabase(s.Kind)
	if err != nil {
		return err
	}
	switch s.Kind {
	case ast.DefTable:
		name, err := r.name(env, s.Name, "table")
		if err != nil {
			return err
		}
		tb, err := r.Cat.Table(db, name)
		if err != nil {
			return err
		}
		if tb == nil {
			return missing{errs.TableNotFound(name)}
		}
		r.endLive(live.Table{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID})
		return r.removeTable(db, tb)
	case ast.DefField, ast.DefIndex, ast.DefEvent:
		return r.removeFromTable(env, db, s)
	}
	return r.removeFromDatabase(env, db, s)
}

func (r *Run) removeNamespace(env *Env, s *ast.Remove) error {
	if err := r.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceAny); err != nil {
		return err
	}
	name, err := r.name(env, s.Name, "namespace")
	if err != nil {
		return err
	}
	ns, err := r.Cat.Namespace(name)
	if err != nil {
		return err
	}
	if ns == nil {
		return missing{noNamespace(name)}
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
	if err := r.deleteAll(key.NamespacePrefixes(ns.ID)); err != nil {
		return err
	}
	r.endLive(live.Table{NS: ns.ID})
	r.dropFiles(bucket.ID{NS: ns.ID})
	return r.Cat.Delete(ns.Def)
}

func (r *Run) removeDatabase(env *Env, s *ast.Remove) error {
	if err := r.Auth.Allow(auth.Edit, ast.BaseNamespace, auth.ResourceAny); err != nil {
		return err
	}
	ns, err := r.namespace()
	if err != nil {
		return err
	}
	name, err := r.name(env, s.Name, "database")
	if err != nil {
		return err
	}
	db, err := r.Cat.Database(ns, name)
	if err != nil {
		return err
	}
	if db == nil {
		return missing{noDatabase(name)}
	}
	if err := r.deleteAll(key.DatabasePrefixes(ns.ID, db.ID)); err != nil {
		return err
	}
	r.endLive(live.Table{NS: ns.ID, DB: db.ID})
	r.dropFiles(bucket.ID{NS: ns.ID, DB: db.ID})
	return r.Cat.Delete(db.Def)
}

// endLive ends the live queries of what is removed and the work on its indexes, once that is committed. Ids that are 0
// stand for everything inside.
func (r *Run) endLive(of live.Table) {
	r.Tx.OnApply(func(kv.Version) { r.Ex.Hub.End(of) })
	r.Tx.OnCommit(func(kv.Version) { r.Ex.builds.end(of, 0) })
}

// dropFiles forgets the files of what is removed, once that is committed.
func (r *Run) dropFiles(of bucket.ID) {
	r.Tx.OnCommit(func(kv.Version) { r.Ex.Files.Drop(of) })
}

// deleteAll removes whole key spaces.
func (r *Run) deleteAll(prefixes [][]byte) error {
	for _, p := range prefixes {
		start, end := key.PrefixRange(p)
		if err := r.Tx.DeleteRange(kv.Range{Start: start, End: end}); err != nil {
			return wrap("remove data", err)
		}
	}
	return nil
}

func (r *Run) removeActor(env *Env, s *ast.Remove) error {
	base := baseOr(s.Base, ast.BaseDatabase)
	if err := r.Auth.Allow(auth.Edit, base, auth.ResourceActor); err != nil {
		return err
	}
	scope, err := r.level(base)
	if err != nil {
		return err
	}
	kind, what := "user", "user"
	if s.Kind == ast.DefAccess {
		kind, what = "access method", "access"
	}
	name, err := r.name(env, s.Name, what)
	if err != nil {
		return err
	}
	d, err := r.Cat.Def(scope, s.Kind, name)
	if err != nil {
		return err
	}
	if d == nil {
		return missing{r.actorError(kind, name, base, "does not exist")}
	}
	if s.Kind == ast.DefAccess {
		if err := r.dropGrants(scope, name); err != nil {
			return err
		}
	}
	return r.Cat.Delete(d)
}

func (r *Run) removeFromTable(env *Env, db *catalog.Database, s *ast.Remove) error {
	table, err := r.name(env, s.Table, "table")
	if err != nil {
		return err
	}
	tb, err := r.Cat.Table(db, table)
	if err != nil {
		return err
	}
	if tb == nil {
		tb = &catalog.Table{Def: &catalog.Def{}} // nothing is defined on it
	}
	switch s.Kind {
	case ast.DefField:
		name := ""
		if s.Field != nil {
			name = ast.Text(s.Field)
		} else if name, err = r.name(env, s.Name, "field"); err != nil {
			return err
		}
		f := tb.Field(name)
		if f == nil {
			return missing{doesNotExist("field", name)}
		}
		if err := r.dropReferences(tb, f, nil); err != nil {
			return err
		}
		return r.Cat.Delete(f.Def)
	case ast.DefIndex:
		name, err := r.name(env, s.Name, "index")
		if err != nil {
			return err
		}
		ix := tb.Index(name)
		if ix == nil {
			return missing{doesNotExist("index", name)}
		}
		return r.removeIndex(tb, ix)
	}
	name, err := r.name(env, s.Name, "event")
	if err != nil {
		return err
	}
	for _, e := range tb.Events {
		if e.Name == name {
			return r.Cat.Delete(e.Def)
		}
	}
	return missing{doesNotExist("event", name)}
}

// shownNames say how errors call the kinds of a database, and put before their names.
var shownNames = map[ast.DefKind]struct{ kind, prefix string }{
	ast.DefFunction: {"function", "fn::"}, ast.DefParam: {"param", "$"}, ast.DefAnalyzer: {"analyzer", ""},
	ast.DefSequence: {"sequence", ""}, ast.DefConfig: {"config", ""}, ast.DefAPI: {"api", "/"},
	ast.DefBucket: {"bucket", ""}, ast.DefModel: {"model", ""}, ast.DefModule: {"module", ""},
}

func (r *Run) removeFromDatabase(env *Env, db *catalog.Database, s *ast.Remove) error {
	shown := shownNames[s.Kind]
	name, err := r.name(env, s.Name, shown.kind)
	if err != nil {
		return err
	}
	scope := db.Inner()
	if s.Kind == ast.DefConfig {
		switch name {
		case "GRAPHQL":
			name = "GraphQL"
		case "DEFAULT":
			name, scope = "Default", catalog.Scope{}
		}
	}
	d, err := r.Cat.Def(scope, s.Kind, name)
	if err != nil {
		return err
	}
	if d == nil {
		return missing{doesNotExist(shown.kind, shown.prefix+name)}
	}
	if s.Kind == ast.DefSequence {
		start, end := key.PrefixRange(key.Sequence(nil, scope.NS, scope.DB, name))
		if err := r.Tx.DeleteRange(kv.Range{Start: start, End: end}); err != nil {
			return wrap("remove a sequence", err)
		}
	}
	if s.Kind == ast.DefBucket {
		r.dropFiles(bucket.ID{NS: scope.NS, DB: scope.DB, Name: name})
	}
	return r.Cat.Delete(d)
}

// dropGrants removes the bearer grants of an access method.
func (r *Run) dropGrants(s catalog.Scope, access string) error {
	start, end := key.PrefixRange(grantKey(s, access))
	return wrap("remove grants", r.Tx.DeleteRange(kv.Range{Start: start, End: end}))
}

// grantKey is the key of a bearer grant; without an id it is what all of the access method start with.
func grantKey(s catalog.Scope, access string, id ...string) []byte {
	names := append([]string{access}, id...)
	switch {
	case s.DB != 0:
		return key.DBDef(nil, s.NS, s.DB, key.KindGrant, names...)
	case s.NS != 0:
		return key.NSDef(nil, s.NS, key.KindGrant, names...)
	}
	return key.RootDef(nil, key.KindGrant, names...)
}
