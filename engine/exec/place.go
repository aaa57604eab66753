package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
)

// Database is the database in use. It is an error when there is none.
//
// USE may select any place; afterwards everything outside the level of the caller is refused: whether a database has
// is reached through here, and what it shows to everybody it shows to those who may be in it.
func (r *Run) Database() (*catalog.Database, error) {
	if err := r.Auth.MayUse(); err != nil {
		return nil, err
	}
	if r.Auth.NS != "" && r.Auth.DB == "" {
		return nil, errs.Validation("Specify a database to use")
	}
	ns, err := r.Namespace()
	if err != nil {
		return nil, err
	}
	db, err := r.Cat.Database(ns, r.Auth.DB)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, NoDatabase(r.Auth.DB)
	}
	return db, nil
}

// Namespace is the namespace in use.
func (r *Run) Namespace() (*catalog.Namespace, error) {
	if r.Auth.NS == "" {
		return nil, errs.Validation("Specify a namespace to use")
	}
	ns, err := r.Cat.Namespace(r.Auth.NS)
	if err == nil && ns == nil {
		err = NoNamespace(r.Auth.NS)
	}
	return ns, err
}

// NoNamespace is the error about a namespace that is not defined.
func NoNamespace(name string) error {
	return errs.With(errs.KindNotFound, "Namespace", map[string]any{"name": name}, "The namespace '%s' does not exist",
		name)
}

// NoDatabase is the error about a database that is not defined.
func NoDatabase(name string) error {
	return errs.With(errs.KindNotFound, "Database", map[string]any{"name": name}, "The database '%s' does not exist",
		name)
}

// Level is the scope of a definition at a base.
func (r *Run) Level(base ast.Base) (catalog.Scope, error) {
	switch base {
	case ast.BaseRoot:
		return catalog.Scope{}, nil
	case ast.BaseNamespace:
		ns, err := r.Namespace()
		if err != nil {
			return catalog.Scope{}, err
		}
		return ns.Inner(), nil
	}
	db, err := r.Database()
	if err != nil {
		return catalog.Scope{}, err
	}
	return db.Inner(), nil
}

// ActorError is the error about a user or access method at a level.
func (r *Run) ActorError(kind, name string, base ast.Base, what string) error {
	switch base {
	case ast.BaseRoot:
		return errs.Internal("The root %s '%s' %s", kind, name, what)
	case ast.BaseNamespace:
		return errs.Internal("The %s '%s' %s in the namespace '%s'", kind, name, what, r.Auth.NS)
	}
	return errs.Internal("The %s '%s' %s in the database '%s'", kind, name, what, r.Auth.DB)
}

// DoesNotExist is the error about most kinds of definitions.
func DoesNotExist(kind, name string) error {
	return errs.Internal("The %s '%s' does not exist", kind, name)
}
