package rpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// How long a lent session lives without a call, and one of a client that has not signed in.
const (
	sessionIdle   = 24 * time.Hour
	anonymousIdle = time.Minute
)

// Sessions are attached sessions by the id their client chose. Over HTTP they outlive connections, so there
// an id is a bearer secret and ids are never listed.
type Sessions struct {
	limits Limits
	shared bool
	idle   time.Duration // how long one lives without a call; 0: sessionIdle
	kept   bool          // each has a copy in the store
	life   time.Duration // of a copy without a call

	mu  sync.Mutex // guards all; before the lock of a session, never held across engine calls that wait
	all map[value.UUID]*attachedSession
}

type attachedSession struct {
	*session
	copy   *engine.Durable // in the store; nil: none
	turn   chan struct{}   // holds one element while a call changes the session; nil without a copy
	used   time.Time
	pinned int // by streams that are under way; it is not idle then
}

// NewSessions makes an empty set.
func NewSessions(limits Limits) *Sessions { return &Sessions{limits: limits.withDefaults()} }

// NewSharedSessions makes an empty set for all clients of a transport without connections.
func NewSharedSessions(limits Limits) *Sessions {
	return &Sessions{limits: limits.withDefaults(), shared: true}
}

// NewLastingSessions makes an empty set for all clients of a transport whose connections may break, which find their
// sessions again within idle.
func NewLastingSessions(limits Limits, idle time.Duration) *Sessions {
	return &Sessions{limits: limits.withDefaults(), shared: true, idle: idle}
}

// NewDurableSessions makes an empty set for all clients of a transport without connections, whose sessions are in the
// store, too: they outlive the process, and a call finds them at any server of the store. They end after life without a
// call.
func NewDurableSessions(limits Limits, life time.Duration) *Sessions {
	return &Sessions{limits: limits.withDefaults(), shared: true, kept: true, life: life}
}

// Len is how many there are.
func (a *Sessions) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

// attach adds s under the id. Errors: the id is taken, there are too many sessions, or no memory for one more.
func (a *Sessions) attach(ctx context.Context, id value.UUID, s *engine.Session) error {
	err := s.Lasts()
	if err != nil && a.makeRoom(ctx) {
		err = s.Lasts()
	}
	if err == nil {
		err = a.add(ctx, id, s)
	}
	if err != nil {
		s.Close()
	}
	return err
}

func (a *Sessions) add(ctx context.Context, id value.UUID, s *engine.Session) error {
	if a.Len() >= a.limits.AttachedSessions {
		a.makeRoom(ctx)
	}
	a.mu.Lock()
	other, taken := a.all[id]
	if taken {
		if a.single() {
			delete(a.all, id)
		}
		a.mu.Unlock()
		return a.clash(ctx, id, other)
	}
	defer a.mu.Unlock()
	if len(a.all) >= a.limits.AttachedSessions {
		return errSessions
	}
	a.put(id, s)
	return nil
}

// put adds s; a.mu is held.
func (a *Sessions) put(id value.UUID, s *engine.Session) *attachedSession {
	if a.all == nil {
		a.all = make(map[value.UUID]*attachedSession)
	}
	at := &attachedSession{session: &session{engine: s, limit: a.limits.SessionTransactions}, copy: s.Copy(),
		used: time.Now()}
	if at.copy != nil {
		at.turn = make(chan struct{}, 1)
	}
	a.all[id] = at
	return at
}

// single reports whether an id that comes twice is a mistake, or worse.
func (a *Sessions) single() bool { return a.shared && a.idle == 0 }

// clash refuses an id that other has.
//
// SECURITY: where clients share the set an id is a secret of one of them. Two that attach the same one have chosen it
// badly, and the second client might continue the session of the first: that session ends.
func (a *Sessions) clash(ctx context.Context, id value.UUID, other *attachedSession) error {
	if a.single() {
		if err := other.forget(ctx); err != nil {
			return err
		}
		_ = other.end(ctx) // there is no caller left to report a failed end to
	}
	return alreadyAttached(id)
}

func alreadyAttached(id value.UUID) error {
	text := id.String()
	return errs.With(errs.KindAlreadyExists, "Session", map[string]any{"id": text}, "Session already exists: %s", text)
}

func notAttached(id value.UUID) error {
	text := id.String()
	return errs.With(errs.KindNotFound, "Session", map[string]any{"id": text}, "Session not found: %s", text)
}

// forget removes the copy of s in the store, if it has one.
func (s *attachedSession) forget(ctx context.Context) error {
	if s.copy == nil {
		return nil
	}
	return s.copy.Delete(ctx)
}

// makeRoom ends one session, where clients share the set: of those without an identity, the one that waits longest.
// They cost their clients nothing, and must not keep others out.
func (a *Sessions) makeRoom(ctx context.Context) bool {
	if !a.shared {
		return false
	}
	gone := a.evict()
	if gone == nil {
		return false
	}
	if err := gone.forget(ctx); err != nil {
		return false
	}
	_ = gone.end(ctx) // it has no transactions whose end could fail
	return true
}

// evict takes out the session that makeRoom ends; nil: there is none.
func (a *Sessions) evict() *attachedSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	var oldest value.UUID
	var used time.Time
	for id, s := range a.all {
		if s.pinned == 0 && s.engine.Anonymous() && s.idle() && (used.IsZero() || s.used.Before(used)) {
			oldest, used = id, s.used
		}
	}
	if used.IsZero() {
		return nil
	}
	gone := a.all[oldest]
	delete(a.all, oldest)
	return gone
}

// end drops everything that hangs on s, and s itself.
func (s *session) end(ctx context.Context) error {
	err := s.reset(ctx)
	s.engine.Close()
	return err
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
	if !ok || a.idle > 0 && s.engine.Ended() { // its client makes another one
		return nil, notAttached(id)
	}
	s.used = time.Now()
	return s.session, nil
}

// pin keeps a session from ending by itself until release; it does nothing where there is no such session.
func (a *Sessions) pin(id value.UUID) (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.all[id]
	if !ok {
		return func() {}
	}
	s.pinned++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		s.pinned--
		s.used = time.Now()
	}
}

// adopt gives the session of an id to a client with the identity by, or makes one.
func (a *Sessions) adopt(ctx context.Context, id value.UUID, by engine.Identity,
	open func() *engine.Session) (created bool, err error) {
	if s, err := a.find(id); err == nil {
		return false, mayAdopt(s, by)
	}
	if err := a.drop(ctx, func(s *attachedSession) bool { return a.all[id] == s && s.engine.Ended() }); err != nil {
		return false, err
	}
	err = a.attach(ctx, id, open())
	if s, found := a.find(id); err != nil && found == nil { // somebody was faster
		return false, mayAdopt(s, by)
	}
	return err == nil, err
}

// MayUse refuses the session of an id to a client with the identity by, as attaching it would. An id that there is no
// session of is not refused; known is false then.
func (a *Sessions) MayUse(id value.UUID, by engine.Identity) (known bool, err error) {
	s, err := a.find(id)
	if err != nil {
		return false, nil // its methods say so
	}
	return true, mayAdopt(s, by)
}

// Has reports whether there is a session of an id.
func (a *Sessions) Has(id value.UUID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[id] != nil
}

// mayAdopt refuses a session of one user to another. The id of a session is a secret of its client: who has no identity
// of its own is taken at its word.
func mayAdopt(s *session, by engine.Identity) error {
	if of := s.engine.Identity(); of.Guest() || by.Guest() || of.Same(by) {
		return nil
	}
	return errs.NotAllowed("The session belongs to another user")
}

// detach ends a session. Where its copy in the store cannot be removed it stays as it is, so that the client may try
// again.
func (a *Sessions) detach(ctx context.Context, e *engine.Engine, id value.UUID) error {
	if a.kept {
		if err := e.ForgetSession(ctx, id); err != nil {
			return err
		}
	}
	s := a.takeOut(id)
	if s == nil {
		return nil
	}
	return s.end(ctx)
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

// Sweep ends sessions that were not used for a day (or the limit of the set), and anonymous ones after a minute.
func (a *Sessions) Sweep(ctx context.Context, now time.Time) error {
	longest := max(a.idle, a.life)
	if longest == 0 {
		longest = sessionIdle
	}
	return a.drop(ctx, func(s *attachedSession) bool {
		idle := now.Sub(s.used)
		if s.pinned > 0 {
			return false
		}
		return a.idle > 0 && s.engine.Ended() || idle > longest || idle > anonymousIdle && s.engine.Anonymous() &&
			s.idle()
	})
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
		failed = append(failed, s.end(ctx))
	}
	return errors.Join(failed...)
}
