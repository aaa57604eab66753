package daemon_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

const accountSetup = `
DEFINE TABLE user PERMISSIONS FOR select, update WHERE id = $auth;
DEFINE USER robot ON DATABASE PASSWORD 'r' ROLES VIEWER;
CREATE user:1 SET name = 'one', pass = 'p';
DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass) WITH REFRESH DURATION FOR TOKEN 10m, FOR SESSION 1h;
DEFINE ACCESS short ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass) DURATION FOR TOKEN 1s, FOR SESSION 1s;
DEFINE ACCESS picky ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass) AUTHENTICATE { IF $auth.banned { THROW 'banned' }; RETURN $auth };
DEFINE ACCESS keys ON DATABASE TYPE BEARER FOR USER;
DEFINE ACCESS records ON DATABASE TYPE BEARER FOR RECORD;
DEFINE ACCESS brief ON DATABASE TYPE BEARER FOR USER DURATION FOR GRANT 1s`

// enter signs in over HTTP and gives the answer.
func (s *server) enter(fields string) (status int, token, refresh string) {
	s.t.Helper()
	r := s.do("POST", "/signin", `{"ns":"test","db":"test",`+fields+`}`, "Accept: application/json")
	var got struct{ Token, Refresh string }
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		s.t.Fatal(r.body)
	}
	return r.StatusCode, got.Token, got.Refresh
}

// DURATION FOR TOKEN and FOR SESSION; both end the access to data.
func TestDurations(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, accountSetup)
	_, token, _ := s.enter(`"ac":"acc","pass":"p"`)
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	var claims struct{ Iat, Exp int64 }
	if err == nil {
		err = json.Unmarshal(body, &claims)
	}
	if err != nil || claims.Exp-claims.Iat != 600 {
		t.Errorf("FOR TOKEN 10m: %+v %v", claims, err)
	}
	k := s.dial("json")
	if got := k.say(`{"id":1,"method":"signin","params":[{"NS":"test","DB":"test","AC":"short","pass":"p"}]}`); !strings.Contains(got, "result") {
		t.Fatal(got)
	}
	_, short, _ := s.enter(`"ac":"short","pass":"p"`)
	eventually(t, "the end of the session", func() bool {
		return strings.Contains(k.say(`{"id":2,"method":"query","params":["SELECT * FROM user"]}`), "The session has expired")
	})
	eventually(t, "the end of the token", func() bool {
		return strings.Contains(s.dial("json").say(`{"id":1,"method":"authenticate","params":["`+short+`"]}`), "The token has expired")
	})
	for _, method := range []string{`"select","params":["user"]`, `"run","params":["math::pi"]`, `"info"`, `"begin"`, `"live","params":["user"]`, `"let","params":["a",1]`} {
		if got := k.say(`{"id":3,"method":` + method + `}`); !strings.Contains(got, "The session has expired") || !strings.Contains(got, "-32000") {
			t.Errorf("%s after the end: %s", method, got)
		}
	}
	for _, method := range []string{`"ping"`, `"use","params":["test","test"]`, `"authenticate","params":["` + token + `"]`} {
		if got := k.say(`{"id":4,"method":` + method + `}`); strings.Contains(got, "error") {
			t.Errorf("%s after the end: %s", method, got)
		}
	}
	if got := k.say(`{"id":5,"method":"query","params":["SELECT VALUE name FROM user"]}`); !strings.Contains(got, `["one"]`) {
		t.Errorf("after a new token: %s", got)
	}
}

// A refresh key works once, also under concurrent use, and only at the level where it was made.
func TestRefreshIsSingleUse(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, accountSetup)
	_, access, refresh := s.enter(`"ac":"acc","pass":"p"`)
	if !strings.HasPrefix(refresh, "surreal-refresh-") {
		t.Fatalf("no refresh key: %q", refresh)
	}
	for _, fields := range []string{`"ac":"short","refresh":"` + refresh + `"`, `"ac":"keys","key":"` + refresh + `"`, `"ac":"acc","key":"` + refresh + `"`,
		`"ac":"acc","refresh":"` + refresh[:len(refresh)-1] + `!"`, `"ac":"acc","refresh":"` + strings.Replace(refresh, "refresh", "bearer", 1) + `"`} {
		if status, _, _ := s.enter(fields); status == 200 {
			t.Errorf("%s lets in", fields)
		}
	}
	var wg sync.WaitGroup
	won := make(chan string, 16)
	for range cap(won) {
		wg.Go(func() {
			if status, _, next := s.enter(`"ac":"acc","refresh":"` + refresh + `"`); status == 200 {
				won <- next
			}
		})
	}
	wg.Wait()
	close(won)
	var keys []string
	for k := range won {
		keys = append(keys, k)
	}
	if len(keys) != 1 {
		t.Fatalf("%d of 16 got in by one refresh key", len(keys))
	}
	k := s.dial("json")
	call := func(method, refresh string) string {
		return k.say(`{"id":1,"method":"` + method + `","params":[{"access":"` + access + `","refresh":"` + refresh + `"}]}`)
	}
	if got := call("revoke", keys[0]); strings.Contains(got, "error") {
		t.Errorf("revoke: %s", got)
	}
	for _, method := range []string{"refresh", "revoke"} {
		if got := call(method, keys[0]); !strings.Contains(got, "There was a problem with authentication") {
			t.Errorf("%s after revoke: %s", method, got)
		}
	}
}

// Bearer grants: for users and for records; revoked, expired and foreign ones are nothing.
func TestBearerGrants(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, accountSetup)
	grant := func(text string) string {
		r := s.do("POST", "/sql", text, at()...)
		var got []struct {
			Result struct{ Grant struct{ Key string } }
		}
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || got[0].Result.Grant.Key == "" {
			t.Fatalf("%s: %s", text, r.body)
		}
		return got[0].Result.Grant.Key
	}
	robot, one, brief := grant("ACCESS keys GRANT FOR USER robot"), grant("ACCESS records GRANT FOR RECORD user:1"), grant("ACCESS brief GRANT FOR USER robot")
	status, token, _ := s.enter(`"ac":"keys","key":"` + robot + `"`)
	if status != 200 {
		t.Fatal("a good key does not let in")
	}
	r := s.do("POST", "/sql", "SELECT VALUE name FROM user; DEFINE TABLE x", "Service-NS: test", "Service-DB: test", "Authorization: Bearer "+token)
	if !strings.Contains(r.body, `["one"]`) || !strings.Contains(r.body, "Not enough permissions") {
		t.Errorf("a viewer's key: %s", r.body)
	}
	status, token, _ = s.enter(`"ac":"records","key":"` + one + `"`)
	r = s.do("POST", "/sql", "RETURN $auth; SELECT VALUE name FROM user", "Authorization: Bearer "+token)
	if status != 200 || !strings.Contains(r.body, `"user:1"`) || !strings.Contains(r.body, `["one"]`) {
		t.Errorf("a record's key: %d %s", status, r.body)
	}
	eventually(t, "the end of the grant", func() bool {
		status, _, _ := s.enter(`"ac":"brief","key":"` + brief + `"`)
		return status == 401
	})
	setup(t, s, "ACCESS records REVOKE ALL; REMOVE USER robot ON DATABASE")
	for name, fields := range map[string]string{"revoked": `"ac":"records","key":"` + one + `"`, "of a user that is gone": `"ac":"keys","key":"` + robot + `"`,
		"of another access": `"ac":"keys","key":"` + one + `"`, "of no kind": `"ac":"keys","key":"x"`, "no key": `"ac":"keys"`} {
		if status, _, _ := s.enter(fields); status != 401 {
			t.Errorf("a key %s: %d", name, status)
		}
	}
	setup(t, s, "REMOVE ACCESS keys ON DATABASE; DEFINE USER robot ON DATABASE PASSWORD 'r'; DEFINE ACCESS keys ON DATABASE TYPE BEARER FOR USER")
	if status, _, _ := s.enter(`"ac":"keys","key":"` + robot + `"`); status != 401 {
		t.Errorf("a key outlives its access method: %d", status)
	}
}

// AUTHENTICATE is asked at sign-in and for every token; its own words reach the client.
func TestAuthenticateClause(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, accountSetup)
	status, token, _ := s.enter(`"ac":"picky","pass":"p"`)
	if status != 200 {
		t.Fatal("not let in")
	}
	setup(t, s, "UPDATE user:1 SET banned = true")
	if r := s.do("POST", "/signin", `{"ns":"test","db":"test","ac":"picky","pass":"p"}`); r.StatusCode != 400 || !strings.Contains(r.body, "An error occurred: banned") {
		t.Errorf("sign in: %d %s", r.StatusCode, r.body)
	}
	if got := s.dial("json").say(`{"id":1,"method":"authenticate","params":["` + token + `"]}`); !strings.Contains(got, "An error occurred: banned") {
		t.Errorf("token: %s", got)
	}
	if in, _ := s.lets(token); in {
		t.Error("the token still lets in")
	}
}

// Changing a password, a key or a definition ends the tokens made with the old one.
func TestChangesEndTokens(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, accountSetup)
	_, robot, _ := s.enter(`"user":"robot","pass":"r"`)
	_, one, _ := s.enter(`"ac":"acc","pass":"p"`)
	for _, token := range []string{robot, one} {
		if in, _ := s.lets(token); !in {
			t.Fatal("a fresh token does not let in")
		}
	}
	setup(t, s, `DEFINE USER OVERWRITE robot ON DATABASE PASSWORD 'other' ROLES VIEWER;
		DEFINE ACCESS OVERWRITE acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)`)
	for _, token := range []string{robot, one} {
		if in, _ := s.lets(token); in {
			t.Error("an old token lets in")
		}
	}
}
