// Package api is the HTTP door of the memory service: the user API, the management API and the probes. It
// authenticates, checks requests against limits, asks grant whether they may be, and answers problems as
// application/problem+json.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/memsvc/blob"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/gateway"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/ingest"
	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/retrieve"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

// Options holds the services and settings of a Server.
type Options struct {
	Config  *config.Config
	Store   *store.Store
	Blob    blob.Store
	Log     *slog.Logger
	Version string
}

// Server answers requests. Start it with New, stop its recorder with Close.
type Server struct {
	cfg     *config.Config
	store   *store.Store
	schema  *settings.Schema
	log     *slog.Logger
	metrics *Metrics
	ring    *keyring
	version string
	router  http.Handler
	routes  []route
	notes   *recorder

	features *features

	blob     blob.Store
	models   *gateway.Gateway
	ingest   *ingest.Service
	retrieve *retrieve.Service
	mcp      http.Handler
}

// New makes a server and starts its recorder.
func New(opt Options) *Server {
	s := &Server{cfg: opt.Config, store: opt.Store, schema: &settings.Schema{Server: opt.Config}, log: opt.Log,
		metrics: NewMetrics(), ring: newKeyring(), version: opt.Version}
	s.notes, s.features = newRecorder(s.log), newFeatures(s.cfg.TraceFeatureTTL)
	s.blob, s.retrieve = opt.Blob, retrieve.New(s.log, s.cfg.IndexBytes)
	s.models = gateway.New(s.schema, s.log, s.metrics.Add)
	if s.models.Embeds() {
		s.retrieve.Embedder = &retrieve.Embedder{Model: s.cfg.Embedding, Embed: s.embedQuestion}
	}
	if clip := s.cfg.CLIP; clip.URL != "" {
		s.retrieve.Visual = &retrieve.Visual{Model: clip.Model, Embed: s.embedForImages}
	}
	s.ingest = ingest.New(s.store, s.models, opt.Blob, s.log)
	s.mcp = newMCP(slog.New(slog.DiscardHandler))
	s.routes = s.table()
	s.router = s.mount()
	return s
}

// questionTimeout bounds how long a search waits for the embedding of its question; then it goes on without.
const questionTimeout = 5 * time.Second

func (s *Server) embedQuestion(ctx context.Context, t *settings.Tenant, question string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	v, err := s.models.Embed(ctx, t, []string{question}, true)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// visualTimeout bounds how long a search waits for the embedding of its question among images.
const visualTimeout = 2 * time.Second

func (s *Server) embedForImages(ctx context.Context, question string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, visualTimeout)
	defer cancel()
	v, err := s.models.Client.EmbedVisual(ctx, model.Endpoint(s.cfg.CLIP), model.Visual{Text: question})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// Ingest is the service that the worker does jobs for.
func (s *Server) Ingest() *ingest.Service { return s.ingest }

// Close ends the work behind requests and writes what the recorder still holds.
func (s *Server) Close() {
	s.retrieve.Close()
	s.notes.close()
}

// plane says who a route is for.
type plane int

const (
	open       plane = iota // anybody
	management              // a management key
	data                    // a key of the Context
)

// route is one line of the API: what the router and the OpenAPI document are made from.
type route struct {
	method, path string
	plane        plane
	verb         grant.Verb // that the caller needs somewhere; "" for none
	summary      string
	handle       func(*call) (any, error)
	in, out      any // samples of the body; nil for none
	status       int // of success; 0 is 200
}

// call is one request on its way.
type call struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	id     string
	who    *grant.Caller
	tenant *settings.Tenant
	status int
	done   bool // the handler has answered
	failed bool // after the answer had begun
	bytes  []byte
	read   bool
}

func (c *call) ctx() context.Context { return c.r.Context() }

func (c *call) param(name string) string { return chi.URLParam(c.r, name) }

// versionPrefix begins the addresses of both APIs.
const versionPrefix = "/api/v1"

func (s *Server) mount() http.Handler {
	r := chi.NewRouter()
	for _, rt := range s.routes {
		if rt.plane == management && !s.cfg.Has(config.RoleManagement) || rt.plane == data &&
			!s.cfg.Has(config.RoleAPI) {
			continue
		}
		r.Method(rt.method, rt.path, s.serve(rt))
		if rt.plane == data { // the user API is also there without the prefix of the version
			r.Method(rt.method, strings.TrimPrefix(rt.path, versionPrefix), s.serve(rt))
		}
	}
	known := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, problem.NotFound("There is nothing at this address"))
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		for _, m := range known {
			if r.Match(chi.NewRouteContext(), m, req.URL.Path) {
				w.Header().Add("Allow", m)
			}
		}
		s.problem(w, req, problem.Of(http.StatusMethodNotAllowed, "method-not-allowed",
			"This address does not take %s", req.Method))
	})
	return r
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := store.NewID()
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if s.cors(w, r) {
		return
	}
	rec := &statusWriter{ResponseWriter: w}
	rc := chi.NewRouteContext()
	ctx := context.WithValue(context.WithValue(r.Context(), requestID{}, id), chi.RouteCtxKey, rc)
	start := time.Now()
	ctx, sp := span.Continue(ctx, r.Header.Get("traceparent"), r.Method, span.Server)
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			s.log.Error("panic", "request", id, "panic", p, "stack", string(debug.Stack()))
			s.problem(rec, r.WithContext(ctx), errors.New("panic"))
		}
		s.finished(rec, r, rc, id, time.Since(start))
		describe(sp, rec, rc, methodLabel(r.Method), id)
	}()
	s.router.ServeHTTP(rec, r.WithContext(ctx))
}

// describe ends the span of a request.
func describe(sp *span.Span, rec *statusWriter, rc *chi.Context, method, id string) {
	sp.Rename(method + " " + rc.RoutePattern())
	sp.Set("http.request.method", method)
	sp.Set("http.route", rc.RoutePattern())
	sp.Set("http.response.status_code", rec.code())
	sp.Set("memsvc.request", id)
	if rec.context != "" {
		sp.Set("memsvc.context", rec.context)
		sp.Set("memsvc.principal", rec.principal)
	}
	if rec.code() >= http.StatusInternalServerError {
		sp.Fail()
	}
	sp.End(nil)
}

// finished logs and counts a request. Neither holds anything of its content.
func (s *Server) finished(rec *statusWriter, r *http.Request, rc *chi.Context, id string, took time.Duration) {
	pattern := rc.RoutePattern()
	if pattern == "" {
		pattern = "none"
	}
	labels := []string{"route", pattern, "method", methodLabel(r.Method)}
	s.metrics.Observe("memsvc_http_duration_seconds", took.Seconds(), labels...)
	s.metrics.Add("memsvc_http_requests_total", 1, append(labels, "status", strconv.Itoa(rec.code()))...)
	level := slog.LevelInfo
	if strings.HasSuffix(pattern, "/health") || pattern == "/metrics" || pattern == "/ready" || pattern == "/status" {
		level = slog.LevelDebug
	}
	s.log.Log(r.Context(), level, "request", "request", id, "method", methodLabel(r.Method), "route", pattern,
		"status", rec.code(),
		"ms", float64(took.Microseconds())/1000, "context", rec.context, "principal", rec.principal)
}

func methodLabel(m string) string {
	switch m {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
		http.MethodHead:
		return m
	}
	return "other"
}

type requestID struct{}

type statusWriter struct {
	http.ResponseWriter
	status             int
	context, principal string
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// serve runs a route: authority, replay of a repeated write, the handler, the answer.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := r.Context().Value(requestID{}).(string)
		c := &call{s: s, w: w, r: r, id: id, status: rt.status}
		if err := s.admit(c, rt); err != nil {
			s.problem(w, r, err)
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if rt.plane == data && key != "" && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
			s.once(c, rt, key)
			return
		}
		out, err := rt.handle(c)
		s.answer(c, out, err)
	})
}

func (s *Server) answer(c *call, out any, err error) {
	switch {
	case c.done:
	case err != nil:
		s.problem(c.w, c.r, err)
	case out == nil && (c.status == 0 || c.status == http.StatusNoContent):
		c.w.WriteHeader(http.StatusNoContent)
	default:
		s.json(c.w, max(c.status, http.StatusOK), out)
	}
}

func (s *Server) json(w http.ResponseWriter, status int, out any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		s.log.Error("encode an answer", "error", err)
		status, b = http.StatusInternalServerError, bytes.Buffer{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

// admit authenticates a call and checks its verb.
func (s *Server) admit(c *call, rt route) error {
	if err := version(c.r); err != nil {
		return err
	}
	switch rt.plane {
	case management:
		return s.manager(c.ctx(), c.r)
	case data:
		tenant, who, err := s.enter(c.ctx(), c.r, c.param("ctx"))
		if err != nil {
			return err
		}
		c.tenant, c.who = tenant, who
		if rec, ok := c.w.(*statusWriter); ok {
			rec.context, rec.principal = who.Context, who.Principal
		}
		if rt.verb != "" && !who.Region.Any(rt.verb) {
			return s.denied(c, rt.verb, rt.path)
		}
	}
	return nil
}

// denied refuses a call that the grants do not cover, and writes that down.
func (s *Server) denied(c *call, verb grant.Verb, target string) error {
	s.metrics.Add("memsvc_authz_denied_total", 1, "verb", string(verb))
	c.audit("authz.denied", verb, target, "denied", 0)
	return problem.Forbidden("The grants of this key do not cover %s here", verb)
}

// audit notes an event of this call.
func (c *call) audit(kind string, verb grant.Verb, target, outcome string, rows int) {
	e := store.Audit{ID: store.NewID(), TS: time.Now().UTC(), Kind: kind, Verb: string(verb), Target: target,
		Outcome: outcome, Rows: rows}
	if c.who != nil {
		e.Principal, e.Key, e.OnBehalfOf = c.who.Principal, c.who.Key, c.who.OnBehalfOf
	} else {
		e.Principal = "management"
	}
	if c.tenant != nil {
		c.s.notes.add(c.tenant.DB, "audit", e)
	}
}

// Problem is the body of an error.
type Problem struct {
	Type       string   `json:"type"`
	Title      string   `json:"title"`
	Status     int      `json:"status"`
	Detail     string   `json:"detail"`
	Instance   string   `json:"instance"`
	Message    string   `json:"message"`
	Field      string   `json:"field,omitempty"`
	TraceID    string   `json:"traceId"`
	RetryAfter *Seconds `json:"retry_after,omitempty"` // with status 429 alone
}

// Seconds is a time to wait, in JSON null where no time helps.
type Seconds int

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if s == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

func (s *Server) problemOf(ctx context.Context, err error) (*problem.Error, Problem) {
	id, _ := ctx.Value(requestID{}).(string)
	p := problem.As(err)
	if p == nil {
		p = &problem.Error{Status: http.StatusInternalServerError, Slug: "internal",
			Detail: "Something went wrong; the log tells more under request " + id, Err: err}
	}
	if p.Status >= 500 {
		s.log.Error("request failed", "request", id, "error", err)
	}
	return p, Problem{Type: "urn:memsvc:error:" + p.Slug, Title: http.StatusText(p.Status), Status: p.Status,
		Detail:   p.Detail,
		Instance: "urn:memsvc:request:" + id, Message: p.Detail, Field: p.Field, TraceID: id}
}

// problem answers an error.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && problem.As(err) == nil {
		return // the client is gone
	}
	p, body := s.problemOf(r.Context(), err)
	w.Header().Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		wait := Seconds(p.RetryAfter)
		if body.RetryAfter = &wait; wait > 0 {
			w.Header().Set("Retry-After", retryAfter(p.RetryAfter))
		}
		if p.Slug == "enforcement-blocked" {
			s.metrics.Add("memsvc_enforcement_blocked_total", 1)
		}
	}
	b, err := json.Marshal(body)
	if err != nil {
		s.log.Error("encode a problem", "error", err)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(b) // the client may be gone
}

// cors answers preflights and marks answers to allowed origins. It reports whether the request is answered.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) bool {
	allowed := s.cfg.CORS
	if isManagement(r.URL.Path) {
		allowed = s.cfg.ManagementCORS
	}
	origin := r.Header.Get("Origin")
	if len(allowed) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	ok := origin != "" && config.OriginAllowed(allowed, origin)
	if ok {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "X-Request-Id, Idempotent-Replayed, Retry-After, X-Memsvc-Token-Usage")
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if ok {
		if h := r.Header.Get("Access-Control-Request-Headers"); h != "" && len(h) < 1024 &&
			!strings.ContainsAny(h, "\r\n") {
			w.Header().Set("Access-Control-Allow-Headers", h)
		}
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		w.Header().Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// managementPaths are the first words of the paths of the management API.
func isManagement(path string) bool {
	for _, p := range []string{"/api/v1/contexts", "/api/v1/verbs", "/api/v1/migrations", "/api/v1/jobs"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// recorder writes audit events and traces behind the requests that made them. When it cannot follow it drops the newest
// and says so; no request waits for it.
type recorder struct {
	log  *slog.Logger
	in   chan note
	wg   sync.WaitGroup
	mu   sync.Mutex // guards shut; never held across a send that may wait
	shut bool
}

type note struct {
	db    *store.DB
	table string
	row   any
	flush chan struct{}
}

func newRecorder(log *slog.Logger) *recorder {
	r := &recorder{log: log, in: make(chan note, 4096)}
	r.wg.Add(1)
	go r.run()
	return r
}

func (r *recorder) add(db *store.DB, table string, row any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return
	}
	select {
	case r.in <- note{db: db, table: table, row: row}:
	default:
		r.log.Warn("the recorder is behind: an event is lost", "table", table)
	}
}

// run writes what waits, by Context and table together.
func (r *recorder) run() {
	defer r.wg.Done()
	for n := range r.in {
		batch := []note{n}
		for len(batch) < 256 && len(r.in) > 0 {
			batch = append(batch, <-r.in)
		}
		r.write(batch)
	}
}

func (r *recorder) write(batch []note) {
	type place struct {
		db    *store.DB
		table string
	}
	rows := map[place][]any{}
	for _, n := range batch {
		if n.flush != nil {
			defer close(n.flush)
			continue
		}
		p := place{n.db, n.table}
		rows[p] = append(rows[p], n.row)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for p, list := range rows {
		if err := p.db.Append(ctx, p.table, list...); err != nil {
			r.log.Warn("write events", "table", p.table, "events", len(list), "error", err)
		}
	}
}

// flush waits until everything that was added before is written.
func (r *recorder) flush(ctx context.Context) {
	done := make(chan struct{})
	r.mu.Lock()
	shut := r.shut
	r.mu.Unlock()
	if shut {
		return
	}
	select {
	case r.in <- note{flush: done}:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (r *recorder) close() {
	r.mu.Lock()
	if !r.shut {
		r.shut = true
		close(r.in)
	}
	r.mu.Unlock()
	r.wg.Wait()
}
