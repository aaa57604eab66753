// Package define runs the statements about definitions: DEFINE, ALTER, REMOVE, REBUILD, INFO, SHOW and USE.
//
// It checks who may change what, settles what a statement leaves open, and stores the result in the catalog. It hands
// over to engine/record what a definition does to records, and to engine/build what may take long.
package define

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/build"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Definer runs the statements about definitions for all sessions of one engine.
type Definer struct{ builds *build.Builder }

// New makes a definer that leaves the filling of indexes to builds.
func New(builds *build.Builder) *Definer { return &Definer{builds} }

// run is an exec.Run at work on definitions.
type run struct {
	*exec.Run
	builds *build.Builder
}

// Statement runs a statement about definitions, see exec.Statements.
func (d *Definer) Statement(ctx context.Context, r *exec.Run, env *exec.Env, s ast.Statement) (value.Value, error) {
	v, err := (&run{r, d.builds}).statement(ctx, env, s)
	if err != nil {
		err = exec.AsWritten(err)
	}
	return v, err
}

// Use puts the session of r into a namespace and database, and makes makeNS and makeDB where they are missing and the
// session may make them; "" stands for none.
func (d *Definer) Use(r *exec.Run, ns, db, makeNS, makeDB string) error {
	return (&run{r, d.builds}).move(ns, db, makeNS, makeDB)
}

func (r *run) statement(ctx context.Context, env *exec.Env, s ast.Statement) (value.Value, error) {
	err := r.checkReading(s)
	if err != nil {
		return value.None, err
	}
	switch s := s.(type) {
	case *ast.DefineNamespace:
		err = r.defineNamespace(ctx, env, s)
	case *ast.DefineDatabase:
		err = r.defineDatabase(ctx, env, s)
	case *ast.DefineTable:
		err = r.defineTable(ctx, env, s)
	case *ast.DefineField:
		err = r.defineField(ctx, env, s)
	case *ast.DefineIndex:
		err = r.defineIndex(ctx, env, s)
	case *ast.DefineEvent:
		err = r.defineEvent(ctx, env, s)
	case *ast.DefineFunction:
		err = r.defineFunction(ctx, env, s)
	case *ast.DefineParam:
		err = r.defineParam(ctx, env, s)
	case *ast.DefineAnalyzer:
		err = r.defineAnalyzer(ctx, env, s)
	case *ast.DefineSequence:
		err = r.defineSequence(ctx, env, s)
	case *ast.DefineConfig:
		err = r.defineConfig(ctx, env, s)
	case *ast.DefineAPI:
		err = r.defineAPI(ctx, env, s)
	case *ast.DefineBucket:
		err = r.defineBucket(ctx, env, s)
	case *ast.DefineUser:
		err = r.defineUser(ctx, env, s)
	case *ast.DefineAccess:
		err = r.defineAccess(ctx, env, s)
	case *ast.Remove:
		err = r.remove(ctx, env, s)
	case *ast.Alter:
		err = r.alter(ctx, env, s)
	case *ast.Rebuild:
		err = r.rebuild(ctx, env, s)
	case *ast.Info:
		return r.info(ctx, env, s)
	case *ast.Use:
		return r.use(ctx, env, s)
	case *ast.Show:
		return r.show(ctx, env, s)
	case *ast.DefineModel:
		err = r.defineModel(ctx, env, s)
	case *ast.DefineModule:
		err = errs.Internal("Modules are not supported: this server runs no WebAssembly. DEFINE FUNCTION can hold the same code in the language or, with --allow-scripting, as a script")
	default:
		return value.None, exec.NotRunnable(s)
	}
	return value.None, err
}

// errDefined ends a DEFINE … IF NOT EXISTS whose thing is there.
var errDefined = errors.New("defined already")

// mode decides what a DEFINE does about an existing definition; exists is the error of a plain DEFINE.
func (r *run) mode(m ast.Mode, old bool, exists func() error) error {
	switch {
	case !old || m == ast.ModeOverwrite:
		return nil
	case m == ast.ModeIfNotExists:
		return errDefined
	case r.Import: // an export names what other definitions of its own have made already
		return nil
	}
	return exists()
}

// done turns errDefined into success.
func done(err error) error {
	if errors.Is(err, errDefined) {
		return nil
	}
	return err
}

// alreadyExists is the error of most kinds.
func alreadyExists(kind, name string) error {
	return errs.Internal("The %s '%s' already exists", kind, name)
}

// name is the name of a definition: an identifier, or what an expression yields.
func (r *run) name(ctx context.Context, env *exec.Env, n ast.Name, what string) (string, error) {
	if n.Expr == nil {
		return n.Ident, nil
	}
	v, err := r.Eval(ctx, env, n.Expr)
	if err != nil {
		return "", err
	}
	if name, ok := exec.TableName(v); ok {
		return name, nil
	}
	return "", errs.Internal("Expected `%s name` but found `%s`", what, v.Brief())
}

// ident is the normalised form of a name.
func ident(name string) ast.Name { return ast.Name{Ident: name} }

// comment evaluates a COMMENT; nil for none.
func (r *run) comment(ctx context.Context, env *exec.Env, x ast.Expr) (ast.Expr, error) {
	if x == nil {
		return nil, nil
	}
	v, err := r.Eval(ctx, env, x)
	if err != nil || v.IsNone() {
		return nil, err
	}
	return &ast.Literal{Value: value.Str(value.ToString(v))}, nil
}

// literal evaluates an option of a definition down to a constant of a type; nil stays nil.
func (r *run) literal(ctx context.Context, env *exec.Env, x ast.Expr, t value.TypeKind) (ast.Expr, error) {
	if x == nil {
		return nil, nil
	}
	v, err := r.Land(r.Eval(ctx, env, x))
	if err != nil {
		return nil, err
	}
	if t != value.TypeAny {
		if v, err = value.Cast(v, &value.Type{Kind: t, Max: -1}, r.Ex); err != nil {
			return nil, err
		}
	}
	return &ast.Literal{Value: v}, nil
}

// duration evaluates an optional duration, where NONE is a value of its own; nil stays nil.
func (r *run) duration(ctx context.Context, env *exec.Env, x ast.Expr) (ast.Expr, error) {
	if x == nil {
		return nil, nil
	}
	v, err := r.Land(r.Eval(ctx, env, x))
	if err != nil {
		return nil, err
	}
	if v.IsNone() {
		return &ast.Literal{}, nil
	}
	if v, err = value.Cast(v, &value.Type{Kind: value.TypeDuration, Max: -1}, r.Ex); err != nil {
		return nil, err
	}
	return &ast.Literal{Value: v}, nil
}

// put stores a definition in a scope, under the rules of its mode.
func (r *run) put(s catalog.Scope, kind ast.DefKind, name string, m ast.Mode, stmt ast.Statement,
	exists func() error) error {
	if err := r.fresh(s, kind, name, m, exists); err != nil {
		return done(err)
	}
	return r.store(s, kind, name, stmt)
}

// fresh is the mode of a DEFINE by what is stored.
func (r *run) fresh(s catalog.Scope, kind ast.DefKind, name string, m ast.Mode, exists func() error) error {
	old, err := r.Cat.Def(s, kind, name)
	if err != nil {
		return err
	}
	return r.mode(m, old != nil, exists)
}

func (r *run) store(s catalog.Scope, kind ast.DefKind, name string, stmt ast.Statement) error {
	_, err := r.Cat.Put(&catalog.Def{Scope: s, Kind: kind, Name: name, Stmt: stmt, By: r.Auth.Definer()})
	return err
}

// inDatabase checks that the caller may change definitions of a kind in the database in use, and finds it. What opens
// the database to others, or hands out its numbers, takes an OWNER, as users and access methods do.
func (r *run) inDatabase(kind ast.DefKind) (*catalog.Database, error) {
	res := auth.ResourceAny
	switch kind {
	case ast.DefAPI, ast.DefBucket, ast.DefConfig, ast.DefSequence:
		res = auth.ResourceActor
	}
	if err := r.Auth.Allow(auth.Edit, ast.BaseDatabase, res); err != nil {
		return nil, err
	}
	return r.Database()
}

func (r *run) defineNamespace(ctx context.Context, env *exec.Env, s *ast.DefineNamespace) error {
	if err := r.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceAny); err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "namespace")
	if err != nil {
		return err
	}
	def := &ast.DefineNamespace{Name: ident(name)}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	return r.put(catalog.Scope{}, ast.DefNamespace, name, s.Mode, def, func() error {
		return errs.With(errs.KindAlreadyExists, "Namespace", map[string]any{"name": name},
			"The namespace '%s' already exists", name)
	})
}

func (r *run) defineDatabase(ctx context.Context, env *exec.Env, s *ast.DefineDatabase) error {
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
	def := &ast.DefineDatabase{Name: ident(name), ChangeFeed: s.ChangeFeed}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	old, err := r.Cat.Database(ns, name)
	if err != nil {
		return err
	}
	if err := r.mode(s.Mode, old != nil, func() error {
		return errs.With(errs.KindAlreadyExists, "Database", map[string]any{"name": name},
			"The database '%s' already exists", name)
	}); err != nil {
		return done(err)
	}
	return r.putDatabase(ns, def, s.Strict)
}

// putDatabase stores a database; its text does not show STRICT.
func (r *run) putDatabase(ns *catalog.Namespace, def *ast.DefineDatabase, strict bool) error {
	d := &catalog.Def{Scope: ns.Inner(), Kind: ast.DefDatabase, Name: def.Name.Ident, Stmt: def, By: r.Auth.Definer()}
	if strict {
		d.Extra = value.NewObject(value.Field{Name: "strict", Value: value.Bool(true)})
	}
	_, err := r.Cat.Put(d)
	return err
}

// badOption is a definition whose clauses do not go together.
func badOption(format string, args ...any) error { return errs.Internal(format, args...) }
