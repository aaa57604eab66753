package txn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
)

// TestRefusedCommitsSayWhy fails a commit in each way that a user may meet.
func TestRefusedCommitsSayWhy(t *testing.T) {
	for _, cause := range []error{kv.ErrNoSpace, kv.ErrReadOnly, kv.ErrUndetermined, kv.ErrTooLarge, kv.ErrKey} {
		t.Run(cause.Error(), func(t *testing.T) {
			st := fault.New(mem.New())
			defer st.Close()
			st.SetPlan(fault.Nth(1, fault.Outcome{Err: cause}, fault.Commit))
			tx, err := txn.Begin(context.Background(), st, txn.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := tx.Set([]byte("k"), []byte("v")); err != nil {
				t.Fatal(err)
			}
			err = tx.Commit(context.Background())
			var e *errs.Error
			if !errors.As(err, &e) || e.Msg == "" || e.Msg == cause.Error() || !errors.Is(err, cause) {
				t.Errorf("the commit says %v", err)
			}
		})
	}
}
