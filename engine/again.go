package engine

import "github.com/nacredb/nacre/engine/exec"

// Again opens another session like s: for the same client, with its identity, place and bounds, and with nothing else
// of it.
func (s *Session) Again() *Session {
	st := s.snapshot()
	out := s.e.session(st.Auth.Principal)
	out.own = s.own
	out.guard.Store(s.guard.Load())
	if s.ended.Load() {
		out.ended.Store(true)
	}
	out.change(func(to *exec.SessionState) {
		to.Auth, to.IP, to.Orig, to.Checked, to.ReadOnly = st.Auth, st.IP, st.Orig, st.Checked, st.ReadOnly
	})
	return out
}
