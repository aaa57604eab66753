package exec

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Explain turns the end of the context into what users see.
func (r *Run) Explain(ctx context.Context, err error) error {
	if r.timeout != (value.Duration{}) && errors.Is(err, context.DeadlineExceeded) {
		return errs.TimedOut(r.timeout.Std(), r.timeout.String())
	}
	return Explain(ctx, err)
}

// Explain is for what no TIMEOUT clause has ended. A deadline that does not say whose it is, is that of the caller.
func Explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		if e, ok := errors.AsType[*errs.Error](context.Cause(ctx)); ok {
			return e
		}
		return errs.DeadlinePassed()
	case errors.Is(err, context.Canceled) && context.Cause(ctx) == ErrStopped:
		return errs.Stopped()
	case errors.Is(err, context.Canceled):
		return errs.Cancelled()
	}
	return err
}

// ErrStopped is the cause of the context of a query that an operator has stopped.
var ErrStopped = errors.New("stopped by an operator")
