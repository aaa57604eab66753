package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine"
)

// Session is the state of a client that has finished the handshake.
type Session struct {
	ID      string
	Version string          // of the protocol
	bound   engine.Identity // who began it
	owner   *Sessions       // nil: it belongs to one connection
	ended   chan struct{}

	mu       sync.Mutex // guards the rest; a leaf lock
	ns, db   string     // the place that use chose
	calls    map[string]context.CancelCauseFunc
	users    int // requests and streams at work
	stream   bool
	over     bool
	idle     *time.Timer
	mem      engine.Account
	useOrder sync.Mutex // held while the tool use works: one use of a session after the other
}

// Sessions are those of all clients of a Server.
type Sessions struct {
	srv *Server

	mu   sync.Mutex // guards the rest
	all  map[string]*Session
	shut bool
}

func newSessions(s *Server) *Sessions { return &Sessions{srv: s, all: map[string]*Session{}} }

// ErrFull says that there are as many sessions as there may be, or no memory for another.
var ErrFull = errors.New("too many MCP sessions")

// sessionCost is about what a session takes of memory.
const sessionCost = 4 << 10

// Begin makes the session of peer.
func (t *Sessions) Begin(peer *Peer, version string) (*Session, error) {
	s := t.srv.newSession(peer, version)
	s.owner = t
	s.mem = t.srv.RPC.Engine.Account(peer.Engine.Anonymous())
	if s.mem.Charge(sessionCost) != nil {
		s.mem.Close()
		return nil, ErrFull
	}
	t.mu.Lock()
	full := t.shut || len(t.all) >= t.srv.Limits.Sessions
	if !full {
		t.all[s.ID] = s
	}
	t.mu.Unlock()
	if full {
		s.mem.Close()
		t.srv.RPC.Metrics.Limited("mcp_sessions")
		return nil, ErrFull
	}
	t.srv.RPC.Metrics.MCPSession(t.srv.Transport, 1)
	s.mu.Lock()
	s.idle = time.AfterFunc(t.srv.Limits.Idle, s.expire)
	s.mu.Unlock()
	return s, nil
}

// newSession makes a session that no table holds.
func (s *Server) newSession(peer *Peer, version string) *Session {
	return &Session{ID: rand.Text(), Version: version, bound: peer.Engine.Identity(), ns: peer.NS, db: peer.DB,
		ended: make(chan struct{}), calls: map[string]context.CancelCauseFunc{}}
}

// Find gives the session of that id, or nil.
func (t *Sessions) Find(id string) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[id]
}

// Len is how many sessions there are.
func (t *Sessions) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// Shut ends all sessions, and begins no more.
func (t *Sessions) Shut() {
	t.mu.Lock()
	t.shut = true
	all := make([]*Session, 0, len(t.all))
	for _, s := range t.all {
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		s.End()
	}
}

// End ends the session: its calls are cancelled, its stream closes.
func (s *Session) End() { s.end(false) }

// expire ends a session that nothing was asked of for a while.
func (s *Session) expire() { s.end(true) }

// end ends the session, but not where it is to be idle and is at work.
func (s *Session) end(idle bool) {
	s.mu.Lock()
	if s.over || idle && s.users > 0 {
		s.mu.Unlock()
		return
	}
	s.over = true
	if s.idle != nil {
		s.idle.Stop()
	}
	calls := s.calls
	s.calls = nil
	close(s.ended)
	s.mem.Close()
	s.mu.Unlock()
	for _, cancel := range calls {
		cancel(errCancelled())
	}
	if t := s.owner; t != nil {
		t.mu.Lock()
		delete(t.all, s.ID)
		t.mu.Unlock()
		t.srv.RPC.Metrics.MCPSession(t.srv.Transport, -1)
	}
}

// begin counts a request or a stream as at work: the session does not expire meanwhile.
func (s *Session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.users++
	if s.idle != nil {
		s.idle.Stop()
	}
	return true
}

func (s *Session) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users == 0 && s.idle != nil && !s.over {
		s.idle.Reset(s.owner.srv.Limits.Idle)
	}
}

func (s *Session) touch() {
	if s.begin() {
		s.done()
	}
}

// Stream keeps the session's event stream until ctx or the session ends, and calls beat every interval. taken reports
// that the session has a stream already, or has ended.
func (s *Session) Stream(ctx context.Context, interval time.Duration, beat func() error) (taken bool) {
	if !s.begin() {
		return true
	}
	defer s.done()
	s.mu.Lock()
	taken, s.stream = s.stream, true
	s.mu.Unlock()
	if taken {
		return true
	}
	defer func() {
		s.mu.Lock()
		s.stream = false
		s.mu.Unlock()
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if beat() != nil {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-s.ended:
			return false
		case <-tick.C:
		}
	}
}

// enter registers a call under its id; the returned function ends it. The error is a Fault.
func (s *Session) enter(ctx context.Context, id string, limit int) (context.Context, func(), error) {
	if !s.begin() {
		return nil, nil, &Fault{Code: CodeRequest, Message: "The MCP session has ended: send `initialize` again"}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	_, twice := s.calls[id]
	var refused error
	switch {
	case twice:
		refused = invalid("a request with this `id` is at work in the session")
	case len(s.calls) >= limit:
		refused = &Fault{Code: CodeRequest, Message: "Too many requests at work in this MCP session: wait for " +
			"answers"}
	case s.over:
		refused = &Fault{Code: CodeRequest, Message: "The MCP session has ended: send `initialize` again"}
	default:
		s.calls[id] = cancel
	}
	s.mu.Unlock()
	if refused != nil {
		cancel(nil)
		s.done()
		return nil, nil, refused
	}
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		cancel(nil)
		s.done()
	}, nil
}

// cancel ends the call with that id.
func (s *Session) cancel(id string) {
	s.mu.Lock()
	stop := s.calls[id]
	s.mu.Unlock()
	if stop != nil {
		stop(errCancelled())
	}
}

// Guest reports whether an anonymous client began the session.
func (s *Session) Guest() bool { return s.bound.Guest() }

// Admit refuses a later request of another user than the one who began the session. The error is a Fault.
func (s *Session) Admit(peer *Peer) error {
	who := peer.Engine.Identity()
	switch {
	case s.bound.Guest():
		return nil
	case who.Guest():
		return badParams("Credentials required for this MCP session")
	case !s.bound.Same(who):
		return badParams("Credentials do not match the MCP session: re-initialize to bind a new session")
	}
	return nil
}

func (s *Session) place() (ns, db string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ns, s.db
}

func (s *Session) move(ns, db string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ns, s.db = ns, db
}
