// Package http serves the daemon's HTTP interface: probes, statements, records by key, import and
// export, sign-in, metrics, and the RPC protocol as single requests and as WebSockets.
//
// Every request gets a session of its own from its headers; nothing of it is left for the next one
// (but for sessions a client attached by RPC). What comes in is bounded: headers in time, bodies in
// size and in progress, requests in number. What fails as a whole is answered with one form of error
// body and the status of the table in internal/wire.
package http

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/nacredb/nacre/daemon/grpc"
	"github.com/nacredb/nacre/daemon/h2"
	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/ws"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/socket"
	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/internal/wire"
)

// Product is the name of the server in headers and in /version.
const Product = "nacre"

// Limits bounds what comes from outside. Zero fields mean the defaults.
type Limits struct {
	SQL, GQL, GraphQL, RPC, API, Key, Signin, Signup, Import, Export, Model, MCP int64 // bytes of a body

	GraphQLBatch  int // requests of one batch
	GraphQLEvents int // that may wait for one subscription
	Requests      int // at once
	Streams       int // at once on one HTTP/2 connection
	HeaderTimeout time.Duration
	SendTimeout   time.Duration // how long a write may stand still
	BodyWindow    time.Duration // in which a body must bring BodyProgress bytes or end
	BodyProgress  int64
	Depth         int // nesting of values in bodies
}

func (l Limits) withDefaults() Limits {
	set(&l.SQL, 1<<20)
	set(&l.GQL, 1<<20)
	set(&l.GraphQL, 1<<20)
	set(&l.GraphQLBatch, 32)
	set(&l.GraphQLEvents, 1024)
	set(&l.RPC, 4<<20)
	set(&l.API, 4<<20)
	set(&l.Key, 16<<10)
	set(&l.Signin, 1<<10)
	set(&l.Signup, 1<<10)
	set(&l.Import, 4<<30)
	set(&l.Export, 64<<10)
	set(&l.Model, 4<<30)
	set(&l.MCP, 4<<20)
	set(&l.Requests, 1<<20)
	set(&l.Streams, 256)
	set(&l.HeaderTimeout, 10*time.Second)
	set(&l.SendTimeout, 30*time.Second)
	set(&l.BodyWindow, 30*time.Second)
	set(&l.BodyProgress, 30<<10)
	return l
}

func set[T int | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Readiness says how far the daemon is.
type Readiness interface {
	// Started reports whether the startup work is done and no stop has begun: gated paths are open.
	Started() bool
	// Ready is nil where /ready answers 200, ErrNotReady where it answers 503, else the reason for a 500.
	Ready(ctx context.Context) error
}

// Options holds the services and settings of a Server.
type Options struct {
	RPC       *rpc.Server
	MCP       *mcp.Server
	MCPHosts  MCPHosts
	Sockets   *ws.Server
	GRPC      *grpc.Server // nil: no calls are taken
	Readiness Readiness
	// Sessions are the attached sessions of clients that use RPC over HTTP.
	Sessions *rpc.Sessions
	Limits   Limits
	Origins  Origins
	// ClientIP is where a client's address comes from: "none", "socket" or the name of a header.
	ClientIP   string
	Proxies    int            // that append to that header; at least 1
	UIAddress  string         // where / leads; "": nowhere
	HideServer bool           // no identification headers
	Release    string         // version of the program, for the header Server; "" leaves it out
	Spans      *span.Exporter // of requests; nil: none
	Log        *slog.Logger
}

// Server is the handler of every request.
type Server struct {
	Options
	router  chi.Router
	decode  value.DecodeLimits
	active  atomic.Int64
	pulse   socket.Pulse
	done    context.CancelFunc // ends pulse
	http    *http.Server
	http2   *h2.Server
	version string
}

const (
	maxHead     = 64 << 10 // bytes of the head of a request
	idleTimeout = 2 * time.Minute

	// The pulse of requests keeps the monitor of the runtime awake, no more: net/http hears of clients that go.
	pulseEvery = 50 * time.Millisecond
	pulseStill = 20
	pulseAfter = 16
)

// New makes a Server. Serve runs it.
func New(opt Options) *Server {
	opt.Limits = opt.Limits.withDefaults()
	s := &Server{Options: opt, decode: rpc.Decoding(opt.Limits.Depth), version: rpc.Version}
	s.router = s.routes()
	ctx, done := context.WithCancel(context.Background())
	s.pulse, s.done = socket.Pulse{Every: pulseEvery, Still: pulseStill, After: pulseAfter, Done: ctx.Done()}, done
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: opt.Limits.HeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead,
		Protocols: protocols, ErrorLog: slog.NewLogLogger(opt.Log.Handler(), slog.LevelDebug),
	}
	s.http2 = h2.New(h2.Limits{Streams: opt.Limits.Streams, Head: maxHead, SendTimeout: opt.Limits.SendTimeout,
		Idle: idleTimeout, Greeting: opt.Limits.HeaderTimeout}, opt.Log)
	s.http2.Install(s.http)
	if opt.GRPC != nil {
		s.http.ConnContext, s.http.ConnState = opt.GRPC.ConnContext, opt.GRPC.ConnState
	}
	return s
}

// Serve answers requests on l until Shutdown. With tlsConfig it speaks TLS. The error is never http.ErrServerClosed.
func (s *Server) Serve(l net.Listener, tlsConfig *tls.Config) error {
	var err error
	if tlsConfig != nil {
		s.http.TLSConfig = tlsConfig
		err = s.http.ServeTLS(l, "", "")
	} else {
		err = s.http.Serve(l)
	}
	if err == http.ErrServerClosed {
		return nil
	}
	return err
}

// Shutdown stops accepting and waits for the running requests; at the end of ctx it cuts them off. WebSockets are
// not its business.
func (s *Server) Shutdown(ctx context.Context) error {
	s.MCP.Sessions.Shut() // their streams end
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close()
	}
	s.http2.Close()
	s.done()
	return err
}

// formatOf is the format named by a media type.
func formatOf(media string) (wire.Format, bool) {
	switch media {
	case "application/json":
		return wire.JSON, true
	case "application/cbor":
		return wire.CBOR, true
	}
	return wire.JSON, false
}
