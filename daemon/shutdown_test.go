package daemon_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// closing stops the server with so much time for running requests, and gives what Close answers.
func (s *server) closing(grace time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		done <- s.Close(ctx)
	}()
	return done
}

// held is a host outside that statements wait for: arrived counts them, release lets them go on.
type held struct {
	url     string
	arrived atomic.Int32
	release func()
}

func hold(t *testing.T) *held {
	h := &held{}
	open := make(chan struct{})
	h.release = sync.OnceFunc(func() { close(open) })
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.arrived.Add(1)
		<-open
	}))
	h.url = host.URL
	t.Cleanup(func() { h.release(); host.Close() })
	return h
}

// A running statement is answered, /ready says no, new requests are refused.
func TestShutdownDrains(t *testing.T) {
	outside := hold(t)
	s := start(t, func(c *config.Config) { c.AllowNet = names("127.0.0.1") })
	k := s.dial("json").root()
	keep := &http.Client{Transport: &http.Transport{}}
	defer keep.CloseIdleConnections()
	if resp, err := keep.Get(s.url + "/status"); err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	k.write(frame(opText, true, []byte(`{"id":5,"method":"query","params":["http::get('`+outside.url+`'); RETURN 1"]}`)))
	answered := make(chan string, 1)
	go func() {
		r := s.do("POST", "/sql", "http::get('"+outside.url+"'); RETURN 2", at()...)
		answered <- r.body
	}()
	eventually(t, "both requests run", func() bool { return outside.arrived.Load() == 2 })
	done := s.closing(10 * time.Second)
	eventually(t, "stopping", func() bool { return strings.Contains(s.logs.String(), "msg=stopping") })
	if got := k.say(`{"id":1,"method":"ping"}`); !strings.Contains(got, "The server is gracefully shutting down") {
		t.Errorf("a new request: %s", got)
	}
	outside.release()
	if _, b := k.message(); !strings.HasPrefix(string(b), `{"id":5,"result":[`) || !strings.Contains(string(b), `"result":1`) {
		t.Errorf("the running request: %s", b)
	}
	if code := k.closeCode(); code != 1001 {
		t.Errorf("closed with %d", code)
	}
	_, _ = k.conn.Write(frame(opClose, true, []byte{3, 0xe9}))
	if got := <-answered; !strings.Contains(got, `"result":2`) {
		t.Errorf("the running HTTP request: %s", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What does not end in time is cancelled; the store is closed all the same.
func TestShutdownTimeout(t *testing.T) {
	s := start(t)
	k := s.dial("json").root()
	k.write(frame(opText, true, []byte(`{"id":5,"method":"query","params":["SLEEP 1h"]}`)))
	eventually(t, "the request runs", func() bool {
		return strings.Contains(s.do("GET", "/metrics", "", rootAuth).body, "nacre_ws_connections 1")
	})
	select {
	case err := <-s.closing(100 * time.Millisecond):
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not stop")
	}
}

func TestDisconnectCancelsTheQuery(t *testing.T) {
	s := start(t)
	k := s.dial("json").root()
	k.write(frame(opText, true, []byte(`{"id":5,"method":"query","params":["SLEEP 1h"]}`)))
	if got := k.say(`{"id":6,"method":"ping"}`); got != `{"id":6,"result":null}` {
		t.Fatal(got)
	}
	_ = k.conn.Close()
	eventually(t, "the connection is gone", func() bool {
		return strings.Contains(s.do("GET", "/metrics", "").body, "nacre_ws_connections 0")
	})
}

// Seeded secrets are nowhere in the log of a whole run, at the most talkative level.
func TestNoSecretsInTheLog(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.Pass = "hunter2-root"
		c.SlowThreshold = time.Nanosecond
	})
	const auth = "Authorization: Basic cm9vdDpodW50ZXIyLXJvb3Q="
	headers := []string{auth, "Service-NS: test", "Service-DB: test", "Accept: application/json"}
	if r := s.do("POST", "/sql", "DEFINE USER u ON ROOT PASSWORD 'hunter2-user' ROLES OWNER; LET $x = \"hunter2-text\"; RETURN $card", headers...); r.StatusCode != 200 {
		t.Fatal(r.body)
	}
	s.do("POST", "/sql?card=hunter2-var", "RETURN $card; THROW 'hunter2-throw'", headers...)
	s.do("POST", "/signin", `{"user":"root","pass":"hunter2-wrong"}`)
	token := s.do("POST", "/signin", `{"user":"root","pass":"hunter2-root"}`, "Accept: text/plain").body
	s.do("POST", "/sql", "RETURN 1", "Authorization: Bearer "+token)
	s.do("POST", "/sql", "RETURN 1", "Authorization: Bearer hunter2.broken.token")
	k := s.dial("json")
	k.say(`{"id":1,"method":"signin","params":[{"user":"root","pass":"hunter2-root"}]}`)
	k.say(`{"id":2,"method":"query","params":["RETURN $v",{"v":"hunter2-param"}]}`)
	log := s.logs.String()
	if !strings.Contains(log, "slow query") || !strings.Contains(log, "DEFINE USER u ON ROOT PASSWORD '…'") {
		t.Errorf("the slow log is empty:\n%s", log)
	}
	if strings.Contains(log, "hunter2") || strings.Contains(log, token) {
		t.Errorf("a secret is in the log:\n%s", log)
	}
}

// One line at debug level for each request, with nothing of what it carried.
func TestRequestLog(t *testing.T) {
	s := start(t)
	s.do("POST", "/sql?secret=hunter2", "RETURN 'hunter2'", at("X-Request-Id: my-own-id", "Accept-Encoding: gzip")...)
	s.do("GET", "/nowhere/"+strings.Repeat("x", 500), "")
	log := s.logs.String()
	for _, want := range []string{`level=DEBUG msg=request component=http method=POST path=/sql status=200 bytes=`, `client=127.0.0.1 request_id=my-own-id`,
		`method=GET path=/nowhere/` + strings.Repeat("x", 247) + ` status=404`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
	if strings.Contains(log, "hunter2") {
		t.Errorf("a value is in the log:\n%s", log)
	}
}

func TestSlowLogThreshold(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.SlowThreshold = 50 * time.Millisecond
		c.SlowAllow = config.ParseNames("shown")
	})
	s.do("POST", "/sql?shown=yes&hidden=no", "RETURN 'fast'", at()...)
	if strings.Contains(s.logs.String(), "slow query") {
		t.Error("a fast query is in the slow log")
	}
	s.do("POST", "/sql?shown=yes&hidden=no", "SLEEP 60ms", at()...)
	log := s.logs.String()
	if !strings.Contains(log, "slow query") || !strings.Contains(log, "$shown='yes'") && !strings.Contains(log, `$shown="'yes'"`) || strings.Contains(log, "hidden") {
		t.Error(log)
	}
	if !strings.Contains(s.do("GET", "/metrics", "", rootAuth).body, "surrealdb_slow_query_total 1\n") {
		t.Error("not counted")
	}
}

// Fifty clients at once, each with its own session: none sees another's place, variables or answers.
func TestSessionsDoNotMix(t *testing.T) {
	s := start(t)
	const clients = 50
	done := make(chan string, clients)
	for i := range clients {
		k := s.dial("json").root()
		go func() {
			n := string(rune('a'+i%26)) + string(rune('a'+i/26))
			want := `"result":"` + n + `"`
			for range 50 {
				for _, m := range []string{`{"id":1,"method":"use","params":["ns_` + n + `","db"]}`, `{"id":2,"method":"let","params":["v","` + n + `"]}`} {
					if got := k.say(m); strings.Contains(got, `"error"`) {
						done <- got
						return
					}
				}
				if got := k.say(`{"id":3,"method":"query","params":["RETURN $v; RETURN session::ns()"]}`); strings.Count(got, want) != 1 || !strings.Contains(got, `"ns_`+n+`"`) {
					done <- got
					return
				}
			}
			done <- ""
		}()
	}
	for range clients {
		if got := <-done; got != "" {
			t.Error(got)
		}
	}
}
