package exec

import (
	"errors"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Control flow travels as errors up to the construct that ends it: FOR takes break and continue,
// functions, closures and statements take return. The statement boundary turns what is left over
// into a user error, so that none of these leaves the package. The value of a return waits in
// Run.ret: at most one return is under way.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
	errReturn   = errors.New("return")
)

// errReading is the error of a write in an expression that may only read, errComputed that of one in a COMPUTED field.
var (
	errReading  = errs.NotAllowed("Permissions, views and the expressions of indexes may not write")
	errComputed = record.ErrModifies("COMPUTED")
)

// errClosure is that of a write in a closure of a statement that reads. Sequences and files are outside of the
// transaction, and stay open to it.
var errClosure = errs.Internal("There was a problem with the key-value store: " +
	"Couldn't write to a read only transaction")

// clauseOnly reports whether the code runs in a clause that may only read. A closure may go on to files and sequences.
func (r *Run) clauseOnly() bool { return r.reading != nil && r.reading != errClosure }

// IsStray reports whether err is that of a BREAK or CONTINUE outside of a loop.
func IsStray(err error) bool { return errors.Is(err, errStray()) }

func errStray() *errs.Error {
	return errs.Internal("Invalid control flow statement, break or continue statement found outside of loop.")
}

// returning raises a RETURN of v.
func (r *Run) returning(v value.Value) error {
	r.ret = v
	return errReturn
}

// Land ends control flow at a boundary: a return becomes the value, a stray break or continue an error.
func (r *Run) Land(v value.Value, err error) (value.Value, error) {
	switch err {
	case nil:
		return v, nil
	case errReturn:
		v, r.ret = r.ret, value.None
		return v, nil
	case errBreak, errContinue:
		return value.None, errStray()
	}
	return value.None, err
}
