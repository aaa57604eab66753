package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Signin checks credentials (NS, DB, AC, user, pass and variables, see the RPC method) and gives the session that
// identity. The result is the token text, or an object {access, refresh}.
func (s *Session) Signin(ctx context.Context, params *value.Object) (value.Value, error) {
	return value.None, errs.InvalidAuth()
}

// Signup signs up a record user.
func (s *Session) Signup(ctx context.Context, params *value.Object) (value.Value, error) {
	return value.None, errs.InvalidAuth()
}

// SigninBasic checks a user name and password at the level named by ns and db ("" for none).
func (s *Session) SigninBasic(ctx context.Context, user, pass, ns, db string) error {
	return errs.InvalidAuth()
}

// Authenticate gives the session the identity in a token.
func (s *Session) Authenticate(ctx context.Context, token string) error {
	return errs.InvalidAuth()
}
