package daemon_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/http"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/telemetry"
)

func names(text string) config.Names { return config.ParseNames(text) }

// A denied function is denied however it is called: by name, as a method, as an aggregate, through a closure, and from
// inside of what the database defines.
func TestDeniedFunctions(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyFunctions = names("string::len,math,time::now,fn::secret,count") })
	open := `DEFINE FUNCTION fn::open() { RETURN string::len('a') }; DEFINE FUNCTION fn::secret() { RETURN 1 };
		DEFINE TABLE t; DEFINE FIELD f ON t VALUE string::len('abc'); DEFINE TABLE plain; CREATE plain:1 SET n = 1;
		DEFINE TABLE e; DEFINE EVENT ev ON e THEN { CREATE plain SET n = math::abs(-1) }; DEFINE TABLE v AS SELECT math::sum(n) AS s FROM plain GROUP ALL;
		DEFINE API "/a" FOR get THEN { { body: string::len('a') } };`
	if r := s.do("POST", "/sql", open, at()...); r.StatusCode != 200 {
		t.Fatal(r.body)
	}
	for _, text := range []string{
		"RETURN string::len('a')", "RETURN 'a'.len()", "RETURN ['a'].map(|$x| $x.len())", "RETURN ['a'].map(|$x| string::len($x))",
		"RETURN math::sum([1])", "SELECT math::sum(n) FROM plain GROUP ALL", "SELECT count() FROM plain GROUP ALL", "SELECT n, count() FROM plain GROUP BY n",
		"SELECT math::abs(n) FROM plain", "SELECT * FROM plain WHERE math::abs(n) = 1",
		"RETURN fn::open()", "RETURN fn::secret()", "CREATE t:1", "CREATE e:1", "UPDATE plain SET x = string::len('a')",
		"LET $x = string::len('a'); RETURN $x", "IF string::len('a') = 1 { 1 }", "RETURN { RETURN (RETURN string::len('a')) }", "RETURN <future> { string::len('a') }",
		"RETURN time::now()", "RETURN STRING::LEN('a')", "DEFINE PARAM $q VALUE string::len('a')", "FOR $i IN [string::len('a')] {}",
	} {
		r := s.do("POST", "/sql", text, at()...)
		if !strings.Contains(r.body, "is not allowed to be executed") && !(strings.Contains(text, "future") && r.StatusCode == 400) {
			t.Errorf("%s: %s", text, r.body)
		}
	}
	if r := s.do("GET", "/api/test/test/a", "", rootAuth); r.StatusCode != 500 || !strings.Contains(r.body, "is not allowed to be executed") {
		t.Errorf("in an endpoint: %d %s", r.StatusCode, r.body)
	}
	k := s.dial("json").root()
	for _, f := range []string{"string::len", "fn::secret", "fn::open", "STRING::LEN"} {
		if got := k.say(`{"id":1,"method":"run","params":["` + f + `",null,["a"]]}`); !strings.Contains(got, "is not allowed to be executed") && !strings.Contains(got, "argument") {
			t.Errorf("run %s: %s", f, got)
		}
	}
	if r := s.do("POST", "/sql", "RETURN string::uppercase('a') + 'a'.uppercase()", at()...); !strings.Contains(r.body, `"AA"`) {
		t.Errorf("what is not denied: %s", r.body)
	}
	only := start(t, func(c *config.Config) { c.AllowFunctions = names("string") })
	for text, ok := range map[string]bool{"RETURN string::len('a')": true, "RETURN 'a'.len()": true, "RETURN array::len([])": false, "RETURN [].len()": false, "DEFINE FUNCTION fn::a() { 1 }; RETURN fn::a()": false} {
		if r := only.do("POST", "/sql", text, at()...); strings.Contains(r.body, "is not allowed") == ok {
			t.Errorf("only string: %s: %s", text, r.body)
		}
	}
}

// ASYNC events run by themselves, and under the same capabilities.
func TestDeniedFunctionsInAsyncEvents(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyFunctions = names("string::len") })
	setup(t, s, "DEFINE TABLE a; DEFINE TABLE b; DEFINE EVENT e ON a ASYNC THEN { CREATE b SET n = string::len('abc') }; DEFINE EVENT f ON a ASYNC THEN { CREATE b SET n = 0 }; CREATE a:1")
	eventually(t, "the other event", func() bool { return strings.Contains(s.do("POST", "/sql", "SELECT * FROM b", at()...).body, `"n":0`) })
	eventually(t, "the failure in the log", func() bool { return strings.Contains(s.logs.String(), "is not allowed to be executed") })
	if r := s.do("POST", "/sql", "SELECT * FROM b", at()...); strings.Contains(r.body, `"n":3`) {
		t.Errorf("an event called what is denied: %s", r.body)
	}
}

// Network targets: denied by default, and by address where a name leads inside.
func TestDeniedNetworkTargets(t *testing.T) {
	s := start(t)
	for _, url := range []string{"http://example.com", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "http://169.254.169.254/latest", "http://0x7f.1"} {
		if r := s.do("POST", "/sql", "RETURN http::get('"+url+"')", at()...); !strings.Contains(r.body, "Access to network target") && !strings.Contains(r.body, "is invalid") {
			t.Errorf("%s: %s", url, r.body)
		}
	}
	named := start(t, func(c *config.Config) { c.AllowNet = names("localhost") })
	if r := named.do("POST", "/sql", "RETURN http::get('http://localhost:1')", at()...); !strings.Contains(r.body, "is not allowed") {
		t.Errorf("a name leads inside: %s", r.body)
	}
}

// Scripts and experiments are off until they are allowed; --allow-all does not allow experiments.
func TestScriptingAndExperiments(t *testing.T) {
	for _, tc := range []struct {
		name          string
		change        func(*config.Config)
		script, files bool
	}{
		{"defaults", func(*config.Config) {}, false, false},
		{"--allow-scripting", func(c *config.Config) { c.AllowScripting = true }, true, false},
		{"--allow-experimental files", func(c *config.Config) { c.AllowExperimental = names("files") }, false, true},
		{"--allow-all", func(c *config.Config) { c.AllowAll = true }, true, false},
		{"--allow-all --deny-scripting", func(c *config.Config) { c.AllowAll, c.DenyScripting = true, true }, false, false},
		{"--deny-experimental files", func(c *config.Config) { c.AllowExperimental, c.DenyExperimental = names("all"), names("files") }, false, false},
	} {
		s := start(t, tc.change)
		if r := s.do("POST", "/sql", "RETURN function() { return 40 + 2 }", at()...); strings.Contains(r.body, `"result":42`) != tc.script {
			t.Errorf("%s: script: %s", tc.name, r.body)
		}
		if r := s.do("POST", "/sql", `DEFINE BUCKET b BACKEND "memory"; f"b:/x".put("y"); RETURN f"b:/x".exists()`, at()...); strings.Contains(r.body, `"result":true`) != tc.files {
			t.Errorf("%s: files: %s", tc.name, r.body)
		}
	}
}

// RPC methods, over WebSocket and HTTP; unknown ones are unknown, not denied.
func TestDeniedMethodsOverTheWire(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyRPC = names("query,begin,signin") })
	k := s.dial("json", rootAuth)
	for _, method := range []string{"query", "query_stream", "begin", "signin"} {
		if got := k.say(`{"id":1,"method":"` + method + `","params":["RETURN 1"]}`); !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, "Method not allowed") {
			t.Errorf("%s: %s", method, got)
		}
	}
	if r := s.do("POST", "/rpc", `{"method":"query","params":["RETURN 1"]}`, rootAuth, "Content-Type: application/json"); !strings.Contains(r.body, "Method not allowed") {
		t.Errorf("over HTTP: %s", r.body)
	}
	if got := k.say(`{"id":1,"method":"QUERY","params":["RETURN 1"]}`); !strings.Contains(got, "Method not found") {
		t.Errorf("in capitals: %s", got)
	}
	if got := k.say(`{"id":1,"method":"ping"}`); strings.Contains(got, "error") {
		t.Errorf("ping: %s", got)
	}
}

// A rule about a name that does not exist is a slip of the pen: the server does not start.
func TestUnknownNames(t *testing.T) {
	for _, tc := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.DenyHTTP = names("sql,exprot") }, `--deny-http: there is no "exprot"`},
		{func(c *config.Config) { c.AllowHTTP = names("sq") }, `--allow-http: there is no "sq"`},
		{func(c *config.Config) { c.DenyRPC = names("querry") }, `--deny-rpc: there is no "querry"`},
		{func(c *config.Config) { c.AllowRPC = names("use,ping,x") }, `--allow-rpc: there is no "x"`},
		{func(c *config.Config) { c.DenyQuery = names("guests") }, `--deny-arbitrary-query: there is no "guests" (known: guest, record, system)`},
	} {
		cfg := config.Default()
		cfg.Bind = "127.0.0.1:0"
		tc.change(cfg)
		d, err := daemon.Start(t.Context(), cfg, telemetry.NewLogger(&lockedBuffer{}, slog.LevelInfo, false))
		if err == nil {
			_ = d.Close(t.Context())
		}
		if e, ok := errors.AsType[*daemon.StartError](err); !ok || e.Reason != daemon.BadSetting || !strings.Contains(e.Text, tc.want) {
			t.Errorf("%s: got %v", tc.want, err)
		}
	}
	start(t, func(c *config.Config) {
		c.DenyHTTP, c.DenyRPC = names(strings.Join(http.Routes(), ",")+",postgres,sync"), names(strings.Join(rpc.Methods(), ",")+",gql,graphql")
	})
}

// HTTP routes, every spelling of them.
func TestDeniedRoutes(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DenyHTTP = names("sql,rpc,key,export,metrics,api,signin") })
	for _, tc := range [][2]string{{"POST", "/sql"}, {"GET", "/sql"}, {"POST", "/rpc"}, {"GET", "/rpc"}, {"GET", "/key/a"}, {"DELETE", "/key/a/1"}, {"GET", "/export"}, {"POST", "/export"},
		{"GET", "/metrics"}, {"GET", "/api/test/test/a"}, {"POST", "/signin"}, {"GET", "/key/%61"}} {
		if r := s.do(tc[0], tc[1], "", at()...); r.StatusCode != 403 || !strings.Contains(r.body, "is forbidden") {
			t.Errorf("%s %s: %d %s", tc[0], tc[1], r.StatusCode, r.body)
		}
	}
	for _, path := range []string{"//sql", "/SQL", "/./sql", "/x/../sql", "/sql/", "/%73ql"} {
		if r := s.do("POST", path, "RETURN 1", at()...); r.StatusCode == 200 {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if got := s.upgradeAt("/sql", ""); got.resp.StatusCode != 403 {
		t.Errorf("a WebSocket at a denied route: %s", got.resp.Status)
	}
	if r := s.do("POST", "/signup", "{}"); r.StatusCode == 403 {
		t.Error("what is not denied is")
	}
}

// Statements of a client's own by class: guest, record, system. Endpoints, sign-in and variables stay.
func TestDeniedStatementsByClass(t *testing.T) {
	const define = `DEFINE TABLE t PERMISSIONS FULL; CREATE t:1; CREATE user:1 SET pass = 'p'; DEFINE API "/a" FOR get THEN { { body: (SELECT VALUE id FROM t) } };
		DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)`
	file := writeFile(t, "OPTION IMPORT;\n"+define)
	for _, class := range []string{"guest", "record", "system"} {
		s := start(t, func(c *config.Config) {
			c.DenyQuery, c.AllowGuests, c.ImportFile = names(class), true, file
			c.DefaultNamespace, c.DefaultDatabase = "test", "test"
		})
		eventually(t, "ready", func() bool { return s.do("GET", "/ready", "").StatusCode == 200 })
		who := map[string]string{"guest": "X-None: 1", "system": rootAuth}
		_, token, _ := s.enter(`"ac":"acc","pass":"p"`)
		who["record"] = "Authorization: Bearer " + token
		for name, header := range who {
			denied := name == class
			place := []string{header, "Service-NS: test", "Service-DB: test"}
			for _, tc := range [][3]string{{"POST", "/sql", "SELECT * FROM t"}, {"GET", "/key/t", ""}, {"GET", "/key/t/1", ""}} {
				r := s.do(tc[0], tc[1], tc[2], place...)
				if got := r.StatusCode == 403; got != denied {
					t.Errorf("deny %s: %s of %s: %d %s", class, tc[1], name, r.StatusCode, r.body)
				}
			}
			if name == "system" {
				if r := s.do("POST", "/import", "OPTION IMPORT; CREATE t:2", place...); (r.StatusCode == 403) != denied {
					t.Errorf("deny %s: import: %d %s", class, r.StatusCode, r.body)
				}
			}
			text := s.upgradeAt("/sql", "", place...)
			if got := strings.Contains(text.say("SELECT * FROM t"), "not allowed"); got != denied {
				t.Errorf("deny %s: the socket at /sql of %s", class, name)
			}
			k := s.dial("json", place...)
			for _, call := range []string{`"query","params":["SELECT * FROM t"]`, `"query_stream","params":["SELECT * FROM t"]`, `"select","params":["t"]`, `"live","params":["t"]`, `"run","params":["math::pi"]`,
				`"update","params":["t:1",{}]`, `"insert","params":["t",[]]`, `"relate","params":["t:1","e","t:1"]`} {
				got := k.say(`{"id":1,"method":` + call + `}`)
				for strings.Contains(got, `"stream"`) && !strings.Contains(got, `"end"`) {
					_, b := k.message()
					got = string(b)
				}
				if strings.Contains(got, "are not allowed for") != denied {
					t.Errorf("deny %s: %s of %s: %s", class, call, name, got)
				}
			}
			if got := k.say(`{"id":1,"method":"let","params":["a",1]}`); strings.Contains(got, "error") {
				t.Errorf("deny %s: let of %s: %s", class, name, got)
			}
			if r := s.do("GET", "/api/test/test/a", "", header); r.StatusCode != 200 || !strings.Contains(r.body, "t:1") {
				t.Errorf("deny %s: endpoint for %s: %d %s", class, name, r.StatusCode, r.body)
			}
		}
	}
}

// Guests may do nothing until the server allows them.
func TestGuests(t *testing.T) {
	const define = "DEFINE TABLE open PERMISSIONS FULL; DEFINE TABLE closed PERMISSIONS NONE; CREATE open:1; CREATE closed:1"
	for _, allow := range []bool{false, true} {
		s := start(t, func(c *config.Config) { c.AllowGuests = allow })
		setup(t, s, define)
		place := []string{"Service-NS: test", "Service-DB: test"}
		var got []struct{ Status, Result json.RawMessage }
		r := s.do("POST", "/sql", "SELECT VALUE id FROM open; SELECT VALUE id FROM closed; CREATE closed:2; DEFINE TABLE x; INFO FOR DB", place...)
		if err := json.Unmarshal([]byte(r.body), &got); err != nil {
			t.Fatal(r.body)
		}
		for i, want := range []string{`["open:1"]`, `[]`, `[]`, "ERR", "ERR"} {
			if !allow {
				want = "ERR"
			}
			if string(got[i].Result) != want && string(got[i].Status) != `"`+want+`"` {
				t.Errorf("guests %v: statement %d: %s", allow, i, r.body)
			}
		}
		k := s.dial("json", place...)
		for _, call := range []string{`"select","params":["open"]`, `"query","params":["SELECT * FROM open"]`, `"begin"`, `"run","params":["math::pi"]`} {
			if got := k.say(`{"id":1,"method":` + call + `}`); strings.Contains(got, "Anonymous access not allowed") == allow {
				t.Errorf("guests %v: %s: %s", allow, call, got)
			}
		}
		for _, path := range []string{"/export", "/import"} {
			if r := s.do("POST", path, "", append(place, "Content-Type: application/json")...); r.StatusCode != 403 {
				t.Errorf("guests %v: %s: %d", allow, path, r.StatusCode)
			}
		}
	}
}
