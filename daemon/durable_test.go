package daemon_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// attached calls methods in a session that is attached over HTTP.
type attached struct {
	*server
	id string
}

func (a attached) call(m string) string {
	return a.do("POST", "/rpc", `{"id":1,`+m+`,"session":"`+a.id+`"}`, "Content-Type: application/json").body
}

const durableID = "7c0e4d1a-9f2b-4c63-8a55-d2b1f7e90c3d"

func durable(path string) func(*config.Config) {
	return func(c *config.Config) { c.Path, c.DurableSessions, c.AuthRate = path, true, 0 }
}

func stop(t *testing.T, s *server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// Identity, place and variables are there after a restart; the store tells nothing of them, and the id is not in it.
func TestSessionsOutliveTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	a := attached{start(t, durable(path)), durableID}
	for _, m := range []string{`"method":"attach"`, `"method":"signin","params":[{"user":"root","pass":"root"}]`,
		`"method":"use","params":["shop","main"]`, `"method":"let","params":["secret","canary7"]`,
		`"method":"query","params":["CREATE a:1"]`} {
		if got := a.call(m); strings.Contains(got, "error") {
			t.Fatalf("%s: %s", m, got)
		}
	}
	const ask = `"method":"query","params":["RETURN [$secret, session::ns(), session::db()]; SELECT VALUE id FROM a"]`
	before := a.call(ask)
	stop(t, a.server)
	looked := 0
	err := filepath.WalkDir(filepath.Dir(path), func(name string, at fs.DirEntry, err error) error {
		if err != nil || at.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		looked++
		for _, secret := range []string{"canary7", durableID, "\x7c\x0e\x4d\x1a\x9f\x2b\x4c\x63"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has %q in clear", name, secret)
			}
		}
		return err
	})
	if err != nil || looked == 0 {
		t.Fatal(looked, err)
	}

	a.server = start(t, durable(path))
	after := a.call(ask)
	if cut(before) != cut(after) || !strings.Contains(after, "canary7") || !strings.Contains(after, "a:1") {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	other := attached{a.server, "7c0e4d1a-9f2b-4c63-8a55-d2b1f7e90c3e"}
	if got := other.call(ask); !strings.Contains(got, "Session not found") {
		t.Errorf("the session of another id: %s", got)
	}
	if got := a.call(`"method":"detach"`); strings.Contains(got, "error") {
		t.Errorf("detach: %s", got)
	}
	stop(t, a.server)
	a.server = start(t, durable(path))
	if got := a.call(ask); !strings.Contains(got, "Session not found") {
		t.Errorf("after detach: %s", got)
	}
}

// cut is an answer without the times that its statements took.
func cut(answer string) string {
	parts := strings.Split(answer, `"time":"`)
	for i := range parts[1:] {
		_, parts[i+1], _ = strings.Cut(parts[i+1], `"`)
	}
	return strings.Join(parts, "")
}

// What an identity rests on is looked up again after a restart.
func TestRevokedWhileTheServerWasDown(t *testing.T) {
	const signin = `"method":"signin","params":[{"user":"ada","pass":"x1"}]`
	const whoami = `"method":"query","params":["RETURN $auth; CREATE a"]`
	for name, revoke := range map[string]string{
		"user removed":     "REMOVE USER ada ON ROOT",
		"another password": "DEFINE USER OVERWRITE ada ON ROOT PASSWORD 'x2' ROLES OWNER",
	} {
		path := filepath.Join(t.TempDir(), "data.db")
		a := attached{start(t, durable(path)), durableID}
		a.do("POST", "/sql", "DEFINE USER ada ON ROOT PASSWORD 'x1' ROLES OWNER", at()...)
		for _, m := range []string{`"method":"attach"`, signin, `"method":"use","params":["test","test"]`, whoami} {
			if got := a.call(m); strings.Contains(got, `"error"`) || strings.Contains(got, "ERR") {
				t.Fatalf("%s: %s", m, got)
			}
		}
		stop(t, a.server)
		between := start(t, durable(path), func(c *config.Config) { c.DurableSessions = false })
		if r := between.do("POST", "/sql", revoke, at()...); !strings.Contains(r.body, "OK") {
			t.Fatal(r.body)
		}
		stop(t, between)
		a.server = start(t, durable(path))
		if got := a.call(whoami); !strings.Contains(got, "was revoked") {
			t.Errorf("%s: %s", name, got)
		}
		if got := a.call(`"method":"use","params":["other","test"]`); !strings.Contains(got, "revoked") {
			t.Errorf("%s, use: %s", name, got)
		}
	}
	// Fewer rights than before count as well.
	path := filepath.Join(t.TempDir(), "data.db")
	a := attached{start(t, durable(path)), durableID}
	a.do("POST", "/sql", "DEFINE USER ada ON ROOT PASSWORD 'x1' ROLES OWNER", at()...)
	a.call(`"method":"attach"`)
	a.call(signin)
	a.call(`"method":"use","params":["test","test"]`)
	stop(t, a.server)
	a.server = start(t, durable(path))
	a.do("POST", "/sql", "ALTER USER ada ON ROOT ROLES VIEWER", at()...)
	if got := a.call(`"method":"query","params":["DEFINE TABLE mine"]`); !strings.Contains(got, "Not enough permissions") {
		t.Errorf("a viewer by now: %s", got)
	}
}

// A server that asks for no identity gives everybody that of root: it does not last.
func TestOpenSessionsDoNotOutliveTheOpenServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	a := attached{start(t, durable(path), func(c *config.Config) { c.Unauthenticated = true }), durableID}
	a.call(`"method":"attach"`)
	a.call(`"method":"use","params":["test","test"]`)
	if got := a.call(`"method":"query","params":["CREATE a:1"]`); strings.Contains(got, `"error"`) {
		t.Fatal(got)
	}
	stop(t, a.server)
	a.server = start(t, durable(path))
	if got := a.call(`"method":"query","params":["CREATE a:2"]`); !strings.Contains(got, "ot enough permissions") &&
		!strings.Contains(got, "not allowed") {
		t.Errorf("goes on as root: %s", got)
	}
}

// An operator ends a session for good.
func TestKilledSessionsStayEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	a := attached{start(t, durable(path)), durableID}
	a.call(`"method":"attach"`)
	a.call(`"method":"signin","params":[{"user":"root","pass":"root"}]`)
	ps := a.do("POST", "/rpc", `{"id":1,"method":"processes"}`, rootAuth, "Content-Type: application/json").body
	_, list, _ := strings.Cut(ps, `"sessions":[`)
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if got := a.do("POST", "/rpc", `{"id":1,"method":"terminate","params":["`+id+`"]}`, rootAuth,
		"Content-Type: application/json").body; strings.Contains(got, "error") {
		t.Fatalf("%s\n%s", got, ps)
	}
	if got := a.call(`"method":"info"`); !strings.Contains(got, "error") {
		t.Errorf("goes on: %s", got)
	}
	stop(t, a.server)
	a.server = start(t, durable(path))
	if got := a.call(`"method":"info"`); !strings.Contains(got, "Session not found") {
		t.Errorf("goes on after a restart: %s", got)
	}
}

// A second client that attaches the same id ends the session of the first, also where only the store has it.
func TestDurableIDsAreNotShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	a := attached{start(t, durable(path)), durableID}
	a.call(`"method":"attach"`)
	a.call(`"method":"signin","params":[{"user":"root","pass":"root"}]`)
	stop(t, a.server)
	a.server = start(t, durable(path))
	if got := a.call(`"method":"attach"`); !strings.Contains(got, "Session already exists") {
		t.Errorf("attach: %s", got)
	}
	if got := a.call(`"method":"info"`); !strings.Contains(got, "Session not found") {
		t.Errorf("goes on: %s", got)
	}
}

// What cannot be kept is refused, and the session is as before.
func TestWhatDurableSessionsRefuse(t *testing.T) {
	a := attached{start(t, durable("memory")), durableID}
	a.call(`"method":"attach"`)
	a.call(`"method":"signin","params":[{"user":"root","pass":"root"}]`)
	a.call(`"method":"use","params":["test","test"]`)
	a.call(`"method":"let","params":["small","kept"]`)
	if got := a.call(`"method":"let","params":["large","` + strings.Repeat("x", 1<<20) + `"]`); !strings.Contains(got, "1 MiB") {
		t.Errorf("a large variable: %.200s", got)
	}
	if got := a.call(`"method":"query","params":["RETURN [$small, $large]"]`); !strings.Contains(got, "kept") ||
		strings.Contains(got, "xxx") {
		t.Errorf("after it: %.200s", got)
	}
}
