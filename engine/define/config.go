package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// config is where a config is kept, and what errors call it.
type config struct {
	key, shown string
	base       ast.Base
}

// configNamed is the config that a word names. The default namespace and database belong to the whole store.
func configNamed(word string) config {
	switch word {
	case "GRAPHQL":
		return config{"GraphQL", "graphql", ast.BaseDatabase}
	case "API":
		return config{"API", "api", ast.BaseDatabase}
	}
	return config{"Default", "default", ast.BaseRoot}
}

// configScope is the scope of c, after it made sure that the caller may change what is there.
func (r *run) configScope(c config) (catalog.Scope, error) {
	if err := r.Auth.Allow(auth.Edit, c.base, auth.ResourceActor); err != nil {
		return catalog.Scope{}, err
	}
	return r.Level(c.base)
}

// presentConfig is a config that must be there.
func (r *run) presentConfig(word string) (*catalog.Def, error) {
	c := configNamed(word)
	scope, err := r.configScope(c)
	if err != nil {
		return nil, err
	}
	d, err := r.configIn(scope, c)
	if err == nil && d == nil {
		return nil, missing{errs.Internal("The config for %s does not exist", c.shown)}
	}
	return d, err
}

// configIn is the config c of a scope, or nil.
func (r *run) configIn(scope catalog.Scope, c config) (*catalog.Def, error) {
	if c.base == ast.BaseRoot {
		return r.presentDefaults()
	}
	return r.Cat.Def(scope, ast.DefConfig, c.key)
}

// configOf is the config that a DEFINE makes.
func configOf(s *ast.DefineConfig) config {
	switch {
	case s.GraphQL != nil:
		return configNamed("GRAPHQL")
	case s.API != nil:
		return configNamed("API")
	}
	return configNamed("DEFAULT")
}

// defineConfig is DEFINE CONFIG.
func (r *run) defineConfig(ctx context.Context, env *exec.Env, s *ast.DefineConfig) error {
	c := configOf(s)
	scope, err := r.configScope(c)
	if err != nil {
		return err
	}
	def := *s
	def.Mode = ast.ModeCreate
	if s.Default != nil {
		if def.Default, err = r.defaultConfig(ctx, env, s.Default); err != nil {
			return err
		}
	}
	old, err := r.configIn(scope, c)
	if err != nil {
		return err
	}
	if err := r.mode(s.Mode, old != nil, func() error {
		return errs.Internal("The config for %s already exists", c.shown)
	}); err != nil {
		return done(err)
	}
	return r.store(scope, ast.DefConfig, c.key, &def)
}

// removeConfig is REMOVE CONFIG. That of the default place is there from the first start, without a definition in the
// store: what removes it is a definition that names nothing.
func (r *run) removeConfig(word string) error {
	d, err := r.presentConfig(word)
	if err != nil {
		return err
	}
	if d.Scope == (catalog.Scope{}) {
		return r.store(d.Scope, ast.DefConfig, d.Name, &ast.DefineConfig{Default: &ast.DefaultConfig{}})
	}
	return r.Cat.Delete(d)
}

// presentDefaults is the config of the default place: that of the store, else that of the first start; nil where it
// names nothing.
func (r *run) presentDefaults() (*catalog.Def, error) {
	c := configNamed("DEFAULT")
	d, err := r.Cat.Def(catalog.Scope{}, ast.DefConfig, c.key)
	if err != nil {
		return nil, err
	}
	if d == nil {
		first := &ast.DefaultConfig{}
		if r.Ex.DefaultNamespace != "" {
			n := ident(r.Ex.DefaultNamespace)
			first.Namespace = &n
		}
		if r.Ex.DefaultDatabase != "" {
			n := ident(r.Ex.DefaultDatabase)
			first.Database = &n
		}
		d = &catalog.Def{Kind: ast.DefConfig, Name: c.key, Stmt: &ast.DefineConfig{Default: first},
			By: r.Auth.Definer()}
	}
	if ns, db := defaultPlace(d); ns == "" && db == "" {
		return nil, nil
	}
	return d, nil
}

// defaultPlace is the namespace and database that a config names, "" for what it does not name.
func defaultPlace(d *catalog.Def) (ns, db string) {
	if d == nil {
		return "", ""
	}
	c, ok := d.Stmt.(*ast.DefineConfig)
	if !ok || c.Default == nil {
		return "", ""
	}
	if c.Default.Namespace != nil {
		ns = c.Default.Namespace.Ident
	}
	if c.Default.Database != nil {
		db = c.Default.Database.Ident
	}
	return ns, db
}

// shownDefaults is the default place in INFO: the parts that a config names.
func (r *run) shownDefaults() (value.Value, error) {
	d, err := r.presentDefaults()
	if err != nil {
		return value.None, err
	}
	ns, db := defaultPlace(d)
	var parts []value.Field
	if ns != "" {
		parts = append(parts, value.Field{Name: "namespace", Value: value.Str(ns)})
	}
	if db != "" {
		parts = append(parts, value.Field{Name: "database", Value: value.Str(db)})
	}
	return value.ObjectOf(value.NewObject(parts...)), nil
}

func (r *run) defaultConfig(ctx context.Context, env *exec.Env, c *ast.DefaultConfig) (*ast.DefaultConfig, error) {
	out := &ast.DefaultConfig{}
	for _, part := range [2]struct {
		from *ast.Name
		to   **ast.Name
		what string
	}{{c.Namespace, &out.Namespace, "namespace"}, {c.Database, &out.Database, "database"}} {
		if part.from == nil {
			continue
		}
		name, err := r.name(ctx, env, *part.from, part.what)
		if err != nil {
			return nil, err
		}
		n := ident(name)
		*part.to = &n
	}
	return out, nil
}
