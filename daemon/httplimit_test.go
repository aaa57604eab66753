package daemon_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/nacredb/nacre/daemon/config"
)

// Rows of the interface document's table of body caps.
func TestBodyCaps(t *testing.T) {
	s := start(t, func(c *config.Config) {
		l := &c.Limits
		l.SQLBody, l.RPCBody, l.KeyBody, l.SigninBody, l.SignupBody, l.ImportBody = 1000, 1000, 1000, 1000, 1000, 1000
	})
	over := strings.Repeat(" ", 1001)
	for _, tc := range []struct{ method, path, contentType string }{
		{"POST", "/sql", "text/plain"}, {"POST", "/rpc", "application/json"}, {"POST", "/key/person", "application/json"},
		{"PUT", "/key/person/1", "application/json"}, {"POST", "/signin", "application/json"}, {"POST", "/signup", "application/json"},
		{"POST", "/import", "text/plain"},
	} {
		r := s.do(tc.method, tc.path, over, "Content-Type: "+tc.contentType)
		if r.StatusCode != 413 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if tc.path == "/import" {
			continue // its statements are applied as they arrive: see the test with a real stream
		}
		r = s.send(tc.method, tc.path, io.MultiReader(strings.NewReader(over)), "Content-Type: "+tc.contentType)
		if r.StatusCode != 413 {
			t.Errorf("%s %s chunked: %d", tc.method, tc.path, r.StatusCode)
		}
	}
}

// raw sends bytes on a bare connection and gives what comes back first.
func (s *server) raw(text string) (*http.Response, net.Conn) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, conn
	}
	_ = resp.Body.Close()
	return resp, conn
}

func TestDeclaredLengthIsRefusedAtOnce(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/import", "/sql", "/rpc"} {
		resp, _ := s.raw("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5368709120\r\n\r\n")
		if resp == nil || resp.StatusCode != 413 {
			t.Errorf("%s: got %v", path, resp)
		}
	}
}

func TestSlowHeadersAndBodiesAreCutOff(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.Limits.HeaderTimeout, c.Limits.BodyWindow = 100*time.Millisecond, 100*time.Millisecond
	})
	for _, tc := range []struct{ name, in string }{
		{"headers that never end", "GET /status HTTP/1.1\r\nHost: x\r\nX-A: "},
		{"no bytes at all", ""},
		{"a body that never comes", "POST /sql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nRETURN"},
		{"a chunk that never ends", "POST /sql HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nRETURN"},
	} {
		resp, conn := s.raw(tc.in)
		if resp != nil && resp.StatusCode < 400 {
			t.Errorf("%s: %d", tc.name, resp.StatusCode)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: the connection stays open", tc.name)
		}
	}
	if r := s.do("GET", "/status", ""); r.StatusCode != 200 {
		t.Errorf("the server answers %d", r.StatusCode)
	}
}

func TestUnreadableBodies(t *testing.T) {
	s := start(t)
	for _, tc := range []struct{ name, path, body string }{
		{"broken UTF-8 on /sql", "/sql", "RETURN '\xff'"},
		{"broken UTF-8 on /key", "/key/person", "{ \"a\": \"\xff\" }"},
		{"not JSON on /signin", "/signin", "{"},
		{"a list on /signin", "/signin", "[]"},
		{"text on /signup", "/signup", `"x"`},
		{"nothing on /signin", "/signin", ""},
		{"half a request on /rpc", "/rpc", `{"id":1,"method":`},
		{"a deep list on /rpc", "/rpc", strings.Repeat("[", 100_000)},
	} {
		r := s.do("POST", tc.path, tc.body, at("Content-Type: application/json")...)
		p := problemOf(t, r)
		if r.StatusCode != 400 || p.Details != "Request problems dectected" || p.Information != "The request body contains invalid data" {
			t.Errorf("%s: %d %+v", tc.name, r.StatusCode, p)
		}
	}
}

func TestUnsupportedMediaTypes(t *testing.T) {
	s := start(t)
	for _, tc := range []struct {
		name, method, path string
		headers            []string
		status             int
	}{
		{"/sql as text", "POST", "/sql", []string{"Accept: text/plain"}, 415},
		{"/sql as anything", "POST", "/sql", []string{"Accept: */*"}, 200},
		{"/sql with a list", "POST", "/sql", []string{"Accept: text/html,application/xml;q=0.9"}, 200},
		{"/sql without", "POST", "/sql", nil, 200},
		{"/key as xml", "GET", "/key/person", []string{"Accept: application/xml"}, 415},
		{"/rpc without content type", "POST", "/rpc", nil, 415},
		{"/rpc of text", "POST", "/rpc", []string{"Content-Type: text/plain"}, 415},
		{"/rpc with another answer", "POST", "/rpc", []string{"Content-Type: application/json", "Accept: application/cbor"}, 415},
		{"/rpc with the same", "POST", "/rpc", []string{"Content-Type: application/json; charset=utf-8", "Accept: application/json"}, 200},
		{"/import as xml", "POST", "/import", []string{"Accept: application/xml"}, 415},
		{"/signin as xml", "POST", "/signin", []string{"Accept: application/xml"}, 415},
		{"/export with options as text", "POST", "/export", []string{"Content-Type: text/plain"}, 415},
		{"a body packed in a way nobody knows", "POST", "/sql", []string{"Content-Encoding: br"}, 415},
		{"a body packed twice", "POST", "/sql", []string{"Content-Encoding: gzip, zstd"}, 415},
	} {
		body := `{"id":1,"method":"ping"}`
		if tc.path == "/sql" {
			body = "RETURN 1"
		}
		if tc.method == "GET" {
			body = ""
		}
		r := s.do(tc.method, tc.path, body, append([]string{rootAuth, "Service-NS: test", "Service-DB: test"}, tc.headers...)...)
		if r.StatusCode != tc.status {
			t.Errorf("%s: %d %s", tc.name, r.StatusCode, r.body)
		}
		if r.StatusCode == 415 && problemOf(t, r).Details != "Unsupported media type" {
			t.Errorf("%s: %s", tc.name, r.body)
		}
	}
}

// packed is text as a client would compress it.
func packed(t *testing.T, encoding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Bodies may come compressed; the caps hold for what they unpack to.
func TestCompressedBodies(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.SQLBody, c.Limits.ImportBody = 100_000, 100_000 })
	for _, encoding := range []string{"gzip", "deflate", "zstd"} {
		header := "Content-Encoding: " + encoding
		if r := s.do("POST", "/sql", packed(t, encoding, "RETURN 7"), at(header)...); timeless(r.body) != "["+ok("7")+"]" {
			t.Errorf("%s: %d %s", encoding, r.StatusCode, r.body)
		}
		if r := s.do("POST", "/import", packed(t, encoding, "OPTION IMPORT; CREATE a:"+encoding), at(header)...); r.StatusCode != 200 {
			t.Errorf("%s: import: %d %s", encoding, r.StatusCode, r.body)
		}
		bomb := packed(t, encoding, strings.Repeat(" ", 10<<20))
		for _, path := range []string{"/sql", "/import"} {
			if r := s.do("POST", path, bomb, at(header)...); r.StatusCode != 413 {
				t.Errorf("%s %s: %d bytes that unpack to 10 MiB: %d", encoding, path, len(bomb), r.StatusCode)
			}
			half := packed(t, encoding, "OPTION IMPORT; CREATE a:b")
			for _, broken := range []string{"RETURN 1", half[:len(half)/2]} {
				if r := s.do("POST", path, broken, at(header)...); r.StatusCode != 400 || problemOf(t, r).Information != "The request body contains invalid data" {
					t.Errorf("%s %s: broken: %d %s", encoding, path, r.StatusCode, r.body)
				}
			}
		}
	}
	if r := s.do("POST", "/sql", "SELECT VALUE id FROM a", at()...); timeless(r.body) != "["+ok(`["a:deflate","a:gzip","a:zstd"]`)+"]" {
		t.Errorf("imported: %s", r.body)
	}
}

func TestCompression(t *testing.T) {
	s := start(t)
	plain := s.do("GET", "/metrics", "").body
	if len(plain) < 512 {
		t.Fatalf("too short to compress: %d", len(plain))
	}
	for _, tc := range []struct {
		accept, want string
		open         func(io.Reader) (io.Reader, error)
	}{
		{"gzip", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"deflate", "deflate", func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }},
		{"gzip, deflate, zstd", "zstd", func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) }},
		{"zstd;q=0, gzip;q=0.5", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"br", "", nil},
		{"", "", nil},
	} {
		r := s.do("GET", "/metrics", "", "Accept-Encoding: "+tc.accept)
		if got := r.Header.Get("Content-Encoding"); got != tc.want {
			t.Errorf("%q: got %q", tc.accept, got)
			continue
		}
		body := io.Reader(strings.NewReader(r.body))
		if tc.open != nil {
			var err error
			if body, err = tc.open(body); err != nil {
				t.Fatal(err)
			}
		}
		b, err := io.ReadAll(body)
		if err != nil || !strings.HasPrefix(string(b), "# HELP surrealdb_build_info") {
			t.Errorf("%q: %.40q %v", tc.accept, b, err)
		}
	}
	if r := s.do("GET", "/version", "", "Accept-Encoding: gzip"); r.Header.Get("Content-Encoding") != "" {
		t.Error("a short answer is compressed")
	}
}
