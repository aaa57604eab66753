// Package fn is the library of built-in functions: one table, one file per family.
//
// A function is pure data plus an Impl; arity, types, method names, purity and documentation are
// read from the table by the parser (unknown path), the evaluator (argument checks), the planner
// (what is the same for all rows) and docs/functions.md. Functions see the database only through Host and the
// narrow interfaces of host.go, and hold no state of their own: what they keep between calls
// (compiled patterns, the HTTP client) belongs to the Table and is bounded.
package fn

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Impl computes a function. args have been counted and coerced to the table's types; it owns
// neither args nor their contents. Errors are *errs.Error.
type Impl func(c Call, args []value.Value) (value.Value, error)

// Call is one call in progress, passed by value.
type Call struct {
	Func *Func
	Host Host
	// Method is the form x.method(…) the call was written in; nil for the path form.
	Method *Method
}

// Func is one function of the library.
type Func struct {
	Name   string  // canonical path, "string::len"
	Params []Param // positional
	// Optional is how many trailing Params may be left out. Variadic: the last one repeats, none included.
	Optional int
	Variadic bool
	Impl     Impl
	// Pure functions give the same result for the same arguments, and change nothing. Steady ones do so while one
	// statement runs. Functions that call closures are neither.
	Pure, Steady bool
	// Needs is the capability that the function asks for itself: "net", "files", "eval", or "". To be called at all is
	// another.
	Needs string
	// MethodOnly functions have a path that parses but no implementation behind it: only the method form works.
	MethodOnly bool
	// Result is the documented result type; Doc one line on what the function does.
	Result string
	Doc    string
	// Methods are the method forms, e.g. "len" on array.
	Methods []MethodForm

	least, most int // arguments; most is -1 without a limit

	table    *Table
	pathless bool // only the method form exists
}

// Param is one parameter: its name in the documentation and the type it is coerced to.
type Param struct {
	Name string
	Type *value.Type
	text string // of Type, as error texts print it
	fits kinds  // the kinds that need no further look
}

// Fixed reports whether the same arguments give the same result throughout a statement, so that one call can stand for
// all.
func (f *Func) Fixed() bool { return f.Pure || f.Steady }

// MinArgs is the least number of arguments.
func (f *Func) MinArgs() int { return f.least }

// MaxArgs is the greatest number of arguments, -1 when there is no limit.
func (f *Func) MaxArgs() int { return f.most }

// Call runs f in its path form: it counts and coerces args (without changing the slice) and calls the implementation.
func (f *Func) Call(h Host, args []value.Value) (value.Value, error) {
	return f.call(Call{Func: f, Host: h}, args)
}

func (f *Func) call(c Call, args []value.Value) (value.Value, error) {
	if f.MethodOnly && c.Method == nil {
		return value.None, errs.Internal("Unknown function '%s' - not found in function registry", f.Name)
	}
	args, err := c.check(args)
	if err != nil {
		return value.None, err
	}
	return f.Impl(c, args)
}

// incorrect is the error of a call with arguments that do not fit; format says how.
func (c Call) incorrect(format string, args ...any) error {
	if c.Method != nil {
		return errs.Internal("Incorrect arguments for method "+c.Method.Name+"(). "+format, args...)
	}
	return errs.Internal("Incorrect arguments for function "+c.Func.Name+"(). "+format, args...)
}
