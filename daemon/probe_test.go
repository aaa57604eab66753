package daemon_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
)

// Rows of the interface document's overview that need no data.
func TestProbes(t *testing.T) {
	s := start(t)
	for _, tc := range []struct {
		name, method, path string
		status             int
		body               string
	}{
		{"GET /status web server liveness", "GET", "/status", 200, ""},
		{"GET /health storage engine reachability", "GET", "/health", 200, ""},
		{"GET /ready startup and readiness probe", "GET", "/ready", 200, ""},
		{"GET /version server version", "GET", "/version", 200, "nacre-3.3.1"},
	} {
		r := s.do(tc.method, tc.path, "")
		if r.StatusCode != tc.status || r.body != tc.body {
			t.Errorf("%s: got %d %q", tc.name, r.StatusCode, r.body)
		}
	}
}

func TestResponseHeaders(t *testing.T) {
	s := start(t)
	r := s.do("GET", "/status", "")
	for name, want := range map[string]string{
		"service-version": `^nacre/\d+\.\d+\.\d+$`, "x-request-id": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"access-control-allow-origin": `^\*$`, "server": `^nacre$`, "vary": `origin`,
	} {
		if got := r.Header.Get(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := s.do("GET", "/status", "", "X-Request-Id: my-own-id").Header.Get("X-Request-Id"); got != "my-own-id" {
		t.Errorf("request id of the client: got %q", got)
	}
	if got := s.do("GET", "/status", "", "X-Request-Id: "+strings.Repeat("x", 500)).Header.Get("X-Request-Id"); len(got) != 36 {
		t.Errorf("long request id is echoed: %q", got)
	}
}

func TestNoIdentificationHeaders(t *testing.T) {
	s := start(t, func(c *config.Config) { c.NoIdentificationHeaders = true })
	r := s.do("GET", "/status", "")
	for _, name := range []string{"server", "service-version", "surreal-version"} {
		if got := r.Header.Get(name); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRootRedirects(t *testing.T) {
	s := start(t, func(c *config.Config) { c.UIAddress = "https://ui.example" })
	r := s.do("GET", "/", "")
	if r.StatusCode != http.StatusTemporaryRedirect || r.Header.Get("Location") != "https://ui.example" {
		t.Errorf("got %d %s", r.StatusCode, r.Header.Get("Location"))
	}
}

func TestCORS(t *testing.T) {
	open := start(t)
	r := open.do("OPTIONS", "/sql", "", "Origin: https://a.example", "Access-Control-Request-Method: POST")
	if r.StatusCode != 200 || r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Access-Control-Max-Age") != "86400" {
		t.Errorf("preflight: %d %v", r.StatusCode, r.Header)
	}
	for _, want := range []string{"service-ns", "surreal-auth-db", "authorization", "content-type"} {
		if !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), want) {
			t.Errorf("header %s is not allowed", want)
		}
	}
	narrow := start(t, func(c *config.Config) { c.AllowOrigin = []string{"https://a.example"} })
	if got := narrow.do("GET", "/status", "", "Origin: https://a.example").Header.Get("Access-Control-Allow-Origin"); got != "https://a.example" {
		t.Errorf("own origin: %q", got)
	}
	if got := narrow.do("GET", "/status", "", "Origin: https://b.example").Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("foreign origin: %q", got)
	}
}

// problem is the error body of the interface document.
type problem struct {
	Code                              int
	Details, Description, Information string
}

func problemOf(t *testing.T, r reply) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("%d %q: %v", r.StatusCode, r.body, err)
	}
	if p.Code != r.StatusCode {
		t.Errorf("code %d in an answer with status %d", p.Code, r.StatusCode)
	}
	return p
}

func TestUnknownRoute(t *testing.T) {
	s := start(t)
	r := s.do("GET", "/nope/x", "")
	p := problemOf(t, r)
	if r.StatusCode != 404 || p.Details != "Not found" || p.Information != "The HTTP route 'nope' is not found" {
		t.Errorf("got %d %+v", r.StatusCode, p)
	}
	if r := s.do("PUT", "/sql", "x"); r.StatusCode != 405 {
		t.Errorf("PUT /sql: %d", r.StatusCode)
	}
}

func TestDeniedRoute(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyHTTP = config.ParseNames("health,sql") })
	r := s.do("GET", "/health", "")
	if p := problemOf(t, r); r.StatusCode != 403 || p.Details != "Forbidden" || p.Information != "The HTTP route 'health' is forbidden" {
		t.Errorf("got %d %+v", r.StatusCode, p)
	}
	if r := s.do("POST", "/sql", "RETURN 1"); r.StatusCode != 403 {
		t.Errorf("POST /sql: %d", r.StatusCode)
	}
	if r := s.do("GET", "/version", ""); r.StatusCode != 200 {
		t.Errorf("GET /version: %d", r.StatusCode)
	}
}

// A startup that fails leaves a server that is up and not ready: gated paths say so.
func TestStartGate(t *testing.T) {
	s := start(t, func(c *config.Config) { c.ImportFile = filepath.Join(t.TempDir(), "missing.surql") })
	for _, path := range []string{"/status", "/health", "/version", "/metrics"} {
		if r := s.do("GET", path, ""); r.StatusCode != 200 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	r := s.do("GET", "/ready", "")
	if p := problemOf(t, r); r.StatusCode != 503 || p.Details != "Service unavailable" || r.Header.Get("Retry-After") != "" {
		t.Errorf("/ready: %d %+v Retry-After %q", r.StatusCode, p, r.Header.Get("Retry-After"))
	}
	for _, path := range []string{"/sql", "/rpc", "/key/person", "/signin", "/nope"} {
		r := s.do("POST", path, "{}")
		if p := problemOf(t, r); r.StatusCode != 503 || p.Details != "Service unavailable" || r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %d %+v Retry-After %q", path, r.StatusCode, p, r.Header.Get("Retry-After"))
		}
	}
	eventually(t, "the failure is logged", func() bool { return strings.Contains(s.logs.String(), "startup failed") })
}

func TestStaleHeartbeat(t *testing.T) {
	s := start(t, func(c *config.Config) { c.HeartbeatInterval, c.HeartbeatMaxAge = time.Hour, time.Nanosecond })
	if r := s.do("GET", "/ready", ""); r.StatusCode != 503 {
		t.Errorf("got %d", r.StatusCode)
	}
	if r := s.do("GET", "/version", ""); r.StatusCode != 200 {
		t.Errorf("other paths: %d", r.StatusCode)
	}
}

func TestAddressInUse(t *testing.T) {
	s := start(t)
	cfg := config.Default()
	cfg.Bind = s.Addr().String()
	_, err := daemon.Start(t.Context(), cfg, telemetry.NewLogger(&lockedBuffer{}, slog.LevelInfo, false))
	var e *daemon.StartError
	if !errors.As(err, &e) || e.Reason != daemon.AddressInUse || !strings.Contains(e.Text, "--bind") || strings.Contains(e.Text, "\n") {
		t.Errorf("got %v", err)
	}
}

func TestHalfATLSPair(t *testing.T) {
	cfg := config.Default()
	cfg.WebCert = "x.pem"
	_, err := daemon.Start(t.Context(), cfg, telemetry.NewLogger(&lockedBuffer{}, slog.LevelInfo, false))
	var e *daemon.StartError
	if !errors.As(err, &e) || e.Reason != daemon.BadTLS {
		t.Errorf("got %v", err)
	}
}

func TestMetricsShowLittleToAnyone(t *testing.T) {
	s := start(t)
	r := s.do("GET", "/metrics", "")
	if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain; version=0.0.4") ||
		!strings.Contains(r.body, "surrealdb_build_info{") {
		t.Errorf("got %d %s\n%s", r.StatusCode, r.Header.Get("Content-Type"), r.body)
	}
}
