package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
)

// missing is the error of a REMOVE or ALTER whose thing is not there.
type missing struct{ error }

func (m missing) Unwrap() error { return m.error }

func isMissing(err error) bool {
	_, ok := err.(missing)
	return ok
}

// actor is a user or an access method that a statement names.
type actor struct {
	base  ast.Base
	scope catalog.Scope
	name  string
	def   *catalog.Def // nil: there is none
	kind  string       // as errors call it
}

// namedActor finds a user or an access method, after it made sure that the caller may change those of that level.
func (r *run) namedActor(ctx context.Context, env *exec.Env, kind ast.DefKind, n ast.Name,
	base ast.Base) (*actor, error) {
	a := &actor{base: base.Or(ast.BaseDatabase), kind: "user"}
	what := "user"
	if kind == ast.DefAccess {
		a.kind, what = "access method", "access"
	}
	if err := r.Auth.Allow(auth.Edit, a.base, auth.ResourceActor); err != nil {
		return nil, err
	}
	var err error
	if a.scope, err = r.Level(a.base); err != nil {
		return nil, err
	}
	if a.name, err = r.name(ctx, env, n, what); err != nil {
		return nil, err
	}
	a.def, err = r.Cat.Def(a.scope, kind, a.name)
	return a, err
}

// presentActor is an actor that must be there.
func (r *run) presentActor(ctx context.Context, env *exec.Env, kind ast.DefKind, n ast.Name,
	base ast.Base) (*actor, error) {
	a, err := r.namedActor(ctx, env, kind, n, base)
	if err == nil && a.def == nil {
		return nil, missing{r.ActorError(a.kind, a.name, a.base, "does not exist")}
	}
	return a, err
}

// newActor is an actor that is about to be defined; errDefined where a DEFINE of that mode leaves the old one.
func (r *run) newActor(ctx context.Context, env *exec.Env, kind ast.DefKind, n ast.Name, base ast.Base,
	m ast.Mode) (*actor, error) {
	a, err := r.namedActor(ctx, env, kind, n, base)
	if err != nil {
		return nil, err
	}
	return a, r.mode(m, a.def != nil, func() error { return r.ActorError(a.kind, a.name, a.base, "already exists") })
}

// shownNames say how errors call the kinds of a database, and put before their names.
var shownNames = map[ast.DefKind]struct{ kind, prefix string }{
	ast.DefFunction: {"function", "fn::"}, ast.DefParam: {"param", "$"}, ast.DefAnalyzer: {"analyzer", ""},
	ast.DefSequence: {"sequence", ""}, ast.DefAPI: {"api", ""}, ast.DefBucket: {"bucket", ""},
	ast.DefModel: {"model", "ml::"}, ast.DefModule: {"module", "mod::"},
}

// presentIn is a definition of a database, of no table, that must be there.
func (r *run) presentIn(ctx context.Context, env *exec.Env, db *catalog.Database, kind ast.DefKind,
	n ast.Name) (*catalog.Def, error) {
	shown := shownNames[kind]
	name, err := r.name(ctx, env, n, shown.kind)
	if err != nil {
		return nil, err
	}
	d, err := r.Cat.Def(db.Inner(), kind, name)
	if err == nil && d == nil {
		return nil, missing{exec.DoesNotExist(shown.kind, shown.prefix+name)}
	}
	return d, err
}

// presentTable is a table that must be there.
func (r *run) presentTable(ctx context.Context, env *exec.Env, db *catalog.Database,
	n ast.Name) (*catalog.Table, error) {
	name, err := r.name(ctx, env, n, "table")
	if err != nil {
		return nil, err
	}
	tb, err := r.Cat.Table(db, name)
	if err == nil && tb == nil {
		return nil, missing{errs.TableNotFound(name)}
	}
	return tb, err
}

// onTable is the table and the name of a field, an index or an event that a statement names. A table that is not there
// stands for one that has nothing.
func (r *run) onTable(ctx context.Context, env *exec.Env, db *catalog.Database, kind string, table, n ast.Name,
	path *ast.Idiom) (*catalog.Table, string, error) {
	tb, err := r.presentTable(ctx, env, db, table)
	switch {
	case isMissing(err):
		tb = &catalog.Table{Def: &catalog.Def{}}
	case err != nil:
		return nil, "", err
	}
	if path != nil {
		return tb, ast.Text(path), nil
	}
	name, err := r.name(ctx, env, n, kind)
	return tb, name, err
}
