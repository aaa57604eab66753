package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// Session is one user's view of an Engine: identity, place and variables. It may run several
// queries at once; a USE or SIGNIN shows in those that begin after it.
type Session struct {
	e     *Engine
	own   bool                              // the process's own: the capability to query does not bind it
	state atomic.Pointer[exec.SessionState] // what it points to is never changed
	guard atomic.Pointer[Guard]             // nil: none
	ended atomic.Bool                       // by an operator: nothing is done in it any more

	durable atomic.Pointer[Durable] // its copy in the store; nil: none

	mu     sync.Mutex // held to replace state, guards the rest; a leaf lock
	mem    budget.Account
	vars   int // bytes of mem that are for variables
	closed bool
}

// What the variables of a session may take of memory together, and those of one without an identity where such may do
// nothing.
const (
	variablesLimit          = 64 << 20
	anonymousVariablesLimit = 64 << 10
)

// Session opens a session without identity, namespace or database (with Unauthenticated: root owner).
func (e *Engine) Session() *Session {
	return e.session(e.anonymous())
}

// anonymous is the principal of a client before it signs in.
func (e *Engine) anonymous() auth.Principal {
	if e.opt.Unauthenticated {
		return auth.RootOwner()
	}
	return auth.Principal{}
}

// RootSession opens a session with the rights of the root owner: for the process itself, never for a client.
func (e *Engine) RootSession() *Session {
	s := e.session(auth.RootOwner())
	s.own = true
	return s
}

// SessionAs opens a session for an identity that is known already: for the process itself and its tests, never for
// what a client claims.
func (e *Engine) SessionAs(p auth.Principal, ns, db string) *Session {
	s := e.session(p)
	s.own = true
	s.change(func(st *exec.SessionState) { st.Auth.NS, st.Auth.DB = ns, db })
	return s
}

func (e *Engine) session(p auth.Principal) *Session {
	s := &Session{e: e}
	s.state.Store(&exec.SessionState{
		Auth: auth.Authority{Principal: p, Caps: e.caps},
		ID:   e.queries.NewKey("uuid"),
	})
	if s.mem = e.memory.Lasting(); p.Level == auth.Guest {
		s.mem = s.mem.OfAnonymous()
	}
	return s
}

// change replaces the state by a changed copy.
func (s *Session) change(f func(*exec.SessionState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.state.Load()
	f(&next)
	s.state.Store(&next)
	if next.Auth.Principal.Level != auth.Guest {
		s.mem.Known()
	}
}

// ID is the id of the session, a uuid; $session.id shows it unless SetName gave another.
func (s *Session) ID() value.UUID { return s.state.Load().ID.UUID() }

// SetClient tells the session where its client is; "" for what is not known. $session shows it.
func (s *Session) SetClient(ip, origin string) {
	text := func(t string) value.Value {
		if t == "" {
			return value.None
		}
		return value.Str(t)
	}
	s.change(func(st *exec.SessionState) { st.IP, st.Orig = text(ip), text(origin) })
}

// Client is the address that SetClient told, or "".
func (s *Session) Client() string {
	if ip := s.state.Load().IP; ip.Kind() == value.KindString {
		return ip.Str()
	}
	return ""
}

// SetName gives the session the id that its client chose: $session shows it. It names nothing: live queries belong to
// the session by ID.
func (s *Session) SetName(id value.UUID) {
	s.change(func(st *exec.SessionState) { st.Name = value.UUIDOf(id) })
}

// Notification tells of one change to what a live query watches.
type Notification = live.Notification

// Notify makes f take the notifications of the session's live queries. It is called from one goroutine, must neither
// wait nor use the session, and ends a live query by an error. Without it LIVE SELECT answers an id that nothing ever
// comes for.
func (s *Session) Notify(f func(*Notification) error) { s.notify(f, false) }

// NotifyQuietly is Notify for a client that wants to hear nothing more of a live query once its own KILL is answered,
// not even of the end.
func (s *Session) NotifyQuietly(f func(*Notification) error) { s.notify(f, true) }

// ListAsDefined makes INFO … STRUCTURE list fields in the order in which they were first defined.
func (s *Session) ListAsDefined() { s.change(func(st *exec.SessionState) { st.Defined = true }) }

func (s *Session) notify(f func(*Notification) error, quiet bool) {
	s.Show(nil)
	s.change(func(st *exec.SessionState) { st.Deliver, st.Quiet, st.Current = f, quiet, s.state.Load })
}

// sessionCost is about what a session takes that lasts longer than a request.
const sessionCost = 2 << 10

// Lasts counts the session itself as held until Close: for those that a client keeps in any number. Errors:
// errs.OutOfMemory.
func (s *Session) Lasts() error {
	s.Show(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mem.Take(sessionCost)
}

// Close ends the session's live queries, and counts nothing for it any more. The session must not be used afterwards.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	s.vars = 0
	s.mem.Close()
	s.mu.Unlock()
	s.e.seats.leave(s)
	s.e.queries.Hub.DropSession(s.ID())
}

// Anonymous reports whether the client of the session has no identity.
func (s *Session) Anonymous() bool { return s.state.Load().Auth.Principal.Level == auth.Guest }

// IsRoot reports whether the client is a user at root level.
func (s *Session) IsRoot() bool { return s.state.Load().Auth.Principal.Level == auth.RootUser }

// IsRootOwner reports whether the client is a user at root level with the role OWNER.
func (s *Session) IsRootOwner() bool {
	p := &s.state.Load().Auth.Principal
	return p.Level == auth.RootUser && p.Roles&auth.Owner != 0
}

// snapshot is the state for one query.
func (s *Session) snapshot() *exec.SessionState { return s.state.Load() }

// place is a namespace and a database; "" for none.
type place struct{ ns, db string }

func placeOf(st *exec.SessionState) place { return place{st.Auth.NS, st.Auth.DB} }

// moved takes over the place that a query has left the session in, unless another one moved it meanwhile.
func (s *Session) moved(before, after *exec.SessionState) {
	from, to := placeOf(before), placeOf(after)
	if before == after || from == to {
		return
	}
	s.change(func(st *exec.SessionState) {
		if placeOf(st) == from {
			st.Auth.NS, st.Auth.DB = to.ns, to.db
		}
	})
}

// Place is the session's namespace and database; "" for none.
func (s *Session) Place() (ns, db string) {
	st := s.snapshot()
	return st.Auth.NS, st.Auth.DB
}

// Knowledge tells apart what a session may know of definitions: as long as it is the same, so are the definitions that
// the session sees, and its rights. Those who keep what they made of them compare it before each use.
type Knowledge struct {
	ns, db              string
	changes, identities uint64
	roles               auth.Roles
	level               auth.Level
}

// Knowledge is that of now, outside of transactions. It costs no look into the store.
func (s *Session) Knowledge() Knowledge {
	st := s.state.Load()
	return Knowledge{ns: st.Auth.NS, db: st.Auth.DB, changes: s.e.queries.Catalog.Changes(),
		identities: s.e.queries.Catalog.Identities(), roles: st.Auth.Principal.Roles, level: st.Auth.Principal.Level}
}

// Identity tells users apart.
type Identity struct{ principal auth.Principal }

// Identity is who the session acts for by now.
func (s *Session) Identity() Identity { return Identity{s.Principal()} }

// Guest reports whether i is anonymous: guests are not one user.
func (i Identity) Guest() bool { return i.principal.Level == auth.Guest }

// Same reports whether i and other are one user. It does not compare their current rights.
func (i Identity) Same(other Identity) bool { return i.principal.Same(&other.principal) }

// Principal is who the session acts for.
func (s *Session) Principal() auth.Principal { return s.snapshot().Auth.Principal }

// Use selects a namespace and database: nil leaves a part as it is, "" unsets it. It creates what is missing when the
// session may, and refuses places outside the session's level.
func (s *Session) Use(ctx context.Context, ns, db *string) error { return s.use(ctx, ns, db, true) }

// Visit is Use for what only reads: it makes nothing, so that the place may be one that does not exist.
func (s *Session) Visit(ctx context.Context, ns, db *string) error { return s.use(ctx, ns, db, false) }

func (s *Session) use(ctx context.Context, ns, db *string, create bool) error {
	before := s.snapshot()
	to := *before
	if ns != nil {
		to.Auth.NS = *ns
		if *ns == "" {
			to.Auth.DB = ""
		}
	}
	if db != nil {
		to.Auth.DB = *db
	}
	if to.Auth.DB != "" && to.Auth.NS == "" {
		return errs.Validation("Specify a namespace to use")
	}
	before, err := s.still(before)
	if err != nil {
		return err
	}
	to.Auth.Principal = before.Auth.Principal
	if err := to.Auth.MayUse(); err != nil {
		return err
	}
	makeNS, makeDB := "", ""
	if create {
		makeNS = to.Auth.NS
		if db != nil {
			makeDB = *db
		}
	}
	after := before
	err = s.e.queries.Write(ctx, before, func(r *exec.Run) error {
		err := s.e.queries.Define.Use(r, to.Auth.NS, to.Auth.DB, makeNS, makeDB)
		after = r.Sess
		return err
	})
	if err != nil {
		return err
	}
	s.moved(before, after)
	return nil
}

// Invalidate drops the identity, and the live queries that were begun with it.
func (s *Session) Invalidate() {
	s.change(func(st *exec.SessionState) { st.Auth.Principal = s.e.anonymous() })
	s.e.queries.Hub.DropSession(s.ID())
}

// Reset drops identity, place, variables, transactions and live queries.
func (s *Session) Reset() {
	s.change(func(st *exec.SessionState) {
		st.Auth = auth.Authority{Principal: s.e.anonymous(), Caps: s.e.caps}
		st.Vars = nil
		s.mem.Release(s.vars)
		s.vars = 0
		s.mem.Shrink()
	})
	s.e.queries.Hub.DropSession(s.ID())
}

// Set defines a session variable; NONE removes it. The variables of a session have a limit together, and those of all
// sessions count against the memory of the engine.
func (s *Session) Set(name string, v value.Value) error {
	if exec.Protected(name) {
		return errProtected(name)
	}
	limit := variablesLimit
	if s.MayEnter() != nil {
		limit = anonymousVariablesLimit
	}
	v = value.Detach(v)
	var err error
	s.change(func(st *exec.SessionState) {
		vars := slices.DeleteFunc(slices.Clone(st.Vars), func(v record.Param) bool { return v.Name == name })
		if !v.IsNone() {
			vars = append(vars, record.Param{Name: name, Value: v})
		}
		if err = s.hold(vars, limit); err == nil {
			st.Vars = vars
		}
	})
	return err
}

// hold counts the variables in place of those that there are; s.mu is held. On an error those still count.
func (s *Session) hold(vars []record.Param, limit int) error {
	n := 0
	for i := range vars {
		n += variableCost + len(vars[i].Name) + value.Weight(vars[i].Value)
	}
	switch {
	case s.closed:
		return errs.New(errs.KindConnection, "The session has ended")
	case n > limit && n > s.vars:
		return errs.Internal("The variables of the session take too much memory")
	}
	if err := s.mem.Take(n - s.vars); err != nil {
		return err
	}
	s.vars = n
	s.mem.Shrink()
	return nil
}

// variableCost is the memory of a variable besides its name and value.
const variableCost = 64

// Info is the record of the authenticated record user, or NONE.
func (s *Session) Info(ctx context.Context) (value.Value, error) {
	st := s.snapshot()
	if st.Expired(s.e.queries.Clock) {
		return value.None, sessionExpired()
	}
	id := st.Auth.Principal.Record
	if id.Kind() != value.KindRecord {
		return value.None, nil
	}
	var out value.Value
	err := s.e.queries.Read(ctx, st, func(r *exec.Run) error {
		doc, err := r.Fetch(ctx, id.Record())
		out = value.Detach(doc)
		return err
	})
	return out, err
}
