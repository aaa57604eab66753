package rpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// sessionIdle is how long a lent session lives without a call.
const sessionIdle = 24 * time.Hour

// Sessions are attached sessions by the id their client chose. Over HTTP they outlive connections, so there
// an id is a bearer secret and ids are never listed.
type Sessions struct {
	limits Limits
	shared bool

	mu  sync.Mutex // guards all; before the lock of a session, never held across engine calls that wait
	all map[value.UUID]*attachedSession
}

type attachedSession struct {
	*session
	used time.Time
}

// NewSessions makes an empty set.
func NewSessions(limits Limits) *Sessions { return &Sessions{limits: limits.withDefaults()} }

// NewSharedSessions makes an empty set for all clients of a transport without connections.
func NewSharedSessions(limits Limits) *Sessions {
	return &Sessions{limits: limits.withDefaults(), shared: true}
}

// Len is how many there are.
func (a *Sessions) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

func (a *Sessions) attach(id value.UUID, s *engine.Session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.all[id]; ok {
		text := value.UUIDOf(id).UUID().String()
		return errs.With(errs.KindAlreadyExists, "Session", map[string]any{"id": text}, "Session already exists: %s", text)
	}
	if len(a.all) >= a.limits.AttachedSessions && !(a.shared && a.evict()) {
		return errs.Internal("Too many attached sessions")
	}
	if a.all == nil {
		a.all = make(map[value.UUID]*attachedSession)
	}
	a.all[id] = &attachedSession{session: &session{engine: s, limit: a.limits.SessionTransactions}, used: time.Now()}
	return nil
}

// evict makes room: of the sessions that nobody has signed in to, the one that waits longest goes. They cost their clients
// nothing, and must not keep others out. a.mu is held.
func (a *Sessions) evict() bool {
	var oldest value.UUID
	var used time.Time
	for id, s := range a.all {
		if s.engine.Principal().Level == auth.Guest && s.idle() && (used.IsZero() || s.used.Before(used)) {
			oldest, used = id, s.used
		}
	}
	delete(a.all, oldest)
	return !used.IsZero()
}

// idle reports whether no transaction hangs on s.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open == 0
}

func (a *Sessions) find(id value.UUID) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.all[id]
	if !ok {
		text := id.String()
		return nil, errs.With(errs.KindNotFound, "Session", map[string]any{"id": text}, "Session not found: %s", text)
	}
	s.used = time.Now()
	return s.session, nil
}

func (a *Sessions) detach(ctx context.Context, id value.UUID) error {
	a.mu.Lock()
	s, ok := a.all[id]
	delete(a.all, id)
	a.mu.Unlock()
	if !ok {
		return nil
	}
	return s.reset(ctx)
}

func (a *Sessions) list() []*session {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*session, 0, len(a.all))
	for _, s := range a.all {
		all = append(all, s.session)
	}
	return all
}

func (a *Sessions) ids() []value.Value {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := make([]value.Value, 0, len(a.all))
	for id := range a.all {
		ids = append(ids, value.UUIDOf(id))
	}
	return ids
}

// Sweep ends the sessions that were not used since a day before now.
func (a *Sessions) Sweep(ctx context.Context, now time.Time) error {
	return a.drop(ctx, func(s *attachedSession) bool { return now.Sub(s.used) > sessionIdle })
}

// Close ends all sessions.
func (a *Sessions) Close(ctx context.Context) error {
	return a.drop(ctx, func(*attachedSession) bool { return true })
}

func (a *Sessions) drop(ctx context.Context, which func(*attachedSession) bool) error {
	a.mu.Lock()
	var gone []*attachedSession
	for id, s := range a.all {
		if which(s) {
			gone = append(gone, s)
			delete(a.all, id)
		}
	}
	a.mu.Unlock()
	var failed []error
	for _, s := range gone {
		failed = append(failed, s.reset(ctx))
	}
	return errors.Join(failed...)
}
