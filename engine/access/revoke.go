package access

import (
	"context"
	"errors"
	"time"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
)

// A revoked token is remembered a while longer than it would have lived, for clocks that are set back.
const revokedGrace = time.Hour

// forgottenAtOnce is how many tokens that have expired are forgotten when one is revoked.
const forgottenAtOnce = 16

// RevokeToken makes an access token useless for good, here and after a restart, and ends the sessions that it stands
// for. A token that would not be taken anyway is no error; one that cannot be checked now, for want of the issuer's
// keys, is. The holder of a token may revoke it.
func (a *Authenticator) RevokeToken(ctx context.Context, s exec.SessionState, token string) error {
	peek, err := auth.Peek(token)
	if err == nil {
		err = a.verify(ctx, s, token, peek)
	}
	switch {
	case err == nil:
	case errs.As(err).Kind == errs.KindNotAllowed && !errors.Is(err, errNoKeySet):
		return nil
	default:
		return err
	}
	t := auth.TokenOf(token, peek)
	_, err = a.write(ctx, s, func(r *run) (*Login, error) {
		now := r.Now()
		if err := r.Cat.ForgetRevoked(now.Add(-revokedGrace).Unix(), forgottenAtOnce); err != nil {
			return nil, err
		}
		if gone, err := revoked(r.Run, t); gone || err != nil {
			return nil, err
		}
		if err := r.Cat.IdentityChanged(); err != nil {
			return nil, err
		}
		return nil, r.Cat.PutRevoked(t.Expires, t.Hash[:], now.Unix())
	})
	return err
}

// verify checks a token, and nothing that its access method says of it.
func (a *Authenticator) verify(ctx context.Context, s exec.SessionState, token string, peek *auth.Claims) error {
	if peek.AC == "" {
		_, _, err := a.verifyUser(ctx, token, peek)
		return err
	}
	return a.ex.Read(ctx, &s, func(r *exec.Run) error {
		_, _, _, err := (&run{r, &a.keys}).verifyAccess(ctx, token, peek)
		return err
	})
}

// refuseRevoked refuses a token that was revoked, as any other that is not good.
func (a *Authenticator) refuseRevoked(ctx context.Context, t auth.Token) error {
	st := a.ex.System()
	return a.ex.Read(ctx, &st, func(r *exec.Run) error {
		gone, err := revoked(r, t)
		if gone {
			return errs.InvalidAuth()
		}
		return err
	})
}

// revoked reports whether a token was revoked; the zero one never is.
func revoked(r *exec.Run, t auth.Token) (bool, error) {
	if t == (auth.Token{}) {
		return false, nil
	}
	return r.Cat.Revoked(t.Expires, t.Hash[:])
}
