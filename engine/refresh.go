package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Refresh trades a refresh key for a new {access, refresh} and gives the session that identity; the old key is used up.
// access is the token that the key came with, expired or not: it only says which access method to ask.
func (s *Session) Refresh(ctx context.Context, access, refresh string) (value.Value, error) {
	params, err := refreshParams(access, refresh)
	if err != nil {
		return value.None, err
	}
	return s.enter(ctx, func(r *exec.Run) (*exec.Login, error) { return r.Signin(params) })
}

// Revoke ends a refresh key.
func (s *Session) Revoke(ctx context.Context, access, refresh string) error {
	params, err := refreshParams(access, refresh)
	if err != nil {
		return err
	}
	st := s.snapshot()
	return s.e.exec.Write(ctx, &st, func(r *exec.Run) error { return r.RevokeRefresh(params) })
}

func refreshParams(access, refresh string) (*value.Object, error) {
	peek, err := auth.Peek(access)
	if err != nil {
		return nil, err
	}
	if peek.AC == "" || refresh == "" {
		return nil, errs.InvalidAuth()
	}
	return value.NewObject(
		value.Field{Name: "ns", Value: value.Str(peek.NS)},
		value.Field{Name: "db", Value: value.Str(peek.DB)},
		value.Field{Name: "ac", Value: value.Str(peek.AC)},
		value.Field{Name: "refresh", Value: value.Str(refresh)},
	), nil
}
