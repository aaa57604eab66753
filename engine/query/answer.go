package query

import (
	"errors"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Result is the answer to one statement.
type Result struct {
	Value value.Value
	Rows  *value.Packed // not nil: the answer, in place of Value; see Query.Packing
	Err   *errs.Error   // nil when the statement succeeded
	Time  time.Duration
	Type  string // "", "live" or "kill"
	Verb  string // what the statement does, one of Verbs; "" for what is no statement of a text
	List  bool   // the statement answers a list of records, not one value that happens to be an array
}

// weight is about how many bytes the answer keeps in memory.
func (r *Result) weight() int {
	n := value.Weight(r.Value) + r.Err.Weight()
	if r.Rows != nil {
		n += r.Rows.Size()
	}
	return n
}

// rows is how many rows the answer has.
func (r *Result) rows() int {
	switch {
	case r.Rows != nil:
		return r.Rows.Len()
	case r.Value.Kind() == value.KindArray:
		return r.Value.Len()
	case r.Value.IsNullish():
		return 0
	}
	return 1
}

func (q *Query) answer(start time.Time, v value.Value, kind string, err error) {
	res := Result{Value: v, Rows: q.packed, Time: time.Since(start)}
	q.packed = nil
	if err != nil {
		res.Value, res.Rows = value.None, nil
		res.Err = errs.As(explainReading(explainDamage(err))).Brief()
		q.mem.Rewind(q.mark) // what the statement held
		if q.mem.Take(res.Err.Weight()) != nil {
			res.Err = errs.OutOfMemory()
			q.mem.Hold(res.Err.Weight())
		}
		if cause := HiddenCause(res.Err); cause != nil {
			q.ex.Log.Error("statement failed", "err", cause)
		}
	} else {
		res.Type = kind
		q.work.rows.Add(int64(res.rows()))
	}
	q.out = append(q.out, res)
}

// answerTo is answer for a statement.
func (q *Query) answerTo(s ast.Statement, start time.Time, v value.Value, err error) {
	q.answer(start, v, kindOf(s), err)
	r := &q.out[len(q.out)-1]
	r.List = r.Err == nil && (r.Rows != nil || r.Value.Kind() == value.KindArray) && listing(s)
}

// listing reports whether s answers a list of records.
func listing(s ast.Statement) bool {
	switch s := s.(type) {
	case *ast.Select:
		return !s.Only
	case *ast.Create:
		return !s.Only
	case *ast.Update:
		return !s.Only
	case *ast.Delete:
		return !s.Only
	case *ast.Relate:
		return !s.Only
	case *ast.Insert:
		return true
	}
	return false
}

// explainDamage tells the client that a value is damaged. The log says which one: the record
// may be one that the caller must not know of.
func explainDamage(err error) error {
	if _, ok := errors.AsType[*errs.Error](err); ok || !errors.Is(err, kv.ErrCorrupt) {
		return err
	}
	e := errs.Internal("Stored data is damaged: the server's log names the key, and 'nacre check' finds all that is damaged")
	e.Err = err
	return e
}

// explainReading tells a client that the transaction it has opened may not write.
func explainReading(err error) error {
	if !errors.Is(err, txn.ErrReadOnly) {
		return err
	}
	return errs.With(errs.KindQuery, "ReadOnly", nil, "The transaction is read-only: it cannot write")
}

// HiddenCause returns the cause of an error that only an operator should read: a fault of the engine, not one of the
// user's own errors inside another (of an event, of a unique index). That writes are refused the store has said once.
func HiddenCause(e *errs.Error) error {
	if errors.Is(e, kv.ErrNoSpace) || errors.Is(e, kv.ErrReadOnly) {
		return nil
	}
	for e.Err != nil && e.Kind == errs.KindInternal {
		var inner *errs.Error
		var violation *index.Violation
		switch {
		case errors.As(e.Err, &inner):
			e = inner
		case errors.As(e.Err, &violation):
			return nil
		default:
			return e.Err
		}
	}
	return nil
}

func kindOf(s ast.Statement) string {
	switch s.(type) {
	case *ast.Live:
		return "live"
	case *ast.Kill:
		return "kill"
	}
	return ""
}
