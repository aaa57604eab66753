// Package pgwire serves the wire protocol of PostgreSQL, version 3, on a listener of its own: psql, drivers and BI
// tools run statements of the language, of ISO GQL and of SQL.
//
// A connection has one goroutine, which reads a message, does what it asks, and writes the answer; so answers are in
// order, and nothing is read ahead of what must be ordered with a cancellation. The messages are those of pgproto3;
// the frames around them are read here, so that every length is checked and counted before a byte of the body is
// read. While a statement takes long a second goroutine looks whether the client is still there. Notifications of
// live queries and of NOTIFY come from other goroutines: those leave at once where the client is idle, and else
// before the next ReadyForQuery.
//
// The package has no rights of its own: the session of the engine decides who sees and does what, and the statements of
// SQL and of the catalog run through that session, too.
package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/socket"
)

// Limits bounds what connections may take. Zero fields mean the defaults.
type Limits struct {
	Connections   int           // open at once, but for cancel requests; 1024
	Startup       time.Duration // from the first byte to the end of the authentication; 30 s
	Message       int64         // bytes of one message; 16 MiB
	Statements    int           // prepared statements of a connection; 1024
	Portals       int           // portals of a connection; 1024
	Queue         int64         // bytes of notifications waiting on one connection; 8 MiB
	SendTimeout   time.Duration // how long a write may stand still; 30 s
	Notifications int           // channels that a connection may listen to; 1024
}

func (l Limits) withDefaults() Limits {
	set(&l.Connections, 1024)
	set(&l.Startup, 30*time.Second)
	set(&l.Message, 16<<20)
	set(&l.Statements, 1024)
	set(&l.Portals, 1024)
	set(&l.Queue, 8<<20)
	set(&l.SendTimeout, 30*time.Second)
	set(&l.Notifications, 1024)
	return l
}

func set[T int | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Readiness says whether the server answers statements.
type Readiness interface {
	// Started reports whether the start is done and the stop has not begun.
	Started() bool
}

// Options holds the services and settings of a Server.
type Options struct {
	RPC       *rpc.Server
	Readiness Readiness
	TLS       *tls.Config // nil: connections are plain
	Limits    Limits
	Open      bool   // every client has the rights of root, and no password is asked
	Version   string // of the product
	Log       *slog.Logger
}

// Server holds the open connections.
type Server struct {
	Options
	start   time.Time
	notices *channels
	pulse   socket.Pulse // of statements

	mu       sync.Mutex // guards the rest; a leaf lock
	conns    map[uint32]*conn
	open     int // connections, those that are in their start-up included
	next     uint32
	listener net.Listener
	draining bool
	idle     chan struct{} // closed when draining and no connection is left
}

// New makes a Server.
func New(opt Options) *Server {
	opt.Limits = opt.Limits.withDefaults()
	if opt.TLS != nil {
		config := opt.TLS.Clone()
		config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
		config.NextProtos = []string{tlsProtocol}
		opt.TLS = config
	}
	s := &Server{Options: opt, start: time.Now(), notices: newChannels(), conns: map[uint32]*conn{},
		idle: make(chan struct{})}
	s.pulse = socket.Pulse{Every: watchEvery, Still: watchStill, Beat: s.watchAll, Done: s.idle}
	return s
}

// Route is the name of the listener for --allow-http and --deny-http.
const Route = "postgres"

// certificate is the certificate of the server as it is now.
func (s *Server) certificate() (*tls.Certificate, error) {
	if s.TLS.GetCertificate != nil {
		return s.TLS.GetCertificate(&tls.ClientHelloInfo{})
	}
	if len(s.TLS.Certificates) == 0 {
		return nil, errors.New("no certificate")
	}
	return &s.TLS.Certificates[0], nil
}

// Serve accepts connections until Drain closes l.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listener = l
	draining := s.draining
	s.mu.Unlock()
	if draining {
		return l.Close()
	}
	if s.TLS == nil {
		s.Log.Warn("the PostgreSQL listener has no certificate: passwords and data travel in the open", "address",
			l.Addr().String())
	}
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			var temporary interface{ Temporary() bool }
			if errors.As(err, &temporary) && temporary.Temporary() {
				time.Sleep(acceptPause)
				continue
			}
			return err
		}
		go s.serve(c)
	}
}

// acceptPause is the time after which a connection is accepted again where the system had none to give.
const acceptPause = 50 * time.Millisecond

// enter takes a place for a connection. Those over the limit still get one to be told so, or to cancel a statement,
// as long as there are not twice as many.
func (s *Server) enter() (full, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.open >= 2*s.Limits.Connections {
		return false, false
	}
	s.open++
	return s.open > s.Limits.Connections, true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.draining && s.open == 0 {
		close(s.idle)
	}
}

// serve runs one connection.
func (s *Server) serve(nc net.Conn) {
	full, ok := s.enter()
	if !ok {
		s.RPC.Metrics.Limited("postgres")
		_ = nc.Close()
		return
	}
	defer s.leave()
	c := newConn(s, nc)
	defer c.close()
	if err := c.startup(full); err != nil {
		c.part(err)
		return
	}
	s.RPC.Metrics.SocketOpened()
	c.part(c.run())
	s.RPC.Metrics.SocketClosed(c.slow)
}

// register gives c the number and secret by which its statements can be cancelled.
func (s *Server) register(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.next++; s.next == 0 || s.conns[s.next] != nil; s.next++ {
	}
	c.pid = s.next
	c.secret = make([]byte, 4)
	rand.Read(c.secret) // never fails: it ends the process instead
	s.conns[c.pid] = c
}

func (s *Server) unregister(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.pid] == c {
		delete(s.conns, c.pid)
	}
}

var errUserCancel = &sqlstate.Error{Code: sqlstate.Cancelled, Msg: "canceling statement due to user request"}

// cancel stops the statement that runs on the connection with this number, if the secret is its own.
func (s *Server) cancel(pid uint32, secret []byte) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c == nil || subtle.ConstantTimeCompare(c.secret, secret) != 1 {
		return
	}
	c.interrupt(errUserCancel)
}

// find is the connection of a number, or nil.
func (s *Server) find(pid uint32) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[pid]
}

// list is every connection that has signed in.
func (s *Server) list() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		out = append(out, c)
	}
	return out
}

// Drain refuses new connections; statements that run go on. It may be called twice.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return
	}
	s.draining = true
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if s.open == 0 {
		close(s.idle)
	}
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

var errShutdown = &sqlstate.Error{Code: sqlstate.AdminShutdown, Fatal: true,
	Msg: "terminating connection due to administrator command"}

// Shutdown drains, ends connections that are idle, waits for statements that run until ctx ends, then stops those, and
// returns when every connection is gone.
func (s *Server) Shutdown(ctx context.Context) {
	s.Drain()
	for _, c := range s.list() {
		c.wake()
	}
	select {
	case <-s.idle:
		return
	case <-ctx.Done():
	}
	for _, c := range s.list() {
		c.interrupt(errShutdown)
	}
	t := time.NewTimer(lastWait)
	defer t.Stop()
	select {
	case <-s.idle:
	case <-t.C:
		for _, c := range s.list() {
			_ = c.raw.Close()
		}
		<-s.idle
	}
}

// lastWait is how long statements that were stopped may take to end before their connections are cut.
const lastWait = 5 * time.Second

// deadline bounds a statement by the time-outs of the server and of the session.
func (c *conn) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := c.srv.RPC.Deadline(ctx)
	d := c.settings.statementTimeout
	if d <= 0 {
		return ctx, stop
	}
	ctx, more := context.WithTimeoutCause(ctx, d, errs.TimedOut(d, d.String()))
	return ctx, func() { more(); stop() }
}
