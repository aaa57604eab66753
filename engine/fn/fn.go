// Package fn is the library of built-in functions: one table, one file per family.
//
// A function is pure data plus an Impl; arity, types, method names, purity and capability are read
// from the table by the parser (unknown path), the evaluator (argument checks), the planner
// (constant folding) and the documentation. Functions see the database only through Host.
package fn

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// Impl computes a function. args have been counted and coerced to the table's types; it owns
// neither args nor their contents. Errors are *errs.Error.
type Impl func(c *Call, args []value.Value) (value.Value, error)

// Call is one call in progress.
type Call struct {
	Func *Func
	Host Host
}

// Host is what functions may ask of the evaluator that runs them.
type Host interface {
	// Context is cancelled with the statement.
	Context() context.Context
	// Invoke calls a closure value.
	Invoke(closure value.Value, args ...value.Value) (value.Value, error)
	// Fetch reads a record as the session may see it; NONE when missing or hidden.
	Fetch(id *value.RecordID) (value.Value, error)
	// Param is a session-level parameter such as "session", "auth", "token", "access".
	Param(name string) value.Value
	// Now is the clock of the statement.
	Now() time.Time
}

// Func is one function of the library.
type Func struct {
	Name   string  // canonical path, "string::len"
	Params []Param // positional
	// Optional is how many trailing Params may be left out. Variadic: the last one repeats.
	Optional int
	Variadic bool
	Impl     Impl
	// Pure functions give the same result for the same arguments and may be folded.
	Pure bool
	Doc  string // one line, "string::len(string) -> int: the number of characters"
}

// Param is one parameter: its name in the documentation and the type it is coerced to.
type Param struct {
	Name string
	Type *value.Type
}

// Table is the whole library; it is built once and then only read.
type Table struct {
	funcs   map[string]*Func
	consts  map[string]value.Value
	methods map[string][]method
}

// method is one receiver family of a method name.
type method struct {
	kinds uint32 // bit set of value.Kind; 0 = any
	f     *Func
}

// Function finds a function by its path in lower case.
func (t *Table) Function(path string) (*Func, bool) {
	f, ok := t.funcs[path]
	return f, ok
}

// Constant finds a constant by its path in lower case.
func (t *Table) Constant(path string) (value.Value, bool) {
	v, ok := t.consts[path]
	return v, ok
}
