package record

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Definitions read more than their callers may: their errors carry values of hidden fields and records, and conditions
// that INFO does not show. Callers who may read everything are told all of it. Others are told what failed, and a value
// only where they gave it themselves or could read it.

// Spoken reports whether an error has to be told as it is: it is no error of the language (a lost store, a cancelled
// context), it is about the statement as a whole (a timeout, a conflict, too much depth), or a definition says by THROW
// what its callers are to be told.
func Spoken(err error) bool {
	return !Denies(err) || errors.Is(err, errs.TooDeep()) || errors.Is(err, &errs.Error{Kind: errs.KindThrown})
}

// Denies reports whether an error inside of PERMISSIONS means no. Otherwise it ends the statement.
func Denies(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Kind != errs.KindQuery
}

// veiled is an error of a definition as the caller may be told of it: in the words of format, unless the caller may
// read everything.
func (g *Gate) veiled(err error, format string, args ...any) error {
	if err == nil || g.Env.CanRead() || Spoken(err) {
		return err
	}
	e := errs.Internal(format, args...)
	e.Err = err
	return e
}

// sees reports whether the caller may see the record that is written, as far as it was there before.
func (g *Gate) sees(ctx context.Context, w *Write) (bool, error) {
	if g.Env.CanRead() || w.creates() {
		return true, nil
	}
	return g.permits(ctx, &w.Table.Define.Permissions.Select, w.Before, nil)
}

// fieldError is an error of a clause of a field. It is told as it is where nothing of the record is hidden from the
// caller.
func (g *Gate) fieldError(ctx context.Context, w *Write, clause string, f *catalog.Field, err error) error {
	if !w.Table.FieldReads {
		if seen, hidden := g.sees(ctx, w); seen || hidden != nil {
			return err
		}
	}
	return g.veiled(err, "The %s of field `%s` of table `%s` failed", clause, f.Name, w.Table.Name)
}

// tells reports whether an error may carry the value of a field: the caller gave it, or may see the field.
func (g *Gate) tells(ctx context.Context, w *Write, f *catalog.Field, v, input value.Value) (bool, error) {
	switch {
	case g.Env.CanRead(), w.Given && !v.IsNone() && value.Equal(v, input):
		return true, nil
	case w.Table.HidesPath(f.Path):
		return false, nil
	}
	return g.sees(ctx, w)
}

// assertFailed refuses a value. Conditions are shown to those who may read everything.
func (g *Gate) assertFailed(ctx context.Context, w *Write, f *catalog.Field, v, input value.Value) error {
	told, err := g.tells(ctx, w, f, v, input)
	switch {
	case err != nil:
		return err
	case !told:
		return errs.Internal("Found a value for field `%s` that does not conform to the ASSERT of the field", f.Name)
	}
	must := "the ASSERT of the field"
	if g.Env.CanRead() {
		must = bareText(f.Define.Assert)
	}
	return errs.Internal("Found %s for field `%s`, with record `%s`, but field must conform to: %s",
		v.Brief(), f.Name, value.RecordOf(w.ID).Text(), must)
}

// bareText is the text of an expression without the parentheses around all of it.
func bareText(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Paren:
		return bareText(x.X)
	case *ast.Subquery:
		return ast.Text(x.Stmt)
	}
	return ast.Text(x)
}

// coerce is coerceField for a record that is written.
func (g *Gate) coerce(ctx context.Context, w *Write, f *catalog.Field, v, input value.Value) (value.Value, error) {
	out, err := coerceField(f, w.ID, v)
	if err == nil {
		return out, nil
	}
	told, hidden := g.tells(ctx, w, f, v, input)
	switch {
	case hidden != nil:
		return v, hidden
	case !told:
		return v, g.veiled(err, "Couldn't coerce value for field `%s` of table `%s` to the type of the field", f.Name, w.Table.Name)
	}
	return v, err
}

// called is a record as an error may name it: by its id, where the caller may see it. doc is its stored image.
func (g *Gate) called(ctx context.Context, tb *catalog.Table, id *value.RecordID, doc value.Value) (string, error) {
	if ok, err := g.permits(ctx, &tb.Define.Permissions.Select, doc, nil); !ok || err != nil {
		return "a record of `" + tb.Name + "`", err
	}
	return "`" + value.RecordOf(id).Text() + "`", nil
}

// refused notes a permission that failed, which is taken for no; once a clause and statement, without values.
func (g *Gate) refused(p *ast.Permission, err error) error {
	if !Denies(err) {
		return err
	}
	if !g.failed[p] {
		if g.failed == nil {
			g.failed = map[*ast.Permission]bool{}
		}
		g.failed[p] = true
		g.Eval.Complain(p)
	}
	return nil
}
