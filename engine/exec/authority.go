package exec

import (
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/record"
)

// codes are the rights of a run inside of stored code, by auth.Code.Index: every evaluation of a definition takes one
// of them, so they are kept.
type codes [auth.Codes]struct {
	env  *auth.Authority
	gate *record.Gate // of code that is not elevated: it may be used by code inside of its own
}

// authority holds the state to restore when a run leaves stored code.
type authority struct {
	auth *auth.Authority
	gate *record.Gate
}

// Elevate makes all that the run does elevated code: it is the engine's own work on a database.
func (r *Run) Elevate() { r.inCode(auth.Elevated) }

// inCode gives the run the authority of stored code; outOf takes it back.
func (r *Run) inCode(c auth.Code) authority {
	return r.under(r.Auth.Code.Enter(c))
}

// under makes c the authority of the run; outOf takes it back.
func (r *Run) under(c auth.Code) authority {
	was := authority{r.Auth, r.gate}
	switch {
	case c == r.Auth.Code:
		if c.Elevated { // a gate is in the middle of something here: a write has triggered the code
			r.gate = nil
		}
		return was
	case c == auth.Code{}:
		r.Auth, r.gate = &r.Sess.Auth, nil
		return was
	}
	if r.codes == nil {
		r.codes = new(codes)
	}
	at := &r.codes[c.Index()]
	if at.env == nil {
		at.env = r.Sess.Auth.Under(c)
	}
	r.Auth, r.gate = at.env, at.gate
	return was
}

func (r *Run) outOf(was authority) {
	if c := r.Auth.Code; c.Stored && !c.Elevated && r.gate != nil && r.gate.Env == r.Auth && r.codes != nil {
		r.codes[c.Index()].gate = r.gate
	}
	r.Auth, r.gate = was.auth, was.gate
	if r.Auth.Code == (auth.Code{}) {
		r.Auth = &r.Sess.Auth // the session may have moved
	}
}

// moved forgets what depends on the identity and place of the session.
func (r *Run) moved() { r.gate, r.codes = nil, nil }

// InDefinition evaluates f as code of a definition that has the rights of its caller.
func (r *Run) InDefinition(c auth.Code, f func() error) error {
	was := r.inCode(c)
	r.defining++
	err := f()
	r.defining--
	r.outOf(was)
	return err
}
