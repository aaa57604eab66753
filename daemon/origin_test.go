package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// A web page may open a socket, or send what a browser sends without asking, where its origin is allowed or the server's own.
func TestForeignOrigins(t *testing.T) {
	settings := map[string]func(*config.Config){
		"default":                 func(*config.Config) {},
		"list":                    func(c *config.Config) { c.AllowOrigin = []string{"https://good.example", "http://app.example:3000/"} },
		"unauthenticated":         func(c *config.Config) { c.Unauthenticated = true },
		"unauthenticated, list":   func(c *config.Config) { c.Unauthenticated, c.AllowOrigin = true, []string{"https://good.example"} },
		"unauthenticated, all":    func(c *config.Config) { c.Unauthenticated, c.AllowOrigin = true, []string{"*"} },
		"unauthenticated, guests": func(c *config.Config) { c.Unauthenticated, c.AllowGuests = true, true },
	}
	const evil, good, app = "https://evil.example", "https://good.example", "http://app.example:3000"
	for name, tc := range map[string]struct{ in, out []string }{
		"default":                 {in: []string{"", evil, good, "null", "own"}},
		"list":                    {in: []string{"", good, "HTTPS://Good.example", app, "own"}, out: []string{evil, "null", "https://good.example.evil.example", "http://good.example", "https://good.example:8443", good + "," + evil, evil + "#" + good, "//good.example", "file://"}},
		"unauthenticated":         {in: []string{"", "own"}, out: []string{evil, "null", "http://localhost:1", "own:1", "file://", "http://own@evil.example"}},
		"unauthenticated, list":   {in: []string{"", good, "own"}, out: []string{evil, "null"}},
		"unauthenticated, all":    {in: []string{"", evil, "null", "own"}},
		"unauthenticated, guests": {in: []string{""}, out: []string{evil}},
	} {
		s := start(t, settings[name])
		for _, origins := range []struct {
			list    []string
			allowed bool
		}{{tc.in, true}, {tc.out, false}} {
			for _, origin := range origins.list {
				origin = strings.Replace(origin, "own", s.Addr().String(), 1)
				if strings.HasPrefix(origin, "127.") {
					origin = "http://" + origin
				}
				headers := []string{rootAuth}
				if origin != "" {
					headers = append(headers, "Origin: "+origin)
				}
				want := map[bool]int{true: 101, false: 403}[origins.allowed]
				for _, path := range []string{"/rpc", "/sql"} {
					if k := s.upgradeAt(path, "json", headers...); k.resp.StatusCode != want {
						t.Errorf("%s: upgrade of %s by %q: %d, want %d", name, path, origin, k.resp.StatusCode, want)
					}
				}
				for _, call := range []string{"POST /sql", "POST /rpc", "POST /key/t/1", "PUT /key/t/1", "DELETE /key/t", "PATCH /key/t/1", "POST /import", "POST /export", "POST /signin", "POST /signup", "GET /api/a/b/c"} {
					method, path, _ := strings.Cut(call, " ")
					r := s.do(method, path, "RETURN 1", append(headers, "Content-Type: text/plain", "Service-NS: test", "Service-DB: test")...)
					if (r.StatusCode != 403) != origins.allowed && !(origins.allowed && strings.HasPrefix(path, "/api")) {
						t.Errorf("%s: %s by %q: %d %s", name, call, origin, r.StatusCode, r.body)
					}
					if !origins.allowed && !strings.Contains(r.body, "--allow-origin") {
						t.Errorf("%s: %s by %q does not say why: %s", name, call, origin, r.body)
					}
				}
			}
		}
	}
}

// Where everybody is root the server answers under its own names alone: another name may be a web page's, made to lead here.
func TestRebinding(t *testing.T) {
	answers := func(s *server, host string, headers ...string) int {
		resp, _ := s.raw(fmt.Sprintf("GET /key/t HTTP/1.1\r\nHost: %s\r\nService-NS: test\r\nService-DB: test\r\n%s\r\n", host, strings.Join(append(headers, ""), "\r\n")))
		return resp.StatusCode
	}
	s := start(t, func(c *config.Config) { c.Unauthenticated, c.AllowOrigin = true, []string{"http://db.example:1"} })
	setup(t, s, "DEFINE TABLE t")
	for _, host := range []string{"127.0.0.1:8000", "127.0.0.1", "localhost:8000", "LOCALHOST", "localhost.", "x.localhost", "[::1]:8000", "[::1]", "192.0.2.1:8000", "db.example", "db.example:8000", s.Addr().String()} {
		if got := answers(s, host); got != 200 {
			t.Errorf("%s: %d", host, got)
		}
	}
	for _, host := range []string{"evil.example:8000", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "127.1", "2130706433", "0x7f.1", "[::1].evil.example", "evil.example#localhost"} {
		if got := answers(s, host); got != 403 && got != 400 {
			t.Errorf("%s: %d", host, got)
		}
		if got := answers(s, host, "X-Forwarded-Host: localhost", "Forwarded: host=localhost"); got != 403 && got != 400 {
			t.Errorf("%s, forwarded: %d", host, got)
		}
	}
	if resp, _ := s.raw("GET http://evil.example/key/t HTTP/1.1\r\nHost: localhost\r\n\r\n"); resp.StatusCode != 403 {
		t.Errorf("a name in the address: %d", resp.StatusCode)
	}
	if got := answers(s, "localhost", "Sec-Fetch-Site: cross-site"); got != 403 {
		t.Errorf("what a browser sends for another site: %d", got)
	}
	if got := answers(s, "localhost", "Sec-Fetch-Site: same-origin"); got != 200 {
		t.Errorf("what a browser sends for the own site: %d", got)
	}
	if r := s.do("GET", "/health", "", "Sec-Fetch-Site: cross-site"); r.StatusCode != 200 {
		t.Errorf("a probe: %d", r.StatusCode)
	}
	open := start(t)
	setup(t, open, "DEFINE TABLE t")
	if got := answers(open, "anything.example", rootAuth); got != 200 {
		t.Errorf("with passwords: %d", got)
	}
}
