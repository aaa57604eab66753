// Package daemon is the life of a server: open the store, let requests in when the start is done,
// drain, close.
//
//	open store → bind → startup (root user, import, heartbeat) → ready ─ stop signal → drain → close
//
// Run returns when the daemon has stopped; nothing that it started is left then. Startup errors are
// *StartError with a kind that a command line can map to an exit code. The doors (http, ws, rpc) have
// packages of their own.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/grpc"
	"github.com/nacredb/nacre/daemon/http"
	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/pgwire"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/daemon/ws"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/socket"
	"github.com/nacredb/nacre/internal/span"
)

// Daemon is a running server.
type Daemon struct {
	cfg         *config.Config
	log         *slog.Logger
	spans       *span.Exporter // nil: none are sent
	engine      *engine.Engine
	listener    net.Listener
	certificate *certificate // nil without TLS
	rpc         *rpc.Server
	sockets     *ws.Server
	grpc        *grpc.Server
	http        *http.Server
	postgres    *pgwire.Server // nil: not asked for
	wire        net.Listener   // of postgres
	sessions    *rpc.Sessions
	metrics     *telemetry.Metrics
	supervisor  *supervisor // nil: no notifications
	state       state
	stop        context.CancelFunc // of the background work
	work        sync.WaitGroup     // background work
	served      chan error         // why it ends: what Serve said, and a failed startup
	closing     sync.Once
	closed      error // what closing found
}

// Run starts a server and serves until ctx ends; then it drains for at most cfg.ShutdownTimeout and closes the store.
// Each receive from reload (may be nil) makes it read its certificate again.
func Run(ctx context.Context, cfg *config.Config, log *slog.Logger, reload <-chan os.Signal) error {
	d, err := Start(ctx, cfg, log)
	if err != nil {
		return err
	}
	failed := d.wait(ctx, reload)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx),
		max(cfg.DrainDelay+cfg.ShutdownTimeout, time.Millisecond))
	defer cancel()
	return errors.Join(failed, d.Close(grace))
}

// wait is the life of a server that runs.
func (d *Daemon) wait(ctx context.Context, reload <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-reload:
			if err := d.Reload(); err != nil {
				d.log.Error("the old certificate stays", "component", "server", "err", err)
			}
		case err := <-d.served:
			return err
		}
	}
}

// Start opens the store, binds and begins to serve. Spans go to the exporter of ctx. It returns when the server accepts
// connections; with an import file, or a startup of more than five seconds, that is before it is ready. The caller
// calls Close.
func Start(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Daemon, error) {
	if err := checkNames(cfg); err != nil {
		return nil, err
	}
	if err := checkBind("bind", cfg.Bind); err != nil {
		return nil, err
	}
	if cfg.PostgresBind != "" {
		if err := checkBind("postgres-bind", cfg.PostgresBind); err != nil {
			return nil, err
		}
	}
	if err := engine.CheckPath(cfg.Path); err != nil {
		return nil, &StartError{Reason: BadSetting, Text: err.Error(), Err: err}
	}
	prepared := prepareRoot(cfg)
	pair, err := loadTLS(cfg)
	if err != nil {
		return nil, err
	}
	caps := capabilities(cfg)
	metrics := telemetry.NewMetrics(rpc.Version)
	metrics.Release = cfg.Release
	opt := engineOptions(cfg, caps, log)
	opt.Meter, opt.Prepared = metrics, prepared
	eng, err := engine.Open(ctx, cfg.Path, opt)
	if err != nil {
		return nil, openError(cfg.Path, err)
	}
	listener, err := listen(ctx, cfg.Bind, max(deadAfter*cfg.Limits.WebSocketPing, leastDead))
	if err != nil {
		return nil, errors.Join(bindError("bind", cfg.Bind, err), closeQuietly(ctx, eng))
	}
	var wire net.Listener
	if cfg.PostgresBind != "" {
		if wire, err = listen(ctx, cfg.PostgresBind, max(deadAfter*cfg.Limits.WebSocketPing, leastDead)); err != nil {
			return nil, errors.Join(bindError("postgres-bind", cfg.PostgresBind, err), listener.Close(),
				closeQuietly(ctx, eng))
		}
	}
	d := &Daemon{cfg: cfg, log: log, spans: span.From(ctx), engine: eng, listener: listener, wire: wire,
		certificate: pair, metrics: metrics, served: make(chan error, 3)}
	d.build(caps)
	d.state.staleAfter, d.state.engine = cfg.Heartbeat(), eng
	if d.supervisor, err = newSupervisor(cfg.Supervisor.Socket); err != nil {
		log.Warn("the supervisor cannot be told", "component", "server", "err", err)
	}

	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	started := make(chan struct{})
	d.work.Go(func() { d.startup(background, started) })
	d.work.Go(func() { d.sweep(background) })
	if cfg.ImportFile == "" {
		wait(ctx, started, startupPatience)
	}
	d.work.Go(func() {
		in := crowded(socket.Listener(listener), cfg.ConnectionsPerAddress, pair == nil, metrics)
		err := d.http.Serve(in, pair.config())
		if err != nil {
			err = fmt.Errorf("serve: %w", err)
		}
		d.served <- err
	})
	if d.postgres != nil {
		d.work.Go(func() {
			wire := crowded(socket.Listener(wire), cfg.ConnectionsPerAddress, false, metrics)
			if err := d.postgres.Serve(wire); err != nil {
				d.served <- fmt.Errorf("serve the PostgreSQL wire: %w", err)
			}
		})
		log.Info("listening", "component", "pgwire", "address", wire.Addr().String(), "tls", pair != nil)
	}
	d.supervisor.tell("READY=1")
	if patience := cfg.Supervisor.Watchdog; patience > 0 {
		d.work.Go(func() { d.watchdog(background, patience) })
	}
	log.Info("listening", "component", "server", "address", listener.Addr().String(), "tls", pair != nil)
	return d, nil
}

func wait(ctx context.Context, done <-chan struct{}, patience time.Duration) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	}
}

func closeQuietly(ctx context.Context, eng *engine.Engine) error {
	if err := eng.Close(ctx); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// Addr is where the server listens.
func (d *Daemon) Addr() net.Addr { return d.listener.Addr() }

// PostgresAddr is where the server listens for the PostgreSQL wire; nil where it does not.
func (d *Daemon) PostgresAddr() net.Addr {
	if d.wire == nil {
		return nil
	}
	return d.wire.Addr()
}

// Engine is the open store, for a caller that shares the process.
func (d *Daemon) Engine() *engine.Engine { return d.engine }

// Close stops the server: /ready says no, nothing new is let in but told so for the drain delay of the configuration,
// running requests go on until ctx ends, WebSockets are closed with code 1001, the store is closed. Later calls
// answer what the first did.
func (d *Daemon) Close(ctx context.Context) error {
	d.closing.Do(func() { d.closed = d.close(ctx) })
	return d.closed
}

func (d *Daemon) close(ctx context.Context) error {
	d.state.stopping.Store(true)
	d.sockets.Drain()
	d.grpc.Drain()
	d.supervisor.tell("STOPPING=1", "STATUS=stopping")
	d.log.Info("stopping", "component", "server")
	d.drain(ctx)
	var doors sync.WaitGroup
	var httpErr error
	doors.Go(func() { httpErr = d.http.Shutdown(ctx) })
	doors.Go(func() { d.sockets.Shutdown(ctx) })
	if d.postgres != nil {
		doors.Go(func() { d.postgres.Shutdown(ctx) })
	}
	doors.Wait()
	if errors.Is(httpErr, context.DeadlineExceeded) || errors.Is(httpErr, context.Canceled) {
		d.log.Warn("requests cut off at the end of the shutdown timeout", "component", "server")
		httpErr = nil
	}
	d.stop()
	d.work.Wait()
	d.supervisor.close()
	// The store must be closed in any case: its own work is short.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	sessionErr := errors.Join(d.sessions.Close(last), d.grpc.Close(last))
	d.leave(last)
	closeErr := d.engine.Close(last)
	d.log.Info("stopped", "component", "server")
	return errors.Join(httpErr, sessionErr, closeErr)
}

// drain keeps the listener open for some time, in which load balancers see that /ready says no.
func (d *Daemon) drain(ctx context.Context) {
	if d.cfg.DrainDelay <= 0 {
		return
	}
	t := time.NewTimer(d.cfg.DrainDelay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// sweepEach is the interval of looks for sessions that their clients left behind.
const sweepEach = 10 * time.Second

// sweep ends sessions that their clients left behind.
func (d *Daemon) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEach)
	defer tick.Stop()
	var forget <-chan time.Time
	if d.cfg.DurableSessions {
		gc := time.NewTicker(max(d.cfg.DurableSessionGC, time.Second))
		defer gc.Stop()
		forget = gc.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			err = errors.Join(d.sessions.Sweep(ctx, now), d.grpc.Sweep(ctx, now))
		case <-forget:
			err = d.engine.ForgetSessions(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.log.Warn("end of idle sessions", "component", "server", "err", err)
		}
	}
}

// build puts the doors together.
func (d *Daemon) build(caps *engine.Capabilities) {
	cfg, l := d.cfg, d.cfg.Limits
	d.rpc = &rpc.Server{
		Engine: d.engine, Log: d.log.With("component", "rpc"), Metrics: d.metrics,
		SlowLog: &telemetry.SlowLog{Log: d.log, Threshold: cfg.SlowThreshold, Shows: func(p string) bool {
			return config.Allowed(cfg.SlowAllow, cfg.SlowDeny, p)
		}},
		Limits: rpc.Limits{Transactions: l.Transactions, SessionTransactions: l.SessionTransactions,
			AttachedSessions: l.AttachedSessions, Streams: l.Streams, QueryTimeout: cfg.QueryTimeout},
		Caps: caps, Spans: d.spans,
	}
	if !cfg.NoDefaults {
		d.rpc.DefaultNamespace, d.rpc.DefaultDatabase = cfg.DefaultNamespace, cfg.DefaultDatabase
	}
	if cfg.AuthRate > 0 {
		d.rpc.Auth = newLimiter(cfg.AuthRate, cfg.AuthBurst)
	}
	d.sockets = ws.NewServer(d.rpc, ws.Limits{
		Message: l.WebSocketMessage, Requests: l.WebSocketRequests, Queue: l.WebSocketQueue, Connections: l.WebSockets,
		Ping: l.WebSocketPing, SendTimeout: l.SendTimeout, Depth: l.Depth,
	}, d.log.With("component", "ws"))
	if d.wire != nil {
		d.postgres = pgwire.New(pgwire.Options{
			RPC: d.rpc, Readiness: &d.state, TLS: d.certificate.config(), Open: cfg.Unauthenticated,
			Version: rpc.Version,
			Limits: pgwire.Limits{Connections: l.PostgresConnections, Startup: l.PostgresStartup,
				Message:    l.PostgresMessage,
				Statements: l.PostgresStatements, Portals: l.PostgresPortals, SendTimeout: l.SendTimeout,
				Queue: l.WebSocketQueue},
			Log: d.log.With("component", "pgwire"),
		})
	}
	lent := rpc.Limits{SessionTransactions: l.SessionTransactions, AttachedSessions: httpSessions}
	d.sessions = rpc.NewSharedSessions(lent)
	if cfg.DurableSessions {
		d.sessions = rpc.NewDurableSessions(lent, cfg.DurableSessionTTL)
	}
	message := l.GRPCMessage
	if message <= 0 {
		message = l.RPCBody
	}
	d.grpc = grpc.New(grpc.Options{
		RPC: d.rpc, Readiness: &d.state, Log: d.log.With("component", "grpc"),
		Sessions: rpc.NewLastingSessions(rpc.Limits{SessionTransactions: l.SessionTransactions,
			AttachedSessions: l.GRPCSessions}, grpcIdle),
		Limits: grpc.Limits{Message: int(min(message, math.MaxInt32)), Import: l.ImportBody,
			Notifications: l.GRPCNotifications, SendTimeout: l.SendTimeout, BodyWindow: l.BodyWindow,
			BodyProgress: l.BodyRate, Depth: l.Depth},
	})
	d.http = http.New(http.Options{
		MCP: mcp.New(mcp.Options{RPC: d.rpc, ReadOnly: cfg.MCPReadOnly, Transport: "http",
			Log: d.log.With("component", "mcp"), Limits: mcpLimits(cfg)}),
		MCPHosts: http.MCPHosts{Allow: cfg.MCPHosts, All: cfg.MCPAllHosts},
		RPC:      d.rpc, Sockets: d.sockets, GRPC: d.grpc, Readiness: &d.state, Sessions: d.sessions,
		Limits: http.Limits{SQL: l.SQLBody, GQL: l.GQLBody, GraphQL: l.GraphQLBody, GraphQLBatch: l.GraphQLBatch,
			GraphQLEvents: l.GraphQLEvents,
			RPC:           l.RPCBody, API: l.APIBody, Key: l.KeyBody, Signin: l.SigninBody, Signup: l.SignupBody,
			Import: l.ImportBody, Model: l.MLBody, Export: l.ExportReq, MCP: l.MCPBody, Requests: l.Requests,
			Streams:       l.HTTP2Streams,
			HeaderTimeout: l.HeaderTimeout,
			SendTimeout:   l.SendTimeout, BodyWindow: l.BodyWindow, BodyProgress: l.BodyRate, Depth: l.Depth},
		Origins: origins(cfg), ClientIP: cfg.ClientIP, Proxies: cfg.TrustedProxies, UIAddress: cfg.UIAddress,
		HideServer: cfg.NoIdentificationHeaders, Release: cfg.Release, Spans: d.spans,
		Log: d.log.With("component", "http"),
	})
	d.rpc.Gauges = d.http.Gauges
}

// grpcIdle is how long an attached session of a gRPC client lives without a call.
const grpcIdle = time.Hour

// httpSessions is how many sessions the clients of RPC over HTTP may attach together.
const httpSessions = 10_000
