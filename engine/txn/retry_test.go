package txn_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
)

func TestRetryGivesUpAfterTheCallersError(t *testing.T) {
	st := mem.New()
	boom := errors.New("boom")
	runs := 0
	err := txn.Retry(ctx, st, txn.Options{}, func(tx *txn.Tx) error {
		runs++
		do(t, tx, "a=1")
		return boom
	})
	if !errors.Is(err, boom) || runs != 1 {
		t.Errorf("got %v after %d runs", err, runs)
	}
	want(t, "state", all(t, st), "")
}

// TestRetryTakesTheTurn: one that always loses gets the commit turn, and then cannot lose.
func TestRetryTakesTheTurn(t *testing.T) {
	st := mem.New()
	runs := 0
	rival := make(chan error, 100)
	err := txn.Retry(ctx, st, txn.Options{}, func(tx *txn.Tx) error {
		runs++
		do(t, tx, "?a mine=1")
		commitRival := func() {
			_, err := st.Commit(ctx, &kv.Batch{Writes: []kv.Write{{Key: []byte("a"), Value: []byte("x")}}})
			rival <- err
		}
		if runs <= 3 {
			commitRival()
			return nil
		}
		go commitRival() // waits for the turn
		return nil
	})
	if err != nil || runs != 4 {
		t.Errorf("got %v after %d runs, want success at the fourth", err, runs)
	}
	for range 4 {
		if err := <-rival; err != nil {
			t.Errorf("rival: %v", err)
		}
	}
	want(t, "state", all(t, st), "a=x mine=1")
}

func TestRetryStopsWithItsContext(t *testing.T) {
	st := mem.New()
	short, cancel := context.WithCancel(ctx)
	runs := 0
	err := txn.Retry(short, st, txn.Options{}, func(tx *txn.Tx) error {
		runs++
		do(t, tx, "?a b=1")
		commit(t, st, "a=1")
		if runs == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || runs != 2 {
		t.Errorf("got %v after %d runs", err, runs)
	}
}

func TestRetryUnderContention(t *testing.T) {
	st := mem.New()
	const clients, each = 8, 50
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				err := txn.Retry(ctx, st, txn.Options{}, func(tx *txn.Tx) error {
					v, err := tx.Get([]byte("n"))
					if err != nil {
						return err
					}
					n, _ := kv.Counter(v)
					return tx.Set([]byte("n"), kv.AppendCounter(nil, n+1))
				})
				if err != nil {
					t.Errorf("retry: %v", err)
				}
			}
		})
	}
	wg.Wait()
	tx := begin(t, st, false)
	defer tx.Cancel()
	v, err := tx.Get([]byte("n"))
	if n, _ := kv.Counter(v); err != nil || n != clients*each {
		t.Errorf("got %d (%v), want %d", n, err, clients*each)
	}
}

func TestConflictIsRetryableByItsText(t *testing.T) {
	st := mem.New()
	tx := begin(t, st, true)
	do(t, tx, "?a b=1")
	commit(t, st, "a=1")
	err := tx.Commit(ctx)
	if errs.As(err).Msg != errs.Conflict().Msg || !errors.Is(err, kv.ErrConflict) {
		t.Errorf("got %v", err)
	}
}
