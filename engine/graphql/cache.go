package graphql

import (
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
)

// Cache keeps the schemas of databases, by the version of their definitions. A newer schema takes the place of an
// older one of its database. The schema is the same for all who may use the database. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex // guards the rest; a leaf lock, not held while a schema is built
	known map[uint32]*kept
	turn  uint64
}

// kept is a schema, or why there is none.
type kept struct {
	version uint64
	schema  *Schema
	err     error
	used    uint64
}

// mostSchemas is how many schemas are kept.
const mostSchemas = 256

// NewCache makes an empty cache.
func NewCache() *Cache { return &Cache{known: map[uint32]*kept{}} }

// NotConfigured is the error of a database without CONFIG GRAPHQL.
func NotConfigured() error {
	return errs.With(errs.KindConfiguration, "BadGraphqlConfig", nil,
		"GraphQL has not been configured for this database")
}

// Schema gives the schema of the database in use as the transaction of r sees it. Errors are of kind Configuration.
func (c *Cache) Schema(r *exec.Run) (*Schema, error) {
	if err := r.Auth.MayUse(); err != nil {
		return nil, err
	}
	ns, err := r.Cat.Namespace(r.Auth.NS)
	if ns == nil || err != nil {
		return nil, orNotConfigured(err)
	}
	db, err := r.Cat.Database(ns, r.Auth.DB)
	if db == nil || err != nil {
		return nil, orNotConfigured(err)
	}
	version, err := r.Cat.SchemaVersion(db)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.turn++
	k := c.known[db.ID]
	if k != nil && k.version == version {
		k.used = c.turn
		c.mu.Unlock()
		return k.schema, k.err
	}
	c.mu.Unlock()
	src, err := source(r)
	if err != nil {
		return nil, err
	}
	k = &kept{version: version}
	if src == nil {
		k.err = NotConfigured()
	} else {
		k.schema, k.err = Build(src)
	}
	c.keep(db.ID, k)
	return k.schema, k.err
}

func orNotConfigured(err error) error {
	if err == nil {
		err = NotConfigured()
	}
	return err
}

func (c *Cache) keep(db uint32, k *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.known[db]; old != nil && old.version>>32 > k.version>>32 {
		return // a transaction that began before
	}
	k.used = c.turn
	c.known[db] = k
	if len(c.known) <= mostSchemas {
		return
	}
	var oldest uint32
	least := k.used + 1
	for id, x := range c.known {
		if x.used < least {
			oldest, least = id, x.used
		}
	}
	delete(c.known, oldest)
}

// source reads what a schema is made of; nil where GraphQL is not configured.
func source(r *exec.Run) (*Source, error) {
	db, err := r.Database()
	if err != nil {
		return nil, err
	}
	in := db.Inner()
	d, err := r.Cat.Def(in, ast.DefConfig, "GraphQL")
	if d == nil || err != nil {
		return nil, err
	}
	src := &Source{Config: d.Stmt.(*ast.DefineConfig).GraphQL}
	if src.Tables, err = r.Cat.Tables(db); err != nil {
		return nil, err
	}
	functions, err := r.Cat.Defs(in, ast.DefFunction)
	if err != nil {
		return nil, err
	}
	for _, f := range functions {
		src.Functions = append(src.Functions, f.Stmt.(*ast.DefineFunction))
	}
	accesses, err := r.Cat.Defs(in, ast.DefAccess)
	if err != nil {
		return nil, err
	}
	for _, a := range accesses {
		def := a.Stmt.(*ast.DefineAccess)
		src.Signin = src.Signin || def.Signin != nil
		src.Signup = src.Signup || def.Signup != nil
	}
	return src, nil
}
