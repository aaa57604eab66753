package daemon_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// guesses is a server that lets a client guess three times, and once a minute more.
func guesses(t *testing.T, change ...func(*config.Config)) *server {
	t.Helper()
	s := start(t, append([]func(*config.Config){func(c *config.Config) { c.AuthRate, c.AuthBurst = 1, 3 }}, change...)...)
	setup(t, s, `DEFINE USER ed ON DATABASE PASSWORD 'ed' ROLES EDITOR; DEFINE USER ed ON NAMESPACE PASSWORD 'ned' ROLES EDITOR; DEFINE USER vi ON DATABASE PASSWORD 'vi';
		DEFINE TABLE user; CREATE user:1 SET name = 'ada', pass = 'a'; CREATE user:2 SET name = 'bob', pass = 'b';
		DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE name = $name AND pass = $pass);
		DEFINE ACCESS loud ON DATABASE TYPE RECORD SIGNIN {
			LET $u = SELECT * FROM user WHERE name = $name AND pass = $pass; IF !$u { THROW 'wrong' }; RETURN $u }`)
	return s
}

func basicAuth(user, pass string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+pass))
}

func (s *server) token(body string) string {
	s.t.Helper()
	r := s.do("POST", "/signin", body, "Accept: application/json")
	var got struct{ Token string }
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Token == "" {
		s.t.Fatalf("%s: %d %s", body, r.StatusCode, r.body)
	}
	return got.Token
}

const inTest = `"ns":"test","db":"test"`

// Tokens are never counted: any number of wrong tokens keeps out no right one.
func TestBadTokensLockOutNobody(t *testing.T) {
	s := guesses(t)
	token := s.token(`{"user":"root","pass":"root"}`)
	for i := range 40 {
		if r := s.do("POST", "/sql", "RETURN 1", "Authorization: Bearer x.y.z"); r.StatusCode != 401 {
			t.Fatalf("bad token %d: %d", i, r.StatusCode)
		}
	}
	k := s.dial("json")
	for i := range 40 {
		if got := k.say(`{"id":1,"method":"authenticate","params":["x.y.z"]}`); strings.Contains(got, "Too many") || !strings.Contains(got, "error") {
			t.Fatalf("bad token %d: %s", i, got)
		}
	}
	if r := s.do("POST", "/sql", "RETURN 1", "Authorization: Bearer "+token); r.StatusCode != 200 {
		t.Errorf("the right token: %d", r.StatusCode)
	}
	if r := s.do("POST", "/sql", "RETURN 1", basicAuth("ed", "ed"), "Service-Auth-NS: test", "Service-Auth-DB: test"); r.StatusCode != 200 {
		t.Errorf("a right password: %d", r.StatusCode)
	}
	if got := k.say(`{"id":1,"method":"authenticate","params":["` + token + `"]}`); strings.Contains(got, "error") {
		t.Errorf("the right token on a socket: %s", got)
	}
}

// Wrong passwords of one user keep out no others of the same address, nor the user at another one, nor one that has signed in
// before; whichever door they come by.
func TestWrongPasswordsLockOutTheirUserAlone(t *testing.T) {
	s := guesses(t, func(c *config.Config) { c.ClientIP = "X-Forwarded-For" })
	at := func(n int) string { return fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", n) }
	signin := func(from int, body string) int { return s.do("POST", "/signin", body, at(from)).StatusCode }
	doors := map[string]func(from int, pass string) int{
		"/signin": func(from int, pass string) int { return signin(from, `{`+inTest+`,"user":"ed","pass":"`+pass+`"}`) },
		"Basic": func(from int, pass string) int {
			return s.do("POST", "/sql", "RETURN 1", basicAuth("ed", pass), "Service-Auth-NS: test", "Service-Auth-DB: test", at(from)).StatusCode
		},
		"RPC": func(from int, pass string) int {
			r := s.do("POST", "/rpc", `{"id":1,"method":"signin","params":[{`+inTest+`,"user":"ed","pass":"`+pass+`"}]}`, "Content-Type: application/json", at(from))
			switch {
			case strings.Contains(r.body, "Too many"):
				return 429
			case strings.Contains(r.body, `"error"`):
				return 401
			}
			return r.StatusCode
		},
	}
	from := 1
	for name, door := range doors {
		from += 2
		for range 3 {
			if got := door(from, "wrong"); got != 401 {
				t.Fatalf("%s: a guess inside of the budget: %d", name, got)
			}
		}
		for other, door := range doors {
			if got := door(from, "wrong"); got != 429 {
				t.Errorf("%s, then %s: a guess too many: %d", name, other, got)
			}
		}
		for what, got := range map[string]int{
			"the same name on the namespace":    signin(from, `{"ns":"test","user":"ed","pass":"ned"}`),
			"another user":                      signin(from, `{`+inTest+`,"user":"vi","pass":"vi"}`),
			"a record user":                     signin(from, `{`+inTest+`,"ac":"acc","name":"ada","pass":"a"}`),
			"root":                              signin(from, `{"user":"root","pass":"root"}`),
			"the user at another address":       door(from+1, "ed"),
			"the user, who has signed in there": door(from, "ed"),
		} {
			if got != 200 {
				t.Errorf("%s: %s: %d", name, what, got)
			}
		}
	}
}

// A SIGNIN that fails or THROWs counts under each of its fields, so that guesses at one user have a field in common.
func TestGuessesAtAccessMethodsCount(t *testing.T) {
	for name, fields := range map[string]string{
		"the password changes":                `"ac":"acc","name":"ada","pass":"%d"`,
		"it throws":                           `"ac":"loud","name":"ada","pass":"%d"`,
		"a field that nobody reads":           `"ac":"loud","name":"ada","pass":"%d","nonce":"%[1]d"`,
		"two places, the first one is a sham": `"ac":"loud","AC":"x%[1]d","NS":"x%[1]d","DB":"x%[1]d","name":"ada","pass":"%[1]d"`,
		"one password, many users":            `"ac":"acc","name":"%d","pass":"secret"`,
		"many fields":                         `"ac":"loud","name":"ada","pass":"%d"` + manyFields(40),
	} {
		s := guesses(t)
		limited := 0
		for i := range 20 {
			body := fmt.Sprintf(`{`+inTest+`,`+fields+`}`, i)
			if r := s.do("POST", "/rpc", `{"id":1,"method":"signin","params":[`+body+`]}`, "Content-Type: application/json"); strings.Contains(r.body, "Too many") {
				limited++
			} else if !strings.Contains(r.body, `"error"`) {
				t.Errorf("%s: %s", name, r.body)
			}
		}
		if limited != 17 {
			t.Errorf("%s: %d of 20 were refused, want 17", name, limited)
		}
		if r := s.do("POST", "/signin", `{`+inTest+`,"ac":"acc","name":"bob","pass":"b"}`); r.StatusCode != 200 {
			t.Errorf("%s: another user: %d", name, r.StatusCode)
		}
	}
}

func manyFields(n int) (out string) {
	for i := range n {
		out += fmt.Sprintf(`,"x%d":"%%[1]d"`, i)
	}
	return out
}

// Guesses at the same time count as those one after another.
func TestParallelGuesses(t *testing.T) {
	for name, body := range map[string]string{"a system user": `{"user":"root","pass":"%d"}`, "a record user": `{` + inTest + `,"ac":"loud","name":"ada","pass":"%d"}`} {
		s := guesses(t)
		var made atomic.Int64
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				switch r := s.do("POST", "/signin", fmt.Sprintf(body, i)); r.StatusCode {
				case 400, 401:
					made.Add(1)
				case 429:
				default:
					t.Errorf("%s: %d", name, r.StatusCode)
				}
			})
		}
		wg.Wait()
		if n := made.Load(); n != 3 {
			t.Errorf("%s: %d guesses were made, want 3", name, n)
		}
	}
}

// What a client writes into the header itself makes it no other client.
func TestForwardedFromTheRight(t *testing.T) {
	for _, tc := range []struct {
		name    string
		proxies int
		header  func(i int) string
	}{
		{"one proxy", 1, func(i int) string { return fmt.Sprintf("10.0.0.%d, 192.0.2.1", i) }},
		{"two proxies", 2, func(i int) string { return fmt.Sprintf("10.0.0.%d, 192.0.2.1, 203.0.113.9", i) }},
		{"with ports", 1, func(i int) string { return fmt.Sprintf("10.0.0.%d, 192.0.2.1:%d", i, 1000+i) }},
		{"in brackets", 1, func(i int) string { return fmt.Sprintf("10.0.0.%d, [2001:db8::%x]:443", i, i) }},
		{"a block of IPv6", 1, func(i int) string { return fmt.Sprintf("2001:db8::%x", i) }},
		{"two lines", 1, func(i int) string { return fmt.Sprintf("10.0.0.%d\r\nX-Forwarded-For: 192.0.2.1", i) }},
		{"no address", 1, func(i int) string { return fmt.Sprintf("10.0.0.1, made-up-%d", i) }},
		{"fewer than proxies", 3, func(i int) string { return fmt.Sprintf("192.0.2.1, 10.0.0.%d", i) }},
	} {
		s := guesses(t, func(c *config.Config) { c.ClientIP, c.TrustedProxies = "X-Forwarded-For", tc.proxies })
		limited := 0
		for i := range 10 {
			const body = `{"user":"root","pass":"wrong"}`
			resp, _ := s.raw(fmt.Sprintf("POST /signin HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nX-Real-IP: 10.1.1.%d\r\nForwarded: for=10.2.2.%d\r\nContent-Length: %d\r\n\r\n%s",
				tc.header(i), i, i, len(body), body))
			if resp.StatusCode == 429 {
				limited++
			}
		}
		if limited != 7 {
			t.Errorf("%s: %d of 10 were refused, want 7", tc.name, limited)
		}
	}
}
