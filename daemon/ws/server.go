// Package ws serves the RPC protocol on WebSockets: it reads messages, runs them through rpc.Conn and
// writes the answers.
//
// One connection has a reader goroutine. It runs the methods that change the session, in the order in which they
// came, and requests that come alone as long as they are short, see alone.go. Every other request is handed to a
// worker of the Server, a bounded number at a time (then reading stops: back-pressure). There is no writer
// goroutine: the first goroutine with an answer becomes the writer, and sends what others add meanwhile in one
// system call. A client that does not read for SendTimeout, or that has Queue bytes of notifications waiting, is
// closed. A goroutine of the Server pings silent connections; a missing answer closes none, see probe. Shutdown
// ends them all with code 1001.
package ws

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/socket"
	"github.com/nacredb/nacre/internal/wire"
)

// Limits bounds what connections may take. Zero fields mean the defaults.
type Limits struct {
	Message int64 // bytes of one message; 128 MiB
	// the same for a connection that has had no identity yet, where those may do nothing; 4 MiB
	Anonymous   int64
	Requests    int   // running at once on one connection; 256
	Queue       int64 // bytes waiting to be sent on one connection; 8 MiB
	Connections int   // open at once; 65536
	// after that much silence a connection is pinged, after twice as much inside of a message closed; 15 s
	Ping        time.Duration
	SendTimeout time.Duration // how long a write may stand still; 30 s
	Depth       int           // nesting of values; the codec's default
}

func (l Limits) withDefaults() Limits {
	set(&l.Message, 128<<20)
	set(&l.Anonymous, 4<<20)
	l.Anonymous = min(l.Anonymous, l.Message)
	set(&l.Requests, 256)
	set(&l.Queue, 8<<20)
	set(&l.Connections, 65536)
	set(&l.Ping, 15*time.Second)
	set(&l.SendTimeout, 30*time.Second)
	return l
}

func set[T int | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Server holds the open connections.
type Server struct {
	rpc     *rpc.Server
	limits  Limits
	metrics *telemetry.Metrics
	log     *slog.Logger
	workers *workers

	mu       sync.Mutex // guards conns, ids and draining; a leaf lock
	conns    map[*conn]struct{}
	ids      map[value.UUID]struct{} // chosen by clients
	reserved int                     // connections between Reserve and their end
	draining bool
	idle     chan struct{} // closed when draining and no connection is left

	open    atomic.Int64 // connections
	pulse   socket.Pulse // of requests that run in readers
	aloneMu sync.Mutex   // guards alone
	alone   []*conn      // whose readers have run requests at the last beats, see alone.go

	stop context.CancelFunc
	done chan struct{} // the pinger has ended
	turn atomic.Int64  // of the pinger, from 1
}

// NewServer makes a Server and starts its pinger; Shutdown ends both.
func NewServer(srv *rpc.Server, limits Limits, log *slog.Logger) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		rpc: srv, limits: limits.withDefaults(), metrics: srv.Metrics, log: log, workers: newWorkers(),
		conns: make(map[*conn]struct{}), ids: make(map[value.UUID]struct{}), idle: make(chan struct{}), stop: stop,
		done: make(chan struct{}),
	}
	s.pulse = socket.Pulse{Every: aloneEvery, After: aloneAfter, Beat: s.beat, Done: s.idle}
	s.turn.Store(1)
	go s.ping(ctx)
	return s
}

// Reserve takes a place for one more connection; the caller then calls Serve or gives the place back by Release.
func (s *Server) Reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.reserved >= s.limits.Connections {
		s.metrics.Limited("websockets")
		return false
	}
	s.reserved++
	return true
}

// Release gives back what Reserve took.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved--
}

// Claim takes the id that a client has chosen for its connection; false where another open one has it. The caller gives
// it back by Disclaim.
func (s *Server) Claim(id value.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.ids[id]; taken {
		return false
	}
	s.ids[id] = struct{}{}
	return true
}

// Disclaim gives back what Claim took.
func (s *Server) Disclaim(id value.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, id)
}

// Serve upgrades the request and runs the connection on session until it ends. The caller has reserved a place.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, session *engine.Session, client string) {
	s.serve(w, r, client, s.limits.Message, func(socket *websocket.Conn, p *pipe) *conn {
		c := newConn(s, socket, p, s.limits.Requests)
		c.rpc = s.rpc.NewConn(session, rpc.Options{Persistent: true, Client: client, Origin: r.Header.Get("Origin"),
			Notify: c.notify,
			End:    c.cut})
		return c
	})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, client string, limit int64,
	open func(*websocket.Conn, *pipe) *conn) {
	s.serveAs(w, r, client, limit, []string{"cbor", "json"}, open)
}

// serveAs is serve for some subprotocols.
func (s *Server) serveAs(w http.ResponseWriter, r *http.Request, client string, limit int64, subprotocols []string,
	open func(*websocket.Conn, *pipe) *conn) {
	defer s.Release()
	hijack := &hijacker{ResponseWriter: w, timeout: s.limits.SendTimeout}
	// The caller has looked at the origin, for all requests alike.
	socket, err := websocket.Accept(hijack, r, &websocket.AcceptOptions{
		Subprotocols: subprotocols, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		s.log.Debug("websocket refused", "err", err)
		return
	}
	socket.SetReadLimit(-1) // readAll has it, with an answer that clients know
	c := open(socket, hijack.pipe)
	c.longest = limit
	c.client = client
	if !s.add(c) {
		_ = socket.Close(websocket.StatusGoingAway, goingAway)
		return
	}
	s.metrics.SocketOpened()
	c.run()
	s.remove(c)
	s.metrics.SocketClosed(c.tooSlow.Load())
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.conns[c] = struct{}{}
	s.open.Add(1)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.open.Add(-1)
	if s.draining && len(s.conns) == 0 {
		close(s.idle)
	}
}

const goingAway = "The server is gracefully shutting down"

// Drain refuses new connections and new requests on open ones; running requests go on. It may be called twice.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return
	}
	s.draining = true
	if len(s.conns) == 0 {
		close(s.idle)
	}
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Shutdown drains, waits until the running requests are answered or ctx ends, closes every connection with code
// 1001 and waits for all of them to be gone. It is called once.
func (s *Server) Shutdown(ctx context.Context) {
	s.Drain()
	s.stop()
	<-s.done
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range open {
		wg.Go(func() { c.leave(ctx) })
	}
	wg.Wait()
	<-s.idle
	s.workers.close()
}

// Queued is how many bytes wait to be sent on all connections together.
func (s *Server) Queued() (n int64) {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range open {
		n += c.out.waiting()
	}
	return n
}

// leastPatience is how long a ping may wait for its answer at least: the library closes a connection where the time of
// a ping ends while it is written.
const leastPatience = time.Second

// ping looks after silent connections until ctx ends.
func (s *Server) ping(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(s.limits.Ping)
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		turn := s.turn.Add(1)
		s.mu.Lock()
		open := slices.Collect(maps.Keys(s.conns))
		s.mu.Unlock()
		for _, c := range open {
			switch {
			case c.stalled(turn):
				c.cut()
			case c.silent():
				wg.Go(func() { c.probe(ctx, max(s.limits.Ping, leastPatience)) })
			}
		}
	}
}

// formatOf is the format that a subprotocol names; JSON where there is none.
func formatOf(subprotocol string) wire.Format {
	if subprotocol == "cbor" {
		return wire.CBOR
	}
	return wire.JSON
}
