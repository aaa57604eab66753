// Package grpc serves the database as a gRPC service (proto/protocol/rpc/v1) on the HTTP/2 connections of daemon/http.
//
// It frames messages and says what they mean for the method table of daemon/rpc; it decides about nothing. The
// framing is its own: the handler that grpc-go has for net/http reads a stream into memory without a bound, and knows
// nothing of the memory that a client may take. Here a stream is read as fast as its messages are used, every message
// is counted while it comes, and values are read under the same limits as those of other doors.
//
// A connection has a session of its own for each identity in its Authorization headers, and one without. Sessions
// that a client attaches outlive the connection. Each call runs in the goroutine of its HTTP/2 stream; what a live
// query has to tell waits in the bounded queue of each subscriber, so that a writer never waits.
package grpc

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
	"github.com/nacredb/nacre/internal/wire"
)

// Limits bounds what clients may take. Zero fields mean the defaults.
type Limits struct {
	Message       int           // bytes of one message, either way; 4 MiB
	Import        int64         // bytes of a text to import; 4 GiB
	Notifications int           // that wait for one subscriber; 1024
	Identities    int           // sessions of one connection by Authorization headers; 16
	SendTimeout   time.Duration // how long a client may take no bytes; 30 s
	BodyWindow    time.Duration // in which a message must bring BodyProgress bytes or end; 30 s
	BodyProgress  int64         // 30 KiB
	Depth         int           // nesting of values
}

func (l Limits) withDefaults() Limits {
	set(&l.Message, 4<<20)
	l.Message = max(l.Message, leastMessage)
	set(&l.Import, 4<<30)
	set(&l.Notifications, 1024)
	set(&l.Identities, 16)
	set(&l.SendTimeout, 30*time.Second)
	set(&l.BodyWindow, 30*time.Second)
	set(&l.BodyProgress, 30<<10)
	return l
}

// leastMessage is the smallest limit of a message: an error and a small chunk fit.
const leastMessage = 16 << 10

func set[T int | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Readiness says how far the daemon is.
type Readiness interface {
	// Started reports whether the startup work is done and no stop has begun.
	Started() bool
}

// Options holds the services and settings of a Server.
type Options struct {
	RPC       *rpc.Server
	Sessions  *rpc.Sessions // attached ones, of all clients
	Readiness Readiness
	Limits    Limits
	Log       *slog.Logger
}

// Server serves calls.
type Server struct {
	Options
	feeds  *feeds
	denied []string // methods, by their full names

	mu    sync.Mutex // guards peers; a leaf lock
	peers map[net.Conn]*Peer
}

// New makes a Server.
func New(opt Options) *Server {
	opt.Limits = opt.Limits.withDefaults()
	s := &Server{Options: opt, peers: map[net.Conn]*Peer{}}
	s.feeds = newFeeds(opt.Limits.Notifications, opt.RPC.Engine)
	s.denied = s.deniedMethods()
	return s
}

// The names that the service is registered by: the documented one, and that of the original interface.
var services = [...]string{"protocol.rpc.v1.Service", "surrealdb.protocol.rpc.v1.SurrealDBService"}

// Caller holds the transport's knowledge of the client behind a request.
type Caller struct {
	Peer   *Peer
	Client string          // address
	Mem    *engine.Account // of the request
	// Key tells the identities in the headers of one connection apart; "" where there is none.
	Key string
	// Enter gives a session the identity and the place that the headers name.
	Enter func(ctx context.Context, s *engine.Session) error
}

// Is reports whether r is a call.
func Is(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), "application/grpc")
	return ok && r.ProtoMajor == 2 && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Drain ends all subscriptions: they would hold up the end of the server. New calls are refused by Readiness.
func (s *Server) Drain() { s.feeds.drain() }

// Close ends the sessions of connections that are still there, and all that are attached.
func (s *Server) Close(ctx context.Context) error {
	s.Drain()
	s.mu.Lock()
	peers := s.peers
	s.peers = map[net.Conn]*Peer{}
	s.mu.Unlock()
	for _, p := range peers {
		p.close()
	}
	return s.Sessions.Close(ctx)
}

// Sweep ends the attached sessions that their clients left behind.
func (s *Server) Sweep(ctx context.Context, now time.Time) error { return s.Sessions.Sweep(ctx, now) }

// decoding is how values of a call by session are decoded.
func (s *Server) decoding(session *engine.Session) value.DecodeLimits {
	return rpc.DecodingOf(session, s.Limits.Depth)
}

// Serve answers one call, and gives the bytes that it sent.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, by *Caller) (sent int64) {
	c := &call{srv: s, by: by, ctx: r.Context()}
	c.out.init(w, r, s.Limits.SendTimeout)
	c.in.init(w, r, s, by.Mem)
	err := c.guarded(r)
	if c.entry != nil {
		c.by.Peer.leave(c.entry)
	}
	c.in.close()
	c.out.finish(c.status(err))
	s.RPC.Metrics.Network(int(c.in.came), int(c.out.sent))
	return c.out.sent
}

// What a transport refuses a call for.
var (
	Foreign = &failure{code: wire.GRPCPermissionDenied, err: errs.NotAllowed("The web page that this request comes from may not call this server")}
	Busy    = &failure{code: wire.GRPCResourceExhausted,
		err: errs.Internal("The server has too many requests now. Try again."), hint: &protobuf.Hint{}}
)

// Refuse answers a call without looking at it.
func Refuse(w http.ResponseWriter, why *failure) {
	out := &sender{}
	out.w = w
	w.Header()["Content-Type"] = contentType
	out.finish(why)
}
