package exec

import (
	"context"
	"errors"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Statements executes the statements that this package does not know: those about definitions, sessions and live
// queries. They may stand wherever a statement does, in a block or a function, and belong to packages above this one.
type Statements interface {
	Statement(ctx context.Context, r *Run, env *Env, s ast.Statement) (value.Value, error)
}

// Endpoints calls the endpoints that DEFINE API made, for api::invoke.
type Endpoints interface {
	// Invoke calls the endpoint at a path; options and answer are those of api::invoke.
	Invoke(ctx context.Context, r *Run, path string, options value.Value) (value.Value, error)
	// CheckPath refuses the path of a definition that no request can have.
	CheckPath(path string) error
}

// execData executes the statements that write records, and hands over those that are not this package's.
func (r *Run) execData(ctx context.Context, env *Env, s ast.Statement) (value.Value, error) {
	switch s.(type) {
	case *ast.Create, *ast.Insert, *ast.Update, *ast.Delete, *ast.Relate:
		v, err := r.writeData(ctx, env, s)
		return v, AsWritten(err)
	}
	if r.Ex.Statements == nil {
		return value.None, NotRunnable(s)
	}
	return r.Ex.Statements.Statement(ctx, r, env, s)
}

// AsWritten is an error as statements tell it that keep what they evaluate: a failed cast is the fault of the data
// there, and the name of a function that is missing stands once.
func AsWritten(err error) error {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || e.Kind != errs.KindInternal {
		return err
	}
	out := *e
	switch {
	case strings.HasPrefix(e.Msg, "Could not cast into `"):
		out.Kind = errs.KindValidation
	case strings.HasPrefix(e.Msg, "Function 'fn::"):
		if _, rest, cut := strings.Cut(e.Msg, " not found: "); cut {
			out.Msg = rest
		}
	}
	return &out
}

// writeData executes a statement that writes records.
func (r *Run) writeData(ctx context.Context, env *Env, s ast.Statement) (value.Value, error) {
	switch s := s.(type) {
	case *ast.Create:
		return r.limited(ctx, env, s.Timeout, func(ctx context.Context) (value.Value, error) {
			return r.create(ctx, env, s)
		})
	case *ast.Insert:
		return r.limited(ctx, env, s.Timeout, func(ctx context.Context) (value.Value, error) {
			return r.insert(ctx, env, s)
		})
	case *ast.Update:
		return r.limited(ctx, env, s.Timeout, func(ctx context.Context) (value.Value, error) {
			return r.update(ctx, env, s)
		})
	case *ast.Delete:
		return r.limited(ctx, env, s.Timeout, func(ctx context.Context) (value.Value, error) {
			return r.delete(ctx, env, s)
		})
	case *ast.Relate:
		return r.limited(ctx, env, s.Timeout, func(ctx context.Context) (value.Value, error) {
			return r.relate(ctx, env, s)
		})
	}
	return value.None, NotRunnable(s)
}

// cannotExecute refuses a value that a statement can not work on.
func cannotExecute(statement string, v value.Value) error {
	return errs.Internal("Cannot execute %s statement using value: %s", statement, v.Brief())
}

// listedTarget reports whether the one target under ONLY is a list written out: that is never a single result.
func listedTarget(only bool, xs []ast.Expr) bool {
	if !only || len(xs) != 1 {
		return false
	}
	switch xs[0].(type) {
	case *ast.Array, *ast.Mock:
		return true
	}
	return false
}

// writer is one writing statement at work: where its rows go, and what they are made of.
type writer struct {
	r    *Run
	g    *record.Gate
	row  Env // the frame whose document is the current record
	out  *ast.Output
	rows []value.Value
	sum  held             // of rows
	keys value.RandomKeys // of the records without an id
	made value.RecordIDs  // their ids
	rec  record.Write     // of the row at hand

	kept   once           // the sub-selects of SET that say the same for every row
	none   ast.OutputKind // what no RETURN clause means
	sought bool           // the targets are what a sub-select found, which may be nothing under ONLY
}

func (r *Run) newWriter(env *Env, out *ast.Output) (*writer, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	if r.at != 0 {
		return nil, errs.Validation("A SELECT with VERSION reads the past: what it asks for may not write")
	}
	if r.Import && r.Auth.CanWrite() { // an import is told nothing of what it writes
		out = &ast.Output{Kind: ast.OutputNone}
	}
	return &writer{r: r, g: g, row: *env.WithDoc(value.None), out: out, none: ast.OutputAfter}, nil
}

// targets are what the statement works on: an object with a record id stands for that record, and what is left as a
// value is for the statement to refuse. Under ONLY a list written out is no target.
func (w *writer) targets(ctx context.Context, env *Env, only bool, xs []ast.Expr) ([]Target, error) {
	if listedTarget(only, xs) {
		return nil, errs.SingleOutput()
	}
	if len(xs) == 1 {
		_, w.sought = xs[0].(*ast.Subquery)
	}
	targets, err := w.r.Targets(ctx, env, xs)
	for i, t := range targets {
		if t.Kind != TargetValue {
			continue
		}
		if id := inside.Field(t.Value, "id"); id.Kind() == value.KindRecord {
			targets[i] = TargetOf(id)
		}
	}
	return targets, err
}

// knownStarts refuses paths from a record of a table that is not there.
func (w *writer) knownStarts(xs []ast.Expr) error {
	for _, x := range xs {
		id, ok := x.(*ast.Idiom)
		if !ok {
			continue
		}
		if start, ok := id.Parts[0].(*ast.PartStart); ok {
			if rec, ok := start.X.(*ast.RecordID); ok {
				if _, err := w.g.Table(rec.Table); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// write does each to each target and answers.
func (w *writer) write(targets []Target, only bool, each func(*Target) error) (value.Value, error) {
	for i := range targets {
		if err := each(&targets[i]); err != nil {
			return value.None, err
		}
	}
	return w.result(only, len(targets))
}

// kind says which image of each record the statement returns.
func (w *writer) kind() ast.OutputKind {
	if w.out == nil || w.out.Kind == ast.OutputDefault {
		return w.none
	}
	return w.out.Kind
}

// emit adds the answer for one record. before and after are stored images, NONE where there is none.
func (w *writer) emit(ctx context.Context, tb *catalog.Table, id *value.RecordID, before, after value.Value) error {
	if err := w.r.Tick(ctx); err != nil {
		return err
	}
	kind := w.kind()
	if kind == ast.OutputNone {
		return nil
	}
	before, after, ok, err := w.show(ctx, kind, tb, id, before, after)
	if !ok || err != nil {
		return err
	}
	v, err := w.answer(ctx, kind, before, after)
	if err != nil {
		return err
	}
	w.rows = append(w.rows, v)
	return w.sum.keep(w.r, v)
}

// show makes stored images what the caller may see of them. It is false where the answer would say no more than that
// there is, or was, a record that the caller may not see.
func (w *writer) show(ctx context.Context, kind ast.OutputKind, tb *catalog.Table, id *value.RecordID, before,
	after value.Value) (b, a value.Value, ok bool, err error) {
	deleted := after.IsNone()
	if kind != ast.OutputBefore || !w.r.Auth.CanRead() {
		if after, ok, err = w.g.Show(ctx, tb, id, after); !ok || err != nil {
			return before, after, false, err
		}
	}
	if kind == ast.OutputBefore || kind == ast.OutputDiff || kind == ast.OutputFields || deleted {
		if before, ok, err = w.g.Show(ctx, tb, id, before); err != nil || !ok && (kind == ast.OutputBefore || deleted) {
			return before, after, false, err
		}
	}
	return before, after, true, nil
}

func (w *writer) answer(ctx context.Context, kind ast.OutputKind, before, after value.Value) (value.Value, error) {
	switch kind {
	case ast.OutputNull:
		return value.Null, nil
	case ast.OutputBefore:
		return before, nil
	case ast.OutputDiff:
		return value.Diff(before, after, ctx.Err)
	case ast.OutputFields:
		frame := w.row.WithThis(after)
		frame.Set("before", before)
		frame.Set("after", after)
		p := w.r.projector(frame, w.out.Fields)
		p.passes = false // fields of nothing are NONE
		return p.row(ctx, after)
	}
	return after, nil
}

// result is the answer of the statement. targets is how many it was given.
func (w *writer) result(only bool, targets int) (value.Value, error) {
	if !only {
		return value.ArrayOf(w.rows), nil
	}
	switch {
	case len(w.rows) == 1:
		return w.rows[0], nil
	case len(w.rows) == 0 && (targets > 0 || w.sought):
		return value.None, nil
	}
	return value.None, errs.SingleOutput()
}

// limited runs f under the TIMEOUT of a statement.
func (r *Run) limited(ctx context.Context, env *Env, timeout ast.Expr,
	f func(context.Context) (value.Value, error)) (value.Value, error) {
	ctx, stop, err := r.limitTime(ctx, env, timeout, true)
	if err != nil {
		return value.None, err
	}
	v, err := f(ctx)
	stop()
	return v, err
}
