package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// ask runs statements that must all succeed, and gives their values.
func ask(ctx context.Context, cl *client.Client, text string) ([]value.Value, error) {
	answers, err := cl.Query(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	if err := firstError(answers); err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	out := make([]value.Value, len(answers))
	for i, a := range answers {
		out[i] = a.Value
	}
	return out, nil
}

// firstError is the error that made a text of statements fail: of several, the one that is not
// just a consequence.
func firstError(answers []client.Result) error {
	var first *errs.Error
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		if isConflict(a.Err) {
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

// isConflict reports whether a transaction failed because another one came first: it has
// certainly not happened.
func isConflict(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Detail != nil && e.Detail.Kind == "TransactionConflict"
}
