package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Version returns the version that a VERSION clause asks for: one of the history, or 0 for what stands now, with the
// transaction's own writes. That is also what NONE and any time since the transaction began mean. A store without
// history knows nothing of the past: nothing is found there.
func (r *Run) Version(ctx context.Context, env *Env, x ast.Expr) (uint64, error) {
	if x == nil {
		return 0, nil
	}
	v, err := r.Value(ctx, env, x)
	if err != nil || v.IsNone() {
		return 0, err
	}
	if v, err = value.Cast(v, value.Simple(value.TypeDatetime), r.Ex); err != nil {
		return 0, err
	}
	began := r.Tx.Began()
	if !r.Ex.Versioned {
		began = r.Now().Truncate(time.Second)
	}
	t := time.Unix(v.Datetime().Secs, int64(v.Datetime().Nanos))
	if !t.Before(began) {
		return 0, nil
	}
	return max(history.Version(t), 1), nil
}

// ownVersion is the version that a statement of an import gives what it writes; 0: that of its commit. Outside of
// imports the clause means nothing, as in the reference.
func (r *Run) ownVersion(ctx context.Context, env *Env, x ast.Expr) (uint64, error) {
	if x == nil || !r.Import || !r.Auth.CanWrite() {
		return 0, nil
	}
	if !r.Ex.Versioned {
		return 0, errs.Internal("The store keeps no versions: open it with versioned=true to import them")
	}
	v, err := r.Value(ctx, env, x)
	if err != nil {
		return 0, err
	}
	if v, err = value.Cast(v, value.Simple(value.TypeDatetime), r.Ex); err != nil {
		return 0, err
	}
	t := time.Unix(v.Datetime().Secs, int64(v.Datetime().Nanos))
	if t.After(time.Now()) {
		return 0, errs.Internal("A version cannot be of a time to come: %s", v.Brief())
	}
	return max(history.Version(t), 1), nil
}

// insertVersion is INSERT … VERSION of an import: what the record was from then on, and what it is now unless something
// newer is known of it.
func (in *inserter) insertVersion(ctx context.Context, p *record.Write) error {
	k := p.ID.Key
	newest, known, err := in.g.Newest(p.Table, k)
	if err != nil {
		return err
	}
	if known && newest > in.version {
		return in.g.PutVersion(p.Table, k, in.version, p.After)
	}
	there, err := in.g.Exists(p.Table, k)
	if err != nil {
		return err
	}
	if there {
		err = in.replaceRow(ctx, p)
	} else {
		err = in.put(ctx, p)
	}
	if err != nil {
		return err
	}
	return in.g.PutVersion(p.Table, k, in.version, p.After)
}

// deleteVersion is DELETE … VERSION, of imports alone: the records were gone from then on. It takes record ids.
func (w *writer) deleteVersion(ctx context.Context, env *Env, s *ast.Delete) (value.Value, error) {
	version, err := w.r.ownVersion(ctx, env, s.Version)
	if err != nil {
		return value.None, err
	}
	if version == 0 || s.Where != nil {
		return value.None, errs.Internal("DELETE … VERSION is for imports, and takes record ids alone")
	}
	for _, x := range s.Targets {
		v, err := w.r.Value(ctx, env, x)
		if err != nil {
			return value.None, err
		}
		if v.Kind() != value.KindRecord || v.Record().Key.Kind() == value.KindRange {
			return value.None, cannotExecute("DELETE", v)
		}
		if err := w.goneSince(ctx, v.Record(), version); err != nil {
			return value.None, err
		}
	}
	return value.Array(), nil
}

func (w *writer) goneSince(ctx context.Context, id *value.RecordID, version uint64) error {
	tb, err := w.g.TableForWrite(id.Table)
	if tb == nil || err != nil {
		return err
	}
	newest, known, err := w.g.Newest(tb, id.Key)
	if err != nil {
		return err
	}
	if !known || newest <= version {
		row, err := w.g.Pick(ctx, tb, id, record.Deleting)
		if err != nil {
			return err
		}
		if row != nil {
			if _, err := w.g.Delete(ctx, tb, row.ID, row.Stored); err != nil {
				return err
			}
		}
	}
	return w.g.PutVersion(tb, id.Key, version, value.None)
}

// travel makes the run read the past, 0 the present, until the function that it returns is called.
func (r *Run) travel(at uint64) (back func()) {
	was := r.at
	set := func(at uint64) {
		if r.at = at; r.gate != nil {
			r.gate.At = at
		}
	}
	set(at)
	return func() { set(was) }
}

// pastRows are the rows of a SELECT with VERSION, which holds for all that it reads.
type pastRows struct {
	rows
	r  *Run
	at uint64
}

func (p *pastRows) next(ctx context.Context) (value.Value, bool, error) {
	defer p.r.travel(p.at)()
	return p.rows.next(ctx)
}
