package daemon_test

import (
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/nacredb/nacre/daemon/config"
)

const apiSetup = `
DEFINE API "/plain" FOR get THEN { { body: { a: 1 } } } FOR post THEN { { status: 201, body: $request.method } };
DEFINE API "/bytes" FOR any THEN { { body: $request.body } };
DEFINE API "/none" FOR get THEN { {} };
DEFINE API "/gone" FOR get THEN { { status: 204, body: 'x' } };
DEFINE API "/early" FOR get THEN { { status: 103 } };
DEFINE API "/page" FOR get THEN { { body: '<p>hi', headers: { 'content-type': 'text/html', 'x-mine': 'yes', 'content-length': '1', 'connection': 'close' } } };
DEFINE API "/user/:id<int>/:name" FOR get THEN { { body: $request.params } };
DEFINE API "/user/me/x" FOR get THEN { { body: 'static' } };
DEFINE API "/files/*rest" FOR get THEN { { body: $request.params.rest } };
DEFINE API "/in" FOR any MIDDLEWARE api::req::body() FOR post THEN { { body: $request.body } } FOR get THEN { { body: 'got' } };
DEFINE API "/cbor" FOR get MIDDLEWARE api::res::body('cbor') THEN { { body: { a: 1 } } };
DEFINE API "/request" FOR get THEN { { body: [$request.query, $request.headers] } };
DEFINE API "/who" FOR get THEN { { body: [$auth, $access, $session.ip != NONE] } };
DEFINE API "/closed" FOR get PERMISSIONS NONE THEN { { body: 1 } };
DEFINE API "/mine" FOR get PERMISSIONS WHERE $auth.id = user:1 THEN { { body: $auth } };
DEFINE API "/throw" FOR get THEN { CREATE a:1; THROW 'no' };
DEFINE API "/write" FOR post THEN { CREATE a:2; { body: 1 } };
DEFINE API "/slow" FOR get MIDDLEWARE api::timeout(5ms) THEN { sleep(10s); {} };
DEFINE TABLE a;
CREATE user:1 SET pass = 'p';
DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)`

func apiServer(t *testing.T, change ...func(*config.Config)) *server {
	s := start(t, change...)
	if r := s.do("POST", "/sql", apiSetup, at()...); r.StatusCode != 200 || strings.Contains(r.body, `"ERR"`) {
		t.Fatal(r.body)
	}
	return s
}

// /api/:namespace/:database/:endpoint
func TestAPIEndpoints(t *testing.T) {
	s := apiServer(t)
	for _, tc := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		want, media              string
	}{
		{"a value is JSON", "GET", "plain", "", nil, 200, `{"a":1}`, "application/json"},
		{"a slash at the end", "GET", "plain/", "", nil, 200, `{"a":1}`, "application/json"},
		{"status and method", "POST", "plain", "", nil, 201, `"post"`, "application/json"},
		{"HEAD is GET without a body", "HEAD", "plain", "", nil, 200, ``, "application/json"},
		{"a method without handler", "PUT", "plain", "", nil, 404, `"Not found"`, "application/json"},
		{"no such endpoint", "GET", "nowhere", "", nil, 404, `"Not found"`, "application/json"},
		{"text where it is liked", "GET", "plain", "", []string{"Accept: text/plain"}, 200, `{ a: 1 }`, "text/plain; charset=utf-8"},
		{"bytes come and go as they are", "PATCH", "bytes", "\x00\xff", nil, 200, "\x00\xff", "application/octet-stream"},
		{"no body", "GET", "none", "", nil, 200, "", ""},
		{"a status without body", "GET", "gone", "", nil, 204, "", ""},
		{"headers of the endpoint", "GET", "page", "", nil, 200, "<p>hi", "text/html"},
		{"a typed parameter", "GET", "user/7/J%C3%B6rg%2FX", "", nil, 200, `{"id":7,"name":"Jörg/X"}`, "application/json"},
		{"a parameter of another type", "GET", "user/x/y", "", nil, 404, `"Not found"`, "application/json"},
		{"static before dynamic", "GET", "user/me/x", "", nil, 200, `"static"`, "application/json"},
		{"the rest", "GET", "files/a/b%20c", "", nil, 200, `["a","b c"]`, "application/json"},
		{"JSON in", "POST", "in", `{"a":[1]}`, []string{"Content-Type: application/json; charset=utf-8"}, 200, `{"a":[1]}`, "application/json"},
		{"CBOR in", "POST", "in", "\xa1\x61a\x01", []string{"Content-Type: application/cbor"}, 200, `{"a":1}`, "application/json"},
		{"text in", "POST", "in", "hi", []string{"Content-Type: text/plain"}, 200, `"hi"`, "application/json"},
		{"bytes in", "POST", "in", "hi", nil, 200, "hi", "application/octet-stream"},
		{"nothing in", "GET", "in", "", nil, 200, `"got"`, "application/json"},
		{"broken JSON in", "POST", "in", `{"a":`, []string{"Content-Type: application/json"}, 400, `"Failed to decode the request body"`, "application/json"},
		{"a type nobody reads", "POST", "in", `x`, []string{"Content-Type: foo/bar"}, 415, `"Unsupported Content-Type: foo/bar"`, "application/json"},
		{"an error leaves nothing", "GET", "throw", "", nil, 500, `"An error occurred: no"`, "application/json"},
		{"a time limit", "GET", "slow", "", nil, 500, `"deadline has elapsed"`, "application/json"},
	} {
		r := s.do(tc.method, "/api/test/test/"+tc.path, tc.body, append([]string{rootAuth}, tc.headers...)...)
		if r.StatusCode != tc.status || r.body != tc.want || r.Header.Get("Content-Type") != tc.media {
			t.Errorf("%s: %d %q %q", tc.name, r.StatusCode, r.body, r.Header.Get("Content-Type"))
		}
		if r.Header.Get("X-Surreal-Request-Id") == "" && tc.status < 400 {
			t.Errorf("%s: no request id", tc.name)
		}
	}
	if r := s.do("GET", "/api/test/test/page", "", rootAuth); r.Header.Get("X-Mine") != "yes" || r.ContentLength != 5 || r.Close {
		t.Errorf("headers: %v", r.Header)
	}
	if r := s.do("GET", "/api/test/test/early", "", rootAuth); r.StatusCode != 400 {
		t.Errorf("an informational status: %d", r.StatusCode)
	}
	r := s.do("GET", "/api/test/test/cbor", "", rootAuth)
	var got map[string]int
	if err := cbor.Unmarshal([]byte(r.body), &got); err != nil || got["a"] != 1 || r.Header.Get("Content-Type") != "application/cbor" {
		t.Errorf("CBOR out: %v %v %q", got, err, r.Header.Get("Content-Type"))
	}
	s.do("POST", "/api/test/test/write", "", rootAuth)
	if r := s.do("POST", "/sql", "SELECT VALUE id FROM a", at()...); timeless(r.body) != "["+ok(`["a:2"]`)+"]" {
		t.Errorf("left behind: %s", r.body)
	}
}

// An endpoint sees the request, but not what proves the client's identity to the server.
func TestAPIRequestObject(t *testing.T) {
	s := apiServer(t)
	r := s.do("GET", "/api/test/test/request?a=1&b=x%20y", "", rootAuth, "X-Hook: h", "Proxy-Authorization: p")
	for _, want := range []string{`{"a":"1","b":"x y"}`, `"x-hook":"h"`, `"host":"127.0.0.1`} {
		if !strings.Contains(r.body, want) {
			t.Errorf("no %s in %s", want, r.body)
		}
	}
	if strings.Contains(strings.ToLower(r.body), "authorization") {
		t.Errorf("the endpoint sees credentials: %s", r.body)
	}
}

// Rights: the place is that of the path; guests need to be let in; PERMISSIONS bind record users and guests.
func TestAPIRights(t *testing.T) {
	s := apiServer(t)
	s.do("POST", "/sql", `DEFINE API "/other" FOR get THEN { { body: 1 } }`, rootAuth, "Service-NS: test", "Service-DB: other")
	signin := s.do("POST", "/signin", `{"ns":"test","db":"test","ac":"acc","pass":"p"}`, "Accept: text/plain")
	record := "Authorization: Bearer " + signin.body
	for _, tc := range []struct {
		name, path string
		header     string
		status     int
		body       string
	}{
		{"root", "test/test/who", rootAuth, 200, `[null,null,true]`},
		{"a record user", "test/test/who", record, 200, `["user:1","acc",true]`},
		{"PERMISSIONS NONE for the root user", "test/test/closed", rootAuth, 200, `1`},
		{"PERMISSIONS NONE for a record user", "test/test/closed", record, 403, `"Permission denied: You are not allowed to access this resource"`},
		{"PERMISSIONS WHERE", "test/test/mine", record, 200, `"user:1"`},
		{"another database", "test/other/other", record, 403, ""},
		{"a database that is not there", "test/nowhere/x", rootAuth, 404, ""},
		{"a namespace that is not there", "nowhere/test/x", rootAuth, 404, ""},
		{"no database", "test", rootAuth, 400, ""},
		{"no identity", "test/test/who", "X-None: 1", 403, ""},
		{"a false token", "test/test/who", "Authorization: Bearer x.y.z", 401, ""},
	} {
		r := s.do("GET", "/api/"+tc.path, "", tc.header)
		if r.StatusCode != tc.status || tc.body != "" && r.body != tc.body {
			t.Errorf("%s: %d %s", tc.name, r.StatusCode, r.body)
		}
	}
	if r := s.do("POST", "/sql", "INFO FOR ROOT", at()...); strings.Contains(r.body, "nowhere") {
		t.Error("a request made a namespace")
	}
	guests := apiServer(t, func(c *config.Config) { c.AllowGuests = true })
	for path, status := range map[string]int{"who": 200, "closed": 403, "mine": 403} {
		if r := guests.do("GET", "/api/test/test/"+path, ""); r.StatusCode != status {
			t.Errorf("a guest at %s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

// Body cap 4 MiB, SERVICE_HTTP_MAX_API_BODY_SIZE; the route can be closed.
func TestAPILimits(t *testing.T) {
	s := apiServer(t, func(c *config.Config) { c.Limits.APIBody = 1 << 10 })
	if r := s.do("POST", "/api/test/test/bytes", strings.Repeat("x", 1<<10), rootAuth); r.StatusCode != 200 || len(r.body) != 1<<10 {
		t.Errorf("at the cap: %d", r.StatusCode)
	}
	if r := s.do("POST", "/api/test/test/bytes", strings.Repeat("x", 1<<10+1), rootAuth); r.StatusCode != 413 {
		t.Errorf("over the cap: %d", r.StatusCode)
	}
	closed := start(t, func(c *config.Config) { c.DenyHTTP = config.ParseNames("api") })
	if r := closed.do("GET", "/api/test/test/x", "", rootAuth); r.StatusCode != 403 || !strings.Contains(r.body, "The HTTP route 'api' is forbidden") {
		t.Errorf("closed: %d %s", r.StatusCode, r.body)
	}
}
