package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Options says what a transport can carry.
type Options struct {
	// Persistent: the connection outlives a call, so transactions and live queries may hang on it.
	Persistent bool
	// Client is the peer's address, for the limiter and the log, and Origin the web page it runs in; "" where not
	// known.
	Client, Origin string
	// Sessions holds attached sessions that outlive the Conn (HTTP); nil: they belong to the Conn.
	Sessions *Sessions
	// Adopts: attach of an id that is there already changes nothing and is no error, so that a client may go on with
	// its session over another connection. It answers whether the session is new.
	Adopts bool
	// RevokesAccess: revoke also ends the access token of a pair, and accepts a pair with one token "".
	RevokesAccess bool
	// Opened is called with each session that attach makes; it may be nil.
	Opened func(*engine.Session)
	// Notify takes the notifications of the connection's live queries; session is the attached session they belong to,
	// or nil. It must not wait. nil: the transport cannot carry any.
	Notify func(session *value.UUID, n *engine.Notification) error
	// End closes the connection where an operator ends its session. It must not wait; nil: the connection is left to
	// itself.
	End func()
}

// Conn is one connection's state. Close ends it.
type Conn struct {
	srv      *Server
	opt      Options
	own      *session
	attached *Sessions
	streams  streams
	known    atomic.Bool
}

// session is an engine session with its open transactions.
type session struct {
	engine *engine.Session
	limit  int // open transactions

	mu   sync.Mutex // guards txns and open; a leaf lock, never held across engine calls
	txns map[value.UUID]*engine.Tx
	open int // transactions, those about to begin included
}

// NewConn makes a connection over s, the session that calls use unless they name another. The Conn owns s.
func (srv *Server) NewConn(s *engine.Session, opt Options) *Conn {
	c := &Conn{srv: srv, opt: opt, attached: opt.Sessions}
	c.own = &session{engine: s, limit: srv.Limits.withDefaults().Transactions}
	if c.attached == nil {
		c.attached = NewSessions(srv.Limits)
	}
	c.listen(s, nil)
	if opt.Persistent {
		s.Show(opt.End)
	}
	return c
}

// listen sends the notifications of the live queries of s to the client. When the session itself ends a live query, no
// KILLED is sent: the client knows, and some SDKs fail on it.
func (c *Conn) listen(s *engine.Session, id *value.UUID) {
	if c.opt.Notify == nil {
		return
	}
	s.NotifyQuietly(func(n *engine.Notification) error { return c.opt.Notify(id, n) })
}

// anonymousValues is how many values a message may have of a client without an identity, where those may do nothing.
const anonymousValues = 256 << 10

// DecodingOf is Decoding for the messages that s may send.
func DecodingOf(s *engine.Session, depth int) value.DecodeLimits {
	l := Decoding(depth)
	if s.MayEnter() != nil {
		l.MaxValues = anonymousValues
	}
	return l
}

// Known reports whether the connection, or a session attached to it alone, has an identity, or needs none. Once it has
// it counts as known.
func (c *Conn) Known() bool {
	switch {
	case c.known.Load():
		return true
	case c.own.engine.MayEnter() == nil:
	case c.opt.Sessions != nil || !slices.ContainsFunc(c.attached.list(),
		func(s *session) bool { return s.engine.MayEnter() == nil }):
		return false
	}
	c.known.Store(true)
	return true
}

// Anonymous reports whether neither the connection nor a session attached to it alone has an identity.
func (c *Conn) Anonymous() bool {
	return c.own.engine.Anonymous() &&
		(c.opt.Sessions != nil || !slices.ContainsFunc(c.attached.list(),
			func(s *session) bool { return !s.engine.Anonymous() }))
}

// Session is the connection's own session.
func (c *Conn) Session() *engine.Session { return c.own.engine }

// Close drops the open transactions, live queries and sessions of the connection. Attached sessions that were
// lent to it stay. It waits for the transactions to end.
func (c *Conn) Close(ctx context.Context) error {
	var failed []error
	if c.opt.Sessions == nil {
		failed = append(failed, c.attached.Close(ctx))
	}
	failed = append(failed, c.own.reset(ctx))
	c.own.engine.Close()
	return errors.Join(failed...)
}

// session finds the session of a call, which may change it, and ends by done.
func (c *Conn) session(ctx context.Context, id *value.UUID, changes bool) (s *session, done func() error, err error) {
	if id == nil {
		return c.own, func() error { return nil }, nil
	}
	return c.attached.resume(ctx, *id, changes, func() *engine.Session { return c.open(id) })
}

// present is session for transports whose attached sessions are in memory alone.
func (c *Conn) present(id *value.UUID) (*session, error) {
	if id == nil {
		return c.own, nil
	}
	return c.attached.find(*id)
}

// Engine is the engine session that calls with that id use; nil is the connection's own. The caller ends the use of it
// by release: until then it does not end by itself.
func (c *Conn) Engine(id *value.UUID) (s *engine.Session, release func(), err error) {
	if id == nil {
		return c.own.engine, func() {}, nil
	}
	release = c.attached.pin(*id)
	found, err := c.attached.find(*id)
	if err != nil {
		release()
		return nil, nil, err
	}
	return found.engine, release, nil
}

// reset drops everything that hangs on s.
func (s *session) reset(ctx context.Context) error {
	err := s.cancelAll(ctx)
	s.engine.Reset()
	return err
}

func (s *session) cancelAll(ctx context.Context) error {
	s.mu.Lock()
	txns := s.txns
	s.txns = nil
	s.open -= len(txns)
	s.mu.Unlock()
	var failed []error
	for _, tx := range txns {
		if err := tx.Cancel(ctx); err != nil && !tx.Late() {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// What a client is told that has all it may have.
var (
	errTransactions = errs.Internal("Too many open transactions")
	errSessions     = errs.Internal("Too many attached sessions")
)

// Full reports whether e refuses what would be one too many.
func Full(e *errs.Error) bool { return e == errTransactions || e == errSessions }

func (s *session) begin(ctx context.Context) (value.UUID, error) {
	s.mu.Lock()
	if s.open >= s.limit {
		s.forgetLate()
	}
	if s.open >= s.limit {
		s.mu.Unlock()
		return value.UUID{}, errTransactions
	}
	s.open++
	s.mu.Unlock()

	tx, err := s.engine.Begin(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.open--
		return value.UUID{}, err
	}
	if s.txns == nil {
		s.txns = make(map[value.UUID]*engine.Tx)
	}
	s.txns[tx.ID()] = tx
	return tx.ID(), nil
}

// forgetLate makes room for other transactions where some have run out of time; s.mu is held.
func (s *session) forgetLate() {
	for id, tx := range s.txns {
		if tx.Late() {
			delete(s.txns, id)
			s.open--
		}
	}
}

func (s *session) transaction(id value.UUID) (*engine.Tx, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tx, ok := s.txns[id]; ok {
		return tx, nil
	}
	return nil, transactionNotFound()
}

// take removes a transaction from the list, for the caller to end it.
func (s *session) take(id value.UUID) (*engine.Tx, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx, ok := s.txns[id]
	if !ok {
		return nil, transactionNotFound()
	}
	delete(s.txns, id)
	s.open--
	return tx, nil
}

// take gives up a transaction of s, or of any session that is attached to this very connection: the Go client ends a
// session's transaction without naming the session.
func (c *Conn) take(s *session, id value.UUID) (*engine.Tx, error) {
	tx, err := s.take(id)
	if err == nil || c.opt.Sessions != nil {
		return tx, err
	}
	for _, other := range c.attached.list() {
		if tx, err := other.take(id); err == nil {
			return tx, nil
		}
	}
	return nil, err
}

func transactionNotFound() error {
	return errs.With(errs.KindNotFound, "Transaction", nil, "Transaction not found")
}
