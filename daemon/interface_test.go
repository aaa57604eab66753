package daemon_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine"
)

// The tests of this file go through the interface document row by row: a subtest has the name of its row.

// Endpoints: overview. Every route is there; what the server has no surface for is not found.
func TestOverview(t *testing.T) {
	s := start(t)
	setup(t, s, `DEFINE API "/endpoint" FOR get, post, put, patch, delete, trace THEN { { body: $request.method } }; DEFINE TABLE person`)
	const asJSON, asCBOR = "Content-Type: application/json", "Content-Type: application/cbor"
	for _, tc := range []struct {
		row, body, header string
		status            int
	}{
		{"GET /status", "", "", 200}, {"GET /health", "", "", 200}, {"GET /ready", "", "", 200}, {"GET /version", "", "", 200},
		{"HEAD /status", "", "", 200}, {"HEAD /health", "", "", 200}, {"HEAD /ready", "", "", 200}, {"HEAD /version", "", "", 200},
		{"POST /import", "OPTION IMPORT;", "", 200}, {"POST /export", "{}", asJSON, 200}, {"POST /export", "\xa0", asCBOR, 200}, {"GET /export", "", "", 200},
		{"POST /signin", `{"user":"root","pass":"root"}`, "", 200}, {"POST /signup", `{}`, "", 401},
		{"GET /key/person", "", "", 200}, {"POST /key/person", "{}", "", 200}, {"PUT /key/person", "{}", "", 200}, {"PATCH /key/person", "{}", "", 200}, {"DELETE /key/person", "", "", 200},
		{"GET /key/person/1", "", "", 200}, {"POST /key/person/1", "{}", "", 200}, {"PUT /key/person/1", "{}", "", 200}, {"PATCH /key/person/1", "{}", "", 200}, {"DELETE /key/person/1", "", "", 200},
		{"POST /sql", "RETURN 1", "", 200}, {"POST /rpc", `{"method":"ping"}`, asJSON, 200}, {"POST /rpc", "\xa1\x66method\x64ping", asCBOR, 200},
		{"GET /api/test/test/endpoint", "", "", 200}, {"POST /api/test/test/endpoint", "", "", 200}, {"PUT /api/test/test/endpoint", "", "", 200},
		{"PATCH /api/test/test/endpoint", "", "", 200}, {"DELETE /api/test/test/endpoint", "", "", 200}, {"TRACE /api/test/test/endpoint", "", "", 200},
		{"GET /metrics", "", "", 200}, {"GET /", "", "", 307},
		{"POST /gql", "RETURN 1 AS one", "", 200}, {"POST /gql", "RETURN", "", 400}, {"POST /gql", "\xff", "", 400}, {"GET /gql", "", "", 405}, {"POST /graphql", `{"query":"{ a }"}`, asJSON, 400}, {"GET /graphql", "", "", 405},
		{"POST /ml/import", "x", "", 400}, {"GET /ml/export/name/1.0.0", "", "", 404}, {"POST /mcp", "{}", asJSON, 406}, {"GET /mcp", "", "", 405}, {"DELETE /mcp", "", "", 400}, {"PATCH /mcp", "", "", 405},
		{"POST /status", "", "", 405}, {"GET /signin", "", "", 405}, {"PUT /sql", "RETURN 1", "", 405}, {"GET /sql", "", "", 405}, {"GET /rpc", "", "", 405},
		{"DELETE /import", "", "", 405}, {"TRACE /key/person", "", "", 405}, {"GET /nowhere", "", "", 404}, {"GET /key", "", "", 404}, {"GET /key/a/b/c", "", "", 404},
	} {
		t.Run(tc.row, func(t *testing.T) {
			method, path, _ := strings.Cut(tc.row, " ")
			headers := at()
			if tc.header != "" {
				headers = append(headers, tc.header)
			}
			if tc.header == asCBOR {
				headers = slices.DeleteFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Accept") })
			}
			r := s.do(method, path, tc.body, headers...)
			if r.StatusCode != tc.status {
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
			if name := strings.Split(path, "/")[1]; tc.status == 404 && name != "ml" && problemOf(t, r).Information != "The HTTP route '"+name+"' is not found" {
				t.Errorf("got %s", r.body)
			}
			if tc.status == 405 && (r.Header.Get("Allow") == "" || problemOf(t, r).Details != "Method not allowed") {
				t.Errorf("Allow %q: %s", r.Header.Get("Allow"), r.body)
			}
		})
	}
	if got := s.do("PUT", "/sql", "").Header.Values("Allow"); !slices.Equal(got, []string{"GET", "HEAD", "POST"}) {
		t.Errorf("Allow: %v", got)
	}
	if got := s.do("TRACE", "/key/a/b", "").Header.Values("Allow"); !slices.Equal(got, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}) {
		t.Errorf("Allow: %v", got)
	}
}

// Every name of a route can be denied, that of an absent surface too.
func TestEveryRouteCanBeDenied(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyHTTP = names("all") })
	for _, row := range []string{"GET /health", "GET /ready", "GET /version", "GET /metrics", "POST /sql", "POST /import", "GET /export", "POST /export", "GET /backup",
		"POST /signin", "POST /signup", "POST /rpc", "GET /rpc", "GET /key/a", "PATCH /key/a/b", "GET /api/a/b/c", "POST /gql", "POST /graphql", "GET /graphql",
		"POST /ml/import", "GET /ml/export/a/b", "POST /mcp"} {
		t.Run(row, func(t *testing.T) {
			method, path, _ := strings.Cut(row, " ")
			r := s.do(method, path, "", at()...)
			name, _, _ := strings.Cut(path[1:], "/")
			if name == "mcp" {
				if r.StatusCode != 403 || r.body != "Forbidden" {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
				return
			}
			if p := problemOf(t, r); r.StatusCode != 403 || p.Details != "Forbidden" || p.Information != "The HTTP route '"+name+"' is forbidden" {
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
		})
	}
	for _, path := range []string{"/status", "/"} {
		if r := s.do("GET", path, ""); r.StatusCode >= 400 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// Resources: the fields of the envelope, of the error body and of the authentication result, and no others.
func TestEnvelopes(t *testing.T) {
	s := start(t)
	fields := func(t *testing.T, body string) map[string]any {
		t.Helper()
		var one map[string]any
		if strings.HasPrefix(body, "[") {
			body = body[1 : len(body)-1]
		}
		if err := json.Unmarshal([]byte(body), &one); err != nil {
			t.Fatal(body)
		}
		return one
	}
	for _, tc := range []struct {
		row, method, path, body string
		want                    map[string]func(any) bool
	}{
		{"query result envelope", "POST", "/sql", "RETURN [1]", map[string]func(any) bool{
			"result": func(v any) bool { return len(v.([]any)) == 1 }, "status": is("OK"), "type": is(nil),
			"time": func(v any) bool { _, err := time.ParseDuration(v.(string)); return err == nil }}},
		{"query result envelope of a failure", "POST", "/sql", "THROW 'x'", map[string]func(any) bool{
			"result": is("An error occurred: x"), "status": is("ERR"), "type": is(nil), "kind": is("Thrown"), "time": text}},
		{"error body", "GET", "/key/a?limit=x", "", map[string]func(any) bool{"code": is(400.0), "details": is("Request problems dectected"), "description": text, "information": text}},
		{"authentication result", "POST", "/signin", `{"user":"root","pass":"root"}`, map[string]func(any) bool{
			"code": is(200.0), "details": text, "token": func(v any) bool { return strings.Count(v.(string), ".") == 2 }}},
	} {
		t.Run(tc.row, func(t *testing.T) {
			r := s.do(tc.method, tc.path, tc.body, at()...)
			got := fields(t, r.body)
			for name, good := range tc.want {
				if v, there := got[name]; !there || !good(v) {
					t.Errorf("%s is %v in %s", name, v, r.body)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("more fields: %s", r.body)
			}
		})
	}
}

func is(want any) func(any) bool { return func(v any) bool { return v == want } }

func text(v any) bool { s, ok := v.(string); return ok && s != "" }

// States and transitions.
func TestStates(t *testing.T) {
	gated := []string{"POST /sql", "GET /sql", "POST /rpc", "GET /rpc", "POST /import", "GET /export", "POST /export", "GET /backup", "POST /signin", "POST /signup",
		"GET /key/person", "DELETE /key/person/1", "GET /api/test/test/x", "POST /gql", "POST /graphql", "POST /mcp", "GET /nowhere"}
	open := []string{"/", "/status", "/health", "/version", "/metrics"}
	closedGate := func(t *testing.T, s *server) {
		t.Helper()
		for _, path := range open {
			if r := s.do("GET", path, ""); r.StatusCode != 200 && r.StatusCode != 307 {
				t.Errorf("%s: %d", path, r.StatusCode)
			}
		}
		for _, row := range gated {
			method, path, _ := strings.Cut(row, " ")
			r := s.do(method, path, "", at()...)
			if p := problemOf(t, r); r.StatusCode != 503 || p.Details != "Service unavailable" || r.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: %d %s Retry-After %q", row, r.StatusCode, r.body, r.Header.Get("Retry-After"))
			}
		}
		r := s.do("GET", "/ready", "")
		if p := problemOf(t, r); r.StatusCode != 503 || p.Details != "Service unavailable" || r.Header.Get("Retry-After") != "" {
			t.Errorf("/ready: %d %s Retry-After %q", r.StatusCode, r.body, r.Header.Get("Retry-After"))
		}
	}
	t.Run("Starting, startup work finishes: Ready", func(t *testing.T) {
		outside := hold(t)
		s := start(t, func(c *config.Config) {
			c.AllowNet, c.ImportFile = names("127.0.0.1"), writeFile(t, "OPTION IMPORT;\nCREATE a:1;\nRETURN http::get('"+outside.url+"');\nCREATE a:2;")
			c.DefaultNamespace, c.DefaultDatabase = "test", "test"
		})
		eventually(t, "the import runs", func() bool { return outside.arrived.Load() == 1 })
		closedGate(t, s)
		outside.release()
		eventually(t, "ready", func() bool { return s.do("GET", "/ready", "").StatusCode == 200 })
		if r := s.do("POST", "/sql", "SELECT VALUE id FROM a", at()...); timeless(r.body) != "["+ok(`["a:1","a:2"]`)+"]" {
			t.Errorf("got %d %s", r.StatusCode, r.body)
		}
	})
	t.Run("Starting, datastore initialisation fails: process stops", func(t *testing.T) { startError(t, "ftp://x") })
	t.Run("Starting, import fails: stays Starting", func(t *testing.T) {
		s := start(t, func(c *config.Config) { c.ImportFile = writeFile(t, "OPTION IMPORT;\nCREATE a:1;\nCREATE a:1;") })
		eventually(t, "the failure is logged", func() bool { return strings.Contains(s.logs.String(), "startup failed") })
		closedGate(t, s)
	})
	t.Run("an ordinary start answers 200 to the first probe", func(t *testing.T) {
		s := start(t)
		if r := s.do("GET", "/ready", ""); r.StatusCode != 200 || r.body != "" {
			t.Errorf("got %d %q", r.StatusCode, r.body)
		}
	})
}

// GET /ready: 200, 503 and 500.
func TestReady(t *testing.T) {
	t.Run("503 when the heartbeat is stale", func(t *testing.T) {
		s := start(t, func(c *config.Config) { c.HeartbeatInterval = time.Hour; c.HeartbeatMaxAge = time.Nanosecond })
		if r := s.do("GET", "/ready", ""); r.StatusCode != 503 || problemOf(t, r).Details != "Service unavailable" {
			t.Errorf("got %d %s", r.StatusCode, r.body)
		}
	})
	t.Run("200 again with the next heartbeat", func(t *testing.T) {
		s := start(t, func(c *config.Config) {
			c.HeartbeatInterval = time.Millisecond
			c.HeartbeatMaxAge = 200 * time.Millisecond
		})
		for range 3 {
			eventually(t, "a fresh heartbeat", func() bool { return s.do("GET", "/ready", "").StatusCode == 200 })
		}
	})
	t.Run("503 when the node has no cluster membership record", func(t *testing.T) {
		s := start(t)
		if _, err := s.Engine().Join(t.Context(), engine.NodeInfo{}); err != nil { // another one: that of the server is gone
			t.Fatal(err)
		}
		if r := s.do("GET", "/ready", ""); r.StatusCode != 503 || problemOf(t, r).Details != "Service unavailable" || r.Header.Get("Retry-After") != "" {
			t.Errorf("got %d %s", r.StatusCode, r.body)
		}
	})
	t.Run("500 when the heartbeat cannot be read", func(t *testing.T) {
		s := start(t, func(c *config.Config) { c.Path = "bolt://" + filepath.Join(t.TempDir(), "a.db") })
		if err := s.Engine().Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := s.do("GET", "/ready", ""); r.StatusCode != 500 || problemOf(t, r).Code != 500 {
			t.Errorf("/ready: %d %s", r.StatusCode, r.body)
		}
		r := s.do("GET", "/health", "")
		if p := problemOf(t, r); r.StatusCode != 500 || p.Details != "Health check failed" {
			t.Errorf("/health: %d %s", r.StatusCode, r.body)
		}
		if r := s.do("GET", "/status", ""); r.StatusCode != 200 {
			t.Errorf("/status: %d", r.StatusCode)
		}
	})
}

// Common request headers, under both of their names and in any case.
func TestCommonRequestHeaders(t *testing.T) {
	s := start(t)
	setup(t, s, `DEFINE USER n ON NAMESPACE PASSWORD 'n'; DEFINE USER d ON DATABASE PASSWORD 'd'`)
	const nsUser, dbUser = "Authorization: Basic bjpu", "Authorization: Basic ZDpk"
	for _, prefix := range []string{"Service-", "service-", "Surreal-", "surreal-", "SURREAL-"} {
		for _, tc := range []struct {
			row     string
			headers []string
			want    string
		}{
			{"NS", []string{rootAuth, prefix + "NS: test"}, `["test",null]`},
			{"DB", []string{rootAuth, prefix + "NS: test", prefix + "DB: test"}, `["test","test"]`},
			{"Auth-NS", []string{nsUser, prefix + "Auth-NS: test", prefix + "NS: test", prefix + "DB: test"}, `["test","test"]`},
			{"Auth-DB", []string{dbUser, prefix + "Auth-NS: test", prefix + "Auth-DB: test", prefix + "NS: test", prefix + "DB: test"}, `["test","test"]`},
		} {
			t.Run(prefix+tc.row, func(t *testing.T) {
				r := s.do("POST", "/sql", "RETURN [session::ns(), session::db()]", append(tc.headers, "Accept: application/json")...)
				if timeless(r.body) != "["+ok(tc.want)+"]" {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
			})
		}
	}
	t.Run("Accept", func(t *testing.T) {
		for accept, media := range map[string]string{"": "application/json", "application/json": "application/json", "application/cbor": "application/cbor", "*/*": "application/json"} {
			headers := []string{rootAuth}
			if accept != "" {
				headers = append(headers, "Accept: "+accept)
			}
			for _, path := range []string{"/sql", "/signin"} {
				body := map[string]string{"/sql": "RETURN 1", "/signin": `{"user":"root","pass":"root"}`}[path]
				if r := s.do("POST", path, body, headers...); r.Header.Get("Content-Type") != media {
					t.Errorf("%s as %q: %s", path, accept, r.Header.Get("Content-Type"))
				}
			}
		}
	})
	t.Run("Authorization", func(t *testing.T) {
		token := s.do("POST", "/signin", `{"user":"root","pass":"root"}`, "Accept: text/plain").body
		for _, h := range []string{rootAuth, "Authorization: bearer " + token, "Authorization: BASIC cm9vdDpyb290"} {
			if r := s.do("POST", "/sql", "RETURN 1", h, "Accept: application/json"); timeless(r.body) != "["+ok("1")+"]" {
				t.Errorf("%.20s: %d %s", h, r.StatusCode, r.body)
			}
		}
	})
}

// Every answer carries the same identification headers, for every status.
func TestEveryAnswerIsIdentified(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyHTTP = names("version") })
	for row, status := range map[string]int{"GET /status": 200, "GET /version": 403, "GET /nowhere": 404, "PUT /sql": 405, "OPTIONS /sql": 200, "POST /rpc": 415, "GET /": 307} {
		t.Run(row, func(t *testing.T) {
			method, path, _ := strings.Cut(row, " ")
			r := s.do(method, path, "", "Origin: https://a.example", "X-Request-Id: abc")
			h := r.Header
			if r.StatusCode != status || h.Get("X-Request-Id") != "abc" || h.Get("Service-Version") == "" || h.Get("Server") == "" ||
				h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "origin") {
				t.Errorf("%d %v", r.StatusCode, h)
			}
		})
	}
}

// Over TLS the same interface is served by HTTP/1.1 and HTTP/2.
func TestHTTPS(t *testing.T) {
	cert, key, pool := writePair(t, t.TempDir(), 1)
	s := start(t, func(c *config.Config) { c.WebCert, c.WebKey = cert, key })
	s.url = strings.Replace(s.url, "http:", "https:", 1)
	for _, proto := range []int{1, 2} {
		transport := &http.Transport{TLSClientConfig: tlsOf(pool), ForceAttemptHTTP2: proto == 2}
		if proto == 1 {
			transport.Protocols = new(http.Protocols)
			transport.Protocols.SetHTTP1(true)
		}
		s.http = &http.Client{Transport: transport}
		r := s.do("POST", "/sql", "RETURN 1", at()...)
		if r.ProtoMajor != proto || timeless(r.body) != "["+ok("1")+"]" {
			t.Errorf("HTTP/%d: %s %s", proto, r.Proto, r.body)
		}
		s.http.CloseIdleConnections()
	}
	if r, err := http.Get("http://" + s.Addr().String() + "/status"); err == nil {
		_ = r.Body.Close()
		if r.StatusCode == 200 {
			t.Error("plain text is answered on a TLS listener")
		}
	}
}
