// Package record is the gate: the only way to the records of a database.
//
// Reads filter by permission before anything looks at a row, hide fields, and compute COMPUTED ones.
// Writes run the whole pipeline of a table (kind, fields, permissions) and keep everything that
// hangs on a record in step: index entries, edges, references, views, events, the row count and the
// list of changes that live queries and change feeds are fed from. There is no second way in: no
// fast path skips the checks, it only finds that there is nothing to check. The package evaluates
// no expressions itself; exec lends it an Evaluator.
package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Param is a parameter that an expression of a definition sees, without the $.
type Param struct {
	Name  string
	Value value.Value
}

// Rights says what an expression of a definition may do.
type Rights struct {
	Code     auth.Code
	Reading  bool // it writes nothing
	Computed bool // it is that of a COMPUTED field, which errors name
}

// The rights that do not depend on the caller: to read and write all data of the database, or to read it.
var (
	AsEngine       = Rights{Code: auth.Elevated}
	AsEngineReader = Rights{Code: auth.Elevated, Reading: true}
)

// AsCaller are the rights of the caller, in the code of a definition.
func AsCaller(d *catalog.Def) Rights { return Rights{Code: auth.By(d.By)} }

// AsReader are the rights of the caller to read, in the code of a COMPUTED field.
func AsReader(d *catalog.Def) Rights {
	return Rights{Code: auth.By(d.By), Reading: true, Computed: true}
}

// ErrModifies is the error of a clause of a definition, COMPUTED or PERMISSIONS, that would modify data.
func ErrModifies(clause string) *errs.Error {
	return errs.NotAllowed("A %s clause cannot contain a statement that modifies data", clause)
}

// Evaluator evaluates the expressions of definitions. doc is the current document. vars is copied before anything
// is evaluated.
type Evaluator interface {
	EvalIn(ctx context.Context, x ast.Expr, doc value.Value, vars []Param, rights Rights) (value.Value, error)
	// Complain is told of a permission that failed, which is taken for no.
	Complain(p *ast.Permission)
}

// Gate reads and writes the records of one database for one caller in one transaction. It belongs to one goroutine.
type Gate struct {
	Tx   *txn.Tx
	Cat  *catalog.View
	Env  *auth.Authority
	DB   *catalog.Database
	Eval Evaluator
	Log  *Log // where changes are noted; nil: nowhere
	// Import is OPTION IMPORT: records are stored as they come, without their fields' clauses, and no events run. Only
	// for callers who may write everything.
	Import bool
	// At is the version of the history that records, edges and references are read at; 0: what stands now. Whether the
	// caller may see them, and what is computed of them, are matters of now. Nothing is written through such a gate.
	At uint64
	// Computing are the records whose COMPUTED fields are evaluated now; all gates of a run share it.
	Computing *Computing
	// Texts is the shared state of full-text indexes, Vectors that of vector indexes.
	Texts   *fulltext.Library
	Vectors *vector.Cache

	// AsyncDepth is how many ASYNC events led to the run that this gate belongs to.
	AsyncDepth int

	vars    *[4]Param // of a field's clause; nil before the first one is evaluated
	keybuf  []byte
	walk    *edgeWalk // nil: it is in use, or was never
	raw     []byte    // the record being written
	block   []byte    // those that were written, see keep
	old     []byte    // what it replaces
	views   map[*catalog.Table]*viewPlan
	vals    [2][]value.Value // index values before and after
	ix      index.Writer
	scratch *fulltext.Scratch        // nil before a text is analyzed
	failed  map[*ast.Permission]bool // what the evaluator was told
	depth   int                      // events and cascades under way
	engine  *auth.Authority          // Env, elevated; nil before it is asked for
	writes  uint64                   // records written and deleted so far
}

// Table finds a table that must exist.
func (g *Gate) Table(name string) (*catalog.Table, error) {
	tb, err := g.Cat.Table(g.DB, name)
	if err != nil {
		return nil, err
	}
	if tb == nil {
		return nil, errs.TableNotFound(name)
	}
	return tb, nil
}

// TableForWrite finds a table, and defines it where the caller may. It is nil where the caller may not: the write
// then does nothing.
func (g *Gate) TableForWrite(name string) (*catalog.Table, error) {
	return g.forWrite(name, g.Cat.Table)
}

// OutlineForWrite is TableForWrite without what is defined on the table.
func (g *Gate) OutlineForWrite(name string) (*catalog.Table, error) {
	return g.forWrite(name, g.Cat.Outline)
}

func (g *Gate) forWrite(name string, find func(*catalog.Database, string) (*catalog.Table,
	error)) (*catalog.Table, error) {
	tb, err := find(g.DB, name)
	if tb != nil || err != nil {
		return tb, err
	}
	if g.DB.Strict() {
		return nil, errs.TableNotFound(name)
	}
	if !g.Env.CanWrite() {
		return nil, nil
	}
	if _, err := g.Cat.Put(&catalog.Def{Scope: g.DB.Inner(), Kind: ast.DefTable, Name: name, By: g.Env.Definer(),
		Stmt: &ast.DefineTable{Name: ast.Name{Ident: name}}}); err != nil {
		return nil, err
	}
	return find(g.DB, name)
}

// MayFill refuses to write the rows of a view, which follow from those of other tables. An import brings them.
func (g *Gate) MayFill(tb *catalog.Table) error {
	if tb.Define.View == nil || g.Import {
		return nil
	}
	return errs.Internal("The table '%s' is a view: its rows follow from those of other tables and can not be written", tb.Name)
}

// recordKey is the key of a record, in a buffer that the next call overwrites.
func (g *Gate) recordKey(tb *catalog.Table, k value.Value) []byte {
	g.keybuf = key.Record(g.keybuf[:0], tb.Scope.NS, tb.Scope.DB, tb.ID, k)
	return g.keybuf
}

// load reads the stored image of a record, unfiltered; NONE where there is none.
func (g *Gate) load(tb *catalog.Table, k value.Value) (value.Value, error) {
	raw, err := g.Tx.Get(g.recordKey(tb, k))
	if err != nil {
		return value.None, fmt.Errorf("read a record of %s: %w", tb.Name, err)
	}
	if raw == nil {
		return value.None, nil
	}
	return decode(raw)
}

// Exists reports whether a record is stored, including records hidden from the caller.
func (g *Gate) Exists(tb *catalog.Table, k value.Value) (bool, error) {
	raw, err := g.Tx.Get(g.recordKey(tb, k))
	if err != nil {
		return false, fmt.Errorf("read a record of %s: %w", tb.Name, err)
	}
	return raw != nil, nil
}

// MaxNesting is how deep events, cascades, permissions and computed fields may nest.
const MaxNesting = 24

func (g *Gate) enter() error {
	if g.depth >= MaxNesting {
		return errs.TooDeep()
	}
	g.depth++
	return nil
}

func (g *Gate) leave() { g.depth-- }
