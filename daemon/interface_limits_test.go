package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// Limits: each row with its default, its variable under every prefix, sizes with suffixes, and the refusal of a body that
// is one byte too long while one of just the size goes through.
func TestLimitsTable(t *testing.T) {
	const cap = 2 << 10
	for _, tc := range []struct {
		row, variable string
		standard      int64
		place         func(*config.Limits) *int64
		path, header  string
		method        string
	}{
		{"POST /sql", "HTTP_MAX_SQL_BODY_SIZE", 1 << 20, func(l *config.Limits) *int64 { return &l.SQLBody }, "/sql", "", "POST"},
		{"POST /gql", "HTTP_MAX_GQL_BODY_SIZE", 1 << 20, func(l *config.Limits) *int64 { return &l.GQLBody }, "/gql", "", "POST"},
		{"POST /rpc", "HTTP_MAX_RPC_BODY_SIZE", 4 << 20, func(l *config.Limits) *int64 { return &l.RPCBody }, "/rpc", "Content-Type: application/json", "POST"},
		{"/api/:namespace/:database/:endpoint", "HTTP_MAX_API_BODY_SIZE", 4 << 20, func(l *config.Limits) *int64 { return &l.APIBody }, "/api/test/test/x", "", "PUT"},
		{"/key endpoints", "HTTP_MAX_KEY_BODY_SIZE", 16 << 10, func(l *config.Limits) *int64 { return &l.KeyBody }, "/key/a/b", "", "PATCH"},
		{"POST /signin", "HTTP_MAX_SIGNIN_BODY_SIZE", 1 << 10, func(l *config.Limits) *int64 { return &l.SigninBody }, "/signin", "", "POST"},
		{"POST /signup", "HTTP_MAX_SIGNUP_BODY_SIZE", 1 << 10, func(l *config.Limits) *int64 { return &l.SignupBody }, "/signup", "", "POST"},
		{"POST /import", "HTTP_MAX_IMPORT_BODY_SIZE", 4 << 30, func(l *config.Limits) *int64 { return &l.ImportBody }, "/import", "", "POST"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			if got := *tc.place(&config.Default().Limits); got != tc.standard {
				t.Errorf("default: %d", got)
			}
			for text, want := range map[string]int64{"2048": cap, "2KiB": cap, "2kb": cap, "4GB": 4 << 30, "16MiB": 16 << 20} {
				for _, prefix := range []string{"SERVICE_", "SURREAL_", "NACRE_"} {
					cfg := config.Default()
					if _, err := config.Resolve(config.Table(cfg), func(string) bool { return false }, config.Sources{Environ: []string{prefix + tc.variable + "=" + text}}); err != nil {
						t.Fatal(err)
					}
					if got := *tc.place(&cfg.Limits); got != want {
						t.Errorf("%s%s=%s: %d", prefix, tc.variable, text, got)
					}
				}
			}
			s := start(t, func(c *config.Config) { *tc.place(&c.Limits) = cap })
			headers := at()
			if tc.header != "" {
				headers = append(headers, tc.header)
			}
			for size, over := range map[int]bool{cap: false, cap + 1: true} {
				body := strings.Repeat(" ", size)
				for form, r := range map[string]reply{"with its length": s.do(tc.method, tc.path, body, headers...), "chunked": s.send(tc.method, tc.path, chunked(body), headers...)} {
					if (r.StatusCode == 413) != over {
						t.Errorf("%d bytes %s: %d %s", size, form, r.StatusCode, r.body)
					}
					if over && (!strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") || r.body == "") {
						t.Errorf("%s: %q %q", form, r.Header.Get("Content-Type"), r.body)
					}
				}
			}
		})
	}
}

// chunked is a body whose length the client does not tell.
func chunked(text string) *chunks { return &chunks{strings.NewReader(text)} }

type chunks struct{ r *strings.Reader }

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) { return c.r.Read(p) }

const slowAccess = `DEFINE ACCESS slow ON DATABASE TYPE RECORD SIGNUP { sleep(1s); CREATE ONLY user:1 } SIGNIN { sleep(1s); user:1 };
	DEFINE API "/slow" FOR get THEN { sleep(30s); { body: 1 } }; DEFINE TABLE user; DEFINE TABLE t; CREATE user:1`

// Wall-clock timeout: what it bounds, and what is exempt.
func TestQueryTimeoutRows(t *testing.T) {
	setupFile := writeFile(t, "OPTION IMPORT;\n"+slowAccess)
	s := start(t, func(c *config.Config) {
		c.QueryTimeout, c.ImportFile, c.DefaultNamespace, c.DefaultDatabase = 300*time.Millisecond, setupFile, "test", "test"
	})
	eventually(t, "ready", func() bool { return s.do("GET", "/ready", "").StatusCode == 200 })
	const message = "The query was not executed because it exceeded the timeout: 300ms"
	t.Run("504 on POST /sql", func(t *testing.T) {
		r := s.do("POST", "/sql", "sleep(30s)", at()...)
		p := problemOf(t, r)
		if r.StatusCode != 504 || p.Code != 504 || p.Details != "Query timeout" || p.Description == "" || p.Information != message {
			t.Errorf("%d %+v", r.StatusCode, p)
		}
	})
	t.Run("the whole request, not each statement", func(t *testing.T) {
		if r := s.do("POST", "/sql", strings.Repeat("sleep(100ms);", 10), at()...); r.StatusCode != 504 {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	})
	t.Run("in a transaction", func(t *testing.T) {
		if r := s.do("POST", "/sql", "BEGIN; CREATE t:1; sleep(30s); COMMIT", at()...); r.StatusCode != 504 {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if r := s.do("POST", "/sql", "SELECT * FROM t", at()...); timeless(r.body) != "["+ok("[]")+"]" {
			t.Errorf("left behind: %s", r.body)
		}
	})
	k := s.dial("json", at()...)
	for _, call := range []string{`"query","params":["sleep(30s)"]`,
		`"signin","params":[{"ns":"test","db":"test","ac":"slow"}]`, `"signup","params":[{"ns":"test","db":"test","ac":"slow"}]`} {
		t.Run("POST /rpc "+call[:8], func(t *testing.T) {
			if r := s.do("POST", "/rpc", `{"method":`+call+`}`, at("Content-Type: application/json")...); r.StatusCode != 200 || !strings.Contains(r.body, message) {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
		t.Run("WebSocket /rpc "+call[:8], func(t *testing.T) {
			if got := s.dial("json", at()...).say(`{"id":1,"method":` + call + `}`); !strings.Contains(got, message) || !strings.Contains(got, "-32004") && !strings.Contains(got, `"result":"`+message) {
				t.Error(got)
			}
		})
	}
	t.Run("exempt: begin and commit; statements inside are bounded", func(t *testing.T) {
		tx := strings.Split(k.say(`{"id":1,"method":"begin"}`), `"`)[5]
		if got := k.say(`{"id":2,"method":"query","txn":"` + tx + `","params":["sleep(30s)"]}`); !strings.Contains(got, message) {
			t.Error(got)
		}
		if got := k.say(`{"id":3,"method":"query","txn":"` + tx + `","params":["CREATE t:2"]}`); !strings.Contains(got, "OK") {
			t.Error(got)
		}
		if got := k.say(`{"id":4,"method":"commit","params":["` + tx + `"]}`); strings.Contains(got, "error") {
			t.Error(got)
		}
	})
	for _, path := range []string{"/signin", "/signup"} {
		t.Run("exempt: POST "+path, func(t *testing.T) {
			if path == "/signup" {
				setup(t, s, "DELETE user:1")
			}
			if r := s.do("POST", path, `{"ns":"test","db":"test","ac":"slow"}`, "Accept: application/json"); r.StatusCode != 200 {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
	t.Run("none unless it is set", func(t *testing.T) {
		if d := config.Default().QueryTimeout; d != 0 {
			t.Errorf("default: %v", d)
		}
	})
}

// 429: the budget is that of a client's address, which comes from where --client-ip says.
func TestClientAddress(t *testing.T) {
	skipOfOneServer(t)
	attempt := func(s *server, headers ...string) int {
		return s.do("POST", "/signin", `{"user":"root","pass":"nope"}`, headers...).StatusCode
	}
	spend := func(s *server, headers ...string) {
		for range 2 {
			if got := attempt(s, headers...); got != 401 {
				s.t.Errorf("an attempt inside the budget: %d", got)
			}
		}
		if got := attempt(s, headers...); got != 429 {
			s.t.Errorf("one too many: %d", got)
		}
	}
	limited := func(source string) *server {
		return start(t, func(c *config.Config) { c.AuthRate, c.AuthBurst, c.ClientIP = 1, 2, source })
	}
	t.Run("socket", func(t *testing.T) {
		s := limited("socket")
		spend(s, "X-Forwarded-For: 192.0.2.1")
		if got := attempt(s, "X-Forwarded-For: 192.0.2.2"); got != 429 {
			t.Errorf("a header that nobody trusts makes another client: %d", got)
		}
	})
	t.Run("a header", func(t *testing.T) {
		s := limited("X-Forwarded-For")
		spend(s, "X-Forwarded-For: 10.0.0.1, 192.0.2.1")
		spend(s, "X-Forwarded-For: 192.0.2.2")
		spend(s, "X-Forwarded-For: 2001:db8::1")
		if got := attempt(s, "X-Forwarded-For: 192.0.2.1"); got != 429 {
			t.Errorf("the first client again: %d", got)
		}
		spend(s, "X-Forwarded-For: no address") // that of the socket
		if got := attempt(s); got != 429 {
			t.Errorf("without the header: %d", got)
		}
	})
	t.Run("what the session sees", func(t *testing.T) {
		for source, want := range map[string]string{"socket": `"127.0.0.1"`, "none": "null", "X-Real-IP": `"192.0.2.9"`} {
			s := start(t, func(c *config.Config) { c.ClientIP = source })
			if r := s.do("POST", "/sql", "RETURN session::ip()", at("X-Real-IP: 192.0.2.9")...); timeless(r.body) != "["+ok(want)+"]" {
				t.Errorf("%s: %s", source, r.body)
			}
		}
	})
	t.Run("right credentials cost nothing", func(t *testing.T) {
		s := limited("socket")
		for i := range 5 {
			if r := s.do("POST", "/signin", `{"user":"root","pass":"root"}`); r.StatusCode != 200 {
				t.Errorf("attempt %d: %d", i, r.StatusCode)
			}
		}
	})
	t.Run("Retry-After", func(t *testing.T) {
		s := limited("socket")
		setup(t, s, signinSetup)
		spend(s)
		shut := `{"ns":"test","db":"test","ac":"words","user":"ada"}`
		for range 2 {
			s.do("POST", "/signin", shut)
		}
		for path, body := range map[string]string{"/signin": `{"user":"root","pass":"nope"}`, "/signin?words": shut} {
			r := s.do("POST", path, body)
			var wait int
			if _, err := fmt.Sscan(r.Header.Get("Retry-After"), &wait); err != nil || r.StatusCode != 429 || wait < 1 || wait > 60 {
				t.Errorf("%s: %d Retry-After %q", path, r.StatusCode, r.Header.Get("Retry-After"))
			}
			if p := problemOf(t, r); p.Details != "Too many requests" || !strings.Contains(p.Information, "Too many authentication attempts") {
				t.Errorf("%s: %+v", path, p)
			}
		}
	})
}

// Export options: each flag, and the list of tables.
func TestExportOptionRows(t *testing.T) {
	s := start(t)
	setup(t, s, `DEFINE USER u ON DATABASE PASSWORD 'x'; DEFINE ACCESS acc ON DATABASE TYPE RECORD; DEFINE PARAM $p VALUE 1; DEFINE FUNCTION fn::f() { 1 };
		DEFINE ANALYZER an TOKENIZERS blank; DEFINE TABLE a; DEFINE TABLE b; DEFINE SEQUENCE seq; CREATE a:1; CREATE b:1`)
	marks := map[string]string{"users": "DEFINE USER", "accesses": "DEFINE ACCESS", "params": "DEFINE PARAM", "functions": "DEFINE FUNCTION", "analyzers": "DEFINE ANALYZER",
		"sequences": "DEFINE SEQUENCE", "tables": "DEFINE TABLE", "records": "a:1"}
	export := func(options string) string {
		r := s.do("POST", "/export", options, at("Content-Type: application/json")...)
		if r.StatusCode != 200 {
			t.Fatalf("%s: %d %s", options, r.StatusCode, r.body)
		}
		return r.body
	}
	for option, mark := range marks {
		t.Run(option, func(t *testing.T) {
			if on := export(`{"` + option + `":true}`); !strings.Contains(on, mark) {
				t.Errorf("on: no %s in\n%s", mark, on)
			}
			off := export(`{"` + option + `":false}`)
			for other, text := range marks {
				gone := other == option || option == "tables" && other == "records"
				if strings.Contains(off, text) == gone {
					t.Errorf("off: %s in it is %v:\n%s", text, !gone, off)
				}
			}
		})
	}
	t.Run("tables, a list", func(t *testing.T) {
		got := export(`{"tables":["b"]}`)
		if !strings.Contains(got, "DEFINE TABLE b") || !strings.Contains(got, "b:1") || strings.Contains(got, "DEFINE TABLE a") || strings.Contains(got, "a:1") {
			t.Error(got)
		}
	})
	t.Run("versions", func(t *testing.T) {
		if off, on := export(`{"versions":false}`), export(`{"versions":true}`); !strings.Contains(off, "a:1") || !strings.Contains(on, "a:1") {
			t.Errorf("off:\n%s\non:\n%s", off, on)
		}
	})
}
