package txn

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// How Retry goes about it.
const (
	maxTries     = 10
	triesAtLarge = 3 // after so many conflicts it takes the commit turn
	firstPause   = 200 * time.Microsecond
	longestPause = 10 * time.Millisecond
)

// Retry runs fn in a write transaction and commits it, again from the start whenever the commit
// is a conflict: that is, only when it is known not to have happened. After three conflicts it
// holds the store's commit turn while it runs, so that a long statement among short ones comes
// to its end. fn must be repeatable; it must neither Commit nor Cancel. Errors: fn's own (after
// which nothing is written), those of Commit, errs.Conflict after ten tries.
func Retry(ctx context.Context, store kv.Store, opt Options, fn func(*Tx) error) error {
	return RetryWhile(ctx, store, opt, func() bool { return true }, fn)
}

// RetryWhile is Retry that asks after each conflict whether fn may run again; if not, the error is that of the
// conflict.
func RetryWhile(ctx context.Context, store kv.Store, opt Options, again func() bool, fn func(*Tx) error) error {
	opt.Write = true
	for try := 1; ; try++ {
		opt.again = try > 1
		err := attempt(ctx, store, opt, try > triesAtLarge, fn)
		if err == nil || try == maxTries || !errors.Is(err, kv.ErrConflict) || !again() {
			return err
		}
		opt.Began = time.Time{}
		if try < triesAtLarge {
			if err := Pause(ctx, try); err != nil {
				return err
			}
		}
	}
}

// attempt is one try.
func attempt(ctx context.Context, store kv.Store, opt Options, alone bool, fn func(*Tx) error) error {
	if alone && opt.Turn == nil && !opt.Urgent {
		turn, err := store.Exclusive(ctx)
		if err != nil {
			return err
		}
		defer turn.Release()
		opt.Turn = turn
	}
	tx, err := Begin(ctx, store, opt)
	if err != nil {
		return err
	}
	defer tx.Cancel()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Pause waits a random time that doubles with the tries, counted from 1, and has a limit. Without it a transaction
// would meet the same commit again and again, which others see only when it is synced. Errors: those of ctx.
func Pause(ctx context.Context, try int) error {
	longest := min(firstPause<<try, longestPause)
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(longest))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
