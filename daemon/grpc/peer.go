package grpc

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Peer is one HTTP/2 connection: its sessions by the identities in the headers of its calls.
type Peer struct {
	srv  *Server
	conn net.Conn

	mu      sync.Mutex // guards the rest; a leaf lock, taken inside of entry.mu
	entries map[string]*entry
	known   bool // the Server knows it
	closed  bool
}

// entry is the session of one identity.
type entry struct {
	users int       // calls under way; guarded by Peer.mu
	used  time.Time // when the last one began; likewise
	gone  bool      // no more calls get it; likewise

	mu      sync.Mutex // held while the identity is found out; guards what follows
	session *engine.Session
	conn    *rpc.Conn // nil: not open yet
	entered bool      // the identity was found out
	stale   bool      // a call has changed it since
	// The attached sessions that calls have used: a client may have signed in to them as another user since.
	attached map[value.UUID]struct{}
	crowded  int // so many of them make it forget those that are gone
}

// fewAttached is how many attached sessions an entry remembers before it looks for those that are gone.
const fewAttached = 64

// mayUse refuses an attached session of another user: that its id is a secret does not make it a password.
func (e *entry) mayUse(id value.UUID, all *rpc.Sessions) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, used := e.attached[id]; used {
		return nil
	}
	known, err := all.MayUse(id, e.session.Identity())
	if err != nil || !known {
		return err
	}
	if len(e.attached) >= max(e.crowded, fewAttached) {
		maps.DeleteFunc(e.attached, func(id value.UUID, _ struct{}) bool { return !all.Has(id) })
		e.crowded = 2 * len(e.attached)
	}
	if e.attached == nil {
		e.attached = map[value.UUID]struct{}{}
	}
	e.attached[id] = struct{}{}
	return nil
}

type peerKey struct{}

// ConnContext is that of http.Server: it remembers the connection.
func (s *Server) ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, &Peer{srv: s, conn: conn})
}

// PeerOf is the connection of a request.
func PeerOf(r *http.Request) *Peer {
	p, _ := r.Context().Value(peerKey{}).(*Peer)
	return p
}

// ConnState is that of http.Server: it ends what hangs on a connection that is closed.
func (s *Server) ConnState(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed {
		return
	}
	s.mu.Lock()
	p := s.peers[conn]
	delete(s.peers, conn)
	s.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// closeGrace is how long ending a connection may take: its transactions are undone in that time.
const closeGrace = 5 * time.Second

// close ends the sessions of p: those in use when their last call has left.
func (p *Peer) close() {
	p.mu.Lock()
	p.closed = true
	var idle []*entry
	for _, e := range p.entries {
		if e.users == 0 {
			idle = append(idle, e)
		}
	}
	p.entries = nil
	p.mu.Unlock()
	for _, e := range idle {
		p.end(e)
	}
}

// end releases what a session of p holds; no call uses the session any more.
func (p *Peer) end(e *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	p.srv.feeds.endSession(e.session.ID(), endSessionClosed)
	if err := e.conn.Close(ctx); err != nil {
		p.srv.Log.Warn("end of a connection", "err", err)
	}
}

// enter gives the session for a call. The caller calls leave.
func (p *Peer) enter(ctx context.Context, by *Caller) (*entry, error) {
	e, err := p.entry(ctx, by.Key)
	if err != nil {
		return nil, err
	}
	if err = p.identify(ctx, e, by); err != nil {
		p.leave(e)
		return nil, err
	}
	return e, nil
}

// identify finds out the identity of e, unless it is known and still stands. An entry without one is forgotten.
func (p *Peer) identify(ctx context.Context, e *entry, by *Caller) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.entered && !e.stale && (by.Key == "" || e.session.Stands()) {
		return nil
	}
	err := p.open(ctx, e, by)
	if err == nil {
		e.entered, e.stale = true, false
		return nil
	}
	if !e.entered {
		p.mu.Lock()
		defer p.mu.Unlock()
		if e.gone = true; p.entries[by.Key] == e {
			delete(p.entries, by.Key)
		}
	}
	return err
}

// open finds out the identity of e, whose lock is held.
func (p *Peer) open(ctx context.Context, e *entry, by *Caller) error {
	if e.conn == nil {
		s := p.srv.RPC.Session(by.Client, "")
		if err := s.Lasts(); err != nil {
			s.Close()
			return err
		}
		s.Notify(p.srv.feeds.deliver)
		conn := p.srv.RPC.NewConn(s, rpc.Options{Persistent: true, Client: by.Client, Sessions: p.srv.Sessions,
			Adopts: true, RevokesAccess: true, Opened: p.srv.opened, End: func() { p.ended(e, s) }})
		e.session, e.conn = s, conn
	}
	return by.Enter(ctx, e.session)
}

// opened makes a session that a client attaches end its subscriptions with it.
func (s *Server) opened(of *engine.Session) {
	of.Notify(s.feeds.deliver)
	of.Show(func() { s.feeds.endSession(of.ID(), endSessionClosed) })
}

// ended gives up a session that an operator has ended: the next call with its headers gets another one. A connection
// without any other session is closed.
func (p *Peer) ended(e *entry, s *engine.Session) {
	p.srv.feeds.endSession(s.ID(), endSessionClosed)
	p.mu.Lock()
	for key, other := range p.entries {
		if other == e {
			delete(p.entries, key)
		}
	}
	alone, unused := len(p.entries) == 0, e.users == 0 && !e.gone && !p.closed
	e.gone = true
	p.mu.Unlock()
	if unused {
		go p.end(e) // it waits for transactions to end
	}
	if alone {
		go func() { _ = p.conn.Close() }() // TLS waits to say so
	}
}

// entry finds the session of an identity, or makes room for one. The caller has use of it until leave.
func (p *Peer) entry(ctx context.Context, key string) (*entry, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errs.Cancelled()
	}
	e, ok := p.entries[key]
	var gone *entry
	if !ok {
		if gone, ok = p.room(); !ok {
			p.mu.Unlock()
			return nil, exhausted("Too many identities on one connection")
		}
		if p.entries == nil {
			p.entries = map[string]*entry{}
		}
		e = &entry{}
		p.entries[key] = e
	}
	e.users++
	e.used = time.Now()
	known := p.known
	p.known = true
	p.mu.Unlock()
	if gone != nil {
		p.end(gone)
	}
	if !known {
		p.srv.mu.Lock()
		p.srv.peers[p.conn] = p
		p.srv.mu.Unlock()
	}
	// The calls of a connection are cut off before ConnState is told of its end. What comes later finds that out here.
	if !known && ctx.Err() != nil {
		p.leave(e)
		p.srv.ConnState(p.conn, http.StateClosed)
		return nil, context.Cause(ctx)
	}
	return e, nil
}

// room makes room for one more session: the one that waits longest is given up. False: all are in use; p.mu is held.
func (p *Peer) room() (gone *entry, ok bool) {
	if len(p.entries) < p.srv.Limits.Identities {
		return nil, true
	}
	var oldest string
	for key, e := range p.entries {
		if e.users == 0 && key != "" && (gone == nil || e.used.Before(gone.used)) {
			oldest, gone = key, e
		}
	}
	if gone == nil {
		return nil, false
	}
	delete(p.entries, oldest)
	return gone, true
}

// leave gives back what enter or entry gave.
func (p *Peer) leave(e *entry) {
	p.mu.Lock()
	e.users--
	last := (p.closed || e.gone) && e.users == 0
	p.mu.Unlock()
	if last {
		p.end(e)
	}
}

// changed makes the next call with e find out the identity in its headers again.
func (e *entry) changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stale = true
}
