package tikv

import (
	"context"
	"errors"
	"fmt"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"

	"github.com/nacredb/nacre/engine/kv"
)

// errChanged is the answer of a validation that found something that was read to be changed.
var errChanged = errors.New("something that was read has changed")

// failure is an error of the client as package kv has it, for reads and all else that changes nothing.
func (s *Store) failure(ctx context.Context, err error) error {
	var old *tikverr.ErrGCTooEarly
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return kv.ErrClosed
	case errors.Is(err, kv.ErrCorrupt), errors.Is(err, kv.ErrCounter):
		return err
	case errors.As(err, &old):
		return fmt.Errorf("%w: it is of %s, the cluster keeps what is since %s", kv.ErrTooOld,
			old.TxnStartTS.UTC().Format(time.RFC3339Nano), old.GCSafePoint.UTC().Format(time.RFC3339Nano))
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	default:
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	}
}

// commitFailure is the error of a commit as package kv has it. After all but kv.ErrUndetermined nothing was written.
func (s *Store) commitFailure(err error) error {
	var large *tikverr.ErrTxnTooLarge
	var entry *tikverr.ErrEntryTooLarge
	switch {
	case errors.Is(err, tikverr.ErrResultUndetermined):
		return kv.ErrUndetermined
	case errors.As(err, &large), errors.As(err, &entry):
		return fmt.Errorf("%w: %w", kv.ErrTooLarge, err)
	case lost(err):
		return kv.ErrConflict
	default:
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, err)
	}
}

// lost reports whether another transaction was in the way: the same again may go through.
func lost(err error) bool {
	var again *tikverr.ErrRetryable
	var dead *tikverr.ErrDeadlock
	var latched *tikverr.ErrWriteConflictInLatch
	return errors.Is(err, errChanged) || tikverr.IsErrWriteConflict(err) || errors.As(err, &again) ||
		errors.As(err, &dead) || errors.As(err, &latched)
}
