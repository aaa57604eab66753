package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
)

// Reading is how a transaction of the engine begins: metered, and held against the memory that all statements share.
// Those of txn.Retry may write all the same.
func (ex *Executor) Reading() txn.Options { return txn.Options{Meter: ex.Meter, Memory: ex.Memory} }

// Writing is how a transaction begins that may write as much as statements may.
func (ex *Executor) Writing() txn.Options {
	opt := ex.Reading()
	opt.Write, opt.MaxBytes = true, ex.Limits.TxBytes
	return opt
}

// Read runs f in a transaction that cannot write.
func (ex *Executor) Read(ctx context.Context, s *SessionState, f func(*Run) error) error {
	tx, err := txn.Begin(ctx, ex.Store, ex.Reading())
	if err != nil {
		return err
	}
	defer tx.Cancel()
	return f(ex.NewRun(s, NewEnv(), tx))
}

// Write runs f in a transaction of its own and commits it, again on conflict. Each time the session is s.
func (ex *Executor) Write(ctx context.Context, s *SessionState, f func(*Run) error) error {
	return txn.Retry(ctx, ex.Store, ex.Writing(), func(tx *txn.Tx) error {
		r := ex.NewRun(s, NewEnv(), tx)
		r.Log = record.NewLog()
		if err := f(r); err != nil {
			return err
		}
		return ex.Seal(ctx, tx, r.Log)
	})
}

// Seal writes what follows from a transaction's changes into the transaction, as its last act.
func (ex *Executor) Seal(ctx context.Context, tx *txn.Tx, log *record.Log) error {
	if ex.Publish != nil {
		if err := ex.Publish(tx, log); err != nil {
			return err
		}
	}
	return log.Seal(ctx, tx)
}

// Commit seals and commits a transaction; it is finished either way.
func (ex *Executor) Commit(ctx context.Context, tx *txn.Tx, log *record.Log) error {
	if err := ex.Seal(ctx, tx, log); err != nil {
		tx.Cancel()
		return err
	}
	return tx.Commit(ctx)
}
