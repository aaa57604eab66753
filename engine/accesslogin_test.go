package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

// accessEngine is an engine in memory with a database user and access methods in n/d.
func accessEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.Open(context.Background(), "memory", engine.Options{Guests: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := e.RootSession()
	ns, db := "n", "d"
	if err := s.Use(context.Background(), &ns, &db); err != nil {
		t.Fatal(err)
	}
	run(t, s, `
		DEFINE USER dbu ON DATABASE PASSWORD 'd';
		DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth.id;
		DEFINE ACCESS acc ON DATABASE TYPE RECORD
			SIGNUP (CREATE user SET email = $email, pass = $pass)
			SIGNIN (SELECT * FROM user WHERE email = $email AND pass = $pass)
			WITH REFRESH DURATION FOR TOKEN 15m, FOR SESSION 1h;
		DEFINE ACCESS jwt ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'shared secret';
		DEFINE ACCESS aud ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'shared secret' AUDIENCE 'api', 'internal';
		DEFINE ACCESS bearer ON DATABASE TYPE BEARER FOR USER;
	`)
	return e
}

func TestRecordUsersSignUpAndIn(t *testing.T) {
	e := accessEngine(t)
	ctx := context.Background()
	creds := []string{"NS", "n", "DB", "d", "AC", "acc", "email", "a@b", "pass", "pw"}
	s := e.Session()
	answer, err := s.Signup(ctx, credentials(creds...))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Kind() != value.KindObject {
		t.Fatalf("WITH REFRESH answers %s", answer.Text())
	}
	if got := run(t, s, "RETURN type::of($auth); SELECT VALUE email FROM user; RETURN $access"); got[0].Value.Str() != "record" ||
		got[1].Value.Text() != "['a@b']" || got[2].Value.Str() != "acc" {
		t.Errorf("got %s, %s, %s", got[0].Value.Text(), got[1].Value.Text(), got[2].Value.Text())
	}
	if exp := s.Principal().Expiry - time.Now().Unix(); exp < 3500 || exp > 3600 {
		t.Errorf("the session ends in %d s", exp)
	}
	if _, err := e.Session().Signin(ctx, credentials(append(creds[:8:8], "pass", "bad")...)); err == nil || err.Error() != "No record was returned" {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := e.Session().Signin(ctx, credentials(creds...)); err != nil {
		t.Errorf("signin: %v", err)
	}
	if _, err := e.Session().Signin(ctx, credentials("NS", "n", "DB", "d", "AC", "nope")); err == nil || err.Error() != "The access method does not exist" {
		t.Errorf("unknown access method: %v", err)
	}
	refresh, _ := answer.Object().Get("refresh")
	refreshed := credentials("NS", "n", "DB", "d", "AC", "acc", "refresh", refresh.Str())
	if _, err := e.Session().Signin(ctx, refreshed); err != nil {
		t.Errorf("refresh: %v", err)
	}
	if _, err := e.Session().Signin(ctx, refreshed); err == nil {
		t.Error("a refresh token works twice")
	}
	access, _ := answer.Object().Get("access")
	again := e.Session()
	if err := again.Authenticate(ctx, access.Str()); err != nil || !value.Equal(again.Principal().Record, s.Principal().Record) {
		t.Errorf("authenticate: %v, %s", err, again.Principal().Record.Text())
	}
}

func TestTokensOfAnExternalIssuer(t *testing.T) {
	e := accessEngine(t)
	ctx := context.Background()
	sign := func(algorithm, key string, change func(*auth.Claims)) string {
		c := auth.NewClaims(time.Now(), time.Hour)
		c.NS, c.DB, c.AC, c.Roles = "n", "d", "jwt", []string{"Editor"}
		change(&c)
		text, err := c.Sign(algorithm, key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	keep := func(*auth.Claims) {}
	for _, tc := range []struct {
		name, token string
		ok          bool
	}{
		{"a good token", sign("HS256", "shared secret", keep), true},
		{"another key", sign("HS256", "other", keep), false},
		{"another algorithm", sign("HS512", "shared secret", keep), false},
		{"an expired one", sign("HS256", "shared secret", func(c *auth.Claims) { c.Expires = time.Now().Add(-time.Minute).Unix() }), false},
		{"one from the future", sign("HS256", "shared secret", func(c *auth.Claims) { c.NotBefore = time.Now().Add(time.Hour).Unix() }), false},
		{"an unknown role", sign("HS256", "shared secret", func(c *auth.Claims) { c.Roles = []string{"Emperor"} }), false},
		{"another database", sign("HS256", "shared secret", func(c *auth.Claims) { c.DB = "other" }), false},
		{"an audience that nobody asks for", sign("HS256", "shared secret", func(c *auth.Claims) { c.Audience = []string{"x"} }), true},
		{"no audience", sign("HS256", "shared secret", func(c *auth.Claims) { c.AC = "aud" }), false},
		{"another audience", sign("HS256", "shared secret", func(c *auth.Claims) { c.AC, c.Audience = "aud", []string{"API", "apis"} }), false},
		{"the audience", sign("HS256", "shared secret", func(c *auth.Claims) { c.AC, c.Audience = "aud", []string{"internal"} }), true},
		{"one of several audiences", sign("HS256", "shared secret", func(c *auth.Claims) { c.AC, c.Audience = "aud", []string{"x", "api"} }), true},
		{"no signature", "eyJhbGciOiJub25lIn0.eyJOUyI6Im4iLCJEQiI6ImQiLCJBQyI6Imp3dCJ9.", false},
		{"rubbish", "bad.token.here", false},
	} {
		s := e.Session()
		if err := s.Authenticate(ctx, tc.token); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
		if tc.ok && (s.Principal().Level != auth.DatabaseUser || s.Principal().Roles != auth.Editor) {
			t.Errorf("%s: got %+v", tc.name, s.Principal())
		}
	}
}

func TestRecordTokensHaveTheAudienceOfTheirMethod(t *testing.T) {
	e := accessEngine(t)
	ctx := context.Background()
	admin := e.RootSession()
	ns, db := "n", "d"
	if err := admin.Use(ctx, &ns, &db); err != nil {
		t.Fatal(err)
	}
	run(t, admin, `CREATE user:1; DEFINE ACCESS rec ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user:1)
		WITH JWT ALGORITHM HS512 KEY 'k' AUDIENCE 'a', 'b'`)
	s := e.Session()
	token, err := s.Signin(ctx, credentials("NS", "n", "DB", "d", "AC", "rec"))
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, s, "RETURN $token.aud"); got[0].Value.Text() != "['a', 'b']" {
		t.Errorf("aud is %s", got[0].Value.Text())
	}
	if err := e.Session().Authenticate(ctx, token.Str()); err != nil {
		t.Errorf("its own token: %v", err)
	}
	run(t, admin, `DEFINE ACCESS OVERWRITE rec ON DATABASE TYPE RECORD WITH JWT ALGORITHM HS512 KEY 'k' AUDIENCE 'c'`)
	if err := e.Session().Authenticate(ctx, token.Str()); err == nil {
		t.Error("a token for another audience was taken")
	}
}

func TestBearerKeys(t *testing.T) {
	e := accessEngine(t)
	ctx := context.Background()
	owner := e.SessionAs(auth.RootOwner(), "n", "d")
	row := run(t, owner, "ACCESS bearer GRANT FOR USER dbu")[0].Value.Object()
	g, _ := row.Get("grant")
	key, _ := g.Object().Get("key")
	in := credentials("NS", "n", "DB", "d", "AC", "bearer", "key", key.Str())
	s := e.Session()
	if _, err := s.Signin(ctx, in); err != nil || s.Principal().Roles != auth.Viewer {
		t.Fatalf("signin: %v, %+v", err, s.Principal())
	}
	if _, err := e.Session().Signin(ctx, credentials("NS", "n", "DB", "d", "AC", "bearer", "key", key.Str()[:len(key.Str())-1]+"!")); err == nil {
		t.Error("a changed key works")
	}
	id, _ := row.Get("id")
	run(t, owner, "ACCESS bearer REVOKE GRANT "+id.Str())
	if _, err := e.Session().Signin(ctx, in); err == nil {
		t.Error("a revoked key works")
	}
}

// TestSignInThatEndsWithoutAnIdentity tells what is wrong with the access method; and of several records the first signs in.
func TestSignInThatEndsWithoutAnIdentity(t *testing.T) {
	e := accessEngine(t)
	ctx := context.Background()
	s := e.RootSession()
	ns, db := "n", "d"
	if err := s.Use(ctx, &ns, &db); err != nil {
		t.Fatal(err)
	}
	run(t, s, "DEFINE ACCESS mute ON DATABASE TYPE RECORD; DEFINE ACCESS two ON DATABASE TYPE RECORD SIGNIN [user:1, user:2]; DEFINE ACCESS text ON DATABASE TYPE RECORD SIGNIN 'user:1'")
	for _, c := range []struct{ access, key, in, up string }{
		{"mute", "", "This record access method does not allow signin", "This record access method does not allow signup"},
		{"jwt", "", "The access method cannot be used in the requested operation", "The access method cannot be used in the requested operation"},
		{"bearer", "", "This bearer access method requires a key to be provided", "The access method cannot be used in the requested operation"},
		{"bearer", "x", "This bearer access grant has an invalid format", "The access method cannot be used in the requested operation"},
		{"bearer", "surreal-bearer-123456789012-123456789012345678901234", "There was a problem with authentication", "The access method cannot be used in the requested operation"},
		{"two", "", "user:1", "This record access method does not allow signup"},
		{"text", "", "No record was returned", "This record access method does not allow signup"},
	} {
		creds := []string{"NS", ns, "DB", db, "AC", c.access}
		if c.key != "" {
			creds = append(creds, "key", c.key)
		}
		in := e.Session()
		got := ""
		if _, err := in.Signin(ctx, credentials(creds...)); err != nil {
			got = err.Error()
		} else {
			got = run(t, in, "RETURN $auth")[0].Value.Text()
		}
		if got != c.in {
			t.Errorf("signin by %s, key %q: got %s, want %s", c.access, c.key, got, c.in)
		}
		if _, err := e.Session().Signup(ctx, credentials(creds...)); err == nil || err.Error() != c.up {
			t.Errorf("signup by %s: got %v, want %s", c.access, err, c.up)
		}
	}
}
