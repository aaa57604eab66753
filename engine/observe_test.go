//go:build linux || windows || cgo

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// sharedStore is a store in memory that several engines have open, as processes have a cluster.
type sharedStore struct{ kv.Store }

// Time implements kv.Dated.
func (sharedStore) Time(kv.Version) time.Time { return time.Now() }

// Close leaves the store open for the others.
func (sharedStore) Close() error { return nil }

// overPairs runs f with two processes over one store, in memory and on a cluster.
func overPairs(t *testing.T, f func(t *testing.T, a, b *engine.Engine)) {
	pair := func(t *testing.T, open func() kv.Store) {
		var both [2]*engine.Engine
		for i := range both {
			e, err := engine.OpenOn(context.Background(), open(), engine.Options{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close(context.Background()) })
			both[i] = e
		}
		f(t, both[0], both[1])
	}
	t.Run("memory", func(t *testing.T) {
		st := mem.New()
		pair(t, func() kv.Store { return sharedStore{st} })
	})
	t.Run("cluster", func(t *testing.T) {
		c, prefix := stub.Shared(t)
		pair(t, func() kv.Store {
			st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
				Counter: record.MayCount, Steady: catalog.Steady})
			if err != nil {
				t.Fatal(err)
			}
			return st
		})
	})
}

// mustDo runs a text that must not fail, and gives the last answer.
func mustDo(t testing.TB, s *engine.Session, text string) value.Value {
	t.Helper()
	v, err := tryDo(s, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func tryDo(s *engine.Session, text string) (value.Value, error) {
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		return value.None, err
	}
	for _, r := range res {
		if r.Err != nil {
			return value.None, r.Err
		}
	}
	return res[len(res)-1].Value, nil
}

func isRevoked(err error) bool {
	var e *errs.Error
	return errors.As(err, &e) && e.Kind == errs.KindNotAllowed && strings.Contains(e.Msg, "revoked")
}

// signedIn is a session of a system user.
func signedIn(t *testing.T, e *engine.Engine, user string) *engine.Session {
	t.Helper()
	s := e.Session()
	if err := s.SigninBasic(context.Background(), user, "p", "main", "main"); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDefinitionsOfOthers: what one process has defined holds for the next statement of another.
func TestDefinitionsOfOthers(t *testing.T) { overPairs(t, definitionsOfOthers) }

func definitionsOfOthers(t *testing.T, a, b *engine.Engine) {
	one, two := a.RootSession(), b.RootSession()
	for i := range 20 {
		mustDo(t, one, fmt.Sprintf("USE NS main DB main; DEFINE FIELD OVERWRITE n ON t VALUE %d", i))
		if got := mustDo(t, two, "USE NS main DB main; (UPSERT ONLY t:1).n").Text(); got != fmt.Sprint(i) {
			t.Errorf("after %d: %s", i, got)
		}
		one, two = two, one
	}
	mustDo(t, one, "DEFINE FUNCTION fn::f() { 1 }")
	mustDo(t, two, "fn::f()")
	mustDo(t, one, "REMOVE FUNCTION fn::f")
	if _, err := tryDo(two, "fn::f()"); err == nil {
		t.Error("a function that another process has removed runs")
	}
}

// TestSessionsOfOthers: a session whose identity another process has ended is refused from the next statement on, and
// has the roles that another process has given it.
func TestSessionsOfOthers(t *testing.T) { overPairs(t, sessionsOfOthers) }

func sessionsOfOthers(t *testing.T, a, b *engine.Engine) {
	for i := range 5 {
		admin := a.RootSession()
		mustDo(t, admin, "USE NS main DB main; DEFINE TABLE IF NOT EXISTS t; DEFINE USER u ON DATABASE PASSWORD 'p' ROLES EDITOR")
		s := signedIn(t, b, "u")
		mustDo(t, s, "CREATE t")
		mustDo(t, admin, "DEFINE USER OVERWRITE v ON DATABASE PASSWORD 'p' ROLES EDITOR")
		other := signedIn(t, b, "v")
		mustDo(t, other, "CREATE t")
		mustDo(t, admin, "ALTER USER v ON DATABASE ROLES VIEWER")
		if got := mustDo(t, other, "LET $x = CREATE t; RETURN $x").Text(); got != "[]" {
			t.Fatalf("round %d: one who is a VIEWER since another process said so creates %s", i, got)
		}
		mustDo(t, admin, "REMOVE USER u ON DATABASE")
		for _, text := range []string{"RETURN 1", "SELECT * FROM t", "BEGIN; CREATE t; COMMIT"} {
			if _, err := tryDo(s, text); !isRevoked(err) {
				t.Fatalf("round %d: %s after the user was removed by another process: %v", i, text, err)
			}
		}
		a, b = b, a
	}
}

// TestTokensOfOthers: a token that one process revokes is of no use at another one.
func TestTokensOfOthers(t *testing.T) { overPairs(t, tokensOfOthers) }

func tokensOfOthers(t *testing.T, a, b *engine.Engine) {
	ctx := context.Background()
	mustDo(t, a.RootSession(), "USE NS main DB main; DEFINE USER u ON DATABASE PASSWORD 'p' ROLES EDITOR")
	params := value.NewObject(value.Field{Name: "NS", Value: value.Str("main")},
		value.Field{Name: "DB", Value: value.Str("main")}, value.Field{Name: "user", Value: value.Str("u")},
		value.Field{Name: "pass", Value: value.Str("p")})
	token, err := a.Session().Signin(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	s := b.Session()
	if err := s.Authenticate(ctx, token.Str()); err != nil {
		t.Fatal(err)
	}
	mustDo(t, s, "RETURN 1")
	if err := a.Session().RevokeTokens(ctx, token.Str(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := tryDo(s, "RETURN 1"); !isRevoked(err) {
		t.Errorf("a session with a token that another process has revoked: %v", err)
	}
	if err := b.Session().Authenticate(ctx, token.Str()); err == nil {
		t.Error("a token that another process has revoked signs in")
	}
}

const recordUsers = `USE NS main DB main; DEFINE TABLE user PERMISSIONS FULL; DEFINE TABLE other PERMISSIONS FULL;
	DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $name) SIGNIN (SELECT * FROM user WHERE name = $name)`

func signup(e *engine.Engine, name string) (*engine.Session, error) {
	s := e.Session()
	_, err := s.Signup(context.Background(), value.NewObject(value.Field{Name: "NS", Value: value.Str("main")},
		value.Field{Name: "DB", Value: value.Str("main")}, value.Field{Name: "AC", Value: value.Str("acc")},
		value.Field{Name: "name", Value: value.Str(name)}))
	return s, err
}

// TestRecordUsersOfOthers: when one process deletes the record that a user is, the sessions of it at another one end.
func TestRecordUsersOfOthers(t *testing.T) { overPairs(t, recordUsersOfOthers) }

func recordUsersOfOthers(t *testing.T, a, b *engine.Engine) {
	admin := a.RootSession()
	mustDo(t, admin, recordUsers)
	for i := range 5 {
		s, err := signup(b, fmt.Sprint("u", i))
		if err != nil {
			t.Fatal(err)
		}
		mustDo(t, s, "CREATE other")
		mustDo(t, admin, fmt.Sprintf("DELETE user WHERE name = 'u%d'", i))
		if _, err := tryDo(s, "RETURN 1"); !isRevoked(err) {
			t.Errorf("the record of the user is gone: %v", err)
		}
	}
}

// TestSigninsMeetDeletes: a session whose record is deleted by another process while it signs in does not go on.
func TestSigninsMeetDeletes(t *testing.T) { overPairs(t, signinsMeetDeletes) }

func signinsMeetDeletes(t *testing.T, a, b *engine.Engine) {
	admin := a.RootSession()
	mustDo(t, admin, recordUsers)
	for i := range 30 {
		var wg sync.WaitGroup
		var s *engine.Session
		wg.Go(func() { s, _ = signup(b, fmt.Sprint("u", i)) })
		wg.Go(func() {
			for range 5 {
				_, _ = tryDo(admin, "DELETE user")
			}
		})
		wg.Wait()
		mustDo(t, admin, "DELETE user")
		if s == nil || s.Principal().Record.Kind() != value.KindRecord || !s.Principal().Stored {
			continue
		}
		if _, err := tryDo(s, "RETURN 1"); !isRevoked(err) {
			t.Fatalf("round %d: the record of the user is gone: %v", i, err)
		}
	}
}

// TestSettingsOfOthers: a setting that one process changes comes to hold at another one, also without a statement.
func TestSettingsOfOthers(t *testing.T) { overPairs(t, settingsOfOthers) }

func settingsOfOthers(t *testing.T, a, b *engine.Engine) {
	two := b.RootSession()
	mustDo(t, two, "RETURN 1")
	mustDo(t, a.RootSession(), "ALTER SYSTEM QUERY_TIMEOUT 20ms")
	for end := time.Now().Add(30 * time.Second); ; {
		if _, err := tryDo(two, "sleep(1s)"); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not come to hold")
		}
	}
}
