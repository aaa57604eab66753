package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// seats are the sessions that last longer than a request, and the open interactive transactions.
type seats struct {
	mu       sync.Mutex // guards what follows; a leaf lock
	sessions map[*Session]seat
	txns     map[*Tx]struct{}
}

// seat is the entry of a session in the register. end closes its connection; it is called from any goroutine, does
// not wait, and may be nil.
type seat struct {
	since time.Time
	end   func()
}

// Show lists the session for operators until it is closed. end closes the connection of its client where an operator
// ends the session; it is called from any goroutine and must not wait. nil leaves what was said before.
func (s *Session) Show(end func()) {
	g := &s.e.seats
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions == nil {
		g.sessions = map[*Session]seat{}
	}
	was, there := g.sessions[s]
	if !there {
		was.since = time.Now()
	}
	if end != nil {
		was.end = end
	}
	g.sessions[s] = was
}

func (g *seats) leave(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, s)
}

func (g *seats) open(t *Tx) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.txns == nil {
		g.txns = map[*Tx]struct{}{}
	}
	g.txns[t] = struct{}{}
}

func (g *seats) close(t *Tx) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.txns, t)
}

// session finds a session by its id.
func (g *seats) session(id value.UUID) (*Session, seat, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s, at := range g.sessions {
		if s.ID() == id {
			return s, at, true
		}
	}
	return nil, seat{}, false
}

// transactions gives the open transactions, of one session or (nil) of all, the oldest first.
func (g *seats) transactions(of *Session) []*Tx {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*Tx
	for t := range g.txns {
		if of == nil || t.s == of {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Tx) int { return a.began.Compare(b.began) })
	return out
}

// shown is a session in the list.
type shown struct {
	*Session
	seat
}

// list gives the sessions, the oldest first.
func (g *seats) list() []shown {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]shown, 0, len(g.sessions))
	for s, at := range g.sessions {
		out = append(out, shown{s, at})
	}
	slices.SortFunc(out, func(a, b shown) int { return a.since.Compare(b.since) })
	return out
}

// Ended reports whether an operator has ended the session.
func (s *Session) Ended() bool { return s.ended.Load() }

// errEnded is what the requests of a session meet that an operator has ended.
func errEnded() error {
	return errs.With(errs.KindConnection, "SessionEnded", nil, "The session was ended by an operator of the server: connect again")
}
