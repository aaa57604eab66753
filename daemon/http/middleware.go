package http

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/nacredb/nacre/daemon/grpc"
	"github.com/nacredb/nacre/daemon/unpack"
	"github.com/nacredb/nacre/internal/span"
)

// ServeHTTP implements http.Handler: identification, CORS, the start gate, limits, then the route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	s.pulse.Begin()
	done := s.RPC.Metrics.HTTPStart()
	rec := &recorder{ResponseWriter: w, timeout: s.Limits.SendTimeout, mem: s.RPC.Engine.Account(true),
		cborCall: r.URL.Path == "/rpc" && mediaType(r.Header.Get("Content-Type")) == "application/cbor"}
	rc := chi.NewRouteContext()
	defer func() {
		rec.mem.Close()
		p := recover()
		if p == http.ErrAbortHandler {
			s.finished(r, rec, rc, start, done)
			panic(p) // the connection is to be cut
		}
		if p != nil {
			s.Log.Error("panic in a request", "path", pattern(rc), "panic", p, "stack", string(debug.Stack()))
			if rec.status == 0 {
				s.refuse(rec, http.StatusInternalServerError, "")
			}
		}
		s.finished(r, rec, rc, start, done)
	}()
	r = s.traced(rec, r)
	s.identify(rec, r)
	if s.GRPC != nil && grpc.Is(r) {
		rc.RoutePatterns = []string{"grpc"}
		s.grpc(rec, r)
		return
	}
	if !s.cors(rec, r) {
		return
	}
	if !s.Origins.admits(r) {
		s.RPC.Metrics.Limited("origins")
		s.fail(rec, r, foreign)
		return
	}
	if !s.gate(rec, r) {
		return
	}
	if s.active.Add(1) > int64(s.Limits.Requests) {
		s.active.Add(-1)
		s.RPC.Metrics.Limited("requests")
		s.fail(rec, r, unavailable(rec))
		return
	}
	defer s.active.Add(-1)
	if !unpack.Knows(r.Header.Get("Content-Encoding")) {
		s.refuse(rec, http.StatusUnsupportedMediaType, "")
		return
	}
	s.route(rec, r, rc)
}

// maxLoggedPath is how much of a path a log line shows, in bytes.
const maxLoggedPath = 256

// finished counts a request and logs it at debug level: never its parameters, headers or body.
func (s *Server) finished(r *http.Request, rec *recorder, rc *chi.Context, start time.Time,
	done func(string, int, time.Duration)) {
	spent := time.Since(start)
	done(pattern(rc), rec.code(), spent)
	s.told(r, rec, rc)
	if !s.Log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	path := r.URL.Path
	if len(path) > maxLoggedPath {
		path = path[:maxLoggedPath]
	}
	s.Log.LogAttrs(r.Context(), slog.LevelDebug, "request",
		slog.String("method", r.Method), slog.String("path", toText(path)), slog.Int("status", rec.code()),
		slog.Int64("bytes", rec.sent),
		slog.Duration("spent", spent), slog.String("client", s.client(r)),
		slog.String("request_id", rec.Header().Get("X-Request-Id")), slog.String("trace_id", rec.span.Trace()))
}

// traced begins the span of a request, below that of its client where it names one. A WebSocket has none: its calls
// have.
func (s *Server) traced(rec *recorder, r *http.Request) *http.Request {
	if s.Spans == nil || isUpgrade(r) {
		return r
	}
	ctx, sp := span.Continue(span.With(r.Context(), s.Spans), r.Header.Get("Traceparent"), r.Method, span.Server)
	rec.span = sp
	return r.WithContext(ctx)
}

// told ends the span of a request. Looks of monitors are left out.
func (s *Server) told(r *http.Request, rec *recorder, rc *chi.Context) {
	if rec.span == nil {
		return
	}
	route := pattern(rc)
	switch route {
	case "/health", "/ready", "/status", "/metrics":
		return
	}
	rec.span.Rename(r.Method + " " + route)
	rec.span.Set("http.request.method", r.Method)
	rec.span.Set("http.route", route)
	rec.span.Set("http.response.status_code", rec.code())
	if rec.code() >= http.StatusInternalServerError {
		rec.span.Fail()
	}
	rec.span.End(nil)
}

func (s *Server) route(rec *recorder, r *http.Request, rc *chi.Context) {
	ctx := withRoute(r.Context(), rc)
	if isUpgrade(r) {
		s.router.ServeHTTP(rec, r.WithContext(ctx))
		return
	}
	c := newCompressor(rec, r)
	defer c.close()
	s.router.ServeHTTP(c, r.WithContext(ctx))
}

func isUpgrade(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// pattern is the pattern that matched: a closed set of names.
func pattern(rc *chi.Context) string {
	if p := rc.RoutePattern(); p != "" {
		return p
	}
	return "none"
}

// identify sets the headers that every answer has.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	id := r.Header.Get("X-Request-Id")
	if !plainHeader(id) {
		id = uuid.NewString()
	}
	h.Set("X-Request-Id", id)
	if !s.HideServer {
		server := Product
		if s.Release != "" {
			server += "/" + s.Release
		}
		h.Set("Server", server)
		h.Set("Service-Version", Product+"/"+s.version)
		h.Set("Surreal-Version", Product+"-"+s.version)
	}
}

// plainHeader reports whether a client's request id may be echoed and logged.
func plainHeader(v string) bool {
	for _, c := range []byte(v) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return v != "" && len(v) <= 128
}

const (
	corsMethods = "GET,PUT,POST,PATCH,DELETE,OPTIONS"
	corsHeaders = "accept,accept-encoding,authorization,content-type,origin,x-request-id," +
		"service-ns,service-db,service-auth-ns,service-auth-db,service-id,surreal-ns,surreal-db,surreal-auth-ns,surreal-auth-db,surreal-id," +
		"mcp-session-id,mcp-protocol-version,mcp-method,mcp-name,last-event-id"
)

// cors sets the headers for browsers, and answers preflights (then it reports false).
func (s *Server) cors(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Add("Vary", "origin, access-control-request-method, access-control-request-headers")
	if origin := s.allowedOrigin(r.Header.Get("Origin")); origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "x-request-id,service-version,surreal-version,mcp-session-id")
	}
	if r.Method != http.MethodOptions {
		return true
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusOK)
	return false
}

// allowedOrigin returns the header value for a page of origin; "" where it may not read the answer.
func (s *Server) allowedOrigin(origin string) string {
	switch {
	case s.Origins.any():
		return "*"
	case s.Origins.allows(origin):
		return origin
	}
	return ""
}

// gate answers 503 while the daemon starts or stops, except on the paths that tell about it.
func (s *Server) gate(w http.ResponseWriter, r *http.Request) bool {
	if s.Readiness.Started() {
		return true
	}
	switch r.URL.Path {
	case "/", "/status", "/health", "/version", "/metrics", "/ready":
		return true
	}
	s.fail(w, r, unavailable(w))
	return false
}

// client is the peer's address for the limiter and the log.
func (s *Server) client(r *http.Request) string {
	switch s.ClientIP {
	case "none":
		return ""
	case "", "socket":
	default:
		if ip := forwarded(r.Header.Values(s.ClientIP), s.Proxies); ip != "" {
			return ip
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// forwarded is the address that the first of some proxies saw: each appends its peer to the header, so it is so many
// entries from the right. What is left of it a client may have written itself. "" where that is no address.
func forwarded(lines []string, proxies int) string {
	entries := strings.Split(strings.Join(lines, ","), ",")
	entry := strings.TrimSpace(entries[max(0, len(entries)-max(1, proxies))])
	if ap, err := netip.ParseAddrPort(entry); err == nil {
		return ap.Addr().Unmap().String()
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return a.Unmap().String()
	}
	return ""
}
