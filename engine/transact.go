package engine

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/access"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
)

// Transact runs f in a transaction of its own and commits it. Where that meets the commit of another transaction, f
// runs again from its start in a new one, as a single statement does, and after three conflicts with the commit turn.
// f must be repeatable, and neither commit nor cancel its transaction. Errors: those of f and of the session, after
// which nothing is written, and those of Tx.Commit.
func (s *Session) Transact(ctx context.Context, f func(*Tx) error) error {
	if _, err := s.mayCall(s.snapshot()); err != nil {
		return err
	}
	return txn.Retry(ctx, s.e.store, s.e.queries.Writing(), func(tx *txn.Tx) error {
		t := &Tx{s: s, tx: tx, log: record.NewLog(), began: time.Now()}
		if d := s.e.opt.Limits.TxTimeout; d > 0 {
			t.last = t.began
			t.end = t.began.Add(d)
		}
		if err := f(t); err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if err := t.open(); err != nil {
			return err
		}
		if _, err := s.still(s.snapshot()); err != nil {
			return access.Revoked()
		}
		t.tx = nil
		return s.e.queries.Seal(ctx, tx, t.log)
	})
}
