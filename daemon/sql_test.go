package daemon_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/nacredb/nacre/daemon/config"
)

var times = regexp.MustCompile(`"time":"[0-9.]+(ns|µs|ms|s)"`)

// timeless replaces the times of statement results by T.
func timeless(body string) string { return times.ReplaceAllString(body, `"time":"T"`) }

func ok(result string) string {
	return `{"result":` + result + `,"status":"OK","time":"T","type":null}`
}

// POST /sql: ServiceQL statements.
func TestSQL(t *testing.T) {
	s := start(t)
	for _, tc := range []struct{ name, query, body, want string }{
		{"one envelope per statement", "", "RETURN 1; RETURN 'a'", `[` + ok(`1`) + `,` + ok(`"a"`) + `]`},
		{"parameters of the address are text", "?age=18&name=Ada", "RETURN [$age, $name]", `[` + ok(`["18","Ada"]`) + `]`},
		{"a failed statement does not stop the next", "", "THROW 'x'; RETURN 2",
			`[{"kind":"Thrown","result":"An error occurred: x","status":"ERR","time":"T","type":null},` + ok(`2`) + `]`},
		{"details where the kind has some", "", "SELECT * FROM nowhere",
			`[{"details":{"details":{"name":"nowhere"},"kind":"Table"},"kind":"NotFound","result":"The table 'nowhere' does not exist","status":"ERR","time":"T","type":null}]`},
		{"nothing", "", "", `[]`},
		{"values JSON has no form for", "", "RETURN [NONE, 1.5dec, 1h30m, d'2024-01-01T00:00:00Z', person:1, u'01a1ff8e-6163-7761-a50f-13f3db900459']",
			`[` + ok(`[null,"1.5","1h30m","2024-01-01T00:00:00Z","person:1","01a1ff8e-6163-7761-a50f-13f3db900459"]`) + `]`},
	} {
		r := s.do("POST", "/sql"+tc.query, tc.body, at()...)
		if got := timeless(r.body); r.StatusCode != 200 || got != tc.want || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d\ngot  %s\nwant %s", tc.name, r.StatusCode, got, tc.want)
		}
	}
}

func TestSQLInCBOR(t *testing.T) {
	s := start(t)
	r := s.do("POST", "/sql", "RETURN 1.0", rootAuth, "Accept: application/cbor")
	var got []struct {
		Result any
		Status string
	}
	if err := cbor.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Result != 1.0 || got[0].Status != "OK" || r.Header.Get("Content-Type") != "application/cbor" {
		t.Errorf("got %+v %s", got, r.Header.Get("Content-Type"))
	}
}

// Record ids come as text too (tag 8): the whole text is one, or the message is refused.
func TestRecordIDsAsTextInCBOR(t *testing.T) {
	s := start(t)
	for in, want := range map[string]string{"t:abc": "t:abc", "t:42": "t:42", "t:['a', 1]": "t:['a', 1]", "`a b`:1": "`a b`:1", "t:u'01a1ff8e-6163-7761-a50f-13f3db900459'": "t:u'01a1ff8e-6163-7761-a50f-13f3db900459'",
		"t": "", "": "", "t:1; REMOVE TABLE t": "", "t:rand()": "", "t:(1 + 1)": "", "t:[time::now()]": "", "t:1..2": ""} {
		body, err := cbor.Marshal(map[string]any{"method": "query", "params": []any{"RETURN <string> $id", map[string]any{"id": cbor.Tag{Number: 8, Content: in}}}})
		if err != nil {
			t.Fatal(err)
		}
		r := s.do("POST", "/rpc", string(body), rootAuth, "Content-Type: application/cbor")
		if want == "" {
			if r.StatusCode != 400 || r.body != "The request body contains invalid data" {
				t.Errorf("%q: %d %q", in, r.StatusCode, r.body)
			}
			continue
		}
		var got struct{ Result []struct{ Result string } }
		if err := cbor.Unmarshal([]byte(r.body), &got); err != nil || got.Result[0].Result != want {
			t.Errorf("%q: %d %q %v", in, r.StatusCode, r.body, err)
		}
	}
}

func TestParseErrorIs400(t *testing.T) {
	s := start(t)
	r := s.do("POST", "/sql", "SELEC * FROM x", at()...)
	p := problemOf(t, r)
	if r.StatusCode != 400 || p.Details != "Request problems dectected" || !strings.HasPrefix(p.Information, "Parse error: ") {
		t.Errorf("%d %+v", r.StatusCode, p)
	}
}

// Authentication, rows 1 to 5.
func TestAuthentication(t *testing.T) {
	s := start(t)
	setup := s.do("POST", "/sql", `DEFINE USER n ON NAMESPACE PASSWORD 'n' ROLES EDITOR; DEFINE USER d ON DATABASE PASSWORD 'd' ROLES EDITOR; CREATE thing:1`, at()...)
	if setup.StatusCode != 200 || strings.Contains(setup.body, "ERR") {
		t.Fatal(setup.body)
	}
	const nsUser, dbUser = "Authorization: Basic bjpu", "Authorization: Basic ZDpk"
	for _, tc := range []struct {
		name    string
		headers []string
		status  int
		want    string // in the body
	}{
		{"root by Basic", []string{rootAuth, "Service-NS: test", "Service-DB: test"}, 200, `"thing:1"`},
		{"aliases of the headers", []string{rootAuth, "surreal-ns: test", "Surreal-DB: test"}, 200, `"thing:1"`},
		{"wrong password", []string{"Authorization: Basic cm9vdDpub3Bl"}, 401, "There was a problem with authentication."},
		{"unknown user", []string{"Authorization: Basic YTpi"}, 401, "There was a problem with authentication."},
		{"broken Basic", []string{"Authorization: Basic !!!"}, 401, "There was a problem with authentication."},
		{"unknown scheme", []string{"Authorization: Digest x"}, 401, "There was a problem with authentication."},
		{"broken token", []string{"Authorization: Bearer nope"}, 401, "There was a problem with authentication."},
		{"a namespace user is not found among the root users", []string{nsUser}, 401, "There was a problem with authentication."},
		{"a namespace user", []string{nsUser, "Service-Auth-NS: test", "Service-NS: test", "Service-DB: test"}, 200, `"thing:1"`},
		{"a namespace user without a namespace", []string{nsUser, "Service-Auth-NS: test"}, 200, "Specify a namespace to use"},
		{"a database user", []string{dbUser, "Service-Auth-NS: test", "Service-Auth-DB: test", "Service-NS: test", "Service-DB: test"}, 200, `"thing:1"`},
		{"a database without its namespace", []string{dbUser, "Service-Auth-DB: test"}, 401, "There was a problem with authentication."},
		{"outside its level", []string{nsUser, "Service-Auth-NS: test", "Service-NS: other", "Service-DB: test"}, 403, "You don't have permission to change to the other namespace"},
		{"nobody", []string{"Service-NS: test", "Service-DB: test"}, 200, "Anonymous access not allowed: Not enough permissions to perform this action"},
		{"a session id that is none", []string{rootAuth, "Surreal-Id: x"}, 401, "There was a problem with authentication."},
	} {
		r := s.do("POST", "/sql", "SELECT VALUE id FROM thing", append(tc.headers, "Accept: application/json")...)
		if r.StatusCode != tc.status || !strings.Contains(r.body, tc.want) {
			t.Errorf("%s: %d %s", tc.name, r.StatusCode, r.body)
		}
	}
}

func TestUnauthenticated(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Unauthenticated, c.User, c.Pass = true, "", "" })
	r := s.do("POST", "/sql", "DEFINE USER x ON ROOT PASSWORD 'x' ROLES OWNER; RETURN 1", "Accept: application/json")
	if r.StatusCode != 200 || strings.Contains(r.body, "ERR") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

func TestSignin(t *testing.T) {
	s := start(t)
	r := s.do("POST", "/signin", `{"user":"root","pass":"root"}`, "Accept: application/json")
	var got struct {
		Code           int
		Details, Token string
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if r.StatusCode != 200 || got.Code != 200 || got.Details == "" || strings.Count(got.Token, ".") != 2 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := s.do("POST", "/signin", `{"user":"root","pass":"root"}`, "Accept: text/plain"); strings.Count(r.body, ".") != 2 || strings.Contains(r.body, "{") {
		t.Errorf("the bare token: %s", r.body)
	}
	if r := s.do("POST", "/sql", "RETURN 1", "Authorization: Bearer "+got.Token); !strings.Contains(r.body, `"result":1`) {
		t.Errorf("the token: %d %s", r.StatusCode, r.body)
	}
	for _, body := range []string{`{"user":"root","pass":"nope"}`, `{"user":"root"}`, `{}`, `{"ns":"test","db":"test","ac":"none","x":1}`} {
		if r := s.do("POST", "/signin", body, "Accept: application/json"); r.StatusCode != 401 || problemOf(t, r).Information != "There was a problem with authentication." {
			t.Errorf("%s: %d %s", body, r.StatusCode, r.body)
		}
	}
}

func TestSignup(t *testing.T) {
	s := start(t)
	setup := s.do("POST", "/sql", `DEFINE ACCESS account ON DATABASE TYPE RECORD
		SIGNUP (CREATE user SET name = $user, pass = crypto::argon2::generate($pass))
		SIGNIN (SELECT * FROM user WHERE name = $user AND crypto::argon2::compare(pass, $pass))`, at()...)
	if strings.Contains(setup.body, "ERR") {
		t.Fatal(setup.body)
	}
	for _, tc := range []struct {
		name, path, body string
		status           int
	}{
		{"sign up", "/signup", `{"ns":"test","db":"test","ac":"account","user":"ada","pass":"x"}`, 200},
		{"sign up by the long name", "/signup", `{"ns":"test","db":"test","access":"account","user":"bob","pass":"x"}`, 200},
		{"sign in", "/signin", `{"ns":"test","db":"test","ac":"account","user":"ada","pass":"x"}`, 200},
		{"wrong password", "/signin", `{"ns":"test","db":"test","ac":"account","user":"ada","pass":"y"}`, 401},
		{"unknown access method", "/signup", `{"ns":"test","db":"test","ac":"none","user":"ada","pass":"x"}`, 401},
	} {
		if r := s.do("POST", tc.path, tc.body, "Accept: application/json"); r.StatusCode != tc.status {
			t.Errorf("%s: %d %s", tc.name, r.StatusCode, r.body)
		}
	}
}

func TestSignInFlood(t *testing.T) {
	s := start(t, func(c *config.Config) { c.AuthRate, c.AuthBurst = 1, 3 })
	for i := range 5 {
		r := s.do("POST", "/signin", `{"user":"root","pass":"nope"}`)
		want := 401
		if i >= 3 {
			want = 429
		}
		if r.StatusCode != want {
			t.Errorf("attempt %d: %d %s", i+1, r.StatusCode, r.body)
		}
		if want == 429 && (r.Header.Get("Retry-After") == "" || !strings.Contains(strings.ToLower(r.body), "too many authentication attempts")) {
			t.Errorf("Retry-After %q: %s", r.Header.Get("Retry-After"), r.body)
		}
	}
	if r := s.do("POST", "/signup", `{}`); r.StatusCode != 401 {
		t.Errorf("what guesses at nothing is not counted: %d", r.StatusCode)
	}
}

func TestQueryTimeout(t *testing.T) {
	s := start(t, func(c *config.Config) { c.QueryTimeout = 50 * time.Millisecond })
	r := s.do("POST", "/sql", "SLEEP 30s", at()...)
	p := problemOf(t, r)
	if r.StatusCode != 504 || p.Details != "Query timeout" || p.Description == "" || p.Information != "The query was not executed because it exceeded the timeout: 50ms" {
		t.Errorf("%d %+v", r.StatusCode, p)
	}
	if got := s.do("POST", "/rpc", `{"id":1,"method":"query","params":["SLEEP 30s"]}`, at("Content-Type: application/json")...); !strings.Contains(got.body, "exceeded the timeout: 50ms") {
		t.Errorf("/rpc: %s", got.body)
	}
}

// GET /sql with an upgrade: each message is a text of statements.
func TestSQLSocket(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.SQLBody = 4 << 10 })
	k := s.upgradeAt("/sql?who=Ada", "", at()...)
	for _, tc := range []struct{ in, want string }{
		{"RETURN 1; RETURN $who", `[` + ok(`1`) + `,` + ok(`"Ada"`) + `]`},
		{"", `[]`},
		{"SELECT * FROM nowhere; RETURN 2", `[{"details":{"details":{"name":"nowhere"},"kind":"Table"},"kind":"NotFound","result":"The table 'nowhere' does not exist","status":"ERR","time":"T","type":null},` + ok(`2`) + `]`},
		{"RETURN '" + strings.Repeat("x", 3000) + "'", `[` + ok(`"`+strings.Repeat("x", 3000)+`"`) + `]`},
	} {
		if got := timeless(k.say(tc.in)); got != tc.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
	if got := k.say("SELEC 1"); !strings.HasPrefix(got, "Parse error: ") {
		t.Errorf("a text that does not parse: %s", got)
	}
	k.write(frame(opText, true, []byte("RETURN '"+strings.Repeat("x", 4<<10)+"'")))
	if code := k.closeCode(); code != 1009 {
		t.Errorf("a message over the cap: close code %d", code)
	}
	cborText := s.upgradeAt("/sql", "cbor", at()...)
	cborText.write(frame(opText, true, []byte("RETURN 1f")))
	op, b := cborText.message()
	var got []struct{ Result float64 }
	if err := cbor.Unmarshal(b, &got); err != nil || op != opBinary || got[0].Result != 1 {
		t.Errorf("CBOR: %v %v", got, err)
	}
	if k := s.upgradeAt("/sql", "", "Authorization: Bearer x.y.z"); k.resp.StatusCode != 401 {
		t.Errorf("a false token: %d", k.resp.StatusCode)
	}
}

// The wall-clock limit of /sql holds for its WebSocket, whose client may also leave in the middle.
func TestSQLSocketTimeout(t *testing.T) {
	s := start(t, func(c *config.Config) { c.QueryTimeout = 50 * time.Millisecond })
	k := s.upgradeAt("/sql", "", at()...)
	if got := k.say("sleep(10s)"); got != "The query was not executed because it exceeded the timeout: 50ms" {
		t.Error(got)
	}
	if got := timeless(k.say("RETURN 1")); got != `[`+ok(`1`)+`]` {
		t.Error(got)
	}
	free := start(t)
	gone := free.upgradeAt("/sql", "", at()...)
	gone.write(frame(opText, true, []byte("sleep(1h)")))
	eventually(t, "an open socket", func() bool {
		return strings.Contains(free.do("GET", "/metrics", "", rootAuth).body, "nacre_ws_connections 1\n")
	})
	_ = gone.conn.Close()
	eventually(t, "the end of the statement", func() bool {
		return strings.Contains(free.do("GET", "/metrics", "", rootAuth).body, "nacre_ws_connections 0\n")
	})
}

// Guests that are not let in get an error for each statement, as on POST /sql.
func TestSQLSocketOfNobody(t *testing.T) {
	s := start(t)
	k := s.upgradeAt("/sql", "")
	got := k.say("RETURN 1; RETURN 2")
	if strings.Count(got, "Anonymous access not allowed") != 2 {
		t.Error(got)
	}
}
