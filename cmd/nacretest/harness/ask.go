package harness

import (
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Ask runs statements that must all succeed, and gives their values.
func Ask(ctx context.Context, cl *client.Client, text string) ([]value.Value, error) {
	answers, err := cl.Query(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	if err := FirstError(answers); err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	out := make([]value.Value, len(answers))
	for i, a := range answers {
		out[i] = a.Value
	}
	return out, nil
}

// FirstError is the error that made a text of statements fail: of several, the one that is not
// just a consequence.
func FirstError(answers []client.Result) error {
	var first *errs.Error
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		if IsConflict(a.Err) {
			return a.Err
		}
		if first == nil || first.Detail != nil && first.Detail.Kind == "NotExecuted" {
			first = a.Err
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// IsConflict reports whether a transaction failed because another one came first: it has
// certainly not happened.
func IsConflict(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Detail != nil && e.Detail.Kind == "TransactionConflict"
}

// UnlessStopped is nil for errors that are as they should be: the server is gone, or is about to go.
func UnlessStopped(stop chan struct{}, err error) error {
	select {
	case <-stop:
		return nil
	default:
		return ConnectionLost(err)
	}
}

// ConnectionLost is nil for an error that only says that the server is gone.
func ConnectionLost(err error) error {
	if errors.Is(err, client.ErrUnreachable) {
		return nil
	}
	return err
}
