package define

import (
	"cmp"
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// use is USE: the session moves to another place. What is missing there is made if the session may.
func (r *run) use(ctx context.Context, env *exec.Env, s *ast.Use) (value.Value, error) {
	if r.Auth.Code.Stored { // it stays in its database
		return value.None, auth.Denied()
	}
	ns, db := r.Sess.Auth.NS, r.Sess.Auth.DB
	var err error
	if s.Default {
		def, err := r.presentDefaults()
		if err != nil {
			return value.None, err
		}
		n, d := defaultPlace(def)
		ns, db = cmp.Or(n, ns), cmp.Or(d, db)
	}
	if s.NS != nil {
		if ns, err = r.placeName(ctx, env, s.NS, "namespace"); err != nil {
			return value.None, err
		}
	}
	if s.DB != nil {
		if db, err = r.placeName(ctx, env, s.DB, "database"); err != nil {
			return value.None, err
		}
		if ns == "" {
			return value.None, errs.Validation("Specify a namespace to use")
		}
	}
	if s.DB == nil && !s.Default {
		err = r.move(ns, db, ns, "")
	} else {
		err = r.move(ns, db, ns, db)
	}
	if err != nil {
		return value.None, err
	}
	return value.ObjectOf(value.ObjectOfSorted([]value.Field{
		{Name: "database", Value: place(db)}, {Name: "namespace", Value: place(ns)},
	})), nil
}

func place(name string) value.Value {
	if name == "" {
		return value.None
	}
	return value.Str(name)
}

// move puts the session into a namespace and database, and makes makeNS and makeDB where they are
// missing and the session may make them.
func (r *run) move(ns, db, makeNS, makeDB string) error {
	moved := r.Sess.Auth
	moved.NS, moved.DB = ns, db
	if mayMake(&moved, makeDB != "") {
		was := r.Auth
		r.Auth = &moved
		err := r.provide(makeNS, makeDB, r.Ex.Strict)
		r.Auth = was
		if err != nil {
			return err
		}
	}
	r.Move(ns, db)
	return nil
}

// provide makes a namespace and a database where they are missing; "" is left out.
func (r *run) provide(nsName, dbName string, strict bool) error {
	if nsName == "" {
		return nil
	}
	ns, err := r.Cat.Namespace(nsName)
	if err != nil {
		return err
	}
	if ns == nil {
		def := &ast.DefineNamespace{Name: ident(nsName)}
		if _, err := r.Cat.Put(&catalog.Def{Kind: ast.DefNamespace, Name: nsName, Stmt: def,
			By: r.Auth.Definer()}); err != nil {
			return err
		}
		if ns, err = r.Cat.Namespace(nsName); err != nil {
			return err
		}
	}
	if dbName == "" {
		return nil
	}
	db, err := r.Cat.Database(ns, dbName)
	if db != nil || err != nil {
		return err
	}
	return r.putDatabase(ns, &ast.DefineDatabase{Name: ident(dbName)}, strict)
}

// mayMake reports whether env may define its place.
func mayMake(env *auth.Authority, database bool) bool {
	base := ast.BaseRoot
	if database && env.Principal.Level == auth.NamespaceUser {
		base = ast.BaseNamespace
	}
	return env.Allow(auth.Edit, base, auth.ResourceAny) == nil
}

func (r *run) placeName(ctx context.Context, env *exec.Env, n *ast.Name, what string) (string, error) {
	if n.Expr == nil {
		return n.Ident, nil
	}
	v, err := r.Eval(ctx, env, n.Expr)
	if err != nil {
		return "", err
	}
	if v.Kind() != value.KindString {
		return "", errs.Internal("Expected `%s` but found `%s`", what, v.Brief())
	}
	return v.Str(), nil
}
