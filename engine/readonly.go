package engine

import (
	"github.com/nacredb/nacre/engine/exec"
)

// OnlyRead makes the session refuse every statement that would change something: by its syntax tree, and where only
// running it shows, by a transaction that cannot write. BEGIN is refused, too, and so are functions that write files,
// count sequences on, run texts, or send requests that are made to change something elsewhere. There is no way back.
func (s *Session) OnlyRead() {
	s.change(func(st *exec.SessionState) {
		st.ReadOnly = true
		st.Auth.Caps = st.Auth.Caps.Reading()
	})
}
